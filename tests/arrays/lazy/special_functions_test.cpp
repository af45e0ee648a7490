// Functions beyond C's elementary ones against special_cases.txt, which a script wrote with mpmath.
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/functions.h"
#include "tests/arrays/support/on_every_device.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

using testing::on_every_device;

struct Table {
  std::vector<double> x{};
  std::vector<double> values{};
};

const std::map<std::string, Table>& tables() {
  static const std::map<std::string, Table> all = [] {
    std::map<std::string, Table> result;
    std::ifstream file(RTCG_SOURCE_DIR "/tests/arrays/special_cases.txt");
    std::string line;
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string function;
      std::string x;
      std::string value;
      if (words >> function >> x >> value && function != "#") {
        // not by the stream, which takes no subnormal numbers
        result[function].x.push_back(std::strtod(x.c_str(), nullptr));
        result[function].values.push_back(std::strtod(value.c_str(), nullptr));
      }
    }
    return result;
  }();
  return all;
}

bool is_opencl() {
  return current_stream().device().info().id.kind == runtime::BackendKind::opencl;
}

/// @param units  relative errors of as many epsilons are taken, for numbers near 0 absolute ones
template <class T>
void check_table(const std::string& function, const std::function<Expression(Expression)>& compute,
                 double units) {
  SCOPED_TRACE(function + " of " + std::string(name(dtype_of_type<T>)));
  std::vector<T> x;
  std::vector<double> wanted;
  const Table& table = tables().at(function);
  for (std::size_t i = 0; i < table.x.size(); ++i) {
    const auto given = static_cast<T>(table.x[i]);
    const double size = std::fabs(table.values[i]);
    if (given == table.x[i] && size < std::numeric_limits<T>::max()) {
      x.push_back(given);
      wanted.push_back(table.values[i]);
    }
  }
  ASSERT_GE(x.size(), 8);
  const std::vector<T> found = Array<T>(compute(Array<T>(x))).to_vector();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double size = std::max<double>(std::fabs(wanted[i]), std::numeric_limits<T>::min());
    EXPECT_LE(std::fabs(found[i] - wanted[i]), units * size * std::numeric_limits<T>::epsilon())
        << found[i] << " instead of " << wanted[i] << " at " << x[i];
  }
}

void check_both(const std::string& function, Expression (*compute)(const Expression&),
                double units) {
  // OpenCL lets each of its functions be off by up to 16 units
  const double allowed = is_opencl() ? 4 * units + 16 : units;
  check_table<double>(function, compute, allowed);
  check_table<float>(function, compute, allowed);
}

TEST(SpecialFunctions, AreThoseOfTheTable) {
  on_every_device([] {
    check_both("erfcx", erfcx, 6);
    check_both("normcdf", normcdf, 8);
    check_both("erfinv", erfinv, 8);
    check_both("erfcinv", erfcinv, 8);
    check_both("normcdfinv", normcdfinv, 8);
    check_both("i0", i0, 10);
    check_both("i1", i1, 10);
  });
}

TEST(SpecialFunctions, OfHalfTurnsAreExactAtQuarters) {
  on_every_device([] {
    check_both("sinpi", sinpi, 3);
    check_both("cospi", cospi, 3);
    const Array<double> x(std::vector<double>{0, 0.5, 1, 1.5, 2, -0.5, -1, 1e300, 0.25});
    EXPECT_EQ(Array<double>(sinpi(x))(Slice{0, 8}).copy().to_vector(),
              (std::vector<double>{0, 1, 0, -1, 0, -1, 0, 0}));
    EXPECT_EQ(Array<double>(cospi(x))(Slice{0, 8}).copy().to_vector(),
              (std::vector<double>{1, 0, -1, 0, 1, 0, -1, 1}));
    EXPECT_NEAR(Array<double>(tanpi(x))(8).item(), 1, 1e-15);
    const double infinite = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(Array<bool>(all(isnan(sinpi(full<double>({1}, infinite))))).item());
    // PoCL's sinpi gives 0 without its sign
    EXPECT_TRUE(is_opencl() || Array<bool>(all(signbit(sinpi(full<double>({2}, -3.0))))).item());
  });
}

TEST(BesselFunctions, OfThirtyOrdersAreThoseOfTheTable) {
  on_every_device([] {
    if (is_opencl()) {
      return;  // Operators.HaveBesselFunctionsWhereTheDeviceDoes has the refusal
    }
    for (int order = 0; order < 30; ++order) {
      SCOPED_TRACE(order);
      const Table& j = tables().at("j" + std::to_string(order));
      const Table& y = tables().at("y" + std::to_string(order));
      const std::vector<AnyArray> found =
          evaluate_all({jn(order, Array<double>(j.x)), yn(order, Array<double>(y.x))});
      const std::vector<double> js = Array<double>(found[0]).to_vector();
      const std::vector<double> ys = Array<double>(found[1]).to_vector();
      for (std::size_t i = 0; i < js.size(); ++i) {
        EXPECT_NEAR(js[i], j.values[i], 1e-10) << j.x[i];
        // far away, where they are small, CUDA promises an absolute error
        EXPECT_NEAR(ys[i], y.values[i], 1e-10 * std::fabs(y.values[i]) + 5e-12) << y.x[i];
      }
    }
  });
}

TEST(BesselFunctions, ObeyWronskisRule) {
  on_every_device([] {
    if (is_opencl()) {
      return;
    }
    // J(n+1) Y(n) - J(n) Y(n+1) is 2 / (pi x), up to 1e5; next to 0, where J is tiny, a library may
    // give it with an absolute error
    const Array<double> x = exp2(arange<double>(20000) * (16.6 / 20000));
    for (int n = 0; n < 29; ++n) {
      const Expression rule = jn(n + 1, x) * yn(n, x) - jn(n, x) * yn(n + 1, x);
      const Expression off = where(x > n, abs(rule * x * (std::acos(-1.0) / 2) - 1), 0);
      EXPECT_LE(Array<double>(max(off)).item(), 1e-8) << n;
    }
  });
}

TEST(SpecialFunctions, HaveLimitsAtTheirEnds) {
  on_every_device([] {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const auto expect = [](const std::function<Expression(Expression)>& function, double x,
                           double wanted) {
      const double found = Array<double>(function(full<double>({1}, x))).item();
      EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
          << "f(" << x << ") is " << found << ", not " << wanted;
    };
    expect(erfinv, 1, inf);
    expect(erfinv, -1, -inf);
    expect(erfinv, 1.5, std::nan(""));
    expect(erfcinv, 0, inf);
    expect(erfcinv, 2, -inf);
    expect(normcdfinv, 0, -inf);
    expect(normcdfinv, 1, inf);
    expect(normcdfinv, -0.25, std::nan(""));
    expect(normcdf, inf, 1);
    expect(normcdf, -inf, 0);
    expect(normcdf, std::nan(""), std::nan(""));
    expect(erfcx, inf, 0);
    expect(erfcx, -inf, inf);
    expect(erfcx, -1e10, inf);
    expect(erfcx, std::nan(""), std::nan(""));
    expect(i0, -inf, inf);
    expect(i1, -inf, -inf);
    expect(i0, 1500, inf);
    expect(i1, std::nan(""), std::nan(""));
  });
}

TEST(SpecialFunctions, GoWithTheOthers) {
  on_every_device([] {
    const Array<double> x(std::vector<double>{-0.8, 0.3, 1});
    const auto expect = [](const Expression& found, const std::vector<double>& wanted) {
      const std::vector<double> values = Array<double>(found).to_vector();
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_NEAR(values[i], wanted[i], 1e-14 * (1 + std::fabs(wanted[i])));
      }
    };
    const double pi = std::acos(-1.0);
    expect(asinpi(x), {std::asin(-0.8) / pi, std::asin(0.3) / pi, 0.5});
    expect(acospi(x), {std::acos(-0.8) / pi, std::acos(0.3) / pi, 0});
    expect(atanpi(x), {std::atan(-0.8) / pi, std::atan(0.3) / pi, 0.25});
    expect(atan2pi(x, -1), {std::atan2(-0.8, -1) / pi, std::atan2(0.3, -1) / pi, 0.75});
    expect(rcbrt(x), {1 / std::cbrt(-0.8), 1 / std::cbrt(0.3), 1});
    expect(rhypot(x, 2), {1 / std::hypot(-0.8, 2), 1 / std::hypot(0.3, 2), 1 / std::hypot(1, 2)});
    expect(hypot(x, 2, 3), {std::hypot(-0.8, 2, 3), std::hypot(0.3, 2, 3), std::hypot(1, 2, 3)});
    // whole numbers count as floating ones, halves are computed in f32
    EXPECT_EQ(erfinv(Array<std::int32_t>(std::vector<std::int32_t>{0})).dtype(), DType::f64);
    const Array<Half> half(std::vector<Half>{Half(0.5F)});
    EXPECT_NEAR(static_cast<float>(Array<Half>(normcdfinv(half / 2)).item()), -0.67449, 1e-3);
  });
  EXPECT_ERROR("arrays.expression.dtype", erfinv(std::complex<double>(0, 1)));
}

}  // namespace
}  // namespace rtcg::arrays
