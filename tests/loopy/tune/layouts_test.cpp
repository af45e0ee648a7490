// Arrays that the tuner lays out: the same numbers in every layout, and what becomes of them.
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/slice/layout_copy.h"
#include "rtcg/loopy/tune/kernel_pack.h"
#include "rtcg/loopy/tune/tuned_executor.h"
#include "rtcg/runtime/device/copy.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/tune/fake_runner.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(const std::string& domain, const std::string& statements) {
  return make_kernel(domain, statements, {.default_type = cgen::f32});
}
Kernel transpose() {
  return kernel_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "out[j, i] = a[i, j]");
}
Kernel matvec() {
  return kernel_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "y[i] = sum(j, a[i, j]*x[j])");
}
Kernel differentiation() {
  return kernel_of("{[e, f, i, j]: 0 <= e < n and 0 <= f < 2 and 0 <= i, j < 10}",
                   "out[e, f, i] = sum(j, d[i, j]*u[e, f, j])");
}

// One slicing of each combination of layouts that a stream has.
std::map<std::string, Slicing> one_of_each_layout(const SlicingStream& stream) {
  std::map<std::string, Slicing> found;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const Slicing slicing = stream.at(i).slicing;
    std::string words;
    for (const LayoutPlan& plan : slicing.layouts) {
      words += to_string(plan) + ";";
    }
    found.try_emplace(words, slicing);
  }
  return found;
}

TEST(Layouts, GiveTheSameNumbersEverywhere) {
  struct Case {
    Kernel kernel;
    IntegerValues parameters;
    std::vector<std::string> free;
  };
  const std::vector<Case> cases = {
      {transpose(), {{"n", 70}, {"m", 41}}, {"a", "out"}},
      {matvec(), {{"n", 67}, {"m", 20}}, {"a"}},
      {differentiation(), {{"n", 65}}, {"u", "out", "d"}},
  };
  for (const Case& each : cases) {
    SlicingConstraints constraints{.parameters = each.parameters};
    constraints.min_threads = 8;
    constraints.max_threads = 64;
    constraints.max_items_per_thread = 4;
    constraints.free_layouts = each.free;
    const auto slicings = one_of_each_layout(SlicingStream(each.kernel, constraints));
    EXPECT_GE(slicings.size(), each.free.size() == 1 ? 4U : 12U);
    std::size_t number = 0;
    for (const auto& [words, slicing] : slicings) {
      if (number++ % (1 + slicings.size() / 8) != 0) {
        continue;  // eight of them, since each is compiled for every device
      }
      SCOPED_TRACE(to_string(slicing));
      // the reference reads the same places
      const Kernel reference = apply(each.kernel, {.layouts = slicing.layouts});
      // with PoCL 3.1 some kernels with tiles end the process: see Slicings
      expect_same_everywhere(apply(each.kernel, slicing), reference, each.parameters, {},
                             slicing.fetches.empty() ? "" : "pthread");
    }
  }
}

// The place of each element, from the words of the layout.
TEST(Layouts, CopyEachElementToItsPlaceAndBack) {
  const Kernel kernel = kernel_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "b[i, j] = 2*a[i, j]");
  const std::int64_t n = 37;
  const std::int64_t m = 10;
  std::vector<float> values(static_cast<std::size_t>(n * m));
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<float>(k);
  }
  const auto place_of = [&](const std::string& words, std::int64_t i, std::int64_t j) {
    return words == "order 1,0"         ? j * n + i
           : words == "order 1,0 pad 3" ? j * (n + 3) + i
           : words == "pad 6"           ? i * (m + 6) + j
           : words == "split 0 by 16"   ? (i / 16 * m + j) * 16 + i % 16
                                        : (j / 4 * n + i) * 4 + j % 4;
  };
  const std::vector<std::string> layouts = {"order 1,0", "order 1,0 pad 3", "pad 6",
                                            "split 0 by 16", "order 1,0 split 1 by 4"};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::Stream stream(device);
    for (const std::string& words : layouts) {
      SCOPED_TRACE(words);
      const LayoutPlan plan = parse_slicing("layout a " + words).layouts.at(0);
      const Kernel copy = layout_copy(kernel, plan, LayoutCopy::lay_out);
      const IntegerValues sizes = {{"n", n}, {"m", m}};
      const std::size_t count = element_count(*find_argument(copy, "laid_out"), sizes);
      const runtime::Buffer<float> described(device, values);
      const runtime::Buffer<float> laid(device, std::vector<float>(count, -1));
      Executor(copy, device)(
          stream, {arg("described", described), arg("laid_out", laid), arg("n", n), arg("m", m)});
      const std::vector<float> found = laid.to_vector(stream);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
          ASSERT_EQ(found.at(static_cast<std::size_t>(place_of(words, i, j))), i * m + j)
              << i << " " << j;
        }
      }
      const runtime::Buffer<float> back(device, values.size());
      const Kernel in_order = layout_copy(kernel, plan, LayoutCopy::put_in_order);
      Executor(in_order, device)(
          stream, {arg("described", back), arg("laid_out", laid), arg("n", n), arg("m", m)});
      EXPECT_EQ(back.to_vector(stream), values);
    }
  }
}

// What is read and written again is laid out once, for both.
TEST(Layouts, OfWhatIsUpdatedAreTimedAndChecked) {
  TuneOptions options;
  options.constraints.parameters = {{"n", 40}, {"m", 70}};
  options.constraints.free_layouts = {"u", "a"};
  options.constraints.min_threads = 8;
  options.constraints.max_threads = 64;
  options.constraints.max_items_per_thread = 2;
  options.max_candidates = 12;
  options.budget_seconds = 300;
  options.search = SearchMethod::random;
  const Kernel kernel =
      kernel_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "u[i, j] = u[i, j] + a[j, i]");
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind == runtime::BackendKind::opencl) {
      continue;  // some kernels with tiles end the process with PoCL 3.1: see Slicings
    }
    const TuneResult result = tune(kernel, device, options);
    ASSERT_EQ(result.tried.size(), 12U);
    std::size_t laid_out = 0;
    for (const TunedSlicing& each : result.tried) {
      EXPECT_EQ(each.refusal, "") << to_string(each.slicing);
      laid_out += each.slicing.layouts.empty() ? 0 : 1;
    }
    EXPECT_GE(laid_out, 6U);
  }
}

// A device on which threads that read across rows are slow.
double across_rows_us(const RankedSlicing& ranked) {
  const std::vector<LayoutPlan>& layouts = ranked.slicing.layouts;
  const bool is_turned = layouts.size() == 1 && layouts[0].array == "a" &&
                         layouts[0].order == std::vector<std::size_t>{1, 0};
  return (is_turned ? 100 : 300) + static_cast<double>(ranked.threads) / 64;
}

TEST(Layouts, AreFoundBySearches) {
  SlicingConstraints constraints{.parameters = {{"n", 5000}, {"m", 300}}};
  constraints.free_layouts = {"a"};
  const SlicingStream stream(matvec(), constraints);
  for (const SearchMethod method : {SearchMethod::guided, SearchMethod::evolutionary}) {
    FakeRunner runner(across_rows_us);
    TuneOptions options;
    options.search = method;
    options.max_candidates = 60;
    options.budget_seconds = 1e9;
    options.compile_threads = 1;
    const TunedSlicing best = run_search(stream, runner, options).best();
    ASSERT_EQ(best.slicing.layouts.size(), 1U);
    EXPECT_EQ(best.slicing.layouts[0].order, (std::vector<std::size_t>{1, 0}));
  }
}

class LayoutsInFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() /
               ("rtcg_layouts_" + std::to_string(::getpid()) + "_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()))
                  .string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void learn(double us, const std::string& slicing) const {
    wisdom().add(
        {kernel_key(matvec()), host_.identity(), host_.info().target, sizes_, slicing, us});
  }
  [[nodiscard]] Wisdom wisdom() const { return Wisdom(folder_ + "/wisdom.jsonl"); }

  runtime::Device host_ = runtime::Device::host();
  IntegerValues sizes_ = {{"n", 50}, {"m", 20}};
  std::string folder_;
};

TEST_F(LayoutsInFiles, AreForThoseWhoMayLayOut) {
  learn(5, "i: g.0 l.0*16; layout a order 1,0");
  learn(9, "i: g.0 l.0*32");
  const Wisdom known = wisdom();
  EXPECT_EQ(known.find(matvec(), host_, sizes_)->microseconds, 9);
  EXPECT_EQ(known.find_exact(matvec(), host_, sizes_, {"x"})->microseconds, 9);
  EXPECT_EQ(known.find_exact(matvec(), host_, sizes_, {"x", "a"})->microseconds, 5);
  EXPECT_EQ(seeds_of(known, matvec(), host_, sizes_).size(), 1U);
  EXPECT_EQ(seeds_of(known, matvec(), host_, sizes_, {"a"}).size(), 2U);
  const KernelPack pack(folder_ + "/pack");
  pack.add(matvec(), "host", sizes_, parse_slicing("i: g.0 l.0*16; layout a order 1,0"), 5);
  EXPECT_FALSE(pack.find(matvec(), host_, sizes_).has_value());
  EXPECT_EQ(pack.find(matvec(), host_, sizes_, {"a"})->slicing,
            "i: g.0 l.0*16; layout a order 1,0");
}

TEST_F(LayoutsInFiles, AreSaidByTunedExecutors) {
  learn(5, "i: g.0 l.0*16; layout a order 1,0");
  learn(9, "i: g.0 l.0*32");
  const std::int64_t n = sizes_.at("n");
  const std::int64_t m = sizes_.at("m");
  const runtime::Stream stream(host_);
  const runtime::Buffer<float> a(host_, std::vector<float>(static_cast<std::size_t>(n * m), 2));
  const runtime::Buffer<float> x(host_, std::vector<float>(static_cast<std::size_t>(m), 0.5F));
  const runtime::Buffer<float> y(host_, static_cast<std::size_t>(n));
  const std::vector<NamedArgument> arguments = {arg("a", a), arg("x", x), arg("y", y), arg("n", n),
                                                arg("m", m)};
  TunedExecutorOptions options;
  options.wisdom = wisdom();
  const TunedExecutor as_described(matvec(), host_, options);
  as_described(stream, arguments);
  EXPECT_TRUE(as_described.choice(sizes_).layouts.empty());
  EXPECT_EQ(y.to_vector(stream), std::vector<float>(static_cast<std::size_t>(n), 20));

  options.free_layouts = {"a"};
  const TunedExecutor laid_out(matvec(), host_, options);
  EXPECT_ERROR("loopy.tuned_executor.other_layout", laid_out(stream, arguments));
  const TunedExecutor::Choice& choice = laid_out.choice(sizes_);
  ASSERT_EQ(choice.layouts.size(), 1U);
  const runtime::Buffer<float> turned(host_, static_cast<std::size_t>(n * m));
  const Kernel copy = layout_copy(matvec(), choice.layouts[0], LayoutCopy::lay_out);
  Executor(copy, host_)(stream,
                        {arg("described", a), arg("laid_out", turned), arg("n", n), arg("m", m)});
  const runtime::Buffer<float> again(host_, static_cast<std::size_t>(n));
  choice.executor(stream, {arg("a", turned), arg("x", x), arg("y", again)});
  EXPECT_EQ(again.to_vector(stream), y.to_vector(stream));
}

TEST_F(LayoutsInFiles, AreSearchedForWhereTheyMayBe) {
  TunedExecutorOptions options;
  options.wisdom = wisdom();
  options.free_layouts = {"a"};
  options.tune.emplace();
  options.tune->max_candidates = 1;
  options.tune->constraints.min_threads = 8;
  options.tune->make_search = [](const SlicingStream& stream) {
    // the first with another layout
    std::size_t place = 0;
    while (stream.at(place).slicing.layouts.empty()) {
      ++place;
    }
    return begin_with({place}, make_search(SearchMethod::exhaustive, stream, 1));
  };
  const TunedExecutor executor(matvec(), host_, options);
  EXPECT_EQ(executor.choice(sizes_).source, TunedSource::search);
  EXPECT_EQ(executor.choice(sizes_).layouts.size(), 1U);
  ASSERT_EQ(wisdom().entries().size(), 1U);
  EXPECT_NE(wisdom().entries()[0].decision.find("layout a"), std::string::npos);
}

}  // namespace
}  // namespace rtcg::loopy
