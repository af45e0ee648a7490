#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/canonical_form.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "tests/loopy/slice/marched_stencils.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel faces(std::int64_t n = 512) {
  return marched_stencils().front().of(n);
}

TEST(MarchSlicings, AreReadAndPrinted) {
  for (const char* words :
       {"k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 3; fetch u at i",
        "i: g.2; march i*64; queue u 4 shared", "march i*8; march p*4; queue u 3 along i",
        "march i*64; queue u 4 shared along i; fetch u at i stages 2",
        "march i*64 unr*3; queue u 3; queue u 3 shared"}) {
    EXPECT_EQ(to_string(parse_slicing(words)), words);
  }
  for (const char* words :
       {"march", "march i", "march *4", "march i*0", "march i*8 for*2", "march i*8 unr*3 unr*3",
        "march i*8; queue u 3; queue u 4", "march i*8; queue u 4 shared; queue u 5 shared", "queue",
        "queue u", "queue u x", "queue u 3 private", "queue u 3 along", "fetch u at",
        "fetch u at i pad 4"}) {
    EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing(words));
  }
}

TEST(MarchSlicings, RefuseOtherLoops) {
  for (const char* words :
       {"i: g.2 for*4; march i*64", "march q*64", "queue u 3", "march i*8; march j*8; queue u 3",
        "march i*8; queue u 3 along j", "march i*8; fetch u at j"}) {
    EXPECT_ERROR("loopy.recipe_of.bad_march", recipe_of(faces(), parse_slicing(words)));
  }
}

TEST(MarchSlicings, HaveAnExpertsWords) {
  const SlicingStream stream(faces(), {.max_items_per_thread = 4});
  for (const char* words :
       {"k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 3; fetch u at i",
        "k: g.0 l.0*64; j: g.1 l.1*4 ilp*2; i: g.2; march i*64; queue u 4",
        "k: g.0 l.0*128; j: g.1 l.1*2; i: g.2; march i*32; queue u 4 shared",
        "k: g.0 l.0*16 vec*4; j: g.1 l.1*16; i: g.2; march i*64 unr*3; queue u 3; queue u 3 "
        "shared"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_EQ(stream.at(*place).words, words);
  }
  EXPECT_FALSE(stream.find_words("k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 9"));
  EXPECT_FALSE(stream.at(0).slicing.marches.empty());
  // 512^3 points: once to read and once to write takes 256 us
  EXPECT_GT(stream.at(0).predicted_seconds, 250e-6);
  EXPECT_LT(stream.at(0).predicted_seconds, 400e-6);
}

TEST(MarchSlicings, AreFoundUnderOtherNames) {
  const Slicing slicing =
      parse_slicing("k: g.0 l.0*32; j: g.1 l.1*8; i: g.2; march i*64; queue u 3; fetch u at i");
  const CanonicalForm form = canonical_form(faces());
  const Slicing canonical = to_canonical(slicing, form);
  EXPECT_EQ(to_string(canonical).find("march i*"), std::string::npos) << to_string(canonical);
  EXPECT_EQ(from_canonical(canonical, form), slicing);
}

TEST(MarchSlicings, HaveShortQueues) {
  const auto mean = [](int planes) {
    const std::string count = std::to_string(planes);
    return make_kernel("{[i, j, k]: 0 <= i, j < 512 and 0 <= k < " + count + "}",
                       "o[i, j] = sum(k, u[i + k, j])",
                       {.arguments = "o: f32[512, 512]; u: f32[512 + " + count + ", 512]"});
  };
  EXPECT_NE(detail::march_slicings(mean(8), {.max_threads = 128}), nullptr);
  EXPECT_EQ(detail::march_slicings(mean(65), {}), nullptr);
}

TEST(MarchSlicings, AnswerASearch) {
  const auto marches = detail::march_slicings(faces(), {.max_threads = 128});
  ASSERT_NE(marches, nullptr);
  std::set<std::vector<std::int64_t>> decisions;
  for (std::size_t i = 0; i < marches->count(); ++i) {
    decisions.insert(marches->decisions(i));
    EXPECT_EQ(marches->find(parse_slicing(marches->at(i).words)), i);
  }
  EXPECT_EQ(decisions.size(), marches->count());
  EXPECT_FALSE(marches->neighbours(0).empty());
  EXPECT_EQ(marches->crossover(0, 1, 0), 0U);
  EXPECT_EQ(marches->crossover(0, 1, ~std::uint64_t{0}), 1U);
}

TEST(MarchSlicings, NeedReadsAtSeveralDistances) {
  const auto none = [](const std::string& domain, const std::string& text,
                       const std::string& arguments) {
    const Kernel kernel = make_kernel(domain, text, {.arguments = arguments});
    return detail::march_slicings(kernel, {}) == nullptr;
  };
  EXPECT_TRUE(none("{[i, j]: 0 <= i, j < 512}", "out[i, j] = u[i, j]", "u, out: f32[512, 512]"));
  EXPECT_TRUE(none("{[i, j]: 0 <= i, j < 512}", "out[i, j] = u[2*i, j] + u[2*i + 1, j]",
                   "u: f32[1024, 512]; out: f32[512, 512]"));
  EXPECT_TRUE(
      none("{[i, j]: 1 <= i, j < 511}", "u[i, j] = u[i, j] + u[i + 1, j]", "u: f32[512, 512]"));
  EXPECT_TRUE(none("{[i, j]: 0 <= i, j < 512}", "out[i, j] = u[t[i], j] + u[t[i] + 1, j]",
                   "u, out: f32[512, 512]; t: i32[512]"));
}

// the last block has one iteration, and would fill planes after the array for the next ones
TEST(MarchSlicings, StayWithinTheArrayWhereBlocksEndBeforeTheyAreAhead) {
  const Kernel kernel =
      make_kernel("{[i, j]: 2 <= i, j < 19}", "out[i, j] = u[i - 2, j] + u[i + 2, j] + u[i, j - 1]",
                  {.arguments = "u, out: f32[21, 21]"});
  for (const char* words : {"j: g.0 l.0*16; i: g.1; march i*16; queue u 7 shared",
                            "j: g.0 l.0*16; i: g.1; march i*16; queue u 5; queue u 5 shared"}) {
    EXPECT_NO_THROW(static_cast<void>(
        generate_text(checked_kernel(apply(kernel, parse_slicing(words))), Target::cuda)))
        << words;
  }
}

TEST(MarchSlicings, AreThoseOfEachNestOfAChain) {
  const Kernel kernel = make_kernel("{[i, j, p, q]: 1 <= i, j, p, q < 199}",
                                    "v[i, j] = u[i - 1, j] + u[i + 1, j]\n"
                                    "... gbarrier\n"
                                    "u[p, q] = v[p + 1, q] - v[p - 1, q]",
                                    {.arguments = "u, v: f32[200, 200]"});
  const SlicingStream stream(kernel, {.max_threads = 64, .max_items_per_thread = 1});
  const auto place = stream.find_words(
      "j: g.0 l.0*32; i: g.1; q: g.0 l.0*64; p: g.1; march i*16; march p*32; queue u 3 along i; "
      "queue v 4 along p");
  ASSERT_TRUE(place);
  const std::string text = generate_text(apply(kernel, stream.at(*place).slicing), Target::cuda);
  EXPECT_NE(text.find("float u_queue_i[3];"), std::string::npos) << text;
  EXPECT_NE(text.find("float v_queue_p[4];"), std::string::npos) << text;
}

/// RTCG_SLICINGS_DRAWN=300 draws so many of each stencil.
TEST(MarchSlicings, AreNotRefused) {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  const int draws = wanted != nullptr ? std::atoi(wanted) : 4;
  for (const MarchedStencil& stencil : marched_stencils()) {
    const Kernel kernel = stencil.of(stencil.large);
    const auto source = detail::march_slicings(kernel, {});
    ASSERT_NE(source, nullptr) << stencil.name;
    std::mt19937_64 random(1);
    for (int i = 0; i < draws; ++i) {
      const RankedSlicing ranked = source->at(random() % source->count());
      try {
        static_cast<void>(generate(apply(kernel, ranked.slicing), Target::cuda));
      } catch (const Error& error) {
        ADD_FAILURE() << stencil.name << " " << ranked.words << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace rtcg::loopy
