#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/reduction_loops.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/execute/target_of.h"

namespace rtcg::arrays::detail {
namespace {

/// How the elements of an output are cut into segments, for one way to spread the work.
struct SegmentRule {
  ReductionSpread spread;
  std::int64_t block_threads;       ///< of blocks of at least this number of threads
  std::int64_t most_elements;       ///< of reductions that read at most this number of elements
  std::int64_t workers;             ///< per multiprocessor: threads, blocks, threads in columns
  std::int64_t least_length;        ///< of a segment, in elements; of columns per row of threads
  std::int64_t alignment_elements;  ///< a segment's length is a multiple of it
};

constexpr std::int64_t any_number = std::numeric_limits<std::int64_t>::max();

// The first row that fits. A segment is long enough to pay for its result, and short enough for f32
// sums to stay accurate. A segment begins at a multiple of the elements that a block loads at once,
// so vector loads stay aligned. On an NVIDIA H200 on 2026-11-21, sums of 2^20 to 2^28 elements took
// 0.77 to 1.00 of CUB's time (docs/performance.md, `rtcg_bench_gpu reductions`).
constexpr SegmentRule segment_rules[] = {
    {ReductionSpread::threads, 1, any_number, 2048, 64, 1},
    // few elements: all blocks run at the same time and leave few results
    {ReductionSpread::block, 512, std::int64_t{1} << 25, 2, 8192, 4096},
    // many elements: waiting blocks replace the blocks that finish early
    {ReductionSpread::block, 512, any_number, 12, 8192, 4096},
    {ReductionSpread::block, 1, any_number, 8, 8192, 4096},
    {ReductionSpread::columns, 1, any_number, 1024, 16, 16},
};

constexpr std::int64_t short_length = 64;      // elements that one thread reduces alone
constexpr std::int64_t most_columns = 256;     // columns of a block
constexpr std::int64_t most_segments = 32768;  // blocks along y: half of what CUDA allows
constexpr std::int64_t threads_alone = 256;    // of a block whose threads have an output each

// On the host a thread of OpenMP runs some blocks of one thread each.
constexpr std::int64_t host_segment_elements = 8192;
constexpr std::int64_t host_block_elements = 4096;
constexpr std::int64_t host_blocks_per_core = 4;

std::int64_t at_least_1(std::int64_t number) {
  return std::max<std::int64_t>(number, 1);
}

ReductionSpread choose_spread(const ReductionSize& size) {
  // adjacent threads read adjacent elements
  const bool reads_along_kept = size.kept_step != 0 && size.kept_step < size.reduced_step;
  if (size.length < short_length || (reads_along_kept && size.outputs >= most_columns)) {
    return ReductionSpread::threads;
  }
  return reads_along_kept ? ReductionSpread::columns : ReductionSpread::block;
}

const SegmentRule& rule_for(ReductionSpread spread, const ReductionSize& size) {
  return *std::find_if(std::begin(segment_rules), std::end(segment_rules),
                       [&](const SegmentRule& rule) {
                         return rule.spread == spread && size.threads >= rule.block_threads &&
                                size.outputs * size.length <= rule.most_elements;
                       });
}

/// The number of segments of an output before their length is rounded.
std::int64_t count_segments(const ReductionSize& size, std::int64_t wanted, std::int64_t least) {
  return std::clamp<std::int64_t>(std::min(wanted, size.length / least), 1,
                                  size.may_split ? most_segments : 1);
}

ReductionPlan plan_on_host(std::int64_t cores, const ReductionSize& size) {
  std::int64_t segments =
      count_segments(size, ceil_divide(size.length, host_segment_elements), host_segment_elements);
  const std::int64_t segment_length = at_least_1(ceil_divide(size.length, segments));
  segments = at_least_1(ceil_divide(size.length, segment_length));
  const std::int64_t most_blocks = std::min(size.outputs, host_blocks_per_core * cores);
  const std::int64_t blocks =
      std::clamp<std::int64_t>(size.outputs * segment_length / host_block_elements, 1, most_blocks);
  const std::int64_t outputs_each = ceil_divide(size.outputs, blocks);
  return {ReductionSpread::threads,
          segments,
          {{static_cast<std::uint64_t>(ceil_divide(size.outputs, outputs_each)),
            static_cast<std::uint64_t>(segments)},
           1},
          {size.outputs, size.length, segment_length, outputs_each}};
}

ReductionPlan plan_on_gpu(std::int64_t processors, const ReductionSize& size) {
  const ReductionSpread spread = choose_spread(size);
  const SegmentRule& rule = rule_for(spread, size);
  const bool by_threads = spread == ReductionSpread::threads;
  const bool by_columns = spread == ReductionSpread::columns;
  const std::int64_t threads = by_threads ? threads_alone : size.threads;
  const std::int64_t rows = by_columns ? threads / size.outputs : 1;
  const std::int64_t least = rule.least_length * rows;
  // a block of columns works on all outputs
  const std::int64_t wanted =
      by_columns ? rule.workers / threads * processors
                 : ceil_divide(rule.workers * processors, at_least_1(size.outputs));
  std::int64_t segments = count_segments(size, wanted, least);
  std::int64_t segment_length = at_least_1(ceil_divide(size.length, segments));
  if (!by_threads && segments > 1) {
    segment_length =
        round_up(std::max(ceil_divide(size.length, wanted), least), rule.alignment_elements);
  }
  segments = at_least_1(ceil_divide(size.length, segment_length));
  const std::int64_t blocks =
      by_columns ? 1 : (by_threads ? ceil_divide(size.outputs, threads) : size.outputs);
  return {spread,
          segments,
          {{static_cast<std::uint64_t>(blocks), static_cast<std::uint64_t>(segments)},
           static_cast<std::uint64_t>(threads)},
          {size.outputs, size.length, segment_length, by_columns ? size.outputs : 1}};
}

}  // namespace

ReductionPlan plan_reduction(runtime::Device device, const ReductionSize& size) {
  const std::int64_t processors = at_least_1(device.info().multiprocessors);
  return loopy::dialect_of(device) == cgen::Dialect::c ? plan_on_host(processors, size)
                                                       : plan_on_gpu(processors, size);
}

bool can_meet_at_once(runtime::Device device, const ReductionPlan& plan, std::int64_t outputs) {
  return loopy::dialect_of(device) == cgen::Dialect::cuda && plan.segments > 1 &&
         (plan.spread == ReductionSpread::columns ||
          (plan.spread == ReductionSpread::block && outputs <= LastBlockMemory::count));
}

bool is_wide(const ReductionSize& size, const ReductionPlan& plan) {
  constexpr std::int64_t least = 1 << 29;
  return size.outputs >= least || size.length >= least || plan.segments * size.outputs >= least;
}

Extents reduced_axes(const std::optional<Extents>& given, int count) {
  Extents result;
  for (int axis = 0; !given && axis < count; ++axis) {
    result.push_back(axis);
  }
  for (const std::int64_t each : given.value_or(Extents{})) {
    const int axis = checked_axis(each, count);
    if (result.contains(axis)) {
      throw InvalidInput("arrays.reduce.repeated_axis",
                         fmt::format("axis {} is reduced twice", each));
    }
    result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  return result;
}

Extents shape_without(const Extents& shape, const Extents& axes, bool keeps_axes) {
  Extents result;
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (!axes.contains(axis)) {
      result.push_back(shape[axis]);
    } else if (keeps_axes) {
      result.push_back(1);
    }
  }
  return result;
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
  // a layout that exists without leaves too, before those of the reduced axes
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
