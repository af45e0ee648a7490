#include "rtcg/runtime/device/program.h"

#include <cstdlib>
#include <future>
#include <numeric>

#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/device/copy.h"
#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

using Programs = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Programs, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Programs, AreLoadedFromTheirBinary) {
  const CompiledProgram compiled = program().compiled();
  const Program again = Program::load(device(), compiled);
  const Buffer<int> x(device(), 8);
  again.function<int*>("index_of_thread")(device().default_stream(), {2, 4}, x);
  EXPECT_EQ(x.to_vector(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(again.compiled().binary, compiled.binary);
}

TEST_P(Programs, OutliveTheirObjectInKernels) {
  const Kernel kernel = [&] { return program().kernel("index_of_thread"); }();
  const Buffer<int> x(device(), 4);
  kernel.launch(device().default_stream(), {1, 4}, ArgumentPack().add(x));
  EXPECT_EQ(x.to_vector()[3], 3);
}

TEST_P(Programs, MayEndWhileTheirKernelsRun) {
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1});
  program().function<unsigned*, int>("slow_chain")(device().default_stream(), {1, 1}, x, 1000000);
  EXPECT_EQ(x.to_vector()[0], slow_chain_result(1, 1000000));
}

TEST_P(Programs, RefuseTextThatDoesNotCompile) {
  try {
    static_cast<void>(Program::compile(device(), "this is no kernel;", {}, "nonsense"));
    FAIL() << "compiled";
  } catch (const CompileFailure& error) {
    EXPECT_NE(error.log().find("error"), std::string::npos) << error.log();
    EXPECT_NE(error.message().find("this is no kernel"), std::string::npos) << error.message();
  }
}

TEST_P(Programs, AreCompiledByManyThreadsAtOnce) {
  std::vector<std::future<int>> last_indices;
  for (int t = 0; t < 6; ++t) {
    last_indices.push_back(std::async(std::launch::async, [&, t] {
      CompileOptions options;
      options.defines = {{"UNUSED", std::to_string(t % 3)}};
      const Program own = Program::compile(device(), test_kernels.of(device()), options);
      const Buffer<int> x(device(), 16);
      const Stream stream(device());
      own.function<int*>("index_of_thread")(stream, {1, 16}, x);
      return x.to_vector(stream)[15];
    }));
  }
  for (std::future<int>& last_index : last_indices) {
    EXPECT_EQ(last_index.get(), 15);
  }
}

constexpr Texts table_kernels = {R"(#include <rtcg/host_kernel.h>
RTCG_EXTERN __attribute__((visibility("default"))) float table[32];
float table[32];
RTCG_PARAMETER_BYTES(copy_table, 1, sizeof(float *));
RTCG_KERNEL void copy_table(const rtcg_launch *launch, void *const *arguments) {
  float *out = *(float **)arguments[0];
  for (unsigned i = 0; i < launch->block[0]; ++i) out[i] = table[i];
}
)",
                                 "kernel void nothing(global int *x) { *x = 0; }",
                                 R"(extern "C" {
__constant__ float table[32];
__global__ void copy_table(float *out) { out[threadIdx.x] = table[threadIdx.x]; }
}
)"};

TEST_P(Programs, HaveGlobalsThatAreFilledByName) {
  const Program tables = Program::compile(device(), table_kernels.of(device()));
  EXPECT_ERROR(is_opencl() ? "runtime.opencl.no_globals" : "runtime.program.unknown_global",
               tables.global<float>("no_table"));
  if (is_opencl()) {
    return;  // it has no way to find a variable by its name
  }
  const BufferRef<float> table = tables.global<float>("table");
  ASSERT_EQ(table.count(), 32U);
  std::vector<float> values(32);
  std::iota(values.begin(), values.end(), 0.5F);
  const StreamRef stream = device().default_stream();
  copy_to_device(stream, values, table);
  const Buffer<float> out(device(), 32);
  tables.function<float*>("copy_table")(stream, {1, 32}, out);
  EXPECT_EQ(out.to_vector(stream), values);
}

TEST(Program, RefusesABinaryOfAnotherKind) {
  CompiledProgram ptx;
  ptx.kind = OutputKind::ptx;
  EXPECT_ERROR("runtime.program.wrong_binary", Program::load(Device::host(), ptx));
}

TEST(Program, RefusesAGlobalOfAnotherElementSize) {
  FakeBackend backend;
  CompiledProgram cubin;
  cubin.kind = OutputKind::cubin;
  const Program program = Program::load(Device(backend), cubin);
  EXPECT_EQ(program.global<short>("x").count(), 5U);
  EXPECT_ERROR("runtime.program.global_size", program.global<float>("x"));
}

TEST(Program, OfTheHostWithoutParameterBytesIsNotChecked) {
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
RTCG_KERNEL void store(const rtcg_launch *launch, void *const *arguments) {
  **(int **)arguments[0] = *(int *)arguments[1];
}
)");
  EXPECT_FALSE(program.kernel("store").attributes().parameters.has_value());
  const Buffer<int> x(Device::host(), 1);
  program.function<int*, int>("store")(Device::host().default_stream(), {1, 1}, x, 42);
  EXPECT_EQ(x.to_vector()[0], 42);
}

TEST(Program, InDebugModeWaitsForEachLaunchAndBypassesTheCache) {
  CompileOptions options;
  options.debug = true;
  const Program program =
      Program::compile(Device::host(), test_kernels.of(Device::host()), options, "debugged");
  EXPECT_FALSE(program.compiled().from_cache);
  EXPECT_NE(program.compiled().source_path.find("debugged"), std::string::npos);
  const Buffer<unsigned> x(Device::host(), std::vector<unsigned>{1});
  const Stream stream(Device::host());
  program.function<unsigned*, int>("slow_chain")(stream, {1, 1}, x, 1000000);
  EXPECT_TRUE(stream.is_done());
}

TEST(Program, InDebugModeReportsAFaultAtItsLaunch) {
  CompileOptions options;
  options.debug = true;
  options.language = HostLanguage::cpp;
  const Program program = Program::compile(Device::host(), R"(#include <rtcg/host_kernel.h>
#include <stdexcept>
RTCG_KERNEL void fail(const rtcg_launch *, void *const *) { throw std::runtime_error("too hot"); }
)",
                                           options);
  EXPECT_ERROR("runtime.host.kernel_failed",
               program.function<>("fail")(Device::host().default_stream(), {1, 1}));
}

}  // namespace
}  // namespace rtcg::runtime
