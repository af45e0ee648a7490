// Values that are stored once for all that use them, against the kernel as described.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/execute/on_every_target.h"
#include "tests/loopy/slice/values_of_loops.h"

namespace rtcg::loopy {
namespace {

const char* const attention_statements =
    "top[i] = reduce(max, j, sum(e, q[i, e]*k[j, e]))\n"
    "total[i] = sum(l, exp(sum(f, q[i, f]*k[l, f]) - top[i]))\n"
    "out[i, d] = sum(m, exp(sum(g, q[i, g]*k[m, g]) - top[i])*v[m, d])/total[i]";

Kernel attention(const std::string& statements) {
  return make_kernel(
      "{[i, d, j, e, l, f, m, g]: 0 <= i, j, l, m < n and 0 <= d < 3 and "
      "0 <= e, f, g < 4}",
      statements, {.default_type = cgen::f64, .assumptions = "n >= 1"});
}

TEST(StoredValues, OfSumsKeepTheNumbers) {
  const Kernel kernel = attention(attention_statements);
  for (const char* words :
       {"store s[i,j]; j_s: g.0 l.0*4; i_s: g.1 l.1*2; i: g.0; j,l: for l.0*4; d: l.0; m: for; "
        "launch before i",
        "store s[i,j]; store w[i,m]; j_s: g.0 l.0*4; i_s: g.1 l.1*2; e_s: for for*2; fetch q; "
        "fetch k; i: g.0; j,m_w,l: for l.0*4; i_w: g.0 l.1*2; d: l.0; m: for for*4; "
        "fetch w; fetch v; launch before i; launch before d"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {{"n", 7}});
  }
}

// Temporaries that the loops hand on are in global memory then. Rows of stored values are kept, and
// copied four at a time.
TEST(StoredValues, TakeTemporariesWithThem) {
  const Kernel kernel = fix_parameters(
      attention("<> top = reduce(max, j, sum(e, q[i, e]*k[j, e]))\n"
                "<> total = sum(l, exp(sum(f, q[i, f]*k[l, f]) - top))\n"
                "out[i, d] = sum(m, exp(sum(g, q[i, g]*k[m, g]) - top)*v[m, d])/total"),
      {{"n", 8}});
  const Slicing slicing = parse_slicing(
      "store s[i,j]; store w[i,m]; j_s: g.0 l.0*2 vec*2; i_s: g.1 l.1*2; i: g.0; "
      "j,l: unr l.0*2 unr*2; m_w: unr l.0*2 vec*2; keep s vec 2; i_w: g.0 l.1*2; d: l.0; "
      "place total global; launch before i; launch before d");
  expect_same_everywhere(apply(kernel, slicing), kernel, {});
}

/// For rows that blocks do not divide, and for some that they do, against the same with
/// temporaries.
TEST(ValuesOfLoops, KeepTheNumbers) {
  std::mt19937_64 random(7);
  for (const ValuesOfLoops& each : values_of_loops()) {
    const SlicingStream stream(each.as_rules(), {.parameters = {{"n", 40}, {"m", 64}},
                                                 .min_threads = 4,
                                                 .max_threads = 64,
                                                 .max_items_per_thread = 8});
    std::vector<Slicing> drawn;
    for (std::size_t i = 0; i < stream.count(); ++i) {
      Slicing slicing = stream.at(i).slicing;
      if (!slicing.stores.empty() && slicing.stores.front().in_loops) {
        drawn.push_back(std::move(slicing));
      }
    }
    ASSERT_FALSE(drawn.empty()) << each.name;
    for (const IntegerValues& sizes :
         {IntegerValues{{"n", 5}, {"m", 13}}, IntegerValues{{"n", 4}, {"m", 32}}}) {
      const Slicing& slicing = drawn[random() % drawn.size()];
      SCOPED_TRACE(each.name + ": " + to_string(slicing));
      // with PoCL 3.1 some tiles lose elements: see Slicings in tune_test.cpp
      expect_same_everywhere(apply(each.as_rules(), slicing), each.as_temporaries(), sizes, {},
                             "pthread");
    }
  }
}

TEST(ValuesOfLoops, KeepTheNumbersByWordsOfOnesOwn) {
  const ValuesOfLoops softmax = values_of_loops().front();
  const std::map<std::string, std::int64_t> sizes = {{"n", 5}, {"m", 13}};
  const Kernel kernel = fix_parameters(softmax.as_rules(), sizes);
  for (const char* words :
       {"once high[i]; once all[i]; i: g.0; a,b,j: for l.0*8",
        "once high[i]; i: g.0 l.1*2; j: for l.0*4",
        "once high[i]; store all[i]; i: g.0 l.0*4; i_all: g.0 l.0*4; launch before i_all; "
        "place high global",
        "once high[i]; once all[i]; i: g.0; a,b,j: g.1 for*2 l.0*4; place high global; "
        "place all global"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(kernel, parse_slicing(words)),
                           fix_parameters(softmax.as_temporaries(), sizes), {});
  }
}

// Nests that share inames without need, sliced as if they had others; `j_0` is one of the kernel's.
TEST(ApartNests, KeepTheNumbers) {
  const Kernel kernel = make_kernel("{[i, j, j_0]: 0 <= i, j, j_0 < n}",
                                    "s[j] = sum(i, r[i]*a[i, j])\n"
                                    "q[i] = sum(j, a[i, j]*p[j])\n"
                                    "c[i, j_0] = sum(j, a[i, j]*b[j, j_0])",
                                    {.default_type = cgen::f64, .assumptions = "n >= 1"});
  for (const char* words :
       {"apart; j: g.0 l.0*4; i: for for*2; i_q: g.0 l.0*4; j_q: for for*4; launch before i_q; "
        "i_c: g.1 l.1*2; j_0: g.0 l.0*2; j_c: for for*4; launch before i_c",
        "apart; j: g.0 l.0*4; i: g.1 for*2; last i; i_q: g.0; j_q: for l.0*4; launch before i_q"}) {
    SCOPED_TRACE(words);
    expect_same_everywhere(apply(kernel, parse_slicing(words)), kernel, {{"n", 9}});
  }
}

}  // namespace
}  // namespace rtcg::loopy
