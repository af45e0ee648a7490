// Images of layers, and mipmaps.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/program.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<Device> devices_that_have(const ImageShape& shape) {
  std::vector<Device> result;
  for (const Device& device : judged_devices()) {
    auto* const images = dynamic_cast<ImageBackend*>(&device.backend());
    if (images != nullptr && images->why_no_image(shape).empty()) {
      result.push_back(device);
    } else {
      EXPECT_ERROR("runtime.image.unsupported", ImageArray(device, shape));
      EXPECT_EQ(device.info().id.kind, BackendKind::opencl);
    }
  }
  return result;
}

template <class T>
void set_level_texels(const ImageArray& image, const std::vector<T>& values, int level = 0) {
  const StreamRef stream = image.device().default_stream();
  copy_to_image(stream, host_end(values, {}), image, {.level = level});
  stream.synchronize();
}

/// `fetch(texture, positions, out)`: a thread fetches at x, y and a layer or level.
std::string third_number_text(BackendKind kind, int axes, bool is_mipmap) {
  const std::string at = axes == 1 ? "at[3 * i]" : "at[3 * i], at[3 * i + 1]";
  const std::string way = is_mipmap ? "lod" : "layered";
  const std::string last = is_mipmap ? "at[3 * i + 2]" : "(int)at[3 * i + 2]";
  if (kind == BackendKind::host) {
    return fmt::format(R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(fetch, 3, sizeof(rtcg_texture), sizeof(const float *), sizeof(float *));
RTCG_KERNEL void fetch(const rtcg_launch *launch, void *const *arguments) {{
  const rtcg_texture t = *(const rtcg_texture *)arguments[0];
  const float *at = *(const float *const *)arguments[1];
  float *out = *(float *const *)arguments[2];
  for (unsigned long long i = 0; i < launch->grid[0]; ++i)
    out[i] = rtcg_tex{}d_{}_f32(t, {}, {});
}}
)",
                       axes, way, at, last);
  }
  if (kind == BackendKind::cuda) {
    return fmt::format(R"(
extern "C" __global__ void fetch(cudaTextureObject_t t, const float *at, float *out) {{
  const int i = blockIdx.x;
  out[i] = tex{}D{}<float>(t, {}, {});
}}
)",
                       axes, is_mipmap ? "Lod" : "Layered", at, last);
  }
  const std::string place = axes == 1 ? "(float2)(at[3 * i], at[3 * i + 2])"
                                      : "(float4)(at[3 * i], at[3 * i + 1], at[3 * i + 2], 0.0f)";
  return fmt::format(R"(
kernel void fetch(read_only image{}d_array_t t, sampler_t s, global const float *at,
                  global float *out) {{
  const size_t i = get_global_id(0);
  out[i] = read_imagef(t, s, {}).x;
}}
)",
                     axes, place);
}

std::vector<float> fetched_by_number(const Texture& texture, int axes, bool is_mipmap,
                                     const std::vector<float>& positions) {
  const Device device = texture.device();
  const Program program =
      Program::compile(device, third_number_text(device.info().id.kind, axes, is_mipmap));
  const std::size_t count = positions.size() / 3;
  const Buffer<float> at(device, positions);
  const Buffer<float> out(device, count);
  program.function<TextureRef, const float*, float*>("fetch")(device.default_stream(), {count, 1},
                                                              texture, at, out);
  return out.to_vector(device.default_stream());
}

TEST(ImageLayers, AreFetchedEachByItself) {
  for (const int axes : {1, 2}) {
    const ImageShape shape = {TexelKind::f32, 1, {4, axes == 2 ? 3U : 0U, 0}, 3};
    EXPECT_EQ(shape.dimensions(), axes);
    for (const Device& device : devices_that_have(shape)) {
      SCOPED_TRACE(fmt::format("{}, {} axes", device.info().name, axes));
      const ImageArray image(device, shape);
      const int rows = axes == 2 ? 3 : 1;
      std::vector<float> texels;
      for (int layer = 0; layer < 3; ++layer) {
        for (int y = 0; y < rows; ++y) {
          for (int x = 0; x < 4; ++x) {
            texels.push_back(static_cast<float>(100 * layer + 10 * y + x));
          }
        }
      }
      ASSERT_EQ(shape.size_bytes(), texels.size() * sizeof(float));
      set_level_texels(image, texels);
      // between texels, beyond an end, the last layer, and beyond the layers: the last one
      const std::vector<float> at = {1, 1,    0,    2.25F, 0.5F, 1,    9, 2,
                                     2, 0.5F, 0.5F, 7,     1.5F, 1.5F, -4};
      const std::vector<float> in_rows = {5, 0, 15, 0, 10};
      const bool is_opencl = device.info().id.kind == BackendKind::opencl;
      const std::vector<float> in_layers = {0.5F, 101.75F, 203, 200, is_opencl ? 1.0F : 201.0F};
      const std::vector<float> found =
          fetched_by_number(Texture(image, {.filter = FilterMode::linear}), axes, false, at);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], in_layers[i] + (axes == 2 ? in_rows[i] : 0), 1e-4) << i;
      }
    }
  }
}

TEST(ImageLayers, AreCopiedOneByOne) {
  for (const int axes : {1, 2}) {
    const ImageShape shape = {TexelKind::i32, 1, {3, axes == 2 ? 2U : 0U, 0}, 4};
    for (const Device& device : devices_that_have(shape)) {
      SCOPED_TRACE(fmt::format("{}, {} axes", device.info().name, axes));
      const StreamRef stream = device.default_stream();
      const ImageArray image(device, shape);
      const std::size_t of_layer = axes == 2 ? 6 : 3;
      set_level_texels(image, std::vector<int>(4 * of_layer, -1));
      std::vector<int> values(2 * of_layer);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<int>(i);
      }
      ImageWindow window;
      window.origin[static_cast<std::size_t>(axes)] = 1;
      window.extent[static_cast<std::size_t>(axes)] = 2;
      std::vector<int> expected(4 * of_layer, -1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        expected[of_layer + i] = values[i];
      }
      for (const bool on_device : {false, true}) {
        const Buffer<int> buffer(device, values);
        copy_to_image(stream, on_device ? device_end(buffer, {}) : host_end(values, {}), image,
                      window);
        std::vector<int> all(4 * of_layer);
        copy_from_image(stream, image, all);
        stream.synchronize();
        EXPECT_EQ(all, expected);
        const Buffer<int> whole(device, 4 * of_layer);
        copy_from_image(stream, image, whole);
        EXPECT_EQ(whole.to_vector(stream), expected);
      }
    }
  }
}

TEST(ImageLayers, AreWrittenThroughSurfaces) {
  const ImageShape shape = {TexelKind::i32, 1, {2, 2, 0}, 3};
  for (const Device& device : devices_that_have(shape)) {
    SCOPED_TRACE(device.info().name);
    const BackendKind kind = device.info().id.kind;
    const char* const text = kind == BackendKind::host   ? R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(write, 1, sizeof(rtcg_surface));
RTCG_KERNEL void write(const rtcg_launch *launch, void *const *arguments) {
  const rtcg_surface s = *(const rtcg_surface *)arguments[0];
  for (int i = 0; i < (int)launch->grid[0]; ++i)
    rtcg_surf2d_layered_write_i32(s, rtcg_surf2d_layered_read_i32(s, i % 2, i / 2 % 2, i / 4) + i,
                                  i % 2, i / 2 % 2, i / 4);
}
)"
                             : kind == BackendKind::cuda ? R"(
extern "C" __global__ void write(cudaSurfaceObject_t s) {
  const int i = blockIdx.x, x = 4 * (i % 2), y = i / 2 % 2, layer = i / 4;
  surf2DLayeredwrite(surf2DLayeredread<int>(s, x, y, layer) + i, s, x, y, layer);
}
)"
                                                         : R"(
kernel void write(read_write image2d_array_t s) {
  const int i = get_global_id(0);
  const int4 at = (int4)(i % 2, i / 2 % 2, i / 4, 0);
  write_imagei(s, at, read_imagei(s, at) + i);
}
)";
    const ImageArray image(device, shape);
    set_level_texels(image, std::vector<int>(12, 7));
    const Surface surface(image);
    Program::compile(device, text)
        .function<SurfaceRef>("write")(device.default_stream(), {12, 1}, surface);
    std::vector<int> found(12);
    copy_from_image(device.default_stream(), image, found);
    device.synchronize();
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(found[static_cast<std::size_t>(i)], 7 + i);
    }
  }
}

/// 8 x 4 texels and the levels below, each of one value and a slope along x.
ImageArray mipmap_on(Device device) {
  ImageArray image(device, {.kind = TexelKind::f32, .extent = {8, 4, 0}, .levels = 4});
  for (int level = 0; level < 4; ++level) {
    const ImageShape shape = image.shape().level(level);
    std::vector<float> texels;
    for (std::size_t y = 0; y < shape.length(1); ++y) {
      for (std::size_t x = 0; x < shape.length(0); ++x) {
        texels.push_back(static_cast<float>(100 * level + static_cast<int>(x)));
      }
    }
    set_level_texels(image, texels, level);
  }
  return image;
}

TEST(Mipmap, IsFetchedFromTheLevelThatIsAskedFor) {
  const ImageShape shape = {.kind = TexelKind::f32, .extent = {8, 4, 0}, .levels = 4};
  EXPECT_EQ(shape.most_levels(), 4);
  EXPECT_EQ(shape.level(3).extent, (ImageExtent{1, 1, 0}));
  for (const Device& device : devices_that_have(shape)) {
    SCOPED_TRACE(device.info().name);
    const ImageArray image = mipmap_on(device);
    const Texture texture(image, {.is_normalised = true});
    // texel 5 of 8, 2 of 4, 1 of 2 and the only one; levels between and beyond those there are
    EXPECT_EQ(fetched_by_number(
                  texture, 2, true,
                  {0.65F, 0.5F, 0,      0.65F, 0.5F, 1,      0.65F, 0.5F, 2,  0.65F, 0.5F, 3,
                   0.65F, 0.5F, 0.375F, 0.65F, 0.5F, 0.625F, 0.65F, 0.5F, -2, 0.65F, 0.5F, 99}),
              (std::vector<float>{5, 102, 201, 300, 5, 102, 5, 300}));
    const Texture between(image, {.is_normalised = true, .level_filter = FilterMode::linear});
    EXPECT_EQ(
        fetched_by_number(between, 2, true,
                          {0.65F, 0.5F, 0.5F, 0.65F, 0.5F, 1.25F, 0.65F, 0.5F, 2, 0.65F, 0.5F, 9}),
        (std::vector<float>{53.5F, 126.75F, 201, 300}));
  }
}

TEST(Mipmap, RoundsLevelsAlikeOnTheHostAndInCuda) {
  const ImageShape shape = {.kind = TexelKind::f32, .extent = {8, 4, 0}, .levels = 4};
  std::vector<float> at;
  for (int i = 0; i < 600; ++i) {
    at.insert(at.end(), {0.65F, 0.5F, static_cast<float>(i) * 0.00617F - 0.3F});
  }
  const auto on = [&](Device device, FilterMode filter) {
    const ImageArray image = mipmap_on(device);
    return fetched_by_number(Texture(image, {.is_normalised = true, .level_filter = filter}), 2,
                             true, at);
  };
  for (const Device& device : devices_that_have(shape)) {
    for (const FilterMode filter : {FilterMode::point, FilterMode::linear}) {
      const std::vector<float> there = on(device, filter);
      const std::vector<float> here = on(Device::host(), filter);
      std::size_t different = 0;
      for (std::size_t i = 0; i < at.size() / 3; ++i) {
        if (std::fabs(there[i] - here[i]) > 1e-3 && ++different < 6) {
          ADD_FAILURE() << "level " << at[3 * i + 2] << ": " << there[i] << ", host " << here[i];
        }
      }
      EXPECT_EQ(different, 0U) << device.info().name;
    }
  }
}

TEST(Mipmap, HasASurfaceForEachLevel) {
  const ImageShape shape = {.kind = TexelKind::f32, .extent = {4, 0, 0}, .levels = 2};
  for (const Device& device : devices_that_have(shape)) {
    SCOPED_TRACE(device.info().name);
    const char* const text = device.info().id.kind == BackendKind::host
                                 ? R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(halve, 2, sizeof(rtcg_surface), sizeof(rtcg_surface));
RTCG_KERNEL void halve(const rtcg_launch *launch, void *const *arguments) {
  const rtcg_surface from = *(const rtcg_surface *)arguments[0];
  const rtcg_surface to = *(const rtcg_surface *)arguments[1];
  for (int i = 0; i < (int)launch->grid[0]; ++i)
    rtcg_surf1d_write_f32(
        to, (rtcg_surf1d_read_f32(from, 2 * i) + rtcg_surf1d_read_f32(from, 2 * i + 1)) / 2, i);
}
)"
                                 : R"(
extern "C" __global__ void halve(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int i = blockIdx.x;
  surf1Dwrite((surf1Dread<float>(from, 8 * i) + surf1Dread<float>(from, 8 * i + 4)) / 2, to, 4 * i);
}
)";
    const ImageArray image(device, shape);
    set_level_texels(image, std::vector<float>{1, 3, 5, 9});
    const Surface whole(image);
    const Surface half(image, 1);
    Program::compile(device, text)
        .function<SurfaceRef, SurfaceRef>("halve")(device.default_stream(), {2, 1}, whole, half);
    std::vector<float> found(2);
    copy_from_image(device.default_stream(), image, host_end(found, {}), {.level = 1});
    device.synchronize();
    EXPECT_EQ(found, (std::vector<float>{2, 7}));
    EXPECT_ERROR("runtime.image.out_of_range", Surface(image, 2));
    EXPECT_ERROR("runtime.image.out_of_range", copy_from_image(device.default_stream(), image,
                                                               host_end(found, {}), {.level = 2}));
  }
}

TEST(Mipmap, TakesNormalisedCoordinates) {
  const ImageArray image(Device::host(), {.extent = {4, 0, 0}, .levels = 3});
  EXPECT_ERROR("runtime.texture.needs_normalised", Texture(image));
  const ImageArray bytes(Device::host(), {.kind = TexelKind::u8, .extent = {4, 0, 0}, .levels = 3});
  EXPECT_ERROR("runtime.texture.unfiltered",
               Texture(bytes, {.is_normalised = true, .level_filter = FilterMode::linear}));
}

TEST(ImageLayers, RefuseShapes) {
  for (const ImageShape& shape : {ImageShape{.extent = {4, 4, 4}, .layers = 2},
                                  ImageShape{.extent = {4, 4, 0}, .layers = 2, .levels = 2},
                                  ImageShape{.extent = {4, 4, 0}, .levels = 4},
                                  ImageShape{.extent = {4, 4, 0}, .levels = 0}}) {
    EXPECT_ERROR("runtime.image.bad_shape", ImageArray(Device::host(), shape));
  }
}

TEST(ImageLayers, AreReadByTextThatNvrtcTakes) {
  Nvrtc& nvrtc = Nvrtc::instance();
  if (!nvrtc.why_unavailable().empty()) {
    return;
  }
  for (const bool is_mipmap : {false, true}) {
    CompileRequest request;
    request.source.text = third_number_text(BackendKind::cuda, 2, is_mipmap);
    request.kind = OutputKind::cubin;
    request.target = "sm_90";
    EXPECT_FALSE(nvrtc.compile(request).binary.empty());
  }
}

}  // namespace
}  // namespace rtcg::runtime
