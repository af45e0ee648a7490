#include "rtcg/loopy/transform/assignment_to_subst.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel cube_kernel(std::string_view statements) {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", statements, {.default_type = cgen::f32});
}
Kernel sum_of_doubled() {
  return cube_kernel("<> t[i] = 2*a[i]\nb[j] = t[j] + t[7 - j]");
}
std::string rules_of(const Kernel& kernel) {
  std::string text;
  for (const SubstitutionRule& rule : kernel.rules) {
    std::string parameters;
    for (const std::string& parameter : rule.parameters) {
      parameters += (parameters.empty() ? "" : ", ") + parameter;
    }
    text += rule.name + "(" + parameters + ") := " + to_string(rule.body) + "\n";
  }
  return text;
}

TEST(AssignmentToSubst, MakesARuleOfAnArray) {
  const Kernel kernel = assignment_to_subst(sum_of_doubled(), "t");
  EXPECT_EQ(statements_of(kernel), "b[j] = t_subst(j) + t_subst(7 - j)\n");
  EXPECT_EQ(rules_of(kernel), "t_subst(i) := 2*a[i]\n");
  EXPECT_TRUE(kernel.temporaries.empty());
  expect_recipe(sum_of_doubled(), kernel, "assignment_to_subst(t)\n");
  expect_same_results(sum_of_doubled(), kernel, {});
}

TEST(AssignmentToSubst, MakesARuleOfAScalar) {
  const Kernel kernel = cube_kernel("<> t = a[i, j]*2\nb[i, j] = t*t");
  const Kernel changed = assignment_to_subst(kernel, "t", "twice");
  EXPECT_EQ(statements_of(changed), "b[i, j] = twice()*twice()\n");
  EXPECT_EQ(rules_of(changed), "twice() := a[i, j]*2\n");
  EXPECT_EQ(statements_of(expand_subst(changed)), "b[i, j] = a[i, j]*2*(a[i, j]*2)\n");
  expect_recipe(kernel, changed, "assignment_to_subst(t, rule=twice)\n");
  expect_same_results(kernel, changed, {});
}

TEST(AssignmentToSubst, HandsDependenciesOn) {
  const Kernel kernel = cube_kernel(
      "d[k] = 1.0 {id=first}\n<> t[i] = a[i] {id=t, dep=first}\nb[j] = t[j] {id=last, dep=t}");
  const Kernel changed = assignment_to_subst(kernel, "t");
  EXPECT_EQ(find_instruction(changed, "last")->depends_on, NameSet{"first"});
}

TEST(AssignmentToSubst, AllowsInputsThatWereSettledBefore) {
  const Kernel kernel = cube_kernel("<> s[k] = a[k]*3\n<> t[i] = s[i] + 1\nb[j] = t[j]");
  const Kernel changed = assignment_to_subst(kernel, "t");
  EXPECT_EQ(rules_of(changed), "t_subst(i) := s[i] + 1\n");
  expect_same_results(kernel, changed, {});
}

TEST(AssignmentToSubst, KeepsStatedTypes) {
  const auto rules_with = [](std::string_view type) {
    return rules_of(assignment_to_subst(
        make_kernel("{[i]: 0 <= i < 8}", std::string(type) + " t = a[i]/2\nb[i] = t",
                    {.default_type = cgen::f32}),
        "t"));
  };
  EXPECT_EQ(rules_with("<>"), "t_subst() := a[i] / 2\n");
  EXPECT_EQ(rules_with("<f32>"), "t_subst() := a[i] / 2\n");
  EXPECT_EQ(rules_with("<i32>"), "t_subst() := cast(i32, a[i] / 2)\n");
  EXPECT_EQ(rules_with("<f64>"), "t_subst() := cast(f64, a[i] / 2)\n");
  const Kernel places = make_kernel("{[i]: 0 <= i < 8}", "<i64> t = 2*i\nb[i] = a[t]",
                                    {.arguments = "a: f32[15]; ...", .default_type = cgen::f32});
  EXPECT_EQ(rules_of(assignment_to_subst(places, "t")), "t_subst() := 2*i\n");
}

TEST(AssignmentToSubst, RefusesNamesThatDoNotFit) {
  EXPECT_ERROR("loopy.assignment_to_subst.unknown_temporary",
               assignment_to_subst(sum_of_doubled(), "q"));
  EXPECT_EQ(why_not([&] { return assignment_to_subst(sum_of_doubled(), "q"); }),
            "kernel 'loopy_kernel' has no temporary or array 'q'");
  EXPECT_ERROR("loopy.assignment_to_subst.name_taken",
               assignment_to_subst(sum_of_doubled(), "t", "a"));
  EXPECT_TRUE(why_not([&] { return assignment_to_subst(sum_of_doubled(), "t", "a"); }).has_value());
  EXPECT_EQ(why_not([&] { return assignment_to_subst(sum_of_doubled(), "t"); }), std::nullopt);
}

TEST(AssignmentToSubst, RefusesWhatIsNotAssignedOnceForAll) {
  EXPECT_ERROR("loopy.assignment_to_subst.not_one_assignment",
               assignment_to_subst(cube_kernel("<> t = a[i]\nt = b[i]\nc[i] = t"), "t"));
  EXPECT_ERROR("loopy.assignment_to_subst.not_one_assignment",
               assignment_to_subst(cube_kernel("<> t = a[i] {if=i > 2}\nc[i] = t"), "t"));
  EXPECT_EQ(why_not([&] {
              return assignment_to_subst(cube_kernel("<> t = a[i]\nt = b[i]\nc[i] = t"), "t");
            }),
            "'t' is not written by exactly one assignment without conditions");
}

TEST(AssignmentToSubst, RefusesTargetsThatAreNoParameters) {
  EXPECT_ERROR("loopy.assignment_to_subst.bad_target",
               assignment_to_subst(cube_kernel("<> t[2*i] = a[i]\nc[i] = t[2*i]"), "t"));
  EXPECT_ERROR("loopy.assignment_to_subst.bad_target",
               assignment_to_subst(cube_kernel("<> t[i, i] = a[i]\nc[i] = t[i, i]"), "t"));
  const Kernel bound = make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < l}",
                                   "<i32> l = lengths[i]\nout[i] = sum(j, a[i, j])",
                                   {.arguments = "a: f32[n, 8]; ...", .default_type = cgen::f32});
  EXPECT_ERROR("loopy.assignment_to_subst.bad_target", assignment_to_subst(bound, "l"));
  EXPECT_EQ(why_not([&] { return assignment_to_subst(bound, "l"); }),
            "'l' bounds a loop, which needs it as a variable");
}

TEST(AssignmentToSubst, RefusesInputsThatChange) {
  const Kernel kernel = cube_kernel("<> t = a[i]\na[i] = 2.0 {id=change}\nc[i] = t");
  EXPECT_ERROR("loopy.assignment_to_subst.input_changes", assignment_to_subst(kernel, "t"));
  EXPECT_EQ(why_not([&] { return assignment_to_subst(kernel, "t"); }),
            "'t' reads 'a', which statement 'change' changes");
  EXPECT_ERROR("loopy.assignment_to_subst.input_changes",
               assignment_to_subst(cube_kernel("s[0] = a[j]\n<> t = s[0]\nc[i] = t"), "t"));
  EXPECT_ERROR(
      "loopy.assignment_to_subst.input_changes",
      assignment_to_subst(cube_kernel("f(x) := a[x]\n<> t = f(i)\na[i] = 2.0\nc[i] = t"), "t"));
}

TEST(AssignmentToSubst, RefusesReadersThatReduceOverTheSame) {
  const Kernel kernel = cube_kernel("<> t = sum(k, a[i, k])\nc[i] = t*sum(k, b[i, k]) {id=last}");
  EXPECT_ERROR("loopy.assignment_to_subst.reduced_twice", assignment_to_subst(kernel, "t"));
  EXPECT_EQ(why_not([&] { return assignment_to_subst(kernel, "t"); }),
            "'t' is a reduction over 'k', which statement 'last' uses: give one of them another "
            "iname with duplicate_inames");
}

TEST(AssignmentToSubst, RefusesReadersOutsideOfItsInames) {
  const Kernel direct =
      cube_kernel("<> t[i] = a[i, j] {inames=i:j}\nc[k] = t[k] {inames=k, id=last}");
  EXPECT_ERROR("loopy.assignment_to_subst.inactive_iname", assignment_to_subst(direct, "t"));
  EXPECT_EQ(why_not([&] { return assignment_to_subst(direct, "t"); }),
            "the value of 't' depends on 'j', and statement 'last' is not within it");
  const Kernel through_rule =
      cube_kernel("g(x) := t[x]\n<> t[i] = a[i, j] {inames=i:j}\nc[k] = g(k) {inames=k}");
  EXPECT_ERROR("loopy.assignment_to_subst.inactive_iname", assignment_to_subst(through_rule, "t"));
}

TEST(AssignmentToSubst, RefusesToTurnTheOtherLoops) {
  // t is computed once for each j, and so j is outside of i
  const Kernel kernel = make_kernel("{[i, j]: 1 <= i < 9 and 0 <= j < 9}",
                                    "<> t = 2*a[j]\nu[i, j] = 0.5*u[i - 1, j + 1] + t",
                                    {.arguments = "a: f32[9]; u: f32[9, 10]"});
  EXPECT_ERROR("loopy.assignment_to_subst.reorders_loops", assignment_to_subst(kernel, "t"));
}

TEST(AssignmentToSubst, KeepsWritingAnArgument) {
  const Kernel kernel = cube_kernel("t[i] = 2*a[i]\nb[j] = t[j] + t[7 - j]");
  const Kernel changed = assignment_to_subst(kernel, "t");
  EXPECT_EQ(statements_of(changed), "t[i] = 2*a[i]\nb[j] = t_subst(j) + t_subst(7 - j)\n");
  expect_recipe(kernel, changed, "assignment_to_subst(t)\n");
  expect_same_results(kernel, changed, {});
  const Kernel together = cube_kernel("for i\nt[i] = 2*a[i]\nb[i] = t[i]\nend");
  expect_same_results(together, assignment_to_subst(together, "t"), {});
}

TEST(AssignmentToSubst, RefusesAnArgumentWhoseOldValuesAreRead) {
  for (const char* statements :
       {"b[j] = t[j] {id=first}\nt[i] = 2*a[i] {dep=first}",
        "for i\nt[i] = a[i]\nb[i] = t[i + 1]\nend", "t[i] = 2*a[i]\nb[j] = t[j + 1]",
        "for k\nt[i] = a[i] {inames=i:k}\nend\nb[j] = t[j]"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.assignment_to_subst.argument_value",
                 assignment_to_subst(make_kernel("{[i, j, k]: 0 <= i, j, k < 8}", statements,
                                                 {.arguments = "t: f32[9]; a, b: f32[8]"}),
                                     "t"));
  }
}

}  // namespace
}  // namespace rtcg::loopy
