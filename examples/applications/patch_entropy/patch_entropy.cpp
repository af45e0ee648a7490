// The entropy of image patches, estimated by the distance of each patch to its nearest neighbour.
// The image is a random field whose patches have a normal distribution, so their entropy is known.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/picture.h"

namespace rt = rtcg::runtime;
using namespace rtcg::loopy;

constexpr double pi = 3.14159265358979323846;
constexpr double rho = 0.8;  // correlation of neighbouring pixels
constexpr int side = 3;      // of a patch
constexpr int dimensions = side * side;

// A field with mean 0, variance 1 and correlation rho^(|dx| + |dy|).
static std::vector<double> random_image(int size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> image(static_cast<std::size_t>(size) * size);
  const auto at = [&](int y, int x) -> double& {
    return image[static_cast<std::size_t>(y) * size + x];
  };
  const double fresh = std::sqrt(1 - rho * rho);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      const double left = x > 0 ? at(y, x - 1) : 0;
      const double up = y > 0 ? at(y - 1, x) : 0;
      const double both = x > 0 && y > 0 ? at(y - 1, x - 1) : 0;
      at(y, x) = rho * left + rho * up - rho * rho * both +
                 (x > 0 ? fresh : 1) * (y > 0 ? fresh : 1) * normal(random);
    }
  }
  return image;
}

// Of patches, in nats: half the logarithm of (2 pi e)^9 times the determinant of their covariance.
static double exact_entropy() {
  const double log_determinant = 2 * side * (side - 1) * std::log(1 - rho * rho);
  return 0.5 * (dimensions * std::log(2 * pi * std::exp(1.0)) + log_determinant);
}

static double digamma(double x) {
  double result = 0;
  for (; x < 10; ++x) {
    result -= 1 / x;
  }
  const double square = 1 / (x * x);
  return result + std::log(x) - 0.5 / x - square * (1.0 / 12 - square * (1.0 / 120 - square / 252));
}

// Kozachenko and Leonenko 1987, from squares of distances to nearest neighbours.
static double estimate(const std::vector<float>& squares) {
  const auto count = static_cast<double>(squares.size());
  double logarithms = 0;
  for (const float each : squares) {
    logarithms += 0.5 * std::log(static_cast<double>(each));
  }
  const double log_ball =
      0.5 * dimensions * std::log(pi) - std::lgamma(0.5 * dimensions + 1);  // volume of radius 1
  return digamma(count) - digamma(1) + log_ball + dimensions * logarithms / count;
}

static Kernel distances(int count) {
  return make_kernel(
      fmt::format("{{[i, j, k]: 0 <= i, j < {} and 0 <= k < {}}}", count, dimensions),
      "nearest[i] = reduce(min, j, sum(k, (p[k, i] - p[k, j])*(p[k, i] - p[k, j])) if j != i else "
      "1e30)",
      {.name = "nearest_patches", .default_type = rtcg::cgen::f32});
}

// Patches that are far from each other, one after the other in memory for each of their pixels.
static std::vector<float> patches(int count, std::mt19937_64& random) {
  const int size = side * (static_cast<int>(std::sqrt(count)) + 1) * 8;
  const std::vector<double> image = random_image(size, random);
  std::vector<float> result(static_cast<std::size_t>(count) * dimensions);
  const int columns = size / (8 * side);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < dimensions; ++k) {
      const int y = i / columns * 8 * side + k / side;
      const int x = i % columns * 8 * side + k % side;
      result[static_cast<std::size_t>(k) * count + i] =
          static_cast<float>(image[static_cast<std::size_t>(y) * size + x]);
    }
  }
  return result;
}

// By plain loops, of some patches.
static bool is_right(const std::vector<float>& p, const std::vector<float>& nearest) {
  const std::size_t count = nearest.size();
  for (std::size_t i = 0; i < count; i += std::max<std::size_t>(1, count / 50)) {
    double least = 1e30;
    for (std::size_t j = 0; j < count; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < dimensions; ++k) {
        sum += std::pow(static_cast<double>(p[k * count + i]) - p[k * count + j], 2);
      }
      least = j == i ? least : std::min(least, sum);
    }
    if (std::abs(nearest[i] - least) > 1e-4 * (1 + least)) {
      fmt::print("patch {}: {}, and should be {}\n", i, nearest[i], least);
      return false;
    }
  }
  return true;
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    std::mt19937_64 random(3);
    const rt::Stream stream(options.device);
    bool is_fine = true;
    rtcg::tools::PlotCurve estimates{"by nearest neighbours"};
    rtcg::tools::PlotCurve exact{"exact"};
    std::vector<int> counts = {256, 1024};
    if (!options.is_small) {
      counts = {256, 1024, 4096, 16384};
    }
    for (const int patch_count : counts) {
      const std::vector<float> p = patches(patch_count, random);
      const rt::Buffer<float> there(options.device, p);
      const rt::Buffer<float> nearest(options.device, std::vector<float>(patch_count));
      const Kernel kernel = distances(patch_count);
      const Executor naive(apply(kernel, parse_slicing("i: g.0 l.0*64")), options.device);
      const std::vector<NamedArgument> bound = {arg("p", there), arg("nearest", nearest)};
      naive.bind(bound)(stream);
      const std::vector<float> found = nearest.to_vector(stream);
      is_fine = is_right(p, found) && is_fine;
      const double entropy = estimate(found);
      fmt::print("{:6} patches: entropy {:.2f} nats, exactly {:.2f}\n", patch_count, entropy,
                 exact_entropy());
      is_fine = is_fine && std::abs(entropy - exact_entropy()) < 30 / std::sqrt(patch_count) + 0.3;
      estimates.x.push_back(patch_count);
      estimates.y.push_back(entropy);
      exact.x.push_back(patch_count);
      exact.y.push_back(exact_entropy());
      if (options.is_small || patch_count != counts.back()) {
        continue;
      }
      TuneOptions how;
      how.budget_seconds = options.seconds;
      const TuneResult tuned = tune(kernel, options.device, how);
      const auto launch = naive.bind(bound);
      fmt::print("a thread for each patch: {:.2f} ms; tuned: {:.2f} ms, {}\n",
                 rt::time_ms(
                     stream, [&] { launch(stream); }, 1),
                 tuned.best().microseconds * 1e-3, tuned.best().words);
    }
    options.write(rtcg::tools::draw_plot({estimates, exact}, {.title = "Entropy of 3 x 3 patches",
                                                              .x_name = "patches",
                                                              .y_name = "nats",
                                                              .is_logarithmic = false}));
    return is_fine;
  });
}
