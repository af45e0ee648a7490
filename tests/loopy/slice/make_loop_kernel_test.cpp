#include "rtcg/loopy/slice/make_loop_kernel.h"

#include <set>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

Kernel product(const std::string& n) {
  const std::int64_t length = std::stoll(n);
  return make_loop_kernel({{"i", length}, {"j", length}, {"k", length}},
                          {{"c[i + " + n + "*j]", "a[i + " + n + "*k]*b[k + " + n + "*j]"}});
}
Kernel transpose() {
  return make_loop_kernel({{"i", 768}, {"j", 768}}, {{"o[j + 768*i]", "a[i + 768*j]"}});
}
Kernel scaled_product() {
  return make_loop_kernel({{"i", 64}, {"k", 2000}, {"j", 64}},
                          {{"v[i + 64*k]", "m[i + 64*j]*u[j + 64*k]*g[k]"}});
}
Kernel volume() {
  return make_loop_kernel({{"i", 128}, {"k", 22000}, {"j", 128}},
                          {{"p[j + 128*k]", "g[k]*d[j + 128*i]*u[i + 128*k]"}});
}

/// Blocks and threads along each axis, as one text.
std::string launch_shape(const Kernel& kernel, const Slicing& slicing) {
  std::map<std::string, std::int64_t> axes;
  for (const InameSlicing& each : slicing.inames) {
    std::int64_t rest = *constraints_of(kernel, {each.iname}).maximum(Affine(each.iname)) + 1;
    for (std::size_t i = each.factors.size(); i-- > 0;) {
      const SlicingFactor& factor = each.factors[i];
      const std::int64_t length = factor.length == 0 ? rest : factor.length;
      rest /= length;
      if (factor.axis.is_parallel()) {
        axes[to_string(factor.axis)] = length;
      }
    }
  }
  std::string text;
  for (const auto& [axis, length] : axes) {
    text += axis + "=" + std::to_string(length) + " ";
  }
  return text;
}

void expect_no_doubles(const std::vector<Slicing>& slicings) {
  std::set<std::string> texts;
  for (const Slicing& each : slicings) {
    EXPECT_TRUE(texts.insert(to_string(each)).second) << to_string(each);
  }
}

// Of the 379 that Loo.py had in 2009, 147 put a thread's dimension on blocks, too.
TEST(LoopAssignments, AreThoseOf2009ForMatmul) {
  const Kernel kernel = product("544");
  const std::vector<Slicing> all = loop_assignments(kernel, {});
  EXPECT_EQ(all.size(), 379U - 147U);
  expect_no_doubles(all);
  const std::vector<Slicing> large =
      loop_assignments(kernel, {.min_threads = 128, .min_blocks = 32});
  EXPECT_EQ(large.size(), 42U);
  std::set<std::string> shapes;
  for (const Slicing& each : large) {
    shapes.insert(launch_shape(kernel, each));
  }
  EXPECT_EQ(shapes.size(), 28U);
}

TEST(LoopAssignments, KeepTheirConstraints) {
  for (const Kernel& kernel : {transpose(), scaled_product(), volume()}) {
    const auto all = loop_assignments(kernel, {});
    const auto large = loop_assignments(kernel, {.min_threads = 128, .min_blocks = 32});
    EXPECT_GT(all.size(), large.size());
    EXPECT_GT(large.size(), 20U);
    expect_no_doubles(all);
    const std::vector<Slicing> again =
        loop_assignments(kernel, {.min_threads = 128, .min_blocks = 32});
    EXPECT_EQ(large, again);
  }
}

TEST(LoopSlicings, FetchInEveryWay) {
  const Kernel kernel = product("544");
  const LoopSlicingConstraints constraints{.min_threads = 128, .min_blocks = 32};
  const std::vector<Slicing> all = loop_slicings(kernel, constraints);
  expect_no_doubles(all);
  EXPECT_GT(all.size(), 42U * 4);
  const std::string
      of_2009 =  // section 1.4 of the thesis experiments: 16 x 16 threads, tiles of 16
      "i: for l.0*16; j: g.0 l.1*16; k: for for*16; fetch a; fetch b";
  EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                          [&](const Slicing& each) { return to_string(each) == of_2009; }));
}

TEST(LoopSlicings, HeedHints) {
  const Kernel kernel = scaled_product();
  LoopSlicingConstraints constraints{.min_threads = 128, .min_blocks = 32};
  const std::size_t without = loop_slicings(kernel, constraints).size();
  constraints.prefetch_hints = {{"g", false}, {"m", true}};
  const std::vector<Slicing> hinted = loop_slicings(kernel, constraints);
  EXPECT_LT(2 * hinted.size(), without);
  for (const Slicing& each : hinted) {
    const auto fetches = [&](const std::string& array) {
      return std::any_of(each.fetches.begin(), each.fetches.end(),
                         [&](const FetchPlan& fetch) { return fetch.array == array; });
    };
    EXPECT_TRUE(fetches("m"));
    EXPECT_FALSE(fetches("g"));
  }
}

// All of E1 as text, at the size of the tests.
TEST(LoopSlicings, GiveKernels) {
  const Kernel kernel = product("64");
  std::set<std::string> texts;
  const std::vector<Slicing> all = loop_slicings(kernel, {.min_threads = 128, .min_blocks = 2});
  for (std::size_t i = 0; i < all.size(); i += 7) {
    SCOPED_TRACE(to_string(all[i]));
    texts.insert(generate_text(apply(kernel, all[i]), Target::cuda));
  }
  EXPECT_GT(texts.size(), all.size() / 7 * 9 / 10);
}

TEST(LoopSlicings, CopyWithinTheLoopsAroundTheSum) {
  const auto steps =
      recipe_of(product("64"), parse_slicing("i: for l.0*32; j: g.0 l.1*4; k: for for*8; fetch b"));
  EXPECT_EQ(to_string(steps.back()),
            "add_prefetch(b, [j_1, k_1], outer_inames=[i_0], temporary_name=b_tile)");
}

TEST(MakeLoopKernel, SumsOverWhatDoesNotIndexTheResult) {
  EXPECT_NE(to_string(scaled_product()).find("sum"), std::string::npos);
  EXPECT_EQ(to_string(transpose()).find("sum"), std::string::npos);
  EXPECT_ERROR("loopy.make_loop_kernel.short_dimension",
               make_loop_kernel({{"i", 1}}, {{"c[i]", "a[i]"}}));
}

// E6: the wider space has register tiles.
TEST(SlicingStream, HasRegisterTilesFor2009sMatmul) {
  SlicingStream stream(product("544"), {});
  bool is_found = false;
  while (const auto each = stream.next()) {
    is_found |= to_string(each->slicing).find("ilp*4; j: g.1 l.1*16 ilp*4") != std::string::npos;
  }
  EXPECT_TRUE(is_found);
}

}  // namespace
}  // namespace rtcg::loopy
