#pragma once

#include <cstdint>
#include <string>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_choice.h"

// What a slicing takes, counted in closed form from the lengths of its loops. Internal to slice.

namespace rtcg::loopy::detail {

/// Keeps references to what it is made of.
class SlicingCost {
 public:
  SlicingCost(const SlicingProblem& problem, const MachineModel& machine)
      : problem_(problem), machine_(machine) {}

  [[nodiscard]] double seconds(const SlicingChoice& choice) const;
  /// What the unrolled twin of one of so many seconds is ranked by: it is often faster, but takes
  /// several times as long to compile, and is to be tried where the same without has turned out
  /// fast, whose neighbour it is.
  [[nodiscard]] static double unrolled_seconds(double seconds) { return 1.2 * seconds; }
  /// No launch takes less: one instruction for each step of each result. 0 where that is not known.
  [[nodiscard]] double least_seconds(const SlicingChoice& choice) const;
  [[nodiscard]] std::int64_t blocks(const SlicingChoice& choice) const;
  /// Blocks along one loop of the results.
  [[nodiscard]] std::int64_t blocks_along(const SlicingChoice& choice, std::size_t loop) const;
  /// Blocks that share one reduction.
  [[nodiscard]] std::int64_t sharing_blocks(const SlicingChoice& choice) const;
  /// Results of one thread.
  [[nodiscard]] std::int64_t lanes(const SlicingChoice& choice) const;
  [[nodiscard]] std::int64_t shared_bytes(const SlicingChoice& choice) const;

  /// Elements of an array that a thread holds in registers between two steps of the tiles.
  [[nodiscard]] double kept_elements(const SlicingChoice& choice) const;
  /// Whether a thread that keeps the array in registers loads much less, and has room for it: its
  /// lanes and the loops of its reductions read the same elements at different times.
  [[nodiscard]] bool gains_from_keeping(const SlicingChoice& choice, std::size_t fetchable) const;

  [[nodiscard]] bool is_fetched(const SlicingChoice& choice, const std::string& array) const;
  /// Its rows lie along an axis that neighbouring lanes do not: turned round, wide loads fit.
  [[nodiscard]] bool is_transposed(const SlicingChoice& choice, const std::string& array) const;
  [[nodiscard]] bool is_any_transposed(const SlicingChoice& choice) const;
  /// Elements behind each row of a tile, so that threads and lanes that go down its columns find
  /// other banks.
  [[nodiscard]] std::int64_t padding(const SlicingChoice& choice, const std::string& array) const;
  /// Whether the rows of a tile are swizzled in place of that.
  [[nodiscard]] bool is_swizzled(const SlicingChoice& choice, const std::string& array) const;
  /// Whether some tile could be: swizzled rows take less memory, and more arithmetic.
  [[nodiscard]] bool can_be_swizzled(const SlicingChoice& choice) const;
  /// Elements that copies into a tile read at once; 0: one by one, or as the pipeline chooses.
  [[nodiscard]] std::int64_t vector_width(const SlicingChoice& choice,
                                          const std::string& array) const;
  /// Whether the arrays can lie so: tiles are copied along axes that are whole, and vectors are
  /// written along the last axis.
  [[nodiscard]] bool can_be_laid_out(const SlicingChoice& choice) const;
  /// Whether a tile that is fetched moves along the reduction, so that its copies can run ahead.
  [[nodiscard]] bool can_pipeline(const SlicingChoice& choice) const;

 private:
  [[nodiscard]] double cpu_seconds(const SlicingChoice& choice) const;
  /// What a block does.
  struct Work {
    double flop_clocks = 0;
    double shared_clocks = 0;
    double cache_clocks = 0;
    double instructions = 0;
    double memory_bytes = 0;
    double tiles = 1;  ///< along the reduction
    double steps = 1;  ///< of a thread along the reduction
    double warps = 1;
  };
  [[nodiscard]] Work work_of(const SlicingChoice& choice) const;
  void add_fetched(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                   double block_bytes, Work& work) const;
  void add_direct(const SlicedRead& read, const SlicingChoice& choice, double per_warp,
                  Work& work) const;
  /// How an array lies; null where that is not free.
  [[nodiscard]] const FreeLayout::Way* find_way(const SlicingChoice& choice,
                                                const std::string& array) const;
  /// The axis of what is read or written along which neighbours lie side by side, or any_axis.
  [[nodiscard]] std::size_t fastest_axis(const SlicingChoice& choice, const SlicedRead& read) const;
  /// Whether neighbouring threads touch neighbouring elements.
  [[nodiscard]] bool is_along_rows(const SlicingChoice& choice, const SlicedRead& read) const;
  /// What results cost beyond their bytes where threads write across rows.
  void add_laid_writes(const SlicingChoice& choice, Work& work) const;
  /// By which factor a processor is slower for the way that arrays lie.
  [[nodiscard]] double cpu_layout_factor(const SlicingChoice& choice) const;
  [[nodiscard]] std::int64_t usual_padding(const SlicingChoice& choice,
                                           const std::string& array) const;
  /// Elements of a tile along one axis: no more than all loops along it reach.
  [[nodiscard]] double copied_length(const SlicedRead::Axis& axis,
                                     const SlicingChoice& choice) const;
  /// Elements of one row of a tile in shared memory.
  [[nodiscard]] double row_elements(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Blocks that a multiprocessor holds at once: registers and shared memory say it.
  [[nodiscard]] double resident_blocks(const SlicingChoice& choice) const;
  [[nodiscard]] double length(const SlicedRead::Axis& axis, const SlicingChoice& choice) const;
  /// Elements that one thread reads along the loops within it.
  [[nodiscard]] double thread_footprint(const SlicedRead& read, const SlicingChoice& choice) const;
  [[nodiscard]] bool is_kept(const SlicingChoice& choice, const std::string& array) const;
  /// Elements that a block holds of an array along the cut loops.
  [[nodiscard]] double footprint(const SlicedRead& read, const SlicingChoice& choice) const;
  /// Whether the tile has two axes: those of length 1 are dropped.
  [[nodiscard]] bool is_matrix(const SlicedRead& read, const SlicingChoice& choice) const;

  const SlicingProblem& problem_;
  const MachineModel& machine_;
};

}  // namespace rtcg::loopy::detail
