// Slicings with steps and phases keep the numbers.
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/phased_kernels.h"

namespace rtcg::loopy {
namespace {

/// Some of those that are listed.
void expect_listed_to_keep(const Kernel& kernel, const std::string& words, int count) {
  const SlicingStream stream(kernel,
                             {.min_threads = 8, .max_threads = 64, .max_items_per_thread = 12});
  std::vector<Slicing> phased;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    if (RankedSlicing each = stream.at(i); each.words.find(words) != std::string::npos) {
      phased.push_back(std::move(each.slicing));
    }
  }
  ASSERT_FALSE(phased.empty());
  std::mt19937_64 random(11);
  for (int drawn = 0; drawn < count; ++drawn) {
    const Slicing& slicing = phased[random() % phased.size()];
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, {}, "pthread");
  }
}

TEST(PhasedSlicingsOnEveryTarget, KeepTransposedConvolutions) {
  expect_listed_to_keep(transposed_convolution("5", "3"), "phases x*2; phases y*2; fuse", 3);
  expect_listed_to_keep(transposed_convolution("4", "4"), "phases x*2; phases y*2;", 2);
}

TEST(PhasedSlicingsOnEveryTarget, KeepFiltersAndFlatSums) {
  expect_listed_to_keep(polyphase_filter(), "phases n*2", 3);
  expect_listed_to_keep(flat_convolution(), "phases k*9; phases k_phase*3; fuse", 3);
}

TEST(PhasedSlicingsOnEveryTarget, KeepOddLengthsTrianglesAndConditions) {
  // the last step lacks a phase; rows end at the diagonal; results are overwritten
  const Kernel odd = make_kernel(
      "{[i, j, k]: 0 <= i < 13 and 0 <= j <= i and 0 <= k < 5}",
      "c[i, j] = c[i, j]*(i % 2) + sum(k, if((i + 1) % 2 == 0, a[(i + 1)//2, k], b[k, i // 2])"
      "*b[k, j])",
      {.arguments = "a: [8, 5]; b: [5, 13]; c: [13, 13]", .default_type = cgen::f32});
  for (const char* words : {"phases i*2; i_step: g.0 l.0*4; i_phase: g.1",
                            "phases i*2; i_step: g.0 l.0*4; i_phase: ilp; k: unr",
                            "phases i*4; i_step: g.1; i_phase: l.1; j: g.0 l.0*8"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(odd, parse_slicing(words)), odd, {});
  }
}

}  // namespace
}  // namespace rtcg::loopy
