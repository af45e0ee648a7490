#include "rtcg/runtime/device/flags.h"

#include <chrono>
#include <thread>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/graph.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<Device> able_devices() {
  std::vector<Device> result;
  for (const Device& device : judged_devices()) {
    if (has_flags(device)) {
      result.push_back(device);
    }
  }
  return result;
}

TEST(Flags, AreOfTheHostAndOfCuda) {
  EXPECT_TRUE(has_flags(Device::host()));
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind == BackendKind::opencl) {
      EXPECT_FALSE(has_flags(device));
      EXPECT_ERROR("runtime.flags.unsupported", Flags(device, 1));
      const Flags flags(Device::host(), 1);
      EXPECT_ERROR("runtime.flags.unsupported", flags.set(device.default_stream(), 0, 1));
      EXPECT_ERROR("runtime.flags.unsupported", flags.wait(device.default_stream(), 0, 1));
    }
  }
}

TEST(Flags, OrderTheWorkOfStreams) {
  for (const Device& device : able_devices()) {
    SCOPED_TRACE(device.info().name);
    const Flags flags(device, 3);
    EXPECT_EQ(flags.count(), 3U);
    const Stream first(device);
    const Stream second(device);
    const Buffer<int> source(device, std::vector<int>{7});
    const Buffer<int> between(device, std::vector<int>{0});
    const Buffer<int> target(device, std::vector<int>{0});
    // the later work is submitted first
    flags.wait(second, 1, 2);
    copy_on_device(second, between, target.ref());
    flags.set(second, 2, 5);
    EXPECT_EQ(flags.load(2), 0U);
    copy_on_device(first, source, between.ref());
    flags.set(first, 1, 6);
    second.synchronize();
    EXPECT_EQ(flags.load(1), 6U);
    EXPECT_EQ(flags.load(2), 5U);
    EXPECT_EQ(target.to_vector(second), std::vector<int>{7});
  }
}

TEST(Flags, ArePartOfGraphs) {
  for (const Device& device : able_devices()) {
    if (!has_flags_in_graphs(device)) {
      continue;
    }
    SCOPED_TRACE(device.info().name);
    const Flags flags(device, 2);
    const Stream stream(device);
    const Graph graph = capture(stream, [&] {
      flags.set(stream, 0, 3);
      flags.wait(stream, 1, 1);
      flags.set(stream, 1, 2);
    });
    EXPECT_EQ(flags.load(0), 0U);
    for (int i = 0; i < 2; ++i) {
      graph.launch(stream);
      flags.store(1, 1);
      stream.synchronize();
      EXPECT_EQ(flags.load(0), 3U);
      EXPECT_EQ(flags.load(1), 2U);
      flags.store(0, 0);
    }
  }
  EXPECT_TRUE(has_flags_in_graphs(Device::host()));
}

TEST(Flags, AreSetByTheHost) {
  for (const Device& device : able_devices()) {
    SCOPED_TRACE(device.info().name);
    const Flags flags(device, 2);
    const Stream stream(device);
    flags.store(1, 4);  // not the bit
    flags.wait(stream, 1, 3);
    flags.set(stream, 0, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(stream.is_done());
    EXPECT_EQ(flags.load(0), 0U);
    flags.store(1, 2);
    stream.synchronize();
    EXPECT_EQ(flags.load(0), 1U);
    EXPECT_ERROR("runtime.buffer.out_of_range", flags.set(stream, 2, 1));
  }
}

}  // namespace
}  // namespace rtcg::runtime
