// By isl, for all values of the parameters: a transformed statement writes the elements that it was
// described to write, and no others.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "tests/loopy/oracle/isl_set.h"
#include "tests/loopy/support/random_kernels.h"

namespace rtcg::loopy {
namespace {

/// The elements that a statement's target takes, with what `assumptions` says of the parameters;
/// nothing where an index or a predicate is not affine.
std::optional<IslSet> written_elements(const Kernel& kernel, const Instruction& instruction,
                                       const ConstraintSet& assumptions) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  const Access* target =
      assignment == nullptr ? nullptr : get_if<Access>(assignment->targets.front());
  if (target == nullptr) {
    return std::nullopt;
  }
  ConstraintSet set = constraints_of(kernel, instruction.within_inames);
  set.add(assumptions);
  for (const Expr& predicate : instruction.predicates) {
    if (!is<Comparison>(predicate)) {
      return std::nullopt;
    }
    set.add(context_of(predicate));
  }
  std::vector<std::string> elements = {"n"};
  for (std::size_t axis = 0; axis < target->indices.size(); ++axis) {
    const std::vector<IndexCase> cases = index_cases(target->indices[axis]);
    if (cases.size() != 1) {
      return std::nullopt;
    }
    elements.push_back(fmt::format("element {}", axis));
    set.add_zero(cases.front().value - Affine(elements.back()));
    set.add(cases.front().context);
  }
  std::vector<std::string> names = set.names();
  for (const std::string& each : elements) {
    if (std::find(names.begin(), names.end(), each) == names.end()) {
      names.push_back(each);
    }
  }
  // the same dimensions in the same order, whatever the inames are
  std::vector<std::string> others;
  std::copy_if(names.begin(), names.end(), std::back_inserter(others), [&](const auto& name) {
    return std::find(elements.begin(), elements.end(), name) == elements.end();
  });
  std::vector<std::string> ordered = elements;
  ordered.insert(ordered.end(), others.begin(), others.end());
  return IslSet(set, ordered).without(others);
}

TEST(TransformedDomainsByIsl, WriteWhatWasDescribed) {
  std::map<std::string, int> refusals;
  int compared = 0;
  int passed_over = 0;
  for (std::uint64_t seed = 1; seed <= 600 && !HasFailure(); ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    ConstraintSet assumptions = each.transformed.assumptions;
    if (each.recipe.find("fix_parameters") != std::string::npos) {
      assumptions.add_zero(Affine("n") - 7);
    }
    for (const Instruction& described : each.described.instructions) {
      const Instruction* transformed = find_instruction(each.transformed, described.id);
      if (transformed == nullptr || !is<Assignment>(described)) {
        continue;  // it has become a rule, or is a barrier
      }
      const auto expected = written_elements(each.described, described, assumptions);
      const auto found = written_elements(each.transformed, *transformed, assumptions);
      if (!expected || !found) {
        passed_over += is<Access>(get_if<Assignment>(described)->targets.front()) ? 1 : 0;
        continue;
      }
      EXPECT_TRUE(found->is_equal_to(*expected))
          << described.id << " writes " << found->text() << "\nnot " << expected->text();
      ++compared;
    }
  }
  std::printf("%d statements compared, %d passed over\n", compared, passed_over);
  EXPECT_GT(compared, 900);
  EXPECT_LT(passed_over, compared / 20);
}

}  // namespace
}  // namespace rtcg::loopy
