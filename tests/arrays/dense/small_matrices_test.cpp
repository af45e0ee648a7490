// The CUDA text of kernels for small matrices.
#include "rtcg/arrays/dense/small_matrices.h"

#include <gtest/gtest.h>

#include "tests/arrays/support/taken_by_nvrtc.h"

namespace rtcg::arrays {
namespace {

TEST(SmallMatrices, HaveKernelsThatNvrtcTakes) {
  for (const DType dtype : {DType::f64, DType::c64}) {
    const std::vector<ElementwiseKernel> kernels = detail::small_matrix_kernels(dtype);
    EXPECT_EQ(kernels.size(), 7U);
    for (const ElementwiseKernel& each : kernels) {
      EXPECT_NE(taken_by_nvrtc(each.text(cgen::Dialect::cuda)), "");
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
