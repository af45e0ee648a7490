// Global barriers within loops: the host runs the loop, and launches what stands in it again and
// again.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

/// Steps of the heat equation; the ends of the rod stay as they are.
Kernel heat() {
  return make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i < n - 1 and 1 <= j < n - 1}",
                     "for t\n"
                     "  v[i] = u[i] + 0.25*(u[i - 1] - 2*u[i] + u[i + 1])\n"
                     "  ... gbarrier\n"
                     "  u[j] = v[j]\n"
                     "end",
                     {.name = "heat",
                      .arguments = "u, v: f64[n]; n, steps: i32",
                      .assumptions = "n >= 3 and steps >= 0"});
}
constexpr const char* heat_in_blocks =
    "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
    "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n";

std::vector<double> heat_after(std::vector<double> u, int steps) {
  for (int step = 0; step < steps; ++step) {
    std::vector<double> next = u;
    for (std::size_t i = 1; i + 1 < u.size(); ++i) {
      next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
    }
    u = next;
  }
  return u;
}

TEST(HostLoops, LaunchWhatStandsInThemOverAndOver) {
  const Kernel sliced = apply_recipe(heat(), heat_in_blocks);
  const std::vector<LaunchPlan> launches = generate(sliced, Target::cuda).launches;
  ASSERT_EQ(launches.size(), 2U);
  std::vector<double> start(50);
  for (std::size_t i = 0; i < start.size(); ++i) {
    start[i] = static_cast<double>(i * i % 17);
  }
  for (const int steps : {0, 1, 7}) {
    const std::vector<double> expected = heat_after(start, steps);
    for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
      const Executor executor(sliced, device);
      const runtime::Buffer<double> u(device, start);
      const runtime::Buffer<double> v(device, start);
      executor(device.default_stream(), {arg("u", u), arg("v", v), arg("steps", steps)});
      EXPECT_EQ(u.to_vector(), expected) << to_string(device.info().id) << ", " << steps;
    }
    expect_same_everywhere(sliced, heat(), {{"n", 50}, {"steps", steps}});
  }
}

TEST(HostLoops, AreRunByCallsThatWereBound) {
  const Kernel sliced = apply_recipe(heat(), heat_in_blocks);
  const std::vector<double> start = {1, 8, 2, 5, 0, 3, 7};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::Buffer<double> u(device, start);
    const runtime::Buffer<double> v(device, start);
    // the call outlives the executor that made it
    const BoundCall call =
        Executor(sliced, device).bind({arg("u", u), arg("v", v), arg("steps", 3)});
    call(device.default_stream());
    EXPECT_EQ(u.to_vector(), heat_after(start, 3)) << to_string(device.info().id);
    call(device.default_stream());
    EXPECT_EQ(u.to_vector(), heat_after(start, 6)) << to_string(device.info().id);
  }
}

TEST(HostLoops, GoFromOneHalfOfAnArrayToTheOther) {
  const Kernel kernel = make_kernel(
      "{[t, i]: 0 <= t < steps and 1 <= i < n - 1}",
      "for t\n"
      "  u[(t + 1) % 2, i] = 0.5*u[t % 2, i - 1] + 0.5*u[t % 2, i + 1]\n"
      "  ... gbarrier\n"
      "end",
      {.arguments = "u: f64[2, n]; n, steps: i32", .assumptions = "n >= 3 and steps >= 0"});
  const Kernel sliced = apply_recipe(kernel, "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)");
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 1U);
  for (const int steps : {0, 1, 6, 7}) {
    expect_same_everywhere(sliced, kernel, {{"n", 40}, {"steps", steps}});
  }
}

TEST(HostLoops, HoldTwoKernelsThatRunThreeTimes) {
  const Kernel kernel = make_kernel(
      "{[i, k]: 0 <= i < n and 0 <= k < 3}",
      "for i, k\n"
      "  ... gbarrier\n"
      "  c[k, i] = a[k, i + 1]\n"
      "  ... gbarrier\n"
      "  out[k, i] = c[k, i]\n"
      "end",
      {.arguments = "a: f32[3, n + 1]; c, out: f32[3, n]; n: i32", .assumptions = "n >= 1"});
  const Kernel sliced = apply_recipe(kernel, "split_iname(i, 128, outer_tag=g.0, inner_tag=l.0)");
  const std::vector<LaunchPlan> launches = generate(sliced, Target::cuda).launches;
  ASSERT_EQ(launches.size(), 2U);
  int runs = 0;
  for_each_launch(launches, {{"n", 5}}, [&](std::size_t i, const IntegerValues& values) {
    EXPECT_EQ(i, static_cast<std::size_t>(runs % 2));
    EXPECT_EQ(values.at("k"), runs / 2);
    ++runs;
  });
  EXPECT_EQ(runs, 6);
  expect_same_everywhere(sliced, kernel, {{"n", 5}});
  expect_same_everywhere(sliced, kernel, {{"n", 300}});
}

TEST(HostLoops, NestAndHaveLaunchesBesideThem) {
  const Kernel kernel = make_kernel(
      "{[r, s]: 0 <= r < rows and 0 <= s <= r} "
      "{[i0, i1, i2, i3, i4, i5]: 0 <= i0, i1, i2, i3, i4, i5 < n}",
      "x[i0] = a[i0]\n"
      "for r\n"
      "  y[i1] = x[i1] + r\n"
      "  for s\n"
      "    ... gbarrier\n"
      "    z[i2] = y[i2] + if(i2 > s, y[i2 - s - 1], 0.0)\n"
      "    ... gbarrier\n"
      "    y[i3] = z[i3]\n"
      "  end\n"
      "  x[i4] = 0.5*y[i4] {id=last}\n"
      "end\n"
      "out[i5] = x[n - 1 - i5] {dep=last}",
      {.arguments = "a, x, y, z, out: f64[n]; n, rows: i32",
       .assumptions = "n >= 1 and rows >= 0"});
  std::string recipe;
  for (const char* iname : {"i0", "i1", "i2", "i3", "i4", "i5"}) {
    recipe += std::string("split_iname(") + iname + ", 8, outer_tag=g.0, inner_tag=l.0)\n";
  }
  const Kernel sliced = apply_recipe(kernel, recipe);
  EXPECT_EQ(plan_text(generate(sliced, Target::cuda).launches, call_text),
            "  loopy_kernel_0\n"
            "  for r in [0, rows):\n"
            "    loopy_kernel_1(r)\n"
            "    for s in [0, r + 1):\n"
            "      loopy_kernel_2(r, s)\n"
            "      loopy_kernel_3(r, s)\n"
            "    loopy_kernel_4(r)\n"
            "  loopy_kernel_5\n");
  for (const int rows : {0, 1, 4}) {
    expect_same_everywhere(sliced, kernel, {{"n", 20}, {"rows", rows}});
  }
}

TEST(HostLoops, DecomposeMatricesColumnByColumn) {
  const Kernel kernel =
      make_kernel("{[k, l, i, j]: 0 <= k < n and k < l < n and k < i < n and k < j < n}",
                  "for k\n"
                  "  a[l, k] = a[l, k]/a[k, k]\n"
                  "  ... gbarrier\n"
                  "  a[i, j] = a[i, j] - a[i, k]*a[k, j]\n"
                  "  ... gbarrier\n"
                  "end",
                  {.name = "lu", .arguments = "a: f64[n, n]; n: i32", .assumptions = "n >= 1"});
  const Kernel sliced = apply_recipe(kernel,
                                     "split_iname(l, 32, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(i, 8, outer_tag=g.1, inner_tag=l.1)\n"
                                     "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)");
  CompareOptions large_diagonal;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j) {
      large_diagonal.values["a"].push_back(i == j ? 30 : (7 * i + 3 * j) % 5 - 2);
    }
  }
  expect_same_everywhere(sliced, kernel, {{"n", 20}}, large_diagonal);
}

TEST(HostLoops, MayGoInStepsAndFromAParameterOn) {
  const Kernel kernel =
      make_kernel("{[t, i]: 3 <= t < last and t mod 4 = 1 and 0 <= i < n}",
                  "for t\n  u[i] = 0.5*u[n - 1 - i] + t {id=one, inames=t:i}\n  ... gbarrier\nend",
                  {.arguments = "u: f64[n]; n, last: i32", .assumptions = "n >= 1 and last >= 0"});
  EXPECT_EQ(plan_text(generate(kernel, Target::host).launches, call_text),
            "  for t in [5, last) by 4:\n    loopy_kernel(t)\n");
  for (const int last : {0, 5, 6, 14}) {
    expect_same_everywhere(kernel, kernel, {{"n", 9}, {"last", last}});
  }
}

TEST(HostLoops, LetBlocksFetchWhatTheyNeed) {
  const Kernel sliced = apply_recipe(
      heat(), std::string(heat_in_blocks) + "add_prefetch(u, [i_inner], default_tag=l.auto)");
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 2U);
  expect_same_everywhere(sliced, heat(), {{"n", 50}, {"steps", 5}});
}

TEST(HostLoops, LetBlocksFetchInEachLaunchWhatNeverChanges) {
  const Kernel kernel = make_kernel(
      "{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
      "for t\n  v[i] = c[i]*u[i] + c[i + 1]*u[n - 1 - i]\n  ... gbarrier\n  u[j] = v[j]\nend",
      {.arguments = "u, v: f64[n]; c: f64[n + 1]; n, steps: i32",
       .assumptions = "n >= 1 and steps >= 0"});
  const Kernel sliced = apply_recipe(
      kernel, std::string(heat_in_blocks) + "add_prefetch(c, [i_inner], default_tag=l.auto)");
  EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 2U);
  expect_same_everywhere(sliced, kernel, {{"n", 50}, {"steps", 3}});
}

TEST(HostLoops, MayBeSplitThemselves) {
  const Kernel sliced = apply_recipe(heat(), std::string(heat_in_blocks) + "split_iname(t, 4)");
  EXPECT_EQ(generate(sliced, Target::cuda).launches.front().host_loops.size(), 2U);
  for (const int steps : {0, 3, 9}) {
    expect_same_everywhere(sliced, heat(), {{"n", 30}, {"steps", steps}});
  }
}

TEST(HostLoops, CarryGlobalTemporariesOn) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[t, i, j, k, l]: 0 <= t < steps and 0 <= i, j, k, l < n}",
                               "<f64> sum[n]\n"
                               "sum[i] = a[i]\n"
                               "for t\n"
                               "  v[j] = sum[j] + sum[n - 1 - j]\n"
                               "  ... gbarrier\n"
                               "  sum[k] = 0.5*v[k] + t {id=last}\n"
                               "end\n"
                               "out[l] = sum[l] {dep=last}",
                               {.arguments = "a, v, out: f64[n]; n, steps: i32",
                                .assumptions = "n >= 1 and steps >= 0"}),
                   "set_temporary_address_space([sum], global)");
  std::string recipe;
  for (const char* iname : {"i", "j", "k", "l"}) {
    recipe += std::string("split_iname(") + iname + ", 16, outer_tag=g.0, inner_tag=l.0)\n";
  }
  for (const int steps : {0, 1, 7}) {
    expect_same_everywhere(apply_recipe(kernel, recipe), kernel, {{"n", 50}, {"steps", steps}});
  }
}

TEST(HostLoops, FindAgainWhatThreadsHaveSaved) {
  const KernelOptions options = {.arguments = "u, v, out: f64[n]; n, steps: i32",
                                 .assumptions = "n >= 1 and steps >= 0"};
  const Kernel saved = apply_recipe(make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                                                "<> least = u[i] {inames=i}\n"
                                                "for t\n"
                                                "  least = min(least, u[i]) {inames=t:i}\n"
                                                "  v[i] = 2*u[i] {inames=t:i}\n"
                                                "  ... gbarrier\n"
                                                "  u[j] = v[n - 1 - j] - 1\n"
                                                "end\n"
                                                "out[i] = least {inames=i}",
                                                options),
                                    "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                    "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                    "save_and_reload_temporaries()");
  const Kernel reference =
      apply_recipe(make_kernel("{[t, i, j, k, l]: 0 <= t < steps and 0 <= i, j, k, l < n}",
                               "<f64> least[n]\n"
                               "least[i] = u[i]\n"
                               "for t\n"
                               "  least[k] = min(least[k], u[k])\n"
                               "  v[k] = 2*u[k]\n"
                               "  ... gbarrier\n"
                               "  u[j] = v[n - 1 - j] - 1 {id=last}\n"
                               "end\n"
                               "out[l] = least[l] {dep=last}",
                               options),
                   "set_temporary_address_space([least], global)");
  for (const int steps : {0, 1, 7}) {
    expect_same_everywhere(saved, reference, {{"n", 40}, {"steps", steps}});
  }
}

TEST(HostLoops, AreCalledAsTheUserSaysWhateverTheTargetReserves) {
  const Kernel kernel = make_kernel(
      "{[signed, i, j]: 0 <= signed < global and 0 <= i, j < n}",
      "for signed\n  v[i] = 2*u[n - 1 - i] + signed\n  ... gbarrier\n  u[j] = 0.25*v[j]\nend",
      {.arguments = "u, v: f32[n]; n, global: i32", .assumptions = "n >= 1 and global >= 0"});
  const std::vector<LaunchPlan> launches = generate(kernel, Target::opencl).launches;
  ASSERT_EQ(launches.front().host_loops.size(), 1U);
  EXPECT_EQ(launches.front().host_loops.front().iname, "signed");
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\n"
                                      "split_iname(j, 16, outer_tag=g.0, inner_tag=l.0)"),
                         kernel, {{"n", 50}, {"global", 3}});
}

}  // namespace
}  // namespace rtcg::loopy
