// Kernels whose blocks walk along the grid keep the numbers, on every target.
#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/swizzle.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/tile.h"
#include "rtcg/loopy/transform/walk_grid.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/support/expect_error.h"
#include "tests/support/judged_devices.h"

namespace rtcg::loopy {
namespace {

Kernel axpy() {
  return make_kernel("{[i]: 0 <= i < n}", "z[i] = 3*x[i] + z[i]", {.default_type = cgen::f32});
}

TEST(WalkingBlocks, RunAllIterations) {
  const Kernel walking = walk_grid(
      split_iname(axpy(), "i", 16, {.outer_tag = "g.0", .inner_tag = "l.0"}), 0, "blocks");
  for (const int blocks : {1, 2, 3, 7, 1000}) {
    expect_same_everywhere(walking, axpy(), {{"n", 101}, {"blocks", blocks}});
  }
}

TEST(WalkingBlocks, RunTheOnlyIterationOnce) {
  const Kernel shifted =
      make_kernel("{[i, j, k]: 5 <= i < 6 and 0 <= j < n and 0 <= k < 3}",
                  "z[i, j, k] = 2*x[j, k] + i", {.arguments = "z: f32[6, n, 3]; x: f32[n, 3]"});
  const Kernel one_each = split_iname(
      tag_inames(split_iname(shifted, "k", 3, {.outer_tag = "g.0", .inner_tag = "ilp"}), "i:g.1"),
      "j", 8, {.outer_tag = "g.2", .inner_tag = "l.0"});
  expect_same_everywhere(one_each, shifted, {{"n", 21}});
  for (const int blocks : {1, 4}) {
    expect_same_everywhere(walk_grid(one_each, 1, "blocks"), shifted,
                           {{"n", 21}, {"blocks", blocks}});
    expect_same_everywhere(swizzle(one_each, 4), shifted, {{"n", 21}});
  }
}

TEST(WalkingBlocks, RunOneProgramForAllLengths) {
  const runtime::Device device = runtime::Device::host();
  const Executor executor(
      walk_grid(split_iname(axpy(), "i", 4, {.outer_tag = "g.0", .inner_tag = "l.0"}), 0, "blocks"),
      device);
  for (const std::size_t length : {1U, 5U, 64U}) {
    const runtime::Buffer<float> x(device, std::vector<float>(length, 2));
    const runtime::Buffer<float> z(device, std::vector<float>(length, 1));
    executor(device.default_stream(), {arg("x", x), arg("z", z), arg("blocks", 3)});
    EXPECT_EQ(z.to_vector(), std::vector<float>(length, 7));
    EXPECT_ERROR(
        "loopy.executor.assumption",
        (executor(device.default_stream(), {arg("x", x), arg("z", z), arg("blocks", 0)}), 0));
  }
}

TEST(WalkingBlocks, ShareMemoryIterationByIteration) {
  const Kernel plain =
      make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "z[i, j] = x[i, j] + y[j, i]",
                  {.arguments = "x, z: f32[n, m]; y: f32[m, n]"});
  const char* const slicings[] = {
      "j: g.0 l.0*8; i: g.1 l.1*8; fetch y transposed pad 1; walk 2",
      "j: g.0 l.0*8 vec*2; i: g.1 l.1*4 ilp*2; fetch y transposed; walk 1",
      "i: g.0 l.0*8; j: for; walk 2",
  };
  for (const char* slicing : slicings) {
    expect_same_everywhere(apply(plain, parse_slicing(slicing)), plain, {{"n", 19}, {"m", 37}});
  }
}

TEST(WalkingBlocks, WalkAlongEachAxis) {
  const Kernel plain =
      make_kernel("{[i, j, k]: 0 <= i < n and 2 <= j < m and 0 <= k < l}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f32});
  const Kernel tiled = tile(plain, {{"i", 4}, {"j", 4}}, {.reductions = {{"k", 4}}});
  const IntegerValues sizes = {{"n", 19}, {"m", 15}, {"l", 9}};
  const Kernel both = walk_grid(walk_grid(tiled, 0, "2"), 1, "3");
  expect_same_everywhere(both, plain, sizes);
  expect_same_everywhere(walk_grid(tiled, 1, "1"), plain, sizes);
  // in another order of the blocks
  expect_same_everywhere(swizzle(both, 2), plain, sizes);
}

TEST(WalkingBlocks, AddUpInLaunchesOfTheirOwn) {
  const Kernel plain = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "s[i] = sum(j, a[i, j])",
                                   {.default_type = cgen::f32});
  for (const char* slicing : {"i: g.1; j: g.0 l.0*16; last j; walk 2",
                              "i: g.1; j: g.0 l.0*16; walk 2", "i: g.0; j: for l.0*16; walk 2"}) {
    expect_same_everywhere(apply(plain, parse_slicing(slicing)), plain, {{"n", 5}, {"m", 77}});
  }
  // integers have the same sum in any order
  const Kernel counts = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}", "s[i] = sum(j, a[i, j])",
                                    {.default_type = cgen::i32});
  expect_same_everywhere(apply(counts, parse_slicing("i: g.1; j: g.0 l.0*16; atomic j; walk 2")),
                         counts, {{"n", 5}, {"m", 77}});
}

}  // namespace
}  // namespace rtcg::loopy
