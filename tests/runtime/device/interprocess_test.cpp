#include "rtcg/runtime/device/interprocess.h"

#include <cstring>
#include <optional>
#include <utility>

#include "rtcg/runtime/device/copy.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

// Handles of the driver are in tests/runtime/cuda/fake/cuda_peers_test.cpp, several processes in
// tests/distributed/mpi/run_mpi_test.cpp.

namespace rtcg::runtime {
namespace {

// The host imports its own handles, too: at another address.
TEST(HostInterprocess, ImportsTheSameMemory) {
  const Device host = Device::host();
  const Buffer<int> own(shareable_memory(host, 1000 * sizeof(int)));
  EXPECT_EQ(own.to_vector(), std::vector<int>(1000)) << "zeros at first";
  EXPECT_TRUE(is_shareable(own.ref().as<const std::byte>()));
  EXPECT_TRUE(is_shareable(own.subrange(999, 1).as<const std::byte>()));
  const MemoryHandle handle = export_memory(own.subrange(10, 90).as<const std::byte>());
  ImportedMemory imported(host, handle);
  EXPECT_EQ(imported.ref().size_bytes(), 90 * sizeof(int));
  EXPECT_NE(imported.ref().address(), own.subrange(10, 90).address());
  const Buffer<int> sent(host, std::vector<int>{3, 4});
  copy_on_device(host.default_stream(), sent.ref().as<const std::byte>(),
                 imported.ref().subrange(0, 2 * sizeof(int)));
  EXPECT_EQ(own.to_vector()[10], 3);
  EXPECT_EQ(own.to_vector()[11], 4);
  ImportedMemory moved(std::move(imported));
  EXPECT_EQ(moved.ref().as<int>().data()[1], 4);
  EXPECT_FALSE(is_shareable(moved.ref())) << "it is the other process that shares it";
}

TEST(HostInterprocess, MemoryStaysForWhoHasImportedIt) {
  const Device host = Device::host();
  std::optional<Buffer<int>> own(shareable_memory(host, sizeof(int)));
  own->write(std::vector<int>{7});
  const MemoryHandle handle = export_memory(own->ref().as<const std::byte>());
  const ImportedMemory imported(host, handle);
  own.reset();
  EXPECT_EQ(*imported.ref().as<int>().data(), 7);
  EXPECT_ERROR("runtime.interprocess.not_found", ImportedMemory(host, handle));
}

TEST(HostInterprocess, RefusesWhatIsNotShared) {
  const Device host = Device::host();
  const Buffer<int> values(host, 2);
  EXPECT_FALSE(is_shareable(values.ref().as<const std::byte>()));
  EXPECT_ERROR("runtime.interprocess.unsupported",
               export_memory(values.ref().as<const std::byte>()));
  EXPECT_ERROR("runtime.interprocess.unsupported", InterprocessEvent(host));
  EXPECT_ERROR("runtime.interprocess.unsupported", InterprocessEvent(host, InterprocessHandle{}));
  EXPECT_ERROR("runtime.interprocess.not_found", ImportedMemory(host, MemoryHandle{}));
  EXPECT_ERROR("runtime.memory.out_of_memory", shareable_memory(host, std::size_t{1} << 60));
  EXPECT_EQ(shareable_memory(host, 0).address(), 0U);
  // a file of this process that is another one
  const Buffer<int> shared(shareable_memory(host, sizeof(int)));
  MemoryHandle handle = export_memory(shared.ref().as<const std::byte>());
  handle.block[24] ^= std::byte{1};  // of the inode
  EXPECT_ERROR("runtime.interprocess.not_found", ImportedMemory(host, handle));
}

TEST(Interprocess, IsUnsupportedByOpenCl) {
  for (const Device& device : judged_devices()) {
    if (device.info().id.kind == BackendKind::opencl) {
      const Buffer<int> values(device, 2);
      EXPECT_FALSE(is_shareable(values.ref().as<const std::byte>()));
      EXPECT_ERROR("runtime.interprocess.unsupported", shareable_memory(device, 8));
      EXPECT_ERROR("runtime.interprocess.unsupported",
                   export_memory(values.ref().as<const std::byte>()));
    }
  }
}

}  // namespace
}  // namespace rtcg::runtime
