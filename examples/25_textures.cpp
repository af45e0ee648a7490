// Lesson 25: images are read through textures. A texture fetches at any position: between texels
// it interpolates, outside of the image it follows its address mode. On a GPU units of the hardware
// do that; the host does it in C, with the same rounding.
#include <cmath>
#include <vector>

#include "examples/lesson.h"
#include "rtcg/runtime/device/image.h"

namespace rt = rtcg::runtime;

constexpr int width = 12;    // of the image, in texels
constexpr int columns = 36;  // of what is printed, in characters
constexpr int rows = 18;

// view: a thread looks at one point of the image, turned around its middle and made smaller.
// invert: a thread changes one texel.
static const char* text_for(rt::BackendKind kind) {
  switch (kind) {
    case rt::BackendKind::cuda:
      return R"(
extern "C" __global__ void view(cudaTextureObject_t picture, float cosine, float sine, float *out) {
  float x = (threadIdx.x + 0.5f) / blockDim.x - 0.5f, y = (blockIdx.x + 0.5f) / gridDim.x - 0.5f;
  out[threadIdx.x + blockIdx.x * blockDim.x] =
      tex2D<float>(picture, 0.5f + cosine * x - sine * y, 0.5f + sine * x + cosine * y);
}
extern "C" __global__ void invert(cudaSurfaceObject_t picture) {
  float old = surf2Dread<float>(picture, 4 * threadIdx.x, blockIdx.x);
  surf2Dwrite(1 - old, picture, 4 * threadIdx.x, blockIdx.x);
}
)";
    case rt::BackendKind::opencl:  // an image and its sampler are one argument
      return R"(
__kernel void view(read_only image2d_t picture, sampler_t sampler, float cosine, float sine,
                   __global float *out) {
  float x = (get_local_id(0) + 0.5f) / get_local_size(0) - 0.5f;
  float y = (get_group_id(0) + 0.5f) / get_num_groups(0) - 0.5f;
  float2 at = (float2)(0.5f + cosine * x - sine * y, 0.5f + sine * x + cosine * y);
  out[get_global_id(0)] = read_imagef(picture, sampler, at).x;
}
__kernel void invert(read_write image2d_t picture) {
  int2 at = (int2)(get_local_id(0), get_group_id(0));
  write_imagef(picture, at, 1 - read_imagef(picture, at));
}
)";
    case rt::BackendKind::host:
      break;
  }
  return R"(
#include <rtcg/host_image.h>
#include <rtcg/host_kernel.h>

RTCG_PARAMETER_BYTES(view, 4, sizeof(rtcg_texture), sizeof(float), sizeof(float), sizeof(float *));
RTCG_KERNEL void view(const rtcg_launch *launch, void *const *arguments) {
  rtcg_texture picture = *(rtcg_texture *)arguments[0];
  float cosine = *(float *)arguments[1], sine = *(float *)arguments[2];
  float *out = *(float **)arguments[3];
  for (unsigned j = 0; j < launch->grid[0]; ++j) {
    for (unsigned i = 0; i < launch->block[0]; ++i) {
      float x = (i + 0.5f) / launch->block[0] - 0.5f, y = (j + 0.5f) / launch->grid[0] - 0.5f;
      out[i + j * launch->block[0]] = rtcg_tex2d_f32(picture, 0.5f + cosine * x - sine * y,
                                                     0.5f + sine * x + cosine * y);
    }
  }
}

RTCG_PARAMETER_BYTES(invert, 1, sizeof(rtcg_surface));
RTCG_KERNEL void invert(const rtcg_launch *launch, void *const *arguments) {
  rtcg_surface picture = *(rtcg_surface *)arguments[0];
  for (unsigned y = 0; y < launch->grid[0]; ++y) {
    for (unsigned x = 0; x < launch->block[0]; ++x) {
      rtcg_surf2d_write_f32(picture, 1 - rtcg_surf2d_read_f32(picture, x, y), x, y);
    }
  }
}
)";
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const rt::Program program = rt::Program::compile(device, text_for(device.info().id.kind));
    const auto view = program.function<rt::TextureRef, float, float, float*>("view");
    const auto invert = program.function<rt::SurfaceRef>("invert");
    const rt::Stream stream(device);

    // An arrow to the right.
    std::vector<float> texels(width * width);
    for (int y = 0; y < width; ++y) {
      for (int x = 0; x < width; ++x) {
        const bool is_head = x >= 6 && std::abs(2 * y - 11) <= 2 * (11 - x);
        const bool is_shaft = x >= 1 && x < 6 && y >= 5 && y <= 6;
        texels[y * width + x] = is_head || is_shaft ? 1.0f : 0.0f;
      }
    }
    const rt::ImageArray image(device, {rt::TexelKind::f32, 1, {width, width}});
    rt::copy_to_image(stream, texels, image);

    const rt::Buffer<float> points(device, columns * rows);
    const auto show = [&](const char* title, const rt::Texture& picture, double degrees,
                          double scale) {
      const double angle = degrees * std::acos(-1.0) / 180;
      view(stream, {rows, columns}, picture, static_cast<float>(scale * std::cos(angle)),
           static_cast<float>(scale * std::sin(angle)), points);
      const std::vector<float> found = points.to_vector(stream);
      std::printf("%s\n", title);
      for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
          const float shade = found[row * columns + column];
          std::putchar(" .:-=+*#%@"[static_cast<int>(shade * 9 + 0.5f)]);
        }
        std::printf("|\n");
      }
      return found[columns * rows / 2 + columns / 2];
    };

    // One image, three ways to look at it.
    const rt::Texture points_only(image, {.is_normalised = true});
    const rt::Texture smooth(image, {.address = rt::AddressMode::border,
                                     .filter = rt::FilterMode::linear,
                                     .is_normalised = true});
    const rt::Texture tiled(image, {.address = rt::AddressMode::mirror,
                                    .filter = rt::FilterMode::linear,
                                    .is_normalised = true});
    const float before = show("as it is, by points:", points_only, 0, 1);
    show("turned by 30 degrees, filtered, zeros outside:", smooth, 30, 1.2);
    show("twice as far away, mirrored at its borders:", tiled, 0, 2);

    // A surface changes the texels; textures of later launches see it.
    const rt::Surface surface(image);
    invert(stream, {width, width}, surface);
    const float after = show("inverted:", points_only, 0, 1);

    // Only normalised coordinates can repeat.
    try {
      static_cast<void>(rt::Texture(image, {.address = rt::AddressMode::wrap}));
    } catch (const rtcg::InvalidInput& error) {
      std::printf("%s\n", std::string(error.code()).c_str());
    }
    return before + after == 1;
  });
}
