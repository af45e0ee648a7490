// Random kernels under random transformations give the numbers of the kernel as described, or a
// refusal with a code. RTCG_RANDOM_KERNELS says how many, RTCG_RANDOM_SEED where to begin.
#include "tests/loopy/support/random_kernels.h"

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/device/program.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/support/run_schedule.h"

namespace rtcg::loopy {
namespace {

/// As an executor makes it ready. @throws Error
GeneratedProgram generated(const Kernel& kernel, const std::string& name) {
  Kernel typed = checked_kernel(kernel);
  typed.name = name;
  return generate(typed, Target::host, {.recipe_comment = false});
}

// ---- their schedules -------------------------------------------------------------------------

/// Every access of every thread is in order, and what they compute is what the kernel describes.
/// Gives whether the schedule could be run.
bool check_schedule(const Case& each) {
  SCOPED_TRACE(story(each));
  try {
    const ScheduleRun run = run_schedule(each.transformed, each.parameters);
    EXPECT_EQ(run.problem(), "");
    const auto expected = run_schedule(each.described, each.parameters).results();
    const auto found = run.results();
    EXPECT_EQ(found.size(), expected.size());
    for (const auto& [element, value] : expected) {
      const auto other = found.find(element);
      if (other == found.end() ||
          std::abs(other->second - value) > 1e-11 * std::max(1.0, std::abs(value))) {
        ADD_FAILURE() << element.first << "[" << fmt::format("{}", fmt::join(element.second, ", "))
                      << "] should be " << value;
        break;
      }
    }
    return true;
  } catch (const ScheduleRun::NotRunnable&) {
    return false;
  }
}

// ---- running them ----------------------------------------------------------------------------

ArgumentData run(const GeneratedProgram& generated, const runtime::Program& program,
                 const ArgumentData& data, const IntegerValues& parameters) {
  const runtime::Device host = runtime::Device::host();
  std::map<std::string, runtime::Buffer<std::byte>> buffers;
  runtime::ArgumentPack pack;
  std::vector<runtime::Buffer<std::byte>> temporaries;
  for (const KernelParameter& parameter : generated.parameters) {
    if (parameter.temporary_count) {
      const auto count = evaluate_integer(*parameter.temporary_count, parameters).value();
      temporaries.emplace_back(
          host, static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(double));
      pack.add(temporaries.back());
    } else if (parameter.is_array) {
      pack.add(buffers
                   .emplace(parameter.name,
                            runtime::Buffer<std::byte>(host, data.at(parameter.name).bytes))
                   .first->second);
    } else {
      pack.add(static_cast<std::int32_t>(parameters.at(parameter.name)));
    }
  }
  for_each_launch(generated.launches, parameters, [&](std::size_t i, const IntegerValues& now) {
    const LaunchPlan& launch = generated.launches[i];
    runtime::ArgumentPack own = pack;
    for (const HostLoop& loop : launch.host_loops) {
      own.add(static_cast<std::int32_t>(now.at(loop.iname)));
    }
    std::uint64_t grid[3];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      grid[axis] = static_cast<std::uint64_t>(
          std::max<std::int64_t>(0, evaluate_integer(launch.grid[axis], parameters).value()));
    }
    program.kernel(launch.kernel_name)
        .launch(host.default_stream(), {{grid[0], grid[1], grid[2]}, {1, 1, 1}}, own);
  });
  ArgumentData result = data;
  for (const auto& [name, buffer] : buffers) {
    result[name].bytes = buffer.to_vector();
  }
  return result;
}

struct Batch {
  struct Entry {
    Case what;
    GeneratedProgram described;
    GeneratedProgram transformed;
  };
  std::vector<Entry> entries{};
  std::string text{};
  std::set<std::string> helpers{};

  /// Functions such as rtcg_min_i32 stand in every module that calls them.
  std::string without_known_helpers(std::string module) {
    constexpr std::string_view head = "static inline ";
    for (std::size_t at = module.find(head); at != std::string::npos; at = module.find(head, at)) {
      const std::size_t end = module.find("\n}\n", at);
      const std::string function = module.substr(at, end + 3 - at);
      const std::string name = function.substr(0, function.find('('));
      const bool is_helper =
          name.find(" rtcg_") != std::string::npos || name.find(" floor_") != std::string::npos;
      if (is_helper && !helpers.insert(function).second) {
        module.erase(at, function.size());
      } else {
        at += head.size();
      }
    }
    return module;
  }

  void add(Case what, GeneratedProgram described, GeneratedProgram transformed) {
    for (const GeneratedProgram* each : {&described, &transformed}) {
      text += without_known_helpers(cgen::print_module(each->module, cgen::Dialect::c).text) + "\n";
    }
    entries.push_back({std::move(what), std::move(described), std::move(transformed)});
  }

  void run_and_compare() {
    if (entries.empty()) {
      return;
    }
    runtime::CompileOptions options;
    options.flags = {"-O0"};
    const runtime::Program program =
        runtime::Program::compile(runtime::Device::host(), text, options, "random_kernels");
    for (const Entry& each : entries) {
      SCOPED_TRACE(story(each.what));
      const ArgumentData data =
          random_arguments(infer_types(expand_subst(each.what.described)), each.what.parameters, 1);
      const DataDifference worst =
          largest_difference(run(each.transformed, program, data, each.what.parameters),
                             run(each.described, program, data, each.what.parameters));
      EXPECT_LE(worst.error, 1e-11)
          << worst.array << "[" << worst.index << "] is " << worst.left << ", not " << worst.right;
    }
    entries.clear();
    text.clear();
    helpers.clear();
  }
};

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

TEST(RandomKernels, GiveTheirNumbersOrARefusal) {
  const int count = number_from("RTCG_RANDOM_KERNELS", 2000);
  const auto first = static_cast<std::uint64_t>(number_from("RTCG_RANDOM_SEED", 1));
  std::map<std::string, int> step_refusals;
  std::map<std::string, int> kernel_refusals;
  int ran = 0;
  int verified = 0;
  Batch batch;
  for (int i = 0; i < count && !HasFailure(); ++i) {
    Case each;
    try {
      each = random_case(first + static_cast<std::uint64_t>(i), step_refusals);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "seed " << first + static_cast<std::uint64_t>(i) << ": " << error.what();
      break;
    }
    try {
      GeneratedProgram described = generated(each.described, fmt::format("d{}", i));
      GeneratedProgram transformed = generated(each.transformed, fmt::format("t{}", i));
      if (i % 20 == 0) {
        verified += check_schedule(each) ? 1 : 0;
      }
      batch.add(each, std::move(described), std::move(transformed));
      ++ran;
    } catch (const Error& error) {
      if (!is_refusal(error)) {
        ADD_FAILURE() << error.what() << "\n" << story(each);
      }
      ++kernel_refusals[std::string(error.code())];
    }
    if (batch.entries.size() == 250) {
      batch.run_and_compare();
    }
  }
  batch.run_and_compare();
  // most must run, or nothing was tested
  EXPECT_GT(ran, count / 2);
  EXPECT_GT(verified, count / 50);
  std::printf("%6d ran, and the schedules of %d were verified\n", ran, verified);
  for (const auto& [code, times] : kernel_refusals) {
    RecordProperty(code, times);
    std::printf("%6d times %s\n", times, code.c_str());
  }
}

TEST(RandomKernels, GiveTheSameNumbersEverywhere) {
  std::map<std::string, int> refusals;
  int ran = 0;
  for (std::uint64_t seed = 1000001; ran < 25 && !HasFailure(); ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    try {
      static_cast<void>(generated(each.described, "probe"));
      static_cast<void>(generated(each.transformed, "probe"));
    } catch (const Error&) {
      continue;
    }
    expect_same_everywhere(each.transformed, each.described, each.parameters);
    ++ran;
  }
}

}  // namespace
}  // namespace rtcg::loopy
