// Every operator and function on every type, against the host's own arithmetic.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

template <class T>
std::vector<T> random_integers(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    // small numbers, any numbers, and the ends
    const auto any = static_cast<T>(random());
    const auto small = static_cast<T>(random() % 7);
    constexpr T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                          static_cast<T>(-1), 0};
    const auto choice = random() % 4;
    value = choice < 2 ? any : (choice == 2 ? small : ends[random() % 4]);
  }
  return values;
}

// NumPy's results where C has none and a processor traps.
TEST(Defect25, DivisionOfIntegersByZeroAndOverflowAreDefined) {
  on_every_device([] {
    const auto check = [&]<class T>(std::type_identity<T>) {
      constexpr T least = std::numeric_limits<T>::min();
      constexpr T minus_one = static_cast<T>(-1);
      using Values = std::vector<T>;
      const Array<T> a(Values{7, least, 0, least, 5});
      const Array<T> b(Values{0, 0, 0, minus_one, 1});
      const T overflow = std::is_signed_v<T> ? least : T{0};
      EXPECT_EQ(floor_divide(a, b).template to_vector<T>(), (Values{0, 0, 0, overflow, 5}));
      EXPECT_EQ((a % b).template to_vector<T>(), Values(5, 0));
      EXPECT_EQ(floor_divide(a, 0).template to_vector<T>(), Values(5, 0));
      EXPECT_EQ((a % 0).template to_vector<T>(), Values(5, 0));
      EXPECT_EQ(floor_divide(7, b).template to_vector<T>()[0], 0);
      const Array<T> in_place = a.copy();
      in_place %= b;
      EXPECT_EQ(in_place.to_vector(), Values(5, 0));
    };
    check(std::type_identity<std::int8_t>());
    check(std::type_identity<std::int32_t>());
    check(std::type_identity<std::int64_t>());
    check(std::type_identity<std::uint32_t>());
    check(std::type_identity<std::uint64_t>());
    const Array<std::int32_t> x(std::vector<std::int32_t>{1, -1, 0});
    const std::vector<double> quotients = (x / 0).to_vector<double>();  // a real division
    EXPECT_EQ(quotients[0], std::numeric_limits<double>::infinity());
    EXPECT_EQ(quotients[1], -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(quotients[2]));
  });
}

/// The quotient rounded down, and what it leaves. The least integer by -1 overflows in C++.
template <class T>
std::pair<T, T> divided(T a, T b) {
  if (b == 0) {
    return {0, 0};
  }
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    return {static_cast<T>(0 - static_cast<std::uint64_t>(a)), 0};
  }
  const bool is_above = a % b != 0 && (a < 0) != (b < 0);
  return {static_cast<T>(a / b - (is_above ? 1 : 0)), static_cast<T>(a % b + (is_above ? b : 0))};
}

template <class T>
T integer_power(T base, T exponent) {
  if (exponent < 0) {
    return base == 1 ? T{1}
                     : (base == static_cast<T>(-1) ? (exponent % 2 == 0 ? T{1} : base) : T{0});
  }
  std::uint64_t result = 1;
  std::uint64_t square = static_cast<std::uint64_t>(base);
  for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left /= 2) {
    result *= left % 2 == 1 ? square : 1;
    square *= square;
  }
  return static_cast<T>(result);
}

template <class T>
T shifted(T a, T b, bool left) {
  constexpr int bits = 8 * sizeof(T);
  using U = std::make_unsigned_t<T>;
  const bool is_inside = b >= 0 && static_cast<U>(b) < bits;
  if (left) {
    return is_inside ? static_cast<T>(static_cast<std::uint64_t>(a) << b) : T{0};
  }
  return is_inside ? static_cast<T>(a >> b) : (a < 0 ? static_cast<T>(-1) : T{0});
}

template <class T>
void check_integers() {
  using W = std::uint64_t;
  struct Case {
    const char* name;
    Expression expression;
    std::function<T(T, T)> expected;
  };
  const std::vector<T> left = random_integers<T>(300, 1);
  const std::vector<T> right = random_integers<T>(300, 2);
  const Array<T> a(left);
  const Array<T> b(right);
  const std::vector<Case> cases = {
      {"+", a + b, [](T x, T y) { return static_cast<T>(W(x) + W(y)); }},
      {"-", a - b, [](T x, T y) { return static_cast<T>(W(x) - W(y)); }},
      {"*", a * b, [](T x, T y) { return static_cast<T>(W(x) * W(y)); }},
      {"negative", -a, [](T x, T) { return static_cast<T>(0 - W(x)); }},
      {"floor_divide", floor_divide(a, b), [](T x, T y) { return divided(x, y).first; }},
      {"%", a % b, [](T x, T y) { return divided(x, y).second; }},
      {"pow", pow(a, b), integer_power<T>},
      {"square", pow(a, 2), [](T x, T) { return static_cast<T>(W(x) * W(x)); }},
      {"&", a & b, [](T x, T y) { return static_cast<T>(x & y); }},
      {"|", a | b, [](T x, T y) { return static_cast<T>(x | y); }},
      {"^", a ^ b, [](T x, T y) { return static_cast<T>(x ^ y); }},
      {"~", ~a, [](T x, T) { return static_cast<T>(~x); }},
      {"<<", a << b, [](T x, T y) { return shifted(x, y, true); }},
      {">>", a >> b, [](T x, T y) { return shifted(x, y, false); }},
      {"abs", abs(a), [](T x, T) { return x < 0 ? static_cast<T>(0 - W(x)) : x; }},
      {"sign", sign(a), [](T x, T) { return static_cast<T>(x > 0 ? 1 : (x < 0 ? -1 : 0)); }},
      {"maximum", maximum(a, b), [](T x, T y) { return std::max(x, y); }},
      {"minimum", minimum(a, b), [](T x, T y) { return std::min(x, y); }},
      {"where", where(a < b, a, b), [](T x, T y) { return std::min(x, y); }},
      {"clip", clip(a, 2, 100), [](T x, T) { return std::clamp<T>(x, 2, 100); }},
      {"floor", floor(a), [](T x, T) { return x; }},
      {"==", cast(a == b, a.dtype()), [](T x, T y) { return static_cast<T>(x == y); }},
      {"!=", cast(a != b, a.dtype()), [](T x, T y) { return static_cast<T>(x != y); }},
      {"<", cast(a < b, a.dtype()), [](T x, T y) { return static_cast<T>(x < y); }},
      {"<=", cast(a <= b, a.dtype()), [](T x, T y) { return static_cast<T>(x <= y); }},
      {">", cast(a > b, a.dtype()), [](T x, T y) { return static_cast<T>(x > y); }},
      {">=", cast(a >= b, a.dtype()), [](T x, T y) { return static_cast<T>(x >= y); }},
      {"&&", cast(a && b, a.dtype()), [](T x, T y) { return static_cast<T>(x && y); }},
      {"||", cast(a || b, a.dtype()), [](T x, T y) { return static_cast<T>(x || y); }},
      {"!", cast(!a, a.dtype()), [](T x, T) { return static_cast<T>(!x); }},
  };
  std::vector<Expression> expressions;
  for (const Case& c : cases) {
    ASSERT_EQ(c.expression.dtype(), a.dtype()) << c.name;
    expressions.push_back(c.expression);
  }
  const std::vector<AnyArray> found = evaluate_all(expressions);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::vector<T> values = Array<T>(found[k]).to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i], cases[k].expected(left[i], right[i]))
          << cases[k].name << " of " << +left[i] << " and " << +right[i];
    }
  }
}

TEST(Operators, OfIntegersWrapAround) {
  on_every_device([] {
    check_integers<std::int8_t>();
    check_integers<std::uint8_t>();
    check_integers<std::int16_t>();
    check_integers<std::uint16_t>();
    check_integers<std::int32_t>();
    check_integers<std::uint32_t>();
    check_integers<std::int64_t>();
    check_integers<std::uint64_t>();
  });
}

TEST(Operators, CompareU64WithSignedExactly) {
  on_every_device([] {
    const Array<std::uint64_t> a(std::vector<std::uint64_t>{0, 1, ~0ULL, 1ULL << 63, 5});
    const Array<std::int64_t> b(
        std::vector<std::int64_t>{-1, 1, -1, std::numeric_limits<std::int64_t>::min(), 6});
    using Bools = std::vector<bool>;
    const auto found = evaluate_all({a == b, a != b, a<b, a <= b, a> b, a >= b});
    EXPECT_EQ(Array<bool>(found[0]).to_vector(), (Bools{false, true, false, false, false}));
    EXPECT_EQ(Array<bool>(found[1]).to_vector(), (Bools{true, false, true, true, true}));
    EXPECT_EQ(Array<bool>(found[2]).to_vector(), (Bools{false, false, false, false, true}));
    EXPECT_EQ(Array<bool>(found[3]).to_vector(), (Bools{false, true, false, false, true}));
    EXPECT_EQ(Array<bool>(found[4]).to_vector(), (Bools{true, false, true, true, false}));
    EXPECT_EQ(Array<bool>(found[5]).to_vector(), (Bools{true, true, true, true, false}));
  });
}

double python_remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : std::copysign(r, r == 0 ? b : r);
}

/// @param tolerance  of OpenCL's functions: up to 16 units in the last place, and more where the
///                   result comes from a difference
template <class T>
void check_reals(double tolerance) {
  struct Case {
    const char* name;
    Expression expression;
    std::function<double(double, double)> expected;
  };
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.05, 0.95);
  std::vector<T> left(200);
  std::vector<T> right(200);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<T>(uniform(random));
    right[i] = static_cast<T>(i % 2 == 0 ? -3 * uniform(random) : 3 * uniform(random));
  }
  const Array<T> a(left);
  const Array<T> b(right);
#define RTCG_UNARY(function)                                                  \
  {                                                                           \
#function, function(a), [](double x, double) { return std::function(x); } \
  }
  const std::vector<Case> cases = {
      RTCG_UNARY(sqrt),
      RTCG_UNARY(cbrt),
      RTCG_UNARY(exp),
      RTCG_UNARY(exp2),
      RTCG_UNARY(expm1),
      RTCG_UNARY(log),
      RTCG_UNARY(log2),
      RTCG_UNARY(log10),
      RTCG_UNARY(log1p),
      RTCG_UNARY(sin),
      RTCG_UNARY(cos),
      RTCG_UNARY(tan),
      RTCG_UNARY(asin),
      RTCG_UNARY(acos),
      RTCG_UNARY(atan),
      RTCG_UNARY(sinh),
      RTCG_UNARY(cosh),
      RTCG_UNARY(tanh),
      RTCG_UNARY(asinh),
      RTCG_UNARY(atanh),
      RTCG_UNARY(erf),
      RTCG_UNARY(erfc),
      RTCG_UNARY(tgamma),
      RTCG_UNARY(lgamma),
      {"acosh", acosh(1 + a), [](double x, double) { return std::acosh(T(1) + T(x)); }},
      {"rsqrt", rsqrt(a), [](double x, double) { return 1 / std::sqrt(x); }},
      {"exp10", exp10(a), [](double x, double) { return std::pow(10, x); }},
      {"floor", floor(b), [](double, double y) { return std::floor(y); }},
      {"ceil", ceil(b), [](double, double y) { return std::ceil(y); }},
      {"round", round(2 * b), [](double, double y) { return std::round(2 * y); }},
      {"trunc", trunc(b), [](double, double y) { return std::trunc(y); }},
      {"rint", rint(b), [](double, double y) { return std::rint(y); }},
      {"abs", abs(b), [](double, double y) { return std::fabs(y); }},
      {"sign", sign(b), [](double, double y) { return y > 0 ? 1.0 : -1.0; }},
      {"signbit", cast<T>(signbit(b)), [](double, double y) { return y < 0 ? 1.0 : 0.0; }},
      {"+", a + b, [](double x, double y) { return x + y; }},
      {"-", a - b, [](double x, double y) { return x - y; }},
      {"*", a * b, [](double x, double y) { return x * y; }},
      {"/", b / a, [](double x, double y) { return y / x; }},
      {"1/", 1 / a, [](double x, double) { return 1 / x; }},
      {"%", b % a, [](double x, double y) { return python_remainder(y, x); }},
      {"floor_divide", floor_divide(b, a), [](double x, double y) { return std::floor(y / x); }},
      {"pow", pow(a, b), [](double x, double y) { return std::pow(x, y); }},
      {"pow3", pow(b, 3), [](double, double y) { return y * y * y; }},
      {"fmod", fmod(b, a), [](double x, double y) { return std::fmod(y, x); }},
      {"atan2", atan2(a, b), [](double x, double y) { return std::atan2(x, y); }},
      {"hypot", hypot(a, b), [](double x, double y) { return std::hypot(x, y); }},
      {"copysign", copysign(a, b), [](double x, double y) { return std::copysign(x, y); }},
      {"fma", fma(a, b, 1), [](double x, double y) { return std::fma(x, y, 1); }},
      {"nextafter", nextafter(a, 2),
       [](double x, double) { return std::nextafter(static_cast<T>(x), T(2)); }},
  };
#undef RTCG_UNARY
  std::vector<Expression> expressions;
  for (const Case& c : cases) {
    ASSERT_EQ(c.expression.dtype(), a.dtype()) << c.name;
    expressions.push_back(c.expression);
  }
  const std::vector<AnyArray> found = evaluate_all(expressions);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::vector<T> values = Array<T>(found[k]).to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double expected = cases[k].expected(left[i], right[i]);
      EXPECT_NEAR(values[i], expected, tolerance * (1 + std::fabs(expected)))
          << cases[k].name << " of " << left[i] << " and " << right[i];
    }
  }
}

TEST(Operators, OfRealsAreTheHostsOwn) {
  on_every_device([] {
    check_reals<float>(4e-6);
    check_reals<double>(1e-14);
  });
}

TEST(Operators, StepToTheNextNumberOfTheirType) {
  on_every_device([] {
    const std::vector<float> x = {1, -1, 2.5F, 3e38F};
    const Array<float> a(x);
    const std::vector<float> up = Array<float>(nextafter(a, a + 1)).to_vector();
    const std::vector<float> down = Array<float>(nextafter(a, -4)).to_vector();
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(up[i], std::nextafter(x[i], x[i] + 1));
      EXPECT_EQ(down[i], std::nextafter(x[i], -4.0F));
    }
    EXPECT_EQ(Array<double>(nextafter(ones<double>({}), 2)).item(), std::nextafter(1.0, 2.0));
  });
}

TEST(Operators, FollowNaNsAsNumPy) {
  on_every_device([] {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    const Array<double> a(std::vector<double>{nan, 1, nan, inf, 2});
    const Array<double> b(std::vector<double>{1, nan, nan, 1, 1});
    const auto found = evaluate_all({maximum(a, b), minimum(a, b), fmax(a, b), fmin(a, b)});
    const auto same = [](const AnyArray& array, const std::vector<double>& expected) {
      const std::vector<double> values = Array<double>(array).to_vector();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(values[i] == expected[i] || (std::isnan(values[i]) && std::isnan(expected[i])))
            << i << ": " << values[i] << " instead of " << expected[i];
      }
    };
    same(found[0], {nan, nan, nan, inf, 2});
    same(found[1], {nan, nan, nan, 1, 1});
    same(found[2], {1, 1, nan, inf, 2});
    same(found[3], {1, 1, nan, 1, 1});
    using Bools = std::vector<bool>;
    EXPECT_EQ(Array<bool>(isnan(a)).to_vector(), (Bools{true, false, true, false, false}));
    EXPECT_EQ(Array<bool>(isinf(a)).to_vector(), (Bools{false, false, false, true, false}));
    EXPECT_EQ(Array<bool>(isfinite(a)).to_vector(), (Bools{false, true, false, false, true}));
    EXPECT_EQ(Array<bool>(a == a).to_vector(), (Bools{false, true, false, true, true}));
  });
}

template <class R>
void check_complex(double tolerance) {
  using C = std::complex<R>;
  struct Case {
    const char* name;
    Expression expression;
    std::function<C(C, C)> expected;
  };
  std::mt19937 random(4);
  std::uniform_real_distribution<R> uniform(-2, 2);
  std::vector<C> left(100);
  std::vector<C> right(100);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = {uniform(random), uniform(random)};
    right[i] = {uniform(random), uniform(random)};
  }
  const Array<C> a(left);
  const Array<C> b(right);
  const auto of = [&](const Expression& real) { return cast<C>(real); };
  const std::vector<Case> cases = {
      {"+", a + b, [](C x, C y) { return x + y; }},
      {"-", a - b, [](C x, C y) { return x - y; }},
      {"*", a * b, [](C x, C y) { return x * y; }},
      {"/", a / b, [](C x, C y) { return x / y; }},
      {"inverse", pow(a, -1), [](C x, C) { return C(1) / x; }},
      {"pow", pow(a, b), [](C x, C y) { return std::pow(x, y); }},
      {"negative", -a, [](C x, C) { return -x; }},
      {"abs", of(abs(a)), [](C x, C) { return C(std::abs(x)); }},
      {"arg", of(arg(a)), [](C x, C) { return C(std::arg(x)); }},
      {"real", of(real(a)), [](C x, C) { return C(x.real()); }},
      {"imag", of(imag(a)), [](C x, C) { return C(x.imag()); }},
      {"conj", conj(a), [](C x, C) { return std::conj(x); }},
      {"sign", sign(a), [](C x, C) { return x / std::abs(x); }},
      {"make", make_complex(real(a), imag(b)), [](C x, C y) { return C(x.real(), y.imag()); }},
      {"sqrt", sqrt(a), [](C x, C) { return std::sqrt(x); }},
      {"exp", exp(a), [](C x, C) { return std::exp(x); }},
      {"log", log(a), [](C x, C) { return std::log(x); }},
      {"log2", log2(a), [](C x, C) { return std::log(x) / std::log(R(2)); }},
      {"log10", log10(a), [](C x, C) { return std::log10(x); }},
      {"sin", sin(a), [](C x, C) { return std::sin(x); }},
      {"cos", cos(a), [](C x, C) { return std::cos(x); }},
      {"tan", tan(a), [](C x, C) { return std::tan(x); }},
      {"sinh", sinh(a), [](C x, C) { return std::sinh(x); }},
      {"cosh", cosh(a), [](C x, C) { return std::cosh(x); }},
      {"tanh", tanh(a), [](C x, C) { return std::tanh(x); }},
      {"==", of(a == a), [](C, C) { return C(1); }},
      {"where", where(a != b, a, b), [](C x, C) { return x; }},
      {"times number", a * std::complex<double>(0, 2), [](C x, C) { return x * C(0, 2); }},
  };
  std::vector<Expression> expressions;
  for (const Case& c : cases) {
    ASSERT_EQ(c.expression.dtype(), a.dtype()) << c.name;
    expressions.push_back(c.expression);
  }
  const std::vector<AnyArray> found = evaluate_all(expressions);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const std::vector<C> values = Array<C>(found[k]).to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const C expected = cases[k].expected(left[i], right[i]);
      EXPECT_LE(std::abs(values[i] - expected), tolerance * (1 + std::abs(expected)))
          << cases[k].name << " of " << left[i] << " and " << right[i] << " gives " << values[i];
    }
  }
}

TEST(Operators, OfComplexNumbersAreTheHostsOwn) {
  on_every_device([] {
    check_complex<float>(5e-6);
    check_complex<double>(1e-13);
  });
}

TEST(Operators, CastBetweenAllTypes) {
  on_every_device([] {
    for (int from = 0; from < dtype_count; ++from) {
      const auto source = static_cast<DType>(from);
      const AnyArray x = arange(source, 0, 2);
      std::vector<Expression> casts;
      for (int to = 0; to < dtype_count; ++to) {
        casts.push_back(cast(cast(x, static_cast<DType>(to)), DType::f64));
      }
      for (const AnyArray& result : evaluate_all(casts)) {
        EXPECT_EQ(Array<double>(result).to_vector(), (std::vector<double>{0, 1}));
      }
    }
  });
}

TEST(Operators, KeepHalvesOnEveryDevice) {
  on_every_device([] {
    // every bit pattern but NaNs, and numbers halfway between two
    std::vector<Half> all;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      if ((bits & 0x7fffU) <= 0x7c00U) {
        all.push_back(Half::from_bits(static_cast<std::uint16_t>(bits)));
      }
    }
    const Array<Half> x(all);
    const std::vector<float> values = x.as<float>().to_vector();
    const Array<Half> back = x.as<float>().as<Half>();
    const std::vector<Half> kept = back.to_vector();
    std::vector<float> between(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(values[i], static_cast<float>(all[i]));
      ASSERT_EQ(kept[i].bits(), all[i].bits());
      between[i] = values[i] * 1.00048828125F;
    }
    const std::vector<Half> rounded = Array<float>(between).as<Half>().to_vector();
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(rounded[i].bits(), Half(between[i]).bits()) << between[i];
    }
    // through tiles, packs, rows and reductions
    const Array<Half> y = arange<Half>(64 * 48).reshape({64, 48}).transposed();
    const Array<float> z = y + y(Slice{0, 1});
    EXPECT_EQ(z(47, 63).item(), 6096);  // 3071 is rounded to 3072
    EXPECT_EQ(Array<float>(sum(cast<float>(full<Half>({1000}, 1.5F)))).item(), 1500);
    EXPECT_EQ(Array<Half>(max(y)).item(), 3072);
    EXPECT_EQ(Array<float>(full<BFloat16>({3}, 2.5F) + Half(0.5F)).to_vector(),
              (std::vector<float>{3, 3, 3}));
  });
}

TEST(Operators, RoundBfloat16ToNearest) {
  on_every_device([] {
    std::mt19937 random(5);
    std::vector<float> values(1000);
    for (float& value : values) {
      value =
          std::ldexp(static_cast<float>(random() % 100000), static_cast<int>(random() % 60) - 30);
    }
    values[0] = std::numeric_limits<float>::infinity();
    const Array<float> x(values);
    const std::vector<BFloat16> found = x.as<BFloat16>().to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(found[i].bits(), BFloat16(values[i]).bits()) << values[i];
    }
  });
}

TEST(Operators, HaveBesselFunctionsWhereTheDeviceDoes) {
  on_every_device([] {
    const Array<double> x(std::vector<double>{0.5, 2, 30});
    const Array<std::int32_t> n(std::vector<std::int32_t>{0, 2, 5});
    if (current_stream().device().info().id.kind == runtime::BackendKind::opencl) {
      EXPECT_ERROR("arrays.expression.no_bessel", evaluate(j0(x)));
      return;
    }
    const auto expect = [](const Expression& found, const std::vector<double>& wanted) {
      const std::vector<double> values = Array<double>(found).to_vector();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(values[i], wanted[i], 1e-12);
      }
    };
    expect(j0(x), {::j0(0.5), ::j0(2), ::j0(30)});
    expect(j1(x), {::j1(0.5), ::j1(2), ::j1(30)});
    expect(y0(x), {::y0(0.5), ::y0(2), ::y0(30)});
    expect(y1(x), {::y1(0.5), ::y1(2), ::y1(30)});
    expect(jn(n, x), {::jn(0, 0.5), ::jn(2, 2), ::jn(5, 30)});
    expect(yn(3, x), {::yn(3, 0.5), ::yn(3, 2), ::yn(3, 30)});
    EXPECT_NEAR(Array<float>(j0(cast<float>(x)))(1).item(), ::j0(2), 1e-6);
  });
  EXPECT_ERROR("arrays.expression.dtype", jn(0.5, Expression(1.5)));
}

}  // namespace
}  // namespace rtcg::arrays
