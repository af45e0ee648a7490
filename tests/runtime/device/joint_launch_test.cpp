#include "rtcg/runtime/device/joint_launch.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace rtcg::runtime::detail {
namespace {

// Whether one that is begun by another thread is within a moment, while `held` lives.
template <class Held, class Other>
bool begins_during() {
  std::optional<Held> held(std::in_place);
  std::atomic<bool> has_begun = false;
  std::thread other([&] {
    const Other begun;
    has_begun = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const bool result = has_begun;
  held.reset();
  other.join();
  EXPECT_TRUE(has_begun);
  return result;
}

TEST(JointLaunch, KeepsDeviceCallsOut) {
  EXPECT_FALSE((begins_during<JointLaunch, DeviceCall>()));
  EXPECT_FALSE((begins_during<DeviceCall, JointLaunch>()));
  EXPECT_TRUE((begins_during<JointLaunch, JointLaunch>()));
  EXPECT_TRUE((begins_during<DeviceCall, DeviceCall>()));
}

TEST(JointLaunch, LetsAThreadMakeACallWithinAnother) {
  const DeviceCall outer;
  const DeviceCall inner;
  const DeviceCall third;
}

}  // namespace
}  // namespace rtcg::runtime::detail
