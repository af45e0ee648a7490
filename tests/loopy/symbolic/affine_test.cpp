#include "rtcg/loopy/symbolic/affine.h"

#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Random integer expressions as indices have them.
class RandomIndices {
 public:
  explicit RandomIndices(unsigned seed) : random_(seed) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  Affine affine() {
    Affine result(number(-20, 20));
    for (const char* each : {"i", "j", "k", "n"}) {
      result = result + Affine(each, number(-3, 3));
    }
    return result;
  }
  Expr expr(int depth) {
    if (depth == 0 || number(0, 5) == 0) {
      return number(0, 2) == 0 ? Expr(number(-9, 9)) : name(std::string(1, "ijkn"[number(0, 3)]));
    }
    const Expr a = expr(depth - 1);
    const Expr b = expr(depth - 1);
    switch (number(0, 9)) {
      case 0:
      case 1:
        return a + b;
      case 2:
        return a - b;
      case 3:
        return a * b;
      case 4:
        return -a;
      case 5:
        return floor_div(a, number(1, 9));
      case 6:
        return modulo(a, number(1, 9));
      case 7:
        return call(number(0, 1) == 0 ? "min" : "max", {a, b});
      case 8:
        return Sum{{a, b, Expr(number(-5, 5)), a}};
      default:
        return Conditional{compare(static_cast<ComparisonOp>(number(0, 5)), a, b), b, a};
    }
  }
  IntegerValues values() {
    return {{"i", number(-30, 30)},
            {"j", number(-30, 30)},
            {"k", number(-30, 30)},
            {"n", number(-30, 30)}};
  }

 private:
  std::mt19937_64 random_;
};

TEST(Affine, KeepsANormalForm) {
  const Affine i("i");
  const Affine j("j");
  EXPECT_EQ(i + j, j + i);
  EXPECT_EQ(i - i, Affine(0));
  EXPECT_TRUE((i - i).is_constant());
  EXPECT_EQ((j + i * 2 - j).terms().size(), 1U);
  EXPECT_EQ(Affine("i", 0), Affine(0));
  EXPECT_EQ((i * 6 + j * -4 + 1).coefficient_gcd(), 2);
  EXPECT_EQ(Affine(5).coefficient_gcd(), 0);
  EXPECT_EQ((i * 6 + j * -4 - 1).divided_rounding_down(2), i * 3 - j * 2 - 1);
}

TEST(Affine, ComputesAsItsValues) {
  RandomIndices random(1);
  for (int count = 0; count < 2000; ++count) {
    const Affine a = random.affine();
    const Affine b = random.affine();
    const std::int64_t factor = random.number(-5, 5);
    const IntegerValues values = random.values();
    const auto at = [&](const Affine& affine) { return evaluate_integer(affine, values).value(); };
    EXPECT_EQ(at(a + b), at(a) + at(b));
    EXPECT_EQ(at(a - b), at(a) - at(b));
    EXPECT_EQ(at(-a), -at(a));
    EXPECT_EQ(at(a * factor), at(a) * factor);
    IntegerValues moved = values;
    moved["j"] = at(b);
    EXPECT_EQ(at(a.substitute("j", b)), evaluate_integer(a, moved));
    // i becomes j, and j becomes i
    IntegerValues exchanged = values;
    std::swap(exchanged["i"], exchanged["j"]);
    const Affine renamed = a.rename([](const std::string& each) {
      return each == "i" ? "j" : each == "j" ? "i" : each;
    });
    EXPECT_EQ(at(renamed), evaluate_integer(a, exchanged));
    EXPECT_EQ(to_affine(to_expr(a)), a);
  }
}

TEST(Affine, JoinsTermsThatGetTheSameName) {
  const Affine sum = Affine("i", 2) + Affine("j", -2) + 1;
  EXPECT_EQ(sum.rename([](const std::string&) { return "x"; }), Affine(1));
}

TEST(Affine, RefusesWhatLeavesSixtyFourBits) {
  const Affine huge = Affine("i", INT64_MAX) + INT64_MAX;
  EXPECT_ERROR("loopy.affine.overflow", huge + Affine("i"));
  EXPECT_ERROR("loopy.affine.overflow", huge + 1);
  EXPECT_ERROR("loopy.affine.overflow", huge * 2);
  EXPECT_ERROR("loopy.affine.overflow", huge - Affine(-1));
  EXPECT_ERROR("loopy.affine.overflow", huge.substitute("i", Affine("j", 2)));
  EXPECT_ERROR("loopy.affine.overflow", -Affine(INT64_MIN));
  EXPECT_EQ(-huge, Affine("i", -INT64_MAX) + -INT64_MAX);
}

TEST(ToAffine, ReadsSumsAndMultiples) {
  EXPECT_EQ(to_affine(parse_expr("2*(i - 3*(j + 4)) + i*5 - 7")),
            Affine("i", 7) - Affine("j", 6) - 31);
  EXPECT_EQ(to_affine(parse_expr("i*0 + 3")), Affine(3));
  for (const char* text :
       {"i*j", "i // 2", "i % 2", "2.0", "a[i]", "i**2", "min(i, j)", "i/2", "i + a[0]", "i < j"}) {
    EXPECT_EQ(to_affine(parse_expr(text)), std::nullopt) << text;
  }
}

/// to_affine from the inside out, by the operators of Affine.
std::optional<Affine> affine_by_parts(const Expr& expr) {
  if (const Integer* integer = get_if<Integer>(expr)) {
    return integer->value;
  }
  if (const Name* name = get_if<Name>(expr)) {
    return Affine(name->name);
  }
  const Sum* sum = get_if<Sum>(expr);
  const Product* product = get_if<Product>(expr);
  if (sum == nullptr && product == nullptr) {
    return std::nullopt;
  }
  Affine result = sum != nullptr ? 0 : 1;
  for (const Expr& part : sum != nullptr ? sum->terms : product->factors) {
    const std::optional<Affine> affine = affine_by_parts(part);
    if (!affine) {
      return std::nullopt;
    }
    if (sum != nullptr) {
      result = result + *affine;
    } else if (affine->is_constant()) {
      result = result * affine->constant();
    } else if (result.is_constant()) {
      result = *affine * result.constant();
    } else {
      return std::nullopt;
    }
  }
  return result;
}

TEST(ToAffine, GivesWhatThePartsGive) {
  RandomIndices random(3);
  int affine = 0;
  for (int count = 0; count < 5000; ++count) {
    const Expr expr = random.expr(3);
    const std::optional<Affine> expected = affine_by_parts(expr);
    EXPECT_EQ(to_affine(expr), expected) << to_string(expr);
    affine += expected ? 1 : 0;
  }
  EXPECT_GT(affine, 1000);
}

TEST(ToAffine, RefusesConstantsBeyondSixtyFourBitsOnlyOfAffineParts) {
  const Expr huge = INT64_MAX;
  EXPECT_ERROR("loopy.affine.overflow", to_affine(Product{{huge, Expr(4), name("i")}}));
  EXPECT_ERROR("loopy.affine.overflow", to_affine(Sum{{huge, name("i"), huge}}));
  EXPECT_EQ(to_affine(Product{{parse_expr("a[i]"), huge, Expr(4)}}), std::nullopt);
  // factors without names need not be integers
  EXPECT_EQ(to_affine(Product{{Sum{{name("m"), Expr(-1) * name("m"), Expr(2)}}, name("i")}}),
            Affine("i", 2));
}

TEST(ToExpr, WritesPositiveTermsFirst) {
  EXPECT_EQ(to_string(to_expr(Affine("a", -1) + Affine("i", 16) + Affine("j") - 3)),
            "16*i + j - a - 3");
  EXPECT_EQ(to_string(to_expr(Affine("a", -2))), "-2*a");
  EXPECT_EQ(to_string(to_expr(Affine("a"))), "a");
  EXPECT_EQ(to_string(to_expr(Affine("a") + 5)), "a + 5");
  EXPECT_EQ(to_string(to_expr(Affine())), "0");
}

TEST(SimplifyIndex, KeepsTheValueOfRandomIndices) {
  RandomIndices random(2);
  int evaluated = 0;
  for (int count = 0; count < 6000; ++count) {
    const Expr expr = random.expr(1 + count % 4);
    const Expr simple = simplify_index(expr);
    for (int k = 0; k < 4; ++k) {
      const IntegerValues values = random.values();
      ASSERT_EQ(evaluate_integer(simple, values), evaluate_integer(expr, values))
          << to_string(expr) << " became " << to_string(simple);
      evaluated += evaluate_integer(expr, values) ? 1 : 0;
    }
    // once is enough
    ASSERT_EQ(to_string(simplify_index(simple)), to_string(simple)) << to_string(expr);
  }
  EXPECT_GT(evaluated, 20000);
}

TEST(SimplifyIndex, CollectsWhatIsAffine) {
  EXPECT_EQ(to_string(simplify_index(parse_expr("16*(i + 1) + j - 16 - 2*j"))), "16*i - j");
  EXPECT_EQ(to_string(simplify_index(parse_expr("a[i + 0*j - i] + 3"))), "a[0] + 3");
  EXPECT_EQ(to_string(simplify_index(parse_expr("i // 4 + j + 3 - j"))), "i // 4 + 3");
  EXPECT_EQ(to_string(simplify_index(parse_expr("(i + i) // 4 + j"))), "2*i // 4 + j");
  EXPECT_EQ(to_string(simplify_index(parse_expr("a[0] + (i + a[1] - 2) + 2"))), "a[0] + a[1] + i");
  EXPECT_EQ(to_string(simplify_index(parse_expr("i*n - 2 + j + 2"))), "i*n + j");
}

TEST(Affine, ComparesTermsApartFromConstants) {
  const Affine i("i");
  const Affine j("j");
  EXPECT_TRUE((i * 2 + j).has_same_terms(j + i * 2 + 5));
  EXPECT_FALSE((i * 2 + j).has_same_terms(i + j));
  EXPECT_FALSE((i * 2 + j).has_same_terms(i * 2 + Affine("k")));
  EXPECT_FALSE((i * 2 + j).has_same_terms(i * 2));
  EXPECT_TRUE(Affine(1).has_same_terms(i - i));
}

TEST(Affine, IsAConstantAfterItWasMoved) {
  Affine moved = Affine("i") + 1;
  const Affine copy = moved;
  const Affine target = std::move(moved);
  EXPECT_TRUE(moved.is_constant());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.terms().empty());
  EXPECT_EQ(target, copy);
  moved = copy * 3;
  EXPECT_EQ(moved.coefficient("i"), 3);
  EXPECT_EQ(copy.coefficient("i"), 1) << "copies share terms that nothing changes";
}

TEST(Divide, RoundsDownAndUp) {
  for (std::int64_t numerator = -20; numerator <= 20; ++numerator) {
    for (std::int64_t denominator = 1; denominator <= 6; ++denominator) {
      const std::int64_t down = divide_rounding_down(numerator, denominator);
      const std::int64_t up = divide_rounding_up(numerator, denominator);
      EXPECT_TRUE(down * denominator <= numerator && numerator < (down + 1) * denominator);
      EXPECT_TRUE(up * denominator >= numerator && numerator > (up - 1) * denominator);
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
