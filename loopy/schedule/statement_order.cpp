#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/schedule/statement_ids.h"

namespace rtcg::loopy {
namespace {

/// For each statement those that it is stated to depend on, ascending.
Edges stated_order(const Kernel& kernel) {
  const std::vector<Instruction>& statements = kernel.instructions;
  Edges stated(statements.size());
  if (std::all_of(statements.begin(), statements.end(),
                  [](const Instruction& each) { return each.depends_on.empty(); })) {
    return stated;
  }
  std::unordered_map<std::string_view, std::size_t> number;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    number.emplace(statements[i].id, i);
  }
  for (std::size_t i = 0; i < statements.size(); ++i) {
    for (const std::string& id : statements[i].depends_on) {
      const auto found = number.find(id);
      if (found != number.end() && found->second != i) {
        stated[i].push_back(found->second);
      }
    }
    std::sort(stated[i].begin(), stated[i].end());
    stated[i].erase(std::unique(stated[i].begin(), stated[i].end()), stated[i].end());
  }
  return stated;
}

bool has_edges(const Edges& edges) {
  return std::any_of(edges.begin(), edges.end(), [](const auto& each) { return !each.empty(); });
}

}  // namespace

std::vector<std::vector<std::size_t>> statement_order(const Kernel& kernel) {
  const std::size_t count = kernel.instructions.size();
  const Edges stated = stated_order(kernel);
  std::vector<std::set<std::size_t>> before(count);
  for (std::size_t i = 0; i < count; ++i) {
    before[i].insert(stated[i].begin(), stated[i].end());
  }
  if (!sorted_topologically(stated)) {
    throw InvalidInput("loopy.schedule.dependency_cycle",
                       fmt::format("statements depend on each other in a circle: {}",
                                   ids_of(kernel, find_cycle(stated))));
  }
  const Edges all_stated = has_edges(stated) ? transitive_closure(stated) : stated;
  const auto put_before = [&](std::size_t earlier, std::size_t later) {
    if (earlier == later) {
      return;
    }
    // source order gives way to what is stated
    const bool is_reversed =
        std::binary_search(all_stated[earlier].begin(), all_stated[earlier].end(), later);
    before[is_reversed ? earlier : later].insert(is_reversed ? later : earlier);
  };

  struct Uses {
    std::vector<std::size_t> writers;  // so far
    std::vector<std::size_t> readers;  // since the last writer
    std::vector<std::size_t> early;    // readers before any writer
  };
  std::unordered_map<std::string, Uses> uses;
  std::optional<std::size_t> last_fence;  // user barriers keep everything in place
  std::vector<std::size_t> since_fence;
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& instruction = kernel.instructions[i];
    if (is<BarrierInstruction>(instruction)) {
      for (const std::size_t each : since_fence) {
        put_before(each, i);
      }
      since_fence.clear();
      if (last_fence) {
        put_before(*last_fence, i);
      }
      last_fence = i;
      continue;
    }
    if (last_fence) {
      put_before(*last_fence, i);
    }
    since_fence.push_back(i);
    const NameSet written = written_variables(instruction);
    for (const std::string& each : read_variables(kernel, instruction)) {
      Uses& use = uses[each];
      if (!use.writers.empty()) {
        put_before(use.writers.back(), i);
      } else if (written.count(each) == 0) {
        use.early.push_back(i);
      }
      use.readers.push_back(i);
    }
    for (const std::string& each : written) {
      Uses& use = uses[each];
      for (const std::size_t reader : use.readers) {
        const bool is_early =
            std::find(use.early.begin(), use.early.end(), reader) != use.early.end();
        if (is_early && find_temporary(kernel, each) != nullptr) {
          put_before(i, reader);  // a temporary is read after it is written
        } else {
          put_before(reader, i);
        }
      }
      if (!use.writers.empty()) {
        put_before(use.writers.back(), i);
      }
      use.readers.clear();
      use.writers.push_back(i);
    }
  }
  Edges result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i].assign(before[i].begin(), before[i].end());
  }
  if (!sorted_topologically(result)) {
    throw InvalidInput("loopy.schedule.dependency_cycle",
                       fmt::format("stated dependencies and the variables that statements share "
                                   "ask for a circle: {}",
                                   ids_of(kernel, find_cycle(result))));
  }
  return result;
}

}  // namespace rtcg::loopy
