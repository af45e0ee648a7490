#include "rtcg/loopy/execute/compare_with_reference.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// The kernel files that a page shows.
std::vector<std::string> kernel_files_on(const std::filesystem::path& page) {
  std::ifstream stream(page);
  std::stringstream all;
  all << stream.rdbuf();
  const std::string text = all.str();
  const std::string start = "\n```loopy\n";
  std::vector<std::string> files;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t begin = at + start.size();
    files.push_back(text.substr(begin, text.find("\n```", begin) + 1 - begin));
  }
  return files;
}

/// Sizes that keep what the kernel assumes and what its recipe fixes.
IntegerValues sizes_for(const Kernel& described, const Kernel& transformed) {
  for (const std::int64_t size : {37, 64, 16, 8, 1024, 5}) {
    IntegerValues values;
    for (const Kernel* kernel : {&described, &transformed}) {
      for (const Argument& argument : kernel->arguments) {
        if (!argument.is_array && parameters(*kernel).count(argument.name) != 0) {
          values[argument.name] = size;
        }
      }
    }
    for (const RecipeStep& step : transformed.recipe) {
      if (step.transformation == "fix_parameters") {
        for (const std::string& fixed : step.arguments) {
          values.erase(fixed.substr(0, fixed.find(':')));
        }
      }
    }
    if (contains(transformed.assumptions, values)) {
      return values;
    }
  }
  return {};
}

TEST(Attack05, AllExamplesOfTheTransformationPagesPassTheCheck) {
  const std::filesystem::path folder = std::filesystem::path(RTCG_SOURCE_DIR) / "docs/transforms";
  std::size_t count = 0;
  for (const auto& page : std::filesystem::directory_iterator(folder)) {
    for (const std::string& text : kernel_files_on(page.path())) {
      SCOPED_TRACE(page.path().filename().string() + "\n" + text);
      try {
        const KernelFile file = parse_kernel_file(text);
        const Kernel described = described_kernel(file);
        const Kernel transformed = transformed_kernel(file, described);
        const ComparisonReport report = compare_with_reference(
            transformed, described, sizes_for(described, transformed), runtime::Device::host());
        EXPECT_TRUE(report.is_equal) << report.worst.array << "[" << report.worst.index << "] is "
                                     << report.worst.left << ", not " << report.worst.right;
        EXPECT_NE(report.judge, Judge::generated_reference) << report.note;
        EXPECT_GT(report.compared, 0U);
        ++count;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GE(count, 60U);
}

ComparisonReport compare(const Kernel& described, const std::string& recipe,
                         const IntegerValues& sizes, const CompareOptions& options = {}) {
  return compare_with_reference(apply_recipe(described, recipe), described, sizes,
                                runtime::Device::host(), options);
}

TEST(Defect18, ArgumentsMayBeLaidOutAnew) {
  const Kernel kernel = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 6}", "b[i, j] = 2*a[i, j]",
                                    {.arguments = "a, b: f32[n, 6]; n: i32"});
  for (const char* recipe :
       {"tag_array_axes([a, b], F)", "add_padding(a, 0, 3)\nadd_padding(b, 0, 1)",
        "tag_array_axes([a], \"stride:8,stride:1\")", "split_array_axis(a, 0, 4)",
        "separate_array_axis(b, 1)", "split_array_axis(b, 1, 4)\ntag_array_axes([b], \"N0,N2,N1\")",
        "rename_argument(b, c)\nsplit_array_axis(c, 1, 2)\nseparate_array_axis(c, 2)"}) {
    const ComparisonReport report = compare(kernel, recipe, {{"n", 13}});
    EXPECT_TRUE(report.is_equal) << recipe << report.worst.array << report.worst.index;
    EXPECT_EQ(report.compared, 78U) << recipe;
    EXPECT_EQ(report.judge, Judge::interpreter) << recipe << report.note;
  }
}

TEST(Defect18, RecipesMayFuseKernelsAndFixParameters) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = rtcg::cgen::f32});
  EXPECT_TRUE(compare(kernel, "fix_parameters(n:100)", {}).is_equal);
  EXPECT_TRUE(compare(kernel, "fix_parameters(n:100)", {{"n", 100}}).is_equal);
  EXPECT_ERROR("loopy.compare_with_reference.contradiction",
               static_cast<void>(compare(kernel, "fix_parameters(n:100)", {{"n", 50}})));
  const ComparisonReport fused = compare(kernel,
                                         "fuse_kernels(\"domains {[i]: 0 <= i < n}\ntype f32\n"
                                         "statements\n  c[i] = b[i] + 1\")",
                                         {{"n", 20}});
  EXPECT_TRUE(fused.is_equal);
  EXPECT_EQ(fused.compared, 40U);
}

TEST(Defect18, ArraysOfIndicesGetIndices) {
  const char* const statements[] = {"y[perm[i]] = 2*x[i]", "y[i] = x[perm[perm[i]]]",
                                    "<> p = perm[i]\ny[i] = x[n - 1 - p]"};
  for (const char* statement : statements) {
    const Kernel kernel =
        make_kernel("{[i]: 0 <= i < n}", statement,
                    {.arguments = "x, y: f32[n]; perm: i32[n]; n: i32", .assumptions = "n >= 1"});
    const ComparisonReport report = compare(kernel, "split_iname(i, 16)", {{"n", 100}});
    EXPECT_TRUE(report.is_equal) << statement;
    EXPECT_EQ(report.judge, Judge::interpreter) << report.note;
  }
  const Kernel rows = make_kernel(
      "{[row]: 0 <= row < n} {[j]: 0 <= j < length}",
      "<i32> length = start[row + 1] - start[row]\n"
      "y[row] = sum(j, a[start[row] + j]*x[column[start[row] + j]])",
      {.arguments = "a: f32[m]; column: i32[m]; start: i32[n + 1]; x, y: f32[n]; n, m: i32",
       .assumptions = "n >= 1 and m >= 1"});
  const ComparisonReport report = compare(rows, "split_iname(row, 8)", {{"n", 20}, {"m", 100}});
  EXPECT_TRUE(report.is_equal);
  EXPECT_EQ(report.judge, Judge::interpreter) << report.note;
}

TEST(CompareWithReference, RefusesArraysThatNothingDescribes) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", {.default_type = rtcg::cgen::f32});
  Kernel other =
      make_kernel("{[i]: 0 <= i < n}", "c[i] = 2*a[i]", {.default_type = rtcg::cgen::f32});
  EXPECT_ERROR("loopy.compare_with_reference.layout",
               static_cast<void>(
                   compare_with_reference(other, kernel, {{"n", 3}}, runtime::Device::host())));
}

TEST(CompareWithReference, CatchesAKernelThatIsWrong) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i, k < n}", "b[i] = sum(k, a[i, k])",
                                    {.default_type = rtcg::cgen::f32});
  const Kernel wrong =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < n - 1}", "b[i] = sum(k, a[i, k])",
                  {.arguments = "a: f32[n, n]; b: f32[n]; n: i32"});
  for (const std::int64_t n : {5, 300, 3500}) {  // as a whole, and samples
    const ComparisonReport report =
        compare_with_reference(wrong, kernel, {{"n", n}}, runtime::Device::host());
    EXPECT_FALSE(report.is_equal) << n;
    EXPECT_GT(report.worst.error, 1) << n;
    EXPECT_ERROR("loopy.compare_with_reference.wrong_numbers", check_is_equal(report));
  }
}

struct OpenKernel {
  const char* domain;
  const char* statements;
  const char* arguments;
  std::int64_t size;
  const char* reason;  ///< in the message
};

// Pairs at distances that roundings may put into one bin or the next.
TEST(CompareWithReference, OpensOnlyWhatRoundingsMayReach) {
  const char* const bins = "<i32> bin = cast(i32, 1e5*abs(x[i] - x[j]))\n";
  const auto kernel_of = [&](const std::string& update) {
    return make_kernel("{[i, j]: 0 <= i, j < n}", bins + update,
                       {.arguments = "x: f32[n]; h: i32[64]; n: i32"});
  };
  const Kernel kernel = kernel_of("h[bin % 64] += 1 {atomic}");
  const ComparisonReport report =
      compare_with_reference(kernel, kernel, {{"n", 40}}, runtime::Device::host());
  EXPECT_EQ(report.compared, 64U);
  EXPECT_EQ(report.undecided, 0U);
  check_is_equal(report);
  EXPECT_FALSE(compare_with_reference(kernel_of("h[(bin + 1) % 64] += 1 {atomic}"), kernel,
                                      {{"n", 40}}, runtime::Device::host())
                   .is_equal);
}

TEST(CompareWithReference, StatesThatNothingWasDecided) {
  const OpenKernel kernels[] = {
      {"{[i, j]: 0 <= i, j < n}",
       "<i32> bin = cast(i32, 1e8*abs(x[i] - x[j]))\nh[bin % 4] += 1 {atomic}",
       "x: f32[n]; h: i32[4]; n: i32", 40, "first which element of 'h' is written in statement"},
      {"{[i]: 0 <= i < n}", "o[i] = cast(i32, 1e30*(i + 1))", "o: i32[n]; n: i32", 20,
       "all 20 results open, first the value of 'o' in statement 'set_o' at i = 0"},
      {"{[i]: 0 <= i < n}", "o[0 if sin(x[i])**2 >= 1 - cos(x[i])**2 else 1] = 1",
       "x: f32[n]; o: f32[2]; n: i32", 20, "first which element of 'o' is written"},
      {"{[i]: 0 <= i < n}", "o[i] = 2*x[i]", "o, x: f32[n]; n: i32", 0, "leaves no number"},
      {"{[i, j]: 0 <= i, j < n}", "o[i] = cast(i32, 1e30 + sum(j, x[i + j]))",
       "x: f32[2*n]; o: i32[n]; n: i32", 6000, "sampled interpreter"}};
  for (const OpenKernel& each : kernels) {
    SCOPED_TRACE(each.statements);
    const Kernel kernel = make_kernel(each.domain, each.statements, {.arguments = each.arguments});
    const ComparisonReport report =
        compare_with_reference(kernel, kernel, {{"n", each.size}}, runtime::Device::host());
    EXPECT_EQ(report.compared, 0U);
    check_is_equal(report);
    EXPECT_ERROR("loopy.compare_with_reference.nothing_compared", check_is_decided(report));
    try {
      check_is_decided(report);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(each.reason), std::string::npos) << error.what();
    }
  }
}

TEST(CompareWithReference, SaysWhereItComparesWithGeneratedCode) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < n}", "... c \"${b[i]} = 2.0f*${a[i]};\" {writes=b}",
                  {.arguments = "a, b: f32[n]; n: i32"});
  const ComparisonReport report = compare(kernel, "", {{"n", 10}});
  EXPECT_TRUE(report.is_equal);
  EXPECT_EQ(report.judge, Judge::generated_reference);
  EXPECT_NE(report.note.find("C text"), std::string::npos);
}

TEST(CompareWithReference, TakesSmallerSizesWhereSamplesTakeTooLong) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[0] = sum(i, a[i])",
                                    {.arguments = "a: f32[n]; b: f32[1]; n: i32"});
  const ComparisonReport report = compare(kernel, "", {{"n", 11000000}});
  EXPECT_TRUE(report.is_equal);
  EXPECT_EQ(report.judge, Judge::interpreter);
  EXPECT_NE(report.note.find("compared for n = "), std::string::npos);
}

TEST(CompareWithReference, LeavesSizesThatTheRecipeFixes) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[0] = sum(i, a[i])",
                                    {.arguments = "a: f32[n]; b: f32[1]; n: i32"});
  const ComparisonReport report = compare(kernel, "fix_parameters(n:11000000)", {});
  EXPECT_EQ(report.judge, Judge::generated_reference);
  EXPECT_NE(report.note.find("operations"), std::string::npos) << report.note;
}

// Copies of the results in shared memory say nothing of their length: what indices may be is
// asked of the kernel as described.
TEST(TimeKernel, KeepsIndicesInArraysOfTransformedKernels) {
  const Kernel histogram = make_kernel("{[i]: 0 <= i < n}", "c[bin[i]] += 1  {atomic}",
                                       {.arguments = "c: i32[16]; bin: i32[n]; n: i32"});
  const Kernel transformed =
      apply_recipe(histogram,
                   "split_iname(i, 4096, outer_tag=g.0)\n"
                   "split_iname(i_inner, 64, inner_tag=l.0); privatize_updates(c)");
  const double time_ms =  // other indices end the process
      time_kernel_ms(transformed, histogram, {{"n", 5000000}}, runtime::Device::host(),
                     {.repetitions = 1});
  EXPECT_GT(time_ms, 0);
}

TEST(RunnableArguments, KeepIndicesInTheirArrays) {
  const Kernel gather = infer_types(
      make_kernel("{[i]: 0 <= i < n}", "y[i] = x[at[i]] + table[key[i]]",
                  {.arguments = "x: f64[3]; table: f64[5]; y: f64[n]; at, key: i32[n]; n: i32"}));
  const ArgumentData data = runnable_arguments(gather, {{"n", 100}});
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_LT(data.at("at").element(i), 3);
    EXPECT_LT(data.at("key").element(i), 5);
  }
  CompareOptions given;
  given.values["at"] = {2, 2, 2};
  EXPECT_EQ(runnable_arguments(gather, {{"n", 3}}, given).at("at").element(0), 2);
}

// Arrays that are too large to be shuffled.
TEST(RunnableArguments, AreScatteredInLargeArrays) {
  constexpr std::int64_t count = (1 << 20) + 3;
  const Kernel scatter = infer_types(make_kernel(
      "{[i]: 0 <= i < n}", "y[to[i]] = x[i]", {.arguments = "x, y: f32[n]; to: i32[n]; n: i32"}));
  const ArgumentData once = runnable_arguments(scatter, {{"n", count}});
  std::vector<bool> is_taken(count);
  for (std::size_t i = 0; i < is_taken.size(); ++i) {
    const auto place = static_cast<std::size_t>(once.at("to").element(i));
    ASSERT_LT(place, is_taken.size());
    ASSERT_FALSE(is_taken[place]) << place;
    is_taken[place] = true;
  }
  const Kernel histogram =
      infer_types(make_kernel("{[i]: 0 <= i < n}", "c[bin[i]] += 1  {atomic}",
                              {.arguments = "c: i32[256]; bin: i32[n]; n: i32"}));
  const ArgumentData often = runnable_arguments(histogram, {{"n", count}});
  std::vector<int> counts(256);
  for (std::size_t i = 0; i < is_taken.size(); ++i) {
    ++counts.at(static_cast<std::size_t>(often.at("bin").element(i)));
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 3500);  // 4096 on average
}

}  // namespace
}  // namespace rtcg::loopy
