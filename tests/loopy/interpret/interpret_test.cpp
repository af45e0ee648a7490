#include "rtcg/loopy/interpret/interpret.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

template <class T>
ArrayData array_of(cgen::ScalarKind kind, const std::vector<T>& values) {
  ArrayData data{kind, {}, 1};
  data.bytes.resize(values.size() * sizeof(T));
  std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
  return data;
}
ArrayData array_of(const std::vector<float>& values) {
  return array_of(cgen::ScalarKind::f32, values);
}
ArrayData array_of(const std::vector<double>& values) {
  return array_of(cgen::ScalarKind::f64, values);
}
ArrayData array_of(const std::vector<std::int64_t>& values) {
  return array_of(cgen::ScalarKind::i64, values);
}
ArrayData array_of(const std::vector<std::uint32_t>& values) {
  return array_of(cgen::ScalarKind::u32, values);
}

/// Some numbers in [-1, 1).
std::vector<double> numbers(std::size_t count, std::uint64_t seed = 1) {
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    result.push_back(static_cast<double>(seed >> 40) * 0x1p-23 - 1);
  }
  return result;
}

/// Values within the error that the interpreter states, and that error below `most`.
void expect_near(const Interpretation& result, const std::string& array,
                 const std::vector<double>& expected, double most) {
  const ExpectedArray& found = result.arrays.at(array);
  ASSERT_EQ(found.numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const long double distance = std::fabs(found.numbers[i].value - expected[i]);
    EXPECT_LE(distance, found.numbers[i].error) << array << "[" << i << "]";
    EXPECT_LE(found.numbers[i].error, most) << array << "[" << i << "]";
  }
}
/// Exactly these integers.
void expect_integers(const Interpretation& result, const std::string& array,
                     const std::vector<std::int64_t>& expected) {
  const ExpectedArray& found = result.arrays.at(array);
  ASSERT_EQ(found.numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(found.numbers[i].value), expected[i])
        << array << "[" << i << "]";
    EXPECT_EQ(found.numbers[i].error, 0) << array << "[" << i << "]";
  }
}

TEST(Interpret, MultipliesMatrices) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = rtcg::cgen::f64});
  const std::size_t n = 7;
  const std::vector<double> a = numbers(n * n, 1);
  const std::vector<double> b = numbers(n * n, 2);
  std::vector<double> c(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < n; ++k) {
        c[i * n + j] += a[i * n + k] * b[k * n + j];
      }
    }
  }
  const Interpretation result = interpret(
      kernel, {{{"n", 7}}, {}, {{"a", array_of(a)}, {"b", array_of(b)}, {"c", array_of(c)}}});
  expect_near(result, "c", c, 1e-13);
}

TEST(Interpret, LeavesTheOrderOfAtomicUpdatesOpen) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 3}", "y[0] += x[i] {atomic}",
                                    {.arguments = "x: f32[3]; y: f32[1]"});
  // exact in this order, 0.25 where the first two are added last
  const Interpretation result =
      interpret(kernel, {{},
                         {},
                         {{"x", array_of(std::vector<float>{-0x1p24F, 0x1p24F, 0.25F})},
                          {"y", array_of(std::vector<float>{0})}}});
  EXPECT_GE(result.arrays.at("y").numbers[0].error, 0.25L);
}

TEST(Interpret, KnowsTheExtremeOfNoIntegers) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "y[0] = reduce(max, i, x[i])\nz[0] = reduce(min, i, x[i])",
                  {.arguments = "x: i32[n]; y, z: i32[1]; n: i32"});
  const ArrayData one{cgen::ScalarKind::i32, std::vector<std::byte>(4), 1};
  const Interpretation result = interpret(
      kernel,
      {{{"n", 0}}, {}, {{"x", ArrayData{cgen::ScalarKind::i32, {}, 1}}, {"y", one}, {"z", one}}});
  expect_integers(result, "y", {std::numeric_limits<std::int32_t>::min()});
  expect_integers(result, "z", {std::numeric_limits<std::int32_t>::max()});
}

TEST(Interpret, DividesIntegersOf64BitsRoundingDown) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "y[i] = (x[i]*1103515245 + 12345) % 2147483648\n"
                                    "z[i] = x[i] // 1000",
                                    {.arguments = "x, y, z: i64[n]; n: i32"});
  const std::vector<std::int64_t> x = {1000000000000, -1000000000001, 7};
  const Interpretation result = interpret(kernel, {{{"n", 3}}, {}, {{"x", array_of(x)}}});
  // as Python gives them
  expect_integers(result, "z", {1000000000, -1000000001, 0});
  expect_integers(result, "y", {891813945, 152179148, 1282168116});
}

// As every device has it.
TEST(Interpret, DividesByZeroWithoutARemainder) {
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < n}", "y[i] = x[i] // k[i]\nz[i] = x[i] % k[i]\nw[i] = i // (i - 1) + i % i",
      {.arguments = "x, k, y, z: i64[n]; w: i32[n]; n: i32"});
  const std::vector<std::int64_t> x = {7, -7, 0};
  const std::vector<std::int64_t> k = {0, 2, 0};
  const Interpretation result =
      interpret(kernel, {{{"n", 3}}, {}, {{"x", array_of(x)}, {"k", array_of(k)}}});
  expect_integers(result, "y", {0, -4, 0});
  expect_integers(result, "z", {0, 1, 0});
  expect_integers(result, "w", {0, 0, 2});
}

TEST(Interpret, SubtractsInTheTypeOfTheDifference) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "y[i] = a[i] - b[i]",
                                    {.arguments = "a: i8[n]; b: u8[n]; y: i32[n]; n: i32"});
  const ArrayData a = array_of(cgen::ScalarKind::i8, std::vector<std::int8_t>{-128, 100, 3});
  const ArrayData b = array_of(cgen::ScalarKind::u8, std::vector<std::uint8_t>{255, 0, 200});
  const Interpretation result = interpret(kernel, {{{"n", 3}}, {}, {{"a", a}, {"b", b}}});
  expect_integers(result, "y", {-383, 100, -197});
}

TEST(Interpret, TakesRemaindersOfUnsignedNumbers) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[key[i] % 35]",
                                    {.arguments = "a, b: f32[n]; key: u32[n]; n: i32"});
  std::vector<float> a(35);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
  }
  std::vector<std::uint32_t> keys(35, 4294967295U);
  const Interpretation result =
      interpret(kernel, {{{"n", 35}}, {}, {{"a", array_of(a)}, {"key", array_of(keys)}}});
  EXPECT_EQ(result.arrays.at("b").numbers.front().value, 10);
}

TEST(Interpret, EvaluatesTheBranchTakenAlone) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 2*n}",
                                    "y[j] = 0 if j < n else sum(i, a[i + j - n])",
                                    {.arguments = "a: f64[2*n]; y: f64[2*n]; n: i32"});
  const std::vector<double> a = numbers(8);
  std::vector<double> y(8);
  for (std::size_t j = 4; j < 8; ++j) {
    for (std::size_t i = 0; i < 4; ++i) {
      y[j] += a[i + j - 4];
    }
  }
  expect_near(interpret(kernel, {{{"n", 4}}, {}, {{"a", array_of(a)}}}), "y", y, 1e-14);
}

TEST(Interpret, RunsTrianglesStencilsAndScans) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i} {[k, l]: 1 <= k < n - 1 and 0 <= l <= k}",
                  "t[i] = sum(j, a[j]*(i - j))\ns[k] = a[k - 1] - 2*a[k] + a[k + 1]\n"
                  "r[k] = scan(sum, l, a[l])",
                  {.arguments = "a, t, s, r: f64[n]; n: i32"});
  const std::vector<double> a = numbers(9);
  std::vector<double> t(9);
  std::vector<double> s(9);
  std::vector<double> r(9);
  for (std::size_t i = 0; i < 9; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      t[i] += a[j] * static_cast<double>(i - j);
      sum += a[j];
    }
    if (i >= 1 && i < 8) {
      s[i] = a[i - 1] - 2 * a[i] + a[i + 1];
      r[i] = sum;
    }
  }
  const Interpretation result = interpret(kernel, {{{"n", 9}}, {}, {{"a", array_of(a)}}});
  expect_near(result, "t", t, 1e-13);
  expect_near(result, "s", s, 1e-14);
  expect_near(result, "r", r, 1e-13);
}

// What divides parameters alone holds for all points or for none.
TEST(Interpret, RunsNothingWhereAParameterIsNotDivided) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 3 and n mod 4 = 0}", "a[i] = 2",
                                    {.arguments = "a: i64[3]; n: i32"});
  const auto a_for = [&](std::int64_t n) {
    return interpret(kernel,
                     {{{"n", n}}, {}, {{"a", array_of(std::vector<std::int64_t>{7, 8, 9})}}});
  };
  expect_integers(a_for(8), "a", {2, 2, 2});
  expect_integers(a_for(5), "a", {7, 8, 9});
}

TEST(Interpret, FindsExtremesAndTheirFirstPlaces) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "v[0], p[0] = argmax(i, a[i], i)\nm[0] = reduce(min, i, a[i])",
                                    {.arguments = "a: i64[n]; v, m, p: i64[1]; n: i32"});
  const Interpretation result = interpret(
      kernel, {{{"n", 6}}, {}, {{"a", array_of(std::vector<std::int64_t>{3, 8, -2, 8, -2, 1})}}});
  expect_integers(result, "v", {8});
  expect_integers(result, "p", {1});
  expect_integers(result, "m", {-2});
}

TEST(Interpret, AddsUpSegmentsOfOtherLengths) {
  const Kernel kernel =
      make_kernel("{[row]: 0 <= row < 3} {[j]: 0 <= j < length}",
                  "<i64> length = start[row + 1] - start[row]\ny[row] = sum(j, a[start[row] + j])",
                  {.arguments = "a: i64[6]; start: i64[4]; y: i64[3]"});
  expect_integers(interpret(kernel, {{},
                                     {},
                                     {{"a", array_of(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6})},
                                      {"start", array_of(std::vector<std::int64_t>{0, 2, 2, 6})}}}),
                  "y", {3, 0, 18});
}

TEST(Interpret, WrapsWhereAVariableStores) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 1}", "b[i] = a[i]*3\nc[i] = u[i] + 1\nd[i] = a[i]//-7",
                  {.arguments = "a, d: i64[1]; b: i8[1]; u, c: u32[1]"});
  const Interpretation result =
      interpret(kernel, {{},
                         {},
                         {{"a", array_of(std::vector<std::int64_t>{100})},
                          {"u", array_of(std::vector<std::uint32_t>{4294967295U})}}});
  expect_integers(result, "b", {44});
  expect_integers(result, "c", {0});
  expect_integers(result, "d", {-15});
}

TEST(Interpret, LeavesOverflowOfSignedNumbersOpen) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 1}", "b[i] = (a[i]*a[i]) // 2", {.arguments = "a, b: i64[1]"});
  const Interpretation result = interpret(
      kernel, {{}, {}, {{"a", array_of(std::vector<std::int64_t>{std::int64_t{1} << 40})}}});
  EXPECT_TRUE(std::isinf(result.arrays.at("b").numbers.front().error));
}

TEST(Interpret, MultipliesComplexNumbers) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 2}", "z[i] = 2j*w[i]*w[i] + conj(w[i])",
                                    {.arguments = "w, z: c128[2]"});
  ArrayData w = array_of(std::vector<double>{1, 2, -0.5, 0.25});
  w.numbers_an_element = 2;
  std::vector<double> expected;
  for (const std::complex<double> each : {std::complex<double>(1, 2), {-0.5, 0.25}}) {
    const std::complex<double> value = std::complex<double>(0, 2) * each * each + std::conj(each);
    expected.push_back(value.real());
    expected.push_back(value.imag());
  }
  expect_near(interpret(kernel, {{}, {}, {{"w", w}}}), "z", expected, 1e-13);
}

TEST(Interpret, ReducesByRulesOfTuples) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 5}",
                  "merged(n, s, n2, s2) := make_tuple(n + n2, s + s2) {neutral=0:0}\n"
                  "c[0], t[0] = reduce(merged, i, 1, a[i])\nx[0] = reduce(any, i, a[i] > 4)",
                  {.arguments = "a: i64[5]; c, t, x: i64[1]"});
  const Interpretation result =
      interpret(kernel, {{}, {}, {{"a", array_of(std::vector<std::int64_t>{5, 1, 4, 2, 3})}}});
  expect_integers(result, "c", {5});
  expect_integers(result, "t", {15});
  expect_integers(result, "x", {1});
}

TEST(Interpret, AllowsForOtherOrdersOfRules) {
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < 3}",
      "joined(a, f, b, g) := make_tuple(b if g > 0 else a + b, max(f, g)) {neutral=0:0}\n"
      "better(a, b) := a if a > b else b {neutral=-1}\n"
      "s[0], t[0] = reduce(joined, i, a[i], 0)\nm[0] = reduce(better, i, a[i])",
      {.arguments = "a: f32[3]; s, m: f32[1]; t: i64[1]"});
  // exact from the left; 2^-24 is lost if it meets 1 first
  const std::vector<float> terms = {1.0F, -1.0F, 0x1p-24F};
  const Interpretation result = interpret(kernel, {{}, {}, {{"a", array_of(terms)}}});
  const auto mismatch_of = [&](float sum, float most) {
    return find_mismatch({{"s", array_of(std::vector<float>{sum})},
                          {"m", array_of(std::vector<float>{most})},
                          {"t", array_of(std::vector<std::int64_t>{0})}},
                         result);
  };
  EXPECT_TRUE(mismatch_of(0x1p-24F, 1).is_equal());
  EXPECT_TRUE(mismatch_of(0, 1).is_equal());
  EXPECT_FALSE(mismatch_of(0.001F, 1).is_equal());
  EXPECT_FALSE(mismatch_of(0, 1 + 0x1p-23F).is_equal());  // a choice rounds nothing
}

// A rounding may put 0.1*30 into bin 2 or 3.
TEST(Interpret, OpensOnlyElementsThatRoundingsMayReach) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 3}",
                  "<i32> bin = cast(i32, x[i]*y[i])\n"
                  "h[bin] += 1 {atomic}\n"
                  "b[i] = a[min(bin, 9)] {dep=*}",
                  {.arguments = "x, y: f32[3]; a: f32[10]; h: i32[8]; b: f32[3]"});
  InterpretArguments arguments;
  arguments.arrays["x"] = array_of(std::vector<float>{5.5F, 0.1F, 7});
  arguments.arrays["y"] = array_of(std::vector<float>{1, 30, 1});
  arguments.arrays["a"] = array_of(std::vector<float>{0, 1, 4, 9, 16, 25, 36, 49, 64, 81});
  const auto check = [](const ExpectedArray& h, const ExpectedArray& b) {
    const std::vector<long double> counts = {0, 0, 0.5L, 0.5L, 0, 1, 0, 1};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(h.numbers.at(i).value, counts[i]) << i;
      EXPECT_EQ(h.numbers.at(i).error, i == 2 || i == 3 ? 0.5L : 0) << i;
    }
    EXPECT_EQ(b.numbers.at(0).error, 0);
    EXPECT_GE(b.numbers.at(1).error, 5);  // 4 or 9
    EXPECT_LT(b.numbers.at(1).error, 5.1);
    EXPECT_EQ(b.numbers.at(2).value, 49);
  };
  const Interpretation whole = interpret(kernel, arguments);
  check(whole.arrays.at("h"), whole.arrays.at("b"));
  EXPECT_EQ(whole.first_open, "");
  const Interpretation some =
      interpret(kernel, arguments, {.places = {{"h", {0, 1, 2, 3, 4, 5, 6, 7}}, {"b", {0, 1, 2}}}});
  check(some.arrays.at("h"), some.arrays.at("b"));
}

TEST(Interpret, RefusesWhatHasNoValue) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = rtcg::cgen::f32});
  EXPECT_ERROR("loopy.interpret.missing_value", interpret(kernel, {}));
  EXPECT_ERROR("loopy.interpret.missing_value",
               interpret(kernel, {{{"n", 3}}, {}, {{"a", array_of(std::vector<float>(2))}}}));
}

TEST(Interpret, RefusesElementsOutsideOfArrays) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = a[place[i]]",
                                    {.arguments = "a, b: f32[n]; place: i64[n]; n: i32"});
  const std::vector<std::int64_t> place = {0, 1, 3};
  EXPECT_ERROR("loopy.interpret.out_of_bounds",
               interpret(kernel, {{{"n", 3}}, {}, {{"place", array_of(place)}}}));
}

TEST(Interpret, RefusesWhatItCannotRead) {
  EXPECT_ERROR("loopy.interpret.raw_code",
               interpret(make_kernel("{[i]: 0 <= i < n}", "... c \"${b[i]} = f(1);\" {writes=b}",
                                     {.arguments = "b: f32[n]; n: i32"}),
                         {{{"n", 3}}, {}, {}}));
  Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]", {.default_type = rtcg::cgen::i32});
  kernel.instructions.front().kind =
      Assignment{{access("b", {name("i")})}, call("(warp_any)", {name("i")})};
  EXPECT_ERROR("loopy.interpret.function", interpret(kernel, {{{"n", 3}}, {}, {}}));
}

TEST(Interpret, RefusesLoopsWithoutOrderOrEnd) {
  Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}", "b[i, j] = 1", {.default_type = rtcg::cgen::f32});
  kernel.loop_priorities = {{"i", "j"}, {"j", "i"}};
  EXPECT_ERROR("loopy.interpret.order", interpret(kernel, {{{"n", 3}}, {}, {}}));
  EXPECT_ERROR("loopy.interpret.unbounded",
               interpret(make_kernel("{[i]: 0 <= i}", "b[0] = i", {.arguments = "b: f32[1]"}), {}));
}

TEST(Interpret, RefusesToRunForEver) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}", "b[0] = sum(i, sum(j, i*j))",
                                    {.arguments = "b: i64[1]; n: i32"});
  EXPECT_ERROR("loopy.interpret.too_long",
               interpret(kernel, {{{"n", 1000000}}, {}, {}}, {.most_operations = 1e5}));
}

const Kernel& long_rows() {
  static const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j < 100 and 0 <= k < 1000}", "b[i, j] = sum(k, a[i, j]*k)",
                  {.arguments = "a, b: f64[100, 100]"});
  return kernel;
}

TEST(InterpretSamples, AreAlsoTakenAtTheRim) {
  const Interpretation some = interpret(long_rows(), {}, {.most_operations = 1e6, .samples = 64});
  const std::vector<std::size_t>& places = some.arrays.at("b").places;
  EXPECT_GE(
      std::count_if(places.begin(), places.end(), [](std::size_t i) { return i / 100 == 99; }), 3);
  EXPECT_GE(
      std::count_if(places.begin(), places.end(), [](std::size_t i) { return i % 100 == 99; }), 3);
}

TEST(InterpretSamples, AreFewWhereEachTakesLong) {
  const double of_one =
      interpret(long_rows(), {}, {.most_operations = 1e6, .samples = 0, .places = {{"b", {0}}}})
          .operations;
  InterpretOptions options{.most_operations = of_one / 2};
  EXPECT_ERROR("loopy.interpret.too_long", interpret(long_rows(), {}, options));
  options.operations_of_few_samples = 5 * of_one;
  EXPECT_EQ(interpret(long_rows(), {}, options).arrays.at("b").numbers.size(), 4U);
  // the first one takes more than half
  options.operations_of_few_samples = 1.9 * of_one;
  EXPECT_ERROR("loopy.interpret.too_long", interpret(long_rows(), {}, options));
  EXPECT_ERROR("loopy.interpret.too_long",
               interpret(long_rows(), {}, {.most_operations = 1e6, .samples = 0}));
}

/// The sampled numbers are those of the whole.
void expect_samples_of_the_whole(const Kernel& kernel, const InterpretArguments& arguments) {
  const Interpretation whole = interpret(kernel, arguments);
  const Interpretation some =
      interpret(kernel, arguments, {.most_operations = whole.operations / 3, .samples = 16});
  EXPECT_FALSE(whole.is_sampled);
  EXPECT_TRUE(some.is_sampled);
  for (const auto& [name, array] : some.arrays) {
    EXPECT_GE(array.numbers.size(), 4U) << name;
    for (std::size_t i = 0; i < array.numbers.size(); ++i) {
      const ExpectedNumber& number = whole.arrays.at(name).numbers.at(array.places.at(i));
      EXPECT_EQ(array.numbers[i].value, number.value) << name << "[" << array.places[i] << "]";
      EXPECT_EQ(array.numbers[i].error, number.error) << name << "[" << array.places[i] << "]";
    }
  }
}

TEST(InterpretSamples, AreThoseOfTheWholeForProducts) {
  const std::vector<double> a = numbers(900, 1);
  expect_samples_of_the_whole(
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = rtcg::cgen::f64}),
      {{{"n", 30}}, {}, {{"a", array_of(a)}, {"b", array_of(numbers(900, 2))}}});
}

TEST(InterpretSamples, AreThoseOfTheWholeThroughTemporaries) {
  expect_samples_of_the_whole(
      make_kernel("{[i, j]: 1 <= i < n - 1 and 0 <= j < 20}",
                  "<> t = a[i - 1] + 2*a[i]\n<f64> u[20]\nu[j] = t*j {inames=i:j}\n"
                  "b[i] = t*t + sum(j, u[j])\nc[i] = b[i]*a[i + 1]",
                  {.arguments = "a, b, c: f64[n]; n: i32"}),
      {{{"n", 100}}, {}, {{"a", array_of(numbers(100))}}});
}

TEST(InterpretSamples, AreThoseOfTheWholeInLoopsOfTheHost) {
  expect_samples_of_the_whole(
      make_kernel("{[t, i, j]: 0 <= t < 3 and 1 <= i, j < n - 1}",
                  "for t\nv[i] = u[i] + 0.25*(u[i - 1] - 2*u[i] + u[i + 1])\n... gbarrier\n"
                  "u[j] = v[j]\nend",
                  {.arguments = "u, v: f64[n]; n: i32"}),
      {{{"n", 3000}}, {}, {{"u", array_of(numbers(3000))}, {"v", array_of(numbers(3000))}}});
}

TEST(InterpretSamples, AreComputedWithinASecondForLargeSizes) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = rtcg::cgen::f32});
  const std::size_t n = 2048;
  ArrayData zeros{cgen::ScalarKind::f32, std::vector<std::byte>(n * n * 4), 1};
  const Interpretation some =
      interpret(kernel, {{{"n", 2048}}, {}, {{"a", zeros}, {"b", zeros}, {"c", zeros}}});
  EXPECT_TRUE(some.is_sampled);
  EXPECT_GE(some.arrays.at("c").numbers.size(), 100U);
  EXPECT_LT(some.operations, 3e6);  // 8.6e9 for the whole
}

TEST(FindMismatch, CatchesWrongNumbers) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < 3 and 0 <= j < n}", "b[i] = sum(j, a[i, j])",
                                    {.default_type = rtcg::cgen::f32});
  const std::vector<double> random = numbers(300);
  const std::vector<float> a(random.begin(), random.end());
  const Interpretation expected = interpret(kernel, {{{"n", 100}}, {}, {{"a", array_of(a)}}});
  std::vector<float> b(3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 100; ++j) {
      b[i] += a[i * 100 + j];
    }
  }
  EXPECT_TRUE(find_mismatch({{"b", array_of(b)}}, expected).is_equal());
  b[1] += 1e-3F;  // as little as a part that is missing
  const Mismatch worst = find_mismatch({{"b", array_of(b)}}, expected);
  EXPECT_FALSE(worst.is_equal());
  EXPECT_EQ(worst.array, "b");
  EXPECT_EQ(worst.index, 1U);
  EXPECT_EQ(worst.compared, 3U);
}

TEST(FindMismatch, TakesWhatIsNoNumberAsEqualToItself) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 3}", "b[i] = log(a[i])", {.default_type = rtcg::cgen::f32});
  const Interpretation expected =
      interpret(kernel, {{}, {}, {{"a", array_of(std::vector<float>{-1, 0, 1})}}});
  const float nan = std::nanf("");
  EXPECT_TRUE(find_mismatch({{"b", array_of(std::vector<float>{nan, -HUGE_VALF, 0})}}, expected)
                  .is_equal());
  EXPECT_FALSE(
      find_mismatch({{"b", array_of(std::vector<float>{nan, HUGE_VALF, 0})}}, expected).is_equal());
  EXPECT_FALSE(
      find_mismatch({{"b", array_of(std::vector<float>{0, -HUGE_VALF, 0})}}, expected).is_equal());
}

}  // namespace
}  // namespace rtcg::loopy
