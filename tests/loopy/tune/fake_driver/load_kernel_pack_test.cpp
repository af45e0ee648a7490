// Packs with machine code of GPUs, on a machine that has a driver and no NVRTC. The driver is none.
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/kernel_pack.h"
#include "rtcg/loopy/tune/tuned_executor.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/device/stream.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const IntegerValues sizes = {{"n", 100}};

Kernel scaled(const std::string& factor = "q") {
  return make_kernel("{[i]: 0 <= i < n}", "out[i] = " + factor + "*a[i]",
                     {.name = "scaled", .arguments = "a, out: f32[n]; q: i32"});
}

class KernelPackWithoutNvrtc : public runtime::FakeDevice {
 protected:
  // A process of its own has NVRTC, once for all tests: its place is looked up once a process.
  static void SetUpTestSuite() {
    path() = (std::filesystem::temp_directory_path() / ("rtcg_pack_" + std::to_string(::getpid())))
                 .string();
    const pid_t child = ::fork();
    if (child == 0) {
      const bool has_nvrtc = runtime::Nvrtc::instance().why_unavailable().empty();
      if (has_nvrtc) {
        KernelPack(path()).add(scaled(), "sm_90", sizes, parse_slicing("i: g.0 l.0*32"), 5);
        KernelPack(path()).add(scaled(), "sm_90", sizes, parse_slicing("i: g.0 l.0*64"), 7);
        KernelPack(path()).add(scaled(), "sm_80", sizes, parse_slicing("i: g.0 l.0*16"), 1);
      }
      std::_Exit(has_nvrtc ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    has_pack() = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    ::setenv("RTCG_NVRTC", "/nowhere/libnvrtc.so", 1);
  }
  static void TearDownTestSuite() {
    ::unsetenv("RTCG_NVRTC");
    std::filesystem::remove(path());
  }
  void SetUp() override {
    if (!has_pack()) {
      GTEST_SKIP() << "there is no NVRTC to make a pack with";
    }
    ASSERT_NE(runtime::Nvrtc::instance().why_unavailable(), "");
    check_nothing_compiles();
  }
  void check_nothing_compiles() const {
    EXPECT_ERROR("runtime.nvrtc.not_found", Executor(scaled("3*q"), device()).prepare());
  }
  static std::string& path() {
    static std::string made;
    return made;
  }
  static bool& has_pack() {
    static bool has = false;
    return has;
  }
};

TEST_F(KernelPackWithoutNvrtc, LoadsAndLaunches) {
  const auto packed = KernelPack(path()).find(scaled(), device(), sizes);
  ASSERT_TRUE(packed.has_value());
  const runtime::Stream stream(device());
  const runtime::Buffer<float> a(device(), 100);
  const runtime::Buffer<float> out(device(), 100);
  take_calls();
  packed->executor(stream, {arg("a", a), arg("out", out), arg("q", 3)});
  const std::string calls = take_calls();
  EXPECT_NE(calls.find("cuLibraryLoadData()"), std::string::npos) << calls;
  // the faster one of the two for this architecture: 4 blocks of 32 threads
  EXPECT_NE(calls.find("cuLaunchKernel(scaled,4,1,1,32,1,1,0,1,3)"), std::string::npos) << calls;
  const std::vector<runtime::KernelResources> resources = packed->executor.prepare();
  ASSERT_EQ(resources.size(), 1U);
  EXPECT_GT(resources[0].registers.value_or(0), 0);
}

TEST_F(KernelPackWithoutNvrtc, IsWhatATunedExecutorTakesFirst) {
  TunedExecutorOptions options;
  options.wisdom = Wisdom(path() + ".absent");
  options.packs = {path()};
  const TunedExecutor scale(scaled(), device(), options);
  EXPECT_EQ(scale.choice(sizes).source, TunedSource::pack);
  const runtime::Stream stream(device());
  const runtime::Buffer<float> a(device(), 100);
  const runtime::Buffer<float> out(device(), 100);
  take_calls();
  scale(stream, {arg("a", a, {100}), arg("out", out, {100}), arg("q", 7)});
  EXPECT_NE(take_calls().find("cuLaunchKernel(scaled,4,1,1,32,1,1,0,1,7)"), std::string::npos);
}

TEST_F(KernelPackWithoutNvrtc, TellsWhatTheDriverRefuses) {
  const auto packed = KernelPack(path()).find(scaled(), device(), sizes);
  ASSERT_TRUE(packed.has_value());
  fail_next("cuLibraryLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_THROW(static_cast<void>(packed->executor.prepare()), DeviceError);
  EXPECT_EQ(packed->executor.prepare().size(), 1U) << "the next time it goes well";
}

TEST_F(KernelPackWithoutNvrtc, HasNothingForOtherSizes) {
  EXPECT_FALSE(KernelPack(path()).find(scaled(), device(), {{"n", 101}}).has_value());
  EXPECT_EQ(KernelPack(path()).entries().size(), 3U);
}

}  // namespace
}  // namespace rtcg::loopy
