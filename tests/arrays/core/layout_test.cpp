#include "rtcg/arrays/core/layout.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

/// The places of all elements in C order of the indices.
std::vector<std::int64_t> places(const Layout& layout) {
  std::vector<std::int64_t> result;
  if (layout.shape.contains(0)) {
    return result;
  }
  Extents index = Extents::filled(layout.axes(), 0);
  while (true) {
    std::int64_t place = layout.offset;
    for (int axis = 0; axis < layout.axes(); ++axis) {
      place += index[axis] * layout.strides[axis];
    }
    result.push_back(place);
    int axis = layout.axes() - 1;
    while (axis >= 0 && ++index[axis] == layout.shape[axis]) {
      index[axis--] = 0;
    }
    if (axis < 0) {
      return result;
    }
  }
}

Layout sliced(const Layout& layout, std::vector<Index> index) {
  return slice(layout, index);
}

using Places = std::vector<std::int64_t>;

TEST(Slice, FollowsPythonsRules) {
  const Layout row = make_layout({10});
  const auto cut = [&](const Slice& part) { return places(sliced(row, {part})); };
  EXPECT_EQ(cut({2, 5}), (Places{2, 3, 4}));
  EXPECT_EQ(cut({-3, {}}), (Places{7, 8, 9}));
  EXPECT_EQ(cut({{}, {}, 4}), (Places{0, 4, 8}));
  EXPECT_EQ(cut({{}, {}, -4}), (Places{9, 5, 1}));
  EXPECT_EQ(cut({3, 100}), (Places{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(cut({7, 2, -2}), (Places{7, 5, 3}));
  EXPECT_EQ(cut({-100, 2, 1}), (Places{0, 1}));
  EXPECT_EQ(cut({2, -100, -1}), (Places{2, 1, 0}));
  EXPECT_EQ(cut({0, 10, std::numeric_limits<std::int64_t>::max()}), (Places{0}));
  EXPECT_EQ(cut({{}, {}, std::numeric_limits<std::int64_t>::min()}), (Places{9}));
}

TEST(Slice, IsEmptyWhenItEndsBeforeItBegins) {
  EXPECT_EQ(sliced(make_layout({10}), {Slice{5, 3}}).shape, Extents{0});
  EXPECT_EQ(sliced(make_layout({10}), {Slice{3, 5, -1}}).shape, Extents{0});
  EXPECT_EQ(sliced(make_layout({0}), {Slice{{}, {}, -1}}).shape, Extents{0});
}

TEST(Slice, TakesNumbersNewAxesAndEllipses) {
  const Layout cube = make_layout({2, 3, 4});
  EXPECT_EQ(sliced(cube, {1, ellipsis, -1}).shape, Extents{3});
  EXPECT_EQ(places(sliced(cube, {1, ellipsis, -1})), (Places{15, 19, 23}));
  EXPECT_EQ(sliced(cube, {newaxis, whole, Slice{1, {}}}).shape, (Extents{1, 2, 2, 4}));
  EXPECT_EQ(sliced(cube, {ellipsis, newaxis}).shape, (Extents{2, 3, 4, 1}));
  EXPECT_EQ(places(sliced(cube, {1, 2, 3})), Places{23});
}

TEST(Slice, Refuses) {
  const Layout cube = make_layout({2, 3, 4});
  EXPECT_ERROR("arrays.slice.too_many_indices", sliced(cube, {0, 0, 0, 0}));
  EXPECT_ERROR("arrays.slice.two_ellipses", sliced(cube, {ellipsis, ellipsis}));
  EXPECT_ERROR("arrays.slice.out_of_range", sliced(cube, {0, 3}));
  EXPECT_ERROR("arrays.slice.out_of_range", sliced(cube, {-3}));
  EXPECT_ERROR("arrays.slice.zero_step", sliced(cube, {Slice{0, 1, 0}}));
}

TEST(Layout, RefusesWhatIsNoShape) {
  EXPECT_ERROR("arrays.extents.negative_length", make_layout({3, -1}));
  EXPECT_ERROR("arrays.extents.too_large", make_layout({1LL << 40, 1LL << 40}));
  EXPECT_ERROR("arrays.extents.too_many_axes", Extents::filled(17, 1));
  EXPECT_ERROR("arrays.layout.bad_axis", swap_axes(make_layout({2, 3}), 0, 2));
  EXPECT_ERROR("arrays.layout.not_a_permutation", transpose(make_layout({2, 3}), {0, 0}));
  EXPECT_ERROR("arrays.squeeze.length_not_one", squeeze(make_layout({2, 1}), {0}));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch", broadcast_shapes(Extents{2, 3}, Extents{2}));
  EXPECT_ERROR("arrays.broadcast.shape_mismatch", broadcast_to(make_layout({2, 3}), {3}));
  EXPECT_ERROR("arrays.reshape.size_mismatch", reshape(make_layout({2, 3}), {5}));
  EXPECT_ERROR("arrays.reshape.size_mismatch", reshape(make_layout({0, 3}), {0, -1}));
  EXPECT_ERROR("arrays.reshape.two_unknown_lengths", reshape(make_layout({2, 3}), {-1, -1}));
}

TEST(Layout, OfNoElementsIsAsNumPysOnes) {
  EXPECT_EQ(make_layout({0, 5}).count(), 0);
  EXPECT_EQ(make_layout({}).count(), 1);
  EXPECT_TRUE(make_layout({3, 0, 2}).is_contiguous(Order::f));
  EXPECT_EQ(reshape(make_layout({3, 0, 2}), {-1})->shape, Extents{0});
  EXPECT_EQ(make_layout({0, 1LL << 40, 1LL << 40}).count(), 0);
}

TEST(Reshape, NeedsNoCopyWhereAxesStayWhole) {
  const Layout cube = make_layout({2, 3, 4});
  EXPECT_EQ(reshape(cube, {6, 4})->strides, (Extents{4, 1}));
  EXPECT_EQ(reshape(cube, {4, -1, 1, 2})->shape, (Extents{4, 3, 1, 2}));
  const Layout columns = sliced(cube, {whole, whole, Slice{0, 2}});
  EXPECT_TRUE(reshape(columns, {6, 2}));
  EXPECT_FALSE(reshape(columns, {12}));
  EXPECT_FALSE(reshape(transpose(make_layout({2, 3})), {6}));
}

TEST(Collapse, MergesWhatAllLayoutsStepThroughEvenly) {
  std::vector<Layout> layouts = {make_layout({2, 3, 4}), make_layout({2, 3, 4})};
  collapse(layouts);
  EXPECT_EQ(layouts[0].shape, Extents{24});
  layouts = {make_layout({2, 3, 4}), broadcast_to(make_layout({4}), {2, 3, 4})};
  collapse(layouts);
  EXPECT_EQ(layouts[0].shape, (Extents{6, 4}));
  EXPECT_EQ(layouts[1].strides, (Extents{0, 1}));
  layouts = {transpose(make_layout({3, 2})), transpose(make_layout({3, 2}))};
  collapse(layouts);
  EXPECT_EQ(layouts[1].shape, Extents{6});
}

/// Random views of one array.
class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Layout layout() {
    Extents shape;
    for (auto axes = number(0, 4); axes > 0; --axes) {
      shape.push_back(number(0, 20) == 0 ? 0 : number(1, 5));
    }
    Layout result = make_layout(shape, number(0, 1) == 0 ? Order::c : Order::f);
    for (auto steps = number(0, 3); steps > 0; --steps) {
      result = changed(result);
    }
    return result;
  }

 private:
  Layout changed(const Layout& layout) {
    if (layout.axes() == 0) {
      return expand_dims(layout, 0);
    }
    const auto axis = number(0, layout.axes() - 1);
    switch (number(0, 3)) {
      case 0: {
        std::vector<Index> index(static_cast<std::size_t>(axis), whole);
        const std::int64_t steps[] = {-3, -1, 1, 2};
        index.emplace_back(Slice{number(-6, 6), number(-6, 6), steps[number(0, 3)]});
        return slice(layout, index);
      }
      case 1:
        return move_axis(layout, axis, number(0, layout.axes() - 1));
      case 2:
        return flip(layout, {axis});
      default:
        return layout.axes() < 4 ? expand_dims(layout, axis) : layout;
    }
  }

  std::mt19937 random_;
};

TEST(Layout, RandomViewsKeepTheirElements) {
  RandomViews random(7);
  for (int i = 0; i < 5000; ++i) {
    const Layout layout = random.layout();
    const Places before = places(layout);
    ASSERT_EQ(static_cast<std::int64_t>(before.size()), layout.count());
    if (const auto reach = reach_of(layout)) {
      EXPECT_EQ(*std::min_element(before.begin(), before.end()), reach->first);
      EXPECT_EQ(*std::max_element(before.begin(), before.end()), reach->last);
    }
    // without reordering, the order of elements stays
    Layout kept = layout;
    collapse({&kept, 1}, {.may_reorder = false});
    EXPECT_EQ(places(kept), before);
    // with it, two layouts still go together
    std::vector<Layout> pair = {layout, flip(layout, layout.axes() > 0 ? Extents{0} : Extents{})};
    std::map<std::int64_t, std::int64_t> partner;
    const Places other = places(pair[1]);
    for (std::size_t k = 0; k < before.size(); ++k) {
      partner[before[k]] = other[k];
    }
    collapse(pair);
    const Places left = places(pair[0]);
    const Places right = places(pair[1]);
    ASSERT_EQ(left.size(), before.size());
    for (std::size_t k = 0; k < left.size(); ++k) {
      EXPECT_EQ(partner.at(left[k]), right[k]);
    }
    // another shape: the same elements in the same order, or none without a copy
    if (const auto flat = reshape(layout, {layout.count()})) {
      EXPECT_EQ(places(*flat), before);
    } else {
      EXPECT_FALSE(layout.is_contiguous());
    }
    if (const auto halves =
            layout.count() % 2 == 0 ? reshape(layout, {2, layout.count() / 2}) : std::nullopt) {
      EXPECT_EQ(places(*halves), before);
    }
  }
}

TEST(Layout, KnowsWhenElementsRepeat) {
  EXPECT_FALSE(may_repeat_elements(make_layout({3, 4}, Order::f)));
  EXPECT_FALSE(may_repeat_elements(flip(make_layout({3, 4}), {0})));
  EXPECT_TRUE(may_repeat_elements(broadcast_to(make_layout({4}), {3, 4})));
  EXPECT_TRUE(may_repeat_elements(Layout{{3, 3}, {1, 1}, 0}));
  EXPECT_FALSE(may_repeat_elements(broadcast_to(make_layout({1}), {0})));
}

}  // namespace
}  // namespace rtcg::arrays
