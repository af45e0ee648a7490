#include "rtcg/loopy/analyze/image.h"

namespace rtcg::loopy {

const Argument* find_image(const Kernel& kernel, std::string_view name) {
  const Argument* argument = find_argument(kernel, name);
  return argument != nullptr && argument->address_space == AddressSpace::image ? argument : nullptr;
}

const Argument* sampled_image(const Kernel& kernel, const Call& call) {
  if (call.function != sample_function || call.arguments.empty() ||
      find_rule(kernel, call.function) != nullptr ||
      find_typed_function(kernel, call.function) != nullptr) {
    return nullptr;
  }
  const Name* name = get_if<Name>(call.arguments.front());
  return name != nullptr ? find_image(kernel, name->name) : nullptr;
}

cgen::Type texel_type(const cgen::Type& element) {
  const auto* complex = get_if<cgen::Complex>(element);
  return complex != nullptr ? cgen::vector_of(complex->element, 2) : element;
}

}  // namespace rtcg::loopy
