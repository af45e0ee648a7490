#include "rtcg/loopy/transform/join_domains.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

std::string reason(const Kernel& kernel, const char* iname) {
  return why_not([&] { return join_domains(kernel, iname); }).value_or("(possible)");
}

Kernel kernel_of(const char* domains, const char* statements) {
  return make_kernel(domains, statements, {.default_type = cgen::f64, .assumptions = "n >= 1"});
}

TEST(JoinDomains, KeepsThePoints) {
  const Kernel apart = kernel_of("{[i]: 0 <= i < 7} {[l, j]: 0 <= j <= l and l <= i}",
                                 "c[i, j, l] = a[i]*b[j]\nd[i] = a[i] + 1\ne[i] = c[i, 0, 0]*d[i]");
  const Kernel joined = join_domains(apart, "l");
  EXPECT_EQ(joined.domains.size(), 1U);
  EXPECT_EQ(joined.domains.front().inames, (std::vector<std::string>{"i", "l", "j"}));
  expect_equal(results_of(joined, {}), results_of(apart, {}), apart);
  expect_recipe(apart, joined, "join_domains(l)\n");
}

// 'd' has a row 0, in which 'j' has no iteration
TEST(JoinDomains, RefusesWhatTakesIterationsFromOthers) {
  const char* domains = "{[i]: 0 <= i < 7} {[j]: 0 <= j < i}";
  const Kernel both = kernel_of(domains, "c[i, j] = a[i]*b[j]\nd[i] = a[i] + 1");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(both, "j"));
  EXPECT_NE(reason(both, "j").find(
                "the domain of 'j' may have no point for some of i: statements without 'j' "
                "would not run for these"),
            std::string::npos)
      << reason(both, "j");
  EXPECT_TRUE(detail::joinable_inames(both).empty());
  const Kernel alone = kernel_of(domains, "c[i, j] = a[i]*b[j]");
  expect_equal(results_of(join_domains(alone, "j"), {}), results_of(alone, {}), alone);
  // the rows of a sum without terms are 0
  const Kernel sums = kernel_of(domains, "s[i] = sum(j, b[j])");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(sums, "j"));
  EXPECT_NE(reason(sums, "j").find("may have no point"), std::string::npos) << reason(sums, "j");
}

TEST(JoinDomains, RefusesGapsThatProjectionsDoNotSee) {
  const Kernel halves =
      kernel_of("{[i]: 0 <= i < 7} {[j]: i <= 2*j <= i}", "c[i, j] = a[i]\nd[i] = a[i] + 1");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(halves, "j"));
  EXPECT_NE(reason(halves, "j").find("may have no point"), std::string::npos)
      << reason(halves, "j");
}

TEST(JoinDomains, RefusesBoundsThatAreAssignedAndInamesWithoutAny) {
  const Kernel ragged =
      kernel_of("{[i]: 0 <= i < 7} {[j]: 0 <= j <= stop}", "<i32> stop = i\nc[i] = sum(j, 1.0*j)");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(ragged, "j"));
  EXPECT_NE(reason(ragged, "j").find("statements assign 'stop', which bounds 'j'"),
            std::string::npos)
      << reason(ragged, "j");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(ragged, "i"));
  EXPECT_NE(reason(ragged, "i").find("no iname of another domain bounds 'i'"), std::string::npos)
      << reason(ragged, "i");
  EXPECT_ERROR("loopy.join_domains.unknown_iname", join_domains(ragged, "q"));
  EXPECT_NE(reason(ragged, "q").find("has no iname 'q'"), std::string::npos) << reason(ragged, "q");
  const Kernel two =
      kernel_of("{[i]: 0 <= i < 7} {[k]: 0 <= k < 5} {[j]: 0 <= j <= i + k}", "c[i, k, j] = a[i]");
  EXPECT_ERROR("loopy.join_domains.not_possible", join_domains(two, "j"));
  EXPECT_NE(reason(two, "j").find("inames of 2 domains bound 'j'"), std::string::npos)
      << reason(two, "j");
}

TEST(JoinDomains, NamesWhatSlicingsJoin) {
  const Kernel chain =
      kernel_of("{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[l]: j <= l <= i} {[k]: 0 <= k <= i}",
                "c[i, j, l] = sum(k, a[i, k]*b[k, j])*d[l]");
  EXPECT_EQ(detail::joinable_inames(chain), (std::vector<std::string>{"j", "l"}));
}

// Without the diagonal, which keeps its loop, the triangle can be joined.
TEST(JoinDomains, JoinsWhatIsApart) {
  const Kernel kernel = kernel_of("{[i]: 0 <= i < n} {[j]: 0 <= j < i}",
                                  "l[i, j] = a[i, j] - a[j, i]\nd[i] = a[i, i]");
  SlicingStream stream(kernel, {.parameters = {{"n", 512}}});
  const std::string first = to_string(stream.at(0).slicing);
  EXPECT_TRUE(first.starts_with("apart; ")) << first;
  EXPECT_NE(first.find("j: g."), std::string::npos) << first;
  const Kernel sliced =
      apply(kernel, parse_slicing("apart; j: g.0 l.0*4; i: g.1 l.1*4; i_d: g.0 l.0*4"));
  expect_equal(results_of(sliced, {{"n", 13}}), results_of(kernel, {{"n", 13}}), kernel);
}

// Loops with domains of their own are on the grid, as those of one domain.
TEST(JoinDomains, PutsTrianglesOnTheGrid) {
  for (const char* domains : {"{[i]: 0 <= i < n} {[j]: 0 <= j <= i} {[k]: 0 <= k < n}",
                              "{[i]: 0 <= i < n} {[j]: 0 <= j < i} {[k]: 0 <= k < n}",
                              "{[i, j]: 0 <= i < n and 0 <= j <= i} {[k]: 0 <= k < n}"}) {
    const Kernel kernel = kernel_of(domains, "c[i, j] = sum(k, a[i, k]*b[j, k])");
    SlicingStream stream(kernel, {.parameters = {{"n", 512}}});
    const std::string first = to_string(stream.at(0).slicing);
    EXPECT_NE(first.find("j: g."), std::string::npos) << first;
    EXPECT_NE(first.find("i: g."), std::string::npos) << first;
  }
}

}  // namespace
}  // namespace rtcg::loopy
