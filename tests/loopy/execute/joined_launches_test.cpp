// Launches joined into one keep the numbers, on every target; on GPUs they run at once.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

Kernel cooling_rod() {
  return make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i, j < n - 1}",
                     "for t\n"
                     "  v[i] = u[i] + 0.25*(u[i - 1] - 2*u[i] + u[i + 1])\n"
                     "  ... gbarrier\n"
                     "  u[j] = v[j]\n"
                     "end",
                     {.name = "heat",
                      .arguments = "u, v: f32[n]; n, steps: i32",
                      .assumptions = "n >= 3 and steps >= 0"});
}

const char* const cuts_of_rod =
    "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
    "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)\n";

TEST(JoinedLaunches, RunTheLoopOfTheHost) {
  const Kernel joined = apply_recipe(cooling_rod(), std::string(cuts_of_rod) + "join_launches()");
  for (const std::int64_t steps : {0, 1, 5}) {
    expect_same_everywhere(joined, cooling_rod(), {{"n", 43}, {"steps", steps}});
  }
}

TEST(JoinedLaunches, WalkAlongTheGrid) {
  const Kernel joined =
      apply_recipe(cooling_rod(), std::string(cuts_of_rod) + "walk_grid(0, 3)\njoin_launches()");
  expect_same_everywhere(joined, cooling_rod(), {{"n", 61}, {"steps", 4}});
}

TEST(JoinedLaunches, MayHaveGridsOfTheirOwn) {
  // nested loops of the host, launches before and after them, and a part of one thread
  const Kernel kernel = make_kernel(
      "{[t, s, i, j, k]: 0 <= t < steps and 0 <= s < 2 and 0 <= i < n and 0 <= j < m and "
      "0 <= k < n}",
      "total[0] = 1 {id=start}\n"
      "... gbarrier {id=g0, dep=start}\n"
      "for t\n"
      "  for s\n"
      "    a[i] = a[i] + (t + s)*total[0] {id=a, dep=g0}\n"
      "    ... gbarrier {id=g1, dep=a}\n"
      "    b[j] = b[j] + a[2*j] {id=b, dep=g1}\n"
      "    ... gbarrier {id=g2, dep=b}\n"
      "  end\n"
      "  total[0] = total[0] + b[3] {id=total, dep=g2}\n"
      "  ... gbarrier {id=g3, dep=total}\n"
      "end\n"
      "c[k] = a[k] - total[0] {dep=g3}",
      {.name = "several",
       .arguments = "a: i32[n]; b: i32[m]; c: i32[n]; total: i32[1]; n, m, steps: i32",
       .assumptions = "n >= 2*m and m >= 4"});
  const Kernel joined = apply_recipe(kernel,
                                     "split_iname(i, 4, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(j, 4, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(k, 4, outer_tag=g.0, inner_tag=l.0)\n"
                                     "join_launches()");
  expect_same_everywhere(joined, kernel, {{"n", 23}, {"m", 11}, {"steps", 3}});
}

TEST(JoinedLaunches, ShareTilesWithinParts) {
  const Kernel kernel = make_kernel("{[t, i, j, k]: 0 <= t < steps and 0 <= i, j, k < n}",
                                    "for t\n"
                                    "  y[i] = sum(k, A[i, k]*x[k])\n"
                                    "  ... gbarrier\n"
                                    "  x[j] = y[j] - 3*x[j]\n"
                                    "end",
                                    {.name = "power",
                                     .arguments = "A: f32[n, n]; x, y: f32[n]; steps: i32",
                                     .assumptions = "n >= 1"});
  const Kernel joined = apply_recipe(kernel,
                                     "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)\n"
                                     "split_iname(k, 8)\n"
                                     "add_prefetch(x, [k_inner])\n"
                                     "join_launches()");
  expect_same_everywhere(joined, kernel, {{"n", 29}, {"steps", 2}});
}

TEST(JoinedLaunches, EndAtBarriersWhereTheDeviceHoldsFewerBlocks) {
  const Kernel joined = apply_recipe(cooling_rod(), std::string(cuts_of_rod) + "join_launches()");
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(device.info().name);
    constexpr std::int64_t n = 2'000'001;  // 250,000 blocks of 8 threads
    const runtime::Buffer<float> u(device, std::vector<float>(n, 2));
    const runtime::Buffer<float> v(device, std::vector<float>(n, 0));
    const Executor executor(joined, device);
    executor(device.default_stream(), {arg("u", u), arg("v", v), arg("steps", 3)});
    EXPECT_EQ(v.to_vector()[n / 2], 2);
    EXPECT_EQ(u.to_vector()[1], 2);
  }
}

TEST(JoinedLaunches, ArePartsOfBoundCalls) {
  const Kernel joined = apply_recipe(cooling_rod(), std::string(cuts_of_rod) + "join_launches()");
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    SCOPED_TRACE(device.info().name);
    std::vector<float> rod(40, 0);
    rod[20] = 64;
    const runtime::Buffer<float> u(device, rod);
    const runtime::Buffer<float> v(device, rod);
    const BoundCall call =
        Executor(joined, device).bind({arg("u", u), arg("v", v), arg("steps", 2)});
    call(device.default_stream());
    const std::vector<float> found = u.to_vector();
    EXPECT_EQ(std::vector<float>(found.begin() + 18, found.begin() + 23),
              (std::vector<float>{4, 16, 24, 16, 4}));
  }
}

}  // namespace
}  // namespace rtcg::loopy
