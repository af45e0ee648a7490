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
      tiles->find(parse_slicing("r: g.0 l.0*32; t: for unr_hint*32; fetch p; buffer o pad 1")));
  EXPECT_TRUE(tiles->find(parse_slicing("r: g.0 l.0*64; t: for unr_hint*16; fetch p")));
  for (std::size_t i = 0; i < tiles->count(); ++i) {
    EXPECT_FALSE(why_not([&] {
      return generate_text(apply(kernel, tiles->at(i).slicing), Target::cuda);
    })) << tiles->at(i).words;
  }
  const RankedSlicing best = SlicingStream(kernel, {}).at(0);
  EXPECT_EQ(best.slicing.buffers.size(), 1U) << best.words;
  EXPECT_EQ(best.slicing.fetches.size(), 1U) << best.words;
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
