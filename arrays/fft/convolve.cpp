#include "rtcg/arrays/fft/convolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/fft.h"
#include "rtcg/arrays/fft/fft_plan.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/scanned_expression.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// The longest array that sums take, of the shorter ones. Two cores, which other work shared,
/// 2026-11-24, arrays_bench, 2^20 elements of f32: sums of 16, 64 and 256 elements take 21, 99 and
/// 271 ms, transforms 50 to 80.
constexpr std::int64_t longest_of_sums = 32;

void check_signals(const char* function, const Expression& a, const Expression& v) {
  for (const Expression* each : {&a, &v}) {
    if (is_vector(each->dtype())) {
      throw InvalidInput("arrays.convolve.dtype",
                         fmt::format("{} of short vectors ({}); take their components()", function,
                                     name(each->dtype())));
    }
    if (each->shape().size() != 1) {
      throw InvalidInput("arrays.convolve.shape",
                         fmt::format("{} of an array of shape {}; give two of one axis", function,
                                     to_string(each->shape())));
    }
    if (each->shape()[0] == 0) {
      throw InvalidInput("arrays.convolve.empty",
                         fmt::format("{} of an array without elements", function));
    }
  }
}

/// The part of the whole convolution that is wanted.
struct Wanted {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

Wanted wanted_of(ConvolveMode mode, std::int64_t shorter, std::int64_t longer) {
  switch (mode) {
    case ConvolveMode::same:
      return {(shorter - 1) / 2, longer};
    case ConvolveMode::valid:
      return {shorter - 1, longer - shorter + 1};
    case ConvolveMode::full:
      break;
  }
  return {0, longer + shorter - 1};
}

/// Result i is the sum over the window of `shorter` elements that ends at element i.
AnyArray convolve_by_sums(const AnyArray& longer, const AnyArray& shorter, const Wanted& wanted,
                          DType dtype) {
  const std::int64_t length = shorter.count();
  const AnyArray padded(dtype, {wanted.count + length - 1}, current_stream());
  // element 0 of `longer` is at this place of `padded`
  const std::int64_t begin = length - 1 - wanted.first;
  const std::int64_t from = std::max<std::int64_t>(-begin, 0);
  const std::int64_t to = std::min(longer.count(), padded.count() - begin);
  padded(Slice{0, begin + from}).assign(0);
  padded(Slice{begin + to, padded.count()}).assign(0);
  padded(Slice{begin + from, begin + to}).assign(cast(longer(Slice{from, to}), dtype));
  const AnyArray windows = padded.view({{wanted.count, length}, {1, 1}, padded.layout().offset});
  if (dtype == DType::boolean) {
    return evaluate(any(windows && shorter.flip({0}), over(1)));
  }
  return evaluate(
      sum(windows * cast(shorter.flip({0}), dtype), {.axes = Extents{1}, .dtype = dtype}));
}

AnyArray convolve_by_transforms(const AnyArray& longer, const AnyArray& shorter,
                                const Wanted& wanted, DType dtype) {
  const std::int64_t n = detail::convolution_length(longer.count() + shorter.count() - 1);
  const Index part = Slice{wanted.first, wanted.first + wanted.count};
  if (is_complex(dtype)) {
    const AnyArray product =
        evaluate(fft(cast(longer, dtype), {.n = n}) * fft(cast(shorter, dtype), {.n = n}));
    return ifft(product)(part).copy();
  }
  const AnyArray product = evaluate(rfft(longer, {.n = n}) * rfft(shorter, {.n = n}));
  const AnyArray all = irfft(product, {.n = n})(part);
  if (dtype == DType::boolean) {
    return evaluate(all > 0.5);
  }
  return evaluate(cast(is_integer(dtype) ? rint(all) : Expression(all), dtype));
}

AnyArray convolve_arrays(const AnyArray& longer, const AnyArray& shorter, const Wanted& wanted,
                         DType dtype, ConvolveWay way) {
  const bool is_exact = is_integer(dtype) || dtype == DType::boolean;
  const bool by_sums =
      way == ConvolveWay::direct ||
      (way == ConvolveWay::automatic && (is_exact || shorter.count() <= longest_of_sums));
  return by_sums ? convolve_by_sums(longer, shorter, wanted, dtype)
                 : convolve_by_transforms(longer, shorter, wanted, dtype);
}

}  // namespace

AnyArray convolve(const Expression& a, const Expression& v, const ConvolveOptions& options) {
  check_signals("convolve", a, v);
  const AnyArray left = detail::values_of(a.node());
  const AnyArray right = detail::values_of(v.node());
  const StreamScope scope(current_stream(left.stream()));
  const bool is_swapped = right.count() > left.count();
  const AnyArray& longer = is_swapped ? right : left;
  const AnyArray& shorter = is_swapped ? left : right;
  return convolve_arrays(longer, shorter, wanted_of(options.mode, shorter.count(), longer.count()),
                         promote(a.dtype(), v.dtype()), options.way);
}

AnyArray correlate(const Expression& a, const Expression& v, const ConvolveOptions& options) {
  check_signals("correlate", a, v);
  const AnyArray left = detail::values_of(a.node());
  const AnyArray given = detail::values_of(v.node());
  const StreamScope scope(current_stream(left.stream()));
  const AnyArray right = (is_complex(v.dtype()) ? evaluate(conj(given)) : given).flip({0});
  const bool is_swapped = right.count() > left.count();
  const AnyArray& longer = is_swapped ? right : left;
  const AnyArray& shorter = is_swapped ? left : right;
  Wanted wanted = wanted_of(options.mode, shorter.count(), longer.count());
  if (is_swapped) {  // NumPy counts from the other end
    wanted.first = longer.count() + shorter.count() - 1 - wanted.first - wanted.count;
  }
  return convolve_arrays(longer, shorter, wanted, promote(a.dtype(), v.dtype()), options.way);
}

}  // namespace rtcg::arrays
