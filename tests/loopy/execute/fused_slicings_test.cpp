// Slicings with fused inames keep the numbers, also where tiles end within an index.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/contraction_kernel.h"

namespace rtcg::loopy {
namespace {

/// Two slicings with fused inames, drawn from those of the kernel.
void expect_fused_slicings_keep_the_numbers(const Kernel& kernel, std::uint64_t seed) {
  SlicingConstraints constraints;
  constraints.min_threads = 8;
  constraints.max_threads = 64;
  constraints.max_items_per_thread = 12;
  const SlicingStream stream(kernel, constraints);
  std::vector<std::size_t> fused;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    if (!stream.at(i).slicing.fusions.empty()) {
      fused.push_back(i);
    }
  }
  ASSERT_FALSE(fused.empty());
  std::mt19937_64 random(seed);
  for (int drawn = 0; drawn < 2; ++drawn) {
    const Slicing slicing = stream.at(fused[random() % fused.size()]).slicing;
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, {}, "pthread");
  }
}

struct Contraction {
  std::string words;
  std::vector<std::int64_t> lengths;
};

class FusedContractions : public ::testing::TestWithParam<Contraction> {};

TEST_P(FusedContractions, KeepTheNumbers) {
  expect_fused_slicings_keep_the_numbers(contraction(GetParam().words, GetParam().lengths), 7);
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

struct Permutation {
  std::string domain;
  std::string statement;
};

class Permutations : public ::testing::TestWithParam<Permutation> {};

TEST_P(Permutations, KeepTheNumbers) {
  expect_fused_slicings_keep_the_numbers(
      make_kernel(GetParam().domain, GetParam().statement, {.default_type = cgen::f32}), 11);
}

// Tiles that cross indices, short and odd lengths, other arrays beside, one that is turned twice.
INSTANTIATE_TEST_SUITE_P(
    Axes, Permutations,
    ::testing::Values(
        Permutation{"{[i, j, k, l]: 0 <= i < 3 and 0 <= j < 4 and 0 <= k < 5 and 0 <= l < 26}",
                    "out[l, j, k, i] = a[i, j, k, l]"},
        Permutation{"{[i, j, k]: 0 <= i < 6 and 0 <= j < 19 and 0 <= k < 10}",
                    "out[j, k, i] = a[i, j, k] - b[k]"},
        Permutation{"{[i, j, k, l]: 0 <= i < 5 and 0 <= j < 7 and 0 <= k < 3 and 0 <= l < 4}",
                    "out[i, j, k, l] = 0.75*a[l, k, j, i] + b[i, j, k, l]"},
        Permutation{"{[i, j, k, l]: 0 <= i < 2 and 0 <= j < 9 and 0 <= k < 4 and 0 <= l < 5}",
                    "out[k, i, l, j] = a[i, j, k, l] + c[j, k, i, l]"}),
    [](const auto& info) { return "number_" + std::to_string(info.index); });

struct CopiedContraction {
  std::string words;
  std::vector<std::int64_t> lengths;
  std::string slicing;
};

class CopiedContractions : public ::testing::TestWithParam<CopiedContraction> {};

TEST_P(CopiedContractions, KeepTheNumbers) {
  const Kernel kernel = contraction(GetParam().words, GetParam().lengths);
  expect_same_everywhere(apply(kernel, parse_slicing(GetParam().slicing)), kernel, {}, {},
                         "pthread");
}

// Lengths that are odd, 1, and multiples of the vectors; tiles that cross indices.
std::vector<CopiedContraction> copied_contractions_to_run() {
  const std::string both =
      "store A_copy[a,e,f,b]; store B_copy[f,c,e,d]; fuse ab = a b; fuse cd = c d; fuse ef = e f; "
      "b_A_copy: g.0 l.0*4; f_A_copy: g.1 l.1*4; e_A_copy: g.2; d_B_copy: g.0 l.0*4; e_B_copy: "
      "g.1 l.1*4; c_B_copy: g.2; cd: g.0 ilp*2 l.0*4 ilp*4; ab: g.1 l.1*4 ilp*2; ef: for "
      "unr_hint*4; fetch A; fetch B; fetch A_copy stages 2; fetch B_copy stages 2; launch before "
      "d_B_copy; launch before cd";
  return {{"abcd-aebf-dfce", {13, 9, 7, 5, 6, 11}, both},
          {"abcd-aebf-dfce", {8, 4, 4, 12, 4, 8}, both},
          {"abcd-aebf-dfce", {1, 3, 1, 2, 5, 1}, both},
          {"abc-acd-db",
           {6, 7, 9, 5},
           "store A_copy[a,d,c]; fuse ac = a c; c_A_copy: g.0 l.0*4; d_A_copy: g.1 l.1*4; "
           "a_A_copy: g.2; ac: g.0 ilp*2 l.0*8; b: g.1 l.1*4; d: for for*2; fetch A; fetch A_copy; "
           "fetch B; launch before ac"}};
}

INSTANTIATE_TEST_SUITE_P(Contractions, CopiedContractions,
                         ::testing::ValuesIn(copied_contractions_to_run()),
                         [](const auto& info) { return "number_" + std::to_string(info.index); });

TEST(FusedSlicings, WithCopiesKeepTheNumbers) {
  const Kernel kernel = contraction("abcd-aecf-bfde", {29, 3, 31, 5, 5, 1});
  SlicingConstraints constraints;
  constraints.min_threads = 8;
  constraints.max_threads = 64;
  constraints.max_items_per_thread = 12;
  const SlicingStream stream(kernel, constraints);
  std::mt19937_64 random(7);
  int drawn = 0;
  for (int tries = 0; drawn < 2 && tries < 10000; ++tries) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    if (!slicing.stores.empty()) {
      ++drawn;
      SCOPED_TRACE(to_string(slicing));
      expect_same_everywhere(apply(kernel, slicing), kernel, {}, {}, "pthread");
    }
  }
  EXPECT_EQ(drawn, 2);
}

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
