#include "rtcg/arrays/core/dtype.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::arrays {
namespace {

DType parse(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i) {
    if (name(static_cast<DType>(i)) == text) {
      return static_cast<DType>(i);
    }
  }
  ADD_FAILURE() << "no type is called " << text;
  return DType::f64;
}

TEST(DType, GoTogetherAsInNumPy) {
  std::ifstream table(RTCG_SOURCE_DIR "/tests/arrays/promotion_table.txt");
  std::string line;
  int rows = 0;
  const std::map<std::string, WeakKind> numbers = {{"bool", WeakKind::boolean},
                                                   {"int", WeakKind::integer},
                                                   {"float", WeakKind::real},
                                                   {"complex", WeakKind::complex}};
  const auto array = [](DType dtype) { return Expression(empty(dtype, {1})); };
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string what;
    std::string left;
    std::string right;
    std::string result;
    words >> what >> left;
    if (what == "#") {
      continue;
    }
    ++rows;
    if (what == "promote") {
      words >> right >> result;
      EXPECT_EQ(name(promote(parse(left), parse(right))), result) << line;
    } else if (what == "divide") {
      words >> right >> result;
      EXPECT_EQ(name((array(parse(left)) / array(parse(right))).dtype()), result) << line;
    } else if (what == "number") {
      words >> right >> result;
      EXPECT_EQ(name(promote(parse(left), numbers.at(right))), result) << line;
    } else {
      words >> result;
      const Expression x = array(parse(left));
      const DType found = what == "sin"    ? sin(x).dtype()
                          : what == "sum"  ? sum(x).dtype()
                          : what == "mean" ? mean(x).dtype()
                                           : abs(x).dtype();
      EXPECT_EQ(name(found), result) << line;
    }
  }
  EXPECT_EQ(rows, 14 * (2 * 14 + 4 + 4));
}

// NumPy's same-kind rule for all pairs, by every way on which elements go into an array.
TEST(Defect06, ElementsGoIntoAnArrayAsInNumPy) {
  std::ifstream table(RTCG_SOURCE_DIR "/tests/arrays/same_kind_table.txt");
  std::string line;
  int rows = 0;
  const std::map<std::string, Expression> numbers = {
      {"bool", true}, {"int", 3}, {"float", 3.0}, {"complex", std::complex<double>(0, 3)}};
  const auto goes = [](const auto& write) {
    try {
      write();
      return true;
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.code(), "arrays.assign.narrowing") << error.what();
      return false;
    }
  };
  // of no elements: no kernel is compiled
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string from;
    std::string to;
    std::string result;
    words >> from >> to >> result;
    if (from == "#") {
      continue;
    }
    ++rows;
    const bool allowed = result == "yes";
    const DType dtype = parse(to);
    const auto number = numbers.find(from);
    const Expression value =
        number != numbers.end() ? number->second : Expression(empty(parse(from), {0}));
    const AnyArray target = empty(dtype, {0});
    EXPECT_EQ(goes([&] { target.assign(value); }), allowed) << line;
    EXPECT_EQ(goes([&] { target(Slice{}) = value; }), allowed) << line << ", a slice";
    EXPECT_EQ(goes([&] { static_cast<void>(detail::evaluate_as(value, dtype)); }), allowed)
        << line << ", construction";
    EXPECT_EQ(goes([&] { put(target, empty<std::int64_t>(0), value); }), allowed)
        << line << ", put";
    if (number == numbers.end()) {
      EXPECT_EQ(is_same_kind(parse(from), dtype), allowed) << line;
      EXPECT_TRUE(goes([&] { target.assign(cast(value, dtype)); })) << line << ", aloud";
    }
  }
  EXPECT_EQ(rows, 14 * 14 + 4 * 14);
}

TEST(Defect06, TheMessageNamesBothTypesAndTheRemedy) {
  const Array<std::int32_t> k = arange<std::int32_t>(4);
  const auto message = [](const auto& write) -> std::string {
    try {
      write();
    } catch (const InvalidInput& error) {
      return error.message();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message([&] { k /= 2.5; }),
            "elements of f64 would lose fractions in an array of i32: convert it with cast(value, "
            "DType::i32) or as<T>()");
  EXPECT_EQ(message([&] { k.assign(1.5); }),
            "a number of f64 would lose fractions in an array of i32: convert it with cast(value, "
            "DType::i32) or as<T>()");
  const Array<float> x = ones<float>(4);
  EXPECT_NE(message([&] { x += std::complex<float>(0, 1); }).find("imaginary parts"),
            std::string::npos);
  EXPECT_NE(message([&] { const Array<bool> b = x + 1; }).find("compare with 0"),
            std::string::npos);
  EXPECT_NE(message([&] { const Array<std::uint8_t> b = 2 * k; }).find("lose signs"),
            std::string::npos);
}

TEST(Defect06, AsAndFullConvertAloudAndNumbersGoByTheirKind) {
  const Array<float> x(std::vector<float>{-1.5F, 0, 2.75F});
  EXPECT_EQ(x.as<std::int32_t>().to_vector(), (std::vector<std::int32_t>{-1, 0, 2}));
  EXPECT_EQ(Array<std::int32_t>(cast<std::int32_t>(2 * x)).to_vector(),
            (std::vector<std::int32_t>{-3, 0, 5}));
  EXPECT_EQ(full(DType::i32, {1}, 2.5).item<std::int32_t>(), 2);
  EXPECT_ERROR("arrays.assign.narrowing", full_like(arange<std::int32_t>(3), 2.5));
  EXPECT_ERROR("arrays.assign.narrowing", pad(arange<std::int32_t>(3), {1}, {1}, 0.5));
  EXPECT_ERROR("arrays.assign.narrowing", put_where(arange<std::int32_t>(3), ones<bool>(3), 0.5));
  EXPECT_ERROR("arrays.assign.narrowing", sum(x).item<std::int64_t>());
  EXPECT_ERROR("arrays.assign.narrowing", x.any().to_vector<std::int32_t>());
  const Array<bool> mask = zeros<bool>(3);
  mask(1) = 1;  // 0 and 1 are booleans as good as any
  put_where(mask, x == 2.75F, 1);
  EXPECT_EQ(mask.to_vector(), (std::vector<bool>{false, true, true}));
  EXPECT_ERROR("arrays.assign.narrowing", mask.assign(2));
  EXPECT_ERROR("arrays.expression.number_range", zeros<std::uint8_t>(2).assign(-1));
  const KernelArgument a = array_argument<float>("a");
  const KernelArgument k = array_argument<std::int32_t>("k");
  const ElementwiseKernel floors({a, k}, {{"k", 1.7F * value_of(a)}});
  EXPECT_ERROR("arrays.assign.narrowing", floors(x, zeros<std::int32_t>(3)));
  using Vector = ShortVector<float, 2>;
  const Array<Vector> v = zeros<Vector>(2);
  const Array<ShortVector<double, 2>> wide = zeros<ShortVector<double, 2>>(2);
  v.assign(wide);  // digits
  EXPECT_ERROR("arrays.assign.narrowing", (zeros<ShortVector<std::int32_t, 2>>(2).assign(v)));
}

TEST(DType, TakesBfloat16LikeHalf) {
  EXPECT_EQ(promote(DType::bf16, DType::f16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::i8), DType::bf16);
  EXPECT_EQ(promote(DType::bf16, DType::i16), DType::f32);
  EXPECT_EQ(promote(DType::i32, DType::bf16), DType::f64);
  EXPECT_EQ(promote(DType::bf16, DType::c64), DType::c64);
}

TEST(Half, RoundTripsAllBitPatterns) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = float_of_half_bits(pattern);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_of_half_bits(half_bits(value))));
    } else {
      EXPECT_EQ(half_bits(value), pattern);
    }
  }
}

TEST(Half, RoundsTiesToEven) {
  EXPECT_EQ(half_bits(1 + 0x1p-11F), half_bits(1.0F));
  EXPECT_EQ(half_bits(1 + 0x1.8p-10F), half_bits(1 + 0x1p-9F));
  EXPECT_EQ(half_bits(65519.0F), 0x7bff);
  EXPECT_EQ(half_bits(65520.0F), 0x7c00);
  EXPECT_EQ(half_bits(0x1p-25F), 0);
  EXPECT_EQ(half_bits(0x1.8p-24F), 2);
  EXPECT_EQ(BFloat16(1 + 0x1p-8F).bits(), BFloat16(1.0F).bits());
  EXPECT_TRUE(std::isnan(BFloat16(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace rtcg::arrays
