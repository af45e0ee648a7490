// Memory, copies, streams and events of a real GPU.
#include "tests/runtime/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "rtcg/runtime/cuda/cuda_native.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "rtcg/runtime/observe/timer.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using CudaDevice = CudaTest;

// Keeps a stream busy for a while, so that what comes after it cannot be done at once.
constexpr const char* spin_text = R"(
extern "C" __global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}
extern "C" __global__ void add_one(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    values[i] += 1;
  }
}
)";
constexpr long long long_time_cycles = 400'000'000;  // 200 ms at 2 GHz

template <class T>
std::vector<T> counted(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T(1));
  return values;
}

TEST_F(CudaDevice, TellsWhatItIs) {
  const DeviceInfo& info = gpu().info();
  EXPECT_EQ(to_string(info.id), "cuda:0");
  EXPECT_EQ(info.target.rfind("sm_", 0), 0U) << info.target;
  EXPECT_EQ(info.uuid.size(), 32U) << info.uuid;
  EXPECT_EQ(info.warp_lanes, 32);
  EXPECT_EQ(info.max_threads_per_block, 1024);
  EXPECT_GE(info.multiprocessors, 1);
  EXPECT_GE(info.max_grid[0], 2147483647U);
  EXPECT_GE(info.shared_bytes_per_block, 49152U);
  EXPECT_GE(info.shared_bytes_per_block_opt_in, info.shared_bytes_per_block);
  EXPECT_GT(info.total_memory_bytes, std::size_t{1} << 28U);
  EXPECT_TRUE(info.has_f64);
  EXPECT_NE(gpu().identity().find(info.driver_version), std::string::npos) << gpu().identity();
  const MemoryInfo memory = gpu().memory_info();
  EXPECT_LE(memory.free_bytes, memory.total_bytes);
  EXPECT_EQ(Device::best().info().id.kind, BackendKind::cuda);
}

TEST_F(CudaDevice, OffersEveryAttributeOfTheDriver) {
  const CudaNative native(gpu());
  const DeviceInfo& info = gpu().info();
  EXPECT_EQ(native.attribute(10), info.warp_lanes);
  EXPECT_EQ(native.attribute(75), info.compute_capability[0]);
  for (int attribute = 1; attribute <= 108; ++attribute) {
    // 92, 93 and 94 were withdrawn; a driver may know them or not.
    if (attribute < 92 || attribute > 94) {
      EXPECT_NO_THROW(static_cast<void>(native.attribute(attribute))) << attribute;
    }
  }
  EXPECT_ERROR("runtime.cuda.call_failed", native.attribute(1'000'000));
  EXPECT_GE(native.driver_version(), 11030);
  EXPECT_NE(native.pci_bus_id().find(':'), std::string::npos) << native.pci_bus_id();
}

TEST_F(CudaDevice, WorksInThePrimaryContext) {
  const CudaNative native(gpu());
  EXPECT_EQ(native.primary_context(), gpu().native_context());
  // A new thread has no context until it uses the device, and then the primary one.
  std::thread([&] {
    const Buffer<int> buffer(gpu(), std::vector<int>{1, 2, 3});
    EXPECT_EQ(buffer.to_vector(), (std::vector<int>{1, 2, 3}));
    native.make_current();
    EXPECT_EQ(native.primary_context(), gpu().native_context());
  }).join();
}

TEST_F(CudaDevice, CopiesThereAndBack) {
  const std::vector<float> values = counted<float>(1 << 20);
  const Buffer<float> buffer(gpu(), values);
  EXPECT_EQ(buffer.to_vector(), values);
  const Buffer<float> second(gpu(), values.size());
  const Stream stream(gpu());
  copy_on_device(stream, buffer, second);
  EXPECT_EQ(second.to_vector(stream), values);
}

TEST_F(CudaDevice, CopiesRectangles) {
  // u8 (256, 128): a sub-block of 128 x 96 at (20, 13) goes through two device layouts and back
  const std::vector<std::uint8_t> source = [] {
    std::vector<std::uint8_t> bytes(256 * 128);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    }
    return bytes;
  }();
  const Buffer<std::uint8_t> first(gpu(), 300 * 200);
  const Buffer<std::uint8_t> second(gpu(), 300 * 400);
  std::vector<std::uint8_t> target(512 * 256);
  const Stream stream(gpu());
  const RectExtent extent = {128, 96};
  copy_rect(stream, host_end(source, {256, 0, {20, 13, 0}}),
            device_end(first, {300, 0, {7, 3, 0}}), extent);
  copy_rect(stream, device_end(first, {300, 0, {7, 3, 0}}),
            device_end(second, {300, 0, {31, 17, 0}}), extent);
  copy_rect(stream, device_end(second, {300, 0, {31, 17, 0}}),
            host_end(target, {512, 0, {11, 19, 0}}), extent);
  stream.synchronize();
  for (std::size_t row = 0; row < 96; ++row) {
    for (std::size_t column = 0; column < 128; ++column) {
      ASSERT_EQ(target[(19 + row) * 512 + 11 + column], source[(13 + row) * 256 + 20 + column])
          << row << ", " << column;
    }
  }
}

TEST_F(CudaDevice, CopiesBoxesAlsoWhosePlanesHoldNoWholeRows) {
  for (const std::size_t plane_pitch : {64U * 12U, 64U * 12U + 17U}) {
    const std::vector<std::uint8_t> source = counted<std::uint8_t>(plane_pitch * 5);
    const Buffer<std::uint8_t> device_box(gpu(), 80 * 14 * 5);
    std::vector<std::uint8_t> target(source.size());
    const Stream stream(gpu());
    const RectExtent extent = {50, 10, 4};
    copy_rect(stream, host_end(source, {64, plane_pitch, {3, 1, 1}}),
              device_end(device_box, {80, 80 * 14, {5, 2, 1}}), extent);
    copy_rect(stream, device_end(device_box, {80, 80 * 14, {5, 2, 1}}),
              host_end(target, {64, plane_pitch, {3, 1, 1}}), extent);
    stream.synchronize();
    for (std::size_t plane = 1; plane < 5; ++plane) {
      for (std::size_t row = 1; row < 11; ++row) {
        const std::size_t begin = plane * plane_pitch + row * 64 + 3;
        ASSERT_TRUE(std::equal(&target[begin], &target[begin] + 50, &source[begin]))
            << plane_pitch << ": " << plane << ", " << row;
      }
    }
  }
}

struct Wide {
  std::uint32_t words[4];
  friend bool operator==(const Wide&, const Wide&) = default;
};

template <class T>
void expect_filled(Device device, const T& value, std::size_t count) {
  const Stream stream(device);
  const Buffer<T> buffer(device, count + 2);
  const T other = T{};
  fill(stream, buffer, other);
  fill(stream, buffer.subrange(1, count), value);
  const std::vector<T> found = buffer.to_vector(stream);
  EXPECT_TRUE(found.front() == other && found.back() == other) << sizeof(T);
  EXPECT_EQ(std::count(found.begin() + 1, found.end() - 1, value),
            static_cast<std::ptrdiff_t>(count))
      << sizeof(T);
}

TEST_F(CudaDevice, FillsByPatternsOfEveryWidth) {
  for (const std::size_t count : {1U, 1000U, 70'000U, 5'000'000U}) {
    expect_filled<std::uint8_t>(gpu(), 0xab, count);
    expect_filled<std::uint16_t>(gpu(), 0x1234, count);
    expect_filled<std::uint32_t>(gpu(), 0x12345678, count);
    expect_filled<std::uint64_t>(gpu(), 0x123456789abcdef0, count);
    expect_filled<double>(gpu(), 1.25, count);
    expect_filled<Wide>(gpu(), {{1, 2, 3, 4}}, count);
  }
}

TEST_F(CudaDevice, OverlapsPinnedCopiesWithKernels) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto spin = program.function<long long>("spin");
  const Buffer<float> pinned(gpu(), 1 << 20, MemoryKind::pinned);
  std::iota(pinned.host_span().begin(), pinned.host_span().end(), 0.0F);
  const Buffer<float> buffer(gpu(), pinned.count());
  const Stream busy(gpu());
  spin(busy, {1, 1}, 1);  // a kernel's first launch may wait for others to end
  busy.synchronize();
  const Stream copying(gpu());
  spin(busy, {1, 1}, long_time_cycles);
  copy_to_device(copying, pinned.host_span(), buffer);
  copying.synchronize();
  EXPECT_FALSE(busy.is_done()) << "the copy waited for a kernel of another stream";
  busy.synchronize();
  EXPECT_EQ(buffer.to_vector().back(), static_cast<float>(pinned.count() - 1));
}

TEST_F(CudaDevice, LetsKernelsReachPinnedMemory) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto add_one = program.function<int*, int>("add_one");
  const Stream stream(gpu());
  const Buffer<int> pinned(gpu(), 100, MemoryKind::pinned);
  std::iota(pinned.host_span().begin(), pinned.host_span().end(), 0);
  add_one(stream, {1, 128}, pinned.zero_copy(), 100);
  stream.synchronize();
  EXPECT_EQ(pinned.host_span()[99], 100);
}

TEST_F(CudaDevice, RegistersHostMemory) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto add_one = program.function<int*, int>("add_one");
  const Stream stream(gpu());
  std::vector<int> values(1 << 20);
  {
    const RegisteredMemory registered(gpu(), values.data(), values.size() * sizeof(int));
    const BufferRef<int> reached(gpu(), registered.kernel_address(), values.size());
    add_one(stream, {(1 << 20) / 256, 256}, reached, 1 << 20);
    stream.synchronize();
    EXPECT_ERROR("runtime.cuda.call_failed",
                 RegisteredMemory(gpu(), values.data(), values.size() * sizeof(int)));
  }
  EXPECT_EQ(std::count(values.begin(), values.end(), 1), 1 << 20);
  const RegisteredMemory again(gpu(), values.data(), values.size() * sizeof(int));
}

TEST_F(CudaDevice, SharesManagedMemoryWithTheHost) {
  if (!gpu().info().has_managed_memory) {
    GTEST_SKIP() << "the device has no managed memory";
  }
  const Program program = Program::compile(gpu(), spin_text);
  const auto add_one = program.function<int*, int>("add_one");
  const CudaNative native(gpu());
  const Stream stream(gpu());
  const Buffer<int> managed(gpu(), 1 << 20, MemoryKind::managed);
  std::fill(managed.host_span().begin(), managed.host_span().end(), 41);
  native.advise(managed.address(), managed.size_bytes(), 5);  // accessed by the device
  native.prefetch_to_device(stream, managed.address(), managed.size_bytes());
  add_one(stream, {(1 << 20) / 256, 256}, managed, 1 << 20);
  native.prefetch_to_host(stream, managed.address(), managed.size_bytes());
  stream.synchronize();
  EXPECT_EQ(std::count(managed.host_span().begin(), managed.host_span().end(), 42), 1 << 20);
  native.attach(stream, managed.address(), 1);
  stream.synchronize();
}

TEST_F(CudaDevice, KnowsWhatAnAddressBelongsTo) {
  const CudaNative native(gpu());
  const Buffer<float> of_device(gpu(), 1000);
  const Buffer<float> pinned(gpu(), 1000, MemoryKind::pinned);
  const auto info = native.pointer_info((of_device + 10).address());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->kind, MemoryKind::device);
  EXPECT_EQ(info->device_ordinal, native.ordinal());
  EXPECT_EQ(info->base, of_device.address());
  EXPECT_GE(info->size_bytes, 4000U);
  ASSERT_TRUE(native.pointer_info(pinned.address()).has_value());
  EXPECT_EQ(native.pointer_info(pinned.address())->kind, MemoryKind::pinned);
  int on_the_stack = 0;
  EXPECT_FALSE(native.pointer_info(reinterpret_cast<std::uintptr_t>(&on_the_stack)).has_value());
  if (gpu().info().has_managed_memory) {
    const Buffer<float> managed(gpu(), 1000, MemoryKind::managed);
    ASSERT_TRUE(native.pointer_info(managed.address()).has_value());
    EXPECT_EQ(native.pointer_info(managed.address())->kind, MemoryKind::managed);
  }
}

TEST_F(CudaDevice, AllocatesPitchedAndWriteCombinedMemory) {
  const CudaNative native(gpu());
  const CudaNative::PitchedMemory rows = native.allocate_pitched(100, 7);
  EXPECT_GE(rows.row_pitch_bytes, 100U);
  gpu().backend().free(rows.address, MemoryKind::device);
  const DeviceAddress combined = native.allocate_write_combined(4096);
  const Buffer<char> buffer(gpu(), 4096);
  std::fill_n(reinterpret_cast<char*>(combined), 4096, 'x');
  buffer.write({reinterpret_cast<const char*>(combined), 4096});
  EXPECT_EQ(buffer.to_vector(), std::vector<char>(4096, 'x'));
  gpu().backend().free(combined, MemoryKind::pinned);
}

TEST_F(CudaDevice, SaysThatMemoryIsOut) {
  const std::size_t too_much = gpu().memory_info().total_bytes * 2;
  EXPECT_ERROR("runtime.memory.out_of_memory", Buffer<char>(gpu(), too_much));
  MemoryPool pool(gpu(), {.kind = MemoryKind::device, .use_driver_pool = true});
  EXPECT_ERROR("runtime.memory.out_of_memory",
               pool.allocate<char>(gpu().default_stream(), too_much));
  // the device is none the worse for it
  EXPECT_EQ(Buffer<int>(gpu(), std::vector<int>{7}).to_vector().front(), 7);
}

TEST_F(CudaDevice, KeepsFreedMemoryInItsOwnPool) {
  const CudaNative native(gpu());
  const Stream stream(gpu());
  Backend& backend = gpu().backend();
  constexpr std::size_t size_bytes = std::size_t{64} << 20U;
  native.trim_pool();
  const std::size_t used_before = native.pool_use().used_bytes;
  const DeviceAddress first = backend.allocate_on(stream.native_handle(), size_bytes);
  EXPECT_GE(native.pool_use().used_bytes, used_before + size_bytes);
  backend.free_on(stream.native_handle(), first);
  stream.synchronize();
  EXPECT_EQ(native.pool_use().used_bytes, used_before);
  EXPECT_GE(native.pool_use().reserved_bytes, size_bytes) << "a synchronisation gave it all back";
  native.trim_pool();
  EXPECT_LT(native.pool_use().reserved_bytes, size_bytes + used_before);
}

TEST_F(CudaDevice, RunsOutOfMemoryOnlyWhenItsPoolIsEmptyToo) {
  const Stream stream(gpu());
  Backend& backend = gpu().backend();
  const std::size_t most = gpu().memory_info().free_bytes / 4 * 3;
  const DeviceAddress first = backend.allocate_on(stream.native_handle(), most);
  backend.free_on(stream.native_handle(), first);
  const Buffer<char> second(gpu(), most);  // possible only if the pool lets go
  EXPECT_NE(second.address(), 0U);
}

TEST_F(CudaDevice, OrdersStreamsByEvents) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto spin = program.function<long long>("spin");
  const auto add_one = program.function<int*, int>("add_one");
  const Stream first(gpu(), {.priority = -100});
  const Stream second(gpu(), {.priority = 100});
  const Buffer<int> values(gpu(), std::vector<int>(256, -1));
  add_one(first, {1, 256}, values, 256);  // a kernel's first launch may wait for others to end
  spin(first, {1, 1}, 1);
  first.synchronize();
  spin(first, {1, 1}, long_time_cycles);
  add_one(first, {1, 256}, values, 256);
  const Event done = first.record({.with_timing = false});
  EXPECT_FALSE(done.is_done());
  EXPECT_FALSE(first.is_done());
  second.wait(done);
  std::vector<int> seen(256);
  copy_to_host(second, values, seen);
  second.synchronize();
  EXPECT_EQ(seen, std::vector<int>(256, 1)) << "the second stream did not wait";
  EXPECT_TRUE(done.is_done());
  EXPECT_TRUE(first.is_done());
}

TEST_F(CudaDevice, MeasuresTime) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto spin = program.function<long long>("spin");
  const Stream stream(gpu());
  spin(stream, {1, 1}, 1000);
  const double short_ms = time_ms(stream, [&] { spin(stream, {1, 1}, 1000); });
  const double long_ms = time_ms(stream, [&] { spin(stream, {1, 1}, long_time_cycles); });
  EXPECT_GT(long_ms, 1.0) << "400 million cycles in a millisecond: 400 GHz";
  EXPECT_GT(long_ms, short_ms);

  const Event untimed = stream.record({.with_timing = false});
  const Event timed = stream.record();
  const Event never(gpu());
  EXPECT_ERROR("runtime.event.no_timing", elapsed_ms(untimed, timed));
  EXPECT_ERROR("runtime.event.not_recorded", elapsed_ms(timed, never));
}

TEST_F(CudaDevice, TakesForeignStreams) {
  const Stream owner(gpu());
  const StreamRef foreign(gpu(), owner.native_handle());
  const Buffer<int> values(gpu(), std::vector<int>{1, 2, 3});
  fill(foreign, values, 9);
  EXPECT_EQ(values.to_vector(foreign), (std::vector<int>{9, 9, 9}));
  EXPECT_TRUE(owner.is_done());
}

TEST_F(CudaDevice, SetsLimitsOfTheContext) {
  const CudaNative native(gpu());
  constexpr int stack_bytes = 0;
  const std::size_t before = native.limit(stack_bytes);
  native.set_limit(stack_bytes, 2 * before);
  EXPECT_GE(native.limit(stack_bytes), 2 * before);
  native.set_limit(stack_bytes, before);
  const int cache = native.cache_config();
  native.set_cache_config(cache);
  EXPECT_EQ(native.cache_config(), cache);
}

TEST_F(CudaDevice, LetsManyThreadsWorkAtOnce) {
  const Program program = Program::compile(gpu(), spin_text);
  const auto add_one = program.function<int*, int>("add_one");
  std::vector<std::thread> threads;
  std::array<int, 8> sums = {};
  for (std::size_t index = 0; index < sums.size(); ++index) {
    threads.emplace_back([&, index] {
      const Stream stream(gpu());
      const Buffer<int> values(gpu(), std::vector<int>(1000));
      for (int round = 0; round < 100; ++round) {
        add_one(stream, {8, 128}, values, 1000);
      }
      const std::vector<int> found = values.to_vector(stream);
      sums[index] = std::accumulate(found.begin(), found.end(), 0);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(sums,
            (std::array<int, 8>{100000, 100000, 100000, 100000, 100000, 100000, 100000, 100000}));
}

}  // namespace
}  // namespace rtcg::runtime
