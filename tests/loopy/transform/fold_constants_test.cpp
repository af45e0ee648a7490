#include "rtcg/loopy/transform/fold_constants.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"

namespace rtcg::loopy {
namespace {

Kernel folding_kernel(std::string_view statements) {
  return make_kernel("{[i, k]: 0 <= i, k < 4}", statements, {.default_type = cgen::f32});
}
/// The value of `b[i] = value` when it is folded.
std::string folded(const std::string& value) {
  const Kernel kernel = fold_constants(folding_kernel("b[i] = " + value));
  return to_string(get_if<Assignment>(kernel.instructions.front())->value);
}

TEST(FoldConstants, ShortensWhatIsKnown) {
  const Kernel kernel = folding_kernel(
      "f(x) := x + 2*4\nb[2*3 + i - 1] = (a[i + 0] if 2 < 3 else 0.0) + f(1 + 1) {if=i > 7 - 5}");
  const Kernel changed = fold_constants(kernel);
  EXPECT_EQ(statements_of(changed), "b[i + 5] = a[i] + f(2)\n");
  EXPECT_EQ(to_string(changed.rules.front().body), "x + 8");
  EXPECT_EQ(to_string(changed.instructions.front().predicates.front()), "i > 2");
  expect_recipe(kernel, changed, "fold_constants()\n");
  expect_same_results(kernel, changed, {});
}

TEST(FoldConstants, ComputesWithIntegers) {
  EXPECT_EQ(folded("a[i]*(2 + 3*4)"), "a[i]*14");
  EXPECT_EQ(folded("a[i] + (-7) // 2"), "a[i] - 4");
  EXPECT_EQ(folded("a[i] + (-7) % 3"), "a[i] + 2");
  EXPECT_EQ(folded("(a[i] if 1 > 2 or 3 == 4 else a[k])"), "a[k]");
  EXPECT_EQ(folded("sum(k, 1 + 2)"), "sum(k, 3)");
}

TEST(FoldConstants, LeavesWhatWouldChangeTheResult) {
  // in another order reals round differently, quotients and casts are not integers, and sums
  // beyond 64 bits have no value
  for (const std::string value : {"a[i] + 1.0 + 2.0", "a[i]*0", "7 / 2", "cast(i8, 300)", "sqrt(4)",
                                  "if(i < 2, a[i], a[k])", "9223372036854775807 + 1"}) {
    EXPECT_EQ(folded(value), value);
  }
}

}  // namespace
}  // namespace rtcg::loopy
