#include "rtcg/arrays/dtype.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/arrays/create.h"

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
