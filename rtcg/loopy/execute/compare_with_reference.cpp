#include "rtcg/loopy/execute/compare_with_reference.h"

#include <random>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::loopy {
namespace {

struct Run {
  ArgumentData arrays;
  double time_ms = 0;
};

/// Whether it is a scalar of floating-point numbers, real or complex.
bool is_real_scalar(const Argument& argument) {
  const auto kind = cgen::scalar_kind(number_type(*argument.type));
  return !argument.is_array && (kind == cgen::ScalarKind::f32 || kind == cgen::ScalarKind::f64);
}

double random_real(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) / 4503599627370496.0 - 1.0;
}

NamedArgument real_argument(const Argument& argument, const CompareOptions& options,
                            std::mt19937_64& random) {
  const double value = random_real(random);
  const auto given = options.reals.find(argument.name);
  if (!is<cgen::Complex>(*argument.type) || given != options.reals.end()) {
    return arg(argument.name, given == options.reals.end() ? value : given->second);
  }
  const auto pair = options.complex_values.find(argument.name);
  return arg(argument.name, pair == options.complex_values.end()
                                ? std::complex<double>(value, random_real(random))
                                : pair->second);
}

Run run_on(const Kernel& kernel, const IntegerValues& parameters, const ArgumentData& arrays,
           runtime::Device device, const CompareOptions& options) {
  const Executor executor(kernel, device);
  const runtime::StreamRef stream = device.default_stream();
  std::vector<NamedArgument> arguments;
  for (const auto& [name, value] : parameters) {
    const Argument* declared = find_argument(executor.kernel(), name);
    if (declared != nullptr && !is_real_scalar(*declared)) {
      arguments.push_back(arg(name, value));
    }
  }
  std::mt19937_64 random(options.seed);
  for (const Argument& argument : executor.kernel().arguments) {
    if (!is_real_scalar(argument)) {
      continue;
    }
    arguments.push_back(real_argument(argument, options, random));
  }
  std::map<std::string, runtime::Buffer<std::byte>> buffers;
  for (const auto& [name, array] : arrays) {
    const auto& buffer =
        buffers.emplace(name, runtime::Buffer<std::byte>(device, array.bytes)).first->second;
    const auto numbers = static_cast<std::size_t>(array.numbers_an_element);
    NamedArgument::Array argument{
        device, buffer.address(),        array.count() / numbers, array.kind,
        {},     array.numbers_an_element};
    const Argument* declared = find_argument(executor.kernel(), name);
    if (declared != nullptr) {
      arguments.push_back({name, argument});
    }
  }
  executor(stream, arguments);
  Run run{arrays, 0};
  for (auto& [name, array] : run.arrays) {
    array.bytes = buffers.at(name).to_vector(stream);
  }
  if (options.repetitions > 0) {
    run.time_ms = runtime::time_ms(
        stream, [&] { executor(stream, arguments); }, options.repetitions);
  }
  return run;
}

ArgumentData random_data(const Kernel& kernel, const IntegerValues& parameters,
                         const CompareOptions& options) {
  ArgumentData arrays = random_arguments(infer_types(kernel), parameters, options.seed);
  for (const auto& [name, values] : options.values) {
    ArrayData& array = arrays.at(name);
    for (std::size_t i = 0; i < values.size() && i < array.count(); ++i) {
      array.set_element(i, values[i]);
    }
  }
  return arrays;
}

}  // namespace

double time_kernel_ms(const Kernel& kernel, const IntegerValues& parameters, runtime::Device device,
                      const CompareOptions& options) {
  return run_on(kernel, parameters, random_data(kernel, parameters, options), device, options)
      .time_ms;
}

ArgumentData run_kernel(const Kernel& kernel, const IntegerValues& parameters,
                        const ArgumentData& arrays, runtime::Device device,
                        const CompareOptions& options) {
  return run_on(kernel, parameters, arrays, device, options).arrays;
}

ComparisonReport compare_with_reference(const Kernel& transformed, const Kernel& reference,
                                        const IntegerValues& parameters, runtime::Device device,
                                        const CompareOptions& options) {
  const ArgumentData arrays = random_data(reference, parameters, options);
  const Run expected = run_on(reference, parameters, arrays, runtime::Device::host(), options);
  const Run found = run_on(transformed, parameters, arrays, device, options);
  ComparisonReport report;
  report.worst = largest_difference(found.arrays, expected.arrays);
  report.is_equal = report.worst.error <= options.tolerance;
  report.transformed_ms = found.time_ms;
  report.reference_ms = expected.time_ms;
  return report;
}

}  // namespace rtcg::loopy
