#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace rtcg::loopy {

// Memory that remembers who touched it, for ScheduleRun.

/// When a thread last touched an element.
struct Touch {
  std::int64_t epoch = 0;
  std::size_t statement = 0;
  bool is_atomic = false;
};

struct Thread {
  std::int64_t block = 0;
  std::int64_t number = 0;
  friend auto operator<=>(const Thread&, const Thread&) = default;
};

struct Cell {
  std::optional<double> value;
  std::map<Thread, Touch> writers;
  std::map<Thread, Touch> readers;
  /// Groups of asynchronous copies after which the value is there.
  std::optional<std::pair<Thread, std::int64_t>> in_flight;
};

}  // namespace rtcg::loopy
