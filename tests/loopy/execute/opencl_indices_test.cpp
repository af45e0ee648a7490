// Sums of local ids and numbers, which the assembler of NVIDIA's OpenCL got wrong.
#include <gtest/gtest.h>

#include "rtcg/loopy.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel stencil() {
  return make_kernel("{[x, y]: 1 <= x, y < n - 1}",
                     "out[y, x] = image[y, x - 1] + image[y, x + 1] + image[y - 1, x] + "
                     "image[y + 1, x]",
                     {.arguments = "out, image: f64[n, n]"});
}

TEST(DefectIndicesOfOpenCl, OfTilesInLocalMemoryGiveTheReference) {
  for (const char* slicing : {"x: g.0 l.0*16; y: g.1 l.1*3 ilp*5; fetch image",
                              "x: g.0 ilp*4 l.0*16 ilp*2; y: g.1 l.1*2 ilp*7; fetch image"}) {
    const Kernel sliced = apply(stencil(), parse_slicing(slicing));
    for (const std::int64_t n : {6, 37}) {
      expect_same_everywhere(sliced, stencil(), {{"n", n}});
    }
  }
}

TEST(DefectIndicesOfOpenCl, AreKnownToBeSmall) {
  const Kernel sliced = apply(stencil(), parse_slicing("x: g.0 l.0*16; y: g.1 l.1*4"));
  const std::string text = generate_text(sliced, Target::opencl);
  EXPECT_EQ(count_of("= (int)(ushort)get_local_id(", text), 2) << text;
  EXPECT_EQ(count_of("= convert_int_sat(get_group_id(", text), 2) << text;
}

}  // namespace
}  // namespace rtcg::loopy
