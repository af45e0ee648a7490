#include "rtcg/arrays/lazy/evaluate.h"

#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/lazy/components.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/prepared_launch.h"
#include "rtcg/arrays/lazy/run.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::ExpressionNode;
using detail::KnownArrays;
using detail::NodePointer;
using detail::Tape;

/// Byte addresses of the first element and of the end of the last one.
struct Span {
  runtime::DeviceAddress begin = 0;
  runtime::DeviceAddress end = 0;
};

Span span_of(const AnyArray& array) {
  const auto reach = reach_of(array.layout());
  if (!reach) {
    return {};
  }
  const auto at = [&](std::int64_t element) {
    return array.storage()->address() +
           static_cast<std::uint64_t>(element) * size_bytes(array.dtype());
  };
  return {at(reach->first), at(reach->last + 1)};
}

/// Whether writing an element of `target` may change an element of `leaf` that is still to be read
/// for another.
bool is_disturbed_by(const AnyArray& leaf, bool is_gathered, const AnyArray& target) {
  if (is_gathered) {
    return leaf.storage() == target.storage();
  }
  const Span read = span_of(leaf);
  const Span written = span_of(target);
  if (read.begin >= written.end || written.begin >= read.end) {
    return false;
  }
  return leaf.address() != target.address() || !(leaf.strides() == target.strides()) ||
         size_bytes(leaf.dtype()) != size_bytes(target.dtype());
}

class Evaluation {
 public:
  explicit Evaluation(runtime::StreamRef stream, detail::LaunchRecord* record = nullptr)
      : stream_(stream), record_(record) {}

  /// Computes all roots, each into its target.
  void run(const std::vector<NodePointer>& roots, const Extents& shape,
           const std::vector<AnyArray>& targets) {
    if (roots.size() == 1 && is_reduction(roots[0]->op) && roots[0]->dtype == targets[0].dtype() &&
        roots[0]->shape == shape && known_.count(roots[0].get()) == 0) {
      run_reduction(*roots[0], targets[0]);
      return;
    }
    if (roots.size() == 1 && roots[0]->op == Op::sparse_product && roots[0]->shape == shape &&
        roots[0]->dtype == targets[0].dtype() && known_.count(roots[0].get()) == 0) {
      run_product(*roots[0], targets[0]);
      return;
    }
    run_in_kernel(roots, shape, targets);
  }

  /// The same by one kernel for all of what needs none of its own.
  void run_in_kernel(const std::vector<NodePointer>& roots, const Extents& shape,
                     const std::vector<AnyArray>& targets) {
    run_separate(roots, shape);
    const Tape tape = checked(detail::make_tape(roots, shape, known_));
    std::vector<AnyArray> written = targets;
    for (AnyArray& target : written) {
      for (std::size_t i = 0; i < tape.leaves.size(); ++i) {
        if (is_disturbed_by(tape.leaves[i], tape.is_gathered[i], target)) {
          target = AnyArray(target.dtype(), target.shape(), stream_);
          break;
        }
      }
    }
    detail::run_elementwise(stream_, tape, shape, written, {.record = record_});
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (written[i].storage() != targets[i].storage()) {
        run({Expression(written[i]).node()}, shape, {targets[i]});
      }
    }
  }

  /// Writes `value` to the elements of the target that are `further` elements after those at each
  /// index.
  void run_scatter(const Expression& value, const Expression& further, const AnyArray& target) {
    const std::vector<NodePointer> roots = {value.node(), further.node()};
    run_separate(roots, target.shape());
    const Tape tape = checked(detail::make_tape(roots, target.shape(), known_));
    for (const AnyArray& leaf : tape.leaves) {
      if (leaf.storage() == target.storage()) {
        // what is read must not have been written
        const std::vector<AnyArray> copies = {AnyArray(target.dtype(), target.shape(), stream_),
                                              AnyArray(DType::i64, target.shape(), stream_)};
        detail::run_elementwise(stream_, tape, target.shape(), copies);
        Evaluation(stream_).run_scatter(copies[0], copies[1], target);
        return;
      }
    }
    detail::run_elementwise(stream_, tape, target.shape(), {target}, {.scatters = true});
  }

 private:
  void run_separate(const std::vector<NodePointer>& roots, const Extents& shape) {
    for (const NodePointer& node : detail::separate_nodes(roots, shape, known_, stream_)) {
      detail::record_memory_of_its_own(record_);
      known_.emplace(node.get(), value_of(node));
    }
  }

  /// A product with a sparse matrix that is all there is to compute, by its own kernel.
  void run_product(const ExpressionNode& node, const AnyArray& target) {
    detail::record_memory_of_its_own(record_);
    const NodePointer& operand = node.operands[2];
    const AnyArray given = operand->op == Op::leaf ? *operand->array : value_of(operand);
    require_device(given);
    require_device(node.entries->value);
    const AnyArray x = given.contiguous();
    const Span read = span_of(x);
    const Span written = span_of(target);
    const bool is_disturbed = read.begin < written.end && written.begin < read.end;
    if (is_disturbed || !target.layout().is_contiguous()) {
      const AnyArray result(target.dtype(), target.shape(), stream_);
      node.entries->multiply_into(stream_, x, result);
      run({Expression(result).node()}, target.shape(), {target});
    } else {
      node.entries->multiply_into(stream_, x, target);
    }
  }

  AnyArray value_of(const NodePointer& node) {
    AnyArray result(node->dtype, node->shape, stream_);
    run({node}, node->shape, {result});
    return result;
  }

  void run_reduction(const ExpressionNode& node, const AnyArray& target) {
    const std::vector<NodePointer> roots = {node.operands[0]};
    const Extents& shape = node.operands[0]->shape;
    run_separate(roots, shape);
    Tape tape = checked(detail::make_tape(roots, shape, known_));
    // places in C order are known where all axes are reduced, one after the other
    if (tape.uses_indices && node.axes.size() != shape.size()) {
      detail::record_memory_of_its_own(record_);
      AnyArray values(roots[0]->dtype, shape, stream_);
      detail::run_elementwise(stream_, tape, shape, {values}, {.record = record_});
      tape = detail::make_tape({Expression(values).node()}, shape, {});
    }
    bool is_disturbed = false;
    for (std::size_t i = 0; i < tape.leaves.size(); ++i) {
      const AnyArray& leaf = tape.leaves[i];
      const Span read = span_of(leaf);
      const Span written = span_of(target);
      is_disturbed = is_disturbed || (read.begin < written.end && written.begin < read.end) ||
                     (tape.is_gathered[i] && leaf.storage() == target.storage());
    }
    if (is_disturbed) {
      const AnyArray result(target.dtype(), target.shape(), stream_);
      detail::run_reduction(stream_, tape, shape, node, result, record_);
      run({Expression(result).node()}, target.shape(), {target});
    } else {
      detail::run_reduction(stream_, tape, shape, node, target, record_);
    }
  }

  [[nodiscard]] Tape checked(Tape tape) const {
    for (const AnyArray& leaf : tape.leaves) {
      require_device(leaf);
    }
    return tape;
  }

  void require_device(const AnyArray& leaf) const {
    if (!(leaf.device() == stream_.device())) {
      throw InvalidInput(
          "arrays.evaluate.mixed_devices",
          fmt::format("an expression has arrays on {} and on {}: copy one with copy_to()",
                      runtime::to_string(stream_.device().info().id),
                      runtime::to_string(leaf.device().info().id)));
    }
  }

  runtime::StreamRef stream_;
  detail::LaunchRecord* record_;
  KnownArrays known_;
};

/// Keeps the launch that the record is of, so that the next one like it needs no planning.
void prepare(const ExpressionNode& root, runtime::StreamRef stream, const AnyArray& target,
             detail::LaunchRecord record) {
  if (record.launches != 1) {
    return;
  }
  auto made = std::make_unique<const detail::PreparedLaunch>(detail::PreparedLaunch{
      stream, target.address(), target.dtype(), target.layout(), record.kernel,
      std::move(record.shape), std::move(record.arguments), std::move(record.leaves)});
  const detail::PreparedLaunch* nobody = nullptr;
  if (root.prepared.compare_exchange_strong(nobody, made.get())) {
    static_cast<void>(made.release());  // the node's from now on
  }
}

/// Launches what was prepared for this target, if anything was.
bool run_prepared(runtime::StreamRef stream, const ExpressionNode& root, const AnyArray& target) {
  const detail::PreparedLaunch* prepared = root.prepared.load(std::memory_order_acquire);
  if (prepared == nullptr || !prepared->fits(stream, target)) {
    return false;
  }
  prepared->run(target);
  return true;
}

/// Computes it into the target, whose shape it has.
void run_one(runtime::StreamRef stream, const NodePointer& root, const AnyArray& target) {
  detail::LaunchRecord record;
  const bool is_first = !root->has_run.exchange(true, std::memory_order_relaxed);
  const bool has_one = root->prepared.load(std::memory_order_relaxed) != nullptr;
  Evaluation evaluation(stream, is_first || has_one ? nullptr : &record);
  if (is_vector(target.dtype())) {
    const AnyArray components = target.components();
    evaluation.run({detail::by_component(root)}, components.shape(), {components});
  } else {
    evaluation.run({root}, target.shape(), {target});
  }
  prepare(*root, stream, target, std::move(record));
}

/// The stream of the first array in the expression, if any.
std::optional<runtime::StreamRef> stream_of(const NodePointer& root) {
  std::vector<const ExpressionNode*> pending = {root.get()};
  std::set<const ExpressionNode*> seen;
  while (!pending.empty()) {
    const ExpressionNode* node = pending.back();
    pending.pop_back();
    if (node->array) {
      return node->array->stream();
    }
    if (node->entries) {
      return node->entries->value.stream();
    }
    for (int i = 2; i >= 0; --i) {
      if (node->operands[i] && seen.insert(node->operands[i].get()).second) {
        pending.push_back(node->operands[i].get());
      }
    }
  }
  return std::nullopt;
}

runtime::StreamRef stream_for(const std::vector<Expression>& expressions) {
  for (const Expression& expression : expressions) {
    if (const auto stream = stream_of(expression.node())) {
      return current_stream(*stream);
    }
  }
  return current_stream();
}

}  // namespace

AnyArray evaluate(const Expression& expression) {
  return evaluate_all({expression})[0];
}

std::vector<AnyArray> evaluate_all(const std::vector<Expression>& expressions) {
  std::vector<AnyArray> targets;
  std::vector<NodePointer> roots;
  bool has_vectors = false;
  if (expressions.empty()) {
    return targets;
  }
  const runtime::StreamRef stream = stream_for(expressions);
  const Extents shape = expressions[0].shape();
  for (const Expression& expression : expressions) {
    if (!(expression.shape() == shape)) {
      throw InvalidInput("arrays.evaluate.mixed_shapes",
                         fmt::format("one kernel computes expressions of one shape; these have {} "
                                     "and {}",
                                     to_string(shape), to_string(expression.shape())));
    }
    targets.emplace_back(expression.dtype(), shape, stream);
    roots.push_back(expression.node());
    has_vectors = has_vectors || is_vector(expression.dtype());
  }
  if (!has_vectors) {
    Evaluation(stream).run(roots, shape, targets);
    return targets;
  }
  for (std::size_t k = 0; k < roots.size(); ++k) {  // each writes an element for each component
    run_one(stream, roots[k], targets[k]);
  }
  return targets;
}

void scatter(const Expression& value, const Expression& further, const AnyArray& target) {
  if (!is_integer(further.dtype())) {
    detail::refuse_dtype("scatter", further.dtype());
  }
  const Expression values = broadcast_to(detail::fitted(value, target.dtype()), target.shape());
  const Expression places = broadcast_to(cast(further, DType::i64), target.shape());
  const runtime::StreamRef stream = current_stream(target.stream());
  if (is_vector(target.dtype())) {
    const AnyArray components = target.components();
    const Expression first(detail::by_component((places * lanes_of(target.dtype())).node()));
    Evaluation(stream).run_scatter(Expression(detail::by_component(values.node())),
                                   broadcast_to(first, components.shape()), components);
  } else {
    Evaluation(stream).run_scatter(values, places, target);
  }
}

namespace {

/// The expression as an element of the target is.
Expression value_for(const AnyArray& target, const Expression& expression) {
  if (may_repeat_elements(target.layout())) {
    throw InvalidInput("arrays.assign.repeated_elements",
                       fmt::format("an array of shape {} with strides {} has elements at several "
                                   "indices at once: copy it before it is written",
                                   to_string(target.shape()), to_string(target.strides())));
  }
  return broadcast_to(detail::fitted(expression, target.dtype()), target.shape());
}

}  // namespace

void evaluate_into(const Expression& expression, const AnyArray& target) {
  const runtime::StreamRef stream = current_stream(target.stream());
  if (!run_prepared(stream, *expression.node(), target)) {
    run_one(stream, value_for(target, expression).node(), target);
  }
}

void detail::evaluate_in_kernel(runtime::StreamRef stream, const Expression& expression,
                                const AnyArray& target) {
  Evaluation(stream).run_in_kernel({expression.node()}, target.shape(), {target});
}

void evaluate_all_into(const std::vector<Expression>& expressions,
                       const std::vector<AnyArray>& targets) {
  std::vector<NodePointer> roots;
  bool has_vectors = false;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    if (!(targets[k].shape() == targets[0].shape())) {
      throw InvalidInput("arrays.evaluate.mixed_shapes",
                         fmt::format("one kernel writes arrays of one shape; these have {} and {}",
                                     to_string(targets[0].shape()), to_string(targets[k].shape())));
    }
    roots.push_back(value_for(targets[k], expressions[k]).node());
    has_vectors = has_vectors || is_vector(targets[k].dtype());
  }
  if (targets.size() == 1) {
    run_one(current_stream(targets[0].stream()), roots[0], targets[0]);
  } else if (has_vectors) {
    const std::vector<AnyArray> copies = evaluate_all(expressions);
    for (std::size_t k = 0; k < targets.size(); ++k) {
      targets[k].assign(copies[k]);
    }
  } else if (!targets.empty()) {
    Evaluation(current_stream(targets[0].stream())).run(roots, targets[0].shape(), targets);
  }
}

}  // namespace rtcg::arrays
