#include "rtcg/loopy/slice/seed_shapes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

namespace rtcg::loopy::detail {
namespace {

using Cut = std::array<std::uint16_t, 3>;  // strided items, threads, contiguous items
using Shape = std::array<Cut, 2>;

enum class Tiles { whole_rows, strided_items, short_rows, long_rows };
enum class Axis { fast, slow };

/// A cut that the fastest slicings of searches had.
struct SeedCut {
  std::string_view architecture;  ///< MachineModel::architecture
  Tiles tiles;
  Axis axis;
  Cut cut;  ///< 0 threads: any number
  const char* device;
  const char* date;
  const char* gain;  ///< times as fast as cuBLAS in f32, of tiles with such cuts
};

// Figures: docs/performance.md, `rtcg_bench_gpu tune_matmul tune_small tune_dg`.
// clang-format off
constexpr SeedCut seed_cuts[] = {
    // n <= 36, 32 columns, differentiation of DG up to order 4
    {"sm_90", Tiles::whole_rows, Axis::slow, {2, 8, 8}, "NVIDIA H200", "2026-11-21", "1.5 to 3.2"},
    {"sm_90", Tiles::whole_rows, Axis::slow, {4, 32, 1}, "NVIDIA H200", "2026-11-21", "1.5 to 3.2"},
    {"sm_90", Tiles::whole_rows, Axis::slow, {6, 16, 1}, "NVIDIA H200", "2026-11-21", "1.5 to 3.2"},
    {"sm_90", Tiles::whole_rows, Axis::slow, {4, 8, 2}, "NVIDIA H200", "2026-11-21", "1.5 to 3.2"},
    // differentiation of DG from order 5 on
    {"sm_90", Tiles::strided_items, Axis::slow, {6, 16, 1}, "NVIDIA H200", "2026-11-21", "0.96 to 1.6"},
    {"sm_90", Tiles::strided_items, Axis::slow, {8, 8, 1}, "NVIDIA H200", "2026-11-21", "0.96 to 1.6"},
    {"sm_90", Tiles::strided_items, Axis::slow, {8, 16, 1}, "NVIDIA H200", "2026-11-21", "0.96 to 1.6"},
    {"sm_90", Tiles::strided_items, Axis::slow, {12, 8, 1}, "NVIDIA H200", "2026-11-21", "0.96 to 1.6"},
    // the same, and n = 100
    {"sm_90", Tiles::short_rows, Axis::fast, {2, 0, 4}, "NVIDIA H200", "2026-11-21", "0.96 to 3.2"},
    {"sm_90", Tiles::short_rows, Axis::fast, {1, 0, 4}, "NVIDIA H200", "2026-11-21", "0.96 to 3.2"},
    {"sm_90", Tiles::short_rows, Axis::slow, {2, 8, 4}, "NVIDIA H200", "2026-11-21", "0.96 to 3.2"},
    {"sm_90", Tiles::short_rows, Axis::slow, {2, 16, 4}, "NVIDIA H200", "2026-11-21", "0.96 to 3.2"},
    {"sm_90", Tiles::short_rows, Axis::slow, {1, 16, 4}, "NVIDIA H200", "2026-11-21", "0.96 to 3.2"},
    // n = 300 to 8192
    {"sm_90", Tiles::long_rows, Axis::fast, {2, 16, 4}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::fast, {1, 16, 4}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::fast, {2, 16, 2}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::fast, {1, 8, 4}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::slow, {2, 8, 4}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::slow, {1, 8, 8}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::slow, {2, 8, 2}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::slow, {1, 4, 8}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
    {"sm_90", Tiles::long_rows, Axis::slow, {2, 4, 2}, "NVIDIA H200", "2026-11-21", "0.91 to 2.6"},
};
// clang-format on

/// The rows of one architecture.
struct Seeds {
  std::string_view architecture;

  [[nodiscard]] bool has(Tiles tiles, Axis axis, const Cut& cut) const {
    return std::any_of(std::begin(seed_cuts), std::end(seed_cuts), [&](const SeedCut& each) {
      return each.tiles == tiles && each.axis == axis && each.cut == cut &&
             each.architecture == architecture;
    });
  }
};

bool has_threads(const SlicingChoice& choice, std::int64_t least, std::int64_t most) {
  return choice.threads() >= least && choice.threads() <= most;
}

/// Short rows and a short reduction, which is fetched whole.
std::optional<Shape> whole_rows(const Seeds& seeds, const SlicingChoice& choice) {
  const bool has_lanes = choice.fast[2] == 1 && (choice.fast[0] == 1 || choice.fast[0] >= 5);
  return has_lanes && choice.in_thread != 0 && has_threads(choice, 96, 320) &&
                 seeds.has(Tiles::whole_rows, Axis::slow, choice.slow)
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// The rows of both operands are along the reduction, and a load covers several steps of it.
std::optional<Shape> strided_items(const Seeds& seeds, const SlicingChoice& choice) {
  return choice.fast[2] == 1 && choice.fast[0] >= 4 && choice.in_thread == 0 &&
                 choice.depth % 4 == 0 && has_threads(choice, 64, 256) &&
                 seeds.has(Tiles::strided_items, Axis::slow, choice.slow)
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// A block covers short rows, or half of one.
std::optional<Shape> short_rows(const Seeds& seeds, const SlicingChoice& choice) {
  const Cut fast = {choice.fast[0], 0, choice.fast[2]};
  const bool has_lanes = seeds.has(Tiles::short_rows, Axis::fast, fast) || fast[0] > 4;
  return has_lanes && has_threads(choice, 64, 256) &&
                 seeds.has(Tiles::short_rows, Axis::slow, choice.slow)
             ? std::optional(Shape{fast, choice.slow})
             : std::nullopt;
}

std::optional<Shape> long_rows(const Seeds& seeds, const SlicingChoice& choice) {
  return choice.depth % 4 == 0 && seeds.has(Tiles::long_rows, Axis::fast, choice.fast) &&
                 seeds.has(Tiles::long_rows, Axis::slow, choice.slow)
             ? std::optional(Shape{choice.fast, choice.slow})
             : std::nullopt;
}

/// A reduction that is fetched whole, since there is too little of it for tiles.
bool is_short(const SlicingProblem& problem) {
  return problem.loops[reduced_loop].length < 48;
}

bool is_tiled(const SlicingProblem& problem, const SlicingChoice& choice) {
  const bool has_depth =
      is_short(problem)
          ? choice.depth == problem.loops[reduced_loop].length && choice.stages == 1
          : choice.depth >= 10 && choice.depth <= 44 && (choice.stages == 2 || choice.stages == 3);
  return has_depth && choice.fetched == (1U << problem.fetchable.size()) - 1 &&
         choice.fetched > 1 && choice.slices == 1 && choice.swizzle_rows == 0 && choice.kept == 0 &&
         choice.may_transpose && !choice.is_vector && !choice.is_unrolled && !choice.is_swizzled &&
         choice.layouts == LayoutNumbers{};
}

}  // namespace

std::vector<std::size_t> seed_places(const SlicingProblem& problem,
                                     const std::vector<RankedChoice>& ranked,
                                     std::string_view architecture) {
  const Seeds seeds = {architecture};
  std::vector<std::size_t> places;
  const auto add_first_of_shapes = [&](const auto& shape_of, int most_of_a_shape,
                                       std::size_t most) {
    std::map<Shape, int> taken;
    for (std::size_t i = 0; i < ranked.size() && places.size() < most; ++i) {
      const SlicingChoice& choice = ranked[i].choice;
      const std::optional<Shape> shape =
          is_tiled(problem, choice) ? shape_of(seeds, choice) : std::nullopt;
      if (shape && taken[*shape]++ < most_of_a_shape) {
        places.push_back(i);
      }
    }
  };
  const bool has_short_rows = problem.loops[fast_loop].length <= 256;
  if (has_short_rows && is_short(problem)) {
    add_first_of_shapes(whole_rows, 1, 16);
  } else if (has_short_rows) {
    add_first_of_shapes(strided_items, 1, 16);
    add_first_of_shapes(short_rows, 3, 40);
  } else {
    add_first_of_shapes(long_rows, 2, 40);
  }
  return places;
}

}  // namespace rtcg::loopy::detail
