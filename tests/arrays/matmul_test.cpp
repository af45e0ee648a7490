#include "rtcg/arrays/matmul.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// Whole numbers, so that every order of additions gives the same.
AnyArray numbers(DType dtype, const Extents& shape, std::int64_t factor) {
  return evaluate(cast(indices(shape) * factor % 7 - 3, dtype));
}

void check(const AnyArray& a, const AnyArray& b, const MatmulOptions& options = {}) {
  const AnyArray found = matmul(a, b, options);
  const Expression expected = sum(a.expand_dims(-1) * b.expand_dims(b.axes() - 2), over(-2));
  EXPECT_EQ(found.dtype(), promote(a.dtype(), b.dtype()));
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_TRUE(Array<bool>(all(found == expected)).item())
      << to_string(a.shape()) << to_string(b.shape());
}

TEST(Matmul, MultipliesMatrices) {
  on_every_device([] {
    check(numbers(DType::f32, {33, 65}, 5), numbers(DType::f32, {65, 40}, 3));
    check(numbers(DType::f64, {64, 64}, 5), numbers(DType::f64, {64, 64}, 3));
    check(numbers(DType::f64, {20, 12}, 5).transposed(), numbers(DType::f32, {20, 17}, 3));
    check(numbers(DType::i32, {5, 6}, 5), numbers(DType::i32, {6, 7}, 3));
    check(numbers(DType::c64, {5, 6}, 5), numbers(DType::f32, {6, 7}, 3));
    check(numbers(DType::f32, {5, 0}, 1), numbers(DType::f32, {0, 3}, 1));
  });
}

TEST(Matmul, TakesVectorsAndBatches) {
  on_every_device([] {
    const AnyArray a = numbers(DType::f32, {4, 6}, 5);
    const AnyArray v = numbers(DType::f32, {6}, 3);
    EXPECT_EQ(Array<float>(matmul(a, v)).to_vector(),
              Array<float>(sum(a * v, over(1))).to_vector());
    EXPECT_EQ(matmul(v, a.transposed()).shape(), Extents{4});
    EXPECT_EQ(Array<float>(matmul(v, v)).item(), Array<float>(dot(v, v)).item());
    check(numbers(DType::f32, {3, 1, 4, 6}, 5), numbers(DType::f32, {2, 6, 5}, 3));
  });
}

TEST(Matmul, UsesAGivenSlicing) {
  on_every_device([] {
    const auto slicing = loopy::parse_slicing("i: g.1 l.1*8; j: g.0 l.0*8; k: for");
    check(numbers(DType::f32, {30, 20}, 5), numbers(DType::f32, {20, 50}, 3), {slicing});
  });
}

TEST(Matmul, Refuses) {
  const AnyArray a = zeros<float>({2, 3});
  EXPECT_ERROR("arrays.matmul.shape_mismatch", matmul(a, a));
  EXPECT_ERROR("arrays.matmul.shape_mismatch", matmul(a, zeros<float>({})));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch",
               matmul(zeros<float>({2, 2, 3}), zeros<float>({3, 3, 1})));
}

}  // namespace
}  // namespace rtcg::arrays
