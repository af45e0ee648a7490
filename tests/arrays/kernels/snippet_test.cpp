#include "rtcg/arrays/kernels/snippet.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace rtcg::arrays::detail {
namespace {

const std::vector<KernelArgument> arguments = {array_argument(DType::f32, "x"),
                                               array_argument(DType::f32, "z"),
                                               array_argument(DType::boolean, "flags"),
                                               number_argument(DType::f32, "a"),
                                               {"fixed", DType::f32, true, true}};

std::string rewritten(std::string_view text) {
  SnippetNames names;
  names.arrays["x"] = {DType::f32, "x[k]", "x_all", "(", ") * 3"};
  names.arrays["z"] = {DType::f32, "z[k]", "z", "", ""};
  names.arrays["flags"] = {DType::boolean, "flags[k]", "flags", "", ""};
  names.others["a"] = "a_1";
  return rewrite(Snippet(text, arguments), names);
}

TEST(ParseArguments, KnowsTheTypesOfC) {
  const auto dtype = [](const char* text) { return parse_arguments(text).at(0).dtype; };
  EXPECT_EQ(dtype("unsigned long long n"), DType::u64);
  EXPECT_EQ(dtype("long int n"), DType::i64);
  EXPECT_EQ(dtype("unsigned n"), DType::u32);
  EXPECT_EQ(dtype("signed char n"), DType::i8);
  EXPECT_EQ(dtype("short unsigned n"), DType::u16);
  EXPECT_EQ(dtype("uint8_t *n"), DType::u8);
  EXPECT_EQ(dtype("half *n"), DType::f16);
  EXPECT_EQ(dtype("bf16 *n"), DType::bf16);
  EXPECT_EQ(dtype("bool *n"), DType::boolean);
  EXPECT_EQ(dtype("std::complex<double> *n"), DType::c128);
  EXPECT_EQ(dtype("pycuda::complex<float> *n"), DType::c64);
  EXPECT_EQ(parse_dtype("double"), DType::f64);
  const auto list = parse_arguments("float a, __global const float *__restrict__ x, int *const y");
  EXPECT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0], number_argument<float>("a"));
  EXPECT_EQ(list[1], (KernelArgument{"x", DType::f32, true, true}));
  EXPECT_EQ(list[2], array_argument<std::int32_t>("y"));
  EXPECT_TRUE(parse_arguments("").empty());
}

TEST(ParseArguments, RefusesWhatIsNoArgument) {
  EXPECT_ERROR("arrays.parse_arguments.unknown_type", parse_arguments("quux *x"));
  EXPECT_ERROR("arrays.parse_arguments.unknown_type", parse_arguments("long long long x"));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_arguments("float *x,"));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_arguments("float"));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_arguments("float **x"));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_arguments("float x[4]"));
  EXPECT_ERROR("arrays.parse_arguments.syntax", parse_dtype("float *"));
}

TEST(Snippet, FindsElementsWhereTheyLie) {
  EXPECT_EQ(rewritten("z[i] = a*x[i]"), "z[k] = a_1*x[k]");
  EXPECT_EQ(rewritten("z[ i ] = x[i + 1]"), "z[k] = x_all[(i + 1) * 3]");
  EXPECT_EQ(rewritten("z[i] = x[(int)x[i - 1]]"), "z[k] = x_all[((int)x_all[(i - 1) * 3]) * 3]");
  EXPECT_EQ(rewritten("p.x = q->a + s::a; f(x)"), "p.x = q->a + s::a; f(x_all)");
  EXPECT_EQ(rewritten("s = \"x[i] a\"; // x[i]\nt"), "s = \"x[i] a\"; \nt");
  EXPECT_EQ(rewritten("1.5e-3f * 0x1F + .5"), "1.5e-3f * 0x1F + .5");
  EXPECT_EQ(rewritten("\n#pragma unroll 4\na"), "\n#pragma unroll 4\na_1");
}

TEST(Snippet, ConvertsBooleans) {
  EXPECT_EQ(rewritten("flags[i] = x[i] > a, z[i] = 1"), "flags[k] = (x[k] > a_1) != 0, z[k] = 1");
  EXPECT_EQ(rewritten("flags[i] |= flags[0] ? x[i], 1 : 2;"),
            "flags[k] = ((flags[k] != 0) | ((flags[0] != 0) ? x[k], 1 : 2)) != 0;");
}

TEST(Snippet, KnowsWhatIsWritten) {
  const auto written = [](std::string_view text) {
    const Snippet snippet(text, arguments);
    std::string names;
    for (const auto& [name, use] : snippet.arrays()) {
      names += use.is_written ? name + " " : "";
    }
    return names;
  };
  EXPECT_EQ(written("z[i] = x[i]"), "z ");
  EXPECT_EQ(written("z[i + 1] *= x[i] == 2"), "z ");
  EXPECT_EQ(written("++x[i]; z[i]--"), "x z ");
  EXPECT_EQ(written("z[i].re = 1"), "z ");
  EXPECT_EQ(written("atomicAdd(&x[0], z[i] & z[i])"), "x ");
  EXPECT_EQ(written("f(x, fixed)"), "x ");
  EXPECT_FALSE(Snippet("z[i] = x[i]", arguments).uses_place());
  EXPECT_TRUE(Snippet("z[i] = x[i + 1]", arguments).uses_place());
}

TEST(Snippet, RefusesWhatCannotBeRight) {
  EXPECT_ERROR("arrays.snippet.syntax", Snippet("z[i] = (x[i]", arguments));
  EXPECT_ERROR("arrays.snippet.syntax", Snippet("z[i) = 1", arguments));
  EXPECT_ERROR("arrays.snippet.syntax", Snippet("/* no end", arguments));
  EXPECT_ERROR("arrays.snippet.syntax", Snippet("f(\"no end)", arguments));
  EXPECT_ERROR("arrays.snippet.const_array", Snippet("fixed[i] = 1", arguments));
  EXPECT_ERROR("arrays.snippet.bad_write", Snippet("++flags[i]", arguments));
  EXPECT_ERROR("arrays.snippet.return", Snippet("if (x[i] > 0) return;", arguments));
}

TEST(Snippet, SurvivesAnyText) {
  constexpr const char* words[] = {"x",  "z",   "flags", "fixed", "a",     "i",  "[",    "]",
                                   "(",  ")",   "{",     "}",     "=",     "+=", "++",   "?",
                                   ":",  ",",   ";",     ".",     "->",    "&",  "1.5f", "'c'",
                                   "\n", "#if", "[i]",   "==",    "return"};
  std::mt19937 random(11);
  int refused = 0;
  constexpr int trials = 20000;
  for (int trial = 0; trial < trials; ++trial) {
    std::string text;
    for (std::size_t k = random() % 12; k > 0; --k) {
      text += words[random() % std::size(words)];
      text += random() % 3 == 0 ? " " : "";
    }
    try {
      const std::string result = rewritten(text);
      EXPECT_NO_THROW(static_cast<void>(tokenize_snippet(result))) << text << " -> " << result;
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, trials / 10);
  EXPECT_LT(refused, trials);
}

TEST(PortablePreamble, LeavesOutWordsOfOtherDialects) {
  const std::string text = "__device__ inline float f(__global float *x);";
  EXPECT_EQ(portable_preamble(text, cgen::Dialect::c), " static inline float f( float *x);");
  EXPECT_EQ(portable_preamble(text, cgen::Dialect::opencl),
            " static inline float f(__global float *x);");
  EXPECT_EQ(portable_preamble(text, cgen::Dialect::cuda), "__device__ inline float f( float *x);");
}

}  // namespace
}  // namespace rtcg::arrays::detail
