#include "rtcg/runtime/device/user_event.h"

#include <thread>
#include <type_traits>
#include <utility>

#include "rtcg/runtime/device/copy.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

static_assert(!std::is_copy_constructible_v<UserEvent> &&
              std::is_nothrow_move_constructible_v<UserEvent>);

/// The devices that have such events: all but those of an old driver of CUDA.
class UserEvents : public OnEveryDevice {
 protected:
  void SetUp() override {
    if (device().info().id.kind == BackendKind::cuda && !has_flags(device())) {
      GTEST_SKIP() << "the driver lacks memory operations of streams";
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, UserEvents, testing::ValuesIn(judged_devices()),
                         device_test_name);

TEST_P(UserEvents, HoldStreamsUntilTheyAreSet) {
  const auto chain = program().function<unsigned*, int>("slow_chain");
  const Buffer<unsigned> x(device(), std::vector<unsigned>{1, 1});
  const Stream first(device());
  const Stream second(device());
  const UserEvent event(device());
  event.hold(first);
  event.hold(second);
  chain(first, {1, 1}, x, 3);
  chain(second, {1, 1}, x + 1, 4);
  EXPECT_FALSE(event.is_set());
  EXPECT_FALSE(first.is_done());
  EXPECT_FALSE(second.is_done());
  std::thread setter([&] { event.set(); });
  first.synchronize();
  second.synchronize();
  setter.join();
  EXPECT_TRUE(event.is_set());
  EXPECT_EQ(x.to_vector(),
            (std::vector<unsigned>{slow_chain_result(1, 3), slow_chain_result(1, 4)}));
}

TEST_P(UserEvents, HoldNothingOnceTheyAreSet) {
  const Stream stream(device());
  const UserEvent event(device());
  event.set();
  event.set();
  event.hold(stream);
  stream.synchronize();
  EXPECT_EQ(event.device(), device());
}

TEST_P(UserEvents, AreSetWhenTheyEnd) {
  const Stream stream(device());
  const Buffer<int> x(device(), std::vector<int>{1});
  {
    UserEvent event(device());
    const UserEvent moved = std::move(event);
    moved.hold(stream);
    fill(stream, x, 5);
  }
  EXPECT_EQ(x.to_vector(stream).at(0), 5);
}

TEST(UserEvent, RefusesStreamsOfOtherDevices) {
  const UserEvent event(Device::host());
  for (const Device& device : judged_devices()) {
    if (device != Device::host()) {
      EXPECT_ERROR("runtime.launch.wrong_device", event.hold(device.default_stream()));
    }
  }
}

}  // namespace
}  // namespace rtcg::runtime
