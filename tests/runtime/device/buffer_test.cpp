#include "rtcg/runtime/device/buffer.h"

#include <limits>
#include <numeric>

#include "rtcg/runtime/device/copy.h"
#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

static_assert(!std::is_copy_constructible_v<Buffer<int>>);
static_assert(std::is_convertible_v<const Buffer<int>&, BufferRef<const int>>);
static_assert(!std::is_convertible_v<BufferRef<const int>, BufferRef<int>>);
static_assert(!std::is_convertible_v<BufferRef<float>, BufferRef<int>>);

std::vector<float> some_floats(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), -7.25F);
  return values;
}

using Buffers = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Buffers, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Buffers, GiveBackWhatWasWritten) {
  const std::vector<float> values = some_floats(400);
  const Buffer<float> buffer(device(), values);
  EXPECT_EQ(buffer.count(), 400U);
  EXPECT_EQ(buffer.size_bytes(), 1600U);
  EXPECT_EQ(buffer.to_vector(), values);
}

TEST_P(Buffers, AreWrittenAndReadInPart) {
  const Buffer<int> buffer(device(), std::vector<int>{1, 2, 3, 4});
  buffer.write(std::vector<int>{8, 9});
  std::vector<int> three(3);
  buffer.read(three);
  EXPECT_EQ(three, (std::vector<int>{8, 9, 3}));
  EXPECT_ERROR("runtime.copy.out_of_range", buffer.write(std::vector<int>(5)));
}

TEST_P(Buffers, OfNothingHaveNoAddress) {
  const Buffer<int> buffer(device(), 0);
  EXPECT_EQ(buffer.address(), 0U);
  EXPECT_TRUE(buffer.to_vector().empty());
  EXPECT_NE(Buffer<std::byte>(device(), 15).address(), 0U);
}

TEST_P(Buffers, MoveTheirMemory) {
  Buffer<int> first(device(), std::vector<int>{1, 2});
  Buffer<int> second(device(), std::vector<int>{3});
  const DeviceAddress address = first.address();
  second = std::move(first);
  EXPECT_EQ(second.address(), address);
  EXPECT_EQ(second.to_vector(), (std::vector<int>{1, 2}));
}

TEST_P(Buffers, OfPinnedMemoryAreSeenByTheHost) {
  const Buffer<float> pinned(device(), 16, MemoryKind::pinned);
  pinned.host_span()[5] = 2.5F;
  EXPECT_EQ(pinned.to_vector()[5], 2.5F);
}

TEST_P(Buffers, TakeForeignMemory) {
  const Buffer<int> owner(device(), 1024);
  const BufferRef<int> foreign(device(), owner.address(), 1024);
  program().function<int*>("index_of_thread")(device().default_stream(), {4, 256}, foreign);
  std::vector<int> expected(1024);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(owner.to_vector(), expected);
}

TEST_P(Buffers, AreAddressedLikePointers) {
  const Buffer<float> buffer(device(), some_floats(10));
  const BufferRef<float> tail = buffer + 4;
  EXPECT_EQ(tail.count(), 6U);
  EXPECT_EQ(tail.address(), buffer.address() + 16);
  EXPECT_EQ((tail + 1).data(), buffer.data() + 5);
  EXPECT_EQ(buffer.subrange(2, 3).count(), 3U);
  EXPECT_EQ(tail.as<const std::byte>().count(), 24U);
  EXPECT_ERROR("runtime.buffer.out_of_range", buffer + 11);
  EXPECT_ERROR("runtime.buffer.out_of_range", buffer.subrange(8, 3));
}

TEST_P(Buffers, RefuseMoreThanThereIs) {
  EXPECT_ERROR("runtime.buffer.too_long",
               Buffer<double>(device(), std::numeric_limits<std::size_t>::max() / 2));
  EXPECT_ERROR("runtime.memory.out_of_memory",
               Buffer<char>(device(), device().info().total_memory_bytes * 2));
}

TEST_P(Buffers, OfRegisteredHostMemoryAreCopiedAsynchronously) {
  std::vector<double> values(1 << 17, 0.5);
  RegisteredMemory registered(device(), values.data(), values.size() * sizeof(double));
  const RegisteredMemory moved = std::move(registered);
  const Buffer<double> buffer(device(), values.size());
  const Stream stream(device());
  copy_to_device(stream, values, buffer);
  EXPECT_EQ(buffer.to_vector(stream), values);
}

TEST(Buffer, OfADeviceIsHiddenFromTheHost) {
  FakeBackend backend;
  const Buffer<int> buffer(Device(backend), 4);
  EXPECT_ERROR("runtime.buffer.not_host_accessible", buffer.host_span());
  EXPECT_EQ(buffer.zero_copy().address(), buffer.address());
  const Buffer<int> pinned(Device(backend), 4, MemoryKind::pinned);
  EXPECT_EQ(pinned.zero_copy().address(), pinned.address() + 1);
}

}  // namespace
}  // namespace rtcg::runtime
