// Our constraint sets against isl, which answers every question exactly: what we say is right, and
// how often we say nothing is counted and printed.
#include "rtcg/loopy/polyhedral/constraint_set.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/loopy/oracle/isl_set.h"
#include "tests/loopy/polyhedral/random_set.h"

namespace rtcg::loopy {
namespace {

constexpr int set_count = 2000;

/// How often the careful answer is the exact one.
struct Share {
  const char* question;
  int sharp = 0;
  int all = 0;

  void count(bool is_sharp) {
    sharp += is_sharp ? 1 : 0;
    ++all;
  }
  void expect_at_least(double percent) const {
    const double share = all == 0 ? 0 : 100.0 * sharp / all;
    std::printf("%-12s given up on in %d of %d cases (%.2f %%)\n", question, all - sharp, all,
                100 - share);
    ::testing::Test::RecordProperty(question, fmt::format("{:.2f} % sharp", share));
    EXPECT_GE(share, percent) << question;
  }
};

struct Shares {
  Share emptiness{"emptiness"};
  Share implication{"implication"};
  Share bound{"bounds"};
  Share projection{"projections"};
};

void compare_answers(const ConstraintSet& set, const std::vector<std::string>& names,
                     const std::vector<Affine>& exprs, Shares& shares) {
  const IslSet exact(set, names);
  const bool is_empty = exact.is_empty();
  EXPECT_LE(set.is_empty(), is_empty);
  if (is_empty) {
    shares.emptiness.count(set.is_empty());
    return;
  }
  for (const Affine& expr : exprs) {
    SCOPED_TRACE(to_string(expr));
    const auto smallest = exact.minimum(expr);
    const auto largest = exact.maximum(expr);
    const auto low = set.minimum(expr);
    const auto high = set.maximum(expr);
    // a bound that we have is one, and not sharper than the exact one
    EXPECT_TRUE(!low || (smallest && *low <= *smallest));
    EXPECT_TRUE(!high || (largest && *high >= *largest));
    EXPECT_LE(set.implies_nonnegative(expr), smallest && *smallest >= 0);
    if (smallest) {
      shares.bound.count(low == smallest);
      const Affine holds = expr - *smallest;
      shares.implication.count(set.implies_nonnegative(holds));
      EXPECT_FALSE(set.implies_nonnegative(holds - 1));
    }
    if (largest) {
      shares.bound.count(high == largest);
    }
  }
}

void compare_projection(const ConstraintSet& set, const std::vector<std::string>& names,
                        const std::vector<std::string>& dropped, Shares& shares) {
  const ConstraintSet projection = set.project_out(dropped);
  std::vector<std::string> left;
  for (const std::string& name : names) {
    if (std::find(dropped.begin(), dropped.end(), name) == dropped.end()) {
      left.push_back(name);
    }
  }
  const IslSet ours(projection, left);
  const IslSet exact = IslSet(set, names).without(dropped);
  EXPECT_TRUE(exact.is_subset_of(ours)) << to_string(projection) << " for " << exact.text();
  shares.projection.count(ours.is_equal_to(exact));
}

TEST(ConstraintSetByIsl, RandomSets) {
  SetGenerator random(20261121);
  Shares shares;
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    const ConstraintSet set = random.set(-9, 9, random.number(1, 5));
    SCOPED_TRACE(fmt::format("set {}: {}", i, to_string(set)));
    compare_answers(set, set_names, {random.affine(3), Affine("x")}, shares);
    compare_projection(set, set_names, {set_names[static_cast<std::size_t>(random.number(0, 2))]},
                       shares);
    EXPECT_TRUE(IslSet(set.without_redundancies(), set_names).is_equal_to({set, set_names}));
  }
  shares.emptiness.expect_at_least(90);
  shares.implication.expect_at_least(80);
  shares.bound.expect_at_least(80);
  shares.projection.expect_at_least(60);
}

TEST(ConstraintSetByIsl, RandomSetsWithoutABox) {
  SetGenerator random(20261122);
  Shares shares;
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    ConstraintSet set;
    for (std::int64_t count = random.number(1, 7); count > 0; --count) {
      if (random.chance(10)) {
        set.add_zero(random.affine(3));
      } else if (random.chance(15)) {
        set.add(Congruence{random.affine(3), random.number(2, 9)});
      } else {
        set.add_nonnegative(random.affine(3));
      }
    }
    SCOPED_TRACE(fmt::format("set {}: {}", i, to_string(set)));
    compare_answers(set, set_names, {random.affine(2), Affine("z")}, shares);
    compare_projection(set, set_names, {"y"}, shares);
  }
  shares.emptiness.expect_at_least(75);
  shares.implication.expect_at_least(70);
  shares.bound.expect_at_least(60);
  shares.projection.expect_at_least(50);
}

// ---- sets as kernels have them ---------------------------------------------------------------

/// The domain of a statement: loops with constant, symbolic or triangular bounds, each split up to
/// twice.
struct LoopNest {
  ConstraintSet set{};
  std::vector<std::string> names{};
  std::vector<std::string> loops{};     // outermost first
  std::vector<Affine> places{};         // the loops as they were before splits
  std::vector<Affine> useful_guards{};  // bounds of the loops as they were
};

LoopNest random_nest(SetGenerator& random) {
  LoopNest nest;
  nest.names = {"n"};
  nest.set.add_nonnegative(Affine("n") - random.number(0, 20));
  if (random.chance(30)) {
    nest.set.add(Congruence{Affine("n"), random.chance(50) ? 16 : 8});
  }
  for (std::int64_t i = 0, count = random.number(1, 3); i < count; ++i) {
    const std::string name(1, static_cast<char>('i' + i));
    const bool has_outer = i > 0;
    const Affine low =
        has_outer && random.chance(20) ? nest.places.back() : Affine(random.number(0, 2));
    const Affine end = random.chance(60)                ? Affine("n") - random.number(0, 2)
                       : has_outer && random.chance(40) ? nest.places.back() + 1
                                                        : Affine(random.number(5, 70));
    Affine place(name);
    std::vector<std::string> parts = {name};
    for (std::int64_t splits = random.number(0, 2); splits > 0; --splits) {
      // the last part is split again
      const std::int64_t length = std::int64_t{1} << random.number(1, 4);
      const std::string inner = parts.back() + "_inner";
      const std::string outer = parts.back() + "_outer";
      place = place.substitute(parts.back(), Affine(outer, length) + Affine(inner));
      nest.set = nest.set.substitute(parts.back(), Affine(outer, length) + Affine(inner));
      nest.set.add_nonnegative(Affine(inner));
      nest.set.add_nonnegative(Affine(length - 1) - Affine(inner));
      parts.back() = outer;
      parts.push_back(inner);
    }
    nest.set.add_nonnegative(place - low);
    nest.set.add_nonnegative(end - place - 1);
    nest.places.push_back(place);
    nest.useful_guards.push_back(place - low);
    nest.useful_guards.push_back(end - place - 1);
    for (const std::string& part : parts) {
      nest.names.push_back(part);
      nest.loops.push_back(part);
    }
  }
  return nest;
}

TEST(ConstraintSetByIsl, LoopNestsAfterSplits) {
  SetGenerator random(20261123);
  Shares shares;
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    LoopNest nest = random_nest(random);
    if (random.chance(30)) {
      nest.set.add_zero(Affine("n") - random.number(1, 40));
    }
    SCOPED_TRACE(fmt::format("nest {}: {}", i, to_string(nest.set)));
    std::vector<Affine> exprs = nest.places;
    exprs.emplace_back(nest.loops.back());
    compare_answers(nest.set, nest.names, exprs, shares);
  }
  shares.emptiness.expect_at_least(99);
  shares.implication.expect_at_least(97);
  shares.bound.expect_at_least(97);
}

TEST(LoopBoundsByIsl, EncloseTheDomain) {
  SetGenerator random(20261124);
  Share exact_nests{"loop nests"};
  for (int i = 0; i < set_count && !HasFailure(); ++i) {
    const LoopNest nest = random_nest(random);
    SCOPED_TRACE(fmt::format("nest {}: {}", i, to_string(nest.set)));
    // loop after loop, as they are generated; what is left over becomes a guard
    ConstraintSet implemented;
    implemented.add_nonnegative(Affine("n"));
    std::vector<std::string> inner = nest.loops;
    for (const std::string& loop : nest.loops) {
      inner.erase(inner.begin());
      const LoopBounds bounds = loop_bounds(nest.set, loop, inner, implemented);
      implemented.add(bounds.implemented);
    }
    const IslSet domain(nest.set, nest.names);
    EXPECT_TRUE(domain.is_subset_of({implemented, nest.names})) << to_string(implemented);
    ConstraintSet guarded = implemented;
    bool needs_guard = false;
    for (const Constraint& each : nest.set.constraints()) {
      if (!implemented.implies(each)) {
        // what is about the parameters alone is known outside
        needs_guard =
            needs_guard || each.expr.terms().size() != 1 || each.expr.coefficient("n") == 0;
        guarded.add(each);
      }
    }
    for (const Congruence& each : nest.set.congruences()) {
      guarded.add(each);
    }
    EXPECT_TRUE(domain.is_equal_to({guarded, nest.names})) << to_string(guarded);
    exact_nests.count(!needs_guard);
  }
  exact_nests.expect_at_least(99);
}

}  // namespace
}  // namespace rtcg::loopy
