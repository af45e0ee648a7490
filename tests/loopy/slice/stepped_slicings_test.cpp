// Rows whose threads go along them, in tiles that blocks copy.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/slice/slicing_steps.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/slice/recurrences.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

detail::SourcePtr tiles_of(const Kernel& kernel, const SlicingConstraints& constraints = {}) {
  return detail::stepped_slicings(apply_recipe(kernel, detail::preparing_steps(kernel)),
                                  constraints);
}

TEST(SteppedSlicings, CopyTilesOfWhatIsReadAndWritten) {
  const Kernel kernel = phases().of({{"nr", 100000}, {"nt", 1000}});
  const auto tiles = tiles_of(kernel);
  ASSERT_NE(tiles, nullptr);
  EXPECT_TRUE(
      tiles->find(parse_slicing("r: g.0 l.0*32; t: for unr_hint*32; fetch p#1; buffer o pad 1")));
  EXPECT_TRUE(tiles->find(parse_slicing("r: g.0 l.0*64; t: for unr_hint*16; fetch p#1")));
  for (std::size_t i = 0; i < tiles->count(); ++i) {
    EXPECT_FALSE(why_not([&] {
      return generate_text(apply(kernel, tiles->at(i).slicing), Target::cuda);
    })) << tiles->at(i).words;
  }
  const RankedSlicing best = SlicingStream(kernel, {}).at(0);
  EXPECT_EQ(best.slicing.buffers.size(), 1U) << best.words;
  EXPECT_EQ(best.slicing.fetches.size(), 1U) << best.words;
}

TEST(SteppedSlicings, CopyWhatOtherNestsReadInOtherWays) {
  const Kernel kernel = make_kernel(
      "{[r, t]: 0 <= r < 670 and 2 <= t < 133}; {[p, q]: 0 <= p < 670 and 0 <= q < 133}",
      "y[r, t] = 0.5*y[r, t - 1] + x[0, r, t] - x[2, r + 1, t - 2] + w[r, t]\n"
      "... gbarrier\n"
      "z[p, q] = y[p, q] + w[p, q] + (w[p, q - 1] if q > 0 else 0)",
      {.arguments = "x: f64[3, 671, 133]; y, w, z: f64[670, 133]",
       .sequential_dependencies = true});
  const RankedSlicing best = SlicingStream(kernel, {}).at(0);
  EXPECT_TRUE(best.words.starts_with("r: g.0 l.0*32; t: for unr_hint*32; q: ")) << best.words;
  EXPECT_TRUE(best.words.ends_with("; fetch x pad 1; fetch w#1 pad 1; buffer y pad 1"))
      << best.words;
  // three planes of 33 rows of 34 steps with one unused element
  EXPECT_EQ(best.shared_bytes, 8 * (3 * 33 * 35 + 32 * 33 + 32 * 33));
  EXPECT_FALSE(why_not([&] { return generate_text(apply(kernel, best.slicing), Target::cuda); }));
}

TEST(SteppedSlicings, CarryWhatTheStepBeforeWrote) {
  const Kernel kernel = responses().of({{"nr", 1000}, {"nt", 500}});
  const Kernel sliced = apply(
      kernel,
      parse_slicing("r: g.0 l.0*32; g: g.1; t: for unr_hint*16; fetch x pad 1; fetch w pad 1; "
                    "buffer y pad 1; buffer s pad 1"));
  const std::string text = generate_text(sliced, Target::cuda);
  EXPECT_NE(text.find("y_last2 = y_last;"), std::string::npos) << text;
  EXPECT_NE(text.find("s_last += x_tile["), std::string::npos) << text;
}

TEST(SteppedSlicings, AreNotOfOtherKernels) {
  for (const Recurrence& each : {best_paths(), factorizations(), rods()}) {
    EXPECT_EQ(tiles_of(each.of(each.small)), nullptr) << each.name;
  }
  MachineModel processor;
  processor.is_cpu = true;
  EXPECT_EQ(tiles_of(phases().of({{"nr", 100}, {"nt", 100}}), {.machine = processor}), nullptr);
  // fewer steps than a tile has
  EXPECT_EQ(tiles_of(phases().of({{"nr", 100}, {"nt", 8}})), nullptr);
}

TEST(SteppedSlicings, AreReadAndWrittenAsWords) {
  for (const std::string words : {"r: g.0 l.0*32; t: for unr_hint*32; fetch p; buffer o pad 1",
                                  "r: g.0 l.0*32; t: for unr_hint*32; buffer o"}) {
    EXPECT_EQ(to_string(parse_slicing(words)), words);
  }
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("r: g.0 l.0*32; buffer o vec 4"));
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("r: g.0 l.0*32; buffer"));
  const Kernel kernel = phases().of({{"nr", 100}, {"nt", 100}});
  EXPECT_ERROR("loopy.recipe_of.nothing_to_collect",
               apply(kernel, parse_slicing("t: for; buffer o")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_collect",
               apply(kernel, parse_slicing("r: g.0 l.0*32; buffer q")));
}

}  // namespace
}  // namespace rtcg::loopy
