// Random kernels, transformed at random or sliced, on every target of this machine, against the
// interpreter of the description.
#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/judge_kernel.h"
#include "tests/loopy/support/random_kernels.h"
#include "tests/support/judged_devices.h"

namespace rtcg::campaigns {
namespace {

using loopy::IntegerValues;
using loopy::Kernel;

/// A compiler takes most of the time of a case, so that many small sizes cost little.
constexpr std::int64_t largest_size = 48;

/// Kernels that are sliced, with sizes that divide little.
KernelCase sliced_case(Draw& draw) {
  static const std::vector<Kernel> kernels = {
      loopy::make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i, k]: 0 <= i < n and 0 <= k < n + 3}", "c[i] = sum(k, a[i, k]*b[k])",
                         {.default_type = cgen::f64}),
      loopy::make_kernel("{[i]: 0 <= i < n}", "z[i] = x[i]*y[n - 1 - i] + 2",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[i, j]: 0 <= i < n and 0 <= j < 2*n}", "out[j, i] = a[i, j]",
                         {.default_type = cgen::f32}),
      loopy::make_kernel("{[x, y]: 1 <= x, y < n - 1}",
                         "out[y, x] = image[y, x - 1] + image[y, x + 1] + image[y - 1, x] + "
                         "image[y + 1, x]",
                         {.arguments = "out, image: f64[n, n]"}),
      loopy::make_kernel("{[i, k]: 0 <= i < n and 0 <= k < 50}",
                         "m[i] = reduce(max, k, a[i, k] % 1000 - k // 7)",
                         {.arguments = "a: i64[n, 50]; m: i64[n]"}),
  };
  static const std::vector<std::int64_t> sizes = {3, 5, 16, 17, 31, 33, 37, 48, 61, 64, 100, 129};
  KernelCase result;
  const std::size_t which = draw.below(kernels.size());
  result.described = kernels[which];
  result.name_of_described = fmt::format("sliced {}", which);
  const IntegerValues listed_for = {{"n", draw.of(sizes)}};
  // listed once: many cases draw from each
  static std::map<std::pair<std::size_t, std::int64_t>, loopy::SlicingStream> streams;
  const loopy::SlicingStream& stream =
      streams
          .try_emplace({which, listed_for.at("n")}, result.described,
                       loopy::SlicingConstraints{.parameters = listed_for})
          .first->second;
  if (stream.count() == 0) {
    throw InvalidInput("loopy.slicings.none", "there is no slicing of these sizes");
  }
  const loopy::Slicing slicing = stream.at(draw.below(stream.count())).slicing;
  const bool is_fixed = draw.chance(30);
  result.story =
      fmt::format("kernel {}, slicing '{}' listed for n = {}, {}\n", which, to_string(slicing),
                  listed_for.at("n"), is_fixed ? "which the text has in it" : "for every n");
  if (is_fixed) {
    result.sizes = {listed_for};
    result.transformed = loopy::tuned_kernel(result.described, listed_for, slicing);
    return result;
  }
  result.sizes = {{{"n", draw.of(sizes)}}};
  for (std::int64_t n = 1; n <= largest_size; ++n) {
    result.sizes.push_back({{"n", n}});
  }
  result.transformed = loopy::apply(result.described, slicing);
  return result;
}

KernelCase random_case(Draw& draw) {
  std::map<std::string, int> refusals;
  loopy::Case made = loopy::random_case(draw.bits(), refusals);
  KernelCase result{made.described, made.transformed, {made.parameters}, story(made)};
  if (made.recipe.find("fix_parameters") != std::string::npos) {
    return result;
  }
  result.sizes.clear();
  for (std::int64_t n = 1; n <= largest_size; ++n) {
    if (contains(made.transformed.assumptions, {{"n", n}})) {
      result.sizes.push_back({{"n", n}});
    }
  }
  return result;
}

KernelCase case_of(std::uint64_t seed) {
  Draw draw(seed);
  return draw.chance(50) ? random_case(draw) : sliced_case(draw);
}

std::uint64_t seed_in(const std::string& input) {
  return std::stoull(input.substr(input.find(' ') + 1));
}

/// The target, or another one if RTCG_TEST_DEVICES leaves it out.
std::string judged_target(const std::string& drawn) {
  using runtime::is_judged;
  const auto is_wanted = [](const std::string& target) {
    return target == "host"   ? is_judged("host")
           : target == "cuda" ? is_judged("cuda_on_cpu")
                              : is_judged("opencl") || is_judged("cuda");
  };
  for (const std::string& target : {drawn, std::string("host"), std::string("cuda")}) {
    if (is_wanted(target)) {
      return target;
    }
  }
  return "devices";
}

}  // namespace

Kind kernels_kind() {
  return {
      "kernels",
      "random kernels and recipes, and slicings, at odd sizes on host, GPUs, OpenCL, CUDA-on-CPU",
      [](Draw& draw) {
        const std::uint64_t seed = draw.bits();
        // a compiler takes most of the time: each case is run on one target
        const std::string targets = draw.chance(50) ? "host" : draw.chance(60) ? "devices" : "cuda";
        return fmt::format("{} {}\n", judged_target(targets), seed);
      },
      [](const std::string& input) -> std::uint64_t {
        return judge_kernel(case_of(seed_in(input)), input.substr(0, input.find(' ')));
      },
      120,
      0,
      [](const std::string& input) -> std::string {
        try {
          return case_of(seed_in(input)).story;
        } catch (const Error& error) {
          return error.what();
        }
      }};
}

}  // namespace rtcg::campaigns
