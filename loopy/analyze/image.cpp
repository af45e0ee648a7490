#include "rtcg/loopy/analyze/image.h"

#include <algorithm>

namespace rtcg::loopy {

const Argument* find_image(const Kernel& kernel, std::string_view name) {
  const auto found =
      std::find_if(kernel.arguments.begin(), kernel.arguments.end(), [&](const Argument& each) {
        return each.address_space == AddressSpace::image && each.name == name;
      });
  return found != kernel.arguments.end() ? &*found : nullptr;
}

bool is_surface(const Kernel& kernel, std::string_view name) {
  return find_image(kernel, name) != nullptr &&
         std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [&](const Instruction& each) {
                       return written_variables(each).count(std::string(name)) != 0;
                     });
}

bool has_normalised_coordinates(const ImageReads& reads) {
  return reads.levels > 1 || reads.outside == ImageReads::Outside::wrap ||
         reads.outside == ImageReads::Outside::mirror;
}

std::size_t image_axes(const Argument& image) {
  return image.shape.size() - (image.image_reads.has_layers ? 1 : 0);
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

cgen::Type image_type(const Kernel& kernel, const Argument& image) {
  const auto axes = static_cast<int>(image_axes(image));
  const cgen::Type texel = texel_type(*image.type);
  const cgen::Type type = is_surface(kernel, image.name)
                              ? cgen::surface_of(texel, axes, cgen::ImageAccess::write_only)
                              : cgen::texture_of(texel, axes);
  return image.image_reads.has_layers ? cgen::with_layers(type) : type;
}

cgen::Type texel_type(const cgen::Type& element) {
  const auto* complex = get_if<cgen::Complex>(element);
  return complex != nullptr ? cgen::vector_of(complex->element, 2) : element;
}

}  // namespace rtcg::loopy
