#include "rtcg/loopy/transform/pad_bank_conflicts.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/transform/assign_auto_axes.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/shared_banks.h"
#include "rtcg/loopy/transform/tag_array_axes.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_padding = 32;

std::optional<Refusal> find_refusal(const Kernel& kernel, const Kernel& placed,
                                    const std::vector<std::string>& temporaries) {
  for (const std::string& name : temporaries) {
    const Temporary* temporary = find_temporary(placed, name);
    if (temporary == nullptr || temporary->shape.empty()) {
      return Refusal{"loopy.pad_bank_conflicts.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary array '{}'", kernel.name, name)};
    }
    if (temporary->address_space != AddressSpace::local) {
      return Refusal{"loopy.pad_bank_conflicts.not_shared",
                     fmt::format("'{}' is not in shared memory and has no banks", name)};
    }
    if (!constant_strides(placed, name)) {
      return Refusal{"loopy.pad_bank_conflicts.not_constant",
                     fmt::format("the strides of '{}' are not constants", name)};
    }
  }
  return std::nullopt;
}

Kernel padded(Kernel kernel, const Kernel& placed, const std::string& name) {
  const WarpAccesses accesses(placed, name, JoinedLanes::vectors);
  const ConstantStrides strides = *constant_strides(placed, name);
  Kernel best = kernel;
  std::int64_t fewest = accesses.turns(strides, find_temporary(placed, name)->swizzle).sum;
  if (fewest == static_cast<std::int64_t>(accesses.count())) {
    return kernel;
  }
  const std::int64_t fastest = *std::min_element(strides.begin(), strides.end());
  // what a thread touches at once stays together
  const std::int64_t step = accesses.most_lanes();
  for (std::int64_t count = step; count <= most_padding; count += step) {
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      if (strides[axis] == fastest) {
        continue;  // gaps between all elements
      }
      Kernel candidate = add_padding(kernel, name, axis, count);
      const std::int64_t turns = accesses.turns(*constant_strides(candidate, name), {}).sum;
      if (turns < fewest) {
        fewest = turns;
        best = std::move(candidate);
      }
    }
  }
  return best;
}

}  // namespace

Kernel pad_bank_conflicts(Kernel kernel, const std::vector<std::string>& temporaries) {
  const Kernel placed = placed_on_axes(kernel);
  throw_if_refused(find_refusal(kernel, placed, temporaries));
  std::vector<std::string> chosen = temporaries;
  for (const Temporary& each : placed.temporaries) {
    if (temporaries.empty() && !each.shape.empty() && each.address_space == AddressSpace::local &&
        constant_strides(placed, each.name)) {
      chosen.push_back(each.name);
    }
  }
  const RecordedStep step(kernel);
  for (const std::string& name : chosen) {
    kernel = padded(std::move(kernel), placed, name);
  }
  step.record(kernel, "pad_bank_conflicts", temporaries);
  return kernel;
}

std::int64_t bank_conflicts(const Kernel& kernel, const std::string& temporary) {
  const Kernel placed = placed_on_axes(kernel);
  throw_if_refused(find_refusal(kernel, placed, {temporary}));
  return WarpAccesses(placed, temporary, JoinedLanes::vectors)
      .turns(*constant_strides(placed, temporary), find_temporary(placed, temporary)->swizzle)
      .worst;
}

}  // namespace rtcg::loopy
