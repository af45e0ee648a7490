// Axes of arrays that become arrays or vectors, tables in constant memory, and lanes as loops.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

using runtime::Buffer;
using runtime::Device;

Kernel turned() {
  return make_kernel("{[i]: 0 <= i < n} {[c]: 0 <= c < 2}", "v[c, i] = 2*u[i, 1 - c]",
                     {.arguments = "u: f32[n, 2]; v: f32[2, n]; n: i32"});
}

TEST(ArrayAxes, SeparatedHoldTheSameValues) {
  const std::vector<float> left = {1, 2, 3, 4, 5};
  const std::vector<float> right = {10, 20, 30, 40, 50};
  for (const char* more : {"", "tag_inames(c:unr)",
                           "split_iname(i, 2, inner_tag=l.0)\n"
                           "tag_inames(c:ilp, i_outer:g.0)"}) {
    const Kernel kernel = apply_recipe(
        turned(), std::string("separate_array_axis(u, 1)\nseparate_array_axis(v, 0)\n") + more);
    for (const Device& device : rtcg::runtime::judged_devices()) {
      const Executor executor(kernel, device);
      const Buffer<float> u0(device, left);
      const Buffer<float> u1(device, right);
      const Buffer<float> v0(device, 5);
      const Buffer<float> v1(device, 5);
      const runtime::Stream stream(device);
      executor(stream, {arg("u_0", u0), arg("u_1", u1), arg("v_0", v0), arg("v_1", v1)});
      EXPECT_EQ(v0.to_vector(stream), (std::vector<float>{20, 40, 60, 80, 100})) << more;
      EXPECT_EQ(v1.to_vector(stream), (std::vector<float>{2, 4, 6, 8, 10})) << more;
    }
  }
}

TEST(ArrayAxes, TaggedVecAreLoadedAndStoredAtOnce) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n} {[c]: 0 <= c < 4}", "v[c, i] = 2*u[i, c]",
                                    {.arguments = "u: f32[n, 4]; v: f32[4, n]; n: i32"});
  const Kernel vectors = apply_recipe(kernel,
                                      "tag_array_axes([v], \"vec,N0\")\ntag_inames(c:vec)\n"
                                      "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(infer_types(vectors), Target::cuda);
  EXPECT_EQ(count_of("float4", text), 4) << text;  // a load into a variable, and a store
  const Kernel plain = apply_recipe(kernel, "tag_array_axes([v], \"vec,N0\")");
  expect_same_everywhere(vectors, plain, {{"n", 50}});
}

TEST(ArrayAxes, OfThreeElementsTakeThePlaceOfFour) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i]: 0 <= i < n} {[c]: 0 <= c < 3}", "v[i, c] = 2*u[i, c]",
                               {.arguments = "u, v: f32[n, 3]; n: i32"}),
                   "tag_array_axes([u, v], \"N0,vec\")");
  EXPECT_EQ(find_argument(kernel, "u")->strides_elements, (std::vector<Expr>{4, 1}));
  EXPECT_ERROR("loopy.tag_array_axes.bad_layout",
               apply_recipe(turned(), "tag_array_axes([u], \"vec,N0\")"));
  EXPECT_ERROR("loopy.tag_array_axes.bad_layout",
               apply_recipe(turned(), "tag_array_axes([u], \"vec,vec\")"));
}

TEST(Tables, OfNumbersLieInConstantMemory) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < 2} {[k]: 0 <= k < 3}",
                  "<f32> w[2, 3] = table(0.25, 0.5, 1, -1, 2, 3)\n"
                  "out[i] = sum((j, k), w[j, k]*a[i + k + j])",
                  {.arguments = "a: f32[n + 3]; out: f32[n]; n: i32", .assumptions = "n >= 1"});
  const Kernel plain = make_kernel(
      "{[i]: 0 <= i < n}",
      "out[i] = 0.25*a[i] + 0.5*a[i + 1] + a[i + 2] - a[i + 1] + 2*a[i + 2] + 3*a[i + 3]",
      {.arguments = "a: f32[n + 3]; out: f32[n]; n: i32", .assumptions = "n >= 1"});
  const Kernel typed = infer_types(kernel);
  const std::string values = "w[2][3] = {{0.25f, 0.5f, 1.0f}, {-1.0f, 2.0f, 3.0f}};";
  EXPECT_NE(generate_text(typed, Target::cuda).find("__constant__ const float " + values),
            std::string::npos)
      << generate_text(typed, Target::cuda);
  EXPECT_NE(generate_text(typed, Target::opencl).find("__constant const float " + values),
            std::string::npos)
      << generate_text(typed, Target::opencl);
  EXPECT_NE(generate_text(typed, Target::host).find("static const float " + values),
            std::string::npos)
      << generate_text(typed, Target::host);
  for (const char* recipe :
       {"", "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)",
        "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)\ntag_inames(k:unr, j:unr)"}) {
    expect_same_everywhere(apply_recipe(kernel, recipe), plain, {{"n", 50}});
  }
}

TEST(Tables, ThatAreNoNumbersAreFilled) {
  const KernelOptions options{.arguments = "a, out: f32[n]; s: f32; n: i32"};
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n} {[k]: 0 <= k < 2}",
                  "<f32> w[2] = table(1, 2*s)\nout[i] = sum(k, w[k]*a[i])", options);
  const Kernel plain = make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i] + 2*s*a[i]", options);
  EXPECT_EQ(generate_text(infer_types(kernel), Target::cuda).find("__constant__"),
            std::string::npos);
  CompareOptions compare;
  compare.reals["s"] = 1.5;
  expect_same_everywhere(kernel, plain, {{"n", 20}}, compare);
}

TEST(LaneLoops, KeepAnElementForEachLane) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 6}",
                  "<> t = 2*b[i]\nout[i] = t + sum(k, a[i, k]*t)", {.default_type = cgen::f32});
  const Kernel lanes = apply_recipe(kernel,
                                    "split_iname(i, 4, inner_tag=ilp.seq)\n"
                                    "split_iname(i_outer, 8, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(infer_types(lanes), Target::cuda);
  EXPECT_NE(text.find("float t[4];"), std::string::npos) << text;
  EXPECT_NE(text.find("acc_k[i_inner_"), std::string::npos) << text;
  // each statement in a loop of its own, that of the sum within the loop over k
  EXPECT_EQ(count_of("for (int i_inner_", text), 4) << text;
  EXPECT_LT(text.find("for (int k"), text.find("for (int i_inner_2")) << text;
  expect_same_everywhere(lanes, kernel, {{"n", 77}});
}

TEST(LaneLoops, RefuseWhatIsNeededOutsideOfThem) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i]: 0 <= i < 4}", "<> t = a[i] {inames=i}\nout[0] = t {inames=}",
                               {.arguments = "a: f32[4]; out: f32[1]"}),
                   "tag_inames(i:ilp.seq)");
  EXPECT_ERROR("loopy.privatize_temporaries.used_outside",
               generate_text(infer_types(kernel), Target::cuda));
}

}  // namespace
}  // namespace rtcg::loopy
