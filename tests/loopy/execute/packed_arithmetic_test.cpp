// Numbers of 16 bits that are computed two at a time.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel elementwise(const std::string& statement, const std::string& type) {
  return make_kernel(
      "{[i]: 0 <= i < 160}", statement,
      {.arguments = "x, y, z: " + type + "[160]; f: f32[160]; c: " + type + "[1]; alpha: " + type});
}

Kernel in_vectors(const Kernel& kernel, int lanes) {
  return apply_recipe(kernel, "split_iname(i, " + std::to_string(lanes) +
                                  ", inner_tag=vec)\nsplit_iname(i_outer, 8, outer_tag=g.0, "
                                  "inner_tag=l.0)");
}

std::string cuda_text(const Kernel& kernel) {
  return generate_text(infer_types(kernel), Target::cuda);
}

TEST(PackedArithmetic, ComputesTwoNumbersAtATime) {
  const Kernel axpy = elementwise("y[i] = alpha*x[i] + y[i]", "f16");
  const std::string text = cuda_text(in_vectors(axpy, 2));
  EXPECT_NE(text.find("add.f16x2 %0, %1, %2;"), std::string::npos) << text;
  EXPECT_NE(text.find("multiply_pairs_f16((unsigned int)__half_as_ushort(alpha)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("x_vec), y_vec)"), std::string::npos) << text;
  const std::string chain =
      cuda_text(in_vectors(elementwise("z[i] = (x[i] - y[i])*(x[i] + y[i])", "bf16"), 8));
  EXPECT_EQ(count_of("multiply_pairs_bf16(subtract_pairs_bf16(x_vec.", chain), 4) << chain;
}

TEST(PackedArithmetic, LeavesOtherTypesAndTargets) {
  for (const char* type : {"f32", "i16"}) {
    const Kernel kernel = in_vectors(elementwise("y[i] = alpha*x[i] + y[i]", type), 2);
    EXPECT_EQ(cuda_text(kernel).find("_pairs"), std::string::npos) << type;
  }
  const Kernel half = in_vectors(elementwise("y[i] = alpha*x[i] + y[i]", "f16"), 2);
  EXPECT_EQ(generate_text(infer_types(half), Target::opencl).find("_pairs"), std::string::npos);
  // to put quotients together costs more than a sum saves
  EXPECT_EQ(
      cuda_text(in_vectors(elementwise("z[i] = x[i]/y[i] + y[i]/x[i]", "f16"), 2)).find("_pairs"),
      std::string::npos);
}

TEST(PackedArithmetic, GivesWhatScalarsGive) {
  int lanes = 2;
  for (const std::string type : {"f16", "bf16"}) {
    for (const char* statement :
         {"y[i] = c[0]*x[i] + y[i]", "z[i] = (x[i] - y[i])*(x[i] + y[i]) - c[0]",
          "z[i] = x[i]*x[i]*x[i] + 2*x[i] - 0.5", "z[i] = -x[i]*y[i] + x[i]*c[0] - y[i]",
          "z[i] = (x[i] + y[i])*(y[i] - x[i]) + x[i]/(2 + y[i])",
          "z[i] = x[i]*y[i] + x[i]*x[i]*cast(T, 2*f[i])",
          "z[i] = max(x[i], y[i])*x[i] + y[i]*c[0] + x[i]",
          "z[i] = if(x[i] > 0, x[i]*y[i] + x[i], y[i]*y[i] - x[i])"}) {
      std::string text = statement;
      if (const std::size_t at = text.find('T'); at != std::string::npos) {
        text.replace(at, 1, type);
      }
      SCOPED_TRACE(type + " " + text);
      const Kernel kernel = elementwise(text, type);
      expect_same_everywhere(in_vectors(kernel, lanes), kernel, {});
      lanes = lanes == 8 ? 2 : 2 * lanes;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
