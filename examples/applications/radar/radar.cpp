// Filtered backprojection of a synthetic aperture radar: a platform flies along an arc and receives
// echoes of point targets. The image is a loop kernel whose constants are numbers in the text, on
// one device and on all of its kind.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/arrays.h"
#include "rtcg/arrays/fft/fft.h"
#include "rtcg/distributed.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/canvas.h"

namespace rt = rtcg::runtime;
namespace ar = rtcg::arrays;
namespace di = rtcg::distributed;
using namespace rtcg::loopy;
using Clock = std::chrono::steady_clock;

constexpr double light = 299792458;  // m/s
constexpr double centre = 10e9;      // Hz
constexpr double bandwidth = 500e6;  // Hz
constexpr double distance = 1000;    // of the platform along the ground, m
constexpr double height = 500;       // m
constexpr double aperture = 0.06;    // rad
constexpr double turn = 4 * std::numbers::pi * centre / light;  // rad for a metre of range

/// A point that reflects, in metres from the middle of the scene.
struct Reflector {
  double x, y, strength;
};

struct Scene {
  int pixels;
  double cell;  // of the image, m
  int pulses;
  int frequencies;
  int samples;  // of a range profile: four for each frequency
  std::vector<Reflector> targets;
  std::vector<float> px, py, reach;  // of the platform, and its distance to the middle

  [[nodiscard]] double step() const {  // of a profile, m
    return light / (2 * bandwidth) * frequencies / samples;
  }
  [[nodiscard]] double metres(double pixel) const { return cell * (pixel - 0.5 * pixels); }
  /// How much further from the platform than the middle of the scene a point is.
  [[nodiscard]] double further(int pulse, double x, double y) const {
    const double to_point = std::hypot(std::hypot(x - px[pulse], y - py[pulse]), height);
    return (x * x + y * y - 2 * (x * px[pulse] + y * py[pulse])) / (to_point + reach[pulse]);
  }
};

static Scene make_scene(bool is_small) {
  Scene scene;
  scene.pixels = is_small ? 48 : 512;
  scene.cell = is_small ? 0.25 : 0.1;
  scene.pulses = is_small ? 96 : 400;
  scene.frequencies = is_small ? 64 : 512;
  scene.samples = 4 * scene.frequencies;
  const double half = 0.5 * scene.pixels * scene.cell;
  for (int i = 0; i < 8; ++i) {  // a ring, and a line that grows stronger
    const double angle = std::numbers::pi * i / 4;
    scene.targets.push_back({0.6 * half * std::cos(angle), 0.6 * half * std::sin(angle), 1});
  }
  for (int i = 1; i <= (is_small ? 1 : 4); ++i) {
    scene.targets.push_back({half * (0.16 * i - 0.4), 0.1 * half, 0.25 * i});
  }
  for (int p = 0; p < scene.pulses; ++p) {
    const double angle = aperture * ((p + 0.5) / scene.pulses - 0.5);
    scene.px.push_back(static_cast<float>(distance * std::sin(angle)));
    scene.py.push_back(static_cast<float>(-distance * std::cos(angle)));
    scene.reach.push_back(
        static_cast<float>(std::hypot(std::hypot(scene.px[p], scene.py[p]), height)));
  }
  return scene;
}

// The spectra of the echoes in the order of Fourier transforms, zeros between the two ends of the
// band, times the ramp of filtered backprojection.
static std::vector<std::complex<float>> echoes(const Scene& scene) {
  std::vector<std::complex<float>> result(static_cast<std::size_t>(scene.pulses) * scene.samples);
  for (int p = 0; p < scene.pulses; ++p) {
    for (int m = -scene.frequencies / 2; m < scene.frequencies / 2; ++m) {
      const double frequency = centre + m * bandwidth / scene.frequencies;
      std::complex<double> sum = 0;
      for (const Reflector& each : scene.targets) {
        sum += std::polar(each.strength,
                          -turn * frequency / centre * scene.further(p, each.x, each.y));
      }
      const int place = (m + scene.samples) % scene.samples;
      result[static_cast<std::size_t>(p) * scene.samples + place] =
          std::complex<float>(sum * (frequency / centre));
    }
  }
  return result;
}

// Who interpolates between two samples of a profile: rules of the kernel, or the units of the
// hardware for textures, with weights of 8 bits.
enum class Reading { by_rules, by_texture };

// To a loop kernel a texture is a number, which a function of ours takes.
constexpr const char* texture_functions = R"(
fetched(profile: u64, r: f32, p: i32): c64
  cuda {
    const float2 v = tex2D<float2>(profile, r + 0.5f, p + 0.5f);
    return {v.x, v.y};
  }
  host {
    const rtcg_f32x2 v = rtcg_tex2d_f32x2((rtcg_texture)profile, r + 0.5f, p + 0.5f);
    return v[0] + v[1]*I;
  }
preamble host { #include <rtcg/host_image.h> }
)";

// An image's rows from `begin` on. All numbers of the scene are constants of the text.
static Kernel backprojection(const Scene& scene, Reading reading) {
  const double half = 0.5 * scene.pixels;
  const bool by_texture = reading == Reading::by_texture;
  return make_kernel(
      fmt::format("{{[y, x, p]: 0 <= y < rows and 0 <= x < {} and 0 <= p < {}}}", scene.pixels,
                  scene.pulses),
      fmt::format(
          "metres(pixel) := {cell}*(pixel - {half})\n"
          "apart(p, u, v) := sqrt((u - px[p])**2 + (v - py[p])**2 + {square})\n"
          "further(p, u, v) := (u*u + v*v - 2*(u*px[p] + v*py[p]))/(apart(p, u, v) + reach[p])\n"
          "{at}"
          "turned(r) := make_complex(cos({turn}*r), sin({turn}*r))\n"
          "echo(p, r) := at(p, r*{rate} + {middle})*turned(r)\n"
          "image[y, x] = sum(p, echo(p, further(p, metres(x), metres(y + begin))))",
          fmt::arg("cell", scene.cell), fmt::arg("half", half), fmt::arg("square", height * height),
          fmt::arg("at", by_texture
                             ? "at(p, r) := fetched(profile, r, p)\n"
                             : "between(p, k, w) := (1 - w)*profile[p, k] + w*profile[p, k + 1]\n"
                               "at(p, r) := between(p, cast(i32, r), r - cast(i32, r))\n"),
          fmt::arg("turn", turn), fmt::arg("rate", 1 / scene.step()),
          fmt::arg("middle", scene.samples / 2)),
      {.name = "backprojection",
       .arguments = fmt::format(
           "profile: {}; image: c64[rows, {}]; px, py, reach: f32[{}]; rows, begin: i32",
           by_texture ? "u64" : fmt::format("c64[{}, {}]", scene.pulses, scene.samples),
           scene.pixels, scene.pulses),
       .default_type = rtcg::cgen::f32,
       .assumptions = "rows >= 1 and begin >= 0",
       .functions = by_texture ? texture_functions : ""});
}

struct Image {
  std::vector<std::complex<float>> values;
  std::vector<std::complex<float>> profiles;
  double ms = 0;  // a backprojection
};

// Each rank has the profiles of all pulses and makes some rows.
static Image make_image(const Scene& scene, const std::vector<rt::Device>& devices,
                        Reading reading = Reading::by_rules) {
  Image image;
  image.values.resize(static_cast<std::size_t>(scene.pixels) * scene.pixels);
  const std::vector<std::complex<float>> spectra = echoes(scene);
  di::run_ranks(devices, [&](const di::Group& group) {
    const rt::Stream stream(group.device());
    const ar::StreamScope scope(stream);
    const ar::Array<std::complex<float>> spectrum =
        ar::Array<std::complex<float>>(spectra, stream).reshape(scene.pulses, scene.samples);
    // the range of the middle of the scene goes to the middle of a profile
    const ar::AnyArray profile = ar::fftshift(ar::ifft(spectrum), ar::Extents{1});
    const int begin = scene.pixels * group.rank() / group.size();
    const int rows = scene.pixels * (group.rank() + 1) / group.size() - begin;
    const ar::Array<float> px(scene.px, stream);
    const ar::Array<float> py(scene.py, stream);
    const ar::Array<float> reach(scene.reach, stream);
    const ar::Array<std::complex<float>> part =
        ar::zeros<std::complex<float>>({rows, scene.pixels});
    const bool is_cpu = group.device().info().is_cpu;
    const Executor executor(
        apply(backprojection(scene, reading),
              parse_slicing(is_cpu ? "y: g.0; x: for l.0*16" : "x: g.0 l.0*32; y: g.1 l.1*4")),
        group.device());
    std::optional<rt::ImageArray> texels;
    std::optional<rt::Texture> texture;
    if (reading == Reading::by_texture) {
      texels.emplace(group.device(), rt::ImageShape{rt::TexelKind::f32,
                                                    2,
                                                    {static_cast<std::size_t>(scene.samples),
                                                     static_cast<std::size_t>(scene.pulses)}});
      rt::copy_to_image(stream, profile.buffer_on<std::complex<float>>(stream), *texels);
      texture.emplace(*texels, rt::TextureOptions{.filter = rt::FilterMode::linear});
    }
    const auto call = executor.bind(
        {texture ? arg("profile", texture->ref().handle)
                 : arg("profile", profile.buffer_on<std::complex<float>>(stream)),
         arg("image", part.buffer_on<std::complex<float>>(stream)),
         arg("px", px.buffer_on<float>(stream)), arg("py", py.buffer_on<float>(stream)),
         arg("reach", reach.buffer_on<float>(stream)), arg("rows", rows), arg("begin", begin)});
    call(stream);
    const std::vector<std::complex<float>> found = part.to_vector();
    std::copy(found.begin(), found.end(),
              image.values.begin() + static_cast<std::ptrdiff_t>(begin) * scene.pixels);
    group.barrier();
    const Clock::time_point start = Clock::now();
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) {
      call(stream);
    }
    stream.synchronize();
    const double seconds = group.all_reduce(
        std::chrono::duration<double>(Clock::now() - start).count(), di::Operation::max);
    if (group.is_first()) {
      image.ms = 1e3 * seconds / times;
      image.profiles = ar::Array<std::complex<float>>(profile).to_vector();
    }
  });
  return image;
}

// Every 16th row by a plain loop in double precision, which takes the sum over frequencies as it
// is.
static bool is_as_expected(const Scene& scene, const Image& image) {
  const std::vector<std::complex<float>> spectra = echoes(scene);
  double worst = 0;
  double most = 0;
  const int stride = std::max(1, scene.pixels / 4);
  for (int y = stride / 2; y < scene.pixels; y += stride) {
    for (int x = 0; x < scene.pixels; x += stride / 2) {
      std::complex<double> sum = 0;
      for (int p = 0; p < scene.pulses; ++p) {
        const double range = scene.further(p, scene.metres(x), scene.metres(y));
        for (int m = -scene.frequencies / 2; m < scene.frequencies / 2; ++m) {
          const int place = (m + scene.samples) % scene.samples;
          const double frequency = centre + m * bandwidth / scene.frequencies;
          sum +=
              std::complex<double>(spectra[static_cast<std::size_t>(p) * scene.samples + place]) *
              std::polar(1.0, turn * frequency / centre * range);
        }
      }
      sum /= scene.samples;
      const std::complex<float> found =
          image.values[static_cast<std::size_t>(y) * scene.pixels + x];
      worst = std::max(worst, std::abs(std::complex<double>(found) - sum));
    }
  }
  for (const std::complex<float>& each : image.values) {
    most = std::max<double>(most, std::abs(each));
  }
  return worst < 0.03 * most;  // of the brightest: profiles are interpolated
}

// The largest difference between two images, as a part of the brightest pixel.
static double difference(const Image& one, const Image& other) {
  double worst = 0;
  double most = 0;
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    worst = std::max<double>(worst, std::abs(one.values[i] - other.values[i]));
    most = std::max<double>(most, std::abs(one.values[i]));
  }
  return worst / most;
}

// Milliseconds of the whole image by a plain loop on one core, measured on some rows.
static double plain_ms(const Scene& scene, const Image& image) {
  const int rows = std::max(1, scene.pixels / 64);
  std::vector<std::complex<float>> line(static_cast<std::size_t>(scene.pixels));
  float sink = 0;
  const Clock::time_point start = Clock::now();
  for (int y = 0; y < rows; ++y) {
    std::fill(line.begin(), line.end(), std::complex<float>());
    for (int p = 0; p < scene.pulses; ++p) {
      const std::complex<float>* profile =
          &image.profiles[static_cast<std::size_t>(p) * scene.samples];
      for (int x = 0; x < scene.pixels; ++x) {
        const double range = scene.further(p, scene.metres(x), scene.metres(y));
        const auto place = static_cast<float>(range / scene.step() + 0.5 * scene.samples);
        const int k = static_cast<int>(place);
        const float w = place - static_cast<float>(k);
        line[x] += ((1 - w) * profile[k] + w * profile[k + 1]) *
                   std::polar(1.0F, static_cast<float>(turn * range));
      }
    }
    sink += std::abs(line[y]);
  }
  const double ms = std::chrono::duration<double>(Clock::now() - start).count() * 1e3;
  return sink < 0 ? 0 : ms * scene.pixels / rows;
}

// The brightest pixel within a few of each target is next to it.
static int found_targets(const Scene& scene, const Image& image) {
  int count = 0;
  for (const Reflector& each : scene.targets) {
    const int x = static_cast<int>(std::lround(each.x / scene.cell + 0.5 * scene.pixels));
    const int y = static_cast<int>(std::lround(each.y / scene.cell + 0.5 * scene.pixels));
    int best_x = 0;
    int best_y = 0;
    float most = 0;
    for (int dy = -4; dy <= 4; ++dy) {
      for (int dx = -4; dx <= 4; ++dx) {
        const float value =
            std::abs(image.values[static_cast<std::size_t>(y + dy) * scene.pixels + x + dx]);
        if (value > most) {
          most = value;
          best_x = dx;
          best_y = dy;
        }
      }
    }
    count += std::abs(best_x) <= 1 && std::abs(best_y) <= 1 ? 1 : 0;
  }
  return count;
}

// Decibels below the brightest pixel, from 0 to 40.
static rtcg::tools::Picture drawn(const Scene& scene, const Image& image) {
  rtcg::tools::Canvas canvas(scene.pixels + 40, scene.pixels + 60);
  float most = 0;
  for (const std::complex<float>& each : image.values) {
    most = std::max(most, std::abs(each));
  }
  for (int y = 0; y < scene.pixels; ++y) {
    for (int x = 0; x < scene.pixels; ++x) {
      const float value = std::abs(image.values[static_cast<std::size_t>(y) * scene.pixels + x]);
      const double decibels = 20 * std::log10(std::max(value / most, 1e-6F));
      const auto level =
          static_cast<std::uint8_t>(std::clamp(255 * (1 + decibels / 40), 0.0, 255.0));
      canvas.set(20 + x, 20 + scene.pixels - 1 - y, {level, level, level});
    }
  }
  canvas.text({20, scene.pixels + 46.0},
              fmt::format("{:.1f} m wide; white is the brightest point, black 40 dB below",
                          scene.pixels * scene.cell),
              10, {0, 0, 0});
  return canvas.picture();
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    const Scene scene = make_scene(options.is_small);
    const Image one = make_image(scene, {options.device});
    const std::vector<rt::Device> devices =
        options.devices_of_ranks(std::numeric_limits<std::size_t>::max(), 2);
    const Image several = make_image(scene, devices);
    const bool is_same = one.values == several.values;
    const bool is_right = is_as_expected(scene, one);
    const int found = found_targets(scene, one);
    // to OpenCL an image is no number
    const bool has_textures = options.device.info().id.kind != rt::BackendKind::opencl;
    const Image by_texture =
        has_textures ? make_image(scene, {options.device}, Reading::by_texture) : one;
    const double apart = difference(one, by_texture);
    fmt::print("{} of {} targets are where they should be\n", found, scene.targets.size());
    fmt::print("some pixels {} the sum over all frequencies\n", is_right ? "are" : "are not");
    fmt::print("several ranks make {} image\n", is_same ? "the same" : "another");
    if (has_textures) {
      fmt::print("a texture makes {} image but for its rounding\n",
                 apart < 2e-3 ? "the same" : "another");
    }
    if (!options.is_small) {
      const double sums = static_cast<double>(scene.pixels) * scene.pixels * scene.pulses;
      fmt::print(
          "{} x {} pixels, {} pulses: {:.2f} ms, {:.2f} 10^9 echoes in a second; on {} ranks "
          "{:.2f} ms\n",
          scene.pixels, scene.pixels, scene.pulses, one.ms, 1e-6 * sums / one.ms, devices.size(),
          several.ms);
      if (has_textures) {
        fmt::print("by a texture: {:.2f} ms, differences of {:.5f} of the brightest pixel\n",
                   by_texture.ms, apart);
      }
      fmt::print("a plain loop on one core of the host: {:.0f} ms\n", plain_ms(scene, one));
    }
    options.write(drawn(scene, one));
    return is_same && is_right && apart < 2e-3 && found == static_cast<int>(scene.targets.size());
  });
}
