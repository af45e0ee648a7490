// Slicings of nests whose statements scan along one loop.
#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel running(const std::string& type, std::int64_t n,
               const std::string& statement = "s[i] = scan(sum, j, a[j])") {
  return fix_parameters(make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", statement,
                                    {.arguments = "a, s: " + type + "[n]; n: i32"}),
                        {{"n", n}});
}
Kernel rows(std::int64_t count, std::int64_t length, const std::string& read = "r, j",
            const std::string& shape = "m, n") {
  return fix_parameters(make_kernel("{[r, i, j]: 0 <= r < m and 0 <= i < n and 0 <= j < i}",
                                    "s[" + std::string(read == "r, j" ? "r, i" : "i, r") +
                                        "] = scan(sum, j, a[" + read + "])",
                                    {.arguments = "a, s: f32[" + shape + "]; n, m: i32"}),
                        {{"m", count}, {"n", length}});
}

/// Fewer kinds of blocks to ask the generator about.
SlicingConstraints large_blocks() {
  SlicingConstraints constraints;
  constraints.min_threads = 256;
  return constraints;
}

TEST(ScanSlicings, LookBackFirst) {
  for (const char* type : {"i32", "f32"}) {
    const SlicingStream all(running(type, 1 << 26), large_blocks());
    EXPECT_EQ(all.at(0).slicing.look_back, std::vector<std::string>{"i"}) << all.at(0).words;
    // a load and a store of each element, at the rate of memory
    EXPECT_GT(all.at(0).predicted_seconds,
              2.0 * 4 * (1 << 26) / MachineModel().memory_bytes_per_second);
    EXPECT_LT(all.at(0).predicted_seconds, 400e-6);
  }
  const SlicingStream maxima(running("f32", 1 << 26, "s[i] = scan(max, j, a[j])"), large_blocks());
  EXPECT_TRUE(maxima.find_words("i: g.0 l.0*256 unr*2 vec*4; look_back i").has_value());
}

TEST(ScanSlicings, LookBackOnlyWhereBlocksSeeWhatOthersWrite) {
  SlicingConstraints without_fences = large_blocks();
  without_fences.machine.has_device_fences = false;
  const SlicingStream integers(running("i32", 1 << 26), without_fences);
  ASSERT_GT(integers.count(), 0U);
  for (std::size_t i = 0; i < integers.count(); ++i) {
    EXPECT_TRUE(integers.at(i).slicing.look_back.empty()) << integers.at(i).words;
  }
}

TEST(ScanSlicings, SpreadRowsOverBlocksAndColumnsOverThreads) {
  const RankedSlicing row = SlicingStream(rows(65536, 256), {}).at(0);
  EXPECT_EQ(row.slicing.inames.front().factors.front().axis.kind, AxisKind::sequential)
      << row.words;
  const RankedSlicing column = SlicingStream(rows(65536, 256, "j, r", "n, m"), {}).at(0);
  EXPECT_EQ(column.slicing.inames.back().iname, "r") << column.words;
  EXPECT_EQ(column.slicing.inames.back().factors.back().axis, (InameTag{AxisKind::block, 0}))
      << column.words;
}

TEST(ScanSlicings, PutNeighbouringColumnsSideBySide) {
  const Kernel columns = rows(4096, 4096, "j, r", "n, m");
  const SlicingStream stream(columns, {});
  const RankedSlicing first = stream.at(0);
  ASSERT_EQ(first.slicing.inames.size(), 2U) << first.words;
  const InameTag lanes = first.slicing.inames.back().factors.back().axis;
  EXPECT_EQ(first.slicing.inames.back().iname, "r") << first.words;
  EXPECT_EQ(lanes, (InameTag{AxisKind::block, 0})) << first.words;
  const auto place = stream.find_words("i: for l.1*16 unr*8; r: g.0 l.0*32");
  ASSERT_TRUE(place);
  // lanes write neighbours, and their values are in different banks
  const std::string text = generate_text(apply(columns, stream.at(*place).slicing), Target::cuda);
  EXPECT_NE(text.find("_parts[16][32]"), std::string::npos) << text;
  EXPECT_NE(text.find("32 * r_0 + r_1"), std::string::npos) << text;
}

TEST(ScanSlicings, AreWrittenReadAndLegal) {
  SlicingConstraints processor;
  processor.machine.is_cpu = true;
  processor.machine.multiprocessors = 8;
  const std::string after =
      "after(p, q, x, y) := make_tuple(x*p, x*q + y)  {neutral=1:0}\n"
      "s[i], t[i] = scan(after, j, a[j], b[j])";
  const Kernel maps = fix_parameters(make_kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", after,
                                                 {.arguments = "a, b, s, t: i64[n]; n: i32"}),
                                     {{"n", 5000}});
  for (const Kernel& kernel :
       {running("i32", 5000), running("f32", 5000, "s[i] = 2*scan(sum, j, a[j]) + a[i]"),
        rows(5, 700), rows(700, 30, "j, r", "n, m"), maps}) {
    for (const SlicingConstraints& constraints : {SlicingConstraints(), processor}) {
      const Target target = constraints.machine.is_cpu ? Target::host : Target::cuda;
      const SlicingStream stream(kernel, constraints);
      ASSERT_GT(stream.count(), 2U);
      for (std::size_t place = 0; place < stream.count(); place += 1 + stream.count() / 4) {
        const RankedSlicing each = stream.at(place);
        SCOPED_TRACE(each.words);
        EXPECT_EQ(to_string(parse_slicing(each.words)), each.words);
        EXPECT_EQ(stream.find_words(each.words), place);
        const auto why =
            why_not([&] { return generate(checked_kernel(apply(kernel, each.slicing)), target); });
        EXPECT_FALSE(why.has_value()) << *why;
      }
    }
  }
}

TEST(ScanSlicings, ExchangeItemsWhereElementsFollowEachOther) {
  const SlicingStream integers(running("i32", 1 << 26), large_blocks());
  EXPECT_TRUE(
      integers.find_words("i: g.0 l.0*256 unr*4 vec*4; look_back i; exchange i").has_value());
  // 1024 threads with 16 items do not fit into shared memory
  EXPECT_FALSE(integers.find_words("i: g.0 l.0*1024 unr*4 vec*4; exchange i").has_value());
  const SlicingStream columns(rows(700, 3000, "j, r", "n, m"), large_blocks());
  for (std::size_t i = 0; i < columns.count(); ++i) {
    EXPECT_TRUE(columns.at(i).slicing.exchanges.empty()) << columns.at(i).words;
  }
  for (const char* words :
       {"exchange i", "i: g.0 l.0*256; exchange i", "i: g.0 unr*4; exchange i"}) {
    EXPECT_ERROR("loopy.recipe_of.nothing_to_exchange",
                 apply(running("i32", 5000), parse_slicing(words)));
  }
}

TEST(ScanSlicings, LookBackTakesALoopOnTheGrid) {
  EXPECT_ERROR("loopy.recipe_of.nothing_to_share",
               apply(running("i32", 5000), parse_slicing("i: for l.0*256; look_back i")));
}

}  // namespace
}  // namespace rtcg::loopy
