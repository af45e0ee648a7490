#include "rtcg/runtime/cuda/cuda_native.h"

#include <string_view>
#include <thread>
#include <vector>

#include "rtcg/runtime/device/program.h"
#include "tests/runtime/cuda/fake/fake_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

class CudaNativeTest : public FakeDevice {
 protected:
  CudaNative native_ = CudaNative(device());
};

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST_F(CudaNativeTest, TellsWhereTheDeviceIs) {
  EXPECT_EQ(native_.driver_version(), 13000);
  EXPECT_EQ(native_.ordinal(), 0);
  EXPECT_EQ(native_.pci_bus_id(), "0000:1b:00.0");
  EXPECT_EQ(native_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(native_.primary_context(), backend().native_context());
}

CUcontext current_context() {
  CUcontext context = nullptr;
  driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent")(&context);
  return context;
}

void set_context(CUcontext context) {
  driver_function<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context);
}

TEST_F(CudaNativeTest, MakesItsContextCurrentInPlaceOfAnothers) {
  std::thread([&] {
    set_context(reinterpret_cast<CUcontext>(0x55));
    native_.make_current();
    EXPECT_EQ(current_context(), native_.primary_context());
  }).join();
}

TEST_F(CudaNativeTest, PutsTheContextBeforeAScopeBack) {
  std::thread([&] {
    auto* const foreign = reinterpret_cast<CUcontext>(0x55);
    set_context(foreign);
    {
      const CudaContextScope scope(device());
      EXPECT_EQ(current_context(), native_.primary_context());
    }
    EXPECT_EQ(current_context(), foreign);
  }).join();
}

TEST_F(CudaNativeTest, LinksToOneProgram) {
  const std::vector<CudaNative::LinkInput> inputs = {
      {CudaNative::LinkInput::Kind::ptx, bytes("kernels axpy"), "first"},
      {CudaNative::LinkInput::Kind::cubin, bytes("kernels scale"), "second"},
      {CudaNative::LinkInput::Kind::archive, bytes("kernels more"), "third"}};
  const CompiledProgram linked = native_.link(inputs);
  EXPECT_EQ(take_calls(),
            "cuLinkCreate()\ncuLinkAddData(1,13,first)\ncuLinkAddData(0,13,second)\n"
            "cuLinkAddData(4,12,third)\ncuLinkComplete()\ncuLinkDestroy()\n");
  EXPECT_EQ(linked.kind, OutputKind::cubin);
  EXPECT_EQ(linked.target, "sm_90");
}

TEST_F(CudaNativeTest, RepeatsWhatTheLinkerSaid) {
  const std::vector<CudaNative::LinkInput> inputs = {
      {CudaNative::LinkInput::Kind::ptx, bytes("nonsense"), "bad"}};
  try {
    static_cast<void>(native_.link(inputs));
    FAIL() << "nonsense was linked";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), "runtime.cuda.call_failed");
    EXPECT_NE(error.message().find("cannot link 'bad': line 1; fatal: no kernels"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(live("link"), 0);
}

TEST_F(CudaNativeTest, SetsUpItsOwnPoolOnce) {
  EXPECT_EQ(native_.memory_pool(), native_.memory_pool());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(native_.memory_pool()), 0x99U);
  take_calls();
  native_.trim_pool(4096);
  EXPECT_EQ(take_calls(), "cuMemPoolTrimTo(4096)\n");
}

TEST_F(CudaNativeTest, PassesOnWhatTheDriverRefuses) {
  for (const char* function : {"cuCtxSetLimit", "cuCtxSetCacheConfig", "cuProfilerStart",
                               "cuMemPoolTrimTo", "cuMemAllocPitch"}) {
    fail_next(function, CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_ERROR("runtime.cuda.call_failed", native_.set_limit(0, 1));
  EXPECT_ERROR("runtime.cuda.call_failed", native_.set_cache_config(7));
  EXPECT_ERROR("runtime.cuda.call_failed", native_.start_profiler());
  EXPECT_ERROR("runtime.cuda.call_failed", native_.trim_pool());
  EXPECT_ERROR("runtime.cuda.call_failed", native_.allocate_pitched(100, 10));
}

}  // namespace
}  // namespace rtcg::runtime
