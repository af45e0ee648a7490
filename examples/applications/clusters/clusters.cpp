// Three kernels that SEJITS specialised: a stencil, edges by Sobel's operator, and k-means with
// sums by category. Each is described once and runs on a GPU or on the host.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/canvas.h"

namespace rt = rtcg::runtime;
using namespace rtcg::loopy;

constexpr int clusters = 5;

static Kernel smoothed(int n) {
  return make_kernel(
      fmt::format("{{[y, x, p, q]: 1 <= y, x < {} and -1 <= p, q <= 1}}", n - 1),
      "smooth[y, x] = sum((p, q), (2 - abs(p))*(2 - abs(q))*image[y + p, x + q])/16",
      {.name = "smooth", .arguments = fmt::format("image, smooth: f32[{0}, {0}]", n)});
}

static Kernel edges(int n) {
  return make_kernel(
      fmt::format("{{[y, x, p, q, r, s]: 1 <= y, x < {} and -1 <= p, q, r, s <= 1}}", n - 1),
      "<> across = sum((p, q), q*(2 - abs(p))*smooth[y + p, x + q])\n"
      "<> down = sum((r, s), r*(2 - abs(s))*smooth[y + r, x + s])\n"
      "edge[y, x] = sqrt(across*across + down*down)",
      {.name = "edges", .arguments = fmt::format("smooth, edge: f32[{0}, {0}]", n)});
}

// The nearest centre of each pixel.
static Kernel assignment(int pixels) {
  return make_kernel(
      fmt::format("{{[i, c]: 0 <= i < {} and 0 <= c < {}}}", pixels, clusters),
      "distance[i], label[i] = argmin(c, (value[i] - centre[c])*(value[i] - centre[c]), c)",
      {.name = "assign",
       .arguments = fmt::format("value, distance: f32[{0}]; centre: f32[{1}]; label: i32[{0}]",
                                pixels, clusters)});
}

// Sums by category.
static Kernel update(int pixels) {
  return make_kernel(
      fmt::format("{{[c, i, j]: 0 <= c < {1} and 0 <= i, j < {0}}}", pixels, clusters),
      "total[c] = sum(i, if(label[i] == c, value[i], 0))\n"
      "size[c] = sum(j, if(label[j] == c, 1, 0))",
      {.name = "update",
       .arguments = fmt::format("value: f32[{0}]; label: i32[{0}]; total, size: f32[{1}]", pixels,
                                clusters)});
}

// Discs on a slope, with noise.
static std::vector<float> make_image(int n) {
  std::mt19937 random(5);
  std::normal_distribution<float> noise(0, 6);
  std::vector<float> image(static_cast<std::size_t>(n) * n);
  constexpr std::array<std::array<double, 4>, 4> discs = {{{0.3, 0.3, 0.18, 120},
                                                           {0.65, 0.35, 0.13, 190},
                                                           {0.55, 0.7, 0.2, 230},
                                                           {0.2, 0.75, 0.1, 160}}};
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      double value = 20 + 40.0 * x / n;
      for (const auto& [cx, cy, radius, level] : discs) {
        const double distance =
            std::hypot(static_cast<double>(x) / n - cx, static_cast<double>(y) / n - cy);
        value = distance < radius ? level : value;
      }
      image[static_cast<std::size_t>(y) * n + x] =
          std::clamp(static_cast<float>(value) + noise(random), 0.0F, 255.0F);
    }
  }
  return image;
}

// The same by plain loops in double precision.
struct Reference {
  std::vector<double> smooth, edge;

  Reference(const std::vector<float>& image, int n) : smooth(image.size()), edge(image.size()) {
    const auto inside = [n](const auto& body) {
      for (int y = 1; y < n - 1; ++y) {
        for (int x = 1; x < n - 1; ++x) {
          body(y, x);
        }
      }
    };
    constexpr std::array<double, 3> weights = {1, 2, 1};
    inside([&](int y, int x) {
      for (int p = -1; p <= 1; ++p) {
        for (int q = -1; q <= 1; ++q) {
          smooth[y * n + x] += weights[p + 1] * weights[q + 1] * image[(y + p) * n + x + q] / 16;
        }
      }
    });
    inside([&](int y, int x) {
      double across = 0;
      double down = 0;
      for (int p = -1; p <= 1; ++p) {
        across += weights[p + 1] * (smooth[(y + p) * n + x + 1] - smooth[(y + p) * n + x - 1]);
        down += weights[p + 1] * (smooth[(y + 1) * n + x + p] - smooth[(y - 1) * n + x + p]);
      }
      edge[y * n + x] = std::hypot(across, down);
    });
  }
};

static bool is_near(const std::vector<float>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) > 2e-3) {
      fmt::print("element {} is {}, and should be {}\n", i, found[i], expected[i]);
      return false;
    }
  }
  return true;
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    const int n = options.is_small ? 48 : 2048;
    const int pixels = n * n;
    const rt::Device device = options.device;
    const rt::Stream stream(device);
    const std::vector<float> picture = make_image(n);
    const rt::Buffer<float> image(device, picture);
    const rt::Buffer<float> smooth(device, std::vector<float>(pixels));
    const rt::Buffer<float> edge(device, std::vector<float>(pixels));
    const rt::Buffer<float> distance(device, std::vector<float>(pixels));
    const rt::Buffer<std::int32_t> label(device, std::vector<std::int32_t>(pixels));
    const rt::Buffer<float> total(device, std::vector<float>(clusters));
    const rt::Buffer<float> size(device, std::vector<float>(clusters));

    const auto sliced = [&](const Kernel& kernel, const char* words) {
      return Executor(apply(kernel, parse_slicing(words)), device);
    };
    const char* const tiles = "x: g.0 l.0*32; y: g.1 l.1*4";
    const auto smoothing =
        sliced(smoothed(n), tiles).bind({arg("image", image), arg("smooth", smooth)});
    const auto finding = sliced(edges(n), tiles).bind({arg("smooth", smooth), arg("edge", edge)});
    smoothing(stream);
    finding(stream);
    const Reference reference(picture, n);
    bool is_right = is_near(smooth.to_vector(stream), reference.smooth) &&
                    is_near(edge.to_vector(stream), reference.edge);

    std::vector<float> centres = {10, 70, 130, 190, 250};
    const Executor assign = sliced(assignment(pixels), "i: g.0 l.0*128");
    const Executor add = sliced(update(pixels), "c: g.0; i: for l.0*256; j: for l.0*256");
    std::vector<std::int32_t> labels;
    int rounds = 0;
    for (float moved = 1; moved > 1e-3F && rounds < 100; ++rounds) {
      const rt::Buffer<float> centre(device, centres);
      assign(stream, {arg("value", image), arg("centre", centre), arg("distance", distance),
                      arg("label", label)});
      add(stream,
          {arg("value", image), arg("label", label), arg("total", total), arg("size", size)});
      const std::vector<float> totals = total.to_vector(stream);
      const std::vector<float> sizes = size.to_vector(stream);
      moved = 0;
      for (int c = 0; c < clusters; ++c) {
        const float mean = sizes[c] > 0 ? totals[c] / sizes[c] : centres[c];
        moved = std::max(moved, std::abs(mean - centres[c]));
        centres[c] = mean;
      }
      labels = label.to_vector(stream);
    }
    // at the end each centre is the mean of the pixels that are nearest to it
    std::vector<double> sums(clusters);
    std::vector<double> counts(clusters);
    for (int i = 0; i < pixels; ++i) {
      const auto nearest = std::min_element(centres.begin(), centres.end(), [&](float a, float b) {
        return std::abs(picture[i] - a) < std::abs(picture[i] - b);
      });
      sums[nearest - centres.begin()] += picture[i];
      counts[nearest - centres.begin()] += 1;
    }
    for (int c = 0; c < clusters; ++c) {
      const double mean = sums[c] / counts[c];
      is_right = is_right && std::abs(mean - centres[c]) < 0.5;
      fmt::print("cluster {}: {:.1f} % of the pixels, mean {:.1f}\n", c, 100 * counts[c] / pixels,
                 mean);
    }
    fmt::print("edges and clusters are {}\n", is_right ? "right" : "wrong");
    if (!options.is_small) {
      const rt::Buffer<float> centre(device, centres);
      const auto assigning = assign.bind({arg("value", image), arg("centre", centre),
                                          arg("distance", distance), arg("label", label)});
      const auto adding = add.bind(
          {arg("value", image), arg("label", label), arg("total", total), arg("size", size)});
      fmt::print("smoothing {:.3f} ms, edges {:.3f} ms, a round of k-means {:.3f} ms\n",
                 rt::time_ms(
                     stream, [&] { smoothing(stream); }, 10),
                 rt::time_ms(
                     stream, [&] { finding(stream); }, 10),
                 rt::time_ms(
                     stream, [&] { assigning(stream), adding(stream); }, 3));
    }

    constexpr int shown = 256;
    rtcg::tools::Canvas canvas(3 * shown + 40, shown + 40);
    const std::vector<float> found = edge.to_vector(stream);
    const float most = *std::max_element(found.begin(), found.end());
    const auto gray = [](float value) {
      const auto level = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
      return rtcg::tools::Color{level, level, level};
    };
    constexpr std::array<rtcg::tools::Color, clusters> colors = {
        {{31, 119, 180}, {255, 127, 14}, {44, 160, 44}, {214, 39, 40}, {148, 103, 189}}};
    for (int y = 0; y < shown; ++y) {
      for (int x = 0; x < shown; ++x) {
        const std::size_t at = static_cast<std::size_t>(y * n / shown) * n + x * n / shown;
        canvas.set(10 + x, 30 + y, gray(picture[at]));
        canvas.set(20 + shown + x, 30 + y, gray(255 - 255 * found[at] / most));
        canvas.set(30 + 2 * shown + x, 30 + y, colors[labels[at]]);
      }
    }
    canvas.text({10, 20}, "image", 10, {0, 0, 0});
    canvas.text({20.0 + shown, 20}, "edges", 10, {0, 0, 0});
    canvas.text({30.0 + 2 * shown, 20}, "clusters", 10, {0, 0, 0});
    options.write(canvas.picture());
    return is_right;
  });
}
