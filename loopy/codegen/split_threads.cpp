#include "rtcg/loopy/codegen/split_threads.h"

namespace rtcg::loopy {
namespace {

/// The segments in the order in which they run, those within loops included.
void add_segments(const StatementFacts& facts, const LoopTree& nodes,
                  std::vector<LoopTree>& segments) {
  for (LoopTree& segment : thread_segments(facts, nodes)) {
    if (thread_share(facts, segment.front()) == ThreadShare::some) {
      add_segments(facts, get_if<LoopNode>(segment.front())->body, segments);
    } else {
      segments.push_back(std::move(segment));
    }
  }
}

}  // namespace

ThreadShare thread_share(const StatementFacts& facts, const LoopTreeNode& node) {
  if (contains_barrier(node)) {
    return ThreadShare::some;
  }
  std::size_t different = 0;
  const std::vector<std::size_t> statements = statements_in(node);
  for (const std::size_t statement : statements) {
    different += facts.differs_by_thread(statement) ? 1 : 0;
  }
  return different == 0                   ? ThreadShare::none
         : different == statements.size() ? ThreadShare::all
                                          : ThreadShare::some;
}

std::vector<LoopTree> thread_segments(const StatementFacts& facts, const LoopTree& nodes) {
  std::vector<LoopTree> segments;
  bool open = false;
  for (const LoopTreeNode& node : nodes) {
    if (is<BarrierNode>(node)) {
      open = false;
      continue;
    }
    const bool is_shared = thread_share(facts, node) == ThreadShare::all;
    if (!is_shared || !open) {
      segments.emplace_back();
    }
    segments.back().push_back(node);
    open = is_shared;
  }
  return segments;
}

std::set<std::string> values_across_segments(const StatementFacts& facts, const LoopTree& tree) {
  std::vector<LoopTree> segments;
  add_segments(facts, tree, segments);
  std::map<std::string, std::size_t> segment_of;
  std::set<std::string> across;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    for (const std::size_t statement : statements_in(segments[number])) {
      for (const std::string& each : facts.touched(statement)) {
        if (facts.is_varying(each) && segment_of.emplace(each, number).first->second != number) {
          across.insert(each);
        }
      }
    }
  }
  return across;
}

}  // namespace rtcg::loopy
