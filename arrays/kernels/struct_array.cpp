#include "rtcg/arrays/kernels/struct_array.h"

#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/kernel_signature.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/target_of.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::arrays {

std::optional<DType> detail::dtype_of_field(const cgen::LaidOutField& field) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool is_small = dtype == DType::f16 || dtype == DType::bf16;
    if (!is_complex(dtype) && !is_small && value_type(dtype) == field.type) {
      return dtype;
    }
  }
  return std::nullopt;
}

namespace {

/// The structs whose layouts devices have confirmed, by their definitions.
class KnownLayouts {
 public:
  static KnownLayouts& instance() {
    static KnownLayouts& known = *new KnownLayouts;  // as long as kernels are
    return known;
  }
  void insert(const runtime::Backend* backend, const std::string& definition) {
    const std::lock_guard lock(mutex_);
    known_[backend].insert(definition);
  }
  bool contains(const runtime::Backend* backend, const std::string& definition) {
    const std::lock_guard lock(mutex_);
    return known_[backend].count(definition) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<const runtime::Backend*, std::set<std::string>> known_;
};

}  // namespace

void check_struct_layout(runtime::StreamRef stream, const cgen::LaidOutStruct& type) {
  const runtime::Device device = stream.device();
  const cgen::Dialect dialect = loopy::dialect_of(device);
  const std::vector<std::int32_t> expected = cgen::expected_layout(type);
  const cgen::Module module{"layout", {type.definition, cgen::layout_kernel(type)}};
  const SourceText text = cgen::print_module(module, dialect);
  const std::string key = fmt::format("{}{}", text.text, fmt::join(expected, ","));
  if (KnownLayouts::instance().contains(&device.backend(), key)) {
    return;
  }
  const auto fields = static_cast<std::int64_t>(expected.size());
  const AnyArray found(DType::i32, {fields}, stream);
  runtime::ArgumentPack pack;
  pack.add(found.address());
  runtime::Program::compile(device, text, {}, type.name)
      .kernel(type.name + "_layout")
      .launch(stream, {{1}, {1}}, pack);
  const std::vector<std::int32_t> offsets = Array<std::int32_t>(found).to_vector();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (offsets[k] != expected[k]) {
      const bool is_size = k == type.fields.size();
      throw InvalidInput(
          "arrays.check_struct_layout.mismatch",
          fmt::format("{} '{}' has {} of {} bytes on {}, not of {}: lay it out as the device does",
                      is_size ? "struct" : "field", is_size ? type.name : type.fields[k].name,
                      is_size ? "a size" : "an offset", offsets[k],
                      runtime::to_string(device.info().id), expected[k]));
    }
  }
  KnownLayouts::instance().insert(&device.backend(), key);
}

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
                       fmt::format("structs of {} bytes are arrays of u8 with a contiguous last "
                                   "axis of this length; this is {} of shape {}",
                                   bytes, name(structs.dtype()), to_string(structs.shape())));
  }
  return layout;
}

AnyArray field_of(const AnyArray& structs, const cgen::LaidOutStruct& type,
                  const std::string& field) {
  const auto offset = static_cast<std::int64_t>(type.offset_bytes(field));
  for (const cgen::LaidOutField& one : type.fields) {
    const std::optional<DType> dtype = detail::dtype_of_field(one);
    if (one.name != field) {
      continue;
    }
    if (!dtype) {
      break;
    }
    // every number is aligned to its size
    const auto size = static_cast<std::int64_t>(size_bytes(*dtype));
    const auto steps = static_cast<std::int64_t>(type.size_bytes) / size;
    Layout layout = layout_of_structs(structs, type.size_bytes);
    layout.offset = layout.offset * steps + offset / size;
    for (std::int64_t& stride : layout.strides) {
      stride *= steps;
    }
    return {*dtype, layout, structs.storage()};
  }
  throw InvalidInput("arrays.field_of.no_dtype",
                     fmt::format("field '{}' of '{}' is not a number of a type that arrays have",
                                 field, type.name));
}

}  // namespace rtcg::arrays
