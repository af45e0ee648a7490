// Kernels that statements call, as functions of the text.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/inline_kernel.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel scale() {
  return make_kernel("{[k]: 0 <= k < 8}", "y[k] = s*x[k]",
                     {.name = "scale", .arguments = "x, y: f32[8]; s: f32"});
}

constexpr const char* arguments = "a, b, c: f32[n, 8]; n: i32";

Kernel calling(const std::string& options) {
  return make_kernel_with_callees("{[i]: 0 <= i < n}",
                                  "[k]: b[i, k] = scale([k]: a[i, 7 - k], 3*i)" + options +
                                      "\n[k]: c[i, k] = scale([k]: b[i, 7 - k], 3*i)" + options,
                                  {.name = "twice", .arguments = arguments}, {scale()});
}

constexpr const char* calls_on_threads = "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)";

TEST(EmitCall, WritesOneFunctionForCallsThatNeedTheSame) {
  const Kernel kernel = apply_recipe(calling(" {as_function}"), calls_on_threads);
  EXPECT_EQ(
      generate_text(infer_types(kernel), Target::cuda, {.recipe_comment = false}),
      R"(static __device__ void scale(float *y, const int i_outer, const int i_inner, const float *x) {
  for (int k = 0; k < 8; ++k) {
    y[k] = 3.0f * (16.0f * i_outer + i_inner) * x[7 - k];
  }
}

extern "C" __global__ void __launch_bounds__(16) twice(const float *__restrict__ a,
    float *__restrict__ b, float *__restrict__ c, const int n) {
  const int i_outer = (int)blockIdx.x;
  const int i_inner = (int)threadIdx.x;
  if (16 * i_outer + i_inner < n) {
    scale(&b[128 * i_outer + 8 * i_inner], i_outer, i_inner, &a[128 * i_outer + 8 * i_inner]);
    scale(&c[128 * i_outer + 8 * i_inner], i_outer, i_inner, &b[128 * i_outer + 8 * i_inner]);
  }
}
)");
}

TEST(EmitCall, GivesPointersTheirMemory) {
  const Kernel kernel = apply_recipe(calling(" {as_function}"), calls_on_threads);
  const std::string text = generate_text(infer_types(kernel), Target::opencl);
  EXPECT_NE(text.find("static void scale(__global float *y, const int i_outer, const int i_inner,"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("__global const float *x"), std::string::npos) << text;
}

TEST(EmitCall, RunsOnEveryTarget) {
  const Kernel kernel = calling(" {as_function}");
  const Kernel plain = calling("");
  expect_same_everywhere(kernel, plain, {{"n", 50}});
  expect_same_everywhere(apply_recipe(kernel, calls_on_threads), plain, {{"n", 50}});
}

TEST(EmitCall, PassesSumsTablesSharedArraysAndScalars) {
  // reads a shared array and a table, sums, and gives a scalar that the kernel uses
  const Kernel dot =
      make_kernel("{[k]: 0 <= k < 4}", "<f32> w[4] = table(1, 2, 3, 4)\nr[0] = sum(k, w[k]*x[k])",
                  {.name = "dot", .arguments = "x: f32[4]; r: f32[1]"});
  const auto with = [&](const std::string& options) {
    return make_kernel_with_callees("{[i]: 0 <= i < n} {[l, m]: 0 <= l, m < 16} {[q]: 0 <= q < 4}",
                                    "<f32> t[16, 4]\n"
                                    "t[l, q] = a[i, l, q] {inames=i:l:q}\n"
                                    "<f32> s = dot([k]: t[15 - m, k]) {inames=i:m" +
                                        options +
                                        "}\n"
                                        "out[i, m] = 2*s {inames=i:m}",
                                    {.arguments = "a: f32[n, 16, 4]; out: f32[n, 16]; n: i32"},
                                    {dot});
  };
  const Kernel kernel = apply_recipe(with(", as_function"),
                                     "tag_inames(i:g.0, l:l.0, m:l.0)\n"
                                     "set_temporary_address_space([t], local)");
  const std::string text = generate_text(infer_types(kernel), Target::opencl);
  EXPECT_NE(text.find("static void dot("), std::string::npos) << text;
  EXPECT_NE(text.find("__local const float (*"), std::string::npos) << text;
  EXPECT_NE(text.find("&s"), std::string::npos) << text;
  expect_same_everywhere(kernel, with(""), {{"n", 5}});
}

TEST(EmitCall, TakesNoLoopAroundACallForOneOfItsOwn) {
  const auto text = [](const std::string& around) {
    const Kernel kernel = make_kernel_with_callees(
        "{[" + around + "]: 0 <= " + around + " < n}",
        "[k]: b[" + around + ", k] = scale([k]: a[" + around + ", 7 - k], 3) {as_function}",
        {.name = "rows", .arguments = arguments}, {scale()});
    return generate_text(infer_types(apply_recipe(kernel, "split_iname(k, 4, inner_tag=unr)")),
                         Target::cuda, {.recipe_comment = false});
  };
  EXPECT_NE(text("r").find("scale(&b[8 * r], &a[8 * r]);"), std::string::npos) << text("r");
  EXPECT_NE(text("k_r").find("scale(&b[8 * k_r], &a[8 * k_r]);"), std::string::npos) << text("k_r");
}

TEST(EmitCall, IsKeptInKernelFiles) {
  const Kernel kernel = apply_recipe(calling(" {as_function}"), calls_on_threads);
  const KernelFile file = to_kernel_file(kernel);
  const Kernel again = transformed_kernel(file, described_kernel(file));
  EXPECT_EQ(generate_text(infer_types(again), Target::cuda, {.recipe_comment = false}),
            generate_text(infer_types(kernel), Target::cuda, {.recipe_comment = false}));
  EXPECT_ERROR("loopy.parse_statements.syntax",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 2 {call=f}"));
  EXPECT_ERROR("loopy.parse_statements.syntax",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 2 {call=f(x, y)}"));
}

TEST(EmitCall, IsDoneByRecipes) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "... nop {id=here, inames=i}", {.arguments = arguments});
  const Kernel called =
      inline_kernel(kernel, scale(), "here", {{"x", "a[i, _0]"}, {"y", "b[i, _0]"}, {"s", "2"}},
                    {.as_function = true});
  EXPECT_EQ(generate_text(infer_types(apply_recipe(kernel, called.recipe)), Target::cuda),
            generate_text(infer_types(called), Target::cuda));
  EXPECT_NE(generate_text(infer_types(called), Target::cuda).find(" void scale("),
            std::string::npos);
}

TEST(EmitCall, RefusesWhatIsNoFunction) {
  const auto call = [](const std::string& statements, const std::string& recipe) {
    const Kernel callee = apply_recipe(
        make_kernel("{[k]: 0 <= k < 8}", statements, {.name = "f", .arguments = "x, y: f32[8]"}),
        recipe);
    return make_kernel_with_callees("{[i]: 0 <= i < n}",
                                    "[k]: b[i, k] = f([k]: a[i, k]) {as_function}",
                                    {.arguments = arguments}, {callee});
  };
  EXPECT_ERROR("loopy.inline_kernel.not_a_function", call("y[k] = x[k]", "tag_inames(k:l.0)"));
  EXPECT_ERROR("loopy.inline_kernel.not_a_function",
               call("y[k] = x[k] {id=u}\n... lbarrier {dep=u}", ""));
  EXPECT_ERROR("loopy.make_kernel.unknown_callee",
               make_kernel("{[i]: 0 <= i < n}", "a[i] = 2 {as_function}"));
}

TEST(EmitCall, RefusesCallsThatOtherStatementsTear) {
  Kernel kernel = calling(" {as_function}");
  kernel = apply_recipe(std::move(kernel), "add_barrier(id:set_y, id:set_y_in, scope=local)");
  Kernel one = kernel;
  // both calls as one: the barrier stands between
  for (Instruction& each : one.instructions) {
    if (each.call_site != nullptr) {
      each.call_site = kernel.instructions.front().call_site;
    }
  }
  EXPECT_ERROR("loopy.generate.call_split", generate_text(infer_types(one), Target::cuda));
}

TEST(EmitCall, LeavesTheLoopsAroundACallWhereTheyAre) {
  const Kernel kernel = make_kernel_with_callees(
      "{[i]: 0 <= i < n}", "[k]: b[i, k] = scale([k]: a[i, k], 2) {as_function}",
      {.arguments = arguments}, {scale()});
  const std::string text =
      generate_text(infer_types(apply_recipe(kernel, "split_iname(k, 4)")), Target::cuda);
  EXPECT_NE(text.find("i < n; ++i) {\n    scale(&b[8 * i], &a[8 * i]);"), std::string::npos)
      << text;
}

TEST(EmitCall, RefusesCText) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "... c \"${b[i]} = ${a[i]};\" {writes=b}",
                              {.arguments = "a, b: f32[n]; n: i32"});
  kernel.instructions.front().call_site = std::make_shared<const CallSite>(CallSite{"f", "x", {}});
  EXPECT_ERROR("loopy.generate.call_form", generate_text(infer_types(kernel), Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
