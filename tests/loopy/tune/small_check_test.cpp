#include "rtcg/loopy/tune/small_check.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {
namespace {

const Kernel running =
    make_kernel("{[i]: 0 <= i < n} {[j]: 0 <= j <= i}", "s[i] = scan(sum, j, a[j])",
                {.arguments = "a, s: i32[n]; n: i32"});

// 32 to 63 elements are less than one block of any of these
TEST(SmallCheck, TakesBlocksThatAreLongerThanTheSizes) {
  for (const char* words : {"i: g.0 l.0*128 unr*6 vec*4; look_back i",
                            "i: g.0 l.0*128 unr*4 vec*4; look_back i; exchange i",
                            "i: g.0 l.0*256; look_back i", "i: g.0 l.0*256 unr*4"}) {
    for (const int n : {1 << 26, (1 << 20) + 5}) {
      EXPECT_EQ(wrong_at_small_sizes(running, {{"n", n}}, runtime::Device::host(),
                                     parse_slicing(words), 1),
                "")
          << words;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
