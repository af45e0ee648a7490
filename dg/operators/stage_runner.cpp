#include "rtcg/dg/operators/stage_runner.h"

#include <fmt/format.h>

#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using runtime::Buffer;
using runtime::BufferRef;

loopy::Kernel sliced_operators(const KernelShape& shape, const cgen::Type& real) {
  loopy::Kernel kernel = operators_kernel(shape, real);
  kernel = loopy::split_iname(std::move(kernel), "c", 4, {.outer_tag = "g.0", .inner_tag = "l.1"});
  return loopy::tag_inames(std::move(kernel), "i: l.0");
}

}  // namespace

struct StageRunner::Impl {
  Impl(const System& system, const Discretization& on, const SystemData& data,
       runtime::Device device_, const cgen::Type& real_, const std::optional<FusedShape>& fused_)
      : device(device_),
        stream(device_),
        real(real_),
        fused(fused_),
        evaluators(evaluators_of(system, on.mesh)),
        shape(shape_of(evaluators, on)),
        elements(static_cast<std::int32_t>(on.element_count())),
        data_of_system(data),
        derivatives(volume_operators(system, on.element)),
        lift(surface_operator(system, on.element)) {
    if (!fused) {
      operators.emplace(sliced_operators(shape, real), device);
    }
    definitions = system.definitions;
    load();
    allocate(on);
  }

  [[nodiscard]] runtime::Program compile(const std::optional<FusedShape>& wanted,
                                         StageKernels& kernels) const {
    const KernelWriter writer(evaluators, shape, real, definitions);
    kernels = wanted ? fused_kernel(writer, derivatives, lift, *wanted) : split_kernels(writer);
    const cgen::Dialect dialect = loopy::dialect_of(device);
    cgen::verify_module(kernels.module, dialect,
                        [&] { return cgen::print_module(kernels.module, dialect).text; });
    return runtime::Program::compile(device, cgen::print_module(kernels.module, dialect), {},
                                     kernels.module.name);
  }

  void load() {
    StageKernels kernels;
    const runtime::Program program = compile(fused, kernels);
    source = cgen::print_module(kernels.module, loopy::dialect_of(device));
    launches.clear();
    for (const StageLaunch& each : kernels.launches) {
      if (const KernelPlan* plan = std::get_if<KernelPlan>(&each)) {
        launches.emplace_back(KernelLaunch{*plan, program.kernel(plan->name)});
      } else {
        launches.emplace_back(ApplyOperators{});
      }
    }
    if (fused) {
      memory.erase("operators");
      add_matrix("operators", operators_table(derivatives, lift, *fused, real));
      if (state_numbers > 0) {
        add_state(fused->updates_apart ? "rhs" : "next");
      }
    }
  }

  // Memory for another state, zeros at first, where there is none yet.
  void add_state(const std::string& name) {
    if (!memory.contains(name)) {
      add_zeros(name, state_numbers);
    }
  }
  void add_zeros(const std::string& name, std::size_t numbers) {
    const auto place = memory.emplace(name, Buffer<std::byte>(device, numbers * real_bytes()));
    runtime::fill(stream, place.first->second, std::byte{0});
  }

  void add_matrix(const std::string& name, const std::vector<double>& values) {
    memory.emplace(name, Buffer<std::byte>(device, as_reals(values, real)));
  }

  void allocate(const Discretization& on) {
    std::set<std::string> wanted;
    for (const KernelLaunch* launch : kernel_launches()) {
      for (const KernelArgument& argument : launch->plan.arguments) {
        wanted.insert(argument.name);
      }
    }
    for (auto& [name, bytes] : make_tables(wanted, shape, evaluators, on, data_of_system, real)) {
      memory.emplace(name, Buffer<std::byte>(device, bytes));
    }
    state_numbers = on.element_count() * static_cast<std::size_t>(shape.fields * shape.nodes);
    add_state("state");
    add_state("residual");
    if (fused) {
      add_state(fused->updates_apart ? "rhs" : "next");
      return;
    }
    add_state("rhs");
    add_zeros("volume_fluxes", state_numbers * static_cast<std::size_t>(shape.dimension));
    add_zeros("surface_fluxes",
              on.element_count() * static_cast<std::size_t>(shape.fields * shape.lifted()));
    for (std::size_t axis = 0; axis < derivatives.size(); ++axis) {
      add_matrix(std::string("d_") + "rst"[axis], derivatives[axis].values);
    }
    add_matrix("lift", lift.values);
  }

  [[nodiscard]] std::size_t real_bytes() const { return real == cgen::f32 ? 4 : 8; }

  void add_real(runtime::ArgumentPack& pack, double value) const {
    if (real == cgen::f32) {
      pack.add(static_cast<float>(value));
    } else {
      pack.add(value);
    }
  }

  struct KernelLaunch {
    KernelPlan plan;
    runtime::Kernel kernel;
  };

  [[nodiscard]] std::vector<const KernelLaunch*> kernel_launches() const {
    std::vector<const KernelLaunch*> result;
    for (const auto& each : launches) {
      if (const KernelLaunch* launch = std::get_if<KernelLaunch>(&each)) {
        result.push_back(launch);
      }
    }
    return result;
  }

  void launch(const KernelLaunch& wanted,
              const std::map<std::string, double, std::less<>>& numbers) {
    const KernelPlan& plan = wanted.plan;
    runtime::ArgumentPack pack;
    for (const auto& [name, kind] : plan.arguments) {
      switch (kind) {
        case ArgumentKind::element_count:
          pack.add(elements);
          break;
        case ArgumentKind::number:
          add_real(pack, numbers.at(name));
          break;
        case ArgumentKind::array:
          pack.add(memory.at(name));
          break;
      }
    }
    const auto items = static_cast<std::uint64_t>(plan.items_per_element * elements);
    const auto per_block = static_cast<std::uint64_t>(plan.items_per_block);
    runtime::LaunchShape launch_shape{(items + per_block - 1) / per_block,
                                      static_cast<std::uint64_t>(plan.threads_per_block),
                                      plan.shared_bytes};
    if (device.info().id.kind == runtime::BackendKind::opencl && plan.shared_bytes > 0) {
      // the array is the last parameter there
      pack.add(std::exchange(launch_shape.shared_bytes, std::size_t{0}));
    }
    wanted.kernel.launch(stream, launch_shape, pack);
  }

  void apply_operators() {
    std::vector<loopy::NamedArgument> arguments;
    const auto add = [&](const std::string& name, BufferRef<std::byte> bytes) {
      if (real == cgen::f32) {
        arguments.push_back(loopy::arg(name, bytes.as<float>()));
      } else {
        arguments.push_back(loopy::arg(name, bytes.as<double>()));
      }
    };
    arguments.push_back(loopy::arg("columns", elements * shape.fields));
    add("rhs", memory.at("rhs"));
    add("fluxes", memory.at("surface_fluxes"));
    add("lift", memory.at("lift"));
    for (int axis = 0; axis < shape.dimension; ++axis) {
      const std::string letter(1, "rst"[axis]);
      const std::size_t bytes = state_numbers * real_bytes();
      add("g_" + letter,
          memory.at("volume_fluxes").subrange(static_cast<std::size_t>(axis) * bytes, bytes));
      add("d_" + letter, memory.at("d_" + letter));
    }
    (*operators)(stream, arguments);
  }

  void run(double a, double b, double time_step, double time) {
    std::map<std::string, double, std::less<>> numbers;
    for (const auto& [name, value] : parameters_at(data_of_system, time)) {
      numbers["parameter_" + name] = value;
    }
    numbers["a"] = a;
    numbers["b"] = b;
    numbers["time_step"] = time_step;
    for (const auto& each : launches) {
      if (const KernelLaunch* kernel = std::get_if<KernelLaunch>(&each)) {
        launch(*kernel, numbers);
      } else {
        apply_operators();
      }
    }
  }

  runtime::Device device;
  runtime::Stream stream;
  cgen::Type real;
  std::optional<FusedShape> fused;
  SystemEvaluators evaluators;
  KernelShape shape;
  std::int32_t elements;
  SystemData data_of_system;
  std::vector<Matrix> derivatives;
  Matrix lift;
  std::size_t state_numbers = 0;
  std::string definitions;
  SourceText source;
  std::optional<loopy::Executor> operators;
  std::vector<std::variant<KernelLaunch, ApplyOperators>> launches;
  std::map<std::string, Buffer<std::byte>> memory;
};

StageRunner::StageRunner(const System& system, const Discretization& on, const SystemData& data,
                         runtime::Device device, const cgen::Type& real,
                         const std::optional<FusedShape>& fused)
    : impl_(std::make_unique<Impl>(system, on, data, device, real, fused)) {}
StageRunner::~StageRunner() = default;

void StageRunner::stage(double a, double b, double time_step, double time) {
  impl_->run(a, b, time_step, time);
  if (impl_->fused && !impl_->fused->updates_apart) {
    std::swap(impl_->memory.at("state"), impl_->memory.at("next"));
  }
}

void StageRunner::right_hand_side(double time) {
  impl_->run(0, 0, 1, time);
}

void StageRunner::compile(const FusedShape& fused) const {
  StageKernels kernels;
  (void)impl_->compile(fused, kernels);
}

void StageRunner::reshape(const FusedShape& fused) {
  require_internal(impl_->fused.has_value(), "split kernels have no shape");
  impl_->stream.synchronize();
  impl_->fused = fused;
  impl_->load();
}

const KernelShape& StageRunner::shape() const {
  return impl_->shape;
}
const cgen::Type& StageRunner::real() const {
  return impl_->real;
}
std::vector<runtime::KernelAttributes> StageRunner::attributes() const {
  std::vector<runtime::KernelAttributes> all;
  for (const Impl::KernelLaunch* launch : impl_->kernel_launches()) {
    all.push_back(launch->kernel.attributes());
  }
  return all;
}

void StageRunner::write_state(const std::vector<std::byte>& bytes) {
  impl_->stream.synchronize();
  impl_->memory.at("state").write(bytes);
}
std::vector<std::byte> StageRunner::read_state() const {
  return impl_->memory.at("state").to_vector(impl_->stream);
}
std::vector<std::byte> StageRunner::read_residual() const {
  return impl_->memory.at("residual").to_vector(impl_->stream);
}
runtime::BufferRef<std::byte> StageRunner::state_memory() const {
  return impl_->memory.at("state").ref();
}
runtime::BufferRef<std::byte> StageRunner::residual_memory() const {
  return impl_->memory.at("residual").ref();
}
std::string StageRunner::text() const {
  return impl_->source.text + (impl_->operators ? "\n" + impl_->operators->text() : "");
}
runtime::StreamRef StageRunner::stream() const {
  return impl_->stream;
}

}  // namespace rtcg::dg::detail
