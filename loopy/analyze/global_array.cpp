#include "rtcg/loopy/analyze/global_array.h"

namespace rtcg::loopy {

std::optional<Argument> find_global_array(const Kernel& kernel, std::string_view name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    return argument->is_array ? std::optional(*argument) : std::nullopt;
  }
  const Temporary* temporary = find_temporary(kernel, name);
  if (temporary == nullptr || temporary->address_space != AddressSpace::global ||
      temporary->shape.empty() || !temporary->initial_values.empty()) {
    return std::nullopt;
  }
  Argument array;
  array.name = temporary->name;
  array.type = temporary->type;
  array.is_array = true;
  array.shape = temporary->shape;
  array.strides_elements = temporary->strides_elements;
  return array;
}

}  // namespace rtcg::loopy
