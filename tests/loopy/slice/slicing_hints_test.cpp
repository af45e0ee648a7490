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

}  // namespace
}  // namespace rtcg::loopy
