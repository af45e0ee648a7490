#include "rtcg/arrays/interop/foreign_memory.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

[[noreturn]] void refuse_type(const std::string& type) {
  throw Unsupported("arrays.interface.type",
                    fmt::format("NumPy and arrays do not both have elements of type '{}'", type));
}

/// As NumPy spells it on little-endian machines.
std::string spelling_of(DType dtype) {
  if (dtype == DType::bf16 || is_vector(dtype)) {
    refuse_type(std::string(name(dtype)));
  }
  const char kind = dtype == DType::boolean      ? 'b'
                    : is_complex(dtype)          ? 'c'
                    : is_floating(dtype)         ? 'f'
                    : is_unsigned_integer(dtype) ? 'u'
                                                 : 'i';
  const std::size_t bytes = size_bytes(dtype);
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

DType dtype_of_spelling(const std::string& type) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::bf16 && spelling_of(dtype) == type) {
      return dtype;
    }
  }
  refuse_type(type);
}

}  // namespace

AnyArray wrap_memory(DType dtype, const Layout& layout, runtime::DeviceAddress address,
                     runtime::StreamRef stream, std::shared_ptr<const void> owner) {
  static_cast<void>(layout.count());  // throws if it is not a shape
  // the storage begins at the lowest element, which precedes the first if strides are negative
  const Reach reach = reach_of(layout).value_or(Reach{layout.offset, layout.offset - 1});
  const auto bytes_of = [&](std::int64_t elements) {
    return static_cast<std::uint64_t>(elements) * size_bytes(dtype);
  };
  const std::int64_t before = reach.first - layout.offset;
  auto storage = std::make_shared<Storage>(
      stream, address + bytes_of(before),
      static_cast<std::size_t>(bytes_of(reach.last - reach.first + 1)), std::move(owner));
  return {dtype, Layout{layout.shape, layout.strides, -before}, std::move(storage)};
}

ArrayInterface interface_of(const AnyArray& array) {
  ArrayInterface result;
  result.shape.assign(array.shape().begin(), array.shape().end());
  const auto bytes = static_cast<std::int64_t>(size_bytes(array.dtype()));
  for (const std::int64_t stride : array.strides()) {
    result.strides_bytes.push_back(stride * bytes);
  }
  result.type = spelling_of(array.dtype());
  result.data = array.address();
  const runtime::StreamRef stream = current_stream(array.stream());
  array.storage()->use_on(stream);
  if (void* const handle = stream.native_handle(); handle != nullptr) {
    result.stream = reinterpret_cast<std::uint64_t>(handle);
  }
  return result;
}

AnyArray from_interface(const ArrayInterface& interface, runtime::StreamRef stream,
                        std::shared_ptr<const void> owner) {
  const DType dtype = dtype_of_spelling(interface.type);
  Layout layout = make_layout(Extents(interface.shape));
  const auto bytes = static_cast<std::int64_t>(size_bytes(dtype));
  for (std::size_t axis = 0; axis < interface.strides_bytes.size(); ++axis) {
    const std::int64_t stride = interface.strides_bytes[axis];
    if (stride % bytes != 0 || interface.strides_bytes.size() != interface.shape.size()) {
      throw InvalidInput("arrays.interface.stride",
                         fmt::format("a stride of {} bytes does not lead from one {} to another",
                                     stride, interface.type));
    }
    layout.strides[static_cast<int>(axis)] = stride / bytes;
  }
  const AnyArray result = wrap_memory(dtype, layout, interface.data, stream, std::move(owner));
  if (!interface.is_read_only) {
    return result;
  }
  const StreamScope scope(stream);
  return result.copy();
}

}  // namespace rtcg::arrays
