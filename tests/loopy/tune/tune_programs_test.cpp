// Programs of the user's own, tuned: texts, trees and loop kernels.
#include "rtcg/loopy/tune/tune_programs.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

constexpr int n = 4096;

const char* text_for(runtime::BackendKind kind) {
  switch (kind) {
    case runtime::BackendKind::cuda:
      return R"(
extern "C" __global__ void scale(float *a) {
  for (int i = 0; i < ITEMS; ++i) {
    a[(blockIdx.x * ITEMS + i) * BLOCK + threadIdx.x] *= FACTOR;
  }
}
)";
    case runtime::BackendKind::opencl:
      return R"(
__kernel void scale(__global float *a) {
  for (int i = 0; i < ITEMS; ++i) {
    a[(get_group_id(0) * ITEMS + i) * BLOCK + get_local_id(0)] *= FACTOR;
  }
}
)";
    case runtime::BackendKind::host:
      break;
  }
  return R"(
#include <rtcg/host_kernel.h>

RTCG_PARAMETER_BYTES(scale, 1, sizeof(float *));
RTCG_KERNEL void scale(const rtcg_launch *launch, void *const *arguments) {
  float *a = *(float **)arguments[0];
  for (unsigned block = 0; block < launch->grid[0]; ++block) {
    for (int i = 0; i < BLOCK * ITEMS; ++i) {
      a[block * BLOCK * ITEMS + i] *= FACTOR;
    }
  }
}
)";
}

/// Multiplies by 2. With FACTOR 3 it is wrong, with BLOCK 4 no text is made.
class Scaling {
 public:
  explicit Scaling(runtime::Device device) : memory_(device, std::vector<float>(n, 1)) {}

  TuningProblem problem(runtime::Device device) {
    TuningProblem result{
        .name = "scale",
        .sizes = {{"n", n}},
        .space =
            ParameterSpace({{"BLOCK", {4, 32, 64, 128}}, {"ITEMS", {1, 2, 4}}, {"FACTOR", {2, 3}}}),
        .make =
            [device](const Configuration& each) {
              if (each["BLOCK"] == 4) {
                throw Unsupported("tests.scale.too_few", "4 threads are too few");
              }
              const auto of_block = static_cast<std::uint64_t>(each["BLOCK"] * each["ITEMS"]);
              TunableProgram result{text_for(device.info().id.kind),
                                    "scale",
                                    {n / of_block, static_cast<std::uint64_t>(each["BLOCK"])}};
              result.options.defines = each.defines();
              return result;
            },
        .reset = [this](runtime::StreamRef stream) { runtime::fill(stream, memory_.ref(), 1.0F); },
        .check =
            [this](runtime::StreamRef stream) {
              const std::vector<float> found = memory_.to_vector(stream);
              for (std::size_t i = 0; i < found.size(); ++i) {
                if (found[i] != 2) {
                  return fmt::format("a[{}] is {}, not 2", i, found[i]);
                }
              }
              return std::string();
            }};
    result.arguments.add(memory_);
    return result;
  }

 private:
  runtime::Buffer<float> memory_;
};

SearchOptions all_of_them() {
  SearchOptions options;
  options.search = SearchMethod::exhaustive;
  options.budget_seconds = 300;
  return options;
}

TEST(TunePrograms, TunesTextWithMacrosOnEveryDevice) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    Scaling scaling(device);
    const SearchResult result = tune_programs(scaling.problem(device), device, all_of_them());
    EXPECT_EQ(result.known, 24U);
    ASSERT_EQ(result.tried.size(), 24U);
    for (std::size_t i = 0; i < 24; ++i) {
      const TunedCandidate& each = result.tried[i];
      const bool is_wrong = each.words.find("FACTOR=3") != std::string::npos;
      const bool is_refused = each.words.find("BLOCK=4 ") != std::string::npos;
      EXPECT_EQ(each.refusal.empty(), !is_wrong && !is_refused) << each.words << each.refusal;
      EXPECT_EQ(each.refusal.find("a[0] is 3, not 2") != std::string::npos, is_wrong && !is_refused)
          << each.refusal;
      EXPECT_EQ(i < 9, each.refusal.empty()) << "the fine ones come first";
    }
    EXPECT_GT(result.best().microseconds, 0);
  }
}

TEST(TunePrograms, RemembersAndResumes) {
  const runtime::Device host = runtime::Device::host();
  const std::string folder = ::testing::TempDir();
  const std::string wisdom_path = folder + "tune_programs_wisdom.jsonl";
  std::filesystem::remove(wisdom_path);
  const std::string log_path = folder + "tune_programs_log.jsonl";
  std::filesystem::remove(log_path);
  Scaling scaling(host);
  SearchOptions options = all_of_them();
  options.log = log_path;
  const Wisdom wisdom(wisdom_path);
  const Configuration best = tuned_configuration(scaling.problem(host), host, options, wisdom);
  EXPECT_EQ(best["FACTOR"], 2);
  ASSERT_EQ(wisdom.entries().size(), 1U);
  EXPECT_EQ(wisdom.entries()[0].decision, to_string(best));

  TuningProblem known = scaling.problem(host);
  known.make = [](const Configuration&) -> TunableProgram {
    throw Unsupported("tests.scale.not_needed", "what is known is not made again");
  };
  EXPECT_EQ(to_string(tuned_configuration(known, host, options, wisdom)), to_string(best));
  EXPECT_EQ(tune_programs(known, host, options).resumed, 24U) << "all are in the log";

  // of another size: the search begins with what is known
  TuningProblem other = scaling.problem(host);
  other.sizes["n"] = n + 1;
  options.max_candidates = 1;
  EXPECT_EQ(to_string(tuned_configuration(other, host, options, wisdom)), to_string(best));
  std::filesystem::remove(wisdom_path);
  std::filesystem::remove(log_path);
}

TEST(TunePrograms, TunesLoopKernels) {
  const Kernel twice =
      make_kernel("{[i]: 0 <= i < 4096}", "out[i] = 2*a[i]", {.arguments = "out, a: f32[4096]"});
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::Buffer<float> a(device, std::vector<float>(n, 3));
    const runtime::Buffer<float> out(device, std::vector<float>(n));
    const TuningProblem problem{
        .name = "twice",
        .space = ParameterSpace({{"threads", {32, 64}}, {"split", {"outer", "inner"}}}),
        .make =
            [&](const Configuration& each) {
              const bool is_outer = each.text("split") == "outer";
              return TunableProgram{split_iname(
                  twice, "i", each["threads"],
                  {.outer_tag = is_outer ? "g.0" : "for", .inner_tag = is_outer ? "l.0" : "for"})};
            },
        .named_arguments = {arg("a", a), arg("out", out)},
        .check =
            [&](runtime::StreamRef stream) {
              const bool is_right = out.to_vector(stream) == std::vector<float>(n, 6);
              return std::string(is_right ? "" : "out is not 2*a");
            }};
    const SearchResult result = tune_programs(problem, device, all_of_them());
    EXPECT_EQ(result.tried.size(), 4U);
    for (const TunedCandidate& each : result.tried) {
      EXPECT_EQ(each.refusal, "") << each.words;
    }
  }
}

/// a[i] = -a[i], some elements a thread.
cgen::Module negation(const Configuration& each) {
  using namespace cgen;
  const auto a = param(pointer_to(f32), "a");
  const auto block = static_cast<int>(each["block"]);
  const auto first =
      declare(i32, "first", cast(i32, thread_idx_x + block_idx_x * (block * each["items"])));
  BlockBuilder body;
  body << first;
  for (int i = 0; i < each["items"]; ++i) {
    body << assign(a[first + i * block], -a[first + i * block]);
  }
  return {"negate", {cgen::kernel("negate", {a}, body)}};
}

TEST(TunePrograms, TunesTrees) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::Buffer<float> a(device, std::vector<float>(n));
    TuningProblem problem{
        .name = "negate",
        .space = ParameterSpace({{"block", {32, 64}}, {"items", {1, 4}}}),
        .make =
            [](const Configuration& each) {
              const auto block = static_cast<std::uint64_t>(each["block"]);
              const auto items = static_cast<std::uint64_t>(each["items"]);
              return TunableProgram{negation(each), "negate", {n / (block * items), block}};
            },
        .reset = [&](runtime::StreamRef stream) { runtime::fill(stream, a.ref(), 5.0F); },
        .check =
            [&](runtime::StreamRef stream) {
              const bool is_right = a.to_vector(stream) == std::vector<float>(n, -5);
              return std::string(is_right ? "" : "a is not negated");
            }};
    problem.arguments.add(a);
    const SearchResult result = tune_programs(problem, device, all_of_them());
    EXPECT_EQ(result.tried.size(), 4U);
    for (const TunedCandidate& each : result.tried) {
      EXPECT_EQ(each.refusal, "") << each.words;
    }
  }
}

TEST(TunePrograms, TunesSeveralLaunchesInARow) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const runtime::Buffer<float> a(device, std::vector<float>(n));
    const TuningProblem problem{
        .name = "several",
        .space = ParameterSpace({{"times", {1, 2}}, {"block", {32, 64}}}),
        .make =
            [&](const Configuration& each) {
              const auto block = static_cast<std::uint64_t>(each["block"]);
              Scaling scaling(device);
              const TunableProgram scale = scaling.problem(device).make(
                  ParameterSpace({{"BLOCK", {each["block"]}}, {"ITEMS", {1}}, {"FACTOR", {2}}})
                      .at(0));
              const runtime::Kernel kernel =
                  runtime::Program::compile(device, std::get<std::string>(scale.program),
                                            scale.options)
                      .kernel("scale");
              CompiledLaunches launches;
              launches.text = to_string(each);
              launches.launch = [=, times = each["times"], &a](runtime::StreamRef stream) {
                runtime::ArgumentPack arguments;
                arguments.add(a);
                for (int i = 0; i < times; ++i) {
                  kernel.launch(stream, {n / block, block}, arguments);
                }
              };
              return TunableProgram{launches};
            },
        .reset = [&](runtime::StreamRef stream) { runtime::fill(stream, a.ref(), 1.0F); },
        .check =
            [&](runtime::StreamRef stream) {
              const bool is_right = a.to_vector(stream) == std::vector<float>(n, 4);
              return std::string(is_right ? "" : "not twice");
            }};
    const SearchResult result = tune_programs(problem, device, all_of_them());
    ASSERT_EQ(result.tried.size(), 4U);
    for (const TunedCandidate& each : result.tried) {
      const bool is_twice = each.words.starts_with("times=2");
      EXPECT_EQ(each.refusal, is_twice ? "" : "not twice") << each.words;
    }
  }
}

TEST(TunePrograms, RefusesWhatIsIncomplete) {
  const runtime::Device host = runtime::Device::host();
  Scaling scaling(host);
  TuningProblem problem = scaling.problem(host);
  problem.check = nullptr;
  EXPECT_ERROR("loopy.tune_programs.incomplete", static_cast<void>(tune_programs(problem, host)));
  problem.check = unchecked;
  problem.make = nullptr;
  EXPECT_ERROR("loopy.tune_programs.incomplete", static_cast<void>(tune_programs(problem, host)));
}

}  // namespace
}  // namespace rtcg::loopy
