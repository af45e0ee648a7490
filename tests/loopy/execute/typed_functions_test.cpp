// Functions of the user: with types, and with code for each target or for all.
#include <gtest/gtest.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/compare_with_reference.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/transform/fuse_kernels.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

constexpr const char* soft_functions = R"(
# of machine learning
soft(x: f32): f32 = x/(1 + abs(x))
  { return x/(1.0f + (x < 0 ? -x : x)); }
  cuda { return x/(1.0f + fabsf(x)); /* } */ }
)";

Kernel with_functions(const std::string& functions, const std::string& statements,
                      const std::string& arguments) {
  KernelOptions options;
  options.functions = functions;
  options.arguments = arguments;
  return make_kernel("{[i]: 0 <= i < n}", statements, options);
}

Kernel on_threads(Kernel kernel) {
  return apply_recipe(std::move(kernel), "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)");
}

TEST(TypedFunctions, AreCalledOnEveryTarget) {
  const Kernel kernel =
      with_functions(soft_functions, "b[i] = 2*soft(a[i] - 1) + soft(i)", "a, b: f32[n]; n: i32");
  expect_same_everywhere(on_threads(kernel), kernel, {{"n", 100}});
  const std::string cuda = generate_text(kernel, Target::cuda);
  EXPECT_EQ(count_of("fabsf(x)", cuda), 1) << cuda;
  EXPECT_EQ(count_of("static inline __device__ float soft(float x)", cuda), 1) << cuda;
  EXPECT_EQ(count_of("soft((float)i)", cuda), 1) << cuda;
  EXPECT_EQ(count_of("fabs", generate_text(kernel, Target::host)), 0);
}

// three more of one's own: complex numbers, integers that functions hand to each other, and lanes
TEST(TypedFunctions, TakeComplexNumbersAndIntegers) {
  const Kernel turned = with_functions(
      "turn(z: c64): c64 = make_complex(-imag(z), real(z))\n"
      "  host { return __builtin_complex(-__imag__ z, __real__ z); }\n"
      "  opencl { return (float2)(-z.y, z.x); }\n"
      "  cuda { return {-z.y, z.x}; }\n",
      "b[i] = turn(a[i]) + a[i]", "a, b: c64[n]; n: i32");
  expect_same_everywhere(on_threads(turned), turned, {{"n", 70}});
  const Kernel hashed = with_functions(
      "mixed(x: u32): u32 = (x ^ (x >> 7))*9\n"
      "  { return (x ^ (x >> 7))*9; }\n"
      "hashed(x: u32, seed: u32): u32 = mixed(mixed(x) + seed)\n"
      "  { return mixed(mixed(x) + seed); }\n"
      "unused(x: f32): f32\n"
      "  cuda { return x; }\n",
      "b[i] = hashed(a[i], 3)", "a, b: u32[n]; n: i32");
  expect_same_everywhere(on_threads(hashed), hashed, {{"n", 70}});
  EXPECT_EQ(count_of("unused", generate_text(hashed, Target::cuda)), 0);
}

TEST(TypedFunctions, WorkInLanesReductionsAndRules) {
  KernelOptions options;
  options.functions = soft_functions;
  options.arguments = "a: f32[n, 16]; b: f32[n]; n: i32";
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 16}",
                  "twice(x) := 2*soft(x)\nb[i] = sum(j, twice(a[i, j]))", options);
  expect_same_everywhere(apply_recipe(kernel, "tag_inames(i:g.0, j:l.0)"), kernel, {{"n", 9}});
  expect_same_everywhere(apply_recipe(kernel,
                                      "split_iname(i, 4, inner_tag=ilp)\n"
                                      "split_iname(j, 4)"),
                         kernel, {{"n", 9}});
}

TEST(TypedFunctions, MayBeTrees) {
  const cgen::Expr x = cgen::variable("x", cgen::f32);
  cgen::BlockBuilder body;
  body << cgen::return_(x * x + 1.0F);
  Kernel kernel = make_kernel("{[i]: 0 <= i < n}", "b[i] = squared(a[i])",
                              {.arguments = "a, b: f32[n]; n: i32"});
  kernel = add_function(kernel, {.name = "squared",
                                 .parameters = {{"x", cgen::f32}},
                                 .result = cgen::f32,
                                 .bodies = {{std::nullopt, cgen::Block{body.statements()}}},
                                 .meaning = Name{"x"} * Name{"x"} + 1});
  expect_same_everywhere(on_threads(kernel), kernel, {{"n", 40}});
  EXPECT_ERROR("loopy.to_kernel_file.not_sayable", to_kernel_file(kernel));
  // functions of the library have no declaration in the text
  kernel.functions[0].bodies = {
      {std::nullopt,
       cgen::Block{{cgen::return_(cgen::call("nextafterf", {x, cgen::Expr(1.0F)}, cgen::f32))}}}};
  EXPECT_EQ(count_of("nextafterf(x, 1.0f)", generate_text(kernel, Target::cuda)), 1);
}

TEST(TypedFunctions, AreInterpretedByTheirMeaningOnly) {
  const Kernel wrong = with_functions("one(x: f32): f32 = x + 1\n  { return x + 2; }",
                                      "b[i] = one(a[i])", "a, b: f32[n]; n: i32");
  EXPECT_FALSE(
      compare_with_reference(wrong, wrong, {{"n", 8}}, runtime::Device::host(), {}).is_equal);
  const Kernel without = with_functions("one(x: f32): f32\n  { return x + 1; }", "b[i] = one(a[i])",
                                        "a, b: f32[n]; n: i32");
  EXPECT_EQ(compare_with_reference(without, without, {{"n", 8}}, runtime::Device::host(), {}).judge,
            Judge::generated_reference);
}

TEST(TypedFunctions, AreWrittenToFilesAndRead) {
  const std::string text = R"(kernel softened
domains {[i]: 0 <= i < n}
arguments a, b: f32[n]; n: i32
functions
  preamble cuda { #define ONE 1.0f }
  preamble opencl { #define ONE 1.0f }
  preamble host { #define ONE 1.0f }
  soft(x: f32): f32 = x/(1 + abs(x))
    {
      if (x < 0) {
        return x/(ONE - x);
      }
      return x/(ONE + x);
    }
statements b[i] = soft(a[i])
)";
  const Kernel kernel = kernel_from_text(text);
  expect_same_everywhere(on_threads(kernel), kernel, {{"n", 40}});
  const KernelFile file = to_kernel_file(kernel);
  const Kernel again = kernel_from_text(to_string(file));
  EXPECT_EQ(to_string(again), to_string(kernel));
  EXPECT_EQ(generate_text(again, Target::cuda), generate_text(kernel, Target::cuda));
}

TEST(TypedFunctions, AreRefusedWhereTheTargetHasNoCode) {
  const Kernel kernel = with_functions("ids(x: i32): i32\n  cuda { return x + __laneid(); }",
                                       "b[i] = ids(i)", "b: i32[n]; n: i32");
  EXPECT_ERROR("loopy.generate.function_target", generate_text(kernel, Target::host));
  EXPECT_ERROR("loopy.generate.function_target", generate_text(kernel, Target::opencl));
  EXPECT_EQ(count_of("__laneid()", generate_text(kernel, Target::cuda)), 1);
  const Kernel clamps =
      with_functions("clamp(x: i32): i32\n  { return x; }", "b[i] = clamp(i)", "b: i32[n]; n: i32");
  EXPECT_ERROR("loopy.generate.reserved_name", generate_text(clamps, Target::opencl));
}

TEST(TypedFunctions, AreCheckedWhenTheyAreAdded) {
  const auto make = [](const std::string& functions) {
    return with_functions(functions, "b[i] = f(a[i])", "a, b: f32[n]; n: i32");
  };
  for (const char* functions :
       {"exp(x: f32): f32 { return x; }", "while(x: f32): f32 { return x; }",
        "f(for: f32): f32 { return 1; }", "f(x: f32, x: f32): f32 { return x; }",
        "f(x: f32): f32 { return x; } f(x: f32): f32 { return x; }",
        "n(x: f32): f32 { return x; }"}) {
    EXPECT_ERROR("loopy.add_function.bad_name", make(functions));
  }
  EXPECT_ERROR("loopy.add_function.no_body", make("f(x: f32): f32 { return x; } { return 2*x; }"));
  EXPECT_ERROR("loopy.add_function.meaning", make("f(x: f32): f32 = x + y { return x; }"));
  EXPECT_ERROR("loopy.add_function.bad_type",
               add_function(make_kernel("{[i]: 0 <= i < 4}", "b[i] = 1.0"),
                            {.name = "f",
                             .result = cgen::pointer_to(cgen::f32),
                             .bodies = {{std::nullopt, c_body("return 0;")}}}));
  EXPECT_ERROR("loopy.type_of.argument_count",
               generate_text(with_functions("f(x: f32): f32 { return x; }", "b[i] = f(a[i], 2)",
                                            "a, b: f32[n]; n: i32"),
                             Target::host));
  for (const char* functions :
       {"f(x: f32): f32", "f(x: f32) { return x; }", "{ return 1; }", "f(x: nothing): f32 { }",
        "f(x: f32): f32 { return x;", "f(x): f32 { return x; }", "f(x: f32): f32 gpu { }"}) {
    EXPECT_ERROR("loopy.parse_functions.syntax", make(functions));
  }
  const Kernel one = make("f(x: f32): f32 { return x; }");
  const Kernel other = make("f(x: f32): f32 { return 2*x; }");
  EXPECT_ERROR("loopy.add_function.two_meanings", fuse_kernels(one, other));
  EXPECT_EQ(fuse_kernels(one, one).functions.size(), 1U);
}

}  // namespace
}  // namespace rtcg::loopy
