// Reductions that the blocks of the grid share, in two stages and by atomic functions.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

KernelOptions with_arguments(std::string arguments) {
  KernelOptions options;
  options.arguments = std::move(arguments);
  options.assumptions = "n >= 1";
  return options;
}

SplitOptions tags(std::string outer, std::string inner) {
  SplitOptions options;
  options.outer_tag = std::move(outer);
  options.inner_tag = std::move(inner);
  return options;
}

ReduceOverGridOptions by_atomics() {
  ReduceOverGridOptions options;
  options.how = GridReduction::atomic;
  return options;
}

Kernel sum_of(const std::string& type) {
  return make_kernel("{[i]: 0 <= i < n}", "s[0] = sum(i, a[i]*a[i])",
                     with_arguments("a: " + type + "[n]; s: " + type + "[1]"));
}

/// Blocks of 64 threads that take 5 elements each.
Kernel sliced(const Kernel& kernel) {
  return split_iname(split_iname(kernel, "i", 320, tags("g.0", "")), "i_inner", 64,
                     tags("", "l.0"));
}

TEST(GridReductions, FollowFromATag) {
  const Kernel sum = sum_of("f64");
  const Kernel tagged = sliced(sum);
  const GeneratedProgram program = generate(tagged, Target::cuda);
  ASSERT_EQ(program.launches.size(), 2U);
  EXPECT_EQ(evaluate_integer(program.launches[0].grid[0], {{"n", 1000}}), 4);
  EXPECT_EQ(program.launches[0].block[0], 64);
  EXPECT_EQ(evaluate_integer(program.launches[1].grid[0], {{"n", 1000}}), 1);
  EXPECT_EQ(program.launches[1].block[0], 256);
  ASSERT_EQ(program.parameters.size(), 4U);
  EXPECT_EQ(evaluate_integer(program.parameters.back().temporary_count.value(), {{"n", 1000}}), 4);
  for (const int n : {1, 320, 1000, 100000}) {
    expect_same_everywhere(tagged, sum, {{"n", n}});
  }
}

TEST(GridReductions, GiveTheSameBitsEachTime) {
  const Kernel tagged = sliced(sum_of("f32"));
  const ArgumentData data = random_arguments(infer_types(tagged), {{"n", 5000}}, 3);
  const ArgumentData first = run_kernel(tagged, {{"n", 5000}}, data, runtime::Device::host());
  for (int i = 0; i < 3; ++i) {
    const ArgumentData again = run_kernel(tagged, {{"n", 5000}}, data, runtime::Device::host());
    EXPECT_EQ(first.at("s").bytes, again.at("s").bytes);
  }
}

TEST(GridReductions, RecordThemselves) {
  const Kernel tagged = sliced(sum_of("f32"));
  ReduceOverGridOptions options;
  options.threads = 32;
  expect_recipe(sum_of("f32"), reduce_over_grid(tagged, "i_outer", options),
                "split_iname(i, 320, outer_tag=g.0)\nsplit_iname(i_inner, 64, inner_tag=l.0)\n"
                "reduce_over_grid(i_outer, threads=32)\n");
  EXPECT_EQ(recipe_of(reduce_over_grid(tagged, "i_outer", by_atomics())),
            "split_iname(i, 320, outer_tag=g.0)\nsplit_iname(i_inner, 64, inner_tag=l.0)\n"
            "reduce_over_grid(i_outer, how=atomic)\n");
}

TEST(GridReductions, OfRowsOperationsAndPlaces) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 5}", R"(
      s[j] = 2*sum(i, a[j, i]) + s0[j]
      g[j] = reduce(max, i, a[j, i]*a[j, i]) if s0[j] > 0 else 0
      v[j], p[j] = argmin(i, a[j, i], i)
      mean[j] = sum(i, a[j, i])/sum(i, 1)
      spread[j] = sum(i, (a[j, i] - mean[j])**2)
  )",
                  with_arguments("a: f64[5, n]; s0, s, g, v, mean, spread: f64[5]; "
                                 "p: i32[5]"));
  expect_same_everywhere(sliced(kernel), kernel, {{"n", 700}});
  expect_same_everywhere(tag_inames(sliced(kernel), "j:g.1"), kernel, {{"n", 700}});
  expect_same_everywhere(tag_inames(sliced(kernel), "j:l.1"), kernel, {{"n", 700}});
}

// Two items of a thread along i, and blocks that share the sum.
Kernel threads_with_results(Kernel kernel) {
  SplitOptions along_i;
  along_i.outer_tag = "g.0";
  kernel = split_iname(std::move(kernel), "i", 32, along_i);
  SplitOptions items;
  items.outer_tag = "ilp";
  items.inner_tag = "l.0";
  kernel = split_iname(std::move(kernel), "i_inner", 16, items);
  SplitOptions along_k;
  along_k.outer_tag = "g.1";
  return split_iname(std::move(kernel), "k", 8, along_k);
}

TEST(GridReductions, OfResultsOfThreadsSpreadTheirParts) {
  const auto columns = [](const std::string& domain, const std::string& rows) {
    return make_kernel("{[i, k]: " + domain + " and 0 <= k < " + rows + "}",
                       "s[i] = 2*sum(k, a[k, i])",
                       with_arguments("a: f64[" + rows + ", 70]; s: f64[70]"));
  };
  const Kernel kernel = columns("0 <= i < 70", "n");
  const Kernel shared = threads_with_results(kernel);
  const std::vector<LaunchPlan> launches = generate(shared, Target::cuda).launches;
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].block, (std::array<std::int64_t, 3>{16, 1, 1}));
  // 16 threads for each result, and the items along i are blocks
  EXPECT_EQ(launches[1].block, (std::array<std::int64_t, 3>{16, 16, 1}));
  EXPECT_EQ(launches[1].grid[1], Expr(2));
  // as many threads as there are pairs of parts
  const auto few = generate(threads_with_results(columns("0 <= i < 70", "64")), Target::cuda);
  EXPECT_EQ(few.launches[1].block, (std::array<std::int64_t, 3>{16, 4, 1}));
  for (const int n : {5, 200}) {
    expect_same_everywhere(shared, kernel, {{"n", n}});
  }
  const Kernel triangle =
      make_kernel("{[i, k]: 0 <= i < 70 and 0 <= k <= i}", "s[i] = sum(k, a[k, i])",
                  with_arguments("a: f64[70, 70]; s: f64[70]"));
  expect_same_everywhere(threads_with_results(triangle), triangle, {{"n", 1}});
}

TEST(GridReductions, ThatShareALaunchKeepItsThreads) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < 70 and 0 <= k < n}",
                                    "s[i] = sum(k, a[k, i])\nt[i] = sum(k, a[k, i]*a[k, i])",
                                    with_arguments("a: f64[n, 70]; s, t: f64[70]"));
  const Kernel shared = threads_with_results(kernel);
  const std::vector<LaunchPlan> launches = generate(shared, Target::cuda).launches;
  ASSERT_GE(launches.size(), 3U);
  EXPECT_EQ(launches[1].block, (std::array<std::int64_t, 3>{16, 1, 1}));
  expect_same_everywhere(shared, kernel, {{"n", 100}});
}

TEST(GridReductions, OverSeveralAxesOfTheGrid) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}", "s[0] = sum((i, j), a[i, j])",
                                    with_arguments("a: f64[n, n]; s: f64[1]"));
  const Kernel both = tag_inames(kernel, "i:g.1, j:g.0");
  EXPECT_EQ(generate(both, Target::cuda).launches.size(), 3U);
  expect_same_everywhere(both, kernel, {{"n", 30}});
}

TEST(GridReductions, WithBoundsThatDependOnOneAnother) {
  const Kernel triangle =
      make_kernel("{[j, i, k]: 0 <= j < 6 and 0 <= i <= j and i <= k < n}",
                  "s[j] = sum((i, k), a[i, k])", with_arguments("a: f64[6, n]; s: f64[6]"));
  expect_same_everywhere(tag_inames(triangle, "i:g.0"), triangle, {{"n", 9}});
  expect_same_everywhere(tag_inames(triangle, "i:g.0, j:g.1"), triangle, {{"n", 9}});
  const Kernel sum = sum_of("f64");
  const Kernel both = split_iname(sum, "i", 16, tags("g.0", "g.1"));
  expect_same_everywhere(both, sum, {{"n", 35}});
}

TEST(GridReductions, ByAtomicFunctionsStartFromTheNeutralElement) {
  for (const char* type : {"f32", "i32", "u32"}) {
    const Kernel atomic = reduce_over_grid(sliced(sum_of(type)), "i_outer", by_atomics());
    EXPECT_EQ(generate(atomic, Target::cuda).launches.size(), 2U);
    EXPECT_EQ(count_of("atomicAdd", generate_text(atomic, Target::cuda)), 1);
    // whole numbers: their sum is the same in any order
    CompareOptions compare;
    for (int i = 0; i < 1000; ++i) {
      compare.values["a"].push_back(i % 7);
    }
    expect_same_everywhere(atomic, sum_of(type), {{"n", 1000}}, compare);
  }
  const Kernel conditions = make_kernel("{[i]: 0 <= i < n}", R"(
      l[0] = reduce(min, i, a[i])
      g[0] = reduce(max, i, a[i])
      y[0] = any(i, a[i] > c[0])
      z[0] = all(i, a[i] > c[0])
  )",
                                        with_arguments("a: i32[n]; c, l, g, y, z: i32[1]"));
  const Kernel atomic = reduce_over_grid(sliced(conditions), "i_outer", by_atomics());
  for (const int bound : {-1000000, 0, 1000000}) {
    CompareOptions compare;
    compare.values = {{"c", {static_cast<double>(bound)}}};
    expect_same_everywhere(atomic, conditions, {{"n", 1000}}, compare);
  }
}

TEST(GridReductions, ByAtomicFunctionsAddToWhatIsThere) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "s[0] += sum(i, a[i])",
                                    with_arguments("a: f32[n]; s: f32[1]"));
  const Kernel atomic = reduce_over_grid(sliced(kernel), "i_outer", by_atomics());
  EXPECT_EQ(generate(atomic, Target::cuda).launches.size(), 1U);
  CompareOptions compare;
  compare.values["s"] = {100};
  for (int i = 0; i < 1000; ++i) {
    compare.values["a"].push_back(i % 7);
  }
  expect_same_everywhere(atomic, kernel, {{"n", 1000}}, compare);
}

ReduceOverGridOptions by_last_block() {
  ReduceOverGridOptions options;
  options.how = GridReduction::last_block;
  return options;
}

TEST(GridReductions, ByTheLastBlockTakeOneLaunch) {
  const Kernel sum = sum_of("f64");
  const Kernel last = reduce_over_grid(sliced(sum), "i_outer", by_last_block());
  EXPECT_EQ(generate(last, Target::cuda).launches.size(), 1U);
  EXPECT_EQ(generate(last, Target::host).launches.size(), 1U);
  EXPECT_EQ(generate(last, Target::opencl).launches.size(), 2U);  // which has no fences for blocks
  const GeneratedProgram program = generate(last, Target::cuda);
  EXPECT_EQ(program.launches[0].block[0], 64);
  EXPECT_TRUE(program.parameters.back().starts_at_zero);
  const std::string text = generate_text(last, Target::cuda);
  EXPECT_EQ(count_of("__threadfence();", text), 2) << text;
  EXPECT_EQ(count_of("double *s_parts", text), 1) << text;  // without __restrict__
  for (const int n : {1, 320, 1000, 100000}) {
    expect_same_everywhere(last, sum, {{"n", n}});
  }
  expect_recipe(sum, last,
                "split_iname(i, 320, outer_tag=g.0)\nsplit_iname(i_inner, 64, inner_tag=l.0)\n"
                "reduce_over_grid(i_outer, how=last)\n");
}

TEST(GridReductions, ByTheLastBlockGiveTheSameBitsEachTime) {
  const Kernel last = reduce_over_grid(sliced(sum_of("f32")), "i_outer", by_last_block());
  const ArgumentData data = random_arguments(infer_types(last), {{"n", 5000}}, 3);
  const ArgumentData first = run_kernel(last, {{"n", 5000}}, data, runtime::Device::host());
  for (int i = 0; i < 3; ++i) {
    const ArgumentData again = run_kernel(last, {{"n", 5000}}, data, runtime::Device::host());
    EXPECT_EQ(first.at("s").bytes, again.at("s").bytes);
  }
}

TEST(GridReductions, ByTheLastBlockOfEachRow) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 5}", R"(
      s[j] = 2*sum(i, a[j, i]) + s0[j]
      v[j], p[j] = argmin(i, a[j, i], i)
      spread[j] = sum(i, (a[j, i] - s[j])**2)
  )",
                  with_arguments("a: f64[5, n]; s0, s, v, spread: f64[5]; p: i32[5]"));
  for (const char* rows : {"j:g.1", "j:l.1", "j:for"}) {
    SCOPED_TRACE(rows);
    const Kernel blocks =
        rows == std::string("j:for") ? sliced(kernel) : tag_inames(sliced(kernel), rows);
    const Kernel last = reduce_over_grid(blocks, "i_outer", by_last_block());
    expect_same_everywhere(last, kernel, {{"n", 700}});
    if (rows == std::string("j:g.1")) {
      EXPECT_EQ(generate(last, Target::cuda).launches.size(), 2U);  // spread reads s
    }
  }
}

// Blocks read the elements once for all results, and one last block gives all of them.
TEST(GridReductions, OfSeveralResultsShareTheirLaunches) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", R"(
      s[0] = sum(i, a[i])
      g[0] = reduce(max, i, a[i])/sum(i, b[i])
      v[0], p[0] = argmin(i, b[i], i)
      t[0] = s[0] + sum(i, a[i]*b[i])
  )",
                                    with_arguments("a, b: f64[n]; s, g, v, t: f64[1]; p: i32[1]"));
  const Kernel tagged = sliced(kernel);
  EXPECT_EQ(generate(tagged, Target::cuda).launches.size(), 4U);  // t reads s
  const Kernel last = reduce_over_grid(tagged, "i_outer", by_last_block());
  EXPECT_EQ(generate(last, Target::cuda).launches.size(), 2U);
  EXPECT_EQ(count_of("atomicAdd", generate_text(last, Target::cuda)), 2);
  expect_same_everywhere(tagged, kernel, {{"n", 1000}});
  expect_same_everywhere(last, kernel, {{"n", 1000}});
  // those of rows share the loop around them
  const Kernel rows = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 5}",
                                  "s[j] = sum(i, a[j, i])\nv[j], p[j] = argmax(i, a[j, i], i)",
                                  with_arguments("a: f64[5, n]; s, v: f64[5]; p: i32[5]"));
  EXPECT_EQ(generate(sliced(rows), Target::cuda).launches.size(), 2U);
  expect_same_everywhere(sliced(rows), rows, {{"n", 700}});
}

TEST(GridReductions, ByTheLastBlockRunAgainAndAgain) {
  const Kernel sum = sum_of("f64");
  const Executor executor(reduce_over_grid(sliced(sum), "i_outer", by_last_block()),
                          runtime::Device::host());
  runtime::Stream stream(runtime::Device::host());
  const runtime::Buffer<double> a(runtime::Device::host(), std::vector<double>(1000, 2.0));
  for (int run = 0; run < 3; ++run) {
    const runtime::Buffer<double> s(runtime::Device::host(), std::vector<double>(1, 0.0));
    executor(stream, {arg("a", a), arg("s", s), arg("n", 1000)});
    stream.synchronize();
    EXPECT_EQ(s.host_span()[0], 4000.0);
  }
}

TEST(GridReductions, AreFollowedByTilesThatRunAhead) {
  KernelOptions options;
  options.default_type = cgen::f64;
  const Kernel kernel =
      make_kernel("{[c, r]: 0 <= c < 5 and 0 <= r < 6} {[p, q, k]: 0 <= p <= q < 5 and 0 <= k < 6}",
                  "mean[c] = sum(r, x[r, c])/6\n"
                  "... gbarrier\n"
                  "s[p, q] = sum(k, x[k, p]*x[k, q])/mean[q]",
                  options);
  const std::string words =
      "c: g.0 l.0*4; r: g.1 for*2 l.1*2; q: g.0 l.0*4; p: g.1 ilp*2; k: for for*4; "
      "fetch x#2 stages 2; fetch x#3 stages 2; last r";
  expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {}, {});
}

// The copies into tiles stand before the first statement that reads the sums.
TEST(GridReductions, InTwoStagesAreFollowedByTiles) {
  const Kernel kernel = make_kernel(
      "{[c, r]: 0 <= c < 5 and 0 <= r < 9} {[b, d, k]: 0 <= b < 5 and 0 <= d < 6 and 0 <= k < 9}",
      "total[c] = sum(r, w[c, r])\n"
      "... gbarrier\n"
      "mean[b, d] = sum(k, w[b, k]*x[k, d])/total[b]",
      {.default_type = cgen::f64});
  const std::string first = "c: g.0 l.0*4; r: g.1 for*2 l.1*2; ";
  for (const char* words : {"d: g.0 l.0*4; b: g.1 l.1*2; k: for for*3; fetch w#2; fetch x",
                            "d: g.0 l.0*4; b: g.1 l.1*2; k: for l.2*2 for*2; fetch w#2; fetch x; "
                            "fetch total; stages 2"}) {
    SCOPED_TRACE(words);
    const Kernel sliced = apply(kernel, parse_slicing(first + words));
    EXPECT_EQ(generate(sliced, Target::cuda).launches.size(), 3U);
    expect_same_everywhere(sliced, kernel, {}, {});
  }
}

TEST(GridReductions, RefuseToTearValuesFromTheirIteration) {
  const Kernel kernel = tag_inames(make_kernel("{[i, r]: 0 <= i < 5 and 0 <= r < n}",
                                               "<> t = 2*b[i]\nout[i] = sum(r, a[i, r]*t)",
                                               with_arguments("a: f32[5, n]; b, out: f32[5]")),
                                   "r:g.0");
  EXPECT_ERROR("loopy.reduce_over_grid.value_of_an_iteration", reduce_over_grid(kernel, "r"));
  EXPECT_ERROR("loopy.realize_reductions.parallel_iname", generate(kernel, Target::cuda));
}

// The loop around the sum would run once for the parts and again for the results.
TEST(GridReductions, RefuseLoopsThatHandValuesOn) {
  const char* const domains = "{[t, r]: 0 <= t < n and 0 <= r < 64} {[y]: 0 <= y < 4}";
  const auto plain = [&](const char* statements) {
    KernelOptions options = with_arguments("a: f64[64, n]; x: f64[n + 1]; y0: f64[4]; n: i32");
    options.default_type = cgen::f64;
    options.sequential_dependencies = true;
    return make_kernel(domains, statements, options);
  };
  const auto with_grid = [&](const char* statements) {
    return split_iname(plain(statements), "r", 16, tags("g.0", "l.0"));
  };
  const char* const code = "loopy.reduce_over_grid.carried_value";
  for (const char* statements :
       {"x[t + 1] = sum(r, a[r, t]*x[t])  {inames=t}",
        "for t\n  y0[1] = sum(r, a[r, t]*x[0])\n  x[0] = y0[1]\nend",
        "for t\n  y0[2] = sum(r, a[r, t]*y0[3])\n  ... gbarrier\n  y0[y] = 2*y0[2] + t\nend"}) {
    SCOPED_TRACE(statements);
    EXPECT_ERROR(code, reduce_over_grid(with_grid(statements), "r_outer"));
    EXPECT_ERROR("loopy.realize_reductions.parallel_iname",
                 generate(with_grid(statements), Target::cuda));
  }
  // the start of the sum is a launch before those of all iterations
  EXPECT_ERROR(code, reduce_over_grid(with_grid("y0[2] = sum(r, a[r, t])  {inames=t}"), "r_outer",
                                      by_atomics()));
  // each iteration has an element of its own, or is only added to
  for (const char* statements :
       {"x[t + 1] = 0.5*x[t] + sum(r, a[r, t])  {inames=t}", "x[t] = x[t] + sum(r, a[r, t])",
        "for t\n  x[t] = sum(r, a[r, t])\n  y0[1] = y0[1] + x[t]\nend"}) {
    SCOPED_TRACE(statements);
    expect_same_everywhere(with_grid(statements), plain(statements), {{"n", 5}});
  }
}

TEST(GridReductions, RefuseWhatTheyCannotDo) {
  const Kernel sum = sum_of("f32");
  const Kernel tagged = sliced(sum);
  EXPECT_ERROR("loopy.reduce_over_grid.unknown_iname", reduce_over_grid(tagged, "q"));
  EXPECT_ERROR("loopy.reduce_over_grid.not_on_grid", reduce_over_grid(sum, "i"));
  EXPECT_TRUE(why_not([&] { return reduce_over_grid(sum, "i"); }).has_value());
  EXPECT_FALSE(why_not([&] { return reduce_over_grid(tagged, "i_outer"); }).has_value());
  ReduceOverGridOptions odd;
  odd.threads = 100;
  EXPECT_ERROR("loopy.reduce_over_grid.threads", reduce_over_grid(tagged, "i_outer", odd));
  const Kernel plain =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = a[i]", with_arguments("a, b: f32[n]"));
  EXPECT_ERROR("loopy.reduce_over_grid.no_reduction",
               reduce_over_grid(tag_inames(plain, "i:g.0"), "i"));
  const Kernel nested =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 3}", "s[0] = sum(k, c[k]*sum(i, a[i]*b[k]))",
                  with_arguments("a: f32[n]; b, c: f32[3]; s: f32[1]"));
  EXPECT_ERROR("loopy.reduce_over_grid.nested", reduce_over_grid(tag_inames(nested, "i:g.0"), "i"));
  EXPECT_ERROR("loopy.realize_reductions.parallel_iname",
               generate(tag_inames(nested, "i:g.0"), Target::cuda));
  const Kernel negative = make_kernel("{[i]: -n <= i < n}", "s[0] = sum(i, a[i + n])",
                                      with_arguments("a: f32[2*n]; s: f32[1]"));
  EXPECT_ERROR("loopy.reduce_over_grid.bounds",
               reduce_over_grid(tag_inames(negative, "i:g.0"), "i"));
  const Kernel smallest = make_kernel("{[i]: 0 <= i < n}", "s[0] = reduce(min, i, a[i])",
                                      with_arguments("a: f32[n]; s: f32[1]"));
  EXPECT_ERROR("loopy.reduce_over_grid.no_atomic",
               reduce_over_grid(sliced(smallest), "i_outer", by_atomics()));
}

TEST(GlobalTemporaries, CarryValuesFromLaunchToLaunch) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i, j < n}", R"(
      <f32> t[n]
      t[i] = 2*a[i]       {id=fill}
      ... gbarrier        {id=meet, dep=fill}
      b[j] = t[n - 1 - j] {dep=meet}
  )",
                                    with_arguments("a, b: f32[n]"));
  const Kernel reference =
      make_kernel("{[j]: 0 <= j < n}", "b[j] = 2*a[n - 1 - j]", with_arguments("a, b: f32[n]"));
  Kernel shared = kernel;
  for (Temporary& each : shared.temporaries) {
    each.address_space = AddressSpace::global;
  }
  shared =
      split_iname(split_iname(shared, "i", 16, tags("g.0", "l.0")), "j", 16, tags("g.0", "l.0"));
  expect_same_everywhere(shared, reference, {{"n", 50}});
}

TEST(GridReductions, AddNothingOfBlocksThatTheDomainCutsOff) {
  // the array goes on where the sum does not
  const Kernel sum =
      make_kernel("{[g, r]: 0 <= g < 2 and 0 <= r < 4 and 4*g + r < 6}",
                  "s[0] = sum((g, r), a[4*g + r])", with_arguments("a: f64[24]; s: f64[1]"));
  const Kernel tagged = tag_inames(sum, "g:g.0, r:l.0");
  EXPECT_NE(generate_text(tagged, Target::cuda).find("if (4 * g + r < 6) {"), std::string::npos);
  expect_same_everywhere(tagged, sum, {{"n", 1}});
  const Kernel rows = make_kernel("{[i, r]: 0 <= i < 12 and 0 <= r < 6}", "s[i] = sum(r, a[i, r])",
                                  with_arguments("a: f64[12, 24]; s: f64[12]"));
  const Kernel twice = split_iname(split_iname(rows, "r", 5), "r_inner", 3, tags("l.1", "g.0"));
  expect_same_everywhere(twice, rows, {{"n", 1}});
}

}  // namespace
}  // namespace rtcg::loopy
