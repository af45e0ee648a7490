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

Kernel squared_temporary() {
  return make_kernel("{[p, i]: 0 <= p < n and 2 <= i < 10}", "<f32> t = a[p, i]\nb[p, i] = t*t",
                     {.arguments = "a, b: f32[n, 10]", .default_type = cgen::f32});
}

TEST(UnprivatizeTemporaries, TakesAnAxisAway) {
  Kernel with_axis = privatize_temporaries(squared_temporary(), {"i"});
  with_axis.recipe.clear();
  const Kernel back = unprivatize_temporaries(with_axis, "i", {"t"});
  EXPECT_EQ(statements_of(back), statements_of(squared_temporary()));
  EXPECT_TRUE(back.temporaries.front().shape.empty());
  expect_recipe(with_axis, back, "unprivatize_temporaries(i, [t])\n");
  expect_same_results(squared_temporary(), back, {{"n", 3}});
}

TEST(UnprivatizeTemporaries, RefusesWhatItDoesNotKnow) {
  const Kernel with_axis = privatize_temporaries(squared_temporary(), {"i"});
  EXPECT_TRUE(why_not([&] { return unprivatize_temporaries(with_axis, "q", {"t"}); }).has_value());
  EXPECT_EQ(why_not([&] { return unprivatize_temporaries(with_axis, "i", {"t"}); }), std::nullopt);
  EXPECT_ERROR("loopy.unprivatize_temporaries.unknown_iname",
               unprivatize_temporaries(with_axis, "q", {"t"}));
  EXPECT_ERROR("loopy.unprivatize_temporaries.unknown_temporary",
               unprivatize_temporaries(with_axis, "i", {"q"}));
  EXPECT_ERROR("loopy.unprivatize_temporaries.unknown_temporary",
               unprivatize_temporaries(squared_temporary(), "i", {"t"}));
  EXPECT_ERROR("loopy.unprivatize_temporaries.no_such_axis",
               unprivatize_temporaries(with_axis, "p", {"t"}));
}

TEST(UnprivatizeTemporaries, RefusesElementsThatAreNeededLater) {
  const auto kernel = [](const char* statements) {
    return make_kernel("{[p, i]: 0 <= p < n and 0 <= i < 8}", statements,
                       {.arguments = "a, b: f32[n, 8]", .default_type = cgen::f32});
  };
  // from an earlier p
  EXPECT_ERROR(
      "loopy.unprivatize_temporaries.needed_later",
      unprivatize_temporaries(
          kernel("<f32> t[8]\nfor p\nt[i] = a[p, i] {if=p < 1}\nb[p, i] = t[i]\nend"), "i", {"t"}));
  EXPECT_ERROR("loopy.unprivatize_temporaries.no_such_axis",
               unprivatize_temporaries(kernel("<f32> t[8]\nt[i] = a[0, i]\nb[p, i] = t[7 - i]"),
                                       "i", {"t"}));
}

TEST(UnprivatizeTemporaries, TakesANameThatIsGivenTwiceOnce) {
  const Kernel private_t = make_kernel("{[i]: 0 <= i < 8}", "<f32> t[8]\nt[i] = a[i]\nb[i] = t[i]",
                                       {.default_type = cgen::f32});
  EXPECT_EQ(statements_of(unprivatize_temporaries(private_t, "i", {"t", "t"})),
            statements_of(unprivatize_temporaries(private_t, "i", {"t"})));
}

}  // namespace
}  // namespace rtcg::loopy
