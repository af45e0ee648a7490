// How long a search takes until it is near the best slicing of all, against trying all of them: a
// small matrix product on the host, some hundreds of slicings, each compiled, checked and timed.
// And the product of 1024 that a search finds on the host (RTCG_TUNE_SECONDS, 60), in turns with
// OpenBLAS's, of Debian's libopenblas0-pthread. Takes minutes.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/near_best.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/runtime/device/buffer.h"

namespace {

void time_to_near_best(benchmark::State& state) {
  rtcg::loopy::SlicingConstraints constraints;
  constraints.min_threads = 8;
  constraints.max_threads = 16;
  constraints.max_items_per_thread = 8;
  constraints.max_shared_bytes = 0;
  for (auto _ : state) {
    const rtcg::bench::NearBest measured =
        rtcg::bench::measure_near_best(rtcg::runtime::Device::host(), 256, constraints, 0.05);
    state.SetIterationTime(measured.near_seconds);
    state.counters["slicings"] = static_cast<double>(measured.slicings);
    state.counters["exhaustive_seconds"] = measured.all_seconds;
    state.counters["tried"] = static_cast<double>(measured.tried);
    state.counters["percent_of_exhaustive"] = 100 * measured.near_seconds / measured.all_seconds;
    state.counters["best_us"] = measured.best_us;
    state.counters["models_first_us"] = measured.first_us;
  }
}
BENCHMARK(time_to_near_best)
    ->Name("tune/time_to_within_5_percent")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kSecond);

using Sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                   float*, int);

Sgemm* find_openblas() {
  void* library = ::dlopen("libopenblas.so.0", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Sgemm*>(::dlsym(library, "cblas_sgemm"));
}

double seconds_of(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Numbers between -1 and 1 without a pattern.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> result(count);
  for (float& each : result) {
    seed = 1664525 * seed + 1013904223;
    each = static_cast<float>(seed >> 8) / (1U << 23) - 1;
  }
  return result;
}

void product_beside_openblas(benchmark::State& state) {
  constexpr int n = 1024;
  Sgemm* const openblas = find_openblas();
  if (openblas == nullptr) {
    state.SkipWithError("there is no libopenblas.so.0 to compare with");
    return;
  }
  namespace loopy = rtcg::loopy;
  const rtcg::runtime::Device host = rtcg::runtime::Device::host();
  const loopy::Kernel kernel =
      loopy::make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                         {.name = "product", .default_type = rtcg::cgen::f32});
  loopy::TuneOptions options;
  options.constraints.parameters = {{"n", n}};
  options.constraints.machine = loopy::machine_model(host);
  const char* const seconds = std::getenv("RTCG_TUNE_SECONDS");
  options.budget_seconds = seconds == nullptr ? 60 : std::atof(seconds);
  for (auto _ : state) {
    const loopy::Slicing slicing = loopy::tune(kernel, host, options).best().slicing;
    const loopy::Executor executor(
        loopy::tuned_kernel(kernel, options.constraints.parameters, slicing), host);
    const std::vector<float> a = numbers(std::size_t{n} * n, 1);
    const std::vector<float> b = numbers(std::size_t{n} * n, 2);
    const rtcg::runtime::Buffer<float> a_of_ours(host, a);
    const rtcg::runtime::Buffer<float> b_of_ours(host, b);
    const rtcg::runtime::Buffer<float> c_of_ours(host, a.size());
    std::vector<float> c(a.size());
    const rtcg::runtime::Stream stream(host);
    const loopy::BoundCall call = executor.bind(
        {loopy::arg("a", a_of_ours), loopy::arg("b", b_of_ours), loopy::arg("c", c_of_ours)});
    std::vector<double> ours;
    std::vector<double> peers;
    for (int round = 0; round < 41; ++round) {
      ours.push_back(seconds_of([&] {
        call(stream);
        stream.synchronize();
      }));
      peers.push_back(seconds_of(
          [&] { openblas(101, 111, 111, n, n, n, 1, a.data(), n, b.data(), n, 0, c.data(), n); }));
    }
    const std::vector<float> found = c_of_ours.to_vector(stream);
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (!(std::abs(found[i] - c[i]) < 1e-3F)) {
        state.SkipWithError("the two products differ");
        return;
      }
    }
    state.SetIterationTime(median(ours));
    const double flops = 2.0 * n * n * n;
    state.counters["GFLOP/s"] = flops / median(ours) * 1e-9;
    state.counters["openblas_GFLOP/s"] = flops / median(peers) * 1e-9;
    state.counters["percent_of_openblas"] = 100 * median(peers) / median(ours);
    state.counters["percent_of_the_least"] = 100 * *std::min_element(peers.begin(), peers.end()) /
                                             *std::min_element(ours.begin(), ours.end());
    state.SetLabel(to_string(slicing));
  }
}
BENCHMARK(product_beside_openblas)
    ->Name("tune/host_product_1024")
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
