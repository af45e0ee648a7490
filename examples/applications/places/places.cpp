// One function, run where the caller says: on a GPU or here.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "examples/applications/application.h"
#include "rtcg/arrays.h"
#include "rtcg/runtime/observe/timer.h"
#include "tools/draw/canvas.h"

namespace rt = rtcg::runtime;
using namespace rtcg::arrays;

// The functions know nothing of places: their arrays do.

static Array<float> axpy(float a, const Array<float>& x, const Array<float>& y) {
  return a * x + y;
}

// The price of a European call: Black and Scholes 1973.
static Array<float> call_price(const Array<float>& price, const Array<float>& strike,
                               const Array<float>& years, float rate, float volatility) {
  const Array<float> spread = volatility * sqrt(years);
  const Array<float> d =
      (log(price / strike) + (rate + volatility * volatility / 2) * years) / spread;
  const auto normal = [](const auto& z) { return 0.5F * erfc(z * -0.70710678F); };
  return price * normal(d) - strike * exp(-rate * years) * normal(d - spread);
}

static Array<float> numbers(std::size_t count, float least, float step) {
  return least + step * cast<float>(arange<std::int32_t>(static_cast<std::int64_t>(count)) % 1000);
}

struct Place {
  std::string name;
  rt::Device device;
};

// All that this machine has: `here`, gpu0, gpu1, ...
static std::vector<Place> places(const rt::Device& named) {
  std::vector<Place> result = {{"here", rt::Device::host()}};
  if (named.info().id.kind != rt::BackendKind::host) {
    result.push_back({to_string(named.info().id), named});
  }
  return result;
}

int main(int count, char** arguments) {
  return application::run(count, arguments, [](const application::Options& options) {
    const std::size_t size = options.is_small ? 5000 : 1 << 24;
    bool is_right = true;
    std::vector<std::pair<std::string, double>> times;
    for (const Place& place : places(options.device)) {
      const StreamScope scope(place.device.default_stream());
      const Array<float> x = numbers(size, 1, 0.25F);
      const Array<float> y = numbers(size, -3, 0.5F);
      const Array<float> z = axpy(2, x, y);
      const Array<float> price = call_price(numbers(size, 80, 0.05F), numbers(size, 120, -0.03F),
                                            numbers(size, 0.25F, 0.002F), 0.02F, 0.3F);
      // the first elements by hand
      const std::vector<float> some = Array<float>(price(Slice{0, 1000})).to_vector();
      for (std::size_t i = 0; i < some.size(); ++i) {
        const double s = 80 + 0.05 * static_cast<double>(i);
        const double k = 120 - 0.03 * static_cast<double>(i);
        const double t = 0.25 + 0.002 * static_cast<double>(i);
        const double d = (std::log(s / k) + (0.02 + 0.045) * t) / (0.3 * std::sqrt(t));
        const auto normal = [](double at) { return 0.5 * std::erfc(-at / std::sqrt(2.0)); };
        const double expected =
            s * normal(d) - k * std::exp(-0.02 * t) * normal(d - 0.3 * std::sqrt(t));
        is_right = is_right && std::abs(some[i] - expected) < 2e-4 * (1 + std::abs(expected));
      }
      is_right = is_right && z.to_vector()[7] == 2 * 2.75F + 0.5F;
      fmt::print("{}: the mean price is {:.3f}\n", place.name, mean(price).item<float>());
      const double ms = rt::time_ms(
          place.device.default_stream(),
          [&] { static_cast<void>(call_price(x, y + 5, x, 0.02F, 0.3F)); }, 5);
      times.emplace_back(place.name, ms);
      if (!options.is_small) {
        fmt::print("{}: {:.2f} ms for {} prices\n", place.name, ms, size);
      }
    }
    rtcg::tools::Canvas canvas(560, 60 + 40 * static_cast<int>(times.size()));
    canvas.text({20, 28}, "Black and Scholes: prices in a microsecond", 11, {0, 0, 0});
    int top = 50;
    for (const auto& [name, ms] : times) {
      const double rate = static_cast<double>(size) / ms * 1e-3;
      const double most = static_cast<double>(size) / times.back().second * 1e-3;
      const int right = 100 + std::max(1, static_cast<int>(360 * rate / std::max(most, rate)));
      canvas.text({90, top + 16.0}, name, 9, {0, 0, 0}, rtcg::tools::TextAnchor::end);
      canvas.fill(100, top, right, top + 20, {31, 119, 180});
      canvas.text({right + 6.0, top + 16.0}, fmt::format("{:.0f}", rate), 9, {0, 0, 0});
      top += 40;
    }
    options.write(canvas.picture());
    return is_right;
  });
}
