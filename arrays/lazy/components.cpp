#include "rtcg/arrays/lazy/components.h"

#include <unordered_map>

#include "rtcg/arrays/lazy/functions.h"

namespace rtcg::arrays::detail {
namespace {

using Rewritten = std::unordered_map<const ExpressionNode*, NodePointer>;

/// The components that a node of Op::vector joins. @see make_vector
void add_joined(const ExpressionNode& node, const Rewritten& done, std::vector<Expression>& all) {
  for (int i = 0; i < 3 && node.operands[i]; ++i) {
    const ExpressionNode& operand = *node.operands[i];
    if (operand.op == Op::vector) {
      add_joined(operand, done, all);
    } else {
      all.emplace_back(done.at(&operand));
    }
  }
}

Expression joined(const ExpressionNode& node, const Extents& shape, const Rewritten& done) {
  std::vector<Expression> all;
  add_joined(node, done, all);
  const Expression component = indices(shape) % lanes_of(node.dtype);
  Expression result = all.back();
  for (std::size_t k = all.size() - 1; k-- > 0;) {
    result = where(component == k, all[k], result);
  }
  return broadcast_to(result, shape);
}

NodePointer rewrite(const ExpressionNode& node, const Rewritten& done) {
  Extents shape = node.shape;
  shape.push_back(lanes_of(node.dtype));
  if (node.op == Op::leaf) {
    return Expression(node.array->components()).node();
  }
  if (node.op == Op::vector) {
    return joined(node, shape, done).node();
  }
  if (node.op == Op::gather) {
    const Expression further(done.at(node.operands[0].get()));
    return gather(node.array->components(), further * lanes_of(node.dtype)).node();
  }
  auto result = std::make_shared<ExpressionNode>();
  result->op = node.op;
  result->dtype = element_of(node.dtype);
  result->shape = shape;
  result->number = node.number;
  result->entries = node.entries;
  result->axes = node.axes;  // the new axis is the last
  result->keeps_axes = node.keeps_axes;
  for (int i = 0; i < 3 && node.operands[i]; ++i) {
    result->operands[i] = done.at(node.operands[i].get());
  }
  return result;
}

}  // namespace

NodePointer by_component(const NodePointer& root) {
  Rewritten done;
  std::vector<const ExpressionNode*> pending = {root.get()};
  while (!pending.empty()) {
    const ExpressionNode& node = *pending.back();
    const std::size_t before = pending.size();
    for (const NodePointer& operand : node.operands) {
      if (operand && done.count(operand.get()) == 0) {
        pending.push_back(operand.get());
      }
    }
    if (pending.size() == before) {
      pending.pop_back();
      if (done.count(&node) == 0) {
        done.emplace(&node, rewrite(node, done));
      }
    }
  }
  return done.at(root.get());
}

}  // namespace rtcg::arrays::detail
