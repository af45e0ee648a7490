#include "rtcg/loopy/codegen/host_plan.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/schedule/insert_barriers.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Steps from u to v and back.
Kernel steps() {
  const Kernel kernel =
      make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                  "for t\n  v[i] = 0.5*u[n - 1 - i] + t\n  ... gbarrier\n  u[j] = v[j]\nend",
                  {.name = "relax",
                   .arguments = "u, v: f32[n]; n, steps: i32",
                   .assumptions = "n >= 1 and n mod 64 = 0 and steps >= 0"});
  return apply_recipe(kernel,
                      "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)\n"
                      "split_iname(j, 64, outer_tag=g.0, inner_tag=l.0)");
}

std::string text_of(const Kernel& kernel, Target target, GenerateOptions options = {}) {
  options.recipe_comment = false;
  return generate_text(kernel, target, options);
}

TEST(HostPlan, StandsAtTheHeadOfKernelsThatGetTheLoopsIname) {
  EXPECT_EQ(text_of(steps(), Target::cuda),
            R"(// Launched by the host:
//   for t in [0, steps):
//     relax_0(t)
//     relax_1(t)
extern "C" __global__ void __launch_bounds__(64) relax_0(float *__restrict__ u,
    float *__restrict__ v, const int n, const int steps, const int t) {
  const int i_outer = (int)blockIdx.x;
  const int i_inner = (int)threadIdx.x;
  v[64 * i_outer + i_inner] = 0.5f * u[n - 64 * i_outer - i_inner - 1] + t;
}

extern "C" __global__ void __launch_bounds__(64) relax_1(float *__restrict__ u,
    float *__restrict__ v, const int n, const int steps, const int t) {
  const int j_outer = (int)blockIdx.x;
  const int j_inner = (int)threadIdx.x;
  u[64 * j_outer + j_inner] = v[64 * j_outer + j_inner];
}
)");
}

TEST(HostPlan, IsTheSameOnEveryTarget) {
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    const GeneratedProgram program = generate(steps(), target);
    EXPECT_EQ(plan_text(program.launches, call_text),
              "  for t in [0, steps):\n    relax_0(t)\n    relax_1(t)\n");
    ASSERT_EQ(program.parameters.size(), 4U);  // the iname is none: each kernel has its own
  }
  const std::string opencl = text_of(steps(), Target::opencl);
  EXPECT_NE(opencl.find("const int n, const int steps, const int t) {"), std::string::npos)
      << opencl;
  const std::string wide = text_of(steps(), Target::cuda, {.index_type = cgen::i64});
  EXPECT_NE(wide.find("const long long t) {"), std::string::npos) << wide;
}

TEST(HostPlan, ShowsInTheSchedule) {
  const Kernel ready = preprocess(steps());
  EXPECT_EQ(to_string(ready, insert_barriers(ready, build_loop_tree(ready))),
            "for t (host)\n"
            "  set_v i_inner:l.0 i_outer:g.0\n"
            "  next launch\n"
            "  set_u j_inner:l.0 j_outer:g.0\n");
}

TEST(HostPlan, RunsNothingInALoopWithoutIterations) {
  const std::vector<LaunchPlan> launches = generate(steps(), Target::host).launches;
  for (const int count : {0, 1, 3}) {
    std::string order;
    for_each_launch(launches, {{"n", 64}, {"steps", count}},
                    [&](std::size_t launch, const IntegerValues& values) {
                      order += std::to_string(launch) + std::to_string(values.at("t")) + " ";
                    });
    EXPECT_EQ(order, std::string("00 10 01 11 02 12 ").substr(0, 6 * count));
  }
}

TEST(HostPlan, RunsASampleOfTheOutermostLoop) {
  const std::vector<LaunchPlan> launches = generate(steps(), Target::host).launches;
  const IntegerValues sizes = {{"n", 64}, {"steps", 7}};
  EXPECT_EQ(outermost_iterations(launches, sizes), 7);
  std::string order;
  const auto note = [&](std::size_t launch, const IntegerValues& values) {
    order += std::to_string(launch) + std::to_string(values.at("t")) + " ";
  };
  for_each_launch(launches, sizes, note, 3);
  EXPECT_EQ(order, "00 10 03 13 06 16 ");
  order.clear();
  for_each_launch(launches, sizes, note, 7);
  EXPECT_EQ(order, "00 10 ");
}

TEST(HostPlan, HasOneIterationWithoutALoop) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "v[i] = u[i]\n... gbarrier\nw[j] = v[n - 1 - j]",
                  {.default_type = cgen::f32});
  EXPECT_EQ(outermost_iterations(generate(kernel, Target::cuda).launches, {{"n", 64}}), 1);
}

TEST(HostPlan, TellsNothingNewOfLaunchesInARow) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "v[i] = u[i]\n... gbarrier\nw[j] = v[n - 1 - j]",
                  {.name = "two", .default_type = cgen::f32});
  const std::vector<LaunchPlan> launches = generate(kernel, Target::cuda).launches;
  EXPECT_EQ(plan_text(launches, call_text), "  two_0\n  two_1\n");
  EXPECT_EQ(text_of(kernel, Target::cuda).find("Launched"), std::string::npos);
}

TEST(HostPlan, RefusesBoundsThatTheKernelComputes) {
  EXPECT_ERROR("loopy.generate.host_loop_bounds",
               text_of(make_kernel("{[i]: 0 <= i < n} {[t]: 0 <= t < count}",
                                   "<> count = counts[0]\n"
                                   "for t\n  u[i] = v[i]\n  ... gbarrier\nend",
                                   {.arguments = "u, v: f32[n]; counts: i32[1]; n: i32"}),
                       Target::host));
}

TEST(HostPlan, RefusesValuesOfThreadsThatIterationsHandOn) {
  const auto text = [](const std::string& statements) {
    const Kernel kernel = make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                                      "for t\n" + statements + "  ... gbarrier\n  u[j] = v[j]\nend",
                                      {.arguments = "u, v, a: f32[n]; c: i32[n]; n, steps: i32"});
    return text_of(apply_recipe(kernel, "tag_inames(i:g.0, j:g.0)"), Target::cuda);
  };
  const char* code = "loopy.generate.temporary_across_launches";
  // what only the first iteration sets
  EXPECT_ERROR(code, text("<> s = u[i] {id=set, inames=t:i, if=t < 1}\n"
                          "v[i] = s {inames=t:i, dep=set}\n"));
  // what an iteration sets for the next one
  EXPECT_ERROR(code, text("<f32> s[2]\ns[0] = a[i] {id=now, inames=t:i}\n"
                          "v[i] = if(t > 0, s[1], 0.0) {id=use, inames=t:i, dep=now}\n"
                          "s[1] = s[0] {inames=t:i, dep=use}\n"));
  // what only some points set
  EXPECT_ERROR(code, text("<> s = u[i] {id=set, inames=t:i, if=c[i] > 0}\n"
                          "v[i] = s {inames=t:i, dep=set}\n"));
  // what the other side of the barrier needs
  EXPECT_ERROR(code, text("<> s = u[0] {id=set, inames=t}\nv[i] = s {inames=t:i}\n"
                          "... gbarrier\na[i] = s {inames=t:i}\n"));
  // what each iteration sets where it needs it may stay with the thread
  EXPECT_NO_THROW(text("<> s = u[i] {id=set, inames=t:i}\nv[i] = s*s {inames=t:i, dep=set}\n"));
  EXPECT_NO_THROW(
      text("<> s = u[i] {id=set, inames=t:i, if=c[i] > t}\n"
           "v[i] = s {inames=t:i, dep=set, if=c[i] > t}\n"));
}

TEST(HostPlan, LetsABlockAddUpInEachIteration) {
  const Kernel kernel =
      make_kernel("{[t]: 0 <= t < n} {[j]: 0 <= j < t}",
                  "for t\n  x[t] = b[t] - sum(j, a[t, j]*x[j])\n  ... gbarrier\nend",
                  {.default_type = cgen::f32});
  const Kernel shared = apply_recipe(
      kernel, "split_iname(j, 128); split_reduction_outward(j_inner); tag_inames(j_inner:l.0)");
  for (const Target target : {Target::cuda, Target::opencl, Target::host}) {
    EXPECT_NO_THROW(text_of(shared, target));
  }
}

}  // namespace
}  // namespace rtcg::loopy
