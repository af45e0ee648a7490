#include "rtcg/arrays/kernels/typed_expression.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_kernel.h"
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
  if (is_reduction(node->op)) {
    throw InvalidInput(
        "arrays.substitute.reduction",
        "a kernel of expressions cannot contain a reduction: pass its result as an argument");
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

std::map<std::string, Expression> values_of(const std::vector<KernelArgument>& arguments) {
  std::map<std::string, Expression> result;
  for (const KernelArgument& argument : arguments) {
    if (!argument.structure) {
      result.emplace(argument.name, value_of(argument));
    }
  }
  return result;
}

namespace {

const char* sign_of(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::subtract:
      return "-";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    default:
      return nullptr;
  }
}

const char* function_of(Op op) {
  switch (op) {
    case Op::absolute:
      return "abs";
    case Op::sqrt:
      return "sqrt";
    case Op::exp:
      return "exp";
    case Op::log:
      return "log";
    case Op::sin:
      return "sin";
    case Op::cos:
      return "cos";
    case Op::tan:
      return "tan";
    case Op::tanh:
      return "tanh";
    case Op::floor:
      return "floor";
    case Op::ceil:
      return "ceil";
    default:
      return nullptr;
  }
}

std::string number_text(const NumberValue& number) {
  if (number.kind == WeakKind::complex) {
    refuse_loop("it has complex numbers");
  }
  if (number.kind == WeakKind::real) {
    return fmt::format("({})", number.value.real());
  }
  return fmt::format("({})", number.is_negative
                                 ? fmt::to_string(static_cast<std::int64_t>(number.bits))
                                 : fmt::to_string(number.bits));
}

}  // namespace

std::string loop_text(const Expression& expression, const std::vector<KernelArgument>& arguments) {
  const ExpressionNode& node = *expression.node();
  const auto operand = [&](int i) { return loop_text(Expression(node.operands[i]), arguments); };
  if (node.op == Op::argument) {
    const auto found = std::find_if(
        arguments.begin(), arguments.end(),
        [&](const KernelArgument& argument) { return argument.name == *node.argument; });
    return *node.argument + (found != arguments.end() && found->is_array ? "[i]" : "");
  }
  if (node.op == Op::number) {
    return number_text(*node.number);
  }
  if (const char* sign = sign_of(node.op)) {
    return fmt::format("({} {} {})", operand(0), sign, operand(1));
  }
  if (node.op == Op::negate) {
    return fmt::format("(-{})", operand(0));
  }
  if (const char* function = function_of(node.op)) {
    return fmt::format("{}({})", function, operand(0));
  }
  if (node.op == Op::cast && node.operands[0]->dtype == node.dtype) {
    return operand(0);
  }
  refuse_loop(
      "it converts, chooses, or has another operation that C and the loop engine do not "
      "share with NumPy");
}

}  // namespace detail

}  // namespace rtcg::arrays
