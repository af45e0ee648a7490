// What the runtime costs on the host's side: cache hits, pools, text to callable, launches. Started
// with `--second-process`, it is the process that finds what another one has compiled.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include "rtcg/runtime.h"
#include "rtcg/runtime/compile/child_process.h"
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
  [[nodiscard]] std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
  CompileCache cache_;
};

CompileRequest host_request() {
  CompileRequest request;
  request.source.text = host_text;
  return request;
}

CompileRequest cuda_request(const std::string& include) {
  CompileRequest request;
  request.kind = OutputKind::cubin;
  request.target = "sm_90";
  request.source.text =
      include + "extern \"C\" __global__ void twice(float *a) { a[threadIdx.x] *= 2; }\n";
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
  const CompileRequest request = cuda_request({});
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
    ->Iterations(500)  // what was loaded once stays mapped, and the kernel limits mappings
    ->Unit(benchmark::kMillisecond);

const char* const complex_include = "#include <cuda/std/complex>\n";

/// From the text to what can be launched: a function handle on the host; for CUDA, where loading
/// needs a GPU, the binary. @unit us
double find_compiled(const std::string& what) {
  const Device device = Device::host();
  const auto begin = std::chrono::steady_clock::now();
  if (what == "host") {
    const Program program = Program::compile(device, host_text);
    benchmark::DoNotOptimize(program.function<float*, int>("twice"));
  } else {
    const CompileRequest request = cuda_request(what == "cuda" ? "" : complex_include);
    benchmark::DoNotOptimize(compile_cached(Nvrtc::instance(), request));
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

/// Each iteration is a process of its own, which says how long it took.
void second_process(benchmark::State& state, const std::string& what) {
  if (what != "host" && !Nvrtc::instance().why_unavailable().empty()) {
    state.SkipWithError("no NVRTC here");
    return;
  }
  const ScratchCache scratch;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  double least_us = std::numeric_limits<double>::infinity();
  bool is_first = true;  // the one that compiles
  for (auto _ : state) {
    ProcessResult result;
    do {
      result = run_process({program, "--second-process", what, scratch.folder()});
    } while (result.exit_code == 0 && std::exchange(is_first, false));
    if (result.exit_code != 0) {
      state.SkipWithError(result.output.c_str());
      return;
    }
    const double time_us = std::stod(result.output);
    least_us = std::min(least_us, time_us);
    state.SetIterationTime(time_us * 1e-6);
  }
  state.counters["least_us"] = least_us;
}
BENCHMARK_CAPTURE(second_process, host, "host")
    ->Name("runtime/cache_hit_second_process_host")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(second_process, cuda, "cuda")
    ->Name("runtime/cache_hit_second_process_cuda")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(second_process, cuda_complex, "cuda_complex")
    ->Name("runtime/cache_hit_second_process_cuda_complex")
    ->UseManualTime()
    ->Iterations(50)
    ->Unit(benchmark::kMicrosecond);

/// A kernel with next to nothing to do, waited for.
void host_launch(benchmark::State& state) {
  const Device device = Device::host();
  const Stream stream(device);
  const Program program = Program::compile(device, host_text);
  const auto twice = program.function<float*, int>("twice");
  float value = 1;
  for (auto _ : state) {
    twice(stream, {1, 1}, &value, 0);
    stream.synchronize();
  }
}
BENCHMARK(host_launch)
    ->Name("runtime/host_launch_and_synchronize")
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--second-process") {
    ::setenv("RTCG_CACHE_DIR", argv[3], 1);
    try {
      std::cout << find_compiled(argv[2]) << std::endl;
      return 0;
    } catch (const std::exception& error) {
      std::cerr << error.what() << std::endl;
      return 1;
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
