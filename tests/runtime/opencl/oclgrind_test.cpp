// Runs kernels in oclgrind, a simulator that reports races, missing barriers, reads of memory that
// was never written, and accesses out of bounds. It ends with 0 even then: its log tells.
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/runtime/compile/files.h"
#include "tests/runtime/opencl/opencl_fixture.h"
#include "tests/runtime/support/run_again.h"

namespace rtcg::runtime {
namespace {

constexpr const char* inside_variable = "RTCG_TEST_IN_OCLGRIND";

bool is_inside() {
  return std::getenv(inside_variable) != nullptr;
}

/// One test of this program, run in the simulator.
struct Simulated {
  ProcessResult process;
  std::string reports;
};

Simulated simulate(const std::string& filter) {
  const TemporaryFolder folder;
  const std::string log = fmt::format("{}/oclgrind.log", folder.path());
  Simulated run;
  run.process = testing::run_again(
      filter,
      {fmt::format("{}=1", inside_variable), fmt::format("RTCG_CACHE_DIR={}/cache", folder.path()),
       // built with AddressSanitizer: oclgrind is loaded before it, and keeps what it allocates
       "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"},
      {"oclgrind", "--log", log, "--data-races", "--uninitialized"});
  run.reports = read_file(log).value_or("no log was written");
  return run;
}

/// The outer half of each test starts the inner half, which is the same test in the simulator.
class Oclgrind : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_inside() && find_program("oclgrind").empty()) {
      GTEST_SKIP() << "no oclgrind: install the package of that name";
    }
  }

  // Sums 8 numbers in local memory; each text leaves out something else.
  static void run(const std::string& text) {
    const Device device = Device::find("opencl:0");
    ASSERT_EQ(device.info().name, "Oclgrind Simulator");
    const Buffer<int> out(device, std::vector<int>(1, 0));
    const Buffer<int> in(device, std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
    Program::compile(device, text, {}, "subject")
        .function<const int*, int*, std::size_t>("sum")(device.default_stream(), {1, 8}, in, out,
                                                        8 * sizeof(int));
    device.synchronize();
    std::printf("sum: %d\n", out.to_vector().front());
  }

  static void expect_report(const std::string& test, const std::string& report) {
    const Simulated inner = simulate("Oclgrind." + test);
    EXPECT_EQ(inner.process.exit_code, 0) << inner.process.output;
    EXPECT_NE(inner.reports.find(report), std::string::npos) << inner.reports;
  }
};

TEST_F(Oclgrind, ReportsNothingAboutASoundKernel) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  const size_t i = get_local_id(0);
  tile[i] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i == 0) { int s = 0; for (int k = 0; k < 8; ++k) s += tile[k]; *out = s; }
})");
  }
  const Simulated inner = simulate("Oclgrind.ReportsNothingAboutASoundKernel");
  EXPECT_EQ(inner.process.exit_code, 0) << inner.process.output;
  EXPECT_NE(inner.process.output.find("sum: 36"), std::string::npos) << inner.process.output;
  EXPECT_EQ(inner.reports, "");
}

TEST_F(Oclgrind, ReportsAMissingBarrier) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  const size_t i = get_local_id(0);
  tile[i] = in[i];
  if (i == 0) { int s = 0; for (int k = 0; k < 8; ++k) s += tile[k]; *out = s; }
})");
  }
  expect_report("ReportsAMissingBarrier", "data race");
}

TEST_F(Oclgrind, ReportsARaceOnGlobalMemory) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  *out += in[get_local_id(0)];
})");
  }
  expect_report("ReportsARaceOnGlobalMemory", "data race");
}

TEST_F(Oclgrind, ReportsABarrierThatNotAllReach) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  if (get_local_id(0) < 4) barrier(CLK_LOCAL_MEM_FENCE);
})");
  }
  expect_report("ReportsABarrierThatNotAllReach", "divergence");
}

TEST_F(Oclgrind, ReportsAReadOfWhatWasNeverWritten) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  if (get_local_id(0) == 0) { if (tile[3] > 0) *out = 1; }
})");
  }
  expect_report("ReportsAReadOfWhatWasNeverWritten", "ninitialized");
}

TEST_F(Oclgrind, ReportsAnAccessOutOfBounds) {
  if (is_inside()) {
    return run(R"(
kernel void sum(global const int* in, global int* out, local int* tile) {
  if (get_local_id(0) == 0) *out = in[8];
})");
  }
  expect_report("ReportsAnAccessOutOfBounds", "Invalid read");
}

// Left out: structs by value, on which oclgrind's search for uninitialised values crashes, and
// several threads, which it was not made for.
TEST_F(Oclgrind, ReportsNothingAboutTheOtherTests) {
  const Simulated inner = simulate(
      "OpenClMemory.*:OpenClLaunch.*:Devices/Buffers.*/opencl0:Devices/Copies.*/opencl0:"
      "-OpenClLaunch.PassesVectorsAndStructsByValue:OpenClLaunch.ServesThreadsThatShareAKernel");
  EXPECT_EQ(inner.process.exit_code, 0) << inner.process.output;
  EXPECT_NE(inner.process.output.find("[  PASSED  ]"), std::string::npos) << inner.process.output;
  EXPECT_EQ(inner.reports, "");
}

}  // namespace
}  // namespace rtcg::runtime
