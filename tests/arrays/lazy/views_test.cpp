// Random views in random expressions, against the host going through them index by index.
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

/// Every index of a shape in C order.
void for_each_index(const Extents& shape, const std::function<void(const Extents&)>& action) {
  const std::int64_t count = element_count(shape);
  for (std::int64_t place = 0; place < count; ++place) {
    Extents index = Extents::filled(shape.size(), 0);
    std::int64_t rest = place;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    action(index);
  }
}

std::int64_t place_of(const Layout& layout, const Extents& index) {
  std::int64_t place = layout.offset;
  for (int axis = 0; axis < layout.axes(); ++axis) {
    place += index[axis] * layout.strides[axis];
  }
  return place;
}

class RandomShapes {
 public:
  explicit RandomShapes(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// A view of shape `shape` of an array that holds its own places.
  Array<std::int32_t> view(const Extents& shape) {
    Extents larger = shape;
    std::vector<Index> index;
    Extents order;
    for (int axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t step = number(0, 2) == 0 ? -1 : number(1, 2);
      const bool repeats = number(0, 5) == 0;
      larger[axis] = repeats ? 1 : shape[axis] * std::abs(step) + number(0, 1);
      const std::int64_t length = repeats ? 1 : shape[axis];
      index.emplace_back(step < 0 ? Slice{length - 1, {}, -1}
                                  : Slice{0, length * step - (length > 0 ? step - 1 : 0), step});
      if (length == 0) {
        index.back() = Slice{0, 0};
      }
      order.insert(static_cast<int>(number(0, axis)), axis);
    }
    Extents stored;
    Extents back = Extents::filled(shape.size(), 0);
    for (int i = 0; i < order.size(); ++i) {
      stored.push_back(larger[static_cast<int>(order[i])]);
      back[static_cast<int>(order[i])] = i;
    }
    const auto source = arange<std::int32_t>(element_count(stored)).reshape(stored);
    const auto turned = source.transposed(back);
    const AnyArray cut = turned.any().view(slice(turned.layout(), index));
    return Array<std::int32_t>(cut.broadcast_to(shape));
  }

  Extents shape(int axes) {
    Extents result;
    for (int axis = 0; axis < axes; ++axis) {
      result.push_back(number(0, 25) == 0 ? 0 : number(1, 6));
    }
    return result;
  }

 private:
  std::mt19937 random_;
};

std::vector<std::int32_t> combined(const Array<std::int32_t>& a, const Array<std::int32_t>& b) {
  std::vector<std::int32_t> expected;
  for_each_index(a.shape(), [&](const Extents& index) {
    expected.push_back(
        static_cast<std::int32_t>(place_of(a.layout(), index) + 3 * place_of(b.layout(), index)));
  });
  return expected;
}

// each case runs 2 expressions, 3 reductions and a write
constexpr int cases = 60;

TEST(Views, GoIntoExpressionsElementByElement) {
  testing::on_every_device([] {
    RandomShapes random(11);
    for (int i = 0; i < cases; ++i) {
      const Extents shape = random.shape(i % 5);
      const auto a = random.view(shape);
      const auto b = random.view(shape);
      SCOPED_TRACE("strides " + to_string(a.strides()) + " and " + to_string(b.strides()) +
                   " in shape " + to_string(shape));
      const std::vector<std::int32_t> expected = combined(a, b);
      EXPECT_EQ(Array<std::int32_t>(a + 3 * b).to_vector(), expected);
      const auto target = empty<std::int32_t>(shape, current_stream(), Order::f);
      target.assign(a + 3 * b);
      EXPECT_EQ(target.to_vector(), expected);
    }
  });
}

TEST(Views, AreReducedOverAnyAxes) {
  testing::on_every_device([] {
    RandomShapes random(12);
    for (int i = 0; i < cases; ++i) {
      const Extents shape = random.shape(1 + i % 4);
      const auto a = random.view(shape);
      Extents axes;
      Extents left;
      for (int axis = 0; axis < shape.size(); ++axis) {
        if (random.number(0, 1) == 0) {
          axes.push_back(axis);
        } else {
          left.push_back(shape[axis]);
        }
      }
      SCOPED_TRACE("strides " + to_string(a.strides()) + " in shape " + to_string(shape) +
                   ", axes " + to_string(axes) + " go");
      const auto results = make_layout(left);
      std::vector<std::int64_t> sums(static_cast<std::size_t>(results.count()), 0);
      std::vector<std::int64_t> best(sums.size(), -1);
      std::vector<std::int64_t> best_place(sums.size(), 0);
      for_each_index(shape, [&](const Extents& index) {
        Extents kept;
        std::int64_t place = 0;
        for (int axis = 0; axis < shape.size(); ++axis) {
          if (axes.contains(axis)) {
            place = place * shape[axis] + index[axis];
          } else {
            kept.push_back(index[axis]);
          }
        }
        const auto at = static_cast<std::size_t>(place_of(results, kept));
        const std::int64_t element = place_of(a.layout(), index) % 7;
        sums[at] += element;
        if (element > best[at]) {
          best[at] = element;
          best_place[at] = place;
        }
      });
      const Expression values = a % 7;
      EXPECT_EQ(Array<std::int64_t>(sum(values, {axes})).to_vector(), sums);
      if (!shape.contains(0)) {
        EXPECT_EQ(Array<std::int64_t>(argmax(values, {axes})).to_vector(), best_place);
        EXPECT_EQ(Array<std::int64_t>(cast<std::int64_t>(max(values, {axes}))).to_vector(), best);
      }
    }
  });
}

}  // namespace
}  // namespace rtcg::arrays
