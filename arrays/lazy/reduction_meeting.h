#pragma once
// Internal header: it is not installed.

#include <functional>
#include <vector>

#include "rtcg/arrays/lazy/reduction_loops.h"

// How the threads of a block, and the blocks of an output, bring their states together. Internal
// to arrays.

namespace rtcg::arrays::detail {

/// States in the shared memory of a block; booleans as bytes.
class SharedStates {
 public:
  SharedStates(const std::vector<ReductionPart>& parts, int count,
               const KernelParameters& parameters, cgen::BlockBuilder& body);
  void put(const cgen::Expr& at, const ReductionState& state, cgen::BlockBuilder& body) const;
  [[nodiscard]] ReductionState get(const cgen::Expr& at) const;

 private:
  std::vector<cgen::Expr> arrays_;
  std::vector<bool> is_boolean_;
};

/// All threads of a block: by shuffles within warps where there are, else as a tree in shared
/// memory.
class BlockMeeting {
 public:
  BlockMeeting(cgen::Dialect dialect, int threads, const Reducer& reducer,
               const KernelParameters& parameters, cgen::BlockBuilder& body);
  /// Leaves what all have seen in the variables of thread 0. To be emitted again only behind a
  /// barrier.
  void emit(const ReductionState& mine, const cgen::Expr& thread, cgen::BlockBuilder& body) const;

 private:
  void emit_shuffles(const ReductionState& mine, int lanes, cgen::BlockBuilder& body) const;

  const Reducer& reducer_;
  const KernelParameters& parameters_;
  std::vector<ReductionPart> parts_;
  int threads_;
  bool has_shuffles_;
  SharedStates shared_;
};

/// The threads of a block as rows of so many columns, of which each is a result.
struct ColumnGrid {
  cgen::Expr thread;
  cgen::Expr row;
  cgen::Expr column;
  cgen::Expr rows;
  cgen::Expr columns;
  cgen::Expr is_busy;  ///< whether the thread has a row and a column
};

/// The threads of each column.
class ColumnMeeting {
 public:
  /// @param lanes  of what is dealt
  ColumnMeeting(const Reducer& reducer, const ColumnGrid& grid, int threads, int lanes,
                const KernelParameters& parameters, cgen::BlockBuilder& body);
  /// Takes into `mine` what others have seen of the thread's column: `readers` threads read a
  /// stream of all columns in turns, each so many neighbours at once, of which it has a state each.
  void deal(const std::vector<ReductionState>& lanes, const cgen::Expr& readers,
            const ReductionState& mine, cgen::BlockBuilder& body) const;
  /// Leaves what all of a column have seen in the variables of row 0. To be emitted again only
  /// behind a barrier.
  void emit(const ReductionState& mine, cgen::BlockBuilder& body) const;

 private:
  const Reducer& reducer_;
  const KernelParameters& parameters_;
  ColumnGrid grid_;
  SharedStates shared_;
};

/// The blocks that work on segments of the same outputs (blockIdx.y says which): whoever is the
/// last one takes the states of all, in their order.
class SegmentMeeting {
 public:
  /// What the threads of a block do with its results.
  struct Block {
    cgen::Expr thread;
    cgen::Expr output;   ///< of this thread
    cgen::Expr outputs;  ///< of all blocks
    cgen::Expr ticket;   ///< whose number in the array counts these blocks
    cgen::Expr has_one;  ///< whether the thread has a result in `mine`
    bool has_more;       ///< several threads have one
    cgen::Expr first;    ///< of the segments that the thread takes in the end
    cgen::Expr step;     ///< to the next of them
    /// Brings together what all threads took.
    std::function<void(cgen::BlockBuilder&)> meet;
  };
  /// Adds its parameters.
  SegmentMeeting(const Reducer& reducer, KernelParameters& parameters);
  /// `store(state, body)` writes a result of all.
  void emit(const ReductionState& mine, const Block& block,
            const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
            cgen::BlockBuilder& body) const;

 private:
  void emit_finish(const ReductionState& mine, const Block& block,
                   const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
                   cgen::BlockBuilder& finish) const;

  const Reducer& reducer_;
  const KernelParameters& parameters_;
  std::vector<ReductionPart> parts_;
  std::vector<cgen::Expr> segments_;  // of each part, [segments, outputs]
  cgen::Expr tickets_;
};

}  // namespace rtcg::arrays::detail
