#include "rtcg/runtime/compile/nvrtc.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc_library.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

Nvrtc& nvrtc() {
  return Nvrtc::instance();
}

CompileRequest nvrtc_request(const std::string& source) {
  CompileRequest request = request_of(source);
  request.kind = OutputKind::cubin;
  request.target = "sm_90";
  return request;
}

constexpr const char* tile_kernel = R"(
extern "C" __global__ void tile(const float *in, float *out, int n) {
  __shared__ float cache[1024];
  cache[threadIdx.x] = threadIdx.x < n ? in[threadIdx.x] : 0.0f;
  __syncthreads();
  out[threadIdx.x] = cache[1023 - threadIdx.x];
}
)";

TEST_F(NvrtcTest, MakesACubinAndTellsItsResources) {
  const CompiledProgram program = nvrtc().compile(nvrtc_request(tile_kernel));
  EXPECT_EQ(text_of(program).substr(1, 3), "ELF");
  EXPECT_EQ(program.target, "sm_90");
  ASSERT_EQ(program.resources.size(), 1u) << program.log;
  const KernelResources& tile = program.resources[0];
  EXPECT_EQ(tile.name, "tile");
  EXPECT_GT(tile.registers.value(), 3);
  EXPECT_EQ(tile.shared_bytes, 4096u);
  EXPECT_EQ(tile.spill_store_bytes, 0u);
  EXPECT_EQ(tile.spill_load_bytes, 0u);
  EXPECT_EQ(tile.stack_bytes, 0u);
}

TEST_F(NvrtcTest, TellsSpills) {
  const CompiledProgram program = nvrtc().compile(nvrtc_request(R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spill(float *x) {
  float v[96];
  for (int i = 0; i < 96; ++i) v[i] = x[i * 1024 + threadIdx.x];
  for (int k = 0; k < 8; ++k)
#pragma unroll
    for (int i = 0; i < 96; ++i) v[i] = v[i] * v[(i + 7) % 96] + x[k];
#pragma unroll
  for (int i = 0; i < 96; ++i) x[i * 1024 + threadIdx.x] = v[i];
}
)"));
  ASSERT_EQ(program.resources.size(), 1u) << program.log;
  EXPECT_GT(program.resources[0].spill_store_bytes.value(), 0u) << program.log;
  EXPECT_GT(program.resources[0].spill_load_bytes.value(), 0u) << program.log;
  EXPECT_LE(program.resources[0].registers.value(), 32) << program.log;
}

TEST_F(NvrtcTest, LowersTemplateNames) {
  CompileRequest request = nvrtc_request(
      "template <class T, int n> __global__ void scale(T *x) { x[threadIdx.x] *= n; }\n"
      "__constant__ float table[4];\n");
  request.options.name_expressions = {"scale<float, 4>", "&scale<double, 2>", "table"};
  const CompiledProgram program = nvrtc().compile(request);
  ASSERT_EQ(program.lowered_names.size(), 3u);
  const std::string lowered = program.lowered_names.at("scale<float, 4>");
  EXPECT_EQ(lowered, "_Z5scaleIfLi4EEvPT_");
  EXPECT_EQ(program.lowered_names.at("table"), "table");
  ASSERT_EQ(program.resources.size(), 2u);
  EXPECT_TRUE(std::any_of(program.resources.begin(), program.resources.end(),
                          [&](const auto& kernel) { return kernel.name == lowered; }));
}

TEST_F(NvrtcTest, MakesPtxAndLtoIr) {
  CompileRequest request = nvrtc_request(tile_kernel);
  request.kind = OutputKind::ptx;
  const std::string ptx = text_of(nvrtc().compile(request));
  EXPECT_NE(ptx.find(".entry tile"), std::string::npos);
  EXPECT_EQ(ptx.find('\0'), std::string::npos) << "ptxas refuses a zero";
  request.kind = OutputKind::lto_ir;
  EXPECT_FALSE(nvrtc().compile(request).binary.empty());
}

TEST_F(NvrtcTest, ShowsTheOffendingLineAndWhoBuiltIt) {
  CompileRequest request = nvrtc_request("__global__ void k(float *x) {\n  x[0] = missing;\n}\n");
  request.source.origins = {{"model.cpp", 1}, {"model.cpp", 22}, {"model.cpp", 3}};
  try {
    static_cast<void>(nvrtc().compile(request));
    FAIL() << "was compiled";
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.code(), "runtime.nvrtc.refused");
    const std::string& text = failure.message();
    EXPECT_NE(text.find("kernel.cu:2: error: identifier \"missing\" is undefined"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("     2 |   x[0] = missing;\n  built at model.cpp:22"), std::string::npos)
        << text;
  }
}

TEST_F(NvrtcTest, FindsHeadersInMemoryInFoldersAndOfTheToolkit) {
  const ScratchFolder folder;
  write_text(folder / "file.h", "#define FROM_FILE 100\n");
  CompileRequest request = nvrtc_request(
      "#include \"memory.h\"\n#include <file.h>\n#include <cuda_fp16.h>\n"
      "#include <cuda/std/cstdint>\n"
      "extern \"C\" __global__ void k(__half *x, cuda::std::int32_t n) {\n"
      "  x[n] = __float2half(FROM_MEMORY + FROM_FILE + VALUE);\n}\n");
  request.options.headers = {{"memory.h", "#define FROM_MEMORY 10\n"}};
  request.options.include_dirs = {folder.path()};
  request.options.defines = {{"VALUE", "1"}};
  if (nvrtc().system_include_dirs(request).empty()) {
    GTEST_SKIP() << "the toolkit's headers are not installed";
  }
  EXPECT_FALSE(nvrtc().compile(request).binary.empty());
}

TEST_F(NvrtcTest, RefusesWhatItCannotMake) {
  for (const char* target : {"sm_1", "sm_90z", "host", "90", "sm_", "sm_999999999999"}) {
    CompileRequest request = nvrtc_request(tile_kernel);
    request.target = target;
    EXPECT_ERROR("runtime.nvrtc.unknown_target", nvrtc().compile(request));
  }
  CompileRequest request = nvrtc_request(tile_kernel);
  request.target = "sm_90a";
  EXPECT_FALSE(nvrtc().compile(request).binary.empty());
  request.kind = OutputKind::host_object;
  EXPECT_ERROR("runtime.nvrtc.wrong_kind", nvrtc().compile(request));
  request = nvrtc_request(tile_kernel);
  request.options.flags = {"-dlto"};  // makes LTO-IR
  EXPECT_ERROR("runtime.nvrtc.no_result", nvrtc().compile(request));
  request.kind = OutputKind::ptx;
  EXPECT_ERROR("runtime.nvrtc.no_result", nvrtc().compile(request));
  request = nvrtc_request(tile_kernel);
  request.options.flags = {"--no-such-option"};
  EXPECT_ERROR("runtime.nvrtc.bad_option", nvrtc().compile(request));
}

TEST_F(NvrtcTest, DebugModePointsIntoTheKeptSource) {
  const ScratchFolder folder;
  CompileCache cache({folder / "cache", 1 << 20, true});
  CompileRequest request = nvrtc_request(tile_kernel);
  request.options.debug = true;
  const CompiledProgram program = compile_cached(nvrtc(), request, cache);
  EXPECT_EQ(read_text(program.source_path), tile_kernel);
  EXPECT_NE(text_of(program).find(std::filesystem::path(program.source_path).filename()),
            std::string::npos);
  EXPECT_NE(text_of(program).find(".debug_line"), std::string::npos);
}

TEST_F(NvrtcTest, GoesThroughTheCache) {
  const ScratchFolder folder;
  CompileCache cache({folder / "cache", 1 << 20, true});
  const CompileRequest request = nvrtc_request(tile_kernel);
  const CompiledProgram first = compile_cached(nvrtc(), request, cache);
  const CompiledProgram again = compile_cached(nvrtc(), request, cache);
  EXPECT_TRUE(again.from_cache);
  EXPECT_EQ(again.binary, first.binary);
  EXPECT_EQ(again.resources, first.resources);
  EXPECT_NE(nvrtc().identity(request).find("libnvrtc.so"), std::string::npos);
}

TEST(NvrtcPlace, SaysWhereItLooked) {
  const EnvironmentGuard guard("RTCG_NVRTC", "/no/such/libnvrtc.so");
  const NvrtcPlace place = find_nvrtc();
  EXPECT_EQ(place.library, "");
  EXPECT_NE(place.why_not_found.find("/no/such/libnvrtc.so"), std::string::npos);
  EXPECT_NE(place.why_not_found.find("pip install nvidia-cuda-nvrtc"), std::string::npos);
}

TEST(NvrtcPlace, FollowsCudaHome) {
  static_cast<void>(nvrtc_place());  // looked for once a process: not in the folder of this test
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "lib64");
  std::filesystem::create_directories(folder / "include/cccl");
  write_text(folder / "lib64/libnvrtc.so.12", "no library");
  write_text(folder / "include/cuda_runtime.h", "");
  const EnvironmentGuard file("RTCG_NVRTC", nullptr);
  const EnvironmentGuard home("CUDA_HOME", folder.path().c_str());
  const NvrtcPlace place = find_nvrtc();
  EXPECT_EQ(place.library, folder / "lib64/libnvrtc.so.12");
  ASSERT_EQ(place.includes.size(), 2u);
  EXPECT_EQ(std::filesystem::path(place.includes[1]).filename(), "cccl");
  EXPECT_NE(NvrtcLibrary(place.library).why_unavailable(), "");
}

// In a fresh process: this one has found its NVRTC already.
TEST(NvrtcPlaceDeathTest, CompilingWithoutNvrtcIsUnsupported) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const EnvironmentGuard guard("RTCG_NVRTC", "/no/such/libnvrtc.so");
  EXPECT_EXIT(
      {
        int code = 1;
        try {
          static_cast<void>(nvrtc().compile(nvrtc_request(tile_kernel)));
        } catch (const Unsupported& error) {
          code = error.code() == "runtime.nvrtc.not_found" ? 0 : 2;
        }
        std::_Exit(code);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(PtxasLog, IsReadKernelByKernel) {
  const auto kernels = parse_ptxas_log(
      "ptxas info    : 0 bytes gmem, 16 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'\n"
      "ptxas info    : Function properties for _Z1aPf\n"
      "    48 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 1 barriers, 4096 bytes smem, 372 bytes cmem[0], "
      "8 bytes cmem[2]\n"
      "ptxas info    : Function properties for device_function\n"
      "    99 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas info    : Function properties for b\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0], (KernelResources{"_Z1aPf", 32, 12, 20, 4096, 380, 48}));
  EXPECT_EQ(kernels[1], (KernelResources{"b", 8, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(parse_ptxas_log("").empty());
}

}  // namespace
}  // namespace rtcg::runtime
