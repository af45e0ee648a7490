// Functions of the library in loops of the host: they have variants for vectors, which round
// differently.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/runtime/device/buffer.h"

namespace rtcg::loopy {
namespace {

using runtime::Buffer;
using runtime::Device;

struct Function {
  const char* name;
  long double (*exact)(long double);
};

long double exp10_of(long double x) {
  return std::pow(10.0L, x);
}

const std::vector<Function>& functions() {
  using Real = long double;
  static const std::vector<Function> all = {
      {"exp", [](Real x) { return std::exp(x); }},
      {"exp2", [](Real x) { return std::exp2(x); }},
      {"exp10", exp10_of},
      {"expm1", [](Real x) { return std::expm1(x); }},
      {"log", [](Real x) { return std::log(x); }},
      {"log2", [](Real x) { return std::log2(x); }},
      {"log10", [](Real x) { return std::log10(x); }},
      {"log1p", [](Real x) { return std::log1p(x); }},
      {"sin", [](Real x) { return std::sin(x); }},
      {"cos", [](Real x) { return std::cos(x); }},
      {"tan", [](Real x) { return std::tan(x); }},
      {"asin", [](Real x) { return std::asin(x); }},
      {"acos", [](Real x) { return std::acos(x); }},
      {"atan", [](Real x) { return std::atan(x); }},
      {"sinh", [](Real x) { return std::sinh(x); }},
      {"cosh", [](Real x) { return std::cosh(x); }},
      {"tanh", [](Real x) { return std::tanh(x); }},
      {"asinh", [](Real x) { return std::asinh(x); }},
      {"acosh", [](Real x) { return std::acosh(x); }},
      {"atanh", [](Real x) { return std::atanh(x); }},
      {"cbrt", [](Real x) { return std::cbrt(x); }},
      {"erf", [](Real x) { return std::erf(x); }},
      {"erfc", [](Real x) { return std::erfc(x); }},
  };
  return all;
}

/// Units in the last place between a result and what it stands for; infinity where one of them is
/// no number, is infinite or is a zero of the other sign.
template <class Real>
double ulps_between(Real found, long double exact) {
  const Real rounded = static_cast<Real>(exact);
  if (std::isnan(found) && std::isnan(rounded)) {
    return 0;
  }
  if (std::isnan(found) || std::isnan(rounded) || std::isinf(found) || std::isinf(rounded) ||
      (found == 0 && rounded == 0)) {
    const bool is_same = found == rounded && std::signbit(found) == std::signbit(rounded);
    return is_same ? 0 : std::numeric_limits<double>::infinity();
  }
  const Real size = std::abs(rounded);
  const Real unit = std::nextafter(size, std::numeric_limits<Real>::infinity()) - size;
  return static_cast<double>(std::abs(found - exact) / unit);
}

/// Special values, ordinary ones, and random bits.
template <class Real, class Bits>
std::vector<Real> arguments() {
  using Limits = std::numeric_limits<Real>;
  std::vector<Real> values = {0,
                              Real(-0.0),
                              1,
                              -1,
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::quiet_NaN(),
                              Limits::denorm_min(),
                              -Limits::denorm_min(),
                              Limits::min(),
                              Limits::max(),
                              Limits::lowest(),
                              std::nextafter(Real(1), Real(2)),
                              std::nextafter(Real(1), Real(0))};
  std::uint64_t state = 1;
  while (values.size() < 4096) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double share = static_cast<double>(state >> 11) * 0x1p-53;
    const auto bits = static_cast<Bits>(state >> (64 - 8 * sizeof(Bits)));
    Real of_bits = 0;
    std::memcpy(&of_bits, &bits, sizeof bits);
    values.push_back(values.size() % 4 == 0
                         ? of_bits
                         : static_cast<Real>((share - 0.5) * (values.size() % 2 == 0 ? 4 : 200)));
  }
  return values;
}

template <class Real, class Bits>
void expect_accurate(const std::string& type) {
  const std::vector<Real> x = arguments<Real, Bits>();
  std::string statements;
  for (std::size_t f = 0; f < functions().size(); ++f) {
    statements += fmt::format("y[{}, i] = {}(x[i])\n", f, functions()[f].name);
  }
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < 4096}", statements,
      {.arguments = fmt::format("x: {0}[4096]; y: {0}[{1}, 4096]", type, functions().size())});
  const Device host = Device::host();
  const Executor executor(apply_recipe(kernel, "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)"),
                          host);
  const Buffer<Real> in(host, x);
  const Buffer<Real> out(host, functions().size() * x.size());
  executor(host.default_stream(), {arg("x", in), arg("y", out)});
  const std::vector<Real> y = out.to_vector();
  for (std::size_t f = 0; f < functions().size(); ++f) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real found = y[f * x.size() + i];
      // 4 of the library's vectors, and as exact results are rounded
      ASSERT_LE(ulps_between(found, functions()[f].exact(x[i])), 4.5)
          << functions()[f].name << "(" << x[i] << ") is " << found << " in " << type;
    }
  }
}

TEST(VectorFunctions, AreWithinFourUnitsInTheLastPlaceAndKeepSpecialValues) {
  expect_accurate<float, std::uint32_t>("f32");
  expect_accurate<double, std::uint64_t>("f64");
}

TEST(VectorFunctions, AreDeclaredOnceForEachFunctionOfTheHost) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "y[i] = exp(x[i]) + exp(2*x[i]) + pow(x[i], z[i])",
                  {.default_type = cgen::f32});
  const Kernel split = apply_recipe(kernel, "split_iname(i, 64, outer_tag=g.0, inner_tag=l.0)");
  const std::string text = generate_text(split, Target::host);
  const std::string attribute = "__attribute__((__simd__(\"notinbranch\"))) ";
  for (const char* declared : {"float expf(float);", "float powf(float, float);"}) {
    const std::size_t first = text.find(attribute + declared);
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(attribute + declared, first + 1), std::string::npos) << text;
  }
  EXPECT_EQ(generate_text(split, Target::cuda).find("__simd__"), std::string::npos);
}

}  // namespace
}  // namespace rtcg::loopy
