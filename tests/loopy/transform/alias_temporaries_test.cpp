#include "rtcg/loopy/transform/alias_temporaries.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/temporaries.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel two_steps(const char* more = "") {
  return make_kernel("{[i, j, k, l, m, o]: 0 <= i, j < 8 and 0 <= k, m < 4 and 0 <= l, o < 2}",
                     std::string("<f32> s[8]\n<f32> t[4, 2]\n"
                                 "s[i] = a[i]\nb[j] = s[7 - j]\n"
                                 "t[k, l] = 2*a[2*k + l]\nc[m, o] = t[3 - m, o]\n") +
                         more,
                     {.arguments = "a, b: f32[8]", .default_type = cgen::f32});
}

TEST(AliasTemporaries, SharesStorage) {
  const Kernel shared = alias_temporaries(two_steps(), {"s", "t"});
  EXPECT_EQ(statements_of(shared), R"(s[i] = a[i]
b[j] = s[-j + 7]
s[2*k + l] = 2*a[2*k + l]
c[m, o] = s[o - 2*m + 6]
)");
  ASSERT_EQ(shared.temporaries.size(), 1U);
  expect_same_results(two_steps(), shared, {});
  expect_recipe(two_steps(), shared, "alias_temporaries([s, t])\n");
}

TEST(AliasTemporaries, KeepsTheShapeThatAllHave) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", R"(
      <f32> s = a[i]
      b[i] = s*s
      <f32> t = b[i] + 1
      c[i] = t*t
  )",
                                    {.default_type = cgen::f32});
  const Kernel shared = alias_temporaries(kernel, {"t", "s"});
  EXPECT_EQ(statements_of(shared), R"(t = a[i]
b[i] = t*t
t = b[i] + 1
c[i] = t*t
)");
  expect_same_results(kernel, shared, {{"n", 4}});
}

TEST(AliasTemporaries, RefusesTemporariesNeededTogether) {
  EXPECT_EQ(why_not([&] {
              return alias_temporaries(two_steps("c[m, 0] = s[m]"), {"s", "t"});
            }),
            "'s' is in use between statements 'set_s' and 'set_c_1', and so is 't'");
  EXPECT_ERROR("loopy.alias_temporaries.needed_together",
               alias_temporaries(two_steps("c[m, 0] = s[m]"), {"s", "t"}));
  EXPECT_EQ(why_not([&] { return alias_temporaries(two_steps(), {"s", "t"}); }), std::nullopt);
}

TEST(AliasTemporaries, RefusesValuesThatOutliveAnIteration) {
  const auto in_loop = [](const char* statements) {
    return make_kernel("{[p, i]: 0 <= p < n and 0 <= i < 4}", statements,
                       {.arguments = "a, b, c: f32[n]", .default_type = cgen::f32});
  };
  // t is written before the loop in which s is
  EXPECT_ERROR("loopy.alias_temporaries.needed_together",
               alias_temporaries(in_loop("<f32> t = 1 {inames=}\n"
                                         "for p\nb[p] = t\n<f32> s = a[p]\nc[p] = s\nend"),
                                 {"s", "t"}));
  // t comes from the iteration before
  EXPECT_ERROR("loopy.alias_temporaries.needed_together",
               alias_temporaries(in_loop("for p\n<f32> t = a[p] {if=p < 1}\nb[p] = t\n"
                                         "<f32> s = a[p]\nc[p] = s\nend"),
                                 {"s", "t"}));
  EXPECT_ERROR("loopy.alias_temporaries.needed_together",
               alias_temporaries(in_loop("<f32> t[4]\n<f32> s[4]\nfor p, i\nt[i] = a[i]\n"
                                         "b[p] = t[i]\ns[i] = a[p]\nc[p] = s[i]\nend"),
                                 {"s", "t"}));
}

TEST(AliasTemporaries, RefusesDifferentKinds) {
  EXPECT_ERROR("loopy.alias_temporaries.unknown_temporary", alias_temporaries(two_steps(), {"s"}));
  EXPECT_ERROR("loopy.alias_temporaries.unknown_temporary",
               alias_temporaries(two_steps(), {"s", "q"}));
  EXPECT_ERROR(
      "loopy.alias_temporaries.different_kinds",
      alias_temporaries(set_temporary_address_space(two_steps(), {"s"}, "local"), {"s", "t"}));
  const Kernel symbolic =
      make_kernel("{[i]: 0 <= i < n}", "<f32> s[n]\n<f32> t[n]\ns[i] = a[i]\nt[i] = a[i]",
                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.alias_temporaries.not_constant", alias_temporaries(symbolic, {"s", "t"}));
}

}  // namespace
}  // namespace rtcg::loopy
