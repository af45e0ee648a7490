#include "rtcg/runtime/cuda/cuda_compiler.h"

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc.h"
#include "rtcg/runtime/cuda/cuda_native.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime::cuda {
namespace {

CompileRequest request_for(const char* target) {
  CompileRequest request;
  request.kind = OutputKind::cubin;
  request.target = target;
  request.source.text = "extern \"C\" __global__ void nothing() {}";
  return request;
}

class CudaCompilerWithNvrtc : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_F(CudaCompilerWithNvrtc, MakesACubinForWhatNvrtcKnows) {
  const CompiledProgram compiled = CudaCompiler().compile(request_for("sm_90"));
  EXPECT_EQ(compiled.kind, OutputKind::cubin);
  EXPECT_EQ(compiled.target, "sm_90");
  EXPECT_EQ(CudaCompiler().compile(request_for("sm_90a")).kind, OutputKind::cubin);
}

TEST_F(CudaCompilerWithNvrtc, MakesPtxOfTheNewestForDevicesThatAreNewerStill) {
  const CompiledProgram compiled = CudaCompiler().compile(request_for("sm_999"));
  EXPECT_EQ(compiled.kind, OutputKind::ptx);
  const std::string text(reinterpret_cast<const char*>(compiled.binary.data()),
                         compiled.binary.size());
  EXPECT_NE(text.find(".target " + Nvrtc::instance().supported_targets().back()), std::string::npos)
      << text;
}

TEST_F(CudaCompilerWithNvrtc, GivesTheLoweredNamesOfKernelsAndVariables) {
  CompileRequest request = request_for("sm_90");
  request.source.text =
      "template <class T> __global__ void scale(T* x) { *x *= 2; }"
      "template <class T> __device__ T shift = T(2.5);";
  request.options.name_expressions = {"scale<float>", "&shift<double>"};
  const CompiledProgram compiled = CudaCompiler().compile(request);
  EXPECT_EQ(compiled.lowered_names.at("scale<float>"), "_Z5scaleIfEvPT_");
  EXPECT_EQ(compiled.lowered_names.at("&shift<double>"), "_Z5shiftIdE");
}

TEST_F(CudaCompilerWithNvrtc, RefusesWhatIsNoArchitecture) {
  EXPECT_ERROR("runtime.nvrtc.unknown_target", CudaCompiler().compile(request_for("sm_13")));
  EXPECT_ERROR("runtime.nvrtc.unknown_target", CudaCompiler().compile(request_for("host")));
}

TEST(CudaCompiler, IsNvrtcForTheCache) {
  const CompileRequest request = request_for("sm_90");
  EXPECT_EQ(CudaCompiler().identity(request), Nvrtc::instance().identity(request));
  EXPECT_EQ(CudaCompiler().system_include_dirs(request),
            Nvrtc::instance().system_include_dirs(request));
}

TEST(CudaNative, IsForCudaDevicesOnly) {
  EXPECT_ERROR("runtime.cuda.other_device", CudaNative(Device::host()));
}

}  // namespace
}  // namespace rtcg::runtime::cuda
