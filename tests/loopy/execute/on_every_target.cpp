#include "tests/loopy/execute/on_every_target.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/runtime/device/device.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

/// Storage for scalar arguments of any type.
struct Scalars {
  std::vector<std::unique_ptr<std::int64_t>> integers;
  std::vector<std::unique_ptr<double>> reals;
  std::vector<std::unique_ptr<float>> floats;
  std::vector<std::unique_ptr<std::complex<float>>> complex_floats;
  std::vector<std::unique_ptr<std::complex<double>>> complex_reals;

  void* add(const KernelParameter& parameter, const IntegerValues& values,
            const CompareOptions& options) {
    const auto kind = *cgen::scalar_kind(number_type(parameter.type));
    if (is<cgen::Complex>(parameter.type)) {
      const std::complex<double> value = options.complex_values.at(parameter.name);
      complex_floats.push_back(std::make_unique<std::complex<float>>(value));
      complex_reals.push_back(std::make_unique<std::complex<double>>(value));
      return kind == cgen::ScalarKind::f32 ? static_cast<void*>(complex_floats.back().get())
                                           : complex_reals.back().get();
    }
    const auto integer = values.find(parameter.name);
    const auto real = options.reals.find(parameter.name);
    const double number = integer != values.end()       ? static_cast<double>(integer->second)
                          : real != options.reals.end() ? real->second
                                                        : 0;
    if (kind == cgen::ScalarKind::f32) {
      floats.push_back(std::make_unique<float>(static_cast<float>(number)));
      return floats.back().get();
    }
    if (kind == cgen::ScalarKind::f64) {
      reals.push_back(std::make_unique<double>(number));
      return reals.back().get();
    }
    // little endian: the low bytes are the narrower value
    integers.push_back(std::make_unique<std::int64_t>(static_cast<std::int64_t>(number)));
    return integers.back().get();
  }
};

}  // namespace

ArgumentData run_in_harness(const Kernel& kernel, const IntegerValues& parameters,
                            ArgumentData arrays, const CompareOptions& options) {
  const GeneratedProgram program = generate(kernel, Target::cuda);
  testing::CudaOnCpu harness(cgen::print_module(program.module, cgen::Dialect::cuda).text);
  Scalars scalars;
  ArgumentData temporaries;
  std::vector<void*> pointers;
  std::vector<testing::BufferRef> buffers;
  pointers.reserve(program.parameters.size());
  std::vector<void*> values;
  for (const KernelParameter& parameter : program.parameters) {
    if (!parameter.is_array) {
      values.push_back(scalars.add(parameter, parameters, options));
      continue;
    }
    if (parameter.temporary_count) {
      ArrayData& temporary = temporaries[parameter.name];
      const auto count = evaluate_integer(*parameter.temporary_count, parameters).value();
      temporary.bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * 16);
    }
    ArrayData& array =
        parameter.temporary_count ? temporaries.at(parameter.name) : arrays.at(parameter.name);
    buffers.push_back({array.bytes.data(), array.bytes.size()});
    pointers.push_back(array.bytes.data());
    values.push_back(&pointers.back());
  }
  for_each_launch(program.launches, parameters, [&](std::size_t i, const IntegerValues& now) {
    const LaunchPlan& plan = program.launches[i];
    testing::CudaOnCpuLaunch launch;
    launch.shared_bytes = static_cast<unsigned>(plan.dynamic_shared_bytes);
    bool is_empty = false;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t blocks = evaluate_integer(plan.grid[axis], parameters).value();
      is_empty = is_empty || blocks <= 0;
      launch.grid[axis] = static_cast<unsigned>(std::max<std::int64_t>(blocks, 0));
      launch.block[axis] = static_cast<unsigned>(plan.block[axis]);
    }
    std::vector<std::int64_t> inames;
    inames.reserve(plan.host_loops.size());
    std::vector<void*> all = values;
    for (const HostLoop& loop : plan.host_loops) {
      inames.push_back(now.at(loop.iname));
      all.push_back(&inames.back());
    }
    if (!is_empty) {
      harness.run_checked(plan.kernel_name, launch, all, buffers);
    }
  });
  return arrays;
}

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
      generated_ = run_kernel(reference, parameters, arrays, runtime::Device::host(), options);
    }
  }

  void compare(const ArgumentData& found, const CompareOptions& options,
               const std::string& where) const {
    if (!interpreted_) {
      const DataDifference worst = largest_difference(found, generated_);
      EXPECT_LE(worst.error, options.tolerance)
          << where << ": " << worst.array << "[" << worst.index << "] is " << worst.left
          << ", and should be " << worst.right;
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
      expected.compare(run_in_harness(transformed, parameters, arrays, options), options,
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
      expected.compare(run_kernel(transformed, parameters, arrays, device, options), options,
                       where);
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
