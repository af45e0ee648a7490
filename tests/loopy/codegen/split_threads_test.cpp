// The threads of a block on the host: what each has of its own is declared within their loop.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {
namespace {

TEST(SplitThreads, DeclaresWithinTheLoopOfLanesWhatBeginsUnderAConditionOrElementByElement) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, k]: 0 <= i < n and 0 <= k < m} {[l]: 0 <= l < 3}",
                               "<f32> w[3]\n"
                               "for i\n"
                               "if b[i] > 0\n<f32> t = 1\nend\n"
                               "if b[i] <= 0\nt = 2\nend\n"
                               "for l\nw[l] = l*b[i]\nend\n"
                               "out[i] = t + sum(k, a[i, k]) + w[1]\n"
                               "end",
                               {.default_type = cgen::f32}),
                   "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(infer_types(kernel), Target::host);
  const std::size_t lanes = text.find("#pragma omp simd");
  ASSERT_NE(lanes, std::string::npos) << text;
  for (const char* declaration : {"float t;", "float w[3];", "float acc_k = 0.0f;"}) {
    const std::size_t place = text.find(declaration);
    EXPECT_NE(place, std::string::npos) << declaration << "\n" << text;
    EXPECT_GT(place, lanes) << declaration << "\n" << text;
  }
}

}  // namespace
}  // namespace rtcg::loopy
