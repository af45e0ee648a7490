#include "rtcg/loopy/check/check_order.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(CheckOrder, RefusesLanesThatHandValuesOn) {
  const auto kernel = [](const char* statements, const char* recipe) {
    return apply_recipe(
        make_kernel("{[i]: 0 <= i < n}", statements, {.arguments = "u, v, x: f32[n + 2]; n: i32"}),
        recipe);
  };
  const char* shifted = "for i\nu[i] = x[i] {id=first}\nv[i] = u[i + 1] {id=second}\nend";
  for (const char* recipe : {"split_iname(i, 4, inner_tag=ilp)", "split_iname(i, 4, inner_tag=l.0)",
                             "split_iname(i, 4, inner_tag=vec)"}) {
    EXPECT_ERROR("loopy.check_order.carried_value", check_order(kernel(shifted, recipe)));
  }
  // upwards, and to itself alone
  check_order(kernel("for i\nu[i + 1] = x[i] {id=first}\nv[i] = u[i] {id=second}\nend",
                     "split_iname(i, 4, inner_tag=ilp)"));
  // lanes inside of a loop: the loop turns their iterations round
  EXPECT_ERROR("loopy.check_order.carried_value",
               check_order(kernel("u[i + 1] = 0.5*u[i + 2]", "split_iname(i, 4, outer_tag=ilp)")));
  // threads that meet where the user says
  check_order(
      kernel("for i\nu[i] = x[i] {id=first}\n... lbarrier\nv[i] = u[i + 1] {id=second}\n"
             "end",
             "fix_parameters(n:64)\ntag_inames(i:l.0)"));
}

// Threads have temporaries of their own: what the iteration before has left is out of reach.
TEST(CheckOrder, RefusesThreadsForIterationsThatTemporariesGoThrough) {
  const auto checked = [](const std::string& statements, const char* recipe) {
    check_order(
        apply_recipe(make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", statements,
                                 {.arguments = "u, a: f64[n, m]", .sequential_dependencies = true}),
                     recipe));
  };
  const char* averages = "for i\n<> s = 3\nfor j\ns = 0.5*s + a[i, j]\nu[i, j] = s\nend\nend";
  checked(averages, "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
  checked(averages, "split_iname(j, 16)");
  for (const char* recipe : {"split_iname(j, 16, inner_tag=l.0)", "tag_inames(i:g.0, j:g.1)"}) {
    EXPECT_ERROR("loopy.check_order.carried_value", checked(averages, recipe));
  }
  const char* delayed = "for i\n<> s = 3\nfor j\nu[i, j] = s\ns = a[i, j]\nend\nend";
  EXPECT_ERROR("loopy.check_order.carried_value",
               checked(delayed, "split_iname(j, 16, inner_tag=l.0)"));
  const char* elements = "for i\n<f64> s[m]\nfor j\ns[j] = 2\nu[i, j] = s[j] + a[i, j]\nend\nend";
  checked(elements, "fix_parameters(m:8)\ntag_inames(i:g.0, j:l.0)");
  const char* counted = "for i\n<> s = 3\nfor j\ns = s + a[i, j] {atomic}\nend\nend\nu[0, 0] = 1";
  checked(counted, "split_iname(j, 16, inner_tag=l.0)");
  const char* own = "for i, j\n<> s = a[i, j]\ns = 2*s\nu[i, j] = s\nend";
  checked(own, "split_iname(j, 16, inner_tag=l.0)");
}

TEST(CheckOrder, RefusesThreadsThatAddUpWhatOthersWrite) {
  const auto checked = [](const std::string& domain, const char* recipe) {
    check_order(
        apply_recipe(make_kernel("{[i]: 0 <= i < 16} {[j]: " + domain + "}",
                                 "x[i] = b[i] - sum(j, x[j])", {.arguments = "x, b: f32[16]"}),
                     recipe));
  };
  // all threads add up before one of them writes
  for (const char* recipe : {"tag_inames(i:l.0)", "split_iname(i, 4, inner_tag=ilp)"}) {
    EXPECT_ERROR("loopy.check_order.carried_value", checked("0 <= j < i", recipe));
    checked("i < j < 16", recipe);
  }
}

TEST(CheckOrder, RefusesAxesForLoopsThatLaunchesHandValuesOnIn) {
  const auto checked = [](const char* statements, const char* recipe) {
    check_order(apply_recipe(make_kernel("{[t, i, j]: 0 <= t < n and 0 <= i, j < n}", statements,
                                         {.arguments = "u, v: f32[n + 1, n + 2]; n: i32"}),
                             recipe));
  };
  const char* steps = "for t\n  v[t, i] = u[t, i]\n  ... gbarrier\n  u[t + 1, j] = v[t, j]\nend";
  checked(steps, "tag_inames(i:g.0, j:g.0)");
  EXPECT_ERROR("loopy.check_order.carried_value", checked(steps, "tag_inames(t:g.1)"));
  const char* own = "for t\n  v[t, i] = u[t, i]\n  ... gbarrier\n  u[t, j] = v[t, j]\nend";
  checked(own, "tag_inames(t:g.1)");
  // a barrier that each i passes on its own, or all of them together
  EXPECT_ERROR("loopy.check_order.carried_value",
               checked("for t, i\n  v[t, i] = u[t, i]\n  ... gbarrier {id=meet}\n"
                       "  u[t, i + 1] = v[t, i]\nend",
                       "tag_inames(i:g.0)"));
  checked("for t\n  v[t, i] = u[t, i]\n  ... gbarrier {id=meet}\n  u[t, i + 1] = v[t, i]\nend",
          "tag_inames(i:g.0)");
}

// A random kernel: with a loop of its own for `s`, whatever order the threads' loop had is lost.
TEST(CheckOrder, AsksBeforeDuplicatesLeaveNoOrder) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i < 12 and 0 <= j < 5 and 0 <= k < n}",
                  "for i, k\n<> t = b[14 - i, k] {id=t}\nfor j\nr[i, j, k] = t*t {id=r}\n"
                  "s[i, j, k] = b[j + 1, 14 - k] {id=s}\n"
                  "w[i + 1, j + 1, k + 1] = 0.5*w[i + 2, j, k] {id=w}\nend\nend",
                  {.arguments = "b: f32[24, 24]; r, s, w: f32[24, 24, 24]; n: i32"});
  EXPECT_ERROR("loopy.check_order.carried_value",
               check_order(apply_recipe(kernel, "split_iname(i, 3, outer_tag=l.1)")));
  EXPECT_ERROR("loopy.duplicate_inames.carried_value",
               apply_recipe(kernel,
                            "split_iname(i, 3, outer_tag=l.1)\n"
                            "duplicate_inames([i_outer], within=\"id:s\")"));
}

TEST(CheckOrder, ShowsTwoIterations) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i]: 0 <= i < 8}",
                               "for i\nu[i] = x[i] {id=first}\nv[i] = u[i + 1] {id=second}\nend",
                               {.arguments = "u, v, x: f32[9]"}),
                   "tag_inames(i:ilp)");
  try {
    check_order(kernel);
    ADD_FAILURE() << "nothing was refused";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "lanes or threads of kernel 'loopy_kernel' cannot replace loops: an element of 'u' "
              "is used in two iterations: first 'second' reads it at i = 0, then 'first' writes it "
              "at i = 1; they would change places");
  }
}

TEST(CheckOrder, LooksAtAllWaysInWhichIterationsMayBeOrdered) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j, k]: 0 <= i < 7 and 0 <= j < n and 0 <= k < 12}",
                               "w[i + 1, j + 1, k + 1] = 0.5*w[i + 2, j + 1, k] + a[k, 0]",
                               {.arguments = "a: f64[24, 24]; w: f64[24, 24, 24]; n: i32",
                                .assumptions = "n >= 1 and n <= 13"}),
                   "split_iname(i, 5)\nsplit_iname(i_outer, 4, outer_tag=l.0, inner_tag=ilp)");
  EXPECT_ERROR("loopy.check_order.carried_value", check_order(kernel));
}

TEST(CheckOrder, KnowsTheOrderOfLoopsWhoseAxesHavePriorities) {
  // as loops, 'i' and 'j_outer' cannot nest so: 'first' is in one of them
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j]: 0 <= i, j <= 6} {[k]: 0 <= k < n}",
                               "<> t = b[k, j] {id=first}\nout[i, j, k] = t*t\n"
                               "w[i + 1, j + 1, k + 1] = 0.5*w[i + 1, j + 2, k] + a[k, 0]",
                               {.arguments = "a, b: f64[24, 24]; out, w: f64[24, 24, 24]; n: i32",
                                .assumptions = "n >= 1 and n <= 13"}),
                   "split_iname(j, 3, outer_tag=l.0, inner_tag=ilp)\nprioritize_loops(i, j_outer)");
  EXPECT_ERROR("loopy.check_order.carried_value", check_order(kernel));
}

TEST(CheckOrder, SaysNothingOfWhatItCannotProve) {
  const Kernel kernel = apply_recipe(
      make_kernel("{[i]: 0 <= i < 8}", "for i\nu[place[i]] = x[i]\nv[i] = u[i + 1]\nend",
                  {.arguments = "u, v, x: f32[9]; place: i32[8]"}),
      "tag_inames(i:ilp)");
  check_order(kernel);
}

TEST(Defect03, TemporariesAreJudgedAsArgumentsAre) {
  const char* statements = "for i\na[i] = b[i]\na[i + 1] = 13\nc[i] = a[i] + a[i + 1]\nend";
  const auto argument = [&](const char* recipe) {
    return apply_recipe(
        make_kernel("{[i]: 0 <= i < 16}", statements, {.arguments = "a: i32[17]; b, c: i32[16]"}),
        recipe);
  };
  const auto temporary = [&](const char* recipe) {
    return apply_recipe(make_kernel("{[i]: 0 <= i < 16}", std::string("<i32> a[17]\n") + statements,
                                    {.arguments = "b, c: i32[16]"}),
                        recipe);
  };
  for (const char* recipe : {"tag_inames(i:l.0)", "tag_inames(i:ilp)", "tag_inames(i:vec)",
                             "split_iname(i, 4, inner_tag=l.0)", "split_iname(i, 4, inner_tag=ilp)",
                             "split_iname(i, 4, outer_tag=l.0)"}) {
    SCOPED_TRACE(recipe);
    EXPECT_ERROR("loopy.check_order.carried_value", check_order(argument(recipe)));
    EXPECT_ERROR("loopy.check_order.carried_value", check_order(temporary(recipe)));
  }
  // a copy for each block or thread is right
  check_order(temporary("tag_inames(i:g.0)"));
  check_order(temporary("tag_inames(i:l.0)\nset_temporary_address_space([a], private)"));
}

TEST(Defect03, CopiesOfOtherBlocksAndThreadsAreNotRead) {
  const auto kernel = [&](const char* reads, const char* recipe) {
    return apply_recipe(
        make_kernel("{[i]: 1 <= i < 16}",
                    std::string("<i32> a[17]\nfor i\na[i] = b[i]\nc[i] = ") + reads + "\nend",
                    {.arguments = "b, c: i32[16]"}),
        recipe);
  };
  for (const char* recipe :
       {"tag_inames(i:g.0)", "tag_inames(i:l.0)\nset_temporary_address_space([a], private)"}) {
    SCOPED_TRACE(recipe);
    EXPECT_ERROR("loopy.check_order.carried_value", check_order(kernel("a[i - 1] + a[i]", recipe)));
    check_order(kernel("a[i] + 1", recipe));
  }
}

}  // namespace
}  // namespace rtcg::loopy
