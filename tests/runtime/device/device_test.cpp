#include "rtcg/runtime/device/device.h"

#include <algorithm>
#include <cstdlib>

#include "rtcg/runtime/device/stream.h"
#include "tests/runtime/support/every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    before_ = had_ ? before : "";
    ::setenv(name, value, 1);
  }
  ~Environment() {
    if (had_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

TEST(Device, OfTheMachineAreThereAndTheHostIsLast) {
  const std::vector<Device> all = all_devices();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back(), Device::host());
  EXPECT_TRUE(why_no_devices(BackendKind::host).empty());
}

TEST(Device, IsAGpuWhereOneIsRequired) {
  const char* required = std::getenv("REQUIRE_GPU");
  if (required == nullptr || std::string(required) != "1") {
    GTEST_SKIP() << "REQUIRE_GPU=1 is not set: a machine without a GPU will do";
  }
  EXPECT_EQ(why_no_devices(BackendKind::cuda), "");
  EXPECT_EQ(all_devices().front().info().id, (DeviceName{BackendKind::cuda, 0}));
}

TEST(Attack17, BestIsAGpuOrTheHostButNoOtherProcessor) {
  const Environment none("RTCG_DEVICE", "");
  const std::vector<Device> all = all_devices();
  const auto first = std::find_if(all.begin(), all.end(), [](const Device& each) {
    return each.info().id.kind == BackendKind::cuda ||
           (each.info().id.kind == BackendKind::opencl && !each.info().is_cpu);
  });
  EXPECT_EQ(Device::best(), first == all.end() ? Device::host() : *first);
}

TEST(Device, BestIsWhatTheEnvironmentNames) {
  const Environment wish("RTCG_DEVICE", "host");
  EXPECT_EQ(Device::best(), Device::host());
}

TEST(Device, BestRefusesAWishThatCannotBeMet) {
  {
    const Environment wish("RTCG_DEVICE", "cuda:4711");
    EXPECT_ERROR("runtime.device.not_found", Device::best());
  }
  const Environment wish("RTCG_DEVICE", "gpu");
  EXPECT_ERROR("runtime.device.bad_name", Device::best());
}

TEST(Device, SaysWhyAnotherIsNotThere) {
  try {
    static_cast<void>(Device::find("cuda:99"));
    FAIL() << "a hundred GPUs";
  } catch (const Unsupported& error) {
    EXPECT_NE(error.message().find("cuda:99"), std::string::npos);
    const std::string& why = why_no_devices(BackendKind::cuda);
    EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
  }
}

using EachDevice = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, EachDevice, testing::ValuesIn(all_devices()), device_test_name);

TEST_P(EachDevice, IsFoundByItsName) {
  EXPECT_EQ(Device::find(to_string(device().info().id)), device());
}

TEST_P(EachDevice, TellsWhatItIs) {
  const DeviceInfo& info = device().info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.target.empty());
  EXPECT_FALSE(info.driver_version.empty());
  EXPECT_GE(info.multiprocessors, 1);
  EXPECT_GE(info.max_threads_per_block, 1);
  EXPECT_GE(info.max_block[0], 1U);
  EXPECT_GE(info.max_grid[0], 65535U);
  EXPECT_GT(info.total_memory_bytes, std::size_t{1} << 20);
  EXPECT_GT(info.memory_alignment_bytes, 0U);
}

TEST_P(EachDevice, HasAnIdentityThatNamesItAndItsDriver) {
  const std::string identity = device().identity();
  EXPECT_NE(identity.find(device().info().name), std::string::npos) << identity;
  EXPECT_NE(identity.find(device().info().driver_version), std::string::npos) << identity;
  EXPECT_EQ(identity, device().identity());
  EXPECT_EQ(identity.find("; ;"), std::string::npos) << identity;
}

TEST_P(EachDevice, KnowsItsMemory) {
  const MemoryInfo memory = device().memory_info();
  EXPECT_GT(memory.total_bytes, 0U);
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
}

TEST_P(EachDevice, Synchronizes) {
  device().synchronize();
  EXPECT_TRUE(becomes_done(device().default_stream()));
}

}  // namespace
}  // namespace rtcg::runtime
