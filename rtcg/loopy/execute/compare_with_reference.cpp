#include "rtcg/loopy/execute/compare_with_reference.h"

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/runtime/observe/timer.h"

namespace rtcg::loopy {
namespace {

struct Run {
  ArgumentData arrays;
  double time_ms = 0;
};

Run run_on(const Kernel& kernel, const IntegerValues& parameters, const ArgumentData& arrays,
           runtime::Device device, const CompareOptions& options) {
  const Executor executor(kernel, device);
  const runtime::StreamRef stream = device.default_stream();
  std::vector<NamedArgument> arguments;
  for (const auto& [name, value] : parameters) {
    if (find_argument(executor.kernel(), name) != nullptr) {
      arguments.push_back(arg(name, value));
    }
  }
  for (const auto& [name, value] : options.reals) {
    arguments.push_back(arg(name, value));
  }
  std::map<std::string, runtime::Buffer<std::byte>> buffers;
  for (const auto& [name, array] : arrays) {
    const auto& buffer =
        buffers.emplace(name, runtime::Buffer<std::byte>(device, array.bytes)).first->second;
    NamedArgument::Array argument{device, buffer.address(), array.count(), array.kind, {}};
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

}  // namespace

ArgumentData run_kernel(const Kernel& kernel, const IntegerValues& parameters,
                        const ArgumentData& arrays, runtime::Device device,
                        const CompareOptions& options) {
  return run_on(kernel, parameters, arrays, device, options).arrays;
}

ComparisonReport compare_with_reference(const Kernel& transformed, const Kernel& reference,
                                        const IntegerValues& parameters, runtime::Device device,
                                        const CompareOptions& options) {
  ArgumentData arrays = random_arguments(infer_types(reference), parameters, options.seed);
  for (const auto& [name, values] : options.values) {
    ArrayData& array = arrays.at(name);
    for (std::size_t i = 0; i < values.size() && i < array.count(); ++i) {
      array.set_element(i, values[i]);
    }
  }
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
