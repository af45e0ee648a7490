#include "rtcg/loopy/transform/swizzle.h"

#include <fmt/format.h>

#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

std::optional<Refusal> find_refusal(const Kernel& kernel, std::int64_t rows) {
  if (rows < 1 || rows > INT32_MAX) {
    return Refusal{
        "loopy.swizzle.bad_length",
        fmt::format("{} rows of blocks cannot come together: at least one is needed", rows)};
  }
  for (const int axis : {0, 1}) {
    const InameTag tag{AxisKind::grid, axis};
    if (inames_on_axis(kernel, tag).empty()) {
      return Refusal{
          "loopy.swizzle.no_grid",
          fmt::format("no iname is on {}: blocks need two axes to be reordered", to_string(tag))};
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel swizzle(Kernel kernel, std::int64_t rows) {
  throw_if_refused(find_refusal(kernel, rows));
  kernel.swizzle_blocks = rows;
  record(kernel, "swizzle", {std::to_string(rows)});
  return kernel;
}

}  // namespace rtcg::loopy
