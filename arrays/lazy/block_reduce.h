#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/arrays/lazy/reduction_loops.h"

// Reductions over the threads of a block, over those of each column of threads, and over the blocks
// of an output (by the block that finishes last).

namespace rtcg::arrays::detail {

/// States in the shared memory of a block; booleans as bytes.
class SharedStates {
 public:
  SharedStates(const std::vector<ReductionPart>& parts, int count,
               const KernelSignature& parameters, cgen::BlockBuilder& body);
  void put(const cgen::Expr& at, const ReductionState& state, cgen::BlockBuilder& body) const;
  [[nodiscard]] ReductionState get(const cgen::Expr& at) const;

 private:
  std::vector<cgen::Expr> arrays_;
  std::vector<bool> is_boolean_;
};

/// Reduces over all threads of a block: by shuffles within warps if the dialect has them, otherwise
/// as a tree in shared memory.
class BlockReduce {
 public:
  BlockReduce(cgen::Dialect dialect, int threads, const Reducer& reducer,
              const KernelSignature& parameters, cgen::BlockBuilder& body);
  /// Leaves the combined state of all threads in the variables of thread 0. It may be emitted again
  /// only after a barrier.
  void emit(const ReductionState& mine, const cgen::Expr& thread, cgen::BlockBuilder& body) const;

 private:
  void emit_shuffles(const ReductionState& mine, int lanes, cgen::BlockBuilder& body) const;

  const Reducer& reducer_;
  const KernelSignature& parameters_;
  std::vector<ReductionPart> parts_;
  int threads_;
  bool has_shuffles_;
  SharedStates shared_;
};

/// The threads of a block as rows of columns; each column has one result.
struct ColumnGrid {
  cgen::Expr thread;
  cgen::Expr row;
  cgen::Expr column;
  cgen::Expr rows;
  cgen::Expr columns;
  cgen::Expr is_busy;  ///< whether the thread has a row and a column
};

/// Reduces over the threads of each column.
class ColumnReduce {
 public:
  /// @param lanes  of what is dealt
  ColumnReduce(const Reducer& reducer, const ColumnGrid& grid, int threads, int lanes,
               const KernelSignature& parameters, cgen::BlockBuilder& body);
  /// Combines `mine` with the states of the other threads of its column: `readers` threads read a
  /// stream of all columns in turns, each some adjacent elements at once, with a state for each of
  /// them.
  void deal(const std::vector<ReductionState>& lanes, const cgen::Expr& readers,
            const ReductionState& mine, cgen::BlockBuilder& body) const;
  /// Leaves the combined state of a column in the variables of row 0. It may be emitted again only
  /// after a barrier.
  void emit(const ReductionState& mine, cgen::BlockBuilder& body) const;

 private:
  const Reducer& reducer_;
  const KernelSignature& parameters_;
  ColumnGrid grid_;
  SharedStates shared_;
};

/// Reduces over the blocks that work on segments of the same outputs (blockIdx.y is the segment):
/// the block that finishes last combines the states of all blocks, in the order of the segments.
class LastBlockReduce {
 public:
  /// The roles of the threads of a block for its results.
  struct Block {
    cgen::Expr thread;
    cgen::Expr output;   ///< of this thread
    cgen::Expr outputs;  ///< of all blocks
    cgen::Expr counter;  ///< whose number in the array counts these blocks
    cgen::Expr has_one;  ///< whether the thread has a result in `mine`
    bool has_more;       ///< several threads have one
    cgen::Expr first;    ///< of the segments that the thread takes in the end
    cgen::Expr step;     ///< to the next of them
    /// Reduces over the threads of the block.
    std::function<void(cgen::BlockBuilder&)> reduce;
  };
  /// Adds its parameters.
  LastBlockReduce(const Reducer& reducer, KernelSignature& parameters);
  /// `store(state, body)` writes a result of all.
  void emit(const ReductionState& mine, const Block& block,
            const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
            cgen::BlockBuilder& body) const;

 private:
  void emit_finish(const ReductionState& mine, const Block& block,
                   const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
                   cgen::BlockBuilder& finish) const;

  const Reducer& reducer_;
  const KernelSignature& parameters_;
  std::vector<ReductionPart> parts_;
  std::vector<cgen::Expr> segments_;  // of each part, [segments, outputs]
  cgen::Expr counters_;
};

}  // namespace rtcg::arrays::detail
