#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/arrays/core/host_view.h"
#include "rtcg/arrays/core/layout.h"
#include "rtcg/arrays/core/storage.h"
#include "rtcg/runtime/device/buffer.h"

namespace rtcg::arrays {

class Expression;
template <Element T>
class Array;

/// An array on a device whose element type is known at run time; Array<T> is the same, typed.
///
/// A handle, as NumPy's: copies and views share the elements and keep them alive. A const array
/// still lets its elements be written. Functions that create, view or describe arrays launch
/// nothing unless they say so; launches and copies are asynchronous on the array's stream, and
/// reading elements on the host waits.
class AnyArray {
 public:
  /// Elements without values. @throws as make_layout; DeviceError runtime.memory.out_of_memory
  AnyArray(DType dtype, const Extents& shape, runtime::StreamRef stream, Order order = Order::c);
  AnyArray(DType dtype, const Layout& layout, std::shared_ptr<Storage> storage);
  /// The values of the expression. @cost  see evaluate()
  AnyArray(const Expression& expression);
  /// Shares the elements.
  template <Element T>
  AnyArray(const Array<T>& array) : AnyArray(array.any()) {}

  AnyArray(const AnyArray&) = default;
  AnyArray(AnyArray&&) noexcept = default;
  ~AnyArray() = default;
  /// Makes this name refer to another array, as Python's `=` does.
  AnyArray& operator=(const AnyArray& other) & = default;
  AnyArray& operator=(AnyArray&& other) & = default;
  /// `x(index) = value`: writes elements, as Python's `x[index] = value` does.
  void operator=(const AnyArray& other) &&;
  void operator=(const Expression& expression) &&;

  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  [[nodiscard]] const Extents& shape() const noexcept { return layout_.shape; }
  /// In elements. @unit elements
  [[nodiscard]] const Extents& strides() const noexcept { return layout_.strides; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] int axes() const noexcept { return layout_.axes(); }
  [[nodiscard]] std::int64_t count() const { return layout_.count(); }
  [[nodiscard]] std::size_t size_bytes() const;
  [[nodiscard]] runtime::Device device() const noexcept { return storage_->device(); }
  /// The stream on which it was made; other streams may use it too.
  [[nodiscard]] runtime::StreamRef stream() const noexcept { return storage_->stream(); }
  /// The address of the element whose indices are all 0. It neither keeps the array alive nor
  /// orders work. Submit work on it to stream(); otherwise make that work wait for what filled the
  /// elements, and keep the array until the work is done. address_on() does both.
  [[nodiscard]] runtime::DeviceAddress address() const noexcept;
  /// The same for work that you submit to `stream` next. That work waits for what other streams did
  /// with the elements, and later work of other streams waits for it. The memory is not reused
  /// before the stream has passed the work, even if the array is destroyed earlier.
  [[nodiscard]] runtime::DeviceAddress address_on(runtime::StreamRef stream) const;
  /// The argument of a runtime::Function for a pointer: `f(stream, shape, x, n)`. As address_on().
  ///
  /// @throws InvalidInput  arrays.typed.wrong_dtype; arrays.buffer_on.not_contiguous: the elements
  ///         do not follow each other in C order
  template <Element U>
  [[nodiscard]] runtime::BufferRef<U> buffer_on(runtime::StreamRef stream) const;
  [[nodiscard]] const std::shared_ptr<Storage>& storage() const noexcept { return storage_; }

  // Views.
  /// x(0, Slice{1, 5}, ellipsis, newaxis). @throws as slice()
  template <class... Entries>
  [[nodiscard]] AnyArray operator()(const Entries&... entries) const {
    const std::array<Index, sizeof...(Entries)> index = {Index(entries)...};
    return view(slice(layout_, index));
  }
  [[nodiscard]] AnyArray view(const Layout& layout) const { return {dtype_, layout, storage_}; }
  [[nodiscard]] AnyArray transposed() const { return view(transpose(layout_)); }
  [[nodiscard]] AnyArray transposed(const Extents& axes) const {
    return view(transpose(layout_, axes));
  }
  [[nodiscard]] AnyArray swap_axes(std::int64_t a, std::int64_t b) const {
    return view(arrays::swap_axes(layout_, a, b));
  }
  [[nodiscard]] AnyArray move_axis(std::int64_t from, std::int64_t to) const {
    return view(arrays::move_axis(layout_, from, to));
  }
  [[nodiscard]] AnyArray broadcast_to(const Extents& shape) const {
    return view(arrays::broadcast_to(layout_, shape));
  }
  [[nodiscard]] AnyArray squeeze() const { return view(arrays::squeeze(layout_)); }
  [[nodiscard]] AnyArray squeeze(const Extents& axes) const {
    return view(arrays::squeeze(layout_, axes));
  }
  [[nodiscard]] AnyArray expand_dims(std::int64_t axis) const {
    return view(arrays::expand_dims(layout_, axis));
  }
  [[nodiscard]] AnyArray flip(const Extents& axes) const {
    return view(arrays::flip(layout_, axes));
  }
  /// One length may be -1. A view if the layout allows it, otherwise a copy.
  ///
  /// @throws InvalidInput  as resolve_shape
  [[nodiscard]] AnyArray reshape(const Extents& shape) const;
  /// `reshape(2, -1)`.
  template <std::integral... Lengths>
  requires(sizeof...(Lengths) > 0) [[nodiscard]] AnyArray reshape(Lengths... lengths) const {
    return reshape(Extents{static_cast<std::int64_t>(lengths)...});
  }
  [[nodiscard]] AnyArray ravel() const { return reshape({-1}); }
  /// The same bytes as elements of another type, whose size may differ if the last axis is
  /// contiguous.
  ///
  /// @throws InvalidInput  arrays.reinterpret.size_mismatch
  [[nodiscard]] AnyArray reinterpret(DType dtype) const;
  /// The components of short vectors along one more axis, the last; of numbers, an axis of
  /// length 1.
  [[nodiscard]] AnyArray components() const;
  /// The last axis as short vectors: the inverse of components().
  ///
  /// @throws InvalidInput  arrays.vector_of.no_vector, arrays.reinterpret.size_mismatch
  [[nodiscard]] AnyArray vectors() const;

  // Copies and writes; one launch or copy each.
  [[nodiscard]] AnyArray copy(Order order = Order::c) const;
  /// Converted; a copy even when the type is the same.
  [[nodiscard]] AnyArray as_type(DType dtype) const;
  /// This array if its elements are contiguous in that order, otherwise a copy that is.
  [[nodiscard]] AnyArray contiguous(Order order = Order::c) const;
  /// Writes the values of the expression, converted and broadcast, into the elements. Operands may
  /// overlap with them.
  ///
  /// @throws InvalidInput  arrays.broadcast.shape_mismatch, arrays.assign.repeated_elements;
  ///         arrays.assign.narrowing: the conversion would lose more than digits, see
  ///         is_same_kind()
  void assign(const Expression& value) const;

  /// Copies host data of the array's type in C order to the elements. @cost waits for the copy
  ///
  /// @throws InvalidInput  arrays.write.size_mismatch
  void write_bytes(std::span<const std::byte> values) const;
  /// The elements in C order. @cost waits for the work on the array
  void read_bytes(std::span<std::byte> values) const;
  /// The elements in C order, and the value of an array of one element: `x.item<float>()`.
  ///
  /// @throws InvalidInput  arrays.assign.narrowing, arrays.item.not_one_element
  /// @cost   waits for the work on the array; a launch where elements are converted
  template <Element T>
  [[nodiscard]] std::vector<T> to_vector() const;
  template <Element T>
  [[nodiscard]] T item() const;

 private:
  DType dtype_;
  Layout layout_;
  std::shared_ptr<Storage> storage_;
};

/// Nested brackets as NumPy prints them, long axes shortened. @cost  copies to the host
[[nodiscard]] std::string to_string(const AnyArray& array);
/// The same for the values of an expression.
std::ostream& operator<<(std::ostream& out, const AnyArray& array);

namespace detail {
/// @throws InvalidInput  arrays.typed.wrong_dtype
const AnyArray& require_dtype(const AnyArray& array, DType dtype);
[[noreturn]] void throw_not_one_element(const Extents& shape);
/// Of arrays of one shape. @cost  at most one launch
void copy_elements(const AnyArray& from, const AnyArray& to);
/// Converts on the way into an array of that type. @throws InvalidInput  arrays.assign.narrowing
[[nodiscard]] AnyArray evaluate_as(const Expression& expression, DType dtype);
/// The array itself when it has that type. @throws  as evaluate_as
[[nodiscard]] AnyArray fitted_array(const AnyArray& array, DType dtype);
/// @throws InvalidInput  arrays.buffer_on.not_contiguous
void require_contiguous(const AnyArray& array);
}  // namespace detail

/// An array of elements of type T on a device. See AnyArray.
template <Element T>
class Array {
 public:
  using Value = T;

  /// One axis with a copy of host data.
  explicit Array(std::span<const T> values, runtime::StreamRef stream = current_stream())
      : Array(values, Extents{static_cast<std::int64_t>(values.size())}, stream) {}
  explicit Array(const std::vector<T>& values, runtime::StreamRef stream = current_stream())
      : Array(values, Extents{static_cast<std::int64_t>(values.size())}, stream) {}
  /// A copy of host data in C order.
  ///
  /// @throws InvalidInput  arrays.write.size_mismatch
  Array(std::span<const T> values, const Extents& shape,
        runtime::StreamRef stream = current_stream())
      : any_(dtype_of_type<T>, shape, stream) {
    write(values);
  }
  Array(const std::vector<T>& values, const Extents& shape,
        runtime::StreamRef stream = current_stream())
      : any_(dtype_of_type<T>, shape, stream) {
    write(values);
  }
  /// A copy, in C order, of the elements of a view of the host's memory.
  ///
  /// @throws InvalidInput  as make_layout
  template <HostView View>
  requires std::same_as<std::remove_cv_t<typename View::element_type>, T>
  explicit Array(const View& view, runtime::StreamRef stream = current_stream())
      : any_(dtype_of_type<T>, layout_of(view).shape, stream) {
    write(view);
  }
  // NOLINTBEGIN(google-explicit-constructor): Array<float> z = 2 * x + sin(y);
  /// The values of the expression, converted to T. @throws InvalidInput  arrays.assign.narrowing
  Array(const Expression& expression) : any_(detail::evaluate_as(expression, dtype_of_type<T>)) {}
  operator const AnyArray&() const noexcept { return any_; }
  // NOLINTEND(google-explicit-constructor)
  /// Shares the elements. @throws InvalidInput  arrays.typed.wrong_dtype
  explicit Array(const AnyArray& any) : any_(detail::require_dtype(any, dtype_of_type<T>)) {}

  Array(const Array&) = default;
  Array(Array&&) noexcept = default;
  ~Array() = default;
  Array& operator=(const Array& other) & = default;
  Array& operator=(Array&& other) & = default;
  void operator=(const Array& other) && { std::move(any_) = other.any_; }
  void operator=(const Expression& expression) && { any_.assign(expression); }

  [[nodiscard]] const AnyArray& any() const noexcept { return any_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_of_type<T>; }
  [[nodiscard]] const Extents& shape() const noexcept { return any_.shape(); }
  /// @unit elements
  [[nodiscard]] const Extents& strides() const noexcept { return any_.strides(); }
  [[nodiscard]] const Layout& layout() const noexcept { return any_.layout(); }
  [[nodiscard]] int axes() const noexcept { return any_.axes(); }
  [[nodiscard]] std::int64_t count() const { return any_.count(); }
  [[nodiscard]] std::size_t size_bytes() const { return any_.size_bytes(); }
  [[nodiscard]] runtime::Device device() const noexcept { return any_.device(); }
  [[nodiscard]] runtime::StreamRef stream() const noexcept { return any_.stream(); }
  [[nodiscard]] runtime::DeviceAddress address() const noexcept { return any_.address(); }
  /// A C++ pointer to the element whose indices are all 0, for work on stream() only: work on other
  /// streams is not ordered with other work on the elements, and the memory is reused as soon as
  /// the array is destroyed. Pass the array itself to a Function, or use data_on().
  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(any_.address()); }
  /// The same for work that you submit to `stream` next, as of AnyArray::address_on().
  ///
  ///     cublas.call("cublasSaxpy_v2", handle_of(stream), n, &two, x.data_on(stream), 1, ...);
  [[nodiscard]] T* data_on(runtime::StreamRef stream) const {
    return reinterpret_cast<T*>(any_.address_on(stream));
  }
  [[nodiscard]] runtime::DeviceAddress address_on(runtime::StreamRef stream) const {
    return any_.address_on(stream);
  }
  template <Element U>
  requires std::same_as<U, T>
  [[nodiscard]] runtime::BufferRef<U> buffer_on(runtime::StreamRef stream) const {
    return any_.template buffer_on<U>(stream);
  }

  template <class... Entries>
  [[nodiscard]] Array operator()(const Entries&... entries) const {
    return Array(any_(entries...));
  }
  [[nodiscard]] Array transposed() const { return Array(any_.transposed()); }
  [[nodiscard]] Array transposed(const Extents& axes) const { return Array(any_.transposed(axes)); }
  [[nodiscard]] Array swap_axes(std::int64_t a, std::int64_t b) const {
    return Array(any_.swap_axes(a, b));
  }
  [[nodiscard]] Array move_axis(std::int64_t from, std::int64_t to) const {
    return Array(any_.move_axis(from, to));
  }
  [[nodiscard]] Array broadcast_to(const Extents& shape) const {
    return Array(any_.broadcast_to(shape));
  }
  [[nodiscard]] Array squeeze() const { return Array(any_.squeeze()); }
  [[nodiscard]] Array squeeze(const Extents& axes) const { return Array(any_.squeeze(axes)); }
  [[nodiscard]] Array expand_dims(std::int64_t axis) const { return Array(any_.expand_dims(axis)); }
  [[nodiscard]] Array flip(const Extents& axes) const { return Array(any_.flip(axes)); }
  [[nodiscard]] Array reshape(const Extents& shape) const { return Array(any_.reshape(shape)); }
  template <std::integral... Lengths>
  requires(sizeof...(Lengths) > 0) [[nodiscard]] Array reshape(Lengths... lengths) const {
    return Array(any_.reshape(lengths...));
  }
  [[nodiscard]] Array ravel() const { return Array(any_.ravel()); }
  template <Element U>
  [[nodiscard]] Array<U> reinterpret() const {
    return Array<U>(any_.reinterpret(dtype_of_type<U>));
  }
  [[nodiscard]] auto components() const {
    return Array<typename detail::ShortVectorParts<T>::Component>(any_.components());
  }
  [[nodiscard]] Array copy(Order order = Order::c) const { return Array(any_.copy(order)); }
  template <Element U>
  [[nodiscard]] Array<U> as() const {
    return Array<U>(any_.as_type(dtype_of_type<U>));
  }
  [[nodiscard]] Array contiguous(Order order = Order::c) const {
    return Array(any_.contiguous(order));
  }
  void assign(const Expression& value) const { any_.assign(value); }

  /// Host data in C order to the elements. @cost waits for the copy
  ///
  /// @throws InvalidInput  arrays.write.size_mismatch
  void write(std::span<const T> values) const { any_.write_bytes(std::as_bytes(values)); }
  void write(const std::vector<T>& values) const {
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<std::uint8_t> bytes(values.begin(), values.end());
      any_.write_bytes(std::as_bytes(std::span(bytes)));
    } else {
      write(std::span<const T>(values));
    }
  }
  /// Copies the elements of a view of host memory, which may have any layout.
  ///
  /// @throws InvalidInput  arrays.write.shape_mismatch
  /// @cost   waits for the copy; the host first packs the elements of a view with gaps
  template <HostView View>
  requires std::same_as<std::remove_cv_t<typename View::element_type>, T>
  void write(const View& view) const {
    detail::write_view(any_, std::to_address(view.data_handle()), layout_of(view));
  }
  /// The elements into such a view. @throws, @cost  as above
  template <HostView View>
  requires std::same_as<typename View::element_type, T>
  void read(const View& view) const {
    detail::read_view(any_, std::to_address(view.data_handle()), layout_of(view));
  }
  /// The elements in C order. @cost waits for the work on the array
  void read(std::span<T> values) const { any_.read_bytes(std::as_writable_bytes(values)); }
  [[nodiscard]] std::vector<T> to_vector() const {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::uint8_t> bytes(size_bytes());
      any_.read_bytes(std::as_writable_bytes(std::span(bytes)));
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else {
      std::vector<T> values(size_bytes() / sizeof(T));
      read(values);
      return values;
    }
  }
  /// The value of an array of one element. @cost waits for the work on the array
  ///
  /// @throws InvalidInput  arrays.item.not_one_element
  [[nodiscard]] T item() const {
    if (count() != 1) {
      detail::throw_not_one_element(shape());
    }
    return to_vector()[0];
  }

 private:
  AnyArray any_;
};

template <Element U>
runtime::BufferRef<U> AnyArray::buffer_on(runtime::StreamRef stream) const {
  static_cast<void>(detail::require_dtype(*this, dtype_of_type<U>));
  detail::require_contiguous(*this);
  return {device(), address_on(stream), static_cast<std::size_t>(count())};
}

template <Element T>
std::vector<T> AnyArray::to_vector() const {
  return Array<T>(detail::fitted_array(*this, dtype_of_type<T>)).to_vector();
}

template <Element T>
T AnyArray::item() const {
  return Array<T>(detail::fitted_array(*this, dtype_of_type<T>)).item();
}

template <Element T>
[[nodiscard]] std::string to_string(const Array<T>& array) {
  return to_string(array.any());
}

}  // namespace rtcg::arrays
