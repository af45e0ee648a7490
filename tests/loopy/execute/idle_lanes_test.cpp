// Sums within statements that have several lanes: computed once for lanes that do not change them.
#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

Kernel kernel_of(std::string_view domains, std::string_view statements) {
  KernelOptions options;
  options.default_type = cgen::f64;
  options.assumptions = "n >= 1";
  return make_kernel(domains, statements, options);
}

Kernel weighted_rows() {
  return kernel_of("{[i, d, j, e]: 0 <= i, j < n and 0 <= d < 6 and 0 <= e < 3}",
                   "out[i, d] = sum(j, exp(sum(e, q[i, e]*k[j, e]))*v[j, d])/sum(e, abs(q[i, e]))");
}

/// @param accumulators  that the text declares
void expect_sums(const Kernel& sliced, const std::string& accumulator, int accumulators) {
  const std::string text = generate_text(sliced, Target::cuda);
  EXPECT_EQ(count_of("double " + accumulator, text), accumulators) << text;
}

TEST(IdleLanes, HaveOneInnerSum) {
  const Kernel sliced = apply_recipe(
      weighted_rows(), "split_iname(i, 32, outer_tag=g.0, inner_tag=l.0)\ntag_inames(d:ilp)");
  const std::string text = generate_text(sliced, Target::cuda);
  EXPECT_NE(text.find(R"(
    for (int j = 0; j < n; ++j) {
      double acc_e = 0.0;
      for (int e = 0; e < 3; ++e) {
        acc_e += q[96 * i_outer + 3 * i_inner + e] * k[3 * j + e];
      }
      const double value = exp(acc_e);
      acc_j_0 += value * v[6 * j];
      acc_j_1 += value * v[6 * j + 1];
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(count_of("double acc_e_0 = 0.0;", text), 1) << text;
  expect_sums(sliced, "acc_e", 2);
  expect_sums(sliced, "acc_j", 6);
}

TEST(IdleLanes, GiveWhatLoopsGive) {
  for (const std::string lanes : {"tag_inames(d:ilp.seq)", "split_iname(d, 2, inner_tag=vec)",
                                  "split_iname(d, 4, outer_tag=l.1, inner_tag=ilp)"}) {
    SCOPED_TRACE(lanes);
    const Kernel sliced =
        apply_recipe(weighted_rows(), "split_iname(i, 4, outer_tag=g.0, inner_tag=l.0)\n" + lanes);
    expect_same_everywhere(sliced, weighted_rows(), {{"n", 7}});
  }
}

TEST(IdleLanes, OfTwoKindsLeaveTheInnerSumThoseItNeeds) {
  const Kernel kernel = kernel_of("{[i, d, j, e]: 0 <= i, j, e < n and 0 <= d < 3}",
                                  "out[i, d] = sum(j, v[j, d]*reduce(max, e, q[i, e] + k[j, e]))");
  const Kernel sliced =
      apply_recipe(kernel, "split_iname(i, 4, outer_tag=g.0, inner_tag=ilp)\ntag_inames(d:ilp)");
  expect_sums(sliced, "acc_e", 2 * 4);  // in whole tiles and in the last one
  expect_sums(sliced, "acc_j", 4 * 3);
  expect_same_everywhere(sliced, kernel, {{"n", 6}});
}

TEST(IdleLanes, HaveOneTreeOfThreads) {
  const Kernel kernel =
      kernel_of("{[i, d, j, e]: 0 <= i < n and 0 <= d < 3 and 0 <= j < 5 and 0 <= e < 64}",
                "out[i, d] = v[i, d]*sum(e, q[i, e]) + sum(j, v[j, d])");
  const Kernel sliced = apply_recipe(kernel, "tag_inames([i:g.0, d:ilp, e:l.0])");
  expect_sums(sliced, "acc_e = 0.0", 1);
  expect_same_everywhere(sliced, kernel, {{"n", 5}});
}

TEST(IdleLanes, AreNoneWhereTheSumUsesWhatEachLaneHas) {
  const Kernel kernel = kernel_of(
      "{[i, d]: 0 <= i < n and 0 <= d < 3} {[k]: 0 <= k < 4}"
      "{[l]: 0 <= l <= d}",
      R"(
      <> t = v[i, d]
      w[i, d] = 2*v[i, d]
      of_value[i, d] = sum(k, t*q[k])
      of_array[i, d] = sum(k, w[i, d] + q[k])
      of_branch[i, d] = sum(k, 2*q[k]) if v[i, d] > 0.5 else 1
      of_and[i, d] = 2 if v[i, d] > 0.5 and sum(k, 3*q[k]) < 3 else 1
      of_condition[i, d] = sum(k, 4*q[k])  {if=v[i, d] > 0.5}
      of_bounds[i, d] = sum(l, q[l])
  )");
  const Kernel sliced = apply_recipe(kernel, "tag_inames([i:g.0, d:ilp])");
  expect_sums(sliced, "acc_k", 5 * 3);
  expect_sums(sliced, "acc_l", 3);
  expect_same_everywhere(sliced, kernel, {{"n", 3}});
}

TEST(IdleLanes, AreNoneWhereTheSameDomainBoundsTheSum) {
  // no value mentions the lane
  const Kernel kernel = kernel_of(
      "{[i, j, k]: 0 <= i < n and i - 3 <= j <= i + 3 and 0 <= j < n and j <= k <= j + 2 and k < "
      "n}",
      R"(
      window[i] = sum(j, a[j])
      count[i] = sum(j, 1)
      largest[i] = reduce(max, j, a[j])
      nested[i] = sum(j, sum(k, a[k]))
  )");
  for (const std::string lanes :
       {"split_iname(i, 8, outer_tag=g.0, inner_tag=ilp)",
        "split_iname(i, 4, outer_tag=g.0, inner_tag=vec)",
        "split_iname(i, 8, outer_tag=g.0)\nsplit_iname(i_inner, 2, outer_tag=l.0, inner_tag=ilp)",
        "split_iname(i, 8, outer_tag=g.0)\nsplit_iname(i_inner, 4, outer_tag=ilp, "
        "inner_tag=l.0)"}) {
    SCOPED_TRACE(lanes);
    expect_same_everywhere(apply_recipe(kernel, lanes), kernel, {{"n", 21}});
  }
  const Kernel sums = kernel_of("{[i, j]: 0 <= i < n and 0 <= j <= i}", "b[i] = sum(j, a[j])");
  expect_same_everywhere(
      apply_recipe(sums,
                   "split_iname(i, 4, outer_tag=g.0, inner_tag=ilp)\nsplit_iname(j, 8, "
                   "outer_tag=g.1)"),
      sums, {{"n", 30}});
}

}  // namespace
}  // namespace rtcg::loopy
