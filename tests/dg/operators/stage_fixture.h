#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/operators/stage_kernels.h"
#include "tests/dg/operators/dg_systems.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"

// A system with all that its kernels are made of, and their run as CUDA text on the CPU.

namespace rtcg::dg::testing {

using Bytes = std::vector<std::byte>;

struct StageFixture {
  StageFixture(const Case& each, int order, const cgen::Type& number)
      : problem(each),
        real(number),
        on(discretize(make_box_mesh(each.box), order)),
        evaluators(detail::evaluators_of(each.system, on.mesh)),
        shape(detail::shape_of(evaluators, on)),
        derivatives(detail::volume_operators(each.system, on.element)),
        lift(detail::surface_operator(each.system, on.element)),
        state(random_state(each.system.fields.size(), on)) {}

  /// The fused kernel of a shape, or the split kernels.
  [[nodiscard]] detail::StageKernels kernels(
      const std::optional<detail::FusedShape>& fused,
      detail::GhostPlace ghosts = detail::GhostPlace::state) const {
    const detail::KernelWriter writer(evaluators, shape, real, problem.system.definitions, ghosts);
    return fused ? detail::fused_kernel(writer, derivatives, lift, *fused)
                 : detail::split_kernels(writer);
  }
  [[nodiscard]] Bytes bytes_of(const State& of) const { return detail::to_device_order(of, real); }
  [[nodiscard]] State state_of(const Bytes& bytes) const {
    return detail::from_device_order(bytes, real, state.fields, on);
  }

  Case problem;
  cgen::Type real;
  Discretization on;
  detail::SystemEvaluators evaluators;
  detail::KernelShape shape;
  std::vector<Matrix> derivatives;
  Matrix lift;
  State state;
};

/// What the kernels write before they read it: large numbers that no sum hides.
inline Bytes poison(std::size_t bytes) {
  return Bytes(bytes, std::byte{0x7f});
}

/// Runs a kernel of a stage; `memory` is changed.
///
/// @param ghosts  how many of the last elements other ranks have
inline void launch_on_cpu(rtcg::testing::CudaOnCpu& program, const StageFixture& fixture,
                          const detail::KernelPlan& plan, std::map<std::string, Bytes>& memory,
                          const std::map<std::string, double>& numbers, std::size_t ghosts = 0) {
  auto elements = static_cast<std::int32_t>(fixture.on.element_count() - ghosts);
  std::int32_t first_element = 0;
  std::int32_t first_at_rim = elements / 2;
  std::int32_t neighbours = 1;
  std::int32_t copies = 1;
  const bool is_single = fixture.real == cgen::f32;
  std::vector<double> values(plan.arguments.size());
  std::vector<float> singles(plan.arguments.size());
  std::vector<void*> pointers(plan.arguments.size());
  std::vector<void*> arguments;
  std::vector<rtcg::testing::BufferRef> buffers;
  for (std::size_t i = 0; i < plan.arguments.size(); ++i) {
    const auto& [name, kind] = plan.arguments[i];
    if (kind == detail::ArgumentKind::array) {
      Bytes& table = memory.at(name);
      pointers[i] = table.data();
      buffers.push_back({table.data(), table.size()});
      arguments.push_back(&pointers[i]);
    } else if (kind == detail::ArgumentKind::element_count) {
      arguments.push_back(name == "first_element"  ? &first_element
                          : name == "first_at_rim" ? &first_at_rim
                          : name == "neighbours"   ? &neighbours
                          : name == "copies"       ? &copies
                                                   : &elements);
    } else {
      values[i] = numbers.at(name);
      singles[i] = static_cast<float>(values[i]);
      arguments.push_back(is_single ? static_cast<void*>(&singles[i]) : &values[i]);
    }
  }
  const long long items = plan.items_per_element * elements;
  rtcg::testing::CudaOnCpuLaunch launch;
  launch.grid[0] = static_cast<unsigned>((items + plan.items_per_block - 1) / plan.items_per_block);
  launch.block[0] = static_cast<unsigned>(plan.threads_per_block);
  launch.shared_bytes = static_cast<unsigned>(plan.shared_bytes);
  program.run_checked(plan.name, launch, arguments, buffers);
}

/// What operators_kernel does between the split kernels.
inline void apply_operators(const StageFixture& fixture, std::map<std::string, Bytes>& memory) {
  const auto nodes = static_cast<std::size_t>(fixture.shape.nodes);
  const auto lifted = static_cast<std::size_t>(fixture.shape.lifted());
  const std::vector<double> volume = detail::from_reals(memory.at("volume_fluxes"), fixture.real);
  const std::vector<double> surface = detail::from_reals(memory.at("surface_fluxes"), fixture.real);
  const std::size_t columns = surface.size() / lifted;
  std::vector<double> rhs(columns * nodes);
  for (std::size_t c = 0; c < columns; ++c) {
    for (std::size_t i = 0; i < nodes; ++i) {
      double sum = 0;
      for (std::size_t axis = 0; axis < fixture.derivatives.size(); ++axis) {
        for (std::size_t m = 0; m < nodes; ++m) {
          sum += fixture.derivatives[axis](i, m) * volume[(axis * columns + c) * nodes + m];
        }
      }
      for (std::size_t k = 0; k < lifted; ++k) {
        sum += fixture.lift(i, k) * surface[c * lifted + k];
      }
      rhs[c * nodes + i] = sum;
    }
  }
  memory["rhs"] = detail::as_reals(rhs, fixture.real);
}

/// Runs one stage of the CUDA text on the CPU; gives `residual`, and the new state as `next` or, of
/// split kernels, as `state`. What is written is poisoned before.
inline std::map<std::string, Bytes> run_on_cpu(const StageFixture& fixture,
                                               const std::optional<detail::FusedShape>& fused,
                                               const std::map<std::string, double>& numbers) {
  const detail::StageKernels kernels = fixture.kernels(fused);
  rtcg::testing::CudaOnCpu program(cgen::print_module(kernels.module, cgen::Dialect::cuda).text);
  std::set<std::string> wanted;
  for (const detail::KernelPlan& plan : kernels.plans()) {
    for (const detail::KernelArgument& argument : plan.arguments) {
      wanted.insert(argument.name);
    }
  }
  std::map<std::string, Bytes> memory = detail::make_tables(
      wanted, fixture.shape, fixture.evaluators, fixture.on, fixture.problem.data, fixture.real);
  memory["state"] = fixture.bytes_of(fixture.state);
  const std::size_t bytes = memory["state"].size();
  memory["residual"] = poison(bytes);
  if (fused) {
    memory["operators"] = detail::as_reals(
        detail::operators_table(fixture.derivatives, fixture.lift, *fused, fixture.real),
        fixture.real);
    memory[fused->updates_apart ? "rhs" : "next"] = poison(bytes);
  } else {
    memory["volume_fluxes"] = poison(bytes * static_cast<std::size_t>(fixture.shape.dimension));
    memory["surface_fluxes"] = poison(bytes / static_cast<std::size_t>(fixture.shape.nodes) *
                                      static_cast<std::size_t>(fixture.shape.lifted()));
  }
  for (const detail::StageLaunch& launch : kernels.launches) {
    if (const detail::KernelPlan* plan = std::get_if<detail::KernelPlan>(&launch)) {
      launch_on_cpu(program, fixture, *plan, memory, numbers);
    } else {
      apply_operators(fixture, memory);
    }
  }
  if (fused && fused->updates_apart) {
    memory["next"] = memory.at("state");
  }
  return memory;
}

}  // namespace rtcg::dg::testing
