// Blocks that march through a stencil keep its numbers, on every target.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/marched_stencils.h"

namespace rtcg::loopy {
namespace {

class Marches : public ::testing::TestWithParam<MarchedStencil> {};

/// RTCG_SLICINGS_DRAWN=300 draws so many of each.
TEST_P(Marches, KeepTheNumbers) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 1;
  const Kernel kernel = GetParam().of(GetParam().small);
  const auto source = detail::march_slicings(kernel, {.min_threads = 1, .max_threads = 64});
  ASSERT_NE(source, nullptr);
  std::mt19937_64 random(1);
  for (int i = 0; i < draws; ++i) {
    const Slicing slicing = source->at(random() % source->count()).slicing;
    SCOPED_TRACE(to_string(slicing));
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Stencils, Marches, ::testing::ValuesIn(marched_stencils()),
                         [](const auto& info) { return info.param.name; });

TEST(MarchesOfChains, KeepTheNumbers) {
  const Kernel kernel =
      make_kernel("{[i, j, p, q]: 1 <= i, j, p, q < 18}",
                  "v[i, j] = u[i - 1, j] + u[i + 1, j] - 2*u[i, j] + u[i, j + 1]\n"
                  "... gbarrier\n"
                  "u[p, q] = u[p, q] + v[p + 1, q] - v[p - 1, q] + v[p, q - 1]",
                  {.arguments = "u, v: f32[19, 19]"});
  for (const char* words :
       {"j: g.0 l.0*16; i: g.1; q: g.0 l.0*16; p: g.1; march i*8; march p*4; queue u 4 along i; "
        "queue v 3 along p",
        "j: g.0 l.0*8; i: g.1; q: g.0 l.0*8; p: g.1; march i*4; march p*8; queue u 4 shared along "
        "i; "
        "queue v 3 along p; fetch v at p stages 2"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {}, {});
  }
}

}  // namespace
}  // namespace rtcg::loopy
