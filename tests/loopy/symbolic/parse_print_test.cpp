// parse_expr and print_expr against each other: what is printed is read back as the same value.

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/structural_hash.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// A number that two expressions share where they mean the same: sums, products and bits are
/// computed modulo 2^64, everything else is hashed from the numbers of its parts.
std::uint64_t meaning(const Expr& expr) {
  StructuralHash hash;
  const auto parts = [&](std::string_view kind) {
    hash.add(kind);
    for_each_child(expr, [&](const Expr& child) { hash.add(meaning(child)); });
    return hash.value();
  };
  return match(
      expr, [](const Integer& e) { return static_cast<std::uint64_t>(e.value); },
      [&](const Real& e) {
        // the sign apart: -x is read as -1 * x
        const std::uint64_t kind = e.stated_kind ? static_cast<std::uint64_t>(*e.stated_kind) : 99;
        const std::uint64_t magnitude =
            hash.add(kind).add(std::bit_cast<std::uint64_t>(std::fabs(e.value))).value();
        return std::signbit(e.value) ? -magnitude : magnitude;
      },
      [&](const Name& e) { return hash.add(e.name).value(); },
      [](const Sum& e) {
        std::uint64_t sum = 0;
        for (const Expr& term : e.terms) {
          sum += meaning(term);
        }
        return sum;
      },
      [](const Product& e) {
        std::uint64_t product = 1;
        for (const Expr& factor : e.factors) {
          product *= meaning(factor);
        }
        return product;
      },
      [&](const Quotient&) { return parts("/"); }, [&](const FloorDiv&) { return parts("//"); },
      [&](const Modulo&) { return parts("%"); }, [&](const Power&) { return parts("**"); },
      [&](const Comparison& e) { return parts(spelling(e.op)); },
      [&](const Logical& e) { return parts(e.op == LogicalOp::and_ ? "and" : "or"); },
      [&](const Not&) { return parts("not"); },
      [&](const Bitwise& e) { return parts(spelling(e.op)); },
      [&](const Conditional&) { return parts("if"); },
      [&](const Access& e) { return parts("access " + e.array); },
      [&](const LinearAccess& e) { return parts("linear " + e.array); },
      [&](const Call& e) { return parts("call " + e.function); },
      [&](const Cast& e) { return parts("cast " + scalar_type_name(e.type)); },
      [&](const Reduction& e) {
        hash.add(e.operation);
        for (const std::string& iname : e.inames) {
          hash.add(iname);
        }
        return parts("reduction");
      });
}

class RandomExprs {
 public:
  explicit RandomExprs(unsigned seed) : random_(seed) {}

  Expr make(int depth) { return depth == 0 ? leaf() : inner(depth); }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  Expr leaf() {
    static const double reals[] = {0.5, -2.0, 1e-7, 6.02e23, 3.0, 0.1};
    switch (below(6)) {
      case 0:
        return static_cast<std::int64_t>(below(40)) - 10;
      case 1:
        return Real{reals[below(6)], std::nullopt};
      case 2:
        return Real{static_cast<float>(reals[below(6)]), cgen::ScalarKind::f32};
      case 3:
        return Real{reals[below(6)], cgen::ScalarKind::f64};
      default:
        return name(std::string(1, static_cast<char>('i' + below(5))));
    }
  }

  std::vector<Expr> several(int depth) {
    std::vector<Expr> exprs;
    for (std::uint64_t count = 2 + below(2); count > 0; --count) {
      exprs.push_back(make(depth));
    }
    return exprs;
  }

  Expr inner(int outer) {
    const int depth = static_cast<int>(below(static_cast<std::uint64_t>(outer)));
    const Expr a = make(outer - 1);
    const Expr b = make(depth);
    switch (below(23)) {
      case 0:
        return a + b;
      case 1:
        return a - b;
      case 2:
        return a * b;
      case 3:
        return -a;
      case 4:
        return Sum{several(depth)};
      case 5:
        return Product{several(depth)};
      case 6:
        return Quotient{a, b + name("n")};
      case 7:
        return b / (a - name("n"));
      case 8:
        return floor_div(a, name("n"));
      case 9:
        return floor_div(b, a + name("n"));
      case 10:
        return modulo(a, name("n") - b);
      case 11:
        return power(a, b);
      case 12:
        return power(b, a);
      case 13:
        return Comparison{static_cast<ComparisonOp>(below(6)), a, b};
      case 14:
        return Logical{static_cast<LogicalOp>(below(2)), {a, b}};
      case 15:
        return Not{a};
      case 16:
        return Bitwise{static_cast<BitOp>(below(5)), a, b};
      case 17:
        return Conditional{b, a, make(depth)};
      case 18:
        return Access{"a", {a, b}};
      case 19:
        return LinearAccess{"b", a};
      case 20:
        return Call{"f", {a, b}};
      case 21:
        return Cast{below(2) == 0 ? cgen::f32 : cgen::i64, a};
      default:
        return reduction(a, b);
    }
  }

  Expr reduction(const Expr& a, const Expr& b) {
    switch (below(4)) {
      case 0:
        return Reduction{"sum", {"r"}, {a}};
      case 1:
        return Reduction{"min", {"r", "s"}, {a}};
      case 2:
        return Reduction{"max", {"r"}, {b}};
      default:
        return Reduction{"argmax", {"r"}, {a, b}};
    }
  }

  std::mt19937_64 random_;
};

TEST(ParsePrint, KeepsTheMeaningOfRandomTrees) {
  RandomExprs random(20261121);
  for (int count = 0; count < 5000; ++count) {
    const Expr expr = random.make(1 + count % 4);
    const std::string text = to_string(expr);
    const Expr again = parse_expr(text);
    ASSERT_EQ(meaning(again), meaning(expr)) << text << "\n" << to_string(again);
    // what was read is printed and read as the very same tree
    ASSERT_EQ(parse_expr(to_string(again)), again) << text << "\n" << to_string(again);
  }
}

TEST(ParsePrint, KeepsExtremeNumbers) {
  for (const double value :
       {0.0, -0.0, 1e300, 5e-324, 0.1, 1.0 / 3, 1e22, std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(parse_expr(to_string(Expr(value))), Expr(value)) << value;
  }
  for (const std::int64_t value : {std::int64_t{0}, INT64_MAX, INT64_MIN, std::int64_t{-1}}) {
    EXPECT_EQ(parse_expr(to_string(Expr(value))), Expr(value)) << value;
  }
  for (const float value : {0.1F, 1e-30F, 16777217.0F}) {
    const Expr real = Real{value, cgen::ScalarKind::f32};
    EXPECT_EQ(parse_expr(to_string(real)), real) << value;
  }
  EXPECT_EQ(to_string(Real{0.1F, cgen::ScalarKind::f32}), "0.1f");
}

}  // namespace
}  // namespace rtcg::loopy
