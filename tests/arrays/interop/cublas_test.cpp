#include "rtcg/arrays/interop/cublas.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/interop/matmul.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

/// What the library would be asked for.
struct Asked {
  int calls = 0;
  int products = 0;
  void* stream = nullptr;
  std::size_t workspace_bytes = 0;
  int status = 0;
  static Asked& instance() {
    static Asked asked;
    return asked;
  }
};

/// Column-major, as the library's own.
template <class T>
int multiply(void*, int transposes_a, int transposes_b, int m, int n, int k, const T* alpha,
             const T* a, int lda, long long stride_a, const T* b, int ldb, long long stride_b,
             const T* beta, T* c, int ldc, long long stride_c, int count) {
  ++Asked::instance().calls;
  Asked::instance().products += count;
  EXPECT_GE(lda, transposes_a != 0 ? k : m);
  EXPECT_GE(ldb, transposes_b != 0 ? n : k);
  EXPECT_GE(ldc, m);
  EXPECT_EQ(*beta, 0);
  for (int at = 0; at < count; ++at) {
    for (int row = 0; row < m; ++row) {
      for (int column = 0; column < n; ++column) {
        T sum = 0;
        for (int i = 0; i < k; ++i) {
          sum += (transposes_a != 0 ? a[at * stride_a + i + row * lda]
                                    : a[at * stride_a + row + i * lda]) *
                 (transposes_b != 0 ? b[at * stride_b + column + i * ldb]
                                    : b[at * stride_b + i + column * ldb]);
        }
        c[at * stride_c + row + column * ldc] = *alpha * sum;
      }
    }
  }
  return Asked::instance().status;
}

const detail::CublasApi& fake_library() {
  static const detail::CublasApi api{[](void** handle) {
                                       static int made = 0;
                                       *handle = &made;
                                       return 0;
                                     },
                                     [](void*, void* stream) {
                                       Asked::instance().stream = stream;
                                       return 0;
                                     },
                                     [](void*, void* memory, std::size_t bytes) {
                                       EXPECT_NE(memory, nullptr);
                                       Asked::instance().workspace_bytes = bytes;
                                       return 0;
                                     },
                                     multiply<float>,
                                     multiply<double>,
                                     "fake"};
  return api;
}

AnyArray numbers(DType dtype, const Extents& shape, std::int64_t factor) {
  return evaluate(cast(indices(shape) * factor % 7 - 3, dtype));
}

/// Runs the product by the fake on the host; how many calls that took.
int check(const AnyArray& a, const AnyArray& b) {
  EXPECT_TRUE(detail::has_cublas_layout(a));
  EXPECT_TRUE(detail::has_cublas_layout(b));
  const Expression expected = sum(a.expand_dims(-1) * b.expand_dims(b.axes() - 2), over(-2));
  const AnyArray c = zeros(a.dtype(), expected.shape());
  current_stream().synchronize();  // the fake computes at once
  Asked::instance() = {};
  detail::multiply_with(fake_library(), current_stream(), a, b, c);
  EXPECT_TRUE(Array<bool>(all(c == expected)).item()) << to_string(a.shape());
  EXPECT_EQ(Asked::instance().stream, current_stream().native_handle());
  EXPECT_GT(Asked::instance().workspace_bytes, 0U);
  return Asked::instance().calls;
}

class CublasOnHost : public ::testing::Test {
 protected:
  runtime::Stream stream_{runtime::Device::host()};
  StreamScope scope_{stream_};
};

TEST_F(CublasOnHost, MultipliesMatricesOfCOrder) {
  EXPECT_EQ(check(numbers(DType::f32, {3, 5}, 5), numbers(DType::f32, {5, 4}, 3)), 1);
  EXPECT_EQ(check(numbers(DType::f64, {1, 5}, 5), numbers(DType::f64, {5, 1}, 3)), 1);
  EXPECT_EQ(check(numbers(DType::f64, {4, 1}, 5), numbers(DType::f64, {1, 6}, 3)), 1);
}

TEST_F(CublasOnHost, TakesTransposedMatricesAndRowsThatAreApart) {
  const AnyArray a = numbers(DType::f32, {7, 6}, 5);
  const AnyArray b = numbers(DType::f32, {8, 7}, 3);
  check(a.transposed(), b.transposed());
  check(a(Slice{1, 4}, Slice{2, 5}), b(Slice{0, 3}, Slice{1, 6}));
  check(a(Slice{1, 4}, Slice{2, 5}).transposed(), b(Slice{2, 5}, Slice{0, 7}));
  check(a(Slice{0, 7, 2}), numbers(DType::f32, {6, 3}, 1));
  EXPECT_FALSE(detail::has_cublas_layout(a(whole, Slice{0, 6, 2})));
  EXPECT_FALSE(detail::has_cublas_layout(a.flip({0})));
  EXPECT_FALSE(detail::has_cublas_layout(a(Slice{0, 1}).broadcast_to({7, 6})));
}

TEST_F(CublasOnHost, DoesEvenlySpacedMatricesInOneCall) {
  const AnyArray b = numbers(DType::f64, {5, 4, 6}, 3);
  EXPECT_EQ(check(numbers(DType::f64, {5, 3, 4}, 5), b), 1);
  EXPECT_EQ(Asked::instance().products, 5);
  // one matrix for all
  EXPECT_EQ(check(numbers(DType::f64, {3, 4}, 5).broadcast_to({5, 3, 4}), b), 1);
  EXPECT_EQ(check(numbers(DType::f64, {5, 3, 4}, 5).flip({0}), b), 5);
  const AnyArray many = numbers(DType::f64, {2, 5, 3, 4}, 5);
  EXPECT_EQ(check(many, b.broadcast_to({2, 5, 4, 6})), 2);
}

TEST_F(CublasOnHost, ReportsWhatTheLibraryRefuses) {
  const AnyArray a = ones(DType::f32, {2, 2});
  Asked::instance().status = 13;
  EXPECT_ERROR("arrays.cublas.call_failed",
               detail::multiply_with(fake_library(), stream_, a, a, a.copy()));
  Asked::instance().status = 0;
}

TEST(Cublas, SaysWhyItIsNotThere) {
  if (detail::CublasApi::find() == nullptr) {
    EXPECT_FALSE(detail::CublasApi::why_none().empty());
  } else {
    EXPECT_FALSE(detail::CublasApi::find()->library.empty());
  }
}

}  // namespace
}  // namespace rtcg::arrays
