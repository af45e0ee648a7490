#include "rtcg/loopy/slice/enumerate_slicings.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/slice/slicing_source.h"
#include "rtcg/loopy/transform/fix_parameters.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel matmul() {
  return make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                     {.default_type = cgen::f32, .assumptions = "n >= 1"});
}

std::vector<std::string> first(const Kernel& kernel, const SlicingConstraints& constraints,
                               std::size_t count) {
  SlicingStream stream(kernel, constraints);
  std::vector<std::string> result;
  while (result.size() < count) {
    const auto next = stream.next();
    if (!next) {
      break;
    }
    result.push_back(to_string(next->slicing));
  }
  return result;
}

TEST(SlicingStream, IsDeterministicAndHasNothingTwice) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 4096}};
  constraints.min_threads = 1;
  constraints.max_threads = 1024;
  constraints.max_items_per_thread = 256;
  constraints.max_shared_bytes = 200 * 1024;
  const std::vector<std::string> all = first(matmul(), constraints, SIZE_MAX);
  EXPECT_GT(all.size(), 50000U);
  EXPECT_EQ(all.size(), SlicingStream(matmul(), constraints).count());
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(first(matmul(), constraints, 1000),
            std::vector<std::string>(all.begin(), all.begin() + 1000));
}

TEST(SlicingStream, KeepsItsConstraintsAndItsOrder) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 1000}};
  constraints.min_threads = 64;
  constraints.max_threads = 128;
  constraints.min_blocks = 100;
  constraints.max_shared_bytes = 8000;
  SlicingStream stream(matmul(), constraints);
  double last = 0;
  std::size_t count = 0;
  while (const auto each = stream.next()) {
    EXPECT_GE(each->threads, 64);
    EXPECT_LE(each->threads, 128);
    EXPECT_GE(each->blocks, 100);
    EXPECT_LE(each->shared_bytes, 8000);
    EXPECT_GE(each->predicted_seconds, last);
    last = each->predicted_seconds;
    ++count;
  }
  EXPECT_EQ(count, stream.count());
  EXPECT_GT(count, 100U);
}

TEST(SlicingStream, LikesTilesForMatmul) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 2048}};
  const RankedSlicing best = SlicingStream(matmul(), constraints).at(0);
  EXPECT_GE(best.slicing.fetches.size(), 1U);
}

TEST(SlicingStream, KeepsSumsInTheRegistersOfProcessors) {
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 1024}};
  constraints.machine.is_cpu = true;
  constraints.machine.multiprocessors = 2;
  constraints.machine.has_async_copies = false;
  const std::vector<std::string> best = first(matmul(), constraints, 20);
  EXPECT_NE(std::find(best.begin(), best.end(), "j: g.0 l.0*16; i: g.1 ilp*8"), best.end())
      << best.front();
}

TEST(SlicingStream, OffersCopiesThatRunAhead) {
  const std::vector<std::string> all = first(matmul(), {.parameters = {{"n", 512}}}, SIZE_MAX);
  for (const char* stages : {"stages 2", "stages 3", "stages 4"}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return each.find(stages) != std::string::npos;
    })) << stages;
  }
}

/// Few enough to be looked through in no time.
SlicingConstraints few(std::int64_t n, std::int64_t threads, std::int64_t lanes) {
  SlicingConstraints constraints{.parameters = {{"n", n}}};
  constraints.min_threads = threads;
  constraints.max_threads = threads;
  constraints.max_items_per_thread = lanes;
  return constraints;
}

TEST(SlicingStream, SwizzlesTilesWhereTheyWouldBePadded) {
  const SlicingStream stream(matmul(), few(512, 256, 16));
  const std::string results = "j: g.0 l.0*16 vec*4; i: g.1 l.1*16 ilp*4; ";
  const auto place = [&](const std::string& rest, const char* steps = "k: for for*16; ") {
    return stream.find(parse_slicing(results + steps + rest));
  };
  const auto swizzled = place("fetch a transposed xor; fetch b; stages 2");
  const auto padded = place("fetch a transposed pad 4; fetch b; stages 2");
  ASSERT_TRUE(swizzled && padded);
  const std::vector<std::size_t> near = stream.neighbours(*padded);
  EXPECT_NE(std::find(near.begin(), near.end(), *swizzled), near.end());
  EXPECT_LT(stream.at(*swizzled).shared_bytes, stream.at(*padded).shared_bytes);
  // rows that lanes go across, of which a load takes four steps
  EXPECT_TRUE(place("fetch a xor; fetch b; stages 3", "k: for for*4 unr_hint*4; "));
  EXPECT_FALSE(place("fetch a transposed xor; fetch b"));
  EXPECT_FALSE(place("fetch a transposed pad 4; fetch b xor; stages 2"));
}

TEST(SlicingStream, ReadsTilesByVectorsWhereRowsAreKnownToBeAligned) {
  const std::string before = "j: g.0 l.0*8 ilp*4; i: g.1 l.1*8 ilp*4; k: for for*8; ";
  const auto has = [&](const Kernel& kernel, const std::string& rest) {
    return SlicingStream(kernel, few(512, 64, 16)).find(parse_slicing(before + rest)).has_value();
  };
  const std::string wide = "fetch a transposed pad 4; fetch b vec 4";  // rows of a are short
  EXPECT_FALSE(has(matmul(), wide));                                   // n may be odd
  EXPECT_TRUE(has(matmul(), "fetch a transposed pad 4; fetch b"));
  const Kernel fixed = fix_parameters(matmul(), {{"n", 512}});
  EXPECT_TRUE(has(fixed, wide));
  EXPECT_FALSE(has(fixed, "fetch a transposed pad 4; fetch b"));
  EXPECT_FALSE(has(fixed, wide + "; stages 2"));  // which are as wide as they can be
  EXPECT_TRUE(has(assume(matmul(), "n mod 4 = 0"), wide));
  EXPECT_NO_THROW(
      static_cast<void>(generate_text(apply(fixed, parse_slicing(before + wide)), Target::cuda)));
  EXPECT_FALSE(has(fix_parameters(matmul(), {{"n", 510}}), wide));
}

// Elements of one and of two bytes by four.
TEST(SlicingStream, ReadsTilesOfSmallElementsByVectors) {
  for (const cgen::Type& type : {cgen::u8, cgen::f16, cgen::bf16}) {
    const Kernel kernel =
        make_kernel("{[i, j]: 0 <= i, j < 1024}", "b[i, j] = a[j, i]", {.default_type = type});
    const Slicing slicing =
        parse_slicing("j: g.0 l.0*8 vec*4; i: g.1 l.1*32 ilp*4; fetch a pad 1 vec 4");
    EXPECT_TRUE(SlicingStream(kernel, {}).find(slicing));
    EXPECT_NO_THROW(static_cast<void>(generate_text(apply(kernel, slicing), Target::cuda)));
  }
}

// What decides about rows and vectors counts the lengths of tiles that transformations make.
TEST(SlicingStream, SwizzlesAndReadsByVectorsOnlyWhatCanBe) {
  const std::vector<Kernel> kernels = {
      fix_parameters(matmul(), {{"n", 96}}), fix_parameters(matmul(), {{"n", 300}}),
      make_kernel("{[e, f, i, j]: 0 <= e < 64 and 0 <= f < 6 and 0 <= i, j < 12}",
                  "out[e, f, i] = sum(j, d[i, j]*u[e, f, j])", {.default_type = cgen::f32}),
      make_kernel("{[i, j]: 0 <= i < 100 and 0 <= j < 72}", "b[i, j] = a[j, i]",
                  {.default_type = cgen::f64}),
      make_kernel("{[i, j, k]: 0 <= i, j, k < 96}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                  {.arguments = "a, b, c: c64[96, 96]"})};
  int swizzled = 0;
  int wide = 0;
  for (const Kernel& kernel : kernels) {
    const SlicingStream stream(kernel, few(0, 64, 16));
    std::map<std::string, int> tried;
    for (std::size_t i = 0; i < stream.count(); i += 1 + i / 40) {
      const Slicing slicing = stream.at(i).slicing;
      for (const char* word : {" xor", " vec 4", " vec 2"}) {
        if (to_string(slicing).find(word) != std::string::npos && ++tried[word] <= 15) {
          EXPECT_NO_THROW(static_cast<void>(apply(kernel, slicing))) << to_string(slicing);
        }
      }
    }
    swizzled += tried[" xor"];
    wide += tried[" vec 4"] + tried[" vec 2"];
  }
  EXPECT_GT(swizzled, 10);
  EXPECT_GT(wide, 10);
}

// g reads u by a quotient, as what fuses indices does, but u is read otherwise, too
TEST(SlicingStream, TakesARuleOfTheKernelForNoView) {
  const Kernel kernel = make_kernel("{[e, i, k]: 0 <= e < 64 and 0 <= i, k < 8}",
                                    "g(a) := u[e // 4, a]; h(a) := g(a) - u[e, a]\n"
                                    "out[e, i] = sum(k, d[i, k]*u[e, k]) + h(2)",
                                    {.default_type = cgen::f32});
  const SlicingStream stream(kernel, few(0, 64, 16));
  int fetched = 0;
  for (std::size_t i = 0; i < stream.count() && fetched < 20; ++i) {
    const Slicing slicing = stream.at(i).slicing;
    if (to_string(slicing).find("fetch u") != std::string::npos) {
      ++fetched;
      EXPECT_NO_THROW(static_cast<void>(apply(kernel, slicing))) << to_string(slicing);
    }
  }
  EXPECT_EQ(fetched, 20);
}

TEST(SlicingStream, GivesBlocksTheSharedMemoryOfTheMachine) {
  SlicingConstraints constraints = few(4096, 256, 64);
  const Slicing large = parse_slicing(
      "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*16 ilp*4; k: for for*32; fetch a transposed pad "
      "4; fetch b; stages 3");
  EXPECT_FALSE(SlicingStream(matmul(), constraints).find(large));
  constraints.machine.shared_bytes = 227 * 1024;
  const SlicingStream stream(matmul(), constraints);
  ASSERT_TRUE(stream.find(large));
  EXPECT_EQ(stream.at(*stream.find(large)).shared_bytes, 3 * 32 * (128 + 4 + 128) * 4);
  constraints.max_shared_bytes = 48 * 1024;
  EXPECT_FALSE(SlicingStream(matmul(), constraints).find(large));
}

TEST(SlicingStream, SpreadsRowSumsOverTheBlock) {
  const Kernel sums =
      make_kernel("{[i, j]: 0 <= i, j < n}", "c[i] = sum(j, a[i, j])", {.default_type = cgen::f32});
  const std::vector<std::string> all = first(sums, {.parameters = {{"n", 4096}}}, SIZE_MAX);
  EXPECT_NE(std::find(all.begin(), all.end(), "i: g.0; j: for l.0*256"), all.end());
}

TEST(SlicingStream, LetsBlocksShareReductions) {
  const Kernel sum =
      make_kernel("{[i]: 0 <= i < n}", "c[0] = sum(i, a[i])", {.default_type = cgen::f32});
  const std::vector<std::string> all = first(sum, {.parameters = {{"n", 1 << 20}}}, SIZE_MAX);
  for (const char* each : {"i: for l.0*256", "i: g.0 for*16 l.0*256",
                           "i: g.0 for*16 l.0*256; atomic i", "i: g.0 for*16 l.0*256; last i"}) {
    EXPECT_NE(std::find(all.begin(), all.end(), each), all.end()) << each;
  }
  EXPECT_NE(all.front().find("g.0"), std::string::npos) << all.front();
}

TEST(SlicingStream, CutsIntoWhatDivides) {
  const std::vector<std::string> all = first(matmul(), {.parameters = {{"n", 1000}}}, SIZE_MAX);
  EXPECT_NE(std::find(all.begin(), all.end(),
                      "j: g.0 ilp*2 l.0*25 ilp*4; i: g.1 l.1*10 ilp*4; k: for unr_hint*20; fetch "
                      "a transposed pad 4; fetch b; stages 2"),
            all.end());
}

TEST(SlicingStream, UnrollsTheStepsOfTilesUpToALimit) {
  SlicingConstraints constraints{.parameters = {{"n", 1024}}};
  constraints.machine.shared_bytes = 227 * 1024;
  const std::vector<std::string> all = first(matmul(), constraints, SIZE_MAX);
  const auto has = [&](const char* each) {
    return std::find(all.begin(), all.end(), each) != all.end();
  };
  const std::string tiles = "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4; ";
  const std::string fetches = "; fetch a transposed pad 4; fetch b; stages 2";
  EXPECT_TRUE(has((tiles + "k: for unr_hint*16" + fetches).c_str()));
  EXPECT_TRUE(has((tiles + "k: for for*16" + fetches).c_str()));
  // 64 results of a thread times 32 steps are too many statements
  EXPECT_TRUE(has((tiles + "k: for for*32" + fetches).c_str()));
  EXPECT_FALSE(has((tiles + "k: for unr_hint*32" + fetches).c_str()));
}

TEST(SlicingStream, FindsTheUnrolledTwin) {
  SlicingConstraints constraints{.parameters = {{"n", 1024}}};
  constraints.machine.shared_bytes = 227 * 1024;
  const SlicingStream stream(matmul(), constraints);
  const std::string tiles = "j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4; k: for ";
  const std::string fetches = "; fetch a transposed pad 4; fetch b; stages 2";
  const auto rolled = stream.find(parse_slicing(tiles + "for*16" + fetches));
  ASSERT_TRUE(rolled);
  const auto twin = stream.unrolled(*rolled);
  ASSERT_TRUE(twin);
  EXPECT_EQ(stream.at(*twin).slicing, parse_slicing(tiles + "unr_hint*16" + fetches));
  EXPECT_FALSE(stream.unrolled(*twin));
  EXPECT_FALSE(stream.unrolled(*stream.find(parse_slicing(tiles + "for*32" + fetches))));
}

// Both arrays' rows are along the reduction: loads of 16 bytes take four steps at once, by strided
// lanes, from rows of an odd number of 16 bytes, so that neighbouring threads use
// different banks.
TEST(SlicingStream, KnowsWhatMatrixProductsUsuallyTake) {
  const SlicingStream stream(matmul(), {.parameters = {{"n", 1000}}});
  const std::vector<std::size_t> seeds = stream.seed_shapes();
  EXPECT_GT(seeds.size(), 10U);
  EXPECT_LE(seeds.size(), 40U);
  for (const std::size_t each : seeds) {
    EXPECT_EQ(stream.at(each).slicing.fetches.size(), 2U);
  }
  // shapes that the model ranks far down are among them
  const auto has_shape = [&](std::size_t each) {
    return to_string(stream.at(each).slicing)
               .find("j: g.0 ilp*2 l.0*16 ilp*4; i: g.1 ilp*2 l.1*8 ilp*4;") == 0;
  };
  EXPECT_EQ(std::count_if(seeds.begin(), seeds.end(), has_shape), 2);
  // of other devices no shape was measured: the model alone ranks
  SlicingConstraints other = {.parameters = {{"n", 1000}}};
  other.machine.architecture = "sm_80";
  EXPECT_TRUE(SlicingStream(matmul(), other).seed_shapes().empty());
  const Kernel sum =
      make_kernel("{[i]: 0 <= i < n}", "c[0] = sum(i, a[i])", {.default_type = cgen::f32});
  EXPECT_TRUE(SlicingStream(sum, {.parameters = {{"n", 1000}}}).seed_shapes().empty());
}

TEST(SlicingStream, SharesTilesWhereThereAreFewBlocks) {
  const Slicing shared = parse_slicing(
      "j: g.0 ilp*2 l.0*8 ilp*2; i: g.1 ilp*2 l.1*4 ilp*2; k: for l.2*2 unr_hint*16; fetch a "
      "transposed pad 4; fetch b; stages 2");
  EXPECT_TRUE(SlicingStream(matmul(), {.parameters = {{"n", 300}}}).find(shared));
  EXPECT_FALSE(SlicingStream(matmul(), {.parameters = {{"n", 4096}}}).find(shared));
}

TEST(SlicingStream, OffersVectorsAndOrdersOfBlocks) {
  const std::vector<std::string> all = first(matmul(), {.parameters = {{"n", 4096}}}, 50000);
  for (const char* word : {"vec*4", "vec*2", "swizzle 8"}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return each.find(word) != std::string::npos;
    })) << word;
  }
}

TEST(SlicingStream, KeepsShortLoopsSideBySide) {
  const Kernel gradient =
      make_kernel("{[d, f, e, i, j]: 0 <= d < 3 and 0 <= f < 6 and 0 <= e < n and 0 <= i, j < 20}",
                  "g[d, f, e, i] = sum(j, m[d, i, j]*u[f, e, j])", {.default_type = cgen::f32});
  const std::vector<std::string> all = first(gradient, {.parameters = {{"n", 1000}}}, SIZE_MAX);
  for (const char* words : {"f: ilp; d: ilp", "f: g.2; d: ilp", "f: ilp; d: g.2"}) {
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return each.find(words) != std::string::npos;
    })) << words;
  }
}

TEST(SlicingStream, KeepsInRegistersWhatIsReadAgainAndAgain) {
  const Kernel convolution = make_kernel("{[x, y, f, g]: 0 <= x, y < n and 0 <= f, g < 5}",
                                         "o[y, x] = sum((f, g), image[y + f, x + g]*w[f, g])",
                                         {.default_type = cgen::f32});
  const std::vector<std::string> all = first(convolution, {.parameters = {{"n", 1000}}}, SIZE_MAX);
  const auto has = [&](const std::string& words) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& each) {
      return each.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("fetch image registers"));
  EXPECT_FALSE(has("fetch w registers")) << "each of its elements is read once";
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
  // the compiler loads once what several lanes read in one step
  const std::vector<std::string> products = first(matmul(), {.parameters = {{"n", 64}}}, SIZE_MAX);
  for (const std::string& each : products) {
    ASSERT_EQ(each.find("registers"), std::string::npos) << each;
  }
}

TEST(SlicingStream, PutsManyBlocksOnTheFirstAxis) {
  const SlicingStream stream(
      make_kernel("{[i, j, k]: 0 <= i < 1000000 and 0 <= j, k < 32}",
                  "c[i, j] = sum(k, a[i, k]*b[k, j])", {.default_type = cgen::f32}),
      {});
  for (std::size_t at = 0; at < stream.count(); ++at) {
    const RankedSlicing each = stream.at(at);
    const auto rows = std::find_if(each.slicing.inames.begin(), each.slicing.inames.end(),
                                   [](const InameSlicing& sliced) { return sliced.iname == "i"; });
    ASSERT_NE(rows, each.slicing.inames.end());
    std::int64_t tile = 1;
    for (const SlicingFactor& factor : rows->factors) {
      tile *= std::max<std::int64_t>(factor.length, 1);
    }
    if (rows->factors.front().axis.number != 0) {
      ASSERT_LE((1000000 + tile - 1) / tile, 65535) << to_string(each.slicing);
    }
  }
}

TEST(SlicingStream, FetchesWhatIsReadAcrossRows) {
  const Kernel transpose =
      make_kernel("{[i, j]: 0 <= i, j < n}", "out[j, i] = a[i, j]", {.default_type = cgen::f32});
  const RankedSlicing best = SlicingStream(transpose, {.parameters = {{"n", 4096}}}).at(0);
  EXPECT_EQ(best.slicing.fetches, (std::vector<FetchPlan>{{"a", false, 1}}));
}

bool lists(const Kernel& kernel, const SlicingConstraints& constraints, std::string_view words) {
  const SlicingStream stream(kernel, constraints);
  EXPECT_GT(stream.count(), 0U);
  for (std::size_t place = 0; place < stream.count(); ++place) {
    if (stream.at(place).words.find(words) != std::string::npos) {
      return true;
    }
  }
  return false;
}

// Neighbours are written along i and read along k, whatever lies between.
TEST(SlicingStream, TilesWhatIsReadAcrossOtherLoops) {
  for (const char* statement :
       {"out[k, j, i] = a[i, j, k]", "out[k, j, i] = a[i, j, k] + b[j, k] * c[k, j, i]"}) {
    SlicingConstraints constraints;
    constraints.parameters = {{"n", 400}};
    const SlicingStream stream(
        make_kernel("{[i, j, k]: 0 <= i, j, k < n}", statement, {.default_type = cgen::f32}),
        constraints);
    const Slicing best = stream.at(0).slicing;
    ASSERT_GE(best.inames.size(), 3U) << statement;
    EXPECT_EQ(best.inames[0].iname, "i") << to_string(best);
    EXPECT_EQ(best.inames[1].iname, "k") << to_string(best);
    EXPECT_GT(best.inames[1].factors.size(), 1U) << to_string(best);
    EXPECT_EQ(best.fetches.front().array, "a") << to_string(best);
  }
}

TEST(SlicingStream, FetchesWindowsOfRowsAsTheyLie) {
  for (const std::int64_t length : {12, 31}) {
    const Kernel kernel = fix_parameters(
        make_kernel("{[r, t, k]: 0 <= r < 1024 and 0 <= t < 16384 and 0 <= k < w}",
                    "y[r, t] = reduce(max, k, x[r, t + k])", {.default_type = cgen::f32}),
        {{"w", length}});
    const SlicingStream stream(kernel, {});
    bool is_any_fetched = false;
    for (std::size_t i = 0; i < stream.count(); i += 97) {
      is_any_fetched = is_any_fetched || !stream.at(i).slicing.fetches.empty();
    }
    EXPECT_TRUE(is_any_fetched) << length;
    const RankedSlicing best = stream.at(0);
    ASSERT_EQ(best.slicing.fetches.size(), 1U) << best.words;
    EXPECT_FALSE(best.slicing.fetches.front().is_transposed) << best.words;
  }
}

TEST(SlicingStream, KnowsThatWindowsOfStepsThatAreWrittenOutOverlap) {
  const Kernel filter =
      make_kernel("{[r, t, k]: 0 <= r < 512 and 0 <= t < 32768 and 0 <= k < 16}",
                  "y[r, t] = sum(k, h[k]*x[r, t + k])", {.default_type = cgen::f32});
  const SlicingStream stream(filter, {});
  const auto seconds = [&](const std::string& words) {
    const auto place = stream.find(parse_slicing(words));
    return place ? stream.predicted_seconds(*place) : 0;
  };
  const std::string results = "t: g.0 l.0*128 vec*4; r: g.1; ";
  EXPECT_GT(seconds(results + "k: unr_hint; fetch x"), 0);
  EXPECT_LT(seconds(results + "k: unr_hint; fetch x"), seconds(results + "fetch x"));
}

TEST(SlicingStream, FetchesNothingThatOneResultReadsAlone) {
  const KernelOptions f32{.default_type = cgen::f32};
  const Kernel products =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 16}", "y[i] = sum(k, value[k, i]*x[i])", f32);
  EXPECT_FALSE(lists(products, {.parameters = {{"n", 100000}}}, "fetch"));
  const Kernel squares = make_kernel("{[i]: 0 <= i < n}", "y[i] = x[i]*x[i]", f32);
  EXPECT_FALSE(lists(squares, {.parameters = {{"n", 100000}}}, "fetch"));
  // each point has a cell of its own
  const Kernel points =
      make_kernel("{[i]: 0 <= i < n}",
                  "<i32> cell = cast(i32, floor(x[i]))\n"
                  "y[i] = table[cell] + table[cell + 1]",
                  {.arguments = "table: [m]; x, y: [n]; m: i32", .default_type = cgen::f32});
  EXPECT_FALSE(lists(points, {.parameters = {{"n", 100000}, {"m", 100}}}, "fetch"));
  // rows of a that begin one element apart
  const Kernel windows =
      make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 16}", "y[i] = sum(k, a[i + k])", f32);
  EXPECT_TRUE(lists(windows, {.parameters = {{"n", 100000}}}, "fetch a"));
}

TEST(SlicingStream, FetchesNothingWhereARecurrenceLeavesNoRoom) {
  const Kernel rows = make_kernel(
      "{[b]: 0 <= b < 4096}\n{[i]: 0 <= i < 8}\n{[j]: 0 <= j < 8}",
      "for b, i\n  <> corner = 0\n  for j\n    <> up = h[j, b]\n"
      "    h[j, b] = corner + c[j, b]\n    corner = up\n  end\nend",
      {.arguments = "c, h: [8, 4096]", .default_type = cgen::f32, .sequential_dependencies = true});
  EXPECT_FALSE(lists(rows, {}, "fetch c"));
}

// threads along a sum read neighbours only if its loop is that of the fastest axis
TEST(SlicingStream, SpreadsSumsOverNeighbours) {
  const auto seconds = [](const char* statement) {
    const Kernel kernel =
        make_kernel("{[x, c]: 0 <= x < 4096 and 0 <= c < 4096}", statement,
                    {.arguments = "a: [4096, 4096]; out: [4096]", .default_type = cgen::f32});
    const SlicingStream stream(kernel, SlicingConstraints());
    const auto place = stream.find_words("x: g.0; c: for l.0*64");
    EXPECT_TRUE(place) << statement;
    return place ? stream.predicted_seconds(*place) : 0;
  };
  EXPECT_GT(seconds("out[x] = sum(c, a[c, (x + 1)//2])"),
            1.5 * seconds("out[x] = sum(c, a[x, c])"));
}

TEST(SlicingStream, HasStepsFromEachSlicing) {
  const SlicingStream stream(matmul(), {.parameters = {{"n", 512}}});
  const std::vector<std::size_t> near = stream.neighbours(0);
  EXPECT_GT(near.size(), 4U);
  for (const std::size_t each : near) {
    const std::vector<std::size_t> back = stream.neighbours(each);
    EXPECT_NE(std::find(back.begin(), back.end(), 0U), back.end());
  }
}

TEST(SlicingStream, FindsEachOfItsSlicings) {
  const Kernel gradient =
      make_kernel("{[d, e, i, j]: 0 <= d < 3 and 0 <= e < n and 0 <= i, j < 20}",
                  "g[d, e, i] = sum(j, m[d, i, j]*u[e, j])", {.default_type = cgen::f32});
  const Kernel sum =
      make_kernel("{[i]: 0 <= i < n}", "c[0] = sum(i, a[i])", {.default_type = cgen::f32});
  const Kernel stencil = make_kernel("{[i, j]: 0 <= i, j < n}", "o[i, j] = a[i, j] + a[i + 1, j]",
                                     {.default_type = cgen::f32});
  const Kernel convolution = make_kernel("{[x, y, f, g]: 0 <= x, y < n and 0 <= f, g < 3}",
                                         "o[y, x] = sum((f, g), image[y + f, x + g]*w[f, g])",
                                         {.default_type = cgen::f32});
  for (const Kernel& kernel : {matmul(), gradient, sum, stencil, convolution}) {
    const SlicingStream stream(kernel, {.parameters = {{"n", 1000}}});
    for (std::size_t i = 0; i < stream.count(); i += 1 + stream.count() / 3000) {
      const Slicing slicing = stream.at(i).slicing;
      ASSERT_EQ(stream.find(slicing), i) << to_string(slicing);
    }
    EXPECT_EQ(stream.find({}), std::nullopt);
    EXPECT_EQ(stream.find(parse_slicing("q: g.0")), std::nullopt);
  }
}

bool has_words(const std::vector<std::string>& all, const std::string& words) {
  return std::any_of(all.begin(), all.end(), [&](const std::string& each) {
    return each.find(words) != std::string::npos;
  });
}

TEST(SlicingStream, LaysOutWhatItMay) {
  const Kernel rows = make_kernel("{[i, j]: 0 <= i < n and 0 <= j < m}",
                                  "y[i] = sum(j, a[i, j]*x[j])", {.default_type = cgen::f32});
  const IntegerValues sizes = {{"n", 100000}, {"m", 20}};
  SlicingConstraints constraints{.parameters = sizes};
  const std::vector<std::string> fixed = first(rows, constraints, SIZE_MAX);
  EXPECT_FALSE(has_words(fixed, "layout"));
  constraints.free_layouts = {"a", "y", "a"};
  const std::vector<std::string> free = first(rows, constraints, SIZE_MAX);
  const std::set<std::string> all(free.begin(), free.end());
  EXPECT_EQ(all.size(), free.size());
  EXPECT_EQ(first(rows, constraints, SIZE_MAX), free);
  for (const std::string& each : fixed) {
    ASSERT_EQ(all.count(each), 1U) << each;
  }
  for (const char* words :
       {"; layout a order 1,0", "; layout a order 0,1 pad 12", "; layout a split 0 by 32"}) {
    EXPECT_TRUE(has_words(free, words)) << words;
  }
  EXPECT_FALSE(has_words(free, "layout y")) << "one axis lies in one way";
  EXPECT_FALSE(has_words(free, "layout a order 0,1;")) << "as described";
  // a thread a row: neighbouring threads read neighbours
  const RankedSlicing best =
      detail::tile_slicings(rows, constraints, detail::RankingBounds{})->at(0);
  constraints.free_layouts.clear();
  EXPECT_LT(
      best.predicted_seconds,
      detail::tile_slicings(rows, constraints, detail::RankingBounds{})->at(0).predicted_seconds);
  ASSERT_EQ(best.slicing.layouts.size(), 1U) << to_string(best.slicing);
}

TEST(SlicingStream, FindsLayoutsAndTheirNeighbours) {
  SlicingConstraints constraints{.parameters = {{"n", 72}}};
  constraints.max_threads = 32;
  constraints.max_items_per_thread = 4;
  const std::size_t described = SlicingStream(matmul(), constraints).count();
  constraints.free_layouts = {"a", "b", "c"};
  for (const bool is_cpu : {false, true}) {
    constraints.machine.is_cpu = is_cpu;
    const SlicingStream stream(matmul(), constraints);
    EXPECT_GT(stream.count(), 4 * described);
    EXPECT_LE(stream.count(), 16 * described);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < stream.count(); i += 1 + stream.count() / 2000) {
      const Slicing slicing = stream.at(i).slicing;
      ASSERT_TRUE(seen.insert(to_string(slicing)).second);
      ASSERT_EQ(parse_slicing(to_string(slicing)), slicing);
      ASSERT_EQ(stream.find(slicing), i) << to_string(slicing);
    }
    Slicing other = stream.at(0).slicing;
    other.layouts = {{"a", {1, 0}, 0, 0, 0}};
    const auto turned = stream.find(other);
    other.layouts.clear();
    const auto plain = stream.find(other);
    ASSERT_TRUE(turned && plain);
    const std::vector<std::size_t> near = stream.neighbours(*plain);
    EXPECT_NE(std::find(near.begin(), near.end(), *turned), near.end());
    EXPECT_EQ(stream.decisions(*plain).size(), stream.decisions(*turned).size());
    EXPECT_NE(stream.decisions(*plain), stream.decisions(*turned));
  }
}

TEST(SlicingStream, FetchesNothingThatLiesInPieces) {
  const Kernel product =
      make_kernel("{[e, i, j]: 0 <= e < n and 0 <= i, j < 20}",
                  "out[e, i] = sum(j, d[i, j]*u[e, j])", {.default_type = cgen::f32});
  const std::vector<std::string> all = first(
      product, {.parameters = {{"n", 1000}}, .max_threads = 64, .free_layouts = {"u"}}, SIZE_MAX);
  EXPECT_TRUE(has_words(all, "layout u split 0 by 32"));
  for (const std::string& each : all) {
    ASSERT_FALSE(each.find("fetch u") != std::string::npos &&
                 each.find("layout u split") != std::string::npos)
        << each;
  }
}

TEST(SlicingStream, LetsThreadsAndBlocksShareTuples) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i < 64 and 0 <= j < 100000}", "v[i], p[i] = argmin(j, a[i, j], j)",
                  {.arguments = "a: f32[64, 100000]; v: f32[64]; p: i32[64]"});
  const SlicingStream stream(kernel, {});
  for (const char* words : {"i: g.0; j: for l.0*256", "i: g.0; j: g.1 for*16 l.0*256",
                            "i: g.0; j: g.1 for*16 l.0*256; last j"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place.has_value()) << words;
    const GeneratedProgram program =
        generate(apply(kernel, stream.at(*place).slicing), Target::cuda);
    EXPECT_EQ(program.launches.size(),
              std::string(words) == "i: g.0; j: g.1 for*16 l.0*256" ? 2U : 1U);
  }
}

TEST(SlicingStream, RefusesLayoutsThatAreFixed) {
  const Kernel linear =
      make_kernel("{[i]: 0 <= i < n}", "c[i] = 2*a[[i]]", {.arguments = "a, c: f32[n]; n: i32"});
  for (const char* array : {"q", "n", "a"}) {
    EXPECT_ERROR("loopy.slicings.fixed_layout",
                 SlicingStream(linear, {.parameters = {{"n", 100}}, .free_layouts = {array}}));
  }
  const Kernel many = make_kernel("{[i]: 0 <= i < n}", "o[i] = a[i] + b[i] + c[i] + d[i] + e[i]",
                                  {.default_type = cgen::f32});
  EXPECT_ERROR(
      "loopy.slicings.fixed_layout",
      SlicingStream(many, {.parameters = {{"n", 100}}, .free_layouts = {"a", "b", "c", "d", "e"}}));
  const Kernel wide = make_kernel("{[i]: 0 <= i < n}", "c[i] = 2*a[i, 0]",
                                  {.arguments = "a: f32[n, m]; c: f32[n]; n: i32; m: i32"});
  EXPECT_ERROR("loopy.slicings.missing_parameter",
               SlicingStream(wide, {.parameters = {{"n", 100}}, .free_layouts = {"a"}}));
}

TEST(SlicingStream, RefusesKernelsWithoutSizesOrResults) {
  EXPECT_ERROR("loopy.slicings.missing_parameter", SlicingStream(matmul(), {}));
  const Kernel copy = make_kernel("{[i]: 0 <= i < n}", "c[i] = a[i]", {.default_type = cgen::f32});
  EXPECT_ERROR("loopy.slicings.nothing_to_slice", SlicingStream(copy, {.parameters = {{"n", 0}}}));
  EXPECT_ERROR(
      "loopy.slicings.nothing_to_slice",
      SlicingStream(make_kernel("{[i]: 0 <= i < 8}", "c[0] = 1", {.arguments = "c: f32[1]"}), {}));
}

// Neighbouring sums in neighbouring threads, and their steps over further threads and blocks.
TEST(SlicingStream, SpreadsSumsOfColumns) {
  const Kernel kernel =
      make_kernel("{[i, k]: 0 <= i < 8192 and 0 <= k < 8192}", "y[i] = sum(k, x[k]*A[k, i])",
                  {.arguments = "A: f32[8192, 8192]; x, y: f32[8192]"});
  const SlicingStream stream(kernel, {});
  for (const std::string words :
       {"i: g.0 l.0*32 vec*4; k: for l.1*8", "i: g.0 l.0*128 vec*4; k: g.1 for*64; atomic k",
        "i: g.0 l.0*32 vec*4; k: g.1 for*64 l.1*8",
        "i: g.0 l.0*64; k: g.1 for*64 l.1*4; atomic k"}) {
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_EQ(stream.at(*place).words, words);
    const GeneratedProgram program = generate(apply(kernel, parse_slicing(words)), Target::cuda);
    std::int64_t threads = 0;
    for (const LaunchPlan& each : program.launches) {
      threads = std::max(threads, each.block[0] * each.block[1]);
    }
    EXPECT_EQ(threads, stream.at(*place).threads) << words;
  }
  // all of memory's rate, which takes more blocks than there are columns for
  EXPECT_LT(stream.predicted_seconds(0), 1.6 * 8192 * 8192 * 4 / 4.2e12);
}

// Sums that are long for the few results that there are: tiles of their steps, of several blocks.
TEST(SlicingStream, SharesTilesOfLongSums) {
  const Kernel kernel = make_kernel("{[i, j, k]: 0 <= i, j < 64 and 0 <= k < 1000000}",
                                    "G[i, j] = sum(k, A[k, i]*A[k, j])",
                                    {.arguments = "A: f32[1000000, 64]; G: f32[64, 64]"});
  SlicingConstraints constraints;
  constraints.min_threads = 128;
  constraints.max_threads = 256;
  constraints.max_items_per_thread = 32;
  const SlicingStream stream(kernel, constraints);
  const Slicing best = stream.at(0).slicing;
  EXPECT_FALSE(best.fetches.empty());
  const InameSlicing& sum = best.inames.back();
  ASSERT_GE(sum.factors.size(), 3U) << to_string(best);
  EXPECT_EQ(sum.factors[0].axis.kind, AxisKind::grid);
  EXPECT_EQ(sum.factors[1].axis.kind, AxisKind::sequential);
  for (const std::string how : {"", "; atomic k", "; last k"}) {
    const std::string words =
        "j: g.0 l.0*16 vec*4; i: g.1 l.1*16 ilp*4; k: g.2 for*474 for*16; fetch A#1; fetch A#2; "
        "stages 3" +
        how;
    const auto place = stream.find_words(words);
    ASSERT_TRUE(place) << words;
    EXPECT_EQ(stream.at(*place).words, words);
    EXPECT_EQ(stream.at(*place).blocks, 132);
  }
}

// compilers vectorise the loop over threads around one loop, not around three
TEST(SlicingStream, WritesShortSumsOutOnProcessors) {
  const Kernel kernel = make_kernel(
      "{[f, y, x, c, p, q]: 0 <= f < 32 and 0 <= y, x < 64 and 0 <= c < 16 and 0 <= p, q < 3}",
      "out[f, y, x] = sum((c, p, q), image[c, y + p, x + q]*weight[f, c, p, q])",
      {.default_type = cgen::f32});
  SlicingConstraints constraints;
  EXPECT_EQ(SlicingStream(kernel, constraints).at(0).words.find("unr;"), std::string::npos);
  constraints.machine.is_cpu = true;
  const SlicingStream stream(kernel, constraints);
  for (std::size_t place = 0; place < std::min<std::size_t>(stream.count(), 50); ++place) {
    const std::string words = stream.at(place).words;
    EXPECT_NE(words.find("p: unr; q: unr"), std::string::npos) << words;
    EXPECT_EQ(stream.find_words(words), place) << words;
  }
}

// quotients vanish then, and what several steps read stays in registers
TEST(SlicingStream, WritesShortSumsOutOnGpusWhereIndicesDivideThem) {
  const Kernel kernel =
      make_kernel("{[i, j]: 1 <= i, j < 4097}\n{[a, b]: 0 <= a, b < 9}",
                  "at(k) := image[i + k // 3 - 1, j + k % 3 - 1]\n"
                  "rank[i, j] = sum(a, sum(b, if(at(a) < at(b), 1.0, 0.0))**2)",
                  {.arguments = "image, rank: [4098, 4098]", .default_type = cgen::f32});
  const SlicingStream stream(kernel, SlicingConstraints());
  ASSERT_GT(stream.count(), 0U);
  for (std::size_t place = 0; place < std::min<std::size_t>(stream.count(), 50); ++place) {
    const std::string words = stream.at(place).words;
    EXPECT_NE(words.find("a: unr; b: unr"), std::string::npos) << words;
    EXPECT_EQ(stream.find_words(words), place) << words;
  }
  // 81 steps for each item, 256 at most
  EXPECT_TRUE(stream.find_words("j: g.0 l.0*32; i: g.1 l.1*4 ilp*2; a: unr; b: unr"));
  EXPECT_FALSE(stream.find_words("j: g.0 l.0*32; i: g.1 l.1*4 ilp*4; a: unr; b: unr"));
}

SlicingConstraints on_two_cores(IntegerValues parameters) {
  SlicingConstraints constraints{.parameters = std::move(parameters)};
  constraints.machine.is_cpu = true;
  constraints.machine.multiprocessors = 2;
  constraints.machine.clock_hz = 3e9;
  constraints.machine.has_async_copies = false;
  return constraints;
}

// lanes along columns would gather from rows
TEST(SlicingStream, SpreadsSumsOverLanesOfProcessorsWhereRowsAreRead) {
  const Kernel kernel =
      make_kernel("{[i, j, d]: 0 <= i < n and 0 <= j < n and 0 <= d < 64}",
                  "out[i, j] = sum(d, (x[i, d] - y[j, d])**2)", {.default_type = cgen::f32});
  const std::string words = SlicingStream(kernel, on_two_cores({{"n", 2048}})).at(0).words;
  EXPECT_NE(words.find("d: for l.0*"), std::string::npos) << words;
  EXPECT_NE(words.find("ilp*"), std::string::npos) << words;
}

// what three results share is computed once
TEST(SlicingStream, KeepsShortAxesOfResultsInTheLanesOfProcessors) {
  const Kernel kernel = make_kernel(
      "{[i, k, j]: 0 <= i, j < n and 0 <= k < 3}",
      "a[i, k] = sum(j, rsqrt((x[j, 0] - x[i, 0])**2 + (x[j, 1] - x[i, 1])**2 + 0.1)*(x[j, k] - "
      "x[i, k]))",
      {.arguments = "x, a: [n, 3]", .default_type = cgen::f32});
  const std::string words = SlicingStream(kernel, on_two_cores({{"n", 8192}})).at(0).words;
  EXPECT_NE(words.find("k: g.0 ilp*3"), std::string::npos) << words;
  EXPECT_NE(words.find("i: g.1 l.1*"), std::string::npos) << words;
}

TEST(SlicingStream, ListsNoVectorsOfTilesThatBeginWithinOne) {
  const Kernel kernel = make_kernel(
      "{[i, j, k]: 4 <= i, j, k < 7} {[p]: 1 <= p <= 4}",
      "out[i, j, k] = weight[0]*u[i, j, k] + sum(p, weight[p]*(u[i - p, j, k] + u[i, j, k + p]))",
      {.arguments = "u, out: f32[11, 11, 11]; weight: f32[5]"});
  const SlicingStream stream(kernel, {.min_threads = 1});
  int fetching = 0;
  for (std::size_t place = 0; place < stream.count(); place += 7) {
    const RankedSlicing each = stream.at(place);
    fetching += each.words.find("fetch weight") != std::string::npos ? 1 : 0;
    EXPECT_EQ(why_not([&] {
                return generate(checked_kernel(apply(kernel, each.slicing)), Target::cuda);
              }).value_or(""),
              "")
        << each.words;
  }
  EXPECT_GT(fetching, 3);
}

}  // namespace
}  // namespace rtcg::loopy
