// Sums of products on tensor cores are the same numbers on every target.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

void expect_same(const Kernel& plain, const std::string& slicing, const IntegerValues& sizes) {
  SCOPED_TRACE(slicing);
  expect_same_everywhere(apply(plain, parse_slicing(slicing)), plain, sizes,
                         {.reals = {{"alpha", 1.25}}});
}

Kernel product(const std::string& value, const std::string& type = "f64",
               const std::string& sum = "f64") {
  return make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j < m and 0 <= k < q}", "c[i, j] = " + value,
                     {.arguments = "c: " + sum + "[n, m]; a: " + type + "[n, q]; b: " + type +
                                   "[q, m]; d: " + sum + "[m]; alpha: " + sum});
}

TEST(TensorCores, MultiplyTilesOfAnySize) {
  const Kernel plain = product("sum(k, a[i, k]*b[k, j])");
  const std::string ahead =
      "i: g.1 ilp*4 l.1*8; j: g.0 l.2*2 ilp*2 l.0*4 vec*2; k: for for*2 mma*4; fetch a; fetch b; "
      "stages 2";
  const std::string slicings[] = {
      "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4",
      "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 vec*2; k: for for*2 mma*8; fetch a pad 4; fetch b pad 4",
      "i: g.1 l.1*16 ilp*2; j: g.0 ilp*4 l.0*4; k: for unr*2 mma*4; fetch a; fetch b transposed",
      ahead,
      "j: g.1 ilp*2 l.1*8; i: g.0 l.0*4 ilp*2; k: for mma*4; fetch a",
  };
  for (const std::string& slicing : slicings) {
    expect_same(plain, slicing, {{"n", 32}, {"m", 32}, {"q", 16}});
    expect_same(plain, slicing, {{"n", 37}, {"m", 21}, {"q", 11}});
  }
}

TEST(TensorCores, MultiplyNumbersOf16Bits) {
  for (const char* type : {"f16", "bf16"}) {
    const Kernel plain = product("sum(k, cast(f32, a[i, k])*cast(f32, b[k, j]))", type, "f32");
    for (const char* slicing :
         {"i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*16",
          "i: g.1 ilp*2 l.1*8; j: g.0 ilp*2 l.0*4 vec*2; k: for mma*32; fetch a pad 16; "
          "fetch b transposed pad 16; stages 2"}) {
      expect_same(plain, slicing, {{"n", 32}, {"m", 32}, {"q", 32}});
      expect_same(plain, slicing, {{"n", 19}, {"m", 21}, {"q", 37}});
    }
  }
}

TEST(TensorCores, MultiplyIntegersOf8Bits) {
  for (const char* type : {"i8", "u8"}) {
    const Kernel plain = product("sum_i32(k, cast(i32, a[i, k])*b[k, j])", type, "i32");
    for (const char* slicing :
         {"i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*32",
          "i: g.1 ilp*2 l.1*8; j: g.0 ilp*2 l.0*4 vec*2; k: for unr*2 mma*32; fetch a pad 32; "
          "fetch b transposed pad 32; stages 2"}) {
      expect_same(plain, slicing, {{"n", 32}, {"m", 32}, {"q", 64}, {"alpha", 1}});
      expect_same(plain, slicing, {{"n", 19}, {"m", 21}, {"q", 75}, {"alpha", 1}});
    }
  }
}

TEST(TensorCores, GoOnWithTheSum) {
  const char* tile = "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4; fetch a pad 4; fetch b";
  for (const char* value :
       {"alpha*sum(k, a[i, k]*b[k, j]) + 2*c[i, j]", "max(sum(k, a[i, k]*b[k, j]) + d[j], 0)",
        "sum(k, alpha*a[i, k]*b[k, j])", "sum(k, b[k, j]*(a[i, k] - alpha))"}) {
    expect_same(product(value), tile, {{"n", 18}, {"m", 20}, {"q", 9}});
  }
}

TEST(TensorCores, MultiplyBatchesAndTransposedFactors) {
  const Kernel batch =
      make_kernel("{[p, i, j, k]: 0 <= p < r and 0 <= i < n and 0 <= j < m and 0 <= k < q}",
                  "c[p, i, j] = sum(k, a[p, k, i]*b[p, j, k])",
                  {.arguments = "c: f64[r, n, m]; a: f64[r, q, n]; b: f64[r, m, q]"});
  for (const char* slicing :
       {"p: g.2; i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4; fetch a; fetch b pad 4",
        "p: g.2; i: g.1 l.1*16 ilp*2; j: g.0 l.0*4 ilp*2; k: for for*2 mma*4; fetch a; fetch b; "
        "stages 2",
        "p: g.2 ilp*2; i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4"}) {
    expect_same(batch, slicing, {{"r", 3}, {"n", 17}, {"m", 13}, {"q", 9}});
  }
}

TEST(TensorCores, ContractFusedIndices) {
  const Kernel plain =
      make_kernel("{[p, q, r, s, t, u]: 0 <= p, q, r, s, t, u < 5}",
                  "c[p, q, r, s] = sum((t, u), a[p, t, q, u]*b[s, u, r, t])",
                  {.arguments = "c: f64[5, 5, 5, 5]; a: f64[5, 5, 5, 5]; b: f64[5, 5, 5, 5]"});
  for (const char* slicing :
       {"fuse x = p q; fuse y = r s; fuse z = t u; x: g.1 ilp*2 l.1*8; y: g.0 l.0*4 ilp*2; "
        "z: for unr*2 mma*4; fetch a pad 4; fetch b pad 4",
        "fuse x = p q; fuse y = r s; x: g.1 ilp*2 l.1*8; y: g.0 l.0*4 ilp*2; t: for mma*4; "
        "fetch a; fetch b"}) {
    expect_same(plain, slicing, {});
  }
}

TEST(TensorCores, ConvolveAndUpdateTriangles) {
  const Kernel convolution = make_kernel(
      "{[f, y, x, c, p, q]: 0 <= f < 18 and 0 <= y, x < 9 and 0 <= c < 7 and 0 <= p, q < 3}",
      "o[f, y, x] = sum((p, q, c), w[p, q, f, c]*e[c, y + p, x + q])",
      {.arguments = "o: f64[18, 9, 9]; w: f64[3, 3, 18, 7]; e: f64[7, 11, 11]"});
  for (const char* slicing :
       {"f: g.1 ilp*2 l.1*8; x: g.0 l.0*4 ilp*2; y: g.2; c: for mma*4",
        "f: g.1 ilp*2 l.1*8; x: g.0 l.0*4 ilp*2; y: g.2; c: for mma*4; fetch w; fetch e"}) {
    expect_same(convolution, slicing, {});
  }
  const Kernel triangle = make_kernel("{[i, j, k]: 0 <= i < n and 0 <= j <= i and 0 <= k < q}",
                                      "c[i, j] = c[i, j] + sum(k, a[i, k]*a[j, k])",
                                      {.arguments = "c: f64[n, n]; a: f64[n, q]"});
  for (const char* slicing :
       {"i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4",
        "i: g.1 ilp*2 l.1*8; j: g.0 l.0*4 ilp*2; k: for mma*4; fetch a#1; fetch a#2"}) {
    expect_same(triangle, slicing, {{"n", 35}, {"q", 9}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
