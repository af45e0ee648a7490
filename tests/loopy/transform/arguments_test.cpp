#include "rtcg/loopy/transform/arguments.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel with_spare_arguments() {
  return make_kernel("{[i]: 0 <= i < n}", "<> t = a[i]\nb[i] = 2*t",
                     {.arguments = "b: f32[n] {strides=s}; spare: f32[m]; ...",
                      .default_type = cgen::f32,
                      .assumptions = "n >= 1"});
}
std::vector<std::string> names_of_arguments(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const Argument& argument : kernel.arguments) {
    names.push_back(argument.name);
  }
  return names;
}

TEST(RemoveUnusedArguments, KeepsWhatIsMentioned) {
  EXPECT_EQ(names_of_arguments(with_spare_arguments()),
            (std::vector<std::string>{"b", "spare", "a", "m", "n", "s"}));
  const Kernel kernel = remove_unused_arguments(with_spare_arguments());
  EXPECT_EQ(names_of_arguments(kernel), (std::vector<std::string>{"b", "a", "n", "s"}));
  expect_recipe(with_spare_arguments(), kernel, "remove_unused_arguments()\n");
}

TEST(RemoveUnusedArguments, KeepsWhatIsAssumedOf) {
  const Kernel kernel = make_kernel(
      "{[i]: 0 <= i < n}", "b[i] = 1.0",
      {.arguments = "m: i32; ...", .default_type = cgen::f32, .assumptions = "n >= 1 and m >= n"});
  EXPECT_EQ(names_of_arguments(remove_unused_arguments(kernel)), names_of_arguments(kernel));
}

TEST(RemoveUnusedArguments, KeepsWhatRulesAndPredicatesMention) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 8}", "f(x) := x + c\nb[i] = f(a[i]) {if=p > i}",
                                    {.arguments = "p: i32; ...", .default_type = cgen::f32});
  EXPECT_EQ(names_of_arguments(remove_unused_arguments(kernel)), names_of_arguments(kernel));
}

TEST(RenameArgument, RenamesArrays) {
  const Kernel kernel = rename_argument(with_spare_arguments(), "a", "input");
  EXPECT_EQ(statements_of(kernel), "t = input[i]\nb[i] = 2*t\n");
  EXPECT_EQ(names_of_arguments(kernel),
            (std::vector<std::string>{"b", "spare", "input", "m", "n", "s"}));
  expect_recipe(with_spare_arguments(), kernel, "rename_argument(a, input)\n");
}

TEST(RenameArgument, RenamesParametersEverywhere) {
  const Kernel kernel =
      rename_argument(rename_argument(with_spare_arguments(), "n", "rows"), "s", "step");
  EXPECT_EQ(domains_of(kernel), "[i]: i >= 0 and i < rows\n");
  EXPECT_EQ(to_string(kernel.assumptions), "rows >= 1");
  const Argument& b = *find_argument(kernel, "b");
  EXPECT_EQ(to_string(b.shape.front()), "rows");
  EXPECT_EQ(to_string(b.strides_elements.front()), "step");
}

TEST(RenameArgument, LeavesParametersOfRulesAlone) {
  const Kernel kernel = make_kernel("{[i]: 0 <= i < 8}", "f(c) := c*c\nb[i] = f(a[i]) + c",
                                    {.default_type = cgen::f32});
  const Kernel renamed = rename_argument(kernel, "c", "d");
  EXPECT_EQ(to_string(renamed.rules.front().body), "c*c");
  EXPECT_EQ(statements_of(renamed), "b[i] = f(a[i]) + d\n");
  // a new name that a rule has for its parameter would change its meaning
  EXPECT_ERROR("loopy.rename_argument.name_taken", rename_argument(renamed, "d", "c"));
}

TEST(RenameArgument, RefusesWhatDoesNotFit) {
  EXPECT_ERROR("loopy.rename_argument.unknown_argument",
               rename_argument(with_spare_arguments(), "q", "p"));
  EXPECT_EQ(why_not([&] { return rename_argument(with_spare_arguments(), "q", "p"); }),
            "kernel 'loopy_kernel' has no argument 'q': its arguments are [b, spare, a, m, n, s]");
  EXPECT_ERROR("loopy.rename_argument.name_taken",
               rename_argument(with_spare_arguments(), "a", "t"));
  EXPECT_ERROR("loopy.rename_argument.name_taken",
               rename_argument(with_spare_arguments(), "a", ""));
  EXPECT_ERROR("loopy.rename_argument.name_taken",
               rename_argument(with_spare_arguments(), "a", "a b"));
  EXPECT_EQ(why_not([&] { return rename_argument(with_spare_arguments(), "a", "i"); }),
            "the name 'i' is taken in kernel 'loopy_kernel'");
  EXPECT_EQ(why_not([&] { return rename_argument(with_spare_arguments(), "a", "input"); }),
            std::nullopt);
}

TEST(RenameArgument, RefusesWhatRawCodeMentions) {
  Kernel kernel = with_spare_arguments();
  kernel.instructions.push_back({.id = "raw", .kind = RawCode{"touch(a);", {"a"}, {"b"}}});
  EXPECT_ERROR("loopy.rename_argument.raw_code", rename_argument(kernel, "a", "z"));
  EXPECT_ERROR("loopy.rename_argument.raw_code", rename_argument(kernel, "b", "z"));
  EXPECT_EQ(why_not([&] { return rename_argument(kernel, "a", "z"); }),
            "the text of statement 'raw' mentions 'a'");
  EXPECT_EQ(why_not([&] { return rename_argument(kernel, "spare", "z"); }), std::nullopt);
}

TEST(SetArgumentOrder, PutsSomeFirst) {
  const Kernel kernel = set_argument_order(with_spare_arguments(), {"n", "a"});
  EXPECT_EQ(names_of_arguments(kernel),
            (std::vector<std::string>{"n", "a", "b", "spare", "m", "s"}));
  expect_recipe(with_spare_arguments(), kernel, "set_argument_order([n, a])\n");
  EXPECT_ERROR("loopy.set_argument_order.unknown_argument",
               set_argument_order(with_spare_arguments(), {"t"}));
  EXPECT_TRUE(
      why_not([&] { return set_argument_order(with_spare_arguments(), {"t"}); }).has_value());
  EXPECT_EQ(why_not([&] {
              return set_argument_order(with_spare_arguments(), {"n", "a"});
            }),
            std::nullopt);
}

TEST(AddDtypes, StatesTypes) {
  const Kernel kernel =
      add_dtypes(with_spare_arguments(), {{"a", "f64"}, {"t", "f32"}, {"n", "i64"}});
  EXPECT_EQ(find_argument(kernel, "a")->type, cgen::Type(cgen::f64));
  EXPECT_EQ(find_argument(kernel, "n")->type, cgen::Type(cgen::i64));
  EXPECT_EQ(find_temporary(kernel, "t")->type, cgen::Type(cgen::f32));
  expect_recipe(with_spare_arguments(), kernel, "add_dtypes(a:f64, t:f32, n:i64)\n");
}

TEST(AddDtypes, RefusesWhatItDoesNotKnow) {
  EXPECT_ERROR("loopy.add_dtypes.unknown_variable",
               add_dtypes(with_spare_arguments(), {{"q", "f32"}}));
  EXPECT_EQ(why_not([&] {
              return add_dtypes(with_spare_arguments(), {{"q", "f32"}});
            }),
            "kernel 'loopy_kernel' has no argument or temporary 'q'");
  EXPECT_ERROR("loopy.add_dtypes.unknown_type", add_dtypes(with_spare_arguments(), {{"a", "f31"}}));
  EXPECT_EQ(why_not([&] {
              return add_dtypes(with_spare_arguments(), {{"a", "f31"}});
            }),
            "'f31' is not a type: write f32, f64, i32, ...");
  EXPECT_EQ(why_not([&] {
              return add_dtypes(with_spare_arguments(), {{"a", "f32"}});
            }),
            std::nullopt);
}

}  // namespace
}  // namespace rtcg::loopy
