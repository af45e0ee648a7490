#include "rtcg/loopy/execute/image_argument.h"

#include <array>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/interpret/mipmap.h"

namespace rtcg::loopy {
namespace {

runtime::TexelKind texel_kind(cgen::ScalarKind kind) {
  switch (kind) {
    case cgen::ScalarKind::f32:
      return runtime::TexelKind::f32;
    case cgen::ScalarKind::i32:
      return runtime::TexelKind::i32;
    case cgen::ScalarKind::u8:
      return runtime::TexelKind::u8;
    default:
      return runtime::TexelKind::f64;
  }
}

/// The slowest axis first.
std::vector<std::int64_t> lengths_of(const Argument& argument, const IntegerValues& sizes) {
  std::vector<std::int64_t> lengths;
  for (const Expr& each : argument.shape) {
    lengths.push_back(evaluate_integer(each, sizes).value_or(0));
  }
  return lengths;
}

runtime::ImageShape shape_of(const Argument& argument, const IntegerValues& sizes) {
  runtime::ImageShape shape;
  shape.kind = texel_kind(cgen::scalar_kind(number_type(*argument.type)).value());
  shape.channels = numbers_in(*argument.type);
  shape.levels = argument.image_reads.levels;
  const std::vector<std::int64_t> all = lengths_of(argument, sizes);
  std::array<std::size_t, 3> lengths = {0, 0, 0};
  const std::size_t axes = image_axes(argument);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    lengths[axis] = static_cast<std::size_t>(all[all.size() - 1 - axis]);
  }
  shape.extent = {lengths[0], lengths[1], lengths[2]};
  if (argument.image_reads.has_layers) {
    shape.layers = static_cast<std::size_t>(all.front());
  }
  return shape;
}

runtime::AddressMode address_of(ImageReads::Outside outside) {
  switch (outside) {
    case ImageReads::Outside::clamp:
      return runtime::AddressMode::clamp;
    case ImageReads::Outside::border:
      return runtime::AddressMode::border;
    case ImageReads::Outside::wrap:
      return runtime::AddressMode::wrap;
    case ImageReads::Outside::mirror:
      break;
  }
  return runtime::AddressMode::mirror;
}

runtime::FilterMode filter_of(ImageReads::Between between) {
  return between == ImageReads::Between::linear ? runtime::FilterMode::linear
                                                : runtime::FilterMode::point;
}

std::variant<runtime::Texture, runtime::Surface> access_to(const runtime::ImageArray& image,
                                                           const Kernel& kernel,
                                                           const Argument& argument) {
  if (is_surface(kernel, argument.name)) {
    return runtime::Surface(image);
  }
  return runtime::Texture(image, texture_options(argument.image_reads));
}

}  // namespace

runtime::TextureOptions texture_options(const ImageReads& reads) {
  return {address_of(reads.outside), filter_of(reads.between), has_normalised_coordinates(reads),
          filter_of(reads.between_levels)};
}

ImageArgument::ImageArgument(runtime::StreamRef stream, const Kernel& kernel,
                             const Argument& argument, const IntegerValues& sizes,
                             const ArrayData& numbers)
    : name_(argument.name),
      image_(stream.device(), shape_of(argument, sizes)),
      access_(access_to(image_, kernel, argument)) {
  const std::vector<MipmapLevel> levels =
      make_mipmap(numbers, lengths_of(argument, sizes), argument.image_reads.levels);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    runtime::copy_to_image(stream, runtime::host_end(levels[i].data.bytes, {}), image_,
                           {.level = static_cast<int>(i)});
  }
  stream.synchronize();
}

NamedArgument ImageArgument::argument() const {
  return std::visit([&](const auto& access) { return arg(name_, access); }, access_);
}

}  // namespace rtcg::loopy
