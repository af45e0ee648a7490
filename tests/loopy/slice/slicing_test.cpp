#include "rtcg/loopy/slice/slicing.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/recipe.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel matmul() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32});
}

TEST(Slicing, IsReadAsItIsWritten) {
  const std::string text =
      "i: g.1 ilp*2 l.1*16 ilp*4; j: g.0; k: for for*8; fetch a transposed pad 4; fetch b";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  EXPECT_EQ(parse_slicing(" ; "), Slicing());
  EXPECT_EQ(parse_slicing("stages 3").stages, 3);
  EXPECT_EQ(to_string(parse_slicing("k: for for*8; fetch a;stages 3")),
            "k: for for*8; fetch a; stages 3");
}

TEST(Slicing, GivesWhatScriptedTransformationsGive) {
  Kernel scripted = matmul();
  scripted = split_iname(
      scripted, "i", 16,
      {.outer_name = "i_0", .inner_name = "i_1", .outer_tag = "g.0", .inner_tag = "l.0"});
  scripted = split_iname(scripted, "k", 8, {.outer_name = "k_0", .inner_name = "k_1"});
  scripted = add_prefetch(scripted, "a", {"i_1", "k_1"},
                          {.temporary_name = "a_tile", .outer_inames = {"j"}});
  scripted = tag_array_axes(scripted, {"a_tile"}, "F");
  scripted = add_padding(scripted, "a_tile", 1, 4);
  const Kernel sliced =
      apply(matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; fetch a transposed pad 4"));
  EXPECT_EQ(to_string(sliced), to_string(scripted));
}

TEST(Slicing, PipelinesWhatMovesAlongTheReduction) {
  const auto steps =
      recipe_of(matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; fetch a; fetch b; stages 3"));
  EXPECT_EQ(to_string(steps.back()), "pipeline([a_tile, b_tile], k_0, 3)");
}

TEST(Slicing, SpreadsReductionsOverTheBlock) {
  const auto steps = recipe_of(matmul(), parse_slicing("i: g.0; k: for l.0*64"));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2].transformation, "split_reduction_outward");
  EXPECT_EQ(steps[2].arguments, std::vector<std::string>{"k_1"});
}

TEST(Slicing, SharesReductionsBetweenBlocks) {
  const std::string text = "i: g.0; j: g.1; k: g.2 for*8 l.0*64; swizzle 4; atomic k";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  const auto steps = recipe_of(matmul(), parse_slicing(text));
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(to_string(steps[4]), "reduce_over_grid(k_0, how=atomic)");
  EXPECT_EQ(to_string(steps[5]), "swizzle(4)");
}

TEST(Slicing, FetchesWhatEveryThreadDoesWhole) {
  const auto steps = recipe_of(matmul(), parse_slicing("i: ilp; j: g.0 l.0*32; k: for; fetch a"));
  EXPECT_EQ(to_string(steps.back()), "add_prefetch(a, [i, k], temporary_name=a_tile)");
}

TEST(Slicing, KeepsWhatAThreadReadsInRegisters) {
  const std::string text = "i: g.0 l.0*16 ilp*4; j: g.1; k: for for*8; fetch b; fetch a registers";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  const auto steps = recipe_of(matmul(), parse_slicing(text));
  EXPECT_EQ(to_string(steps.back()),
            "add_prefetch(a, [i_2, k_1], address_space=private, default_tag=unr, "
            "temporary_name=a_tile)");
  EXPECT_ERROR("loopy.recipe_of.nothing_to_keep",
               apply(matmul(), parse_slicing("i: g.0 l.0*16; k: g.1 l.1*8; fetch a registers")));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a registers pad 4"));
}

TEST(Slicing, RefusesWhatItCannotRead) {
  for (const char* text : {"i g.0", "i:", "i: g.0*4 l.0*4", "i: g.0 l.0", "i: g.0 l.0*x", "fetch",
                           "fetch a pad", "fetch a sideways"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(text));
  }
  EXPECT_ERROR("loopy.recipe_of.unknown_iname", apply(matmul(), parse_slicing("q: g.0")));
  EXPECT_ERROR("loopy.recipe_of.unknown_array", apply(matmul(), parse_slicing("fetch c")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_pipeline",
               apply(matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; stages 2")));
  for (const char* text : {"atomic k", "k: for l.0*64; atomic k", "i: g.0; atomic i"}) {
    EXPECT_ERROR("loopy.recipe_of.nothing_to_share", apply(matmul(), parse_slicing(text)));
  }
}

}  // namespace
}  // namespace rtcg::loopy
