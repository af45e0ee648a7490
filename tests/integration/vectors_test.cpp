// Vectors of lanes, numbers of 16 bits, complex numbers.
#include <cmath>
#include <complex>
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/integration/run_everywhere.h"

namespace rtcg::testing {
namespace {

using namespace cgen;

std::vector<float> counted_floats(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t k = 0; k < count; ++k) {
    values[k] = static_cast<float>(k);
  }
  return values;
}

TEST(VectorsEverywhere, HaveArithmetic) {
  const auto x = param(pointer_to(const_(float4)), "x");
  const auto y = param(pointer_to(float4), "y");
  const auto i = declare(i32, "i", index_of_thread);
  const auto v = declare(float4, "v", x[i]);
  const Expr fours = make_vector(float4, {4.0f, 4.0f, 4.0f, 4.0f});
  const std::vector<float> before = counted_floats(32);
  std::vector<float> after;
  for (const float value : before) {
    after.push_back((2 * value + value * value - 1) / 4);
  }
  run_everywhere(
      {.module = {"arithmetic",
                  {kernel("k", {x, y},
                          BlockBuilder{i, v, assign(y[i], (2.0f * v + v * v - 1.0f) / fours)})}},
       .shape = {2, 4},
       .arguments = {in(before), out(after)}});
}

TEST(VectorsEverywhere, EvaluateTheTargetOfACompoundAssignmentOnce) {
  const auto x = param(pointer_to(float4), "x");
  const auto count = param(pointer_to(i32), "count");
  const auto i = declare(i32, "i", 0);
  const auto v = declare(float4, "v", make_vector(float4, {1.0f, 2.0f, 3.0f, 4.0f}));
  BlockBuilder body;
  body << i << v << add_assign(x[post_increment(i)], v)
       << multiply_assign(x[post_increment(i)], 2.0f)
       << subtract_assign(x[post_increment(i)], make_vector(float4, {1.0f, 1.0f, 0.0f, 0.0f}))
       << divide_assign(x[post_increment(i)], v) << assign(count[0], i);
  run_everywhere({.module = {"compound", {kernel("k", {x, count}, body)}},
                  .shape = {1, 1},
                  .arguments = {in_out<float>({0, 0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5, 1, 4, 9, 16},
                                              {1, 2, 3, 4, 2, 4, 6, 8, 4, 4, 5, 5, 1, 2, 3, 4}),
                                out<int>({4})}});
}

TEST(VectorsEverywhere, NegateZeros) {
  const auto x = param(pointer_to(const_(float4)), "x");
  const auto y = param(pointer_to(float4), "y");
  run_everywhere({.module = {"negate", {kernel("k", {x, y}, assign(y[0], -x[0]))}},
                  .shape = {1, 1},
                  .arguments = {in<float>({0.0F, -0.0F, 1, INFINITY}),
                                out<float>({-0.0F, 0.0F, -1, -INFINITY})}});
}

TEST(VectorsEverywhere, ReadAndWriteLanes) {
  const auto x = param(pointer_to(const_(float2)), "x");
  const auto y = param(pointer_to(float4), "y");
  const auto p = declare(pointer_to(in_space(AddressSpace::global, float4)), "p", y + 0);
  const auto v = declare(float4, "v", make_vector(float4, {x[0].member("y"), 0.0f, 1.0f, 2.0f}));
  BlockBuilder body;
  body << v << assign(v.member("y"), x[0].member("x") * 3.0f) << add_assign(v.member("w"), 0.5f)
       << assign(y[0], v) << p << assign(p.member("z"), p.member("z") + v.member("x"));
  run_everywhere({.module = {"lanes", {kernel("k", {x, y}, body)}},
                  .shape = {1, 1},
                  .arguments = {in<float>({5, 7}), out<float>({7, 15, 8, 2.5F})}});
}

TEST(VectorsEverywhere, OfIntegersHaveBitOperations) {
  const auto x = param(pointer_to(const_(int4)), "x");
  const auto y = param(pointer_to(int4), "y");
  const auto v = declare(int4, "v", x[0]);
  BlockBuilder body;
  body << v << assign(y[0], (v & 6) | (v << 4)) << assign(y[1], ~v ^ v % 3)
       << assign(y[2], (v >> 1) - -v) << assign(y[3], v < x[1])
       << assign(y[4], equal(v, make_vector(int4, {1, 2, 3, 4})))
       << compound_assign(BinaryOp::shift_left, y[5], 3)
       << compound_assign(BinaryOp::bit_xor, y[5], v);
  const std::vector<int> values = {1, 2, 7, -8, 2, 2, 8, -9};
  std::vector<int> expected(24);
  for (std::size_t k = 0; k < 4; ++k) {
    const int value = values[k];
    expected[k] = (value & 6) | (value * 16);
    expected[4 + k] = ~value ^ value % 3;
    expected[8 + k] = (value >> 1) + value;
    expected[12 + k] = value < values[4 + k] ? -1 : 0;
    expected[16 + k] = value == static_cast<int>(k) + 1 ? -1 : 0;
    expected[20 + k] = 8 ^ value;
  }
  run_everywhere({.module = {"bits", {kernel("k", {x, y}, body)}},
                  .shape = {1, 1},
                  .arguments = {in(values), in_out(std::vector<int>(24, 1), expected)}});
}

TEST(VectorsEverywhere, TakeScalarsOfOtherTypes) {
  const auto x = param(pointer_to(float2), "x");
  const auto n = param(i32, "n");
  BlockBuilder body;
  body << assign(x[0], x[0] * n) << assign(x[1], 2.5 * x[1]) << add_assign(x[2], n)
       << assign(x[3], x[3] - 1);
  run_everywhere(
      {.module = {"mixed", {kernel("k", {x, n}, body)}},
       .shape = {1, 1},
       .arguments = {in_out<float>({1, 2, 3, 4, 5, 6, 7, 8}, {3, 6, 7.5F, 10, 8, 9, 6, 7}),
                     by_value(3)}});
}

TEST(VectorsEverywhere, ComeInAllWidthsOfLanes) {
  const std::vector<Type> lanes = {i8, u8, i16, u16, u32, i64, u64, f64};
  std::vector<Parameter> parameters;
  BlockBuilder body;
  for (std::size_t k = 0; k < lanes.size(); ++k) {
    const auto x =
        param(pointer_to(vector_of(lanes[k], k % 2 == 0 ? 2 : 4)), "x" + std::to_string(k));
    parameters.push_back(x);
    body << assign(x[1], x[0] + x[0] * x[0]) << add_assign(x[1], x[0]);
  }
  run_everywhere(
      {.module = {"widths", {kernel("k", parameters, body)}},
       .shape = {1, 1},
       .arguments = {
           in_out<std::int8_t>({3, -4, 0, 0}, {3, -4, 15, 8}),
           in_out<std::uint8_t>({1, 2, 3, 14, 0, 0, 0, 0}, {1, 2, 3, 14, 3, 8, 15, 224}),
           in_out<std::int16_t>({100, -100, 0, 0}, {100, -100, 10200, 9800}),
           in_out<std::uint16_t>({1, 2, 3, 200, 0, 0, 0, 0}, {1, 2, 3, 200, 3, 8, 15, 40400}),
           in_out<std::uint32_t>({3, 65535, 0, 0}, {3, 65535, 15, 0xffffffff}),
           in_out<std::int64_t>({1, 2, 3, -3000000000, 0, 0, 0, 0},
                                {1, 2, 3, -3000000000, 3, 8, 15, 9000000000000000000 - 6000000000}),
           in_out<std::uint64_t>({3, 4294967295, 0, 0}, {3, 4294967295, 15, 0xffffffffffffffff}),
           in_out<double>({1, 2, 3, 0.5, 0, 0, 0, 0}, {1, 2, 3, 0.5, 3, 8, 15, 1.25})}});
}

TEST(VectorsEverywhere, PassThroughFunctions) {
  const auto a = param(float4, "a");
  const auto b = param(float4, "b");
  const Declared dot =
      function(f32, "dot4", {a, b},
               return_(a.member("x") * b.member("x") + a.member("y") * b.member("y") +
                       a.member("z") * b.member("z") + a.member("w") * b.member("w")));
  const Declared ones =
      function(float4, "ones", {}, return_(make_vector(float4, {1.0f, 1.0f, 1.0f, 1.0f})));
  const auto x = param(pointer_to(const_(float4)), "x");
  const auto y = param(pointer_to(f32), "y");
  const auto i = declare(i32, "i", index_of_thread);
  run_everywhere(
      {.module = {"functions",
                  {dot, ones,
                   kernel("k", {x, y},
                          BlockBuilder{i, assign(y[i], call(dot, {x[i], call(ones)}))})}},
       .shape = {1, 3},
       .arguments = {in(counted_floats(12)), out<float>({6, 22, 38})}});
}

TEST(HalvesEverywhere, RoundAsIeeeSays) {
  const auto x = param(pointer_to(const_(f16)), "x");
  const auto y = param(pointer_to(f16), "y");
  const auto z = param(pointer_to(f32), "z");
  const auto h = declare(f16, "h", x[0]);
  const auto g = declare(f16, "g", literal(0.5, f16));
  BlockBuilder body;
  body << h << g << assign(y[0], h + g) << assign(y[1], h * x[1] - g)
       << assign(y[2], cast(f16, 2049.0f)) << assign(y[3], -h) << add_assign(g, h)
       << assign(y[4], g) << assign(y[5], select(h < x[1], h, x[1]))
       << assign(z[0], cast(f32, h) + 0.25f) << assign(z[1], cast(f32, h / x[1]))
       << assign(z[2], cast(f32, call(Intrinsic::sqrt, {x[1]})))
       << assign(z[3], cast(f32, call(Intrinsic::max, {h, g})))
       << assign(z[4], cast(f32, call(Intrinsic::abs, {-h})));
  run_everywhere(
      {.module = {"halves", {kernel("k", {x, y, z}, body)}},
       .shape = {1, 1},
       // 1.5, 4; 2.0, 5.5, 2048, -1.5, 2.0, 1.5
       .arguments = {in<std::uint16_t>({0x3e00, 0x4400}),
                     out<std::uint16_t>({0x4000, 0x4580, 0x6800, 0xbe00, 0x4000, 0x3e00}),
                     out<float>({1.75F, 0.375F, 2, 2, 1.5F})}});
}

TEST(HalvesEverywhere, OfTypeBfloatAreCudas) {
  const auto x = param(pointer_to(const_(bf16)), "x");
  const auto y = param(pointer_to(bf16), "y");
  const auto z = param(pointer_to(f32), "z");
  const auto h = declare(bf16, "h", x[0]);
  BlockBuilder body;
  body << h << assign(y[0], h * x[1] + literal(1.0, bf16)) << assign(y[1], cast(bf16, 257.0f))
       << assign(y[2], -h) << multiply_assign(h, x[1]) << assign(y[3], h)
       << assign(z[0], cast(f32, x[0]) * 0.5f)
       << assign(z[1], cast(f32, call(Intrinsic::exp2, {x[1]})));
  run_everywhere(
      {.module = {"bfloats", {kernel("k", {x, y, z}, body)}},
       .shape = {1, 1},
       // 1.5, 4; 7, 256, -1.5, 6
       .arguments = {in<std::uint16_t>({0x3fc0, 0x4080}),
                     out<std::uint16_t>({0x40e0, 0x4380, 0xbfc0, 0x40c0}), out<float>({0.75F, 16})},
       .refusals = {{Dialect::c, "cgen.lower.no_bf16"},
                    {Dialect::cpp, "cgen.lower.no_bf16"},
                    {Dialect::opencl, "cgen.lower.no_bf16"}}});
}

template <class Number>
void run_complex(const Type& element) {
  const Type complex = complex_of(element);
  const auto x = param(pointer_to(const_(complex)), "x");
  const auto y = param(pointer_to(complex), "y");
  const auto r = param(pointer_to(element), "r");
  const auto i = declare(i32, "i", index_of_thread);
  const auto z = declare(complex, "z", x[i]);
  const Expr w = call(Intrinsic::make_complex, {literal(0.5, element), Expr(-2.0f)});
  BlockBuilder body;
  body << i << z << assign(y[5 * i], z * w + z)
       << assign(y[5 * i + 1], call(Intrinsic::conj, {z}) - w)
       << assign(y[5 * i + 2], select(equal(z, 1), cast(complex, 2), w / z + 1))
       << assign(y[5 * i + 3], 2) << multiply_assign(y[5 * i + 3], z) << add_assign(z, z)
       << multiply_assign(z, 2) << assign(y[5 * i + 4], -z / 8)
       << assign(r[2 * i], call(Intrinsic::real, {z}) + call(Intrinsic::imag, {z}))
       << assign(r[2 * i + 1], call(Intrinsic::abs, {z}));
  using Complex = std::complex<Number>;
  const std::vector<Complex> before = {{3, 4}, {1, 0}, {-6, 8}};
  std::vector<Number> numbers;
  std::vector<Number> expected;
  std::vector<Number> reals;
  for (const Complex& value : before) {
    const Complex constant(Number(0.5), -2);
    for (const Complex& result : {value * constant + value, std::conj(value) - constant,
                                  value == Number(1) ? Complex(2) : constant / value + Number(1),
                                  Number(2) * value, -(value + value) / Number(4)}) {
      expected.insert(expected.end(), {result.real(), result.imag()});
    }
    numbers.insert(numbers.end(), {value.real(), value.imag()});
    reals.insert(reals.end(), {4 * value.real() + 4 * value.imag(), std::abs(Number(4) * value)});
  }
  run_everywhere({.module = {"complex", {kernel("k", {x, y, r}, body)}},
                  .shape = {1, 3},
                  .arguments = {in(numbers), out(expected), out(reals)}});
}

TEST(ComplexEverywhere, HasArithmetic) {
  run_complex<float>(f32);
  run_complex<double>(f64);
}

}  // namespace
}  // namespace rtcg::testing
