#include "rtcg/loopy/polyhedral/digits_apart.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/parse_domain.h"

namespace rtcg::loopy {
namespace {

ConstraintSet set_of(const char* text) {
  return parse_domains(text).front().constraints;
}

TEST(DigitsApart, AreZeroWhereTheRestIsTooSmall) {
  const ConstraintSet set =
      set_of("{[a, b, c]: 40*a + 20*b + 5*c = 0 and -1 <= b <= 1 and -3 <= c <= 3}");
  const ConstraintSet apart = with_digits_apart(set);
  EXPECT_TRUE(apart.implies(Constraint{Affine("c"), true}));
  EXPECT_TRUE(apart.implies(Constraint{Affine("b"), true}));
  EXPECT_TRUE(apart.implies(Constraint{Affine("a"), true}));
}

TEST(DigitsApart, TellThatTwoThreadsHaveDifferentElements) {
  // elements 32*i + 4*j + k of two threads, the later j + 1 or more
  ConstraintSet set = set_of(
      "{[i, j, k, p, q, r]: 0 <= j, q < 8 and 0 <= k, r < 4 and "
      "32*i + 4*j + k = 32*p + 4*q + r and q > j}");
  EXPECT_FALSE(set.is_empty());  // over the rationals it is not
  EXPECT_TRUE(with_digits_apart(set).is_empty());
}

TEST(DigitsApart, StayTogetherWhereTheRestReachesOneMore) {
  const ConstraintSet set = set_of("{[a, b]: 4*a + b = 0 and -4 <= b <= 3}");
  EXPECT_FALSE(with_digits_apart(set).implies(Constraint{Affine("b"), true}));
  EXPECT_FALSE(with_digits_apart(set).is_empty());
}

TEST(DigitsApart, TakeBoundsOfSums) {
  // no bound of b alone
  const ConstraintSet set = set_of("{[a, b, c]: 8*a + 2*b + c = 0 and -3 <= 2*b + c <= 3}");
  EXPECT_TRUE(with_digits_apart(set).implies(Constraint{Affine("a"), true}));
}

TEST(DigitsApart, TakeNamesApartByTheirQuotients) {
  // elements 16*(i // 8) + i % 8 and 16*(j // 8) + j % 8 + 8, with p = i // 8 and q = j // 8
  const ConstraintSet set =
      set_of("{[i, j, p, q]: 0 <= i - 8*p < 8 and 0 <= j - 8*q < 8 and 8*p + i = 8*q + j + 8}");
  EXPECT_FALSE(set.is_empty());
  EXPECT_TRUE(with_digits_apart(set).is_empty());
  const ConstraintSet next =
      set_of("{[i, j, p, q]: 0 <= i - 8*p < 8 and 0 <= j - 8*q < 8 and 8*p + i = 8*q + j + 16}");
  EXPECT_FALSE(with_digits_apart(next).is_empty());
}

TEST(DigitsApart, TakeRemaindersForDigits) {
  // x = 64*i + 4*j + k goes through tiles of 8 by 8 of an array with rows of 296: [8*(x // 2368) +
  // x // 8 % 8, 8*(x // 64 % 37) + x % 8], with q = x // 2368, u = x // 8, v = u // 8, s = x // 64,
  // t = s // 37, for two threads; the later one has a larger j
  const std::string of_one =
      "0 <= 64*i + 4*j + k - 2368*q < 2368 and 0 <= 64*i + 4*j + k - 8*u < 8 and "
      "0 <= u - 8*v < 8 and 0 <= 64*i + 4*j + k - 64*s < 64 and 0 <= s - 37*t < 37 and "
      "0 <= i < 1443 and 0 <= j < 16 and 0 <= k < 4";
  std::string of_other = of_one;
  for (const char c : {'i', 'j', 'k', 'q', 'u', 'v', 's', 't'}) {
    for (std::size_t at = of_other.find(c); at != std::string::npos;
         at = of_other.find(c, at + 1)) {
      of_other.insert(at + 1, "_2");
    }
  }
  const std::string names = "{[i, j, k, q, u, v, s, t, i_2, j_2, k_2, q_2, u_2, v_2, s_2, t_2]: ";
  const std::string element =
      "8*q + u - 8*v = 8*q_2 + u_2 - 8*v_2 and "
      "8*s - 296*t + 64*i + 4*j + k - 8*u = 8*s_2 - 296*t_2 + 64*i_2 + 4*j_2 + k_2 - 8*u_2";
  const std::string text = names + of_one + " and " + of_other + " and " + element;
  EXPECT_TRUE(with_digits_apart(set_of((text + "}").c_str()))
                  .implies(Constraint{Affine("i") - Affine("i_2"), true}));
  EXPECT_TRUE(with_digits_apart(set_of((text + " and j_2 > j}").c_str())).is_empty());
  EXPECT_FALSE(with_digits_apart(set_of((text + "}").c_str())).is_empty());
}

TEST(DigitsApart, DoNotTakeWhatIsNoRemainder) {
  // x - 4*q reaches 4, so that z may be w + 1
  const ConstraintSet set = set_of(
      "{[x, q, y, p, z, w]: 0 <= x, y < 64 and 0 <= z, w < 8 and 0 <= x - 4*q <= 4 and "
      "0 <= y - 4*p <= 4 and 4*z + x - 4*q = 4*w + y - 4*p}");
  EXPECT_FALSE(with_digits_apart(set).implies(Constraint{Affine("z") - Affine("w"), true}));
  const ConstraintSet shorter = set_of(
      "{[x, q, y, p, z, w]: 0 <= x, y < 64 and 0 <= z, w < 8 and 0 <= x - 4*q <= 3 and "
      "0 <= y - 4*p <= 3 and 4*z + x - 4*q = 4*w + y - 4*p}");
  EXPECT_TRUE(with_digits_apart(shorter).implies(Constraint{Affine("z") - Affine("w"), true}));
}

bool holds(const ConstraintSet& set, const std::map<std::string, std::int64_t>& values) {
  return std::all_of(set.constraints().begin(), set.constraints().end(),
                     [&](const Constraint& each) {
                       std::int64_t value = each.expr.constant();
                       for (const Affine::Term& term : each.expr.terms()) {
                         value += term.coefficient * values.at(term.name);
                       }
                       return each.is_equality ? value == 0 : value >= 0;
                     });
}

TEST(DigitsApart, KeepAllPoints) {
  // x and y with quotients by a, and those of the quotients by b, in random equalities
  std::mt19937_64 random(20261129);
  const auto draw = [&](std::vector<std::int64_t> values) {
    return values[random() % values.size()];
  };
  const std::vector<std::string> names = {"x", "q", "r", "y", "p", "s"};
  int solvable = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t a = draw({2, 3, 4});
    const std::int64_t b = draw({2, 3});
    const std::int64_t excess = draw({0, 0, 1, 2});  // with 0 they are quotients
    ConstraintSet set;
    const auto bound = [&](const std::string& name, std::int64_t last) {
      set.add_nonnegative(Affine(name));
      set.add_nonnegative(Affine(last) - Affine(name));
    };
    const auto divide = [&](const std::string& of, const std::string& quotient, std::int64_t by) {
      const Affine rest = Affine(of) - Affine(quotient, by);
      set.add_nonnegative(rest);
      set.add_nonnegative(Affine(by - 1 + excess) - rest);
    };
    bound("x", 11);
    bound("y", 11);
    divide("x", "q", a);
    divide("q", "r", b);
    divide("y", "p", a);
    divide("p", "s", b);
    for (int i = 0; i < 2; ++i) {
      Affine zero(draw({0, 0, 0, 1, -2}));
      for (std::size_t each = 0; each < 3; ++each) {
        const std::int64_t coefficient = draw({0, 1, -1, a, -a, b, -b, a * b, -a * b, 8, -8});
        zero = zero + Affine(names[each], coefficient) -
               Affine(names[each + 3], draw({0, 1, 1, 1}) * coefficient);
      }
      set.add_zero(zero);
    }
    const ConstraintSet apart = with_digits_apart(set);
    const auto quotients = [&](std::int64_t of, std::int64_t by) {
      std::vector<std::int64_t> all;
      for (std::int64_t each = -2; by * each <= of; ++each) {
        if (of - by * each <= by - 1 + excess) {
          all.push_back(each);
        }
      }
      return all;
    };
    std::vector<std::array<std::int64_t, 3>> numbers;  // with their quotients
    for (std::int64_t x = 0; x < 12; ++x) {
      for (const std::int64_t q : quotients(x, a)) {
        for (const std::int64_t r : quotients(q, b)) {
          numbers.push_back({x, q, r});
        }
      }
    }
    for (const auto& one : numbers) {
      for (const auto& other : numbers) {
        const std::map<std::string, std::int64_t> values = {{"x", one[0]},   {"q", one[1]},
                                                            {"r", one[2]},   {"y", other[0]},
                                                            {"p", other[1]}, {"s", other[2]}};
        if (holds(set, values)) {
          ++solvable;
          ASSERT_TRUE(holds(apart, values)) << to_string(set) << " -> " << to_string(apart);
        }
      }
    }
  }
  EXPECT_GT(solvable, 300);
}

}  // namespace
}  // namespace rtcg::loopy
