#include "rtcg/loopy/kernel/kernel_file.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/precompute.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel read(const std::string& text) {
  const KernelFile file = parse_kernel_file(text);
  return transformed_kernel(file, described_kernel(file));
}

/// The kernel's file says the same kernel: read again, it gives the same code, and from then on the
/// same file (the parser takes domains apart whose inames do not depend on each other).
void expect_round_trip(const Kernel& kernel) {
  const std::string text = to_string(to_kernel_file(kernel));
  SCOPED_TRACE(text);
  const Kernel again = read(text);
  const std::string settled = to_string(to_kernel_file(again));
  EXPECT_EQ(to_string(to_kernel_file(read(settled))), settled);
  for (const Target target : {Target::host, Target::opencl, Target::cuda}) {
    const GenerateOptions options{.recipe_comment = false};
    EXPECT_EQ(generate_text(again, target, options), generate_text(kernel, target, options));
  }
}

TEST(ToKernelFile, SaysWhatAKernelIs) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i]: 0 <= i < n and i mod 2 = 0} {[j]: 0 <= j < 16}",
                               "twice(x) := 2*x\n"
                               "<> t = twice(a[i, j]) {id=first, tags=fetch}\n"
                               "out[i, j] = factor*t {if=i > j, if=j > 2}",
                               {.name = "scaled",
                                .arguments = "a: f32[n, 16] {order=F, offset=2, space=constant}",
                                .assumptions = "n >= 1 and n mod 16 = 0"}),
                   "prioritize_loops(i, j); tag_inames(j:l.0)");
  EXPECT_EQ(to_string(to_kernel_file(kernel)), R"(kernel scaled
domains
  {[i]: i >= 0 and i < n and i % 2 == 0}
  {[j]: j >= 0 and j <= 15}
arguments
  a: f32[n, 16] {strides=1:n, offset=2, space=constant};
  out: [n, 16];
  n: i32;
  factor
assume
  n >= 1 and n % 16 == 0
statements
  twice(x) := 2*x
  <> t = twice(a[i, j])  {id=first, inames=i:j, tags=fetch}
  out[i, j] = factor*t  {id=set_out, inames=i:j, if=i > j, if=j > 2}
transform
  tag_inames(j:l.0)
  prioritize_loops(i, j)
)");
}

TEST(ToKernelFile, SurvivesReading) {
  KernelOptions f32;
  f32.default_type = cgen::f32;
  expect_round_trip(make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", f32));
  expect_round_trip(make_kernel("{[i, j]: 0 <= i < n and i <= j < n}",
                                "v[i], p[i] = argmax(j, a[i, j], j)", f32));
  expect_round_trip(make_kernel("{[i]: 0 <= i < n}",
                                "<f32> s[4]\n"
                                "s[0] = a[i]\n"
                                "... nop {id=pause, inames=i}\n"
                                "count[0] += 1 {atomic, inames=i}\n"
                                "if i > 2\n out[i] = s[0]\nelse\n out[i] = 0\nend",
                                f32));
  f32.arguments = "starts: i32[n + 1]; values: f32[nz]";
  expect_round_trip(make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j < row_length}",
                                "<i32> row_start = starts[i]\n"
                                "<i32> row_length = starts[i + 1] - row_start\n"
                                "sums[i] = sum(j, values[[row_start + j]])",
                                f32));
}

TEST(ToKernelFile, SurvivesReadingAfterTransformations) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(RTCG_SOURCE_DIR "/examples/kernels")) {
    SCOPED_TRACE(entry.path().string());
    const KernelFile file = read_kernel_file(entry.path().string());
    expect_round_trip(described_kernel(file));
    expect_round_trip(transformed_kernel(file, described_kernel(file)));
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(ToKernelFile, SaysWhichStatementsFillCopies) {
  const Kernel kernel =
      add_prefetch(make_kernel("{[i, j]: 0 <= i, j < 8}", "out[i] = sum(j, b[j])*i",
                               {.default_type = cgen::f32}),
                   "b", {"j"});
  const Kernel again = read(to_string(to_kernel_file(kernel)));
  EXPECT_TRUE(find_instruction(again, "fill_b_fetch")->is_fill);
  EXPECT_FALSE(find_instruction(again, "set_out")->is_fill);
}

TEST(ToKernelFile, KeepsTheMarkOfExchangedItems) {
  const Kernel kernel = apply_recipe(make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]\nc[i] = 1",
                                                 {.arguments = "a, b, c: f32[n]; n: i32",
                                                  .default_type = cgen::f32,
                                                  .assumptions = "n >= 1"}),
                                     "split_iname(i, 512, outer_tag=g.0)\n"
                                     "split_iname(i_inner, 8, outer_tag=l.0)\n"
                                     "exchange_items(i_inner_outer)");
  const std::string text = to_string(to_kernel_file(kernel));
  EXPECT_TRUE(find_instruction(read(text), "set_b")->exchanges_items) << text;
  expect_round_trip(kernel);
}

TEST(ToKernelFile, RefusesWhatPreprocessingMade) {
  const Kernel kernel =
      apply_recipe(make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "s[i] = scan(sum, j, a[j])",
                               {.arguments = "a, s: i32[n]; n: i32", .assumptions = "n >= 1"}),
                   "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\n"
                   "scan_over_grid(i_outer, how=look_back)");
  const Kernel made = preprocess(kernel, {.has_warp_shuffles = true});
  ASSERT_NE(find_instruction(made, "look_back"), nullptr);
  EXPECT_NE(to_string(made).find("look_back: ... look back along i_outer"), std::string::npos)
      << to_string(made);
  EXPECT_ERROR("loopy.to_kernel_file.not_sayable", static_cast<void>(to_kernel_file(made)));
}

TEST(ToKernelFile, WritesCText) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", R"(
      ... c "${out[i]} = \"x\"[0] + ${a[i]};\n" {writes=out, reads=b, id=text}
      out[i] = 2*out[i]
  )",
                                    {.arguments = "a, b, out: f32[n]"});
  expect_round_trip(kernel);
}

TEST(ToKernelFile, WritesTablesAndAsynchronousCopies) {
  const Kernel table = make_kernel("{[i]: 1 <= i < n - 1} {[k]: 0 <= k < 3}",
                                   "<f32> w[3] = table(0.25, 0.5, 0.25)\n"
                                   "out[i] = sum(k, w[k]*a[i + k - 1])",
                                   {.default_type = cgen::f32});
  EXPECT_EQ(find_temporary(table, "w")->initial_values, (std::vector<Expr>{0.25, 0.5, 0.25}));
  expect_round_trip(table);
  const Kernel piped = apply_recipe(
      make_kernel("{[i, k]: 0 <= i, k < 1024}", "out[i] = sum(k, a[i, k])",
                  {.default_type = cgen::f32}),
      "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\nsplit_iname(k, 32)\n"
      "add_prefetch(a, [i_inner, k_inner], default_tag=l.auto)\npipeline([a_fetch], k_outer, 3)");
  expect_round_trip(piped);
  EXPECT_NE(to_string(to_kernel_file(piped)).find("asynchronous"), std::string::npos);
}

/// Kernels, and what random transformations make of them: each file says the same kernel.
TEST(ToKernelFile, SaysTheSameOfRandomKernels) {
  std::map<std::string, int> refusals;
  int count = 0;
  for (std::uint64_t seed = 2000001; seed < 2000201 && !HasFailure(); ++seed) {
    const Case each = random_case(seed, refusals);
    SCOPED_TRACE(story(each));
    for (const Kernel& kernel : {each.described, each.transformed}) {
      const std::string text = to_string(to_kernel_file(kernel));
      SCOPED_TRACE(text);
      const Kernel again = read(text);
      const std::string settled = to_string(to_kernel_file(again));
      EXPECT_EQ(to_string(to_kernel_file(read(settled))), settled);
      // all that it says but the grouping of domains, which the parser takes apart, and the order
      // of temporaries
      const auto rest = [](const Kernel& one) {
        Kernel copy = one;
        copy.recipe.clear();
        copy.domains.clear();
        std::sort(copy.temporaries.begin(), copy.temporaries.end(),
                  [](const Temporary& l, const Temporary& r) { return l.name < r.name; });
        return to_string(copy);
      };
      EXPECT_EQ(rest(again), rest(kernel));
      EXPECT_EQ(all_inames(again).size(), all_inames(kernel).size());
      ++count;
    }
  }
  EXPECT_GE(count, 400);
}

TEST(ToKernelFile, RefusesWhatTextCannotSay) {
  Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "<f32> t[4, 4]\nt[0, 0] = a[i]\nout[i] = t[0, 0]",
                  {.default_type = cgen::f32});
  kernel.temporaries[0].strides_elements = {name("n"), 1};
  EXPECT_ERROR("loopy.to_kernel_file.not_sayable", to_kernel_file(kernel));
}

}  // namespace
}  // namespace rtcg::loopy
