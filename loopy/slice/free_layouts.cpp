#include "rtcg/loopy/slice/free_layouts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_ways = 8;
constexpr std::size_t most_combinations = 16;
/// What rows are made to begin at multiples of: a line of the caches.
constexpr std::int64_t line_bytes = 128;
/// Of the fastest varying of many axes.
constexpr std::size_t most_turned_axes = 4;

class WaysOfArray {
 public:
  WaysOfArray(const Kernel& kernel, const Argument& argument, const IntegerValues& parameters)
      : kernel_(kernel), argument_(argument), element_bytes_(size_bytes(*argument.type)) {
    for (const Expr& length : argument.shape) {
      const auto value = evaluate_integer(length, parameters);
      if (!value) {
        throw InvalidInput("loopy.slicings.missing_parameter",
                           fmt::format("the length {} of array '{}' is unknown: give a value to "
                                       "each parameter in it",
                                       to_string(length), argument.name));
      }
      lengths_.push_back(*value);
    }
  }

  FreeLayout find(std::int64_t piece) {
    const std::size_t axes = lengths_.size();
    add({argument_.name, {}, 0, 0, 0}, described_fastest());
    const std::size_t first = axes > most_turned_axes ? axes - most_turned_axes : 0;
    for (std::size_t axis = axes; axis-- > first && axes > 1;) {
      LayoutPlan plan{argument_.name, order_with_fastest(axis), 0, 0, 0};
      add(plan, axis);
      const std::int64_t over = lengths_[axis] * element_bytes_ % line_bytes;
      if (over % element_bytes_ == 0 && over != 0 && lengths_[axis] > 1) {
        plan.padding = (line_bytes - over) / element_bytes_;
        add(plan, axis);
      }
    }
    for (std::size_t axis = first; axis + 1 < axes; ++axis) {
      if (lengths_[axis] >= 2 * piece) {
        add({argument_.name, {}, piece, axis, 0}, axis);
      }
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<std::size_t> order_with_fastest(std::size_t fastest) const {
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < lengths_.size(); ++axis) {
      if (axis != fastest) {
        order.push_back(axis);
      }
    }
    order.push_back(fastest);
    return order;
  }

  /// The axis whose neighbours are contiguous; the last one if that is unknown.
  [[nodiscard]] std::size_t described_fastest() const {
    const std::vector<Expr>& strides = argument_.strides_elements;
    const auto one = std::find(strides.begin(), strides.end(), Expr(1));
    return one != strides.end() ? static_cast<std::size_t>(one - strides.begin())
                                : lengths_.size() - 1;
  }

  void add(LayoutPlan plan, std::size_t fastest) {
    const auto layout = find_layout(laid_out(kernel_, plan), argument_.name);
    std::vector<Expr> memory = layout->shape;
    memory.insert(memory.end(), layout->strides_elements.begin(), layout->strides_elements.end());
    if (result_.ways.size() == most_ways ||
        std::find(known_.begin(), known_.end(), memory) != known_.end()) {
      return;
    }
    known_.push_back(std::move(memory));
    const std::int64_t row = plan.piece > 0 ? plan.piece : lengths_[fastest];
    const bool is_aligned = (row + plan.padding) * element_bytes_ % line_bytes == 0;
    result_.array = argument_.name;
    result_.ways.push_back({std::move(plan), fastest, is_aligned});
  }

  const Kernel& kernel_;
  const Argument& argument_;
  std::int64_t element_bytes_;
  std::vector<std::int64_t> lengths_{};
  std::vector<std::vector<Expr>> known_{};  // shapes and strides
  FreeLayout result_{};
};

std::size_t changed_arrays(const LayoutNumbers& numbers) {
  return numbers.size() -
         static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), std::uint8_t{0}));
}

}  // namespace

std::vector<FreeLayout> read_free_layouts(const Kernel& kernel,
                                          const std::vector<std::string>& arrays,
                                          const IntegerValues& parameters, std::int64_t piece) {
  std::vector<FreeLayout> result;
  if (arrays.empty()) {
    return result;
  }
  const Kernel typed = infer_types(expand_subst(kernel));
  for (const std::string& array : arrays) {
    const auto is_it = [&](const FreeLayout& each) { return each.array == array; };
    if (std::any_of(result.begin(), result.end(), is_it)) {
      continue;
    }
    if (const auto reason = why_not_laid_out(typed, array)) {
      throw InvalidInput("loopy.slicings.fixed_layout",
                         fmt::format("'{}' cannot be laid out by the tuner: {}", array, *reason));
    }
    if (result.size() == most_free_arrays) {
      throw InvalidInput("loopy.slicings.fixed_layout",
                         fmt::format("the tuner lays out at most {} arrays, and '{}' is one more",
                                     most_free_arrays, array));
    }
    result.push_back(WaysOfArray(typed, *find_argument(typed, array), parameters).find(piece));
  }
  return result;
}

std::vector<LayoutNumbers> layout_combinations(const std::vector<FreeLayout>& free) {
  std::vector<LayoutNumbers> all = {LayoutNumbers{}};
  for (std::size_t array = 0; array < free.size(); ++array) {
    for (std::size_t i = 0, before = all.size(); i < before; ++i) {
      for (std::size_t way = 1; way < free[array].ways.size(); ++way) {
        all.push_back(all[i]);
        all.back()[array] = static_cast<std::uint8_t>(way);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const LayoutNumbers& a, const LayoutNumbers& b) {
    return changed_arrays(a) < changed_arrays(b);
  });
  all.resize(std::min(all.size(), most_combinations));
  return all;
}

}  // namespace rtcg::loopy::detail
