#include "rtcg/loopy/tune/expected_results.h"

#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// b[i] = sum(k, a[i, k]) of `rows` rows of 50 elements.
struct RowSums {
  Kernel kernel;
  InterpretArguments arguments{};
  ArgumentData results{};

  explicit RowSums(std::int64_t rows, const std::string& statements = "b[i] = sum(k, a[i, k])",
                   const std::string& type = "f32")
      : kernel(infer_types(make_kernel(
            "{[i, k]: 0 <= i < " + std::to_string(rows) + " and 0 <= k < 50}", statements,
            {.arguments = "a: " + type + "[" + std::to_string(rows) + ", 50]; b: " + type + "[" +
                          std::to_string(rows) + "]"}))) {
    arguments.arrays = random_arguments(kernel, {}, 1);
    const ArrayData& a = arguments.arrays.at("a");
    ArrayData b = arguments.arrays.at("b");
    for (std::size_t i = 0; i < b.count(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 50; ++k) {
        sum += a.element(50 * i + k);
      }
      b.set_element(i, sum);
    }
    results = {{"b", b}};
  }

  [[nodiscard]] ExpectedResults expected() const { return {kernel, arguments, 1}; }
  [[nodiscard]] ArrayData with(std::size_t place, double more) const {
    ArrayData changed = results.at("b");
    changed.set_element(place, changed.element(place) + more);
    return changed;
  }
};

// beyond the roundings of sums of fifty numbers
constexpr double wrong_by = 5e-4;

TEST(ExpectedResults, BoundEachResultOfASmallKernel) {
  const RowSums sums(100);
  ExpectedResults expected = sums.expected();
  EXPECT_EQ(expected.why_not_interpreted(), "");
  EXPECT_FALSE(expected.is_sampled());
  EXPECT_ERROR("loopy.compare_with_reference.wrong_numbers",
               (expected.set_reference({{"b", sums.with(7, wrong_by)}}), 0));
  expected.set_reference(sums.results);
  EXPECT_EQ(expected.why_wrong("b", sums.results.at("b")), "");
  EXPECT_EQ(expected.why_wrong("b", sums.with(42, 1e-6)), "");
  EXPECT_TRUE(expected.why_wrong("b", sums.with(42, wrong_by)).starts_with("wrong: b[42] is "));
  EXPECT_FALSE(expected.why_wrong("b", sums.with(42, std::nan(""))).empty());
  EXPECT_FALSE(expected.has_new_bounds("b"));
}

TEST(ExpectedResults, BoundAllResultsBySamples) {
  const RowSums sums(100000);
  ExpectedResults expected = sums.expected();
  EXPECT_TRUE(expected.is_sampled());
  expected.set_reference(sums.results);
  for (const std::size_t place : {0, 1, 777, 54321, 99999}) {
    EXPECT_EQ(expected.why_wrong("b", sums.with(place, 1e-6)), "") << place;
    EXPECT_FALSE(expected.why_wrong("b", sums.with(place, wrong_by)).empty()) << place;
  }
}

// one result of many is a sum, and all samples are copies without any error
TEST(ExpectedResults, InterpretWhatSamplesDoNotHave) {
  RowSums sums(100000, "b[i] = if(i == 777, sum(k, a[i, k]), a[i, 0])");
  for (std::size_t i = 0; i < 100000; ++i) {
    if (i != 777) {
      sums.results.at("b").set_element(i, sums.arguments.arrays.at("a").element(50 * i));
    }
  }
  ExpectedResults expected = sums.expected();
  ASSERT_TRUE(expected.is_sampled());
  expected.set_reference(sums.results);
  EXPECT_EQ(expected.bounds_of("b").allowed.at(778), 0);
  EXPECT_FALSE(expected.why_wrong("b", sums.with(778, 1e-6)).empty());
  EXPECT_TRUE(expected.has_new_bounds("b"));
  EXPECT_EQ(expected.why_wrong("b", sums.with(777, 1e-6)), "");
  EXPECT_TRUE(expected.has_new_bounds("b"));
  EXPECT_GT(expected.bounds_of("b").allowed.at(777), 1e-6);
  EXPECT_EQ(expected.why_wrong("b", sums.with(777, 1e-6)), "");
  EXPECT_FALSE(expected.has_new_bounds("b"));
  EXPECT_FALSE(expected.why_wrong("b", sums.with(777, wrong_by)).empty());
}

TEST(ExpectedResults, NeedNoReferenceWhereAllIsInterpreted) {
  for (const char* type : {"f32", "f64", "i64"}) {
    const RowSums sums(100, "b[i] = sum(k, a[i, k])", type);
    ExpectedResults expected = sums.expected();
    EXPECT_FALSE(expected.needs_reference());
    EXPECT_EQ(expected.why_wrong("b", sums.results.at("b")), "");
    EXPECT_FALSE(expected.why_wrong("b", sums.with(42, 1)).empty()) << type;
  }
  EXPECT_TRUE(RowSums(100000).expected().needs_reference());
}

TEST(ExpectedResults, TellThatTheReferenceIsWrong) {
  const RowSums sums(100000);
  ExpectedResults expected = sums.expected();
  expected.set_reference({{"b", sums.with(54321, 1)}});  // the samples do not have that one
  EXPECT_FALSE(expected.why_wrong("b", sums.with(777, 1)).empty());
  EXPECT_TRUE(expected.is_reference_wrong());
  expected.set_reference(sums.results);
  EXPECT_FALSE(expected.is_reference_wrong());
  EXPECT_FALSE(expected.why_wrong("b", sums.with(54321, 1)).empty());
  EXPECT_FALSE(expected.is_reference_wrong());
}

TEST(ExpectedResults, EndTheInterpretationWhenItIsOver) {
  const RowSums sums(100000);
  const ExpectedResults expected(sums.kernel, sums.arguments, 1, 2, [] { return true; });
  EXPECT_NE(expected.why_not_interpreted(), "");
}

TEST(ExpectedResults, SayWhyNothingWasInterpreted) {
  RowSums sums(100, "... c \"${b[i]} = ${a[i, 0]};\" {writes=b}");
  ExpectedResults expected = sums.expected();
  EXPECT_NE(expected.why_not_interpreted().find("C"), std::string::npos)
      << expected.why_not_interpreted();
  expected.set_reference(sums.results);
  EXPECT_EQ(expected.why_wrong("b", sums.with(3, 1e-6)), "");
  EXPECT_FALSE(expected.why_wrong("b", sums.with(3, wrong_by)).empty());
}

TEST(ExpectedResults, SayThatNothingIsCompared) {
  const auto expected = [](std::string_view rows) {
    const Kernel kernel = infer_types(make_kernel(fmt::format("{{[i]: 0 <= i < {}}}", rows),
                                                  "o[i] = cast(i32, 1e30*(i + 1))",
                                                  {.arguments = fmt::format("o: i32[{}]", rows)}));
    InterpretArguments arguments;
    arguments.arrays = random_arguments(kernel, {}, 1);
    return ExpectedResults(kernel, arguments, 1);
  };
  const ExpectedResults small = expected("10");
  EXPECT_NE(small.why_nothing_compared().find("all 10 results"), std::string::npos)
      << small.why_nothing_compared();
  EXPECT_FALSE(small.needs_reference());
  // of more results samples are interpreted: a reference judges the candidates alone
  const ExpectedResults large = expected("10000000");
  EXPECT_EQ(large.why_nothing_compared(), "");
  EXPECT_NE(large.why_not_interpreted().find("results that were interpreted open"),
            std::string::npos)
      << large.why_not_interpreted();
  EXPECT_TRUE(large.needs_reference());
  EXPECT_EQ(RowSums(100).expected().why_nothing_compared(), "");
}

// a product of three matrices has numbers of some thousands, and a few that are nearly 0
TEST(ExpectedResults, AllowLargeNumbersThatCancelTheirErrors) {
  RowSums sums(100, "... c \"${b[i]} = ${a[i, 0]};\" {writes=b}");
  for (std::size_t i = 0; i < 100; ++i) {
    sums.results.at("b").set_element(i, i == 3 ? 0.3 : (i % 2 == 0 ? 4000 : -4000));
  }
  ExpectedResults expected = sums.expected();
  ASSERT_TRUE(expected.needs_repeats());
  ArrayData other = sums.results.at("b");
  for (std::size_t i = 0; i < 100; ++i) {
    other.set_element(i, other.element(i) + (i % 3 == 0 ? 1e-3 : -1e-3));
  }
  expected.set_reference(sums.results, {.repeats = {{{"b", other}}}});
  EXPECT_EQ(expected.why_wrong("b", sums.with(3, 0.0035)), "");
  EXPECT_FALSE(expected.why_wrong("b", sums.with(3, 1)).empty());
  EXPECT_FALSE(expected.why_wrong("b", sums.with(4, 100)).empty());
}

TEST(ExpectedResults, AskIntegersToBeEqual) {
  for (const char* statement :
       {"b[i] = 1000*sum(k, a[i, k])", "... c \"${b[i]} = ${a[i, 0]};\" {writes=b}"}) {
    RowSums sums(100, statement, "i64");
    for (std::size_t i = 0; i < 100; ++i) {
      sums.results.at("b").set_element(i, 1000 * sums.results.at("b").element(i));
    }
    ExpectedResults expected = sums.expected();
    expected.set_reference(sums.results);
    EXPECT_EQ(expected.why_wrong("b", sums.results.at("b")), "");
    EXPECT_FALSE(expected.why_wrong("b", sums.with(50, 1)).empty()) << statement;
  }
}

}  // namespace
}  // namespace rtcg::loopy
