#include "tests/loopy/execute/on_every_target.h"

#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/execute/measured_errors.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/device/device.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

/// What a kernel has to give: as it is described, interpreted, or with C text, which nobody reads,
/// as it is generated for the host.
class Expected {
 public:
  Expected(const Kernel& reference, const IntegerValues& parameters, const ArgumentData& arrays,
           const CompareOptions& options) {
    InterpretArguments arguments{parameters, options.complex_values, arrays};
    for (const auto& [name, value] : options.reals) {
      arguments.reals[name] = value;
    }
    try {
      interpreted_ = interpret(reference, arguments, {.most_operations = 2e8});
    } catch (const Unsupported&) {
      const Executor executor(reference, runtime::Device::host());
      generated_ = run_kernel(executor, parameters, arrays, options);
      const Kernel typed = infer_types(expand_subst(reference));
      const double length = longest_sum(typed, parameters);
      errors_.emplace(typed, SumShape{length});
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        errors_->add_repeat(generated_,
                            run_kernel(executor, parameters,
                                       with_other_last_places(arrays, length, seed), options));
      }
    }
  }

  void compare(const ArgumentData& found, const std::string& where) const {
    if (!interpreted_) {
      const Mismatch worst = find_mismatch(found, generated_, *errors_);
      EXPECT_TRUE(worst.is_equal())
          << where << ": " << worst.array << "[" << worst.index << "] is " << worst.found
          << ", and should be " << worst.expected << " within " << worst.allowed;
      return;
    }
    const Mismatch worst = find_mismatch(found, *interpreted_);
    EXPECT_TRUE(worst.is_equal()) << where << ": " << worst.array << "[" << worst.index << "] is "
                                  << worst.found << ", and should be " << worst.expected
                                  << " within " << worst.allowed;
    EXPECT_TRUE(worst.compared > 0 || worst.undecided == 0)
        << where << ": all results are left open";
  }

 private:
  std::optional<Interpretation> interpreted_{};
  ArgumentData generated_{};
  std::optional<MeasuredErrors> errors_{};
};

}  // namespace

void expect_same_everywhere(const Kernel& transformed, const Kernel& reference,
                            const IntegerValues& parameters, const CompareOptions& options,
                            const std::string& except) {
  ArgumentData arrays = random_arguments(infer_types(reference), parameters, options.seed);
  for (const auto& [name, given] : options.values) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      arrays.at(name).set_element(i, given[i]);
    }
  }
  const Expected expected(reference, parameters, arrays, options);
  try {
    if (rtcg::runtime::is_judged("cuda_on_cpu")) {
      expected.compare(CudaTextOnCpu(transformed).run(parameters, arrays, options),
                       "CUDA on the CPU");
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what() << "\n" << generate_text(transformed, Target::cuda);
  }
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const std::string where = to_string(device.info().id) + " " + device.info().name;
    if (!except.empty() && where.find(except) != std::string::npos) {
      continue;
    }
    try {
      expected.compare(run_kernel(transformed, parameters, arrays, device, options), where);
    } catch (const CompileFailure& error) {
      ADD_FAILURE() << where << ": " << error.what() << "\n" << error.log() << error.source();
    } catch (const Error& error) {
      ADD_FAILURE() << where << ": " << error.what();
    }
  }
}

int count_of(const std::string& part, const std::string& text) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace rtcg::loopy
