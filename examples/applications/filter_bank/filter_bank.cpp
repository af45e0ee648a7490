// A filter bank, as models of vision have it: an image of several planes is correlated with many
// filters. Which tiling is fast depends on the shapes, so a space of tilings is searched for each
// of them.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/tune/tune_programs.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/canvas.h"

namespace rt = rtcg::runtime;
using namespace rtcg::loopy;

struct Shape {
  int height, width, planes;  ///< of the responses, which lack the border; planes of the image
  int filters, side;          ///< filters of side x side elements in each plane

  [[nodiscard]] std::string name() const {
    return fmt::format("{}x{}x{}, {} of {}x{}", height, width, planes, filters, side, side);
  }
  [[nodiscard]] double flops() const {
    return 2.0 * height * width * filters * planes * side * side;
  }
};

static const std::vector<Shape> full_shapes = {{256, 256, 8, 64, 9},
                                               {512, 512, 4, 32, 13},
                                               {1024, 1024, 8, 16, 5},
                                               {2048, 2048, 4, 4, 8},
                                               {128, 128, 32, 64, 3}};
static const std::vector<Shape> small_shapes = {{20, 37, 2, 5, 3}, {9, 64, 3, 4, 5}};

static Kernel description(const Shape& shape) {
  return make_kernel(
      fmt::format("{{[f, y, x, c, dy, dx]: 0 <= f < {} and 0 <= y < {} and 0 <= x < {} and "
                  "0 <= c < {} and 0 <= dy, dx < {}}}",
                  shape.filters, shape.height, shape.width, shape.planes, shape.side),
      "response[f, y, x] = sum((c, dy, dx), image[c, y + dy, x + dx]*filter[f, c, dy, dx])",
      {.name = "filter_bank", .default_type = rtcg::cgen::f32});
}

// The tiling of a configuration, as a slicing.
static std::string tiling(const Configuration& each) {
  const auto items = [](std::int64_t count) {
    return count > 1 ? fmt::format(" ilp*{}", count) : std::string();
  };
  return fmt::format(
      "x: g.0{} l.0*{}; y: g.1{} l.1*{}; f: g.2{}{}{}", items(each["pixels_x"]), each["threads_x"],
      items(each["pixels_y"]), each["threads_y"], items(each["filters"]),
      each["unrolled"] == 1 ? "; dx: unr" : "",
      each["tile"] == 1
          ? fmt::format("; fetch image over {}dy,dx",
                        [&] {
                          // the loops within a block: those of a pixel's items and of threads
                          std::string loops;
                          for (const auto& [iname, pixels] :
                               {std::pair("y", each["pixels_y"]), {"x", each["pixels_x"]}}) {
                            loops += fmt::format("{}_1,", iname);
                            loops += pixels > 1 ? fmt::format("{}_2,", iname) : "";
                          }
                          return loops;
                        }())
          : "");
}

static ParameterSpace space_of(const Shape& shape) {
  const auto pixels = static_cast<double>(shape.height) * shape.width;
  return ParameterSpace(
      {{"threads_x", {8, 16, 32, 64}},
       {"threads_y", {1, 2, 4, 8, 16}},
       {"pixels_x", {1, 2, 4}},
       {"pixels_y", {1, 2, 4}},
       {"filters", {1, 2, 4, 8, 16}},
       {"unrolled", {0, 1}},
       {"tile", {0, 1}}},
      {.allows =
           [shape](const Configuration& each) {
             const std::int64_t threads = each["threads_x"] * each["threads_y"];
             const std::int64_t items = each["pixels_x"] * each["pixels_y"] * each["filters"];
             return threads >= 32 && threads <= 512 && items <= 32 &&
                    each["filters"] <= shape.filters &&
                    items * (each["unrolled"] == 1 ? shape.side : 1) <= 256;
           },
       // loads of a thread for one of its multiply-adds, over the share of threads that have a
       // pixel
       .predicted_seconds =
           [pixels, shape](const Configuration& each) {
             const auto round_up = [](double size, double tile) {
               return std::ceil(size / tile) * tile;
             };
             const auto x = static_cast<double>(each["pixels_x"] * each["threads_x"]);
             const auto y = static_cast<double>(each["pixels_y"] * each["threads_y"]);
             const auto per_thread = static_cast<double>(each["pixels_x"] * each["pixels_y"]);
             const auto filters = static_cast<double>(each["filters"]);
             const double loads = 1 / filters + 1 / per_thread;
             return loads * round_up(shape.width, x) * round_up(shape.height, y) / pixels;
           }});
}

// Correlation by plain loops in double precision, at some places.
class Reference {
 public:
  Reference(const Shape& shape, const std::vector<float>& image, const std::vector<float>& filter)
      : count_(static_cast<std::size_t>(shape.filters) * shape.height * shape.width) {
    constexpr std::size_t most = 4000;
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < std::min(most, count_); ++i) {
      const std::size_t place = count_ <= most ? i : random() % count_;
      const auto x = place % shape.width;
      const auto y = place / shape.width % shape.height;
      const auto f = place / shape.width / shape.height;
      const std::size_t image_width = shape.width + shape.side - 1;
      const std::size_t image_height = shape.height + shape.side - 1;
      double sum = 0;
      for (int c = 0; c < shape.planes; ++c) {
        for (int dy = 0; dy < shape.side; ++dy) {
          for (int dx = 0; dx < shape.side; ++dx) {
            sum += static_cast<double>(image[(c * image_height + y + dy) * image_width + x + dx]) *
                   filter[((f * shape.planes + c) * shape.side + dy) * shape.side + dx];
          }
        }
      }
      values_.emplace_back(place, sum);
    }
  }
  [[nodiscard]] std::string check(const std::vector<float>& found) const {
    for (const auto& [place, value] : values_) {
      if (!(std::abs(found[place] - value) <= 1e-4 * (1 + std::abs(value)))) {
        return fmt::format("response {} is {}, and should be {}", place, found[place], value);
      }
    }
    return {};
  }

 private:
  std::size_t count_;
  std::vector<std::pair<std::size_t, double>> values_{};
};

struct Result {
  Shape shape;
  double naive_ms = 0;
  double tuned_ms = 0;
  std::string words{};
};

static Result search(const Shape& shape, const application::Options& options, bool& is_right) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> numbers(-1, 1);
  const auto noise = [&](std::size_t count) {
    std::vector<float> values(count);
    std::generate(values.begin(), values.end(), [&] { return numbers(random); });
    return values;
  };
  const std::vector<float> image =
      noise(static_cast<std::size_t>(shape.planes) * (shape.height + shape.side - 1) *
            (shape.width + shape.side - 1));
  const std::vector<float> filter =
      noise(static_cast<std::size_t>(shape.filters) * shape.planes * shape.side * shape.side);
  const Reference reference(shape, image, filter);
  const rt::Buffer<float> image_there(options.device, image);
  const rt::Buffer<float> filter_there(options.device, filter);
  const rt::Buffer<float> response(
      options.device,
      std::vector<float>(static_cast<std::size_t>(shape.filters) * shape.height * shape.width));
  const std::vector<NamedArgument> arguments = {
      arg("image", image_there), arg("filter", filter_there), arg("response", response)};
  const Kernel kernel = description(shape);

  // one thread for each pixel, without tiles
  const rt::Stream stream(options.device);
  const Executor naive(apply(kernel, parse_slicing("x: g.0 l.0*16; y: g.1 l.1*16; f: g.2")),
                       options.device);
  const auto launch = naive.bind(arguments);
  launch(stream);
  is_right = reference.check(response.to_vector(stream)).empty() && is_right;

  const TuningProblem problem{
      .name = "filter bank",
      .sizes = {{"height", shape.height},
                {"width", shape.width},
                {"planes", shape.planes},
                {"filters", shape.filters},
                {"side", shape.side}},
      .space = space_of(shape),
      .make =
          [&](const Configuration& each) {
            return TunableProgram{apply(kernel, parse_slicing(tiling(each)))};
          },
      .named_arguments = arguments,
      .reset = [&](rt::StreamRef to) { rt::fill(to, response.ref(), -1e30F); },
      .check = [&](rt::StreamRef from) { return reference.check(response.to_vector(from)); }};
  SearchOptions how;
  how.budget_seconds = options.is_small ? 300 : options.seconds;
  if (options.is_small) {
    how.search = SearchMethod::random;
    how.max_candidates = 6;
  }
  const SearchResult found = tune_programs(problem, options.device, how);
  const auto wrong =
      std::count_if(found.tried.begin(), found.tried.end(),
                    [](const TunedCandidate& each) { return !each.refusal.empty(); });
  is_right = is_right && wrong == 0;
  for (const TunedCandidate& each : found.tried) {
    if (!each.refusal.empty()) {
      fmt::print("{}: {}\n", each.words, each.refusal);
    }
  }
  fmt::print("{}: {} tilings, {} tried, {} of them wrong\n", shape.name(), found.known,
             found.tried.size(), wrong);
  return {shape,
          rt::time_ms(
              stream, [&] { launch(stream); }, 5),
          found.best().microseconds * 1e-3, found.best().words};
}

// A pair of bars for each shape: naive and tuned, in GFLOP/s.
static rtcg::tools::Picture draw(const std::vector<Result>& results) {
  constexpr int left = 230;
  constexpr int row = 52;
  rtcg::tools::Canvas canvas(760, 60 + row * static_cast<int>(results.size()));
  double most = 0;
  for (const Result& each : results) {
    most = std::max(most, each.shape.flops() / each.tuned_ms * 1e-6);
  }
  canvas.text({20, 28}, "Filter banks: GFLOP/s of one thread a pixel, and tuned", 11, {0, 0, 0});
  int top = 50;
  for (const Result& each : results) {
    canvas.text({left - 10, top + 22.0}, each.shape.name(), 9, {0, 0, 0},
                rtcg::tools::TextAnchor::end);
    int at = top;
    for (const auto& [ms, color] : {std::pair(each.naive_ms, rtcg::tools::Color{170, 170, 170}),
                                    {each.tuned_ms, rtcg::tools::Color{31, 119, 180}}}) {
      const double gflops = each.shape.flops() / ms * 1e-6;
      const int right = left + std::max(1, static_cast<int>(440 * gflops / most));
      canvas.fill(left, at, right, at + 16, color);
      canvas.text({right + 6.0, at + 13.0}, fmt::format("{:.0f}", gflops), 9, {0, 0, 0});
      at += 18;
    }
    top += row;
  }
  return canvas.picture();
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    bool is_right = true;
    std::vector<Result> results;
    for (const Shape& shape : options.is_small ? small_shapes : full_shapes) {
      results.push_back(search(shape, options, is_right));
    }
    if (!options.is_small) {
      fmt::print("\n{:<26} {:>9} {:>9} {:>7} {:>8}  fastest\n", "shape", "naive ms", "tuned ms",
                 "times", "GFLOP/s");
      for (const Result& each : results) {
        fmt::print("{:<26} {:>9.3f} {:>9.3f} {:>7.2f} {:>8.0f}  {}\n", each.shape.name(),
                   each.naive_ms, each.tuned_ms, each.naive_ms / each.tuned_ms,
                   each.shape.flops() / each.tuned_ms * 1e-6, each.words);
      }
    }
    options.write(draw(results));
    return is_right;
  });
}
