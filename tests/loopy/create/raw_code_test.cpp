// Statements in C: what they are made of, and that transformations change their parts.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/create/parse_statements.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/arguments.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel halves(const std::string& statement) {
  return make_kernel("{[i]: 0 <= i < n}", statement, {.arguments = "a, b: f32[n]"});
}

TEST(RawCode, HasPartsThatAreReadAndWritten) {
  const Kernel kernel =
      halves("... c \"${b[i]} += ${a[i]}; # no; comment\" {reads=b:x, writes=b:y}");
  const Instruction& statement = kernel.instructions.front();
  EXPECT_EQ(statement.id, "code");
  EXPECT_EQ(to_string(statement), "... c \"${b[i]} += ${a[i]}; # no; comment\"");
  EXPECT_EQ(statement.within_inames, NameSet{"i"});
  EXPECT_EQ(read_variables(kernel, statement), (NameSet{"a", "b", "x"}));
  EXPECT_EQ(written_variables(statement), (NameSet{"b", "y"}));
  ASSERT_EQ(accesses_of(kernel, statement).size(), 3U);
  EXPECT_TRUE(accesses_of(kernel, statement).back().is_write);
}

TEST(RawCode, IsNotReadWhereItIsOnlyWritten) {
  const Kernel kernel = halves("... c \"${b[i]} = 1.0f;\" {writes=b}");
  EXPECT_TRUE(read_variables(kernel, kernel.instructions.front()).empty());
}

TEST(RawCode, ChangesItsPartsWithTheKernel) {
  Kernel kernel = halves("... c \"${b[i]} = 0.5f*${a[i]};\" {writes=b}");
  kernel = split_iname(kernel, "i", 64, {.outer_tag = "g.0", .inner_tag = "l.0"});
  kernel = rename_argument(kernel, "a", "x");
  EXPECT_EQ(
      generate_text(kernel, Target::cuda, {.recipe_comment = false}),
      R"(extern "C" __global__ void __launch_bounds__(64) loopy_kernel(const float *__restrict__ x,
    float *__restrict__ b, const int n) {
  const int i_outer = (int)blockIdx.x;
  const int i_inner = (int)threadIdx.x;
  if (64 * i_outer + i_inner < n) {
    b[64 * i_outer + i_inner] = 0.5f*x[64 * i_outer + i_inner];
  }
}
)");
}

TEST(RawCode, PutsBracketsAroundSums) {
  const Kernel kernel = halves("... c \"${b[i]} = 2*${i + 1};\" {writes=b}");
  EXPECT_NE(generate_text(kernel, Target::cuda).find("b[i] = 2*(i + 1);"), std::string::npos)
      << generate_text(kernel, Target::cuda);
}

TEST(RawCode, HasValuesForEachLane) {
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                              "<f32> t = a[i]\n... c \"${t} *= 2;\" {reads=t, writes=t}\nb[i] = t",
                              {.arguments = "a, b: f32[n]", .assumptions = "n mod 2 = 0"});
  kernel = split_iname(kernel, "i", 2, {.outer_tag = "g.0", .inner_tag = "ilp"});
  EXPECT_EQ(
      generate_text(kernel, Target::opencl, {.recipe_comment = false}),
      R"(__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void loopy_kernel(__global const float *restrict a,
    __global float *restrict b, const int n) {
  const int i_outer = convert_int_sat(get_group_id(0));
  float t_0 = a[2 * i_outer];
  float t_1 = a[2 * i_outer + 1];
  t_0 *= 2;
  t_1 *= 2;
  b[2 * i_outer] = t_0;
  b[2 * i_outer + 1] = t_1;
}
)");
}

TEST(RawCode, RefusesTextsThatCannotBeRead) {
  EXPECT_ERROR("loopy.parse_statements.syntax", halves("... c ${b[i]}"));
  EXPECT_ERROR("loopy.parse_statements.syntax", halves("... c \"${b[i] = 1;\""));
  EXPECT_ERROR("loopy.parse_statements.syntax", halves("... c \"f(${sum(i, a[i])});\""));
  EXPECT_ERROR("loopy.parse_statements.syntax", halves("b[i] = a[i] {reads=a}"));
}

}  // namespace
}  // namespace rtcg::loopy
