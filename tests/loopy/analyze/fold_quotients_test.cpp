#include "rtcg/loopy/analyze/fold_quotients.h"

#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/polyhedral/constraint_set.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

/// i from 0 to 99, j from 0 to 7, k from 0 to 3.
ConstraintSet ranges() {
  ConstraintSet set;
  for (const auto& [iname, last] :
       {std::pair("i", std::int64_t{99}), std::pair("j", std::int64_t{7}),
        std::pair("k", std::int64_t{3})}) {
    set.add_nonnegative(Affine(iname));
    set.add_nonnegative(Affine(last) - Affine(iname));
  }
  return set;
}

std::string folded(const std::string& index) {
  const ConstraintSet known = ranges();
  return to_string(fold_quotients(
      parse_expr(index), [&](const Affine& value) { return known.implies_nonnegative(value); }));
}

TEST(FoldQuotients, PutsDigitsTogether) {
  EXPECT_EQ(folded("72*(i // 72) + i % 72"), "i");
  EXPECT_EQ(folded("5184*(i // 35) + 72*(i // 5 % 7) + i % 5"),
            "5184*(i // 35) + 72*(i // 5 % 7) + i % 5");
  EXPECT_EQ(folded("35*(i // 35) + 5*(i // 5 % 7) + i % 5 + j"), "i + j");
  EXPECT_EQ(folded("n*(i // 8) + i % 8"), "n*(i // 8) + i % 8");
  EXPECT_EQ(folded("12*(i // 6 % 2) + 2*(i % 6)"), "2*(i % 12)");
}

TEST(FoldQuotients, PutsDigitsByParametersTogether) {
  EXPECT_EQ(folded("m*(i // m) + i % m"), "i");
  EXPECT_EQ(folded("m*p*(i // p // m) + p*(i // p % m) + i % p + j"), "i + j");
  EXPECT_EQ(folded("n*m*((8*i + j) // m) + n*((8*i + j) % m)"), "n*(8*i + j)");
  EXPECT_EQ(folded("(m + 1)*(i // (m + 1)) + i % (m + 1)"), "i");
  EXPECT_EQ(folded("n*(i // m) + i % m"), "n*(i // m) + i % m");
  EXPECT_EQ(folded("m*(i // m) + j % m"), "m*(i // m) + j % m");
}

TEST(FoldQuotients, TakesOutWhatDivides) {
  EXPECT_EQ(folded("(4*i + k) // 72"), "i // 18");
  EXPECT_EQ(folded("(4*i + k) % 72"), "4*(i % 18) + k");
  EXPECT_EQ(folded("(32*i + 4*j + k + 64) // 288"), "(i + 2) // 9");
  EXPECT_EQ(folded("(32*i + 4*j + k + 64) // 8 % 4"), "j // 2");
  EXPECT_EQ(folded("(4*j + k) // 32"), "0");
  EXPECT_EQ(folded("(5*i + k) % 72"), "(5*i + k) % 72");
}

TEST(FoldQuotients, TakesMultiplesOutOfQuotients) {
  EXPECT_EQ(folded("(16*i + j) // 4"), "j // 4 + 4*i");
  EXPECT_EQ(folded("(16*i - j) // 4"), "(16*i - j) // 4");
  EXPECT_EQ(folded("(72*n + 11*j + 80) // 72"), "(11*j + 8) // 72 + n + 1");
}

TEST(FoldQuotients, FoldsWhatQuotientsAreMadeOf) {
  EXPECT_EQ(folded("((16*i + 4*j + k) // 16 + 8*n) // 72"), "(8*n + j // 4 + i) // 72");
  EXPECT_EQ(folded("((4*i + k) % 16 + 16*n + 16) // 16"), "n + 1");
  EXPECT_EQ(folded("((4*i + k) % 16 + 16*n + 16) // 4 % 4"), "i % 4");
  EXPECT_EQ(folded("((4*i + k) % 16 + 16*n + 16) % 4"), "k");
  EXPECT_EQ(folded("i % 72 // 16"), "i % 72 // 16");
  EXPECT_EQ(folded("i % 72 % 8"), "i % 8");
  EXPECT_EQ(folded("i % 72 // 100"), "0");
  EXPECT_EQ(folded("(5*(i // 3) + i % 2) // 200"), "0");
  EXPECT_EQ(folded("(8*(n // 3) + j) // 8"), "n // 3");
  EXPECT_EQ(folded("(4*n + i // 30) // 4"), "n");  // i // 30 is 3 at most
}

/// Quotients, remainders and sums of each other.
Expr random_index(std::mt19937& random, int depth) {
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const std::int64_t kind = depth == 0 ? 0 : draw(0, 4);
  if (kind == 0) {
    return Expr(draw(1, 4) * draw(1, 4)) * name("i") + Expr(draw(-2, 8)) * name("j") +
           Expr(draw(-1, 3)) * name("k") + Expr(draw(-9, 40));
  }
  const std::int64_t length = draw(1, 3) * draw(1, 4);
  if (kind <= 2) {
    const Expr of = random_index(random, depth - 1);
    return kind == 1 ? floor_div(of, length) : modulo(of, length);
  }
  return Expr(draw(1, 6) * draw(1, 2)) * random_index(random, depth - 1) +
         Expr(draw(-1, 4)) * random_index(random, depth - 1) + Expr(draw(0, 20));
}

TEST(FoldQuotients, KeepsTheValueOfNestedOnes) {
  std::mt19937 random(2);
  const ConstraintSet known = ranges();
  int changed = 0;
  for (int round = 0; round < 2000; ++round) {
    const Expr index = random_index(random, 4);
    const Expr short_index = fold_quotients(
        index, [&](const Affine& value) { return known.implies_nonnegative(value); });
    changed += short_index == index ? 0 : 1;
    for (int point = 0; point < 60; ++point) {
      const auto draw = [&](std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(0, most)(random);
      };
      const IntegerValues values{{"i", draw(99)}, {"j", draw(7)}, {"k", draw(3)}};
      ASSERT_EQ(evaluate_integer(short_index, values), evaluate_integer(index, values))
          << to_string(index) << " as " << to_string(short_index);
    }
  }
  EXPECT_GT(changed, 500);
}

TEST(FoldQuotients, KeepsTheValue) {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const ConstraintSet known = ranges();
  for (int round = 0; round < 200; ++round) {
    const Expr number = Expr(draw(1, 12) * draw(1, 4)) * name("i") + Expr(draw(0, 8)) * name("j") +
                        Expr(draw(0, 3)) * name("k") + Expr(draw(0, 40));
    const std::int64_t low = draw(1, 9);
    const std::int64_t high = draw(1, 9);
    const Expr index = Expr(draw(1, 20)) * floor_div(number, low * high) +
                       Expr(low * draw(1, 2)) * modulo(floor_div(number, low), high) +
                       modulo(number, low) + name("j");
    const Expr short_index = fold_quotients(
        index, [&](const Affine& value) { return known.implies_nonnegative(value); });
    for (std::int64_t i = 0; i < 100; i += draw(1, 7)) {
      for (std::int64_t j = 0; j < 8; ++j) {
        const IntegerValues values{{"i", i}, {"j", j}, {"k", draw(0, 3)}};
        ASSERT_EQ(evaluate_integer(short_index, values), evaluate_integer(index, values))
            << to_string(index) << " as " << to_string(short_index);
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
