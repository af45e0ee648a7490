#include <gtest/gtest.h>

#include "rtcg/loopy/tune/tune.h"

namespace rtcg::loopy {
namespace {

TEST(MachineModel, HasTheFiguresOfAnOpenClDevice) {
  runtime::DeviceInfo info;
  info.id.kind = runtime::BackendKind::opencl;
  info.multiprocessors = 20;
  info.clock_khz = 1'500'000;
  info.shared_bytes_per_block = 32 * 1024;
  const MachineModel model = machine_model(info);
  EXPECT_EQ(model.multiprocessors, 20);
  EXPECT_EQ(model.clock_hz, 1.5e9);
  EXPECT_EQ(model.shared_bytes, 32 * 1024);
  EXPECT_EQ(model.shared_bytes_per_multiprocessor, 32 * 1024);
  EXPECT_LT(model.memory_bytes_per_second, MachineModel{}.memory_bytes_per_second / 5);
  EXPECT_FALSE(model.has_async_copies);
  EXPECT_FALSE(model.is_cpu);
  EXPECT_FALSE(model.has_device_fences);
  EXPECT_EQ(model.architecture, "");
}

TEST(MachineModel, TakesAProcessorForOneWhateverRunsItsKernels) {
  runtime::DeviceInfo info;
  info.id.kind = runtime::BackendKind::opencl;
  info.is_cpu = true;
  info.multiprocessors = 8;
  const MachineModel model = machine_model(info);
  EXPECT_TRUE(model.is_cpu);
  EXPECT_EQ(model.multiprocessors, 8);
  EXPECT_FALSE(model.has_device_fences);
}

TEST(MachineModel, HasTheCoresOfTheHost) {
  const runtime::Device host = runtime::Device::host();
  const MachineModel model = machine_model(host);
  EXPECT_TRUE(model.is_cpu);
  EXPECT_EQ(model.multiprocessors, host.info().multiprocessors);
}

}  // namespace
}  // namespace rtcg::loopy
