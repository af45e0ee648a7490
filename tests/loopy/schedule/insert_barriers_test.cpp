// Where barriers stand, and that they stand where the threads need them.
#include "rtcg/loopy/schedule/insert_barriers.h"

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/support/run_schedule.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements, std::string_view recipe,
                 const KernelOptions& options = {.default_type = cgen::f64}) {
  return apply_recipe(make_kernel(domains, statements, options), recipe);
}

std::string schedule_of(const Kernel& described) {
  const Kernel kernel = preprocess(described);
  return to_string(kernel, insert_barriers(kernel, build_loop_tree(kernel)));
}

int barriers_in(const Kernel& described) {
  const std::string text = schedule_of(described);
  int count = 0;
  for (std::size_t at = text.find("barrier for"); at != std::string::npos;
       at = text.find("barrier for", at + 1)) {
    ++count;
  }
  return count;
}

void expect_right(const Kernel& described, const ScheduleRun::Values& parameters = {}) {
  const ScheduleRun run = run_schedule(described, parameters);
  EXPECT_EQ(run.problem(), "") << schedule_of(described);
  EXPECT_FALSE(run.results().empty());
}

// ---- the verifier itself ---------------------------------------------------------------------

TEST(ScheduleRun, SeesAMissingBarrier) {
  const Kernel kernel =
      preprocess(kernel_of("{[i]: 0 <= i < 8}", "<> s[i] = a[i] {id=put}\nb[i] = s[7 - i] {id=get}",
                           "tag_inames(i:l.0); set_temporary_address_space([s], local)"));
  const ScheduleRun without(kernel, build_loop_tree(kernel), {});
  EXPECT_NE(without.problem().find("'put' in thread"), std::string::npos) << without.problem();
  const ScheduleRun with(kernel, insert_barriers(kernel, build_loop_tree(kernel)), {});
  EXPECT_EQ(with.problem(), "");
  EXPECT_EQ(with.barriers_passed(), 1);
  EXPECT_EQ(with.results().size(), 8U);
}

TEST(ScheduleRun, SeesValuesThatAreMissing) {
  Kernel kernel = preprocess(
      kernel_of("{[i]: 0 <= i < 8}", "<> s = a[i] {id=put, if=i > 2}\nb[i] = s {id=get}", ""));
  const ScheduleRun run(kernel, build_loop_tree(kernel), {});
  EXPECT_EQ(run.problem(), "'get' reads s[], which has no value");
}

TEST(ScheduleRun, SeesBlocksThatMeet) {
  const Kernel kernel = preprocess(kernel_of(
      "{[i, j]: 0 <= i, j < 8}", "b[i] = 1.0\nc[j] = b[7 - j]", "tag_inames(i:g.0, j:g.0)"));
  const ScheduleRun run(kernel, build_loop_tree(kernel), {});
  EXPECT_NE(run.problem().find("of block"), std::string::npos);
}

// ---- barriers --------------------------------------------------------------------------------

TEST(InsertBarriers, PutsOneBetweenWritingAndReadingAcrossThreads) {
  const Kernel kernel =
      kernel_of("{[i]: 0 <= i < 8}", "<> s[i] = a[i] {id=put}\nb[i] = s[7 - i] {id=get}",
                "tag_inames(i:l.0)");
  EXPECT_EQ(schedule_of(kernel),
            "put i:l.0\nbarrier for 's', which 'put' and 'get' share\nget i:l.0\n");
  expect_right(kernel);
}

TEST(InsertBarriers, NeedsNoneWithinAThread) {
  const Kernel kernel =
      kernel_of("{[i]: 0 <= i < 8}", "<> s[i] = a[i]\nb[i] = 2*s[i]", "tag_inames(i:l.0)");
  EXPECT_EQ(barriers_in(kernel), 0);
  expect_right(kernel);
}

TEST(InsertBarriers, NeedsNoneWhereLoopsAreCutSeveralTimes) {
  const Kernel kernel = kernel_of("{[i]: 0 <= i < 1000}", "x[i] = 2*x[i]",
                                  "split_iname(i, 40, outer_tag=g.0)\n"
                                  "split_iname(i_inner, 20, outer_tag=ilp)\n"
                                  "split_iname(i_inner_inner, 5, outer_tag=l.0, inner_tag=ilp)");
  EXPECT_EQ(barriers_in(kernel), 0);
}

TEST(InsertBarriers, NeedsNoneWhereTrianglesAreCutSeveralTimes) {
  const Kernel kernel = kernel_of("{[i, j]: 0 <= j <= i < 1200}", "c[i, j] = 2*c[i, j]",
                                  "split_iname(i, 64, outer_tag=g.1)\n"
                                  "split_iname(i_inner, 16, outer_tag=ilp)\n"
                                  "split_iname(i_inner_inner, 2, outer_tag=l.1, inner_tag=ilp)\n"
                                  "split_iname(j, 48, outer_tag=g.0)\n"
                                  "split_iname(j_inner, 12, outer_tag=ilp, inner_tag=l.0)",
                                  {.arguments = "c: f64[1200, 1200]"});
  EXPECT_EQ(barriers_in(kernel), 0);
}

TEST(InsertBarriers, KeepsIterationsApart) {
  // one after the writes, one before the next iteration's
  const Kernel kernel =
      kernel_of("{[k, i]: 0 <= k < n and 0 <= i < 8}",
                "for k, i\n  <> s[i] = a[k, i] {id=put}\n  b[k, i] = s[7 - i] {id=get}\nend",
                "tag_inames(i:l.0)", {.arguments = "a, b: f64[n, 8]", .default_type = cgen::f64});
  EXPECT_EQ(schedule_of(kernel),
            "for k (for)\n"
            "  barrier for 's', which 'get' and 'put' share\n"
            "  put i:l.0\n"
            "  barrier for 's', which 'put' and 'get' share\n"
            "  get i:l.0\n");
  expect_right(kernel, {{"n", 3}});
}

TEST(InsertBarriers, PutsOneBeforeALoopRatherThanIntoIt) {
  const Kernel kernel = kernel_of("{[k, i]: 0 <= k < 4 and 0 <= i < 8}",
                                  "<> s[i] = a[i] {id=put, inames=i}\n"
                                  "b[k, i] = s[7 - i] {id=get}",
                                  "tag_inames(i:l.0)");
  EXPECT_EQ(schedule_of(kernel),
            "put i:l.0\n"
            "barrier for 's', which 'put' and 'get' share\n"
            "for k (for)\n"
            "  get i:l.0\n");
  expect_right(kernel);
}

TEST(InsertBarriers, CountsInamesFromTheStartOfTheirAxis) {
  // i from 0 and j from 1 share an axis: element j is written by thread j and read by thread j - 1
  const std::string domains = "{[i]: 0 <= i < 9} {[j]: 1 <= j < 10}";
  const KernelOptions options{.arguments = "a: f64[9]; b: f64[10]", .default_type = cgen::f64};
  const Kernel apart = kernel_of(domains, "<> s[i] = a[i] {id=put}\nb[j] = s[9 - j] + s[j - 1]",
                                 "tag_inames(i:l.0, j:l.0)", options);
  EXPECT_EQ(barriers_in(apart), 1);
  expect_right(apart);
  const Kernel same = kernel_of(domains, "<> s[i] = a[i] {id=put}\nb[j] = s[j - 1]",
                                "tag_inames(i:l.0, j:l.0)", options);
  EXPECT_EQ(barriers_in(same), 0);
  expect_right(same);
  const Kernel shifted = kernel_of(
      "{[i]: 0 <= i < 10} {[j]: 1 <= j < 10}", "<> s[i] = a[i] {id=put}\nb[j] = s[j]",
      "tag_inames(i:l.0, j:l.0)", {.arguments = "a, b: f64[10]", .default_type = cgen::f64});
  EXPECT_EQ(barriers_in(shifted), 1);
  expect_right(shifted);
}

TEST(InsertBarriers, KnowsThatStatementsOffTheAxisRunInTheFirstThread) {
  // thread 0 sums up what all have written
  const Kernel kernel =
      kernel_of("{[i, k]: 0 <= i, k < 8}", "<> s[i] = a[i] {id=put}\nb[0] = sum(k, s[k]) {id=get}",
                "tag_inames(i:l.0)");
  EXPECT_EQ(barriers_in(kernel), 1);
  expect_right(kernel);
}

TEST(InsertBarriers, KnowsThatEachBlockFillsItsOwnSharedMemory) {
  // 'fill' is on no axis of the grid, so every block reads g, which block 0 changes
  EXPECT_ERROR("loopy.insert_barriers.needs_global_barrier",
               schedule_of(kernel_of("{[i, j, b]: 0 <= i, j < 8 and 0 <= b < 4}",
                                     "<> s[i] = g[i] {id=fill, inames=i}\n"
                                     "g[8*b + j] = s[7 - j] {id=change}",
                                     "tag_inames(i:l.0, j:l.0, b:g.0)",
                                     {.arguments = "g: f64[32]", .default_type = cgen::f64})));
}

TEST(InsertBarriers, SaysHowDescriptionsAndSlicingsEndALaunch) {
  try {
    static_cast<void>(schedule_of(
        kernel_of("{[i, j]: 0 <= i, j < 8}", "<> s[i] = a[i] {id=put}\nb[j] = s[7 - j] {id=get}",
                  "set_temporary_address_space(s, global)\ntag_inames(i:g.0, j:g.0)")));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(error.message().find("put '... gbarrier' between the two, which makes two launches "
                                   "(in a slicing: 'launch before' an iname of 'get')"),
              std::string::npos)
        << error.message();
  }
}

TEST(InsertBarriers, LooksAtTheAxesOfEachLaunchAlone) {
  // the first launch has one thread, whatever the second one has
  const Kernel kernel = kernel_of("{[k, i]: 0 <= k < 4 and 0 <= i < 8}",
                                  "a[k] = 2*b[k] {id=put}\n<> t = a[k] + 1 {id=get}\n"
                                  "c[k] = t*t {id=use}\n... gbarrier\nd[i] = c[i % 4] {id=spread}",
                                  "tag_inames(i:l.0)");
  EXPECT_EQ(barriers_in(kernel), 0);
  expect_right(kernel);
}

TEST(InsertBarriers, TakesTheEndOfAnIterationOfTheHostForOne) {
  const char* statements =
      "for t\n  s[i] = u[i] {id=put}\n  v[i] = s[7 - i] {id=get}\n  ... gbarrier\n"
      "  u[j] = v[7 - j] {id=back}\nend";
  const Kernel kernel = kernel_of("{[t, i, j]: 0 <= t < 3 and 0 <= i, j < 8}",
                                  std::string("<f64> s[8]\n") + statements,
                                  "tag_inames(i:l.0, j:l.0)\n"
                                  "set_temporary_address_space([s], local)");
  EXPECT_EQ(schedule_of(kernel),
            "for t (host)\n  put i:l.0\n  barrier for 's', which 'put' and 'get' share\n"
            "  get i:l.0\n  next launch\n  back j:l.0\n");
  expect_right(kernel);
}

TEST(InsertBarriers, PutsOneBetweenAtomicUpdatesAndReading) {
  const Kernel kernel =
      kernel_of("{[i, j]: 0 <= i, j < 8}",
                "<> s[0] = 0 {id=init, inames=}\n"
                "s[0] = s[0] + a[i] {id=add, atomic}\n"
                "b[j] = s[0] {id=get}",
                "tag_inames(i:l.0, j:l.0); set_temporary_address_space([s], local)",
                {.arguments = "a, b: f64[8]", .default_type = cgen::f64});
  EXPECT_EQ(barriers_in(kernel), 2) << schedule_of(kernel);
  expect_right(kernel);
}

}  // namespace
}  // namespace rtcg::loopy
