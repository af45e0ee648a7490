#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

// The C of an index is made once for each layout: equal indices of arrays that lie otherwise in
// memory must not share it.
TEST(EmitVariables, KeepsTheIndicesOfDifferentLayoutsApart) {
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < 8 and 0 <= j < 4}", "z[i, j] = a[i, j] + b[i, j] + c[i, j] + d[i, j]",
      {.arguments = "a, z: f32[8, 4]; b: f32[8, 4] {order=F}; c: f32[8, 4] {offset=5}; "
                    "d: f32[8, 4]",
       .default_type = cgen::f32});
  const std::string text = generate_text(kernel, Target::host);
  EXPECT_NE(text.find("z[4 * i + j] = a[4 * i + j] + b[8 * j + i] + c[4 * i + j + 5] + "
                      "d[4 * i + j];"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace rtcg::loopy
