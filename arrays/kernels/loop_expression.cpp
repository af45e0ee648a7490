#include "rtcg/arrays/kernels/loop_expression.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/lazy/components.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/loopy/analyze/type_of.h"

namespace rtcg::arrays {
namespace {

using loopy::Expr;
using Index = detail::LoopKernelMaker::Index;

Expr index_at(const Index& index, int axis) {
  return index[static_cast<std::size_t>(axis)];
}

/// An array as the kernel sees it: the axes along which its elements differ, from the one with the
/// longest steps on, and the address of the lowest element.
struct Operand {
  AnyArray array;
  std::vector<int> axes{};
  bool is_in_c_order = true;

  explicit Operand(AnyArray given) : array(std::move(given)) {
    const Layout& layout = array.layout();
    for (int axis = 0; axis < layout.axes(); ++axis) {
      if (layout.strides[axis] != 0 && layout.shape[axis] != 1) {
        axes.push_back(axis);
      }
    }
    std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) {
      return std::abs(layout.strides[a]) > std::abs(layout.strides[b]);
    });
    std::int64_t step = 1;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      is_in_c_order = is_in_c_order && std::abs(layout.strides[*axis]) == step;
      step *= layout.shape[*axis];
    }
  }
  [[nodiscard]] bool is_same_as(const AnyArray& other) const {
    return array.storage() == other.storage() && array.layout() == other.layout() &&
           array.dtype() == other.dtype();
  }
};

class Maker {
 public:
  explicit Maker(const Expression& expression)
      : root_(is_vector(expression.dtype()) ? detail::by_component(expression.node())
                                            : expression.node()) {
    result_.dtype = expression.dtype();
    result_.shape = expression.shape();
  }

  LoopExpression run() {
    detail::LoopKernelMaker maker(
        "expression",
        [this](const detail::ExpressionNode& leaf, const Index& index,
               const std::optional<Expr>& further) { return read(leaf, index, further); },
        [this](std::int64_t value) { return length(value); });
    Index index;
    std::vector<Expr> shape;
    for (const std::int64_t each : root_->shape) {
      shape.push_back(length(each));
      index.push_back(each == 1 ? Expr(0) : Expr(loopy::Name{fmt::format("i{}", index.size())}));
      if (each != 1) {
        maker.add_loop(get_if<loopy::Name>(index.back())->name, shape.back());
      }
    }
    const bool is_number = index.empty();
    maker.assign(loopy::access("out", is_number ? Index{0} : index), root_->dtype, *root_, index);
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      add_operand(maker, i);
    }
    maker.add_array("out", root_->dtype, is_number ? std::vector<Expr>{1} : shape);
    for (const auto& [value, name] : lengths_) {
      result_.sizes.emplace(name, value);
    }
    for (const auto& [name, value] : result_.sizes) {
      maker.add_number(name, value > INT32_MAX ? cgen::i64 : cgen::i32, 1);
    }
    result_.kernel = maker.finish();
    return std::move(result_);
  }

 private:
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

  std::size_t number_of(const AnyArray& array) {
    const auto found = std::find_if(operands_.begin(), operands_.end(),
                                    [&](const Operand& each) { return each.is_same_as(array); });
    const auto number = static_cast<std::size_t>(found - operands_.begin());
    if (found == operands_.end()) {
      operands_.emplace_back(array);
    }
    return number;
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
      Expr place = layout.offset;
      for (int axis = 0; axis < layout.axes(); ++axis) {
        place = place + index_at(index, axis) * layout.strides[axis];
      }
      return loopy::LinearAccess{fmt::format("in{}", number), place + *further};
    }
    const std::size_t number = number_of(*leaf.array);
    Index own;
    for (const int axis : operands_[number].axes) {
      own.push_back(layout.strides[axis] > 0
                        ? index_at(index, axis)
                        : length(layout.shape[axis]) - 1 - index_at(index, axis));
    }
    return loopy::access(fmt::format("in{}", number), own.empty() ? Index{0} : own);
  }

  void add_operand(detail::LoopKernelMaker& maker, std::size_t number) {
    const Operand& operand = operands_[number];
    const Layout& layout = operand.array.layout();
    std::vector<Expr> shape;
    std::vector<Expr> strides;
    for (const int axis : operand.axes) {
      shape.push_back(length(layout.shape[axis]));
      if (!operand.is_in_c_order) {
        strides.emplace_back(std::abs(layout.strides[axis]));
      }
    }
    if (shape.empty()) {
      shape.emplace_back(1);
    }
    const std::string name = fmt::format("in{}", number);
    maker.add_array(name, operand.array.dtype(), std::move(shape), std::move(strides));
    result_.arrays.emplace_back(name, operand.array);
  }

  detail::NodePointer root_;
  LoopExpression result_;
  std::vector<Operand> operands_;
  std::map<std::int64_t, std::string> lengths_;
};

/// The memory from the lowest to the highest element of the array.
loopy::NamedArgument argument_of(const std::string& name, const AnyArray& array,
                                 runtime::StreamRef stream) {
  const cgen::Type type = detail::loop_type(array.dtype());
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

}  // namespace

std::vector<loopy::NamedArgument> LoopExpression::arguments(const loopy::Kernel& kernel,
                                                            const AnyArray& out,
                                                            runtime::StreamRef stream) const {
  std::vector<loopy::NamedArgument> result;
  for (const auto& [name, array] : arrays) {
    result.push_back(argument_of(name, array, stream));
  }
  result.push_back(argument_of("out", is_vector(out.dtype()) ? out.components() : out, stream));
  for (const auto& [name, value] : sizes) {
    if (find_argument(kernel, name) != nullptr) {  // otherwise the kernel has it as a constant
      result.push_back(loopy::arg(name, value));
    }
  }
  return result;
}

AnyArray LoopExpression::run(const loopy::Kernel& transformed) const {
  const runtime::StreamRef stream =
      arrays.empty() ? current_stream() : current_stream(arrays[0].second.stream());
  AnyArray out(dtype, shape, stream);
  if (element_count(shape) != 0) {
    const loopy::Executor executor(transformed, stream.device());
    executor(stream, arguments(transformed, out, stream));
  }
  return out;
}

LoopExpression as_loop_kernel(const Expression& expression) {
  return Maker(expression).run();
}

}  // namespace rtcg::arrays
