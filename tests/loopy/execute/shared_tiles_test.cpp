// Tiles of sums that blocks share keep the numbers, on every target.
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel gram(const std::string& type = "f32") {
  return make_kernel("{[i, j, k]: 0 <= i, j < n and 0 <= k < m}",
                     "G[i, j] = sum(k, A[k, i]*A[k, j])",
                     {.name = "gram", .arguments = "A: " + type + "[m, n]; G: " + type + "[n, n]"});
}

/// Small integers: sums of them are exact, in whatever order blocks add their parts.
CompareOptions exact_values(const Kernel& kernel, const IntegerValues& parameters) {
  CompareOptions options;
  for (const auto& [name, array] : random_arguments(infer_types(kernel), parameters, 1)) {
    std::vector<double>& values = options.values[name];
    for (std::size_t i = 0; i < array.count(); ++i) {
      values.push_back(static_cast<double>((i * 7 + i / 5) % 11) - 5);
    }
  }
  return options;
}

const char* const cuts_of_gram = "j: g.0 l.0*8 ilp*2; i: g.1 l.1*4 ilp*4; ";

// with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
const char* const not_pocl_3 = "pthread";

TEST(SharedTiles, KeepTheNumbersWhereNothingDivides) {
  const Kernel kernel = gram();
  const IntegerValues sizes = {{"n", 19}, {"m", 67}};
  for (const char* tiles : {"k: g.2 for*3 for*4; fetch A#1; fetch A#2",
                            "k: g.2 for*2 for*8; fetch A#2; stages 2; atomic k",
                            "k: g.2 for*5 unr_hint*4; fetch A#1 pad 1; fetch A#2; stages 3; last k",
                            "k: g.2 for*16; fetch A#1; fetch A#2; atomic k"}) {
    SCOPED_TRACE(tiles);
    const Kernel sliced = apply(kernel, parse_slicing(std::string(cuts_of_gram) + tiles));
    expect_same_everywhere(sliced, kernel, sizes, exact_values(kernel, sizes), not_pocl_3);
  }
}

TEST(SharedTiles, KeepTheNumbersOfDoubles) {
  const Kernel kernel = gram("f64");
  for (const char* how : {"atomic k", "last k"}) {
    const std::string text =
        std::string(cuts_of_gram) + "k: g.2 for*3 for*4; fetch A#1; fetch A#2; stages 2; " + how;
    SCOPED_TRACE(text);
    const IntegerValues sizes = {{"n", 9}, {"m", 41}};
    expect_same_everywhere(apply(kernel, parse_slicing(text)), kernel, sizes,
                           exact_values(kernel, sizes), not_pocl_3);
  }
}

TEST(SharedTiles, PartsAreWrittenByNeighboursAfterTheLoop) {
  const std::string text = generate_text(
      apply(fix_parameters(gram(), {{"n", 64}, {"m", 4096}}),
            parse_slicing("j: g.0 l.0*16 vec*4; i: g.1 l.1*16 ilp*4; k: g.2 for*8 for*16; "
                          "fetch A#1; fetch A#2; stages 2")),
      Target::cuda);
  for (const char* each :
       {"__shared__ __align__(16) float A_tile[2][16][64];", "for (int k_1 = 0; k_1 < 8; ++k_1) {",
        "if (k_1 < 7) {",
        "*(float4 *)&G_parts[4096 * k_0 + 64 * i_1 + 4 * j_1] =",
        "if (k_0_0_inner == 0) {"}) {  // the parts of a result are added by several threads
    EXPECT_NE(text.find(each), std::string::npos) << each << "\n" << text;
  }
}

// G of weights, weights of a layer from its gradients, and a product that is added to.
struct LongSum {
  const char* name;
  const char* domains;
  const char* statement;
  const char* arguments;
};
const LongSum long_sums[] = {
    {"gram", "{[i, j, k]: 0 <= i, j < 24 and 0 <= k < 530}", "G[i, j] = sum(k, A[k, i]*A[k, j])",
     "A: f32[530, 24]; G: f32[24, 24]"},
    {"weighted_gram", "{[i, j, k]: 0 <= i, j < 26 and 0 <= k < 413}",
     "G[i, j] = sum(k, w[k]*A[i, k]*A[j, k])", "A: f32[26, 413]; w: f32[413]; G: f32[26, 26]"},
    {"gradient", "{[o, c, p]: 0 <= o < 16 and 0 <= c < 33 and 0 <= p < 291}",
     "dW[o, c] = sum(p, dY[p, o]*X[p, c])", "dY: f32[291, 16]; X: f32[291, 33]; dW: f32[16, 33]"},
    {"update", "{[i, j, k]: 0 <= i < 31 and 0 <= j < 18 and 0 <= k < 300}",
     "C[i, j] = C[i, j] + sum(k, A[i, k]*B[k, j])",
     "A: f32[31, 300]; B: f32[300, 18]; C: f32[31, 18]"}};

class LongSums : public ::testing::TestWithParam<LongSum> {};

/// RTCG_SLICINGS_DRAWN=100 draws so many of each.
TEST_P(LongSums, SharedTilesThatAreListedKeepTheNumbers) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 1;
  const Kernel kernel = make_kernel(GetParam().domains, GetParam().statement,
                                    {.name = GetParam().name, .arguments = GetParam().arguments});
  SlicingConstraints constraints;
  constraints.min_threads = 64;
  constraints.max_threads = 64;
  constraints.max_items_per_thread = 16;
  const SlicingStream stream(kernel, constraints);
  std::mt19937_64 random(1);
  int found = 0;
  for (int i = 0; i < 20000 && found < draws; ++i) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    const bool has_tile = std::any_of(slicing.fetches.begin(), slicing.fetches.end(),
                                      [](const FetchPlan& each) { return !each.in_registers; });
    const InameSlicing& sum = slicing.inames.back();
    if (!has_tile || sum.factors.size() < 3 || sum.factors[0].axis.kind != AxisKind::grid) {
      continue;
    }
    ++found;
    SCOPED_TRACE(to_string(slicing));
    EXPECT_TRUE(stream.find(slicing));
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, exact_values(kernel, {}),
                           not_pocl_3);
  }
  EXPECT_EQ(found, draws);
}

INSTANTIATE_TEST_SUITE_P(Kernels, LongSums, ::testing::ValuesIn(long_sums),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace rtcg::loopy
