// What the door says where there is no device. Each case is a process of its own, because a process
// looks for devices once.
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/graph_loop.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

class CudaDevicesDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void say_what_there_is(const char* library) {
  ::setenv("RTCG_LIBCUDA", library, 1);
  const BackendDevices& found = cuda_devices();
  std::fprintf(stderr, "%zu devices;%s;\n", found.devices.size(), found.why_none.c_str());
  std::_Exit(0);
}

TEST_F(CudaDevicesDeathTest, FindsAllDevices) {
  ::setenv("FAKE_DRIVER_DEVICES", "3", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0), "3 devices;;");
  ::unsetenv("FAKE_DRIVER_DEVICES");
}

TEST_F(CudaDevicesDeathTest, SaysThatThereIsNoDriver) {
  EXPECT_EXIT(
      say_what_there_is("libcuda-of-nowhere.so.1"), testing::ExitedWithCode(0),
      "0 devices;'libcuda-of-nowhere.so.1' of the NVIDIA driver cannot be opened: .*No such "
      "file");
}

TEST_F(CudaDevicesDeathTest, SaysThatALibraryIsNoDriver) {
  EXPECT_EXIT(say_what_there_is("libm.so.6"), testing::ExitedWithCode(0),
              "0 devices;'libm.so.6' has no cuGetProcAddress");
}

TEST_F(CudaDevicesDeathTest, SaysThatALibraryIsTheToolkitsStub) {
  ::setenv("FAKE_DRIVER_STUB", "1", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;'.*' is the CUDA toolkit's stub, not a driver;");
  ::unsetenv("FAKE_DRIVER_STUB");
}

TEST_F(CudaDevicesDeathTest, SaysThatTheDriverRefused) {
  ::setenv("FAKE_DRIVER_INIT", "100", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;cuInit gave CUDA_ERROR_NO_DEVICE: the driver sees no GPU");
  ::setenv("FAKE_DRIVER_INIT", "34", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;cuInit gave CUresult 34: this libcuda is the toolkit's stub");
  ::setenv("FAKE_DRIVER_INIT", "999", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;cuInit gave CUresult 999;");
  ::unsetenv("FAKE_DRIVER_INIT");
}

TEST_F(CudaDevicesDeathTest, SaysThatThereIsNoDevice) {
  ::setenv("FAKE_DRIVER_DEVICES", "0", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;the driver sees no GPU");
  ::unsetenv("FAKE_DRIVER_DEVICES");
}

TEST_F(CudaDevicesDeathTest, SaysThatADriverWithoutAFunctionIsTooOld) {
  ::setenv("FAKE_DRIVER_HIDE", "cuDeviceGetCount", 1);
  EXPECT_EXIT(say_what_there_is(RTCG_FAKE_DRIVER), testing::ExitedWithCode(0),
              "0 devices;this driver has no 'cuDeviceGetCount' as of CUDA 2.0: install a newer one "
              ".runtime.cuda.missing_function.");
  ::unsetenv("FAKE_DRIVER_HIDE");
}

[[noreturn]] void use_in_a_child() {
  ::setenv("RTCG_LIBCUDA", RTCG_FAKE_DRIVER, 1);
  static_cast<void>(cuda_devices());
  const pid_t child = ::fork();
  if (child == 0) {
    say_what_there_is(RTCG_FAKE_DRIVER);
  }
  ::waitpid(child, nullptr, 0);
  std::_Exit(0);
}

TEST_F(CudaDevicesDeathTest, HasNoDeviceInAProcessForkedFromOneThatUsedThem) {
  EXPECT_EXIT(use_in_a_child(), testing::ExitedWithCode(0),
              "0 devices;this process was forked from one that had used CUDA");
}

[[noreturn]] void use_an_old_driver(const char* hidden) {
  ::setenv("RTCG_LIBCUDA", RTCG_FAKE_DRIVER, 1);
  ::setenv("FAKE_DRIVER_HIDE", hidden, 1);
  Backend& backend = *cuda_devices().devices.at(0);
  CompiledProgram compiled;
  compiled.kind = OutputKind::ptx;
  for (const char letter : std::string("kernels axpy")) {
    compiled.binary.push_back(static_cast<std::byte>(letter));
  }
  const Backend::Program program = backend.load(compiled);
  const Backend::Kernel kernel = backend.find_kernel(program, "axpy");
  const KernelAttributes attributes = backend.kernel_attributes(kernel);
  std::fprintf(stderr, "%s,%d,%zu;", attributes.name.c_str(), attributes.parameters.has_value(),
               backend.find_global(program, "table").size_bytes);
  try {
    backend.find_kernel(program, "scale");
  } catch (const Error& error) {
    std::fprintf(stderr, "%s;", error.what());
  }
  backend.unload(program);
  using Take = const char* (*)();
  void* library = ::dlopen(RTCG_FAKE_DRIVER, RTLD_NOW);
  std::fprintf(stderr, "%s", reinterpret_cast<Take>(::dlsym(library, "fake_driver_take_calls"))());
  using Live = int (*)(const char*);
  std::fprintf(stderr, "%d left\n",
               reinterpret_cast<Live>(::dlsym(library, "fake_driver_live"))("module"));
  std::_Exit(0);
}

TEST_F(CudaDevicesDeathTest, LoadsModulesWhereTheDriverHasNoLibraries) {
  EXPECT_EXIT(use_an_old_driver("cuLibraryLoadData"), testing::ExitedWithCode(0),
              "axpy,1,16;(.|\n)*cuModuleLoadDataEx(.|\n)*cuModuleUnload(.|\n)*0 left");
}

TEST_F(CudaDevicesDeathTest, DoesWithoutWhatAnOldDriverCannotTell) {
  EXPECT_EXIT(use_an_old_driver("cuFuncGetName,cuFuncGetParamInfo,cuKernelGetName"),
              testing::ExitedWithCode(0),
              "[?],0,16;the program has no kernel 'scale' .runtime.program.unknown_kernel.;");
}

[[noreturn]] void ask_an_old_driver_for_much() {
  ::setenv("RTCG_LIBCUDA", RTCG_FAKE_DRIVER, 1);
  ::setenv("FAKE_DRIVER_HIDE",
           "cuMemAllocFromPoolAsync,cuProfilerStart,cuGraphConditionalHandleCreate", 1);
  Backend& backend = *cuda_devices().devices.at(0);
  EXPECT_FALSE(backend.info().has_stream_ordered_allocation);
  EXPECT_ERROR("runtime.cuda.no_memory_pools", backend.allocate_on(nullptr, 16));
  EXPECT_ERROR("runtime.cuda.missing_function", CudaNative(Device(backend)).start_profiler());
  EXPECT_ERROR("runtime.cuda.missing_function",
               dynamic_cast<GraphLoopBackend&>(backend).repeat_while(nullptr, 0x1000, [] {}));
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST_F(CudaDevicesDeathTest, RefusesOnlyWhatAnOldDriverCannotDo) {
  EXPECT_EXIT(ask_an_old_driver_for_much(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rtcg::runtime
