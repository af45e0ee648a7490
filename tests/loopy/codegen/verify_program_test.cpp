// A program that is wrong does not leave generate().
#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

/// A kernel as a wrong transformation would leave it: a statement uses a name that nothing has.
Kernel with_ghost() {
  const Kernel kernel = split_iname(
      make_kernel("{[i]: 0 <= i < n}", "a[i] = b[i] + 3", {.default_type = cgen::f32}), "i", 7,
      {.outer_tag = "g.0"});
  return map_expressions(kernel, [](const Expr& expr) {
    return rewrite_bottom_up(expr, [](const Expr& part) {
      return as_integer(part) == 3 ? std::optional<Expr>(Name{"ghost"}) : std::nullopt;
    });
  });
}

TEST(VerifyProgram, TellsTheRecipeAndTheKernelFile) {
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    try {
      static_cast<void>(generate(with_ghost(), target));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InternalError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("'ghost'"), std::string::npos) << text;
      EXPECT_NE(text.find("split_iname(i, 7, outer_tag=g.0)"), std::string::npos) << text;
      EXPECT_NE(text.find("domains\n  {[i_outer, i_inner]"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
