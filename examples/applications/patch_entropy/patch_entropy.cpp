// The entropy of image patches, estimated by the distance of each patch to its nearest neighbour.
// The image is a random field whose patches have a normal distribution, so their entropy is known.
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/distributed.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/picture.h"

namespace di = rtcg::distributed;
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

// Of `own` patches from `first` on to all.
static Kernel distances(int count, int first, int own) {
  return make_kernel(
      fmt::format("{{[i, j, k]: 0 <= i < {} and 0 <= j < {} and 0 <= k < {}}}", own, count,
                  dimensions),
      fmt::format("nearest[i] = reduce(min, j, sum(k, (p[k, {0} + i] - p[k, j])*(p[k, {0} + i] - "
                  "p[k, j])) if j != {0} + i else 1e30)",
                  first),
      {.name = "nearest_patches",
       .arguments = fmt::format("p: f32[{}, {}]; ...", dimensions, count),
       .default_type = rtcg::cgen::f32});
}

struct Nearest {
  std::vector<float> squares;  // of distances, on the first rank
  double ms = 0;               // of the slowest rank
};

// Each rank has all patches and finds the nearest ones of a block of them.
static Nearest find_nearest(const std::vector<float>& p, int count,
                            const std::vector<rt::Device>& devices) {
  Nearest result;
  di::run_ranks(devices, [&](const di::Group& group) {
    const int first = count * group.rank() / group.size();
    const int own = count * (group.rank() + 1) / group.size() - first;
    const rt::Stream stream(group.device());
    const rt::Buffer<float> there(group.device(), p);
    const rt::Buffer<float> nearest(group.device(), std::vector<float>(own));
    const Executor executor(apply(distances(count, first, own), parse_slicing("i: g.0 l.0*64")),
                            group.device());
    const auto launch = executor.bind({arg("p", there), arg("nearest", nearest)});
    const double ms = rt::time_ms(
        stream, [&] { launch(stream); }, 1);
    const double slowest = group.all_reduce(ms, di::Operation::max);
    const std::vector<std::vector<std::byte>> parts =
        group.gather(di::bytes_of(nearest.to_vector(stream)));
    if (group.is_first()) {
      result.ms = slowest;
      for (const std::vector<std::byte>& part : parts) {
        const std::vector<float> squares = di::values_of<float>(part);
        result.squares.insert(result.squares.end(), squares.begin(), squares.end());
      }
    }
  });
  return result;
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
    // five ranks share a device, so that blocks are of several lengths
    const std::vector<rt::Device> devices =
        options.devices_of_ranks(std::numeric_limits<std::size_t>::max(), 5);
    bool is_fine = true;
    bool is_same = true;
    rtcg::tools::PlotCurve estimates{"by nearest neighbours"};
    rtcg::tools::PlotCurve exact{"exact"};
    std::vector<int> counts = {256, 1024};
    if (!options.is_small) {
      counts = {256, 1024, 4096, 16384};
    }
    for (const int patch_count : counts) {
      const std::vector<float> p = patches(patch_count, random);
      const Nearest one = find_nearest(p, patch_count, {options.device});
      const Nearest several = find_nearest(p, patch_count, devices);
      is_fine = is_right(p, one.squares) && is_fine;
      is_same = is_same && one.squares == several.squares;
      const double entropy = estimate(one.squares);
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
      const TuneResult tuned = tune(distances(patch_count, 0, patch_count), options.device, how);
      fmt::print(
          "a thread for each patch: {:.2f} ms, on {} ranks {:.2f} ms; tuned: {:.2f} ms, {}\n",
          one.ms, devices.size(), several.ms, tuned.best().microseconds * 1e-3, tuned.best().words);
    }
    fmt::print("several ranks find {} distances\n", is_same ? "the same" : "other");
    options.write(rtcg::tools::draw_plot({estimates, exact}, {.title = "Entropy of 3 x 3 patches",
                                                              .x_name = "patches",
                                                              .y_name = "nats",
                                                              .is_logarithmic = false}));
    return is_fine && is_same;
  });
}
