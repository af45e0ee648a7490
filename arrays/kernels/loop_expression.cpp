#include "rtcg/arrays/kernels/loop_expression.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/loop_scan.h"
#include "rtcg/arrays/lazy/components.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"

namespace rtcg::arrays {
namespace {

using loopy::Expr;
using Index = detail::LoopKernelMaker::Index;

Expr index_at(const Index& index, int axis) {
  return index[static_cast<std::size_t>(axis)];
}

/// The axes along which the elements of an array differ, from the one with the longest steps on.
struct View {
  std::vector<int> axes{};
  std::vector<std::int64_t> steps{};    ///< without signs
  std::vector<std::int64_t> lengths{};  ///< of the axes
  std::vector<std::int64_t> begin{};  ///< the first element's place in the memory, along each axis
  std::int64_t rest = 0;              ///< of that place, in elements
  bool is_forward = true;             ///< no step is negative

  explicit View(const Layout& layout) : rest(layout.offset) {
    for (int axis = 0; axis < layout.axes(); ++axis) {
      if (layout.strides[axis] != 0 && layout.shape[axis] != 1) {
        axes.push_back(axis);
        is_forward = is_forward && layout.strides[axis] > 0;
      }
    }
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
      return std::abs(layout.strides[a]) > std::abs(layout.strides[b]);
    });
    for (const int axis : axes) {
      steps.push_back(std::abs(layout.strides[axis]));
      lengths.push_back(layout.shape[axis]);
      begin.push_back(rest / steps.back());
      rest %= steps.back();
    }
  }
};

/// An array of the kernel: an array of the expression, or overlapping views of one array that
/// differ in where they begin, such as the neighbours in a stencil.
struct Operand {
  AnyArray array;
  View view;
  std::vector<std::int64_t> lowest = view.begin;
  std::vector<std::int64_t> highest = view.begin;

  explicit Operand(const AnyArray& given) : array(given), view(given.layout()) {}

  [[nodiscard]] bool takes(const AnyArray& other, const View& its) const {
    if (array.storage() != other.storage() || array.dtype() != other.dtype()) {
      return false;
    }
    if (!view.is_forward || !its.is_forward) {
      return array.layout() == other.layout();
    }
    bool result = view.rest == its.rest && view.steps == its.steps && view.lengths == its.lengths;
    for (std::size_t i = 0; result && i < its.begin.size(); ++i) {
      result = std::abs(view.begin[i] - its.begin[i]) < its.lengths[i];
    }
    return result;
  }
  void widen(const View& its) {
    for (std::size_t i = 0; view.is_forward && i < its.begin.size(); ++i) {
      lowest[i] = std::min(lowest[i], its.begin[i]);
      highest[i] = std::max(highest[i], its.begin[i]);
    }
  }
  /// All elements of the views.
  [[nodiscard]] AnyArray whole() const {
    if (lowest == highest) {
      return array;
    }
    Layout layout{{}, {}, view.rest};
    for (std::size_t i = 0; i < lowest.size(); ++i) {
      layout.shape.push_back(view.lengths[i] + highest[i] - lowest[i]);
      layout.strides.push_back(view.steps[i]);
      layout.offset += lowest[i] * view.steps[i];
    }
    return {array.dtype(), layout, array.storage()};
  }
  [[nodiscard]] bool is_in_c_order() const {
    std::int64_t step = 1;
    bool result = true;
    for (std::size_t i = lowest.size(); i-- > 0;) {
      result = result && view.steps[i] == step;
      step *= view.lengths[i] + highest[i] - lowest[i];
    }
    return result;
  }
};

class Maker {
 public:
  /// @param scan  of a kernel of running values of one expression
  explicit Maker(const std::vector<Expression>& expressions,
                 const std::optional<detail::ScanForm>& scan = {})
      : scan_(scan) {
    for (const Expression& each : expressions) {
      roots_.push_back(is_vector(each.dtype()) ? detail::by_component(each.node()) : each.node());
      const std::string name =
          expressions.size() == 1 ? "out" : fmt::format("out{}", result_.results.size());
      result_.results.push_back({name, each.dtype(), each.shape()});
    }
    if (roots_.empty()) {
      detail::refuse_loop("it has no expressions");
    }
  }

  LoopExpression run() {
    detail::LoopKernelMaker::Options options;
    options.has_distinct_arrays = true;
    if (scan_) {
      options.number = [this](const detail::NumberValue& number, DType dtype) {
        return argument_for(number.value.real(), dtype);
      };
    }
    detail::LoopKernelMaker maker(
        "expression",
        [this](const detail::ExpressionNode& leaf, const Index& index,
               const std::optional<Expr>& further) { return read(leaf, index, further); },
        [this](std::int64_t value) { return length(value); }, std::move(options));
    find_operands();
    std::vector<std::vector<Expr>> shapes;
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      shapes.push_back(assign(maker, *roots_[i], result_.results[i].name));
    }
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      add_operand(maker, i);
    }
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      maker.add_array(result_.results[i].name, roots_[i]->dtype, std::move(shapes[i]));
    }
    for (const auto& [value, name] : lengths_) {
      result_.sizes.emplace(name, value);
    }
    for (const auto& [name, value] : result_.sizes) {
      maker.add_number(name, size_type(value), 1);
    }
    for (const auto& [value, name] : steps_) {
      result_.sizes.emplace(name, value);
      maker.add_number(name, size_type(value), 2);
      maker.assume_multiple(name, value % 4 == 0 ? 4 : value % 2 == 0 ? 2 : 1);
    }
    for (const auto& [value, name] : places_) {
      result_.sizes.emplace(name, value);
      maker.add_number(name, size_type(value), 0);
    }
    for (const LoopExpression::Number& number : result_.numbers) {
      maker.add_number(number.name, value_type(number.dtype));
    }
    result_.kernel = maker.finish();
    return std::move(result_);
  }

 private:
  /// Adds the statement that sets an array to the values of a root. @returns  the array's shape
  std::vector<Expr> assign(detail::LoopKernelMaker& maker, const detail::ExpressionNode& root,
                           const std::string& array) {
    Index index;
    std::vector<Expr> shape;
    for (int axis = 0; axis < root.shape.size(); ++axis) {
      const std::int64_t count = root.shape[axis];
      const bool has_loop = count != 1 || (scan_ && scan_->axis == axis);
      shape.push_back(length(count));
      index.push_back(has_loop ? Expr(loopy::Name{loop_over(maker, axis, count)}) : Expr(0));
    }
    if (scan_) {
      assign_scan(maker, root, array, index, shape);
      return shape;
    }
    const bool is_number = index.empty();
    maker.assign(loopy::access(array, is_number ? Index{0} : index), root.dtype, root, index);
    return is_number ? std::vector<Expr>{1} : shape;
  }

  /// The iname of the results' axis of that number and length.
  const std::string& loop_over(detail::LoopKernelMaker& maker, int axis, std::int64_t count) {
    const auto [found, is_new] = loops_.try_emplace({axis, count});
    if (is_new) {
      const auto before = std::count_if(loops_.begin(), loops_.end(),
                                        [&](const auto& each) { return each.first.first == axis; });
      found->second = before == 1 ? fmt::format("i{}", axis) : fmt::format("i{}_{}", axis, before);
      maker.add_loop(found->second, length(count));
    }
    return found->second;
  }

  /// @param index  of the loops
  void assign_scan(detail::LoopKernelMaker& maker, const detail::ExpressionNode& root,
                   const std::string& array, const Index& index, const std::vector<Expr>& shape) {
    const auto axis = static_cast<std::size_t>(scan_->axis);
    const std::string scanned = "j";
    maker.add_loop_of_scan(scanned, get_if<loopy::Name>(index[axis])->name, scan_->is_exclusive);
    const auto place = [&](const Expr& here) {
      return scan_->is_reverse ? shape[axis] - 1 - here : here;
    };
    Index target = index;
    Index operand = index;
    target[axis] = place(index[axis]);
    operand[axis] = place(loopy::Name{scanned});
    maker.assign_scan(loopy::access(array, target), scan_->op, root, scanned, operand, index);
  }

  Expr length(std::int64_t value) {
    if (value == 0) {
      detail::refuse_loop("it has no elements");
    }
    if (value == 1) {
      return value;
    }
    const auto [found, is_new] = lengths_.emplace(value, fmt::format("n{}", lengths_.size()));
    return loopy::Name{found->second};
  }

  static cgen::Type size_type(std::int64_t value) {
    return value > INT32_MAX ? cgen::i64 : cgen::i32;
  }

  /// A step in memory, in elements: a parameter, so that one kernel is for all layouts.
  Expr step(std::int64_t value) {
    if (value == 0 || value == 1) {
      return value;
    }
    if (value < 0) {
      return -step(-value);
    }
    return loopy::Name{steps_.emplace(value, fmt::format("s{}", steps_.size())).first->second};
  }

  /// Where in its memory an array begins, in elements.
  Expr place(std::int64_t value) {
    if (value == 0) {
      return 0;
    }
    return loopy::Name{places_.emplace(value, fmt::format("p{}", places_.size())).first->second};
  }

  Expr argument_for(double value, DType dtype) {
    auto& numbers = result_.numbers;
    auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& each) {
      return each.dtype == dtype && std::memcmp(&each.value, &value, sizeof value) == 0;
    });
    if (found == numbers.end()) {
      found = numbers.insert(found, {fmt::format("x{}", numbers.size()), dtype, value});
    }
    return loopy::Name{found->name};
  }

  std::size_t number_of(const AnyArray& array) {
    const View view(array.layout());
    const auto found = std::find_if(operands_.begin(), operands_.end(),
                                    [&](const Operand& each) { return each.takes(array, view); });
    const auto number = static_cast<std::size_t>(found - operands_.begin());
    if (found == operands_.end()) {
      operands_.emplace_back(array);
    }
    operands_[number].widen(view);
    return number;
  }

  /// Finds the arrays, before the first one is read: where an array begins depends on all views.
  void find_operands() {
    std::vector<const detail::ExpressionNode*> pending;
    for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {
      pending.push_back(root->get());
    }
    std::set<const detail::ExpressionNode*> seen;
    while (!pending.empty()) {
      const detail::ExpressionNode& node = *pending.back();
      pending.pop_back();
      if (node.op == Op::leaf && node.array->count() != 0) {
        static_cast<void>(number_of(*node.array));
      }
      for (int i = 2; i >= 0; --i) {
        if (node.operands[i] && seen.insert(node.operands[i].get()).second) {
          pending.push_back(node.operands[i].get());
        }
      }
    }
  }

  Expr read(const detail::ExpressionNode& leaf, const Index& index,
            const std::optional<Expr>& further) {
    if (leaf.op == Op::argument) {
      detail::refuse_argument(leaf);
    }
    const Layout& layout = leaf.array->layout();
    if (further) {  // any element of its memory
      const auto& storage = leaf.array->storage();
      const auto count = static_cast<std::int64_t>(storage->size_bytes() / size_bytes(leaf.dtype));
      const std::size_t number = number_of(AnyArray(leaf.dtype, make_layout({count}), storage));
      Expr element = place(layout.offset);
      for (int axis = 0; axis < layout.axes(); ++axis) {
        element = element + index_at(index, axis) * step(layout.strides[axis]);
      }
      return loopy::LinearAccess{fmt::format("in{}", number), element + *further};
    }
    const std::size_t number = number_of(*leaf.array);
    const View view(layout);
    Index own;
    for (std::size_t i = 0; i < view.axes.size(); ++i) {
      const Expr here = index_at(index, view.axes[i]);
      own.push_back(layout.strides[view.axes[i]] > 0
                        ? here + (view.begin[i] - operands_[number].lowest[i])
                        : length(view.lengths[i]) - 1 - here);
    }
    return loopy::access(fmt::format("in{}", number), own.empty() ? Index{0} : own);
  }

  void add_operand(detail::LoopKernelMaker& maker, std::size_t number) {
    const Operand& operand = operands_[number];
    std::vector<Expr> shape;
    std::vector<Expr> strides;
    for (std::size_t i = 0; i < operand.lowest.size(); ++i) {
      shape.push_back(length(operand.view.lengths[i]) + (operand.highest[i] - operand.lowest[i]));
      if (!operand.is_in_c_order()) {
        strides.push_back(step(operand.view.steps[i]));
      }
    }
    if (shape.empty()) {
      shape.emplace_back(1);
    }
    const std::string name = fmt::format("in{}", number);
    maker.add_array(name, operand.array.dtype(), std::move(shape), std::move(strides));
    result_.arrays.emplace_back(name, operand.whole());
  }

  std::vector<detail::NodePointer> roots_;
  std::optional<detail::ScanForm> scan_;
  LoopExpression result_;
  std::map<std::pair<int, std::int64_t>, std::string> loops_;  // by axis and length
  std::vector<Operand> operands_;
  std::map<std::int64_t, std::string> lengths_;
  std::map<std::int64_t, std::string> steps_;
  std::map<std::int64_t, std::string> places_;
};

}  // namespace

loopy::NamedArgument detail::loop_argument(const std::string& name, const AnyArray& array,
                                           runtime::StreamRef stream) {
  const cgen::Type type = loop_type(array.dtype());
  const Reach reach = reach_of(array.layout()).value_or(Reach{});
  array.storage()->use_on(stream);
  return {name, loopy::NamedArgument::Array{
                    array.device(),
                    array.storage()->address() +
                        static_cast<std::uint64_t>(reach.first) * size_bytes(array.dtype()),
                    static_cast<std::size_t>(reach.last - reach.first + 1),
                    *cgen::scalar_kind(loopy::number_type(type)),
                    {},
                    loopy::numbers_in(type)}};
}

std::vector<loopy::NamedArgument> LoopExpression::arguments(const loopy::Kernel& kernel,
                                                            const std::vector<AnyArray>& into,
                                                            runtime::StreamRef stream) const {
  if (into.size() != results.size()) {
    throw InvalidInput("arrays.loop_expression.result_count",
                       fmt::format("kernel '{}' writes {} arrays, and {} were given", kernel.name,
                                   results.size(), into.size()));
  }
  std::vector<loopy::NamedArgument> result;
  for (const auto& [name, array] : arrays) {
    result.push_back(detail::loop_argument(name, array, stream));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const AnyArray& out = into[i];
    result.push_back(detail::loop_argument(
        results[i].name, is_vector(out.dtype()) ? out.components() : out, stream));
  }
  for (const Number& number : numbers) {
    result.push_back(loopy::arg(number.name, number.value));
  }
  for (const auto& [name, value] : sizes) {
    if (find_argument(kernel, name) != nullptr) {  // otherwise the kernel has it as a constant
      result.push_back(loopy::arg(name, value));
    }
  }
  return result;
}

std::vector<AnyArray> LoopExpression::run_all(const loopy::Kernel& transformed) const {
  const runtime::StreamRef stream =
      arrays.empty() ? current_stream() : current_stream(arrays[0].second.stream());
  std::vector<AnyArray> into;
  bool has_elements = false;
  for (const Result& each : results) {
    into.emplace_back(each.dtype, each.shape, stream);
    has_elements = has_elements || element_count(each.shape) != 0;
  }
  if (has_elements) {
    const loopy::Executor executor(transformed, stream.device());
    executor(stream, arguments(transformed, into, stream));
  }
  return into;
}

AnyArray LoopExpression::run(const loopy::Kernel& transformed) const {
  return run_all(transformed).at(0);
}

LoopExpression as_loop_kernel(const Expression& expression) {
  return Maker({expression}).run();
}

LoopExpression as_loop_kernel(const std::vector<Expression>& expressions) {
  return Maker(expressions).run();
}

LoopExpression detail::as_loop_kernel_of_scan(const Expression& operand, const ScanForm& scan) {
  return Maker({operand}, scan).run();
}

}  // namespace rtcg::arrays
