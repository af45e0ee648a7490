#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/image.h"
#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;
using runtime::FilterMode;
using runtime::ImageArray;
using runtime::TexelKind;
using runtime::Texture;
using runtime::TextureOptions;

template <class T>
std::shared_ptr<const ImageArray> image_of(runtime::Device device, const runtime::ImageShape& shape,
                                           const std::vector<T>& texels) {
  auto image = std::make_shared<const ImageArray>(device, shape);
  copy_to_image(device.default_stream(), texels, *image);
  device.synchronize();
  return image;
}

/// A texture of texels, made anew for each device.
template <class T>
Argument texture_argument(const runtime::ImageShape& shape, const std::vector<T>& texels,
                          const TextureOptions& options = {}) {
  const auto kept = std::make_shared<std::vector<Texture>>();
  return {{}, false, {}, [=](runtime::Device device) {
            return kept->emplace_back(*image_of(device, shape, texels), options).ref().handle;
          }};
}

/// A surface of texels.
template <class T>
Argument surface_argument(const runtime::ImageShape& shape, const std::vector<T>& texels) {
  const auto kept = std::make_shared<std::vector<runtime::Surface>>();
  return {{}, false, {}, [=](runtime::Device device) {
            return kept->emplace_back(*image_of(device, shape, texels)).ref().handle;
          }};
}

TEST(Images, AreFetchedBetweenTexels) {
  const auto picture = param(texture_of(f32), "picture");
  const auto target = param(pointer_to(f32), "target");
  // in a function, which takes the picture and, in OpenCL, its sampler
  const auto x = param(f32, "x");
  const Statement look = function(f32, "look", {picture, x}, return_(fetch(picture, {x, 1.0F})));
  const Expr place = 0.25F * cast(f32, index_of_thread);
  run_everywhere(
      {.module = {"images",
                  {look,
                   kernel("k", {picture, target},
                          assign(target[index_of_thread],
                                 call(variable("look", function_type(f32, {picture.type(), f32})),
                                      {picture, place})))}},
       .shape = {1, 8},
       .arguments = {
           texture_argument({TexelKind::f32, 1, {2, 2, 0}}, std::vector<float>{0, 4, 8, 12},
                            {.filter = FilterMode::linear}),
           out(std::vector<float>{4, 4, 4, 5, 6, 7, 8, 8})}});
}

TEST(Images, HaveTexelsOfSeveralChannels) {
  const auto picture = param(texture_of(float4, 1), "picture");
  const auto target = param(pointer_to(f32), "target");
  const Expr texel = variable("texel", float4);
  BlockBuilder body;
  body << declare(float4, "texel", fetch(picture, {cast(f32, index_of_thread) + 0.5F}))
       << assign(target[index_of_thread], texel.member("x") + 10.0F * texel.member("w"));
  run_everywhere({.module = {"images", {kernel("k", {picture, target}, body)}},
                  .shape = {1, 2},
                  .arguments = {texture_argument({TexelKind::f32, 4, {2, 0, 0}},
                                                 std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}),
                                out(std::vector<float>{41, 85})}});
}

TEST(Images, HaveTexelsOfIntegersAndDoubles) {
  const auto bytes = param(texture_of(u8, 3), "bytes");
  const auto words = param(texture_of(i32, 1), "words");
  const auto target = param(pointer_to(i32), "target");
  const Expr at = cast(f32, index_of_thread) + 0.5F;
  run_everywhere(
      {.module = {"images",
                  {kernel("k", {bytes, words, target},
                          assign(target[index_of_thread],
                                 fetch(words, {at}) + fetch(bytes, {0.5F, 0.5F, at})))}},
       .shape = {1, 2},
       .arguments = {
           texture_argument({TexelKind::u8, 1, {2, 2, 2}},
                            std::vector<unsigned char>{1, 2, 3, 4, 200, 6, 7, 8}),
           texture_argument({TexelKind::i32, 1, {2, 0, 0}}, std::vector<int>{-70000, 100}),
           out(std::vector<int>{-69999, 300})}});

  const auto reals = param(texture_of(f64, 2), "reals");
  const auto sums = param(pointer_to(f64), "sums");
  run_everywhere({.module = {"images",
                             {kernel("k", {reals, sums},
                                     assign(sums[index_of_thread], fetch(reals, {at, 0.5F})))}},
                  .shape = {1, 2},
                  .arguments = {texture_argument({TexelKind::f64, 1, {2, 1, 0}},
                                                 std::vector<double>{1.0 / 3, -1e300}),
                                out(std::vector<double>{1.0 / 3, -1e300})}});
}

TEST(Images, AreWrittenThroughSurfaces) {
  const auto from = param(surface_of(f32, 2, ImageAccess::write_only), "from");
  const auto to = param(surface_of(int4, 1, ImageAccess::write_only), "to");
  const auto reads = param(texture_of(f32), "reads");
  const auto target = param(pointer_to(f32), "target");
  const Expr i = cast(i32, index_of_thread);
  BlockBuilder body;
  body << write_texel(from, 2.0F * cast(f32, i), {i, 1})
       << write_texel(to, make_vector(int4, {i, i, i, 7}), {i})
       << assign(target[index_of_thread], fetch(reads, {cast(f32, i) + 0.5F, 0.5F}));
  run_everywhere(
      {.module = {"images", {kernel("k", {from, to, reads, target}, body)}},
       .shape = {1, 2},
       .arguments = {surface_argument({TexelKind::f32, 1, {2, 2, 0}}, std::vector<float>(4)),
                     surface_argument({TexelKind::i32, 4, {2, 0, 0}}, std::vector<int>(8)),
                     texture_argument({TexelKind::f32, 1, {2, 1, 0}}, std::vector<float>{5, 6}),
                     out(std::vector<float>{5, 6})}});
}

TEST(Images, AreReadThroughSurfacesThatWereWritten) {
  const auto both = param(surface_of(u8, 2), "both");
  const auto target = param(pointer_to(i32), "target");
  const Expr i = cast(i32, index_of_thread);
  BlockBuilder body;
  body << write_texel(both, 3 + read_texel(both, {i, 1}), {i, 0})
       << assign(target[index_of_thread], cast(i32, read_texel(both, {i, 1})));
  run_everywhere({.module = {"images", {kernel("k", {both, target}, body)}},
                  .shape = {1, 2},
                  .arguments = {surface_argument({TexelKind::u8, 1, {2, 2, 0}},
                                                 std::vector<unsigned char>{1, 2, 3, 4}),
                                out(std::vector<int>{3, 4})}});
}

}  // namespace
}  // namespace rtcg::testing
