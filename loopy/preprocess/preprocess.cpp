#include "rtcg/loopy/preprocess/preprocess.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/preprocess/drop_thread_axes.h"
#include "rtcg/loopy/preprocess/fill_tables.h"
#include "rtcg/loopy/preprocess/make_lane_loops.h"
#include "rtcg/loopy/preprocess/share_fill_loops.h"
#include "rtcg/loopy/preprocess/stage_items.h"
#include "rtcg/loopy/preprocess/store_conditions.h"
#include "rtcg/loopy/transform/assign_auto_axes.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/scan_over_grid.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy {
namespace {

/// The form of several launches for each reduction over an axis of the grid, and for each scan
/// along one that can take it.
Kernel spread_over_grids(Kernel kernel, const PreprocessOptions& options) {
  kernel = without_impossible_look_back(std::move(kernel), options.has_warp_shuffles);
  for (const std::string& iname : grid_inames_of_scans(kernel)) {
    static_cast<void>(why_not([&] { return kernel = scan_over_grid(kernel, iname); }));
  }
  std::vector<std::string> open = all_inames(kernel);
  std::erase_if(
      open, [&](const std::string& iname) { return tag_of(kernel, iname).kind != AxisKind::grid; });
  while (!open.empty()) {
    // of an ordered reduction the axis of its outermost loop comes first
    std::optional<std::string> refusal;
    const auto next = std::find_if(open.begin(), open.end(), [&](const std::string& iname) {
      const bool is_reduced = std::any_of(
          kernel.instructions.begin(), kernel.instructions.end(),
          [&](const Instruction& each) { return reduction_inames(each).count(iname) != 0; });
      const auto why = is_reduced
                           ? why_not([&] { return kernel = reduce_over_grid(kernel, iname); })
                           : std::nullopt;
      if (why && !refusal) {
        refusal = fmt::format("blocks of '{}', tagged {}, cannot share a reduction: {}", iname,
                              to_string(tag_of(kernel, iname)), *why);
      }
      return !why;
    });
    if (next == open.end()) {
      throw Unsupported("loopy.realize_reductions.parallel_iname", *refusal);
    }
    open.erase(next);
  }
  return kernel;
}

}  // namespace

Kernel preprocess(Kernel kernel, const PreprocessOptions& options) {
  const RecordedStep step(kernel);
  kernel = spread_over_grids(store_conditions(expand_subst(std::move(kernel))), options);
  step.remove_parts(kernel);
  kernel = share_fill_loops(fill_tables(infer_types(std::move(kernel))));
  // before separate_reductions and realize_reductions: they ask which inames are loops, and axes of
  // the block
  kernel = assign_auto_axes(std::move(kernel));
  if (!options.has_tensor_cores) {
    std::erase_if(kernel.iname_tags,
                  [](const auto& tagged) { return tagged.second.kind == AxisKind::tensor; });
  }
  kernel = separate_reductions(std::move(kernel));
  kernel = drop_thread_axes(realize_reductions(std::move(kernel), options));
  // an axis without statements does not count
  std::erase_if(kernel.iname_tags, [&](const auto& tagged) {
    return std::none_of(
        kernel.instructions.begin(), kernel.instructions.end(),
        [&](const Instruction& each) { return each.within_inames.count(tagged.first) != 0; });
  });
  // after choose_address_spaces: it asks how much shared memory is left
  return make_lane_loops(with_staged_items(choose_address_spaces(std::move(kernel))));
}

}  // namespace rtcg::loopy
