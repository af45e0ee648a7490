#include "rtcg/runtime/device/memory_pool.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <thread>

#include "rtcg/runtime/device/copy.h"
#include "tests/runtime/support/fake_backend.h"
#include "tests/runtime/support/test_kernels.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::size_t count(const FakeBackend& backend, const std::string& call) {
  return static_cast<std::size_t>(std::count(backend.calls.begin(), backend.calls.end(), call));
}

class FakePool : public testing::Test {
 protected:
  FakeBackend backend;
  const Device device{backend};
  MemoryPool pool{device};
  Stream first{device};
  Stream second{device};
};

using MemoryPoolTest = FakePool;

TEST_F(MemoryPoolTest, GivesABlockBackToItsStreamAtOnce) {
  const DeviceAddress address = pool.allocate_bytes(first, 1000).address();
  backend.busy.insert(first.native_handle());
  const Memory again = pool.allocate_bytes(first, 1001);
  EXPECT_EQ(again.address(), address);
  EXPECT_EQ(count(backend, "record"), 0U);
  EXPECT_EQ(pool.statistics().reuses, 1U);
}

TEST_F(MemoryPoolTest, GivesABlockToAnotherStreamOnlyWhenItsWorkIsDone) {
  const DeviceAddress address = pool.allocate_bytes(first, 1000).address();
  backend.busy.insert(first.native_handle());
  {
    const Memory other = pool.allocate_bytes(second, 1000);
    EXPECT_NE(other.address(), address);
    backend.busy.erase(first.native_handle());
    const Memory same = pool.allocate_bytes(second, 1000);
    EXPECT_EQ(same.address(), address);
  }
}

TEST_F(MemoryPoolTest, GuardsBlocksOfAStreamThatEnds) {
  const DeviceAddress address = pool.allocate_bytes(first, 1000).address();
  void* const handle = first.native_handle();
  backend.busy.insert(handle);
  { const Stream ended = std::move(first); }
  EXPECT_EQ(count(backend, "record"), 1U);
  EXPECT_EQ(backend.calls.back(), "destroy_stream");
  EXPECT_NE(pool.allocate_bytes(second, 1000).address(), address);
  backend.busy.erase(handle);
  const Memory one = pool.allocate_bytes(second, 1000);
  const Memory two = pool.allocate_bytes(second, 1000);
  EXPECT_TRUE(one.address() == address || two.address() == address);
}

TEST_F(MemoryPoolTest, GuardsEachBlockOfAForeignStream) {
  void* const handle = first.native_handle();
  const StreamRef foreign(device, handle);
  const DeviceAddress address = pool.allocate_bytes(foreign, 64).address();
  EXPECT_EQ(count(backend, "record"), 1U);
  backend.busy.insert(handle);
  EXPECT_NE(pool.allocate_bytes(foreign, 64).address(), address);
}

TEST_F(MemoryPoolTest, TrimsAndTriesAgainWhenMemoryRunsOut) {
  backend.capacity_bytes = 10000;
  { const Memory held = pool.allocate_bytes(first, 8000); }
  backend.busy.insert(first.native_handle());
  const Memory other = pool.allocate_bytes(second, 9000);
  EXPECT_EQ(backend.allocated.size(), 1U);
  EXPECT_EQ(pool.statistics().trims, 1U);
  EXPECT_EQ(pool.statistics().held_blocks, 0U);
  EXPECT_EQ(backend.busy.size(), 0U) << "the block was freed under its work";
  EXPECT_ERROR("runtime.memory.out_of_memory", pool.allocate_bytes(second, 2000));
  try {
    static_cast<void>(pool.allocate_bytes(second, 2000));
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.message(),
              "the fake device is full; the pool has 1 blocks of 9000 bytes in use and holds none: "
              "allocate returned FULL");
  }
}

TEST_F(MemoryPoolTest, MakesRoomInOtherPoolsOfTheDevice) {
  backend.capacity_bytes = 10000;
  MemoryPool other(device);
  { const Memory held = other.allocate_bytes(first, 8000); }
  const Memory taken = pool.allocate_bytes(first, 9000);
  EXPECT_EQ(other.statistics().held_blocks, 0U);
}

TEST_F(MemoryPoolTest, CountsWhatItDoes) {
  {
    const Memory a = pool.allocate_bytes(first, 1025);
    const Memory b = pool.allocate_bytes(first, 10);
    const PoolStatistics now = pool.statistics();
    EXPECT_EQ(now.active_blocks, 2U);
    EXPECT_EQ(now.active_bytes, 1035U);
    EXPECT_EQ(now.managed_bytes, 1088U + 10U);
    EXPECT_EQ(now.held_blocks, 0U);
  }
  const PoolStatistics now = pool.statistics();
  EXPECT_EQ(now.active_blocks, 0U);
  EXPECT_EQ(now.active_bytes, 0U);
  EXPECT_EQ(now.held_blocks, 2U);
  EXPECT_EQ(now.held_bytes, 1098U);
  EXPECT_EQ(now.peak_managed_bytes, 1098U);
  EXPECT_EQ(now.allocations, 2U);
}

TEST_F(MemoryPoolTest, GivesTheLargestBlocksBackFirst) {
  {
    const Memory a = pool.allocate_bytes(first, 100);
    const Memory b = pool.allocate_bytes(first, 4096);
  }
  EXPECT_EQ(pool.trim(200), 4096U);
  EXPECT_EQ(pool.statistics().held_bytes, 100U);
  EXPECT_EQ(pool.trim(), 100U);
  EXPECT_TRUE(backend.allocated.empty());
}

TEST_F(MemoryPoolTest, ManagesMoreThanFourGibibytes) {
  const std::size_t large = (std::size_t{5} << 30) + 1;
  DeviceAddress address = 0;
  {
    const Memory memory = pool.allocate_bytes(first, large);
    address = memory.address();
    EXPECT_GE(backend.used_bytes(), large);
    EXPECT_EQ(memory.size_bytes(), large);
  }
  EXPECT_EQ(pool.allocate_bytes(first, large + 5).address(), address);
  EXPECT_GT(pool.statistics().held_bytes, std::uint64_t{5} << 30);
  const Buffer<double> doubles = pool.allocate<double>(first, std::size_t{1} << 30);
  EXPECT_EQ(doubles.size_bytes(), std::size_t{1} << 33);
  EXPECT_ERROR("runtime.buffer.too_long", pool.allocate_bytes(first, std::size_t{1} << 63));
}

TEST_F(MemoryPoolTest, HasNothingForZeroBytes) {
  EXPECT_EQ(pool.allocate_bytes(first, 0).address(), 0U);
  EXPECT_NE(pool.allocate_bytes(first, 15).address(), 0U);
  EXPECT_EQ(pool.statistics().allocations, 1U);
}

TEST_F(MemoryPoolTest, OutlivesItsObjectInItsMemory) {
  std::optional<MemoryPool> mortal(std::in_place, device);
  std::optional<Memory> memory = mortal->allocate_bytes(first, 100);
  { const Memory held = mortal->allocate_bytes(first, 200); }
  mortal.reset();
  EXPECT_EQ(backend.allocated.size(), 1U);
  memory.reset();
  EXPECT_TRUE(backend.allocated.empty());
}

TEST_F(MemoryPoolTest, GivesMemoryOnlyForStreamsOfItsDevice) {
  FakeBackend other;
  EXPECT_ERROR("runtime.pool.wrong_device", pool.allocate_bytes(Device(other).default_stream(), 8));
}

TEST_F(MemoryPoolTest, LeavesTheWorkToTheDriverOnWish) {
  backend.info_.has_stream_ordered_allocation = true;
  MemoryPool drivers(device, {.use_driver_pool = true});
  { const Memory memory = drivers.allocate_bytes(first, 1000); }
  EXPECT_EQ(backend.calls, (std::vector<std::string>{"allocate_on", "free_on"}));
  EXPECT_EQ(drivers.statistics().managed_bytes, 0U);
  // pinned memory has no such pool
  MemoryPool pinned(device, {.kind = MemoryKind::pinned, .use_driver_pool = true});
  { const Memory memory = pinned.allocate_bytes(first, 1000); }
  EXPECT_EQ(pinned.statistics().held_blocks, 1U);
}

using Pools = OnEveryDevice;
INSTANTIATE_TEST_SUITE_P(Devices, Pools, testing::ValuesIn(rtcg::runtime::judged_devices()),
                         device_test_name);

TEST_P(Pools, GoThroughManySizesAndThenHoldNothing) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned}) {
    MemoryPool pool(device(), {.kind = kind});
    const Stream stream(device());
    std::deque<Memory> live;
    for (const unsigned exponent : {6U, 7U, 12U, 13U}) {
      for (int i = 0; i < 100; ++i) {
        live.push_back(pool.allocate_bytes(stream, std::size_t{1} << exponent));
        if (live.size() > 10) {
          live.pop_front();
        }
      }
    }
    EXPECT_EQ(pool.statistics().allocations, 400U);
    EXPECT_LE(pool.statistics().allocations - pool.statistics().reuses, 44U);
    pool.stop_holding();
    live.clear();
    EXPECT_EQ(pool.statistics().held_blocks, 0U);
    EXPECT_EQ(pool.statistics().managed_bytes, 0U);
  }
}

TEST_P(Pools, GiveMemoryThatManyStreamsUseAtOnce) {
  MemoryPool pool(device());
  const Program kernels = program();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto twice = kernels.function<float*, int>("twice");
      const Stream stream(kernels.device());
      for (int i = 0; i < 30; ++i) {
        const std::vector<float> values(100, static_cast<float>(t * 100 + i));
        const Buffer<float> x = pool.allocate<float>(stream, 100);
        copy_to_device(stream, values, x);
        twice(stream, {1, 128}, x, 100);
        wrong += x.to_vector(stream)[99] != 2 * values[99] ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(pool.statistics().reuses, 0U);
}

}  // namespace
}  // namespace rtcg::runtime
