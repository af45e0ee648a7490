#include "rtcg/arrays/fft/fft_launches.h"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/fft/twiddles.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/kernel_form.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/graph.h"

namespace rtcg::arrays::detail {
namespace {

void run(runtime::StreamRef stream, const FftLaunch& launch, const AnyArray& in,
         const AnyArray& out, double factor) {
  const FftForm& form = launch.form;
  const runtime::Kernel& kernel =
      kernel_of_text(stream.device(), form.name().c_str(), [&] { return make_fft_module(form); });
  std::vector<DeviceTable> tables;
  runtime::ArgumentPack pack;
  const auto add_table = [&](const std::string& name, const auto& make) {
    tables.push_back(table_on(stream, form.dtype, name, make));
    pack.add(tables.back().address);
  };
  pack.add(in.address_on(stream));
  pack.add(out.address_on(stream));
  if (form.radices.size() > 1) {
    add_table(fmt::format("factors.{}", fmt::join(form.radices, "x")),
              [&] { return pass_factors(form.radices); });
  }
  if (form.has_twiddles) {
    const std::int64_t order = launch.before * form.length();
    add_table(fmt::format("fine.{}", order), [&] { return fine_roots(order); });
    add_table(fmt::format("coarse.{}", order), [&] { return coarse_roots(order); });
    pack.add(static_cast<std::int32_t>(root_bits(order).fine));
  }
  if (form.has_tail) {
    pack_index(pack, launch.columns, form.is_wide);
  }
  if (!form.reads_rows) {
    pack_index(pack, launch.read_step, form.is_wide);
  }
  if (!form.writes_rows) {
    pack_index(pack, launch.write_step, form.is_wide);
  }
  if (form.has_twiddles && form.has_inner) {
    pack_index(pack, launch.inner, form.is_wide);
  }
  if (form.dtype == DType::c64) {
    pack.add(static_cast<float>(factor));
  } else {
    pack.add(factor);
  }
  kernel.launch(
      stream,
      {{static_cast<std::uint64_t>(launch.blocks)}, {static_cast<std::uint64_t>(form.threads())}},
      pack);
}

AnyArray empty_like_elements(const AnyArray& array, std::int64_t count) {
  return {array.dtype(), Extents{count}, current_stream()};
}

void transform_by_butterflies(runtime::StreamRef stream, const AnyArray& in, const AnyArray& out,
                              const FftExtents& extents, bool is_inverse, double factor) {
  const runtime::Device device = stream.device();
  const std::vector<FftLaunch> launches =
      plan_fft(extents, in.dtype(), is_inverse, loopy::dialect_of(device), device.info());
  const bool is_in_place = in.address() == out.address();
  std::optional<AnyArray> scratch[2];
  const auto scratch_array = [&](std::size_t which) -> const AnyArray& {
    if (!scratch[which]) {
      scratch[which] = empty_like_elements(in, extents.count());
    }
    return *scratch[which];
  };
  AnyArray from = in;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::size_t later = launches.size() - 1 - i;
    // only a launch that is alone may write what it reads
    const AnyArray& to = later % 2 == 1                        ? scratch_array(0)
                         : later != 0 && i == 0 && is_in_place ? scratch_array(1)
                                                               : out;
    run(stream, launches[i], from, to, later == 0 ? factor : 1);
    from = to;
  }
}

/// A table as an array of one axis.
struct TableArray {
  AnyArray values;
  DeviceTable table;
};

TableArray table_array(runtime::StreamRef stream, DType dtype, std::int64_t count,
                       const std::string& name,
                       const std::function<std::vector<std::complex<double>>()>& make) {
  DeviceTable table = table_on(stream, dtype, name, make);
  const auto storage = std::make_shared<Storage>(
      stream, table.address, static_cast<std::size_t>(count) * size_bytes(dtype), nullptr);
  return {AnyArray(dtype, make_layout({count}), storage), std::move(table)};
}

/// exp(-pi i j^2 / n) for j < n.
std::vector<std::complex<double>> chirp(std::int64_t n) {
  std::vector<std::complex<double>> result;
  std::int64_t square = 0;  // of j, modulo 2 n
  for (std::int64_t j = 0; j < n; ++j) {
    result.push_back(root_of_unity(square, 2 * n));
    square = (square + 2 * j + 1) % (2 * n);
  }
  return result;
}

/// The transform of the chirp's conjugate, which products with other transforms convolve with, as a
/// period of `length`.
std::vector<std::complex<double>> chirp_transform(runtime::StreamRef stream, std::int64_t n,
                                                  std::int64_t length) {
  std::vector<std::complex<double>> period(static_cast<std::size_t>(length));
  const std::vector<std::complex<double>> of_half = chirp(n);
  for (std::size_t j = 0; j < of_half.size(); ++j) {
    period[j] = std::conj(of_half[j]);
    period[(period.size() - j) % period.size()] = period[j];
  }
  const FftExtents extents{1, length, 1};
  const auto transformed = [&](const AnyArray& values) {
    transform_by_butterflies(stream, values, values, extents, false,
                             1 / static_cast<double>(length));
  };
  if (stream.device().info().has_f64) {
    const Array<std::complex<double>> values(period, stream);
    transformed(values);
    return values.to_vector();
  }
  const Array<std::complex<float>> values(
      std::vector<std::complex<float>>(period.begin(), period.end()), stream);
  transformed(values);
  const std::vector<std::complex<float>> result = values.to_vector();
  return {result.begin(), result.end()};
}

/// j k = (j^2 + k^2 - (k - j)^2) / 2 makes the sum a convolution with a chirp.
void transform_by_chirps(runtime::StreamRef stream, const AnyArray& in, const AnyArray& out,
                         const FftExtents& extents, bool is_inverse, double factor) {
  const std::int64_t n = extents.length;
  const std::int64_t length = convolution_length(2 * n - 1);
  const DType dtype = in.dtype();
  const TableArray chirps =
      table_array(stream, dtype, n, fmt::format("chirp.{}", n), [&] { return chirp(n); });
  const TableArray filter = table_array(stream, dtype, length, fmt::format("filter.{}", n),
                                        [&] { return chirp_transform(stream, n, length); });
  const auto along = [](const TableArray& table) { return table.values.expand_dims(1); };
  const auto directed = [&](const Expression& value) { return is_inverse ? conj(value) : value; };
  const FftExtents padded_extents{extents.outer, length, extents.inner};
  const AnyArray padded(dtype, {extents.outer, length, extents.inner}, stream);
  const Extents shape{extents.outer, n, extents.inner};
  padded(whole, Slice{0, n}).assign(directed(in.reshape(shape)) * along(chirps));
  padded(whole, Slice{n, length}).assign(0);
  transform_by_butterflies(stream, padded, padded, padded_extents, false, 1);
  padded.assign(padded * along(filter));
  transform_by_butterflies(stream, padded, padded, padded_extents, true, 1);
  out.reshape(shape).assign(directed(padded(whole, Slice{0, n}) * along(chirps)) * factor);
}

}  // namespace

void transform_generated(runtime::StreamRef stream, const AnyArray& in, const AnyArray& out,
                         const FftExtents& extents, bool is_inverse, double factor) {
  const StreamScope scope(stream);
  if (extents.count() == 0) {
    return;
  }
  if (extents.length == 1) {
    out.assign(in.reshape(out.shape()) * factor);
  } else if (has_butterflies(extents.length)) {
    transform_by_butterflies(stream, in, out, extents, is_inverse, factor);
  } else {
    transform_by_chirps(stream, in, out, extents, is_inverse, factor);
  }
}

}  // namespace rtcg::arrays::detail
