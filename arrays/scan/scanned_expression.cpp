#include "rtcg/arrays/scan/scanned_expression.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/components.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {
namespace {

/// Copies of the nodes that use a known one, with its array instead.
class Replacement {
 public:
  explicit Replacement(const KnownArrays& known) : known_(known) {}

  NodePointer of(const NodePointer& node) {
    if (const auto found = known_.find(node.get()); found != known_.end()) {
      return Expression(found->second).node();
    }
    if (const auto found = done_.find(node.get()); found != done_.end()) {
      return found->second;
    }
    NodePointer operands[3];
    bool is_new = false;
    for (int i = 0; i < 3 && node->operands[i]; ++i) {
      operands[i] = of(node->operands[i]);
      is_new = is_new || operands[i] != node->operands[i];
    }
    NodePointer result = node;
    if (is_new) {
      auto copy = std::make_shared<ExpressionNode>();
      copy->op = node->op;
      copy->dtype = node->dtype;
      copy->shape = node->shape;
      std::move(std::begin(operands), std::end(operands), std::begin(copy->operands));
      copy->array = node->array;
      copy->number = node->number;
      result = std::move(copy);
    }
    return done_.emplace(node.get(), std::move(result)).first->second;
  }

 private:
  const KnownArrays& known_;
  std::map<const ExpressionNode*, NodePointer> done_;
};

int row_axes(const Extents& shape, int axis) {
  int result = 0;
  for (int each = 0; each < shape.size(); ++each) {
    result += each != axis && shape[each] != 1 ? 1 : 0;
  }
  return result;
}

/// The array with one axis before the axis and one after it.
AnyArray with_three_axes(const AnyArray& array, int axis) {
  std::int64_t before = 1;
  for (int each = 0; each < axis; ++each) {
    before *= array.shape()[each];
  }
  return array.contiguous().reshape(before, array.shape()[axis], std::int64_t{-1});
}

void add_operands(ScannedExpression& scan) {
  for (const AnyArray& leaf : scan.tape.leaves) {
    if (!(leaf.device() == scan.stream.device())) {
      throw InvalidInput(
          "arrays.evaluate.mixed_devices",
          fmt::format("an expression has arrays on {} and on {}: copy one with copy_to()",
                      runtime::to_string(scan.stream.device().info().id),
                      runtime::to_string(leaf.device().info().id)));
    }
    auto& storages = scan.operands.storages;
    if (std::find(storages.begin(), storages.end(), leaf.storage()) == storages.end()) {
      storages.push_back(leaf.storage());
    }
  }
  scan.operands.numbers = scan.tape.numbers;
}

}  // namespace

LoopExpression ScannedExpression::loops() const {
  return as_loop_kernel_of_scan(Expression(Replacement(known).of(root)), form);
}

std::string ScannedExpression::key() const {
  std::string key;
  const auto add = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto add_lengths = [&](const Extents& lengths) {
    for (const std::int64_t each : lengths) {
      add(each);
    }
  };
  add(&stream.device().backend());
  add(form.op);
  add(form.axis);
  add(form.is_exclusive);
  add(form.is_reverse);
  add(root->shape.size());
  add_lengths(root->shape);
  add(tape.roots.front());
  add(tape.steps.size());
  for (const TapeStep& step : tape.steps) {
    add(step.op);
    add(step.dtype);
    add(step.operands);
  }
  for (const TapeNumber& number : tape.numbers) {
    add(number.dtype);
    if (is_floating(number.dtype)) {  // is an argument
      add(place_of_number(tape.numbers, number.dtype, number.value.value.real()));
    } else {
      add(number.value.kind);
      add(number.value.bits);
      add(number.value.value);
    }
  }
  for (const AnyArray& leaf : tape.leaves) {
    const auto& storages = operands.storages;
    add(leaf.dtype());
    add(std::find(storages.begin(), storages.end(), leaf.storage()) - storages.begin());
    add(leaf.layout().offset);
    add_lengths(leaf.strides());
  }
  for (const std::shared_ptr<Storage>& storage : operands.storages) {
    add(storage->address() % vector_bytes);
    add(storage->size_bytes());
  }
  return key;
}

AnyArray values_of(const NodePointer& root) {
  return root->op == Op::leaf ? *root->array : evaluate(Expression(root));
}

ScannedExpression scan_of(const Expression& operand, const ScanForm& form) {
  const NodePointer root =
      is_vector(operand.dtype()) ? by_component(operand.node()) : operand.node();
  constexpr int most_row_axes = 2;  // the grid has three, and one may be that of the scan
  if (row_axes(root->shape, form.axis) > most_row_axes) {
    ScanForm of_flat = form;
    of_flat.axis = 1;
    return scan_of(with_three_axes(values_of(root), form.axis), of_flat);
  }
  ScannedExpression scan{root, form, {}, {}, current_stream(), {}};
  for (const NodePointer& node : separate_nodes({root}, root->shape, {})) {
    scan.known.emplace(node.get(), evaluate(Expression(node)));
  }
  scan.tape = make_tape({root}, root->shape, scan.known);
  if (!scan.tape.leaves.empty()) {
    scan.stream = current_stream(scan.tape.leaves.front().stream());
  }
  add_operands(scan);
  return scan;
}

}  // namespace rtcg::arrays::detail
