// Numbers of a signed type beside those of an unsigned one, against C++ in 128 bits.
#include <algorithm>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/runtime/device/device.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/support/cuda_text_on_cpu.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

__extension__ using Wide = __int128;
using Kind = cgen::ScalarKind;

template <class Number>
struct Column {
  std::string type{};
  Kind kind{};
  std::vector<Number> values{};
};

const Column<std::int8_t> i8{"i8", Kind::i8, {-128, -1, 0, 5, 127}};
const Column<std::int16_t> i16{"i16", Kind::i16, {-32768, -1, 0, 300, 32767}};
const Column<std::int32_t> i32{"i32", Kind::i32, {INT32_MIN, -1, 0, 7, INT32_MAX}};
const Column<std::int64_t> i64{"i64", Kind::i64, {INT64_MIN, -1, 0, 7, 4294967296, INT64_MAX}};
const Column<std::uint8_t> u8{"u8", Kind::u8, {0, 5, 127, 200, 255}};
const Column<std::uint16_t> u16{"u16", Kind::u16, {0, 300, 65535}};
const Column<std::uint32_t> u32{"u32", Kind::u32, {0, 7, 2147483648U, UINT32_MAX}};
const Column<std::uint64_t> u64{"u64", Kind::u64, {0, 7, 4294967296, 1ULL << 63, UINT64_MAX}};

template <class Number>
ArrayData data_of(Kind kind, const std::vector<Number>& values) {
  ArrayData data;
  data.kind = kind;
  data.bytes.resize(values.size() * sizeof(Number));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}

std::vector<std::int64_t> values_of(const ArrayData& data) {
  std::vector<std::int64_t> values(data.bytes.size() / sizeof(std::int64_t));
  std::memcpy(values.data(), data.bytes.data(), data.bytes.size());
  return values;
}

std::vector<std::int64_t> values_of(const ExpectedArray& array) {
  std::vector<std::int64_t> values;
  for (const ExpectedNumber& each : array.numbers) {
    EXPECT_EQ(each.error, 0);
    values.push_back(static_cast<std::int64_t>(static_cast<Wide>(each.value)));
  }
  return values;
}

/// What a pair has to give: which of < <= > >= == != hold, the lesser and the larger one, and both
/// in turns.
struct Expected {
  std::vector<std::int64_t> holds{}, least{}, most{}, either{}, sum{};
};

template <class Left, class Right>
Expected expected_of(const Column<Left>& left, const Column<Right>& right) {
  // a u64 is met by what C makes of the other: there is no type that holds both
  const bool is_converted = left.kind == Kind::u64 || right.kind == Kind::u64;
  const auto met = [&](Wide value) {
    return is_converted && value < 0 ? value + (Wide{1} << 64) : value;
  };
  // below 32 bits there is a type that holds all sums of these numbers
  const bool wraps = left.kind == Kind::u32 || right.kind == Kind::u32;
  Expected all;
  for (std::size_t i = 0; i < left.values.size(); ++i) {
    for (std::size_t j = 0; j < right.values.size(); ++j) {
      const Wide l = left.values[i];
      const Wide r = right.values[j];
      all.holds.push_back((l < r) + 2 * (l <= r) + 4 * (l > r) + 8 * (l >= r) + 16 * (l == r) +
                          32 * (l != r));
      all.least.push_back(static_cast<std::int64_t>(std::min(met(l), met(r))));
      all.most.push_back(static_cast<std::int64_t>(std::max(met(l), met(r))));
      all.either.push_back(static_cast<std::int64_t>(met((i + j) % 2 == 0 ? l : r)));
      all.sum.push_back(static_cast<std::int64_t>(
          wraps ? static_cast<Wide>(static_cast<std::uint32_t>(l + r)) : l + r));
    }
  }
  return all;
}

/// Each of `left` by each of `right`, on every device and target and by the interpreter.
template <class Left, class Right>
void expect_values(const Column<Left>& left, const Column<Right>& right) {
  const std::string m = std::to_string(left.values.size());
  const std::string n = std::to_string(right.values.size());
  // of a type that holds them, or of unsigned numbers, which wrap around
  const auto& unsigned_kind = cgen::is_signed(left.kind) ? right.kind : left.kind;
  const auto& signed_kind = cgen::is_signed(left.kind) ? left.kind : right.kind;
  const bool has_sums =
      cgen::size_bytes(unsigned_kind) >= cgen::size_bytes(signed_kind) && signed_kind != Kind::i64;
  const Kernel kernel = make_kernel(
      "{[i, j]: 0 <= i < " + m + " and 0 <= j < " + n + "}",
      std::string("h[i, j] = (1 if a[i] < b[j] else 0) + (2 if a[i] <= b[j] else 0) + (4 if a[i] > "
                  "b[j] else 0) + (8 if a[i] >= b[j] else 0) + (16 if a[i] == b[j] else 0) + (32 "
                  "if a[i] != b[j] else 0)\n"
                  "s[i, j] = min(a[i], b[j])\nt[i, j] = max(a[i], b[j])\n"
                  "e[i, j] = a[i] if (i + j) % 2 == 0 else b[j]\n") +
          (has_sums ? "p[i, j] = a[i] + b[j]\n" : "p[i, j] = 0\n"),
      {.arguments = "a: " + left.type + "[" + m + "]; b: " + right.type + "[" + n +
                    "]; h, s, t, e, p: i64[" + m + ", " + n + "]"});
  ArgumentData given{{"a", data_of(left.kind, left.values)},
                     {"b", data_of(right.kind, right.values)}};
  for (const char* name : {"h", "s", "t", "e", "p"}) {
    given[name] =
        data_of(Kind::i64, std::vector<std::int64_t>(left.values.size() * right.values.size()));
  }
  const Expected expected = expected_of(left, right);
  const auto compare = [&](const auto& arrays, const std::string& where) {
    SCOPED_TRACE(left.type + " beside " + right.type + ", " + where);
    EXPECT_EQ(values_of(arrays.at("h")), expected.holds);
    EXPECT_EQ(values_of(arrays.at("s")), expected.least);
    EXPECT_EQ(values_of(arrays.at("t")), expected.most);
    EXPECT_EQ(values_of(arrays.at("e")), expected.either);
    if (has_sums) {
      EXPECT_EQ(values_of(arrays.at("p")), expected.sum);
    }
  };
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    compare(run_kernel(kernel, {}, given, device), to_string(device.info().id));
  }
  compare(CudaTextOnCpu(kernel).run({}, given), "CUDA on the CPU");
  InterpretArguments arguments;
  arguments.arrays = given;
  compare(interpret(infer_types(kernel), arguments).arrays, "interpreted");
}

TEST(MixedSigns, GiveTheValuesOfShortNumbers) {
  expect_values(i8, u8);
  expect_values(u8, i8);
  expect_values(u8, i16);
  expect_values(i8, u16);
  expect_values(i16, u16);
  expect_values(u16, i32);
}

TEST(MixedSigns, GiveTheValuesOfNumbersOf32Bits) {
  expect_values(i32, u32);
  expect_values(u32, i32);
  expect_values(i8, u32);
  expect_values(u32, i64);
}

TEST(MixedSigns, CompareTheValuesOfNumbersOf64Bits) {
  expect_values(i64, u64);
  expect_values(u64, i64);
  expect_values(u64, i32);
  expect_values(i8, u64);
}

/// The least difference of each row, as a sum of signed and unsigned bytes that may be negative.
TEST(MixedSigns, AreReducedInATypeThatHoldsThem) {
  const Kernel kernel = make_kernel(
      "{[i, k]: 0 <= i < 2 and 0 <= k < 3}",
      "low[i] = reduce(min, k, a[i, k] - b[i, k])\nhigh[i] = reduce(max, k, min(c[i, k], d[i, k]))",
      {.arguments = "a: i8[2, 3]; b: u8[2, 3]; c: i32[2, 3]; d: u32[2, 3]; low, high: i64[2]"});
  const ArgumentData given{
      {"a", data_of<std::int8_t>(Kind::i8, {1, -128, 3, 100, 7, 90})},
      {"b", data_of<std::uint8_t>(Kind::u8, {200, 255, 3, 1, 2, 3})},
      {"c", data_of<std::int32_t>(Kind::i32, {-5, -7, INT32_MIN, 4, 9, -1})},
      {"d", data_of<std::uint32_t>(Kind::u32, {UINT32_MAX, 1, 2, 3, UINT32_MAX, 0})},
      {"low", data_of<std::int64_t>(Kind::i64, {0, 0})},
      {"high", data_of<std::int64_t>(Kind::i64, {0, 0})}};
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    const ArgumentData found = run_kernel(kernel, {}, given, device);
    EXPECT_EQ(values_of(found.at("low")), (std::vector<std::int64_t>{-383, 5}));
    EXPECT_EQ(values_of(found.at("high")), (std::vector<std::int64_t>{-5, 9}));
  }
}

}  // namespace
}  // namespace rtcg::loopy
