#include "rtcg/arrays/kernels/struct_array.h"

#include <fmt/format.h>

#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

std::optional<DType> dtype_of_field(const cgen::Type& type) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool is_small = dtype == DType::f16 || dtype == DType::bf16;
    if (!is_complex(dtype) && !is_small && value_type(dtype) == type) {
      return dtype;
    }
  }
  return std::nullopt;
}

}  // namespace

Layout layout_of_structs(const AnyArray& structs, std::size_t struct_bytes) {
  Layout layout = structs.layout();
  const auto bytes = static_cast<std::int64_t>(struct_bytes);
  bool fits = structs.dtype() == DType::u8 && layout.axes() > 0 && layout.shape.back() == bytes &&
              (layout.strides.back() == 1 || bytes == 1) && layout.offset % bytes == 0;
  if (fits) {
    layout.shape.pop_back();
    layout.strides.pop_back();
    layout.offset /= bytes;
    for (std::int64_t& stride : layout.strides) {
      fits = fits && stride % bytes == 0;
      stride /= bytes;
    }
  }
  if (!fits) {
    throw InvalidInput("arrays.field_of.not_structs",
                       fmt::format("structs of {} bytes are arrays of u8 whose last axis is so "
                                   "long and contiguous; this is {} of shape {}",
                                   bytes, name(structs.dtype()), to_string(structs.shape())));
  }
  return layout;
}

AnyArray field_of(const AnyArray& structs, const cgen::LaidOutStruct& type,
                  const std::string& field) {
  const auto offset = static_cast<std::int64_t>(type.offset_bytes(field));
  for (const cgen::LaidOutField& one : type.fields) {
    const std::optional<DType> dtype = dtype_of_field(one.type);
    if (one.name != field) {
      continue;
    }
    if (!dtype) {
      break;
    }
    // every number lies at a multiple of its size
    const auto size = static_cast<std::int64_t>(size_bytes(*dtype));
    const auto steps = static_cast<std::int64_t>(type.size_bytes) / size;
    Layout layout = layout_of_structs(structs, type.size_bytes);
    layout.offset = layout.offset * steps + offset / size;
    for (std::int64_t& stride : layout.strides) {
      stride *= steps;
    }
    return {*dtype, layout, structs.storage()};
  }
  throw InvalidInput(
      "arrays.field_of.no_dtype",
      fmt::format("field '{}' of '{}' is no number that arrays have", field, type.name));
}

}  // namespace rtcg::arrays
