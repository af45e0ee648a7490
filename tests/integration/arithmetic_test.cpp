// Mathematical functions, integers, conversions, literals at their limits.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

struct UnaryFunction {
  Intrinsic intrinsic;
  double (*reference)(double);
  double offset = 0;  ///< brings the arguments into its domain
};

const std::vector<UnaryFunction> unary_functions = {
    {Intrinsic::sqrt, std::sqrt},
    {Intrinsic::rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {Intrinsic::cbrt, std::cbrt},
    {Intrinsic::exp, std::exp},
    {Intrinsic::exp2, std::exp2},
    {Intrinsic::exp10, [](double x) { return std::pow(10.0, x); }},
    {Intrinsic::expm1, std::expm1},
    {Intrinsic::log, std::log, 2},
    {Intrinsic::log2, std::log2, 2},
    {Intrinsic::log10, std::log10, 2},
    {Intrinsic::log1p, std::log1p},
    {Intrinsic::sin, std::sin},
    {Intrinsic::cos, std::cos},
    {Intrinsic::tan, std::tan},
    {Intrinsic::asin, std::asin},
    {Intrinsic::acos, std::acos},
    {Intrinsic::atan, std::atan},
    {Intrinsic::sinh, std::sinh},
    {Intrinsic::cosh, std::cosh},
    {Intrinsic::tanh, std::tanh},
    {Intrinsic::asinh, std::asinh},
    {Intrinsic::acosh, std::acosh, 2},
    {Intrinsic::atanh, std::atanh},
    {Intrinsic::erf, std::erf},
    {Intrinsic::erfc, std::erfc},
    {Intrinsic::tgamma, std::tgamma},
    {Intrinsic::lgamma, [](double x) { return std::lgamma(x); }},
};

struct BinaryFunction {
  Intrinsic intrinsic;
  double (*reference)(double, double);
};

const std::vector<BinaryFunction> binary_functions = {
    {Intrinsic::pow, std::pow},
    {Intrinsic::fmod, std::fmod},
    {Intrinsic::atan2, std::atan2},
    {Intrinsic::hypot, std::hypot},
    {Intrinsic::copysign, [](double x, double y) { return std::copysign(x, y); }},
    {Intrinsic::min, [](double x, double y) { return std::fmin(x, y); }},
    {Intrinsic::max, [](double x, double y) { return std::fmax(x, y); }}};

template <class Number>
void run_math(const Type& type) {
  const auto x = param(pointer_to(const_(type)), "x");
  const auto y = param(pointer_to(type), "y");
  const auto i = declare(i32, "i", index_of_thread);
  const std::vector<Number> values = {Number(0.25), Number(0.3), Number(0.75)};
  BlockBuilder body;
  body << i;
  std::vector<Number> expected;
  const auto add = [&](const Expr& value, auto&& reference) {
    body << assign(y[static_cast<int>(expected.size()) + i], value);
    for (const Number argument : values) {
      expected.push_back(static_cast<Number>(reference(argument)));
    }
  };
  for (const UnaryFunction& f : unary_functions) {
    add(call(f.intrinsic, {x[i] + literal(f.offset, type)}), [&](Number v) {
      return f.reference(static_cast<Number>(v + static_cast<Number>(f.offset)));
    });
  }
  for (const BinaryFunction& f : binary_functions) {
    add(call(f.intrinsic, {x[i] * literal(5, type), literal(-0.5, type)}),
        [&](Number v) { return f.reference(static_cast<Number>(v * 5), -0.5); });
  }
  run_everywhere({.module = {"math", {kernel("k", {x, y}, body)}},
                  .shape = {1, 3},
                  // 16: the loosest that OpenCL allows to a function used here
                  .arguments = {in(values), out(expected, 16)}});
}

TEST(ArithmeticEverywhere, HasFunctionsOfFloats) {
  run_math<float>(f32);
}
TEST(ArithmeticEverywhere, HasFunctionsOfDoubles) {
  run_math<double>(f64);
}

TEST(ArithmeticEverywhere, RoundsAndTestsExactly) {
  const auto x = param(pointer_to(const_(f32)), "x");
  const auto y = param(pointer_to(f32), "y");
  const auto flags = param(pointer_to(i32), "flags");
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << i;
  const std::vector<float> values = {0.5F, -0.5F, 1.5F, 2.5F, -2.5F, 0.49999997F, -0.0F, 7};
  std::vector<float> expected;
  const auto add = [&](Intrinsic intrinsic, float (*reference)(float)) {
    body << assign(y[static_cast<int>(expected.size()) + i], call(intrinsic, {x[i]}));
    for (const float value : values) {
      expected.push_back(reference(value));
    }
  };
  add(Intrinsic::floor, std::floor);
  add(Intrinsic::ceil, std::ceil);
  add(Intrinsic::round, std::round);
  add(Intrinsic::trunc, std::trunc);
  add(Intrinsic::rint, std::rint);
  add(Intrinsic::abs, std::fabs);
  // one rounding: the product is 1 + 2^-11 + 2^-24
  const float one_and_bit = 1 + 1.0F / 4096;
  body << assign(
      y[static_cast<int>(expected.size()) + i],
      call(Intrinsic::fma, {x[i] - x[i] + one_and_bit, Expr(one_and_bit), Expr(-1 - 1.0F / 2048)}));
  expected.insert(expected.end(), values.size(), 0x1p-24F);
  const auto z = declare(f32, "z", x[i] / select(i < 2, 1.0f, select(i < 4, 0.0f, x[6])));
  body << z
       << assign(flags[i], cast(i32, call(Intrinsic::isnan, {z})) +
                               2 * cast(i32, call(Intrinsic::isinf, {z})) +
                               4 * cast(i32, call(Intrinsic::isfinite, {z})));
  run_everywhere({.module = {"rounding", {kernel("k", {x, y, flags}, body)}},
                  .shape = {1, 8},
                  .arguments = {in(values), out(expected), out<int>({4, 4, 2, 2, 2, 2, 1, 2})}});
}

TEST(ArithmeticEverywhere, HasFunctionsOfIntegers) {
  const std::vector<std::int32_t> ints = {0, 1, -1, 5, -2147483647, 2147483647, 255, -256};
  const auto a = param(pointer_to(const_(i32)), "a");
  const auto b = param(pointer_to(const_(i64)), "b");
  const auto c = param(pointer_to(const_(i16)), "c");
  const auto y = param(pointer_to(i64), "y");
  const auto i = declare(i32, "i", index_of_thread);
  BlockBuilder body;
  body << i;
  std::vector<std::int64_t> wide;
  std::vector<std::int16_t> narrow;
  for (const std::int32_t value : ints) {
    wide.push_back(std::int64_t{value} * 2147483648);
    narrow.push_back(static_cast<std::int16_t>(value));
  }
  std::vector<std::int64_t> expected;
  const auto add = [&](const Expr& value, auto&& reference) {
    body << assign(y[static_cast<int>(expected.size()) + i], value);
    for (std::size_t k = 0; k < ints.size(); ++k) {
      expected.push_back(static_cast<std::int64_t>(reference(ints[k], wide[k], narrow[k])));
    }
  };
  using I = std::int32_t;
  using L = std::int64_t;
  using S = std::int16_t;
  add(call(Intrinsic::abs, {a[i]}), [](I x, L, S) { return x < 0 ? -x : x; });
  add(call(Intrinsic::abs, {b[i]}), [](I, L x, S) { return x < 0 ? -x : x; });
  add(call(Intrinsic::abs, {c[i]}), [](I, L, S x) { return x < 0 ? -x : x; });
  add(call(Intrinsic::min, {a[i], -7}), [](I x, L, S) { return std::min(x, -7); });
  add(call(Intrinsic::max, {b[i], a[i]}), [](I x, L y_, S) { return std::max<L>(x, y_); });
  add(call(Intrinsic::max, {cast(u32, a[i]), 9u}),
      [](I x, L, S) { return std::max(static_cast<std::uint32_t>(x), 9U); });
  add(call(Intrinsic::min, {cast(u64, b[i]), cast(u64, 1000)}),
      [](I, L x, S) { return std::min(static_cast<std::uint64_t>(x), std::uint64_t{1000}); });
  add(call(Intrinsic::min, {c[i], cast(i16, 3)}), [](I, L, S x) { return std::min<I>(x, 3); });
  add(call(Intrinsic::popcount, {a[i]}),
      [](I x, L, S) { return __builtin_popcount(static_cast<unsigned>(x)); });
  add(call(Intrinsic::popcount, {b[i]}),
      [](I, L x, S) { return __builtin_popcountll(static_cast<unsigned long long>(x)); });
  add(call(Intrinsic::count_leading_zeros, {a[i]}),
      [](I x, L, S) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); });
  add(call(Intrinsic::count_leading_zeros, {b[i]}),
      [](I, L x, S) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); });
  add(b[i] / 3 - b[i] % 7, [](I, L x, S) { return x / 3 - x % 7; });
  add(b[i] >> 33, [](I, L x, S) { return x >> 33; });
  add(cast(i64, cast(u64, b[i]) >> 33),
      [](I, L x, S) { return static_cast<L>(static_cast<std::uint64_t>(x) >> 33); });
  add(cast(i64, cast(u64, b[i]) * 6364136223846793005ULL + 1442695040888963407ULL), [](I, L x, S) {
    return static_cast<L>(static_cast<std::uint64_t>(x) * 6364136223846793005ULL +
                          1442695040888963407ULL);
  });
  add(cast(i64, literal(1, i64) << (c[i] & 63)),
      [](I, L, S x) { return static_cast<L>(std::uint64_t{1} << (x & 63)); });
  add(cast(u32, a[i]) / 3u + (cast(u32, a[i]) >> 5), [](I x, L, S) {
    return static_cast<std::uint32_t>(x) / 3U + (static_cast<std::uint32_t>(x) >> 5);
  });
  run_everywhere({.module = {"integers", {kernel("k", {a, b, c, y}, body)}},
                  .shape = {2, 4},
                  .arguments = {in(ints), in(wide), in(narrow), out(expected)}});
}

TEST(ArithmeticEverywhere, ConvertsBetweenTypes) {
  const auto x = param(pointer_to(const_(f32)), "x");
  const auto n = param(pointer_to(const_(i32)), "n");
  const auto y = param(pointer_to(i64), "y");
  const auto z = param(pointer_to(f64), "z");
  BlockBuilder body;
  int ints = 0;
  int reals = 0;
  const auto add = [&](const Expr& value) { body << assign(y[ints++], value); };
  const auto add_real = [&](const Expr& value) { body << assign(z[reals++], value); };
  add(cast(i32, x[0]));
  add(cast(u8, x[1], CastStyle::static_cast_));
  add(cast(i64, x[2]));
  add(cast(boolean, n[0]));
  add(cast(i8, n[0]));
  add(cast(u16, n[1]));
  add(cast(u64, cast(i32, n[1])) >> 40);
  add(cast(i64, cast(u32, n[1])));
  add(bit_cast(i32, x[0]));
  add(bit_cast(u32, x[0]));
  add(cast(i64, bit_cast(u64, cast(f64, x[0]))));
  add(bit_cast(i64, cast(f64, x[0])));
  add(deref(cast(pointer_to(in_space(AddressSpace::global, const_(i32))), x + 1,
                 CastStyle::reinterpret_cast_)));
  add(sizeof_(f64) + sizeof_(y[0]));
  add(cast(i32, n[0] > 5) + cast(i32, literal(true)) + literal('a'));
  add_real(cast(f32, n[0], CastStyle::functional) / 8);
  add_real(n[0] / 8);
  add_real(cast(f32, 0.1));
  add_real(bit_cast(f32, cast(u32, n[2])));
  add_real(bit_cast(f64, literal(0x3ff80000, u64) << 32));
  add_real(bit_cast(f64, cast(i64, 0x3ff80000) << 32));
  add_real(bit_cast(f32, cast(i32, n[2])));
  add_real(cast(u32, n[1]) * 1.0);
  run_everywhere(
      {.module = {"conversions", {kernel("k", {x, n, y, z}, body)}},
       .shape = {1, 1},
       .arguments = {
           in<float>({-2.75F, 200.7F, 3e10F}), in<int>({300, -2, 0x3fc00000}),
           out<std::int64_t>(
               {-2, 200, static_cast<std::int64_t>(3e10F), 1, 44, 65534, 0xffffff, 4294967294,
                std::bit_cast<std::int32_t>(-2.75F), std::bit_cast<std::uint32_t>(-2.75F),
                std::bit_cast<std::int64_t>(-2.75), std::bit_cast<std::int64_t>(-2.75),
                std::bit_cast<std::int32_t>(200.7F), 16, 99}),
           out<double>({37.5, 37, 0.1F, 1.5, 1.5, 1.5, 1.5, 4294967294.0})}});
}

TEST(ArithmeticEverywhere, HasLiteralsAtTheirLimits) {
  const auto a = param(pointer_to(i32), "a");
  const auto b = param(pointer_to(i64), "b");
  const auto c = param(pointer_to(u64), "c");
  const auto x = param(pointer_to(f32), "x");
  const auto y = param(pointer_to(f64), "y");
  BlockBuilder body;
  const auto fill = [&](const Expr& target, const auto& values) {
    int k = 0;
    for (const auto value : values) {
      body << assign(target[k++], Expr(value));
    }
  };
  using Int = std::numeric_limits<std::int32_t>;
  using Long = std::numeric_limits<std::int64_t>;
  using Float = std::numeric_limits<float>;
  using Double = std::numeric_limits<double>;
  const std::vector<std::int32_t> ints = {Int::min(), Int::max(), -1, 0};
  const std::vector<std::int64_t> longs = {Long::min(), Long::max(), -1, -2147483648};
  const std::vector<std::uint64_t> unsigned_longs = {~std::uint64_t{0}, std::uint64_t{1} << 63,
                                                     4294967296};
  const std::vector<float> floats = {Float::max(),
                                     -Float::max(),
                                     Float::min(),
                                     Float::infinity(),
                                     -Float::infinity(),
                                     Float::quiet_NaN(),
                                     -0.0F,
                                     Float::denorm_min(),
                                     0.1F,
                                     16777217.0F,
                                     1e-40F,
                                     3};
  const std::vector<double> doubles = {Double::max(),
                                       Double::min(),
                                       Double::infinity(),
                                       -Double::infinity(),
                                       Double::quiet_NaN(),
                                       -0.0,
                                       Double::denorm_min(),
                                       0.1,
                                       1e22,
                                       123456789012345678.0,
                                       5e-310,
                                       2};
  fill(a, ints);
  fill(b, longs);
  fill(c, unsigned_longs);
  fill(x, floats);
  fill(y, doubles);
  // negative numbers next to operators
  body << assign(a[4], a[3] - Expr(-5)) << assign(a[5], -Expr(-5) - -a[1])
       << assign(a[6], literal(-3, i8) + literal(200, u8)) << assign(a[7], -Expr(7u) > 0u)
       << assign(x[12], -Expr(-INFINITY) - literal(-1, f32));
  std::vector<std::int32_t> all_ints = ints;
  all_ints.insert(all_ints.end(), {5, Int::min() + 4, 197, 1});
  std::vector<float> all_floats = floats;
  all_floats.push_back(INFINITY);
  run_everywhere({.module = {"literals", {kernel("k", {a, b, c, x, y}, body)}},
                  .shape = {1, 1},
                  .arguments = {out(all_ints), out(longs), out(unsigned_longs), out(all_floats),
                                out(doubles)}});
}

TEST(ArithmeticEverywhere, FollowsDirectivesTypedefsAndAssertions) {
  const auto y = param(pointer_to(i32), "y");
  const Type number = named("number");
  const Expr count = variable("COUNT", i32);
  const Module module = {
      "directives",
      {Define{"COUNT", "(2 + 1)"}, Typedef{i32, "number"}, UsingAlias{"real", f32},
       StaticAssert{equal(sizeof_(f32), 4), "floats have four bytes"},
       declare(Declaration{
           .type = i32, .name = "ten", .initializer = Expr(10), .memory = MemorySpace::constant}),
       function(Function{
           .result = void_type,
           .name = "k",
           .parameters = {y},
           .body = Statement(Block{
               {comment("a /* comment */ that \\"),
                PreprocessorIf{{{PreprocessorTest::if_, "COUNT > 2", {assign(y[0], count * 2)}}},
                               std::vector<Statement>{assign(y[0], 0)}},
                declare(number, "n", 4), declare(named("real"), "r", 0.5f),
                assign(y[1], variable("n", i32) + cast(i32, variable("r", f32) * 8.0f)),
                assign(y[2], variable("ten", i32)),
                RawStatement{"y[3] = 1 +\n       2;", {}, {"y"}}}}),
           .specifiers = {.is_kernel = true},
           .required_work_group_size = WorkGroupSize{1, 1, 1}})}};
  run_everywhere({.module = module, .shape = {1, 1}, .arguments = {out<int>({6, 8, 10, 3})}});
}

}  // namespace
}  // namespace rtcg::testing
