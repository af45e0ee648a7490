#include "rtcg/runtime/device/kernel.h"

#include <array>

#include "rtcg/runtime/device/launch_attributes.h"
#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::string message_of_launch(const Kernel& kernel, const LaunchShape& shape) {
  try {
    kernel.launch(kernel.device().default_stream(), shape, {});
  } catch (const Error& error) {
    return error.message();
  }
  return "launched";
}

TEST(Kernel, NamesItselfTheShapeAndTheLimit) {
  FakeBackend backend;
  const Kernel kernel = kernel_on(backend);
  EXPECT_EQ(message_of_launch(kernel, {3, {32, 32}}),
            "cannot launch kernel 'smooth' on 'cuda:7' with grid 3x1x1, block 32x32x1, 0 shared "
            "bytes: a block of this kernel has at most 256 threads, not 1024");
  EXPECT_EQ(message_of_launch(kernel, {3, {1, 1, 65}}),
            "cannot launch kernel 'smooth' on 'cuda:7' with grid 3x1x1, block 1x1x65, 0 shared "
            "bytes: a block is at most 1024x1024x64");
  EXPECT_EQ(message_of_launch(kernel, {{1, 65536}, 32, 1025}),
            "cannot launch kernel 'smooth' on 'cuda:7' with grid 1x65536x1, block 32x1x1, 1025 "
            "shared bytes: a grid has at most 2147483647x65535x65535 blocks");
  EXPECT_EQ(message_of_launch(kernel, {1, 32, 1025}),
            "cannot launch kernel 'smooth' on 'cuda:7' with grid 1x1x1, block 32x1x1, 1025 shared "
            "bytes: at most 1024 bytes of shared memory are left in addition to its own 0");
  EXPECT_TRUE(backend.launches.empty());
  EXPECT_EQ(message_of_launch(kernel, {{1, 65535}, 256, 1024}), "launched");
  EXPECT_EQ(backend.launches.size(), 1U);
}

TEST(Kernel, NamesItselfWhenTheDriverRefuses) {
  FakeBackend backend;
  backend.launch_fails = true;
  EXPECT_EQ(message_of_launch(kernel_on(backend), {1, 32}),
            "kernel 'smooth' on 'cuda:7' with grid 1x1x1, block 32x1x1, 0 shared bytes: the driver "
            "refused: cuLaunchKernel returned CUDA_ERROR_UNKNOWN");
}

TEST(Kernel, RefusesACooperativeLaunchWhereThereIsNone) {
  FakeBackend backend;
  LaunchShape shape{1, 32};
  shape.cooperative = true;
  const Kernel kernel = kernel_on(backend);
  EXPECT_ERROR("runtime.launch.not_cooperative",
               kernel.launch(kernel.device().default_stream(), shape, {}));
  backend.info_.has_cooperative_launch = true;
  EXPECT_EQ(message_of_launch(kernel, shape), "launched");
}

TEST(Kernel, RefusesAttributesWhereThereAreNone) {
  FakeBackend backend;
  const Kernel kernel = kernel_on(backend);
  EXPECT_ERROR("runtime.launch.no_attributes",
               launch_with(kernel, kernel.device().default_stream(), {2, 32}, {}, {.cluster = 2}));
  EXPECT_ERROR("runtime.launch.no_attributes",
               clusters_at_once(kernel, {2, 32}, {.is_programmatic = true}));
  EXPECT_NE(why_no_launch(Device::host(), {}), "");
}

TEST(Kernel, ChecksArgumentsKnownAtRunTime) {
  FakeBackend backend;
  backend.attributes.parameters = {{8, std::nullopt, ""}, {4, std::nullopt, ""}};
  const Kernel kernel = kernel_on(backend);
  const Buffer<float> x(Device(backend), 4);
  const StreamRef stream = Device(backend).default_stream();
  EXPECT_ERROR("runtime.launch.argument_count",
               kernel.launch(stream, {1, 1}, ArgumentPack().add(x)));
  EXPECT_ERROR("runtime.launch.argument_size",
               kernel.launch(stream, {1, 1}, ArgumentPack().add(x).add(1.0)));
  kernel.launch(stream, {1, 1}, ArgumentPack().add(x).add(1.0F));
  EXPECT_EQ(backend.launches.size(), 1U);
}

TEST(Kernel, AsksTheDriverForOccupancy) {
  FakeBackend backend;
  EXPECT_EQ(kernel_on(backend).blocks_per_multiprocessor(128), 2);
  EXPECT_EQ(kernel_on(backend).suggested_block_threads(), 256);
}

TEST(ArgumentPack, KeepsItsValuesWhenItGrowsAndIsCopied) {
  ArgumentPack pack;
  std::array<double, 5> large = {1, 2, 3, 4, 5};
  pack.add(char{7}).add(large);
  for (int i = 0; i < 100; ++i) {
    pack.add(i);
  }
  ArgumentPack copy;
  copy = pack;
  pack.clear();
  EXPECT_EQ(pack.count(), 0U);
  const ArgumentView view = copy.view();
  ASSERT_EQ(view.values.size(), 102U);
  EXPECT_EQ(*static_cast<const char*>(view.values[0]), 7);
  EXPECT_EQ(view.sizes_bytes[1], 40U);
  EXPECT_EQ(static_cast<const double*>(view.values[1])[4], 5.0);
  EXPECT_EQ(*static_cast<const int*>(view.values[101]), 99);
}

using Kernels = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Kernels, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Kernels, RunWithArgumentsKnownAtRunTime) {
  const Buffer<float> x(device(), std::vector<float>{1, 2, 3});
  const Kernel twice = program().kernel("twice");
  EXPECT_EQ(twice.name(), "twice");
  const ArgumentPack arguments = ArgumentPack().add(x + 1).add(2);
  twice.launch(device().default_stream(), {1, 32}, arguments);
  twice.launch(device().default_stream(), {1, 32}, arguments);
  EXPECT_EQ(x.to_vector(), (std::vector<float>{1, 8, 12}));
  EXPECT_GE(twice.attributes().max_threads_per_block, 1);
}

}  // namespace
}  // namespace rtcg::runtime
