// From the description of a kernel to its CUDA text, and to all its slicings; and what launches
// cost the host.
#include <chrono>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/device/program.h"

namespace {

using rtcg::loopy::add_prefetch;
using rtcg::loopy::apply_recipe;
using rtcg::loopy::generate_text;
using rtcg::loopy::Kernel;
using rtcg::loopy::make_kernel;
using rtcg::loopy::split_iname;
using rtcg::loopy::Target;
namespace cgen = rtcg::cgen;

void to_text(benchmark::State& state, Kernel (*make)()) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(generate_text(make(), Target::cuda));
  }
}

// A map whose reads go through padded tiles, sliced and checked as for a run.
void tiled_map_to_text(benchmark::State& state) {
  const rtcg::loopy::Slicing slicing =
      rtcg::loopy::parse_slicing("j: g.0 l.0*32; i: g.1 l.1*8 ilp*4; fetch y transposed pad 1");
  for (auto _ : state) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i, j] = x[i, j] + y[j, i]",
                    {.arguments = "x, z: f32[n, m]; y: f32[m, n]"});
    benchmark::DoNotOptimize(generate_text(
        rtcg::loopy::checked_kernel(rtcg::loopy::apply(kernel, slicing)), Target::cuda));
  }
}

// What the check of names costs that every generated module goes through.
void verify(benchmark::State& state, Kernel (*make)()) {
  const cgen::Module module = rtcg::loopy::generate(make(), Target::cuda).module;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        cgen::why_not_valid(module, cgen::Dialect::cuda, {cgen::VerifyDepth::names, {}}));
  }
}
// The program without its text: of what verifying is a part.
void to_module(benchmark::State& state, Kernel (*make)()) {
  const Kernel kernel = make();
  for (auto _ : state) {
    benchmark::DoNotOptimize(rtcg::loopy::generate(kernel, Target::cuda));
  }
}

Kernel axpy() {
  return split_iname(
      make_kernel("{[i]: 0 <= i < n}", "z[i] = a*x[i] + b*y[i]", {.default_type = cgen::f32}), "i",
      256, {.outer_tag = "g.0", .inner_tag = "l.0"});
}

// Two arrays in shared memory; n is known.
Kernel matmul_prefetch() {
  Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                              {.default_type = cgen::f32, .fixed_parameters = {{"n", 1600}}});
  kernel = split_iname(kernel, "i", 16, {.outer_tag = "g.1", .inner_tag = "l.1"});
  kernel = split_iname(kernel, "j", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  kernel = split_iname(kernel, "k", 16);
  kernel = add_prefetch(kernel, "a", {"k_inner", "i_inner"});
  return add_prefetch(kernel, "b", {"j_inner", "k_inner"});
}

// 4 x 4 outputs a thread, guarded for any n.
Kernel matmul_ilp_symbolic() {
  Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                              {.default_type = cgen::f32});
  kernel = split_iname(kernel, "i", 64, {.outer_tag = "g.1"});
  kernel = split_iname(kernel, "i_inner", 4, {.outer_tag = "l.1", .inner_tag = "ilp"});
  kernel = split_iname(kernel, "j", 64, {.outer_tag = "g.0"});
  kernel = split_iname(kernel, "j_inner", 16, {.outer_tag = "ilp", .inner_tag = "l.0"});
  kernel = split_iname(kernel, "k", 16);
  kernel = add_prefetch(kernel, "a", {"k_inner", "i_inner_inner", "i_inner_outer"});
  return add_prefetch(kernel, "b", {"j_inner_inner", "j_inner_outer", "k_inner"});
}

Kernel prefetch16() {
  std::string sum = "x0[i, j]";
  for (int i = 1; i < 16; ++i) {
    sum += fmt::format(" + x{}[i, j]", i);
  }
  Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "y[i, j] = " + sum, {.default_type = cgen::f32});
  kernel = split_iname(kernel, "i", 16, {.outer_tag = "g.1", .inner_tag = "l.1"});
  kernel = split_iname(kernel, "j", 16, {.outer_tag = "g.0", .inner_tag = "l.0"});
  for (int i = 0; i < 16; ++i) {
    kernel = add_prefetch(kernel, fmt::format("x{}", i), {"i_inner", "j_inner"});
  }
  return kernel;
}

Kernel statements400() {
  std::string statements;
  for (int i = 0; i < 400; ++i) {
    statements += fmt::format("a{}[i] = {} + b[i]\n", i, i);
  }
  return split_iname(make_kernel("{[i]: 0 <= i < n}", statements, {.default_type = cgen::f32}), "i",
                     128, {.outer_tag = "g.0", .inner_tag = "l.0"});
}

// The Laplacian of spectral elements in two dimensions: an element a block, its derivatives and the
// differentiation matrix in shared memory.
Kernel sem2d() {
  Kernel kernel = make_kernel(
      "{[e, i, j, a, b, m, o]: 0 <= e < nelements and 0 <= i, j, a, b, m, o < 8}", R"(
        <> ur[a, b] = sum(o, d[a, o]*u[e, o, b])
        <> us[a, b] = sum(o, d[b, o]*u[e, a, o])
        lap[e, i, j] = sum(m, d[m, i]*(g[0, e, m, j]*ur[m, j] + g[1, e, m, j]*us[m, j]) + \
                              d[m, j]*(g[1, e, i, m]*ur[i, m] + g[2, e, i, m]*us[i, m]))
      )",
      {.arguments = "d: f32[8, 8]; u, lap: f32[nelements, 8, 8]; g: f32[3, nelements, 8, 8]",
       .default_type = cgen::f32});
  kernel = apply_recipe(kernel, "tag_inames(e:g.0, i:l.1, j:l.0, a:l.1, b:l.0)");
  kernel = add_prefetch(kernel, "d[a, o]", {"a", "o"});
  return add_prefetch(kernel, "u[e, o, b]", {"o", "b"});
}

// All slicings of a matrix product, ranked; items are slicings.
void enumerate_and_rank(benchmark::State& state, std::int64_t n) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32});
  std::size_t count = 0;
  for (auto _ : state) {
    count += rtcg::loopy::SlicingStream(kernel, {.parameters = {{"n", n}}}).count();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count));
}

/// The host's time for each of the launches that a loop of the host makes: kernels of two elements,
/// on a GPU of CUDA or the host's own device, which run them meanwhile. Few enough for the queue of
/// a driver.
void launch_in_host_loop(benchmark::State& state) {
  constexpr int steps = 200;
  const Kernel kernel = make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                                    "for t\n  v[i] = u[i] + t\n  ... gbarrier\n  u[j] = v[j]\nend",
                                    {.arguments = "u, v: f64[n]; n, steps: i32"});
  const rtcg::runtime::Device device = rtcg::runtime::Device::best();
  const rtcg::loopy::Executor executor(kernel, device);
  const rtcg::runtime::Buffer<double> u(device, std::vector<double>{0, 0});
  const rtcg::runtime::Buffer<double> v(device, std::vector<double>{0, 0});
  const auto call = executor.bind(
      {rtcg::loopy::arg("u", u), rtcg::loopy::arg("v", v), rtcg::loopy::arg("steps", steps)});
  const rtcg::runtime::Stream stream(device);
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    call(stream);
    const std::chrono::duration<double> submitted = std::chrono::steady_clock::now() - begin;
    stream.synchronize();
    state.SetIterationTime(submitted.count() / (2 * steps));
  }
}

/// The same launches as a program makes them by hand.
void launch_by_hand(benchmark::State& state) {
  constexpr int launches = 400;
  const rtcg::runtime::Device device = rtcg::runtime::Device::best();
  const bool is_cuda = device.info().id.kind == rtcg::runtime::BackendKind::cuda;
  const rtcg::runtime::Program program =
      rtcg::runtime::Program::compile(device, is_cuda ? R"(
extern "C" __global__ void add(double *v, const double *u, int n, int t) {
  for (int i = 0; i < n; ++i) v[i] = u[i] + t;
}
)"
                                                      : R"(#include <rtcg/host_kernel.h>
RTCG_PARAMETER_BYTES(add, 4, 8, 8, 4, 4);
RTCG_KERNEL void add(const rtcg_launch *launch, void *const *arguments) {
  double *v = *(double **)arguments[0];
  const double *u = *(double **)arguments[1];
  for (int i = 0; i < *(int *)arguments[2]; ++i) v[i] = u[i] + *(int *)arguments[3];
}
)");
  const auto add = program.function<double*, const double*, int, int>("add");
  const rtcg::runtime::Buffer<double> u(device, std::vector<double>{0, 0});
  const rtcg::runtime::Buffer<double> v(device, std::vector<double>{0, 0});
  const rtcg::runtime::Stream stream(device);
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) {
      add(stream, {1, 1}, v, u, 2, i);
    }
    const std::chrono::duration<double> submitted = std::chrono::steady_clock::now() - begin;
    stream.synchronize();
    state.SetIterationTime(submitted.count() / launches);
  }
}

BENCHMARK(launch_in_host_loop)
    ->Name("loopy/launch_in_host_loop")
    ->UseManualTime()
    ->Iterations(500)
    ->Unit(benchmark::kNanosecond);
BENCHMARK(launch_by_hand)
    ->Name("loopy/launch_by_hand")
    ->UseManualTime()
    ->Iterations(500)
    ->Unit(benchmark::kNanosecond);
BENCHMARK_CAPTURE(enumerate_and_rank, matmul, 4096)->Name("slice/enumerate_and_rank");
BENCHMARK_CAPTURE(enumerate_and_rank, odd, 1000)->Name("slice/enumerate_and_rank_1000");
BENCHMARK_CAPTURE(to_text, axpy, axpy)->Name("loopy/axpy_to_text");
BENCHMARK_CAPTURE(to_text, matmul, matmul_prefetch)->Name("loopy/matmul_prefetch_to_text");
BENCHMARK_CAPTURE(to_text, ilp, matmul_ilp_symbolic)->Name("loopy/matmul_ilp_symbolic_to_text");
BENCHMARK_CAPTURE(to_text, prefetch16, prefetch16)->Name("loopy/prefetch16_to_text");
BENCHMARK_CAPTURE(to_text, statements400, statements400)->Name("loopy/statements400_to_text");
BENCHMARK_CAPTURE(to_text, sem2d, sem2d)->Name("loopy/sem2d_to_text");
BENCHMARK(tiled_map_to_text)->Name("loopy/tiled_map_to_text");
BENCHMARK_CAPTURE(to_module, axpy, axpy)->Name("loopy/axpy_to_module");
BENCHMARK_CAPTURE(verify, axpy, axpy)->Name("loopy/axpy_verify_names");
BENCHMARK_CAPTURE(to_module, matmul_prefetch, matmul_prefetch)
    ->Name("loopy/matmul_prefetch_to_module");
BENCHMARK_CAPTURE(verify, matmul_prefetch, matmul_prefetch)
    ->Name("loopy/matmul_prefetch_verify_names");
BENCHMARK_CAPTURE(to_module, matmul_ilp_symbolic, matmul_ilp_symbolic)
    ->Name("loopy/matmul_ilp_symbolic_to_module");
BENCHMARK_CAPTURE(verify, matmul_ilp_symbolic, matmul_ilp_symbolic)
    ->Name("loopy/matmul_ilp_symbolic_verify_names");
BENCHMARK_CAPTURE(to_module, statements400, statements400)->Name("loopy/statements400_to_module");
BENCHMARK_CAPTURE(verify, statements400, statements400)->Name("loopy/statements400_verify_names");
BENCHMARK_CAPTURE(to_module, sem2d, sem2d)->Name("loopy/sem2d_to_module");
BENCHMARK_CAPTURE(verify, sem2d, sem2d)->Name("loopy/sem2d_verify_names");

}  // namespace

BENCHMARK_MAIN();
