#include "rtcg/runtime/device/peer.h"

#include <cstdlib>
#include <numeric>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/memory_pool.h"
#include "rtcg/runtime/device/program.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::runtime {
namespace {

std::vector<int> ascending(std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 7);
  return values;
}

// Each device to each, on a stream of the one and of the other: GPUs of one kind, of two, the host.
TEST(Peers, CopyBetweenAllDevices) {
  for (const Device& from : judged_devices()) {
    for (const Device& to : judged_devices()) {
      SCOPED_TRACE(from.info().name + " to " + to.info().name);
      const std::vector<int> values = ascending(100'003);
      const Buffer<int> source(from, values);
      for (const Device& of_stream : {from, to}) {
        const Stream stream(of_stream);
        const Buffer<int> target(to, values.size() + 1);
        fill(target.device().default_stream(), target, -1);
        target.device().synchronize();
        // what the stream has done before is copied, not what was there at the call
        if (of_stream == from) {
          fill(stream, source.subrange(0, 1), 5);
        }
        copy_on_device(stream, source, target + 1);
        stream.synchronize();
        std::vector<int> found = target.to_vector();
        EXPECT_EQ(found[0], -1);
        EXPECT_EQ(found[1], 5);
        EXPECT_TRUE(std::equal(found.begin() + 2, found.end(), values.begin() + 1));
      }
    }
  }
}

TEST(Peers, RefuseCopiesThatDoNotFit) {
  const std::vector<Device>& devices = judged_devices();
  const Buffer<int> source(devices.front(), ascending(4));
  const Buffer<int> target(devices.back(), 3);
  EXPECT_ERROR("runtime.copy.out_of_range",
               copy_on_device(devices.front().default_stream(), source, target.ref()));
}

TEST(Peers, ReachTheirOwnMemory) {
  for (const Device& device : judged_devices()) {
    EXPECT_TRUE(can_access_peer(device, device));
  }
  EXPECT_FALSE(can_access_peer(Device::host(), judged_devices().front()) &&
               judged_devices().front() != Device::host());
}

// Kernels of one GPU read memory of another: allocated, and of its pool.
TEST(Peers, KernelsReadMemoryOfOtherGpus) {
  std::vector<Device> gpus;
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind == BackendKind::cuda) {
      gpus.push_back(device);
    }
  }
  if (const char* required = std::getenv("REQUIRE_GPUS")) {
    EXPECT_GE(gpus.size(), static_cast<std::size_t>(std::atoi(required)));
  }
  for (const Device& reader : gpus) {
    for (const Device& owner : gpus) {
      if (reader == owner || !can_access_peer(reader, owner)) {
        continue;
      }
      SCOPED_TRACE(to_string(reader.info().id) + " reads " + to_string(owner.info().id));
      const Program program = Program::compile(
          reader, std::string("extern \"C\" __global__ void twice(const int *from, int *to) {\n"
                              "  to[threadIdx.x] = 2 * from[threadIdx.x];\n}\n"));
      const Stream owners_stream(owner);
      MemoryPool pool(owner, {.use_driver_pool = true});
      const Buffer<int> of_pool = pool.allocate<int>(owners_stream, 4);
      const Buffer<int> allocated(owner, 4);
      for (const Buffer<int>* source : {&of_pool, &allocated}) {
        copy_to_device(owners_stream, std::vector<int>{1, 2, 3, 4}, source->ref());
        owners_stream.synchronize();
        const Stream stream(reader);
        const Buffer<int> result(reader, 4);
        ArgumentPack pack;
        pack.add(*source).add(result);
        program.kernel("twice").launch(stream, {1, 4, 0}, pack);
        EXPECT_EQ(result.to_vector(stream), (std::vector<int>{2, 4, 6, 8}));
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::runtime
