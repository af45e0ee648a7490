#include "rtcg/runtime/compile/jit_link.h"

#include <gtest/gtest.h>

#include "rtcg/runtime/compile/nvrtc.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/support/expect_error.h"

namespace rtcg::runtime {
namespace {

using namespace testing;

class JitLink : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& why : {Nvrtc::instance().why_unavailable(), why_no_jit_link()}) {
      if (!why.empty()) {
        GTEST_SKIP() << why;
      }
    }
  }

  [[nodiscard]] static CompiledProgram compiled(const std::string& text, OutputKind kind,
                                                const std::string& target = "sm_90") {
    CompileRequest request = request_of(text);
    request.kind = kind;
    request.target = target;
    if (kind != OutputKind::lto_ir) {
      request.options.flags = {"--relocatable-device-code=true"};
    }
    return Nvrtc::instance().compile(request);
  }

  static constexpr const char* square = "__device__ float shape(float x) { return x * x; }\n";
  static constexpr const char* apply = R"(__device__ float shape(float x);
extern "C" __global__ void apply(float *x) { x[threadIdx.x] = shape(x[threadIdx.x]); }
)";
};

TEST_F(JitLink, InlinesFunctionsOfOtherPartsInLtoIr) {
  const CompiledProgram parts[] = {compiled(square, OutputKind::lto_ir),
                                   compiled(apply, OutputKind::lto_ir)};
  const CompiledProgram program = link_programs(parts);
  EXPECT_EQ(program.kind, OutputKind::cubin);
  EXPECT_EQ(program.target, "sm_90");
  EXPECT_EQ(text_of(program).substr(1, 3), "ELF");
  EXPECT_NE(text_of(program).find(".text.apply"), std::string::npos);
  EXPECT_EQ(text_of(program).find("shape"), std::string::npos) << "inlined, not called";
  ASSERT_EQ(program.resources.size(), 1U) << program.log;
  EXPECT_EQ(program.resources[0].name, "apply");
  EXPECT_GT(program.resources[0].registers.value_or(0), 3);
}

TEST_F(JitLink, LinksCubinsPtxAndLtoIr) {
  for (const OutputKind kind : {OutputKind::cubin, OutputKind::ptx}) {
    const CompiledProgram parts[] = {compiled(square, kind), compiled(apply, OutputKind::lto_ir)};
    const CompiledProgram program = link_programs(parts);
    EXPECT_NE(text_of(program).find(".text.apply"), std::string::npos) << to_string(kind);
    EXPECT_NE(text_of(program).find("shape"), std::string::npos) << "called";
  }
}

TEST_F(JitLink, KeepsTheNamesOfAllParts) {
  CompileRequest request =
      request_of("template <int n> __global__ void scale(float *x) { x[threadIdx.x] *= n; }\n");
  request.kind = OutputKind::lto_ir;
  request.target = "sm_90";
  request.options.name_expressions = {"scale<3>"};
  const CompiledProgram parts[] = {compiled(apply, OutputKind::lto_ir),
                                   Nvrtc::instance().compile(request),
                                   compiled(square, OutputKind::lto_ir)};
  const CompiledProgram program = link_programs(parts);
  EXPECT_NE(text_of(program).find(".text." + program.lowered_names.at("scale<3>")),
            std::string::npos);
}

// A kernel that launches a kernel: its launch is in an archive.
TEST_F(JitLink, LinksLaunchesFromKernels) {
  const CompiledProgram parts[] = {compiled(R"(
extern "C" __global__ void child(int *x) { x[threadIdx.x] += 1; }
extern "C" __global__ void parent(int *x) {
  if (threadIdx.x == 0) child<<<1, 32>>>(x);
}
)",
                                            OutputKind::cubin)};
  EXPECT_ERROR("runtime.jit_link.refused", link_programs(parts));
  EXPECT_ERROR("runtime.jit_link.refused", link_programs(parts, {{}, {"/no/such/archive.a"}}));
  const std::string archive = find_device_runtime();
  if (archive.empty()) {
    GTEST_SKIP() << "no libcudadevrt.a";
  }
  const CompiledProgram program = link_programs(parts, {{}, {archive}});
  EXPECT_NE(text_of(program).find(".text.parent"), std::string::npos);
  EXPECT_NE(text_of(program).find(".text.child"), std::string::npos);
}

TEST_F(JitLink, RepeatsWhatTheLinkerSays) {
  const CompiledProgram alone[] = {compiled(apply, OutputKind::lto_ir)};
  try {
    static_cast<void>(link_programs(alone));
    FAIL() << "was linked";
  } catch (const CompileFailure& failure) {
    EXPECT_EQ(failure.code(), "runtime.jit_link.refused");
    EXPECT_NE(failure.log().find("shape"), std::string::npos) << failure.log();
    EXPECT_NE(failure.options().find("-arch=sm_90"), std::string::npos);
  }
  const CompiledProgram good[] = {compiled(square, OutputKind::lto_ir)};
  EXPECT_ERROR("runtime.jit_link.refused", link_programs(good, {{"-no-such-option"}}));
  CompiledProgram nonsense;
  nonsense.kind = OutputKind::cubin;
  nonsense.target = "sm_90";
  nonsense.binary.resize(100);
  EXPECT_ERROR("runtime.jit_link.refused", link_programs({&nonsense, 1}));
}

TEST_F(JitLink, RefusesPartsThatDoNotFit) {
  EXPECT_ERROR("runtime.jit_link.bad_part", link_programs({}));
  const CompiledProgram mixed[] = {compiled(square, OutputKind::lto_ir),
                                   compiled(apply, OutputKind::lto_ir, "sm_80")};
  EXPECT_ERROR("runtime.jit_link.bad_part", link_programs(mixed));
  const CompiledProgram of_host[] = {CompiledProgram()};
  EXPECT_ERROR("runtime.jit_link.bad_part", link_programs(of_host));
}

// In a fresh process: this one has opened its linker already.
TEST(JitLinkDeathTest, IsUnsupportedWithoutTheLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const EnvironmentGuard guard("RTCG_NVJITLINK", "/no/such/libnvJitLink.so");
        CompiledProgram part;
        part.kind = OutputKind::cubin;
        EXPECT_ERROR("runtime.jit_link.not_found", link_programs({&part, 1}));
        EXPECT_NE(why_no_jit_link().find("/no/such/libnvJitLink.so"), std::string::npos);
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rtcg::runtime
