#include "rtcg/arrays/kernels/typed_expression.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/snippet_form.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {

Expression value_of(const KernelArgument& argument) {
  if (argument.structure) {
    throw InvalidInput(
        "arrays.value_of.structure",
        fmt::format("argument '{}' is an array of structs, for which expressions have "
                    "no values: take a field of it with field_of",
                    argument.name));
  }
  auto node = std::make_shared<detail::ExpressionNode>();
  node->op = Op::argument;
  node->dtype = argument.dtype;
  node->argument = std::make_shared<const std::string>(argument.name);
  return Expression(detail::NodePointer(std::move(node)));
}

namespace detail {
namespace {

using Substituted = std::unordered_map<const ExpressionNode*, NodePointer>;

NodePointer substitute_node(const NodePointer& node, const Substituted& done,
                            const std::map<std::string, Expression>& values) {
  if (node->op == Op::argument) {
    const auto found = values.find(*node->argument);
    if (found == values.end() || found->second.dtype() != node->dtype) {
      refuse_argument(*node);
    }
    return found->second.node();
  }
  if (node->op == Op::leaf || node->op == Op::number || node->op == Op::indices) {
    return node;
  }
  if (is_reduction(node->op) || node->op == Op::sparse_product) {
    throw InvalidInput("arrays.substitute.reduction",
                       "a kernel of expressions cannot contain a reduction or a product with a "
                       "sparse matrix: pass its result as an argument");
  }
  auto result = std::make_shared<ExpressionNode>();
  result->op = node->op;
  result->dtype = node->dtype;
  result->shape = node->shape;
  result->array = node->array;
  for (int i = 0; i < 3 && node->operands[i]; ++i) {
    result->operands[i] = done.at(node->operands[i].get());
    result->shape = broadcast_shapes(result->shape, result->operands[i]->shape);
  }
  return result;
}

}  // namespace

Expression substitute(const Expression& expression,
                      const std::map<std::string, Expression>& values) {
  Substituted done;
  std::vector<NodePointer> pending = {expression.node()};
  while (!pending.empty()) {
    const NodePointer node = pending.back();
    const std::size_t before = pending.size();
    for (const NodePointer& operand : node->operands) {
      if (operand && done.count(operand.get()) == 0) {
        pending.push_back(operand);
      }
    }
    if (pending.size() == before) {
      pending.pop_back();
      if (done.count(node.get()) == 0) {
        done.emplace(node.get(), substitute_node(node, done, values));
      }
    }
  }
  return Expression(done.at(expression.node().get()));
}

std::map<std::string, Expression> bind_values(const std::vector<KernelArgument>& arguments,
                                              const std::vector<Expression>& values) {
  check_argument_count(arguments.size(), values.size());
  std::map<std::string, Expression> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const KernelArgument& argument = arguments[i];
    const Expression& value = values[i];
    if (argument.is_array) {
      check_array(argument, value, false);
      result.emplace(argument.name, value);
    } else if (is_vector(argument.dtype)) {
      static_cast<void>(bind_numbers(argument, value));  // checks
      result.emplace(argument.name, value);
    } else {
      const TapeNumber number = bind_numbers(argument, value)[0];
      result.emplace(argument.name, cast_number(number.value, number.dtype));
    }
  }
  return result;
}

std::size_t target_of(const std::vector<KernelArgument>& arguments,
                      const ElementAssignment& assignment) {
  const auto found = std::find_if(
      arguments.begin(), arguments.end(),
      [&](const KernelArgument& argument) { return argument.name == assignment.target; });
  if (found == arguments.end() || !found->is_array || found->is_const || found->structure) {
    throw InvalidInput("arrays.elementwise_kernel.bad_target",
                       fmt::format("nothing can be assigned to '{}': no array argument that is "
                                   "not const has that name",
                                   assignment.target));
  }
  return static_cast<std::size_t>(found - arguments.begin());
}

std::map<std::string, Expression> values_of(const std::vector<KernelArgument>& arguments) {
  std::map<std::string, Expression> result;
  for (const KernelArgument& argument : arguments) {
    if (!argument.structure) {
      result.emplace(argument.name, value_of(argument));
    }
  }
  return result;
}

LoopKernelMaker typed_loop_maker(const std::vector<KernelArgument>& arguments, std::string name) {
  const loopy::Expr length = loopy::Name{"n"};
  const auto read = [arguments](const ExpressionNode& node, const LoopKernelMaker::Index&,
                                const std::optional<loopy::Expr>&) {
    if (node.op != Op::argument) {
      refuse_loop("it has arrays besides its arguments");
    }
    const auto found = std::find_if(
        arguments.begin(), arguments.end(),
        [&](const KernelArgument& argument) { return argument.name == *node.argument; });
    return found != arguments.end() && found->is_array
               ? loopy::access(*node.argument, {loopy::Name{"i"}})
               : loopy::Expr(loopy::Name{*node.argument});
  };
  LoopKernelMaker maker(std::move(name), read, [=](std::int64_t) { return length; }, {});
  maker.add_loop("i", length);
  for (const KernelArgument& argument : arguments) {
    if (argument.name == "n" || argument.name == "i" || argument.structure) {
      refuse_loop(fmt::format("argument '{}' has a name or type that the loop engine does not have",
                              argument.name));
    }
    if (argument.is_array) {
      maker.add_array(argument.name, argument.dtype, {length});
    } else {
      maker.add_number(argument.name, loop_type(argument.dtype));
    }
  }
  return maker;
}

}  // namespace detail

}  // namespace rtcg::arrays
