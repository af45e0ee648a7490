#include "rtcg/loopy/tune/small_check.h"

#include <fmt/format.h>

#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/transform/why_not.h"
#include "rtcg/loopy/tune/tune.h"

namespace rtcg::loopy {
namespace {

IntegerValues small_sizes(IntegerValues sizes) {
  constexpr std::int64_t most = 32;
  for (auto& [name, value] : sizes) {
    value = value > 2 * most ? most + value % most : value;
  }
  return sizes;
}

}  // namespace

std::string wrong_at_small_sizes(const Kernel& described, const IntegerValues& sizes,
                                 const runtime::Device& device, Slicing slicing,
                                 std::uint64_t seed) {
  const IntegerValues small = small_sizes(sizes);
  if (why_not([&] { return tuned_kernel(described, small, slicing); })) {
    slicing.look_back.clear();
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
