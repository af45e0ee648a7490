#include "rtcg/loopy/codegen/host_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/launch_loops.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

std::int64_t value_of(const Expr& bound, const IntegerValues& values) {
  const auto value = evaluate_integer(bound, values);
  require_internal(value.has_value(), "bounds of a host loop in terms of scalar arguments");
  return *value;
}

class PlanRun {
 public:
  PlanRun(const std::vector<LaunchPlan>& launches,
          const std::function<void(std::size_t, const IntegerValues&)>& launch, std::int64_t stride)
      : launches_(launches), launch_(launch), stride_(stride) {}

  /// @param depth  loops around all of them that are being run
  void run(std::size_t begin, std::size_t end, std::size_t depth, const IntegerValues& values) {
    while (begin < end) {
      if (launches_[begin].host_loops.size() == depth) {
        launch_(begin++, values);
        continue;
      }
      const HostLoop& loop = launches_[begin].host_loops[depth];
      const std::size_t end_inside =
          std::min(end, detail::end_of_host_loop(launches_, begin, depth));
      const std::int64_t loop_end = value_of(loop.end, values);
      IntegerValues inside = values;
      const std::int64_t step = loop.step * (depth == 0 ? stride_ : 1);
      for (std::int64_t at = value_of(loop.first, values); at < loop_end; at += step) {
        inside.insert_or_assign(loop.iname, at);
        run(begin, end_inside, depth + 1, inside);
      }
      begin = end_inside;
    }
  }

 private:
  const std::vector<LaunchPlan>& launches_;
  const std::function<void(std::size_t, const IntegerValues&)>& launch_;
  const std::int64_t stride_;
};

std::string head_of(const HostLoop& loop) {
  return fmt::format("for {} in [{}, {}){}:\n", loop.iname, to_string(loop.first),
                     to_string(loop.end), loop.step == 1 ? "" : fmt::format(" by {}", loop.step));
}

}  // namespace

std::size_t detail::end_of_host_loop(const std::vector<LaunchPlan>& launches, std::size_t begin,
                                     std::size_t depth) {
  std::size_t end = begin + 1;
  while (end < launches.size() && launches[end].host_loops.size() > depth &&
         launches[end].host_loops[depth].iname == launches[begin].host_loops[depth].iname) {
    ++end;
  }
  return end;
}

void for_each_launch(const std::vector<LaunchPlan>& launches, const IntegerValues& parameters,
                     const std::function<void(std::size_t, const IntegerValues&)>& launch,
                     std::int64_t stride) {
  PlanRun(launches, launch, stride).run(0, launches.size(), 0, parameters);
}

std::int64_t outermost_iterations(const std::vector<LaunchPlan>& launches,
                                  const IntegerValues& parameters) {
  std::int64_t most = 1;
  for (const LaunchPlan& each : launches) {
    if (!each.host_loops.empty()) {
      const HostLoop& loop = each.host_loops.front();
      most = std::max(most,
                      ceil_divide(value_of(loop.end, parameters) - value_of(loop.first, parameters),
                                  loop.step));
    }
  }
  return most;
}

std::string plan_text(const std::vector<LaunchPlan>& launches,
                      const std::function<std::string(const LaunchPlan&)>& describe) {
  std::string text;
  const auto indent = [](std::size_t depth) { return std::string(2 * depth + 2, ' '); };
  const std::vector<HostLoop> none;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::vector<HostLoop>& loops = launches[i].host_loops;
    const std::vector<HostLoop>& open = i == 0 ? none : launches[i - 1].host_loops;
    std::size_t depth = 0;
    while (depth < std::min(loops.size(), open.size()) && loops[depth].iname == open[depth].iname) {
      ++depth;
    }
    for (; depth < loops.size(); ++depth) {
      text += indent(depth) + head_of(loops[depth]);
    }
    text += indent(depth) + describe(launches[i]) + "\n";
  }
  return text;
}

std::string call_text(const LaunchPlan& launch) {
  std::string inames;
  for (const HostLoop& loop : launch.host_loops) {
    inames += (inames.empty() ? "" : ", ") + loop.iname;
  }
  return inames.empty() ? launch.kernel_name : fmt::format("{}({})", launch.kernel_name, inames);
}

}  // namespace rtcg::loopy
