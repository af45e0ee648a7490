// On devices of CUDA; the calls of the driver are tested with one that is none.
#include "rtcg/runtime/device/driver_pool.h"

#include <cstdlib>
#include <unistd.h>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"
#include "tests/runtime/support/run_again.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<Device> devices_with_pools() {
  std::vector<Device> found;
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind == BackendKind::cuda && device.info().has_stream_ordered_allocation) {
      found.push_back(device);
    }
  }
  return found;
}

TEST(DriverPools, GiveMemoryInTheOrderOfStreams) {
  for (const Device& device : devices_with_pools()) {
    const Stream stream(device);
    std::optional<Buffer<float>> kept;
    {
      DriverPool pool(device);
      for (int i = 0; i < 3; ++i) {
        const Buffer<float> x = pool.allocate<float>(stream, 1000);
        fill(stream, x, static_cast<float>(i));
        EXPECT_EQ(x.to_vector(stream), std::vector<float>(1000, static_cast<float>(i)));
      }
      kept.emplace(pool.allocate<float>(stream, 7));
    }
    fill(stream, *kept, 2.0F);
    EXPECT_EQ(kept->to_vector(stream), std::vector<float>(7, 2.0F));
  }
}

// Drivers and machines without such pools refuse them.
TEST(DriverPools, AreInTheHostsMemoryAtANode) {
  for (const Device& device : devices_with_pools()) {
    const int node = nearest_numa_node(device).value_or(0);
    try {
      DriverPool pool(device, {.numa_node = node});
      const Stream stream(device);
      const Buffer<int> x = pool.allocate<int>(stream, 100);
      fill(stream, x, 3);
      stream.synchronize();
      EXPECT_EQ(x.host_span()[99], 3);
      x.host_span()[0] = 5;
      EXPECT_EQ(x.to_vector(stream).at(0), 5);
      std::printf("a pool at NUMA node %d\n", node);
    } catch (const Unsupported& error) {
      EXPECT_EQ(error.code(), "runtime.driver_pool.unsupported");
      std::printf("%s\n", error.what());
    }
  }
}

std::string digits_of(const InterprocessHandle& handle) {
  std::string digits;
  for (const std::byte each : handle) {
    digits += static_cast<char>('a' + (std::to_integer<int>(each) >> 4));
    digits += static_cast<char>('a' + (std::to_integer<int>(each) & 15));
  }
  return digits;
}

InterprocessHandle handle_of(const std::string& digits) {
  InterprocessHandle handle;
  for (std::size_t i = 0; i < handle.size(); ++i) {
    handle[i] =
        static_cast<std::byte>((digits.at(2 * i) - 'a') * 16 + (digits.at(2 * i + 1) - 'a'));
  }
  return handle;
}

// A process gives its child the file, and the block in a variable; the child doubles the elements.
TEST(DriverPools, ServeOtherProcesses) {
  if (const char* block = std::getenv("RTCG_TEST_BLOCK")) {
    const Device device = devices_with_pools().at(0);
    const int file = std::atoi(std::getenv("RTCG_TEST_POOL"));
    const DriverPool pool(device, file);
    const Stream stream(device);
    const Buffer<float> x(pool.import_block(stream, handle_of(block), 4 * sizeof(float)));
    std::vector<float> values = x.to_vector(stream);
    for (float& each : values) {
      each *= 2;
    }
    copy_to_device(stream, values, x.ref());
    stream.synchronize();
    return;
  }
  for (const Device& device : devices_with_pools()) {
    if (device != devices_with_pools().front()) {
      continue;  // the child takes the first one
    }
    const Stream stream(device);
    DriverPool pool(device, {.is_exportable = true});
    const Buffer<float> x = pool.allocate<float>(stream, 4);
    const std::vector<float> values = {1, 2, 3, 4};
    copy_to_device(stream, values, x.ref());
    stream.synchronize();
    const int exported = pool.export_file();
    const int file = ::dup(exported);  // which stays open in the child
    const ProcessResult child = testing::run_again(
        "DriverPools.ServeOtherProcesses",
        {"RTCG_TEST_POOL=" + std::to_string(file),
         "RTCG_TEST_BLOCK=" + digits_of(pool.export_block(x.ref().as<const std::byte>()))});
    EXPECT_EQ(child.exit_code, 0) << child.output;
    ::close(file);
    ::close(exported);
    EXPECT_EQ(x.to_vector(stream), (std::vector<float>{2, 4, 6, 8}));
    DriverPool own(device);
    EXPECT_ERROR("runtime.cuda.call_failed", static_cast<void>(own.export_file()));
  }
}

}  // namespace
}  // namespace rtcg::runtime
