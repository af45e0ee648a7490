#include "tests/campaigns/judge_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/interpret/interpret.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/device/device.h"
#include "tests/campaigns/campaign.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::campaigns {
namespace {

using loopy::ArgumentData;
using loopy::IntegerValues;

using Run = std::function<ArgumentData(const IntegerValues&, const ArgumentData&)>;

/// What is to be run, and the name of where.
std::vector<std::pair<std::string, Run>> runs_of(const KernelCase& each,
                                                 const std::string& target) {
  std::vector<std::pair<std::string, Run>> runs;
  if (target == "cuda") {
    const auto text =
        std::make_shared<loopy::CudaTextOnCpu>(loopy::checked_kernel(each.transformed));
    // a sum by atomics in another order is rounded otherwise
    const bool depends_on_order =
        std::any_of(each.transformed.instructions.begin(), each.transformed.instructions.end(),
                    [](const loopy::Instruction& instruction) {
          const auto* const assignment = get_if<loopy::Assignment>(instruction);
          return assignment != nullptr && assignment->is_atomic;
        });
    runs.emplace_back(
        "CUDA on the CPU",
        [&each, text, depends_on_order](const IntegerValues& sizes, const ArgumentData& arrays) {
          return depends_on_order ? text->run_unchecked(sizes, arrays, each.options)
                                  : text->run(sizes, arrays, each.options);
        });
    return runs;
  }
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const bool is_host = device.info().id.kind == runtime::BackendKind::host;
    if (is_host == (target == "host")) {
      runs.emplace_back(to_string(device.info().id),
                        [&each, executor = loopy::Executor(each.transformed, device)](
                            const IntegerValues& sizes, const ArgumentData& arrays) {
                          return loopy::run_kernel(executor, sizes, arrays, each.options);
                        });
    }
  }
  return runs;
}

std::string words_of(const IntegerValues& sizes) {
  std::string words;
  for (const auto& [name, value] : sizes) {
    words += fmt::format("{}{}={}", words.empty() ? "" : ", ", name, value);
  }
  return words;
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

/// What a description makes of the data for some sizes.
struct Meaning {
  ArgumentData arrays{};
  loopy::Interpretation expected{};
};

/// @param typed  the description; made where it is needed first
Meaning interpreted(const KernelCase& each, std::optional<loopy::Kernel>& typed,
                    const IntegerValues& sizes) {
  if (!typed) {
    typed = loopy::infer_types(loopy::expand_subst(each.described));
  }
  loopy::InterpretArguments arguments;
  arguments.parameters = sizes;
  arguments.reals = each.options.complex_values;
  for (const auto& [name, value] : each.options.reals) {
    arguments.reals[name] = value;
  }
  arguments.arrays = loopy::runnable_arguments(*typed, sizes, each.options);
  loopy::Interpretation expected = loopy::interpret(*typed, arguments);
  return {std::move(arguments.arrays), std::move(expected)};
}

std::size_t numbers_in(const Meaning& meaning) {
  std::size_t numbers = 0;
  for (const auto& [name, array] : meaning.arrays) {
    numbers += array.count();
  }
  return numbers;
}

/// The same, kept for further cases of the same description.
std::shared_ptr<const Meaning> meaning_of(const KernelCase& each,
                                          std::optional<loopy::Kernel>& typed,
                                          const IntegerValues& sizes) {
  if (each.name_of_described.empty()) {
    return std::make_shared<Meaning>(interpreted(each, typed, sizes));
  }
  static std::map<std::pair<std::string, IntegerValues>, std::shared_ptr<const Meaning>> known;
  static std::size_t numbers = 0;
  constexpr std::size_t most_numbers = 5'000'000;  // of some 40 bytes
  std::shared_ptr<const Meaning>& found = known[{each.name_of_described, sizes}];
  if (found == nullptr) {
    const auto made = std::make_shared<Meaning>(interpreted(each, typed, sizes));
    numbers += numbers_in(*made);
    if (numbers > most_numbers) {
      known.clear();
      numbers = 0;
      return made;
    }
    found = made;
  }
  return found;
}

std::uint64_t run_and_compare(const KernelCase& each, const std::string& target) {
  const std::vector<std::pair<std::string, Run>> runs = runs_of(each, target);
  std::optional<loopy::Kernel> typed;
  std::uint64_t compared = 0;
  for (const IntegerValues& sizes : each.sizes) {
    const std::shared_ptr<const Meaning> meaning = meaning_of(each, typed, sizes);
    for (const auto& [where, run] : runs) {
      require_equal(run(sizes, meaning->arrays), meaning->expected,
                    fmt::format("{} for {}", where, words_of(sizes)));
      ++compared;
    }
  }
  return compared;
}

}  // namespace

std::uint64_t judge_kernel(const KernelCase& each, const std::string& target) {
  // a text is compiled once: to look for it, and to keep it, is in vain
  static const int without_cache = ::setenv("RTCG_NO_CACHE", "1", 0);
  static_cast<void>(without_cache);
  try {
    return run_and_compare(each, target);
  } catch (const CompileFailure& error) {
    throw Finding(fmt::format("{}: {}", error.what(), error.log()));
  } catch (const InvalidInput& error) {
    if (error.code().starts_with("tests.")) {  // races, bounds and barriers of the harness
      throw Finding(error.what());
    }
    throw;
  }
}

}  // namespace rtcg::campaigns
