// Slicings with fused inames keep the numbers, also where tiles end within an index.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/contraction_kernel.h"

namespace rtcg::loopy {
namespace {

struct Contraction {
  std::string words;
  std::vector<std::int64_t> lengths;
};

class FusedContractions : public ::testing::TestWithParam<Contraction> {};

TEST_P(FusedContractions, KeepTheNumbers) {
  const Kernel kernel = contraction(GetParam().words, GetParam().lengths);
  SlicingConstraints constraints;
  constraints.min_threads = 8;
  constraints.max_threads = 64;
  constraints.max_items_per_thread = 12;
  const SlicingStream stream(kernel, constraints);
  std::mt19937_64 random(7);
  for (int drawn = 0; drawn < 2;) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    if (slicing.fusions.empty()) {
      continue;
    }
    ++drawn;
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, {}, "pthread");
  }
}

std::vector<Contraction> fused_contractions_to_run() {
  return {{"abcd-aebf-dfce", {5, 3, 7, 5, 12, 8}}, {"abcdef-gdab-efgc", {3, 2, 8, 5, 3, 8, 6}},
          {"abc-bda-dc", {13, 9, 11, 7}},          {"ab-acd-dbc", {11, 13, 6, 5}},
          {"abcde-efbad-cf", {3, 4, 5, 3, 2, 7}},  {"abcd-dbea-ec", {5, 4, 6, 3, 7}}};
}

INSTANTIATE_TEST_SUITE_P(Contractions, FusedContractions,
                         ::testing::ValuesIn(fused_contractions_to_run()), [](const auto& info) {
                           std::string name = info.param.words;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(FusedSlicings, FetchAViewThatTheKernelHas) {
  const Kernel kernel =
      make_kernel("{[p, x, k]: 0 <= p < 35 and 0 <= x, k < 12}",
                  "Av(p, q) := A[p // 7, q, p % 7]\n"
                  "C[p, x] = sum(k, Av(p, k)*B[k, x])",
                  {.arguments = "A: f32[5, 12, 7]; B: f32[12, 12]; C: f32[35, 12]"});
  const Kernel sliced = apply(
      kernel, parse_slicing("x: g.0 l.0*8; p: g.1 l.1*4 ilp*3; k: for for*5; fetch A; fetch B; "
                            "stages 2"));
  expect_same_everywhere(sliced, kernel, {}, {}, "pthread");
}

}  // namespace
}  // namespace rtcg::loopy
