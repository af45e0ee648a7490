#include "rtcg/arrays/sort/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/kernels/known_executors.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/operand.h"
#include "rtcg/arrays/sort/counting_kernel.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::arrays {
namespace {

/// Lengths are rounded up to powers of two up to this one, for which blocks may have copies of
/// their own; beyond it they are a parameter.
constexpr std::int64_t most_copied_bins = 8192;

bool is_counted_by_blocks(runtime::Device device, const detail::CountingForm& form,
                          std::int64_t count) {
  return device.info().id.kind == runtime::BackendKind::cuda &&
         detail::copies_of_blocks(form) != 0 &&
         count <= detail::most_values_of_blocks(detail::blocks_that_count(device.info()));
}

/// Adds up, for each form and number of values.
void count_values(runtime::StreamRef stream, const detail::CountingForm& form, bool is_by_blocks,
                  const std::vector<std::pair<std::string, AnyArray>>& arrays, std::int64_t count,
                  std::int64_t bins) {
  static auto& made = *new detail::MadeOnce<detail::CountingForm, detail::LoopCall>;
  static auto& blocks = *new detail::KnownExecutors<detail::CountingForm>;
  const runtime::Device device = stream.device();
  if (is_by_blocks) {
    std::vector<loopy::NamedArgument> arguments;
    for (const auto& [name, array] : arrays) {
      arguments.push_back(detail::loop_argument(name, array, stream));
    }
    arguments.push_back(loopy::arg("n", count));
    arguments.push_back(loopy::arg("bins", bins));
    blocks.of(device, form, [&] {
      return detail::counting_blocks_kernel(form, detail::blocks_that_count(device.info()));
    })(stream, arguments);
    return;
  }
  made.of(form, [&] { return detail::counting_kernel(form); })
      .run(stream, arrays, {{"n", count}, {"bins", bins}});
}

void check_weights(const std::optional<AnyArray>& weights, const Extents& shape) {
  if (!weights) {
    return;
  }
  if (!(weights->shape() == shape)) {
    throw InvalidInput("arrays.histogram.shape",
                       fmt::format("weights of shape {} do not belong to values of shape {}",
                                   to_string(weights->shape()), to_string(shape)));
  }
  if (is_complex(weights->dtype()) || is_vector(weights->dtype())) {
    throw InvalidInput(
        "arrays.histogram.dtype",
        fmt::format("weights of {} are not added up: take their parts", name(weights->dtype())));
  }
}

void check_values(DType dtype, bool are_numbers_of_bins) {
  const bool fits = are_numbers_of_bins ? is_integer(dtype) || dtype == DType::boolean
                                        : !is_complex(dtype) && !is_vector(dtype);
  if (!fits) {
    throw InvalidInput(
        "arrays.histogram.dtype",
        fmt::format("values of {} are not counted: {}", name(dtype),
                    are_numbers_of_bins ? "bincount takes integers" : "they need an order"));
  }
}

/// The number of the bin of each value between the edges, otherwise -1.
Expression bins_of(const Expression& values, const AnyArray& edges) {
  if (edges.axes() != 1 || edges.count() < 2) {
    throw InvalidInput("arrays.histogram.bins",
                       fmt::format("edges of shape {} bound no bins: give at least two along one "
                                   "axis",
                                   to_string(edges.shape())));
  }
  check_values(values.dtype(), false);
  const std::int64_t bins = edges.count() - 1;
  const AnyArray x = detail::values_of(values);
  const Expression place = searchsorted(edges, x, SearchSide::right);
  const Expression bin = where(x == edges(bins), bins - 1, place - 1);
  const bool has_nan = is_floating(x.dtype());
  const Expression is_inside = bin >= 0 && bin < bins;
  return where(has_nan ? is_inside && !isnan(x) : is_inside, bin, -1);
}

/// Of floating types other than f64 in f32.
DType type_of_sums(DType weights) {
  return is_floating(weights) && weights != DType::f64 ? DType::f32 : DType::f64;
}

/// Sums of the weights of each bin, in the order of the values.
AnyArray added_in_order(const Expression& number, std::int64_t bins, const AnyArray& weights) {
  const DType type = type_of_sums(weights.dtype());
  const AnyArray places = detail::values_of(number).contiguous().ravel();
  if (places.count() == 0 || bins == 0) {
    return zeros(type, {bins});
  }
  const AnyArray weight = detail::values_of(cast(weights, type)).contiguous().ravel();
  const GroupedValues groups = group_by_key(places, weight, bins);
  static const ReductionKernel singles(DType::f32, "0", "a + b", "x[i]", "const float *x");
  static const ReductionKernel doubles(DType::f64, "0", "a + b", "x[i]", "const double *x");
  return (type == DType::f32 ? singles : doubles)
      .run({groups.values}, {.offsets = groups.starts})
      .front();
}

/// @param edges  of bins of equal width; null if the values are the numbers of bins
AnyArray counted(const Expression& values, std::int64_t bins, const AnyArray* edges,
                 const std::optional<AnyArray>& weights, bool is_fast) {
  if (weights && is_floating(weights->dtype()) && !is_fast) {
    return added_in_order(edges != nullptr ? bins_of(values, *edges) : cast(values, DType::i64),
                          bins, *weights);
  }
  const AnyArray x = detail::values_of(values).contiguous().ravel();
  const std::int64_t count = x.count();
  detail::CountingForm form{x.dtype()};
  form.has_edges = edges != nullptr;
  if (bins <= most_copied_bins) {
    form.room = static_cast<std::int64_t>(
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bins, 1))));
  }
  DType result = DType::i64;
  std::optional<AnyArray> weight;
  if (weights) {
    result = type_of_sums(weights->dtype());
    form.weight = form.total = result;
    weight = detail::values_of(cast(*weights, result)).contiguous().ravel();
  }
  const runtime::StreamRef stream = current_stream();
  const bool is_by_blocks = is_counted_by_blocks(stream.device(), form, count);
  if (!weights && !is_by_blocks && count <= INT32_MAX) {
    form.total = DType::i32;  // not every device updates i64
  }
  const AnyArray totals(form.total, {form.room == 0 ? bins : form.room}, stream);
  runtime::fill(stream, totals.reinterpret(DType::u8).buffer_on<std::uint8_t>(stream), 0);
  if (count != 0 && bins != 0) {
    std::vector<std::pair<std::string, AnyArray>> arrays = {
        {"x", x.dtype() == DType::boolean ? x.reinterpret(DType::u8) : x}};
    if (weight) {
      arrays.emplace_back("weight", *weight);
    }
    if (edges != nullptr) {
      arrays.emplace_back("edges", *edges);
    }
    arrays.emplace_back("total", totals);
    count_values(stream, form, is_by_blocks, arrays, count, bins);
  }
  return detail::values_of(cast(totals(Slice{0, bins}), result));
}

/// Bins of equal width.
AnyArray even_edges(const Expression& values, const HistogramOptions& options) {
  const Expression k = indices({options.bins + 1});
  Expression low = 0.0;
  Expression high = 1.0;
  if (options.range) {
    low = options.range->first;
    high = options.range->second;
  } else if (element_count(values.shape()) != 0) {
    low = evaluate(cast(min(values), DType::f64));
    high = evaluate(cast(max(values), DType::f64));
  }
  const Expression is_point = low == high;
  const Expression first = where(is_point, low - 0.5, low);
  const Expression last = where(is_point, high + 0.5, high);
  const Expression width = (last - first) / static_cast<double>(options.bins);
  return evaluate(cast(where(k == options.bins, last, first + k * width), DType::f64));
}

runtime::StreamRef stream_for(const Expression& values) {
  const detail::ExpressionNode& node = *values.node();
  return node.array ? current_stream(node.array->stream()) : current_stream();
}

}  // namespace

AnyArray bincount(const Expression& values, const BincountOptions& options) {
  check_values(values.dtype(), true);
  check_weights(options.weights, values.shape());
  const StreamScope scope(stream_for(values));
  const AnyArray x = detail::values_of(values);
  std::int64_t length = 0;
  if (options.length) {
    length = *options.length;
  } else if (x.count() != 0) {
    length = Array<std::int64_t>(max(cast(x, DType::i64))).item() + 1;
  }
  if (options.length && length < 0) {
    throw InvalidInput(
        "arrays.histogram.bins",
        fmt::format("{} numbers cannot be counted: give a length of at least 0", length));
  }
  return counted(x, std::max<std::int64_t>(length, 0), nullptr, options.weights, options.is_fast);
}

Histogram histogram(const Expression& values, const HistogramOptions& options) {
  check_values(values.dtype(), false);
  check_weights(options.weights, values.shape());
  if (options.bins < 1) {
    throw InvalidInput("arrays.histogram.bins",
                       fmt::format("a histogram has at least one bin, not {}", options.bins));
  }
  if (options.range &&
      !(std::isfinite(options.range->first) && std::isfinite(options.range->second) &&
        options.range->first <= options.range->second)) {
    throw InvalidInput("arrays.histogram.range",
                       fmt::format("{} to {} is no range of a histogram", options.range->first,
                                   options.range->second));
  }
  const StreamScope scope(stream_for(values));
  const AnyArray x = detail::values_of(values);
  const AnyArray edges = even_edges(x, options);
  return {counted(x, options.bins, &edges, options.weights, options.is_fast), edges};
}

Histogram histogram(const Expression& values, const AnyArray& edges,
                    const std::optional<AnyArray>& weights, bool is_fast) {
  check_weights(weights, values.shape());
  const StreamScope scope(current_stream(edges.stream()));
  return {counted(bins_of(values, edges), edges.count() - 1, nullptr, weights, is_fast), edges};
}

Histogram2d histogram2d(const Expression& x, const Expression& y, const AnyArray& x_edges,
                        const AnyArray& y_edges, const std::optional<AnyArray>& weights,
                        bool is_fast) {
  if (!(x.shape() == y.shape())) {
    throw InvalidInput("arrays.histogram.shape",
                       fmt::format("x of shape {} and y of shape {} are no points",
                                   to_string(x.shape()), to_string(y.shape())));
  }
  check_weights(weights, x.shape());
  const StreamScope scope(current_stream(x_edges.stream()));
  const Expression row = bins_of(x, x_edges);
  const Expression column = bins_of(y, y_edges);
  const std::int64_t rows = x_edges.count() - 1;
  const std::int64_t columns = y_edges.count() - 1;
  const Expression bin = where(row < 0 || column < 0, -1, row * columns + column);
  return {counted(bin, rows * columns, nullptr, weights, is_fast).reshape(rows, columns), x_edges,
          y_edges};
}

}  // namespace rtcg::arrays
