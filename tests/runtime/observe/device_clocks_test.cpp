#include "rtcg/runtime/observe/device_clocks.h"

#include <gtest/gtest.h>

namespace rtcg::runtime {
namespace {

TEST(DeviceClocks, AreTextWithoutWhatIsNotKnown) {
  EXPECT_EQ(to_string(DeviceClocks{1980, 3201, 41}), "1980 MHz, memory 3201 MHz, 41 C");
  EXPECT_EQ(to_string(DeviceClocks{0, 3201, 0}), "memory 3201 MHz");
  EXPECT_EQ(to_string(DeviceClocks{}), "clocks unknown");
}

TEST(DeviceClocks, AreThoseOfItsInfoWithoutALibraryThatMeasures) {
  const Device host = Device::host();
  EXPECT_EQ(read_clocks(host).core_mhz, host.info().clock_khz / 1000);
  EXPECT_EQ(read_clocks(host).temperature_celsius, 0);
}

}  // namespace
}  // namespace rtcg::runtime
