#include "rtcg/loopy/execute/executor.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/check_bounds.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/check/check_races.h"
#include "rtcg/loopy/execute/launch_arguments.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/runtime/device/program.h"
#include "rtcg/runtime/memory/memory_pool.h"

namespace rtcg::loopy {
namespace {

/// A program with one width of indices, loaded.
struct Variant {
  GeneratedProgram generated;
  std::vector<runtime::Kernel> kernels;  // of each launch
  std::vector<runtime::KernelResources> resources;
};

cgen::Dialect dialect_of(Target target) {
  return target == Target::cuda     ? cgen::Dialect::cuda
         : target == Target::opencl ? cgen::Dialect::opencl
                                    : cgen::Dialect::c;
}

}  // namespace

struct Executor::State {
  State(Kernel made, runtime::Device on) : kernel(std::move(made)), device(on) {}

  const Variant& variant(bool is_wide) {
    const std::lock_guard lock(mutex);
    std::optional<Variant>& slot = variants[is_wide ? 1 : 0];
    if (!slot) {
      slot = make(is_wide);
    }
    return *slot;
  }

  Variant make(bool is_wide) const {
    GenerateOptions options;
    options.index_type = is_wide ? cgen::i64 : cgen::i32;
    if (const std::size_t bytes = device.info().shared_bytes_per_block; bytes > 0) {
      options.most_shared_bytes = static_cast<std::int64_t>(bytes);
    }
    Variant result{generate(kernel, target_of(device), options), {}, {}};
    const runtime::Program program = runtime::Program::compile(
        device, cgen::print_module(result.generated.module, dialect_of(result.generated.target)),
        {}, kernel.name);
    result.resources = program.resources();
    for (const LaunchPlan& launch : result.generated.launches) {
      result.kernels.push_back(program.kernel(launch.kernel_name));
    }
    return result;
  }

  const Kernel kernel;
  const runtime::Device device;
  std::mutex mutex;  // of variants
  std::optional<Variant> variants[2];
};

Target target_of(runtime::Device device) {
  switch (device.backend().output_kind()) {
    case runtime::OutputKind::cubin:
      return Target::cuda;
    case runtime::OutputKind::opencl_binary:
      return Target::opencl;
    default:
      return Target::host;
  }
}

Executor::Executor(const Kernel& kernel, runtime::Device device) {
  Kernel typed = infer_types(expand_subst(kernel));
  typed.recipe = kernel.recipe;
  check_kernel(typed);
  check_bounds(typed);
  check_races(choose_address_spaces(typed));
  state_ = std::make_shared<State>(std::move(typed), device);
}

void Executor::operator()(runtime::StreamRef stream,
                          const std::vector<NamedArgument>& arguments) const {
  const LaunchArguments checked(state_->kernel, state_->device, arguments);
  const Variant& variant = state_->variant(!checked.fits_32_bits());
  // in the order of the stream: given back at the end of the call, free after the last launch
  std::vector<runtime::Buffer<std::byte>> temporaries;
  std::map<std::string, runtime::DeviceAddress> addresses;
  for (const KernelParameter& parameter : variant.generated.parameters) {
    if (parameter.temporary_count) {
      const std::size_t bytes =
          checked.count_of(parameter) *
          static_cast<std::size_t>(cgen::size_bytes(*cgen::scalar_kind(parameter.type)));
      temporaries.push_back(runtime::MemoryPool::standard(state_->device)
                                .allocate<std::byte>(stream, std::max<std::size_t>(bytes, 1)));
      addresses.emplace(parameter.name, temporaries.back().address());
    }
  }
  const runtime::ArgumentPack pack = checked.pack(variant.generated.parameters, addresses);
  for (std::size_t i = 0; i < variant.kernels.size(); ++i) {
    const LaunchPlan& plan = variant.generated.launches[i];
    std::uint64_t grid[3] = {1, 1, 1};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto blocks = evaluate_integer(plan.grid[axis], checked.integers());
      require_internal(blocks.has_value(), "a grid in terms of scalar arguments");
      grid[axis] = static_cast<std::uint64_t>(std::max<std::int64_t>(*blocks, 0));
    }
    const auto block = [&](std::size_t axis) {
      return static_cast<std::uint64_t>(plan.block[axis]);
    };
    variant.kernels[i].launch(stream, {{grid[0], grid[1], grid[2]}, {block(0), block(1), block(2)}},
                              pack);
  }
}

std::vector<runtime::KernelResources> Executor::prepare() const {
  return state_->variant(false).resources;
}

std::string Executor::text() const {
  return generate_text(state_->kernel, target_of(state_->device));
}

const Kernel& Executor::kernel() const noexcept {
  return state_->kernel;
}

}  // namespace rtcg::loopy
