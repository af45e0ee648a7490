#include "rtcg/arrays/matmul.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "rtcg/arrays/create.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"

namespace rtcg::arrays {
namespace {

/// Rows, columns and what is summed over.
struct Sizes {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  friend auto operator<=>(const Sizes&, const Sizes&) = default;
};

[[noreturn]] void throw_shape_mismatch(const AnyArray& a, const AnyArray& b) {
  throw InvalidInput("arrays.matmul.shape_mismatch",
                     fmt::format("shapes {} and {} cannot be multiplied: the last length of the "
                                 "first must be the last but one of the second",
                                 to_string(a.shape()), to_string(b.shape())));
}

loopy::Kernel describe(const Sizes& sizes, DType dtype) {
  return loopy::make_kernel(
      "{[i, j, k]: 0 <= i < m and 0 <= j < n and 0 <= k < l}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
      {.name = "matmul",
       .default_type = value_type(dtype),
       .fixed_parameters = {{"m", sizes.rows}, {"n", sizes.columns}, {"l", sizes.depth}}});
}

std::shared_ptr<const loopy::Executor> make_product(const Sizes& sizes, DType dtype,
                                                    runtime::Device device,
                                                    const std::optional<loopy::Slicing>& slicing) {
  const loopy::Kernel described = describe(sizes, dtype);
  if (slicing) {
    return std::make_shared<const loopy::Executor>(loopy::apply(described, *slicing), device);
  }
  loopy::SlicingConstraints constraints;
  constraints.machine.multiprocessors = std::max(device.info().multiprocessors, 1);
  const auto limit = static_cast<std::int64_t>(device.info().max_threads_per_block);
  constraints.max_threads = std::clamp<std::int64_t>(limit, 32, 512);
  loopy::SlicingStream ranking(described, constraints);
  constexpr int most_tries = 16;  // the model does not know all that a device and a text may lack
  for (int i = 0; i < most_tries; ++i) {
    const std::optional<loopy::RankedSlicing> next = ranking.next();
    if (!next) {
      break;
    }
    try {
      return std::make_shared<const loopy::Executor>(loopy::apply(described, next->slicing),
                                                     device);
    } catch (const Error&) {
      continue;
    }
  }
  return std::make_shared<const loopy::Executor>(described, device);
}

/// Kernels made so far.
class Products {
 public:
  std::shared_ptr<const loopy::Executor> get(const Sizes& sizes, DType dtype,
                                             runtime::Device device,
                                             const std::optional<loopy::Slicing>& slicing) {
    const Key key{&device.backend(), dtype, sizes, slicing ? to_string(*slicing) : std::string()};
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const loopy::Executor>& found = made_[key];
    if (!found) {
      found = make_product(sizes, dtype, device, slicing);
    }
    return found;
  }

 private:
  using Key = std::tuple<const runtime::Backend*, DType, Sizes, std::string>;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const loopy::Executor>> made_;
};

loopy::NamedArgument argument(const char* name, const AnyArray& matrix) {
  return {name, loopy::NamedArgument::Array{
                    matrix.device(),
                    matrix.address(),
                    static_cast<std::size_t>(matrix.count()),
                    matrix.dtype() == DType::f32 ? cgen::ScalarKind::f32 : cgen::ScalarKind::f64,
                    {matrix.shape()[0], matrix.shape()[1]}}};
}

/// The matrix at a place of the axes before the last two, in C order.
AnyArray matrix_at(const AnyArray& array, std::int64_t place) {
  Layout layout = array.layout();
  while (layout.axes() > 2) {
    const int axis = layout.axes() - 3;
    layout.offset += place % layout.shape[axis] * layout.strides[axis];
    place /= layout.shape[axis];
    layout.shape.erase(axis);
    layout.strides.erase(axis);
  }
  return array.view(layout);
}

void multiply_matrices(const AnyArray& a, const AnyArray& b, const AnyArray& c, const Sizes& sizes,
                       const MatmulOptions& options) {
  static Products& products =
      *new Products;  // never destroyed: drivers go in an order of their own
  const runtime::StreamRef stream = current_stream(c.stream());
  const auto product = products.get(sizes, c.dtype(), stream.device(), options.slicing);
  const std::int64_t matrices = c.count() / (sizes.rows * sizes.columns);
  for (std::int64_t place = 0; place < matrices; ++place) {
    const AnyArray left = matrix_at(a, place).contiguous();
    const AnyArray right = matrix_at(b, place).contiguous();
    const AnyArray result = matrix_at(c, place);
    for (const AnyArray* each : {&left, &right, &result}) {
      each->storage()->use_on(stream);
    }
    (*product)(stream, {argument("a", left), argument("b", right), argument("c", result)});
  }
}

}  // namespace

AnyArray matmul(const AnyArray& a, const AnyArray& b, const MatmulOptions& options) {
  if (a.axes() == 0 || b.axes() == 0) {
    throw_shape_mismatch(a, b);
  }
  const AnyArray left = a.axes() == 1 ? a.expand_dims(0) : a;
  const AnyArray right = b.axes() == 1 ? b.expand_dims(1) : b;
  const Sizes sizes{left.shape()[left.axes() - 2], right.shape().back(), left.shape().back()};
  if (right.shape()[right.axes() - 2] != sizes.depth) {
    throw_shape_mismatch(a, b);
  }
  const auto batch_of = [](const AnyArray& array) {
    Extents shape = array.shape();
    shape.pop_back();
    shape.pop_back();
    return shape;
  };
  const Extents batch = broadcast_shapes(batch_of(left), batch_of(right));
  const auto with_matrix = [&](std::int64_t rows, std::int64_t columns) {
    Extents shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  const StreamScope scope(current_stream(a.stream()));
  const DType dtype = promote(a.dtype(), b.dtype());
  const auto squeezed = [&](const AnyArray& result) {
    Extents shape = batch;
    if (a.axes() > 1) {
      shape.push_back(sizes.rows);
    }
    if (b.axes() > 1) {
      shape.push_back(sizes.columns);
    }
    return result.reshape(shape);
  };
  const bool has_engine = dtype == DType::f32 || dtype == DType::f64;
  if (!has_engine || sizes.depth == 0 ||
      element_count(with_matrix(sizes.rows, sizes.columns)) == 0) {
    const Expression products =
        AnyArray(left.expand_dims(-1)) * AnyArray(right.expand_dims(right.axes() - 2));
    return squeezed(evaluate(sum(products, {.axes = Extents{-2}, .dtype = dtype})));
  }
  AnyArray result(dtype, with_matrix(sizes.rows, sizes.columns), current_stream());
  const auto converted = [&](const AnyArray& array) {
    return array.dtype() == dtype ? array : array.as_type(dtype);
  };
  multiply_matrices(converted(left).broadcast_to(with_matrix(sizes.rows, sizes.depth)),
                    converted(right).broadcast_to(with_matrix(sizes.depth, sizes.columns)), result,
                    sizes, options);
  return squeezed(result);
}

}  // namespace rtcg::arrays
