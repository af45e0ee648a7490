#include "rtcg/loopy/codegen/emit.h"

#include <algorithm>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/codegen/emitter.h"

namespace rtcg::loopy {

Emitter::Emitter(const Kernel& kernel, const LoopTree& tree, const LaunchAxes& axes,
                 const TargetRules& rules, const GenerateOptions& options,
                 std::set<HelperFunction>& helpers, FunctionTable& functions)
    : kernel_(kernel),
      axes_(axes),
      rules_(rules),
      options_(options),
      helpers_(helpers),
      functions_(functions),
      statements_(statements_in(tree)),
      facts_(kernel, statements_),
      named_(kernel),
      types_([this](const std::string& name) { return declared_type(kernel_, named_, name); }) {
  if (splits_threads()) {
    number_segments(tree);
  }
  has_calls_ = std::any_of(statements_.begin(), statements_.end(), [&](std::size_t statement) {
    return kernel.instructions[statement].call_site != nullptr;
  });
}

std::string Emitter::new_name(const std::string& base) {
  if (!new_names_) {
    new_names_ = make_name_generator(kernel_);
  }
  return new_names_->make(base);
}

cgen::Type Emitter::type_of(const Expr& expr) const {
  return loose_types_of_targets(kernel_, types_, expr).front().type;
}

EmittedBody Emitter::run(const LoopTree& tree) {
  EmitContext place;
  place.context = kernel_.assumptions;
  place.context.add(axes_.context);
  place.values = axes_.values;
  for (const auto& [iname, value] : axes_.values) {
    place.known.insert(iname);
  }
  for (const HostLoop& loop : axes_.host_loops) {
    place.known.insert(loop.iname);
  }
  cgen::BlockBuilder body;
  const bool is_swizzled = declare_block_order(body, place);
  for (const HardwareAxis& axis : axes_.axes) {
    place.known.insert(axis.variable);
    if (axis.kind == AxisKind::grid || !splits_threads()) {
      body << declare_axis(axis, place, is_swizzled ? swizzled_position(axis) : position_of(axis));
    }
  }
  EmittedBody result;
  declare_local_arrays(tree, body, result);
  CodeBlock code = emit_level(tree, place);
  result.statements = body.statements();
  const std::vector<cgen::Statement> rest =
      place_declarations(std::move(code), variables_, rules_.gathers_conditions);
  result.statements.insert(result.statements.end(), rest.begin(), rest.end());
  return result;
}

cgen::Expr Emitter::position_of(const HardwareAxis& axis) const {
  return cgen::cast(options_.index_type,
                    cgen::BuiltinIndex{axis.kind == AxisKind::grid ? cgen::BuiltinKind::block_idx
                                                                   : cgen::BuiltinKind::thread_idx,
                                       axis.number});
}

cgen::Statement Emitter::declare_axis(const HardwareAxis& axis, const EmitContext& place,
                                      const cgen::Expr& position) {
  const bool starts_at_zero = as_integer(axis.first) == 0;
  const ExprScope scope = scope_of(place);
  return cgen::declare(cgen::const_(options_.index_type), axis.variable,
                       starts_at_zero ? position : lower_index(scope, axis.first) + position)
      .declaration();
}

bool Emitter::declare_block_order(cgen::BlockBuilder& body, const EmitContext& place) {
  const HardwareAxis* across = axes_.find(AxisKind::grid, 0);
  const HardwareAxis* down = axes_.find(AxisKind::grid, 1);
  if (kernel_.swizzle_blocks == 0 || across == nullptr || down == nullptr) {
    return false;
  }
  const ExprScope scope = scope_of(place);
  const auto define = [&](const char* base, const cgen::Expr& value) {
    const std::string name = new_name(base);
    body << cgen::declare(cgen::const_(options_.index_type), name, value);
    return cgen::variable(name, options_.index_type);
  };
  const cgen::Expr rows = static_cast<int>(kernel_.swizzle_blocks);
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
  return Emitter(kernel, tree, axes, rules, options, helpers, functions).run(tree);
}

}  // namespace rtcg::loopy
