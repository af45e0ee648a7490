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

// 32 steps of a sum are two tiles of 16, fewer than the stages
TEST(SmallCheck, TakesCopiesThatRunFurtherAheadThanTheSizes) {
  const Kernel product =
      make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32});
  for (const char* words :
       {"j: g.0 l.0*8; i: g.1 l.1*8; k: for for*16; fetch a; fetch b; stages 3",
        "j: g.0 l.0*8; i: g.1 l.1*8; k: for for*64; fetch a stages 4; fetch b stages 4",
        "j: g.0 l.0*8; i: g.1 l.1*8; k: for for*512; fetch a; fetch b; stages 2"}) {
    EXPECT_EQ(wrong_at_small_sizes(product, {{"n", 1024}, {"m", 4096}}, runtime::Device::host(),
                                   parse_slicing(words), 1),
              "")
        << words;
  }
}

}  // namespace
}  // namespace rtcg::loopy
