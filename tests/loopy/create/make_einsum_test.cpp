#include "rtcg/loopy/create/make_einsum.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

std::string statement(const char* subscripts, const std::vector<std::string>& operands) {
  return to_string(make_einsum(subscripts, operands, {.default_type = cgen::f32}).instructions[0]);
}

TEST(MakeEinsum, SumsOverWhatTheResultDoesNotHave) {
  EXPECT_EQ(statement("ik,kj->ij", {"a", "b"}), "out[i, j] = sum(k, a[i, k]*b[k, j])");
  EXPECT_EQ(statement("ik,kj", {"a", "b"}), "out[i, j] = sum(k, a[i, k]*b[k, j])");
  EXPECT_EQ(statement("ij,jk,kl->il", {"a", "b", "c"}),
            "out[i, l] = sum((j, k), a[i, j]*b[j, k]*c[k, l])");
  EXPECT_EQ(statement("i,i->", {"x", "y"}), "out[0] = sum(i, x[i]*y[i])");
  EXPECT_EQ(statement("ij->ji", {"a"}), "out[j, i] = a[i, j]");
  const Kernel matmul = make_einsum("ik,kj->ij", {"a", "b"}, {.default_type = cgen::f32});
  EXPECT_EQ(find_argument(matmul, "a")->shape, (std::vector<Expr>{name("Ni"), name("Nk")}));
}

TEST(MakeEinsum, RefusesOtherTexts) {
  for (const char* text : {"ik->ij", "iK,kj->ij", "ik,kj,jl->il", "ik,kj->ii"}) {
    EXPECT_ERROR("loopy.make_einsum.syntax", make_einsum(text, {"a", "b"}));
  }
}

TEST(MakeCopyKernel, CopiesIntoAnotherLayout) {
  const Kernel kernel = make_copy_kernel(2, "C", "F", {.default_type = cgen::f32});
  EXPECT_EQ(to_string(kernel.instructions[0]), "output[i0, i1] = input[i0, i1]");
  EXPECT_TRUE(find_argument(kernel, "output")->strides_elements.empty());
  EXPECT_EQ(find_argument(kernel, "input")->strides_elements, (std::vector<Expr>{1, name("n0")}));
  EXPECT_TRUE(kernel.recipe.empty());
  EXPECT_ERROR("loopy.make_copy_kernel.no_axes", make_copy_kernel(0, "C", "C"));
}

}  // namespace
}  // namespace rtcg::loopy
