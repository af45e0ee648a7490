// Answers about constraint sets, compared with all points of small boxes.
#include "rtcg/loopy/polyhedral/constraint_set.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/polyhedral/elimination.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/loopy/polyhedral/random_set.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t low = -4;
constexpr std::int64_t high = 5;
constexpr int set_count = 1000;

/// Runs `check(generator, set, points)` on random sets.
template <class Check>
void for_random_sets(std::uint64_t seed, std::int64_t largest_coefficient, const Check& check) {
  SetGenerator random(seed);
  for (int i = 0; i < set_count && !::testing::Test::HasFailure(); ++i) {
    const ConstraintSet set = random.set(low, high, largest_coefficient);
    SCOPED_TRACE(fmt::format("set {}: {}", i, to_string(set)));
    check(random, set, points_of(set, low, high));
  }
}

std::vector<std::int64_t> values_of(const Affine& expr, const std::vector<Point>& points) {
  const Row row(expr);
  std::vector<std::int64_t> values;
  for (const Point& point : points) {
    values.push_back(row.at(point));
  }
  return values;
}

/// Says how often the careful answer was the sharp one, and that it mostly was.
struct Sharpness {
  int right = 0;
  int all = 0;

  void count(bool is_sharp) {
    right += is_sharp ? 1 : 0;
    ++all;
  }
  void expect_at_least(int percent, const char* what) const {
    std::printf("%s: sharp in %d of %d cases (%.1f %%)\n", what, right, all, 100.0 * right / all);
    EXPECT_GE(right * 100, all * percent) << what;
  }
};

TEST(ConstraintSet, IsEmptyOnlyWithoutPoints) {
  Sharpness sharpness;
  for_random_sets(1, 3, [&](SetGenerator&, const ConstraintSet& set, const auto& points) {
    if (set.is_empty()) {
      EXPECT_TRUE(points.empty());
    }
    if (points.empty()) {
      sharpness.count(set.is_empty());
    }
  });
  sharpness.expect_at_least(70, "emptiness");
}

TEST(ConstraintSet, ImpliesOnlyWhatHoldsAtAllPoints) {
  Sharpness sharpness;
  for_random_sets(2, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto& points) {
    for (int k = 0; k < 4; ++k) {
      const Affine expr = random.affine(3) + random.number(0, 9);
      const std::vector<std::int64_t> values = values_of(expr, points);
      const auto is_nonnegative = [](std::int64_t value) { return value >= 0; };
      const bool holds = std::all_of(values.begin(), values.end(), is_nonnegative);
      const bool is_zero =
          std::count(values.begin(), values.end(), 0) == static_cast<std::ptrdiff_t>(values.size());
      EXPECT_LE(set.implies_nonnegative(expr), holds) << to_string(expr);
      EXPECT_LE(set.implies(Constraint{expr, true}), is_zero) << to_string(expr);
      if (holds) {
        sharpness.count(set.implies_nonnegative(expr));
      }
    }
  });
  sharpness.expect_at_least(85, "implication");
}

TEST(ConstraintSet, ImpliesOnlyCongruencesThatHoldAtAllPoints) {
  int said = 0;
  for_random_sets(3, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto& points) {
    std::vector<Congruence> asked = set.congruences();
    asked.push_back({random.affine(3), random.number(2, 5)});
    for (const Congruence& known : set.congruences()) {
      // what follows from a known one: multiples of it, and shifts by the modulus
      asked.push_back({known.expr * -1 + known.modulus * random.number(-3, 3), known.modulus});
      asked.push_back({known.expr + Affine("x", known.modulus), known.modulus});
      asked.push_back({known.expr, known.modulus * 2});  // does not follow
    }
    for (const Congruence& each : asked) {
      const std::vector<std::int64_t> values = values_of(each.expr, points);
      const bool holds = std::all_of(values.begin(), values.end(),
                                     [&](std::int64_t value) { return value % each.modulus == 0; });
      EXPECT_LE(set.implies(each), holds) << to_string(each.expr) << " mod " << each.modulus;
      said += set.implies(each) ? 1 : 0;
    }
  });
  EXPECT_GT(said, set_count);
}

TEST(ConstraintSet, KnowsWhatFollowsFromACongruence) {
  ConstraintSet set;
  set.add(Congruence{Affine("n") - 2, 12});
  EXPECT_TRUE(set.implies(Congruence{Affine("n") + 10, 12}));
  EXPECT_TRUE(set.implies(Congruence{Affine("n") - 2, 4}));
  EXPECT_TRUE(set.implies(Congruence{Affine("n", 5) - 2, 4}));  // 5 n = n, by multiples of 4
  EXPECT_TRUE(set.implies(Congruence{Affine("n", -1) + 2, 6}));
  EXPECT_TRUE(set.implies(Congruence{Affine("i", 12) - Affine("n") + 2, 12}));
  EXPECT_FALSE(set.implies(Congruence{Affine("n"), 12}));
  EXPECT_FALSE(set.implies(Congruence{Affine("n") - 2, 24}));
}

TEST(ConstraintSet, BoundsEnclosesAllValues) {
  Sharpness sharpness;
  for_random_sets(4, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto& points) {
    const Affine expr = random.chance(50) ? random.affine(3) : Affine("y");
    const auto smallest = set.minimum(expr);
    const auto largest = set.maximum(expr);
    const std::vector<std::int64_t> values = values_of(expr, points);
    for (const std::int64_t value : values) {
      EXPECT_LE(smallest.value_or(value), value) << to_string(expr);
      EXPECT_GE(largest.value_or(value), value) << to_string(expr);
    }
    if (!values.empty()) {
      const auto [first, last] = std::minmax_element(values.begin(), values.end());
      sharpness.count(smallest == *first);
      sharpness.count(largest == *last);
    }
  });
  sharpness.expect_at_least(70, "bounds");
}

std::set<Point> without_coordinate(const std::vector<Point>& points, std::size_t coordinate) {
  std::set<Point> result;
  for (Point point : points) {
    point[coordinate] = 0;
    result.insert(point);
  }
  return result;
}

TEST(ConstraintSet, ProjectionsKeepEveryPoint) {
  for_random_sets(5, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto& points) {
    const auto first = static_cast<std::size_t>(random.number(0, 2));
    const auto second = static_cast<std::size_t>(random.number(0, 2));
    const ConstraintSet projection = set.project_out({set_names[first], set_names[second]});
    EXPECT_FALSE(projection.mentions(set_names[first])) << to_string(projection);
    EXPECT_FALSE(projection.mentions(set_names[second])) << to_string(projection);
    const Membership membership(projection);
    EXPECT_TRUE(std::all_of(points.begin(), points.end(), [&](const Point& point) {
      return membership.contains(point);
    })) << to_string(projection);
  });
}

TEST(ConstraintSet, ProjectionsAreExactWhereCoefficientsAreOne) {
  int nonempty = 0;
  SetGenerator random(6);
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    ConstraintSet set;
    for (const std::string& name : set_names) {
      set.add_nonnegative(Affine(name) - low);
      set.add_nonnegative(Affine(high) - Affine(name));
    }
    for (int k = 0; k < 3; ++k) {
      // y, which is projected out, has a coefficient of 1; the others have any
      const Affine rest = Affine("x", random.number(-3, 3)) + Affine("z", random.number(-3, 3));
      set.add(Constraint{rest + Affine("y", random.chance(50) ? 1 : -1) + random.number(-6, 6),
                         random.chance(20)});
    }
    SCOPED_TRACE(to_string(set));
    const ConstraintSet projection = set.project_out({"y"});
    const std::vector<Point> points = points_of(set, low, high);
    nonempty += points.empty() ? 0 : 1;
    EXPECT_EQ(without_coordinate(points, 1),
              without_coordinate(points_of(projection, low, high), 1))
        << to_string(projection);
  }
  EXPECT_GT(nonempty, set_count / 2);
}

TEST(ConstraintSet, SubstitutionsMeanWhatTheySay) {
  for_random_sets(7, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto&) {
    const Affine value = random.affine(2);
    const ConstraintSet substituted = set.substitute("y", value);
    for (int k = 0; k < 60; ++k) {
      const Point point = {random.number(low, high), random.number(low, high),
                           random.number(low, high)};
      Point moved = point;
      moved[1] = value_at(value, point);
      EXPECT_EQ(contains(substituted, point), contains(set, moved)) << to_string(value);
    }
  });
}

TEST(ConstraintSet, RenamingExchangesCoordinates) {
  const auto exchange = [](const std::string& name) {
    return name == "x" ? "z" : name == "z" ? "x" : name;
  };
  for_random_sets(8, 3, [&](SetGenerator&, const ConstraintSet& set, const auto& points) {
    const ConstraintSet renamed = set.rename(exchange);
    EXPECT_EQ(points_of(renamed, low, high).size(), points.size());
    const Membership membership(renamed);
    EXPECT_TRUE(std::all_of(points.begin(), points.end(), [&](const Point& point) {
      return membership.contains({point[2], point[1], point[0]});
    })) << to_string(renamed);
  });
}

TEST(ConstraintSet, LosesNoPointWithItsRedundancies) {
  int dropped = 0;
  for_random_sets(9, 3, [&](SetGenerator&, const ConstraintSet& set, const auto& points) {
    const ConstraintSet shorter = set.without_redundancies();
    EXPECT_LE(shorter.constraints().size(), set.constraints().size());
    EXPECT_EQ(points_of(shorter, low - 3, high + 3), points) << to_string(shorter);
    dropped += shorter == set ? 0 : 1;
  });
  EXPECT_GT(dropped, set_count / 4);
}

TEST(ConstraintSet, JoiningTwoKeepsTheCommonPoints) {
  for_random_sets(10, 3, [&](SetGenerator& random, const ConstraintSet& set, const auto& points) {
    const ConstraintSet other = random.set(low, high, 2);
    ConstraintSet both = set;
    both.add(other);
    std::vector<Point> common;
    const Membership membership(other);
    std::copy_if(points.begin(), points.end(), std::back_inserter(common),
                 [&](const Point& point) { return membership.contains(point); });
    EXPECT_EQ(points_of(both, low, high), common) << to_string(other);
  });
}

// ---- what must be exact ----------------------------------------------------------------------

/// Everything about `names` is as the points say.
void expect_exact(const ConstraintSet& set, const std::vector<Affine>& exprs) {
  const std::vector<Point> points = points_of(set, -2, 40);
  EXPECT_EQ(set.is_empty(), points.empty()) << to_string(set);
  if (points.empty()) {
    return;
  }
  for (const Affine& expr : exprs) {
    const std::vector<std::int64_t> values = values_of(expr, points);
    const auto [first, last] = std::minmax_element(values.begin(), values.end());
    EXPECT_EQ(set.minimum(expr), *first) << to_string(expr) << " in " << to_string(set);
    EXPECT_EQ(set.maximum(expr), *last) << to_string(expr) << " in " << to_string(set);
    EXPECT_TRUE(set.implies_nonnegative(expr - *first));
    EXPECT_FALSE(set.implies_nonnegative(expr - *first - 1));
    EXPECT_FALSE(set.implies_nonnegative(-expr + *last - 1));
  }
}

TEST(ConstraintSet, IsExactForBoxes) {
  SetGenerator random(11);
  for (int i = 0; i < 60 && !HasFailure(); ++i) {
    ConstraintSet set;
    for (const std::string& name : set_names) {
      const std::int64_t start = random.number(0, 12);
      set.add_nonnegative(Affine(name) - start);
      set.add_nonnegative(Affine(start + random.number(-1, 12)) - Affine(name));
    }
    expect_exact(set, {Affine("x"), Affine("x") + Affine("y", 3), Affine("z") - Affine("x", 2)});
  }
}

TEST(ConstraintSet, IsExactForSplitLoops) {
  // 0 <= 8 x + y < n, 0 <= y < 8, and z = 8 x + y
  for (std::int64_t length = 1; length <= 8; ++length) {
    for (std::int64_t n = 0; n < 40; n += 3) {
      ConstraintSet set;
      const Affine place = Affine("x", length) + Affine("y");
      set.add_nonnegative(place);
      set.add_nonnegative(Affine(n - 1) - place);
      set.add_nonnegative(Affine("y"));
      set.add_nonnegative(Affine(length - 1) - Affine("y"));
      set.add_zero(Affine("z") - place);
      expect_exact(set, {place, Affine("x"), Affine("z")});
    }
  }
}

TEST(ConstraintSet, IsExactForTriangles) {
  for (std::int64_t n = 0; n < 12; ++n) {
    ConstraintSet set;  // 0 <= x < n, 0 <= y <= x, y <= z < n
    set.add_nonnegative(Affine("x"));
    set.add_nonnegative(Affine(n - 1) - Affine("x"));
    set.add_nonnegative(Affine("y"));
    set.add_nonnegative(Affine("x") - Affine("y"));
    set.add_nonnegative(Affine("z") - Affine("y"));
    set.add_nonnegative(Affine(n - 1) - Affine("z"));
    expect_exact(set, {Affine("x"), Affine("x") - Affine("y"), Affine("x") + Affine("z"),
                       Affine("z") - Affine("x")});
  }
}

TEST(ConstraintSet, KnowsStridesFromCongruences) {
  ConstraintSet set;  // 0 <= x < 10, x = 1 mod 3, y = x / 3 rounded down
  set.add_nonnegative(Affine("x"));
  set.add_nonnegative(Affine(9) - Affine("x"));
  set.add(Congruence{Affine("x") - 1, 3});
  set.add_nonnegative(Affine("x") - Affine("y", 3));
  set.add_nonnegative(Affine("y", 3) + 2 - Affine("x"));
  EXPECT_EQ(set.minimum(Affine("y")), 0);
  EXPECT_EQ(set.maximum(Affine("y")), 2);  // x = 7
  set.add_zero(Affine("x") - 5);
  EXPECT_TRUE(set.is_empty());
}

// ---- edges -----------------------------------------------------------------------------------

TEST(ConstraintSet, KnowsNoBoundWhereThereIsNone) {
  ConstraintSet set;
  set.add_nonnegative(Affine("x") - Affine("n"));
  EXPECT_EQ(set.minimum(Affine("x")), std::nullopt);
  EXPECT_EQ(set.minimum(Affine("x") - Affine("n")), 0);
  EXPECT_EQ(set.maximum(Affine("x") - Affine("n")), std::nullopt);
  EXPECT_EQ(set.minimum(Affine("q")), std::nullopt);
  EXPECT_EQ(set.minimum(7), 7);
}

TEST(ConstraintSet, ImpliesEverythingWhereNothingHolds) {
  ConstraintSet set;
  set.add_nonnegative(Affine("x") - 3);
  set.add_nonnegative(Affine(2) - Affine("x"));
  EXPECT_TRUE(set.is_empty());
  EXPECT_TRUE(set.implies_nonnegative(-1));
  EXPECT_TRUE(set.implies_nonnegative(Affine("x") - 100));
  EXPECT_TRUE(set.project_out({"x"}).is_empty());
}

TEST(ConstraintSet, KeepsTheSharperOfTwoBounds) {
  ConstraintSet set;
  set.add_nonnegative(Affine("x", 2) - 3);  // 2 x >= 3, so x >= 2
  set.add_nonnegative(Affine("x") - 1);
  EXPECT_EQ(to_string(set), "x >= 2");
  set.add_nonnegative(Affine("x") - 5);
  EXPECT_EQ(to_string(set), "x >= 5");
  set.add_nonnegative(3);
  EXPECT_EQ(set.constraints().size(), 1U);
}

TEST(ConstraintSet, IsCarefulBeyondSixtyFourBits) {
  constexpr std::int64_t huge = INT64_MAX / 3;
  ConstraintSet set;
  set.add_nonnegative(Affine("x", huge) - Affine("y", huge - 1) + 5);
  set.add_nonnegative(Affine("y", huge - 2) - Affine("x", huge - 4) + 7);
  set.add_nonnegative(Affine("z", huge - 1) - Affine("x", 5));
  set.add_zero(Affine("x", huge) + Affine("z", huge - 7) + 1);
  EXPECT_FALSE(set.is_empty());
  EXPECT_FALSE(set.implies_nonnegative(Affine("z", huge - 11)));
  EXPECT_EQ(set.minimum(Affine("z")), std::nullopt);
  EXPECT_ERROR("loopy.affine.overflow", set.substitute("x", Affine("y", 4)));
}

TEST(Elimination, GivesUpRatherThanGrow) {
  SetGenerator random(13);
  ConstraintSet set;  // forty half spaces in ten dimensions; the origin is in all
  for (int k = 0; k < 40; ++k) {
    Affine expr(random.number(0, 9));
    for (int name = 0; name < 10; ++name) {
      expr = expr + Affine(fmt::format("x{}", name), random.number(-9, 9));
    }
    set.add_nonnegative(expr);
  }
  Elimination elimination(set);
  elimination.eliminate_all_but({});
  EXPECT_TRUE(elimination.has_given_up());
  EXPECT_FALSE(elimination.is_contradictory());
  EXPECT_FALSE(set.is_empty());
  EXPECT_FALSE(set.implies_nonnegative(Affine("x0") - 1));
}

TEST(ConstraintSet, StaysRightWithHugeCoefficients) {
  SetGenerator random(12);
  int refused = 0;
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    ConstraintSet set;  // the origin is within
    const std::int64_t largest = std::int64_t{1} << random.number(20, 61);
    for (int k = 0; k < 5; ++k) {
      const Affine rest = random.affine(largest);
      set.add(Constraint{rest - rest.constant() + random.number(0, 9) * (k > 0), k == 0});
    }
    SCOPED_TRACE(to_string(set));
    EXPECT_FALSE(set.is_empty());
    try {
      const Affine expr = random.affine(largest);
      EXPECT_FALSE(set.implies_nonnegative(expr - expr.constant() - 1));
      EXPECT_LE(set.minimum(Affine("y")).value_or(0), 0);
      EXPECT_GE(set.maximum(Affine("z")).value_or(0), 0);
      EXPECT_TRUE(contains(set.project_out({"x"}), Point{0, 0, 0}));
    } catch (const Unsupported& error) {
      EXPECT_EQ(error.code(), "loopy.affine.overflow");
      ++refused;
    }
  }
  EXPECT_LT(refused, set_count / 2);
}

TEST(ConstraintSet, IsWrittenAsComparisons) {
  EXPECT_EQ(to_string(Constraint{Affine("n") - Affine("i") - 1}), "i < n");
  EXPECT_EQ(to_string(Constraint{Affine("n") - Affine("i")}), "i <= n");
  EXPECT_EQ(to_string(Constraint{Affine("i")}), "i >= 0");
  EXPECT_EQ(to_string(Constraint{Affine("i") - Affine("j") - 5, true}), "j == i - 5");
  ConstraintSet set;
  set.add_nonnegative(Affine("i"));
  set.add(Congruence{Affine("i"), 4});
  EXPECT_EQ(to_string(set), "i >= 0 and i % 4 == 0");
}

}  // namespace
}  // namespace rtcg::loopy
