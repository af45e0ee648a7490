// Random kernels, transformed at random or sliced, on every target of this machine, against the
// interpreter of the description.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/host_plan.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/device.h"
#include "tests/campaigns/campaign.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::campaigns {
namespace {

using loopy::ArgumentData;
using loopy::IntegerValues;
using loopy::Kernel;
using loopy::Target;

struct KernelCase {
  Kernel described{};
  Kernel transformed{};
  /// The transformed kernel is compiled once and run at each of them.
  std::vector<IntegerValues> sizes{};
  std::string story{};
};

/// A compiler takes most of the time of a case, so that many small sizes cost little.
constexpr std::int64_t largest_size = 48;

/// Kernels that are sliced, with sizes that divide little.
KernelCase sliced_case(Draw& draw) {
  static const std::vector<Kernel> kernels = {
      loopy::make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i, k]: 0 <= i < n and 0 <= k < n + 3}", "c[i] = sum(k, a[i, k]*b[k])",
                         {.default_type = cgen::f64}),
      loopy::make_kernel("{[i]: 0 <= i < n}", "z[i] = x[i]*y[n - 1 - i] + 2",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 2*n}", "out[j, i] = a[i, j]",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[x, y]: 1 <= x, y < n - 1}",
                         "out[y, x] = image[y, x - 1] + image[y, x + 1] + image[y - 1, x] + "
                         "image[y + 1, x]",
                         {.arguments = "out, image: f64[n, n]"}),
      loopy::make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 50}",
                         "m[i] = reduce(max, k, a[i, k] % 1000 - k // 7)",
                         {.arguments = "a: i64[n, 50]; m: i64[n]"}),
  };
  static const std::vector<std::int64_t> sizes = {3, 5, 16, 17, 31, 33, 37, 48, 61, 64, 100, 129};
  KernelCase result;
  const std::size_t which = draw.below(kernels.size());
  result.described = kernels[which];
  const IntegerValues listed_for = {{"n", draw.of(sizes)}};
  const loopy::SlicingStream stream(result.described, {.parameters = listed_for});
  if (stream.count() == 0) {
    throw InvalidInput("loopy.slicings.none", "there is no slicing of these sizes");
  }
  const loopy::Slicing slicing = stream.at(draw.below(stream.count())).slicing;
  const bool is_fixed = draw.chance(30);
  result.story =
      fmt::format("kernel {}, slicing '{}' listed for n = {}, {}\n", which, to_string(slicing),
                  listed_for.at("n"), is_fixed ? "which the text has in it" : "for every n");
  if (is_fixed) {
    result.sizes = {listed_for};
    result.transformed = loopy::tuned_kernel(result.described, listed_for, slicing);
    return result;
  }
  // the interpreter takes most of the time of a large one
  result.sizes = {{{"n", draw.of(sizes)}}};
  for (std::int64_t n = 1; n <= largest_size; ++n) {
    result.sizes.push_back({{"n", n}});
  }
  result.transformed = loopy::apply(result.described, slicing);
  return result;
}

KernelCase random_case(Draw& draw) {
  std::map<std::string, int> refusals;
  loopy::Case made = loopy::random_case(draw.bits(), refusals);
  KernelCase result{made.described, made.transformed, {made.parameters}, story(made)};
  if (made.recipe.find("fix_parameters") != std::string::npos) {
    return result;
  }
  result.sizes.clear();
  for (std::int64_t n = 1; n <= largest_size; ++n) {
    if (contains(made.transformed.assumptions, {{"n", n}})) {
      result.sizes.push_back({{"n", n}});
    }
  }
  return result;
}

KernelCase case_of(std::uint64_t seed) {
  Draw draw(seed);
  return draw.chance(50) ? random_case(draw) : sliced_case(draw);
}

ArgumentData run_as_cuda(const loopy::GeneratedProgram& program, testing::CudaOnCpu& harness,
                         const IntegerValues& parameters, ArgumentData arrays) {
  // scalars of these kernels are integers; little endian: the low bytes are the narrower value
  std::vector<std::int64_t> integers;
  std::vector<void*> pointers;
  std::vector<testing::BufferRef> buffers;
  std::vector<void*> values;
  integers.reserve(program.parameters.size());
  pointers.reserve(program.parameters.size());
  for (const loopy::KernelParameter& parameter : program.parameters) {
    if (!parameter.is_array) {
      integers.push_back(parameters.at(parameter.name));
      values.push_back(&integers.back());
      continue;
    }
    if (parameter.temporary_count) {
      const auto count = loopy::evaluate_integer(*parameter.temporary_count, parameters).value();
      arrays[parameter.name].bytes.resize(
          static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * 16);
    }
    loopy::ArrayData& array = arrays.at(parameter.name);
    buffers.push_back({array.bytes.data(), array.bytes.size()});
    pointers.push_back(array.bytes.data());
    values.push_back(&pointers.back());
  }
  loopy::for_each_launch(
      program.launches, parameters, [&](std::size_t i, const IntegerValues& now) {
        const loopy::LaunchPlan& plan = program.launches[i];
        testing::CudaOnCpuLaunch launch;
        launch.shared_bytes = static_cast<unsigned>(plan.dynamic_shared_bytes);
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t blocks = loopy::evaluate_integer(plan.grid[axis], parameters).value();
          if (blocks <= 0) {
            return;
          }
          launch.grid[axis] = static_cast<unsigned>(blocks);
          launch.block[axis] = static_cast<unsigned>(plan.block[axis]);
        }
        std::vector<std::int64_t> inames;
        inames.reserve(plan.host_loops.size());
        std::vector<void*> all = values;
        for (const loopy::HostLoop& loop : plan.host_loops) {
          inames.push_back(now.at(loop.iname));
          all.push_back(&inames.back());
        }
        harness.run_checked(plan.kernel_name, launch, all, buffers);
      });
  return arrays;
}

void require_equal(const ArgumentData& found, const loopy::Interpretation& expected,
                   const std::string& where) {
  const loopy::Mismatch worst = loopy::find_mismatch(found, expected);
  if (!worst.is_equal()) {
    throw Finding(fmt::format("wrong on {}: {}[{}] is {}, and should be {} +- {}", where,
                              worst.array, worst.index, worst.found, worst.expected,
                              worst.allowed));
  }
}

/// @param target  `host`, `devices` (all others of this machine) or `cuda`, on the CPU
/// @returns  how many times the transformed kernel was run and compared
std::uint64_t judge(const KernelCase& each, const std::string& target) {
  using Run = std::function<ArgumentData(const IntegerValues&, const ArgumentData&)>;
  std::vector<std::pair<std::string, Run>> runs;
  std::optional<loopy::GeneratedProgram> program;
  std::optional<testing::CudaOnCpu> harness;
  if (target == "cuda") {
    static_cast<void>(loopy::checked_kernel(each.transformed));
    program = loopy::generate(each.transformed, Target::cuda);
    harness.emplace(cgen::print_module(program->module, cgen::Dialect::cuda).text);
    runs.emplace_back("CUDA on the CPU", [&](const IntegerValues& n, const ArgumentData& arrays) {
      return run_as_cuda(*program, *harness, n, arrays);
    });
  } else {
    for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
      const bool is_host = device.info().id.kind == runtime::BackendKind::host;
      if (is_host == (target == "host")) {
        runs.emplace_back(to_string(device.info().id),
                          [&](const IntegerValues& n, const ArgumentData& arrays) {
                            // found in the compile cache from the second size on
                            return loopy::run_kernel(each.transformed, n, arrays, device);
                          });
      }
    }
  }
  const Kernel typed = loopy::infer_types(each.described);
  std::uint64_t compared = 0;
  for (const IntegerValues& sizes : each.sizes) {
    loopy::InterpretArguments arguments;
    arguments.parameters = sizes;
    arguments.arrays = loopy::random_arguments(typed, sizes, 1);
    const loopy::Interpretation expected = loopy::interpret(each.described, arguments);
    for (const auto& [where, run] : runs) {
      require_equal(run(sizes, arguments.arrays), expected,
                    fmt::format("{} for n = {}", where, sizes.at("n")));
      ++compared;
    }
  }
  return compared;
}

}  // namespace

Kind kernels_kind() {
  return {
      "kernels",
      "random kernels and recipes, and slicings, at odd sizes on host, GPUs, OpenCL, CUDA-on-CPU",
      [](Draw& draw) {
        const std::uint64_t seed = draw.bits();
        // a compiler takes most of the time: each case is run on one target
        const char* targets = draw.chance(50) ? "host" : draw.chance(60) ? "devices" : "cuda";
        std::string text = fmt::format("{} {}\n", targets, seed);
        try {
          text += case_of(seed).story;
        } catch (const Error& error) {
          text += error.what();
        }
        return text;
      },
      [](const std::string& input) -> std::uint64_t {
        const std::size_t blank = input.find(' ');
        try {
          return judge(case_of(std::stoull(input.substr(blank + 1))), input.substr(0, blank));
        } catch (const CompileFailure& error) {
          throw Finding(fmt::format("{}: {}", error.what(), error.log()));
        } catch (const InvalidInput& error) {
          if (error.code().starts_with("tests.")) {  // races, bounds and barriers of the harness
            throw Finding(error.what());
          }
          throw;
        }
      },
      120,
      0};
}

}  // namespace rtcg::campaigns
