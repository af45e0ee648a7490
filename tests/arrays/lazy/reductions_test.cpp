#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

template <class T>
T value(const Expression& expression) {
  return Array<T>(evaluate(expression)).item();
}

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(count);
  std::generate(values.begin(), values.end(), [&] { return uniform(random); });
  return values;
}

TEST(Reduce, SumsLongArraysAndSlicesOfThem) {
  on_every_device([] {
    const std::vector<double> values = random_values(200000, 1);
    const std::vector<float> floats(values.begin(), values.end());
    const Array<float> x(floats);
    const auto check = [&](std::size_t begin, std::size_t end, std::size_t step) {
      double expected = 0;
      for (std::size_t i = begin; i < end; i += step) {
        expected += floats[i] + 1.0;
      }
      EXPECT_NEAR(
          value<float>(sum(x(Slice{static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end),
                                   static_cast<std::int64_t>(step)}) +
                           1)),
          expected, 1e-6 * static_cast<double>(end - begin));
    };
    check(0, 200000, 1);
    check(1000, 3000, 1);
    check(1000, 197000, 1);
    check(1000, 200000, 3);
    check(1000, 1000, 1);
    EXPECT_EQ(value<float>(max(x)), *std::max_element(floats.begin(), floats.end()));
    EXPECT_EQ(value<float>(min(x)), *std::min_element(floats.begin(), floats.end()));
    EXPECT_EQ(value<std::int64_t>(argmax(x)),
              std::max_element(floats.begin(), floats.end()) - floats.begin());
    EXPECT_EQ(value<std::int64_t>(argmin(x)),
              std::min_element(floats.begin(), floats.end()) - floats.begin());
    // the same bits every time
    EXPECT_EQ(value<float>(sum(x)), value<float>(sum(x)));
  });
}

TEST(Reduce, RunsWithoutAnyArray) {
  on_every_device([] {
    EXPECT_EQ(value<std::int64_t>(sum(indices({2000}))), 1999000);
    EXPECT_EQ(value<std::int64_t>(sum(broadcast_to(Expression(2), {3, 4}))), 24);
  });
}

TEST(Reduce, GoesOverAnyAxes) {
  on_every_device([] {
    const auto x = arange<std::int32_t>(24).reshape({2, 3, 4});
    EXPECT_EQ(Array<std::int64_t>(sum(x, over(0, -1))).to_vector(),
              (std::vector<std::int64_t>{60, 92, 124}));
    EXPECT_EQ(Array<std::int64_t>(sum(x, over(1))).to_vector(),
              (std::vector<std::int64_t>{12, 15, 18, 21, 48, 51, 54, 57}));
    EXPECT_EQ(sum(x, {.axes = Extents{1}, .keeps_axes = true}).shape(), (Extents{2, 1, 4}));
    EXPECT_EQ(Array<std::int32_t>(max(x.transposed(), over(0))).to_vector(),
              (std::vector<std::int32_t>{3, 15, 7, 19, 11, 23}));
    EXPECT_EQ(Array<std::int64_t>(argmax(x.flip({2}), over(2))).to_vector(),
              (std::vector<std::int64_t>(6, 0)));
    EXPECT_EQ(value<std::int64_t>(argmax(x.transposed())), 23);
    EXPECT_EQ(value<std::int64_t>(argmin(-x.flip({0, 1, 2}))), 0);
    // many results, each of few or many elements
    const auto wide = ones<float>({3, 1000});
    EXPECT_EQ(Array<float>(sum(wide, over(0))).to_vector(), std::vector<float>(1000, 3));
    EXPECT_EQ(Array<float>(sum(wide, over(1))).to_vector(), std::vector<float>(3, 1000));
    const auto tall = ones<float>({100000, 70});
    EXPECT_EQ(Array<float>(sum(tall, over(0))).to_vector(), std::vector<float>(70, 100000));
  });
}

/// Of narrow rows, which a GPU reads as a stream: sums, products, greatest and their places.
template <class T>
void check_columns(std::int64_t rows, std::int64_t columns) {
  SCOPED_TRACE(columns);
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  std::vector<double> sums(static_cast<std::size_t>(columns));
  std::vector<double> most(sums.size(), -1);
  std::vector<std::int64_t> places(sums.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>((i * 37) % 101);
    const std::size_t column = i % sums.size();
    values[i] = static_cast<T>(value);
    sums[column] += value;
    if (value > most[column]) {
      most[column] = value;
      places[column] = static_cast<std::int64_t>(i / sums.size());
    }
  }
  const Array<T> x(values, {rows, columns});
  EXPECT_EQ(Array<double>(sum(x, over(0))).to_vector(), sums);
  EXPECT_EQ(Array<double>(sum(2 * x.flip({0}), over(0)) / 2).to_vector(), sums);
  EXPECT_EQ(Array<double>(max(x, over(0))).to_vector(), most);
  EXPECT_EQ(Array<std::int64_t>(argmax(x, over(0))).to_vector(), places);
  // not aligned, and next to something that has no rows
  const Array<T> behind = x(Slice{1, {}}, whole);
  sums[0] -= static_cast<double>(values[0]);
  EXPECT_EQ(Array<double>(sum(behind * Array<T>(std::vector<T>{1}), over(0)))(0).item(), sums[0]);
}

TEST(Reduce, TakesNarrowRows) {
  on_every_device([] {
    check_columns<float>(5000, 10);
    check_columns<double>(1003, 7);
    check_columns<float>(300, 255);
    check_columns<std::uint8_t>(2001, 5);
  });
}

TEST(Reduce, LetsNaNsWin) {
  on_every_device([] {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Array<float> x(std::vector<float>{1, nan, 3, nan});
    EXPECT_TRUE(std::isnan(value<float>(max(x))));
    EXPECT_TRUE(std::isnan(value<float>(min(x))));
    EXPECT_EQ(value<std::int64_t>(argmax(x)), 1);
    EXPECT_EQ(value<std::int64_t>(argmin(x)), 1);
    EXPECT_EQ(value<float>(max(full<float>({3}, -std::numeric_limits<float>::infinity()))),
              -std::numeric_limits<float>::infinity());
    for (const std::int64_t count : {3, 100, 40000}) {
      SCOPED_TRACE(count);
      const auto y = full<float>({count}, -std::numeric_limits<float>::infinity());
      EXPECT_EQ(value<std::int64_t>(argmax(y)), 0);
      EXPECT_EQ(value<std::int64_t>(argmin(-y)), 0);
      y(count - 1) = nan;  // the first of them, and nothing after it
      EXPECT_EQ(value<std::int64_t>(argmax(y)), count - 1);
      y(Slice{1, {}}) = nan;
      EXPECT_EQ(value<std::int64_t>(argmax(y)), 1);
      EXPECT_EQ(value<std::int64_t>(argmin(y)), 1);
    }
  });
}

TEST(Reduce, AnswersForAllBooleans) {
  on_every_device([] {
    for (int bits = 0; bits < 8; ++bits) {
      const std::vector<std::int32_t> values = {bits & 1, bits & 2, bits & 4};
      const Array<std::int32_t> x(values);
      EXPECT_EQ(value<bool>(any(x)), bits != 0);
      EXPECT_EQ(value<bool>(all(x)), bits == 7);
    }
    const auto sparse = zeros<std::int8_t>({20000});
    sparse(15213) = 1;
    EXPECT_TRUE(value<bool>(any(sparse)));
    EXPECT_EQ(value<std::int64_t>(argmax(sparse)), 15213);
    EXPECT_EQ(value<std::int64_t>(sum(sparse == 0)), 19999);
    EXPECT_TRUE(value<bool>(max(sparse == 0)));
  });
}

TEST(Reduce, HasRulesForNoElements) {
  on_every_device([] {
    const auto none = zeros<float>({0, 3});
    EXPECT_EQ(Array<float>(sum(none, over(0))).to_vector(), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(Array<float>(prod(none, over(0))).to_vector(), (std::vector<float>{1, 1, 1}));
    EXPECT_FALSE(value<bool>(any(none)));
    EXPECT_TRUE(value<bool>(all(none)));
    EXPECT_TRUE(std::isnan(value<float>(mean(none))));
    EXPECT_EQ(evaluate(max(none, over(1))).count(), 0);
    EXPECT_ERROR("arrays.reduce.empty", max(none));
    EXPECT_ERROR("arrays.reduce.empty", argmin(none, over(0)));
  });
}

TEST(Reduce, SumsInTheTypesOfNumPy) {
  on_every_device([] {
    EXPECT_EQ(value<std::int64_t>(sum(full<std::int8_t>({1000}, 100))), 100000);
    EXPECT_EQ(value<std::uint64_t>(sum(full<std::uint32_t>({2}, 0xffffffffU))), 0x1fffffffeULL);
    EXPECT_EQ(value<double>(sum(full<float>({10}, 1), {.dtype = DType::f64})), 10);
    EXPECT_EQ(value<std::int64_t>(prod(full<std::int32_t>({5}, 10))), 100000);
    const std::complex<double> i(0, 1);
    EXPECT_EQ(value<std::complex<double>>(sum(full<std::complex<double>>({1000}, i))), 1000.0 * i);
    EXPECT_EQ(value<std::complex<double>>(prod(full<std::complex<double>>({3}, i))), -i);
  });
}

TEST(Reduce, GivesStatistics) {
  on_every_device([] {
    const Array<double> x(std::vector<double>{1, 2, 3, 4});
    EXPECT_DOUBLE_EQ(value<double>(mean(x)), 2.5);
    EXPECT_DOUBLE_EQ(value<double>(var(x)), 1.25);
    EXPECT_DOUBLE_EQ(value<double>(std_dev(x, {}, 1)), std::sqrt(5.0 / 3));
    EXPECT_DOUBLE_EQ(value<double>(norm(x)), std::sqrt(30.0));
    EXPECT_DOUBLE_EQ(value<double>(dot(x, x)), 30);
    const Array<std::complex<double>> z(std::vector<std::complex<double>>{{1, 2}, {3, -1}});
    EXPECT_EQ(value<std::complex<double>>(vdot(z, z)), 15.0);
    EXPECT_EQ(Array<double>(var(x.reshape({2, 2}), over(1))).to_vector(),
              (std::vector<double>{.25, .25}));
  });
  EXPECT_ERROR("arrays.dot.not_vectors", dot(ones<float>({2, 2}), ones<float>({2})));
  EXPECT_ERROR("arrays.reduce.repeated_axis", sum(ones<float>({2, 2}), over(0, -2)));
  EXPECT_ERROR("arrays.layout.bad_axis", sum(ones<float>({2, 2}), over(2)));
}

}  // namespace
}  // namespace rtcg::arrays
