// Random shapes, views, types and operations against arrays of the host that know nothing of
// strides: a view is a list of the elements it has. A recipe fixes what decides on the kernel, so
// that kernels are few; what they run on is not.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/judged_devices.h"

namespace rtcg::arrays {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// An array of the host: numbers in C order, which doubles hold exactly.
struct Reference {
  Shape shape{};
  std::vector<double> values{};

  /// The value at the place in C order of a larger shape to which this one is broadcast.
  [[nodiscard]] double broadcast(const Shape& larger, std::int64_t place) const {
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (std::size_t back = 1; back <= larger.size(); ++back) {
      const std::int64_t length = larger[larger.size() - back];
      const std::int64_t index = place % length;
      place /= length;
      if (back <= shape.size()) {
        const std::int64_t own = shape[shape.size() - back];
        at += (own == 1 ? 0 : index) * step;
        step *= own;
      }
    }
    return values[static_cast<std::size_t>(at)];
  }
  /// Axes in another order, then of each axis some indices.
  [[nodiscard]] Reference rearranged(const std::vector<int>& order,
                                     const std::vector<std::vector<std::int64_t>>& kept) const {
    Reference result;
    for (const auto& indices : kept) {
      result.shape.push_back(static_cast<std::int64_t>(indices.size()));
    }
    for (std::int64_t place = 0; place < count_of(result.shape); ++place) {
      std::vector<std::int64_t> index(shape.size());
      std::int64_t rest = place;
      for (std::size_t back = kept.size(); back-- > 0;) {
        const auto length = static_cast<std::int64_t>(kept[back].size());
        index[static_cast<std::size_t>(order[back])] =
            kept[back][static_cast<std::size_t>(rest % length)];
        rest /= length;
      }
      std::int64_t at = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        at = at * shape[axis] + index[axis];
      }
      result.values.push_back(values[static_cast<std::size_t>(at)]);
    }
    return result;
  }
};

struct Operand {
  AnyArray array;
  Reference reference;
};

class RandomCases {
 public:
  RandomCases(unsigned seed, runtime::StreamRef stream) : values_(seed), stream_(stream) {}

  /// From here on a case by this recipe.
  void begin(unsigned recipe) { recipe_.seed(recipe); }
  /// What the recipe says.
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(recipe_);
  }
  /// What it leaves open.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(values_);
  }

  /// 0 to 4 axes; few lengths are 0 or 1.
  Shape shape() {
    Shape result(static_cast<std::size_t>(pick(0, 4)));
    for (std::int64_t& length : result) {
      const std::int64_t chance = pick(0, 19);
      length = chance == 0 ? 0 : (chance < 3 ? 1 : between(2, 9));
    }
    return result;
  }

  /// A shape that broadcasts to `larger`.
  Shape smaller(const Shape& larger) {
    Shape result = larger;
    if (pick(0, 2) == 0 && !result.empty()) {
      result[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(result.size()) - 1))] = 1;
    }
    if (pick(0, 5) == 0 && !result.empty()) {
      result.erase(result.begin());
    }
    return result;
  }

  /// An array of that shape: on its own, or a view of a larger one.
  template <class T>
  Operand operand(const Shape& shape) {
    const std::size_t axes = shape.size();
    std::vector<int> order(axes);
    std::iota(order.begin(), order.end(), 0);
    const std::int64_t kind = pick(0, 5);
    if (kind >= 4) {
      std::shuffle(order.begin(), order.end(), recipe_);
    }
    Shape base(axes);
    std::vector<Index> slices;
    std::vector<std::vector<std::int64_t>> kept(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t step = kind < 3 ? 1 : pick(1, 2) * (pick(0, 1) == 0 ? 1 : -1);
      const std::int64_t before = kind < 2 || pick(0, 1) == 0 ? 0 : between(1, 3);
      const std::int64_t length = shape[axis];
      const std::int64_t reach = length == 0 ? 0 : (length - 1) * std::abs(step) + 1;
      base[static_cast<std::size_t>(order[axis])] = before + reach;
      const std::int64_t first = step > 0 ? before : before + reach - 1;
      for (std::int64_t i = 0; i < length; ++i) {
        kept[axis].push_back(first + i * step);
      }
      Slice slice{first, std::nullopt, step};
      if (length == 0) {
        slice = {0, 0, 1};
      } else if (const std::int64_t end = first + length * step; end >= 0) {
        slice.end = end;
      }
      slices.emplace_back(slice);
    }
    Reference whole{base, {}};
    std::vector<T> values(static_cast<std::size_t>(count_of(base)));
    for (T& value : values) {
      value = static_cast<T>(between(std::is_signed_v<T> ? -9 : 0, 9));
      whole.values.push_back(static_cast<double>(value));
    }
    const Array<T> stored(std::span<const T>(values), Extents(base), stream_);
    Extents axis_order;
    for (const int axis : order) {
      axis_order.push_back(axis);
    }
    const AnyArray turned = stored.any().transposed(axis_order);
    return {turned.view(slice(turned.layout(), slices)), whole.rearranged(order, kept)};
  }

  /// Some of the axes.
  Extents axes_of(const Shape& shape) {
    Extents result;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (pick(0, 1) == 0) {
        result.push_back(static_cast<std::int64_t>(axis));
      }
    }
    return result;
  }

 private:
  std::mt19937_64 recipe_;
  std::mt19937_64 values_;
  runtime::StreamRef stream_;
};

std::vector<double> found_values(const AnyArray& array) {
  return Array<double>(array.as_type(DType::f64)).to_vector();
}

struct Operation {
  const char* name;
  std::function<Expression(const Expression&, const Expression&)> compute;
  std::function<double(double, double)> expected;
};

const std::vector<Operation>& operations() {
  using E = const Expression&;
  static const std::vector<Operation> all = {
      {"a*b + a", [](E a, E b) { return a * b + a; }, [](double a, double b) { return a * b + a; }},
      {"max(a, b) - 3", [](E a, E b) { return maximum(a, b) - 3; },
       [](double a, double b) { return std::max(a, b) - 3; }},
      {"a < b ? b : 2*a", [](E a, E b) { return where(a < b, b, 2 * a); },
       [](double a, double b) { return a < b ? b : 2 * a; }}};
  return all;
}

/// One random expression: its result in a new array, or written into a view.
template <class T, class U>
void check_map(RandomCases& cases, const Operation& operation) {
  const Shape shape = cases.shape();
  const Operand a = cases.operand<T>(cases.smaller(shape));
  const Operand b = cases.operand<U>(cases.smaller(shape));
  const Expression expression = operation.compute(a.array, b.array);
  const Shape result(expression.shape().begin(), expression.shape().end());
  std::vector<double> expected;
  for (std::int64_t place = 0; place < count_of(result); ++place) {
    expected.push_back(operation.expected(a.reference.broadcast(result, place),
                                          b.reference.broadcast(result, place)));
  }
  std::vector<double> found;
  if (cases.pick(0, 3) == 0) {
    const Operand target = cases.operand<double>(result);
    target.array.assign(expression);
    found = found_values(target.array);
  } else {
    found = found_values(evaluate(expression));
  }
  ASSERT_EQ(found, expected) << operation.name << " of " << to_string(a.array) << "\nand "
                             << to_string(b.array);
}

/// One random reduction over random axes.
template <class T>
void check_reduction(RandomCases& cases, int kind) {
  const Shape shape = cases.shape();
  const Operand a = cases.operand<T>(shape);
  const Extents axes = cases.axes_of(shape);
  Shape kept = shape;
  std::int64_t gone = 1;
  for (const std::int64_t axis : axes) {
    gone *= shape[static_cast<std::size_t>(axis)];
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  if (kind > 0 && gone == 0) {
    return;
  }
  const double start = kind == 0 ? 0 : -1e9;
  std::vector<double> best(static_cast<std::size_t>(count_of(kept)), start);
  std::vector<double> place_of_best(best.size(), -1);
  for (std::int64_t place = 0; place < count_of(shape); ++place) {
    std::size_t at = 0;
    double among = 0;
    std::int64_t rest = place;
    std::int64_t weight = count_of(shape);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      weight /= shape[axis];
      const std::int64_t index = rest / weight;
      rest %= weight;
      at = at * static_cast<std::size_t>(kept[axis]) +
           static_cast<std::size_t>(kept[axis] == 1 ? 0 : index);
      if (axes.contains(static_cast<std::int64_t>(axis))) {
        among = among * static_cast<double>(shape[axis]) + static_cast<double>(index);
      }
    }
    const double value = a.reference.values[static_cast<std::size_t>(place)];
    if (kind == 0) {
      best[at] += value;
    } else if (value > best[at]) {
      best[at] = value;
      place_of_best[at] = among;
    }
  }
  const ReduceOptions options{axes};
  const Expression expression = kind == 0   ? sum(a.array, options)
                                : kind == 1 ? max(a.array, options)
                                            : argmax(a.array, options);
  ASSERT_EQ(found_values(evaluate(expression)), kind == 2 ? place_of_best : best)
      << "reduction " << kind << " over " << to_string(axes) << " of " << to_string(a.array);
}

/// A case by that recipe.
void check(RandomCases& cases, unsigned recipe) {
  cases.begin(recipe);
  const auto which = static_cast<std::size_t>(cases.pick(0, 2));
  switch (cases.pick(0, 5)) {
    case 0:
      check_map<std::int32_t, std::int32_t>(cases, operations()[which]);
      break;
    case 1:
      check_map<double, float>(cases, operations()[which]);
      break;
    case 2:
      check_map<std::int16_t, double>(cases, operations()[which]);
      break;
    case 3:
      check_map<float, float>(cases, operations()[which]);
      break;
    case 4:
      check_reduction<std::int32_t>(cases, static_cast<int>(which));
      break;
    default:
      check_reduction<double>(cases, static_cast<int>(which));
      break;
  }
}

TEST(RandomViews, GiveWhatTheHostComputes) {
  const runtime::StreamRef stream = runtime::Device::host().default_stream();
  const StreamScope scope(stream);
  RandomCases cases(11, stream);
  constexpr unsigned recipes = 160;
  for (unsigned i = 0; i < 22000 && !HasFatalFailure(); ++i) {
    SCOPED_TRACE(i % recipes);
    check(cases, i % recipes);
  }
}

TEST(RandomViews, GiveTheSameOnOtherDevices) {
  for (const runtime::Device device : rtcg::runtime::judged_devices()) {
    if (device.info().id.kind != runtime::BackendKind::host) {
      const StreamScope scope(device.default_stream());
      RandomCases cases(12, device.default_stream());
      for (unsigned i = 0; i < 90 && !HasFatalFailure(); ++i) {
        check(cases, 1000 + i % 30);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::arrays
