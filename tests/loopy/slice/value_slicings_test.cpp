// Values of rules that a block keeps in shared memory.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// A gradient at each point of an element, weighted, and its divergence.
Kernel stiffness() {
  return make_kernel("{[e, i, j, m, p]: 0 <= e < 5000 and 0 <= i, j, m, p < 8}",
                     "ux(i, j) := sum(p, D[i, p]*u[e, p, j])\n"
                     "uy(i, j) := sum(p, D[j, p]*u[e, i, p])\n"
                     "fx(i, j) := G[0, e, i, j]*ux(i, j) + G[1, e, i, j]*uy(i, j)\n"
                     "fy(i, j) := G[1, e, i, j]*ux(i, j) + G[2, e, i, j]*uy(i, j)\n"
                     "out[e, i, j] = sum(m, D[m, i]*fx(m, j) + D[m, j]*fy(i, m))",
                     {.arguments = "D: f32[8, 8]; u, out: f32[5000, 8, 8]; G: f32[3, 5000, 8, 8]"});
}

const char* const all_kept =
    "e: g.0; i: l.1 ilp*2; j: l.0; place ux shared; place uy shared; place fx shared; "
    "place fy shared";

TEST(ValueSlicings, AreReadAndWritten) {
  const Slicing slicing = parse_slicing(all_kept);
  EXPECT_EQ(slicing.shared_values, (std::vector<std::string>{"ux", "uy", "fx", "fy"}));
  EXPECT_EQ(to_string(slicing), all_kept);
  EXPECT_EQ(to_string(parse_slicing("place ux shared")), "place ux shared");
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("place ux registers"));
  EXPECT_ERROR("loopy.recipe_of.unknown_rule",
               recipe_of(stiffness(), parse_slicing("e: g.0; place q shared")));
}

TEST(ValueSlicings, ComputeEachValueOnce) {
  // in any order: those that others call come first
  const Slicing slicing = parse_slicing(
      "e: g.0; i: l.1; j: l.0; place fx shared; place fy shared; place ux shared; place uy shared");
  const auto steps = recipe_of(stiffness(), slicing);
  EXPECT_EQ(to_string(steps[steps.size() - 4]),
            "precompute(ux, [i, j, m], address_space=local, any_sweep=yes, "
            "temporary_name=ux_values)");
  EXPECT_EQ(to_string(steps.back()),
            "precompute(fy, [i, m], address_space=local, any_sweep=yes, temporary_name=fy_values)");
  const std::string text =
      generate_text(apply(stiffness(), slicing), Target::cuda, {.recipe_comment = false});
  EXPECT_NE(text.find(R"(
  float acc_p = 0.0f;
  float acc_p_1 = 0.0f;
  for (int p = 0; p < 8; ++p) {
    acc_p += D[8 * i + p] * u[64 * e + 8 * p + j];
    acc_p_1 += D[8 * i + p] * u[64 * e + 8 * j + p];
  }
  ux_values[i][j] = acc_p;
  uy_values[j][i] = acc_p_1;
  __syncthreads();
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(
  fx_values[i][j] = G[64 * e + 8 * i + j] * ux_values[i][j] +
      G[64 * e + 8 * i + j + 320000] * uy_values[i][j];
)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("acc_m += D[8 * m + i] * fx_values[m][j] + D[8 * m + j] * fy_values[i][m];"),
            std::string::npos)
      << text;
}

TEST(ValueSlicings, AreListedWithThoseThatComputeValuesAnew) {
  const Kernel kernel = stiffness();
  const SlicingStream stream(kernel, {});
  EXPECT_FALSE(stream.at(0).slicing.shared_values.empty()) << stream.at(0).words;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const RankedSlicing each = stream.at(i);
    if (each.slicing.shared_values.empty()) {
      continue;
    }
    ++kept;
    EXPECT_EQ(stream.find_words(each.words), i);
    const GeneratedProgram program = generate(apply(kernel, each.slicing), Target::cuda);
    EXPECT_EQ(program.launches.size(), 1U) << each.words;
  }
  EXPECT_GE(kept, 4U);
  EXPECT_LT(kept, stream.count());
}

// A sum at each step of another one has fewer values than uses, though one place calls the rule.
TEST(ValueSlicings, KeepSumsWithinSums) {
  const Kernel kernel = make_kernel("{[e, i, j, p, q]: 0 <= e < 4096 and 0 <= i, j, p, q < 6}",
                                    "along(p, j) := sum(q, M[j, q]*u[e, p, q])\n"
                                    "out[e, i, j] = sum(p, M[i, p]*along(p, j))",
                                    {.arguments = "M: f32[6, 6]; u, out: f32[4096, 6, 6]"});
  const SlicingStream stream(kernel, {});
  EXPECT_TRUE(stream.find_words("j: l.0; i: l.1; e: g.0; place along shared"));
}

TEST(ValueSlicings, LeaveOutRulesWithoutSums) {
  const Kernel kernel =
      make_kernel("{[i]: 0 <= i < 4096}", "f(x) := 2*a[x]\nb[i] = f(i) + f(i + 1)",
                  {.arguments = "a: f32[4097]; b: f32[4096]"});
  const SlicingStream stream(kernel, {});
  for (std::size_t i = 0; i < stream.count(); ++i) {
    EXPECT_TRUE(stream.at(i).slicing.shared_values.empty());
  }
}

// Weights that all items of a thread along d share are computed for each item where d is a loop.
TEST(InnerLoops, AreItemsOfAThreadWhereTheyShareSums) {
  const Kernel kernel =
      make_kernel("{[i, j, k, d, e]: 0 <= i, j, k < 4096 and 0 <= d, e < 32}",
                  "total[i] = sum(j, exp(sum(e, q[i, e]*w[j, e])))\n"
                  "out[i, d] = sum(k, exp(sum(e, q[i, e]*w[k, e]))*v[k, d])/total[i]",
                  {.arguments = "q, w, v, out: f32[4096, 32]; total: f32[4096]"});
  SlicingConstraints constraints;
  constraints.max_threads = 64;
  const SlicingStream stream(kernel, constraints);
  const auto as_loop = stream.find_words("i: g.0 l.0*64");
  const auto as_items = stream.find_words("i: g.0 l.0*64; d: ilp");
  ASSERT_TRUE(as_loop && as_items);
  EXPECT_GT(stream.predicted_seconds(*as_loop), 5 * stream.predicted_seconds(*as_items));
}

}  // namespace
}  // namespace rtcg::loopy
