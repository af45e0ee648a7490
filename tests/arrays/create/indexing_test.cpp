#include "rtcg/arrays/create/indexing.h"

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Ints = std::vector<std::int32_t>;

AnyArray places(const std::vector<std::int64_t>& values, const Extents& shape) {
  return Array<std::int64_t>(values, shape);
}

Ints ints(const Expression& expression) {
  return Array<std::int32_t>(evaluate(expression)).to_vector();
}

TEST(Take, FindsElementsAlongAnAxis) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(12).reshape({3, 4});
    EXPECT_EQ(ints(take(x, places({2, 0, -1}, {3}), 0)),
              (Ints{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
    const Expression columns = take(x.flip({0}), places({1, 3, -4, 0}, {2, 2}), 1);
    EXPECT_EQ(columns.shape(), (Extents{3, 2, 2}));
    EXPECT_EQ(ints(columns), (Ints{9, 11, 8, 8, 5, 7, 4, 4, 1, 3, 0, 0}));
    EXPECT_EQ(ints(take(x.transposed(), places({1, 11}, {2}))), (Ints{4, 11}));
    // what is outside is cut
    EXPECT_EQ(ints(take(x, places({-99, 99}, {2}))), (Ints{0, 11}));
    EXPECT_EQ(take(x, places({}, {0}), 1).shape(), (Extents{3, 0}));
  });
}

TEST(Take, CountsLargeUnsignedPlacesAsBeyondTheAxis) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(12);
    const Array<std::uint64_t> last({1, ~std::uint64_t{0}, std::uint64_t{1} << 63}, Extents{3});
    EXPECT_EQ(ints(take(x, last)), (Ints{1, 11, 11}));
    IndexOptions checked;
    checked.checks_range = true;
    EXPECT_ERROR("arrays.take.out_of_range", take(x, last, checked));
  });
}

TEST(Take, FusesWithWhatIsAround) {
  on_every_device([] {
    const auto x = arange<float>(1000);
    const auto reversed = Array<std::int64_t>(999 - arange<std::int64_t>(1000));
    EXPECT_EQ(Array<float>(sum(take(x, reversed) * (x < 10))).item(), 9945);
    const auto z = x.copy();
    z.assign(take(z, reversed));
    EXPECT_EQ(z.to_vector(), Array<float>(x.flip({0}).copy()).to_vector());
  });
}

TEST(Take, GoesAlongSeveralAxesAtOnce) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(24).reshape({2, 3, 4});
    const Expression found = take_at(x, {places({0, 1}, {2, 1}), places({0, -1, 1}, {3})});
    EXPECT_EQ(found.shape(), (Extents{2, 3, 4}));
    EXPECT_EQ(ints(found)[4], 8);
    EXPECT_EQ(ints(take_at(x, {places({2, 0}, {2}), places({3, 1}, {2})}, 1)),
              (Ints{11, 1, 23, 13}));
  });
}

TEST(Put, WritesToPlaces) {
  on_every_device([] {
    const auto x = zeros<std::int32_t>({2, 3});
    put(x, places({5, 0}, {2}), arange<std::int32_t>(1, 3));
    EXPECT_EQ(x.to_vector(), (Ints{2, 0, 0, 0, 0, 1}));
    put(x.transposed(), places({1}, {1}), 7);
    EXPECT_EQ(x.to_vector(), (Ints{2, 0, 0, 7, 0, 1}));
    put_at(x, {places({2, 1}, {2})}, Array<std::int32_t>(Ints{3, 4}), 1);
    EXPECT_EQ(x.to_vector(), (Ints{2, 4, 3, 7, 4, 3}));
    // what is read may be what is written
    put(x, places({0, 1, 2, 3, 4, 5}, {6}), x.flip({0, 1}).ravel());
    EXPECT_EQ(x.to_vector(), (Ints{3, 4, 7, 3, 4, 2}));
    const auto flat = arange<std::int32_t>(4);
    put(flat, places({1, 2, 3}, {3}), flat(Slice{0, 3}));
    EXPECT_EQ(flat.to_vector(), (Ints{0, 0, 1, 2}));
  });
}

TEST(Select, KeepsTheOrderOfElements) {
  on_every_device([] {
    for (const std::int64_t count : {0, 1, 511, 512, 513, 100000}) {
      const auto x = arange<std::int32_t>(count);
      std::vector<std::int32_t> expected;
      for (std::int32_t i = 0; i < count; ++i) {
        if (i % 7 == 2 || i % 11 == 0) {
          expected.push_back(i);
        }
      }
      EXPECT_EQ(ints(select(x, x % 7 == 2 || x % 11 == 0)), expected);
      EXPECT_EQ(select(x, x < 0).shape(), Extents{0});
    }
    const auto x = arange<std::int32_t>(12).reshape({3, 4});
    EXPECT_EQ(ints(select(x.transposed(), x.transposed() % 5 == 0)), (Ints{0, 5, 10}));
    EXPECT_EQ(ints(select(x, Array<bool>(std::vector<bool>{true, false, true}))),
              (Ints{0, 1, 2, 3, 8, 9, 10, 11}));
  });
}

TEST(Select, FindsPlacesAndWritesToThem) {
  on_every_device([] {
    const Array<float> x(std::vector<float>{0, 3, 0, 5, 0, -1}, {2, 3});
    const auto found = nonzero(x);
    EXPECT_EQ(Array<std::int64_t>(found[0]).to_vector(), (std::vector<std::int64_t>{0, 1, 1}));
    EXPECT_EQ(Array<std::int64_t>(found[1]).to_vector(), (std::vector<std::int64_t>{1, 0, 2}));
    put_where(x, x > 1, -2);
    EXPECT_EQ(x.to_vector(), (std::vector<float>{0, -2, 0, -2, 0, -1}));
    put_where(x, x < 0, Array<float>(std::vector<float>{10, 20, 30}));
    EXPECT_EQ(x.to_vector(), (std::vector<float>{0, 10, 0, 20, 0, 30}));
    EXPECT_EQ(ints(cast(repeat(x, 2, 0), DType::i32)),
              (Ints{0, 10, 0, 0, 10, 0, 20, 0, 30, 20, 0, 30}));
  });
}

TEST(PutWhere, GivesValuesToSelectedElementsInTheirOrder) {
  on_every_device([] {
    for (const std::int64_t count : {1, 300}) {
      for (const std::int64_t values : {1, 3, 700}) {
        SCOPED_TRACE(std::to_string(count) + ", " + std::to_string(values));
        const auto x = arange<std::int32_t>(count);
        Ints expected;
        int next = 0;
        for (int i = 0; i < count; ++i) {
          const bool is_chosen = i % 3 != 1;
          expected.push_back(is_chosen ? static_cast<int>(-1 - next % values) : i);
          next += is_chosen ? 1 : 0;
        }
        put_where(x, x % 3 != 1, -1 - arange<std::int32_t>(values));
        EXPECT_EQ(ints(x), expected);
      }
    }
    // rows by a mask of fewer axes, into a view; values of an axis less are those of every row
    const auto x = zeros<std::int32_t>({3, 4});
    const Array<bool> mask(std::vector<bool>{true, false, true, true});
    put_where(x.any().transposed(), mask, arange<std::int32_t>(9).reshape({3, 3}));
    EXPECT_EQ(ints(x), (Ints{0, 0, 3, 6, 1, 0, 4, 7, 2, 0, 5, 8}));
    put_where(x.any().transposed(), mask == 0, Array<std::int32_t>(std::vector<int>{7, 8, 9}));
    EXPECT_EQ(ints(x), (Ints{0, 7, 3, 6, 1, 8, 4, 7, 2, 9, 5, 8}));
    put_where(x, x > 100, zeros<std::int32_t>({0}));
    EXPECT_ERROR("arrays.broadcast.shape_mismatch",
                 put_where(x.any().transposed(), mask, zeros<std::int32_t>({3, 4})));
  });
}

TEST(Take, Refuses) {
  const auto x = arange<std::int32_t>(4);
  const auto checked = IndexOptions{.checks_range = true};
  EXPECT_ERROR("arrays.take.out_of_range", take(x, places({4}, {1}), checked));
  EXPECT_ERROR("arrays.take.out_of_range", take(x, places({-5}, {1}), 0, checked));
  EXPECT_ERROR("arrays.take.not_integers", take(x, zeros<float>({1})));
  EXPECT_ERROR("arrays.take.empty_axis", take(zeros<float>({0}), places({0}, {1})));
  EXPECT_ERROR("arrays.take.too_many_indices", take_at(x, {places({0}, {1}), places({0}, {1})}));
  EXPECT_ERROR("arrays.select.shape_mismatch", select(x, zeros<bool>({3})));
  EXPECT_ERROR("arrays.expression.dtype", gather(x, zeros<float>({4})));
  EXPECT_ERROR("arrays.expression.dtype", (scatter(x, zeros<float>({4}), x), 0));
}

}  // namespace
}  // namespace rtcg::arrays
