#include "rtcg/loopy/execute/struct_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {

FieldBytes::FieldBytes(const Argument& field, const ArrayData& data,
                       const IntegerValues& parameters)
    : struct_bytes_(static_cast<std::size_t>(field.field_of->struct_bytes)),
      number_bytes_(
          static_cast<std::size_t>(cgen::size_bytes(data.kind) * data.numbers_an_element)) {
  const auto value = [&](const Expr& expr) {
    const auto number = evaluate_integer(expr, parameters);
    if (!number) {
      throw InvalidInput("loopy.argument_data.unknown_length",
                         fmt::format("{} of field '{}' cannot be computed: give a value to each "
                                     "parameter",
                                     to_string(expr), field.name));
    }
    return static_cast<std::size_t>(*number);
  };
  places_ = {value(field.offset_elements) * number_bytes_ % struct_bytes_};
  const auto inner = static_cast<std::size_t>(field.field_of->inner_axes);
  for (std::size_t axis = field.shape.size() - inner; axis < field.shape.size(); ++axis) {
    const std::size_t stride_bytes = value(field.strides_elements[axis]) * number_bytes_;
    std::vector<std::size_t> places;
    for (const std::size_t place : places_) {
      for (std::size_t index = 0; index < value(field.shape[axis]); ++index) {
        places.push_back(place + index * stride_bytes);
      }
    }
    places_ = std::move(places);
  }
}

void FieldBytes::copy(const std::vector<std::byte>& from, std::vector<std::byte>& to) const {
  const std::size_t end = std::min(from.size(), to.size());
  for (std::size_t begin = 0; begin < end; begin += struct_bytes_) {
    for (const std::size_t place : places_) {
      if (begin + place + number_bytes_ <= end) {
        std::memcpy(to.data() + begin + place, from.data() + begin + place, number_bytes_);
      }
    }
  }
}

bool is_field_of(const Argument& argument, const std::string& array) {
  return argument.field_of && argument.field_of->array == array;
}

std::vector<std::byte> struct_memory(const Kernel& kernel, const std::string& array,
                                     const ArgumentData& fields, const IntegerValues& parameters) {
  std::vector<std::byte> memory;
  for (const Argument& argument : kernel.arguments) {
    const auto data = fields.find(argument.name);
    if (!is_field_of(argument, array) || data == fields.end()) {
      continue;
    }
    const auto struct_bytes = static_cast<std::size_t>(argument.field_of->struct_bytes);
    const std::vector<std::byte>& bytes = data->second.bytes;
    const std::size_t structs = (bytes.size() + struct_bytes - 1) / struct_bytes;
    memory.resize(std::max(memory.size(), structs * struct_bytes));
    FieldBytes(argument, data->second, parameters).copy(bytes, memory);
  }
  return memory;
}

}  // namespace rtcg::loopy
