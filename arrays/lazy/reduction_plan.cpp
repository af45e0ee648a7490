#include <algorithm>
#include <cstdlib>

#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

/// Blocks that share an output, for each multiprocessor.
std::int64_t blocks_each(const ReductionSize& size) {
  if (size.threads < 512) {
    return 8;
  }
  // What is read soon is best read by blocks that all run at once and leave few results; else those
  // that are done early make room for others.
  return size.outputs * size.length <= 1 << 25 ? 2 : 12;
}

}  // namespace

ReductionPlan plan_reduction(runtime::Device device, const ReductionSize& size) {
  const std::int64_t outputs = size.outputs;
  const std::int64_t length = size.length;
  const std::int64_t processors = std::max(device.info().multiprocessors, 1);
  const bool is_host = loopy::dialect_of(device) == cgen::Dialect::c;
  ReductionPlan plan;
  // neighbouring threads should read neighbouring elements
  const bool reads_along_kept = size.kept_step != 0 && size.kept_step < size.reduced_step;
  constexpr std::int64_t most_columns = 256;
  if (!is_host && length >= 64 && reads_along_kept && outputs < most_columns) {
    plan.spread = ReductionSpread::columns;
  } else if (!is_host && length >= 64 && !reads_along_kept) {
    plan.spread = ReductionSpread::block;
  }
  const bool by_threads = plan.spread == ReductionSpread::threads;
  const std::int64_t threads = by_threads ? 256 : size.threads;
  // a segment is long enough to be worth a launch, and short enough for f32 sums to stay accurate
  const std::int64_t rows = plan.spread == ReductionSpread::columns ? threads / outputs : 1;
  const std::int64_t least =
      is_host || plan.spread == ReductionSpread::block ? 1 << 13 : (by_threads ? 64 : 16 * rows);
  const bool by_columns = plan.spread == ReductionSpread::columns;
  const std::int64_t busy_outputs =
      is_host
          ? 4 * processors
          : (by_threads ? 2048 : (by_columns ? 1024 / threads : blocks_each(size))) * processors;
  const std::int64_t working = by_columns ? 1 : std::max<std::int64_t>(outputs, 1);
  const std::int64_t wanted =
      is_host ? ceil_divide(length, 1 << 13) : ceil_divide(busy_outputs, working);
  const std::int64_t most_segments = size.may_split ? 32768 : 1;
  plan.segments = std::clamp<std::int64_t>(std::min(wanted, length / least), 1, most_segments);
  std::int64_t segment_length = std::max<std::int64_t>(ceil_divide(length, plan.segments), 1);
  if (!is_host && !by_threads && plan.segments > 1) {
    segment_length = std::max(ceil_divide(length, wanted), least);
    // each begins where packs do: at the first lane, or where all threads are at their first
    const std::int64_t turn = by_columns ? 16 : 4096;
    segment_length = round_up(segment_length, turn);
  }
  plan.segments = std::max<std::int64_t>(ceil_divide(length, segment_length), 1);
  const auto segments = static_cast<std::uint64_t>(plan.segments);
  std::int64_t outputs_each = 1;
  if (is_host) {
    outputs_each = ceil_divide(outputs, std::clamp<std::int64_t>(outputs * segment_length / 4096, 1,
                                                                 std::min(outputs, busy_outputs)));
    plan.launch = {{static_cast<std::uint64_t>(ceil_divide(outputs, outputs_each)), segments}, 1};
  } else {
    std::int64_t blocks = outputs;
    if (by_threads) {
      blocks = ceil_divide(outputs, threads);
    } else if (plan.spread == ReductionSpread::columns) {
      blocks = 1;
      outputs_each = outputs;
    }
    plan.launch = {{static_cast<std::uint64_t>(blocks), segments},
                   static_cast<std::uint64_t>(threads)};
  }
  plan.more = {outputs, length, segment_length, outputs_each};
  return plan;
}

Layout SplitLayouts::leaf(std::size_t number) const {
  Layout result = kept[number];
  for (int axis = 0; axis < reduced[number].axes(); ++axis) {
    result.shape.push_back(reduced[number].shape[axis]);
    result.strides.push_back(reduced[number].strides[axis]);
  }
  return result;
}

ReductionSize SplitLayouts::size() const {
  const auto last_step = [](const std::vector<Layout>& layouts) {
    return layouts.empty() || layouts[0].axes() == 0 ? std::int64_t{0}
                                                     : std::abs(layouts[0].strides.back());
  };
  return {element_count(kept_shape), element_count(reduced_shape), last_step(kept),
          last_step(reduced)};
}

void SplitLayouts::continue_with(std::size_t leaves, std::int64_t segments) {
  kept.assign(leaves, make_layout(kept_shape));
  reduced_shape = {segments};
  reduced.assign(leaves, Layout{{segments}, {element_count(kept_shape)}, 0});
}

SplitLayouts split_layouts(const Extents& shape, const SplitAxes& axes,
                           const std::vector<Layout>& targets, const std::vector<Layout>& leaves) {
  std::vector<Layout> kept;
  for (const Layout& target : targets) {
    kept.push_back({{}, {}, target.offset});
  }
  // in front of those that go: a layout that is there without leaves, too
  std::vector<Layout> reduced(1);
  for (const Layout& leaf : leaves) {
    kept.push_back({{}, {}, leaf.offset});
    reduced.emplace_back();
  }
  int target_axis = 0;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const bool goes = axes.axes.contains(axis);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      Layout& part = goes ? reduced[i + 1] : kept[targets.size() + i];
      part.shape.push_back(shape[axis]);
      part.strides.push_back(leaves[i].strides[axis]);
    }
    for (std::size_t i = 0; !goes && i < targets.size(); ++i) {
      kept[i].shape.push_back(shape[axis]);
      kept[i].strides.push_back(targets[i].strides[target_axis]);
    }
    if (goes) {
      reduced[0].shape.push_back(shape[axis]);
    }
    target_axis += goes && !axes.keeps_axes ? 0 : 1;
  }
  collapse(kept);
  if (leaves.empty()) {
    reduced[0] = make_layout(reduced[0].shape);
  } else {
    reduced.erase(reduced.begin());
  }
  collapse(reduced, {.may_reorder = axes.may_reorder});
  SplitLayouts result;
  result.kept_shape = kept[0].shape;
  result.reduced_shape = reduced[0].shape;
  result.targets.assign(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(targets.size()));
  result.kept.assign(kept.begin() + static_cast<std::ptrdiff_t>(targets.size()), kept.end());
  if (!leaves.empty()) {
    // flipping axes moved the first element; both parts add up to where it is
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      result.kept[i].offset += reduced[i].offset;
      reduced[i].offset = 0;
    }
    result.reduced = std::move(reduced);
  }
  return result;
}

}  // namespace rtcg::arrays::detail
