#include "tests/loopy/support/cuda_text_on_cpu.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/codegen/host_plan.h"
#include "rtcg/loopy/execute/image_argument.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

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

struct CudaTextOnCpu::Text {
  explicit Text(const Kernel& of)
      : kernel(infer_types(of)),
        program(generate(of, Target::cuda)),
        harness(cgen::print_module(program.module, cgen::Dialect::cuda).text) {}

  Kernel kernel;
  GeneratedProgram program;
  testing::CudaOnCpu harness;
};

CudaTextOnCpu::CudaTextOnCpu(const Kernel& kernel) : text_(std::make_unique<Text>(kernel)) {}
CudaTextOnCpu::~CudaTextOnCpu() = default;

ArgumentData CudaTextOnCpu::run(const IntegerValues& parameters, ArgumentData arrays,
                                const CompareOptions& options) {
  return run(parameters, std::move(arrays), options, true);
}

ArgumentData CudaTextOnCpu::run_unchecked(const IntegerValues& parameters, ArgumentData arrays,
                                          const CompareOptions& options) {
  return run(parameters, std::move(arrays), options, false);
}

ArgumentData CudaTextOnCpu::run(const IntegerValues& parameters, ArgumentData arrays,
                                const CompareOptions& options, bool is_checked) {
  Scalars scalars;
  ArgumentData temporaries;
  std::vector<void*> pointers;
  std::vector<testing::BufferRef> buffers;
  pointers.reserve(text_->program.parameters.size());
  std::map<std::string, ImageArgument> images;  // of the host, as the harness reads them
  const runtime::StreamRef host = runtime::Device::host().default_stream();
  std::vector<std::uint64_t> textures;
  textures.reserve(text_->program.parameters.size());
  std::vector<void*> values;
  for (const KernelParameter& parameter : text_->program.parameters) {
    if (!parameter.is_array) {
      values.push_back(scalars.add(parameter, parameters, options));
      continue;
    }
    if (parameter.temporary_count) {
      ArrayData& temporary = temporaries[parameter.name];
      const auto count = evaluate_integer(*parameter.temporary_count, parameters).value();
      temporary.bytes.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * 16);
    }
    if (const Argument* argument = find_image(text_->kernel, parameter.name)) {
      const ImageArgument& image =
          images
              .emplace(parameter.name, ImageArgument(host, text_->kernel, *argument, parameters,
                                                     arrays.at(parameter.name)))
              .first->second;
      textures.push_back(std::visit([](const auto& access) { return access.handle; },
                                    std::get<NamedArgument::Image>(image.argument().value).access));
      values.push_back(&textures.back());
      continue;
    }
    ArrayData& array =
        parameter.temporary_count ? temporaries.at(parameter.name) : arrays.at(parameter.name);
    buffers.push_back({array.bytes.data(), array.bytes.size()});
    pointers.push_back(array.bytes.data());
    values.push_back(&pointers.back());
  }
  for_each_launch(
      text_->program.launches, parameters, [&](std::size_t i, const IntegerValues& now) {
        const LaunchPlan& plan = text_->program.launches[i];
        testing::CudaOnCpuLaunch launch;
        launch.shared_bytes = static_cast<unsigned>(plan.dynamic_shared_bytes);
        launch.is_cooperative = plan.is_cooperative;
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
        if (!is_empty && is_checked) {
          text_->harness.run_checked(plan.kernel_name, launch, all, buffers);
        } else if (!is_empty) {
          text_->harness.launch(plan.kernel_name, launch, all);
        }
      });
  for (const auto& [name, image] : images) {
    if (is_surface(text_->kernel, name)) {
      runtime::copy_from_image(host, image.image(), arrays.at(name).bytes);
    }
  }
  host.synchronize();
  return arrays;
}

}  // namespace rtcg::loopy
