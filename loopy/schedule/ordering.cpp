#include "rtcg/loopy/schedule/ordering.h"

#include <algorithm>
#include <functional>
#include <queue>

#include <fmt/format.h>

namespace rtcg::loopy {

std::optional<std::vector<std::size_t>> sorted_topologically(const Edges& before) {
  std::vector<std::vector<std::size_t>> after(before.size());
  std::vector<std::size_t> open_count(before.size(), 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (const std::size_t each : before[i]) {
      after[each].push_back(i);
      ++open_count[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (open_count[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t each : after[next]) {
      if (--open_count[each] == 0) {
        ready.push(each);
      }
    }
  }
  return order.size() == before.size() ? std::optional(std::move(order)) : std::nullopt;
}

std::vector<std::size_t> find_cycle(const Edges& before) {
  std::vector<int> state(before.size(), 0);  // 1 on the path, 2 done
  std::vector<std::size_t> path;
  std::vector<std::size_t> cycle;
  const std::function<bool(std::size_t)> visit = [&](std::size_t node) {
    state[node] = 1;
    path.push_back(node);
    for (const std::size_t each : before[node]) {
      if (state[each] == 1) {
        cycle.assign(std::find(path.begin(), path.end(), each), path.end());
        return true;
      }
      if (state[each] == 0 && visit(each)) {
        return true;
      }
    }
    path.pop_back();
    state[node] = 2;
    return false;
  };
  for (std::size_t i = 0; i < before.size() && cycle.empty(); ++i) {
    if (state[i] == 0) {
      visit(i);
    }
  }
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

std::string ids_of(const Kernel& kernel, const std::vector<std::size_t>& statements) {
  std::string text;
  for (const std::size_t each : statements) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", kernel.instructions[each].id);
  }
  return text;
}

}  // namespace rtcg::loopy
