// What the runtime costs on the host's side: cache hits, pools, text to callable.
#include <filesystem>
#include <string>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "rtcg/runtime.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"

namespace {

using namespace rtcg::runtime;

const char* const host_text = R"(#include <rtcg/host_kernel.h>
RTCG_PARAMETER_BYTES(twice, 2, sizeof(float *), sizeof(int));
RTCG_KERNEL void twice(const rtcg_launch *launch, void *const *arguments) {
  float *a = *(float **)arguments[0];
  int n = *(int *)arguments[1];
  (void)launch;
#pragma omp simd
  for (int i = 0; i < n; ++i) {
    a[i] *= 2;
  }
}
)";

/// A cache of this process's own, so that the user's is neither read nor filled.
class ScratchCache {
 public:
  ScratchCache()
      : folder_(std::filesystem::temp_directory_path() /
                ("rtcg_bench_" + std::to_string(::getpid()))),
        cache_({.folder = folder_.string()}) {}
  ~ScratchCache() { std::filesystem::remove_all(folder_); }
  CompileCache& cache() { return cache_; }

 private:
  std::filesystem::path folder_;
  CompileCache cache_;
};

CompileRequest host_request() {
  CompileRequest request;
  request.source.text = host_text;
  return request;
}

void cache_hit(benchmark::State& state) {
  ScratchCache scratch;
  const CompileRequest request = host_request();
  (void)compile_cached(HostCompiler::instance(), request, scratch.cache());
  for (auto _ : state) {
    benchmark::DoNotOptimize(compile_cached(HostCompiler::instance(), request, scratch.cache()));
  }
}
BENCHMARK(cache_hit)->Name("runtime/cache_hit")->Unit(benchmark::kMicrosecond);

void cache_hit_nvrtc(benchmark::State& state) {
  if (!Nvrtc::instance().why_unavailable().empty()) {
    state.SkipWithError("no NVRTC here");
    return;
  }
  ScratchCache scratch;
  CompileRequest request;
  request.kind = OutputKind::cubin;
  request.target = "sm_90";
  request.source.text = "extern \"C\" __global__ void twice(float *a) { a[threadIdx.x] *= 2; }\n";
  (void)compile_cached(Nvrtc::instance(), request, scratch.cache());
  for (auto _ : state) {
    benchmark::DoNotOptimize(compile_cached(Nvrtc::instance(), request, scratch.cache()));
  }
}
BENCHMARK(cache_hit_nvrtc)->Name("runtime/cache_hit_nvrtc")->Unit(benchmark::kMicrosecond);

void pool_alloc_free(benchmark::State& state) {
  const Device device = Device::host();
  MemoryPool pool(device);
  const Stream stream(device);
  for (auto _ : state) {
    benchmark::DoNotOptimize(pool.allocate_bytes(stream, 4096));
  }
}
BENCHMARK(pool_alloc_free)->Name("runtime/pool_alloc_free")->Unit(benchmark::kNanosecond);

/// Host text to something that can be launched, without the cache and out of it.
void host_text_to_function(benchmark::State& state, bool use_cache) {
  const Device device = Device::host();
  CompileOptions options;
  options.use_cache = use_cache;
  for (auto _ : state) {
    const Program program = Program::compile(device, host_text, options);
    benchmark::DoNotOptimize(program.function<float*, int>("twice"));
  }
}
BENCHMARK_CAPTURE(host_text_to_function, first, false)
    ->Name("runtime/host_text_to_function_first")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(host_text_to_function, cached, true)
    ->Name("runtime/host_text_to_function_cached")
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
