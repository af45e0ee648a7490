#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/free_layouts.h"
#include "rtcg/loopy/slice/operation_mix.h"

// What SlicingStream has to know of a kernel.

namespace rtcg::loopy::detail {

/// The loops that are cut: two of the results, and the longest of the reductions; then two more of
/// the results, each on the grid or as items of one thread, or around some statements alone.
constexpr std::size_t fast_loop = 0;
constexpr std::size_t slow_loop = 1;
constexpr std::size_t reduced_loop = 2;
constexpr std::size_t first_whole_loop = 3;
constexpr std::size_t loop_count = 5;
constexpr std::size_t nowhere = SIZE_MAX;
/// Groups of reads that are fetched or not, at most.
constexpr std::size_t most_fetchable = 4;

/// How many of its slicings a kernel has, and how long it takes to rank them: searches look through
/// all again and again, and wait for the first.
struct RankingBounds {
  std::size_t most_slicings = 400000;  ///< the best ones
  std::size_t most_choices = 1200000;  ///< that are looked at, about: a second of one core, or less
};

/// No iname.
struct SlicedLoop {
  std::string iname{};
  std::int64_t length = 1;
  /// Whether the kernel says so, not the parameters alone: copies that sweep all of it and lanes
  /// that stand for it need to know.
  bool is_constant = true;
  std::int64_t begin = 0;
  /// Whether only some of the statements are within it: all of it is items of a thread, or it stays
  /// a loop.
  bool is_inner = false;
};

/// The lines of memory, of 128 bytes, that neighbours are in.
struct NeighbourLines {
  /// Of the first 1, 2, 4, ... 32 neighbours.
  std::array<double, 6> counts{1, 1, 1, 1, 1, 1};
  /// How many neighbours are contiguous from the first one on, 32 at most.
  std::int64_t contiguous = 32;
};

/// How a group of reads, see AccessGroup, touches an array: which elements along each axis the
/// loops reach.
struct SlicedRead {
  struct Axis {
    std::array<std::int64_t, loop_count> coefficients{};
    std::int64_t others = 1;  ///< values that all other loops add to the footprint
    /// The same of reductions around the one that is cut: a tile that moves along it has one of
    /// their values.
    std::int64_t outer_sums = 0;
  };
  std::string array{};
  std::size_t group = 0;  ///< of the array's, from 0 on
  /// Whether places are computed, `a[i, p[j]]`, and which loops choose them: any element of such an
  /// axis may be read.
  bool is_gathered = false;
  std::array<bool, loop_count> chosen_by{};
  double share_of_sectors = 1;  ///< of its reads that are in sectors of their own
  double element_bytes = 4;
  std::vector<Axis> axes{};
  std::array<bool, loop_count> mentions{};
  /// Times that one result, or one step of the reduction, reads it.
  double times = 1;
  /// Whether the reduction that is cut is around it, and the iterations of other loops around it
  /// that choose what it reads, but for those of results.
  bool is_in_cut_sum = false;
  double other_steps = 1;
  /// Iterations of the reductions around the one that is cut, and of those that do not choose what
  /// it reads: each reads it again, and a tile that moves along the cut one is copied again.
  double outer_steps = 1;
  double repeats = 1;
  /// The same without reductions.
  double other_elements = 1;
  /// Share of the points of the box of its loops in which it is read: 1/2 in a triangle.
  double density = 1;
  /// Neighbours along the last axis that may be read at once wherever the loop along it steps by
  /// whole runs of them; 0: none.
  std::int64_t vector_width = 0;
  /// Bytes that copies move for each byte of a tile, and operations of integers that find an
  /// element, where fused indices lead to it.
  double overfetch = 1;
  double index_operations = 0;
  /// Along the axis along which they copy.
  NeighbourLines lines{};
  /// Places of the array in SlicingProblem::fetchable and free_layouts; `nowhere` where it is none
  /// of them.
  std::size_t fetchable = nowhere;
  std::size_t free_layout = nowhere;

  /// Whether iterations of the loop read different elements.
  [[nodiscard]] bool depends_on(std::size_t loop) const {
    return mentions[loop] || chosen_by[loop];
  }
};

/// Reads that may be fetched.
struct Fetchable {
  std::string array{};
  std::int64_t group = 0;      ///< as FetchPlan::group: 0 where the array has one
  bool can_run_ahead = false;  ///< whether copies along the reduction can, see pipeline()
};

/// What relates loops: sum of coefficients[i]*loops[i] + constant >= 0.
struct LoopBound {
  std::array<std::int64_t, loop_count> coefficients{};
  std::int64_t constant = 0;
};

struct SlicingProblem {
  std::array<SlicedLoop, loop_count> loops{};
  std::int64_t other_results = 1;  ///< iterations of results' loops that always stay loops
  std::vector<SlicedRead> reads{};
  std::vector<Fetchable> fetchable{};  ///< at most most_fetchable
  /// A bit for each set of them, as a number of bits, that leaves statements without an order:
  /// where the reduction is cut, and where it is not.
  std::array<std::uint16_t, 2> refused_fetches{};
  /// Arithmetic of one result and one step of the reduction that is cut, and what is outside of
  /// it: a mean over the box of the results. Without a reduction there is one step.
  OperationMix in_sum{};
  OperationMix outside{};
  /// Shares of in_sum and outside that are sums which a loop around their statements does not
  /// change: its items in a thread have them together.
  std::array<IdleShares, loop_count> idle_shares{};
  /// See shares_of_loops(): of the sum, along the fast and the slow loop.
  std::array<double, 4> shares_of_loops{0, 0, 0, 1};
  /// Sums of one result, one after the other: those of the steps of a recurrence.
  double serial_sums = 1;
  /// Points of the longest sum, over all results; of the results where there is none.
  double least_steps = 1;
  /// What is read and written at least once, over all results.
  double compulsory_bytes = 0;
  double result_bytes = 4;   ///< of an element
  double written_bytes = 4;  ///< for each result
  /// Whether each statement writes neighbours along the fast loop.
  bool writes_neighbours = false;
  /// Whether threads of a block may share the reductions over the loop that is cut.
  bool can_spread_sums = false;
  /// Whether there is one statement with one reduction, which blocks may share, and by atomic
  /// functions, too.
  bool can_share_sums = false;
  bool can_add_atomically = false;
  /// Whether the last block may add up what the others have.
  bool can_end_with_last_block = false;
  /// What holds of the fast and the slow loop together wherever there are results, `j <= i`: blocks
  /// elsewhere have nothing to do.
  std::vector<LoopBound> triangles{};
  /// Where the reduction that is cut begins, if that depends on results, `k >= i`: all that bounds
  /// it from below; a bound without coefficients where that is not known.
  std::vector<LoopBound> beginnings{};
  /// Arrays that the caller lets the tuner lay out, and how they are written.
  std::vector<FreeLayout> free_layouts{};
  std::vector<SlicedRead> laid_writes{};

  /// Reductions of a few steps each, and how many steps they have in all. Slicings write them out:
  /// for processors all of them, since compilers vectorise the loop over threads around one loop,
  /// not around several; for GPUs those that indices divide, `k // 3`, since the quotients vanish
  /// then and elements that several steps read stay in registers.
  std::vector<std::string> short_sums{};
  std::int64_t written_steps = 1;

  RankingBounds bounds{};
  /// Whether blocks may come in another order: not where a kernel has other nests.
  bool can_swizzle_blocks = true;
  /// Of a block along the fast and the slow loop, or all of a shorter one.
  std::int64_t least_tile = 1;

  [[nodiscard]] bool has(std::size_t loop) const { return !loops[loop].iname.empty(); }
};

/// A bit for each group of reads at computed places whose copy does not move along the reduction:
/// it is made before the sums, which need no tiles for it.
[[nodiscard]] std::uint8_t tables_outside_of_sums(const SlicingProblem& problem);

/// @param free_layouts  what SlicingConstraints says
/// @param machine       whose vectors or warps free layouts and written-out sums fit
/// @throws InvalidInput  loopy.slicings.missing_parameter, loopy.slicings.nothing_to_slice,
///                       loopy.slicings.fixed_layout
[[nodiscard]] SlicingProblem read_slicing_problem(const Kernel& kernel,
                                                  const IntegerValues& parameters,
                                                  const std::vector<std::string>& free_layouts,
                                                  const MachineModel& machine);

/// The loops that all statements are within and all results are indexed by, the fastest varying
/// first; they are independent of each other.
/// @param expanded  has no rules
/// @throws InvalidInput  loopy.slicings.missing_parameter
[[nodiscard]] std::vector<SlicedLoop> result_loops(const Kernel& expanded,
                                                   const IntegerValues& parameters);
/// Whether the kernel computes where a loop begins or ends, `begin <= k < end`: no parameter tells
/// its length.
[[nodiscard]] bool has_computed_bounds(const Kernel& kernel, const std::string& iname);
/// @throws InvalidInput  loopy.slicings.missing_parameter
[[nodiscard]] SlicedLoop sliced_loop(const Kernel& expanded, const IntegerValues& parameters,
                                     const std::string& iname);

}  // namespace rtcg::loopy::detail
