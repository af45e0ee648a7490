#include "rtcg/loopy/execute/host_schedule.h"

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/launch_loops.h"

namespace rtcg::loopy {
HostSchedule::HostSchedule(const std::vector<LaunchPlan>& launches,
                           const std::vector<std::string>& names) {
  std::vector<std::string> all = names;
  for (const LaunchPlan& plan : launches) {
    for (const HostLoop& loop : plan.host_loops) {
      if (std::find(all.begin(), all.end(), loop.iname) == all.end()) {
        all.push_back(loop.iname);
      }
    }
  }
  value_count_ = all.size();
  steps_ = steps_of(launches, 0, launches.size(), 0, all);
}

std::vector<HostSchedule::Step> HostSchedule::steps_of(const std::vector<LaunchPlan>& launches,
                                                       std::size_t begin, std::size_t end,
                                                       std::size_t depth,
                                                       const std::vector<std::string>& names) {
  std::vector<Step> steps;
  while (begin < end) {
    if (launches[begin].host_loops.size() == depth) {
      steps.push_back({begin++, false, {}});
      continue;
    }
    const HostLoop& loop = launches[begin].host_loops[depth];
    const auto iname = std::find(names.begin(), names.end(), loop.iname);
    const std::size_t number = loops_.size();
    loops_.push_back({{loop.first, names},
                      {loop.end, names},
                      loop.step,
                      static_cast<std::size_t>(iname - names.begin())});
    const std::size_t end_inside = std::min(end, detail::end_of_host_loop(launches, begin, depth));
    steps.push_back({number, true, steps_of(launches, begin, end_inside, depth + 1, names)});
    begin = end_inside;
  }
  return steps;
}

std::int64_t HostSchedule::outermost_iterations(const IntegerList& values) const {
  IntegerList all = values;
  all.resize(value_count_);
  std::int64_t most = 1;
  for (const Step& each : steps_) {
    if (each.is_loop) {
      const Loop& loop = loops_[each.number];
      most = std::max(most,
                      ceil_divide(value_of(loop.end, all) - value_of(loop.first, all), loop.step));
    }
  }
  return most;
}

}  // namespace rtcg::loopy
