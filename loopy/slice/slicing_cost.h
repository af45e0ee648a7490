#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <vector>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_choice.h"
#include "rtcg/loopy/transform/second_launch.h"

// What a slicing takes, counted in closed form from the lengths of its loops.

namespace rtcg::loopy::detail {

/// Keeps references to what it is made of, and remembers what it found out last: not for several
/// threads at once.
class SlicingCost {
 public:
  SlicingCost(const SlicingProblem& problem, const MachineModel& machine)
      : problem_(problem),
        machine_(machine),
        operations_of_step_(problem.in_sum.as_floats(machine)),
        operations_outside_(problem.outside.as_floats(machine)) {}

  [[nodiscard]] double seconds(const SlicingChoice& choice) const {
    return seconds(choice, shared_bytes(choice));
  }
  /// The same where it is known how much shared memory a block takes.
  [[nodiscard]] double seconds(const SlicingChoice& choice, std::int64_t shared_bytes) const;
  /// Not more than seconds(), whatever the stages, the order of blocks, how rows lie and what is
  /// unrolled: one look tells for all of these.
  [[nodiscard]] double least_run_seconds(const SlicingChoice& choice) const;
  /// No launch takes less: one instruction for each step of each result. 0 where that is not known.
  [[nodiscard]] double least_seconds(const SlicingChoice& choice) const;
  /// As many as are launched.
  [[nodiscard]] std::int64_t blocks(const SlicingChoice& choice) const;
  /// Tiles that a block goes through one after the other, along loops of results for which the grid
  /// has no axis.
  [[nodiscard]] std::int64_t tiles_of_block(const SlicingChoice& choice) const;
  [[nodiscard]] bool is_off_grid(const SlicingChoice& choice, std::size_t loop) const;
  /// Blocks along one loop of the results.
  [[nodiscard]] std::int64_t blocks_along(const SlicingChoice& choice, std::size_t loop) const;
  /// Blocks that share one reduction.
  [[nodiscard]] std::int64_t sharing_blocks(const SlicingChoice& choice) const;
  /// Results of one thread.
  [[nodiscard]] std::int64_t items_per_thread(const SlicingChoice& choice) const;
  [[nodiscard]] std::int64_t shared_bytes(const SlicingChoice& choice) const;
  /// Of a thread, 255 at most.
  [[nodiscard]] double registers(const SlicingChoice& choice) const;

  /// Elements of an array that a thread holds in registers between two steps of the tiles.
  [[nodiscard]] double kept_elements(const SlicingChoice& choice) const;
  /// Whether a thread that keeps the array in registers loads much less, and has room for it: its
  /// lanes and the loops of its reductions read the same elements at different times.
  [[nodiscard]] bool gains_from_keeping(const SlicingChoice& choice, std::size_t fetchable) const;

  // arrays are told by their places in SlicingProblem::fetchable
  [[nodiscard]] bool is_fetched(const SlicingChoice& choice, std::size_t fetchable) const;
  /// Its rows are along another axis than neighbouring items: stored transposed, vector loads fit.
  [[nodiscard]] bool is_transposed(const SlicingChoice& choice, std::size_t fetchable) const;
  [[nodiscard]] bool is_any_transposed(const SlicingChoice& choice) const;
  /// Elements behind each row of a tile, so that threads and items that go down its columns find
  /// other banks.
  [[nodiscard]] std::int64_t padding(const SlicingChoice& choice, std::size_t fetchable) const;
  /// Whether the rows of a tile are swizzled in place of that.
  [[nodiscard]] bool is_swizzled(const SlicingChoice& choice, std::size_t fetchable) const;
  /// Whether some tile could be: swizzled rows take less memory, and more arithmetic.
  [[nodiscard]] bool can_be_swizzled(const SlicingChoice& choice) const;
  /// Elements that copies into a tile read at once; 0: one by one, or as the pipeline chooses.
  [[nodiscard]] std::int64_t vector_width(const SlicingChoice& choice, std::size_t fetchable) const;
  /// Whether the arrays can lie so: tiles are copied along axes that are whole, and vectors are
  /// written along the last axis.
  [[nodiscard]] bool can_be_laid_out(const SlicingChoice& choice) const;
  /// Steps along the reduction that belong together, since loads from some tile read so many: they
  /// are unrolled also where the others are not.
  [[nodiscard]] std::int64_t steps_at_once(const SlicingChoice& choice) const;
  /// Share of the blocks that have points, where results are a triangle or a band.
  [[nodiscard]] double share_of_blocks(const SlicingChoice& choice) const;
  /// Whether all threads of a block begin the reduction with the same tile, and an affine form says
  /// with which: pipeline() asks for that.
  [[nodiscard]] bool has_known_beginning(const SlicingChoice& choice) const;
  /// Whether a tile that is fetched moves along the reduction, so that its copies can run ahead.
  [[nodiscard]] bool can_pipeline(const SlicingChoice& choice) const;

 private:
  [[nodiscard]] double cpu_seconds(const SlicingChoice& choice) const;
  /// The threads of a block on a processor: vectors along one loop, and rows of them.
  struct Lanes {
    std::size_t loop = fast_loop;
    double of_vector = 1;
    double vectors = 1;
    double rows = 1;
  };
  [[nodiscard]] Lanes lanes_of(const SlicingChoice& choice) const;
  [[nodiscard]] double clocks_of_loads(const SlicedRead& read, const SlicingChoice& choice,
                                       const Lanes& lanes) const;
  [[nodiscard]] double processor_block_clocks(const SlicingChoice& choice) const;
  /// What a block does.
  struct Work {
    double flop_clocks = 0;
    double shared_clocks = 0;
    double cache_clocks = 0;
    double instructions = 0;
    /// Of copies into tiles, which all threads of a block make before they compute.
    double copy_clocks = 0;
    double memory_bytes = 0;  ///< that are read
    double written_bytes = 0;
    double far_bytes = 0;  ///< that the second-level cache gives for places that are computed
    double tiles = 1;      ///< along the reduction
    double steps = 1;      ///< of a thread along the reduction
    double warps = 1;
    double meeting_clocks = 0;  ///< of threads that share reductions
    /// What a warp waits for in each step along the reduction, if no other step hides it.
    double shared_latency = 0;
    double direct_bytes = 0;    ///< by which the reads that are not fetched move on, 32 at most
    double direct_loads = 0;    ///< of a thread
    double guarded_clocks = 0;  ///< of a block at the rim of a triangle
    double items = 1;           ///< of a thread
    double blocks = 1;
    double residents = 1;  ///< on a multiprocessor, as far as threads and registers say
    double registers = 0;
    double most_registers = 0;
    double spill_factor = 1;
    double tiles_of_block = 1;
    double steps_at_once = 1;
    double least_run_seconds = 0;
  };
  /// How a block runs, as far as decisions outside of its work say.
  struct Run {
    double resident = 1;  ///< blocks on a multiprocessor
    double stages = 1;
    double steps_at_once = 1;  ///< along the reduction
    bool is_least = false;     ///< whether nothing waits, whatever the stages and what is unrolled
  };
  /// By how much the scheduler with the most warps has more of them than the mean.
  [[nodiscard]] double unevenness(const SlicingChoice& choice, const Work& work,
                                  double resident) const;
  [[nodiscard]] double run_seconds(const SlicingChoice& choice, const Work& work,
                                   const Run& run) const;
  /// What one block takes if it is alone.
  [[nodiscard]] double block_clocks(const SlicingChoice& choice, const Work& work,
                                    const Run& run) const;
  /// Steps whose reads are on their way together: as many as are unrolled.
  [[nodiscard]] double unrolled_steps(const SlicingChoice& choice, const Work& work) const;
  /// As reduce_over_grid() makes it.
  [[nodiscard]] SecondLaunch launch_of_parts(const SlicingChoice& choice) const;
  /// Of what adds up the parts that the blocks have of tiles of results.
  [[nodiscard]] double seconds_of_parts(const SlicingChoice& choice, const Work& work) const;
  [[nodiscard]] Work make_work(const SlicingChoice& choice) const;
  [[nodiscard]] const Work& work_of(const SlicingChoice& choice) const;
  void add_reads(const SlicingChoice& choice, Work& work) const;
  void add_fetched(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                   double block_bytes, Work& work) const;
  /// Elements of a tile that one instruction copies.
  [[nodiscard]] double copied_at_once(const SlicedRead& read, const SlicingChoice& choice) const;
  /// What copies of so many elements into a tile take longer where neighbours are not contiguous.
  [[nodiscard]] double copy_clocks(const SlicedRead& read, const SlicingChoice& choice,
                                   double elements) const;
  void add_direct(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                  Work& work) const;
  /// Sectors that a load of a warp touches where the places are computed.
  [[nodiscard]] double gathered_sectors(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Bytes among which the lanes of one load choose.
  [[nodiscard]] double span_of_lanes(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Elements that a block reads at computed places, at most.
  [[nodiscard]] double gathered_elements(const SlicedRead& read, const SlicingChoice& choice,
                                         double per_warp) const;
  [[nodiscard]] bool is_same_for_all_blocks(const SlicedRead& read,
                                            const SlicingChoice& choice) const;
  /// How an array lies; null where that is not free.
  [[nodiscard]] const FreeLayout::Way* find_way(const SlicingChoice& choice,
                                                std::size_t free_layout) const;
  /// The axis of what is read or written along which neighbours are contiguous, or any_axis.
  [[nodiscard]] std::size_t fastest_axis(const SlicingChoice& choice, const SlicedRead& read) const;
  /// Whether neighbouring threads touch neighbouring elements.
  [[nodiscard]] bool is_along_rows(const SlicingChoice& choice, const SlicedRead& read) const;
  /// Elements from what an iteration of the fast loop touches to what the next one does, along the
  /// axis along which neighbours are contiguous; at least 1.
  [[nodiscard]] std::int64_t distance_of_neighbours(const SlicingChoice& choice,
                                                    const SlicedRead& read) const;
  /// What results cost beyond their bytes where threads write across rows.
  void add_laid_writes(const SlicingChoice& choice, Work& work) const;
  /// By which factor a processor is slower for the way that arrays lie.
  [[nodiscard]] double cpu_layout_factor(const SlicingChoice& choice) const;
  [[nodiscard]] std::int64_t default_padding(const SlicingChoice& choice,
                                             std::size_t fetchable) const;
  /// Steps of a tile that one load reads where the rows lie along the reduction; 1 elsewhere.
  [[nodiscard]] std::int64_t steps_of_group(const SlicedRead& read,
                                            const SlicingChoice& choice) const;
  [[nodiscard]] double residents_of(const SlicingChoice& choice) const;
  [[nodiscard]] double outer_steps() const;
  /// Whether the reduction that is cut has several tiles.
  [[nodiscard]] bool moves_along_reduction(const SlicingChoice& choice) const;
  /// Values that loops which are not cut add to a tile.
  [[nodiscard]] std::int64_t others_of(const SlicedRead::Axis& axis,
                                       const SlicingChoice& choice) const;
  /// Registers that the threads of a block can have.
  [[nodiscard]] double most_registers_of(const SlicingChoice& choice) const;
  /// Bytes that memory moves for each byte of a tile's rows: whole sectors.
  [[nodiscard]] double sectors_of_rows(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Items of a thread that read different elements.
  [[nodiscard]] double own_items(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Of what the items of a thread read in so many steps along the reduction, the share that it
  /// loads: windows overlap.
  [[nodiscard]] double window_share(const SlicedRead& read, const SlicingChoice& choice,
                                    double steps) const;
  /// Whether the compiler keeps what inner loops read for all steps of the reduction.
  [[nodiscard]] bool stays_in_registers(const SlicedRead& read, const SlicingChoice& choice) const;
  /// How a warp reads a tile.
  struct SharedAccess {
    double width = 1;   ///< elements of a load
    double clocks = 1;  ///< of a load
  };
  [[nodiscard]] SharedAccess shared_access(const SlicedRead& read,
                                           const SlicingChoice& choice) const;
  [[nodiscard]] double length(const SlicedRead::Axis& axis, const SlicingChoice& choice) const;
  /// Elements that one thread reads along the loops within it.
  [[nodiscard]] double thread_footprint(const SlicedRead& read, const SlicingChoice& choice) const;
  [[nodiscard]] bool is_kept(const SlicingChoice& choice, std::size_t fetchable) const;
  /// What of an array a block holds.
  struct Tile {
    double elements = 1;      ///< along the cut loops
    bool is_matrix = false;   ///< whether it has two axes: those of length 1 are dropped
    double column_count = 1;  ///< along its last axis, no more than all loops along it reach
    double row_count = 1;     ///< along the axis before
  };
  [[nodiscard]] Tile make_tile(const SlicedRead& read, const SlicingChoice& choice) const;

  /// How the rows of a tile lie in shared memory.
  struct Rows {
    double elements = 0;       ///< of one
    std::int64_t padding = 0;  ///< unless they are swizzled
    bool can_be_swizzled = false;
  };
  [[nodiscard]] Rows make_rows(const SlicingChoice& choice, std::size_t fetchable) const;
  [[nodiscard]] Rows rows_of(const SlicingChoice& choice, std::size_t fetchable) const;
  [[nodiscard]] bool swizzles(const SlicingChoice& choice, const Rows& rows) const;
  /// What they depend on beside the tiles: whether these may be transposed, are unrolled and have
  /// several stages, and slices, 1 to 8.
  static constexpr std::size_t ways_of_rows = 32;
  struct Tiles {
    SlicingChoice choice{};
    std::vector<Tile> of_reads{};  // none at first
    /// Of the arrays that may be fetched: the first read that is a matrix, and whether its tile
    /// lies the other way round where it may.
    std::array<std::size_t, most_fetchable> matrices{};
    std::array<bool, most_fetchable> transposes{};
    // of the same arrays
    std::array<std::array<Rows, ways_of_rows>, most_fetchable> rows{};
    std::array<std::uint32_t, most_fetchable> known_rows{};  ///< a bit for each way
  };
  void make_tiles(const SlicingChoice& choice) const;
  [[nodiscard]] Tiles& known_tiles_of(const SlicingChoice& choice) const {
    if (!are_alike<DecisionScope::tiles>(tiles_.choice, choice) || tiles_.of_reads.empty()) {
      make_tiles(choice);
    }
    return tiles_;
  }
  [[nodiscard]] const Tiles& tiles_of(const SlicingChoice& choice) const {
    return known_tiles_of(choice);
  }
  /// @param read  one of the problem's
  [[nodiscard]] const Tile& tile_of(const SlicedRead& read, const SlicingChoice& choice) const {
    return tiles_of(choice).of_reads[static_cast<std::size_t>(&read - problem_.reads.data())];
  }

  struct KnownWork {
    bool is_known = false;
    SlicingChoice choice{};
    Work work{};
  };

  /// Of the arrays that may be fetched, each one's first in the problem.
  [[nodiscard]] std::array<std::size_t, most_fetchable> first_reads() const;

  mutable Tiles tiles_{};
  // stages and the like come round outside of what tells these apart
  mutable std::array<KnownWork, 32> works_{};
  const SlicingProblem& problem_;
  const MachineModel& machine_;
  [[nodiscard]] double share_of_results(double shift_of_fast, double shift_of_slow) const;
  const std::array<std::size_t, most_fetchable> first_reads_ = first_reads();
  const double density_ = share_of_results(0, 0);  // of results in their box
  /// Whether steps of the reduction shift what the items of a thread read.
  [[nodiscard]] bool has_windows() const;
  const bool has_windows_ = has_windows();
  const double outer_steps_ = outer_steps();  // of reductions around the one that is cut
  /// Of the length of the reduction that is cut, on average over the results.
  [[nodiscard]] double share_of_steps() const;
  const double share_of_steps_ = share_of_steps();
  // of a result, in additions of floats
  const double operations_of_step_;
  const double operations_outside_;
};

}  // namespace rtcg::loopy::detail
