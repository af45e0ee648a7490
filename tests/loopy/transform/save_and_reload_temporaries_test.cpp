#include "rtcg/loopy/transform/save_and_reload_temporaries.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// Each element goes one place on, the last one to the front.
Kernel plain_rotation() {
  return make_kernel(
      "{[i]: 0 <= i < n}",
      "<> tmp = a[i] {id=take, inames=i}\n... gbarrier\na[(i + 1) % n] = tmp {inames=i}",
      {.default_type = cgen::f32, .assumptions = "n >= 1 and n mod 16 = 0"});
}
Kernel rotation() {
  return apply_recipe(plain_rotation(), "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)");
}

TEST(SaveAndReloadTemporaries, KeepsValuesForTheNextLaunch) {
  EXPECT_ERROR("loopy.generate.temporary_across_launches", generate_text(rotation(), Target::cuda));
  const Kernel saved = save_and_reload_temporaries(rotation());
  ASSERT_EQ(saved.temporaries.size(), 1U);
  EXPECT_EQ(saved.temporaries[0].address_space, AddressSpace::global);
  EXPECT_EQ(saved.temporaries[0].shape.size(), 2U);
  EXPECT_EQ(statements_of(saved),
            "tmp_saved[i_outer, i_inner] = a[16*i_outer + i_inner]\n... gbarrier\n"
            "a[(16*i_outer + i_inner + 1) % n] = tmp_saved[i_outer, i_inner]\n");
  EXPECT_EQ(generate(saved, Target::cuda).launches.size(), 2U);
  expect_recipe(plain_rotation(), saved,
                "split_iname(i, 16, inner_tag=l.0, outer_tag=g.0)\n"
                "save_and_reload_temporaries()\n");
}

TEST(SaveAndReloadTemporaries, KeepsWhatIterationsOfTheHostHandOn) {
  const Kernel described = make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                                       "<> least = u[i] {inames=i}\n"
                                       "for t\n"
                                       "  least = min(least, u[i]) {inames=t:i}\n"
                                       "  <> twice = 2*u[i] {inames=t:i}\n"
                                       "  v[i] = twice {inames=t:i}\n"
                                       "  ... gbarrier\n"
                                       "  u[j] = v[n - 1 - j] - 1\n"
                                       "end\n"
                                       "out[i] = least {inames=i}",
                                       {.default_type = cgen::f32});
  const Kernel spread = apply_recipe(described, "tag_inames(i:g.0, j:g.0)");
  EXPECT_ERROR("loopy.generate.temporary_across_launches", generate_text(spread, Target::cuda));
  const Kernel saved = save_and_reload_temporaries(spread);
  EXPECT_EQ(statements_of(saved),
            "least_saved[i] = u[i]\nleast_saved[i] = min(least_saved[i], u[i])\n"
            "twice = 2*u[i]\nv[i] = twice\n... gbarrier\nu[j] = v[n - 1 - j] - 1\n"
            "out[i] = least_saved[i]\n");
  EXPECT_EQ(generate(saved, Target::cuda).launches.size(), 4U);
}

TEST(SaveAndReloadTemporaries, KeepsWhatTheFirstIterationSets) {
  const Kernel spread =
      apply_recipe(make_kernel("{[t, i, j]: 0 <= t < steps and 0 <= i, j < n}",
                               "for t\n"
                               "  <> first = u[i] {id=set, inames=t:i, if=t < 1}\n"
                               "  v[i] = first {inames=t:i, dep=set}\n"
                               "  ... gbarrier\n"
                               "  u[j] = v[n - 1 - j] - 1\n"
                               "end",
                               {.default_type = cgen::f32}),
                   "tag_inames(i:g.0, j:g.0)");
  EXPECT_ERROR("loopy.generate.temporary_across_launches", generate_text(spread, Target::cuda));
  EXPECT_EQ(generate(save_and_reload_temporaries(spread), Target::cuda).launches.size(), 2U);
}

TEST(SaveAndReloadTemporaries, ChangesNoTemporaryWithASimilarName) {
  const Kernel described =
      make_kernel("{[i]: 0 <= i < n}",
                  "<> s = a[0] {id=take, inames=}\n<> s_saved_too = 2.0 {inames=}\n... gbarrier\n"
                  "b[i] = s*s_saved_too {inames=i}",
                  {.default_type = cgen::f32});
  const Kernel saved = save_and_reload_temporaries(described, {"s"});
  EXPECT_EQ(find_temporary(saved, "s_saved")->shape.size(), 1U);
  EXPECT_TRUE(find_temporary(saved, "s_saved_too")->shape.empty());
}

TEST(SaveAndReloadTemporaries, RefusesWhatItCannotSave) {
  EXPECT_ERROR("loopy.save_and_reload_temporaries.unknown_temporary",
               save_and_reload_temporaries(rotation(), {"q"}));
  const Kernel plain =
      make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = t", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.save_and_reload_temporaries.nothing_to_save",
               save_and_reload_temporaries(plain));
  const Kernel apart =
      apply_recipe(make_kernel("{[i]: 0 <= i < 64} {[j]: 0 <= j < 64}",
                               "<> t = a[i] {inames=i}\n... gbarrier\nb[j] = t {inames=j}",
                               {.default_type = cgen::f32}),
                   "tag_inames(i:g.0, j:g.0)");
  EXPECT_ERROR("loopy.save_and_reload_temporaries.different_axes",
               save_and_reload_temporaries(apart));
  const Kernel shifted = apply_recipe(
      make_kernel("{[i]: 1 <= i < n}", "<> t = a[i] {inames=i}\n... gbarrier\nb[i] = t {inames=i}",
                  {.default_type = cgen::f32}),
      "tag_inames(i:g.0)");
  EXPECT_ERROR("loopy.save_and_reload_temporaries.no_length", save_and_reload_temporaries(shifted));
  EXPECT_NE(why_not([&] { return save_and_reload_temporaries(shifted); }), std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
