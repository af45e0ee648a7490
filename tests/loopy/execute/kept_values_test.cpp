// Values of rules in shared memory of a block, against the kernel as described.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

TEST(KeptValues, OfRulesOfRulesKeepTheNumbers) {
  const Kernel kernel = make_kernel(
      "{[e, i, j, m, p]: 0 <= e < n and 0 <= i, j, m, p < 3}",
      "ux(i, j) := sum(p, D[i, p]*u[e, p, j])\n"
      "uy(i, j) := sum(p, D[j, p]*u[e, i, p])\n"
      "fx(i, j) := G[e, i, j]*ux(i, j) + uy(i, j)\n"
      "out[e, i, j] = sum(m, D[m, i]*fx(m, j) + D[m, j]*uy(i, m))",
      {.arguments = "D: f64[3, 3]; u, out, G: f64[n, 3, 3]; n: i32", .assumptions = "n >= 1"});
  for (const char* words :
       {"e: g.0; i: l.1; j: l.0; place fx shared; place ux shared; place uy shared",
        "e: g.0; i: ilp; j: l.0; place fx shared", "e: g.0; j: l.0; place uy shared"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {{"n", 4}});
  }
}

// Blocks compute the values that they share with their neighbours, too; the last block is partial.
TEST(KeptValues, AtSeveralPointsHaveAHalo) {
  const Kernel kernel = make_kernel(
      "{[i, k]: 1 <= i < n and 0 <= k < 3}",
      "flux(x) := sum(k, w[k]*a[x + k])\n"
      "b[i] = flux(i) - flux(i - 1)",
      {.arguments = "w: f64[3]; a: f64[n + 2]; b: f64[n]; n: i32", .assumptions = "n >= 2"});
  for (const int n : {2, 21}) {
    expect_same_everywhere(apply(kernel, parse_slicing("i: g.0 l.0*8; place flux shared")), kernel,
                           {{"n", n}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
