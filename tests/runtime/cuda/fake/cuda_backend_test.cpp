#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "rtcg/runtime/device/graph_loop.h"
#include "rtcg/runtime/device/graph_nodes.h"
#include "rtcg/runtime/device/growable_buffer.h"
#include "rtcg/runtime/device/joint_launch.h"
#include "rtcg/runtime/device/launch_attributes.h"
#include "rtcg/runtime/device/pci_address.h"
#include "rtcg/runtime/device/program.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using CudaBackend = FakeDevice;

TEST_F(CudaBackend, PutsMemoryBehindReservedAddresses) {
  {
    GrowableMemory memory(device(), 5'000'000);
    EXPECT_EQ(take_calls(), "cuMemGetAllocationGranularity()\ncuMemAddressReserve(6291456)\n");
    memory.grow_to(10);
    EXPECT_EQ(take_calls(),
              "cuMemCreate(2097152)\ncuMemMap(2097152,0)\ncuMemSetAccess(2097152,0,3,1)\n");
    fail_next("cuMemSetAccess", CUDA_ERROR_INVALID_VALUE);
    EXPECT_ERROR("runtime.cuda.call_failed", memory.grow_to(3'000'000));
    fail_next("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_ERROR("runtime.memory.out_of_memory", memory.grow_to(3'000'000));
    EXPECT_EQ(memory.held_bytes(), 2'097'152U);
    EXPECT_EQ(live("part"), 1);
    memory.grow_to(3'000'000);
    EXPECT_EQ(live("part"), 2);
    memory.shrink_to(2'097'152);
    EXPECT_EQ(live("part"), 1);
  }
  EXPECT_EQ(live("part"), 0);
}

TEST_F(CudaBackend, MakesLoopsOfConditionalNodes) {
  const Backend::Stream stream = backend().create_stream({});
  auto& loops = dynamic_cast<GraphLoopBackend&>(backend());
  backend().begin_capture(stream);
  loops.repeat_while(stream, 0x1000, [] {});
  take_calls();  // with the kernel of conditions, once
  loops.repeat_while(stream, 0x1000, [] {});
  EXPECT_EQ(take_calls(), R"(cuStreamGetCaptureInfo()
cuGraphConditionalHandleCreate(1,0,0)
cuLaunchKernel(rtcg_set_condition,1,1,1,7,4096)
cuStreamGetCaptureInfo()
cuGraphAddNode(1,13,7,1,1,1)
cuStreamUpdateCaptureDependencies()
cuStreamEndCapture()
cuStreamBeginCaptureToGraph(1,0,2)
cuLaunchKernel(rtcg_set_condition,1,1,1,7,4096)
cuStreamGetCaptureInfo()
cuStreamEndCapture()
cuStreamBeginCaptureToGraph(0,4318,2)
)");
  // the capture goes on in the outer graph, whatever fails within
  fail_next("cuStreamBeginCaptureToGraph", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", loops.repeat_while(stream, 0x1000, [] {}));
  EXPECT_NE(take_calls().find("cuStreamBeginCaptureToGraph(1,0,2)\ncuStreamEndCapture()\n"
                              "cuStreamBeginCaptureToGraph(0,4318,2)\n"),
            std::string::npos);
  fail_next("cuGraphAddNode", CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_ERROR("runtime.cuda.call_failed", loops.repeat_while(stream, 0x1000, [] {}));
  const Backend::Graph graph = backend().end_capture(stream);
  backend().begin_capture(stream);
  take_calls();
  backend().add_graph(stream, graph);  // node by node
  const std::string copied = take_calls();
  for (const char* call : {"cuGraphConditionalHandleCreate(1,0,0)\ncuGraphNodeGetType(1511)\n",
                           "cuGraphAddKernelNode(0,1,1511,7)\ncuGraphKernelNodeCopyAttributes()\n"
                           "cuGraphNodeGetType(4318)\ncuGraphAddNode(1,13,7,1,1,1)\n",
                           "cuGraphMemcpyNodeGetParams()\ncuGraphAddMemcpyNode()\n",
                           "cuGraphMemsetNodeGetParams()\ncuGraphAddMemsetNode()\n",
                           "cuGraphHostNodeGetParams()\ncuGraphAddHostNode()\n",
                           "cuGraphChildGraphNodeGetGraph()\ncuGraphAddChildGraphNode()\n",
                           "cuGraphAddEmptyNode()\n", "cuStreamUpdateCaptureDependencies()\n"}) {
    EXPECT_NE(copied.find(call), std::string::npos) << call << copied;
  }
  fail_next("cuGraphNodeGetType", CUDA_ERROR_NOT_SUPPORTED);  // an event
  EXPECT_ERROR("runtime.graph.loop_within", backend().add_graph(stream, graph));
  const Backend::Graph other = backend().end_capture(stream);
  EXPECT_FALSE(backend().update_graph(other, graph)) << "handles of loops are arguments";
  backend().destroy_graph(other);
  backend().destroy_graph(graph);
  backend().destroy_stream(stream);
}

TEST_F(CudaBackend, AddsNodesAfterChosenOnes) {
  const Stream stream(device());
  const Buffer<int> x(device(), 4);
  take_calls();
  const Graph graph = capture(stream, [&] {
    add_nodes(stream, [&](GraphNodes& nodes) {
      const GraphNode first = nodes.fill(x.subrange(0, 1), 1);
      const GraphNode second = nodes.fill(x.subrange(1, 1), 1);
      nodes.join({first, second, first});
    });
  });
  const std::string calls = take_calls();
  const std::string info = "cuStreamGetCaptureInfo()\n";
  const std::string place = "cuStreamUpdateCaptureDependencies()\n";
  EXPECT_EQ(calls.find("cuStreamBeginCapture()\n" + info + place + "cuMemsetD32Async"), 0U)
      << calls;
  EXPECT_NE(calls.find(info + place + info + place + "cuStreamEndCapture()\n"), std::string::npos)
      << calls;
}

TEST_F(CudaBackend, IsFoundByItsPciAddress) {
  EXPECT_EQ(pci_address(Device::find("cuda:1")), (PciAddress{0, 0xac, 0, 0}));
  EXPECT_EQ(pci_address(Device::host()), std::nullopt);
  for (const char* name : {"0000:1b:00.0", "1b:00.0", "00000000:1B:00.0"}) {
    EXPECT_EQ(Device::find(name), Device::find("cuda:0")) << name;
  }
  EXPECT_ERROR("runtime.device.not_found", Device::find("0000:ac:00.0"));  // two have it
  EXPECT_ERROR("runtime.device.not_found", Device::find("0001:1b:00.0"));
  EXPECT_ERROR("runtime.device.bad_name", Device::find("1b:00"));
}

TEST_F(CudaBackend, IsFoundByItsUuid) {
  EXPECT_EQ(Device::find("GPU-a2a2a2a2-a2a2-a2a2-a2a2-a2a2a2a2a2a2"), Device::find("cuda:2"));
  EXPECT_EQ(Device::find("GPU-a1a1"), Device::find("cuda:1"));
  EXPECT_EQ(Device::find("MIG-a1a1"), Device::find("cuda:1"));      // as parts of a GPU are listed
  EXPECT_ERROR("runtime.device.not_found", Device::find("GPU-a"));  // several begin so
  EXPECT_ERROR("runtime.device.not_found", Device::find("GPU-ff"));
  EXPECT_ERROR("runtime.device.not_found", Device::find("GPU-"));
}

TEST_F(CudaBackend, ReadsWhatIsFixedAboutTheDevice) {
  const DeviceInfo& info = backend().info();
  EXPECT_EQ(to_string(info.id), "cuda:0");
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.target, "sm_90");
  EXPECT_EQ(info.driver_version.substr(0, 4), "13.0");
  EXPECT_EQ(info.uuid, "a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0");
  EXPECT_EQ(info.max_grid[0], 2147483647U);
  EXPECT_EQ(info.max_grid[2], 65535U);
  EXPECT_EQ(info.shared_bytes_per_block_opt_in, 232448U);
  EXPECT_EQ(info.clock_khz, 0) << "an attribute that the driver does not know";
  EXPECT_TRUE(info.has_f16);
  EXPECT_TRUE(info.has_stream_ordered_allocation);
}

TEST_F(CudaBackend, AllocatesTheThreeKindsOfMemory) {
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pinned, MemoryKind::managed}) {
    const DeviceAddress address = backend().allocate(64, kind);
    EXPECT_EQ(live("memory"), 1);
    backend().free(address, kind);
    EXPECT_EQ(live("memory"), 0);
  }
  EXPECT_EQ(take_calls(),
            "cuMemAlloc(64)\ncuMemFree()\ncuMemHostAlloc(64)\ncuMemFreeHost()\n"
            "cuMemAllocManaged(64)\ncuMemFree()\n");
  EXPECT_EQ(backend().allocate(0, MemoryKind::device), 0U);
  backend().free(0, MemoryKind::device);
  EXPECT_EQ(take_calls(), "");
}

// The driver refuses such a wait while another thread captures, or fails within it.
TEST_F(CudaBackend, WaitsForTheDeviceWhenNoOtherThreadCaptures) {
  const Backend::Stream stream = backend().create_stream({});
  for (const bool is_dropped : {false, true}) {
    backend().begin_capture(stream);
    std::atomic<bool> is_done = false;
    std::thread other([&] {
      backend().synchronize_device();
      is_done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(is_done);
    EXPECT_EQ(take_calls().find("cuCtxSynchronize"), std::string::npos);
    if (is_dropped) {
      backend().drop_capture(stream);
    } else {
      backend().destroy_graph(backend().end_capture(stream));
    }
    other.join();
    EXPECT_NE(take_calls().find("cuCtxSynchronize"), std::string::npos);
  }
  // the thread that captures gets the driver's answer
  backend().begin_capture(stream);
  fail_next("cuCtxSynchronize", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_ERROR("runtime.graph.cannot_capture", backend().synchronize_device());
  backend().drop_capture(stream);
  fail_next("cuStreamBeginCapture", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", backend().begin_capture(stream));
  std::thread([&] { backend().synchronize_device(); }).join();
  backend().destroy_stream(stream);
}

// What may wait for a device is not called between launches that wait for each other.
TEST_F(CudaBackend, AllocatesAndLoadsWhenNoLaunchesWaitForEachOther) {
  const std::vector<std::function<void()>> calls = {
      [&] { backend().free(backend().allocate(64, MemoryKind::device), MemoryKind::device); },
      [&] { backend().unload(load("kernels axpy")); },
      [&] { backend().destroy_stream(backend().create_stream({})); }};
  for (const std::function<void()>& call : calls) {
    std::optional<detail::JointLaunch> joint(std::in_place);
    std::atomic<bool> is_done = false;
    std::thread other([&] {
      call();
      is_done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(is_done);
    EXPECT_EQ(take_calls(), "");
    joint.reset();
    other.join();
    EXPECT_NE(take_calls(), "");
  }
}

TEST_F(CudaBackend, SaysHowMuchMemoryWasMissing) {
  try {
    backend().allocate(std::size_t{1} << 40U, MemoryKind::device);
    FAIL() << "a tebibyte was allocated of a mebibyte";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.memory.out_of_memory");
    EXPECT_EQ(error.api(), "cuMemAlloc");
    EXPECT_EQ(error.status(), "CUDA_ERROR_OUT_OF_MEMORY");
    EXPECT_NE(error.message().find("1099511627776"), std::string::npos) << error.what();
    EXPECT_NE(error.message().find("1048576 bytes are free"), std::string::npos) << error.what();
  }
  EXPECT_ERROR("runtime.memory.out_of_memory",
               backend().allocate(std::size_t{1} << 40U, MemoryKind::pinned));
  EXPECT_ERROR("runtime.memory.out_of_memory",
               backend().allocate_on(nullptr, std::size_t{1} << 40U));
}

TEST_F(CudaBackend, GivesThePoolsMemoryBackBeforeItRunsOut) {
  const DeviceAddress first = backend().allocate_on(nullptr, 900000);
  backend().free_on(nullptr, first);
  take_calls();
  const DeviceAddress second = backend().allocate(900000, MemoryKind::device);
  EXPECT_EQ(take_calls(),
            "cuMemAlloc(900000)\ncuCtxSynchronize()\ncuMemPoolTrimTo(0)\ncuMemAlloc(900000)\n");
  backend().free(second, MemoryKind::device);
}

TEST_F(CudaBackend, NamesTheCallThatFailed) {
  fail_next("cuStreamSynchronize", CUDA_ERROR_INVALID_VALUE);
  try {
    backend().synchronize(nullptr);
    FAIL() << "a failure was swallowed";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.cuda.call_failed");
    EXPECT_EQ(error.message(),
              "cannot synchronise a stream: as the test wanted: cuStreamSynchronize returned "
              "CUDA_ERROR_INVALID_VALUE");
  }
}

TEST_F(CudaBackend, CreatesStreamsWithinTheDevicesPriorities) {
  for (const int priority : {0, -3, -100, 100}) {
    backend().destroy_stream(backend().create_stream({priority, true}));
  }
  backend().destroy_stream(backend().create_stream({0, false}));
  EXPECT_EQ(take_calls(),
            "cuStreamCreateWithPriority(1,0)\ncuStreamDestroy(1)\n"
            "cuStreamCreateWithPriority(1,-3)\ncuStreamDestroy(1)\n"
            "cuStreamCreateWithPriority(1,-5)\ncuStreamDestroy(1)\n"
            "cuStreamCreateWithPriority(1,0)\ncuStreamDestroy(1)\n"
            "cuStreamCreateWithPriority(0,0)\ncuStreamDestroy(1)\n");
  EXPECT_EQ(live("stream"), 0);
}

TEST_F(CudaBackend, TellsWorkThatIsNotDoneFromFailure) {
  EXPECT_TRUE(backend().is_done(nullptr));
  fail_next("cuStreamQuery", CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(backend().is_done(nullptr));
  fail_next("cuStreamQuery", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", backend().is_done(nullptr));

  const Backend::Event event = backend().create_event({true});
  EXPECT_TRUE(backend().is_event_done(event));
  fail_next("cuEventQuery", CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(backend().is_event_done(event));
  fail_next("cuEventQuery", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", backend().is_event_done(event));
  backend().destroy_event(event);
}

TEST_F(CudaBackend, RecordsAndMeasuresEvents) {
  const Backend::Event begin = backend().create_event({true});
  const Backend::Event end = backend().create_event({false});
  backend().record(begin, nullptr);
  backend().wait_event(nullptr, begin);
  backend().synchronize_event(begin);
  EXPECT_EQ(backend().elapsed_ms(begin, end), 1.5);
  backend().destroy_event(begin);
  backend().destroy_event(end);
  EXPECT_EQ(take_calls(),
            "cuEventCreate(0)\ncuEventCreate(2)\ncuEventRecord()\ncuStreamWaitEvent()\n"
            "cuEventSynchronize()\ncuEventElapsedTime()\ncuEventDestroy(1)\ncuEventDestroy(1)\n");
  EXPECT_EQ(live("event"), 0);
}

TEST_F(CudaBackend, DestroysQuietlyWhatCannotBeDestroyed) {
  const Backend::Stream stream = backend().create_stream({});
  const Backend::Event event = backend().create_event({});
  const Backend::Program program = load("kernels axpy");
  const DeviceAddress memory = backend().allocate(16, MemoryKind::device);
  for (const char* function :
       {"cuStreamDestroy", "cuEventDestroy", "cuLibraryUnload", "cuMemFree"}) {
    fail_next(function, CUDA_ERROR_INVALID_VALUE);
  }
  backend().destroy_stream(stream);
  backend().destroy_event(event);
  backend().unload(program);
  backend().free(memory, MemoryKind::device);
  EXPECT_EQ(live("stream") + live("event") + live("library") + live("memory"), 4)
      << "the failures were not reached";
  // once more, so that nothing is left for other tests
  backend().destroy_stream(stream);
  backend().destroy_event(event);
  backend().unload(program);
  backend().free(memory, MemoryKind::device);
  EXPECT_EQ(live("stream") + live("event") + live("library") + live("memory"), 0);
}

TEST_F(CudaBackend, SaysWhyTwoEventsHaveNoTimeBetweenThem) {
  const Backend::Event timed = backend().create_event({true});
  const Backend::Event untimed = backend().create_event({false});
  fail_next("cuEventElapsedTime", CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ERROR("runtime.event.no_timing", backend().elapsed_ms(timed, untimed));
  fail_next("cuEventElapsedTime", CUDA_ERROR_INVALID_HANDLE);
  EXPECT_ERROR("runtime.event.not_recorded", backend().elapsed_ms(timed, timed));
  fail_next("cuEventElapsedTime", CUDA_ERROR_NOT_READY);
  EXPECT_ERROR("runtime.cuda.call_failed", backend().elapsed_ms(timed, timed));
  backend().destroy_event(timed);
  backend().destroy_event(untimed);
}

// Contexts.

CUcontext current_context() {
  CUcontext context = nullptr;
  driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent")(&context);
  return context;
}

TEST_F(CudaBackend, WorksOnAThreadWithoutAContext) {
  std::thread([&] {
    EXPECT_EQ(current_context(), nullptr);
    backend().free(backend().allocate(16, MemoryKind::device), MemoryKind::device);
    EXPECT_EQ(current_context(), backend().native_context()) << "as the CUDA runtime leaves it";
  }).join();
  EXPECT_EQ(live("memory"), 0);
}

TEST_F(CudaBackend, PutsAForeignContextBack) {
  std::thread([&] {
    auto* const foreign = reinterpret_cast<CUcontext>(0x55);
    driver_function<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(foreign);
    const DeviceAddress memory = backend().allocate(16, MemoryKind::device);
    EXPECT_EQ(current_context(), foreign);
    EXPECT_ERROR("runtime.memory.out_of_memory",
                 backend().allocate(std::size_t{1} << 40U, MemoryKind::device));
    EXPECT_EQ(current_context(), foreign) << "after a failure too";
    backend().free(memory, MemoryKind::device);
    EXPECT_EQ(current_context(), foreign);
  }).join();
  EXPECT_EQ(live("memory"), 0);
}

// Copies and fills.

class Block {
 public:
  Block(Backend& backend, std::size_t size_bytes)
      : backend_(backend), address_(backend.allocate(size_bytes, MemoryKind::device)) {}
  ~Block() { backend_.free(address_, MemoryKind::device); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] DeviceAddress address() const { return address_; }
  /// The fake driver's device memory is host memory.
  [[nodiscard]] unsigned char* bytes() const { return reinterpret_cast<unsigned char*>(address_); }

 private:
  Backend& backend_;
  DeviceAddress address_;
};

CopyRegion::End host(const void* pointer, std::size_t row = 0, std::size_t plane = 0) {
  return {CopyRegion::Side::host, reinterpret_cast<std::uintptr_t>(pointer), row, plane};
}

CopyRegion::End device_memory(DeviceAddress address, std::size_t row = 0, std::size_t plane = 0) {
  return {CopyRegion::Side::device, address, row, plane};
}

TEST_F(CudaBackend, CopiesLinesInAllDirections) {
  std::vector<unsigned char> from(24);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  std::vector<unsigned char> to(24);
  std::vector<unsigned char> aside(24);
  const Block first(backend(), 24);
  const Block second(backend(), 24);
  take_calls();
  backend().copy(nullptr, {host(from.data()), device_memory(first.address()), 24});
  // without gaps, however it is divided
  backend().copy(nullptr, {device_memory(first.address(), 4, 12),
                           device_memory(second.address(), 4), 4, 3, 2});
  backend().copy(nullptr, {device_memory(second.address()), host(to.data()), 8, 3});
  backend().copy(nullptr, {host(to.data()), host(aside.data()), 24});
  backend().copy(nullptr, {host(to.data()), host(aside.data()), 0});
  EXPECT_EQ(take_calls(),
            "cuMemcpyHtoDAsync(24,0)\ncuMemcpyDtoDAsync(24,0)\ncuMemcpyDtoHAsync(24,0)\n"
            "cuMemcpyAsync(24,0)\n");
  EXPECT_EQ(aside, from);
}

TEST_F(CudaBackend, CopiesBoxesBetweenPitches) {
  std::vector<unsigned char> from(2 * 20);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  const Block block(backend(), 2 * 24);
  take_calls();
  backend().copy(nullptr,
                 {host(from.data(), 5, 20), device_memory(block.address(), 6, 24), 3, 2, 2});
  EXPECT_EQ(take_calls(), "cuMemcpy3DAsync(3,2,2,5,4,6,4)\n");
  EXPECT_EQ(block.bytes()[0], 1);
  EXPECT_EQ(block.bytes()[6 + 2], 8);
  EXPECT_EQ(block.bytes()[24 + 6 + 2], 28);
}

TEST_F(CudaBackend, CopiesPlanesApartThatDoNotHoldWholeRows) {
  std::vector<unsigned char> from(2 * 13);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  const Block block(backend(), 2 * 24);
  take_calls();
  backend().copy(nullptr,
                 {host(from.data(), 5, 13), device_memory(block.address(), 6, 24), 3, 2, 2});
  EXPECT_EQ(take_calls(), "cuMemcpy3DAsync(3,2,1,5,2,6,4)\ncuMemcpy3DAsync(3,2,1,5,2,6,4)\n");
  EXPECT_EQ(block.bytes()[24 + 6 + 2], 13 + 5 + 2 + 1);
}

class CudaFill : public FakeDevice, public testing::WithParamInterface<std::size_t> {};

TEST_P(CudaFill, RepeatsThePattern) {
  const std::size_t width = GetParam();
  std::vector<std::byte> pattern(width);
  for (std::size_t index = 0; index < width; ++index) {
    pattern[index] = static_cast<std::byte>(17 * index + 3);
  }
  const Block block(backend(), 7 * width);
  backend().fill(nullptr, block.address(), pattern, 7);
  for (std::size_t index = 0; index < 7 * width; ++index) {
    ASSERT_EQ(static_cast<std::byte>(block.bytes()[index]), pattern[index % width]) << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, CudaFill, testing::Values(1, 2, 4, 8, 16));

TEST_F(CudaBackend, FillsByTheNarrowestPattern) {
  const std::array<std::byte, 16> zeros = {};
  const Block block(backend(), 160);
  take_calls();
  backend().fill(nullptr, block.address(), zeros, 10);
  backend().fill(nullptr, block.address(), zeros, 0);
  EXPECT_EQ(take_calls(), "cuMemsetD8Async(160)\n");
}

// Programs and launches.

TEST_F(CudaBackend, LoadsAndUnloadsPrograms) {
  for (int round = 0; round < 3; ++round) {
    const Backend::Program program = load("kernels axpy scale");
    EXPECT_EQ(live("library"), 1);
    backend().unload(program);
    EXPECT_EQ(live("library"), 0);
  }
}

TEST_F(CudaBackend, RepeatsWhatTheDriversCompilerSaid) {
  try {
    static_cast<void>(load("nonsense", OutputKind::ptx));
    FAIL() << "nonsense was loaded";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.cuda.call_failed");
    EXPECT_NE(error.message().find("line 1; fatal: no kernels"), std::string::npos) << error.what();
  }
  EXPECT_EQ(live("library") + live("link"), 0);
  EXPECT_ERROR("runtime.cuda.call_failed", load("nonsense"));
}

TEST_F(CudaBackend, CompilesPtxBeforeItLoads) {
  const Backend::Program program = load("kernels axpy", OutputKind::ptx);
  EXPECT_EQ(take_calls(),
            "cuLinkCreate()\ncuLinkAddData(1,13,the program's PTX)\ncuLinkComplete()\n"
            "cuLinkDestroy()\ncuLibraryLoadData()\n");
  static_cast<void>(backend().find_kernel(program, "axpy"));
  backend().unload(program);
  EXPECT_EQ(live("library") + live("link"), 0);
}

TEST_F(CudaBackend, NamesTheKernelsThatThereAre) {
  const Backend::Program program = load("kernels axpy scale");
  try {
    backend().find_kernel(program, "axpi");
    FAIL() << "a kernel was found that is not there";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "runtime.program.unknown_kernel");
    EXPECT_EQ(error.message(), "the program has no kernel 'axpi'; it has 'axpy', 'scale'");
  }
  EXPECT_ERROR("runtime.program.unknown_global", backend().find_global(program, "tables"));
  EXPECT_EQ(backend().find_global(program, "table").size_bytes, 16U);
  fail_next("cuLibraryGetKernel", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.cuda.call_failed", backend().find_kernel(program, "axpy"));
  backend().unload(program);
}

class CudaLaunch : public FakeDevice {
 protected:
  CudaLaunch() : program_(load("kernels axpy")), kernel_(backend().find_kernel(program_, "axpy")) {
    take_calls();
  }
  ~CudaLaunch() override { backend().unload(program_); }

  void launch(const LaunchShape& shape) {
    backend().launch(nullptr, kernel_, shape, {values_, sizes_bytes_});
  }

  [[nodiscard]] Kernel loaded() {
    return Kernel(std::make_shared<detail::LoadedKernel>(
        detail::LoadedKernel{nullptr, device(), kernel_, backend().kernel_attributes(kernel_), 512,
                             232448 - 256, false}));
  }

  Backend::Program program_;
  Backend::Kernel kernel_;
  std::uint64_t pointer_ = 0;
  int count_ = 42;
  std::array<void*, 3> values_ = {&pointer_, &pointer_, &count_};
  std::array<std::size_t, 3> sizes_bytes_ = {8, 8, 4};
};

TEST_F(CudaLaunch, TellsWhatTheKernelIsMadeOf) {
  const KernelAttributes attributes = backend().kernel_attributes(kernel_);
  EXPECT_EQ(attributes.name, "axpy");
  EXPECT_EQ(attributes.registers, 40);
  EXPECT_EQ(attributes.max_threads_per_block, 512);
  EXPECT_EQ(attributes.static_shared_bytes, 256U);
  EXPECT_EQ(attributes.preferred_block_multiple, 32);
  ASSERT_TRUE(attributes.parameters.has_value());
  ASSERT_EQ(attributes.parameters->size(), 3U);
  EXPECT_EQ(attributes.parameters->at(2).size_bytes, 4U);
}

TEST_F(CudaLaunch, PassesShapeAndArguments) {
  launch({{2, 3, 4}, {32, 2, 1}, 0});
  EXPECT_EQ(take_calls(), "cuLaunchKernel(axpy,2,3,4,32,2,1,0,0,42)\n");
}

TEST_F(CudaLaunch, OptsInToMuchSharedMemoryOnce) {
  launch({1, 32, 1024});
  EXPECT_EQ(take_calls(), "cuFuncGetAttribute(8)\ncuLaunchKernel(axpy,1,1,1,32,1,1,1024,0,42)\n");
  launch({1, 32, 100000});
  launch({1, 32, 100000});
  EXPECT_EQ(take_calls(),
            "cuFuncGetAttribute(8)\ncuFuncSetAttribute(8,100000)\n"
            "cuLaunchKernel(axpy,1,1,1,32,1,1,100000,0,42)\n"
            "cuFuncGetAttribute(8)\ncuLaunchKernel(axpy,1,1,1,32,1,1,100000,0,42)\n");
}

TEST_F(CudaLaunch, RefusesMoreSharedMemoryThanThereIs) {
  EXPECT_ERROR("runtime.launch.refused", launch({1, 32, 1000000}));
  EXPECT_EQ(take_calls(), "cuFuncGetAttribute(8)\n");
  fail_next("cuFuncSetAttribute", CUDA_ERROR_INVALID_VALUE);
  EXPECT_ERROR("runtime.launch.refused", launch({1, 32, 232400}));
}

TEST_F(CudaLaunch, ExplainsARefusal) {
  fail_next("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  try {
    launch({1, 512});
    FAIL() << "a failure was swallowed";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.launch.refused");
    EXPECT_EQ(error.api(), "cuLaunchKernel");
    EXPECT_NE(error.message().find("too many registers"), std::string::npos) << error.what();
  }
}

TEST_F(CudaLaunch, LaunchesAllBlocksAtOnceWhenAsked) {
  launch({.grid = 264, .block = 32, .shared_bytes = 0, .cooperative = true});
  EXPECT_EQ(take_calls(), "cuLaunchCooperativeKernel(axpy,264,32)\n");
  EXPECT_ERROR("runtime.launch.refused",
               launch({.grid = 265, .block = 32, .shared_bytes = 0, .cooperative = true}));
}

TEST_F(CudaLaunch, HandsAttributesToTheDriver) {
  const Kernel kernel = loaded();
  const StreamRef stream = device().default_stream();
  ArgumentPack arguments;
  arguments.add(pointer_).add(pointer_).add(7);
  take_calls();
  LaunchShape shape = {.grid = 8, .block = 32, .shared_bytes = 0, .cooperative = true};
  launch_with(kernel, stream, shape, arguments,
              {.cluster = {2, 1}, .is_programmatic = true, .priority = -3});
  EXPECT_EQ(take_calls(), "cuLaunchKernelEx(axpy,8,32,2,-289,7)\n");
  shape = {16, 32};
  launch_with(kernel, stream, shape, arguments, {.cluster = 16});
  EXPECT_EQ(take_calls(), "cuFuncSetAttribute(14,1)\ncuLaunchKernelEx(axpy,16,32,16,0,7)\n");
  EXPECT_EQ(clusters_at_once(kernel, shape, {.cluster = 4}), 66);
  EXPECT_ERROR("runtime.launch.cluster_limit",
               launch_with(kernel, stream, shape, arguments, {.cluster = {16, 2}}));
  EXPECT_ERROR("runtime.launch.cluster_limit",
               launch_with(kernel, stream, shape, arguments, {.cluster = 0}));
  shape = {32, 32};
  EXPECT_ERROR("runtime.launch.refused",
               launch_with(kernel, stream, shape, arguments, {.cluster = 32}));
  EXPECT_ERROR("runtime.launch.argument_count",
               launch_with(kernel, stream, shape, ArgumentPack(), {.cluster = 2}));
}

TEST_F(CudaLaunch, AsksTheDriverForTheOccupancy) {
  EXPECT_EQ(backend().blocks_per_multiprocessor(kernel_, 256, 0), 8);
  EXPECT_EQ(backend().blocks_per_multiprocessor(kernel_, 256, 1000000), 0);
  EXPECT_EQ(backend().suggested_block_threads(kernel_, 0), 384);
}

// The fault stays for the rest of the process, so it gets one of its own.
using CudaLaunchDeathTest = CudaLaunch;

TEST_F(CudaLaunchDeathTest, SaysThatAnEarlierKernelFaulted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_into_fault = [&] {
    launch({1, 32});
    fail_next("cuStreamSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_ERROR("runtime.cuda.kernel_fault", backend().synchronize(nullptr));
    try {
      backend().allocate(16, MemoryKind::device);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    backend().unload(program_);  // fails too, and says nothing
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);
  };
  EXPECT_EXIT(
      run_into_fault(), testing::ExitedWithCode(0),
      "cannot allocate 16 bytes: .*a kernel launched earlier has faulted.*cuMemAlloc returned "
      "CUDA_ERROR_ILLEGAL_ADDRESS .runtime.cuda.kernel_fault");
}

}  // namespace
}  // namespace rtcg::runtime
