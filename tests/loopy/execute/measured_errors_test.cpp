// Comparisons with a reference that no interpreter judges: right results of other orders are
// equal, and wrong ones of the same size are not.
#include "rtcg/loopy/execute/measured_errors.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

/// C text next to the statements: the interpreter refuses the kernel.
constexpr const char* unreadable = "\n... c \"${seen[0]} = 1;\" {writes=seen}";

Kernel make(const std::string& domain, const std::string& statements,
            const std::string& arguments) {
  return make_kernel(domain, statements + unreadable,
                     {.arguments = arguments + "; seen: i32[1]", .assumptions = "n >= 1"});
}

void expect_equal(bool is_equal, const Kernel& kernel, const Kernel& described,
                  std::int64_t n = 40) {
  for (const runtime::Device& device : rtcg::runtime::judged_devices()) {
    if (!is_equal && device.info().id.kind != runtime::BackendKind::host) {
      continue;  // one device tells
    }
    for (const std::uint64_t seed : {1, 2}) {
      const ComparisonReport report =
          compare_with_reference(kernel, described, {{"n", n}}, device, {.seed = seed});
      EXPECT_EQ(report.judge, Judge::generated_reference);
      EXPECT_EQ(report.is_equal, is_equal)
          << to_string(device.info().id) << " seed " << seed << ": " << report.worst.array << "["
          << report.worst.index << "] is " << report.worst.left << ", not " << report.worst.right
          << " +- " << report.allowed;
    }
  }
}

/// Right and wrong versions of one kernel.
struct Versions {
  const char* statements;
  const char* arguments;           ///< `T`: the type
  std::vector<const char*> right;  ///< recipes
  std::vector<const char*> wrong;  ///< statements
};

constexpr const char* domain = "{[i, k]: 0 <= i < n and 0 <= k < 3000}";

const std::vector<Versions>& versions() {
  static const std::vector<Versions> all = {
      // sums that cancel
      {"b[i] = sum(k, a[i, k])",
       "a: T[n, 3001]; b: T[n]; n: i32",
       {"split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)",
        "tag_inames(i:g.0)\n"
        "split_iname(k, 100, inner_tag=l.0)"},
       {"b[i] = sum(k, a[i, k + 1])", "b[i] = sum(k, a[i, k] if k < 2999 or i != 7 else 0)",
        "b[i] = sum(k, a[i, k] if k != 1234 else a[i, 1233])",
        "b[i] = sum(k, a[i, k] if k >= 32 or i != 39 else 0)"}},
      // updates of several statements' instances
      {"b[k % 5] = b[k % 5] + a[i, k] {atomic}",
       "a: T[n, 3000]; b: T[5]; n: i32",
       {"split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"},
       {"b[k % 5] = b[k % 5] + (a[i, k] if i*3000 + k != 66666 else 0) {atomic}",
        "b[k % 5] = b[k % 5] + (a[i, k] if k % 64 != 0 or i != 3 else 0) {atomic}",
        "b[(k + 1) % 5] = b[(k + 1) % 5] + a[i, k] {atomic}"}},
      // differences of large sums, and what follows from them
      {"<> s[i] = sum(k, a[i, k]**2)\n<> t[i] = sum(k, a[i, k + 1]**2)\n"
       "b[i] = exp(s[i] - t[i]) + 1/(2 + s[i])",
       "a: T[n, 3001]; b: T[n]; n: i32",
       {"split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"},
       {"<> s[i] = sum(k, a[i, k]**2)\n<> t[i] = sum(k, a[i, k + 1]**2)\n"
        "b[i] = 1.05*exp(s[i] - t[i]) + 1/(2 + s[i])",
        "<> s[i] = sum(k, a[i, k]**2)\n"
        "<> t[i] = sum(k, a[i, k + 1]**2 if k != 2000 or i != 20 else 0)\n"
        "b[i] = exp(s[i] - t[i]) + 1/(2 + s[i])"}},
  };
  return all;
}

std::string of_type(std::string text, const std::string& type) {
  for (std::size_t at = text.find('T'); at != std::string::npos; at = text.find('T')) {
    text.replace(at, 1, type);
  }
  return text;
}

TEST(MeasuredErrors, TakeOtherOrdersForRightAndPlantedErrorsForWrong) {
  for (const std::string type : {"f32", "f64"}) {
    for (const Versions& each : versions()) {
      const std::string arguments = of_type(each.arguments, type);
      const Kernel kernel = make(domain, each.statements, arguments);
      for (const char* recipe : each.right) {
        SCOPED_TRACE(type + " " + recipe);
        expect_equal(true, apply_recipe(kernel, recipe), kernel);
      }
      for (const char* wrong : each.wrong) {
        SCOPED_TRACE(type + " " + wrong);
        expect_equal(false, make(domain, wrong, arguments), kernel);
      }
    }
  }
}

TEST(MeasuredErrors, KnowComplexAndShortTypes) {
  const char* const few = "{[i, k]: 0 <= i < n and 0 <= k < 40}";
  for (const std::string type : {"c64", "c128", "f16", "bf16"}) {
    SCOPED_TRACE(type);
    const std::string arguments = of_type("a: T[n, 41]; b: T[n]; n: i32", type);
    const Kernel kernel = make(few, "b[i] = sum(k, a[i, k]*a[i, k + 1])", arguments);
    expect_equal(true, apply_recipe(kernel, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)"),
                 kernel);
    expect_equal(true,
                 apply_recipe(kernel,
                              "split_iname(i, 8, outer_tag=g.0)\n"
                              "split_iname(k, 8, inner_tag=l.0)"),
                 kernel);
    expect_equal(false, make(few, "b[i] = sum(k, a[i, k]*a[i, k])", arguments), kernel);
    expect_equal(false, make(few, "b[i] = sum(k, a[i, k]*a[i, k + 1] if k < 30 else 0)", arguments),
                 kernel);
  }
}

TEST(MeasuredErrors, FollowARecurrence) {
  const char* const steps = "{[i, j]: 0 <= i < 2000 and 0 <= j < n}";
  const char* const arguments = "x: f32[2001, n]; b: f32[2001, n]; n: i32";
  const Kernel kernel = make(steps, "x[i + 1, j] = 0.99*x[i, j] + b[i, j]", arguments);
  expect_equal(true, apply_recipe(kernel, "split_iname(j, 8, outer_tag=g.0, inner_tag=l.0)"),
               kernel);
  expect_equal(false, make(steps, "x[i + 1, j] = 0.99*x[i, j] + b[i + 1, j]", arguments), kernel);
  expect_equal(false,
               make(steps, "x[i + 1, j] = 0.99*x[i, j] + (b[i, j] if i != 1999 or j != 5 else 0)",
                    arguments),
               kernel);
}

// Numbers of an array have conditions of their own.
TEST(MeasuredErrors, BoundEachNumberByItsOwnCondition) {
  const Kernel kernel = infer_types(
      make_kernel("{[i]: 0 <= i < 200}", "b[i] = a[i]", {.arguments = "a, b: f32[200]"}));
  ArrayData right{cgen::ScalarKind::f32, std::vector<std::byte>(800), 1};
  ArrayData again = right;
  for (std::size_t i = 0; i < 200; ++i) {
    right.set_element(i, 1.5);
    again.set_element(i, i == 7 ? 1.75 : 1.5 + 1e-6);
  }
  MeasuredErrors errors(kernel, {.length = 1});
  errors.add_repeat({{"b", right}}, {{"b", again}});
  const std::vector<float> allowed = errors.allowed("b", right);
  EXPECT_GT(allowed[7], 0.9);
  EXPECT_LT(allowed[8], 2e-5);
  EXPECT_GT(allowed[8], 4e-6);
}

// Of long arrays a sample says what is usual: no number of a size may be in it.
TEST(MeasuredErrors, KnowSizesThatNoSampleHas) {
  const Kernel kernel = make("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", "a, b: f32[n]; n: i32");
  ArrayData right{cgen::ScalarKind::f32, {}, 1};
  right.bytes.resize(sizeof(float) << 18U);
  for (std::size_t i = 0; i < right.count(); ++i) {
    right.set_element(i, 1);
  }
  right.set_element(4321, 1e-9);  // what cancels
  right.set_element(54321, 0);
  ArrayData repeat = right;
  for (std::size_t i = 0; i < right.count(); ++i) {
    repeat.set_element(i, right.element(i) + (i == 4321 || i == 54321 ? 0 : 1e-6));
  }
  MeasuredErrors errors(infer_types(kernel), {});
  errors.add_repeat({{"b", right}}, {{"b", repeat}});
  const std::vector<float> allowed = errors.allowed("b", right);
  EXPECT_GT(allowed[1], 4e-6F);
  EXPECT_GT(allowed[4321], 3e-6F);
  EXPECT_GT(allowed[54321], 3e-6F);
  EXPECT_LT(allowed[54321], 1e-5F);
}

// Segments of one number are exact, longer ones of the same size cancel. The repeats of some of
// these agree by chance.
TEST(MeasuredErrors, KnowNumbersThatCancelAmongExactOnes) {
  const Kernel kernel = make("{[i]: 0 <= i < n}", "b[i] = 2*a[i]", "a, b: f32[n]; n: i32");
  ArrayData right{cgen::ScalarKind::f32, {}, 1};
  right.bytes.resize(sizeof(float) << 20U);
  ArrayData repeat = right;
  for (std::size_t i = 0; i < right.count(); ++i) {
    const bool is_small = i % 512 == 9;
    right.set_element(i, is_small ? 3e-5 : 1);
    repeat.set_element(i, is_small ? 3e-5 + (i % 4096 == 521 ? 1e-7 : 0) : 1 + 1e-7);
  }
  repeat.set_element(9, 1);  // of a jump, which says nothing about the others
  MeasuredErrors errors(infer_types(kernel), {});
  errors.add_repeat({{"b", right}}, {{"b", repeat}});
  const std::vector<float> allowed = errors.allowed("b", right);
  EXPECT_GT(allowed[1033], 3e-7F);
  EXPECT_LT(allowed[1033], 1e-5F);
  EXPECT_GT(allowed[9], 1);
}

TEST(MeasuredErrors, WidenWhatPartsOfSumsSay) {
  const Kernel kernel = infer_types(make_kernel("{[i]: 0 <= i < 10000}", "b[0] = sum(i, a[i])",
                                                {.arguments = "a: f32[10000]; b: f32[1]"}));
  EXPECT_EQ(longest_sum(kernel, {}), 10000);
  const ArrayData right{cgen::ScalarKind::f32, std::vector<std::byte>(4), 1};
  ArrayData exact{cgen::ScalarKind::f64, std::vector<std::byte>(8), 1};
  exact.set_element(0, 1);
  const auto allowed = [&](double parts) {
    MeasuredErrors errors(kernel, {.length = 10000, .parts = parts});
    ArgumentData reference = {{"b", right}};
    errors.add_other_reals(reference, {{"b", exact}});
    EXPECT_EQ(reference.at("b").element(0), 1);
    return errors.allowed("b", reference.at("b")).front();
  };
  EXPECT_NEAR(allowed(1), 4, 0.01);
  EXPECT_NEAR(allowed(1e6), 400, 1);
}

// Too long for the interpreter, and its sizes cannot be made smaller.
TEST(MeasuredErrors, KnowTheErrorOfTheReference) {
  const std::string length = "4194304";
  const auto make_long = [&](const std::string& statement, const std::string& type) {
    return make_kernel("{[i, k]: 0 <= i < 2 and 0 <= k < " + length + "}", statement,
                       {.arguments = of_type("a: T[2, 4194305]; b: T[2]; c: T[8]", type)});
  };
  const auto compare = [](const Kernel& kernel, const Kernel& described) {
    const ComparisonReport report =
        compare_with_reference(kernel, described, {}, runtime::Device::host());
    EXPECT_EQ(report.judge, Judge::generated_reference) << report.note;
    return report;
  };
  // large sums whose difference is small, and sums that cancel
  const char* const difference = "b[i] = sum(k, a[i, k]**2) - sum(k, a[i, k + 1]**2)";
  const char* const updates = "c[k % 8] = c[k % 8] + a[i, k] {atomic}";
  const char* const in_parts = "tag_inames(i:g.0)\nsplit_iname(k, 64, inner_tag=l.0)";
  const Kernel differs = make_long(difference, "f32");
  check_is_equal(compare(apply_recipe(differs, in_parts), differs));
  EXPECT_FALSE(
      compare(make_long("b[i] = sum(k, a[i, k]**2) - 1.001*sum(k, a[i, k + 1]**2)", "f32"), differs)
          .is_equal);
  const Kernel adds = make_long(updates, "f32");
  check_is_equal(compare(apply_recipe(adds, "split_iname(k, 8192, outer_tag=g.0)"), adds));
  EXPECT_FALSE(
      compare(make_long("c[k % 8] = c[k % 8] + (a[i, k] if k >= 8 else 0) {atomic}", "f32"), adds)
          .is_equal);
  const Kernel exactly = make_long(difference, "f64");
  check_is_equal(compare(apply_recipe(exactly, in_parts), exactly));
}

TEST(MeasuredErrors, CountTheNumbersInSums) {
  const auto longest = [](const std::string& statements) {
    return longest_sum(infer_types(make_kernel("{[i, j]: 0 <= i < 30 and 0 <= j < 50}", statements,
                                               {.arguments = "a: f32[30, 50]; b: f32[50]; "
                                                             "x: i32[30]; one: f32[1]"})),
                       {});
  };
  EXPECT_EQ(longest("b[j] = 2*b[j]"), 1);
  EXPECT_EQ(longest("b[j] = sum(i, a[i, j])"), 30);
  EXPECT_EQ(longest("one[0] = sum((i, j), a[i, j])"), 1500);
  EXPECT_EQ(longest("b[j] = b[j] + a[i, j] {atomic}"), 30);
  EXPECT_EQ(longest("one[0] = one[0] + a[i, j] {atomic}"), 1500);
  EXPECT_EQ(longest("b[x[i]] = b[x[i]] + a[i, j] {atomic}"), 30);
}

TEST(WithOtherReals, WidensTheDescription) {
  const Kernel kernel = infer_types(
      make_kernel("{[i]: 0 <= i < 10}", "<> t = 0.5f*a[i] + cast(f32, x[i])\nb[i] = z[i]*t",
                  {.arguments = "a: f32[10]; x: i32[10]; b, z: c64[10]"}));
  const auto other = with_other_reals(kernel);
  ASSERT_TRUE(other);
  EXPECT_EQ(*find_argument(*other, "a")->type, cgen::f64);
  EXPECT_EQ(*find_argument(*other, "x")->type, cgen::i32);
  EXPECT_EQ(*find_argument(*other, "z")->type, cgen::complex_of(cgen::f64));
  EXPECT_EQ(*find_temporary(*other, "t")->type, cgen::f64);
  EXPECT_EQ(*find_argument(*with_other_reals(*other), "a")->type, cgen::f32);
  EXPECT_FALSE(with_other_reals(infer_types(make_kernel(
      "{[i]: 0 <= i < 10}", "... c \"${a[i]} = 1;\" {writes=a}", {.arguments = "a: f32[10]"}))));
}

TEST(WithOtherLastPlaces, ChangesFloatingPointNumbersAlone) {
  for (const char* type : {"f32", "f64", "f16", "bf16", "i32"}) {
    const Kernel kernel = infer_types(make_kernel("{[i]: 0 <= i < 100}", "a[i] = a[i]",
                                                  {.arguments = fmt::format("a: {}[100]", type)}));
    ArgumentData before = random_arguments(kernel, {}, 1);
    before.at("a").set_element(3, 0);
    const ArgumentData after = with_other_last_places(before, 1, 1);
    const bool is_integer = type[0] == 'i';
    EXPECT_EQ(before.at("a").bytes == after.at("a").bytes, is_integer) << type;
    const double unit = type[0] == 'b' ? 0x1p-7 : type[1] == '1' ? 0x1p-10 : 0x1p-23;
    for (std::size_t i = 0; i < 100; ++i) {
      const double one = before.at("a").element(i);
      EXPECT_LE(std::fabs(after.at("a").element(i) - one), 3 * unit * std::fabs(one)) << type;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
