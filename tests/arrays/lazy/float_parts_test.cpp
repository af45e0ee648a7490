// What C's functions make of floating-point numbers, ours make of arrays of them.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

/// The same value, the same sign of 0, a NaN for a NaN.
template <class T>
bool is_same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
std::vector<T> numbers() {
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> result = {
      0,   T(-0.0), 1,         T(-2.75), T(0.1), T(1e30), std::numeric_limits<T>::max(),
      inf, -inf,    T(-1e-30), T(7.5),   T(-6),  NAN,     std::numeric_limits<T>::min()};
  if (current_stream().device().info().id.kind != runtime::BackendKind::opencl ||
      std::is_same_v<T, double>) {  // where subnormal floats may be 0
    result.push_back(std::numeric_limits<T>::denorm_min() * 5);
  }
  return result;
}

template <class T>
void check_parts() {
  const std::vector<T> values = numbers<T>();
  const Array<T> x(values);
  const auto [fraction, before] = modf(x);
  const auto [mantissa, exponent] = frexp(x);
  const std::vector<AnyArray> found =
      evaluate_all({fraction, before, mantissa, logb(x), fdim(x, 2), exponent, isnormal(x)});
  const auto value = [&](int which, std::size_t i) {
    return Array<T>(found[static_cast<std::size_t>(which)])(static_cast<std::int64_t>(i)).item();
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    SCOPED_TRACE(values[i]);
    const auto at = static_cast<std::int64_t>(i);
    T whole_number = 0;
    int power = 0;
    EXPECT_TRUE(is_same(value(0, i), std::modf(values[i], &whole_number)));
    EXPECT_TRUE(is_same(value(1, i), whole_number));
    EXPECT_TRUE(is_same(value(2, i), std::frexp(values[i], &power)));
    EXPECT_TRUE(is_same(value(3, i), std::logb(values[i])));
    EXPECT_TRUE(is_same(value(4, i), std::fdim(values[i], T(2))));
    if (std::isfinite(values[i])) {
      EXPECT_EQ(Array<std::int32_t>(found[5])(at).item(), power);
    }
    EXPECT_EQ(Array<bool>(found[6])(at).item(), std::isnormal(values[i]));
  }
}

TEST(FloatParts, AreThoseOfC) {
  on_every_device([] {
    check_parts<float>();
    check_parts<double>();
  });
}

TEST(FloatParts, ArePutTogether) {
  on_every_device([] {
    const Array<float> x(std::vector<float>{0.75F, -3, 5, 0, INFINITY, 1});
    const Array<std::int64_t> n(std::vector<std::int64_t>{2, -1, 1000, 5, -3, -1000});
    EXPECT_EQ(Array<float>(ldexp(x, n)).to_vector(),
              (std::vector<float>{3, -1.5F, INFINITY, 0, INFINITY, 0}));
    EXPECT_EQ(Array<double>(ldexp(arange<std::int32_t>(3), 4)).to_vector(),
              (std::vector<double>{0, 16, 32}));
    EXPECT_EQ(Array<std::int32_t>(ilogb(Array<float>(std::vector<float>{1, 9, 0.3F}))).to_vector(),
              (std::vector<std::int32_t>{0, 3, -2}));
    const Array<double> a(std::vector<double>{5, 6, 7, -5, 1});
    const Array<double> rest = ieee_remainder(a, 4);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(rest(i).item(), std::remainder(a(i).item(), 4.0)) << i;
    }
    using Float2 = ShortVector<float, 2>;
    EXPECT_EQ(Array<Float2>(ldexp(full<Float2>({}, {1, 3}), 2)).item(), (Float2{4, 12}));
    EXPECT_EQ(Array<Half>(frexp(full<Half>({}, Half(6.0F))).first).item(), 0.75F);
  });
}

TEST(FloatParts, AreNotOfComplexNumbers) {
  const StreamScope scope(runtime::Device::host().default_stream());
  const auto z = zeros<std::complex<float>>({2});
  EXPECT_ERROR("arrays.expression.dtype", static_cast<void>(modf(z)));
  EXPECT_ERROR("arrays.expression.dtype", static_cast<void>(isnormal(z)));
  EXPECT_ERROR("arrays.expression.dtype", static_cast<void>(fdim(z, 1)));
  EXPECT_ERROR("arrays.expression.dtype", static_cast<void>(ldexp(zeros<float>({2}), 0.5)));
}

TEST(InPlace, WritesTheElements) {
  on_every_device([] {
    const Array<std::int32_t> x(std::vector<std::int32_t>{12, 10, 7});
    EXPECT_EQ(&(x &= 6), &x);
    EXPECT_EQ(x.to_vector(), (std::vector<std::int32_t>{4, 2, 6}));
    x |= 1;
    x ^= Array<std::int32_t>(std::vector<std::int32_t>{1, 2, 3});
    EXPECT_EQ(x.to_vector(), (std::vector<std::int32_t>{4, 1, 4}));
    x <<= 3;
    x >>= 1;
    x += 1;
    x %= 5;
    EXPECT_EQ(x.to_vector(), (std::vector<std::int32_t>{2, 0, 2}));
    x *= 7;
    x -= 4;
    EXPECT_EQ(x.to_vector(), (std::vector<std::int32_t>{10, -4, 10}));
    EXPECT_ERROR("arrays.assign.narrowing", x /= 5);  // f64, as in NumPy
    EXPECT_ERROR("arrays.assign.narrowing", x.any() += 0.75);
    EXPECT_EQ(x.to_vector(), (std::vector<std::int32_t>{10, -4, 10}));
    const Array<float> y = ones<float>(2);
    y /= 4;
    EXPECT_EQ(y.to_vector(), (std::vector<float>{0.25, 0.25}));
  });
}

}  // namespace
}  // namespace rtcg::arrays
