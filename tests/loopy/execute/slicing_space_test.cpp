// Slicings from the whole space of a kernel keep its numbers.
#include <array>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/kernels_to_slice.h"

namespace rtcg::loopy {
namespace {

class SlicingsOfClasses : public ::testing::TestWithParam<KernelToSlice> {};

TEST_P(SlicingsOfClasses, KeepTheNumbers) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 2;
  const Kernel kernel = GetParam().of(GetParam().small);
  SlicingConstraints constraints;
  constraints.min_threads = 1;
  constraints.max_threads = 128;
  constraints.max_items_per_thread = 16;
  const SlicingStream stream(kernel, constraints);
  ASSERT_GT(stream.count(), 20U);
  CompareOptions options;
  if (GetParam().name == "gather") {
    for (int i = 0; i < GetParam().small.at("n"); ++i) {
      options.values["p"].push_back(i * 7 % 19);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < draws; ++i) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    SCOPED_TRACE(to_string(slicing));
    // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, options,
                           slicing.fetches.empty() ? "" : "pthread");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlicingsOfClasses, ::testing::ValuesIn(kernels_to_slice()),
                         [](const auto& info) { return info.param.name; });

/// A product of two small matrices for each element of a batch.
Kernel small_products(std::int64_t nb, std::int64_t n, const std::string& type) {
  return fix_parameters(make_kernel("{[b, i, j, k]: 0 <= b < nb and 0 <= i, j, k < n}",
                                    "C[b, i, j] = 2*C[b, i, j] + sum(k, A[b, i, k]*B[b, k, j])",
                                    {.arguments = "A, B, C: " + type + "[nb, n, n]"}),
                        {{"nb", nb}, {"n", n}});
}

// Copies of four elements at once, of one byte and of two.
TEST(Transposition, OfSmallElementsKeepsTheNumbers) {
  for (const char* type : {"u8", "i8", "i16", "f16", "bf16"}) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i < 40 and 0 <= j < 28}", "b[i, j] = a[j, i]",
                    {.arguments = "a: " + std::string(type) + "[28, 40]; b: " + type + "[40, 28]"});
    const Slicing slicing =
        parse_slicing("j: g.0 l.0*4 vec*4; i: g.1 l.1*8 ilp*2; fetch a pad 1 vec 4");
    SCOPED_TRACE(type);
    expect_same_everywhere(apply(kernel, slicing), kernel, {}, {}, "pthread");
  }
}

TEST(Batches, KeepTheirNumbers) {
  for (const char* type : {"f32", "f64", "c64"}) {
    const Kernel kernel = small_products(21, 5, type);
    for (const char* words : {"j: g.0 l.0*5; i: g.1 l.1*5; b: g.2 l.2*4; fetch A; fetch B",
                              "j: g.0 l.0*5; i: g.1 ilp*5; b: g.2 l.2*8; k: for for*2; fetch A",
                              "j: g.0 l.0*3 ilp*2; i: g.1 l.1*2 ilp*4; b: g.2 l.2*16"}) {
      SCOPED_TRACE(words);
      // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
      expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {}, {}, "pthread");
    }
  }
}

/// Triangles of results, and results of four loops of which a thread has one.
std::vector<Kernel> other_batches(std::int64_t nb, std::int64_t n) {
  return {
      fix_parameters(make_kernel("{[b, i, j, k]: 0 <= b < nb and 0 <= k < n and 0 <= j <= i < n}",
                                 "C[b, i, j] = sum(k, A[b, i, k]*A[b, j, k])",
                                 {.arguments = "A, C: f32[nb, n, n]"}),
                     {{"nb", nb}, {"n", n}}),
      fix_parameters(
          make_kernel("{[b, i, j, k, p, q]: 0 <= b < nb and 0 <= i, j, k, p, q < n}",
                      "C[b, i, j, k] = g[b, i, j, k]*sum((p, q), D[i, p]*D[j, q]*u[b, p, q, k])",
                      {.arguments = "D: f32[n, n]; g, u, C: f32[nb, n, n, n]"}),
          {{"nb", nb}, {"n", n}})};
}

TEST(Batches, OfTrianglesAndOfFourLoopsKeepTheirNumbers) {
  const std::vector<Kernel> kernels = other_batches(21, 5);
  const std::vector<std::vector<const char*>> words = {
      {"j: g.0 l.0*5; i: g.1 l.1*5; b: g.2 l.2*4; fetch A#1; fetch A#2",
       "j: g.0 l.0*3 ilp*2; i: g.1 l.1*2 ilp*4; b: g.2 l.2*8; k: for for*2; fetch A#2"},
      {"k: g.0 l.0*5; j: g.1 l.1*5; i: ilp; b: g.2 l.2*4; fetch D#1; fetch u",
       "k: g.0 l.0*3 ilp*2; j: g.1 l.1*5; i: ilp; b: g.2 l.2*8; p: for for*2; fetch u"}};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const char* each : words[i]) {
      SCOPED_TRACE(each);
      expect_same_everywhere(apply(kernels[i], parse_slicing(each)), kernels[i], {}, {}, "pthread");
    }
  }
}

TEST(Batches, OfTrianglesAndOfFourLoopsAreListed) {
  for (const Kernel& kernel : other_batches(100000, 8)) {
    const SlicingStream stream(kernel, {});
    EXPECT_NE(to_string(stream.at(0).slicing).find("b: g.2 l.2*"), std::string::npos)
        << to_string(stream.at(0).slicing);
    std::mt19937_64 random(1);
    for (int i = 0; i < 20; ++i) {
      const Slicing slicing = stream.at(random() % stream.count()).slicing;
      SCOPED_TRACE(to_string(slicing));
      EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
      EXPECT_TRUE(stream.find(slicing).has_value());
    }
  }
}

TEST(Batches, AreListedFirstAndHaveATextEach) {
  const Kernel kernel = small_products(100000, 8, "f32");
  const SlicingStream stream(kernel, {});
  EXPECT_NE(to_string(stream.at(0).slicing).find("b: g.2 l.2*"), std::string::npos)
      << to_string(stream.at(0).slicing);
  std::mt19937_64 random(1);
  for (int i = 0; i < 40; ++i) {
    const Slicing slicing = stream.at(random() % stream.count()).slicing;
    SCOPED_TRACE(to_string(slicing));
    EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
    EXPECT_TRUE(stream.find(slicing).has_value());
  }
}

// Blocks without points do nothing, threads share tiles whose loop has other bounds for each of
// them, and copies run ahead.

struct Triangle {
  std::string name;
  std::string domains;
  std::string statement;
  std::string arguments;
  std::string slicing;
};

class Triangles : public ::testing::TestWithParam<Triangle> {
 protected:
  [[nodiscard]] static Kernel described() {
    return fix_parameters(make_kernel(GetParam().domains, GetParam().statement,
                                      {.name = GetParam().name, .arguments = GetParam().arguments}),
                          {{"n", 37}, {"m", 21}});
  }
};

TEST_P(Triangles, KeepTheirNumbers) {
  const Kernel kernel = described();
  const Kernel sliced = apply(kernel, parse_slicing(GetParam().slicing));
  const std::string text = generate_text(sliced, Target::cuda);
  // one copy for the whole block
  EXPECT_EQ(count_of("__shared__", text), count_of("fetch ", GetParam().slicing)) << text;
  // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
  expect_same_everywhere(sliced, kernel, {}, {}, "pthread");
}

const char* const types_of_triangles = "A: f32[n, n]; B, C: f32[n, m]";
const char* const triangular_sum = "C[i, j] = sum(k, A[i, k]*B[k, j])";
const char* const types_of_chains = "A, B: f32[n, n]; C: f32[n, n + m]";
const char* const chained_sum = "C[i, j] = sum(k, A[i, k]*B[j, k])";
const char* const tiles_of_triangles =
    "i: g.1 l.1*4 ilp*2; j: g.0 l.0*8 ilp*2; k: for for*4; fetch A; fetch B";

std::vector<Triangle> triangles() {
  const std::string staged = std::string(tiles_of_triangles) + "; stages 3";
  return {
      {"lower", "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: 0 <= k <= i}", triangular_sum,
       types_of_triangles, staged},
      {"lower_in_one_domain", "{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k <= i}",
       triangular_sum, types_of_triangles, staged},
      {"upper", "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: i <= k < n}", triangular_sum,
       types_of_triangles, staged},
      {"upper_in_one_domain", "{[i, j, k]: 0 <= i < n and 0 <= j < m and i <= k < n}",
       triangular_sum, types_of_triangles, staged},
      {"upper_without_stages", "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: i < k < n}",
       triangular_sum, types_of_triangles,
       "i: g.1 l.1*4 ilp*2; j: g.0 l.0*8; k: for for*3; fetch A; fetch B"},
      {"upper_by_lanes", "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: i < k < n}", triangular_sum,
       types_of_triangles,
       "i: g.1 l.1*4 ilp*4; j: g.0 l.0*4 vec*4; k: for for*8; fetch A transposed pad 4; fetch B; "
       "stages 2"},
      {"band", "{[i, j]: 0 <= i < n and 0 <= j < m} {[k]: -3 <= k <= 3 and 0 <= i + k < n}",
       "C[i, j] = sum(k, A[i, k + 3]*B[i + k, j])", "A: f32[n, 7]; B, C: f32[n, m]",
       "i: g.1 l.1*8 ilp*2; j: g.0 l.0*8; k: for for*4; fetch A; fetch B; stages 2"},
      {"rank_update", "{[i, j, k]: 0 <= j <= i < n and 0 <= k < m}",
       "C[i, j] = 0.5f*C[i, j] + sum(k, A[i, k]*A[j, k])", "A: f32[n, m]; C: f32[n, n]",
       "i: g.1 l.1*4 ilp*2; j: g.0 l.0*8; k: for for*4; fetch A#1; fetch A#2; stages 2"},
      {"band_of_results", "{[i, j, k]: i - 9 <= j <= i + 5 and 0 <= i, j < n and 0 <= k < m}",
       "C[i, j] = sum(k, A[i, k]*A[j, k])", "A: f32[n, m]; C: f32[n, n]",
       "i: g.1 l.1*4 ilp*2; j: g.0 l.0*8; k: for for*4; fetch A#1; fetch A#2; stages 2"},
      // tiles that do not divide each other; one block along j, whose sums begin at i; a lower end
      {"chain", "{[i, j, k]: 0 <= i <= j and j <= k < n}", chained_sum, types_of_chains,
       "j: g.0 l.0*8; i: g.1 l.1*2 ilp*3; k: for for*4; fetch A; fetch B; stages 3"},
      {"chain_of_one_block", "{[i, j, k]: 0 <= i <= j and i <= k and j <= k < n}", chained_sum,
       types_of_chains,
       "j: g.0 l.0*10 vec*4; i: g.1 l.1*4 ilp*2; k: for for*4; fetch A; fetch B; stages 2"},
      {"chain_without_stages", "{[i, j, k]: 0 <= i and 2*i + 1 <= j and j <= k - 2 and k < n}",
       chained_sum, types_of_chains,
       "j: g.0 l.0*6 ilp*2; i: g.1 l.1*8; k: for for*5; fetch A; fetch B"},
      {"chain_written_out", "{[i, j, k]: 0 <= i <= j and j <= k < 7}", chained_sum, types_of_chains,
       "j: g.0 ilp*4; i: g.1 ilp*2; k: unr"},
      {"lower_chain", "{[i, j, k]: 0 <= k <= j and j <= i < n}", chained_sum, types_of_chains,
       "j: g.0 l.0*8; i: g.1 l.1*2 ilp*3; k: for for*4; fetch A; fetch B; stages 3"}};
}

// All that is listed has a text.
TEST(Chains, OfBoundsAreListedAsTheyAreTaken) {
  int staged = 0;
  for (const char* domain : {"{[i, j, k]: 0 <= i <= j and j <= k < n}",
                             "{[i, j, k]: 0 <= i and i + 2 <= j and j <= k - 1 and k < n}",
                             "{[i, j, k]: 0 <= i <= j and j < n and 2*j <= k < 2*n}",
                             "{[i, j, k]: 0 <= i, j < n and i <= k and j <= k < n}"}) {
    for (const std::int64_t n : {7, 48, 200}) {
      const Kernel kernel = fix_parameters(make_kernel(domain, "C[i, j] = sum(k, A[i, k]*B[j, k])",
                                                       {.arguments = "A, B, C: f32[2*n, 2*n]"}),
                                           {{"n", n}});
      SlicingConstraints constraints;
      constraints.min_threads = n < 10 ? 1 : 32;
      const SlicingStream stream(kernel, constraints);
      std::mt19937_64 random(1);
      for (int i = 0; i < 12; ++i) {
        const Slicing slicing = stream.at(random() % stream.count()).slicing;
        SCOPED_TRACE(to_string(slicing));
        EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
        staged += slicing.stages > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(staged, 30);
}

// Copies between sums that follow from each other, several blocks of nests that share an array, and
// private results of an array that another nest sets.
TEST(Nests, AreListedAsTheyAreTaken) {
  const std::vector<std::array<std::string, 3>> kernels = {
      {"{[i, j]: 0 <= i < 37 and 0 <= j < 70}",
       "<> t[i] = reduce(max, j, a[i, j])\ns[i] = sum(j, exp(a[i, j] - t[i]))\n"
       "o[i, j] = exp(a[i, j] - t[i])/s[i]",
       "a, o: f32[37, 70]; s: f32[37]"},
      {"{[i, j, d]: 0 <= i < 37 and 0 <= j <= i and 0 <= d < 8}",
       "<> s[i, j] = sum(d, q[i, d]*k[j, d])\n<> m[i] = reduce(max, j, s[i, j])\n"
       "<> z[i] = sum(j, exp(s[i, j] - m[i]))\n"
       "o[i, d] = sum(j, exp(s[i, j] - m[i])*v[j, d])/z[i]",
       "q, k, v, o: f32[37, 8]"},
      {"{[i, j]: 0 <= i < 137 and 0 <= j <= i} {[p]: 0 <= p < 137}",
       "b[i] = scan(sum, j, a[j]*a[j])\nc[p] = b[p]*a[136 - p] + b[136]", "a, b, c: f64[137]"},
      {"{[i]: 0 <= i < 50} {[q]: 0 <= q < 32}", "h[q] = 0\nh[key[i] % 32] += w[i] {atomic}",
       "key: i32[50]; w: f32[50]; h: f32[32]"}};
  for (const auto& [domains, statements, arguments] : kernels) {
    const Kernel kernel =
        make_kernel(domains, statements, {.arguments = arguments, .sequential_dependencies = true});
    for (const bool is_cpu : {false, true}) {
      SlicingConstraints constraints;
      constraints.min_threads = 1;
      constraints.machine.is_cpu = is_cpu;
      const SlicingStream stream(kernel, constraints);
      ASSERT_GT(stream.count(), 0U);
      std::mt19937_64 random(1);
      for (int i = 0; i < 20; ++i) {
        const Slicing slicing = stream.at(random() % stream.count()).slicing;
        SCOPED_TRACE(to_string(slicing));
        EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Products, Triangles, ::testing::ValuesIn(triangles()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace rtcg::loopy
