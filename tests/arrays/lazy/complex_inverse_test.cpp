// Inverse functions of complex numbers, against the host's library in a longer type: on the cuts
// and at their ends, next to 0 and to the largest numbers, with infinities and NaNs (C11, annex G).
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;
using Wide = std::complex<long double>;

struct Case {
  const char* name;
  Expression expression;
  std::function<Wide(Wide)> expected;
};

std::vector<Case> cases_of(const AnyArray& z) {
  return {
      {"asin", asin(z), [](Wide w) { return std::asin(w); }},
      {"acos", acos(z), [](Wide w) { return std::acos(w); }},
      {"atan", atan(z), [](Wide w) { return std::atan(w); }},
      {"asinh", asinh(z), [](Wide w) { return std::asinh(w); }},
      {"acosh", acosh(z), [](Wide w) { return std::acosh(w); }},
      {"atanh", atanh(z), [](Wide w) { return std::atanh(w); }},
  };
}

/// Every pair of the parts, with each sign.
template <class R>
std::vector<std::complex<R>> grid(const std::vector<R>& parts) {
  std::vector<std::complex<R>> result;
  for (const R x : parts) {
    for (const R y : parts) {
      for (int signs = 0; signs < 4; ++signs) {
        result.emplace_back(signs % 2 == 0 ? x : -x, signs / 2 == 0 ? y : -y);
      }
    }
  }
  return result;
}

template <class R>
std::vector<std::complex<R>> finite_points() {
  using Limits = std::numeric_limits<R>;
  constexpr R eps = Limits::epsilon();
  const R least = 4 * Limits::min();
  std::vector<R> parts = {0,
                          least,
                          std::sqrt(least),
                          eps,
                          R(1e-3),
                          R(0.5),
                          R(0.64),
                          1 - eps,
                          1,
                          1 + eps,
                          R(1.5),
                          10,
                          R(1e4),
                          R(1e5),
                          1 / eps,
                          R(1e9),
                          R(1e18),
                          std::sqrt(Limits::max()) / 2,
                          Limits::max()};
  if constexpr (sizeof(R) == 8) {
    parts.insert(parts.end(), {1e-300, 2e8, 3e8, 1e300});
  }
  std::vector<std::complex<R>> points = grid(parts);
  std::mt19937 random(7);
  std::uniform_real_distribution<R> power(-5, 5);
  const auto any = [&] { return std::exp(power(random)) * (random() % 2 == 0 ? 1 : -1); };
  for (int i = 0; i < 2000; ++i) {
    points.emplace_back(any(), any());
    points.emplace_back(1 + R(1e-4) * any(), R(1e-4) * any());  // next to an end of a cut
  }
  return points;
}

/// A few roundings, of which the device's functions take up to four each.
template <class R>
void expect_close(R found, long double expected) {
  EXPECT_EQ(std::signbit(found), std::signbit(expected)) << found << " for " << expected;
  const long double size =
      std::max<long double>(std::fabs(expected), std::numeric_limits<R>::min());
  EXPECT_LE(std::fabs(found - expected), 8 * size * std::numeric_limits<R>::epsilon())
      << found << " for " << expected;
}

template <class R>
void check_finite() {
  const std::vector<std::complex<R>> points = finite_points<R>();
  const Array<std::complex<R>> z(points);
  for (const Case& c : cases_of(z)) {
    ASSERT_EQ(c.expression.dtype(), z.dtype());
    const std::vector<std::complex<R>> found = Array<std::complex<R>>(c.expression).to_vector();
    for (std::size_t i = 0; i < points.size(); ++i) {
      SCOPED_TRACE(c.name);
      SCOPED_TRACE(::testing::PrintToString(points[i]));
      const Wide expected = c.expected(Wide(points[i]));
      const R real = static_cast<R>(expected.real());
      if (std::isinf(real)) {  // the ends of the cuts of atanh
        EXPECT_EQ(found[i].real(), real);
      } else {
        expect_close(found[i].real(), expected.real());
      }
      if (std::isinf(static_cast<R>(expected.imag()))) {
        EXPECT_EQ(found[i].imag(), static_cast<R>(expected.imag()));
      } else {
        expect_close(found[i].imag(), expected.imag());
      }
    }
  }
}

TEST(ComplexInverse, IsTheHostsOnCutsAndFarAway) {
  on_every_device([] {
    check_finite<double>();
    check_finite<float>();
  });
}

/// NaNs where they belong; of other numbers all but the sign, which next to a NaN may be either.
template <class R>
void check_special() {
  constexpr R inf = std::numeric_limits<R>::infinity();
  constexpr R nan = std::numeric_limits<R>::quiet_NaN();
  const std::vector<std::complex<R>> points = grid<R>({0, 1, R(1e30), inf, nan});
  const Array<std::complex<R>> z(points);
  const auto expect = [](R found, long double expected, bool has_nan) {
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << found;
    } else if (std::isinf(expected) || has_nan) {
      EXPECT_FLOAT_EQ(has_nan ? std::fabs(found) : found, has_nan ? std::fabs(expected) : expected);
    } else {
      expect_close(found, expected);
    }
  };
  for (const Case& c : cases_of(z)) {
    const std::vector<std::complex<R>> found = Array<std::complex<R>>(c.expression).to_vector();
    for (std::size_t i = 0; i < points.size(); ++i) {
      SCOPED_TRACE(c.name);
      SCOPED_TRACE(::testing::PrintToString(points[i]));
      const Wide expected = c.expected(Wide(points[i]));
      const bool has_nan = std::isnan(points[i].real()) || std::isnan(points[i].imag());
      expect(found[i].real(), expected.real(), has_nan);
      expect(found[i].imag(), expected.imag(), has_nan);
    }
  }
}

TEST(ComplexInverse, HasTheRulesOfAnnexG) {
  on_every_device([] {
    check_special<double>();
    check_special<float>();
  });
}

}  // namespace
}  // namespace rtcg::arrays
