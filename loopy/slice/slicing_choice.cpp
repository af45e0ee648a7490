#include "rtcg/loopy/slice/slicing_choice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/structural_hash.h"
#include "rtcg/loopy/slice/slicing_cost.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"

namespace rtcg::loopy::detail {
namespace {

/// Counts lengths that differ.
struct Steps {
  int moved = 0;
  int up = 0;
  int down = 0;

  void compare(int x, int y) {
    if (x == y) {
      return;
    }
    const bool is_near =
        std::min(x, y) == 0 ? std::max(x, y) <= 8 : 2 * std::max(x, y) <= 5 * std::min(x, y);
    ++moved;
    up += is_near && y > x ? 1 : 0;
    down += is_near && y < x ? 1 : 0;
  }
  [[nodiscard]] bool is_one() const {
    return (moved == 1 && up + down == 1) || (moved == 2 && up == 1 && down == 1);
  }
};

/// All fields are decisions: one that the list lacks does not compile.
constexpr std::size_t decision_bytes() {
  std::size_t bytes = 0;
  for_each_decision([&](auto decision) { bytes += sizeof(SlicingChoice().*decision.member); });
  return bytes;
}
static_assert(decision_bytes() == sizeof(SlicingChoice), "list the new field in Decisions");

/// The loops on the axes of the grid, from axis 0 on.
std::vector<std::size_t> loops_on_grid(const SlicingProblem& problem, const SlicingCost& cost,
                                       const SlicingChoice& choice) {
  std::vector<std::size_t> loops;
  for (const std::size_t each : {fast_loop, slow_loop, first_whole_loop, first_whole_loop + 1}) {
    if (problem.has(each) && !choice.is_in_thread(each) && !problem.loops[each].is_inner &&
        loops.size() < 3) {
      loops.push_back(each);
    }
  }
  if (std::any_of(loops.begin(), loops.end(), [&](std::size_t each) {
        return cost.blocks_along(choice, each) > most_blocks_across;
      })) {
    std::stable_sort(loops.begin(), loops.end(), [&](std::size_t a, std::size_t b) {
      return cost.blocks_along(choice, a) > cost.blocks_along(choice, b);
    });
  }
  return loops;
}

InameSlicing cut_result(const SlicedLoop& loop, int grid_axis, int block_axis,
                        const std::array<std::uint16_t, 3>& lengths, bool is_vector) {
  InameSlicing sliced{loop.iname, {{0, {AxisKind::grid, grid_axis}}}};
  if (lengths[0] > 1) {
    sliced.factors.push_back({lengths[0], {AxisKind::ilp, 0}});
  }
  if (lengths[1] > 1) {
    sliced.factors.push_back({lengths[1], {AxisKind::block, block_axis}});
  }
  if (lengths[2] > 1) {
    sliced.factors.push_back({lengths[2], {is_vector ? AxisKind::vec : AxisKind::ilp, 0}});
  }
  return sliced;
}

bool shares_by(const SlicingChoice& choice, GridReduction how) {
  return choice.sharing == static_cast<std::uint8_t>(how);
}

void add_reduction(const SlicingProblem& problem, const SlicingCost& cost,
                   const SlicingChoice& choice, int grid_axis, Slicing& slicing) {
  const SlicedLoop& loop = problem.loops[reduced_loop];
  InameSlicing sliced{loop.iname, {{0, {}}}};
  if (choice.shared_steps != 0) {
    sliced.factors.front().axis = {AxisKind::grid, grid_axis};
    const std::int64_t turns =
        choice.depth != 0 ? choice.shared_steps / choice.depth : std::int64_t{choice.shared_steps};
    if (turns > 1) {
      sliced.factors.push_back({turns, {}});
    }
    if (shares_by(choice, GridReduction::atomic)) {
      slicing.atomic_reductions.push_back(loop.iname);
    }
    if (shares_by(choice, GridReduction::last_block)) {
      slicing.last_block_reductions.push_back(loop.iname);
    }
  }
  if (choice.reduction_threads > 1) {
    const int axis = choice.fast[1] > 1 ? 1 : 0;
    sliced.factors.push_back({choice.reduction_threads, {AxisKind::block, axis}});
  }
  if (choice.slices > 1) {
    sliced.factors.push_back({choice.slices, {AxisKind::block, 2}});
  }
  const std::int64_t group = choice.is_unrolled ? 1 : cost.steps_at_once(choice);
  if (group > 1 || (choice.depth != 0 && choice.depth < loop.length)) {
    sliced.factors.push_back({choice.depth / choice.slices / group, {}});
  }
  if (group > 1) {
    sliced.factors.push_back({group, {AxisKind::unroll_hint, 0}});
  } else if (choice.is_unrolled) {
    sliced.factors.back().axis = {AxisKind::unroll_hint, 0};
  }
  if (sliced.factors.size() > 1 || choice.is_unrolled || choice.shared_steps != 0) {
    slicing.inames.push_back(std::move(sliced));
  }
}

std::uint16_t as_length(std::int64_t value) {
  return static_cast<std::uint16_t>(std::clamp<std::int64_t>(value, 0, UINT16_MAX));
}

/// Strided items, threads and contiguous items, from the loops after the first.
std::array<std::uint16_t, 3> cut_of(const InameSlicing& sliced) {
  std::array<std::uint16_t, 3> lengths = {1, 1, 1};
  const auto is_block = [](const SlicingFactor& each) { return each.axis.kind == AxisKind::block; };
  const bool has_threads = std::any_of(sliced.factors.begin(), sliced.factors.end(), is_block);
  std::size_t place = has_threads ? 0 : 2;
  for (std::size_t i = 1; i < sliced.factors.size(); ++i) {
    place = is_block(sliced.factors[i]) ? 1 : place;
    lengths[place] = as_length(sliced.factors[i].length);
    place = place == 1 ? 2 : place;
  }
  return lengths;
}

void read_reduction(const InameSlicing& sliced, SlicingChoice& choice) {
  const bool is_shared = sliced.factors.front().axis.kind == AxisKind::grid;
  choice.shared_steps = is_shared ? 1 : 0;
  const std::size_t last = sliced.factors.size() - 1;
  // after another loop of the tile it is a group of steps
  const std::size_t first_of_tile = is_shared ? 2 : 1;
  choice.is_unrolled =
      sliced.factors[last].axis.kind == AxisKind::unroll_hint &&
      (last <= first_of_tile || sliced.factors[last - 1].axis.kind != AxisKind::sequential);
  if (last == 0 && !is_shared) {
    return;  // not cut
  }
  std::int64_t steps = 0;  // of a thread within a tile
  for (std::size_t i = 1; i < sliced.factors.size(); ++i) {
    const SlicingFactor& factor = sliced.factors[i];
    if (factor.axis.kind == AxisKind::block) {
      (factor.axis.number == 2 ? choice.slices : choice.reduction_threads) =
          as_length(factor.length);
    } else if (is_shared && i == 1) {
      choice.shared_steps = as_length(factor.length);
    } else {
      steps = std::max<std::int64_t>(steps, 1) * factor.length;
    }
  }
  choice.depth = as_length(steps * choice.slices);
  if (is_shared && choice.depth != 0) {
    choice.shared_steps = as_length(std::int64_t{choice.shared_steps} * choice.depth);
  }
}

}  // namespace

bool are_neighbours(const SlicingChoice& a, const SlicingChoice& b) {
  Steps lengths;
  int answers = 0;
  int plans = 0;
  bool has_other_copies = false;
  for_each_decision([&](auto decision) {
    for_each_number(decision, a, b, [&](int x, int y) {
      if constexpr (decision.kind == DecisionKind::length) {
        lengths.compare(x, y);
      } else if constexpr (decision.kind == DecisionKind::stages) {
        answers += std::abs(x - y);
      } else if constexpr (decision.kind == DecisionKind::answer) {
        answers += x != y ? 1 : 0;
      } else if constexpr (decision.kind == DecisionKind::plan) {
        plans += x != y ? 1 : 0;
      } else {
        has_other_copies = has_other_copies || x != y;
      }
    });
  });
  plans += has_other_copies ? 1 : 0;
  if (answers + plans == 0) {
    return lengths.is_one();
  }
  return answers + plans == 1 && lengths.moved <= plans;
}

SlicingChoice crossover(const SlicingChoice& first, const SlicingChoice& second,
                        std::uint64_t mask) {
  SlicingChoice result = first;
  for_each_decision([&](auto decision) {
    if ((mask & 1) != 0) {
      result.*decision.member = second.*decision.member;
    }
    mask >>= 1;
  });
  return result;
}

std::uint64_t key_of(const SlicingChoice& choice) {
  static_assert(std::has_unique_object_representations_v<SlicingChoice>);
  std::array<std::uint64_t, (sizeof(choice) + 7) / 8> words{};
  std::memcpy(words.data(), &choice, sizeof(choice));
  StructuralHash hash;
  for (const std::uint64_t word : words) {
    hash.add(word);
  }
  return hash.value();
}

std::vector<std::int64_t> numbers_of(const SlicingChoice& choice, std::size_t free_arrays) {
  std::vector<std::int64_t> numbers;
  for_each_decision([&](auto decision) {
    for_each_number(decision, choice, choice, [&](int x, int) { numbers.push_back(x); });
  });
  numbers.resize(numbers.size() - most_free_arrays + free_arrays);
  numbers.push_back(choice.threads());
  numbers.push_back(choice.tile_items());
  return numbers;
}

Slicing slicing_of(const SlicingProblem& problem, const SlicingCost& cost,
                   const SlicingChoice& choice) {
  Slicing slicing;
  const std::vector<std::size_t> on_grid = loops_on_grid(problem, cost, choice);
  const auto axis_of = [&](std::size_t loop) {
    return static_cast<int>(std::find(on_grid.begin(), on_grid.end(), loop) - on_grid.begin());
  };
  if (problem.has(fast_loop)) {
    slicing.inames.push_back(
        cut_result(problem.loops[fast_loop], axis_of(fast_loop), 0, choice.fast, choice.is_vector));
  }
  if (problem.has(slow_loop)) {
    slicing.inames.push_back(
        cut_result(problem.loops[slow_loop], axis_of(slow_loop), 1, choice.slow, false));
  }
  for (std::size_t i = first_whole_loop; i < loop_count; ++i) {
    const std::string& iname = problem.loops[i].iname;
    if (choice.is_in_thread(i)) {
      slicing.inames.push_back({iname, {{0, {AxisKind::ilp, 0}}}});
    } else if (problem.has(i) && axis_of(i) < static_cast<int>(on_grid.size())) {
      slicing.inames.push_back({iname, {{0, {AxisKind::grid, axis_of(i)}}}});
      if (i == choice.batch_loop() && choice.batch > 1) {
        slicing.inames.back().factors.push_back({choice.batch, {AxisKind::block, 2}});
      }
    }
  }
  if (problem.has(reduced_loop)) {
    add_reduction(problem, cost, choice, static_cast<int>(on_grid.size()), slicing);
  }
  for (const std::string& iname : problem.short_sums) {
    const bool is_cut = std::any_of(slicing.inames.begin(), slicing.inames.end(),
                                    [&](const auto& each) { return each.iname == iname; });
    if (!is_cut) {
      slicing.inames.push_back({iname, {{0, {AxisKind::unroll, 0}}}});
    }
  }
  for (std::size_t i = 0; i < problem.fetchable.size(); ++i) {
    const Fetchable& reads = problem.fetchable[i];
    if ((choice.fetched >> i & 1) != 0) {
      slicing.fetches.push_back({.array = reads.array,
                                 .is_transposed = cost.is_transposed(choice, i),
                                 .padding = cost.padding(choice, i),
                                 .is_swizzled = cost.is_swizzled(choice, i),
                                 .vector_width = cost.vector_width(choice, i),
                                 .group = reads.group});
    } else if ((choice.kept >> i & 1) != 0) {
      slicing.fetches.push_back({.array = reads.array, .in_registers = true, .group = reads.group});
    }
  }
  slicing.stages = choice.stages;
  slicing.swizzle_rows = choice.swizzle_rows;
  for (std::size_t i = 0; i < problem.free_layouts.size(); ++i) {
    if (choice.layouts[i] != 0) {
      slicing.layouts.push_back(problem.free_layouts[i].ways[choice.layouts[i]].plan);
    }
  }
  return slicing;
}

std::optional<SlicingChoice> choice_of(const SlicingProblem& problem, const SlicingCost& cost,
                                       const Slicing& slicing) {
  SlicingChoice choice;
  const std::uint8_t tables = tables_outside_of_sums(problem);
  const bool has_tile =
      std::any_of(slicing.fetches.begin(), slicing.fetches.end(), [&](const FetchPlan& each) {
        for (std::size_t i = 0; i < problem.fetchable.size(); ++i) {
          if (problem.fetchable[i].array == each.array &&
              problem.fetchable[i].group == each.group && (tables >> i & 1) != 0) {
            return false;
          }
        }
        return !each.in_registers;
      });
  if (has_tile && problem.has(reduced_loop)) {
    choice.depth = as_length(problem.loops[reduced_loop].length);  // uncut
  }
  for (const InameSlicing& each : slicing.inames) {
    if (each.factors.size() == 1 && each.factors.front().axis.kind == AxisKind::unroll &&
        std::count(problem.short_sums.begin(), problem.short_sums.end(), each.iname) != 0) {
      continue;
    }
    const auto loop = std::find_if(problem.loops.begin(), problem.loops.end(),
                                   [&](const auto& known) { return known.iname == each.iname; });
    if (loop == problem.loops.end() || each.factors.empty()) {
      return std::nullopt;
    }
    const auto which = static_cast<std::size_t>(loop - problem.loops.begin());
    if (which == fast_loop || which == slow_loop) {
      (which == fast_loop ? choice.fast : choice.slow) = cut_of(each);
      choice.is_vector = choice.is_vector || each.factors.back().axis.kind == AxisKind::vec;
    } else if (which == reduced_loop) {
      read_reduction(each, choice);
    } else if (each.factors.front().axis.kind == AxisKind::ilp) {
      choice.in_thread |= static_cast<std::uint8_t>(1U << (which - first_whole_loop));
    } else if (which >= first_whole_loop && each.factors.size() == 2) {
      choice.batch = as_length(each.factors[1].length);
    }
  }
  for (const FetchPlan& fetch : slicing.fetches) {
    const auto array = std::find_if(
        problem.fetchable.begin(), problem.fetchable.end(),
        [&](const auto& each) { return each.array == fetch.array && each.group == fetch.group; });
    if (array == problem.fetchable.end()) {
      return std::nullopt;
    }
    (fetch.in_registers ? choice.kept : choice.fetched) |=
        static_cast<std::uint8_t>(1U << (array - problem.fetchable.begin()));
    choice.is_swizzled = choice.is_swizzled || fetch.is_swizzled;
  }
  choice.stages = static_cast<std::uint8_t>(slicing.stages);
  choice.swizzle_rows = static_cast<std::uint8_t>(slicing.swizzle_rows);
  choice.sharing = static_cast<std::uint8_t>(
      !slicing.atomic_reductions.empty()       ? GridReduction::atomic
      : !slicing.last_block_reductions.empty() ? GridReduction::last_block
                                               : GridReduction::two_stage);
  for (const LayoutPlan& plan : slicing.layouts) {
    for (std::size_t i = 0; i < problem.free_layouts.size(); ++i) {
      const std::vector<FreeLayout::Way>& ways = problem.free_layouts[i].ways;
      const auto way = std::find_if(ways.begin(), ways.end(),
                                    [&](const auto& each) { return each.plan == plan; });
      choice.layouts[i] =
          way == ways.end() ? choice.layouts[i] : static_cast<std::uint8_t>(way - ways.begin());
    }
  }
  for (const bool may_transpose : {true, false}) {
    choice.may_transpose = may_transpose;
    if (slicing_of(problem, cost, choice) == slicing) {
      return choice;
    }
  }
  return std::nullopt;
}

}  // namespace rtcg::loopy::detail
