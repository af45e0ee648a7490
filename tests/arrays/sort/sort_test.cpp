#include "rtcg/arrays/sort/sort.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/arrays/support/watched_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// Numbers with equal ones, and with what floating types have beside numbers.
template <class T>
std::vector<T> random_keys(std::size_t count, std::mt19937_64& random) {
  std::vector<T> keys(count);
  for (T& key : keys) {
    const std::uint64_t bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      const T special[] = {0,
                           T(-0.0),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::min()};
      key = bits % 4 == 0 ? special[bits / 4 % 6]
                          : static_cast<T>(static_cast<double>(bits >> 11) / 1e13 - 400);
    } else {
      key = static_cast<T>(bits % 3 == 0 ? bits >> 60 : bits >> 2);
    }
  }
  return keys;
}

template <class T>
bool comes_before(T a, T b, bool is_descending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) {
      return !std::isnan(a) && std::isnan(b);  // NaNs come last
    }
  }
  return is_descending ? b < a : a < b;
}

/// The places in the order of a stable sort.
template <class T>
std::vector<std::int64_t> order_of(const std::vector<T>& keys, bool is_descending) {
  std::vector<std::int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const T left = keys[static_cast<std::size_t>(a)];
    const T right = keys[static_cast<std::size_t>(b)];
    return comes_before(left, right, is_descending);
  });
  return order;
}

template <class T>
void expect_sorted(const std::vector<std::size_t>& counts, bool in_every_way = false) {
  SCOPED_TRACE(name(dtype_of_type<T>));
  std::mt19937_64 random(counts.size());
  for (const std::size_t count : counts) {
    for (const bool is_descending : {false, true}) {
      if (is_descending && !in_every_way) {
        continue;
      }
      SCOPED_TRACE(std::to_string(count) + (is_descending ? " down" : " up"));
      const std::vector<T> keys = random_keys<T>(count, random);
      const Array<T> x(zeros<T>({static_cast<std::int64_t>(count)}));
      x.write(keys);
      const std::vector<std::int64_t> expected = order_of(keys, is_descending);
      EXPECT_EQ(Array<std::int64_t>(argsort(x, {.is_descending = is_descending})).to_vector(),
                expected);
      if (!in_every_way) {
        continue;
      }
      const std::vector<T> found = Array<T>(sort(x, {.is_descending = is_descending})).to_vector();
      for (std::size_t i = 0; i < count; ++i) {
        const T a = found[i];
        const T b = keys[static_cast<std::size_t>(expected[i])];
        ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0) << i;
      }
    }
  }
}

TEST(Sort, OrdersIntegersOfEverySize) {
  on_every_device([] {
    expect_sorted<std::int8_t>({300});
    expect_sorted<std::int32_t>({0, 1, 257, 9001}, true);
    expect_sorted<std::uint64_t>({1000});
  });
}

TEST(Sort, PutsNaNLastAndKeepsSignsOfZero) {
  on_every_device([] {
    expect_sorted<float>({100, 4097}, true);
    expect_sorted<double>({300});
    const Array<Half> halves(evaluate(cast(where(indices({500}) % 7 == 0, std::nan(""),
                                                 cast(indices({500}) * 37 % 101, DType::f32) - 50),
                                           DType::f16)));
    const std::vector<float> found = sort(halves).as_type(DType::f32).to_vector<float>();
    std::vector<float> expected = halves.as<float>().to_vector();
    std::stable_sort(expected.begin(), expected.end(),
                     [](float a, float b) { return a < b || (a == a && b != b); });
    EXPECT_EQ(std::vector<float>(found.begin(), found.begin() + 400),
              std::vector<float>(expected.begin(), expected.begin() + 400));
    EXPECT_NE(found.back(), found.back());
    const AnyArray bits = evaluate(indices({300}) % 3 == 0);
    EXPECT_EQ(Expression(sum(cast(sort(bits)(Slice{200, {}}), DType::i32))).item<std::int64_t>(),
              100);
  });
}

TEST(Sort, SortsAlongAxesAndSegments) {
  on_every_device([] {
    const AnyArray x = evaluate(cast(indices({7, 5, 40}) * 7919 % 211, DType::i32));
    for (const std::int64_t axis : {0, 1, -1}) {
      const AnyArray sorted = sort(x, {.axis = axis});
      const AnyArray places = argsort(x, {.axis = axis});
      ASSERT_EQ(sorted.shape(), x.shape());
      const AnyArray rows = x.move_axis(axis, -1);
      const AnyArray found = sorted.move_axis(axis, -1);
      const AnyArray where = places.move_axis(axis, -1);
      for (const std::int64_t row : {0, 3}) {
        std::vector<std::int32_t> expected = rows(row, 4).to_vector<std::int32_t>();
        const std::vector<std::int64_t> order = order_of(expected, false);
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(found(row, 4).to_vector<std::int32_t>(), expected);
        EXPECT_EQ(where(row, 4).to_vector<std::int64_t>(), order);
      }
    }
    const Array<std::int32_t> keys(std::vector<std::int32_t>{5, 3, 4, 9, 8, 1, 2});
    const Array<std::int32_t> offsets(std::vector<std::int32_t>{0, 3, 3, 5, 7});
    EXPECT_EQ(Array<std::int32_t>(segmented_sort(keys, offsets)).to_vector(),
              (std::vector<std::int32_t>{3, 4, 5, 8, 9, 1, 2}));
    EXPECT_EQ(sort(zeros(DType::f32, {3, 0})).shape(), (Extents{3, 0}));
  });
}

TEST(Sort, MovesValuesWithTheirKeys) {
  on_every_device([] {
    const Array<std::uint8_t> keys(evaluate(cast(indices({600}) * 7 % 10, DType::u8)));
    const std::vector<std::int64_t> order = order_of(keys.to_vector(), false);
    const AnyArray wide = evaluate(
        make_vector(vector_of(DType::f32, 3), {cast(indices({600}), DType::f32), 1.0F, 2.0F}));
    const SortedPairs one = sort_by_key(keys, {arange<double>(600)});
    const SortedPairs many =
        sort_by_key(keys, {arange<std::int16_t>(600), wide, evaluate(indices({600, 2}))});
    EXPECT_EQ(one.values[0].as_type(DType::i64).to_vector<std::int64_t>(), order);
    EXPECT_EQ(many.values[0].as_type(DType::i64).to_vector<std::int64_t>(), order);
    EXPECT_EQ(cast(many.values[1].components()(whole, 0), DType::i64).to_vector<std::int64_t>(),
              order);
    EXPECT_EQ(evaluate(many.values[2](whole, 1) / 2).shape(), (Extents{600}));
    // the digits 4 to 7 alone
    const Array<std::uint16_t> x(std::vector<std::uint16_t>{0x21, 0x1f, 0x12, 0x2110});
    EXPECT_EQ(Array<std::uint16_t>(sort(x, {.begin_bit = 4, .end_bit = 8})).to_vector(),
              (std::vector<std::uint16_t>{0x1f, 0x12, 0x2110, 0x21}));
  });
}

struct Particle {
  double mass = 0;
  std::int32_t cell = 0;
  std::uint8_t kind = 0;
};

TEST(Sort, MovesStructsWithKeys) {
  on_every_device([] {
    for (const std::size_t count : {1U, 1000U, 20000U}) {
      std::mt19937_64 random(count);
      std::vector<Particle> particles(count);
      std::vector<std::int32_t> cells(count);
      for (std::size_t i = 0; i < count; ++i) {
        cells[i] = static_cast<std::int32_t>(random() % 100) - 50;
        particles[i] = {static_cast<double>(i), cells[i], static_cast<std::uint8_t>(i % 7)};
      }
      const SortedPairs sorted = sort_by_key(
          Array<std::int32_t>(cells),
          {structs_from_host(particles), arange<float>(static_cast<std::int64_t>(count))});
      std::stable_sort(particles.begin(), particles.end(),
                       [](const Particle& a, const Particle& b) { return a.cell < b.cell; });
      const std::vector<Particle> found = structs_to_host<Particle>(sorted.values[0]);
      ASSERT_EQ(found.size(), count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(found[i].mass, particles[i].mass);
        EXPECT_EQ(found[i].cell, particles[i].cell);
        EXPECT_EQ(found[i].kind, particles[i].kind);
      }
    }
  });
}

TEST(Sort, FindsTopElementsAndQuantiles) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<float> x(std::vector<float>{3, nan, 7, -1, 7, 2});
    const TopElements top = top_k(x, 3);
    EXPECT_EQ(top.values.to_vector<float>(), (std::vector<float>{7, 7, 3}));
    EXPECT_EQ(top.places.to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 4, 0}));
    EXPECT_EQ(top_k(x, 2, false).values.to_vector<float>(), (std::vector<float>{-1, 2}));
    EXPECT_NE(median(x).item<float>(), median(x).item<float>());
    const AnyArray y = evaluate(cast(indices({4, 5}) * 7 % 20, DType::i32));
    EXPECT_EQ(median(y(0)).item<double>(), 7);  // 0 7 14 1 8 -> 0 1 7 8 14
  });
}

TEST(Sort, GroupsValuesByTheirKeys) {
  on_every_device([] {
    const Array<std::int16_t> keys(std::vector<std::int16_t>{2, 0, -1, 2, 9, 0, 2});
    const GroupedValues groups = group_by_key(keys, arange<std::int32_t>(7), 4);
    EXPECT_EQ(groups.starts.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 2, 2, 5, 5}));
    EXPECT_EQ(groups.values(Slice{0, 5}).to_vector<std::int32_t>(),
              (std::vector<std::int32_t>{1, 5, 0, 3, 6}));
  });
  const AnyArray x = zeros(DType::f32, {4});
  EXPECT_ERROR("arrays.sort.groups", static_cast<void>(group_by_key(x, x, 3)));
}

TEST(Sort, MergesSortedArrays) {
  on_every_device([] {
    const Array<float> a(std::vector<float>{1, 2, 2, 5});
    const Array<float> b(std::vector<float>{0, 2, 6});
    EXPECT_EQ(Array<float>(merge(a, b)).to_vector(), (std::vector<float>{0, 1, 2, 2, 2, 5, 6}));
    EXPECT_EQ(merge(a, zeros<float>({0})).count(), 4);
  });
}

TEST(Sort, DoesNotWait) {
  testing::on_every_watched_device([](testing::WatchedBackend& watched) {
    const runtime::Stream stream{runtime::Device(watched)};
    const StreamScope scope(stream);
    const AnyArray x = evaluate(cast(indices({900}) * 37 % 101, DType::i32));
    static_cast<void>(argsort(x));
    static_cast<void>(watched.take_calls());
    static_cast<void>(argsort(x));
    EXPECT_EQ(testing::count_of(watched.take_calls(), {"synchronize", "synchronize_event",
                                                       "synchronize_device", "copy_with_host"}),
              0);
  });
}

TEST(Sort, RefusesWhatHasNoOrder) {
  const AnyArray x = zeros(DType::i32, {4});
  EXPECT_ERROR("arrays.sort.dtype", static_cast<void>(sort(zeros(DType::c64, {3}))));
  EXPECT_ERROR("arrays.sort.dtype",
               static_cast<void>(argsort(zeros(vector_of(DType::f32, 2), {3}))));
  EXPECT_ERROR("arrays.sort.axis", static_cast<void>(sort(zeros(DType::i32, {}))));
  EXPECT_ERROR("arrays.layout.bad_axis", static_cast<void>(sort(x, {.axis = 1})));
  EXPECT_ERROR("arrays.sort.bits", static_cast<void>(sort(x, {.end_bit = 33})));
  EXPECT_ERROR("arrays.sort.bits", static_cast<void>(sort(x, {.begin_bit = 5, .end_bit = 4})));
  EXPECT_ERROR("arrays.sort.shape_mismatch",
               static_cast<void>(sort_by_key(x, {zeros(DType::i32, {3})})));
  EXPECT_ERROR("arrays.sort.shape_mismatch",
               static_cast<void>(merge(x, zeros(DType::i32, {2, 2}))));
  EXPECT_ERROR("arrays.sort.offsets", static_cast<void>(segmented_sort(x, zeros(DType::f32, {2}))));
  EXPECT_ERROR("arrays.sort.top_k", static_cast<void>(top_k(x, 5)));
  EXPECT_ERROR("arrays.sort.quantile", static_cast<void>(quantile(x, 1.5)));
}

}  // namespace
}  // namespace rtcg::arrays
