#include "rtcg/loopy/transform/chunk_iname.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/loopy/support/replay.h"
#include "tests/loopy/support/same_results.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel ten() {
  return make_kernel("{[i]: 0 <= i < 10}", "out[i] = 2*a[i]", {.default_type = cgen::f32});
}

TEST(ChunkIname, CutsALoop) {
  const Kernel chunked = chunk_iname(ten(), "i", 3, {.outer_tag = "g.0"});
  EXPECT_EQ(domains_of(chunked),
            "[i_outer, i_inner]: i_inner >= 0 and i_inner <= 9 and i_outer >= 0 and i_outer <= 2 "
            "and 10*i_outer <= 3*i_inner + 2 and 3*i_inner <= 10*i_outer + 7\n");
  EXPECT_EQ(statements_of(chunked), "out[i_inner] = 2*a[i_inner]\n");
  EXPECT_EQ(tag_of(chunked, "i_outer"), (InameTag{AxisKind::grid, 0}));
  expect_recipe(ten(), chunked, "chunk_iname(i, 3, outer_tag=g.0)\n");
}

TEST(ChunkIname, GivesEachValueToOneChunkOfNearlyEqualLength) {
  for (const std::int64_t chunks : {1, 2, 3, 4, 7, 10, 13}) {
    const Kernel chunked = chunk_iname(ten(), "i", chunks);
    expect_same_results(ten(), chunked, {});
    const ConstraintSet& set = chunked.domains.front().constraints;
    std::int64_t total = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const ConstraintSet one = set.substitute("i_outer", chunk);
      const std::int64_t begin = chunk * 10 / chunks;
      const std::int64_t end = (chunk + 1) * 10 / chunks;
      if (begin == end) {
        EXPECT_TRUE(one.is_empty()) << chunk << " of " << chunks;
        continue;
      }
      EXPECT_EQ(one.minimum(Affine("i_inner")), begin) << chunk << " of " << chunks;
      EXPECT_EQ(one.maximum(Affine("i_inner")), end - 1) << chunk << " of " << chunks;
      total += end - begin;
    }
    EXPECT_EQ(total, 10);
  }
}

TEST(ChunkIname, CutsReductionsThatBeginAnywhere) {
  const Kernel kernel = make_kernel("{[i, k]: 0 <= i < n and -3 <= k < 8}",
                                    "out[i] = sum(k, a[i, k + 3]*k)", {.default_type = cgen::f32});
  const Kernel chunked = chunk_iname(kernel, "k", 4, {.outer_name = "part", .inner_name = "kk"});
  EXPECT_EQ(statements_of(chunked), "out[i] = sum((part, kk), a[i, kk + 3]*kk)\n");
  expect_same_results(kernel, chunked, {{"n", 3}});
  expect_recipe(kernel, chunked, "chunk_iname(k, 4, inner_name=kk, outer_name=part)\n");
}

TEST(ChunkIname, CutsLoopsWhoseInnerBoundsDependOnThem) {
  const Kernel triangle =
      make_kernel("{[i]: 0 <= i < 9} {[j]: 0 <= j <= i}", "out[i, j] = a[i] + j",
                  {.arguments = "out: f32[9, 9]", .default_type = cgen::f32});
  expect_same_results(triangle, chunk_iname(triangle, "i", 4), {});
}

TEST(ChunkIname, RefusesWhatItCannotCut) {
  EXPECT_ERROR("loopy.chunk_iname.unknown_iname", chunk_iname(ten(), "q", 2));
  EXPECT_EQ(why_not([&] { return chunk_iname(ten(), "q", 2); }),
            "kernel 'loopy_kernel' has no iname 'q': its inames are i");
  EXPECT_ERROR("loopy.chunk_iname.bad_count", chunk_iname(ten(), "i", 0));
  EXPECT_EQ(why_not([&] { return chunk_iname(ten(), "i", 0); }),
            "'i' cannot be cut into 0 chunks: at least one is needed");
  const Kernel open =
      make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.chunk_iname.no_constant_length", chunk_iname(open, "i", 2));
  EXPECT_TRUE(why_not([&] { return chunk_iname(open, "i", 2); }).has_value());
  EXPECT_EQ(why_not([&] { return chunk_iname(ten(), "i", 2); }), std::nullopt);
}

TEST(ChunkIname, RefusesTagsAndNamesThatDoNotFit) {
  EXPECT_ERROR("loopy.chunk_iname.tagged_already", chunk_iname(tag_inames(ten(), "i:l.0"), "i", 2));
  EXPECT_ERROR("loopy.chunk_iname.name_taken", chunk_iname(ten(), "i", 2, {.outer_name = "a"}));
  EXPECT_ERROR("loopy.chunk_iname.axis_used_twice",
               chunk_iname(ten(), "i", 2, {.outer_tag = "l.0", .inner_tag = "l.0"}));
  EXPECT_TRUE(why_not(
      [&] { return chunk_iname(ten(), "i", 2, {.outer_tag = "l.0", .inner_tag = "l.0"}); }));
  EXPECT_ERROR("loopy.iname_tag.unknown", chunk_iname(ten(), "i", 2, {.outer_tag = "x.0"}));
}

}  // namespace
}  // namespace rtcg::loopy
