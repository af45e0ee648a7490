#include "rtcg/distributed/arrays/transposed.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/arrays/array_messages.h"

namespace rtcg::distributed {
namespace {

using arrays::AnyArray;
using arrays::DType;
using arrays::Extents;
using arrays::Slice;

void check_matrix(const DistributedArray& x, std::int64_t least_length, std::string_view what) {
  if (x.shape().size() != 2 || x.shape()[0] < least_length || x.shape()[1] < least_length) {
    throw InvalidInput("distributed.arrays.shape",
                       fmt::format("{} of an array of shape {}: it has two axes of length {} at "
                                   "least",
                                   what, to_string(x.shape()), least_length));
  }
}

/// Each row transformed.
DistributedArray rows_transformed(const DistributedArray& x, arrays::FftNorm norm,
                                  bool is_inverse) {
  const bool is_single = x.dtype() == DType::f16 || x.dtype() == DType::bf16 ||
                         x.dtype() == DType::f32 || x.dtype() == DType::c64;
  DistributedArray result(x.group(), is_single ? DType::c64 : DType::c128, x.shape());
  if (x.local().count() > 0) {
    const arrays::FftOptions options = {.norm = norm};
    result.assign(is_inverse ? arrays::ifft(x.local(), options) : arrays::fft(x.local(), options));
  }
  return result;
}

DistributedArray both_axes_transformed(const DistributedArray& x, arrays::FftNorm norm,
                                       bool is_inverse) {
  check_matrix(x, 1, "a Fourier transform over ranks");
  const runtime::StreamRef stream = arrays::current_stream(x.local().stream());
  const arrays::StreamScope scope(stream);
  return transposed(
      rows_transformed(transposed(rows_transformed(x, norm, is_inverse)), norm, is_inverse));
}

}  // namespace

DistributedArray transposed(const DistributedArray& x) {
  check_matrix(x, 0, "the transposed matrix");
  const Group& group = x.group();
  const int rank = group.rank();
  const runtime::StreamRef stream = arrays::current_stream(x.local().stream());
  const arrays::StreamScope scope(stream);
  DistributedArray result(group, x.dtype(), Extents{x.shape()[1], x.shape()[0]});
  const std::int64_t rows = result.blocks().count(rank);
  // a rank's columns are rows here, one after the other
  const AnyArray packed = x.local().transposed().contiguous();
  std::vector<AnyArray> parts;
  detail::Messages messages;
  for (int other = 0; other < group.size(); ++other) {
    messages.send(other, detail::bytes_of_places(packed, result.blocks().begin(other),
                                                 result.blocks().end(other), stream));
    const AnyArray& part =
        parts.emplace_back(x.dtype(), Extents{rows, x.blocks().count(other)}, stream);
    messages.receive(other, detail::bytes_of_places(part, 0, rows, stream));
  }
  messages.exchange(group, stream, "transposed");
  for (int other = 0; other < group.size(); ++other) {
    if (parts[static_cast<std::size_t>(other)].count() > 0) {
      result.local()(arrays::whole, Slice{x.blocks().begin(other), x.blocks().end(other)})
          .assign(parts[static_cast<std::size_t>(other)]);
    }
  }
  return result;
}

DistributedArray fft2(const DistributedArray& x, arrays::FftNorm norm) {
  return both_axes_transformed(x, norm, false);
}

DistributedArray ifft2(const DistributedArray& x, arrays::FftNorm norm) {
  return both_axes_transformed(x, norm, true);
}

}  // namespace rtcg::distributed
