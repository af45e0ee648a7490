#include "rtcg/runtime/device/memory.h"

#include "tests/runtime/support/fake_backend.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

TEST(Memory, GoesBackToTheDriverWhenItsOwnerEndsOrTakesOther) {
  FakeBackend backend;
  {
    Memory first(Device(backend), 100);
    Memory second(Device(backend), 200, MemoryKind::pinned);
    first = std::move(second);
    EXPECT_EQ(backend.allocated.size(), 1U);
    EXPECT_EQ(first.size_bytes(), 200U);
    EXPECT_EQ(first.kind(), MemoryKind::pinned);
  }
  EXPECT_TRUE(backend.allocated.empty());
}

TEST(Memory, OfTheHostIsRegisteredForAsLongAsItIsHeld) {
  FakeBackend backend;
  int value = 0;
  {
    const RegisteredMemory registered(Device(backend), &value, sizeof(value));
    EXPECT_EQ(backend.calls, std::vector<std::string>{"register"});
    EXPECT_EQ(registered.kernel_address(), reinterpret_cast<DeviceAddress>(&value) + 1);
  }
  EXPECT_EQ(backend.calls.back(), "unregister");
}

TEST(Memory, HasRowsThatAreAligned) {
  FakeBackend backend;
  backend.info_.memory_alignment_bytes = 256;
  EXPECT_EQ(padded_pitch_bytes(Device(backend), 1), 256U);
  EXPECT_EQ(padded_pitch_bytes(Device(backend), 256), 256U);
  EXPECT_EQ(padded_pitch_bytes(Device(backend), 257), 512U);
}

}  // namespace
}  // namespace rtcg::runtime
