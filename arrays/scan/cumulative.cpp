#include "rtcg/arrays/scan/cumulative.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/planned_loops.h"
#include "rtcg/arrays/lazy/components.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/tape.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/tuned_executor.h"

namespace rtcg::arrays {
namespace {

using detail::ExpressionNode;
using detail::KnownArrays;
using detail::NodePointer;
using detail::ScanForm;

Op op_of(ScanOp op) {
  switch (op) {
    case ScanOp::sum:
      return Op::sum;
    case ScanOp::product:
      return Op::product;
    case ScanOp::min:
      return Op::min;
    case ScanOp::max:
      break;
  }
  return Op::max;
}

/// What is scanned, in the type of the result.
Expression operand_of(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  if (op == ScanOp::sum || op == ScanOp::product) {
    return detail::as(a, options.dtype.value_or(sum_type(a.dtype())));
  }
  const char* const name = op == ScanOp::min ? "cumulative_min" : "cumulative_max";
  if (is_vector(a.dtype())) {
    detail::refuse_vector(name, a.dtype());
  }
  if (is_complex(a.dtype())) {
    detail::refuse_dtype(name, a.dtype());
  }
  return a;
}

int axis_of(const Expression& a, const CumulativeOptions& options) {
  if (a.shape().empty() || (!options.axis && a.shape().size() != 1)) {
    throw InvalidInput("arrays.cumulative.axis",
                       fmt::format("running values of shape {} need an axis along which they run",
                                   to_string(a.shape())));
  }
  return checked_axis(options.axis.value_or(0), a.shape().size());
}

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

/// A scan of an expression as a kernel runs it: with few axes, its reductions are arrays.
struct Scan {
  NodePointer root;  ///< of numbers
  ScanForm form{};
  KnownArrays known{};
  detail::Tape tape{};
  runtime::StreamRef stream;
  detail::LoopOperands operands{};

  [[nodiscard]] LoopExpression loops() const {
    return detail::as_loop_kernel_of_scan(Expression(Replacement(known).of(root)), form);
  }
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

AnyArray values_of(const NodePointer& root) {
  return root->op == Op::leaf ? *root->array : evaluate(Expression(root));
}

void add_operands(Scan& scan) {
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

Scan scan_of(const Expression& operand, const ScanForm& form) {
  const NodePointer root =
      is_vector(operand.dtype()) ? detail::by_component(operand.node()) : operand.node();
  constexpr int most_row_axes = 2;  // the grid has three, and one may be that of the scan
  if (row_axes(root->shape, form.axis) > most_row_axes) {
    ScanForm of_flat = form;
    of_flat.axis = 1;
    return scan_of(with_three_axes(values_of(root), form.axis), of_flat);
  }
  Scan scan{root, form, {}, {}, current_stream(), {}};
  for (const NodePointer& node : detail::separate_nodes({root}, root->shape, {})) {
    scan.known.emplace(node.get(), evaluate(Expression(node)));
  }
  scan.tape = detail::make_tape({root}, root->shape, scan.known);
  if (!scan.tape.leaves.empty()) {
    scan.stream = current_stream(scan.tape.leaves.front().stream());
  }
  add_operands(scan);
  return scan;
}

Scan scan_of(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const Expression operand = operand_of(op, a, options);
  const ScanForm form{op_of(op), axis_of(a, options), options.is_exclusive, options.is_reverse};
  Scan scan = scan_of(operand, form);
  constexpr std::size_t most_steps = 200;
  return scan.tape.steps.size() > most_steps ? scan_of(values_of(scan.root), scan.form)
                                             : std::move(scan);
}

detail::LoopWishes wishes_of(const Scan& scan, const CumulativeOptions& options) {
  return {options.wisdom_path, options.is_reproducible ? "" : fmt::format("i{}", scan.form.axis)};
}

/// What two scans have in common that run the same kernel with the same arguments besides
/// addresses.
std::string key_of(const Scan& scan, const CumulativeOptions& options) {
  std::string key;
  const auto add = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const auto add_lengths = [&](const Extents& lengths) {
    for (const std::int64_t each : lengths) {
      add(each);
    }
  };
  add(&scan.stream.device().backend());
  add(scan.form.op);
  add(scan.form.axis);
  add(scan.form.is_exclusive);
  add(scan.form.is_reverse);
  add(scan.root->shape.size());
  add_lengths(scan.root->shape);
  add(scan.tape.roots.front());
  add(scan.tape.steps.size());
  for (const detail::TapeStep& step : scan.tape.steps) {
    add(step.op);
    add(step.dtype);
    add(step.operands);
  }
  for (const detail::TapeNumber& number : scan.tape.numbers) {
    add(number.dtype);
    if (is_floating(number.dtype)) {  // is an argument
      add(detail::place_of_number(scan.tape.numbers, number.dtype, number.value.value.real()));
    } else {
      add(number.value.kind);
      add(number.value.bits);
      add(number.value.value);
    }
  }
  for (const AnyArray& leaf : scan.tape.leaves) {
    const auto& storages = scan.operands.storages;
    add(leaf.dtype());
    add(std::find(storages.begin(), storages.end(), leaf.storage()) - storages.begin());
    add(leaf.layout().offset);
    add_lengths(leaf.strides());
  }
  for (const std::shared_ptr<Storage>& storage : scan.operands.storages) {
    add(storage->address() % detail::vector_bytes);
    add(storage->size_bytes());
  }
  add(options.is_reproducible);
  return key + options.wisdom_path;
}

struct ReadyScans {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const detail::ReadyLoops>> made;

  static ReadyScans& instance() {
    static ReadyScans& scans = *new ReadyScans;  // never destroyed: drivers may be unloaded first
    return scans;
  }
  std::shared_ptr<const detail::ReadyLoops> find(const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto found = made.find(key);
    return found == made.end() ? nullptr : found->second;
  }
  void add(const std::string& key, std::shared_ptr<const detail::ReadyLoops> ready) {
    constexpr std::size_t most_kept = 4096;  // each has its lengths
    const std::lock_guard lock(mutex);
    if (made.size() >= most_kept) {
      made.clear();
    }
    made.insert_or_assign(key, std::move(ready));
  }
  void forget() {
    const std::lock_guard lock(mutex);
    made.clear();
  }
};

/// The scan and its kernel; of what no loop kernel expresses, the scan of its values.
std::pair<Scan, LoopExpression> with_loops(Scan scan) {
  std::optional<LoopExpression> loops;
  try {
    loops = scan.loops();
  } catch (const Unsupported&) {
    if (scan.root->op == Op::leaf) {
      throw;
    }
    scan = scan_of(values_of(scan.root), scan.form);
    loops = scan.loops();
  }
  return {std::move(scan), std::move(*loops)};
}

void run(const Scan& scan, const AnyArray& out, const CumulativeOptions& options) {
  const std::string key = key_of(scan, options);
  ReadyScans& scans = ReadyScans::instance();
  if (const auto ready = scans.find(key)) {
    ready->run(scan.stream, scan.operands, out);
    return;
  }
  const auto [made, loops] = with_loops(scan);
  const auto ready = std::make_shared<const detail::ReadyLoops>(
      loops, out, made.operands, made.stream, wishes_of(made, options));
  ready->run(made.stream, made.operands, out);
  if (made.root == scan.root) {
    scans.add(key, ready);
  }
}

}  // namespace

AnyArray cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const Scan scan = scan_of(op, a, options);
  AnyArray out(operand_of(op, a, options).dtype(), a.shape(), scan.stream);
  if (out.count() != 0) {
    run(scan, out, options);
  }
  return out;
}

Expression diff(const AnyArray& a, std::int64_t axis) {
  const int along = checked_axis(axis, a.axes());
  std::vector<Index> later(static_cast<std::size_t>(a.axes()), Index(whole));
  std::vector<Index> earlier = later;
  later[static_cast<std::size_t>(along)] = Slice{1, {}};
  earlier[static_cast<std::size_t>(along)] = Slice{0, -1};
  return Expression(a.view(slice(a.layout(), later))) -
         Expression(a.view(slice(a.layout(), earlier)));
}

LoopExpression cumulative_as_loop_kernel(ScanOp op, const Expression& a,
                                         const CumulativeOptions& options) {
  return with_loops(scan_of(op, a, options)).second;
}

LoopPlan plan_cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options) {
  const auto [scan, loops] = with_loops(scan_of(op, a, options));
  const AnyArray out(loops.results[0].dtype, loops.results[0].shape, scan.stream);
  return detail::ReadyLoops(loops, out, scan.operands, scan.stream, wishes_of(scan, options))
      .plan();
}

LoopPlan tune_cumulative(ScanOp op, const Expression& a, const CumulativeOptions& options,
                         double budget_seconds) {
  const auto [scan, loops] = with_loops(scan_of(op, a, options));
  const runtime::Device device = scan.stream.device();
  loopy::TuneOptions tuning;
  tuning.constraints = detail::loop_constraints(loops.sizes, device);
  tuning.budget_seconds = budget_seconds;
  static_cast<void>(
      loopy::tuned_executor(loops.kernel, device, tuning, loopy::Wisdom(options.wisdom_path)));
  detail::forget_planned_loops();
  ReadyScans::instance().forget();
  return plan_cumulative(op, a, options);
}

}  // namespace rtcg::arrays
