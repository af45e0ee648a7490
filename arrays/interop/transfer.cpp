#include "rtcg/arrays/interop/transfer.h"

#include <fmt/format.h>

#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::arrays {
namespace {

void check_size(const AnyArray& array, std::size_t bytes) {
  if (bytes != array.size_bytes()) {
    throw InvalidInput(
        "arrays.write.size_mismatch",
        fmt::format("{} bytes on the host are not an array of shape {} of {}, which "
                    "has {}",
                    bytes, to_string(array.shape()), name(array.dtype()), array.size_bytes()));
  }
}

runtime::Event event_on(runtime::StreamRef stream) {
  return stream.record({.with_timing = false});
}

}  // namespace

runtime::Event write_async(const AnyArray& array, std::span<const std::byte> values) {
  check_size(array, values.size());
  const runtime::StreamRef stream = current_stream(array.stream());
  if (values.empty()) {
    return event_on(stream);
  }
  const bool is_direct = array.layout().is_contiguous();
  const AnyArray target = is_direct ? array : AnyArray(array.dtype(), array.shape(), stream);
  target.storage()->use_on(stream);
  runtime::copy_to_device(
      stream, values,
      runtime::BufferRef<std::byte>(array.device(), target.address(), values.size()));
  if (!is_direct) {
    const StreamScope scope(stream);
    array.assign(target);
  }
  return event_on(stream);
}

runtime::Event read_async(const AnyArray& array, std::span<std::byte> values) {
  check_size(array, values.size());
  const runtime::StreamRef stream = current_stream(array.stream());
  if (values.empty()) {
    return event_on(stream);
  }
  const StreamScope scope(stream);
  const AnyArray source = array.contiguous();
  source.storage()->use_on(stream);
  runtime::copy_to_host(
      stream, runtime::BufferRef<const std::byte>(array.device(), source.address(), values.size()),
      values);
  return event_on(stream);
}

AnyArray copy_to(const AnyArray& array, runtime::StreamRef stream) {
  std::vector<std::byte> values(array.size_bytes());
  array.read_bytes(values);
  AnyArray result(array.dtype(), array.shape(), stream);
  result.write_bytes(values);
  return result;
}

}  // namespace rtcg::arrays
