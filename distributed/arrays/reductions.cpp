#include "rtcg/distributed/arrays/reductions.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/grains.h"
#include "rtcg/distributed/collectives/collectives.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using arrays::Slice;

constexpr std::int64_t most_threads = 256;  // that add the numbers of a row

runtime::StreamRef stream_of(const AnyArray& array) {
  return arrays::current_stream(array.stream());
}

void check_sum(DType dtype) {
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw InvalidInput("distributed.arrays.dtype",
                       fmt::format("a sum over ranks of {}: it is one of f32 or f64, convert the "
                                   "elements before",
                                   name(dtype)));
  }
}

// `sums[c]` of the c-th `grain` numbers of a vector, or of the products of two.
loopy::Kernel kernel_of_grains(DType dtype, std::int64_t grain, bool is_product, bool is_long) {
  const detail::GrainTexts texts(grain);
  loopy::KernelOptions options;
  options.name = is_product ? "dot_of_grains" : "sum_of_grains";
  options.default_type = arrays::detail::loop_type(dtype);
  options.assumptions = "n >= 1";
  options.arguments = fmt::format("{}: [n]; sums: [{}]; n: {}", is_product ? "a, b" : "a",
                                  texts.count, is_long ? "i64" : "i32");
  const std::string element =
      is_product ? fmt::format("a[{0}]*b[{0}]", texts.place) : fmt::format("a[{}]", texts.place);
  return loopy::apply_recipe(
      loopy::make_kernel(texts.domain, fmt::format("sums[c] = sum(h, {})", element), options),
      texts.recipe);
}

// `sums[r]` of the rows of a matrix.
loopy::Kernel kernel_of_rows(DType dtype) {
  loopy::KernelOptions options;
  options.name = "sum_of_rows";
  options.default_type = arrays::detail::loop_type(dtype);
  options.assumptions = "rows >= 1 and m >= 1";
  options.arguments = "a: [rows, m]; sums: [rows]; rows, m: i32";
  return loopy::apply_recipe(
      loopy::make_kernel("{[r, j]: 0 <= r < rows and 0 <= j < m}", "sums[r] = sum(j, a[r, j])",
                         options),
      fmt::format("tag_inames(r:g.0)\nsplit_iname(j, {}, inner_tag=l.0)\n", most_threads));
}

using Arguments = std::vector<std::pair<std::string, AnyArray>>;

void run(const loopy::Executor& executor, runtime::StreamRef stream, const Arguments& arrays,
         const std::vector<std::pair<std::string, std::int64_t>>& lengths) {
  std::vector<loopy::NamedArgument> arguments;
  for (const auto& [name, array] : arrays) {
    arguments.push_back(arrays::detail::loop_argument(name, array, stream));
  }
  for (const auto& [name, length] : lengths) {
    arguments.push_back(loopy::arg(name, length));
  }
  executor(stream, arguments);
}

// Of the vector a, or of the products of a and b, into `sums`.
void sum_grains(runtime::StreamRef stream, std::int64_t grain, const AnyArray& a, const AnyArray* b,
                const AnyArray& sums) {
  static auto& known =
      *new arrays::detail::KnownExecutors<std::tuple<DType, std::int64_t, bool, bool>>;
  const std::int64_t n = a.count();
  const bool is_long = n > std::numeric_limits<std::int32_t>::max();
  const auto key = std::tuple(a.dtype(), grain, b != nullptr, is_long);
  const loopy::Executor& executor = known.of(stream.device(), key, [&] {
    return kernel_of_grains(a.dtype(), grain, b != nullptr, is_long);
  });
  Arguments arguments = {{"a", a}, {"sums", sums}};
  if (b != nullptr) {
    arguments.emplace_back("b", *b);
  }
  run(executor, stream, arguments, {{"n", n}});
}

AnyArray row_sums(runtime::StreamRef stream, const AnyArray& a) {
  static auto& known = *new arrays::detail::KnownExecutors<DType>;
  const std::int64_t rows = a.shape()[0];
  const std::int64_t m = a.count() / rows;
  AnyArray sums(a.dtype(), Extents{rows}, stream);
  const loopy::Executor& executor =
      known.of(stream.device(), a.dtype(), [&] { return kernel_of_rows(a.dtype()); });
  run(executor, stream, {{"a", a}, {"sums", sums}}, {{"rows", rows}, {"m", m}});
  return sums;
}

// The sums of all ranks' grains, in their order, to which each rank gives those of its own; then
// their sum.
void sum_over_ranks(const Group& group, const Blocks& blocks, runtime::StreamRef stream,
                    const AnyArray& a, const AnyArray* b, const AnyArray& result) {
  const arrays::StreamScope scope(stream);
  const int rank = group.rank();
  const AnyArray all(a.dtype(), Extents{blocks.grains()}, stream);
  if (a.count() > 0) {
    const AnyArray own =
        all(Slice{blocks.first_grain(rank), blocks.first_grain(rank) + blocks.grain_count(rank)});
    sum_grains(stream, blocks.grain(), a, b, own);
  }
  detail::exchange_values_of_grains(group, blocks, stream, all, "sum");
  result.assign(arrays::sum(all));
}

// A number for each place of the first axis.
AnyArray of_places(runtime::StreamRef stream, const AnyArray& local) {
  if (local.axes() == 1) {
    return local;
  }
  return local.count() == 0 ? arrays::zeros(local.dtype(), Extents{local.shape()[0]}, stream)
                            : row_sums(stream, local);
}

template <class T>
AnyArray extreme(const DistributedArray& x, Operation operation) {
  const runtime::StreamRef stream = stream_of(x.local());
  const arrays::StreamScope scope(stream);
  const AnyArray result(x.dtype(), Extents{}, stream);
  using Limits = std::numeric_limits<T>;
  constexpr T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (x.local().count() > 0) {
    result.assign(operation == Operation::min ? arrays::min(x.local()) : arrays::max(x.local()));
  } else {
    result.assign(operation == Operation::min ? highest : lowest);
  }
  all_reduce(x.group(), stream, result.buffer_on<T>(stream), operation);
  return result;
}

AnyArray extreme(const DistributedArray& x, Operation operation) {
  if (arrays::element_count(x.shape()) == 0) {
    throw InvalidInput(
        "distributed.arrays.shape",
        fmt::format("the {} of no elements: the array has the shape {}",
                    operation == Operation::min ? "least" : "greatest", to_string(x.shape())));
  }
  switch (x.dtype()) {
    case DType::f32:
      return extreme<float>(x, operation);
    case DType::f64:
      return extreme<double>(x, operation);
    case DType::i32:
      return extreme<std::int32_t>(x, operation);
    case DType::i64:
      return extreme<std::int64_t>(x, operation);
    default:
      throw InvalidInput("distributed.arrays.dtype",
                         fmt::format("the least or greatest element over ranks of {}: it is one of "
                                     "f32, f64, i32 or i64, convert the elements before",
                                     name(x.dtype())));
  }
}

}  // namespace

void sum_into(const DistributedArray& x, const arrays::AnyArray& result) {
  check_sum(x.dtype());
  const runtime::StreamRef stream = stream_of(x.local());
  sum_over_ranks(x.group(), x.blocks(), stream, of_places(stream, x.local()), nullptr, result);
}

arrays::AnyArray sum(const DistributedArray& x) {
  AnyArray result(x.dtype(), Extents{}, stream_of(x.local()));
  sum_into(x, result);
  return result;
}

arrays::AnyArray dot(const DistributedArray& x, const DistributedArray& y) {
  check_sum(x.dtype());
  if (x.shape() != y.shape() || x.dtype() != y.dtype()) {
    throw InvalidInput(
        "distributed.arrays.shape",
        fmt::format("products of elements of {} of shape {} and of {} of shape {}: "
                    "they must be alike",
                    name(x.dtype()), to_string(x.shape()), name(y.dtype()), to_string(y.shape())));
  }
  const runtime::StreamRef stream = stream_of(x.local());
  AnyArray result(x.dtype(), Extents{}, stream);
  if (x.local().axes() == 1) {
    sum_over_ranks(x.group(), x.blocks(), stream, x.local(), &y.local(), result);
  } else {
    const AnyArray products = x.local() * arrays::Expression(y.local());
    sum_over_ranks(x.group(), x.blocks(), stream, of_places(stream, products), nullptr, result);
  }
  return result;
}

arrays::AnyArray min(const DistributedArray& x) {
  return extreme(x, Operation::min);
}
arrays::AnyArray max(const DistributedArray& x) {
  return extreme(x, Operation::max);
}

arrays::InnerProduct inner_product(const Group& group, const Blocks& blocks) {
  return [group, blocks](runtime::StreamRef stream, const AnyArray& a, const AnyArray& b,
                         const AnyArray& product) {
    sum_over_ranks(group, blocks, stream, a, &b, product);
  };
}

}  // namespace rtcg::distributed
