#include "rtcg/loopy/tune/tuned_executor.h"

#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/tune/kernel_pack.h"
#include "rtcg/runtime/device/copy.h"

namespace rtcg::loopy {
namespace {

class TunedExecutorOnHost : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() /
               ("rtcg_tuned_" + std::to_string(::getpid()) + "_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Kernel twice() {
    return make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
                       {.name = "twice", .default_type = cgen::f32});
  }
  void learn(const Wisdom& wisdom, std::int64_t n, const std::string& slicing) const {
    wisdom.add(
        {kernel_key(twice()), host_.identity(), host_.info().target, {{"n", n}}, slicing, 1});
  }
  void expect_twice(const TunedExecutor& executor, std::size_t count) const {
    const runtime::Stream stream(host_);
    const runtime::Buffer<float> a(host_, std::vector<float>(count, 1.5F));
    const runtime::Buffer<float> out(host_, count);
    executor(stream, {arg("a", a), arg("out", out), arg("n", static_cast<std::int64_t>(count))});
    EXPECT_EQ(out.to_vector(stream), std::vector<float>(count, 3.0F));
  }

  runtime::Device host_ = runtime::Device::host();
  std::string folder_;
};

TEST_F(TunedExecutorOnHost, ChoosesForEachSize) {
  TunedExecutorOptions options;
  options.wisdom = Wisdom(folder_ + "/wisdom.jsonl");
  options.packs = {folder_ + "/absent.pack", folder_ + "/pack"};
  learn(options.wisdom, 100, "i: g.0 l.0*32");
  learn(options.wisdom, 1000, "i: g.0 l.0*64");
  learn(options.wisdom, 5000, "i: g.0 nonsense*2");
  KernelPack(folder_ + "/pack").add(twice(), "host", {{"n", 300}}, parse_slicing("i: g.0"), 1);
  const TunedExecutor executor(twice(), host_, options);
  for (const std::size_t count : {100, 300, 800, 5000}) {
    expect_twice(executor, count);
  }
  EXPECT_EQ(to_string(executor.choice({{"n", 100}}).source), "exact");
  EXPECT_EQ(executor.choice({{"n", 100}}).slicing, "i: g.0 l.0*32");
  EXPECT_EQ(to_string(executor.choice({{"n", 300}}).source), "pack");
  EXPECT_EQ(to_string(executor.choice({{"n", 800}}).source), "nearest");
  EXPECT_EQ(executor.choice({{"n", 800}}).slicing, "i: g.0 l.0*64");
  EXPECT_EQ(to_string(executor.choice({{"n", 5000}}).source), "model");
}

TEST_F(TunedExecutorOnHost, SearchesWhereItMay) {
  TunedExecutorOptions options;
  options.wisdom = Wisdom(folder_ + "/wisdom.jsonl");
  options.tune.emplace();
  options.tune->max_candidates = 2;
  options.tune->constraints.min_threads = 16;
  const TunedExecutor executor(twice(), host_, options);
  expect_twice(executor, 200);
  EXPECT_EQ(to_string(executor.choice({{"n", 200}}).source), "search");
  EXPECT_EQ(options.wisdom.entries().size(), 1U);
  EXPECT_EQ(to_string(TunedExecutor(twice(), host_, options).choice({{"n", 200}}).source), "exact");
}

TEST_F(TunedExecutorOnHost, RunsWhatIsSmallerThanAWarp) {
  const TunedExecutor executor(twice(), host_, {Wisdom(folder_ + "/wisdom.jsonl"), {}, {}});
  expect_twice(executor, 1);
  EXPECT_EQ(executor.choice({{"n", 1}}).slicing, "i: g.0");
}

TEST_F(TunedExecutorOnHost, RunsWhatHasNoElements) {
  TunedExecutorOptions options;
  options.wisdom = Wisdom(folder_ + "/wisdom.jsonl");
  const TunedExecutor executor(twice(), host_, options);
  expect_twice(executor, 0);
  EXPECT_EQ(executor.choice({{"n", 0}}).slicing, "");
  options.tune.emplace();
  options.tune->max_candidates = 2;
  expect_twice(TunedExecutor(twice(), host_, options), 0);
}

TEST_F(TunedExecutorOnHost, RunsWhatCannotBeCut) {
  const Kernel powers = make_kernel("{[i]: 0 <= i < n}", "out[i + 1] = 2*out[i]",
                                    {.name = "powers", .arguments = "out: f32[n + 1]; n: i32"});
  const TunedExecutor executor(powers, host_, {Wisdom(folder_ + "/wisdom.jsonl"), {}, {}});
  const runtime::Stream stream(host_);
  const runtime::Buffer<float> out(host_, std::vector<float>{3, 0, 0, 0});
  executor(stream, {arg("out", out), arg("n", 3)});
  EXPECT_EQ(out.to_vector(stream), (std::vector<float>{3, 6, 12, 24}));
  EXPECT_EQ(executor.choice({{"n", 3}}).slicing, "");
}

}  // namespace
}  // namespace rtcg::loopy
