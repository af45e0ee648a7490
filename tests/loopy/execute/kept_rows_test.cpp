// Rows that one of several nests keeps, or each of them, against the kernel as described.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

TEST(KeptRows, AreThoseOfTheNestsThatWordsName) {
  const Kernel kernel = make_kernel(
      "{[i, j, k]: 0 <= i < 5 and 0 <= j, k < 36} {[p, q, r]: 0 <= p < 36 and 0 <= q, r < 5}",
      "<> top = reduce(max, j, x[i, j])\n"
      "rows[i] = sum(k, top - x[i, k])\n"
      "<> least = reduce(min, q, x[q, p])\n"
      "columns[p] = sum(r, x[r, p] - least)",
      {.arguments = "x: f64[5, 36]; rows: f64[5]; columns: f64[36]"});
  for (const std::string words :
       {"keep x shared over q,r; launch before p", "keep x over j,k; launch before p",
        "keep x over j,k; keep x shared over q,r",
        "keep x shared over j,k; keep x over q,r; launch before p"}) {
    SCOPED_TRACE(words);
    const Slicing slicing = parse_slicing(
        "i: g.0 l.1*2; j: unr l.0*4; k: unr l.0*4; p: g.0 l.1*2; q: unr l.0*4; r: unr l.0*4; " +
        words);
    expect_same_everywhere(apply(kernel, slicing), kernel, {});
  }
}

TEST(KeptRows, OfAVectorAreCutDifferentlyInEachNest) {
  const Kernel kernel = make_kernel(
      "{[i, j, k]: 0 <= i < 3 and 0 <= j, k < 70} {[p, q, r]: 0 <= p < 4 and 0 <= q, r < 70}",
      "<> near = reduce(min, j, abs(x[i, j] - y[j]))\n"
      "a[i] = sum(k, abs(x[i, k] - y[k]) - near)\n"
      "<> far = reduce(max, q, abs(z[p, q] - y[q]))\n"
      "b[p] = sum(r, far - abs(z[p, r] - y[r]))",
      {.arguments = "x: f64[3, 70]; z: f64[4, 70]; y: f64[70]; a: f64[3]; b: f64[4]"});
  expect_same_everywhere(
      apply(kernel, parse_slicing("i: g.0; j: unr l.0*32; k: unr l.0*32; p: g.0 l.1*2; "
                                  "q: unr l.0*8; r: unr l.0*8; keep y over j,k; "
                                  "keep y shared over q,r; keep z; launch before p")),
      kernel, {});
}

}  // namespace
}  // namespace rtcg::loopy
