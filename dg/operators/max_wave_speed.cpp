#include "rtcg/dg/operators/max_wave_speed.h"

#include <algorithm>
#include <set>

#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/check/verify_module.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/dg/operators/kernel_tables.h"
#include "rtcg/dg/operators/kernel_writer.h"
#include "rtcg/dg/operators/tidy_module.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/runtime/device/copy.h"
#include "rtcg/runtime/device/program.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

constexpr int speed_block = 64;

// A system without fluxes whose scale is the speed in every field: the writer of stages then writes
// the speed.
SystemEvaluators evaluators_of_speed(const System& system) {
  SystemEvaluators result;
  result.scale =
      one_sided(FluxVector(std::vector<FluxExpr>(system.fields.size(), system.speed), ""));
  return result;
}

KernelShape shape_of_speed(const System& system, const SystemEvaluators& evaluators,
                           const Discretization& on) {
  KernelShape shape = shape_of(evaluators, on);
  shape.fields = static_cast<int>(system.fields.size());
  return shape;
}

// One thread an element, which goes through its nodes.
cgen::Declared max_wave_speed_kernel(const KernelWriter& writer, ParameterList& parameters) {
  const KernelShape& shape = writer.shape();
  const cgen::Type& real = writer.real();
  const Expr elements = parameters.number("elements", cgen::i32);
  const Expr state = parameters.table("state");
  const Expr speeds = parameters.written("speeds");
  BlockBuilder body;
  const Expr element =
      body.add_constant(cgen::i32, "element",
                        cgen::cast(cgen::i32, cgen::block_idx_x * cgen::block_dim_x) +
                            cgen::cast(cgen::i32, cgen::thread_idx_x));
  BlockBuilder work;
  const Expr largest = work.add(cgen::declare(real, "largest", cgen::literal(0, real)));
  work << cgen::for_(
      cgen::i32, "node", Expr(0), Expr(shape.nodes), [&](const Expr& node, BlockBuilder& inner) {
        const auto array = [&](const char* name) {
          return inner.add_array(real, name, shape.fields);
        };
        const Expr interior = array("interior");
        const Expr values = array("values");
        for (int field = 0; field < shape.fields; ++field) {
          inner << cgen::assign(interior[field], state[writer.offset(element, field) + node])
                << cgen::assign(values[field], cgen::literal(1, real));
        }
        writer.finish(inner, parameters, {element, interior, node}, values);
        // what is negative or not a number stays, so that it is seen
        const Expr zero = cgen::literal(0, real);
        inner << cgen::if_(largest >= zero && !(values[0] >= zero && values[0] <= largest),
                           cgen::assign(largest, values[0]));
      });
  work << cgen::assign(speeds[element], largest);
  body << cgen::if_(element < elements, work);
  return cgen::kernel("largest_speeds", parameters.list(), body);
}

}  // namespace

bool has_nodal_speed(const System& system) {
  const std::vector<FluxRead> all = reads(one_sided({system.speed}));
  return std::any_of(all.begin(), all.end(), [](const FluxRead& read) {
    return read.kind == FluxKind::field || read.kind == FluxKind::coordinate;
  });
}

bool has_changing_speed(const System& system, const SystemData& data) {
  const std::vector<FluxRead> all = reads(one_sided({system.speed}));
  return std::any_of(all.begin(), all.end(), [&](const FluxRead& read) {
    return read.kind == FluxKind::field ||
           (read.kind == FluxKind::parameter &&
            (read.name == "time" || data.signals.contains(read.name)));
  });
}

MaxWaveSpeed::MaxWaveSpeed(const System& system, const Discretization& on, const SystemData& data,
                           runtime::Device device, const cgen::Type& real)
    : real_(real), elements_(static_cast<std::int32_t>(on.element_count())) {
  const SystemEvaluators evaluators = evaluators_of_speed(system);
  const KernelShape shape = shape_of_speed(system, evaluators, on);
  const KernelWriter writer(evaluators, shape, real, system.definitions);
  ParameterList parameters(real);
  cgen::Module module{"dg_speed", writer.functions()};
  module.items.push_back(max_wave_speed_kernel(writer, parameters));
  module = tidy_module(module);
  cgen::check_types(module);
  const cgen::Dialect dialect = loopy::dialect_of(device);
  const SourceText source = cgen::print_module(module, dialect);
  cgen::verify_module(module, dialect, [&] { return source.text; });
  text_ = source.text;
  kernel_ = runtime::Program::compile(device, source, {}, module.name).kernel("largest_speeds");
  arguments_ = parameters.arguments();
  std::set<std::string> wanted;
  for (const KernelArgument& each : arguments_) {
    wanted.insert(each.name);
  }
  for (const auto& [name, bytes] : make_tables(wanted, shape, evaluators, on, data, real)) {
    memory_.emplace(name, runtime::Buffer<std::byte>(device, bytes));
  }
  memory_.emplace("speeds", runtime::Buffer<std::byte>(
                                device, as_reals(std::vector<double>(on.element_count()), real)));
}

std::vector<double> MaxWaveSpeed::speeds(runtime::StreamRef stream,
                                         runtime::BufferRef<std::byte> state,
                                         const Parameters& parameters) const {
  runtime::ArgumentPack pack;
  constexpr std::size_t prefix = std::string_view("parameter_").size();
  for (const auto& [name, kind] : arguments_) {
    switch (kind) {
      case ArgumentKind::element_count:
        pack.add(elements_);
        break;
      case ArgumentKind::number: {
        const double value = parameters.find(name.substr(prefix))->second;
        real_ == cgen::f32 ? pack.add(static_cast<float>(value)) : pack.add(value);
        break;
      }
      case ArgumentKind::array:
        name == "state" ? pack.add(state) : pack.add(memory_.at(name));
        break;
    }
  }
  const auto blocks = static_cast<std::uint64_t>((elements_ + speed_block - 1) / speed_block);
  kernel_->launch(stream, {blocks, speed_block, 0}, pack);
  return from_reals(memory_.at("speeds").to_vector(stream), real_);
}

}  // namespace rtcg::dg::detail
