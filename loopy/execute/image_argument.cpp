#include "rtcg/loopy/execute/image_argument.h"

#include <array>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"

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

runtime::ImageShape shape_of(const Argument& argument, const IntegerValues& sizes) {
  runtime::ImageShape shape;
  shape.kind = texel_kind(cgen::scalar_kind(number_type(*argument.type)).value());
  shape.channels = numbers_in(*argument.type);
  std::array<std::size_t, 3> lengths = {0, 0, 0};
  const std::size_t axes = argument.shape.size();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    lengths[axis] = static_cast<std::size_t>(
        evaluate_integer(argument.shape[axes - 1 - axis], sizes).value_or(0));
  }
  shape.extent = {lengths[0], lengths[1], lengths[2]};
  return shape;
}

runtime::TextureOptions options_of(const ImageReads& reads) {
  runtime::TextureOptions options;
  if (reads.between == ImageReads::Between::linear) {
    options.filter = runtime::FilterMode::linear;
  }
  if (reads.outside == ImageReads::Outside::border) {
    options.address = runtime::AddressMode::border;
  }
  return options;
}

}  // namespace

ImageArgument::ImageArgument(runtime::StreamRef stream, const Argument& argument,
                             const IntegerValues& sizes, const ArrayData& numbers)
    : image_(stream.device(), shape_of(argument, sizes)),
      texture_(image_, options_of(argument.image_reads)) {
  runtime::copy_to_image(stream, numbers.bytes, image_);
  stream.synchronize();
}

}  // namespace rtcg::loopy
