#include "rtcg/loopy/create/make_kernel_with_callees.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

const char* const file_text = R"(kernel rows
domains {[i]: 0 <= i < n}
arguments
  a, b: f32[n, 8]; n: i32
statements
  ... call scale(x=a[i, _0], y=b[i, _0], s=3*i)
callee scale
domains {[k]: 0 <= k < 8}
arguments
  x, y: f32[8]; s: i32
statements
  y[k] = s*x[k]
)";

TEST(MakeKernelWithCallees, PutsStatementsWhereTheyAreCalled) {
  const KernelFile file = parse_kernel_file(file_text);
  const Kernel kernel = described_kernel(file);
  EXPECT_EQ(statements_of(kernel), "b[i, k] = 3*i*a[i, k]\n");
  EXPECT_EQ(kernel.instructions[0].within_inames, (NameSet{"i", "k"}));
  EXPECT_TRUE(kernel.recipe.empty());
  EXPECT_EQ(to_string(parse_kernel_file(to_string(file))), to_string(file));
  EXPECT_EQ(to_string(described_kernel(parse_kernel_file(to_string(file)))), to_string(kernel));
}

TEST(MakeKernelWithCallees, BindsArgumentsInTheirOrder) {
  const Kernel scale = make_kernel("{[k]: 0 <= k < 8}", "y[k] = 2*x[k]",
                                   {.name = "scale", .arguments = "x, y: f32[8]"});
  const Kernel twice = make_kernel_with_callees(
      "{[i]: 0 <= i < n}", "... call scale(a[i, _0], t)\n... call scale(t, b[i, _0]) {id=again}",
      {.arguments = "a, b: f32[n, 8]; t: f32[8]; n: i32"}, {scale});
  EXPECT_EQ(statements_of(twice), "t[k] = 2*a[i, k]\nb[i, k_in] = 2*t[k_in]\n");
}

TEST(MakeKernelWithCallees, SaysWhereACallIsWrong) {
  const auto message = [](const std::string& from, const std::string& to) {
    std::string text = file_text;
    text.replace(text.find(from), from.size(), to);
    try {
      static_cast<void>(described_kernel(parse_kernel_file(text, "rows.loopy")));
    } catch (const InvalidInput& error) {
      return error.code() + ": " + error.message();
    }
    return std::string();
  };
  EXPECT_EQ(message("call scale", "call scales"),
            "loopy.make_kernel.unknown_callee: rows.loopy:6: there is no kernel 'scales' to call");
  EXPECT_EQ(message("x=a[i, _0]", "q=a[i, _0]"),
            "loopy.inline_kernel.bad_binding: rows.loopy:6: 'q' cannot be bound to 'a[i, _0]': "
            "kernel 'scale' has no such argument");
  EXPECT_EQ(message("call scale(x=a[i, _0], y=b[i, _0], s=3*i)", "call scale"),
            "loopy.parse_statements.syntax: rows.loopy:6: '... call' takes a kernel and its "
            "arguments, such as f(x=a[i, _0]), found 'scale'");
  EXPECT_EQ(message("callee scale\ndomains {[k]: 0 <= k < 8}", "callee scale"),
            "loopy.parse_kernel_file.missing_section: rows.loopy:7: there is no section "
            "'domains'");
  EXPECT_ERROR("loopy.make_kernel.unknown_callee",
               make_kernel("{[i]: 0 <= i < n}", "... call f()"));
  EXPECT_ERROR(
      "loopy.inline_kernel.bad_binding",
      make_kernel_with_callees(
          "{[i]: 0 <= i < n}", "... call f(1, 2, 3)", {.arguments = "n: i32"},
          {make_kernel("{[k]: 0 <= k < 8}", "y[k] = 2", {.name = "f", .arguments = "y: f32[8]"})}));
}

}  // namespace
}  // namespace rtcg::loopy
