#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rtcg/arrays/core/array.h"

// Arrays of structs: arrays of bytes whose last axis is one struct long.

namespace rtcg::cgen {
struct LaidOutField;  // of cgen/build/struct_builder.h, which is long to compile
struct LaidOutStruct;
}  // namespace rtcg::cgen

namespace rtcg::arrays {

/// A view of one field of all structs.
///
/// @shape structs  [..., size of the struct in bytes], of u8; result [...]
/// @throws InvalidInput  cgen.struct_builder.unknown_field; arrays.field_of.no_dtype: the field's
///         type is not a type of elements; arrays.field_of.not_structs
[[nodiscard]] AnyArray field_of(const AnyArray& structs, const cgen::LaidOutStruct& type,
                                const std::string& field);

/// The layout of the structs themselves, counted in structs.
///
/// @throws InvalidInput  arrays.field_of.not_structs
[[nodiscard]] Layout layout_of_structs(const AnyArray& structs, std::size_t struct_bytes);

/// An array of one axis with structs of the host.
///
/// @cost  waits for the copy
template <class Struct>
[[nodiscard]] AnyArray structs_from_host(std::span<const Struct> structs,
                                         runtime::StreamRef stream = current_stream()) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const AnyArray result(
      DType::u8,
      {static_cast<std::int64_t>(structs.size()), static_cast<std::int64_t>(sizeof(Struct))},
      stream);
  result.write_bytes(std::as_bytes(structs));
  return result;
}
template <class Struct>
[[nodiscard]] AnyArray structs_from_host(const std::vector<Struct>& structs,
                                         runtime::StreamRef stream = current_stream()) {
  return structs_from_host(std::span<const Struct>(structs), stream);
}

/// Compares the offsets of a struct's fields and its size with those on the stream's device.
///
/// @throws InvalidInput  arrays.check_struct_layout.mismatch: the device has another layout than
///         `type`
/// @cost   the first time for a device and a struct one launch and its compilation; waits for it
void check_struct_layout(runtime::StreamRef stream, const cgen::LaidOutStruct& type);

namespace detail {
/// The type of the field's elements, if arrays have it.
[[nodiscard]] std::optional<DType> dtype_of_field(const cgen::LaidOutField& field);
}  // namespace detail

/// Copies all structs to the host, in C order. @cost  waits for the work on the array
template <class Struct>
[[nodiscard]] std::vector<Struct> structs_to_host(const AnyArray& structs) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const Layout layout = layout_of_structs(structs, sizeof(Struct));
  std::vector<Struct> result(static_cast<std::size_t>(layout.count()));
  structs.read_bytes(std::as_writable_bytes(std::span(result)));
  return result;
}

}  // namespace rtcg::arrays
