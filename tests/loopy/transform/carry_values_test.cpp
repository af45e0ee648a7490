#include "rtcg/loopy/transform/carry_values.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel rows(const std::string& statements, const std::string& begin = "1",
            const std::string& more = "") {
  return make_kernel(
      "{[i, j]: 0 <= i < n and " + begin + " <= j < m}", statements,
      {.arguments = "u: f32[n, m]; a: f32[n, m]" + more, .sequential_dependencies = true});
}

TEST(CarryValues, KeepsTheLastOne) {
  const Kernel kernel = rows("u[i, j] = 0.5f*u[i, j - 1] + a[i, j]");
  const Kernel carried = carry_values(kernel, "u", "j");
  EXPECT_EQ(statements_of(carried), R"(u_last = u[i, 0]
u_last = 0.5f*u_last + a[i, j]
u[i, j] = u_last
)");
  expect_same_results(kernel, carried, {{"n", 3}, {"m", 6}});
  expect_recipe(kernel, carried, "carry_values(u, j)\n");
}

TEST(CarryValues, KeepsThoseOfSomeIterationsAgo) {
  const Kernel kernel =
      rows("u[i, j - 1] = u[i, j - 2] - 0.5f*u[i, j - 4] + a[i, j]*u[i, j - 2]", "4");
  const Kernel carried = carry_values(kernel, "u", "j");
  EXPECT_EQ(statements_of(carried), R"(u_last3 = u[i, 0]
u_last2 = u[i, 1]
u_last = u[i, 2]
u_now = u_last - 0.5f*u_last3 + a[i, j]*u_last
u[i, j - 1] = u_now
u_last3 = u_last2
u_last2 = u_last
u_last = u_now
)");
  for (const std::int64_t m : {5, 6, 11}) {
    expect_same_results(kernel, carried, {{"n", 3}, {"m", m}});
  }
}

// What begins the rows comes before, what reads them after.
TEST(CarryValues, LeavesWhatIsOutsideOfTheLoop) {
  const Kernel kernel = rows(
      "for i\nu[i, 0] = 2*a[i, 0]\nfor j\nu[i, j] = u[i, j - 1]*a[i, j]\nb[i, j] = u[i, j]\nend\n"
      "c[i] = u[i, 1]\nend",
      "1", "; b: f32[n, m]; c: f32[n]");
  const Kernel carried = carry_values(kernel, "u", "j");
  expect_same_results(kernel, carried, {{"n", 3}, {"m", 6}});
  EXPECT_EQ(detail::find_carried_values(kernel).size(), 1U);
}

TEST(CarryValues, KeepsWhatGoesDownwards) {
  const Kernel kernel = rows("u[i, m - j] = u[i, m - j + 1]*a[i, j] + 0.5f*u[i, m - j + 2]", "3");
  const Kernel carried = carry_values(kernel, "u", "j");
  EXPECT_EQ(carried.temporaries.size(), 3U);
  for (const std::int64_t m : {4, 5, 12}) {
    expect_same_results(kernel, carried, {{"n", 3}, {"m", m}});
  }
}

// With domains of their own a loop may have no iteration: nothing is read then.
TEST(CarryValues, ReadsNothingAheadOfNoIteration) {
  const Kernel kernel = make_kernel("{[i]: 1 <= i < n} {[j]: 0 <= j < m}",
                                    "u[i, j] = u[i - 1, j] + a[i, j] {id=step}\nb[j] = 1",
                                    {.arguments = "u, a: f32[n, m]; b: f32[m]"});
  const Kernel carried = carry_values(kernel, "u", "i");
  EXPECT_EQ(carried.instructions[0].predicates.size(), 1U);
  for (const std::int64_t n : {0, 1, 2, 5}) {
    expect_same_results(kernel, carried, {{"n", n}, {"m", 4}});
  }
}

TEST(CarryValues, KeepsRowsThatBeginWhereTheirNumberSays) {
  const Kernel kernel = rows("u[i, j] = u[i, j - 1] + a[i, j]", "i + 1");
  expect_same_results(kernel, carry_values(kernel, "u", "j"), {{"n", 5}, {"m", 7}});
  expect_same_results(kernel, carry_values(kernel, "u", "j"), {{"n", 7}, {"m", 5}});
}

TEST(CarryValues, KeepsSumsThatReadWhatAnotherStepWrote) {
  // the steps of t read all that the one before wrote, and j carries on within one
  const Kernel kernel = make_kernel(
      "{[t, j]: 0 <= t < 3 and 1 <= j < m}", "for t, j\nu[j] = 0.5f*u[j - 1] + a[t, j]\nend",
      {.arguments = "u: f32[m]; a: f32[3, m]", .sequential_dependencies = true});
  expect_same_results(kernel, carry_values(kernel, "u", "j"), {{"m", 6}});
}

TEST(CarryValues, RefusesWhatItCannotKeep) {
  const auto refused = [](const Kernel& kernel, const std::string& array = "u",
                          const std::string& iname = "j") {
    EXPECT_ERROR("loopy.carry_values.not_possible", carry_values(kernel, array, iname));
    EXPECT_TRUE(detail::find_carried_values(kernel).empty());
  };
  refused(rows("u[i, j] = a[i, j]"));
  refused(rows("u[i, j] = a[i, j - 1]"), "a");
  refused(rows("u[i, j] = a[i, j]"), "q");
  refused(rows("u[i, j] = u[i, j] + a[i, j]"));                                // this one
  refused(rows("u[i, j - 1] = u[i, j] + a[i, j]"));                            // the next one
  refused(rows("u[i, j] = u[i, j - 5] + a[i, j]", "5"));                       // too long ago
  refused(rows("u[i, j] = (u[i, j - 1] if j > 1 else 0) + a[i, j]"));          // a condition
  refused(rows("u[i, j] = u[i, j - 1] + a[i, j] {if=a[i, j] > 0}"));           // some only
  refused(rows("for i, j\nu[i, j] = u[i, j - 1] + 1\nu[i, j - 1] = 0\nend"));  // two write
  refused(rows("u[i, 2*j] = u[i, 2*j - 2] + a[i, j]"));                        // every other one
  const Kernel split = split_iname(rows("u[i, j] = u[i, j - 1] + a[i, j]"), "j", 4);
  EXPECT_ERROR("loopy.carry_values.not_possible", carry_values(split, "u", "j_inner"));
}

TEST(CarryValues, RefusesArraysThatMayBeTheSameMemory) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 1 <= j < m}",
                  "for i, j\nu[i, j] = u[i, j - 1] + a[i, j]\nv[i, j] = 2*a[i, j]\nend",
                  {.arguments = "u: f32[n, m]; a: f32[n, m]; v: f32[n, m] {may_be=u}",
                   .sequential_dependencies = true});
  EXPECT_ERROR("loopy.carry_values.not_possible", carry_values(kernel, "u", "j"));
}

TEST(CarryValues, RefusesToTurnTheOtherLoops) {
  // columns follow from each other, and so do the rows within one
  const Kernel kernel =
      make_kernel("{[j, i]: 1 <= j < 9 and 1 <= i < 8}",
                  "for j, i\nu[i, j] = 0.5f*u[i, j - 1] + v[i - 1, j]\nv[i, j] = u[i, j] + v[i + "
                  "1, j - 1]\nend",
                  {.arguments = "u: f32[9, 9]; v: f32[9, 9]", .sequential_dependencies = true});
  EXPECT_ERROR("loopy.carry_values.reorders_loops", carry_values(kernel, "u", "j"));
  EXPECT_TRUE(detail::find_carried_values(kernel).empty());
}

}  // namespace
}  // namespace rtcg::loopy
