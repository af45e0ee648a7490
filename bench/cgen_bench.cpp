// How fast trees are built, checked and printed. bench/peers/print_cgen.py times the original's
// tools on the same tree.
#include <benchmark/benchmark.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/lower/lower.h"
#include "rtcg/cgen/print/printer.h"

namespace {

using namespace rtcg::cgen;

/// 10,000 statements: 2,000 times a loop over a declaration, an assignment and a guarded
/// assignment.
Module ten_thousand_statements() {
  const auto a = param(pointer_to(f32), "a");
  const auto b = param(pointer_to(f32), "b");
  const auto c = param(pointer_to(f32), "c");
  const auto n = param(i32, "n");
  BlockBuilder body;
  for (int k = 0; k < 2000; ++k) {
    body << for_(i32, "i", 0, n, [&](Expr i, BlockBuilder& loop) {
      const auto t = declare(f32, "t" + std::to_string(k), a[i] * static_cast<float>(k) + b[i]);
      loop << t << assign(c[i + k], t * t - a[i + 1]) << if_(t > 0.0f, assign(b[i], t));
    });
  }
  return {"bench", {kernel("kernel", {a, b, c, n}, body)}};
}

void build(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ten_thousand_statements());
  }
}
BENCHMARK(build)->Name("cgen/build_10000_statements")->Unit(benchmark::kMillisecond);

void check(benchmark::State& state) {
  const Module module = ten_thousand_statements();
  for (auto _ : state) {
    check_types(module);
    check_names(module, Dialect::cuda);
  }
}
BENCHMARK(check)->Name("cgen/check_10000_statements")->Unit(benchmark::kMillisecond);

void print(benchmark::State& state) {
  const Module module = ten_thousand_statements();
  std::size_t bytes = 0;
  for (auto _ : state) {
    const rtcg::SourceText text = print_module(module, Dialect::cuda);
    bytes = text.text.size();
    benchmark::DoNotOptimize(text);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(print)->Name("cgen/print_10000_statements")->Unit(benchmark::kMillisecond);

// The two halves of print_module. The second is what "print" means where we are compared with
// Python cgen, which has no dialects and so nothing to lower: a finished tree becomes text.
void lower_alone(benchmark::State& state) {
  const Module module = ten_thousand_statements();
  for (auto _ : state) {
    benchmark::DoNotOptimize(lower(module, Dialect::cuda));
  }
}
BENCHMARK(lower_alone)->Name("cgen/lower_10000_statements")->Unit(benchmark::kMillisecond);

void print_lowered(benchmark::State& state) {
  const Module lowered = lower(ten_thousand_statements(), Dialect::cuda);
  for (auto _ : state) {
    Printer printer(Dialect::cuda, {});
    printer.file_items(lowered.items);
    benchmark::DoNotOptimize(printer.out.take());
  }
}
BENCHMARK(print_lowered)
    ->Name("cgen/print_10000_lowered_statements")
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
