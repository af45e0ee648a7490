#include "rtcg/arrays/sparse/cusparse.h"

#include <complex>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/sparse/best_format.h"
#include "tests/arrays/solve/matrices.h"
#include "tests/arrays/sparse/kinds.h"
#include "tests/arrays/support/gpu.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

/// What the library would be asked for.
struct AskedForSparse {
  int prepared = 0;
  int products = 0;
  int descriptors = 0;  ///< that have not ended
  void* stream = nullptr;
  const runtime::Stream* own_stream = nullptr;
  int status = 0;
  static AskedForSparse& instance() {
    static AskedForSparse asked;
    return asked;
  }
};

struct FakeRows {
  std::int64_t rows;
  std::int64_t columns;
  const std::int32_t* first;
  const std::int32_t* column;
  void* value;
  int type;
};
struct FakeDense {
  std::int64_t rows;
  std::int64_t columns;
  void* value;
};

template <class T>
void fake_product(const void* alpha, const FakeRows& a, const FakeDense& x, const void* beta,
                  const FakeDense& y) {
  EXPECT_EQ(*static_cast<const T*>(alpha), T(1));
  EXPECT_EQ(*static_cast<const T*>(beta), T(0));
  EXPECT_EQ(x.rows, a.columns);
  EXPECT_EQ(y.rows, a.rows);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t j = 0; j < y.columns; ++j) {
      T sum(0);
      for (std::int32_t e = a.first[row]; e < a.first[row + 1]; ++e) {
        sum += static_cast<const T*>(a.value)[e] *
               static_cast<const T*>(x.value)[a.column[e] * x.columns + j];
      }
      static_cast<T*>(y.value)[row * y.columns + j] = sum;
    }
  }
}

int fake_product_of_type(const void* alpha, const void* a, const void* x, const void* beta, void* y,
                         int type, void* work) {
  EXPECT_NE(work, nullptr);
  ++AskedForSparse::instance().products;
  AskedForSparse::instance().own_stream->synchronize();  // computes at once
  const auto& rows = *static_cast<const FakeRows*>(a);
  const auto& from = *static_cast<const FakeDense*>(x);
  const auto& to = *static_cast<const FakeDense*>(y);
  EXPECT_EQ(rows.type, type);
  switch (type) {
    case 0:
      fake_product<float>(alpha, rows, from, beta, to);
      break;
    case 1:
      fake_product<double>(alpha, rows, from, beta, to);
      break;
    case 4:
      fake_product<std::complex<float>>(alpha, rows, from, beta, to);
      break;
    default:
      EXPECT_EQ(type, 5);
      fake_product<std::complex<double>>(alpha, rows, from, beta, to);
  }
  return AskedForSparse::instance().status;
}

const detail::CusparseApi& fake_cusparse() {
  static const detail::CusparseApi api = [] {
    detail::CusparseApi made;
    made.create = [](void** handle) {
      static int only = 0;
      *handle = &only;
      return 0;
    };
    made.set_stream = [](void*, void* stream) {
      AskedForSparse::instance().stream = stream;
      return 0;
    };
    made.create_rows = [](void** matrix, std::int64_t rows, std::int64_t columns, std::int64_t,
                          void* first, void* column, void* value, int type_of_first,
                          int type_of_column, int base, int type) {
      EXPECT_EQ(type_of_first, 2);
      EXPECT_EQ(type_of_column, 2);
      EXPECT_EQ(base, 0);
      ++AskedForSparse::instance().descriptors;
      *matrix = new FakeRows{
          rows,  columns, static_cast<std::int32_t*>(first), static_cast<std::int32_t*>(column),
          value, type};
      return 0;
    };
    made.destroy_rows = [](const void* matrix) {
      --AskedForSparse::instance().descriptors;
      delete static_cast<const FakeRows*>(matrix);
      return 0;
    };
    made.create_vector = [](void** vector, std::int64_t count, void* value, int) {
      ++AskedForSparse::instance().descriptors;
      *vector = new FakeDense{count, 1, value};
      return 0;
    };
    made.create_dense = [](void** matrix, std::int64_t rows, std::int64_t columns,
                           std::int64_t leading, void* value, int, int order) {
      EXPECT_EQ(leading, columns);
      EXPECT_EQ(order, 2);  // rows one after the other
      ++AskedForSparse::instance().descriptors;
      *matrix = new FakeDense{rows, columns, value};
      return 0;
    };
    made.destroy_vector = [](const void* vector) {
      --AskedForSparse::instance().descriptors;
      delete static_cast<const FakeDense*>(vector);
      return 0;
    };
    made.destroy_dense = made.destroy_vector;
    made.vector_size = [](void*, int, const void*, const void*, const void*, const void*, void*,
                          int, int, std::size_t* bytes) {
      *bytes = 100;
      return 0;
    };
    made.prepare_vector = [](void*, int, const void*, const void*, const void*, const void*, void*,
                             int, int, void*) {
      ++AskedForSparse::instance().prepared;
      return 0;
    };
    made.times_vector = [](void*, int, const void* alpha, const void* a, const void* x,
                           const void* beta, void* y, int type, int, void* work) {
      return fake_product_of_type(alpha, a, x, beta, y, type, work);
    };
    made.dense_size = [](void*, int, int, const void*, const void*, const void*, const void*, void*,
                         int, int, std::size_t* bytes) {
      *bytes = 0;
      return 0;
    };
    made.times_dense = [](void*, int, int, const void* alpha, const void* a, const void* x,
                          const void* beta, void* y, int type, int, void* work) {
      return fake_product_of_type(alpha, a, x, beta, y, type, work);
    };
    made.library = "fake";
    return made;
  }();
  return api;
}

AnySparseMatrix by_fake(const AnySparseMatrix& a) {
  return a.with_product(std::make_shared<detail::CusparseProduct>(fake_cusparse(), a));
}

class CusparseOnHost : public ::testing::Test {
 protected:
  void SetUp() override { AskedForSparse::instance() = {.own_stream = &stream_}; }
  void TearDown() override { EXPECT_EQ(AskedForSparse::instance().descriptors, 0); }
  runtime::Stream stream_{runtime::Device::host()};
  StreamScope scope_{stream_};
};

TEST_F(CusparseOnHost, MultipliesVectorsAndMatricesOfEveryType) {
  for (const DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128}) {
    SCOPED_TRACE(name(dtype));
    const AnyArray row = evaluate(cast(indices({30}) * 7 % 11, DType::i32));
    const AnyArray column = evaluate(cast(indices({30}) * 5 % 13, DType::i32));
    const AnySparseMatrix a = AnySparseMatrix::from_triplets(
        11, 13, row, column, evaluate(cast(indices({30}) % 5 - 2, dtype)));
    const AnySparseMatrix by_library = by_fake(a);
    EXPECT_EQ(by_library.way(), SparseWay::library);
    EXPECT_EQ(a.way(), SparseWay::generated);
    for (const Extents& shape : {Extents{13}, Extents{13, 1}, Extents{13, 4}}) {
      const AnyArray x = evaluate(cast(indices(shape) % 7 - 3, dtype));
      const AnyArray y =
          evaluate(cast(indices(shape.size() == 1 ? Extents{11} : Extents{11, shape[1]}), dtype));
      multiply_into(by_library, x, y);
      EXPECT_TRUE(all(y == a * x).item<bool>()) << to_string(shape);
      // the product is no part of another kernel
      EXPECT_TRUE(all(evaluate(y - by_library * x) == 0).item<bool>());
    }
    EXPECT_EQ(AskedForSparse::instance().stream, stream_.native_handle());
  }
  EXPECT_EQ(AskedForSparse::instance().products, 24);
  EXPECT_EQ(AskedForSparse::instance().prepared, 4);  // once for each matrix
}

TEST_F(CusparseOnHost, MultipliesMatricesOfAllKinds) {
  for (const testing::MatrixKind& kind : testing::twenty_kinds()) {
    SCOPED_TRACE(kind.name);
    const AnySparseMatrix a = SparseMatrix<double>::from_eigen(kind.matrix).any();
    if (a.entries() == 0) {
      continue;
    }
    const AnyArray x = evaluate(cast(indices({a.columns()}) % 7 - 3, DType::f64));
    EXPECT_TRUE(all(by_fake(a) * x == a * x).item<bool>());
  }
}

TEST_F(CusparseOnHost, IsTheProductOfSolvers) {
  const testing::EigenMatrix matrix = testing::stencil(8);
  const AnySparseMatrix a = testing::to_device<double>(matrix).any();
  const testing::EigenVector b = testing::some_vector(matrix.rows());
  // no graph repeats what the fake has computed
  const Solution found =
      conjugate_gradients(by_fake(a), testing::to_device<double>(b), {.check_every = 5});
  EXPECT_LE((matrix * testing::to_host(found.x) - b).norm(), 3e-10 * b.norm());
  EXPECT_GE(AskedForSparse::instance().products, found.iterations);
}

TEST_F(CusparseOnHost, ReportsWhatTheLibraryRefuses) {
  const AnySparseMatrix a = testing::to_device<double>(testing::stencil(3)).any();
  const AnyArray x = evaluate(cast(indices({9}), DType::f64));
  AskedForSparse::instance().status = 3;
  EXPECT_ERROR("arrays.sparse.call_failed", multiply_into(by_fake(a), x, x.copy()));
}

TEST(Cusparse, SaysWhyItIsNotThere) {
  if (detail::CusparseApi::find() == nullptr) {
    EXPECT_FALSE(detail::CusparseApi::why_none().empty());
  } else {
    EXPECT_FALSE(detail::CusparseApi::find()->library.empty());
  }
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto a = testing::to_device<double>(testing::stencil(3));
  EXPECT_ERROR("arrays.sparse.no_library", static_cast<void>(a.by(SparseWay::library)));
  EXPECT_EQ(a.by(SparseWay::generated).way(), SparseWay::generated);
}

class SparseOnGpu : public testing::OnGpu {};

TEST_F(SparseOnGpu, IsMultipliedByTheLibraryAsByGeneratedKernels) {
  const runtime::Stream stream(gpu());
  const StreamScope scope(stream);
  if (detail::CusparseApi::find() == nullptr) {
    GTEST_SKIP() << detail::CusparseApi::why_none();
  }
  for (const testing::MatrixKind& kind : testing::twenty_kinds()) {
    SCOPED_TRACE(kind.name);
    const auto a = SparseMatrix<double>::from_eigen(kind.matrix);
    const auto by_library = a.by(SparseWay::library);
    for (const Extents& shape : {Extents{a.columns()}, Extents{a.columns(), 3}}) {
      const AnyArray x = evaluate(cast(indices(shape) % 7 - 3, DType::f64));
      // whole numbers, whose sums are exact
      EXPECT_TRUE(all(by_library.any() * x == a.any() * x).item<bool>());
      EXPECT_TRUE(all(by_library.any() * x == a.any() * x).item<bool>());
    }
  }
  const auto a = testing::to_device<double>(testing::stencil(40));
  const FormatChoice choice = best_format(a.any(), {.measures = true});
  EXPECT_TRUE(choice.way == SparseWay::generated || choice.format == SparseFormat::csr);
  const testing::EigenVector b = testing::some_vector(a.rows());
  const Solution found =
      conjugate_gradients(a.by(SparseWay::library), testing::to_device<double>(b));
  EXPECT_LE((testing::stencil(40) * testing::to_host(found.x) - b).norm(), 3e-10 * b.norm());
}

}  // namespace
}  // namespace rtcg::arrays
