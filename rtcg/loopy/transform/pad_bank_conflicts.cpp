#include "rtcg/loopy/transform/pad_bank_conflicts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_support.h"
#include "rtcg/loopy/transform/support.h"
#include "rtcg/loopy/transform/tag_array_axes.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t warp_threads = 32;
constexpr std::int64_t banks = 32;
constexpr std::int64_t bank_bytes = 4;
constexpr std::int64_t most_padding = 32;

using Strides = std::vector<std::int64_t>;

/// Where the threads of a warp are on the axes of the block.
using Place = std::array<std::int64_t, 3>;

std::vector<Place> first_warp(const Kernel& kernel) {
  Place lengths{};
  for (int axis = 0; axis < 3; ++axis) {
    lengths[static_cast<std::size_t>(axis)] =
        std::max<std::int64_t>(block_length(kernel, axis).value_or(1), 1);
  }
  std::vector<Place> warp;
  for (std::int64_t i = 0; i < warp_threads && i < lengths[0] * lengths[1] * lengths[2]; ++i) {
    warp.push_back({i % lengths[0], i / lengths[0] % lengths[1], i / lengths[0] / lengths[1]});
  }
  return warp;
}

/// The element of an access for a thread where all loops are at their start; nothing for a thread
/// beyond the axes of the statement, and for indices that are only known when the kernel runs.
std::optional<std::int64_t> element_of(const Kernel& kernel, const ArrayAccess& access,
                                       const Strides& strides, const Place& thread) {
  IntegerValues values;
  for (const Expr& index : access.indices) {
    for (const std::string& name : free_names(index)) {
      values[name] = 0;
    }
  }
  for (const std::string& iname : access.inames) {
    const InameTag tag = tag_of(kernel, iname);
    if (tag.kind == AxisKind::block) {
      const std::int64_t value = thread[static_cast<std::size_t>(tag.number)];
      if (value >= constant_length(kernel, iname).value_or(INT64_MAX)) {
        return std::nullopt;
      }
      values[iname] = value;
    }
  }
  std::int64_t element = 0;
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    const auto index = evaluate_integer(access.indices[axis], values);
    if (!index) {
      return std::nullopt;
    }
    element += *index * strides[axis];
  }
  return element;
}

/// Turns of one access: of each part of the warp that the memory serves at a time, the most words
/// in one bank.
std::int64_t turns_of(const Kernel& kernel, const ArrayAccess& access, const Strides& strides,
                      std::int64_t element_bytes, const std::vector<Place>& warp) {
  const std::int64_t words = std::max<std::int64_t>(element_bytes / bank_bytes, 1);
  const std::int64_t threads_at_a_time = warp_threads / words;
  std::int64_t worst = 1;
  std::map<std::int64_t, std::set<std::int64_t>> words_in_bank;
  for (std::size_t i = 0; i < warp.size(); ++i) {
    if (static_cast<std::int64_t>(i) % threads_at_a_time == 0) {
      words_in_bank.clear();
    }
    if (const auto element = element_of(kernel, access, strides, warp[i])) {
      const std::int64_t word = divide_rounding_down(*element * element_bytes, bank_bytes);
      auto& in_bank = words_in_bank[((word % banks) + banks) % banks];
      in_bank.insert(word);
      worst = std::max(worst, static_cast<std::int64_t>(in_bank.size()));
    }
  }
  return worst;
}

struct Turns {
  std::int64_t sum = 0;
  std::int64_t worst = 1;
};

/// A shared array and what touches it.
struct SharedArray {
  Strides strides{};
  std::int64_t element_bytes = 4;
  std::vector<ArrayAccess> accesses{};
};

Turns count_turns(const Kernel& kernel, const SharedArray& array, const Strides& strides) {
  const std::vector<Place> warp = first_warp(kernel);
  Turns turns;
  for (const ArrayAccess& access : array.accesses) {
    const std::int64_t own = turns_of(kernel, access, strides, array.element_bytes, warp);
    turns.sum += own;
    turns.worst = std::max(turns.worst, own);
  }
  return turns;
}

std::optional<Strides> constant_strides(const Kernel& kernel, const std::string& array) {
  Strides strides;
  const std::optional<ArrayLayout> layout = find_layout(kernel, array);
  for (const Expr& stride : layout ? layout->strides_elements : std::vector<Expr>{}) {
    if (!as_integer(stride)) {
      return std::nullopt;
    }
    strides.push_back(*as_integer(stride));
  }
  return strides;
}

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
                     fmt::format("'{}' does not lie in shared memory, and has no banks", name)};
    }
    if (!constant_strides(placed, name)) {
      return Refusal{"loopy.pad_bank_conflicts.not_constant",
                     fmt::format("the strides of '{}' are no constants", name)};
    }
  }
  return std::nullopt;
}

SharedArray shared_array(const Kernel& placed, const std::string& name) {
  SharedArray array;
  array.strides = *constant_strides(placed, name);
  if (const auto& type = find_temporary(placed, name)->type; type && cgen::scalar_kind(*type)) {
    array.element_bytes = cgen::size_bytes(*cgen::scalar_kind(*type));
  }
  for (ArrayAccess& access : accesses_of(placed)) {
    if (access.array == name && !access.is_linear &&
        access.indices.size() == array.strides.size()) {
      array.accesses.push_back(std::move(access));
    }
  }
  return array;
}

Kernel padded(Kernel kernel, const Kernel& placed, const std::string& name) {
  const SharedArray array = shared_array(placed, name);
  Kernel best = kernel;
  std::int64_t fewest = count_turns(placed, array, array.strides).sum;
  if (fewest == static_cast<std::int64_t>(array.accesses.size())) {
    return kernel;
  }
  const std::int64_t fastest = *std::min_element(array.strides.begin(), array.strides.end());
  for (std::int64_t count = 1; count <= most_padding; ++count) {
    for (std::size_t axis = 0; axis < array.strides.size(); ++axis) {
      if (array.strides[axis] == fastest) {
        continue;  // gaps between all elements
      }
      Kernel candidate = add_padding(kernel, name, axis, count);
      const std::int64_t turns = count_turns(placed, array, *constant_strides(candidate, name)).sum;
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
  const std::vector<RecipeStep> recipe = kernel.recipe;
  for (const std::string& name : chosen) {
    kernel = padded(std::move(kernel), placed, name);
  }
  kernel.recipe = recipe;
  record(kernel, "pad_bank_conflicts", temporaries);
  return kernel;
}

std::optional<std::string> why_not_pad_bank_conflicts(const Kernel& kernel,
                                                      const std::vector<std::string>& temporaries) {
  return reason_of_failure([&] { static_cast<void>(pad_bank_conflicts(kernel, temporaries)); });
}

std::int64_t bank_conflicts(const Kernel& kernel, const std::string& temporary) {
  const Kernel placed = placed_on_axes(kernel);
  throw_if_refused(find_refusal(kernel, placed, {temporary}));
  const SharedArray array = shared_array(placed, temporary);
  return count_turns(placed, array, array.strides).worst;
}

}  // namespace rtcg::loopy
