// Slicings of nests with loops whose bounds the kernel computes.
#include <gtest/gtest.h>

#include "tests/loopy/slice/ragged_kernels.h"

namespace rtcg::loopy {
namespace {

std::int64_t lanes_of(const RankedSlicing& ranked, const std::string& iname) {
  for (const InameSlicing& each : ranked.slicing.inames) {
    if (each.iname == iname && each.factors.back().axis == InameTag{AxisKind::block, 0}) {
      return each.factors.back().length;
    }
  }
  return 1;
}

TEST(RaggedSlicings, GiveLongerRowsMoreThreads) {
  std::int64_t before = 0;
  for (const std::int64_t length : {2, 16, 200, 4000}) {
    const SlicingStream stream(at(sparse_product(), 100000, 100000, 100000 * length), of_h100());
    const RankedSlicing best = stream.at(0);
    const std::int64_t lanes = lanes_of(best, "k");
    EXPECT_GE(lanes, before) << best.words;
    EXPECT_LE(lanes, 2 * length) << best.words;
    before = lanes;
  }
  EXPECT_GE(before, 32);
}

TEST(RaggedSlicings, TakeHalfOfPaddedRows) {
  const Kernel padded =
      fix_parameters(make_kernel("{[i]: 0 <= i < n} {[k]: 0 <= k < count}",
                                 "<> count = length[i] {id=count}\n"
                                 "y[i] = sum(k, A[i, k]*x[column[i, k]]) {dep=count}",
                                 {.arguments = "A: f32[n, 128]; column: i32[n, 128]; x, y: f32[n]; "
                                               "length: i32[n]; n: i32"}),
                     {{"n", 100000}});
  const SlicingStream stream(padded, of_h100());
  EXPECT_GE(lanes_of(stream.at(0), "k"), 8) << stream.at(0).words;
}

TEST(RaggedSlicings, KnowTheSlicingsOfAnExpert) {
  const SlicingStream stream(at(sparse_product(), 1000000, 1000000, 16000000), of_h100());
  for (const std::string words :
       {"i: g.0 l.1*16; k: for l.0*8", "i: g.0 l.1*8; k: for l.0*32", "i: g.0 l.0*128"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place.has_value()) << words;
    EXPECT_EQ(stream.at(*place).words, words);
    EXPECT_EQ(stream.decisions(*place).size(), 3U);
  }
}

TEST(RaggedSlicings, PutColumnsOnThreads) {
  const SlicingStream stream(at(sparse_times_dense(), 100000, 64, 1600000), of_h100());
  EXPECT_GE(lanes_of(stream.at(0), "j"), 16) << stream.at(0).words;
  EXPECT_TRUE(stream.find_words("i: g.0 l.1*4; j: g.1 l.0*64").has_value());
}

TEST(RaggedSlicings, LeaveProcessorsTheirLoops) {
  SlicingConstraints constraints;
  constraints.machine.is_cpu = true;
  constraints.machine.multiprocessors = 8;
  const SlicingStream stream(at(sparse_product(), 100000, 100000, 1600000), constraints);
  EXPECT_EQ(stream.at(0).words.find("l.0"), std::string::npos) << stream.at(0).words;
}

}  // namespace
}  // namespace rtcg::loopy
