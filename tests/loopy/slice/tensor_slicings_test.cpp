// Tiles on tensor cores among the slicings of a kernel.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/slice/slicing_source.h"

namespace rtcg::loopy {
namespace {

Kernel product(const std::string& value, const std::string& arguments,
               const std::string& domain = "{[i, j, k]: 0 <= i, j, k < 1000}") {
  return make_kernel(domain, "c[i, j] = " + value, {.arguments = arguments});
}

SlicingConstraints on_h200() {
  SlicingConstraints constraints;
  constraints.machine.shared_bytes = 227 * 1024;
  return constraints;
}

bool has_tensor_cores(const Kernel& kernel, const SlicingConstraints& constraints = on_h200()) {
  const detail::SourcePtr source = detail::tensor_slicings(kernel, constraints);
  return source != nullptr && source->count() > 0;
}

const char* const doubles = "c, a, b: f64[1000, 1000]";

TEST(TensorSlicings, AreListedFirstForProductsOfDoubles) {
  const SlicingStream stream(product("sum(k, a[i, k]*b[k, j])", doubles), on_h200());
  EXPECT_NE(stream.at(0).words.find("mma*4"), std::string::npos) << stream.at(0).words;
  const auto place = stream.find_words(
      "i: g.1 ilp*4 l.1*16; j: g.0 l.2*2 ilp*4 l.0*4 vec*2; k: for unr*4 mma*4; fetch a pad 4; "
      "fetch b pad 4; stages 3");
  ASSERT_TRUE(place);
  EXPECT_LT(stream.at(*place).predicted_seconds, 100e-6);
  // FMA of f64 take 60 us and more
  EXPECT_GT(stream.at(0).predicted_seconds, 30e-6);
}

TEST(TensorSlicings, AreForSumsThatInstructionsExistFor) {
  EXPECT_TRUE(has_tensor_cores(product("2*sum(k, a[i, k]*b[k, j]) + c[i, j]", doubles)));
  EXPECT_TRUE(has_tensor_cores(product("sum(k, cast(f32, a[i, k])*cast(f32, b[j, k]))",
                                       "c: f32[1000, 1000]; a, b: f16[1000, 1000]")));
  EXPECT_FALSE(has_tensor_cores(product("sum(k, a[i, k]*b[k, j])", "c, a, b: f32[1000, 1000]")));
  EXPECT_FALSE(has_tensor_cores(product("sum(k, a[i, k] + b[k, j])", doubles)));
  EXPECT_FALSE(has_tensor_cores(product("sum(k, a[i, k]*b[k, j])", doubles,
                                        "{[i, j, k]: 0 <= i, j < 1000 and i <= k < 1000}")));
}

TEST(TensorSlicings, AreForDevicesWithTheInstructions) {
  const Kernel kernel = product("sum(k, a[i, k]*b[k, j])", doubles);
  for (const auto& [architecture, is_there] :
       {std::pair("sm_80", false), std::pair("sm_90", true), std::pair("sm_90a", true),
        std::pair("sm_100", true), std::pair("", false)}) {
    SlicingConstraints constraints = on_h200();
    constraints.machine.architecture = architecture;
    EXPECT_EQ(has_tensor_cores(kernel, constraints), is_there) << architecture;
  }
}

TEST(TensorSlicings, KeepHints) {
  SlicingConstraints constraints = on_h200();
  constraints.inames["i"].tiles = {64};
  constraints.inames["k"].tiles = {16};
  constraints.max_threads = 128;
  const detail::SourcePtr source =
      detail::tensor_slicings(product("sum(k, a[i, k]*b[k, j])", doubles), constraints);
  ASSERT_NE(source, nullptr);
  for (std::size_t i = 0; i < source->count(); ++i) {
    const RankedSlicing ranked = source->at(i);
    EXPECT_LE(ranked.threads, 128);
    const std::vector<SlicingFactor>& rows = ranked.slicing.inames[0].factors;
    EXPECT_EQ(rows[1].length * rows[2].length, 64);
  }
  constraints.arrays["a"] = ArrayUse::memory;
  EXPECT_EQ(detail::tensor_slicings(product("sum(k, a[i, k]*b[k, j])", doubles), constraints),
            nullptr);
}

TEST(TensorSlicings, AreNotRefused) {
  const Kernel kernels[] = {
      product("sum(k, a[i, k]*b[k, j])", doubles),
      product("sum(k, a[k, i]*b[j, k])", "c: f64[n, m]; a: f64[l, n]; b: f64[m, l]",
              "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < l}"),
      product("sum(k, a[i, k]*a[j, k])", "c: f64[1000, 1000]; a: f64[1000, 1000]",
              "{[i, j, k]: 0 <= i, k < 1000 and 0 <= j <= i}"),
      make_kernel("{[p, q, r, s, t, u]: 0 <= p, q, r, s, t, u < 24}",
                  "c[p, q, r, s] = sum((t, u), a[p, t, q, u]*b[s, u, r, t])",
                  {.arguments = "c, a, b: f64[24, 24, 24, 24]"}),
      make_kernel("{[v, i, j, k]: 0 <= v < 10 and 0 <= i, j, k < 100}",
                  "c[v, i, j] = sum(k, cast(f32, a[v, i, k])*cast(f32, b[v, k, j]))",
                  {.arguments = "c: f32[10, 100, 100]; a, b: bf16[10, 100, 100]"}),
      make_kernel(
          "{[f, y, x, c, p, q]: 0 <= f, c < 64 and 0 <= y, x < 56 and 0 <= p, q < 3}",
          "o[f, y, x] = sum((c, p, q), cast(f32, w[p, q, f, c])*cast(f32, e[c, y + p, x + q]))",
          {.arguments = "o: f32[64, 56, 56]; w: f16[3, 3, 64, 64]; e: f16[64, 58, 58]"}),
  };
  std::mt19937 random(1);
  for (const Kernel& kernel : kernels) {
    SlicingConstraints constraints = on_h200();
    constraints.parameters = {{"n", 500}, {"m", 300}, {"l", 200}};
    const detail::SourcePtr source = detail::tensor_slicings(kernel, constraints);
    ASSERT_NE(source, nullptr);
    for (int i = 0; i < 20; ++i) {
      const RankedSlicing ranked = source->at(random() % source->count());
      EXPECT_EQ(detail::why_not_sliced(kernel, ranked.slicing), std::nullopt) << ranked.words;
      EXPECT_TRUE(source->find(ranked.slicing)) << ranked.words;
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
