#pragma once

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
  BlockMeeting(cgen::Dialect dialect, const Reducer& reducer, const KernelParameters& parameters,
               cgen::BlockBuilder& body);
  /// Leaves what all have seen in the variables of thread 0. To be emitted again only behind a
  /// barrier.
  void emit(const ReductionState& mine, const cgen::Expr& thread, cgen::BlockBuilder& body) const;
  void combine(const ReductionState& state, const ReductionState& other,
               cgen::BlockBuilder& body) const {
    reducer_.combine(state, other, body);
  }

 private:
  void emit_shuffles(const ReductionState& mine, int lanes, cgen::BlockBuilder& body) const;

  const Reducer& reducer_;
  const KernelParameters& parameters_;
  std::vector<ReductionPart> parts_;
  int threads_;
  bool has_shuffles_;
  SharedStates shared_;
};

/// The blocks that work on segments of the same outputs (blockIdx.y says which): whoever is the
/// last one takes the states of all, in their order.
class SegmentMeeting {
 public:
  /// Adds its parameters.
  SegmentMeeting(const std::vector<ReductionPart>& parts, KernelParameters& parameters);
  /// `mine` of thread 0 is the block's state; `store(state, body)` writes that of all.
  void emit(const ReductionState& mine, const cgen::Expr& output, const cgen::Expr& outputs,
            const cgen::Expr& thread, const BlockMeeting& meeting,
            const std::function<void(const ReductionState&, cgen::BlockBuilder&)>& store,
            cgen::BlockBuilder& body) const;

 private:
  const KernelParameters& parameters_;
  std::vector<ReductionPart> parts_;
  std::vector<cgen::Expr> segments_;  // of each part, [segments, outputs]
  cgen::Expr tickets_;
};

}  // namespace rtcg::arrays::detail
