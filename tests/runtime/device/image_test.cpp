#include "rtcg/runtime/device/image.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/host/host_backend.h"
#include "tests/runtime/support/fake_backend.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

/// A kernel `fetch(texture, positions, out)`: a thread fetches at one position of three
/// coordinates.
///
/// @param type  of the value in C, `float4` as such in all languages
std::string fetch_text(BackendKind kind, int axes, const std::string& suffix,
                       const std::string& type, int lanes) {
  std::string at = "at[3 * i]";
  for (int axis = 1; axis < axes; ++axis) {
    at += fmt::format(", at[3 * i + {}]", axis);
  }
  if (kind == BackendKind::host) {
    return fmt::format(R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(fetch, 3, sizeof(rtcg_texture), sizeof(const float *), sizeof({0} *));
RTCG_KERNEL void fetch(const rtcg_launch *launch, void *const *arguments) {{
  const rtcg_texture t = *(const rtcg_texture *)arguments[0];
  const float *at = *(const float *const *)arguments[1];
  {0} *out = *({0} *const *)arguments[2];
  for (unsigned long long i = 0; i < launch->grid[0] * launch->block[0]; ++i)
    out[i] = rtcg_tex{1}d_{2}(t, {3});
}}
)",
                       lanes == 1 ? type : "rtcg_" + suffix, axes, suffix, at);
  }
  if (kind == BackendKind::cuda) {
    const bool is_double = suffix.rfind("f64", 0) == 0;
    const std::string read = is_double ? (lanes == 1 ? "int2" : "int4") : type;
    const std::string value =
        is_double
            ? (lanes == 1 ? "__hiloint2double(v.y, v.x)"
                          : "make_double2(__hiloint2double(v.y, v.x), __hiloint2double(v.w, v.z))")
            : "v";
    return fmt::format(R"(
extern "C" __global__ void fetch(cudaTextureObject_t t, const float *at, {0} *out) {{
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  const {1} v = tex{2}D<{1}>(t, {3});
  out[i] = {4};
}}
)",
                       type, read, axes, at, value);
  }
  const std::string place =
      axes == 1 ? at
                : fmt::format("(float{})({}{})", axes == 2 ? 2 : 4, at, axes == 3 ? ", 0.0f" : "");
  const char family = suffix[0] == 'f' && suffix.rfind("f64", 0) != 0 ? 'f' : suffix[0];
  const std::string parts[] = {"v.x", "v.xy", "", "v"};
  std::string value = parts[lanes - 1];
  std::string reader =
      family == 'u' ? "ui" : (suffix.rfind("f64", 0) == 0 ? "i" : std::string(1, family));
  if (suffix.rfind("f64", 0) == 0) {
    value = lanes == 1 ? "as_double(v.xy)" : "(double2)(as_double(v.xy), as_double(v.zw))";
  } else if (family == 'u') {
    value = fmt::format("convert_{}({})", type, value);
  }
  return fmt::format(R"(
kernel void fetch(read_only image{0}d_t t, sampler_t s, global const float *at, global {1} *out) {{
  const size_t i = get_global_id(0);
  const {2}4 v = read_image{3}(t, s, {4});
  out[i] = {5};
}}
)",
                     axes, type, reader == "f" ? "float" : (reader == "i" ? "int" : "uint"), reader,
                     place, value);
}

std::string type_name(BackendKind kind, const std::string& scalar, int lanes) {
  const std::string one =
      kind != BackendKind::cuda || scalar != "uchar" || lanes > 1
          ? (kind == BackendKind::host && scalar == "uchar" ? "unsigned char" : scalar)
          : "unsigned char";
  return lanes == 1 ? one : scalar + std::to_string(lanes);
}

template <class T>
std::vector<T> fetched(Device device, const Texture& texture, int axes, const std::string& suffix,
                       const std::string& scalar, int lanes, const std::vector<float>& positions) {
  const BackendKind kind = device.info().id.kind;
  const Program program = Program::compile(
      device, fetch_text(kind, axes, suffix, type_name(kind, scalar, lanes), lanes));
  const auto fetch = program.function<TextureRef, const float*, T*>("fetch");
  const std::size_t count = positions.size() / 3;
  const Buffer<float> at(device, positions);
  const Buffer<T> out(device, count * static_cast<std::size_t>(lanes));
  fetch(device.default_stream(), {count, 1}, texture, at, out);
  return out.to_vector(device.default_stream());
}

/// What CUDA's guide says of fetches, in doubles: each axis by itself.
class Reference {
 public:
  Reference(std::vector<double> texels, std::vector<int> lengths, TextureOptions options,
            bool has_short_weights)
      : texels_(std::move(texels)),
        lengths_(std::move(lengths)),
        options_(options),
        has_short_weights_(has_short_weights) {}

  [[nodiscard]] double at(const float* position) const { return along(0, position, 0, 1); }

 private:
  /// The value along the axes from this one on, the texels of those before being chosen.
  [[nodiscard]] double along(std::size_t axis, const float* position, int place, int stride) const {
    if (axis == lengths_.size()) {
      return texels_[static_cast<std::size_t>(place)];
    }
    const int length = lengths_[axis];
    const double x = options_.is_normalised ? position[axis] * length : position[axis];
    // a repeated image has texels everywhere
    const auto texel = [&](int index) {
      const int turn = 2 * length;
      const int within = ((index % turn) + turn) % turn;
      switch (options_.address) {
        case AddressMode::border:
          if (index < 0 || index >= length) {
            return 0.0;
          }
          break;
        case AddressMode::wrap:
          index = within % length;
          break;
        case AddressMode::mirror:
          index = within < length ? within : turn - 1 - within;
          break;
        case AddressMode::clamp:
          index = std::clamp(index, 0, length - 1);
      }
      return along(axis + 1, position, place + stride * index, stride * length);
    };
    if (options_.filter == FilterMode::point) {
      return texel(static_cast<int>(std::floor(x)));
    }
    const int first = static_cast<int>(std::floor(x - 0.5));
    double weight = x - 0.5 - first;
    if (has_short_weights_) {
      weight = std::floor(weight * 256 + 0.5) / 256;
    }
    return (1 - weight) * texel(first) + weight * texel(first + 1);
  }

  std::vector<double> texels_;
  std::vector<int> lengths_;
  TextureOptions options_;
  bool has_short_weights_;
};

/// Positions before, at and after both borders, at halves and between: there at odd multiples of
/// 1/1024, whose weights have no ties.
std::vector<float> positions_for(const std::vector<int>& lengths, bool is_normalised) {
  std::mt19937 random(7);
  std::vector<float> special = {-5.75F, -1.0F, -0.5F, -0.25F, 0.0F, 0.25F, 0.5F, 0.75F, 1.0F, 1.5F};
  std::vector<float> result;
  for (int round = 0; round < 120; ++round) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (axis >= lengths.size()) {
        result.push_back(0);
        continue;
      }
      const auto length = static_cast<float>(lengths[axis]);
      float x = 0;
      if (round % 3 == 2) {
        const int most = 512 * lengths[axis];
        x = static_cast<float>(2 * std::uniform_int_distribution<int>(-most, 2 * most)(random) +
                               1) /
            1024;
      } else {
        x = special[random() % special.size()] + (round % 3 == 1 ? length : 0);
      }
      result.push_back(is_normalised ? x / length : x);
    }
  }
  return result;
}

ImageShape shape_of(TexelKind kind, int channels, const std::vector<int>& lengths) {
  ImageShape shape{kind, channels, {}};
  shape.extent.width = static_cast<std::size_t>(lengths[0]);
  shape.extent.height = lengths.size() > 1 ? static_cast<std::size_t>(lengths[1]) : 0;
  shape.extent.depth = lengths.size() > 2 ? static_cast<std::size_t>(lengths[2]) : 0;
  return shape;
}

/// OpenCL devices may lack images of two channels, and so those of f64.
bool device_has_images(Device device, TexelKind kind = TexelKind::f32, int channels = 1) {
  auto* const backend = dynamic_cast<ImageBackend*>(&device.backend());
  const ImageShape shape = {kind, channels, {4, 2, 0}};
  const bool has_them = backend != nullptr && backend->why_no_image(shape).empty();
  if (!has_them) {
    EXPECT_ERROR("runtime.image.unsupported", ImageArray(device, shape));
    EXPECT_EQ(device.info().id.kind, BackendKind::opencl);
  }
  return has_them;
}

std::vector<Device> devices_with_images() {
  std::vector<Device> result;
  for (const Device& device : judged_devices()) {
    if (device_has_images(device)) {
      result.push_back(device);
    }
  }
  return result;
}

/// Waits: the values may be a temporary.
template <class T>
void set_texels(const ImageArray& image, const std::vector<T>& values) {
  const StreamRef stream = image.device().default_stream();
  copy_to_image(stream, values, image);
  stream.synchronize();
}

bool is_opencl_cpu(Device device) {
  return device.info().id.kind == BackendKind::opencl && device.info().is_cpu;
}

std::string texture_words(const TextureOptions& options, std::size_t axes) {
  return fmt::format("{} axes, address {}, filter {}, normalised {}", axes,
                     static_cast<int>(options.address), static_cast<int>(options.filter),
                     options.is_normalised);
}

std::vector<float> random_texels(std::size_t count) {
  std::mt19937 random(3);
  std::vector<float> texels(count);
  for (float& texel : texels) {
    texel = std::uniform_real_distribution<float>(-1, 1)(random);
  }
  return texels;
}

TEST(Texture, FetchesAsCudaDoesInEveryMode) {
  const std::vector<std::vector<int>> all_lengths = {{8}, {8, 4}, {8, 4, 2}};
  for (const Device& device : devices_with_images()) {
    SCOPED_TRACE(device.info().name);
    for (const std::vector<int>& lengths : all_lengths) {
      const ImageArray image(device, shape_of(TexelKind::f32, 1, lengths));
      const std::vector<float> texels = random_texels(image.shape().size_bytes() / sizeof(float));
      set_texels(image, texels);
      for (const AddressMode address :
           {AddressMode::clamp, AddressMode::border, AddressMode::wrap, AddressMode::mirror}) {
        for (const FilterMode filter : {FilterMode::point, FilterMode::linear}) {
          for (const bool is_normalised : {false, true}) {
            const TextureOptions options = {address, filter, is_normalised};
            SCOPED_TRACE(texture_words(options, lengths.size()));
            if (!is_normalised &&
                (address == AddressMode::wrap || address == AddressMode::mirror)) {
              EXPECT_ERROR("runtime.texture.needs_normalised", Texture(image, options));
              continue;
            }
            const std::vector<float> at = positions_for(lengths, is_normalised);
            const std::vector<float> found =
                fetched<float>(device, Texture(image, options), static_cast<int>(lengths.size()),
                               "f32", "float", 1, at);
            const Reference reference({texels.begin(), texels.end()}, lengths, options,
                                      !is_opencl_cpu(device));
            // sums of products of f32; where weights have 8 bits, so have their products: half
            // a bit for each of 4 texels, a whole one for each of 8
            const bool has_products = filter == FilterMode::linear && !is_opencl_cpu(device);
            const std::vector<double> rounding = {1e-6, 2.0 / 256, 8.0 / 256};
            const double tolerance = has_products ? rounding[lengths.size() - 1] : 2e-6;
            // OpenCL mirrors coordinates, so that borders of texels belong to the other one
            const bool is_turned = address == AddressMode::mirror && filter == FilterMode::point &&
                                   is_opencl_cpu(device);
            for (std::size_t i = is_turned ? 2 : 0; i < found.size(); i += is_turned ? 3 : 1) {
              EXPECT_NEAR(found[i], reference.at(&at[3 * i]), tolerance)
                  << at[3 * i] << " " << at[3 * i + 1] << " " << at[3 * i + 2];
            }
          }
        }
      }
    }
  }
}

TEST(Texture, RoundsOnTheHostAsOnAnH200) {
  // fetched on an NVIDIA H200 (2026-11-28) from 8 x 4 x 2 of these texels
  struct Fetched {
    std::array<float, 3> at;
    float value;
  };
  constexpr std::array<Fetched, 10> measured = {
      {{{-0.32776409387588501F, 0.63281548023223877F, 0.72458779811859131F}, 0.54086709022521973F},
       {{0.46429383754730225F, -0.89897739887237549F, -0.33826100826263428F},
        -0.22139705717563629F},
       {{-0.17722427845001221F, -0.21090555191040039F, -0.49269682168960571F},
        -0.20488490164279938F},
       {{0.88867092132568359F, 0.32458925247192383F, 1.7299187183380127F}, -0.40230891108512878F},
       {{0.99490690231323242F, 0.17477989196777344F, 1.4235062599182129F}, 0.046535838395357132F},
       {{0.38866043090820312F, -0.15539860725402832F, 0.16037201881408691F}, 0.47908565402030945F},
       {{0.084849953651428223F, 1.5886659622192383F, -0.80913317203521729F}, -0.33682164549827576F},
       {{-0.78485137224197388F, 1.4919209480285645F, 0.020203351974487305F}, -0.42846843600273132F},
       {{0.19669473171234131F, -0.16834121942520142F, 0.63900923728942871F}, 0.13328909873962402F},
       {{0.58020520210266113F, 0.5630422830581665F, -0.40452682971954346F},
        -0.71026617288589478F}}};
  const ImageArray image(Device::host(), {TexelKind::f32, 1, {8, 4, 2}});
  set_texels(image, random_texels(64));
  std::vector<float> at;
  for (const Fetched& each : measured) {
    at.insert(at.end(), each.at.begin(), each.at.end());
  }
  const std::vector<float> found = fetched<float>(
      Device::host(), Texture(image, {AddressMode::mirror, FilterMode::linear, true}), 3, "f32",
      "float", 1, at);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    EXPECT_NEAR(found[i], measured[i].value, 1e-6);
  }

  // points of ten texels at tenths, from -2.5 on, wrapped and mirrored
  const ImageArray ten(Device::host(), {TexelKind::f32, 1, {10, 0, 0}});
  set_texels(ten, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  std::vector<float> tenths;
  for (int i = -25; i <= 25; ++i) {
    tenths.insert(tenths.end(), {static_cast<float>(i) / 10, 0, 0});
  }
  const auto digits = [&](AddressMode mode) {
    std::string text;
    for (const float value :
         fetched<float>(Device::host(), Texture(ten, {.address = mode, .is_normalised = true}), 1,
                        "f32", "float", 1, tenths)) {
      text += std::to_string(static_cast<int>(value));
    }
    return text;
  };
  EXPECT_EQ(digits(AddressMode::wrap), "556790012355678001235567800123556780012355678001245");
  EXPECT_EQ(digits(AddressMode::mirror), "443200012355678998764432100123556789987644321001245");
}

// Products of weights round, and positions beyond the ends are clamped before weights are taken.
TEST(Texture, HasTheWeightsOfAnH200OnTheHost) {
  struct Measured {
    std::array<float, 3> at;
    std::array<int, 8> weights;  // of 256, along x first
  };
  // on an NVIDIA H200 (2026-11-29)
  const std::vector<Measured> measured = {
      {{1.0F, 1.375F, 0.50390625F}, {16, 16, 111, 112, 0, 0, 0, 1}},
      {{1.0F, 0.8984375F, 0.50390625F}, {76, 77, 51, 51, 0, 1, 0, 0}},
      {{1.0F, 0.86328125F, 0.50390625F}, {81, 81, 46, 47, 0, 1, 0, 0}},
      {{-0.419921875F, 1.1787109375F, 1.26953125F}, {19, 0, 40, 0, 63, 0, 134, 0}},
      {{-0.337890625F, 1.2080078125F, 0.8486328125F}, {49, 0, 118, 0, 26, 0, 63, 0}},
      {{1.197265625F, 1.0361328125F, 0.1171875F}, {36, 83, 41, 96, 0, 0, 0, 0}},
      {{0.697265625F, 0.7978515625F, -0.201171875F}, {144, 36, 61, 15, 0, 0, 0, 0}}};
  std::vector<float> at;
  for (const Measured& each : measured) {
    at.insert(at.end(), each.at.begin(), each.at.end());
  }
  const ImageArray image(Device::host(), {TexelKind::f32, 1, {2, 2, 2}});
  for (std::size_t corner = 0; corner < 8; ++corner) {
    std::vector<float> texels(8);
    texels[corner] = 256;
    set_texels(image, texels);
    const std::vector<float> found = fetched<float>(
        Device::host(), Texture(image, {.filter = FilterMode::linear}), 3, "f32", "float", 1, at);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      EXPECT_EQ(found[i], static_cast<float>(measured[i].weights[corner])) << i << " " << corner;
    }
  }
}

TEST(Texture, RoundsAlikeOnTheHostAndInCuda) {
  for (const Device& device : devices_with_images()) {
    if (device.info().id.kind != BackendKind::cuda) {
      continue;
    }
    const std::vector<std::vector<int>> all_lengths = {{10}, {10, 7}, {10, 7, 3}};
    for (const std::vector<int>& lengths : all_lengths) {
      for (const TextureOptions& options :
           {TextureOptions{AddressMode::clamp, FilterMode::linear, false},
            TextureOptions{AddressMode::border, FilterMode::linear, true},
            TextureOptions{AddressMode::wrap, FilterMode::linear, true},
            TextureOptions{AddressMode::mirror, FilterMode::linear, true},
            TextureOptions{AddressMode::mirror, FilterMode::point, true}}) {
        SCOPED_TRACE(texture_words(options, lengths.size()));
        std::mt19937 random(5);
        std::vector<float> at(3 * 2000);
        for (float& x : at) {
          x = std::uniform_real_distribution<float>(-2, options.is_normalised ? 3 : 12)(random);
        }
        const auto on = [&](Device where) {
          const ImageArray image(where, shape_of(TexelKind::f32, 1, lengths));
          set_texels(image, random_texels(image.shape().size_bytes() / sizeof(float)));
          return fetched<float>(where, Texture(image, options), static_cast<int>(lengths.size()),
                                "f32", "float", 1, at);
        };
        const std::vector<float> there = on(device);
        const std::vector<float> here = on(Device::host());
        std::size_t different = 0;
        for (std::size_t i = 0; i < here.size(); ++i) {
          different += std::fabs(here[i] - there[i]) > 1e-6 ? 1 : 0;
        }
        EXPECT_EQ(different, 0U);
      }
    }
  }
}

TEST(Texture, TakesPositionsThatAreNoNumbers) {
  const ImageArray image(Device::host(), {TexelKind::f32, 1, {2, 0, 0}});
  set_texels(image, std::vector<float>{3, 4});
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> at = {std::nanf(""), 0, 0, inf, 0, 0, -inf, 0, 0, 1e30F, 0, 0};
  for (const AddressMode address : {AddressMode::wrap, AddressMode::mirror}) {
    EXPECT_EQ(fetched<float>(Device::host(), Texture(image, {address, FilterMode::point, true}), 1,
                             "f32", "float", 1, at),
              (std::vector<float>{3, 3, 3, 3}));
  }
  EXPECT_EQ(fetched<float>(Device::host(), Texture(image, {.filter = FilterMode::linear}), 1, "f32",
                           "float", 1, at),
            (std::vector<float>{3, 4, 3, 4}));
}

/// Texels of one kind, fetched one by one.
template <class T>
void expect_texels(Device device, TexelKind kind, const std::string& suffix,
                   const std::string& scalar, int lanes, const std::vector<T>& texels) {
  SCOPED_TRACE(fmt::format("{} {} x{}", device.info().name, name(kind), lanes));
  if (!device_has_images(device, kind, lanes)) {
    return;
  }
  const int width = 5;
  const int height = static_cast<int>(texels.size()) / lanes / width;
  const ImageArray image(device, shape_of(kind, lanes, {width, height}));
  set_texels(image, texels);
  std::vector<float> at;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      at.insert(at.end(), {static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F, 0});
    }
  }
  const Texture texture(image);
  EXPECT_EQ(
      fetched<T>(device, texture, 2, lanes == 1 ? suffix : fmt::format("{}x{}", suffix, lanes),
                 scalar, lanes, at),
      texels);
}

TEST(Texture, GivesEveryKindOfTexelBack) {
  for (const Device& device : devices_with_images()) {
    for (const int lanes : {1, 2, 4}) {
      std::vector<float> reals;
      std::vector<int> integers;
      std::vector<unsigned char> bytes;
      std::vector<double> doubles;
      for (int i = 0; i < 15 * lanes; ++i) {
        reals.push_back(0.1F * static_cast<float>(i) - 1);
        integers.push_back(i % 2 == 0 ? 1000000007 * i : -i);
        bytes.push_back(static_cast<unsigned char>(255 - 4 * i));
        doubles.push_back(std::sqrt(2.0) * i - 3);
      }
      expect_texels(device, TexelKind::f32, "f32", "float", lanes, reals);
      expect_texels(device, TexelKind::i32, "i32", "int", lanes, integers);
      expect_texels(device, TexelKind::u8, "u8", "uchar", lanes, bytes);
      if (lanes < 4) {
        expect_texels(device, TexelKind::f64, "f64", "double", lanes, doubles);
      }
    }
  }
}

TEST(Texture, ReadsBytesAndHalvesAsFloats) {
  for (const Device& device : devices_with_images()) {
    SCOPED_TRACE(device.info().name);
    const ImageArray bytes(device, {TexelKind::unorm8, 1, {4, 0, 0}});
    set_texels(bytes, std::vector<unsigned char>{0, 51, 102, 255});
    const std::vector<float> at = {0.5F, 0, 0, 1.5F, 0, 0, 2.0F, 0, 0, 9.0F, 0, 0};
    const std::vector<float> found = fetched<float>(
        device, Texture(bytes, {.filter = FilterMode::linear}), 1, "f32", "float", 1, at);
    const std::vector<float> expected = {0.0F, 0.2F, 0.3F, 1.0F};
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-5);  // GPUs interpolate bytes in 16 bits
    }

    if (!device_has_images(device, TexelKind::f16, 2)) {
      continue;
    }
    const ImageArray halves(device, {TexelKind::f16, 2, {2, 0, 0}});
    // 1, -2, the smallest number, the largest
    set_texels(halves, std::vector<std::uint16_t>{0x3c00, 0xc000, 1, 0x7bff});
    EXPECT_EQ(
        (fetched<float>(device, Texture(halves), 1, "f32x2", "float", 2, {0.5F, 0, 0, 1.5F, 0, 0})),
        (std::vector<float>{1, -2, 5.9604644775390625e-8F, 65504}));
  }
}

TEST(Texture, IsReadByTextThatNvrtcTakes) {
  Nvrtc& nvrtc = Nvrtc::instance();
  if (!nvrtc.why_unavailable().empty()) {
    return;
  }
  for (const auto& [suffix, scalar, lanes, axes] :
       {std::tuple("f32", "float", 1, 1), std::tuple("f32x4", "float", 4, 2),
        std::tuple("u8", "uchar", 1, 3), std::tuple("f64x2", "double", 2, 2)}) {
    CompileRequest request;
    request.source.text = fetch_text(BackendKind::cuda, axes, suffix,
                                     type_name(BackendKind::cuda, scalar, lanes), lanes);
    request.kind = OutputKind::cubin;
    request.target = "sm_90";
    EXPECT_FALSE(nvrtc.compile(request).binary.empty());
  }
}

TEST(Texture, IsNotFilteredForIntegers) {
  for (const Device& device : devices_with_images()) {
    for (const TexelKind kind : {TexelKind::i32, TexelKind::u8, TexelKind::f64}) {
      if (device_has_images(device, kind)) {
        const ImageArray image(device, {kind, 1, {4, 4, 0}});
        EXPECT_ERROR("runtime.texture.unfiltered", Texture(image, {.filter = FilterMode::linear}));
      }
    }
  }
}

TEST(Texture, IsOfTheDeviceOfItsKernels) {
  HostBackend other;
  const ImageArray image(Device(other), {TexelKind::f32, 1, {2, 0, 0}});
  EXPECT_ERROR("runtime.function.foreign_buffer",
               fetched<float>(Device::host(), Texture(image), 1, "f32", "float", 1, {0, 0, 0}));
}

TEST(Texture, KeepsItsImage) {
  for (const Device& device : devices_with_images()) {
    auto image = std::make_unique<ImageArray>(device, ImageShape{TexelKind::f32, 1, {2, 0, 0}});
    set_texels(*image, std::vector<float>{3, 4});
    Texture first(*image);
    image.reset();
    const Texture moved = std::move(first);
    EXPECT_EQ(moved.device(), device);
    EXPECT_EQ(moved.options().filter, FilterMode::point);
    EXPECT_EQ((fetched<float>(device, moved, 1, "f32", "float", 1, {0.5F, 0, 0, 1.5F, 0, 0})),
              (std::vector<float>{3, 4}));
  }
}

TEST(ImageArray, RefusesShapes) {
  const Device device = Device::host();
  for (const ImageShape& shape :
       {ImageShape{TexelKind::f32, 3, {4, 4, 0}}, ImageShape{TexelKind::f32, 1, {0, 4, 0}},
        ImageShape{TexelKind::f32, 1, {4, 0, 4}}, ImageShape{TexelKind::f64, 4, {4, 4, 0}},
        ImageShape{TexelKind::f32, 1, {std::size_t{1} << 40, std::size_t{1} << 40, 1}}}) {
    EXPECT_ERROR("runtime.image.bad_shape", ImageArray(device, shape));
  }
  FakeBackend fake;
  EXPECT_ERROR("runtime.image.unsupported",
               ImageArray(Device(fake), {TexelKind::f32, 1, {4, 0, 0}}));
  const ImageArray image(device, {TexelKind::unorm8, 4, {3, 2, 0}});
  EXPECT_EQ(image.shape().dimensions(), 2);
  EXPECT_EQ(image.shape().size_bytes(), 24U);
  EXPECT_NE(image.native_handle(), nullptr);
}

TEST(ImageArray, IsCopiedInParts) {
  for (const Device& device : devices_with_images()) {
    SCOPED_TRACE(device.info().name);
    const StreamRef stream = device.default_stream();
    for (const bool on_device : {false, true}) {
      const ImageArray image(device, {TexelKind::i32, 1, {4, 3, 2}});
      set_texels(image, std::vector<int>(24, -1));
      // rows of 2 at a pitch of 3, planes at a pitch of 8 elements, from the second row on
      std::vector<int> values(24);
      for (int i = 0; i < 24; ++i) {
        values[static_cast<std::size_t>(i)] = i;
      }
      const RectLayout layout = {12, 32, {4, 1, 0}};
      const ImageWindow window = {{1, 1, 0}, {2, 2, 2}};
      const Buffer<int> buffer(device, values);
      copy_to_image(stream, on_device ? device_end(buffer, layout) : host_end(values, layout),
                    image, window);
      std::vector<int> all(24);
      copy_from_image(stream, image, all);
      stream.synchronize();
      std::vector<int> expected(24, -1);
      for (int z = 0; z < 2; ++z) {
        for (int y = 0; y < 2; ++y) {
          for (int x = 0; x < 2; ++x) {
            expected[static_cast<std::size_t>(1 + x + 4 * (1 + y) + 12 * z)] =
                1 + x + 3 * (1 + y) + 8 * z;
          }
        }
      }
      EXPECT_EQ(all, expected);

      std::vector<int> back(24, -5);
      const Buffer<int> device_back(device, back);
      copy_from_image(stream, image,
                      on_device ? device_end(device_back, layout) : host_end(back, layout), window);
      if (on_device) {
        back = device_back.to_vector(stream);
      }
      stream.synchronize();
      for (const int i : {4, 5, 7, 8, 12, 13, 15, 16}) {
        EXPECT_EQ(back[static_cast<std::size_t>(i)], i);
        back[static_cast<std::size_t>(i)] = -5;
      }
      EXPECT_EQ(back, std::vector<int>(24, -5));

      const Buffer<int> whole(device, 24);
      copy_from_image(stream, image, whole);
      EXPECT_EQ(whole.to_vector(stream), expected);
      copy_to_image(stream, buffer, image);
      copy_from_image(stream, image, all);
      stream.synchronize();
      EXPECT_EQ(all, values);
    }
  }
}

TEST(ImageArray, RefusesCopiesBeyondItsTexels) {
  const Device device = Device::host();
  const StreamRef stream = device.default_stream();
  const ImageArray image(device, {TexelKind::f32, 1, {4, 3, 0}});
  std::vector<float> values(12);
  EXPECT_ERROR("runtime.image.out_of_range",
               copy_to_image(stream, host_end(values, {}), image, {{0, 0, 0}, {5, 1, 1}}));
  EXPECT_ERROR("runtime.image.out_of_range",
               copy_from_image(stream, image, host_end(values, {}), {{0, 0, 1}, {1, 1, 1}}));
  values.pop_back();
  EXPECT_ERROR("runtime.copy.out_of_range", copy_to_image(stream, values, image));
  EXPECT_ERROR("runtime.copy.bad_pitch", copy_to_image(stream, host_end(values, {8}), image));
  HostBackend other;
  EXPECT_ERROR("runtime.copy.other_stream",
               copy_to_image(Device(other).default_stream(), values, image));
}

TEST(ImageArray, IsCopiedWithinGraphs) {
  for (const Device& device : devices_with_images()) {
    if (device.info().id.kind == BackendKind::opencl) {
      continue;  // which has no graphs
    }
    const Stream stream(device);
    const ImageArray image(device, {TexelKind::i32, 1, {3, 0, 0}});
    const Buffer<int> from(device, std::vector<int>{1, 2, 3});
    const Buffer<int> to(device, std::vector<int>{0, 0, 0});
    const Graph graph = capture(stream, [&] {
      copy_to_image(stream, from, image);
      copy_from_image(stream, image, to);
    });
    EXPECT_EQ(graph.node_count(), 2U);
    graph.launch(stream);
    EXPECT_EQ(to.to_vector(stream), (std::vector<int>{1, 2, 3}));
  }
}

/// Kernels `write(surface)` and `read(surface, out)`, of one thread a texel of 4 x 3 x 2; what
/// is written is 1 + x + 4 y + 12 z.
std::string surface_text(BackendKind kind, int axes, char family) {
  const std::string scalar = family == 'f' ? "float" : (family == 'i' ? "int" : "uchar");
  const std::string c_type = family == 'u' ? "unsigned char" : scalar;
  const std::string suffix = family == 'f' ? "f32" : (family == 'i' ? "i32" : "u8");
  const std::string at = std::string("x, y, z").substr(0, static_cast<std::size_t>(3 * axes - 2));
  if (kind == BackendKind::host) {
    return fmt::format(R"(#include <rtcg/host_kernel.h>
#include <rtcg/host_image.h>
RTCG_PARAMETER_BYTES(write, 1, sizeof(rtcg_surface));
RTCG_KERNEL void write(const rtcg_launch *launch, void *const *arguments) {{
  const rtcg_surface s = *(const rtcg_surface *)arguments[0];
  for (int i = 0; i < (int)launch->grid[0]; ++i) {{
    const int x = i % 4, y = i / 4 % 3, z = i / 12;
    rtcg_surf{0}d_write_{1}(s, ({2})(1 + i), {3});
    (void)x, (void)y, (void)z;
  }}
}}
RTCG_PARAMETER_BYTES(read, 2, sizeof(rtcg_surface), sizeof({2} *));
RTCG_KERNEL void read(const rtcg_launch *launch, void *const *arguments) {{
  const rtcg_surface s = *(const rtcg_surface *)arguments[0];
  {2} *out = *({2} *const *)arguments[1];
  for (int i = 0; i < (int)launch->grid[0]; ++i) {{
    const int x = i % 4, y = i / 4 % 3, z = i / 12;
    out[i] = rtcg_surf{0}d_read_{1}(s, {3});
    (void)x, (void)y, (void)z;
  }}
}}
)",
                       axes, suffix, c_type, at);
  }
  if (kind == BackendKind::cuda) {
    const std::string bytes = "(int)sizeof(" + c_type + ") * " + at;
    return fmt::format(R"(
extern "C" __global__ void write(cudaSurfaceObject_t s) {{
  const int i = blockIdx.x, x = i % 4, y = i / 4 % 3, z = i / 12;
  surf{0}Dwrite(({1})(1 + i), s, {2});
}}
extern "C" __global__ void read(cudaSurfaceObject_t s, {1} *out) {{
  const int i = blockIdx.x, x = i % 4, y = i / 4 % 3, z = i / 12;
  out[i] = surf{0}Dread<{1}>(s, {2});
}}
)",
                       axes, c_type, bytes);
  }
  const std::string place = axes == 1 ? "x" : (axes == 2 ? "(int2)(x, y)" : "(int4)(x, y, z, 0)");
  const std::string wide = family == 'f' ? "float4" : (family == 'i' ? "int4" : "uint4");
  const std::string reader = family == 'u' ? "ui" : std::string(1, family);
  return fmt::format(R"({6}
kernel void write(write_only image{0}d_t s) {{
  const int i = get_global_id(0), x = i % 4, y = i / 4 % 3, z = i / 12;
  write_image{1}(s, {2}, ({3})(1 + i));
}}
kernel void read(read_only image{0}d_t s, global {4} *out) {{
  const int i = get_global_id(0), x = i % 4, y = i / 4 % 3, z = i / 12;
  out[i] = convert_{5}(read_image{1}(s, {2}).x);
}}
)",
                     axes, reader, place, wide, scalar, scalar,
                     axes == 3 ? "#pragma OPENCL EXTENSION cl_khr_3d_image_writes : enable" : "");
}

template <class T>
void expect_surface(Device device, TexelKind kind, char family, const std::vector<int>& all_axes) {
  for (const int axes : all_axes) {
    SCOPED_TRACE(fmt::format("{} {} {}d", device.info().name, name(kind), axes));
    const std::vector<int> lengths = {4, 3, 2};
    const ImageArray image(device, shape_of(kind, 1, {lengths.begin(), lengths.begin() + axes}));
    const Surface surface(image);
    const Program program =
        Program::compile(device, surface_text(device.info().id.kind, axes, family));
    const StreamRef stream = device.default_stream();
    const std::size_t count = image.shape().size_bytes() / sizeof(T);
    const Buffer<T> out(device, count);
    program.function<SurfaceRef>("write")(stream, {count, 1}, surface);
    program.function<SurfaceRef, T*>("read")(stream, {count, 1}, surface, out);
    std::vector<T> expected;
    for (std::size_t i = 0; i < count; ++i) {
      expected.push_back(static_cast<T>(1 + i));
    }
    EXPECT_EQ(out.to_vector(stream), expected);
    std::vector<T> copied(count);
    copy_from_image(stream, image, copied);
    stream.synchronize();
    EXPECT_EQ(copied, expected);
  }
}

TEST(Surface, IsWrittenAndRead) {
  for (const Device& device : devices_with_images()) {
    expect_surface<float>(device, TexelKind::f32, 'f', {1, 2, 3});
    expect_surface<int>(device, TexelKind::i32, 'i', {2});
    expect_surface<unsigned char>(device, TexelKind::u8, 'u', {2});
  }
}

TEST(Surface, RefusesWhatOnlyFetchesConvert) {
  for (const TexelKind kind : {TexelKind::f16, TexelKind::unorm8, TexelKind::f64}) {
    const ImageArray image(Device::host(), {kind, 1, {4, 0, 0}});
    EXPECT_ERROR("runtime.surface.kind", Surface(image));
  }
}

TEST(Surface, IsNoTextureInOpenCl) {
  for (const Device& device : devices_with_images()) {
    if (device.info().id.kind == BackendKind::opencl) {
      const ImageArray image(device, {TexelKind::f32, 1, {4, 0, 0}});
      const Surface surface(image);
      const Program program =
          Program::compile(device, fetch_text(BackendKind::opencl, 1, "f32", "float", 1));
      const Buffer<float> out(device, 1);
      ArgumentPack pack;
      pack.add(surface.ref()).add(out).add(out);
      EXPECT_ERROR("runtime.opencl.no_sampler",
                   program.kernel("fetch").launch(device.default_stream(), {1, 1}, pack));
    }
  }
}

TEST(Surface, ChangesWhatTexturesOfLaterLaunchesSee) {
  for (const Device& device : devices_with_images()) {
    const ImageArray image(device, {TexelKind::f32, 1, {4, 0, 0}});
    set_texels(image, std::vector<float>(4, 9));
    const Surface surface(image);
    const Texture texture(image);
    const Program program = Program::compile(device, surface_text(device.info().id.kind, 1, 'f'));
    program.function<SurfaceRef>("write")(device.default_stream(), {3, 1}, surface);
    EXPECT_EQ((fetched<float>(device, texture, 1, "f32", "float", 1,
                              {0.5F, 0, 0, 2.5F, 0, 0, 3.5F, 0, 0})),
              (std::vector<float>{1, 3, 9}));
  }
}

}  // namespace
}  // namespace rtcg::runtime
