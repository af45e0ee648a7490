#include "rtcg/runtime/device/growable_buffer.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/stream.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<int> values_of(const GrowableBuffer<int>& buffer, StreamRef stream) {
  std::vector<int> values(buffer.count());
  copy_to_host(stream, buffer.ref(), values);
  stream.synchronize();
  return values;
}

TEST(GrowableBuffer, KeepsElementsWhereTheyAre) {
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind == BackendKind::opencl) {
      EXPECT_ERROR("runtime.growable.unsupported", GrowableBuffer<int>(device, 10));
      continue;
    }
    SCOPED_TRACE(device.info().name);
    const Stream stream(device);
    GrowableBuffer<int> buffer(device, 50'000'000);  // 200 MB of addresses
    EXPECT_EQ(buffer.memory().held_bytes(), 0U);
    const DeviceAddress address = buffer.ref().address();
    std::vector<int> expected;
    for (const std::size_t count : {1U, 1000U, 3'000'000U}) {
      const std::size_t before = buffer.count();
      buffer.resize(count);
      EXPECT_EQ(buffer.ref().address(), address);
      EXPECT_GE(buffer.memory().held_bytes(), count * sizeof(int));
      std::vector<int> added(count - before);
      std::iota(added.begin(), added.end(), static_cast<int>(before) - 7);
      copy_to_device(stream, added, buffer.ref() + before);
      expected.insert(expected.end(), added.begin(), added.end());
      EXPECT_EQ(values_of(buffer, stream), expected);
    }
    EXPECT_LT(buffer.memory().held_bytes(), 20'000'000U) << "no more than is needed";
    buffer.resize(10);
    buffer.shrink_to_fit();
    EXPECT_LE(buffer.memory().held_bytes(), std::size_t{1} << 21);
    expected.resize(10);
    EXPECT_EQ(values_of(buffer, stream), expected);
    buffer.resize(1'000'000);
    EXPECT_EQ(buffer.ref().address(), address);
    EXPECT_ERROR("runtime.growable.too_long", buffer.resize(50'000'001));
    EXPECT_EQ(buffer.count(), 1'000'000U);
    buffer.resize(0);
    buffer.shrink_to_fit();
    EXPECT_EQ(buffer.memory().held_bytes(), 0U);
  }
}

}  // namespace
}  // namespace rtcg::runtime
