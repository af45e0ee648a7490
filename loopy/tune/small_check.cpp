#include "rtcg/loopy/tune/small_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/transform/why_not.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::loopy {
namespace {

/// From `least` up to twice that, with the same remainder.
std::int64_t shortened(std::int64_t size, std::int64_t least) {
  return size > 2 * least ? least + size % least : size;
}

constexpr std::int64_t least_size = 32;
constexpr std::int64_t least_size_of_others = 8;

/// Sizes at which a slicing can be applied; those of least_size where none are found.
IntegerValues small_sizes(const Kernel& described, const IntegerValues& sizes,
                          const Slicing& slicing) {
  const auto suits = [&](const IntegerValues& some) {
    return !why_not([&] { return tuned_kernel(described, some, slicing); });
  };
  IntegerValues small = sizes;
  for (auto& [name, value] : small) {
    value = shortened(value, least_size);
  }
  if (suits(small)) {
    return small;
  }
  for (const std::int64_t least : {2 * least_size, 4 * least_size, 8 * least_size}) {
    for (const auto& [name, size] : sizes) {
      IntegerValues longer = small;
      longer.find(name)->second = shortened(size, least);
      if (longer == small || !suits(longer)) {
        continue;
      }
      for (const auto& [other, other_size] : sizes) {
        IntegerValues shorter = longer;
        shorter.find(other)->second =
            std::min(longer.find(other)->second, shortened(other_size, least_size_of_others));
        longer = other != name && suits(shorter) ? shorter : longer;
      }
      return longer;
    }
  }
  return small;
}

/// The slicing without copies that run ahead.
Slicing without_stages(Slicing slicing) {
  slicing.stages = 1;
  for (FetchPlan& each : slicing.fetches) {
    each.stages = 0;
  }
  return slicing;
}

}  // namespace

std::string wrong_at_small_sizes(const Kernel& described, const IntegerValues& sizes,
                                 const runtime::Device& device, Slicing slicing,
                                 std::uint64_t seed) {
  const IntegerValues small = small_sizes(described, sizes, slicing);
  const auto is_refused = [&] {
    return why_not([&] { return tuned_kernel(described, small, slicing); }).has_value();
  };
  if (!slicing.look_back.empty() && is_refused()) {
    slicing.look_back.clear();
  }
  if (slicing != without_stages(slicing) && is_refused()) {
    slicing = without_stages(slicing);
  }
  const ComparisonReport report =
      compare_with_reference(tuned_kernel(described, small, slicing),
                             tuned_kernel(described, small, {}), small, device, {.seed = seed});
  return report.is_equal
             ? ""
             : fmt::format("wrong for small sizes: {}[{}] is {}, not {}", report.worst.array,
                           report.worst.index, report.worst.left, report.worst.right);
}

}  // namespace rtcg::loopy
