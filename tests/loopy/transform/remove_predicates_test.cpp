#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/edit_instructions.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(RemovePredicates, TakesAwayWhatHoldsAnyway) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}",
                                    "b[i] = a[i] {id=set, if=i >= 0 and i <= n - 1}\nc[i] = a[i]",
                                    {.default_type = cgen::f32, .assumptions = "n >= 1"});
  const Kernel plain = remove_predicates(kernel, "id:set");
  EXPECT_TRUE(plain.instructions[0].predicates.empty());
  expect_same_results(kernel, plain, {{"n", 3}});
  expect_recipe(kernel, plain, "remove_predicates(id:set)\n");
  expect_recipe(kernel, remove_predicates(kernel), "remove_predicates()\n");
}

TEST(RemovePredicates, RefusesWhatDoesNotHold) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i] {id=set, if=i > 0}\nc[i] = a[i] {id=other}",
                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.remove_predicates.not_implied", remove_predicates(kernel));
  EXPECT_EQ(why_not([&] { return remove_predicates(kernel); }),
            "'i > 0' of statement 'set' does not follow from the bounds and assumptions: without "
            "it, it would run more often");
  EXPECT_ERROR("loopy.remove_predicates.nothing_fits", remove_predicates(kernel, "id:other"));
  EXPECT_ERROR("loopy.match_instructions.syntax", remove_predicates(kernel, "id:"));
  // what is read cannot be known
  const Kernel read =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i] {if=a[i] > 0}", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.remove_predicates.not_implied", remove_predicates(read));
}

}  // namespace
}  // namespace rtcg::loopy
