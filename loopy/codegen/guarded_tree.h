#pragma once
// Internal header: it is not installed.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/codegen/emit_context.h"
#include "rtcg/loopy/schedule/loop_bounds.h"

namespace rtcg::loopy {

struct GuardedNode;

/// The body where all tests hold, otherwise the other one.
struct GuardedIf {
  ContextRef context;
  Guards tests;
  std::vector<GuardedNode> then_body;  // clang 14 asks for a complete type if braces follow
  std::vector<GuardedNode> else_body;
};
struct GuardedLoop {
  std::string iname;
  ContextRef context;  ///< outside of the loop
  LoopBounds bounds;
  /// How many copies of the body a compiler is asked for; 0: as many as it can know.
  std::optional<int> unroll;
  /// Whether an iteration hands on elements to later ones, and the target needs to be told.
  bool is_ordered = false;
  std::vector<GuardedNode> body;
};
/// Loops over the threads of a block.
struct ThreadLoops {
  ContextRef context;  ///< outside of the loops
  std::vector<GuardedNode> body;
};
/// Statements that become a function of the text.
struct GuardedCall {
  ContextRef context;  ///< of the call
  std::shared_ptr<CallFrame> frame;
  std::vector<std::size_t> statements;
  std::vector<GuardedNode> body;
};
struct GuardedStatement {
  ContextRef context;
  std::size_t index = 0;
};
struct GuardedBarrier {};

using GuardedKinds = cgen::KindList<GuardedIf, GuardedLoop, ThreadLoops, GuardedCall,
                                    GuardedStatement, GuardedBarrier>;

/// The tree of a launch with all tests that statements need, but those of single lanes; loops have
/// bounds, unrolled loops are written out, and so are the versions for whole and partial tiles.
/// Each node knows what holds there.
struct GuardedNode {
  GuardedKinds::Variant kind;
};
inline const GuardedKinds::Variant& kinds(const GuardedNode& node) {
  return node.kind;
}
using GuardedTree = std::vector<GuardedNode>;

}  // namespace rtcg::loopy
