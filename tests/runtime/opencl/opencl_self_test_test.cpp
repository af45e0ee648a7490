#include "rtcg/runtime/opencl/opencl_self_test.h"

#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "tests/runtime/compile/fake_compiler.h"
#include "tests/runtime/opencl/opencl_fixture.h"
#include "tests/runtime/support/run_again.h"

namespace rtcg::runtime {
namespace {

class OpenClSelfTest : public OpenClTest {
  void SetUp() override {
    OpenClTest::SetUp();
    if (is_only_trusted()) {
      GTEST_SKIP() << "rtcg refuses '" << device().info().target << "', which is wrong";
    }
  }
};

TEST_F(OpenClSelfTest, IsRightOnTheDeviceThatTestsRunOn) {
  Compiler& compiler = device().backend().compiler();
  const CompilerJudge::Trial trial = opencl::run_self_test(
      device().backend(), {}, [&](const CompileRequest& test) { return compiler.compile(test); });
  EXPECT_EQ(trial.result, CompilerJudge::Trial::Result::right) << trial.what;
}

// Whoever compiles for the first time on a machine runs it, with streams in any state.
TEST_F(OpenClSelfTest, WaitsForNoOtherStream) {
  Compiler& compiler = device().backend().compiler();
  ASSERT_FALSE(Program::compile(device(), "kernel void k(global int* x) { *x = 1; }\n")
                   .kernel("k")
                   .name()
                   .empty());
  const Stream other(device());
  Gate gate(device());
  gate.hold(device(), other);
  gate.hold(device(), device().default_stream());
  const CompilerJudge::Trial trial = opencl::run_self_test(
      device().backend(), {}, [&](const CompileRequest& test) { return compiler.compile(test); });
  EXPECT_EQ(trial.result, CompilerJudge::Trial::Result::right) << trial.what;
  EXPECT_FALSE(other.is_done());
}

TEST_F(OpenClSelfTest, SeesThatPocl3PutsABarrierIntoABranch) {
  if (device().info().target.find("PoCL 3.1") == std::string::npos) {
    GTEST_SKIP() << "'" << device().info().target << "' is not PoCL 3.1";
  }
  Compiler& compiler = device().backend().compiler();
  const testing::EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "1");
  const auto trial = [&](const std::vector<std::string>& flags) {
    return opencl::run_self_test(device().backend(), flags, [&](const CompileRequest& test) {
      return compiler.compile(test);
    });
  };
  EXPECT_EQ(trial({}).what, "sums over the threads of a block in two loops");
  EXPECT_EQ(trial(opencl::self_test_mends().front()).result, CompilerJudge::Trial::Result::right);
}

TEST(NestedBarriers, AreThoseInLoopsAndBranches) {
  const auto is_nested = [](const std::string& body) {
    return opencl::has_nested_barrier("__kernel void f(__global int *x) {\n" + body + "\n}\n");
  };
  EXPECT_TRUE(is_nested("for (;;) { x[0] = 1; barrier(CLK_LOCAL_MEM_FENCE); }"));
  EXPECT_TRUE(is_nested("for (;;) barrier(CLK_LOCAL_MEM_FENCE);"));
  EXPECT_TRUE(is_nested("if (x[0]) {} else work_group_barrier(CLK_LOCAL_MEM_FENCE);"));
  EXPECT_TRUE(is_nested("/* } */ if (x[0]) { // }\nbarrier(CLK_LOCAL_MEM_FENCE); }"));
  EXPECT_FALSE(is_nested("for (;;) { x[0] = 1; }\nbarrier(CLK_LOCAL_MEM_FENCE);"));
  EXPECT_FALSE(is_nested("// for (;;) { barrier(0); }\nbarrier(CLK_LOCAL_MEM_FENCE); // all"));
  EXPECT_FALSE(is_nested("if (x[0]) { my_barrier(0); barrier_count += 1; }"));
}

// Found by random texts of loops and branches: with repeated barriers PoCL 3.1 leaves c[0] at 1.
constexpr const char* branch_in_loops_text = R"(
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void branch_in_loops(
    __global int *c, const int n) {
  const int l = (int)(uint)get_local_id(0);
  __local int s[8];
  s[l] = 0;
  for (int i = 0; i < n; ++i) {
    if (i < 2) {
      for (int j = 0; j < 1; ++j) {
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (l == 1) {
          c[0] = (c[0] * 5 + s[0]) & 1023;
        }
      }
    }
  }
}
)";

TEST_F(OpenClSelfTest, BarriersInLoopsAndBranchesAreRight) {
  const auto branch_in_loops =
      Program::compile(device(), branch_in_loops_text).function<int*, int>("branch_in_loops");
  const Buffer<int> c(device(), std::vector<int>{1});
  branch_in_loops(device().default_stream(), {1, 8}, c, 3);
  EXPECT_EQ(c.to_vector(), std::vector<int>{25});
}

CompileRequest request_for(const Device& device) {
  CompileRequest request;
  request.kind = OutputKind::opencl_binary;
  request.target = device.info().target;
  request.source.text = "__kernel void nothing(__global float *x) { x[0] = 1; }\n";
  return request;
}

// In a process of its own, which finds in its cache what another one found out.
TEST_F(OpenClSelfTest, RefusesADeviceThatWasFoundWrong) {
  const char* const folder = std::getenv("RTCG_TEST_FOUND_WRONG");
  if (folder == nullptr) {
    const testing::ScratchFolder scratch;
    const ProcessResult result =
        testing::run_again("OpenClSelfTest.RefusesADeviceThatWasFoundWrong",
                           {"RTCG_TEST_FOUND_WRONG=1", "RTCG_CACHE_DIR=" + scratch.path()});
    if (result.output.find("[  SKIPPED ] 1 test") != std::string::npos) {
      GTEST_SKIP() << "in a process that trusts nothing yet the device is refused anyway";
    }
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return;
  }
  const std::string identity = opencl::self_test_identity(device().info());
  const std::string verdicts = CompileCache::standard().folder() + "/compilers";
  std::filesystem::create_directories(verdicts);
  testing::write_text(
      fmt::format("{}/{}.verdict", verdicts, to_hex(sha256(identity)).substr(0, 32)),
      fmt::format("rtcgver1\n{}\nrefused tiles that are filled ahead\n", identity));
  Compiler& compiler = device().backend().compiler();
  EXPECT_ERROR("runtime.opencl.miscompiles", compiler.compile(request_for(device())));
  const testing::EnvironmentGuard trusting("RTCG_TRUST_COMPILER", "1");
  EXPECT_FALSE(compiler.compile(request_for(device())).binary.empty());
}

}  // namespace
}  // namespace rtcg::runtime
