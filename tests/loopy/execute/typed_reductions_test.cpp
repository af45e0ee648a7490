// Reductions that say in what type they add up.
#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "tests/loopy/execute/on_every_target.h"

namespace rtcg::loopy {
namespace {

using runtime::Buffer;
using runtime::Device;

template <class Result, class Element>
std::vector<Result> result_of(const std::string& statement, const std::vector<Element>& values,
                              const std::string& types, const std::string& recipe = {}) {
  const Kernel kernel =
      make_kernel("{[j]: 0 <= j < n}", statement, {.arguments = types + "; n: i32"});
  const Device device = Device::host();
  const Executor executor(apply_recipe(kernel, recipe), device);
  const Buffer<Element> a(device, values);
  const Buffer<Result> out(device, 1);
  executor(device.default_stream(), {arg("a", a), arg("out", out)});
  return out.to_vector();
}

const std::vector<float> cancelling = {1e8F, 1, 1, 1, -1e8F, 1};

TEST(TypedReductions, AddUpInTheTypeTheyState) {
  const std::string types = "a: f32[n]; out: f32[1]";
  EXPECT_EQ((result_of<float, float>("out[0] = sum_f64(j, a[j])", cancelling, types)),
            std::vector<float>{4});
  EXPECT_EQ((result_of<float, float>("out[0] = sum(j, a[j])", cancelling, types)),
            std::vector<float>{1});
}

TEST(TypedReductions, MayBeNarrowerThanValuesAndResult) {
  const std::vector<double> values(cancelling.begin(), cancelling.end());
  EXPECT_EQ((result_of<double, double>("out[0] = sum_float32(j, a[j])", values,
                                       "a: f64[n]; out: f64[1]")),
            std::vector<double>{1});
}

TEST(TypedReductions, FindTheLeastIntegers) {
  const std::vector<std::int64_t> values(3, INT64_MIN);
  EXPECT_EQ((result_of<std::int64_t, std::int64_t>("out[0] = reduce(max, j, a[j])", values,
                                                   "a: i64[n]; out: i64[1]")),
            std::vector<std::int64_t>{INT64_MIN});
}

TEST(TypedReductions, HoldIntegersThatValuesCannot) {
  const std::vector<std::int32_t> values = {1 << 30, 1 << 30, 1 << 30, 5};
  const std::string types = "a: i32[n]; out: i64[1]";
  EXPECT_EQ((result_of<std::int64_t, std::int32_t>("out[0] = sum_i64(j, a[j])", values, types)),
            std::vector<std::int64_t>{(std::int64_t{3} << 30) + 5});
  EXPECT_EQ(
      (result_of<std::int64_t, std::int32_t>("out[0] = reduce(max_i64, j, a[j])", values, types)),
      std::vector<std::int64_t>{1 << 30});
}

TEST(TypedReductions, KeepTheirTypeInTreesAndParts) {
  const std::string types = "a: f32[n]; out: f32[1]";
  const std::string threads =
      "split_iname(j, 4, outer_name=jo, inner_name=ji)\nsplit_reduction_outward(ji)\n"
      "tag_inames(ji:l.0)";
  const std::string parts =
      "split_iname(j, 2, outer_name=jo, inner_name=ji)\n"
      "split_reduction_inward(ji)";
  for (const std::string& recipe : {threads, parts}) {
    SCOPED_TRACE(recipe);
    EXPECT_EQ((result_of<float, float>("out[0] = sum_f64(j, a[j])", cancelling, types, recipe)),
              std::vector<float>{4});
  }
}

TEST(TypedReductions, GiveTheSameOnEveryTarget) {
  const Kernel kernel =
      make_kernel("{[i, j]: 0 <= i, j < n}",
                  "out[i] = sum_f64(j, a[i, j])\n<f64> v, <> p = argmax_f64(j, a[i, j], j)\n"
                  "best[i] = v\nplace[i] = p",
                  {.arguments = "a: f32[n, n]; out: f32[n]; best: f64[n]; place: i32[n]; n: i32"});
  expect_same_everywhere(kernel, kernel, {{"n", 20}});
  const Kernel spread = apply_recipe(kernel, "split_iname(i, 8, outer_tag=g.0, inner_tag=l.0)");
  expect_same_everywhere(spread, kernel, {{"n", 20}});
}

TEST(TypedReductions, AreWrittenWithTheirType) {
  const Kernel kernel = infer_types(make_kernel(
      "{[i, j]: 0 <= i, j < n}", "out[i] = sum_f64(j, a[i, j])", {.default_type = cgen::f32}));
  const std::string text = generate_text(kernel, Target::cuda);
  EXPECT_EQ(count_of("double acc", text), 1) << text;
}

}  // namespace
}  // namespace rtcg::loopy
