#include "rtcg/loopy/codegen/split_threads.h"

#include <algorithm>

#include "rtcg/loopy/analyze/access.h"

namespace rtcg::loopy {
namespace {

struct Segment {
  LoopTree nodes{};
  bool is_repeated = false;  ///< within a loop, whose iterations go through all threads each
};

/// The segments in the order in which they run, those within loops included.
void add_segments(const StatementFacts& facts, const LoopTree& nodes, bool is_repeated,
                  std::vector<Segment>& segments) {
  for (LoopTree& segment : thread_segments(facts, nodes)) {
    if (thread_share(facts, segment.front()) == ThreadShare::some) {
      add_segments(facts, get_if<LoopNode>(segment.front())->body, true, segments);
    } else {
      segments.push_back({std::move(segment), is_repeated});
    }
  }
}

/// Whether statements that run several times in this order may read what an earlier time left in a
/// private value: an element that no statement before the read is certain to write.
bool is_carried(const Kernel& kernel, const std::vector<std::size_t>& statements,
                const std::string& name) {
  std::vector<ArrayAccess> certain_writes;
  bool is_written = false;
  bool is_read_before = false;
  for (const std::size_t statement : statements) {
    for (ArrayAccess& access : accesses_of(kernel, kernel.instructions[statement])) {
      if (access.array != name) {
        continue;
      }
      if (!access.is_write) {
        const auto gives = [&](const ArrayAccess& write) {
          return write.indices == access.indices &&
                 std::includes(access.inames.begin(), access.inames.end(), write.inames.begin(),
                               write.inames.end());
        };
        is_read_before =
            is_read_before || std::none_of(certain_writes.begin(), certain_writes.end(), gives);
        continue;
      }
      is_written = true;
      if (access.conditions.empty() && !access.is_linear) {
        certain_writes.push_back(std::move(access));
      }
    }
  }
  return is_written && is_read_before;
}

/// Whether compilers see a loop, which they have not written out when they vectorise.
bool is_text_loop(const StatementFacts& facts, const LoopTreeNode& node) {
  const auto* loop = get_if<LoopNode>(node);
  return loop != nullptr && facts.is_loop_of_all_threads(loop->iname) &&
         (!facts.is_short_loop(loop->iname) ||
          std::any_of(loop->body.begin(), loop->body.end(),
                      [](const LoopTreeNode& each) { return is<LoopNode>(each); }));
}

bool is_around_loops(const StatementFacts& facts, const LoopTreeNode& node) {
  if (!is_text_loop(facts, node)) {
    return false;
  }
  const LoopTree& body = get_if<LoopNode>(node)->body;
  return std::any_of(body.begin(), body.end(),
                     [&](const LoopTreeNode& each) { return is_text_loop(facts, each); });
}

/// gcc vectorises a loop over threads around a loop of sums and products, but calls of functions
/// and choices in the innermost loop alone.
bool is_around_calls(const StatementFacts& facts, const LoopTreeNode& node) {
  const std::vector<std::size_t> statements = statements_in(node);
  return is_text_loop(facts, node) &&
         std::any_of(statements.begin(), statements.end(),
                     [&](std::size_t each) { return facts.calls_or_chooses(each); });
}

}  // namespace

ThreadShare thread_share(const StatementFacts& facts, const LoopTreeNode& node) {
  if (contains_barrier(node) || is_around_loops(facts, node) || is_around_calls(facts, node)) {
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
  bool has_loop = false;
  for (const LoopTreeNode& node : nodes) {
    if (is<BarrierNode>(node)) {
      open = false;
      continue;
    }
    const bool is_shared = thread_share(facts, node) == ThreadShare::all;
    const bool is_loop = is_text_loop(facts, node);
    if (!is_shared || !open || (is_loop && has_loop)) {
      segments.emplace_back();
      has_loop = false;
    }
    segments.back().push_back(node);
    open = is_shared;
    has_loop = has_loop || is_loop;
  }
  return segments;
}

std::set<std::string> values_across_segments(const Kernel& kernel, const StatementFacts& facts,
                                             const LoopTree& tree) {
  std::vector<Segment> segments;
  add_segments(facts, tree, false, segments);
  std::map<std::string, std::size_t> segment_of;
  std::set<std::string> across;
  for (std::size_t number = 0; number < segments.size(); ++number) {
    const std::vector<std::size_t> statements = statements_in(segments[number].nodes);
    for (const std::size_t statement : statements) {
      for (const std::string& each : facts.touched(statement)) {
        if (!facts.is_varying(each) || across.count(each) != 0) {
          continue;
        }
        const auto [known, is_new] = segment_of.emplace(each, number);
        if (known->second != number ||
            (is_new && segments[number].is_repeated && is_carried(kernel, statements, each))) {
          across.insert(each);
        }
      }
    }
  }
  return across;
}

}  // namespace rtcg::loopy
