#include "rtcg/loopy/slice/slicing_hints.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel hinted_matmul() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32});
}

TEST(SlicingHints, AreKeptTo) {
  SlicingConstraints constraints{.parameters = {{"n", 1000}}};
  constraints.inames["i"] = {.tiles = {48}, .threads = {}};
  constraints.inames["j"] = {.tiles = {}, .threads = {16, 32}};
  constraints.inames["k"] = {.tiles = {10, 25}, .threads = {1}};
  constraints.arrays = {{"a", ArrayUse::shared}, {"b", ArrayUse::memory}};
  constraints.vector_widths = {1, 2};
  constraints.max_registers = 64;
  const SlicingStream stream(hinted_matmul(), constraints);
  ASSERT_GT(stream.count(), 100U);
  std::set<std::int64_t> depths;
  for (std::size_t place = 0; place < stream.count(); place += 1 + place / 20) {
    const Slicing slicing = stream.at(place).slicing;
    SCOPED_TRACE(to_string(slicing));
    std::map<std::string, std::int64_t> tiles;
    std::map<std::string, std::int64_t> threads;
    for (const InameSlicing& each : slicing.inames) {
      tiles[each.iname] = threads[each.iname] = 1;
      for (std::size_t i = 1; i < each.factors.size(); ++i) {
        const SlicingFactor& factor = each.factors[i];
        tiles[each.iname] *= factor.length;
        threads[each.iname] *= factor.axis.kind == AxisKind::block ? factor.length : 1;
        EXPECT_TRUE(factor.axis.kind != AxisKind::vec || factor.length == 2);
      }
    }
    EXPECT_EQ(tiles["i"], 48);
    EXPECT_TRUE(threads["j"] == 16 || threads["j"] == 32);
    EXPECT_EQ(threads["k"], 1);
    depths.insert(tiles["k"]);
    ASSERT_EQ(slicing.fetches.size(), 1U);
    EXPECT_EQ(slicing.fetches[0].array, "a");
  }
  EXPECT_EQ(depths, (std::set<std::int64_t>{10, 25}));
}

TEST(SlicingHints, AreRefusedForWhatIsNotSliced) {
  SlicingConstraints constraints{.parameters = {{"n", 1000}}};
  constraints.inames["m"] = {};
  EXPECT_ERROR("loopy.slicings.unknown_hint", SlicingStream(hinted_matmul(), constraints));
  constraints.inames.clear();
  constraints.arrays["c"] = ArrayUse::shared;
  EXPECT_ERROR("loopy.slicings.unknown_hint", SlicingStream(hinted_matmul(), constraints));
}

TEST(SlicingHints, AreKeptByRows) {
  const Kernel kernel = make_kernel("{[i, j, k, l]: 0 <= i < n and 0 <= j, k, l < m}",
                                    "<> top = reduce(max, j, x[i, j])\n"
                                    "<> total = sum(k, exp(x[i, k] - top))\n"
                                    "y[i, l] = exp(x[i, l] - top)/total",
                                    {.arguments = "x, y: f32[n, m]"});
  SlicingConstraints constraints{.parameters = {{"n", 4096}, {"m", 1024}}};
  constraints.inames["j"] = {.tiles = {}, .threads = {64}};
  const SlicingStream stream(kernel, constraints);
  ASSERT_GT(stream.count(), 0U);
  for (std::size_t place = 0; place < stream.count(); ++place) {
    const std::string words = to_string(stream.at(place).slicing);
    EXPECT_NE(words.find("l.0*64"), std::string::npos) << words;
  }
}

TEST(SlicingHints, SayWhichFamiliesTheyLeaveOut) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 256}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.default_type = cgen::f32});
  EXPECT_TRUE(SlicingStream(kernel, {}).left_out().empty());
  const Kernel stencil = make_kernel(
      "{[i, j]: 1 <= i, j < 255}", "out[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j]",
      {.arguments = "u, out: f32[256, 256]"});
  SlicingConstraints constraints;
  constraints.inames["j"] = {.tiles = {48}, .threads = {}};
  const SlicingStream stream(stencil, constraints);
  EXPECT_GT(stream.count(), 0U);
  EXPECT_EQ(stream.left_out(),
            (std::vector<std::string>{"marches (no slicing of them keeps the hints)"}));
}

}  // namespace
}  // namespace rtcg::loopy
