// How long a search takes until it is near the best slicing of all, against trying all of them: a
// small matrix product on the host, some hundreds of slicings, each compiled, checked and timed.
// Takes minutes; `tuning_bench --benchmark_repetitions=3` repeats it.
#include <benchmark/benchmark.h>

#include "bench/near_best.h"

namespace {

void time_to_near_best(benchmark::State& state) {
  rtcg::loopy::SlicingConstraints constraints;
  constraints.min_threads = 8;
  constraints.max_threads = 16;
  constraints.max_lanes = 8;
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

}  // namespace

BENCHMARK_MAIN();
