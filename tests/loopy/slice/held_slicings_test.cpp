// Nests that hand arrays on within a block, which keeps them in shared memory.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/slice/held_kernels.h"
#include "tests/loopy/support/kernel_text.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

SlicingStream slicings_of(const Kernel& kernel, std::int64_t elements) {
  return SlicingStream(kernel, {.parameters = {{"n", elements}},
                                .min_threads = 32,
                                .max_threads = 64,
                                .max_items_per_thread = 4});
}

/// The place of the first slicing whose words have these in them; the count where none has.
std::size_t first_with(const SlicingStream& stream, const std::string& words) {
  std::size_t place = 0;
  while (place < stream.count() && stream.at(place).words.find(words) == std::string::npos) {
    ++place;
  }
  return place;
}

TEST(HeldSlicings, AreReadAndWritten) {
  const std::string words = "together c,e; c: g.0 l.1*8; f: for l.0*4; i: l.0; place flux shared";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(slicing.together, (std::vector<std::vector<std::string>>{{"c", "e"}}));
  EXPECT_EQ(slicing.shared_values, (std::vector<std::string>{"flux"}));
  EXPECT_EQ(to_string(slicing), words);
  for (const char* wrong : {"together", "together c e", "together ,"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(wrong));
  }
}

TEST(HeldSlicings, NeedLoopsAndAnArrayThatIsHandedOn) {
  EXPECT_ERROR("loopy.rename_iname.unknown_iname",
               recipe_of(lifted_fluxes(), parse_slicing("together c,q")));
  EXPECT_ERROR("loopy.recipe_of.nothing_to_hold",
               recipe_of(lifted_fluxes(), parse_slicing("together c,e; place u shared")));
  EXPECT_ERROR("loopy.recipe_of.unknown_rule",
               recipe_of(lifted_fluxes(), parse_slicing("together c,e; place q shared")));
}

TEST(HeldSlicings, HaveOneBarrierBetweenTheNests) {
  const std::string text = generate_text(
      apply(lifted_fluxes(), parse_slicing("together c,e; c: g.0 l.1*8; f: for l.0*4; i: l.0; "
                                           "place flux shared")),
      Target::cuda, {.recipe_comment = false});
  EXPECT_NE(text.find("float flux[8][2][12];"), std::string::npos) << text;
  const std::size_t barrier = text.find("__syncthreads()");
  EXPECT_LT(text.find("flux[c_1][1][4 * f_0 + f_1] ="), barrier) << text;
  EXPECT_EQ(text.find("__syncthreads()", barrier + 1), std::string::npos) << text;
  EXPECT_EQ(text.find("__global__", text.find("__global__") + 1), std::string::npos) << text;
}

TEST(HeldSlicings, AreListedForNestsThatHandArraysOn) {
  for (const auto& [kernel, words] : {std::pair(lifted_fluxes(), "together c,e; c: g.0"),
                                      std::pair(lifted_fluxes_as_results(), "together c,e; c: g.0"),
                                      std::pair(spectral_elements(), "together c,e; c: g.0"),
                                      std::pair(histograms_of_rows(), "together r,o; r: g.0"),
                                      std::pair(normal_equations(), "together p,q; p: g.0"),
                                      std::pair(perceptrons(), "together a,b; a: g.0")}) {
    const SlicingStream stream = slicings_of(kernel, 100000);
    const std::size_t place = first_with(stream, words);
    ASSERT_LT(place, stream.count()) << words;
    const RankedSlicing ranked = stream.at(place);
    EXPECT_FALSE(ranked.slicing.shared_values.empty()) << ranked.words;
    EXPECT_EQ(stream.find_words(ranked.words), place);
  }
}

TEST(HeldSlicings, ComeBeforeSeveralLaunches) {
  // both nests in one launch, and no fluxes in global memory
  const SlicingStream stream = slicings_of(lifted_fluxes(), 200000);
  EXPECT_LT(first_with(stream, "place flux shared"), first_with(stream, "place flux global"));
}

TEST(HeldSlicings, AreNotListedForOtherBlocksAndProcessors) {
  const Kernel neighbours =
      make_kernel("{[c, f]: 0 <= c < n and 0 <= f < 4}\n{[e, i]: 1 <= e < n and 0 <= i < 4}",
                  "<f32> t[n, 4]\nt[c, f] = a[c, f]\nb[e, i] = t[e, i] + t[e - 1, i]",
                  {.arguments = "a, b: f32[n, 4]", .default_type = cgen::f32});
  const SlicingStream stream = slicings_of(neighbours, 100000);
  EXPECT_EQ(first_with(stream, "place t shared"), stream.count());
  SlicingConstraints processor{.parameters = {{"n", 100000}}};
  processor.machine.is_cpu = true;
  const SlicingStream of_processor(lifted_fluxes(), processor);
  EXPECT_EQ(first_with(of_processor, "place flux shared"), of_processor.count());
}

}  // namespace
}  // namespace rtcg::loopy
