#include "rtcg/loopy/codegen/write_body.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/build/share_values.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/join_conditions.h"
#include "rtcg/loopy/codegen/kernel_function.h"
#include "rtcg/loopy/codegen/kernel_variables.h"
#include "rtcg/loopy/codegen/lower_call.h"
#include "rtcg/loopy/codegen/lower_lanes.h"
#include "rtcg/loopy/codegen/tile_order.h"

namespace rtcg::loopy {
namespace {

/// The loop of a block over its iterations along an axis of the grid.
struct Walk {
  std::string counter{};
  cgen::Type type{};  ///< without a sign: the last step may go beyond what has one
  cgen::Expr end = 0;
};
using Walks = std::map<int, Walk>;  // by axis

Walks walks_of(KernelVariables& variables) {
  const LaunchFacts& launch = variables.launch;
  Walks walks;
  for (const auto& [number, blocks] : launch.kernel.walking_blocks) {
    if (const HardwareAxis* axis = launch.axes.find(AxisKind::grid, number)) {
      const cgen::Type type = launch.options.index_type == cgen::i64 ? cgen::u64 : cgen::u32;
      const ExprScope scope = variables.scope_of(*launch.context);
      walks.emplace(number, Walk{variables.new_name(fmt::format("block_{}", "xyz"[number])), type,
                                 cgen::cast(type, lower_index(scope, axis->extent))});
    }
  }
  return walks;
}

/// The loops around `body`, that of g.0 innermost.
cgen::Statement in_loops(const Walks& walks, cgen::BlockBuilder body) {
  cgen::Statement result = body.block();
  for (const auto& [number, walk] : walks) {
    const cgen::Expr first = cgen::BuiltinIndex{cgen::BuiltinKind::block_idx, number};
    const cgen::Expr step = cgen::BuiltinIndex{cgen::BuiltinKind::grid_dim, number};
    const bool is_u32 = walk.type == cgen::u32;  // as the hardware's numbers are
    result =
        cgen::counted_loop(walk.type, walk.counter, is_u32 ? first : cgen::cast(walk.type, first),
                           walk.end, result, {.step = is_u32 ? step : cgen::cast(walk.type, step)});
  }
  return result;
}

cgen::Expr position_of(const HardwareAxis& axis, const cgen::Type& type, const Walks& walks) {
  if (const auto walk = walks.find(axis.number);
      axis.kind == AxisKind::grid && walk != walks.end()) {
    return cgen::cast(type, cgen::variable(walk->second.counter, walk->second.type));
  }
  return cgen::cast(type,
                    cgen::BuiltinIndex{axis.kind == AxisKind::grid ? cgen::BuiltinKind::block_idx
                                                                   : cgen::BuiltinKind::thread_idx,
                                       axis.number});
}

/// The positions of a block on the first two axes of the grid, in the order of blocks that the
/// kernel asks for; empty if it asks for none.
/// @param body  gets the variables that the positions mention
std::vector<cgen::Expr> block_order(KernelVariables& variables, const Walks& walks,
                                    cgen::BlockBuilder& body) {
  const LaunchFacts& launch = variables.launch;
  const cgen::Type& type = launch.options.index_type;
  const HardwareAxis* across = launch.axes.find(AxisKind::grid, 0);
  const HardwareAxis* down = launch.axes.find(AxisKind::grid, 1);
  if (launch.kernel.swizzle_blocks == 0 || across == nullptr || down == nullptr) {
    return {};
  }
  const ExprScope scope = variables.scope_of(*launch.context);
  const auto define = [&](const char* base, const cgen::Expr& value) {
    const std::string name = variables.new_name(base);
    body << cgen::declare(cgen::const_(type), name, value);
    return cgen::variable(name, type);
  };
  const cgen::Expr rows = static_cast<int>(launch.kernel.swizzle_blocks);
  const cgen::Expr columns = define("columns", lower_index(scope, across->extent));
  const cgen::Expr number = define("block_number", position_of(*across, type, walks) +
                                                       columns * position_of(*down, type, walks));
  const cgen::Expr first_row = define("first_row", number / (rows * columns) * rows);
  const cgen::Expr left = lower_index(scope, down->extent) - first_row;
  const cgen::Expr rows_here = define("rows_here", cgen::select(left < rows, left, rows));
  const cgen::Expr number_here = define("number_here", number - first_row * columns);
  return {number_here / rows_here, first_row + number_here % rows_here};
}

/// A variable for each axis that the device has and that is longer than one.
void declare_axes(KernelVariables& variables, const Walks& walks, cgen::BlockBuilder& body,
                  BlockMemory& memory) {
  const LaunchFacts& launch = variables.launch;
  const cgen::Type& type = launch.options.index_type;
  const std::vector<cgen::Expr> order = block_order(variables, walks, body);
  const std::map<int, cgen::Expr> tiles = tiles_in_order(variables, body, memory);
  if (!tiles.empty() && !walks.empty()) {
    throw InvalidInput(
        "loopy.generate.walking_scan",
        fmt::format("blocks of kernel '{}' look back to those before them, but a given number of "
                    "blocks walks along the grid: leave out walk_grid, or let the scan take three "
                    "launches",
                    launch.kernel.name));
  }
  for (const HardwareAxis& axis : launch.axes.axes) {
    if ((axis.kind == AxisKind::block && !launch.rules.has_threads) ||
        launch.context->values.count(axis.variable) != 0) {
      continue;
    }
    const auto number = static_cast<std::size_t>(axis.number);
    const bool is_grid = axis.kind == AxisKind::grid;
    const cgen::Expr position = is_grid && !tiles.empty()          ? tiles.at(axis.number)
                                : is_grid && number < order.size() ? order[number]
                                                                   : position_of(axis, type, walks);
    const ExprScope scope = variables.scope_of(*launch.context);
    body << cgen::declare(
        cgen::const_(type), axis.variable,
        as_integer(axis.first) == 0 ? position : lower_index(scope, axis.first) + position);
  }
}

/// C's division rounds towards zero. That is the same for numbers that are not negative; a negative
/// end becomes 0 or less, which ends a loop from 0 as well.
cgen::Expr lower_end(const ExprScope& scope, const Bound& bound, bool starts_at_zero) {
  const Affine numerator = with_values(*scope.values, bound.numerator) + Affine(bound.divisor);
  if (bound.divisor == 1 || (!starts_at_zero && !scope.context->implies_nonnegative(numerator))) {
    return lower_floor_div(scope, to_expr(numerator), bound.divisor);
  }
  return lower_index(scope, numerator) / static_cast<int>(bound.divisor);
}

cgen::Expr reduce(const std::vector<cgen::Expr>& values, cgen::Intrinsic function) {
  cgen::Expr result = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) {
    result = cgen::call(function, {result, values[i]});
  }
  return result;
}

/// The first value of a loop.
cgen::Expr lower_first_value(const ExprScope& scope, const LoopBounds& bounds) {
  std::vector<cgen::Expr> values;
  for (const Bound& bound : bounds.lower) {
    values.push_back(lower_floor_div(
        scope, to_expr(with_values(*scope.values, bound.numerator) + Affine(bound.divisor - 1)),
        bound.divisor));
  }
  return reduce(values, cgen::Intrinsic::max);
}

/// One past the last value of a loop.
cgen::Expr lower_end_value(const ExprScope& scope, const LoopBounds& bounds) {
  const auto first = constant_lower(bounds);
  std::vector<cgen::Expr> values;
  for (const Bound& bound : bounds.upper) {
    values.push_back(lower_end(scope, bound, first && *first >= 0));
  }
  return reduce(values, cgen::Intrinsic::min);
}

/// What loops over threads are bounded by besides the threads of the block: by axis.
struct ThreadBounds {
  struct Bounds {
    std::optional<std::int64_t> constant{};  ///< the tightest one
    std::vector<cgen::Expr> others{};
  };
  std::map<const HardwareAxis*, Bounds> first{};
  std::map<const HardwareAxis*, Bounds> end{};

  /// Takes a test that all threads make as a bound of the innermost axis that it mentions.
  /// Compilers vectorise such a loop, where the test would mask each instruction.
  /// @returns whether that is possible
  bool take(const ExprScope& scope, const LaunchFacts& launch, const Constraint& test) {
    if (test.is_equality) {
      return false;
    }
    Affine expr = with_values(*scope.values, test.expr);
    if (const std::int64_t gcd = expr.coefficient_gcd(); gcd > 1) {
      expr = expr.divided_rounding_down(gcd);
    }
    const auto& axes = launch.thread_loops;
    const auto innermost = std::find_if(axes.rbegin(), axes.rend(), [&](const auto* axis) {
      return expr.coefficient(axis->variable) != 0;
    });
    if (innermost == axes.rend()) {
      return false;
    }
    const Affine thread((*innermost)->variable);
    const std::int64_t coefficient = expr.coefficient((*innermost)->variable);
    const auto add = [&](Bounds& bounds, const Affine& bound, auto tighter) {
      if (bound.terms().empty()) {
        bounds.constant = tighter(bounds.constant.value_or(bound.constant()), bound.constant());
      } else {
        bounds.others.push_back(lower_index(scope, bound));
      }
    };
    if (coefficient == 1) {
      add(first[*innermost], thread - expr, [](auto a, auto b) { return std::max(a, b); });
    } else if (coefficient == -1) {
      add(end[*innermost], expr + thread + Affine(1),
          [](auto a, auto b) { return std::min(a, b); });
    }
    return coefficient == 1 || coefficient == -1;
  }
};

/// The nodes of a guarded tree as code.
class TreeLowering {
 public:
  TreeLowering(KernelVariables& variables, FunctionTable& functions)
      : launch_(variables.launch), variables_(variables), functions_(functions) {}

  CodeBlock lower(const GuardedTree& tree) {
    CodeBlock block;
    for (const GuardedNode& node : tree) {
      append(block, match(node, [&](const auto& each) { return lower_node(each); }));
    }
    return block;
  }

 private:
  CodeBlock lower_node(const GuardedIf& node) {
    const ExprScope scope = variables_.scope_of(*node.context);
    std::optional<cgen::Expr> condition;
    for (const Constraint& guard : node.tests) {
      add_test(condition, lower_constraint(scope, guard));
    }
    CodeBlock then_body = lower(node.then_body);
    // partial tiles are few: their code is short rather than fast
    CodeBlock else_body = gather_conditions(lower(node.else_body), variables_.private_variables());
    return one({CodeIf{*condition, std::move(then_body), if_any(std::move(else_body)), false}});
  }

  CodeBlock lower_node(const GuardedLoop& node) {
    const ExprScope scope = variables_.scope_of(*node.context);
    CodeLoop loop{node.iname,
                  launch_.options.index_type,
                  lower_first_value(scope, node.bounds),
                  lower_end_value(scope, node.bounds),
                  static_cast<int>(node.bounds.step),
                  node.unroll,
                  {},
                  false,
                  lower(node.body)};
    if (loop.body.items.empty()) {
      return {};  // the tests around leave nothing to do
    }
    if (node.is_ordered) {
      loop.body.items.insert(
          loop.body.items.begin(),
          {CodeStatement{variables_.call(HelperFunction(Helper::ordered_iterations))}});
    }
    return one({std::move(loop)});
  }

  CodeBlock lower_node(const ThreadLoops& node) {
    ThreadBounds bounds;
    CodeBlock body = lower_in_threads(node.body, bounds);
    const ExprScope scope = variables_.scope_of(*node.context);
    for (auto axis = launch_.thread_loops.rbegin(); axis != launch_.thread_loops.rend(); ++axis) {
      const bool is_innermost = axis == launch_.thread_loops.rbegin();
      // threads of the block, and of these those that the tests leave
      const auto all = [&](const Expr& own, ThreadBounds::Bounds& tested, bool is_end) {
        const auto known = as_integer(own);
        std::vector<cgen::Expr> result;
        if (known && tested.constant) {
          tested.constant =
              is_end ? std::min(*known, *tested.constant) : std::max(*known, *tested.constant);
        } else {
          result.push_back(lower_index(scope, own));
        }
        if (tested.constant) {
          result.push_back(lower_index(scope, Affine(*tested.constant)));
        }
        result.insert(result.end(), tested.others.begin(), tested.others.end());
        return result;
      };
      const std::vector<cgen::Expr> first = all((*axis)->first, bounds.first[*axis], false);
      const std::vector<cgen::Expr> end =
          all((*axis)->first + (*axis)->extent, bounds.end[*axis], true);
      body = one({CodeLoop{(*axis)->variable,
                           launch_.options.index_type,
                           reduce(first, cgen::Intrinsic::max),
                           reduce(end, cgen::Intrinsic::min),
                           1,
                           {},
                           is_innermost ? std::optional<std::string>("omp simd") : std::nullopt,
                           true,
                           std::move(body)}});
    }
    return body;
  }

  /// What each thread does; tests of all that it does become bounds where they can.
  CodeBlock lower_in_threads(const GuardedTree& body, ThreadBounds& bounds) {
    const auto* tested = body.size() == 1 ? get_if<GuardedIf>(body.front()) : nullptr;
    if (tested == nullptr || !tested->else_body.empty()) {
      return lower(body);
    }
    const ExprScope scope = variables_.scope_of(*tested->context);
    Guards rest;
    for (const Constraint& test : tested->tests) {
      if (!bounds.take(scope, launch_, test)) {
        rest.push_back(test);
      }
    }
    return rest.empty() ? lower(tested->then_body)
                        : lower({GuardedNode{
                              GuardedIf{tested->context, std::move(rest), tested->then_body, {}}}});
  }

  CodeBlock lower_node(const GuardedCall& node) {
    CodeBlock body = lower(node.body);
    return body.items.empty() ? CodeBlock{}
                              : one(lower_call(variables_, functions_, node, std::move(body)));
  }

  CodeBlock lower_node(const GuardedStatement& node) {
    return lower_lanes(variables_, lanes_, node.index, *node.context);
  }

  static CodeBlock lower_node(const GuardedBarrier& /*node*/) {
    return one({CodeStatement{cgen::barrier()}});
  }

  static CodeBlock one(CodeItem item) {
    CodeBlock block;
    block.items.push_back(std::move(item));
    return block;
  }

  const LaunchFacts& launch_;
  KernelVariables& variables_;
  FunctionTable& functions_;
  LaneTable lanes_;
};

/// Whether threads of a block may read what others of it have written.
bool may_share(const LaunchFacts& launch, const BlockMemory& memory) {
  return memory.bytes > 0 ||
         std::any_of(launch.statements.begin(), launch.statements.end(), [&](std::size_t each) {
           return is<RawCode>(launch.kernel.instructions[each]);
         });
}

/// What is known of names in the code.
cgen::ShareValuesOptions sharing_in(KernelVariables& variables) {
  const Kernel& kernel = variables.launch.kernel;
  cgen::ShareValuesOptions options;
  options.new_name = [&](const std::string& base) { return variables.new_name(base); };
  for (const HelperFunction& helper : variables.helpers()) {
    if (helper.is_pure()) {
      options.pure_functions.insert(helper.name());
    }
  }
  for (const Argument& argument : kernel.arguments) {
    if (!may_be_another(kernel, argument.name)) {
      options.restricted.insert(argument.name);
    }
  }
  for (const Temporary& temporary : kernel.temporaries) {
    options.restricted.insert(temporary.name);
  }
  for (const auto& [name, variable] : variables.private_variables()) {
    options.restricted.insert(name);
  }
  return options;
}

std::int64_t bytes_of(const PrivateVariables& variables) {
  std::int64_t bytes = 0;
  for (const auto& [name, variable] : variables) {
    std::int64_t length = 1;
    for (const int extent : variable.extents) {
      length *= extent;
    }
    bytes += length * size_bytes(variable.type);
  }
  return bytes;
}

}  // namespace

KernelBody write_body(const LaunchFacts& launch, const GuardedTree& tree, FunctionTable& functions,
                      bool is_first) {
  KernelVariables variables(launch);
  const Walks walks = walks_of(variables);
  cgen::BlockBuilder axes;
  BlockMemory of_axes;
  if (is_first) {
    declare_axes(variables, walks, axes, of_axes);
  }
  KernelBody body{{}, block_memory(variables), {}, 0};
  body.memory.bytes += of_axes.bytes;
  body.memory.arrays.insert(body.memory.arrays.end(), of_axes.arrays.begin(), of_axes.arrays.end());
  CodeBlock code = TreeLowering(variables, functions).lower(tree);
  body.private_bytes = bytes_of(variables.private_variables());
  // last: only the whole code says how far in a private variable can be declared
  const std::vector<cgen::Statement> rest = place_declarations(
      std::move(code), variables.private_variables(), launch.rules.gathers_conditions);
  const std::vector<cgen::Statement>& arrays = body.memory.declarations;
  cgen::BlockBuilder of_block = walks.empty() ? axes : cgen::BlockBuilder();
  cgen::BlockBuilder of_iteration = walks.empty() ? cgen::BlockBuilder() : axes;
  if (is_first) {
    for (const cgen::Statement& each : arrays) {
      of_block << each;
    }
  }
  for (const cgen::Statement& each : rest) {
    (walks.empty() ? of_block : of_iteration) << each;
  }
  if (!walks.empty()) {
    if (launch.rules.has_threads && may_share(launch, body.memory)) {
      of_iteration << cgen::barrier();  // the next iteration uses the same memory
    }
    of_block << in_loops(walks, of_iteration);
  }
  body.statements = cgen::share_values(of_block.statements(), sharing_in(variables));
  body.helpers = variables.helpers();
  return body;
}

}  // namespace rtcg::loopy
