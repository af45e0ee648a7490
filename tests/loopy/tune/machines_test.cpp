// GPUs that are absent: their figures, and what the model chooses for them.
#include "rtcg/loopy/tune/machines.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* one_machine =
    R"("name": "mine", "device": "A GPU of ours", "target": "sm_90", "multiprocessors": 20, "clock_mhz": 1000,
       "memory_gb_per_second": 100, "flops_per_clock": 256, "shared_kib_per_block": 48,
       "shared_kib_per_multiprocessor": 64, "threads_per_multiprocessor": 1024)";

class MachineFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string& write(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  const std::string& with(const std::string& fields) const {
    return write("{\"machines\": [{" + fields + "}]}");
  }
  std::string path_ = ::testing::TempDir() + "machines_of_a_test.json";
};

SlicingConstraints of_size(std::int64_t n) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", n}};
  return constraints;
}

Kernel product() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32});
}

TEST(Machines, OfAllArchitecturesSince70AreKnown) {
  std::set<std::string> architectures;
  for (const Machine& each : known_machines()) {
    architectures.insert(each.model.architecture);
    EXPECT_EQ(find_machine(each.name).device, each.device);
    EXPECT_GE(each.model.shared_bytes_per_multiprocessor, each.model.shared_bytes);
  }
  for (const char* each : {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"}) {
    EXPECT_EQ(architectures.count(each), 1U) << each;
    EXPECT_EQ(find_machine(std::string("cuda:") + each).model.architecture, each);
  }
  EXPECT_NEAR(find_machine("h200").model.memory_bytes_per_second, 4.2e12, 0.05e12);
  EXPECT_ERROR("loopy.machines.unknown", find_machine("h300"));
  EXPECT_ERROR("loopy.machines.unknown", find_machine("cuda:sm_9"));
}

TEST_F(MachineFile, AddsMachinesBeforeThoseOfRtcg) {
  const std::string text = std::string(one_machine) + ", \"has_async_copies\": true";
  EXPECT_EQ(find_machine("mine", with(text)).model.multiprocessors, 20);
  EXPECT_EQ(find_machine("cuda:sm_90", path_).name, "mine");
  EXPECT_EQ(find_machine("h200", path_).name, "h200");
  EXPECT_EQ(find_machine("mine", path_).model.clock_hz, 1e9);
}

TEST_F(MachineFile, IsRefusedWhereItIsWrong) {
  EXPECT_ERROR("loopy.machines.unreadable", known_machines("/no/such/file.json"));
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(write("machines")));
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(write("{\"machines\": {}}")));
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(write("{\"machines\": [3]}")));
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(with(one_machine)));
  const std::string whole = std::string(one_machine) + ", \"has_async_copies\": ";
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(with(whole + "1")));
  EXPECT_ERROR("loopy.machines.bad_entry", known_machines(with(whole + "true, \"color\": 3")));
  for (const auto& [right, wrong] : std::vector<std::pair<std::string, std::string>>{
           {"1000,", "-1,"}, {"20,", "20.5,"}, {"\"mine\"", "7"}, {"sm_90", "sm_x"}}) {
    std::string text = whole + "true";
    text.replace(text.find(right), right.size(), wrong);
    EXPECT_ERROR("loopy.machines.bad_entry", known_machines(with(text)));
  }
  EXPECT_ERROR("loopy.machines.bad_entry",
               known_machines(write("{\"machines\": [{" + whole + "true}, {" + whole + "true}]}")));
}

TEST(SliceFor, CompilesTheModelsChoiceForAnAbsentGpu) {
  const std::vector<CompiledSlicing> sliced =
      slice_for(product(), find_machine("h100"), of_size(512), 3);
  ASSERT_GE(sliced.size(), 3U);
  for (const CompiledSlicing& each : sliced) {
    EXPECT_EQ(each.refusal, "");
    EXPECT_GT(each.resources.registers.value_or(0), 15);
    EXPECT_GT(each.occupancy, 0);
    EXPECT_NE(each.text.find("__global__"), std::string::npos);
  }
  EXPECT_LE(sliced[0].ranked.predicted_seconds, sliced[1].ranked.predicted_seconds);
  // a tenth of the multiprocessors
  EXPECT_GT(slice_for(product(), find_machine("t4"), of_size(512))[0].ranked.predicted_seconds,
            2 * sliced[0].ranked.predicted_seconds);
}

TEST(SliceFor, GivesTextWhereNoCompilerKnowsTheArchitecture) {
  const CompiledSlicing sliced = slice_for(product(), find_machine("v100"), of_size(64)).front();
  EXPECT_NE(sliced.text.find("__global__"), std::string::npos);
  EXPECT_EQ(sliced.text.find("__pipeline"), std::string::npos) << "it has no asynchronous copies";
  EXPECT_ERROR("loopy.tune.nothing_works", slice_for(product(), find_machine("h100"), [] {
                 SlicingConstraints constraints = of_size(64);
                 constraints.min_blocks = 1'000'000;
                 return constraints;
               }()));
}

}  // namespace
}  // namespace rtcg::loopy
