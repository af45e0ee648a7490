#include "rtcg/arrays/core/array.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::arrays {
namespace {

std::size_t bytes_of(DType dtype, std::int64_t count) {
  std::int64_t bytes = 0;  // what containers of the host can count
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(arrays::size_bytes(dtype)), &bytes)) {
    throw InvalidInput(
        "arrays.extents.too_large",
        fmt::format("{} elements of {} have 2^63 bytes or more", count, name(dtype)));
  }
  return static_cast<std::size_t>(bytes);
}

}  // namespace

AnyArray::AnyArray(DType dtype, const Extents& shape, runtime::StreamRef stream, Order order)
    : dtype_(dtype),
      layout_(make_layout(shape, order)),
      storage_(std::make_shared<Storage>(stream, bytes_of(dtype, layout_.count()))) {}

AnyArray::AnyArray(DType dtype, const Layout& layout, std::shared_ptr<Storage> storage)
    : dtype_(dtype), layout_(layout), storage_(std::move(storage)) {}

void AnyArray::operator=(const AnyArray& other) && {
  detail::copy_elements(other, *this);
}

std::size_t AnyArray::size_bytes() const {
  return bytes_of(dtype_, count());
}

runtime::DeviceAddress AnyArray::address() const noexcept {
  if (count() == 0) {
    return storage_->address();  // an empty view may begin past the end
  }
  return storage_->address() +
         static_cast<std::uint64_t>(layout_.offset) * arrays::size_bytes(dtype_);
}

runtime::DeviceAddress AnyArray::address_on(runtime::StreamRef stream) const {
  storage_->use_on(stream);
  return address();
}

AnyArray AnyArray::reshape(const Extents& shape) const {
  if (const std::optional<Layout> layout = arrays::reshape(layout_, shape)) {
    return view(*layout);
  }
  return copy().reshape(shape);
}

AnyArray AnyArray::reinterpret(DType dtype) const {
  const auto from = static_cast<std::int64_t>(arrays::size_bytes(dtype_));
  const auto to = static_cast<std::int64_t>(arrays::size_bytes(dtype));
  if (from == to) {
    return {dtype, layout_, storage_};
  }
  const bool has_rows = axes() > 0 && (layout_.strides.back() == 1 || layout_.shape.back() == 1);
  Layout layout = layout_;
  bool fits = has_rows && (layout.offset * from) % to == 0;
  for (int axis = 0; fits && axis < axes(); ++axis) {
    std::int64_t& number = axis + 1 < axes() ? layout.strides[axis] : layout.shape[axis];
    number = detail::checked_product(number, from);
    fits = number % to == 0;
    number /= to;
  }
  if (!fits) {
    throw InvalidInput("arrays.reinterpret.size_mismatch",
                       fmt::format("rows of {} of an array of shape {} cannot be seen as {}: the "
                                   "last axis must be contiguous and its bytes a multiple",
                                   name(dtype_), to_string(shape()), name(dtype)));
  }
  layout.strides[axes() - 1] = 1;
  layout.offset = layout.offset * from / to;
  return {dtype, layout, storage_};
}

AnyArray AnyArray::components() const {
  const std::int64_t lanes = lanes_of(dtype_);
  Layout layout = layout_;
  layout.offset *= lanes;
  for (std::int64_t& stride : layout.strides) {
    stride *= lanes;
  }
  layout.shape.push_back(lanes);
  layout.strides.push_back(1);
  return {element_of(dtype_), layout, storage_};
}

AnyArray AnyArray::vectors() const {
  const std::int64_t lanes = axes() == 0 ? 0 : shape().back();
  const DType dtype = vector_of(dtype_, static_cast<int>(std::min<std::int64_t>(lanes, 5)));
  return reinterpret(dtype).squeeze({-1});
}

AnyArray AnyArray::copy(Order order) const {
  AnyArray result(dtype_, shape(), current_stream(stream()), order);
  detail::copy_elements(*this, result);
  return result;
}

AnyArray AnyArray::contiguous(Order order) const {
  return layout_.is_contiguous(order) ? *this : copy(order);
}

void AnyArray::write_bytes(std::span<const std::byte> values) const {
  if (values.size() != size_bytes()) {
    throw InvalidInput("arrays.write.size_mismatch",
                       fmt::format("{} bytes do not make an array of shape {} of {}, which has {}",
                                   values.size(), to_string(shape()), name(dtype_), size_bytes()));
  }
  if (values.empty()) {
    return;
  }
  if (!layout_.is_contiguous()) {
    AnyArray staged(dtype_, shape(), current_stream(stream()));
    staged.write_bytes(values);
    detail::copy_elements(staged, *this);
    return;
  }
  const runtime::StreamRef stream = current_stream(this->stream());
  storage_->use_on(stream);
  runtime::copy_to_device(stream, values,
                          runtime::BufferRef<std::byte>(device(), address(), size_bytes()));
  stream.synchronize();
}

void AnyArray::read_bytes(std::span<std::byte> values) const {
  if (values.size() != size_bytes()) {
    throw InvalidInput("arrays.write.size_mismatch",
                       fmt::format("{} bytes do not hold an array of shape {} of {}, which has {}",
                                   values.size(), to_string(shape()), name(dtype_), size_bytes()));
  }
  if (values.empty()) {
    return;
  }
  const AnyArray source = contiguous();
  const runtime::StreamRef stream = current_stream(this->stream());
  source.storage()->use_on(stream);
  runtime::copy_to_host(
      stream, runtime::BufferRef<const std::byte>(device(), source.address(), source.size_bytes()),
      values);
  stream.synchronize();
}

namespace detail {

const AnyArray& require_dtype(const AnyArray& array, DType dtype) {
  if (array.dtype() != dtype) {
    throw InvalidInput("arrays.typed.wrong_dtype",
                       fmt::format("an array of {} was taken for one of {}: convert it with "
                                   "as_type",
                                   name(array.dtype()), name(dtype)));
  }
  return array;
}

void throw_not_one_element(const Extents& shape) {
  throw InvalidInput("arrays.item.not_one_element",
                     fmt::format("an array of shape {} is not a single value", to_string(shape)));
}

void require_contiguous(const AnyArray& array) {
  if (!array.layout().is_contiguous()) {
    throw InvalidInput("arrays.buffer_on.not_contiguous",
                       fmt::format("a kernel takes an array whose elements follow each other in C "
                                   "order, not one of shape {} with strides {}: pass contiguous(), "
                                   "or data_on(stream) and the strides",
                                   to_string(array.shape()), to_string(array.strides())));
  }
}

}  // namespace detail

}  // namespace rtcg::arrays
