#include "rtcg/loopy/transform/separate_array_axis.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel momenta() {
  return make_kernel("{[i]: 0 <= i < n}", "out[i] = u[i, 0]*u[i, 2]",
                     {.arguments = "u: f32[n, 3]; out: f32[n]; n: i32"});
}

std::string conditional_statements(const Kernel& kernel) {
  std::string text;
  for (const Instruction& each : kernel.instructions) {
    text += to_string(each) + " where " + to_string(each.predicates.at(0)) + "\n";
  }
  return text;
}

TEST(SeparateArrayAxis, MakesAnArrayOfEachIndex) {
  const Kernel kernel = separate_array_axis(momenta(), "u", 1);
  EXPECT_EQ(to_string(get_if<Assignment>(kernel.instructions[0])->value), "u_0[i]*u_2[i]");
  ASSERT_EQ(kernel.arguments.size(), 5U);
  EXPECT_EQ(kernel.arguments[0].name, "u_0");
  EXPECT_EQ(kernel.arguments[2].name, "u_2");
  EXPECT_EQ(kernel.arguments[2].shape.size(), 1U);
  EXPECT_EQ(to_string(kernel.recipe.back()), "separate_array_axis(u, 1)");
}

TEST(SeparateArrayAxis, LeavesNoChoiceInUnrolledLoops) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i]: 0 <= i < n} {[c]: 0 <= c < 3}", "v[i, c] = 2*u[i, c]",
                               {.arguments = "u, v: f32[n, 3]; n: i32"}),
                   "separate_array_axis(u, 1)\nseparate_array_axis(v, 1)\ntag_inames(c:unr)");
  const std::string text = generate_text(infer_types(kernel), Target::cuda);
  EXPECT_NE(text.find("v_1[i] = 2.0f * u_1[i];"), std::string::npos) << text;
  EXPECT_NE(text.find("v_2[i] = 2.0f * u_2[i];"), std::string::npos) << text;
  EXPECT_EQ(text.find("if"), std::string::npos) << text;
  EXPECT_EQ(text.find('?'), std::string::npos) << text;
}

TEST(SeparateArrayAxis, ChoosesWhereTheIndexIsNoNumber) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i]: 0 <= i < n} {[c]: 0 <= c < 2}", "v[c, i] = 2*u[i, 1 - c] {id=set}",
                  {.arguments = "u: f32[n, 2]; v: f32[2, n]; n: i32"}),
      "separate_array_axis(u, 1)\nseparate_array_axis(v, 0)");
  EXPECT_EQ(conditional_statements(kernel),
            "v_0[i] = 2*if(-c + 1 == 0, u_0[i], u_1[i]) where c == 0\n"
            "v_1[i] = 2*if(-c + 1 == 0, u_0[i], u_1[i]) where c == 1\n");
}

TEST(SeparateArrayAxis, RefusesWhatHasNoPieces) {
  const auto refused = [](const std::string& statements, const std::string& arguments) {
    return make_kernel("{[i]: 0 <= i < n}", statements, {.arguments = arguments});
  };
  EXPECT_ERROR("loopy.separate_array_axis.unknown_array", separate_array_axis(momenta(), "w", 1));
  EXPECT_ERROR("loopy.separate_array_axis.bad_axis", separate_array_axis(momenta(), "u", 2));
  EXPECT_ERROR("loopy.separate_array_axis.bad_length", separate_array_axis(momenta(), "u", 0));
  EXPECT_ERROR(
      "loopy.separate_array_axis.linear_access",
      separate_array_axis(refused("out[i] = u[[i]]", "u: f32[n, 3]; out: f32[n]; n: i32"), "u", 1));
  EXPECT_ERROR("loopy.separate_array_axis.linear_access",
               separate_array_axis(refused("... c \"${out[i]} = u[0];\" {reads=u, writes=out}",
                                           "u: f32[n, 3]; out: f32[n]; n: i32"),
                                   "u", 1));
  EXPECT_ERROR(
      "loopy.separate_array_axis.name_taken",
      separate_array_axis(
          refused("out[i] = u[i, 0] + u_1[i]", "u: f32[n, 3]; out, u_1: f32[n]; n: i32"), "u", 1));
  EXPECT_TRUE(why_not([&] { return separate_array_axis(momenta(), "u", 0); }));
  EXPECT_FALSE(why_not([&] { return separate_array_axis(momenta(), "u", 1); }));
}

}  // namespace
}  // namespace rtcg::loopy
