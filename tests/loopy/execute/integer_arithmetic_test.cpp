// Integers of all widths, against C++ in 128 bits.
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/runtime/device/device.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

__extension__ using Wide = __int128;

Kernel with_arguments(const std::string& domain, const std::string& statements,
                      std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  return make_kernel(domain, statements, options);
}

template <class Number>
ArrayData data_of(cgen::ScalarKind kind, const std::vector<Number>& values) {
  ArrayData data;
  data.kind = kind;
  data.bytes.resize(values.size() * sizeof(Number));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

template <class Number>
std::vector<Number> values_of(const ArrayData& data) {
  std::vector<Number> values(data.bytes.size() / sizeof(Number));
  std::memcpy(values.data(), data.bytes.data(), data.bytes.size());
  return values;
}

Wide floor_quotient(Wide left, Wide right) {
  if (right == 0) {
    return 0;
  }
  const Wide quotient = left / right;
  return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}
Wide floor_rest(Wide left, Wide right) {
  return right == 0 ? 0 : left - right * floor_quotient(left, right);
}

constexpr const char* all_pairs = "q[i, j] = a[i] // b[j]\nr[i, j] = a[i] % b[j]";

/// Each of `left` by each of `right`, in the types that have these names.
template <class Left, class Right, class Result>
void expect_divisions(const std::string& left_name, cgen::ScalarKind left_kind,
                      const std::vector<Left>& left, const std::string& right_name,
                      cgen::ScalarKind right_kind, const std::vector<Right>& right,
                      const std::string& result_name, cgen::ScalarKind result_kind) {
  const std::string m = std::to_string(left.size());
  const std::string n = std::to_string(right.size());
  const Kernel kernel =
      with_arguments("{[i, j]: 0 <= i < " + m + " and 0 <= j < " + n + "}", all_pairs,
                     "a: " + left_name + "[" + m + "]; b: " + right_name + "[" + n +
                         "]; q, r: " + result_name + "[" + m + ", " + n + "]");
  const std::vector<Result> empty(left.size() * right.size());
  const ArgumentData given{{"a", data_of(left_kind, left)},
                           {"b", data_of(right_kind, right)},
                           {"q", data_of(result_kind, empty)},
                           {"r", data_of(result_kind, empty)}};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {}, given, device);
    const std::vector<Result> quotients = values_of<Result>(found.at("q"));
    const std::vector<Result> rests = values_of<Result>(found.at("r"));
    for (std::size_t i = 0; i < left.size(); ++i) {
      for (std::size_t j = 0; j < right.size(); ++j) {
        const auto place = i * right.size() + j;
        EXPECT_EQ(quotients[place], static_cast<Result>(floor_quotient(left[i], right[j])))
            << left_name << " // " << right_name << ": " << +left[i] << ", " << +right[j];
        EXPECT_EQ(rests[place], static_cast<Result>(floor_rest(left[i], right[j])))
            << left_name << " % " << right_name << ": " << +left[i] << ", " << +right[j];
      }
    }
  }
}

const std::vector<std::int64_t> signed_longs = {
    1000000000000, -1000000000000, 7, -7, 0, 1, -1, INT64_MAX, INT64_MIN, 4294967296};
const std::vector<std::uint64_t> unsigned_longs = {1, 35, 4294967295, 4294967296, UINT64_MAX, 0};
const std::vector<std::int32_t> signed_ints = {7, -7, 0, 1, -1, 1000, INT32_MAX, INT32_MIN};
const std::vector<std::uint32_t> unsigned_ints = {0, 1, 35, 2147483648U, 4294967295U};

using Kind = cgen::ScalarKind;

TEST(Defect01, FloorDivisionKeeps64Bits) {
  expect_divisions<std::int64_t, std::int64_t, std::int64_t>(
      "i64", Kind::i64, signed_longs, "i64", Kind::i64, signed_longs, "i64", Kind::i64);
  expect_divisions<std::uint64_t, std::uint64_t, std::uint64_t>(
      "u64", Kind::u64, unsigned_longs, "u64", Kind::u64, unsigned_longs, "u64", Kind::u64);
  expect_divisions<std::int64_t, std::int32_t, std::int64_t>(
      "i64", Kind::i64, signed_longs, "i32", Kind::i32, signed_ints, "i64", Kind::i64);
  expect_divisions<std::int32_t, std::int64_t, std::int64_t>(
      "i32", Kind::i32, signed_ints, "i64", Kind::i64, signed_longs, "i64", Kind::i64);
  expect_divisions<std::int64_t, std::uint32_t, std::int64_t>(
      "i64", Kind::i64, signed_longs, "u32", Kind::u32, unsigned_ints, "i64", Kind::i64);
}

TEST(Defect01, FloorDivisionKeepsSmallTypesAndSigns) {
  expect_divisions<std::int32_t, std::int32_t, std::int32_t>(
      "i32", Kind::i32, signed_ints, "i32", Kind::i32, signed_ints, "i32", Kind::i32);
  expect_divisions<std::uint32_t, std::uint32_t, std::uint32_t>(
      "u32", Kind::u32, unsigned_ints, "u32", Kind::u32, unsigned_ints, "u32", Kind::u32);
  expect_divisions<std::int32_t, std::uint32_t, std::int64_t>(
      "i32", Kind::i32, {7, 0, 1000, INT32_MAX}, "u32", Kind::u32, unsigned_ints, "i64", Kind::i64);
  expect_divisions<std::int32_t, std::uint32_t, std::uint32_t>(
      "i32", Kind::i32, signed_ints, "u32", Kind::u32, unsigned_ints, "u32", Kind::u32);
  expect_divisions<std::int8_t, std::int8_t, std::int32_t>("i8", Kind::i8, {-128, -7, 0, 5, 127},
                                                           "i8", Kind::i8, {-128, -1, 0, 3, 127},
                                                           "i32", Kind::i32);
  expect_divisions<std::uint8_t, std::uint8_t, std::uint8_t>("u8", Kind::u8, {0, 7, 200, 255}, "u8",
                                                             Kind::u8, {0, 3, 255}, "u8", Kind::u8);
  expect_divisions<std::int16_t, std::uint16_t, std::int32_t>(
      "i16", Kind::i16, {0, 5, 32767}, "u16", Kind::u16, {0, 3, 65535}, "i32", Kind::i32);
}

TEST(Defect01, ConstantDivisorsOfAnyWidthAreRight) {
  const Kernel kernel =
      with_arguments("{[i]: 0 <= i < 4}",
                     "y[i] = (x[i]*1103515245 + 12345) % 2147483648\nz[i] = x[i] // 1000\n"
                     "v[i] = x[i] // 4294967296\nw[i] = x[i] % -4294967296\nt[i] = a[key[i] % 35]",
                     "x, y, z, v, w: i64[4]; key: u32[4]; a, t: i32[35]");
  const std::vector<std::int64_t> x = {1000000000000, -1000000000000, 12345, -1};
  const std::vector<std::uint32_t> key = {4294967295U, 34, 35, 2147483648U};
  std::vector<std::int32_t> a(35);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::int32_t>(100 + i);
  }
  const std::vector<std::int64_t> none(4);
  const ArgumentData given{{"x", data_of(Kind::i64, x)},    {"y", data_of(Kind::i64, none)},
                           {"z", data_of(Kind::i64, none)}, {"v", data_of(Kind::i64, none)},
                           {"w", data_of(Kind::i64, none)}, {"key", data_of(Kind::u32, key)},
                           {"a", data_of(Kind::i32, a)},    {"t", data_of(Kind::i32, a)}};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {}, given, device);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(values_of<std::int64_t>(found.at("y"))[i],
                floor_rest(Wide{x[i]} * 1103515245 + 12345, 2147483648));
      EXPECT_EQ(values_of<std::int64_t>(found.at("z"))[i], floor_quotient(x[i], 1000));
      EXPECT_EQ(values_of<std::int64_t>(found.at("v"))[i], floor_quotient(x[i], 4294967296));
      EXPECT_EQ(values_of<std::int64_t>(found.at("w"))[i], floor_rest(x[i], -4294967296));
      EXPECT_EQ(values_of<std::int32_t>(found.at("t"))[i], 100 + static_cast<int>(key[i] % 35));
    }
  }
}

TEST(Defect01, CudaTextDividesInTheTypeOfTheOperands) {
  const Kernel kernel = with_arguments("{[i]: 0 <= i < n}",
                                       "z[i] = x[i] // m\nt[i] = key[i] % 35\nu[i] = key[i] // k",
                                       "x, z: i64[n]; key, t, u: u32[n]; n: i32; m: i64; k: i32");
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_NE(text.find("floor_div_i64(x[i], m)"), std::string::npos) << text;
  EXPECT_NE(text.find("key[i] % 35"), std::string::npos) << text;
  EXPECT_NE(text.find("floor_div_i64(key[i], k)"), std::string::npos) << text;
}

// Powers of two take a mask or a shift, which round down for all signs.
TEST(IntegerDivision, ByAPowerOfTwoTakesOneOperation) {
  const Kernel kernel = with_arguments(
      "{[i]: 0 <= i < 6}",
      "q[i] = x[i] // 8\nr[i] = x[i] % 8\ns[i] = x[i] // 1\nt[i] = k[i] % 4611686018427387904\n"
      "u[i] = k[i] // 4611686018427387904\nv[i] = x[i] // 4294967296\nw[i] = x[i] % 2147483648\n"
      "o[i] = (m[i] + 100) // 64 - m[i] % 2",
      "x, q, r, s: i32[6]; k, t, u, v, w: i64[6]; m: i8[6]; o: i32[6]");
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_NE(text.find("q[i] = x[i] >> 3;"), std::string::npos) << text;
  EXPECT_NE(text.find("r[i] = x[i] & 7;"), std::string::npos) << text;
  const std::vector<std::int32_t> x = {0, 7, -1, -8, -2147483647 - 1, 2147483647};
  const std::vector<std::int64_t> k = {0,
                                       -1,
                                       4611686018427387904,
                                       -4611686018427387905,
                                       std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()};
  const std::vector<std::int8_t> m = {0, 1, -1, -100, -128, 127};
  ArgumentData given{
      {"x", data_of(Kind::i32, x)}, {"k", data_of(Kind::i64, k)}, {"m", data_of(Kind::i8, m)}};
  for (const char* name : {"q", "r", "s", "o"}) {
    given.emplace(name, data_of(Kind::i32, std::vector<std::int32_t>(6)));
  }
  for (const char* name : {"t", "u", "v", "w"}) {
    given.emplace(name, data_of(Kind::i64, std::vector<std::int64_t>(6)));
  }
  constexpr std::int64_t large = 4611686018427387904;
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {}, given, device);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(values_of<std::int32_t>(found.at("q"))[i], floor_quotient(x[i], 8));
      EXPECT_EQ(values_of<std::int32_t>(found.at("r"))[i], floor_rest(x[i], 8));
      EXPECT_EQ(values_of<std::int32_t>(found.at("s"))[i], x[i]);
      EXPECT_EQ(values_of<std::int64_t>(found.at("t"))[i], floor_rest(k[i], large));
      EXPECT_EQ(values_of<std::int64_t>(found.at("u"))[i], floor_quotient(k[i], large));
      EXPECT_EQ(values_of<std::int64_t>(found.at("v"))[i], floor_quotient(x[i], 4294967296));
      EXPECT_EQ(values_of<std::int64_t>(found.at("w"))[i], floor_rest(x[i], 2147483648));
      EXPECT_EQ(values_of<std::int32_t>(found.at("o"))[i],
                floor_quotient(m[i] + 100, 64) - floor_rest(m[i], 2));
    }
  }
}

TEST(Defect01, SubscriptsOf64BitsAreDividedInThem) {
  const Kernel kernel =
      with_arguments("{[i]: 0 <= i < 3}", "y[i] = a[key[i] // 1000000000000]\nz[i] = a[key[i] % m]",
                     "key: i64[3]; a, y, z: i32[8]; m: i64");
  const std::vector<std::int64_t> key = {7000000000000, 1000000000001, 5};
  const std::vector<std::int32_t> a = {10, 11, 12, 13, 14, 15, 16, 17};
  const ArgumentData given{{"key", data_of(Kind::i64, key)},
                           {"a", data_of(Kind::i32, a)},
                           {"y", data_of(Kind::i32, a)},
                           {"z", data_of(Kind::i32, a)}};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {{"m", 7}}, given, device);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(values_of<std::int32_t>(found.at("y"))[i], 10 + key[i] / 1000000000000);
      EXPECT_EQ(values_of<std::int32_t>(found.at("z"))[i], 10 + key[i] % 7);
    }
  }
}

TEST(Defect01, IntegersArePoweredShiftedAndComparedInTheirType) {
  const Kernel kernel = with_arguments(
      "{[i]: 0 <= i < 4}",
      "p[i] = x[i]**k[i]\nq[i] = x[i]**13\ns[i] = 1 << k[i]\nc[i] = 1 if m[i] < u[i] else 0\n"
      "d[i] = max(x[i], k[i])\ne[i] = abs(0 - x[i]*k[i])",
      "x, k, p, q, s, d, e: i64[4]; m, c: i32[4]; u: u32[4]");
  const std::vector<std::int64_t> x = {3, -3, 10, 7};
  const std::vector<std::int64_t> k = {39, 39, 18, 0};
  const std::vector<std::int32_t> m = {-1, 1, 0, -5};
  const std::vector<std::uint32_t> u = {1, 0, 4294967295U, 2147483648U};
  const std::vector<std::int64_t> none(4);
  const ArgumentData given{{"x", data_of(Kind::i64, x)},    {"k", data_of(Kind::i64, k)},
                           {"p", data_of(Kind::i64, none)}, {"q", data_of(Kind::i64, none)},
                           {"s", data_of(Kind::i64, none)}, {"d", data_of(Kind::i64, none)},
                           {"e", data_of(Kind::i64, none)}, {"m", data_of(Kind::i32, m)},
                           {"c", data_of(Kind::i32, m)},    {"u", data_of(Kind::u32, u)}};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {}, given, device);
    for (std::size_t i = 0; i < 4; ++i) {
      std::int64_t power = 1;
      for (std::int64_t each = 0; each < k[i]; ++each) {
        power *= x[i];
      }
      std::int64_t constant = 1;
      for (int each = 0; each < 13; ++each) {
        constant *= x[i];
      }
      EXPECT_EQ(values_of<std::int64_t>(found.at("p"))[i], power);
      EXPECT_EQ(values_of<std::int64_t>(found.at("q"))[i], constant);
      EXPECT_EQ(values_of<std::int64_t>(found.at("s"))[i], std::int64_t{1} << k[i]);
      EXPECT_EQ(values_of<std::int32_t>(found.at("c"))[i], std::int64_t{m[i]} < std::int64_t{u[i]});
      EXPECT_EQ(values_of<std::int64_t>(found.at("d"))[i], std::max(x[i], k[i]));
      EXPECT_EQ(values_of<std::int64_t>(found.at("e"))[i], std::abs(x[i] * k[i]));
    }
  }
}

TEST(Defect01, ConstantsFoldWithoutOverflow) {
  EXPECT_EQ(as_integer(floor_div(INT64_MIN, 3)), -3074457345618258603);
  EXPECT_EQ(as_integer(modulo(INT64_MAX - 1, INT64_MAX)), INT64_MAX - 1);
  EXPECT_EQ(as_integer(modulo(-1, INT64_MAX)), INT64_MAX - 1);
}

TEST(Defect01, EqualsCudaTextOnTheCpu) {
  const Kernel kernel = with_arguments(
      "{[i]: 0 <= i < n}", "y[i] = (x[i]*123456789012 - 5) // (k[i] - 3)\nz[i] = x[i] % (k[i] + 1)",
      "x, y, z: i64[n]; k: i32[n]; n: i32");
  expect_same_everywhere(apply_recipe(kernel, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)"),
                         kernel, {{"n", 100}});
}

}  // namespace
}  // namespace rtcg::loopy
