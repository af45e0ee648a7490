#include "rtcg/loopy/execute/host_schedule.h"

#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/host_plan.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

/// What for_each_launch calls, in words.
std::string by_names(const std::vector<LaunchPlan>& launches, const IntegerValues& parameters,
                     std::int64_t stride) {
  std::string text;
  for_each_launch(
      launches, parameters,
      [&](std::size_t launch, const IntegerValues& values) {
        text += std::to_string(launch);
        for (const HostLoop& loop : launches[launch].host_loops) {
          text += " " + std::to_string(values.at(loop.iname));
        }
        text += "\n";
      },
      stride);
  return text;
}

std::string by_numbers(const std::vector<LaunchPlan>& launches, const IntegerValues& parameters,
                       std::int64_t stride) {
  std::vector<std::string> names;
  IntegerList values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name);
    values.emplace_back(value);
  }
  const HostSchedule schedule(launches, names);
  EXPECT_EQ(schedule.outermost_iterations(values), outermost_iterations(launches, parameters));
  std::string text;
  schedule.run(values, stride, [&](std::size_t launch, const std::vector<std::int64_t>& inames) {
    text += std::to_string(launch);
    for (const std::int64_t each : inames) {
      text += " " + std::to_string(each);
    }
    text += "\n";
  });
  return text;
}

Kernel kernel(const std::string& domains, const std::string& statements) {
  return make_kernel(domains, statements, {.arguments = "u, v, w: f64[n]; n, m: i32"});
}

// Loops of loops, bounds that depend on outer loops, launches before, between and after.
TEST(HostSchedule, RunsWhatThePlanRuns) {
  const Kernel kernels[] = {
      kernel("{[t, i, j]: 0 <= t < m and 0 <= i, j < n}",
             "for t\n  v[i] = u[i] + t\n  ... gbarrier\n  u[j] = v[j]\nend"),
      kernel("{[t, s, i, j, k]: 0 <= t < m and 0 <= s <= t and 0 <= i, j, k < n}",
             "for t\n  for s\n    v[i] = u[i] + s\n    ... gbarrier\n    u[j] = v[j]\n  end\n"
             "  ... gbarrier\n  w[k] = u[k] + t\n  ... gbarrier\nend"),
      kernel("{[i, j]: 0 <= i, j < n}", "v[i] = u[i]\n... gbarrier\nu[j] = v[n - 1 - j]")};
  for (const Kernel& each : kernels) {
    const std::vector<LaunchPlan> launches = generate(each, Target::cuda).launches;
    for (const std::int64_t count : {0, 1, 2, 5}) {
      for (const std::int64_t stride : {1, 2, 7}) {
        const IntegerValues parameters = {{"n", 4}, {"m", count}};
        EXPECT_EQ(by_numbers(launches, parameters, stride), by_names(launches, parameters, stride))
            << count << " " << stride;
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
