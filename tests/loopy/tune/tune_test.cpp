#include "rtcg/loopy/tune/tune.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/make_loop_kernel.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel tuned_kernel_of(const std::string& domain, const std::string& statements,
                       const std::string& arguments = {}) {
  return make_kernel(domain, statements, {.arguments = arguments, .default_type = cgen::f32});
}
Kernel matmul() {
  return tuned_kernel_of("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])");
}

TuneOptions few(std::size_t candidates, const IntegerValues& parameters) {
  TuneOptions options;
  options.constraints.parameters = parameters;
  options.max_candidates = candidates;
  options.budget_seconds = 300;
  return options;
}

TEST(Tune, CountsTheRealOperationsOfComplexNumbers) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "z[i] = a*x[i] + y[i]",
                                    {.arguments = "a: c64; x, y, z: c64[n]; n: i32"});
  EXPECT_EQ(tune(kernel, runtime::Device::host(), few(1, {{"n", 1000}})).flops, 8000);
}

TEST(Tune, FindsAFastSlicingAndReportsOnIt) {
  TuneOptions options = few(6, {{"n", 64}});
  std::vector<TuneProgress> reports;
  std::vector<std::string> doing;
  options.report = [&](const TuneProgress& progress) {
    if (progress.doing == "searching") {
      reports.push_back(progress);
    } else {
      doing.push_back(progress.doing);
    }
  };
  const TuneResult result = tune(matmul(), runtime::Device::host(), options);
  EXPECT_EQ(doing,
            (std::vector<std::string>{"making arrays and slicings", "comparing the fastest"}));
  ASSERT_EQ(result.tried.size(), 6U);
  EXPECT_GT(result.known, 1000U);
  EXPECT_EQ(result.flops, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(result.memory_bytes, 3.0 * 64 * 64 * 4);
  EXPECT_TRUE(result.best().refusal.empty());
  EXPECT_GT(result.best().microseconds, 0);
  ASSERT_EQ(reports.size(), 6U);
  EXPECT_EQ(reports.back().tried, 6U);
  for (std::size_t i = 1; i < reports.size(); ++i) {
    EXPECT_LE(reports[i].best_us, reports[i - 1].best_us);
  }
}

TEST(Tune, SaysWhatJudgedTheResults) {
  const TuneResult small = tune(matmul(), runtime::Device::host(), few(1, {{"n", 16}}));
  EXPECT_EQ(small.why_not_interpreted, "");
  EXPECT_FALSE(small.is_sampled);
  EXPECT_TRUE(tune(matmul(), runtime::Device::host(), few(1, {{"n", 256}})).is_sampled);
  const Kernel text = tuned_kernel_of("{[i]: 0 <= i < n}",
                                      "... c \"${b[i]} = 2*${a[i]};\" {writes=b}", "a, b: f32[n]");
  const TuneResult unknown = tune(text, runtime::Device::host(), few(1, {{"n", 100}}));
  EXPECT_NE(unknown.why_not_interpreted, "");
}

TEST(Tune, StopsWhenItIsToldTo) {
  TuneOptions options = few(SIZE_MAX, {{"n", 16}});
  bool is_enough = false;
  options.report = [&](const TuneProgress& progress) { is_enough = progress.tried == 3; };
  options.is_cancelled = [&] { return is_enough; };
  EXPECT_EQ(tune(matmul(), runtime::Device::host(), options).tried.size(), 3U);
}

TEST(Tune, TriesTheSameCandidatesForTheSameSeed) {
  const auto tried = [](std::uint64_t seed) {
    TuneOptions options = few(4, {{"n", 16}});
    options.search = SearchMethod::random;
    options.seed = seed;
    std::vector<std::string> slicings;
    for (const TunedSlicing& each : tune(matmul(), runtime::Device::host(), options).tried) {
      slicings.push_back(to_string(each.slicing));
    }
    std::sort(slicings.begin(), slicings.end());
    return slicings;
  };
  EXPECT_EQ(tried(1), tried(1));
  EXPECT_NE(tried(1), tried(2));
}

TEST(Tune, NeedsNoSearchForWhatIsKnown) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rtcg_tune_" + std::to_string(::getpid())))
          .string();
  const Wisdom wisdom(path);
  const TuneOptions options = few(2, {{"n", 32}});
  const runtime::Device host = runtime::Device::host();
  const Executor first = tuned_executor(matmul(), host, options, wisdom);
  ASSERT_EQ(wisdom.entries().size(), 1U);
  const Executor second = tuned_executor(matmul(), host, options, wisdom);
  EXPECT_EQ(wisdom.entries().size(), 1U);
  EXPECT_EQ(first.text(), second.text());
  std::filesystem::remove(path);
}

TEST(Tune, TellsWhenNothingWorks) {
  EXPECT_ERROR("loopy.tune.nothing_works", TuneResult().best());
}

TEST(Tune, RunsWhatHasMoreRowsThanAnAxisHasBlocks) {
  const Kernel kernel =
      tuned_kernel_of("{[i, j]: 0 <= i < n and 0 <= j < 2}", "c[i, j] = 2*a[i, j]");
  const TuneResult result = tune(kernel, runtime::Device::host(), few(1, {{"n", 70000}}));
  EXPECT_TRUE(result.best().refusal.empty());
}

TEST(Tune, TimesColdLaunches) {
  TuneOptions options = few(2, {{"n", 32}});
  options.cache = CacheState::cold;
  const TuneResult result = tune(matmul(), runtime::Device::host(), options);
  EXPECT_EQ(result.cache, CacheState::cold);
  EXPECT_GT(result.best().microseconds, 0);
}

TEST(Tune, GoesOnFromItsLog) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("rtcg_tune_log_" + std::to_string(::getpid())))
          .string();
  TuneOptions options = few(2, {{"n", 32}});
  options.log = path;
  EXPECT_EQ(tune(matmul(), runtime::Device::host(), options).resumed, 0U);
  options.max_candidates = 3;
  const TuneResult again = tune(matmul(), runtime::Device::host(), options);
  EXPECT_EQ(again.resumed, 2U);
  EXPECT_EQ(again.tried.size(), 3U);
  options.constraints.parameters["n"] = 33;
  EXPECT_EQ(tune(matmul(), runtime::Device::host(), options).resumed, 0U);
  std::filesystem::remove(path);
}

TEST(Tune, CountsWhatAMultiprocessorHolds) {
  TunedSlicing tuned;
  tuned.threads = 256;
  EXPECT_EQ(occupancy(tuned, {}), 0);
  tuned.resources.registers = 32;
  EXPECT_EQ(occupancy(tuned, {}), 1);
  tuned.resources.registers = 128;
  EXPECT_EQ(occupancy(tuned, {}), 0.25);
  tuned.resources.shared_bytes = 100 * 1024;
  EXPECT_EQ(occupancy(tuned, {}), 0.25);
  tuned.resources.shared_bytes = 120 * 1024;
  EXPECT_EQ(occupancy(tuned, {}), 0.125);
}

// What Loo.py enumerated in 2009, at the size of the tests.
TEST(LoopSlicings, GiveTheSameNumbersEverywhere) {
  const Kernel kernel = make_loop_kernel({{"i", 64}, {"j", 64}, {"k", 64}},
                                         {{"c[i + 64*j]", "a[i + 64*k]*b[k + 64*j]"}});
  const std::vector<Slicing> all = loop_slicings(kernel, {.min_threads = 128, .min_blocks = 2});
  ASSERT_GT(all.size(), 100U);
  std::mt19937_64 random(5);
  for (int i = 0; i < 4; ++i) {
    const Slicing& slicing = all[random() % all.size()];
    SCOPED_TRACE(to_string(slicing));
    expect_same_everywhere(apply(kernel, slicing), kernel, {});
  }
}

// A sample of every kernel's slicings gives the numbers that the kernel gives as described, as C,
// as OpenCL and as CUDA text; what is refused has a code.
TEST(Slicings, GiveTheSameNumbersEverywhere) {
  struct Case {
    Kernel kernel;
    IntegerValues parameters;
  };
  const std::vector<Case> cases = {
      {matmul(), {{"n", 33}}},
      {tuned_kernel_of("{[i, j]: 0 <= i, j < n}", "out[j, i] = a[i, j]"), {{"n", 45}}},
      {tuned_kernel_of("{[i, j]: 0 <= i < n and 0 <= j < m}", "out[i] = sum(j, a[i, j])"),
       {{"n", 7}, {"m", 300}}},
      {tuned_kernel_of("{[i, j]: 0 <= i, j < n}",
                       "out[i, j] = a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2]"),
       {{"n", 40}}},
      {tuned_kernel_of("{[e, f, i, j]: 0 <= e < n and 0 <= f < 6 and 0 <= i, j < 10}",
                       "out[e, f, i] = sum(j, d[i, j]*u[e, f, j])"),
       {{"n", 9}}},
      {tuned_kernel_of("{[i]: 0 <= i < n}", "out[0] = sum(i, a[i])"), {{"n", 5000}}},
      {tuned_kernel_of("{[d, e, i, j]: 0 <= d < 3 and 0 <= e < n and 0 <= i, j < 12}",
                       "out[d, e, i] = sum(j, m[d, i, j]*u[e, j])"),
       {{"n", 40}}},
      {tuned_kernel_of("{[x, y, f, g]: 0 <= x, y < n and 0 <= f, g < 3}",
                       "out[y, x] = sum((f, g), image[y + f, x + g]*w[f, g])"),
       {{"n", 37}}},
  };
  std::mt19937_64 random(7);
  for (const Case& each : cases) {
    SlicingConstraints constraints;
    constraints.parameters = each.parameters;
    constraints.min_threads = 1;
    constraints.max_threads = 128;
    constraints.max_items_per_thread = 16;
    const SlicingStream stream(each.kernel, constraints);
    ASSERT_GT(stream.count(), 20U);
    // RTCG_ALL_SLICINGS=1 runs every one, which takes hours
    const char* wanted = std::getenv("RTCG_ALL_SLICINGS");
    const bool all = wanted != nullptr && std::string(wanted) == "1";
    const std::size_t runs = all ? stream.count() : 4;
    std::vector<std::size_t> places;
    // atomic sums differ in bits from one order of blocks to the next
    const auto is_atomic = [&](std::size_t place) {
      return !stream.at(place).slicing.atomic_reductions.empty();
    };
    for (std::size_t i = 0; i < runs; ++i) {
      std::size_t place = all ? i : random() % stream.count();
      while (!all && is_atomic(place)) {
        place = random() % stream.count();
      }
      if (!is_atomic(place)) {
        places.push_back(place);
      }
    }
    // few of them, so that a sample may well have none
    for (const auto& [word, wanted_count] : std::map<std::string, std::size_t>{
             {"registers", 2}, {" xor", 1}, {" vec 4", 1}, {" vec 2", 1}}) {
      std::size_t found = 0;
      for (std::size_t i = 0; !all && i < stream.count() && found < wanted_count; i += 1 + i / 7) {
        if (to_string(stream.at(i).slicing).find(word) != std::string::npos) {
          places.push_back(i);
          ++found;
        }
      }
    }
    for (const std::size_t place : places) {
      const Slicing slicing = stream.at(place).slicing;
      SCOPED_TRACE(to_string(slicing));
      const Kernel sliced = apply(each.kernel, slicing);
      // with PoCL 3.1 some padded tiles lose elements, and loops with barriers that LLVM unswitches
      // end the process (ParallelRegion.cc: "Incoming edges to non-entry block!"); Oclgrind runs
      // the same text rightly and finds neither a race nor an access out of bounds
      expect_same_everywhere(sliced, each.kernel, each.parameters, {},
                             slicing.fetches.empty() ? "" : "pthread");
    }
  }
}

// gcc 12 took a row of 24 sums for aligned to 32 bytes, and ended the process by a signal.
TEST(Slicings, AlignTheSumsOfThreads) {
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32});
  const Kernel sliced = tuned_kernel(
      product, {{"n", 48}},
      parse_slicing("j: g.0 l.0*24 vec*2; i: g.1 ilp*2 l.1*3 ilp*4; k: for for*16; "
                    "fetch a transposed pad 4; fetch b; stages 3"));
  expect_same_everywhere(sliced, product, {{"n", 48}}, {}, "pthread");
}

}  // namespace
}  // namespace rtcg::loopy
