#include "rtcg/loopy/slice/slicing.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/transform/precompute.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel slicing_matmul() {
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

TEST(Slicing, CutsInamesBesideNamesThatItsLoopsWouldHave) {
  const Kernel rows = make_kernel("{[i, j, j_0, j_1to2]: 0 <= i, j, j_0, j_1to2 < 64}",
                                  "mean[i] = sum(j, a[i, j])/64\n"
                                  "most[i] = reduce(max, j_0, a[i, j_0])\n"
                                  "i_1[i, j_1to2] = a[i, j_1to2] - mean[i]",
                                  {.default_type = cgen::f32});
  const std::string words = "i: for for*8; j: unr for*2 l.0*8; j_0: for l.0*8; j_1to2: for l.0*8";
  const Kernel sliced = apply(rows, parse_slicing(words));
  EXPECT_TRUE(is_iname(sliced, "j__2"));
  EXPECT_TRUE(is_iname(sliced, "i__0"));
  EXPECT_TRUE(is_iname(sliced, "j_0_1"));
  EXPECT_EQ(to_string(recipe_of(rows, parse_slicing(words)).front()), "rename_iname(i, i_)");
  EXPECT_NO_THROW(static_cast<void>(generate(sliced, Target::cuda)));
  // a march and its queue are renamed as well, and words that name loops
  const Kernel stencil = make_kernel("{[i, i_0]: 1 <= i < 31 and 0 <= i_0 < 32}",
                                     "v[i, i_0] = u[i - 1, i_0] + u[i, i_0] + u[i + 1, i_0]",
                                     {.default_type = cgen::f32});
  EXPECT_NO_THROW(static_cast<void>(
      apply(stencil, parse_slicing("i_0: l.0; i: g.0; march i*8; queue u 3 along i"))));
  EXPECT_NO_THROW(static_cast<void>(
      apply(stencil, parse_slicing("i: for for*8; i_0: for for*4; order i_1,i_0_0"))));
  EXPECT_ERROR("loopy.recipe_of.ambiguous_loop",
               apply(stencil, parse_slicing("i: for for*8; order i_0,i_1")));
}

TEST(Slicing, SaysTheOrderOfLoops) {
  const std::string text = "i: for for*8; j: for for*4; order j_0,i_0,i_1,j_1";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  EXPECT_EQ(parse_slicing("i: for for*8; order i_0, i_1").loop_order.size(), 2U);
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("order"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("order i_0,,i_1"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("order i_0; order i_1"));
  const Kernel copy =
      make_kernel("{[i, j]: 0 <= i, j < 64}", "b[i, j] = a[i, j]", {.default_type = cgen::f32});
  const auto places = [&](const std::string& slicing) {
    const std::string code = generate_text(apply(copy, parse_slicing(slicing)), Target::host);
    std::vector<std::pair<std::size_t, std::string>> loops;
    for (const char* each : {"i_0", "i_1", "j_0", "j_1"}) {
      loops.emplace_back(code.find("for (int " + std::string(each) + " "), each);
    }
    std::sort(loops.begin(), loops.end());
    std::string order;
    for (const auto& [place, name] : loops) {
      order += place == std::string::npos ? "?" : name + " ";
    }
    return order;
  };
  EXPECT_EQ(places(text), "j_0 i_0 i_1 j_1 ");
  EXPECT_EQ(places("i: for for*8; j: for for*4; order i_1,j_0,j_1,i_0"), "i_1 j_0 j_1 i_0 ");
  EXPECT_ERROR("loopy.prioritize_loops.unknown_iname",
               apply(copy, parse_slicing("i: for for*8; order k_0,i_0")));
}

TEST(Slicing, SaysHowTilesLieAndHowWideTheyAreRead) {
  const std::string text =
      "i: g.1 l.1*16; j: g.0 l.0*16; k: for for*8; fetch a transposed xor; fetch b pad 4 vec 4; "
      "stages 2";
  const Slicing slicing = parse_slicing(text);
  EXPECT_EQ(to_string(slicing), text);
  EXPECT_TRUE(slicing.fetches[0].is_swizzled);
  EXPECT_EQ(slicing.fetches[1].vector_width, 4);
  const auto steps = recipe_of(slicing_matmul(), slicing);
  EXPECT_EQ(to_string(steps.back()), "swizzle_bank_conflicts(a_tile)");
  EXPECT_EQ(to_string(steps[steps.size() - 2]), "pipeline([a_tile, b_tile], k_0, 2)");
  EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [](const RecipeStep& each) {
    return to_string(each) == "add_prefetch(b, [j_1, k_1], temporary_name=b_tile, vector_width=4)";
  }));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a pad 4 xor"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a vec four"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a registers xor"));
}

TEST(Slicing, SaysWhatFetchesSweepAndHowFarTheyRunAhead) {
  const std::string text =
      "i: g.1 l.1*16; k: for for*8; fetch a stages 3 over i_1,k_1; fetch b over k_1";
  const Slicing slicing = parse_slicing(text);
  EXPECT_EQ(to_string(slicing), text);
  EXPECT_EQ(slicing.fetches[0].stages, 3);
  EXPECT_EQ(slicing.fetches[1].swept, std::vector<std::string>{"k_1"});
  const auto steps = recipe_of(slicing_matmul(), slicing);
  EXPECT_EQ(to_string(steps[steps.size() - 3]),
            "add_prefetch(a, [i_1, k_1], outer_inames=[j], temporary_name=a_tile)");
  EXPECT_EQ(to_string(steps[steps.size() - 2]), "add_prefetch(b, [k_1], temporary_name=b_tile)");
  EXPECT_EQ(to_string(steps.back()), "pipeline([a_tile], k_0, 3)");
}

TEST(Slicing, FetchesOneGroupOfReads) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
                                    "c[i, j] = sum(k, a[i, k]*a[j, k + 1]*a[j, k]) + a[0, 0]",
                                    {.arguments = "a: f32[n, m + 1]; c: f32[n, n]"});
  const std::string text =
      "i: g.1 l.1*8; j: g.0 l.0*8 ilp*2; k: for for*4; fetch a; fetch a#2 transposed; stages 2";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  EXPECT_EQ(parse_slicing(text).fetches[1].group, 2);
  const auto steps = recipe_of(kernel, parse_slicing(text));
  EXPECT_EQ(to_string(steps[steps.size() - 4]),
            "add_prefetch(a, [i_1, k_1], temporary_name=a_tile)");
  EXPECT_EQ(to_string(steps[steps.size() - 3]),
            "add_prefetch(a[16*j_0 + 2*j_1 + j_2, 4*k_0 + k_1 + 1], [j_1, j_2, k_1], "
            "any_offset=yes, temporary_name=a_tile2)");
  EXPECT_EQ(to_string(steps.back()), "pipeline([a_tile, a_tile2], k_0, 2)");
  const Kernel sliced = apply(kernel, parse_slicing(text));
  EXPECT_EQ(find_temporary(sliced, "a_tile2")->shape.size(), 3U);
  EXPECT_ERROR("loopy.recipe_of.unknown_group",
               recipe_of(kernel, parse_slicing("i: g.0 l.0*8; fetch a#4")));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a#0"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a#one"));
}

TEST(Slicing, LeavesUncutLoopsOutsideOfFetches) {
  const auto fetch = [](const char* text) {
    return to_string(recipe_of(slicing_matmul(), parse_slicing(text)).back());
  };
  EXPECT_EQ(fetch("i: g.0 l.0*16; k: for for*8; fetch b"),
            "add_prefetch(b, [k_1], temporary_name=b_tile)");
  EXPECT_EQ(fetch("i: g.0 l.0*16; k: for for*8; fetch b over j,k_1"),
            "add_prefetch(b, [j, k_1], temporary_name=b_tile)");
  EXPECT_EQ(fetch("i: g.0 l.0*16; j: ilp; k: for for*8; fetch b"),
            "add_prefetch(b, [j, k_1], temporary_name=b_tile)");
}

TEST(Slicing, ExpandsRulesThatReadWhatIsFetched) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 8}",
                  "f(x) := a[x]*a[x]\nc[i] = sum(k, f(k)*b[i, k])", {.default_type = cgen::f32});
  const std::string cut = "i: g.0 l.0*16; ";
  EXPECT_EQ(to_string(recipe_of(kernel, parse_slicing(cut + "fetch a")).front()), "expand_subst()");
  EXPECT_EQ(to_string(recipe_of(kernel, parse_slicing(cut + "fetch b")).front()).substr(0, 11),
            "split_iname");
  EXPECT_NE(find_temporary(apply(kernel, parse_slicing(cut + "fetch a")), "a_tile"), nullptr);
}

TEST(Slicing, SomeFetchesMayStayWhereTheOthersRunAhead) {
  const auto last = [](const char* text) {
    return to_string(recipe_of(slicing_matmul(), parse_slicing(text)).back());
  };
  const std::string cuts = "i: g.0 l.0*16; k: for for*8; ";
  EXPECT_EQ(last((cuts + "fetch a; fetch b stages 1; stages 2").c_str()),
            "pipeline([a_tile], k_0, 2)");
  EXPECT_EQ(last((cuts + "fetch a stages 2; fetch b; stages 2").c_str()),
            "pipeline([a_tile, b_tile], k_0, 2)");
  EXPECT_ERROR("loopy.recipe_of.unequal_stages",
               last((cuts + "fetch a stages 2; fetch b stages 3").c_str()));
  EXPECT_ERROR("loopy.recipe_of.unequal_stages",
               last((cuts + "fetch a stages 2; fetch b; stages 3").c_str()));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_pipeline",
               last((cuts + "fetch a over i_1 stages 2").c_str()));
}

TEST(Slicing, SweepsOnlyWhatLiesWithinABlockOrThread) {
  const auto sweep = [](const char* fetch) {
    return recipe_of(slicing_matmul(),
                     parse_slicing(std::string("i: g.0 l.0*16 ilp*2; k: for for*8; ") + fetch));
  };
  EXPECT_EQ(to_string(sweep("fetch a over i_1,k_0,k_1").back()),
            "add_prefetch(a, [i_1, k_0, k_1], temporary_name=a_tile)");  // the same for all j
  EXPECT_ERROR("loopy.recipe_of.unknown_sweep", sweep("fetch a over i_0"));
  EXPECT_ERROR("loopy.recipe_of.unknown_sweep", sweep("fetch a over i_3"));
  EXPECT_ERROR("loopy.recipe_of.unknown_sweep", sweep("fetch b over i_1"));
  EXPECT_ERROR("loopy.recipe_of.unknown_sweep", sweep("fetch a registers over i_1"));
  EXPECT_EQ(parse_slicing("fetch a registers over i_2").fetches[0].swept.size(), 1U);
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a over"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a over ,"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a registers stages 2"));
}

TEST(Slicing, GivesWhatScriptedTransformationsGive) {
  Kernel scripted = slicing_matmul();
  scripted = split_iname(
      scripted, "i", 16,
      {.outer_name = "i_0", .inner_name = "i_1", .outer_tag = "g.0", .inner_tag = "l.0"});
  scripted = split_iname(scripted, "k", 8, {.outer_name = "k_0", .inner_name = "k_1"});
  scripted = add_prefetch(scripted, "a", {"i_1", "k_1"},
                          {.temporary_name = "a_tile", .outer_inames = {"j"}});
  scripted = tag_array_axes(scripted, {"a_tile"}, "F");
  scripted = add_padding(scripted, "a_tile", 1, 4);
  const Kernel sliced = apply(
      slicing_matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; fetch a transposed pad 4"));
  EXPECT_EQ(to_string(sliced), to_string(scripted));
}

TEST(Slicing, PipelinesWhatMovesAlongTheReduction) {
  const auto steps = recipe_of(
      slicing_matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; fetch a; fetch b; stages 3"));
  EXPECT_EQ(to_string(steps.back()), "pipeline([a_tile, b_tile], k_0, 3)");
}

TEST(Slicing, SpreadsReductionsOverTheBlock) {
  const auto steps = recipe_of(slicing_matmul(), parse_slicing("i: g.0; k: for l.0*64"));
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2].transformation, "split_reduction_outward");
  EXPECT_EQ(steps[2].arguments, std::vector<std::string>{"k_1"});
}

TEST(Slicing, SharesReductionsBetweenBlocks) {
  const std::string text = "i: g.0; j: g.1; k: g.2 for*8 l.0*64; swizzle 4; atomic k";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  const auto steps = recipe_of(slicing_matmul(), parse_slicing(text));
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(to_string(steps[4]), "reduce_over_grid(k_0, how=atomic)");
  EXPECT_EQ(to_string(steps[5]), "swizzle(4)");
}

TEST(Slicing, FetchesTilesOfSumsThatBlocksShare) {
  const std::string text = "i: g.1 l.1*8; j: g.0 l.0*8; k: g.2 for*16 for*8; fetch a; fetch b; ";
  const auto steps = recipe_of(slicing_matmul(), parse_slicing(text + "stages 2; atomic k"));
  ASSERT_EQ(steps.size(), 8U);
  EXPECT_EQ(to_string(steps[4]), "add_prefetch(a, [i_1, k_2], temporary_name=a_tile)");
  EXPECT_EQ(to_string(steps[6]), "pipeline([a_tile, b_tile], k_1, 2)");
  EXPECT_EQ(to_string(steps[7]), "reduce_over_grid(k_0, how=atomic)");
  // without a word preprocessing reduces, and one loop of a block is fetched whole
  const auto two_launches =
      recipe_of(slicing_matmul(), parse_slicing("i: g.1; j: g.0; k: g.2 for*16; fetch a"));
  EXPECT_EQ(to_string(two_launches.back()), "add_prefetch(a, [k_1], temporary_name=a_tile)");
  EXPECT_ERROR("loopy.recipe_of.nothing_to_pipeline",
               recipe_of(slicing_matmul(),
                         parse_slicing("i: g.1; j: g.0; k: g.2 for*16; fetch a; stages 2")));
}

TEST(Slicing, FetchesWhatEveryThreadDoesWhole) {
  const auto steps =
      recipe_of(slicing_matmul(), parse_slicing("i: ilp; j: g.0 l.0*32; k: for; fetch a"));
  EXPECT_EQ(to_string(steps.back()), "add_prefetch(a, [i, k], temporary_name=a_tile)");
}

TEST(Slicing, KeepsWhatAThreadReadsInRegisters) {
  const std::string text = "i: g.0 l.0*16 ilp*4; j: g.1; k: for for*8; fetch b; fetch a registers";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  const auto steps = recipe_of(slicing_matmul(), parse_slicing(text));
  EXPECT_EQ(to_string(steps.back()),
            "add_prefetch(a, [i_2, k_1], address_space=private, default_tag=unr, "
            "temporary_name=a_tile)");
  EXPECT_ERROR(
      "loopy.recipe_of.nothing_to_keep",
      apply(slicing_matmul(), parse_slicing("i: g.0 l.0*16; k: g.1 l.1*8; fetch a registers")));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("fetch a registers pad 4"));
}

TEST(Slicing, LaysOutArguments) {
  const std::string text =
      "i: g.0 l.0*16; fetch b; layout a order 1,0 pad 4; layout b order 1,0; layout c split 0 by "
      "32";
  EXPECT_EQ(to_string(parse_slicing(text)), text);
  for (const char* each :
       {"layout a order 2,0,1 split 1 by 16 pad 8", "layout a split 1 by 16", "layout a pad 3"}) {
    EXPECT_EQ(to_string(parse_slicing(each)), each);
  }
  EXPECT_EQ(to_string(parse_slicing("fetch a; layout a pad 1; i: g.0")),
            "i: g.0; fetch a; layout a pad 1");
  const auto steps = recipe_of(slicing_matmul(), parse_slicing(text));
  ASSERT_EQ(steps.size(), 7U);
  EXPECT_EQ(to_string(steps[1]), "tag_array_axes([a], \"N0,N1\")");
  EXPECT_EQ(to_string(steps[2]), "add_padding(a, 1, 4)");
  EXPECT_EQ(to_string(steps[4]), "split_array_axis(c, 0, 32)");
  EXPECT_EQ(to_string(steps[5]), "tag_array_axes([c], \"N2,N0,N1\")");
}

TEST(Slicing, LaysElementsOutAsItsWordsSay) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i < 5 and 0 <= j < 6 and 0 <= k < 7}",
                                    "b[i, j, k] = a[i, j, k]", {.default_type = cgen::f32});
  const auto places = [&](const char* text) {
    const Argument a = *find_argument(apply(kernel, parse_slicing(text)), "a");
    return std::pair(a.shape, a.strides_elements);
  };
  const std::vector<Expr> shape = {5, 6, 7};
  EXPECT_EQ(places("layout a order 1,2,0"), std::pair(shape, std::vector<Expr>{1, 35, 5}));
  EXPECT_EQ(places("layout a pad 1"), std::pair(shape, std::vector<Expr>{48, 8, 1}));
  EXPECT_EQ(places("layout a order 1,2,0 pad 3"), std::pair(shape, std::vector<Expr>{1, 56, 8}));
  // the inner part of the axis varies fastest
  EXPECT_EQ(places("layout a split 0 by 4"),
            std::pair((std::vector<Expr>{2, 4, 6, 7}), (std::vector<Expr>{168, 1, 28, 4})));
  EXPECT_EQ(places("layout a order 1,0,2 split 1 by 2 pad 1"),
            std::pair((std::vector<Expr>{5, 3, 2, 7}), (std::vector<Expr>{21, 105, 1, 3})));
}

TEST(Slicing, RefusesLayoutsThatCannotBe) {
  for (const char* text : {"layout q order 1,0", "layout n order 0"}) {
    EXPECT_ERROR("loopy.recipe_of.unknown_array", apply(slicing_matmul(), parse_slicing(text)));
  }
  for (const char* text :
       {"layout a order 0", "layout a order 1,1", "layout a order 0,2", "layout a split 2 by 4"}) {
    EXPECT_ERROR("loopy.recipe_of.bad_layout", apply(slicing_matmul(), parse_slicing(text)));
  }
  Slicing twice = parse_slicing("layout a pad 1");  // as text it is refused before
  twice.layouts.push_back(twice.layouts.front());
  EXPECT_ERROR("loopy.recipe_of.bad_layout", apply(slicing_matmul(), twice));
  const Kernel line =
      make_kernel("{[i]: 0 <= i < 8}", "c[i] = 2*a[i] + d[[i]]", {.arguments = "a, c, d: f32[8]"});
  for (const char* text : {"layout a pad 1", "layout d order 0"}) {
    EXPECT_ERROR("loopy.recipe_of.bad_layout", apply(line, parse_slicing(text)));
  }
  const Kernel strided = tag_array_axes(
      make_kernel("{[i, j]: 0 <= i, j < 8}", "c[i, j] = 2*a[i, j]", {.default_type = cgen::f32}),
      {"a"}, "F");
  EXPECT_ERROR("loopy.recipe_of.bad_layout", apply(strided, parse_slicing("layout a pad 1")));
  EXPECT_EQ(
      find_argument(apply(strided, parse_slicing("layout a order 0,1")), "a")->strides_elements,
      std::vector<Expr>{});
}

TEST(Slicing, RefusesWhatItCannotRead) {
  for (const char* text :
       {"i g.0", "i:", "i: g.0*4 l.0*4", "i: g.0 l.0", "i: g.0 l.0*x", "fetch", "fetch a pad",
        "fetch a sideways", "layout", "layout a", "layout a order", "layout a order 1,x",
        "layout a split 0", "layout a split 0 by 0", "layout a split 0 in 4", "layout a pad",
        "layout a pad 4 order 1,0"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(text));
  }
  // twice, with one meaning or two
  for (const char* text :
       {"i: g.0; i: g.1", "i,j: for; j: for", "stages 2; stages 3", "fetch a; fetch a vec 4",
        "place f shared; place f shared", "queue u 3; queue u 4", "march i*64; march i*32",
        "look_back i; look_back i", "launch before i; launch before i"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(text));
  }
  EXPECT_EQ(parse_slicing("fetch a#1; fetch a#2; launch before i; launch before j").fetches.size(),
            2U);
  EXPECT_ERROR("loopy.recipe_of.unknown_iname", apply(slicing_matmul(), parse_slicing("q: g.0")));
  EXPECT_ERROR("loopy.recipe_of.unknown_array", apply(slicing_matmul(), parse_slicing("fetch c")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_pipeline",
               apply(slicing_matmul(), parse_slicing("i: g.0 l.0*16; k: for for*8; stages 2")));
  for (const char* text : {"atomic k", "k: for l.0*64; atomic k", "i: g.0; atomic i", "last k",
                           "k: for l.0*64; last k"}) {
    EXPECT_ERROR("loopy.recipe_of.nothing_to_share", apply(slicing_matmul(), parse_slicing(text)));
  }
}

}  // namespace
}  // namespace rtcg::loopy
