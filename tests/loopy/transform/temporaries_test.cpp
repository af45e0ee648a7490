#include "rtcg/loopy/transform/temporaries.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel through_scalar() {
  return make_kernel("{[p, i]: 0 <= p < n and 2 <= i < 10}", "<f32> t = a[p, i]\nb[p, i] = t*t",
                     {.arguments = "a, b: f32[n, 10]"});
}

TEST(SetTemporaryAddressSpace, SetsTheSpace) {
  const Kernel before = make_kernel("{[i]: 0 <= i < n}", "<f32> t = a[i]\n<f32> s = t\nb[i] = s",
                                    {.default_type = cgen::f32});
  const Kernel changed = set_temporary_address_space(before, {"t", "s"}, "private");
  EXPECT_EQ(find_temporary(changed, "t")->address_space, AddressSpace::private_);
  EXPECT_EQ(find_temporary(changed, "s")->address_space, AddressSpace::private_);
  expect_recipe(before, changed, "set_temporary_address_space([t, s], private)\n");
  const auto space_after = [&](std::string_view space) {
    return find_temporary(set_temporary_address_space(changed, {"t"}, space), "t")->address_space;
  };
  EXPECT_EQ(space_after("local"), AddressSpace::local);
  EXPECT_EQ(space_after("global"), AddressSpace::global);
  EXPECT_EQ(space_after("auto"), AddressSpace::automatic);
}

TEST(SetTemporaryAddressSpace, RefusesUnknownTemporary) {
  EXPECT_ERROR("loopy.set_temporary_address_space.unknown_temporary",
               set_temporary_address_space(through_scalar(), {"t", "a"}, "local"));
  EXPECT_EQ(why_not([&] { return set_temporary_address_space(through_scalar(), {"a"}, "local"); }),
            "kernel 'loopy_kernel' has no temporary 'a'");
}

TEST(SetTemporaryAddressSpace, RefusesUnknownSpace) {
  EXPECT_ERROR("loopy.set_temporary_address_space.unknown_space",
               set_temporary_address_space(through_scalar(), {"t"}, "shared"));
  EXPECT_EQ(
      why_not([&] { return set_temporary_address_space(through_scalar(), {"t"}, "shared"); }),
      "'shared' is not an address space for temporaries: write private, local, global or auto");
  EXPECT_EQ(why_not([&] { return set_temporary_address_space(through_scalar(), {"t"}, "local"); }),
            std::nullopt);
}

TEST(PrivatizeTemporaries, GivesScalarsAnAxis) {
  const Kernel changed = privatize_temporaries(through_scalar(), {"i"});
  EXPECT_EQ(statements_of(changed), "t[i - 2] = a[p, i]\nb[p, i] = t[i - 2]*t[i - 2]\n");
  EXPECT_EQ(domains_of(changed), domains_of(through_scalar()));
  EXPECT_EQ(find_temporary(changed, "t")->shape, (std::vector<Expr>{8}));
  expect_same_results(through_scalar(), changed, {{"n", 3}});
  expect_recipe(through_scalar(), changed, "privatize_temporaries([i])\n");
}

TEST(PrivatizeTemporaries, GivesArraysFurtherAxes) {
  const Kernel before = make_kernel("{[i, j, k]: 0 <= i < 3 and 0 <= j < 4 and 0 <= k < 5}",
                                    "<f32> t[5]\n<f32> s = a[i]\nt[k] = s*k {inames=i:j:k}\n"
                                    "b[i, j] = sum(k, t[k]) + s",
                                    {.default_type = cgen::f32});
  const Kernel changed = privatize_temporaries(before, {"j", "i"}, {"t"});
  EXPECT_EQ(statements_of(changed),
            "s = a[i]\nt[k, j, i] = s*k\nb[i, j] = sum(k, t[k, j, i]) + s\n");
  EXPECT_EQ(find_temporary(changed, "t")->shape, (std::vector<Expr>{5, 4, 3}));
  EXPECT_TRUE(find_temporary(changed, "s")->shape.empty());
  expect_same_results(before, changed, {});
  expect_recipe(before, changed, "privatize_temporaries([j, i], temporaries=[t])\n");
}

TEST(PrivatizeTemporaries, LeavesParametersOfRulesAlone) {
  const Kernel before =
      make_kernel("{[i]: 0 <= i < 8}", "f(t) := t*t\n<f32> t = a[i]\nb[i] = f(t + 1)",
                  {.default_type = cgen::f32});
  const Kernel changed = privatize_temporaries(before, {"i"});
  EXPECT_EQ(to_string(changed.rules.front().body), "t*t");
  EXPECT_EQ(statements_of(changed), "t[i] = a[i]\nb[i] = f(t[i] + 1)\n");
  expect_same_results(before, changed, {});
}

TEST(PrivatizeTemporaries, RefusesUnknownIname) {
  EXPECT_ERROR("loopy.privatize_temporaries.unknown_iname",
               privatize_temporaries(through_scalar(), {"q"}));
  EXPECT_EQ(why_not([&] { return privatize_temporaries(through_scalar(), {"q"}); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are p, i");
  EXPECT_EQ(why_not([&] { return privatize_temporaries(through_scalar(), {"i"}); }), std::nullopt);
}

TEST(PrivatizeTemporaries, RefusesUnknownTemporary) {
  EXPECT_ERROR("loopy.privatize_temporaries.unknown_temporary",
               privatize_temporaries(through_scalar(), {"i"}, {"a"}));
}

TEST(PrivatizeTemporaries, RefusesLoopsOfUnknownLength) {
  EXPECT_ERROR("loopy.privatize_temporaries.no_constant_length",
               privatize_temporaries(through_scalar(), {"p"}));
}

TEST(PrivatizeTemporaries, RefusesTemporariesOfOtherPlaces) {
  const Kernel outside =
      make_kernel("{[i]: 0 <= i < 8}", "<f32> t = 0\nt = t + a[i] {inames=i}\nb[0] = t",
                  {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.privatize_temporaries.used_outside", privatize_temporaries(outside, {"i"}));
  EXPECT_EQ(why_not([&] { return privatize_temporaries(outside, {"i"}); }),
            "statement 'set_t' touches 't' outside of 'i'");
  const Kernel bound = make_kernel(
      "{[i]: 0 <= i < 8} {[j]: 0 <= j < len}", "<i32> len = lengths[i]\nb[i] = sum(j, a[i, j])",
      {.arguments = "lengths: i32[8]; a: f32[8, 8]", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.privatize_temporaries.used_outside", privatize_temporaries(bound, {"i"}));
  EXPECT_EQ(why_not([&] { return privatize_temporaries(bound, {"i"}); }),
            "'len' bounds a loop and cannot get another axis");
  const Kernel linear = make_kernel("{[i]: 0 <= i < 8}",
                                    "<f32> t[2]\nt[0] = a[i]\nt[1] = 0 {inames=i}\nb[i] = t[[1]]",
                                    {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.privatize_temporaries.used_outside", privatize_temporaries(linear, {"i"}));
}

}  // namespace
}  // namespace rtcg::loopy
