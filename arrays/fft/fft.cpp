#include "rtcg/arrays/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/cufft.h"
#include "rtcg/arrays/fft/fft_launches.h"
#include "rtcg/arrays/fft/twiddles.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/scan/scanned_expression.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::CufftApi;
using detail::FftExtents;

std::int64_t checked_length(std::int64_t n) {
  if (n < 1) {
    throw InvalidInput("arrays.fft.length",
                       fmt::format("a Fourier transform of {} elements; 1 is the least", n));
  }
  return n;
}

void check_operand(const char* function, const Expression& a) {
  if (is_vector(a.dtype())) {
    throw InvalidInput("arrays.fft.dtype",
                       fmt::format("{} of short vectors ({}); transform components() along "
                                   "another axis than the last",
                                   function, name(a.dtype())));
  }
  if (a.shape().empty()) {
    throw InvalidInput("arrays.fft.axes",
                       fmt::format("{} of an array without axes; reshape it", function));
  }
}

void check_real(const char* function, const Expression& a) {
  check_operand(function, a);
  if (is_complex(a.dtype())) {
    throw InvalidInput("arrays.fft.dtype",
                       fmt::format("{} of complex numbers ({}); take real(...), or transform them "
                                   "by fft",
                                   function, name(a.dtype())));
  }
}

/// The library for work on that device, or null for generated kernels.
///
/// @throws Unsupported  arrays.fft.no_library
const CufftApi* library_for(runtime::Device device, FftWay way) {
  const bool is_cuda = device.info().id.kind == runtime::BackendKind::cuda;
  const CufftApi* const api = is_cuda && way != FftWay::generated ? CufftApi::find() : nullptr;
  if (way == FftWay::library && api == nullptr) {
    throw Unsupported(
        "arrays.fft.no_library",
        fmt::format("Fourier transforms by a library on {}: {}; install libcufft of CUDA 12 or 13, "
                    "name it by RTCG_LIBCUFFT, or use FftWay::generated",
                    runtime::to_string(device.info().id),
                    is_cuda ? CufftApi::why_none() : "cuFFT needs a CUDA device"));
  }
  return api;
}

double factor_of(FftNorm norm, std::int64_t n, bool is_inverse) {
  const auto count = static_cast<double>(n);
  switch (norm) {
    case FftNorm::ortho:
      return 1 / std::sqrt(count);
    case FftNorm::backward:
      return is_inverse ? 1 / count : 1;
    case FftNorm::forward:
      break;
  }
  return is_inverse ? 1 : 1 / count;
}

FftNorm opposite(FftNorm norm) {
  return norm == FftNorm::ortho      ? norm
         : norm == FftNorm::backward ? FftNorm::forward
                                     : FftNorm::backward;
}

/// A length along an axis.
struct AxisLength {
  int axis = 0;
  std::int64_t length = 1;
};

Index up_to(std::int64_t length) {
  return Slice{0, length};
}

AnyArray along(const AnyArray& a, int axis, const Slice& part) {
  std::vector<Index> index(static_cast<std::size_t>(a.axes()), Index(whole));
  index[static_cast<std::size_t>(axis)] = part;
  return a.view(slice(a.layout(), index));
}

/// Kernels read and write both parts of complex numbers at once.
bool is_aligned(const AnyArray& a) {
  const DType dtype = complex_of(a.dtype());
  return a.address() % size_bytes(dtype) == 0;
}

/// Values of that type, cut off or continued by zeros, in C order.
struct Values {
  AnyArray array;
  bool is_own = false;  ///< no one else has it
};

Values values_for(const Expression& a, DType dtype, const std::vector<AxisLength>& lengths) {
  const AnyArray given = detail::values_of(a.node());
  std::vector<Index> index(static_cast<std::size_t>(given.axes()), Index(whole));
  Extents shape = given.shape();
  bool is_longer = false;
  for (const AxisLength& each : lengths) {
    const std::int64_t old = given.shape()[each.axis];
    is_longer = is_longer || each.length > old;
    index[static_cast<std::size_t>(each.axis)] = up_to(std::min(each.length, old));
    shape[each.axis] = each.length;
  }
  const AnyArray part = given.view(slice(given.layout(), index));
  if (is_longer) {
    const AnyArray result = zeros(dtype, shape, current_stream());
    result.view(slice(result.layout(), index)).assign(cast(part, dtype));
    return {result, true};
  }
  if (part.dtype() != dtype) {
    return {part.as_type(dtype), true};
  }
  if (part.layout().is_contiguous() && is_aligned(part)) {
    return {part, false};
  }
  return {part.copy(), true};
}

FftExtents extents_of(const Extents& shape, int axis) {
  FftExtents result;
  for (int i = 0; i < shape.size(); ++i) {
    (i < axis ? result.outer : (i == axis ? result.length : result.inner)) *= shape[i];
  }
  return result;
}

void scale(const AnyArray& a, double factor) {
  if (factor != 1) {
    a.assign(a * factor);
  }
}

/// Complex numbers along one axis.
Values transformed(const Values& values, int axis, bool is_inverse, double factor, FftWay way) {
  const runtime::StreamRef stream = current_stream();
  const FftExtents extents = extents_of(values.array.shape(), axis);
  const AnyArray out =
      values.is_own ? values.array : AnyArray(values.array.dtype(), values.array.shape(), stream);
  const CufftApi* const api = library_for(stream.device(), way);
  // cuFFT would take a call for each outer index
  const bool is_between = extents.outer > 1 && extents.inner > 1;
  if (extents.count() == 0) {
    return {out, true};
  }
  if (api != nullptr && (way == FftWay::library || !is_between)) {
    detail::transform_with(*api, stream, values.array, out, extents, is_inverse);
    scale(out, factor);
  } else {
    detail::transform_generated(stream, values.array, out, extents, is_inverse, factor);
  }
  return {out, true};
}

std::vector<std::complex<double>> first_roots(std::int64_t count, std::int64_t n) {
  std::vector<std::complex<double>> result;
  for (std::int64_t k = 0; k < count; ++k) {
    result.push_back(detail::root_of_unity(k, n));
  }
  return result;
}

/// exp(-2 pi i k / n) for k < n / 2, along that axis of arrays with so many axes.
struct HalfRoots {
  HalfRoots(DType dtype, std::int64_t n, int axis, int axes)
      : table(detail::table_on(current_stream(), dtype, fmt::format("half.{}", n),
                               [&] { return first_roots(n / 2, n); })),
        values(dtype, make_layout({n / 2}),
               std::make_shared<Storage>(current_stream(), table.address,
                                         static_cast<std::size_t>(n / 2) * size_bytes(dtype),
                                         nullptr)) {
    Extents shape = Extents::filled(axes, 1);
    shape[axis] = n / 2;
    values = values.reshape(shape);
  }
  detail::DeviceTable table;
  AnyArray values;
};

Expression times_i(const Expression& value) {
  return make_complex(-imag(value), real(value));
}

/// n real numbers, n even, as n/2 complex ones, whose transform contains that of both halves.
AnyArray half_spectrum(const Values& x, int axis, double factor) {
  const AnyArray& real_values = x.array;
  const DType dtype = complex_of(real_values.dtype());
  const std::int64_t half = real_values.shape()[axis] / 2;
  const runtime::StreamRef stream = current_stream();
  const bool is_last = axis == real_values.axes() - 1;
  const AnyArray packed = is_last ? real_values.reinterpret(dtype)
                                  : evaluate(make_complex(along(real_values, axis, {0, {}, 2}),
                                                          along(real_values, axis, {1, {}, 2})));
  const AnyArray z(dtype, packed.shape(), stream);
  detail::transform_generated(stream, packed, z, extents_of(packed.shape(), axis), false, factor);
  Extents shape = packed.shape();
  shape[axis] = half + 1;
  const AnyArray result(dtype, shape, stream);
  const AnyArray first = along(z, axis, {0, 1});
  along(result, axis, {0, 1}).assign(real(first) + imag(first));
  along(result, axis, {half, half + 1}).assign(real(first) - imag(first));
  if (half > 1) {
    const AnyArray a = along(z, axis, {1, half});
    const Expression b = conj(a.flip({axis}));
    const HalfRoots roots(dtype, 2 * half, axis, z.axes());
    const Expression turned = times_i(along(roots.values, axis, {1, half}) * (a - b));
    along(result, axis, {1, half}).assign(((a + b) - turned) * 0.5);
  }
  return result;
}

/// Its inverse.
AnyArray from_half_spectrum(const AnyArray& spectrum, int axis, std::int64_t n, double factor) {
  const DType dtype = spectrum.dtype();
  const std::int64_t half = n / 2;
  const runtime::StreamRef stream = current_stream();
  Extents shape = spectrum.shape();
  shape[axis] = half;
  const AnyArray z(dtype, shape, stream);
  const Expression first = real(along(spectrum, axis, {0, 1}));
  const Expression last = real(along(spectrum, axis, {half, half + 1}));
  along(z, axis, {0, 1}).assign(make_complex(first + last, first - last));
  if (half > 1) {
    const AnyArray a = along(spectrum, axis, {1, half});
    const Expression b = conj(a.flip({axis}));
    const HalfRoots roots(dtype, n, axis, z.axes());
    along(z, axis, {1, half})
        .assign((a + b) + times_i(conj(along(roots.values, axis, {1, half})) * (a - b)));
  }
  detail::transform_generated(stream, z, z, extents_of(shape, axis), true, factor);
  if (axis == z.axes() - 1) {
    return z.reinterpret(real_of(dtype));
  }
  shape[axis] = n;
  const AnyArray result(real_of(dtype), shape, stream);
  along(result, axis, {0, {}, 2}).assign(real(z));
  along(result, axis, {1, {}, 2}).assign(imag(z));
  return result;
}

/// The whole spectrum of n real numbers, from its first half.
AnyArray whole_spectrum(const AnyArray& half, int axis, std::int64_t n) {
  Extents shape = half.shape();
  const std::int64_t known = shape[axis];
  shape[axis] = n;
  const AnyArray result(half.dtype(), shape, current_stream());
  along(result, axis, {0, known}).assign(half);
  along(result, axis, {0, 1}).assign(real(along(half, axis, {0, 1})));
  along(result, axis, {known, n}).assign(conj(along(half, axis, {1, n - known + 1}).flip({axis})));
  return result;
}

Values real_transform(const Expression& a, int axis, std::int64_t n, FftNorm norm, FftWay way) {
  const DType dtype = real_of(complex_of(a.dtype()));
  const double factor = factor_of(norm, n, false);
  Values x = values_for(a, dtype, {{axis, n}});
  const runtime::StreamRef stream = current_stream();
  const CufftApi* const api = library_for(stream.device(), way);
  Extents shape = x.array.shape();
  shape[axis] = n / 2 + 1;
  if (element_count(shape) == 0) {
    return {AnyArray(complex_of(dtype), shape, stream), true};
  }
  if (api != nullptr && axis == x.array.axes() - 1) {
    const AnyArray out(complex_of(dtype), shape, stream);
    detail::transform_real_with(*api, stream, x.array, out, n, false);
    scale(out, factor);
    return {out, true};
  }
  if (n % 2 == 0 && way != FftWay::library) {
    return {half_spectrum(x, axis, factor), true};
  }
  const Values all =
      transformed({x.array.as_type(complex_of(dtype)), true}, axis, false, factor, way);
  return {along(all.array, axis, {0, n / 2 + 1}).copy(), true};
}

AnyArray inverse_real_transform(const Values& half, int axis, std::int64_t n, FftNorm norm,
                                FftWay way) {
  const DType dtype = real_of(half.array.dtype());
  const double factor = factor_of(norm, n, true);
  const runtime::StreamRef stream = current_stream();
  const CufftApi* const api = library_for(stream.device(), way);
  Extents shape = half.array.shape();
  shape[axis] = n;
  if (element_count(shape) == 0) {
    return {dtype, shape, stream};
  }
  if (api != nullptr && axis == half.array.axes() - 1) {
    AnyArray out(dtype, shape, stream);
    const AnyArray in = half.is_own ? half.array : half.array.copy();
    detail::transform_real_with(*api, stream, in, out, n, true);
    scale(out, factor);
    return out;
  }
  if (n % 2 == 0 && way != FftWay::library) {
    return from_half_spectrum(half.array, axis, n, factor);
  }
  const Values all =
      transformed({whole_spectrum(half.array, axis, n), true}, axis, true, factor, way);
  return evaluate(real(all.array));
}

/// Axes and their lengths; what is -1 is the axis' own.
std::vector<AxisLength> axes_of(const char* function, const Expression& a,
                                const FftnOptions& options) {
  check_operand(function, a);
  const int axes = a.shape().size();
  std::vector<AxisLength> result;
  if (options.axes) {
    for (const std::int64_t axis : *options.axes) {
      result.push_back({checked_axis(axis, axes), -1});
    }
  } else {
    const int count = options.lengths ? options.lengths->size() : axes;
    for (int i = 0; i < count; ++i) {
      result.push_back({checked_axis(i - count, axes), -1});
    }
  }
  if (options.lengths) {
    if (static_cast<std::size_t>(options.lengths->size()) != result.size()) {
      throw InvalidInput("arrays.fft.axes",
                         fmt::format("{} along {} axes is given {} lengths; give one for each",
                                     function, result.size(), options.lengths->size()));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i].length = (*options.lengths)[static_cast<int>(i)];
    }
  }
  for (AxisLength& each : result) {
    each.length = checked_length(each.length == -1 ? a.shape()[each.axis] : each.length);
  }
  return result;
}

void check_has_axes(const char* function, const std::vector<AxisLength>& axes) {
  if (axes.empty()) {
    throw InvalidInput("arrays.fft.axes",
                       fmt::format("{} along no axes; a real transform needs one", function));
  }
}

FftnOptions of_last_two(FftnOptions options) {
  if (!options.axes) {
    options.axes = Extents{-2, -1};
  }
  return options;
}

/// Whether the axes are the last ones, in their order.
bool are_last(const std::vector<AxisLength>& axes, int all) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].axis != all - static_cast<int>(axes.size()) + static_cast<int>(i)) {
      return false;
    }
  }
  return true;
}

/// The lengths that the operand can have before any axis is transformed: none if an axis occurs
/// twice, whose length each transform changes anew.
std::vector<AxisLength> known_lengths(const std::vector<AxisLength>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[i].axis == axes[j].axis) {
        return {};
      }
    }
  }
  return axes;
}

Values with_length(Values values, const AxisLength& wanted) {
  return values.array.shape()[wanted.axis] == wanted.length
             ? std::move(values)
             : values_for(values.array, values.array.dtype(), {wanted});
}

/// Complex numbers along several axes, the last one first.
Values transformed(Values values, const std::vector<AxisLength>& axes, bool is_inverse,
                   FftNorm norm, FftWay way) {
  const runtime::StreamRef stream = current_stream();
  const CufftApi* const api = library_for(stream.device(), way);
  constexpr std::size_t most_at_once = 3;
  const bool is_ready = std::all_of(axes.begin(), axes.end(), [&](const AxisLength& each) {
    return values.array.shape()[each.axis] == each.length;
  });
  if (api != nullptr && axes.size() > 1 && axes.size() <= most_at_once && is_ready &&
      are_last(axes, values.array.axes()) && values.array.count() != 0) {
    double factor = 1;
    for (const AxisLength& each : axes) {
      factor *= factor_of(norm, each.length, is_inverse);
    }
    const AnyArray out =
        values.is_own ? values.array : AnyArray(values.array.dtype(), values.array.shape(), stream);
    detail::transform_last_axes_with(*api, stream, values.array, out, static_cast<int>(axes.size()),
                                     is_inverse);
    scale(out, factor);
    return {out, true};
  }
  for (std::size_t i = axes.size(); i-- > 0;) {
    values = transformed(with_length(std::move(values), axes[i]), axes[i].axis, is_inverse,
                         factor_of(norm, axes[i].length, is_inverse), way);
  }
  return values;
}

AnyArray complex_transform(const char* function, const Expression& a, const FftOptions& options,
                           bool is_inverse) {
  check_operand(function, a);
  const int axis = checked_axis(options.axis, a.shape().size());
  const std::int64_t n = checked_length(options.n.value_or(a.shape()[axis]));
  const StreamScope scope(current_stream(detail::values_of(a.node()).stream()));
  return transformed(values_for(a, complex_of(a.dtype()), {{axis, n}}), axis, is_inverse,
                     factor_of(options.norm, n, is_inverse), options.way)
      .array;
}

AnyArray complex_transform(const char* function, const Expression& a, const FftnOptions& options,
                           bool is_inverse) {
  const std::vector<AxisLength> axes = axes_of(function, a, options);
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  Values values = values_for(given, complex_of(a.dtype()), known_lengths(axes));
  if (axes.empty() && !values.is_own) {
    return values.array.copy();
  }
  return transformed(std::move(values), axes, is_inverse, options.norm, options.way).array;
}

}  // namespace

AnyArray fft(const Expression& a, const FftOptions& options) {
  return complex_transform("fft", a, options, false);
}

AnyArray ifft(const Expression& a, const FftOptions& options) {
  return complex_transform("ifft", a, options, true);
}

AnyArray rfft(const Expression& a, const FftOptions& options) {
  check_real("rfft", a);
  const int axis = checked_axis(options.axis, a.shape().size());
  const std::int64_t n = checked_length(options.n.value_or(a.shape()[axis]));
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  return real_transform(given, axis, n, options.norm, options.way).array;
}

AnyArray irfft(const Expression& a, const FftOptions& options) {
  check_operand("irfft", a);
  const int axis = checked_axis(options.axis, a.shape().size());
  const std::int64_t n = checked_length(options.n.value_or(2 * (a.shape()[axis] - 1)));
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  return inverse_real_transform(values_for(given, complex_of(a.dtype()), {{axis, n / 2 + 1}}), axis,
                                n, options.norm, options.way);
}

AnyArray hfft(const Expression& a, const FftOptions& options) {
  check_operand("hfft", a);
  FftOptions turned = options;
  turned.norm = opposite(options.norm);
  return irfft(is_complex(a.dtype()) ? conj(a) : a, turned);
}

AnyArray ihfft(const Expression& a, const FftOptions& options) {
  check_real("ihfft", a);
  FftOptions turned = options;
  turned.norm = opposite(options.norm);
  return evaluate(conj(rfft(a, turned)));
}

AnyArray fftn(const Expression& a, const FftnOptions& options) {
  return complex_transform("fftn", a, options, false);
}

AnyArray ifftn(const Expression& a, const FftnOptions& options) {
  return complex_transform("ifftn", a, options, true);
}

AnyArray rfftn(const Expression& a, const FftnOptions& options) {
  check_real("rfftn", a);
  std::vector<AxisLength> axes = axes_of("rfftn", a, options);
  check_has_axes("rfftn", axes);
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const AxisLength last = axes.back();
  axes.pop_back();
  Values values = real_transform(given, last.axis, last.length, options.norm, options.way);
  return transformed(std::move(values), axes, false, options.norm, options.way).array;
}

AnyArray irfftn(const Expression& a, const FftnOptions& options) {
  std::vector<AxisLength> axes = axes_of("irfftn", a, options);
  check_has_axes("irfftn", axes);
  const AnyArray given = detail::values_of(a.node());
  const StreamScope scope(current_stream(given.stream()));
  const int last = axes.back().axis;
  const std::int64_t n =
      options.lengths ? axes.back().length : checked_length(2 * (a.shape()[last] - 1));
  const AxisLength half{last, n / 2 + 1};
  axes.back() = half;
  Values values = values_for(given, complex_of(a.dtype()), known_lengths(axes));
  axes.pop_back();
  values = transformed(std::move(values), axes, true, options.norm, options.way);
  return inverse_real_transform(with_length(std::move(values), half), last, n, options.norm,
                                options.way);
}

AnyArray fft2(const Expression& a, const FftnOptions& options) {
  return fftn(a, of_last_two(options));
}
AnyArray ifft2(const Expression& a, const FftnOptions& options) {
  return ifftn(a, of_last_two(options));
}
AnyArray rfft2(const Expression& a, const FftnOptions& options) {
  return rfftn(a, of_last_two(options));
}
AnyArray irfft2(const Expression& a, const FftnOptions& options) {
  return irfftn(a, of_last_two(options));
}

Array<double> fftfreq(std::int64_t n, double spacing, runtime::StreamRef stream) {
  checked_length(n);
  std::vector<double> result;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t number = k < (n + 1) / 2 ? k : k - n;
    result.push_back(static_cast<double>(number) / (static_cast<double>(n) * spacing));
  }
  return Array<double>(result, stream);
}

Array<double> rfftfreq(std::int64_t n, double spacing, runtime::StreamRef stream) {
  checked_length(n);
  std::vector<double> result;
  for (std::int64_t k = 0; k <= n / 2; ++k) {
    result.push_back(static_cast<double>(k) / (static_cast<double>(n) * spacing));
  }
  return Array<double>(result, stream);
}

namespace {

AnyArray shifted(const AnyArray& a, const std::optional<Extents>& axes, bool is_inverse) {
  const StreamScope scope(current_stream(a.stream()));
  AnyArray result = a;
  Extents all;
  for (int axis = 0; !axes && axis < a.axes(); ++axis) {
    all.push_back(axis);
  }
  for (const std::int64_t axis : axes.value_or(all)) {
    const std::int64_t length = a.shape()[checked_axis(axis, a.axes())];
    result = roll(result, is_inverse ? -(length / 2) : length / 2, axis);
  }
  return result.address() == a.address() ? a.copy() : result;
}

}  // namespace

AnyArray fftshift(const AnyArray& a, const std::optional<Extents>& axes) {
  return shifted(a, axes, false);
}

AnyArray ifftshift(const AnyArray& a, const std::optional<Extents>& axes) {
  return shifted(a, axes, true);
}

std::string describe_fft_library(runtime::Device device) {
  if (device.info().id.kind != runtime::BackendKind::cuda) {
    return "none: cuFFT needs a CUDA device";
  }
  return CufftApi::find() != nullptr ? CufftApi::find()->library : "none: " + CufftApi::why_none();
}

}  // namespace rtcg::arrays
