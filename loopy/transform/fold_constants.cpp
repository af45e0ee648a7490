#include "rtcg/loopy/transform/fold_constants.h"

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"

namespace rtcg::loopy {
namespace {

std::vector<Expr> simplified(std::vector<Expr> indices) {
  for (Expr& index : indices) {
    index = simplify_index(index);
  }
  return indices;
}

std::optional<Expr> fold(const Expr& part) {
  if (const Access* element = get_if<Access>(part)) {
    return access(element->array, simplified(element->indices));
  }
  if (const LinearAccess* element = get_if<LinearAccess>(part)) {
    return Expr(LinearAccess{element->array, simplify_index(element->index)});
  }
  if (const Conditional* conditional = get_if<Conditional>(part)) {
    const auto condition = evaluate_integer(conditional->condition, {});
    return !condition
               ? std::nullopt
               : std::optional(*condition != 0 ? conditional->then_value : conditional->else_value);
  }
  // a quotient of integers is a real number, and a cast gives a type: both stay
  if (is<Integer>(part) || is<Quotient>(part) || is<Cast>(part) || is<Call>(part)) {
    return std::nullopt;
  }
  if (const auto value = evaluate_integer(part, {})) {
    return Expr(*value);
  }
  return std::nullopt;
}

}  // namespace

Kernel fold_constants(Kernel kernel) {
  kernel = map_expressions(std::move(kernel),
                           [](const Expr& expr) { return rewrite_bottom_up(expr, fold); });
  record(kernel, "fold_constants", {});
  return kernel;
}

}  // namespace rtcg::loopy
