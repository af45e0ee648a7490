// Sums that are stored because others repeat them.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "tests/loopy/slice/values_of_loops.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel attention() {
  return make_kernel(
      "{[h, i, d, j, e, l, f, m, g]: 0 <= h < 64 and 0 <= i, j, l, m < 1024 and "
      "0 <= d, e, f, g < 64}",
      "top[h, i] = reduce(max, j, sum(e, q[h, i, e]*k[h, j, e]))\n"
      "total[h, i] = sum(l, exp(sum(f, q[h, i, f]*k[h, l, f]) - top[h, i]))\n"
      "out[h, i, d] = sum(m, exp(sum(g, q[h, i, g]*k[h, m, g]) - top[h, i])*"
      "v[h, m, d])/total[h, i]",
      {.default_type = cgen::f32});
}

/// Few, so that the tests have them at once.
const SlicingStream& slicings_of_attention() {
  static const Kernel kernel = attention();
  static const SlicingStream stream(
      kernel, {.min_threads = 64, .max_threads = 64, .max_items_per_thread = 16});
  return stream;
}

bool stores_any(const RankedSlicing& slicing) {
  return !slicing.slicing.stores.empty();
}

TEST(StoredSlicings, AreReadAndWritten) {
  const std::string words = "store s[h,i]; i_s: g.0 l.0*64; launch before i";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(slicing.stores, (std::vector<StorePlan>{{"s", {"h", "i"}}}));
  EXPECT_EQ(to_string(slicing), words);
  for (const char* wrong : {"store", "store s", "store s[i", "store [i]", "store s[]",
                            "store s[i, j]", "store s[i]; store s[i]"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(wrong));
  }
}

TEST(StoredSlicings, AreTheModelsChoiceForAttention) {
  const SlicingStream& stream = slicings_of_attention();
  const RankedSlicing first = stream.at(0);
  EXPECT_EQ(first.words.rfind("store sums[h,i,j]; store weights[h,i,m]; ", 0), 0U) << first.words;
  EXPECT_EQ(stream.find_words(first.words), 0U);
  const GeneratedProgram program = generate(apply(attention(), first.slicing), Target::cuda);
  EXPECT_EQ(program.launches.size(), 3U);
  // others compute the sums where they are used
  bool has_other = false;
  for (std::size_t i = 0; i < stream.count() && !has_other; ++i) {
    has_other = !stores_any(stream.at(i));
  }
  EXPECT_TRUE(has_other);
}

// A bilinear form for each row: a product, and sums of the rows.
TEST(StoredSlicings, HavePartsOfSumsOverSeveralInames) {
  const Kernel kernel =
      make_kernel("{[b, i, j]: 0 <= b < 8192 and 0 <= i, j < 256}",
                  "s[b] = sum((i, j), x[b, i]*a[i, j]*y[b, j])", {.default_type = cgen::f32});
  const SlicingStream stream(kernel,
                             {.min_threads = 128, .max_threads = 128, .max_items_per_thread = 64});
  const RankedSlicing first = stream.at(0);
  EXPECT_EQ(first.words.rfind("store sums[b,", 0), 0U) << first.words;
  EXPECT_EQ(stream.find_words(first.words), 0U);
  EXPECT_NO_THROW(static_cast<void>(generate(apply(kernel, first.slicing), Target::cuda)));
}

// A step of soft k-means: weights of the centres, and means by them, share the loop over centres
// also where what they add up is stored.
TEST(StoredSlicings, GiveLaterSumsLoopsOfTheirOwn) {
  const Kernel kernel = make_kernel(
      "{[p, c, e, f, b, d, q, g, r, h]: 0 <= p, q, r < 65536 and 0 <= b, c < 64 and "
      "0 <= d, e, f, g, h < 32}",
      "total[p] = sum(c, exp(-sum(e, (x[p, e] - y[c, e])**2)))\n"
      "weight[b] = sum(q, exp(-sum(g, (x[q, g] - y[b, g])**2))/total[q])\n"
      "mean[b, d] = sum(r, exp(-sum(h, (x[r, h] - y[b, h])**2))/total[r]*x[r, d])/weight[b]",
      {.default_type = cgen::f32});
  const SlicingStream stream(kernel,
                             {.min_threads = 128, .max_threads = 128, .max_items_per_thread = 16});
  const RankedSlicing first = stream.at(0);
  EXPECT_EQ(first.words.rfind("apart; store ", 0), 0U) << first.words;
  EXPECT_EQ(stream.find_words(first.words), 0U);
  EXPECT_NO_THROW(static_cast<void>(generate(apply(kernel, first.slicing), Target::cuda)));
}

/// Those with values in loops.
std::vector<std::size_t> places_with_values_of_loops(const SlicingStream& stream) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const std::vector<StorePlan>& stores = stream.at(i).slicing.stores;
    if (!stores.empty() && stores.front().in_loops) {
      places.push_back(i);
    }
  }
  return places;
}

/// Few, so that the tests have them at once.
SlicingConstraints few_for(std::int64_t n, std::int64_t m) {
  return {.parameters = {{"n", n}, {"m", m}},
          .min_threads = 128,
          .max_threads = 128,
          .max_items_per_thread = 4};
}

TEST(ValuesOfLoops, AreReadAndWritten) {
  const std::string words = "once top[h,i]; store s[i]; i: g.0 l.0*64";
  const Slicing slicing = parse_slicing(words);
  EXPECT_EQ(slicing.stores, (std::vector<StorePlan>{{"top", {"h", "i"}, true}, {"s", {"i"}}}));
  EXPECT_EQ(to_string(slicing), words);
  for (const char* wrong : {"once", "once s", "once s[i", "once s[]", "once s[i]; once s[i]"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(wrong));
  }
}

// The values are those of temporaries, and so are the slicings and what the model says of them.
TEST(ValuesOfLoops, AreSlicedAsTemporariesAre) {
  for (const ValuesOfLoops& each : values_of_loops()) {
    SCOPED_TRACE(each.name);
    const SlicingStream stream(each.as_rules(), few_for(16384, 2048));
    const SlicingStream wanted(each.as_temporaries(), few_for(16384, 2048));
    const std::vector<std::size_t> places = places_with_values_of_loops(stream);
    ASSERT_FALSE(places.empty());
    const RankedSlicing first = stream.at(places.front());
    EXPECT_NEAR(first.predicted_seconds, wanted.at(0).predicted_seconds,
                0.02 * wanted.at(0).predicted_seconds)
        << first.words;
    for (std::size_t i = 0; i < places.size(); i += 1 + places.size() / 5) {
      const RankedSlicing listed = stream.at(places[i]);
      EXPECT_EQ(stream.find_words(listed.words), places[i]) << listed.words;
      EXPECT_NO_THROW(static_cast<void>(generate(apply(each.as_rules(), listed.slicing),
                                                 Target::cuda, {.recipe_comment = false})))
          << listed.words;
    }
  }
}

TEST(ValuesOfLoops, AreKeptInRows) {
  for (const ValuesOfLoops& each : values_of_loops()) {
    if (each.name == "softmax" || each.name == "cross_entropy" || each.name == "normalisation") {
      const Kernel kernel = fix_parameters(each.as_rules(), {{"n", 16384}, {"m", 4096}});
      const RankedSlicing first = SlicingStream(kernel, few_for(16384, 4096)).at(0);
      EXPECT_EQ(first.words.rfind("once value[i]; once value_1[i]; i: g.0", 0), 0U) << first.words;
      EXPECT_NE(first.words.find("keep x"), std::string::npos) << first.words;
    }
  }
}

TEST(ValuesOfLoops, KeepHints) {
  SlicingConstraints constraints = few_for(16384, 2048);
  constraints.inames["j"].threads = {64};
  const ValuesOfLoops softmax = values_of_loops().front();
  const SlicingStream stream(softmax.as_rules(), constraints);
  const std::vector<std::size_t> places = places_with_values_of_loops(stream);
  ASSERT_FALSE(places.empty());
  const std::string words = stream.at(places.front()).words;
  EXPECT_NE(words.find("l.0*64"), std::string::npos) << words;
}

// Shared rows are launches, which hand values on.
TEST(ValuesOfLoops, AreHandedOnBetweenLaunches) {
  const std::int64_t m = 4 << 20;
  const Kernel normalisation =
      fix_parameters(values_of_loops()[2].as_rules(), {{"n", 4}, {"m", m}});
  const SlicingStream stream(normalisation, few_for(4, m));
  const std::vector<std::size_t> places = places_with_values_of_loops(stream);
  const auto shared = std::find_if(places.begin(), places.end(), [&](const std::size_t each) {
    return stream.at(each).words.find("place value global") != std::string::npos;
  });
  ASSERT_NE(shared, places.end());
  const RankedSlicing listed = stream.at(*shared);
  EXPECT_EQ(stream.find_words(listed.words), *shared);
  EXPECT_GT(generate(apply(normalisation, listed.slicing), Target::cuda).launches.size(), 1U);
}

TEST(ValuesOfLoops, AreNotListedForOtherSums) {
  for (const char* statements : {"y[i, j] = sum(a, x[i, a]*w[a, j])",  // depends on all loops
                                 "<> total = sum(a, x[i, a])\ny[i, j] = x[i, j]/total",
                                 "y[i, j] = x[i, j]/sum(a, w[a, a])",  // on none
                                 "y[i, 0] = 2*sum(a, x[i, a])\ny[i, 1] = 3*sum(a, x[i, a])"}) {
    const Kernel kernel = make_kernel(
        "{[i, j, a]: 0 <= i < n and 0 <= j, a < m}", statements,
        {.arguments = "x, y: f32[n, m]; w: f32[m, m]", .assumptions = "n >= 1 and m >= 2"});
    EXPECT_TRUE(places_with_values_of_loops(SlicingStream(kernel, few_for(64, 64))).empty())
        << statements;
  }
}

TEST(StoredSlicings, AreNotListedForOtherSums) {
  for (const char* statements :
       {"out[i, d] = sum(j, q[i, j]*k[j, d])",                        // once
        "out[i, d] = sum(j, exp(sum(p, q[i, j + p]*w[p]))*k[j, d])",  // short
        "out[i, d] = sum(j, q[i, j]*k[j, d]) + sum(l, q[i, l]*k[l, d + 1])"}) {
    const Kernel kernel =
        make_kernel("{[i, d, j, l, p]: 0 <= i, d, j, l < 48 and 0 <= p < 3}", statements,
                    {.arguments = "q: f32[48, 51]; k: f32[48, 49]; w: f32[3]; out: f32[48, 48]"});
    const SlicingStream stream(kernel,
                               {.min_threads = 64, .max_threads = 64, .max_items_per_thread = 4});
    for (std::size_t i = 0; i < std::min<std::size_t>(stream.count(), 1000); ++i) {
      ASSERT_FALSE(stores_any(stream.at(i))) << statements;
    }
  }
}

TEST(StoredSlicings, AreSlicedUnderAnyNames) {
  // the reductions share an iname: their copies have the names that loops of cuts have
  const auto first_of = [](const char* most) {
    const Kernel kernel =
        make_kernel("{[i, j, k, l, m]: 0 <= i, j, l < 1024 and 0 <= k, m < 64}",
                    std::string("mean[i] = sum(j, sum(k, a[i, k]*b[j, k]))\n") + most,
                    {.default_type = cgen::f32});
    const SlicingStream stream(kernel, {.min_threads = 64, .max_threads = 128});
    return stream.at(0);
  };
  const RankedSlicing own = first_of("most[i] = reduce(max, l, sum(m, a[i, m]*b[l, m]))");
  const RankedSlicing shared = first_of("most[i] = reduce(max, j, sum(k, a[i, k]*b[j, k]))");
  EXPECT_TRUE(stores_any(own)) << own.words;
  EXPECT_TRUE(stores_any(shared)) << shared.words;
  EXPECT_NEAR(shared.predicted_seconds, own.predicted_seconds, 0.01 * own.predicted_seconds);
}

TEST(StoredSlicings, KeepHints) {
  SlicingConstraints constraints{.min_threads = 64, .max_threads = 64, .max_items_per_thread = 16};
  constraints.inames["i"].threads = {16};
  const SlicingStream stream(attention(), constraints);
  const RankedSlicing first = stream.at(0);
  EXPECT_TRUE(stores_any(first)) << first.words;
  EXPECT_NE(first.words.find("i: g.0 l.1*16;"), std::string::npos) << first.words;
}

TEST(StoredSlicings, CanAllBeGenerated) {
  const SlicingStream& stream = slicings_of_attention();
  for (std::size_t i = 0; i < 4; ++i) {
    const RankedSlicing each = stream.at(i * stream.count() / 50);
    EXPECT_NO_THROW(static_cast<void>(
        generate(apply(attention(), each.slicing), Target::cuda, {.recipe_comment = false})))
        << each.words;
  }
}

}  // namespace
}  // namespace rtcg::loopy
