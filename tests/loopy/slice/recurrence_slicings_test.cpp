// Loops that run one after the other, within and around loops whose iterations are independent.
#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/loopy/slice/recurrences.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

TEST(RecurrenceSlicings, ShareTheStatesOfAStepAmongTheThreadsOfABlock) {
  const Kernel kernel = best_paths().of({{"nb", 1000}, {"nt", 100}, {"m", 64}});
  const auto source = detail::recurrence_slicings(kernel, {});
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(source->find(parse_slicing("b: g.0; s: for l.0*64")));
  EXPECT_TRUE(source->find(parse_slicing("b: g.0 l.1*4; s: for l.0*16")));
  for (std::size_t i = 0; i < source->count(); ++i) {
    EXPECT_FALSE(why_not([&] {
      return generate_text(apply(kernel, source->at(i).slicing), Target::cuda);
    })) << source->at(i).words;
  }
  const SlicingStream all(kernel, {});
  EXPECT_EQ(all.at(0).slicing.inames.back().iname, "s") << all.at(0).words;
  // one barrier between the steps, none within
  const std::string text =
      generate_text(apply(kernel, parse_slicing("b: g.0; s: for l.0*64")), Target::cuda);
  EXPECT_NE(text.find("for (int t = 0; t < 100; ++t) {\n    __syncthreads();\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("__syncthreads"), text.rfind("__syncthreads"));
}

TEST(RecurrenceSlicings, TileTheRestOfAMatrixInBothDirections) {
  const Kernel kernel = factorizations().of({{"nb", 500}, {"n", 32}});
  const auto source = detail::recurrence_slicings(kernel, {});
  ASSERT_NE(source, nullptr);
  EXPECT_TRUE(source->find(parse_slicing("b: g.0; j: for l.0*32; i: for l.1*8")))
      << source->at(0).words;
}

TEST(RecurrenceSlicings, LeaveLoopsInTheThreadThatAreCarriedInAllDirections) {
  for (const Recurrence& each : {tridiagonal_systems(), alignments(), phases()}) {
    SCOPED_TRACE(each.name);
    const Kernel kernel = each.of(each.small);
    EXPECT_EQ(detail::recurrence_slicings(kernel, {}), nullptr);
    const SlicingStream all(kernel, {});
    ASSERT_GT(all.count(), 0U);
    for (std::size_t i = 0; i < all.count(); ++i) {
      EXPECT_EQ(all.at(i).slicing.inames[0].iname, each.batch) << all.at(i).words;
      for (const InameSlicing& iname : all.at(i).slicing.inames) {
        for (const SlicingFactor& factor : iname.factors) {
          const AxisKind kind = factor.axis.kind;
          EXPECT_TRUE(iname.iname == each.batch || kind == AxisKind::sequential ||
                      kind == AxisKind::unroll_hint)
              << all.at(i).words;
        }
      }
    }
  }
}

TEST(RecurrenceSlicings, AreAlsoListedForFewerRowsThanAWarpHas) {
  for (const Recurrence& each : recurrences()) {
    IntegerValues sizes = each.small;
    sizes[each.rows] = 3;
    const SlicingStream all(each.of(sizes), {});
    EXPECT_GT(all.count(), 0U) << each.name;
  }
}

TEST(RecurrenceSlicings, NameTheDependenceWhereNothingCanRunAtOnce) {
  const Kernel kernel = fix_parameters(
      make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i < n - 1 and 1 <= j < n - 1}",
                  "u[i, j] = 0.25*(u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) "
                  "{inames=t:i:j}",
                  {.arguments = "u: f64[n, n]; n, steps: i32"}),
      {{"n", 9}, {"steps", 3}});
  EXPECT_ERROR("loopy.slicings.nothing_to_slice", SlicingStream(kernel, {}));
  try {
    const SlicingStream all(kernel, {});
  } catch (const Error& error) {
    const std::string message = error.what();
    for (const char* part : {"'i'", "'j'", "'t'", "'set_u'", "'u'", "neither can"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
    }
    EXPECT_EQ(message.find("set_u"), message.rfind("set_u")) << "one reason: " << message;
  }
}

}  // namespace
}  // namespace rtcg::loopy
