// Slicings of nests that update arrays atomically.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"

namespace rtcg::loopy {
namespace {

SlicingConstraints of_gpu() {
  SlicingConstraints constraints;
  constraints.machine.shared_bytes = 227 * 1024;
  return constraints;
}

Kernel histogram(std::int64_t points, std::int64_t bins, const char* type = "i32") {
  return fix_parameters(
      make_kernel("{[i]: 0 <= i < n}", "count[x[i]] += 1 {atomic}",
                  {.arguments = std::string("x: i32[n]; n, m: i32; count: ") + type + "[m]"}),
      {{"n", points}, {"m", bins}});
}

TEST(UpdateSlicings, CountFewBinsInCopiesOfTheBlock) {
  const SlicingStream stream(histogram(1 << 26, 256), of_gpu());
  const RankedSlicing best = stream.at(0);
  ASSERT_EQ(best.slicing.privates.size(), 1U) << best.words;
  EXPECT_GE(best.slicing.privates[0].copies, 8) << best.words;
  EXPECT_LT(best.predicted_seconds, 100e-6);
  EXPECT_EQ(best.shared_bytes, 4 * 256 * best.slicing.privates[0].copies);
  for (const std::size_t place : {std::size_t{0}, stream.count() / 2, stream.count() - 1}) {
    EXPECT_EQ(stream.find_words(stream.at(place).words), place);
    EXPECT_EQ(stream.decisions(place).size(), 6U);
  }
}

TEST(UpdateSlicings, KnowTheSlicingOfAnExpert) {
  const SlicingStream stream(histogram(1 << 26, 256), of_gpu());
  const auto expert =
      stream.find_words("i: g.0 for*4 unr*8 l.0*512; private count block copies 32");
  ASSERT_TRUE(expert.has_value());
  EXPECT_LE(*expert, 200U);
}

TEST(UpdateSlicings, UpdateLargeTablesInMemory) {
  const SlicingStream stream(histogram(1 << 26, 1 << 20), of_gpu());
  EXPECT_TRUE(stream.at(0).slicing.privates.empty()) << stream.at(0).words;
}

// Unrolling the long loop would write the whole loop over a row several times.
TEST(UpdateSlicings, ReadLongRowsTogetherAlongThem) {
  const auto list = [](std::int64_t columns) {
    return SlicingStream(
        fix_parameters(
            make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "count[x[i, j]] += 1 {atomic}",
                        {.arguments = "x: i32[n, m]; count: i32[256]; n, m: i32"}),
            {{"n", 100000}, {"m", columns}}),
        of_gpu());
  };
  const SlicingStream of_long_rows = list(8192);
  EXPECT_TRUE(of_long_rows.find_words(
      "i: g.0 for*4 l.1*2; j: for unr*8 l.0*64; private count block copies 16"));
  EXPECT_FALSE(of_long_rows.find_words(
      "i: g.0 for*4 unr*8 l.1*2; j: for l.0*64; private count block copies 16"));
  EXPECT_TRUE(list(64).find_words(
      "i: g.0 for*4 unr*8 l.1*2; j: for l.0*32; private count block copies 16"));
}

TEST(UpdateSlicings, FollowRowsOfWhatIsRead) {
  const Kernel kernel = fix_parameters(
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "s[p[i], j] += a[i, j] {atomic}",
                  {.arguments = "a: f32[n, m]; p: i32[n]; s: f32[16, m]; n, m: i32"}),
      {{"n", 1000000}, {"m", 16}});
  const SlicingStream stream(kernel, of_gpu());
  const RankedSlicing best = stream.at(0);
  ASSERT_EQ(best.slicing.inames.size(), 2U) << best.words;
  EXPECT_EQ(best.slicing.inames[0].iname, "i");
  EXPECT_EQ(to_string(best.slicing.inames[1].factors.back().axis), "l.0") << best.words;
  EXPECT_EQ(best.slicing.privates.size(), 1U) << best.words;
}

SlicingConstraints of_processor() {
  SlicingConstraints constraints;
  constraints.machine.is_cpu = true;
  constraints.machine.multiprocessors = 8;
  return constraints;
}

TEST(UpdateSlicings, GiveEachLaneOfAProcessorACopy) {
  const SlicingStream stream(histogram(1 << 24, 64), of_processor());
  for (std::size_t place = 0; place < stream.count(); ++place) {
    const RankedSlicing each = stream.at(place);
    for (const PrivatePlan& array : each.slicing.privates) {
      EXPECT_EQ(array.copies, each.threads) << each.words;
    }
  }
}

// lanes would read elements far apart, one after the other
TEST(UpdateSlicings, CountInBlocksOfOneThreadOnAProcessor) {
  const SlicingStream stream(histogram(1 << 24, 256), of_processor());
  const RankedSlicing best = stream.at(0);
  EXPECT_EQ(best.threads, 1) << best.words;
  EXPECT_EQ(best.slicing.privates.size(), 1U) << best.words;
  EXPECT_EQ(stream.find_words(best.words), 0U);
}

}  // namespace
}  // namespace rtcg::loopy
