// Programs and launches on a real GPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/jit_link.h"
#include "rtcg/runtime/compile/program_file.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/launch_attributes.h"
#include "tests/runtime/cuda/cuda_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using CudaProgram = CudaTest;

constexpr const char* kernels_text = R"(
extern "C" {
__constant__ float table[32];
__device__ int counter = 5;

__global__ void twice(float* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    values[i] *= 2.0f;
  }
}
__global__ void copy_table(float* out) { out[threadIdx.x] = table[threadIdx.x]; }
__global__ void count() { atomicAdd(&counter, 1); }
__global__ void reverse(int* values) {
  extern __shared__ int held[];
  for (int i = threadIdx.x; i < 20000; i += blockDim.x) {
    held[i] = values[i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 20000; i += blockDim.x) {
    values[i] = held[19999 - i];
  }
}
struct Pair { double weight; char tag; };
__global__ void use_pair(double* out, Pair pair, short factor) {
  *out = pair.weight * factor + pair.tag;
}
__global__ void write_far(int* nowhere) { nowhere[threadIdx.x] = 1; }
__global__ void __launch_bounds__(64) small_blocks() {}
}
)";

Program compile_kernels() {
  return Program::compile(Device::find("cuda:0"), kernels_text);
}

TEST_F(CudaProgram, LaunchesWithTypedArguments) {
  const Stream stream(gpu());
  const auto twice = compile_kernels().function<float*, int>("twice");
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.0F);
  const Buffer<float> buffer(gpu(), values);
  twice(stream, {4, 256}, buffer, 1000);
  twice(stream, {4, 256}, buffer + 500, 500);
  const std::vector<float> found = buffer.to_vector(stream);
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(found[i], values[i] * (i < 500 ? 2.0F : 4.0F)) << i;
  }
}

TEST_F(CudaProgram, LaunchesWithArgumentsKnownAtRunTime) {
  const Stream stream(gpu());
  const Kernel twice = compile_kernels().kernel("twice");
  const Buffer<float> buffer(gpu(), std::vector<float>(256, 3.0F));
  twice.launch(stream, {1, 256}, ArgumentPack().add(buffer).add(256));
  EXPECT_EQ(buffer.to_vector(stream), std::vector<float>(256, 6.0F));
  EXPECT_ERROR("runtime.launch.argument_count",
               twice.launch(stream, {1, 256}, ArgumentPack().add(buffer)));
  EXPECT_ERROR("runtime.launch.argument_size",
               twice.launch(stream, {1, 256}, ArgumentPack().add(buffer).add(256LL)));
}

TEST_F(CudaProgram, CopiesHostDataForALaunch) {
  const Stream stream(gpu());
  const auto twice = compile_kernels().function<float*, int>("twice");
  std::vector<float> values = {1, 2, 3, 4};
  twice(stream, {1, 32}, InOut(values), 4);
  stream.synchronize();
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(CudaProgram, ChecksTheParameterListAtLookup) {
  const Program program = compile_kernels();
  EXPECT_ERROR("runtime.function.parameter_count", program.function<float*>("twice"));
  EXPECT_ERROR("runtime.function.parameter_size", program.function<float*, double>("twice"));
  EXPECT_ERROR("runtime.program.unknown_kernel", program.kernel("thrice"));
  const auto parameters = CudaNative(gpu()).parameters(program.kernel("twice"));
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[1].first, 8U);
  EXPECT_EQ(parameters[1].second, 4U);
}

struct Pair {
  double weight;
  char tag;
};

TEST_F(CudaProgram, PassesStructsByValue) {
  const Stream stream(gpu());
  const auto use_pair = compile_kernels().function<double*, Pair, short>("use_pair");
  const Buffer<double> out(gpu(), 1);
  use_pair(stream, {1, 1}, out, Pair{1.5, 7}, 4);
  EXPECT_EQ(out.to_vector(stream).front(), 13.0);
}

TEST_F(CudaProgram, ReadsAndWritesVariablesByName) {
  const Stream stream(gpu());
  const Program program = compile_kernels();
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 0.5F);
  const BufferRef<float> table = program.global<float>("table");
  ASSERT_EQ(table.count(), 32U);
  copy_to_device(stream, values, table);
  const Buffer<float> out(gpu(), 32);
  program.function<float*>("copy_table")(stream, {1, 32}, out);
  EXPECT_EQ(out.to_vector(stream), values);

  program.function<>("count")(stream, {3, 32});
  std::vector<int> counter(1);
  copy_to_host(stream, program.global<int>("counter"), counter);
  stream.synchronize();
  EXPECT_EQ(counter.front(), 5 + 96);
  EXPECT_ERROR("runtime.program.unknown_global", program.global<int>("kounter"));
}

TEST_F(CudaProgram, OptsInToMuchSharedMemory) {
  constexpr std::size_t shared_bytes = 20000 * sizeof(int);
  if (gpu().info().shared_bytes_per_block_opt_in < shared_bytes) {
    GTEST_SKIP() << "a block of this device has less than 80000 shared bytes";
  }
  const Stream stream(gpu());
  const auto reverse = compile_kernels().function<int*>("reverse");
  std::vector<int> values(20000);
  std::iota(values.begin(), values.end(), 0);
  const Buffer<int> buffer(gpu(), values);
  reverse(stream, {1, 256, shared_bytes}, buffer);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(buffer.to_vector(stream), values);
  EXPECT_ERROR("runtime.launch.shared_limit",
               reverse(stream, {1, 256, std::size_t{1} << 20U}, buffer));
}

TEST_F(CudaProgram, RefusesShapesBeyondTheLimits) {
  const Stream stream(gpu());
  const Program program = compile_kernels();
  const auto small_blocks = program.function<>("small_blocks");
  small_blocks(stream, {1, 64});
  EXPECT_ERROR("runtime.launch.block_limit", small_blocks(stream, {1, 65}));
  EXPECT_ERROR("runtime.launch.block_limit", small_blocks(stream, {1, {1, 1, 65}}));
  EXPECT_ERROR("runtime.launch.grid_limit", small_blocks(stream, {{1, 70000, 1}, 64}));
  small_blocks(stream, {0, 64});
  stream.synchronize();
}

TEST_F(CudaProgram, TellsWhatAKernelIsMadeOf) {
  const CudaNative native(gpu());
  const Kernel small_blocks = compile_kernels().kernel("small_blocks");
  EXPECT_EQ(small_blocks.attributes().max_threads_per_block, 64);
  EXPECT_EQ(small_blocks.attributes().preferred_block_multiple, 32);
  const Kernel twice = compile_kernels().kernel("twice");
  EXPECT_GT(twice.attributes().registers, 0);
  EXPECT_EQ(twice.name(), "twice");
  const auto& capability = gpu().info().compute_capability;
  EXPECT_EQ(native.kernel_attribute(twice, 6), 10 * capability[0] + capability[1]);
  native.set_kernel_attribute(twice, 9, 50);
  EXPECT_EQ(native.kernel_attribute(twice, 9), 50);
  native.set_kernel_cache_config(twice, 1);
}

TEST_F(CudaProgram, ComputesOccupancy) {
  const Kernel twice = compile_kernels().kernel("twice");
  const int blocks = twice.blocks_per_multiprocessor(256);
  EXPECT_GE(blocks, 1);
  EXPECT_LE(blocks * 256, gpu().info().max_threads_per_multiprocessor);
  EXPECT_GE(twice.blocks_per_multiprocessor(64), blocks);
  // a block that takes all the shared memory is alone
  const std::size_t all = gpu().info().shared_bytes_per_block_opt_in;
  EXPECT_EQ(twice.blocks_per_multiprocessor(256, all), 1);
  EXPECT_EQ(twice.blocks_per_multiprocessor(256, all + 1024), 0);
  const int best = twice.suggested_block_threads();
  EXPECT_EQ(best % 32, 0);
  EXPECT_LE(best, twice.attributes().max_threads_per_block);
  EXPECT_LE(compile_kernels().kernel("small_blocks").suggested_block_threads(), 64);
}

constexpr const char* cooperative_text = R"(
extern "C" __global__ void two_phases(unsigned int* arrived, unsigned int* sums) {
  // every block counts itself, then waits for all: works only when all are there at once
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
    sums[blockIdx.x] = atomicAdd(arrived, 0u);
  }
}
)";

TEST_F(CudaProgram, LaunchesAllBlocksAtOnce) {
  if (!gpu().info().has_cooperative_launch) {
    GTEST_SKIP() << "the device has no cooperative launch";
  }
  const Program program = Program::compile(gpu(), cooperative_text);
  const auto two_phases = program.function<unsigned int*, unsigned int*>("two_phases");
  const int per_multiprocessor = two_phases.kernel().blocks_per_multiprocessor(32);
  const auto blocks = static_cast<std::uint64_t>(per_multiprocessor * gpu().info().multiprocessors);
  const Stream stream(gpu());
  const Buffer<unsigned int> arrived(gpu(), std::vector<unsigned int>(1));
  const Buffer<unsigned int> sums(gpu(), blocks);
  LaunchShape shape = {blocks, 32};
  shape.cooperative = true;
  two_phases(stream, shape, arrived, sums);
  EXPECT_EQ(sums.to_vector(stream),
            std::vector<unsigned int>(blocks, static_cast<unsigned int>(blocks)));
  shape.grid = blocks + 1;
  EXPECT_ERROR("runtime.launch.refused", two_phases(stream, shape, arrived, sums));
}

// Each block reads a number in the shared memory of the next one of its cluster.
constexpr const char* cluster_text = R"(
#include <cooperative_groups.h>
extern "C" __global__ void next_of_cluster(int* out) {
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 10 * blockIdx.x;
  cluster.sync();
  const int next = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
  cluster.sync();  // no block ends while another one reads its memory
}
)";

TEST_F(CudaProgram, LaunchesClustersOfBlocks) {
  const Kernel next_of_cluster = Program::compile(gpu(), cluster_text).kernel("next_of_cluster");
  const Stream stream(gpu());
  const LaunchShape shape = {48, 64};
  for (const std::uint64_t blocks : {2, 8, 16}) {
    const LaunchAttributes attributes = {.cluster = blocks};
    if (!why_no_launch(gpu(), attributes).empty()) {
      GTEST_SKIP() << why_no_launch(gpu(), attributes);
    }
    EXPECT_GT(clusters_at_once(next_of_cluster, shape, attributes), 0);
    const Buffer<int> out(gpu(), 48);
    launch_with(next_of_cluster, stream, shape, ArgumentPack().add(out), attributes);
    std::vector<int> expected;
    for (int block = 0; block < 48; ++block) {
      const int size = static_cast<int>(blocks);
      expected.push_back(10 * (block / size * size + (block + 1) % size));
    }
    EXPECT_EQ(out.to_vector(stream), expected);
  }
  const Buffer<int> out(gpu(), 48);
  EXPECT_ERROR(
      "runtime.launch.cluster_limit",
      launch_with(next_of_cluster, stream, shape, ArgumentPack().add(out), {.cluster = 5}));
  EXPECT_ERROR("runtime.launch.refused", launch_with(next_of_cluster, stream, shape,
                                                     ArgumentPack().add(out), {.cluster = 48}));
}

// Each launch lets the next one start at once; that waits before it reads.
constexpr const char* chain_text = R"(
extern "C" __global__ void step(const int* from, int* to) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  to[i] = from[(i + 1) % n] + 1;
}
)";

TEST_F(CudaProgram, LaunchesBeforeTheKernelAheadHasEnded) {
  const LaunchAttributes attributes = {.is_programmatic = true, .priority = 0};
  if (!why_no_launch(gpu(), attributes).empty()) {
    GTEST_SKIP() << why_no_launch(gpu(), attributes);
  }
  const Kernel step = Program::compile(gpu(), chain_text).kernel("step");
  const Stream stream(gpu());
  std::vector<int> values(64 * 256);
  std::iota(values.begin(), values.end(), 0);
  const Buffer<int> first(gpu(), values);
  const Buffer<int> second(gpu(), values.size());
  constexpr int steps = 400;
  for (int i = 0; i < steps; i += 2) {
    launch_with(step, stream, {64, 256}, ArgumentPack().add(first).add(second), attributes);
    launch_with(step, stream, {64, 256}, ArgumentPack().add(second).add(first), attributes);
  }
  const std::vector<int> found = first.to_vector(stream);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<int>((i + steps) % found.size()) + steps);
  }
}

TEST_F(CudaProgram, FindsInstancesOfTemplates) {
  CompileOptions options;
  options.name_expressions = {"scale<float, 3>", "scale<int, 5>", "&shift<double>"};
  const Program program = Program::compile(gpu(), R"(
template <class T, int factor>
__global__ void scale(T* values) { values[threadIdx.x] *= factor; }
template <class T>
__device__ T shift = T(2.5);
)",
                                           options);
  const Stream stream(gpu());
  const Buffer<float> floats(gpu(), std::vector<float>(32, 2.0F));
  const Buffer<int> ints(gpu(), std::vector<int>(32, 2));
  program.function<float*>("scale<float, 3>")(stream, {1, 32}, floats);
  program.function<int*>("scale<int, 5>")(stream, {1, 32}, ints);
  EXPECT_EQ(floats.to_vector(stream), std::vector<float>(32, 6.0F));
  EXPECT_EQ(ints.to_vector(stream), std::vector<int>(32, 10));
  std::vector<double> shift(1);
  copy_to_host(stream, program.global<double>("&shift<double>"), shift);
  stream.synchronize();
  EXPECT_EQ(shift.front(), 2.5);
}

TEST_F(CudaProgram, LoadsPtx) {
  CompileRequest request;
  request.kind = OutputKind::ptx;
  request.source.text = kernels_text;
  request.target = gpu().info().target;
  const Program program = Program::load(gpu(), compile_cached(gpu().backend().compiler(), request));
  const Stream stream(gpu());
  const Buffer<float> buffer(gpu(), std::vector<float>(32, 1.0F));
  program.function<float*, int>("twice")(stream, {1, 32}, buffer, 32);
  EXPECT_EQ(buffer.to_vector(stream), std::vector<float>(32, 2.0F));
}

TEST_F(CudaProgram, LoadsFiles) {
  const TemporaryFolder folder;
  for (const OutputKind kind : {OutputKind::cubin, OutputKind::ptx}) {
    CompileRequest request;
    request.kind = kind;
    request.source.text = kernels_text;
    request.target = gpu().info().target;
    const CompiledProgram compiled = compile_cached(gpu().backend().compiler(), request);
    const std::string path = folder.path() + "/" + std::string(to_string(kind));
    ASSERT_EQ(write_file(path, {reinterpret_cast<const char*>(compiled.binary.data()),
                                compiled.binary.size()}),
              "");
    const Program program = Program::load(gpu(), read_program_file(path));
    const Stream stream(gpu());
    const Buffer<float> buffer(gpu(), std::vector<float>(32, 1.0F));
    program.function<float*, int>("twice")(stream, {1, 32}, buffer, 32);
    EXPECT_EQ(buffer.to_vector(stream), std::vector<float>(32, 2.0F));
  }
}

TEST_F(CudaProgram, RepeatsWhatTheDriverSaysOfBadPtx) {
  CompiledProgram bad;
  bad.kind = OutputKind::ptx;
  bad.target = gpu().info().target;
  for (const char letter : std::string(".version 7.0\n.target sm_50\nnonsense\n")) {
    bad.binary.push_back(static_cast<std::byte>(letter));
  }
  EXPECT_ERROR("runtime.cuda.call_failed", Program::load(gpu(), bad));
}

TEST_F(CudaProgram, LinksSeparatelyCompiledTexts) {
  const auto compile = [&](const char* text) {
    CompileRequest request;
    request.kind = OutputKind::cubin;
    request.source.text = text;
    request.target = gpu().info().target;
    request.options.flags = {"--relocatable-device-code=true"};
    return compile_cached(gpu().backend().compiler(), request);
  };
  const CompiledProgram library = compile("__device__ int answer() { return 42; }");
  const CompiledProgram main = compile(
      "__device__ int answer(); extern \"C\" __global__ void ask(int* out) { *out = answer(); }");
  using Input = CudaNative::LinkInput;
  const std::vector<Input> inputs = {{Input::Kind::cubin, library.binary, "library"},
                                     {Input::Kind::cubin, main.binary, "main"}};
  const Program program = Program::load(gpu(), CudaNative(gpu()).link(inputs));
  const Stream stream(gpu());
  const Buffer<int> out(gpu(), 1);
  program.function<int*>("ask")(stream, {1, 1}, out);
  EXPECT_EQ(out.to_vector(stream).front(), 42);
  const std::vector<Input> incomplete = {inputs[1]};
  EXPECT_ERROR("runtime.cuda.call_failed", CudaNative(gpu()).link(incomplete));
}

TEST_F(CudaProgram, LinksLtoIrOfSeparateTexts) {
  if (const std::string why = why_no_jit_link(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto compile = [&](const char* text) {
    CompileRequest request;
    request.kind = OutputKind::lto_ir;
    request.source.text = text;
    request.target = gpu().info().target;
    return compile_cached(gpu().backend().compiler(), request);
  };
  const CompiledProgram parts[] = {compile("__device__ float shape(float x) { return x * x; }"),
                                   compile("__device__ float shape(float x);\n"
                                           "extern \"C\" __global__ void apply(float* x) {\n"
                                           "  x[threadIdx.x] = shape(x[threadIdx.x]);\n}\n")};
  const Program program = Program::load(gpu(), link_programs(parts));
  const Stream stream(gpu());
  const Buffer<float> x(gpu(), std::vector<float>{1, 2, 3, -4});
  program.function<float*>("apply")(stream, {1, 4}, x);
  EXPECT_EQ(x.to_vector(stream), (std::vector<float>{1, 4, 9, 16}));
}

// Each level of a tree of launches adds to the elements, then launches two halves.
TEST_F(CudaProgram, LaunchesFromKernels) {
  if (!why_no_jit_link().empty() || find_device_runtime().empty()) {
    GTEST_SKIP() << "no nvJitLink or no libcudadevrt.a";
  }
  CompileRequest request;
  request.kind = OutputKind::cubin;
  request.source.text = R"(
extern "C" __global__ void halve(int* x, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) x[i] += 1;
  __syncthreads();
  if (threadIdx.x == 0 && count > 1) {
    halve<<<1, 32>>>(x, count / 2);
    halve<<<1, 32>>>(x + count / 2, count - count / 2);
  }
}
)";
  request.target = gpu().info().target;
  request.options.flags = {"--relocatable-device-code=true"};
  const CompiledProgram parts[] = {compile_cached(gpu().backend().compiler(), request)};
  const Program program = Program::load(gpu(), link_programs(parts, {{}, {find_device_runtime()}}));
  const Stream stream(gpu());
  const Buffer<int> x(gpu(), std::vector<int>(64, 0));
  program.function<int*, int>("halve")(stream, {1, 32}, x, 64);
  EXPECT_EQ(x.to_vector(stream), std::vector<int>(64, 7));
}

TEST_F(CudaProgram, UnloadsWithTheLastThatUsesIt) {
  const Stream stream(gpu());
  const Buffer<float> buffer(gpu(), std::vector<float>(32, 1.0F));
  // the program itself is gone before the launch
  const auto twice = compile_kernels().function<float*, int>("twice");
  twice(stream, {1, 32}, buffer, 32);
  EXPECT_EQ(buffer.to_vector(stream), std::vector<float>(32, 2.0F));
  const MemoryInfo before = gpu().memory_info();
  for (int round = 0; round < 200; ++round) {
    const Program program = compile_kernels();
    static_cast<void>(program.kernel("count"));
  }
  EXPECT_LT(before.free_bytes - std::min(before.free_bytes, gpu().memory_info().free_bytes),
            std::size_t{64} << 20U)
      << "200 programs loaded and dropped leave memory behind";
}

// A fault ends what a process can do on the device, so each has a process of its own.
using CudaProgramDeathTest = CudaTest;

void write_to_nowhere(bool debug) {
  if (debug) {
    ::setenv("RTCG_DEBUG", "1", 1);
  }
  const Device gpu = Device::find("cuda:0");
  const Stream stream(gpu);
  const Buffer<int> buffer(gpu, 1);
  const auto write_far = Program::compile(gpu, kernels_text).function<int*>("write_far");
  const BufferRef<int> nowhere(gpu, 16, 1);
  try {
    write_far(stream, {1, 32}, nowhere);
    std::fprintf(stderr, "launched;");
    stream.synchronize();
    std::fprintf(stderr, "no fault\n");
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  try {
    static_cast<void>(buffer.to_vector());
    std::fprintf(stderr, "the device still works\n");
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "again %s\n", error.code().c_str());
  }
}

[[noreturn]] void write_to_nowhere_and_exit(bool debug) {
  write_to_nowhere(debug);  // its destructors find a lost context, and must not throw
  std::exit(0);
}

TEST_F(CudaProgramDeathTest, ReportsAFaultAtTheNextSynchronisation) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_to_nowhere_and_exit(false), testing::ExitedWithCode(0),
              "launched;cannot synchronise a stream.*CUDA_ERROR_ILLEGAL_ADDRESS "
              ".runtime.cuda.kernel_fault.\nagain runtime.cuda.kernel_fault");
}

TEST_F(CudaProgramDeathTest, ReportsAFaultAtItsLaunchInDebugMode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(write_to_nowhere_and_exit(true), testing::ExitedWithCode(0),
              "kernel 'write_far'.*CUDA_ERROR_ILLEGAL_ADDRESS.*.runtime.cuda.kernel_fault.\n"
              "again runtime.cuda.kernel_fault");
}

}  // namespace
}  // namespace rtcg::runtime
