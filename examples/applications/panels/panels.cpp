// Seven small programs, a panel each: what the examples of PyCUDA and PyOpenCL show.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/arrays.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tools/draw/canvas.h"

namespace rt = rtcg::runtime;
namespace loopy = rtcg::loopy;
using rtcg::tools::Color;

constexpr int side = 160;  // of a panel, in pixels

struct Panel {
  std::string title{};
  std::function<Color(int x, int y)> color{};
};

static Color gray(double level) {
  const auto value = static_cast<std::uint8_t>(std::clamp(level, 0.0, 255.0));
  return {value, value, value};
}

struct Machine {
  rt::Device device;
  rt::Stream stream;

  void run(const loopy::Kernel& kernel, const std::vector<loopy::NamedArgument>& arguments) const {
    const auto sliced = loopy::apply(kernel, loopy::parse_slicing("x: g.0 l.0*16; y: g.1 l.1*8"));
    loopy::Executor(sliced, device)(stream, arguments);
  }
  template <class T>
  [[nodiscard]] rt::Buffer<T> buffer(const std::vector<T>& values) const {
    return rt::Buffer<T>(device, values);
  }
};

// The rounds after which z*z + c leaves the circle of radius 2.
static Panel mandelbrot(const Machine& /*machine*/, bool& is_right) {
  using namespace rtcg::arrays;
  const Array<float> line = -1 + cast<float>(arange<std::int32_t>(side)) * (2.0F / side);
  const Array<float> re = 1.3F * line - 0.65F;
  const Array<float> im = 1.3F * line.reshape(side, 1);
  const Array<std::int32_t> rounds = zeros<std::int32_t>(side, side);
  const ElementwiseKernel escape(
      "const float *re, const float *im, int *rounds",
      "float x = 0, y = 0; int k = 0;"
      "while (k < 60 && x*x + y*y < 4) {"
      "  const float next = x*x - y*y + re[i]; y = 2*x*y + im[i]; x = next; ++k;"
      "} rounds[i] = k");
  escape(re, im, rounds);
  const auto found = rounds.to_vector();
  // -0.65 is within the set, the corner is not
  is_right = is_right && found[side / 2 * side + side / 2] == 60 && found[0] < 4;
  return {"Mandelbrot", [found](int x, int y) { return gray(255 - 4.2 * found[y * side + x]); }};
}

// A glider on a torus returns to its place after 4*side generations; here a random start runs
// for 60.
static Panel game_of_life(const Machine& machine, bool& is_right) {
  const loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[y, x, p, q]: 0 <= y, x < {} and -1 <= p, q <= 1}}", side),
      fmt::format(
          "<> near = sum((p, q), cells[(y + p + {0}) % {0}, (x + q + {0}) % {0}]) - cells[y, x]\n"
          "next[y, x] = if(near == 3 or (near == 2 and cells[y, x] == 1), 1, 0)",
          side),
      {.name = "life", .arguments = fmt::format("cells, next: i32[{0}, {0}]", side)});
  const auto generations = [&](std::vector<std::int32_t> cells, int count) {
    const auto one = machine.buffer(cells);
    const auto other = machine.buffer(cells);
    for (int i = 0; i < count; ++i) {
      const auto& from = i % 2 == 0 ? one : other;
      const auto& to = i % 2 == 0 ? other : one;
      machine.run(kernel, {loopy::arg("cells", from), loopy::arg("next", to)});
    }
    return (count % 2 == 0 ? one : other).to_vector(machine.stream);
  };
  std::vector<std::int32_t> glider(static_cast<std::size_t>(side) * side);
  std::vector<std::int32_t> moved = glider;
  for (const auto& [y, x] : {std::pair(0, 1), {1, 2}, {2, 0}, {2, 1}, {2, 2}}) {
    glider[y * side + x] = 1;
    moved[(y + 2) * side + x + 2] = 1;
  }
  is_right =
      is_right && generations(glider, 8) == moved;  // one place down and right in four generations
  std::vector<std::int32_t> start(glider.size());
  std::mt19937 random(4);
  std::generate(start.begin(), start.end(), [&] { return random() % 3 == 0 ? 1 : 0; });
  const auto cells = generations(start, 60);
  return {"game of life", [cells](int x, int y) { return gray(255 - 255 * cells[y * side + x]); }};
}

// The median of nine pixels: the one with four smaller ones.
static Panel median_filter(const Machine& machine, bool& is_right) {
  std::mt19937 random(8);
  std::vector<float> noisy(static_cast<std::size_t>(side) * side);
  for (int i = 0; i < side * side; ++i) {
    const double wave = 128 + 100 * std::sin(0.08 * (i % side)) * std::cos(0.06 * (i / side));
    const auto odd = random() % 8;
    noisy[i] = odd == 0 ? 0.0F : odd == 1 ? 255.0F : static_cast<float>(wave);
  }
  const loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[y, x, a, b]: 1 <= y, x < {} and 0 <= a, b < 9}}", side - 1),
      "at(k) := image[y + k // 3 - 1, x + k % 3 - 1]\n"
      "before(k, l) := at(k) < at(l) or (at(k) == at(l) and k < l)\n"
      "out[y, x] = sum(a, if(sum_i32(b, if(before(b, a), 1, 0)) == 4, at(a), 0))",
      {.name = "median", .arguments = fmt::format("image, out: f32[{0}, {0}]", side)});
  const auto image = machine.buffer(noisy);
  const auto out = machine.buffer(noisy);
  machine.run(kernel, {loopy::arg("image", image), loopy::arg("out", out)});
  const std::vector<float> found = out.to_vector(machine.stream);
  for (int y = 1; y < side - 1; ++y) {
    for (int x = 1; x < side - 1; ++x) {
      std::array<float, 9> near{};
      for (int k = 0; k < 9; ++k) {
        near[k] = noisy[(y + k / 3 - 1) * side + x + k % 3 - 1];
      }
      std::sort(near.begin(), near.end());
      is_right = is_right && found[y * side + x] == near[4];
    }
  }
  return {"median filter", [noisy, found](int x, int y) {
            return gray(x < side / 2 ? noisy[y * side + x] : found[y * side + x]);
          }};
}

// Which pairs of times of a series are near each other.
static Panel recurrence(const Machine& machine, bool& is_right) {
  std::vector<float> series(side);
  series[0] = 0.31F;
  for (int i = 1; i < side; ++i) {
    series[i] = 3.83F * series[i - 1] * (1 - series[i - 1]);  // in a window of period 3
  }
  const loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[y, x]: 0 <= y, x < {}}}", side),
      "near[y, x] = if(abs(s[y] - s[x]) < 0.05, 1, 0)",
      {.name = "recurrence", .arguments = fmt::format("s: f32[{0}]; near: i32[{0}, {0}]", side)});
  const auto s = machine.buffer(series);
  const auto near =
      machine.buffer(std::vector<std::int32_t>(static_cast<std::size_t>(side) * side));
  machine.run(kernel, {loopy::arg("s", s), loopy::arg("near", near)});
  const auto found = near.to_vector(machine.stream);
  for (int i = 0; i < side * side; ++i) {
    is_right =
        is_right && found[i] == (std::abs(series[i / side] - series[i % side]) < 0.05F ? 1 : 0);
  }
  return {"recurrence", [found](int x, int y) { return gray(255 - 255 * found[y * side + x]); }};
}

// The share of random points of a square that are in the circle.
static Panel monte_carlo_pi(const Machine& /*machine*/, bool& is_right) {
  using namespace rtcg::arrays;
  Generator random(2);
  constexpr std::int64_t count = 1 << 18;
  const Array<float> x = random.uniform<float>({count});
  const Array<float> y = random.uniform<float>({count});
  const double pi = 4 * mean(cast<double>(x * x + y * y < 1.0F)).item<double>();
  is_right = is_right && std::abs(pi - 3.14159265) < 0.02;
  fmt::print("pi by {} random points: {:.2f}\n", count, pi);
  std::vector<int> hit(static_cast<std::size_t>(side) * side);
  const auto xs = x.to_vector();
  const auto ys = y.to_vector();
  for (int i = 0; i < 6000; ++i) {
    const bool is_inside = xs[i] * xs[i] + ys[i] * ys[i] < 1;
    hit[static_cast<int>(ys[i] * side) * side + static_cast<int>(xs[i] * side)] = is_inside ? 1 : 2;
  }
  return {
      "Monte-Carlo pi", [hit](int px, int py) {
        const int at = hit[(side - 1 - py) * side + px];
        return at == 0 ? Color{255, 255, 255} : at == 1 ? Color{31, 119, 180} : Color{214, 39, 40};
      }};
}

// Finds a face by normalised correlation at each place.
static Panel face_search(const Machine& machine, bool& is_right) {
  constexpr int face = 24;
  constexpr int places = side - face + 1;
  constexpr int at_x = 97;
  constexpr int at_y = 41;
  std::mt19937 random(6);
  std::vector<float> image(static_cast<std::size_t>(side) * side);
  std::generate(image.begin(), image.end(), [&] { return static_cast<float>(random() % 256); });
  std::vector<float> wanted(face * face);
  for (int i = 0; i < face * face; ++i) {
    const double x = i % face - 11.5;
    const double y = i / face - 11.5;
    const bool is_eye = std::hypot(std::abs(x) - 4.5, y + 3.5) < 1.8;
    const bool is_mouth = y > 3 && std::abs(std::hypot(x, y - 1) - 6) < 1;
    wanted[i] = std::hypot(x, y) > 11.5 ? 90.0F : is_eye || is_mouth ? 30.0F : 220.0F;
    image[(at_y + i / face) * side + at_x + i % face] =
        0.6F * wanted[i] + 0.3F * image[(at_y + i / face) * side + at_x + i % face];
  }
  // with mean 0 and length 1
  float mean = 0;
  for (const float each : wanted) {
    mean += each / (face * face);
  }
  float squares = 0;
  for (float& each : wanted) {
    each -= mean;
    squares += each * each;
  }
  for (float& each : wanted) {
    each /= std::sqrt(squares);
  }
  const loopy::Kernel kernel = loopy::make_kernel(
      fmt::format("{{[y, x, p, q]: 0 <= y, x < {} and 0 <= p, q < {}}}", places, face),
      fmt::format("<> total = sum((p, q), image[y + p, x + q])\n"
                  "<> square = sum((p, q), image[y + p, x + q]*image[y + p, x + q])\n"
                  "<> alike = sum((p, q), image[y + p, x + q]*face[p, q])\n"
                  "score[y, x] = alike/sqrt(square - total*total/{} + 1)",
                  face * face),
      {.name = "face_search",
       .arguments = fmt::format("image: f32[{0}, {0}]; face: f32[{1}, {1}]; score: f32[{2}, {2}]",
                                side, face, places)});
  const auto score = machine.buffer(std::vector<float>(places * places));
  machine.run(kernel, {loopy::arg("image", machine.buffer(image)),
                       loopy::arg("face", machine.buffer(wanted)), loopy::arg("score", score)});
  const auto found = score.to_vector(machine.stream);
  const auto best = std::max_element(found.begin(), found.end()) - found.begin();
  is_right = is_right && best % places == at_x && best / places == at_y;
  fmt::print("the face is at {}, {}\n", best % places, best / places);
  return {"face search", [image, best](int x, int y) {
            const auto across = x - best % places;
            const auto down = y - best / places;
            const bool is_frame = across >= -2 && across < face + 2 && down >= -2 &&
                                  down < face + 2 &&
                                  (across < 0 || across >= face || down < 0 || down >= face);
            return is_frame ? Color{214, 39, 40} : gray(image[y * side + x]);
          }};
}

// A kernel that prints.
static void print_in_a_kernel(const Machine& machine) {
  const bool is_host = machine.device.info().id.kind == rt::BackendKind::host;
  const std::string body = R"(printf("a kernel says %d\n", 6 * 7);)";
  const std::string text =
      is_host ? "#include <rtcg/host_kernel.h>\n#include <stdio.h>\nRTCG_PARAMETER_BYTES(say, 0);\n"
                "RTCG_KERNEL void say(const rtcg_launch *launch, void *const *arguments) {\n"
                "  (void)launch; (void)arguments;\n" +
                    body + "\n  fflush(stdout);\n}\n"
      : machine.device.info().id.kind == rt::BackendKind::cuda
          ? "#include <cstdio>\nextern \"C\" __global__ void say() { " + body + " }\n"
          : "__kernel void say() { " + body + " }\n";
  std::fflush(stdout);
  rt::Program::compile(machine.device, text).kernel("say").launch(machine.stream, {1, 1}, {});
  machine.stream.synchronize();
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    const rtcg::arrays::StreamScope scope(options.device.default_stream());
    const Machine machine{options.device, rt::Stream(options.device)};
    std::vector<Panel> panels;
    bool is_right = true;
    for (const auto& program :
         {mandelbrot, game_of_life, median_filter, recurrence, monte_carlo_pi, face_search}) {
      bool is_this_right = true;
      panels.push_back(program(machine, is_this_right));
      fmt::print("{}: {}\n", panels.back().title, is_this_right ? "right" : "wrong");
      is_right = is_right && is_this_right;
    }
    print_in_a_kernel(machine);
    rtcg::tools::Canvas canvas(3 * (side + 10) + 10, 2 * (side + 30) + 10);
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const int left = 10 + static_cast<int>(i % 3) * (side + 10);
      const int top = 26 + static_cast<int>(i / 3) * (side + 30);
      canvas.text({static_cast<double>(left), top - 7.0}, panels[i].title, 9, {0, 0, 0});
      for (int y = 0; y < side; ++y) {
        for (int x = 0; x < side; ++x) {
          canvas.set(left + x, top + y, panels[i].color(x, y));
        }
      }
    }
    options.write(canvas.picture());
    return is_right;
  });
}
