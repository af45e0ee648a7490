#include "rtcg/dg/operators/choose_waiting.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/rank_exchange.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/distributed/group/store_rounds.h"

namespace rtcg::dg::detail {
namespace {

using distributed::Group;
using distributed::Waiting;

// The first step is not captured. The next four are: slots of messages are used in turns of four.
constexpr int steps_to_begin = 6;
constexpr double seconds_of_trial = 0.01;
constexpr int most_steps_of_trial = 200;
// Of each way, in turns: the clocks of a device change meanwhile.
constexpr int turns = 2;

struct Way {
  Waiting waiting;
  RimLaunch rim = RimLaunch::together;
};
constexpr Way all_ways[] = {
    {Waiting::hosts}, {Waiting::devices}, {Waiting::kernels}, {Waiting::kernels, RimLaunch::apart}};

std::string name_of(const Way& way) {
  return std::string(to_string(way.waiting)) + (way.rim == RimLaunch::apart ? ", rim apart" : "");
}

std::optional<Way> way_of_name(const std::string& name) {
  for (const Way& each : all_ways) {
    if (name_of(each) == name) {
      return each;
    }
  }
  return std::nullopt;
}

// Steps of no length, which keep the state. The slowest rank counts.
double seconds_of_step(StageRunner& runner, const Group& group, const std::vector<Stage>& stages,
                       int steps) {
  using Clock = std::chrono::steady_clock;
  runner.stream().synchronize();
  group.barrier();
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < steps; ++i) {
    runner.step(stages, 0);
  }
  runner.stream().synchronize();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return group.all_reduce(seconds, distributed::Operation::max) / steps;
}

double seconds_by(const Way& way, StageRunner& runner, const Discretization& on, const Group& group,
                  const std::vector<Stage>& stages) {
  runner.wait_by(way.waiting, on, way.rim);
  static_cast<void>(seconds_of_step(runner, group, stages, steps_to_begin));
  const double once = seconds_of_step(runner, group, stages, 1);
  const double steps = std::clamp(seconds_of_trial / once, 1.0, double{most_steps_of_trial});
  return seconds_of_step(runner, group, stages, static_cast<int>(steps));
}

}  // namespace

bool can_wait_in_kernels(StageRunner& runner, const Discretization& on, const Group& group) {
  const auto is_everywhere = [&](bool here) {
    return group.all_reduce(std::int64_t{here ? 1 : 0}, distributed::Operation::min) == 1;
  };
  if (!is_everywhere(runner.can_wait_in_kernels())) {
    return false;
  }
  std::vector<std::vector<std::byte>> sums;
  for (const Way& way :
       {Way{Waiting::devices}, Way{Waiting::kernels}, Way{Waiting::kernels, RimLaunch::apart}}) {
    if (!runner.wait_by(way.waiting, on, way.rim) && way.waiting == Waiting::kernels) {
      return false;
    }
    // the density and energy of a gas, then momenta that leave it a pressure
    runner.write_test_state(0.1);
    runner.state_written();
    runner.stage(0, 0, 1, 0);
    sums.push_back(runner.read_residual());
  }
  const std::vector<double> numbers = from_reals(sums[0], runner.real());
  const bool is_known =
      std::all_of(numbers.begin(), numbers.end(), [](double each) { return std::isfinite(each); });
  return is_everywhere(is_known && sums[0] == sums[1] && sums[0] == sums[2]);
}

Waiting choose_waiting(StageRunner& runner, const Discretization& on,
                       const std::vector<Stage>& stages, const std::string& key,
                       const loopy::Wisdom& wisdom, bool remembers) {
  const Group group = group_of(on, runner.stream().device());
  const runtime::Device device = group.device();
  const loopy::IntegerValues sizes = {
      {"elements", static_cast<std::int64_t>(whole_element_count(on))}, {"ranks", group.size()}};
  // it says what kernels do that wait: who has measured others remembers something else
  const bool is_among_processes = distributed::stores_between_processes(group);
  const std::string name =
      key + ", who waits for stores, and how" + (is_among_processes ? " of processes" : "");
  std::string decision;
  if (group.is_first()) {
    for (const loopy::WisdomEntry& entry : wisdom.nearest(name, device, sizes)) {
      if (decision.empty() && entry.device == device.identity() && entry.parameters == sizes &&
          way_of_name(entry.decision)) {
        decision = entry.decision;
      }
    }
  }
  const std::optional<Way> known = way_of_name(group.broadcast(decision));
  const bool has_kernels =
      (!known || known->waiting == Waiting::kernels) && can_wait_in_kernels(runner, on, group);
  if (known && (has_kernels || known->waiting != Waiting::kernels)) {
    runner.wait_by(known->waiting, on, known->rim);
    runner.clear_state();
    runner.clear_residual(runner.stream());
    return known->waiting;
  }
  runner.write_test_state();
  Way chosen = all_ways[0];
  double least = HUGE_VAL;
  for (int turn = 0; turn < turns; ++turn) {
    for (const Way& way : all_ways) {
      const bool is_there = way.waiting == Waiting::kernels   ? has_kernels
                            : way.waiting == Waiting::devices ? distributed::has_rounds(group)
                                                              : true;
      const double seconds =
          is_there ? seconds_by(way, runner, on, group, stages) : double{HUGE_VAL};
      if (seconds < least) {
        least = seconds;
        chosen = way;
      }
    }
  }
  runner.wait_by(chosen.waiting, on, chosen.rim);
  runner.clear_state();
  runner.clear_residual(runner.stream());
  if (group.is_first() && remembers) {
    wisdom.add(
        {name, device.identity(), device.info().target, sizes, name_of(chosen), 1e6 * least});
  }
  return chosen.waiting;
}

}  // namespace rtcg::dg::detail
