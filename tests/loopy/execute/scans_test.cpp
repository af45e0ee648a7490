// Scans: the same values as reductions, computed step by step.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements,
                 const std::string& arguments) {
  KernelOptions options;
  options.arguments = arguments;
  options.assumptions = "n >= 1";
  return make_kernel(domains, statements, options);
}

/// Running results of two kinds, with and without the element itself.
struct Pair {
  Kernel scanned;
  Kernel reduced;
};
Pair running(const std::string& length, const std::string& type) {
  const std::string domains = "{[i]: 0 <= i < " + length + "} {[j]: 0 <= j <= i} {[k]: 0 <= k < i}";
  const std::string arguments =
      "a: " + type + "[" + length + "]; s, g: " + type + "[" + length + "]";
  return {kernel_of(domains, "s[i] = scan(sum, j, a[j])\ng[i] = 2*scan(sum, k, a[k]*a[k]) + 1",
                    arguments),
          kernel_of(domains, "s[i] = sum(j, a[j])\ng[i] = 2*sum(k, a[k]*a[k]) + 1", arguments)};
}

TEST(Scans, AreWrittenAndReadBack) {
  const Expr running_sum = scan({"sum", {"j"}, {access("a", {name("j")})}});
  EXPECT_EQ(parse_expr("scan(sum, j, a[j])"), running_sum);
  EXPECT_EQ(to_string(running_sum), "scan(sum, j, a[j])");
  EXPECT_EQ(to_string(parse_expr("2*scan(max, (j, k), a[j, k]) + 1")),
            "2*scan(max, (j, k), a[j, k]) + 1");
  EXPECT_ERROR("loopy.parse_expr.syntax", parse_expr("scan(j, a[j])"));
}

TEST(Scans, AlongALoopTakeOneStepEach) {
  const Pair pair = running("n", "f64");
  const std::string text = generate_text(pair.scanned, Target::cuda);
  EXPECT_EQ(count_of("for (", text), 1);
  for (const int n : {1, 2, 3, 16, 50}) {
    expect_same_everywhere(pair.scanned, pair.reduced, {{"n", n}});
  }
}

TEST(Scans, AlongASplitLoopGoOn) {
  const Pair pair = running("n", "i32");
  const Kernel split = split_iname(pair.scanned, "i", 4);
  for (const int n : {1, 4, 7, 18}) {
    expect_same_everywhere(split, pair.reduced, {{"n", n}});
  }
}

TEST(Scans, AlongTheThreadsOfABlock) {
  for (const int length : {1, 2, 3, 16, 17, 100}) {
    const Pair pair = running(std::to_string(length), "f64");
    const Kernel tagged = tag_inames(pair.scanned, "i:l.0");
    const std::string text = generate_text(tagged, Target::cuda);
    EXPECT_EQ(count_of("for (", text), 0);
    expect_same_everywhere(tagged, pair.reduced, {{"n", 1}});
  }
}

TEST(Scans, InRowsOnAllAxes) {
  const std::string domains = "{[r, i, j]: 0 <= r < 3 and 0 <= i < 20 and 0 <= j <= i}";
  const std::string arguments = "a, s, p, l, g: f64[3, 20]";
  const Kernel reduced = kernel_of(domains, R"(
      s[r, i] = sum(j, a[r, j])
      p[r, i] = product(j, 1 + a[r, j])
      l[r, i] = reduce(min, j, a[r, j])
      g[r, i] = reduce(max, j, a[r, j])
  )",
                                   arguments);
  const Kernel scanned = kernel_of(domains, R"(
      s[r, i] = scan(sum, j, a[r, j])
      p[r, i] = scan(product, j, 1 + a[r, j])
      l[r, i] = scan(min, j, a[r, j])
      g[r, i] = scan(max, j, a[r, j])
  )",
                                   arguments);
  for (const char* tags : {"r:g.0", "r:l.0", "r:g.0, i:l.0", "r:l.1, i:l.0", "r:l.0, i:l.1"}) {
    SCOPED_TRACE(tags);
    expect_same_everywhere(tag_inames(scanned, tags), reduced, {{"n", 3}});
  }
}

TEST(Scans, OfColumnsSideBySide) {
  const std::string domains = "{[i, r]: 0 <= i < n and 0 <= r < 11} {[j]: 0 <= j <= i}";
  const std::string arguments = "a, s: f64[n, 11]";
  const Kernel scanned = kernel_of(domains, "s[i, r] = scan(sum, j, a[j, r])", arguments);
  const Kernel reduced = kernel_of(domains, "s[i, r] = sum(j, a[j, r])", arguments);
  for (const char* words : {"i: for l.1*4 unr*2; r: g.0 l.0*8", "i: for l.1*3; r: g.0 l.0*4"}) {
    SCOPED_TRACE(words);
    for (const int n : {1, 8, 37}) {
      expect_same_everywhere(apply(scanned, parse_slicing(words)), reduced, {{"n", n}});
    }
  }
}

TEST(Scans, AlongMoreThanTheThreadsOfABlockCarryOn) {
  const Pair pair = running("n", "f64");
  const Kernel split = split_iname(pair.scanned, "i", 8, {.inner_tag = "l.0"});
  const std::string text = generate_text(split, Target::cuda);
  EXPECT_EQ(count_of("for (int i_outer", text), 1) << text;
  for (const int n : {1, 8, 29}) {
    expect_same_everywhere(split, pair.reduced, {{"n", n}});
  }
  // with elements before the first thread's, and two new ones for each
  const std::string domains = "{[i]: 0 <= i < n} {[j]: 0 <= j <= 2*i + 5}";
  const std::string arguments = "a: i64[2*n + 4]; s: i64[n]";
  expect_same_everywhere(split_iname(kernel_of(domains, "s[i] = scan(sum, j, a[j])", arguments),
                                     "i", 4, {.inner_tag = "l.0"}),
                         kernel_of(domains, "s[i] = sum(j, a[j])", arguments), {{"n", 11}});
}

TEST(Scans, AlongWarpsTakeShufflesAndOneBarrier) {
  for (const char* type : {"f64", "i32"}) {
    SCOPED_TRACE(type);
    for (const int length : {32, 96}) {
      const Pair pair = running(std::to_string(length), type);
      const Kernel tagged = tag_inames(pair.scanned, "i:l.0");
      const std::string text = generate_text(tagged, Target::cuda);
      EXPECT_EQ(count_of("__syncthreads", text), length == 32 ? 0 : 2) << text;
      EXPECT_GE(count_of("__shfl_up_sync", text), 10);
      expect_same_everywhere(tagged, pair.reduced, {{"n", 1}});
    }
  }
  // with threads beyond the end, rows of warps, and loops around
  const Pair pair = running("n", "i32");
  const Kernel split = split_iname(pair.scanned, "i", 64, {.inner_tag = "l.0"});
  const std::string domains = "{[r, i, j]: 0 <= r < 5 and 0 <= i < n and 0 <= j <= i}";
  const Kernel rows = kernel_of(domains, "s[r, i] = scan(max, j, a[r, j])", "a, s: f32[5, n]");
  const Kernel split_rows = tag_inames(split_iname(rows, "i", 32, {.inner_tag = "l.0"}), "r:l.1");
  for (const int n : {31, 150}) {
    expect_same_everywhere(split, pair.reduced, {{"n", n}});
    expect_same_everywhere(split_rows, rows, {{"n", n}});
  }
}

TEST(Scans, AlongTheItemsOfThreads) {
  const Pair pair = running("n", "i32");
  const std::string after =
      "after(a, b, c, d) := make_tuple(c*a, c*b + d)  {neutral=1:0}\n"
      "u[i], v[i] = scan(after, j, a[j], b[j])";
  const Kernel maps =
      kernel_of("{[i, j]: 0 <= i < n and 0 <= j <= i}", after, "a, b, u, v: i32[n]");
  const Kernel places =
      kernel_of("{[i, j]: 0 <= i < n and 0 <= j <= i}", "v[i], p[i] = scan(argmax, j, a[j], j)",
                "a, v: f32[n]; p: i32[n]");
  for (const char* items : {"for", "vec"}) {
    for (const std::int64_t threads : {32, 5}) {
      SCOPED_TRACE(std::string(items) + " " + std::to_string(threads));
      const auto sliced = [&](const Kernel& kernel) {
        return split_iname(split_iname(kernel, "i", 4 * threads), "i_inner", 4,
                           {.outer_tag = "l.0", .inner_tag = items});
      };
      for (const int n : {37, 300}) {
        expect_same_everywhere(sliced(pair.scanned), pair.reduced, {{"n", n}});
      }
      expect_same_everywhere(sliced(maps), maps, {{"n", 200}});
      expect_same_everywhere(sliced(places), places, {{"n", 200}});
    }
  }
  // two loops of each thread, with a load of a vector
  const Kernel kernel = kernel_of("{[i, j]: 0 <= i < n and 0 <= j <= i}",
                                  "s[i] = scan(sum, j, a[j])", "a, s: f32[n]");
  const Kernel sliced =
      split_iname(split_iname(split_iname(kernel, "i", 256), "i_inner", 8, {.outer_tag = "l.0"}),
                  "i_inner_inner", 4, {.outer_tag = "unr", .inner_tag = "vec"});
  EXPECT_GE(count_of("*(const float4 *)&a", generate_text(sliced, Target::cuda)), 2);
  expect_same_everywhere(sliced, kernel, {{"n", 601}});
}

TEST(Scans, OfValuesWithTheirPlacesGiveBoth) {
  const std::string domains = "{[i, j]: 0 <= i < 21 and 0 <= j <= i}";
  const std::string arguments = "a, v: f64[21]; p: i32[21]";
  const Kernel reduced = kernel_of(domains, "v[i], p[i] = argmax(j, a[j], j)", arguments);
  const Kernel scanned = kernel_of(domains, "v[i], p[i] = scan(argmax, j, a[j], j)", arguments);
  expect_same_everywhere(scanned, reduced, {{"n", 1}});
  expect_same_everywhere(tag_inames(scanned, "i:l.0"), reduced, {{"n", 1}});
  expect_same_everywhere(split_iname(scanned, "i", 8, {.inner_tag = "l.0"}), reduced, {{"n", 1}});
}

TEST(Scans, WithOtherStepsAndBounds) {
  const auto compare = [](const std::string& domains, bool has_block) {
    const std::string arguments = "a: f64[100]; s: f64[20]";
    const Kernel reduced = kernel_of(domains, "s[i] = sum(j, a[j])", arguments);
    const Kernel scanned = kernel_of(domains, "s[i] = scan(sum, j, a[j])", arguments);
    SCOPED_TRACE(domains);
    expect_same_everywhere(scanned, reduced, {{"n", 9}});
    if (has_block) {
      expect_same_everywhere(tag_inames(scanned, "i:l.0"), reduced, {{"n", 9}});
    }
  };
  compare("{[i]: 0 <= i < 20} {[j]: 0 <= j <= 2*i}", true);
  compare("{[i]: 0 <= i < 20} {[j]: 3 <= j <= 2*i + 9}", true);
  compare("{[i]: 0 <= i < 20} {[j]: 5 <= j <= i - 1}", true);
  compare("{[i, j]: 4 <= i < 20 and 0 <= j <= i + 1}", false);
  compare("{[i, j]: n <= i < 20 and 2 <= j <= 3*i}", false);
}

TEST(Scans, ThatCannotGoStepByStepAreRefused) {
  const auto generated = [](const std::string& domains, const std::string& statements,
                            const std::string& tags = {}) {
    Kernel kernel = kernel_of(domains, statements, "a, b: f64[100]; c: f64[100, 100]");
    return generate(tags.empty() ? kernel : tag_inames(kernel, tags), Target::cuda);
  };
  const std::string triangle = "{[i, j]: 0 <= i < 20 and 0 <= j <= i}";
  const std::vector<std::vector<std::string>> cases = {
      {"{[i, j]: 0 <= i, j < 20}", "b[i] = scan(sum, j, a[j])"},
      {"{[i, j]: 0 <= i < 20 and i <= j < 20}", "b[i] = scan(sum, j, a[j])"},
      {"{[i, j]: 0 <= i < 20 and 0 <= j < 20 - i}", "b[i] = scan(sum, j, a[j])"},
      {"{[i, j]: 0 <= i < 20 and 0 <= j <= i and j < 10}", "b[i] = scan(sum, j, a[j])"},
      {"{[i, j]: 0 <= i < 20 and 0 <= 2*j <= i}", "b[i] = scan(sum, j, a[j])"},
      {triangle, "b[i] = scan(sum, j, c[i, j])"},
      {triangle, "b[i] = scan(sum, j, b[j])"},
      {triangle, "b[i] = scan(sum, j, a[j]) {if=i > 3}"},
      {triangle, "b[i] = scan(sum, j, a[j]) {if=a[0] > 3}"},
      {triangle, "b[i] = scan(sum, j, a[j]) {if=i > 3}", "i:g.0"},
      {"{[i, j, k]: 0 <= i, k < 5 and 0 <= j <= 7*i + k}", "c[i, k] = scan(sum, j, a[j])"},
      {"{[i, j, k]: 0 <= i < 20 and 0 <= j <= i and 0 <= k < 3}",
       "b[i] = scan(sum, (j, k), c[j, k])"},
      {"{[i, k, j]: 0 <= i, k < 4 and 0 <= j <= 8*i + 2*k}", "c[i, k] = scan(sum, j, a[j])",
       "i:l.0"}};
  for (const std::vector<std::string>& each : cases) {
    SCOPED_TRACE(each[0] + each[1]);
    EXPECT_ERROR("loopy.realize_reductions.scan_form",
                 generated(each[0], each[1], each.size() > 2 ? each[2] : ""));
  }
}

}  // namespace
}  // namespace rtcg::loopy
