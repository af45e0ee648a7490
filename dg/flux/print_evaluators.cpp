#include "rtcg/dg/flux/print_evaluators.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

// Text and how tightly it binds: 1 sum, 2 product, 3 sign, 4 all others.
struct Text {
  std::string text;
  int precedence = 4;

  [[nodiscard]] std::string at(int least_precedence) const {
    return precedence < least_precedence ? "(" + text + ")" : text;
  }
};

Text call(std::string_view function, const std::vector<Text>& arguments) {
  std::string text = fmt::format("{}(", function);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + arguments[i].text;
  }
  return {text + ")"};
}

// A whole number is written with a point, lest it count as an integer.
Text number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) {
    text += ".0";
  }
  return {text, value < 0 ? 3 : 4};
}

Text text_of(const Step& step, const std::vector<Text>& operands,
             const std::function<std::string(const FluxRead&)>& name_of_read) {
  const auto infix = [&](const char* sign, int precedence) -> Text {
    return {operands[0].at(precedence) + sign + operands[1].at(precedence + 1), precedence};
  };
  switch (step.kind) {
    case StepKind::constant:
      return number(step.value);
    case StepKind::read:
      return {name_of_read ? name_of_read(step.read) : variable_name(step.read)};
    case StepKind::negate:
      return {"-" + operands[0].at(3), 3};
    case StepKind::add:
      return infix(" + ", 1);
    case StepKind::subtract:
      return infix(" - ", 1);
    case StepKind::multiply:
      return infix("*", 2);
    case StepKind::divide:
      return infix("/", 2);
    case StepKind::minimum:
      return call("min", operands);
    case StepKind::maximum:
      return call("max", operands);
    case StepKind::absolute:
      return call("abs", operands);
    case StepKind::square_root:
      return call("sqrt", operands);
    case StepKind::power:
      return call("pow", operands);
    case StepKind::if_positive:
      return {fmt::format("if({} > 0.0, {}, {})", operands[0].at(1), operands[1].text,
                          operands[2].text)};
    case StepKind::user_function:
      return call(step.function, operands);
  }
  throw InternalError("a kind of step", SourceOrigin::current());
}

}  // namespace

std::vector<FluxAssignment> print_evaluators(const Evaluators& evaluators,
                                             const PrintEvaluatorsOptions& options) {
  std::vector<FluxAssignment> result;
  const std::vector<int> uses = count_uses(evaluators);
  std::vector<Text> texts;
  int locals = 0;
  for (std::size_t i = 0; i < evaluators.steps.size(); ++i) {
    const Step& step = evaluators.steps[i];
    std::vector<Text> operands;
    for (const int operand : step.operands) {
      operands.push_back(texts[static_cast<std::size_t>(operand)]);
    }
    texts.push_back(text_of(step, operands, options.name_of_read));
    if (step.kind != StepKind::constant && step.kind != StepKind::read && uses[i] > 1) {
      result.push_back({fmt::format("{}{}", options.local_prefix, locals++), texts.back().text});
      texts.back() = {result.back().name};
    }
  }
  const auto print_outputs = [&](const std::string& prefix, const std::vector<int>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      result.push_back(
          {fmt::format("{}{}", prefix, i), texts[static_cast<std::size_t>(outputs[i])].text});
    }
  };
  print_outputs(options.output_prefix, evaluators.outputs);
  print_outputs(options.neighbour_prefix, evaluators.neighbour_outputs);
  return result;
}

}  // namespace rtcg::dg
