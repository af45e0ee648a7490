#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/transform/tag_array_axes.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel short_rows() {
  return make_kernel("{[k, i]: 0 <= k < n and 0 <= i < 20}", "b[k, i] = 2*a[k, i]",
                     {.arguments = "a, b: f32[n, 20]; n: i32"});
}

TEST(FindPaddingMultiple, GivesTheLengthOfAlignedPieces) {
  // rows of 80 bytes: two of them fill 160 bytes, which 32 divides
  EXPECT_EQ(find_padding_multiple(short_rows(), "a", 0, 32, 0.01), 2);
  // 80 bytes in 96: a fifth is wasted
  EXPECT_EQ(find_padding_multiple(short_rows(), "a", 0, 32, 0.25), 1);
  EXPECT_EQ(find_padding_multiple(short_rows(), "a", 1, 32), 8);
}

TEST(FindPaddingMultiple, RefusesWhatIsNotKnown) {
  EXPECT_ERROR("loopy.find_padding_multiple.unknown_array",
               find_padding_multiple(short_rows(), "q", 0, 32));
  EXPECT_ERROR("loopy.find_padding_multiple.bad_axis",
               find_padding_multiple(short_rows(), "a", 2, 32));
  EXPECT_ERROR("loopy.find_padding_multiple.bad_limits",
               find_padding_multiple(short_rows(), "a", 0, 0));
  EXPECT_ERROR("loopy.find_padding_multiple.bad_limits",
               find_padding_multiple(short_rows(), "a", 0, 32, 0));
}

}  // namespace
}  // namespace rtcg::loopy
