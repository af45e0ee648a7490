#include "rtcg/loopy/codegen/emit.h"

#include <algorithm>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/codegen/place_guards.h"

namespace rtcg::loopy {

Emitter::Emitter(const LaunchFacts& launch, std::set<HelperFunction>& helpers,
                 FunctionTable& functions)
    : launch_(launch),
      helpers_(helpers),
      functions_(functions),
      named_(launch.kernel),
      types_([this](const std::string& name) {
        return declared_type(launch_.kernel, named_, name);
      }) {}

std::string Emitter::new_name(const std::string& base) {
  if (!new_names_) {
    new_names_ = make_name_generator(launch_.kernel);
  }
  return new_names_->make(base);
}

cgen::Type Emitter::type_of(const Expr& expr) const {
  return loose_types_of_targets(launch_.kernel, types_, expr).front().type;
}

EmittedBody Emitter::run(const LoopTree& tree) {
  EmitContext context;
  context.assumptions = launch_.kernel.assumptions;
  context.assumptions.add(launch_.axes.context);
  context.values = launch_.axes.values;
  for (const auto& [iname, value] : launch_.axes.values) {
    context.known.insert(iname);
  }
  for (const HostLoop& loop : launch_.axes.host_loops) {
    context.known.insert(loop.iname);
  }
  cgen::BlockBuilder body;
  const bool is_swizzled = declare_block_order(body, context);
  for (const HardwareAxis& axis : launch_.axes.axes) {
    context.known.insert(axis.variable);
    if (axis.kind == AxisKind::grid || launch_.rules.has_threads) {
      body << declare_axis(axis, context,
                           is_swizzled ? swizzled_position(axis) : position_of(axis));
    }
  }
  EmittedBody result;
  declare_local_arrays(tree, body, result);
  CodeBlock code = emit_tree(
      place_guards(launch_, tree, std::make_shared<const EmitContext>(std::move(context))));
  result.statements = body.statements();
  const std::vector<cgen::Statement> rest =
      place_declarations(std::move(code), variables_, launch_.rules.gathers_conditions);
  result.statements.insert(result.statements.end(), rest.begin(), rest.end());
  return result;
}

cgen::Expr Emitter::position_of(const HardwareAxis& axis) const {
  return cgen::cast(launch_.options.index_type,
                    cgen::BuiltinIndex{axis.kind == AxisKind::grid ? cgen::BuiltinKind::block_idx
                                                                   : cgen::BuiltinKind::thread_idx,
                                       axis.number});
}

cgen::Statement Emitter::declare_axis(const HardwareAxis& axis, const EmitContext& context,
                                      const cgen::Expr& position) {
  const bool starts_at_zero = as_integer(axis.first) == 0;
  const ExprScope scope = scope_of(context);
  return cgen::declare(cgen::const_(launch_.options.index_type), axis.variable,
                       starts_at_zero ? position : lower_index(scope, axis.first) + position)
      .declaration();
}

bool Emitter::declare_block_order(cgen::BlockBuilder& body, const EmitContext& context) {
  const HardwareAxis* across = launch_.axes.find(AxisKind::grid, 0);
  const HardwareAxis* down = launch_.axes.find(AxisKind::grid, 1);
  if (launch_.kernel.swizzle_blocks == 0 || across == nullptr || down == nullptr) {
    return false;
  }
  const ExprScope scope = scope_of(context);
  const auto define = [&](const char* base, const cgen::Expr& value) {
    const std::string name = new_name(base);
    body << cgen::declare(cgen::const_(launch_.options.index_type), name, value);
    return cgen::variable(name, launch_.options.index_type);
  };
  const cgen::Expr rows = static_cast<int>(launch_.kernel.swizzle_blocks);
  const cgen::Expr columns = define("columns", lower_index(scope, across->extent));
  const cgen::Expr number =
      define("block_number", position_of(*across) + columns * position_of(*down));
  const cgen::Expr first_row = define("first_row", number / (rows * columns) * rows);
  const cgen::Expr left = lower_index(scope, down->extent) - first_row;
  const cgen::Expr rows_here = define("rows_here", cgen::select(left < rows, left, rows));
  const cgen::Expr number_here = define("number_here", number - first_row * columns);
  swizzled_ = {number_here / rows_here, first_row + number_here % rows_here};
  return true;
}

cgen::Expr Emitter::swizzled_position(const HardwareAxis& axis) const {
  return axis.kind == AxisKind::grid && axis.number < 2
             ? swizzled_[static_cast<std::size_t>(axis.number)]
             : position_of(axis);
}

EmittedBody emit_body(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes,
                      const TargetRules& rules, const GenerateOptions& options,
                      std::set<HelperFunction>& helpers, FunctionTable& functions) {
  const LaunchFacts launch(kernel, tree, axes, rules, options);
  return Emitter(launch, helpers, functions).run(tree);
}

}  // namespace rtcg::loopy
