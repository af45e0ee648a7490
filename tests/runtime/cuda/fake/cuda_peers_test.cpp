// The calls that reach other devices and other processes.
#include <cstdlib>

#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/driver_pool.h"
#include "rtcg/runtime/device/flags.h"
#include "rtcg/runtime/device/interprocess.h"
#include "rtcg/runtime/device/peer.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

class CudaPeers : public FakeDevice {
 protected:
  CudaPeers() {
    for (std::size_t i = 0; i < 4; ++i) {
      other(i).synchronize();  // retains the context
    }
    take_calls();
  }
  [[nodiscard]] static Device other(std::size_t number) {
    return Device(*cuda_devices().devices.at(number));
  }
};

// Access is asked for once; so is the access of the other's pool.
TEST_F(CudaPeers, CopyDirectlyBetweenDevices) {
  const Buffer<int> from(other(0), std::vector<int>{1, 2, 3});
  const Buffer<int> to(other(1), 3);
  const Stream stream(other(1));
  take_calls();
  copy_on_device(stream, from, to.ref());
  std::string calls = take_calls();
  EXPECT_NE(calls.find("cuDeviceCanAccessPeer(1,0)\ncuCtxEnablePeerAccess(0)\n"), std::string::npos)
      << calls;
  EXPECT_NE(calls.find("cuDeviceCanAccessPeer(0,1)\ncuCtxEnablePeerAccess(0)\n"), std::string::npos)
      << calls;
  EXPECT_NE(calls.find("cuMemcpyPeerAsync(12,1)\n"), std::string::npos) << calls;
  copy_on_device(stream, from, to.ref());
  EXPECT_EQ(take_calls(), "cuMemcpyPeerAsync(12,1)\n");
  EXPECT_EQ(to.to_vector(), (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(can_access_peer(other(0), other(1)));
  EXPECT_TRUE(can_access_peer(other(0), other(0)));
  EXPECT_FALSE(can_access_peer(other(0), Device::host()));
  EXPECT_FALSE(can_access_peer(Device::host(), other(0)));
}

TEST_F(CudaPeers, OpenTheirPoolsToEachOther) {
  Backend& second = other(2).backend();
  const DeviceAddress before = second.allocate_on(nullptr, 64);  // makes the pool
  take_calls();
  EXPECT_TRUE(can_access_peer(other(3), other(2)));
  EXPECT_EQ(
      take_calls(),
      "cuDeviceCanAccessPeer(3,2)\ncuCtxEnablePeerAccess(0)\ncuMemPoolSetAccess(153,3,3,1)\n");
  second.free_on(nullptr, before);
  // a pool that is made later
  EXPECT_TRUE(can_access_peer(other(2), other(3)));
  take_calls();
  Backend& third = other(3).backend();
  third.free_on(nullptr, third.allocate_on(nullptr, 64));
  const std::string calls = take_calls();
  EXPECT_NE(calls.find("cuMemPoolSetAccess(153,2,3,1)\n"), std::string::npos) << calls;
}

TEST_F(CudaPeers, WithoutAccessTheDriverCopies) {
  ::setenv("FAKE_DRIVER_NO_PEERS", "1", 1);
  const Buffer<int> from(other(0), std::vector<int>{4, 5});
  const Buffer<int> to(other(3), 2);
  take_calls();
  copy_on_device(other(0).default_stream(), from, to.ref());
  EXPECT_EQ(take_calls(),
            "cuDeviceCanAccessPeer(3,0)\ncuDeviceCanAccessPeer(0,3)\ncuMemcpyPeerAsync(8,0)\n");
  EXPECT_FALSE(can_access_peer(other(0), other(3)));
  ::unsetenv("FAKE_DRIVER_NO_PEERS");
  EXPECT_EQ(to.to_vector(), (std::vector<int>{4, 5}));
}

TEST_F(CudaPeers, AccessThatOthersHaveEnabledIsNoFailure) {
  fail_next("cuCtxEnablePeerAccess", CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_TRUE(can_access_peer(other(1), other(3)));
  fail_next("cuCtxEnablePeerAccess", CUDA_ERROR_TOO_MANY_PEERS);
  EXPECT_ERROR("runtime.cuda.call_failed", can_access_peer(other(1), other(2)));
}

TEST_F(CudaPeers, CopyToTheHostThroughPinnedMemory) {
  const Buffer<int> from(other(0), std::vector<int>{6, 7});
  const Buffer<int> to(Device::host(), 2);
  const Stream stream(other(0));
  copy_on_device(stream, from, to.ref());
  EXPECT_EQ(to.to_vector(), (std::vector<int>{6, 7}));
  const Stream host_stream(Device::host());
  const Buffer<int> back(other(0), 2);
  copy_on_device(host_stream, to, back.ref());
  EXPECT_EQ(back.to_vector(), (std::vector<int>{6, 7}));
  EXPECT_ERROR("runtime.copy.other_stream", copy_on_device(Stream(other(1)), from, to.ref()));
}

// Whether streams can is tried once, by two of them.
TEST_F(CudaPeers, WaitForFlags) {
  EXPECT_TRUE(has_flags(other(0)));
  const std::string tried = take_calls();
  EXPECT_NE(tried.find("cuStreamWaitValue32(2,2)\ncuStreamWriteValue32(1,0)\n"
                       "cuStreamWriteValue32(2,0)\n"),
            std::string::npos)
      << tried;
  EXPECT_TRUE(has_flags(other(0)));
  EXPECT_EQ(take_calls(), "");
  const Flags flags(other(0), 2);
  EXPECT_TRUE(has_flags(other(1)));
  const Stream stream(other(1));
  take_calls();
  flags.set(stream, 1, 3);
  flags.wait(stream, 0, 1);
  EXPECT_EQ(take_calls(), "cuStreamWriteValue32(3,0)\ncuStreamWaitValue32(1,2)\n");
  EXPECT_EQ(flags.load(1), 3U);
  fail_next("cuStreamWaitValue32", CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_FALSE(has_flags(other(2)));
  EXPECT_ERROR("runtime.flags.unsupported", Flags(other(2), 1));
}

TEST_F(CudaPeers, ExportMemoryToOtherProcesses) {
  const Buffer<int> values(device(), std::vector<int>{1, 2, 3, 4});
  take_calls();
  const MemoryHandle handle = export_memory(values.subrange(1, 2).as<const std::byte>());
  EXPECT_EQ(take_calls(), "cuMemGetAddressRange()\ncuIpcGetMemHandle()\n");
  EXPECT_EQ(handle.offset_bytes, 4U);
  EXPECT_EQ(handle.size_bytes, 8U);
  {
    ImportedMemory imported(device(), handle);
    EXPECT_EQ(take_calls(), "cuIpcOpenMemHandle(1)\n");
    EXPECT_EQ(imported.ref().address(), values.address() + 4);
    EXPECT_EQ(imported.ref().size_bytes(), 8U);
    ImportedMemory moved = std::move(imported);
    EXPECT_EQ(moved.ref().size_bytes(), 8U);
  }
  EXPECT_EQ(take_calls(), "cuIpcCloseMemHandle()\n");
  fail_next("cuIpcOpenMemHandle", CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_ERROR("runtime.cuda.call_failed", ImportedMemory(device(), handle));
}

TEST_F(CudaPeers, ExportEventsToOtherProcesses) {
  const int before = live("event");
  {
    InterprocessEvent event(device());
    EXPECT_EQ(take_calls(), "cuEventCreate(6)\n");
    InterprocessEvent imported(device(), event.handle());
    EXPECT_EQ(take_calls(), "cuIpcGetEventHandle()\ncuIpcOpenEventHandle()\n");
    InterprocessEvent moved = std::move(imported);
    const Stream stream(device());
    stream.record(moved);
    stream.wait(event);
    EXPECT_ERROR("runtime.event.no_timing", [&] {
      fail_next("cuEventElapsedTime", CUDA_ERROR_INVALID_HANDLE);
      return elapsed_ms(event, moved);
    }());
  }
  EXPECT_EQ(live("event"), before);
}

TEST_F(CudaPeers, SharePoolsWithOtherProcesses) {
  const int before = live("pool");
  {
    const Stream stream(device());
    take_calls();
    DriverPool pool(device(), {.is_exportable = true});
    const std::string made = take_calls();
    EXPECT_EQ(made.find("cuMemPoolCreate(0,1,1)\ncuMemPoolSetAttribute("), 0U) << made;
    const Buffer<int> values = pool.allocate<int>(stream, 3);
    const int file = pool.export_file();
    const InterprocessHandle block = pool.export_block(values.ref().as<const std::byte>());
    EXPECT_EQ(take_calls(),
              "cuMemAllocFromPoolAsync(12)\ncuMemPoolExportToShareableHandle(1)\n"
              "cuMemPoolExportPointer()\n");
    DriverPool theirs(device(), file);
    Memory imported = theirs.import_block(stream, block, 12);
    EXPECT_EQ(take_calls(), "cuMemPoolImportFromShareableHandle(41,1)\ncuMemPoolImportPointer()\n");
    EXPECT_EQ(imported.address(), values.address());
    EXPECT_ERROR("runtime.pool.wrong_device",
                 theirs.import_block(Device::host().default_stream(), block, 12));
    EXPECT_ERROR("runtime.pool.wrong_device",
                 pool.allocate_bytes(Device::host().default_stream(), 12));
    fail_next("cuMemPoolExportToShareableHandle", CUDA_ERROR_INVALID_VALUE);
    EXPECT_ERROR("runtime.cuda.call_failed", static_cast<void>(pool.export_file()));
    EXPECT_EQ(pool.allocate_bytes(stream, 0).address(), 0U);
  }
  EXPECT_EQ(live("pool"), before);
}

// On a device of its own: its copies are others from here on.
TEST_F(CudaPeers, PlacePoolsAtNumaNodes) {
  const Stream stream(other(3));
  EXPECT_EQ(nearest_numa_node(other(3)), 1);
  EXPECT_EQ(nearest_numa_node(Device::host()), std::nullopt);
  take_calls();
  {
    std::optional<Buffer<int>> values;
    {
      DriverPool pool(other(3), {.numa_node = 1});
      const std::string calls = take_calls();
      EXPECT_EQ(calls.find("cuMemPoolCreate(1,3,0)\ncuMemPoolSetAccess("), 0U) << calls;
      values.emplace(pool.allocate<int>(stream, 3));
    }
    EXPECT_EQ(live("pool"), 1) << "its memory keeps it";
    EXPECT_NO_THROW(static_cast<void>(values->host_span()));
    take_calls();
    std::vector<int> read(3);
    copy_to_host(stream, values->ref(), read);
    EXPECT_EQ(take_calls(), "cuMemcpyAsync(12,1)\n") << "the driver finds out where it is";
  }
  EXPECT_EQ(live("pool"), 0);
  EXPECT_ERROR("runtime.driver_pool.bad_options",
               DriverPool(other(3), {.numa_node = 0, .is_exportable = true}));
  for (const CUresult status : {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED}) {
    fail_next("cuMemPoolCreate", status);
    EXPECT_ERROR("runtime.driver_pool.unsupported", DriverPool(other(3), {.numa_node = 0}));
  }
  fail_next("cuMemPoolSetAccess", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_ERROR("runtime.cuda.call_failed", DriverPool(other(3), {.numa_node = 0}));
  EXPECT_EQ(live("pool"), 0);
}

TEST(Interprocess, IsUnsupportedByOtherDevices) {
  EXPECT_ERROR("runtime.driver_pool.unsupported", DriverPool(Device::host()));
  EXPECT_ERROR("runtime.driver_pool.unsupported", DriverPool(Device::host(), 3));
}

}  // namespace
}  // namespace rtcg::runtime
