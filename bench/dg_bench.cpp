// Stages of Maxwell's equations on the host back end, next to what its memory moves, and the start
// of a solver whose kernels are compiled or found. A bench ends in an error where a result is
// wrong.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/dg_cavity.h"

namespace rtcg::dg {
namespace {

constexpr int order = 4;

std::shared_ptr<const Discretization> cube_of(int cells) {
  return std::make_shared<const Discretization>(bench::cube(cells, order));
}

bool is_right(const SolverOptions& options) {
  const auto on = cube_of(2);
  const State state = bench::random_state(*on);
  Solver solver(bench::cavity(), on, {}, options);
  solver.set_state(state);
  const State found = solver.right_hand_side();
  const State expected = reference_right_hand_side(bench::cavity(), *on, {}, state);
  double largest = 0;
  for (const double value : expected.values) {
    largest = std::max(largest, std::abs(value));
  }
  const double tolerance = (options.precision == Precision::single ? 1e-5 : 1e-12) * largest;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    if (!(std::abs(found.values[i] - expected.values[i]) < tolerance)) {
      return false;
    }
  }
  return true;
}

// Bytes a second of x = y + a z over arrays that no cache holds, the best of some runs.
double triad_speed() {
  static const double speed = [] {
    constexpr std::size_t count = std::size_t{1} << 25;
    std::vector<double> x(count, 0);
    const std::vector<double> y(count, 1);
    const std::vector<double> z(count, 2);
    double best = 1e9;
    for (int run = 0; run < 8; ++run) {
      const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel for
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = y[i] + 3 * z[i];
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    benchmark::DoNotOptimize(x.data());
    return 3 * sizeof(double) * static_cast<double>(count) / best;
  }();
  return speed;
}

// One time step is five stages. `gdofs` are thousand millions of unknowns that pass through a stage
// in a second, `of_triad` the share of the triad's speed at which a stage's numbers are moved.
void stage(benchmark::State& state, Precision precision) {
  const SolverOptions options{runtime::Device::host(), precision};
  if (!is_right(options)) {
    state.SkipWithError("the right-hand side is wrong");
    return;
  }
  const auto on = cube_of(16);
  Solver solver(bench::cavity(), on, {}, options);
  solver.set_state(bench::random_state(*on));
  solver.step(1e-6);
  solver.synchronize();
  for (auto _ : state) {
    solver.step(1e-6);
    solver.synchronize();
  }
  const auto elements = static_cast<double>(on->element_count());
  const auto nodes = static_cast<double>(on->node_count());
  const auto face_nodes = static_cast<double>(on->element.nodes_of_face());
  const double number_bytes = precision == Precision::single ? 4 : 8;
  const double stages = 5 * static_cast<double>(state.iterations());
  const double bytes = (24 * nodes + 24 * face_nodes + 33) * number_bytes * elements;
  state.counters["gdofs"] =
      benchmark::Counter(6e-9 * nodes * elements * stages, benchmark::Counter::kIsRate);
  state.counters["of_triad"] =
      benchmark::Counter(bytes * stages / triad_speed(), benchmark::Counter::kIsRate);
  state.counters["triad_gbs"] = triad_speed() * 1e-9;
}
BENCHMARK_CAPTURE(stage, f32, Precision::single)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(stage, f64, Precision::double_)->Unit(benchmark::kMillisecond)->UseRealTime();

// A solver for a text that is not in the cache, or for one that is. The mesh exists already.
void start(benchmark::State& state, bool is_cold) {
  const auto on = cube_of(8);
  System system = bench::cavity();
  const auto make_unique = [&] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    system.definitions =
        "// a cold start at " + std::to_string(now / std::chrono::nanoseconds(1)) + "\n";
  };
  const auto make = [&] {
    const Solver solver(system, on, {}, {runtime::Device::host(), Precision::single});
    solver.synchronize();
  };
  make_unique();
  make();
  for (auto _ : state) {
    if (is_cold) {
      make_unique();
    }
    make();
  }
}
BENCHMARK_CAPTURE(start, cold, true)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(start, warm, false)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace rtcg::dg

BENCHMARK_MAIN();
