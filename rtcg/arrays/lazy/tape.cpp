#include "rtcg/arrays/lazy/tape.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::arrays::detail {
namespace {

/// Calls `visit(node)` for each node below the roots once, operands first. `goes_below(node)` says
/// whether to look at a node's operands.
template <class GoesBelow, class Visit>
void walk(const std::vector<NodePointer>& roots, GoesBelow&& goes_below, Visit&& visit) {
  struct Frame {
    const NodePointer* node;
    int next_operand;
  };
  std::unordered_set<const ExpressionNode*> seen;
  std::vector<Frame> stack;  // no recursion: expressions may be deep
  for (const NodePointer& root : roots) {
    if (seen.insert(root.get()).second) {
      stack.push_back({&root, goes_below(*root) ? 0 : 3});
    }
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const NodePointer& node = *frame.node;
      if (frame.next_operand < 3 && node->operands[frame.next_operand]) {
        const NodePointer& operand = node->operands[frame.next_operand++];
        if (seen.insert(operand.get()).second) {
          stack.push_back({&operand, goes_below(*operand) ? 0 : 3});
        }
      } else {
        visit(node);
        stack.pop_back();
      }
    }
  }
}

struct StepHash {
  std::size_t operator()(const TapeStep& step) const noexcept {
    StructuralHash hash;
    hash.add((static_cast<std::uint64_t>(step.op) << 8) | static_cast<std::uint64_t>(step.dtype));
    hash.add((static_cast<std::uint64_t>(step.operands[0]) << 32) | step.operands[1]);
    return static_cast<std::size_t>(hash.add(step.operands[2]).value());
  }
};

class TapeBuilder {
 public:
  TapeBuilder(const Extents& shape, const KnownArrays& known) : shape_(shape), known_(known) {}

  void add(const NodePointer& node) {
    TapeStep step{node->op, node->dtype, {}};
    std::fill(std::begin(step.operands), std::end(step.operands), TapeStep::no_operand);
    if (const auto found = known_.find(node.get()); found != known_.end()) {
      step.op = Op::leaf;
      step.operands[0] = leaf(found->second);
    } else if (node->op == Op::leaf) {
      step.operands[0] = leaf(*node->array);
    } else if (node->op == Op::number) {
      step.operands[0] = number({node->dtype, *node->number});
    } else {
      tape_.uses_indices = tape_.uses_indices || node->op == Op::indices;
      for (int i = 0; i < 3 && node->operands[i]; ++i) {
        step.operands[i] = place_.at(node->operands[i].get());
      }
      if (step.op == Op::cast && tape_.steps[step.operands[0]].dtype == step.dtype) {
        place_[node.get()] = step.operands[0];  // only its shape was another
        return;
      }
    }
    const auto [known_step, is_new] =
        steps_.try_emplace(step, static_cast<std::uint32_t>(tape_.steps.size()));
    if (is_new) {
      tape_.steps.push_back(step);
    }
    place_[node.get()] = known_step->second;
  }

  Tape finish(const std::vector<NodePointer>& roots) {
    for (const NodePointer& root : roots) {
      tape_.roots.push_back(place_.at(root.get()));
    }
    return std::move(tape_);
  }

 private:
  std::uint32_t leaf(const AnyArray& array) {
    const AnyArray seen_here = array.broadcast_to(shape_);
    for (std::size_t i = 0; i < tape_.leaves.size(); ++i) {
      const AnyArray& other = tape_.leaves[i];
      if (other.storage() == seen_here.storage() && other.layout() == seen_here.layout() &&
          other.dtype() == seen_here.dtype()) {
        return static_cast<std::uint32_t>(i);
      }
    }
    tape_.leaves.push_back(seen_here);
    return static_cast<std::uint32_t>(tape_.leaves.size() - 1);
  }

  std::uint32_t number(const TapeNumber& number) {
    const auto same_bits = [](double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; };
    for (std::size_t i = 0; i < tape_.numbers.size(); ++i) {
      const TapeNumber& other = tape_.numbers[i];
      if (other.dtype == number.dtype && other.value.kind == number.value.kind &&
          other.value.bits == number.value.bits &&
          other.value.is_negative == number.value.is_negative &&
          same_bits(other.value.value.real(), number.value.value.real()) &&
          same_bits(other.value.value.imag(), number.value.value.imag())) {
        return static_cast<std::uint32_t>(i);
      }
    }
    tape_.numbers.push_back(number);
    return static_cast<std::uint32_t>(tape_.numbers.size() - 1);
  }

  const Extents& shape_;
  const KnownArrays& known_;
  Tape tape_;
  std::unordered_map<TapeStep, std::uint32_t, StepHash> steps_;
  std::unordered_map<const ExpressionNode*, std::uint32_t> place_;
};

}  // namespace

std::vector<NodePointer> separate_nodes(const std::vector<NodePointer>& roots, const Extents& shape,
                                        const KnownArrays& known) {
  std::vector<NodePointer> result;
  const auto is_separate = [&](const ExpressionNode& node) {
    // places in C order are those of the kernel only when the shapes are the same
    return is_reduction(node.op) || (node.op == Op::indices && !(node.shape == shape));
  };
  walk(
      roots,
      [&](const ExpressionNode& node) {
        return known.count(&node) == 0 && !is_reduction(node.op);
      },
      [&](const NodePointer& node) {
        if (known.count(node.get()) == 0 && is_separate(*node)) {
          result.push_back(node);
        }
      });
  return result;
}

Tape make_tape(const std::vector<NodePointer>& roots, const Extents& shape,
               const KnownArrays& known) {
  TapeBuilder builder(shape, known);
  walk(
      roots, [&](const ExpressionNode& node) { return known.count(&node) == 0; },
      [&](const NodePointer& node) { builder.add(node); });
  return builder.finish(roots);
}

}  // namespace rtcg::arrays::detail
