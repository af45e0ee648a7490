#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/why_not.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// y = A^T (A x): two launches.
Kernel transposed_after_product() {
  return make_kernel("{[i, j, k, l]: 0 <= i, k < 1900 and 0 <= j, l < 2100}",
                     "t[i] = sum(j, A[i, j]*x[j])\n"
                     "... gbarrier\n"
                     "y[l] = sum(k, A[k, l]*t[k])",
                     {.arguments = "A: f32[1900, 2100]; x, y: f32[2100]; t: f32[1900]"});
}

/// Two products with one matrix, which may share a launch.
Kernel two_vectors() {
  return make_kernel("{[i, j, k, l]: 0 <= i, j, k, l < 2000}",
                     "p[i] = p[i] + sum(j, A[i, j]*x[j])\n"
                     "q[k] = q[k] + sum(l, A[l, k]*y[l])",
                     {.arguments = "A: f32[2000, 2000]; x, y, p, q: f32[2000]"});
}

TEST(ChainSlicings, CutEachNest) {
  const Kernel kernel = transposed_after_product();
  const SlicingStream stream(kernel, {});
  EXPECT_GT(stream.count(), 1000U);
  // each nest has threads of its own
  bool have_other_threads = false;
  for (std::size_t i = 0; i < 1000 && !have_other_threads; ++i) {
    const RankedSlicing each = stream.at(i);
    EXPECT_EQ(stream.find_words(each.words), i);
    const GeneratedProgram program = generate(apply(kernel, each.slicing), Target::cuda);
    ASSERT_GE(program.launches.size(), 2U) << each.words;
    have_other_threads = program.launches.front().block != program.launches.back().block;
  }
  EXPECT_TRUE(have_other_threads);
  // the model's first one has the threads of a block along both nests
  for (const InameSlicing& each : stream.at(0).slicing.inames) {
    EXPECT_GT(each.factors.size(), 1U) << stream.at(0).words;
  }
}

/// Few, so that a test has them at once.
SlicingConstraints few_threads(std::int64_t least, std::int64_t most) {
  SlicingConstraints constraints;
  constraints.min_threads = least;
  constraints.max_threads = most;
  constraints.max_items_per_thread = 2;
  return constraints;
}

TEST(ChainSlicings, ShareALaunchOrTakeTwo) {
  const Kernel kernel = two_vectors();
  const SlicingStream stream(kernel, few_threads(64, 128));
  std::string together;
  for (std::size_t i = 0; i < stream.count() && together.empty(); ++i) {
    const RankedSlicing each = stream.at(i);
    together = each.slicing.launches.empty() ? each.words : "";
  }
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const RankedSlicing each = stream.at(i);
    const std::size_t launches =
        generate(apply(kernel, each.slicing), Target::cuda).launches.size();
    // blocks that share a reduction add launches
    EXPECT_GE(launches, 1 + each.slicing.launches.size()) << each.words;
    EXPECT_TRUE(launches == 1 || !each.slicing.launches.empty()) << each.words;
    i += stream.count() / 40;
  }
  ASSERT_FALSE(together.empty());
  const auto apart = stream.find_words(together + "; launch before k");
  ASSERT_TRUE(apart);
  EXPECT_EQ(stream.at(*apart).words, together + "; launch before k");
  const std::vector<std::size_t> near = stream.neighbours(*stream.find_words(together));
  EXPECT_NE(std::find(near.begin(), near.end(), *apart), near.end());
  // blocks of one launch have equally many threads
  const std::string other = "i: g.0; j: for l.0*128; k: g.0; l: for l.0*64";
  EXPECT_FALSE(stream.find_words(other));
  EXPECT_TRUE(stream.find_words(other + "; launch before k"));
}

// No 'gbarrier' stands in the kernel: the slicing says where a launch begins.
/// The host's model, which lists blocks of few threads.
SlicingConstraints of_a_processor() {
  SlicingConstraints constraints;
  constraints.machine.is_cpu = true;
  constraints.machine.architecture = "";
  constraints.machine.multiprocessors = 2;
  constraints.machine.has_async_copies = false;
  constraints.machine.warp_lanes = 8;
  constraints.min_threads = 1;
  return constraints;
}

/// How many of those that are drawn have nests in one launch that hand on values.
int draw_chains(const Kernel& kernel, const SlicingConstraints& constraints) {
  const SlicingStream stream(kernel, constraints);
  std::mt19937 random(1);
  int together = 0;
  for (int drawn = 0; drawn < 150; ++drawn) {
    const std::size_t place = drawn == 0 ? 0 : random() % stream.count();
    const RankedSlicing each = stream.at(place);
    EXPECT_EQ(why_not([&] {
                return generate(checked_kernel(apply(kernel, each.slicing)), Target::host);
              }).value_or(""),
              "")
        << each.words;
    together += each.slicing.launches.empty() ? 1 : 0;
  }
  return together;
}

TEST(ChainSlicings, ListNoneWhoseBlocksReadWhatOthersWrite) {
  const Kernel equal_sums = make_kernel("{[i, j, k]: 0 <= i, j, k < 37}",
                                        "c[i, j] = sum(k, a[i, k]*b[k, j])\n"
                                        "d[i, j] = 2*sum(k, a[i, k]*b[k, j]) + c[i, j]\n"
                                        "e[j, i] = d[i, j]*sum(k, a[i, k]*b[k, j]) if i > 2 else 0",
                                        {.arguments = "a, b, c, d, e: f32[37, 37]"});
  EXPECT_GT(draw_chains(equal_sums, of_a_processor()), 10);
  const Kernel mirrored = make_kernel(
      "{[i, k]: 0 <= i < 5 and 0 <= k < 3} {[p]: 0 <= p < 5} {[q, r]: 0 <= q < 5 and 0 <= r <= q}",
      "<> t[i] = sum(k, a[i, k])\n"
      "<> u[p] = t[p]*t[4 - p]\n"
      "out[q] = sum(r, u[r]*a[q, 2])",
      {.arguments = "a: f32[5, 3]; out: f32[5]"});
  EXPECT_GT(draw_chains(mirrored, of_a_processor()), 3);
  const Kernel within_a_rim = make_kernel("{[i, k]: 3 <= i < 4 and 1 <= k <= 2} {[p]: 0 <= p < 6}",
                                          "t[i] = sum(k, a[i - k]*a[i + k])\n"
                                          "out[p] = t[p]*2 if p >= 3 and p < 4 else 0",
                                          {.arguments = "a, t, out: f64[6]"});
  EXPECT_GT(draw_chains(within_a_rim, {.min_threads = 1}), 0);
}

TEST(ChainSlicings, BeginALaunchBeforeANestThatReadsTheOneBefore) {
  const Kernel kernel =
      make_kernel("{[i, j, k, l]: 0 <= i, j, k, l < 500}",
                  "t[i] = sum(j, A[i, j]*x[j])\ny[k] = sum(l, A[k, l]*t[l]) + x[k]",
                  {.arguments = "A: f32[500, 500]; x, y, t: f32[500]"});
  const SlicingStream stream(kernel, {});
  EXPECT_GT(stream.count(), 1000U);
  const Slicing first = stream.at(0).slicing;
  EXPECT_EQ(first.launches, std::vector<std::string>{"k"});
  EXPECT_EQ(first.inames.size(), 4U) << to_string(first);
  EXPECT_EQ(generate(apply(kernel, first), Target::cuda).launches.size(), 2U);
}

// Columns without their mean, then products of these: the first launch has few threads unless
// blocks share its sums, and the second one copies tiles of what it reads.
TEST(ChainSlicings, CopyTilesAfterALaunchThatAddsUpSharedSums) {
  const Kernel kernel = make_kernel(
      "{[c, r]: 0 <= c < 600 and 0 <= r < 700} {[p, q, k]: 0 <= p <= q < 600 and 0 <= k < 700}",
      "mean[c] = sum(r, x[r, c])/700\n"
      "... gbarrier\n"
      "<> t = sum(k, (x[k, p] - mean[p])*(x[k, q] - mean[q]))\n"
      "s[p, q] = t\n"
      "s[q, p] = t  {if=p < q}",
      {.arguments = "x: f32[700, 600]; mean: f32[600]; s: f32[600, 600]"});
  const SlicingStream stream(kernel, few_threads(128, 128));
  const Slicing first = stream.at(0).slicing;
  for (const std::string iname : {"c", "r", "p", "q"}) {
    const auto sliced = std::find_if(first.inames.begin(), first.inames.end(),
                                     [&](const auto& each) { return each.iname == iname; });
    ASSERT_NE(sliced, first.inames.end()) << to_string(first);
    EXPECT_EQ(sliced->factors.front().axis.kind, AxisKind::grid) << to_string(first);
  }
  EXPECT_FALSE(first.fetches.empty()) << to_string(first);
  EXPECT_GE(generate(apply(kernel, first), Target::cuda).launches.size(), 2U);
}

TEST(ChainSlicings, NumberReadsAsTheKernelDoes) {
  const Kernel kernel = transposed_after_product();
  const SlicingStream stream(kernel, few_threads(64, 64));
  for (std::size_t i = 0; i < stream.count(); i += 7) {
    // stages are those of each nest
    EXPECT_EQ(stream.at(i).words.find("; stages"), std::string::npos);
  }
  const std::string words =
      "i: g.0 l.0*64; j: for for*16; l: g.0 l.0*64; k: for for*16; fetch x stages 2; fetch t "
      "stages 3";
  const auto steps = recipe_of(kernel, parse_slicing(words));
  EXPECT_EQ(to_string(steps[steps.size() - 2]), "pipeline([x_tile], j_0, 2)");
  EXPECT_EQ(to_string(steps.back()), "pipeline([t_tile], k_0, 3)");
}

// One pass over the first two sums reads top[p] no more, so that top[q] is the only read of top.
TEST(ChainSlicings, NumberReadsAsTheKernelWithOnePassDoes) {
  const Kernel kernel =
      make_kernel("{[p, j, k]: 0 <= p < n and 0 <= j, k < m} {[c, q]: 0 <= c < m and 0 <= q < n}",
                  "top[p] = reduce(max, j, x[p, j])\n"
                  "total[p] = sum(k, exp(x[p, k] - top[p]))\n"
                  "... gbarrier\n"
                  "mean[c] = sum(q, x[q, c]*top[q]/total[q])",
                  {.default_type = cgen::f32, .assumptions = "n >= 1 and m >= 1"});
  SlicingConstraints constraints;
  constraints.parameters = {{"n", 40}, {"m", 30}};
  const SlicingStream stream(kernel, constraints);
  int copied = 0;
  for (std::size_t i = 0; i < stream.count(); ++i) {
    const RankedSlicing each = stream.at(i);
    const auto& fetches = each.slicing.fetches;
    const bool copies_top = std::any_of(fetches.begin(), fetches.end(),
                                        [](const auto& fetch) { return fetch.array == "top"; });
    if (copies_top && !each.slicing.online.empty() && copied++ % 4 == 0) {
      EXPECT_EQ(why_not([&] { return apply(kernel, each.slicing); }).value_or(""), "");
      EXPECT_EQ(stream.find_words(each.words), i);
    }
  }
  EXPECT_GT(copied, 10);
}

/// Nests over rows of arrays that both read: of a matrix in rows and in columns, or of a vector.
std::vector<Kernel> nests_over_rows() {
  const std::string lines = "{[i, j, k]: 0 <= i, j, k < 8192}";
  const std::string others = "{[p, q, r]: 0 <= p, q, r < 8192}";
  return {make_kernel(lines + others,
                      "<> top = reduce(max, j, x[i, j])\n"
                      "rows[i] = top + log(sum(k, exp(x[i, k] - top)))\n"
                      "<> other = reduce(max, q, x[q, p])\n"
                      "columns[p] = other + log(sum(r, exp(x[r, p] - other)))",
                      {.arguments = "x: f32[8192, 8192]; rows, columns: f32[8192]"}),
          make_kernel(lines + others,
                      "<> near = reduce(min, j, abs(x[i, j] - y[j]))\n"
                      "a[i] = sum(k, exp(near - abs(x[i, k] - y[k])))\n"
                      "<> far = reduce(max, q, abs(z[p, q] - y[q]))\n"
                      "b[p] = sum(r, exp(abs(z[p, r] - y[r]) - far))",
                      {.arguments = "x, z: f32[8192, 8192]; y, a, b: f32[8192]"}),
          make_kernel(lines + others,
                      "<> mean = sum(j, x[i, j])/8192\n"
                      "a[i] = sum(k, (x[i, k] - mean)**2)\n"
                      "<> moment = sum(q, x[p, q]*w[q])\n"
                      "b[p] = sum(r, abs(x[p, r]*w[r] - moment))",
                      {.arguments = "x: f64[8192, 8192]; w, a, b: f64[8192]"})};
}

TEST(ChainSlicings, KeepRowsOfTheNestThatTheyName) {
  for (const Kernel& kernel : nests_over_rows()) {
    SlicingConstraints constraints;
    constraints.machine.shared_bytes = 227 * 1024;
    const SlicingStream stream(kernel, constraints);
    std::mt19937 random(1);
    int kept = 0;
    int kept_twice = 0;
    for (int drawn = 0; drawn < 100; ++drawn) {
      const std::size_t place = random() % stream.count();
      const RankedSlicing each = stream.at(place);
      EXPECT_EQ(
          why_not([&] { return generate(apply(kernel, each.slicing), Target::cuda); }).value_or(""),
          "")
          << each.words;
      EXPECT_EQ(stream.find_words(each.words), place);
      const auto of_x = std::count_if(each.slicing.keeps.begin(), each.slicing.keeps.end(),
                                      [](const KeepPlan& keep) { return keep.array == "x"; });
      kept += of_x != 0 ? 1 : 0;
      kept_twice += of_x > 1 ? 1 : 0;
    }
    EXPECT_GT(kept, 10);
    if (kernel.arguments.size() == 4 && find_argument(kernel, "w") != nullptr) {
      EXPECT_GT(kept_twice, 0);
    }
  }
  const Kernel rows_and_columns = nests_over_rows().front();
  const std::string text = generate_text(
      apply(rows_and_columns,
            parse_slicing("i: g.0 l.1*2; j: for l.0*64; k: for l.0*64; p: g.0; q: for l.0*128; "
                          "r: for l.0*128; keep x shared over q,r; launch before p")),
      Target::cuda);
  EXPECT_NE(text.find("x_row_over_q[8192]"), std::string::npos) << text;
  EXPECT_EQ(text.find("x_row["), std::string::npos) << text;
}

TEST(ChainSlicings, HaveTheMemoryOfAllNestsOfALaunch) {
  const Kernel kernel =
      make_kernel("{[i, j, k]: 0 <= i, j, k < 1024} {[p, q, r]: 0 <= p, q, r < 1024}",
                  "<> mean = sum(j, x[i, j])/1024\n"
                  "a[i] = sum(k, (x[i, k] - mean)**2)\n"
                  "<> moment = sum(q, z[p, q])\n"
                  "b[p] = sum(r, (z[p, r] - moment)**2)",
                  {.arguments = "x, z: f32[1024, 1024]; a, b: f32[1024]"});
  SlicingConstraints constraints;
  constraints.max_shared_bytes = 12 * 1024;
  const SlicingStream stream(kernel, constraints);
  int together = 0;
  for (std::size_t place = 0; place < stream.count() && together < 40; ++place) {
    const RankedSlicing each = stream.at(place);
    if (each.slicing.launches.empty() && each.words.find("shared") != std::string::npos) {
      const GeneratedProgram program = generate(apply(kernel, each.slicing), Target::cuda);
      ASSERT_EQ(program.launches.size(), 1U);
      EXPECT_LE(program.launches[0].shared_bytes, constraints.max_shared_bytes) << each.words;
      EXPECT_LE(program.launches[0].shared_bytes, each.shared_bytes) << each.words;
      ++together;
    }
  }
  EXPECT_GT(together, 10);
}

TEST(ChainSlicings, TakeAsLongAsTheIterationsOfTheHost) {
  const Kernel heat = make_kernel("{[t, i, j]: 0 <= t < steps and 1 <= i, j < 100000}",
                                  "for t\n"
                                  "  v[i] = u[i] + 0.25*(u[i - 1] - 2*u[i] + u[i + 1])\n"
                                  "  ... gbarrier\n"
                                  "  u[j] = v[j]\n"
                                  "end",
                                  {.arguments = "u, v: f32[100001]; steps: i32"});
  const auto predicted = [&](std::int64_t steps) {
    SlicingConstraints constraints;
    constraints.parameters = {{"steps", steps}};
    return SlicingStream(heat, constraints).predicted_seconds(0);
  };
  // two launches each
  EXPECT_GT(predicted(1), 2 * 2e-6);
  EXPECT_NEAR(predicted(500) / predicted(1), 500, 1e-3);
}

TEST(ChainSlicings, RefuseALaunchBeforeNothing) {
  EXPECT_EQ(to_string(parse_slicing("launch before k; launch before l")),
            "launch before k; launch before l");
  EXPECT_ERROR("loopy.parse_slicing.syntax", parse_slicing("launch k"));
  for (const char* words : {"launch before i", "launch before zz"}) {
    EXPECT_ERROR("loopy.recipe_of.no_launch", recipe_of(two_vectors(), parse_slicing(words)));
  }
  EXPECT_ERROR("loopy.recipe_of.no_launch",
               recipe_of(transposed_after_product(), parse_slicing("launch before k")));
}

TEST(ChainSlicings, AnswerASearch) {
  const SlicingStream stream(two_vectors(), few_threads(128, 128));
  std::set<std::string> words;
  std::set<std::vector<std::int64_t>> decisions;
  constexpr std::size_t step = 97;
  for (std::size_t i = 0; i < stream.count(); i += step) {
    words.insert(stream.at(i).words);
    decisions.insert(stream.decisions(i));
    EXPECT_EQ(stream.find(stream.at(i).slicing), i) << stream.at(i).words;
  }
  const std::size_t looked_at = (stream.count() + step - 1) / step;
  EXPECT_EQ(words.size(), looked_at);
  EXPECT_EQ(decisions.size(), looked_at);
  EXPECT_FALSE(stream.neighbours(0).empty());
  EXPECT_EQ(stream.crossover(0, 5, 0), 0U);
  EXPECT_EQ(stream.crossover(0, 5, ~std::uint64_t{0}), 5U);
}

}  // namespace
}  // namespace rtcg::loopy
