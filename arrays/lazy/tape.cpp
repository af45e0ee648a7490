#include "rtcg/arrays/lazy/tape.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <unordered_map>

#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::arrays::detail {
namespace {

/// A number for each of some nodes. Small tables, which nearly all are, allocate nothing.
class NodeNumbers {
 public:
  /// False when the node has one already.
  bool insert(const ExpressionNode* node, std::uint32_t number) {
    if (2 * (count_ + 1) > slots_.size()) {
      grow();
    }
    Slot& slot = slot_of(node);
    if (slot.node != nullptr) {
      return false;
    }
    slot = {node, number};
    ++count_;
    return true;
  }
  [[nodiscard]] std::uint32_t at(const ExpressionNode* node) { return slot_of(node).number; }

 private:
  struct Slot {
    const ExpressionNode* node = nullptr;
    std::uint32_t number = 0;
  };
  /// Where the node is, or is to be.
  Slot& slot_of(const ExpressionNode* node) {
    std::size_t at = static_cast<std::size_t>(
        StructuralHash().add(reinterpret_cast<std::uintptr_t>(node)).value());
    while (true) {
      Slot& slot = slots_[at & (slots_.size() - 1)];
      if (slot.node == node || slot.node == nullptr) {
        return slot;
      }
      ++at;
    }
  }
  void grow() {
    std::vector<Slot> larger(2 * slots_.size());
    const std::span<Slot> old = slots_;
    const std::vector<Slot> kept = std::move(many_);  // what `old` may see
    many_ = std::move(larger);
    slots_ = many_;
    for (const Slot& slot : old) {
      if (slot.node != nullptr) {
        slot_of(slot.node) = slot;
      }
    }
  }

  std::array<Slot, 32> few_{};
  std::vector<Slot> many_;
  std::span<Slot> slots_ = few_;  // a power of two
  std::size_t count_ = 0;
};

constexpr int all_operands = 3;
/// Of a product with a sparse matrix: but x, which is an array.
constexpr int operands_of_product = 2;

int operands_in_kernel(const ExpressionNode& node) {
  return node.op == Op::sparse_product ? operands_of_product : all_operands;
}

/// Calls `visit(node)` for each node below the roots once, operands first. `operands_of(node)` is
/// how many of a node's operands are visited.
template <class OperandsOf, class Visit>
void walk(const std::vector<NodePointer>& roots, OperandsOf&& operands_of, Visit&& visit) {
  struct Frame {
    const NodePointer* node;
    int next_operand;
    int operands;
  };
  NodeNumbers seen;
  std::vector<Frame> stack;  // no recursion: expressions may be deep
  stack.reserve(16);
  for (const NodePointer& root : roots) {
    if (seen.insert(root.get(), 0)) {
      stack.push_back({&root, 0, operands_of(*root)});
    }
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const NodePointer& node = *frame.node;
      if (frame.next_operand < frame.operands && node->operands[frame.next_operand]) {
        const NodePointer& operand = node->operands[frame.next_operand++];
        if (seen.insert(operand.get(), 0)) {
          stack.push_back({&operand, 0, operands_of(*operand)});
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
  TapeBuilder(const Extents& shape, const KnownArrays& known) : shape_(shape), known_(known) {
    tape_.steps.reserve(few_steps);
    tape_.leaves.reserve(4);
    tape_.numbers.reserve(4);
  }

  void add(const NodePointer& node) {
    TapeStep step{node->op, node->dtype, {}};
    std::fill(std::begin(step.operands), std::end(step.operands), TapeStep::no_operand);
    if (const auto found = known_.find(node.get()); found != known_.end()) {
      step.op = Op::leaf;
      step.operands[0] = leaf(found->second, false);
    } else if (node->op == Op::leaf) {
      step.operands[0] = leaf(*node->array, false);
    } else if (node->op == Op::gather) {
      step.operands[0] = leaf(*node->array, true);
      step.operands[1] = place_.at(node->operands[0].get());
    } else if (node->op == Op::sparse_product) {
      step.operands[0] = product(*node);
      for (int i = 0; i < operands_of_product; ++i) {
        step.operands[i + 1] = place_.at(node->operands[i].get());
      }
    } else if (node->op == Op::argument) {
      refuse_argument(*node);
    } else if (node->op == Op::number) {
      step.operands[0] = number({node->dtype, *node->number});
    } else {
      tape_.uses_indices = tape_.uses_indices || node->op == Op::indices;
      for (int i = 0; i < 3 && node->operands[i]; ++i) {
        step.operands[i] = place_.at(node->operands[i].get());
      }
      if (step.op == Op::cast && tape_.steps[step.operands[0]].dtype == step.dtype) {
        place_.insert(node.get(), step.operands[0]);  // only its shape was another
        return;
      }
    }
    place_.insert(node.get(), number_of(step));
  }

  Tape finish(const std::vector<NodePointer>& roots) {
    for (const NodePointer& root : roots) {
      tape_.roots.push_back(place_.at(root.get()));
    }
    return std::move(tape_);
  }

 private:
  static constexpr std::size_t few_steps = 16;

  /// The step, which is new or has been there before.
  std::uint32_t number_of(const TapeStep& step) {
    const auto next = static_cast<std::uint32_t>(tape_.steps.size());
    if (next < few_steps) {
      const auto found = std::find(tape_.steps.begin(), tape_.steps.end(), step);
      if (found != tape_.steps.end()) {
        return static_cast<std::uint32_t>(found - tape_.steps.begin());
      }
    } else {
      for (auto known = static_cast<std::uint32_t>(steps_.size()); known < next; ++known) {
        steps_.emplace(tape_.steps[known], known);
      }
      if (const auto found = steps_.find(step); found != steps_.end()) {
        return found->second;
      }
    }
    tape_.steps.push_back(step);
    return next;
  }

  std::uint32_t leaf(const AnyArray& array, bool is_gathered) {
    const AnyArray seen_here = array.shape() == shape_ ? array : array.broadcast_to(shape_);
    for (std::size_t i = 0; i < tape_.leaves.size(); ++i) {
      const AnyArray& other = tape_.leaves[i];
      if (other.storage() == seen_here.storage() && other.layout() == seen_here.layout() &&
          other.dtype() == seen_here.dtype() && tape_.is_gathered[i] == is_gathered) {
        return static_cast<std::uint32_t>(i);
      }
    }
    tape_.leaves.push_back(seen_here);
    tape_.is_gathered.push_back(is_gathered);
    return static_cast<std::uint32_t>(tape_.leaves.size() - 1);
  }

  std::uint32_t product(const ExpressionNode& node) {
    const SparseEntries& entries = *node.entries;
    const ExpressionNode& operand = *node.operands[operands_of_product];
    const auto found = known_.find(&operand);
    const AnyArray& x = found != known_.end() ? found->second : *operand.array;
    const auto first_of = [](const AnyArray& array) {
      return array.view(Layout{{}, {}, array.layout().offset});
    };
    const auto length = [this](std::int64_t value) {
      return number(
          {DType::i64, {WeakKind::integer, static_cast<std::uint64_t>(value), false, {}}});
    };
    Layout rows = x.layout();
    rows.shape[0] = 1;
    rows.strides[0] = 0;
    TapeProduct result{entries.columns, entries.block, entries.packets};
    result.value = leaf(first_of(entries.value), true);
    result.column = leaf(first_of(entries.column), true);
    if (entries.base) {
      result.base = leaf(first_of(*entries.base), true);
    }
    result.x = leaf(x.view(rows), true);
    if (entries.step != 1) {
      result.entry_step = length(entries.step);
    }
    if (x.strides()[0] != 1) {
      result.x_step = length(x.strides()[0]);
    }
    if (entries.columns == SparseEntries::Columns::diagonals) {
      result.x_count = length(x.shape()[0]);
    }
    auto& products = tape_.products;
    const auto known = std::find(products.begin(), products.end(), result);
    const auto place = static_cast<std::uint32_t>(known - products.begin());
    if (known == products.end()) {
      products.push_back(result);
    }
    return place;
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
  std::unordered_map<TapeStep, std::uint32_t, StepHash> steps_;  // of a tape that has many
  NodeNumbers place_;
};

}  // namespace

std::vector<NodePointer> separate_nodes(const std::vector<NodePointer>& roots, const Extents& shape,
                                        const KnownArrays& known,
                                        std::optional<runtime::StreamRef> stream) {
  std::vector<NodePointer> result;
  const auto is_product_alone = [&](const ExpressionNode& node) {
    return node.op == Op::sparse_product && !(stream && node.entries->suits_expressions(*stream));
  };
  const auto is_separate = [&](const ExpressionNode& node) {
    // places in C order are those of the kernel only when the shapes are the same
    return is_reduction(node.op) || is_product_alone(node) ||
           (node.op == Op::indices && !(node.shape == shape));
  };
  const auto add = [&](const NodePointer& node) {
    if (known.count(node.get()) == 0 &&
        std::find(result.begin(), result.end(), node) == result.end()) {
      result.push_back(node);
    }
  };
  walk(
      roots,
      [&](const ExpressionNode& node) {
        const bool is_whole =
            known.count(&node) != 0 || is_reduction(node.op) || is_product_alone(node);
        return is_whole ? 0 : operands_in_kernel(node);
      },
      [&](const NodePointer& node) {
        if (known.count(node.get()) != 0) {
          return;
        }
        if (is_separate(*node)) {
          add(node);
        } else if (node->op == Op::sparse_product &&
                   node->operands[operands_of_product]->op != Op::leaf) {
          add(node->operands[operands_of_product]);
        }
      });
  return result;
}

Tape make_tape(const std::vector<NodePointer>& roots, const Extents& shape,
               const KnownArrays& known) {
  TapeBuilder builder(shape, known);
  walk(
      roots,
      [&](const ExpressionNode& node) {
        return known.count(&node) == 0 ? operands_in_kernel(node) : 0;
      },
      [&](const NodePointer& node) { builder.add(node); });
  return builder.finish(roots);
}

}  // namespace rtcg::arrays::detail
