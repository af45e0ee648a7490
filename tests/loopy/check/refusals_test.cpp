// What is wrong with a kernel is an error with an example: for each check a kernel as a user writes
// it, and what the user reads.
#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/check/check_bounds.h"
#include "rtcg/loopy/check/check_kernel.h"
#include "rtcg/loopy/check/check_order.h"
#include "rtcg/loopy/check/check_races.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

struct Described {
  std::string domains;
  std::string statements;
  std::string recipe;
  KernelOptions options{.default_type = cgen::f32};
};

/// As an executor takes a kernel, but for the order of iterations, which comes last: codes of later
/// stages are refused by it, too.
std::string checked_text(const Described& described) {
  const Kernel kernel = apply_recipe(
      make_kernel(described.domains, described.statements, described.options), described.recipe);
  const Kernel typed = infer_types(expand_subst(kernel));
  check_kernel(typed);
  check_bounds(typed);
  const Kernel placed = choose_address_spaces(typed);
  check_races(placed);
  std::string text = generate_text(typed, Target::cuda);
  check_order(placed);
  return text;
}

std::string message_of(const Described& described) {
  try {
    static_cast<void>(checked_text(described));
  } catch (const Error& error) {
    return error.message();
  }
  return "(no error)";
}

void expect_parts(const Described& described, const std::vector<std::string>& parts) {
  const std::string message = message_of(described);
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\nis missing in\n" << message;
  }
}

TEST(Refusals, NameTheElementOutOfBounds) {
  const Described kernel{
      "{[i]: 0 <= i < n}", "out[i] = a[i + 1]", "", {.arguments = "a, out: f32[n]; n: i32"}};
  EXPECT_ERROR("loopy.check_bounds.out_of_bounds", checked_text(kernel));
  EXPECT_NE(message_of(kernel).find("reads element 1 of axis 0, which has 1: at i = 0, n = 1"),
            std::string::npos)
      << message_of(kernel);
  // split, it is still wrong, and the loops are those of the user
  Described split = kernel;
  split.recipe = "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)";
  expect_parts(split, {"reads element 1 of axis 0, which has 1", "i_outer = 0", "i_inner = 0"});
  Described fits = kernel;
  fits.options.arguments = "a: f32[n + 1]; out: f32[n]; n: i32";
  EXPECT_EQ(message_of(fits), "(no error)");
}

TEST(Refusals, NameTwoLanesAndTheAddressTheyWrite) {
  const Described kernel{"{[i, j]: 0 <= i, j < 16}",
                         "out[j] = a[i, j] {id=s}",
                         "tag_inames(i:l.0, j:g.0)",
                         {.default_type = cgen::f32}};
  EXPECT_ERROR("loopy.check_races.write_race", checked_text(kernel));
  expect_parts(kernel, {"'s'", "element [0] of 'out'", "both at i = 0, j = 0 and at i = 1, j = 0",
                        "'i' is on the axis l.0"});
  Described lanes = kernel;
  lanes.recipe = "tag_inames(i:ilp)";
  EXPECT_ERROR("loopy.check_races.write_race", checked_text(lanes));
}

TEST(Refusals, NameTheLanesThatFillOneSharedArray) {
  // threads have lanes of their own in registers, and share what is in shared memory
  const Described kernel{"{[i, j]: 0 <= i, j < 4}",
                         "out[i, j] = c[i, i]*c[i, j]",
                         "add_prefetch(c, [j])\ntag_inames(j:g.0, c_fetch_0:l.0, i:ilp)",
                         {.arguments = "c, out: f32[4, 4]"}};
  EXPECT_ERROR("loopy.check_races.write_race", checked_text(kernel));
  expect_parts(kernel, {"'fill_c_fetch'", "'c_fetch'", "'i'"});
  Described apart = kernel;
  apart.recipe = "add_prefetch(c, [i, j])\ntag_inames(j:g.0, c_fetch_1:l.0, i:ilp)";
  EXPECT_EQ(message_of(apart), "(no error)");
}

TEST(Refusals, NameTheIterationsThatNoBarrierCanKeepApart) {
  const Described within{"{[i]: 0 <= i < 15}",
                         "a[i] = a[i + 1] {id=shift}",
                         "tag_inames(i:l.0)",
                         {.arguments = "a: f32[16]"}};
  EXPECT_ERROR("loopy.insert_barriers.race_within_statement", checked_text(within));
  expect_parts(within, {"'shift' reads elements of 'a'",
                        "for example element [1], by 'shift' at i "
                        "= 0 and by 'shift' at i = 1"});
}

TEST(Refusals, NameTheBlocksThatWouldHaveToWait) {
  const Described rotate{"{[i]: 0 <= i < n}",
                         "<> t = a[i] {id=get}\na[(i + 1) % n] = t {id=put}",
                         "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)",
                         {.arguments = "a: f32[n]; n: i32", .assumptions = "n >= 1"}};
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier", checked_text(rotate));
  expect_parts(rotate, {"blocks share 'a'", "'get'", "'put'", "gbarrier"});
  const Described stencil{"{[i]: 0 <= i < 63}",
                          "b[i] = a[i] {id=put}\nc[i] = b[i + 1] {id=get}",
                          "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)",
                          {.arguments = "a, b, c: f32[64]"}};
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier", checked_text(stencil));
  expect_parts(stencil,
               {"'get' reads what 'put' writes in another block", "for example element [",
                "by 'put' at i_outer = 1, i_inner = 0", "by 'get' at i_outer = 0, i_inner = 15"});
}

TEST(Refusals, SeeBlocksBehindABarrierOfTheBlock) {
  // a barrier orders the threads of one block, not the blocks
  const Described kernel{"{[i]: 0 <= i < 64}",
                         "b[i] = a[i] {id=put}\n... lbarrier {id=bar, dep=put}\n"
                         "c[i] = b[63 - i] {id=get, dep=bar}",
                         "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)",
                         {.arguments = "a, b, c: f32[64]"}};
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier", checked_text(kernel));
}

TEST(Refusals, NameTheIterationsThatLanesWouldTurnRound) {
  const Described kernel{"{[i]: 0 <= i < 64}",
                         "u[i] = x[i] {id=put}\nv[i] = u[i + 1] {id=get}",
                         "split_iname(i, 4, inner_tag=ilp)",
                         {.arguments = "u, v, x: f32[65]"}};
  EXPECT_ERROR("loopy.check_order.carried_value", checked_text(kernel));
  expect_parts(kernel, {"'u'", "'get' reads it at i_outer = 0, i_inner = 0",
                        "'put' writes it at i_outer = 0, i_inner = 1"});
  // loops in another order
  const Described turned{"{[i, j]: 1 <= i < n and 0 <= j < n}", "u[i, j] = u[i - 1, j + 1]",
                         "prioritize_loops(j, i)"};
  EXPECT_ERROR("loopy.prioritize_loops.carried_value", checked_text(turned));
  expect_parts(turned, {"'u'", "writes it at i = 1, j = 1", "reads it at i = 2, j = 0"});
}

TEST(Refusals, NameTheAxisUsedTwice) {
  EXPECT_ERROR(
      "loopy.tag_inames.axis_used_twice",
      checked_text({"{[i, j]: 0 <= i, j < 16}", "a[i, j] = 1.0", "tag_inames(i:l.0, j:l.0)"}));
  expect_parts({"{[i, j]: 0 <= i, j < 16}", "a[i, j] = 1.0", "tag_inames(i:l.0, j:l.0)"},
               {"'i'", "'j'", "l.0"});
}

TEST(Refusals, NameTheThreadsThatAreTooMany) {
  const Described kernel{"{[i, j]: 0 <= i, j < 64}", "a[i, j] = 1.0", "tag_inames(i:l.0, j:l.1)"};
  EXPECT_ERROR("loopy.check_kernel.too_many_threads", checked_text(kernel));
  expect_parts(kernel, {"64 x 64 x 1", "1024"});
}

TEST(Refusals, NameTheBytesOfSharedMemoryThatAreTooMany) {
  const Described kernel{"{[i, j, k]: 0 <= i, j < 128 and 0 <= k < 128}",
                         "c[i, j] = sum(k, a[i, k]*b[k, j])",
                         "split_iname(i, 16, inner_tag=l.1); split_iname(j, 16, inner_tag=l.0)\n"
                         "tag_inames(i_outer:g.1, j_outer:g.0)\n"
                         "add_prefetch(a, [i_inner, k]); add_prefetch(b, [k, j_inner])"};
  EXPECT_EQ(message_of(kernel), "(no error)");  // 2 x 16 x 128 x 4 bytes
  Described larger = kernel;
  larger.domains = "{[i, j, k]: 0 <= i, j < 128 and 0 <= k < 2048}";
  EXPECT_ERROR("loopy.generate.too_much_shared_memory", checked_text(larger));
  expect_parts(larger, {"needs 262144 bytes", "may have 232448", "'a_fetch' has 131072",
                        "'b_fetch' has 131072"});
}

TEST(Refusals, NameTemporariesWithoutAValue) {
  const Described kernel{"{[i]: 0 <= i < n}", "<> t = a[i] {id=t}\nout[i] = 2*t",
                         "remove_instructions(id:t)"};
  EXPECT_ERROR("loopy.check_kernel.undefined_temporary", checked_text(kernel));
  expect_parts(kernel, {"reads 't', which no statement writes"});
  // a launch does not see the variables of the one before
  const Described rotate{"{[i]: 0 <= i < 64}",
                         "<> t = a[i] {id=get}\n... gbarrier {id=bar, dep=get}\n"
                         "a[(i + 1) % 64] = t {id=put, dep=bar}",
                         "split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)",
                         {.arguments = "a: f32[64]"}};
  EXPECT_ERROR("loopy.generate.temporary_across_launches", checked_text(rotate));
  expect_parts(rotate, {"'t'", "global barrier"});
}

TEST(Refusals, NameTemporariesThatAreComputedFromThemselves) {
  const Described divided{"{[i]: 0 <= i < n}", "<> t /= a[i]\nb[i] = t", "add_dtypes(t:f64)"};
  EXPECT_ERROR("loopy.check_kernel.undefined_temporary", checked_text(divided));
  expect_parts(divided, {"'set_t'", "computes 't' from 't'", "first value"});
  for (const char* statements : {
           "<f32> t = t + a[i] {if=i > 0}\nb[i] = t",
           "<f32> t = 2 {if=t > 4}\nb[i] = t",
           "<f32> t[4]\nt[i % 4] = 2*t[(i + 1) % 4]\nb[i] = t[i % 4]",
           "<f32> t = 2 - t {id=x}\nb[i] = t {id=y, dep=x}\nt = 0 {dep=y}",
           "<f32> t[4]\nb[i] = t[i % 4] {id=x}\nt[i % 4] = a[i] {dep=x}",
       }) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.check_kernel.undefined_temporary",
                 checked_text({"{[i]: 0 <= i < n}", statements, ""}));
  }
  const Described bound{"{[i]: 0 <= i < n} {[j]: 0 <= j < t}", "<i32> t = 2 {inames=i:j}", ""};
  EXPECT_ERROR("loopy.check_kernel.undefined_temporary", checked_text(bound));
}

// conditions and empty loops may keep the first iteration from reading
TEST(Refusals, LeaveTemporariesThatTheFirstIterationSets) {
  const std::string carried =
      checked_text({"{[i]: 0 <= i < n}", "<f32> t = if(i == 0, a[i], 2 - t)\nb[i] = t", ""});
  EXPECT_NE(carried.find("  float t;\n  for "), std::string::npos) << carried;
  const std::string guarded =
      checked_text({"{[i]: 0 <= i < n}", "<f32> t = a[i] {if=i == 0 or t > a[i]}\nb[i] = t", ""});
  EXPECT_NE(guarded.find("  float t;\n  for "), std::string::npos) << guarded;
  const std::string alone =
      checked_text({"{[i]: 0 <= i < n}", "<f32> t = a[i] {if=i == 0 or t > a[i]}", ""});
  EXPECT_NE(alone.find("  float t;\n  for "), std::string::npos) << alone;
  const std::string substituted = checked_text(
      {"{[i, j, l]: 0 <= i < 8 and 0 <= j < i and 0 <= l < 8}",
       "<f32> x[8]\nx[i] = a[i] - sum(j, m[i, j]*x[j]) {id=x}\nb[l] = x[l] {dep=x}", ""});
  EXPECT_NE(substituted.find("float x[8]"), std::string::npos) << substituted;
  const std::string later =
      checked_text({"{[i]: 0 <= i < n}",
                    "for i\n<f32> t = 2 - t {id=x, if=i > 0}\nb[i] = t {id=y, dep=x, if=i > 0}\n"
                    "t = 0 {dep=y}\nend",
                    ""});
  EXPECT_NE(later.find("  float t;\n  for "), std::string::npos) << later;
}

TEST(Refusals, NameLengthsThatAreNoIntegers) {
  for (const char* arguments :
       {"a: f32[n, inf]; b: f32[n, 8]", "a: f32[n, 1e-320]; b: f32[n, 8]",
        "a: f32[n, 16/2]; b: f32[n, 8]", "a: f32[n, 8] {strides=8.5:1}; b: f32[n, 8]",
        "a: f32[n, 8] {offset=inf}; b: f32[n, 8]", "a: f32[n, m]; b: f32[n, 8]; m: f64",
        "a: f32[n, 8]; b: f32[n, 8]; n: f64"}) {
    const Described kernel{"{[i, j]: 0 <= i < n and 0 <= j < 8}",
                           "b[i, j] = a[i, j]",
                           "",
                           {.arguments = arguments, .default_type = cgen::f32}};
    SCOPED_TRACE(arguments);
    EXPECT_ERROR("loopy.check_kernel.bad_length", checked_text(kernel));
    expect_parts(kernel, {"integer", "'f64'"});
  }
  const Described called{"{[i]: 0 <= i < n}",
                         "... nop {id=call, inames=i}",
                         "inline_kernel(\"domains {[k]: 0 <= k < 8}\nkernel scale\narguments x, y: "
                         "f32[8]; s: f32\nstatements\n  y[k] = s*x[k]\", call, x:a[i, _0], "
                         "y:b[i, _0], s:i, as_function=yes)",
                         {.arguments = "a, b: f32[n, inf]; n: i32"}};
  EXPECT_ERROR("loopy.check_kernel.bad_length", checked_text(called));
  expect_parts(called, {"a length of 'a'", "'inf'"});
  EXPECT_ERROR("loopy.check_kernel.bad_length",
               checked_text({"{[i]: 0 <= i < n} {[j]: 0 <= j < m}",
                             "<f32> m = a[i]\nb[i, j] = m",
                             "",
                             {.arguments = "a: f32[n]; b: f32[n, 64]"}}));
}

TEST(Refusals, NameArraysThatAreLengths) {
  const Described buffered{"{[i, k]: 0 <= i < n and 0 <= k < m}",
                           "c[i] = c[i] + a[i, k]",
                           "",
                           {.arguments = "n: f32[c]", .default_type = cgen::f32}};
  EXPECT_ERROR("loopy.make_kernel.mixed_use", checked_text(buffered));
  expect_parts(buffered, {"'c' is an array"});
  for (const char* arguments : {"n: f32[7]", "n: i32[7]", "b: f32[n, 8]; n: i32[7]"}) {
    const Described kernel{"{[i, j]: 0 <= i < n and 0 <= j < 8}",
                           "b[i, j] = 1",
                           "",
                           {.arguments = arguments, .default_type = cgen::f32}};
    SCOPED_TRACE(arguments);
    EXPECT_ERROR("loopy.make_kernel.mixed_use", checked_text(kernel));
    expect_parts(kernel, {"'n' is an array", "another name"});
  }
}

TEST(Refusals, NameTagsOfWhatIsNeitherElementNorCall) {
  EXPECT_ERROR("loopy.parse_statements.syntax",
               checked_text({"{[i]: 0 <= i < n}", "b[i] = a[i$here]", ""}));
  expect_parts({"{[i]: 0 <= i < n}", "b[i] = a[m$here]", ""}, {"'m$here'", "a$near[i]"});
  for (const char* domain :
       {"{[i]: 0 < tm$p = i < n}", "{[i$p]: 0 <= i$p < n}", "[n$p] -> {[i]: 0 <= i < 8}"}) {
    SCOPED_TRACE(domain);
    EXPECT_ERROR("loopy.parse_domain.syntax", checked_text({domain, "b[i] = 1", ""}));
  }
  for (const char* arguments : {"b$p: f32[n]", "b: f32[n$p]", "b: f32[n] {offset=m$p}"}) {
    SCOPED_TRACE(arguments);
    EXPECT_ERROR("loopy.make_kernel.arguments",
                 checked_text({"{[i]: 0 <= i < n}", "b[i] = 1", "", {.arguments = arguments}}));
  }
  for (const char* statements : {"f(x$p) := 2\nb[i] = f(i)", "b[i] = sum(k$p, a[k])"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.parse_statements.syntax",
                 checked_text({"{[i, k]: 0 <= i, k < n}", statements, ""}));
  }
}

TEST(Refusals, NameUnknownFunctionsWhereverTheyAreCalled) {
  const Described operation{"{[row, i]: 0 <= row < rows and 0 <= i < 64}",
                            "longest(a, b) := if(absabs(b), b, a) {neutral=0}\n"
                            "m[row] = reduce(longest, i, x[row, i])",
                            "tag_inames(row:g.0, i:l.0)"};
  EXPECT_ERROR("loopy.type_of.unknown_function", checked_text(operation));
  expect_parts(operation, {"'absabs'"});
  for (const char* statements :
       {"b[i] = if(absabs(a[i]), 1, a[i])", "b[i] = 1 {if=absabs(a[i])}",
        "b[i] = if(not absabs(a[i]) or i > 3, 1, a[i])", "b[i] = cast(i32, absabs(a[i]))",
        "b[i] = a[absabs(i)]", "b[absabs(i)] = 1",
        "o(x, y, u, v) := make_tuple(x + u, absabs(y)) {neutral=0:0}\nb[i] = 1"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR("loopy.type_of.unknown_function",
                 checked_text({"{[i]: 0 <= i < n}",
                               statements,
                               "",
                               {.arguments = "a, b: f32[n]", .default_type = cgen::f32}}));
  }
  EXPECT_ERROR("loopy.type_of.argument_count",
               checked_text({"{[i]: 0 <= i < n}", "b[i] = 1 {if=isnan(a[i], 2)}", ""}));
}

TEST(Refusals, ListTheStatementsOfACircle) {
  const Described kernel{"{[i]: 0 <= i < n}",
                         "a[i] = 1.0 {id=one, dep=three}\nb[i] = 2.0 {id=two, dep=one}\nc[i] = 3.0 "
                         "{id=three, dep=two}",
                         ""};
  EXPECT_ERROR("loopy.check_kernel.dependency_cycle", checked_text(kernel));
  expect_parts(kernel, {"one -> three -> two -> one"});
}

TEST(Refusals, NameTheDependencyThatDoesNotExist) {
  const Described kernel{"{[i]: 0 <= i < n}", "a[i] = 1.0 {id=one, dep=zero}", ""};
  EXPECT_ERROR("loopy.make_kernel.unknown_dependency", checked_text(kernel));
  expect_parts(kernel, {"zero"});
}

TEST(Refusals, NameTheDuplicateThatMakesANestSchedulable) {
  const Described kernel{"{[i, j]: 0 <= i, j < 4}",
                         "a[i] = 1.0 {id=left}\nb[j] = 2.0 {id=right}\nc[i, j] = 3.0 {id=both}",
                         ""};
  EXPECT_ERROR("loopy.schedule.unschedulable", checked_text(kernel));
  expect_parts(kernel, {"'left'", "'right'", "duplicate_inames of 'j'"});
  Described helped = kernel;
  helped.recipe = "duplicate_inames([j], within=\"id:right\")";
  EXPECT_EQ(message_of(helped), "(no error)");
}

TEST(Refusals, NameThePrefetchThatReplacedNothing) {
  const Described kernel{"{[i, k]: 0 <= i, k < 16}", "c[i] = sum(k, a[k])",
                         "add_prefetch(a, [i, k])"};
  EXPECT_ERROR("loopy.add_prefetch.nothing_replaced", checked_text(kernel));
  expect_parts(kernel, {"'a'", "i"});
}

TEST(Refusals, NameTheBlockAxisWithoutALength) {
  const Described kernel{"{[i]: 0 <= i < n}", "a[i] = 1.0", "tag_inames(i:l.0)"};
  EXPECT_ERROR("loopy.check_kernel.no_constant_length", checked_text(kernel));
  expect_parts(kernel, {"'i'", "l.0", "split it"});
}

TEST(Refusals, NameTheAxisWhoseBoundsAreComputed) {
  const Described kernel{"{[i]: 0 <= i < 16} {[j]: 0 <= j < m}",
                         "<i32> m = lengths[i] {id=m}\nout[i, j] = 1.0 {dep=m}",
                         "tag_inames(j:g.0)",
                         {.arguments = "lengths: i32[16]; out: f32[16, 64]"}};
  EXPECT_ERROR("loopy.check_kernel.data_dependent_axis", checked_text(kernel));
  expect_parts(kernel, {"'j'", "'m'", "g.0"});
}

TEST(Refusals, NameTheLoopWhereABarrierWouldPartTheThreads) {
  const Described kernel{
      "{[i]: 0 <= i < 16} {[j]: 0 <= j < m}",
      "<i32> m = lengths[i] {id=m}\n"
      "for i, j\n  s[i] = a[i, j] {id=put}\n  out[i, j] = s[15 - i] {id=get, dep=put}\n"
      "end",
      "tag_inames(i:l.0)",
      {.arguments = "lengths: i32[16]; a, out: f32[16, 64]; s: f32[16]"}};
  EXPECT_ERROR("loopy.insert_barriers.divergent", checked_text(kernel));
  expect_parts(kernel, {"loop 'j'", "'s'", "'put'", "'get'", "'m'"});
}

TEST(Refusals, NameUnknownInamesFunctionsAndDuplicateIds) {
  EXPECT_ERROR("loopy.tag_inames.unknown_iname",
               checked_text({"{[i]: 0 <= i < n}", "a[i] = 1.0", "tag_inames(q:l.0)"}));
  expect_parts({"{[i]: 0 <= i < n}", "a[i] = 1.0", "tag_inames(q:l.0)"}, {"'q'", "i"});
  EXPECT_ERROR("loopy.type_of.unknown_function",
               checked_text({"{[i]: 0 <= i < n}", "a[i] = squareroot(b[i])", ""}));
  expect_parts({"{[i]: 0 <= i < n}", "a[i] = sqr(b[i])", ""}, {"'sqr'", "sqrt"});
  EXPECT_ERROR("loopy.make_kernel.duplicate_id",
               checked_text({"{[i]: 0 <= i < n}", "a[i] = 1.0 {id=s}\nb[i] = 2.0 {id=s}", ""}));
}

TEST(Refusals, ListAllNamesWithoutAType) {
  const Described kernel{"{[i]: 0 <= i < n}", "out[i] = a[i] + b[i]*c[i]", "", {}};
  EXPECT_ERROR("loopy.infer_types.untyped", checked_text(kernel));
  expect_parts(kernel, {"a", "b", "c", "out"});
}

// ---- what is none ----------------------------------------------------------------------------

TEST(Refusals, LeaveWritersToTheOrderOfTheSource) {
  // two writers of one element: the order of the source decides, and it is kept
  const std::string text =
      checked_text({"{[i]: 0 <= i < n}", "a[i] = 1.0 {id=one}\na[i] = 2.0 {id=two}", ""});
  EXPECT_LT(text.find("1.0f"), text.find("2.0f"));
}

}  // namespace
}  // namespace rtcg::loopy
