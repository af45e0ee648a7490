// The kernels of examples/gallery, and others that no table or test names, by any slicing that is
// listed of them, on every target of this machine, against the interpreter of the description.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/device.h"
#include "tests/campaigns/campaign.h"
#include "tests/campaigns/judge_kernel.h"

namespace rtcg::campaigns {
namespace {

using loopy::IntegerValues;
using loopy::Kernel;

/// Kernels for which nothing was tuned.
constexpr std::string_view held_out_texts[] = {
    R"(kernel shared_weights
domains
  {[i, j, k, l]: 0 <= i < n and 0 <= j < m and 0 <= k, l < d}
type f32
sizes n=1024, m=768, d=100
small n=7, m=9, d=11
statements
  s[i, j] = sum(k, fmin(abs(a[i, k]), abs(b[j, k]))) / (1 + sum(l, fmax(abs(a[i, l]), abs(b[j, l]))))
)",
    R"(kernel three_operands
domains
  {[e, i, j, k]: 0 <= e < n and 0 <= i < p and 0 <= j, k < q}
type f32
sizes n=4096, p=24, q=16
small n=5, p=6, q=4
statements
  y[e, i] = w[e]*sum((j, k), x[e, j]*m[i, j, k]*z[e, k])
)",
    R"(kernel staggered_divergence
domains
  {[i, j]: 0 <= i < n and 0 <= j < m}
type f64
sizes n=4096, m=4096
small n=9, m=13
statements
  d[i, j] = (u[i + 1, j] - u[i, j])*rx[j] + (v[i, j + 1] - v[i, j])*ry[i]
)",
    R"(kernel weighted_rows
domains
  {[i, k, j, l]: 0 <= i < n and 0 <= k, l < d and 0 <= j < m}
type f32
sizes n=4096, d=256, m=64
small n=6, d=10, m=5
statements
  for i
    <> top = reduce(max, k, x[i, k])
    y[i, j] = sum(l, w[j, l]*exp(x[i, l] - top))
  end
)",
    R"(kernel autocorrelation
domains
  {[b, s, t]: 0 <= b < n and 0 <= s < lags and 0 <= t < length}
type f32
sizes n=64, lags=128, length=4096
small n=3, lags=6, length=20
arguments
  x: f32[n, length + lags]; r: f32[n, lags]
statements
  r[b, s] = sum(t, x[b, t]*x[b, t + s])
)",
    R"(kernel upper_band
domains
  {[i, j, k]: 0 <= i < n and i <= j < i + 8 and j < n and 0 <= k < m}
type f64
sizes n=2048, m=512
small n=12, m=9
statements
  g[i, j] = g[i, j] + sum(k, a[k, i]*b[k, j])
)",
};

struct GalleryKernel {
  std::string name{};
  Kernel described{};
  IntegerValues small_sizes{};
  loopy::CompareOptions options{};
};

template <class Texts>
std::vector<GalleryKernel> kernels_of(const Texts& texts) {
  std::vector<GalleryKernel> made;
  for (const std::string_view text : texts) {
    const loopy::KernelFile file = loopy::parse_kernel_file(text);
    GalleryKernel& each = made.emplace_back();
    each.described = loopy::described_kernel(file);
    each.name = each.described.name;
    each.small_sizes.insert(file.small_sizes.begin(), file.small_sizes.end());
    double value = 0.75;
    for (const loopy::Argument& argument :
         loopy::infer_types(loopy::expand_subst(each.described)).arguments) {
      if (argument.is_array || each.small_sizes.count(argument.name) != 0) {
        continue;
      }
      value += 0.125;
      if (is<cgen::Complex>(*argument.type)) {
        each.options.complex_values[argument.name] = {value, -0.5};
      } else {
        each.options.reals[argument.name] = value;
      }
    }
  }
  return made;
}

const std::vector<GalleryKernel>& gallery() {
  static const std::vector<GalleryKernel> all = kernels_of(embedded_gallery());
  return all;
}

/// The texts of the kernel files of a folder.
std::vector<std::string> texts_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".loopy") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path& file : files) {
    std::ifstream stream(file);
    std::stringstream text;
    text << stream.rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

/// RTCG_CAMPAIGN_KERNELS=FOLDER judges the kernel files of a folder instead.
const std::vector<GalleryKernel>& held_out() {
  static const std::vector<GalleryKernel> all = [] {
    const char* folder = std::getenv("RTCG_CAMPAIGN_KERNELS");
    return folder != nullptr ? kernels_of(texts_in(folder)) : kernels_of(held_out_texts);
  }();
  return all;
}

/// The small sizes, some of them larger: by a few, or several times as large.
IntegerValues sizes_near(const IntegerValues& small, Draw& draw) {
  IntegerValues sizes = small;
  const std::int64_t scale = draw.chance(30) ? 2 : 1;
  for (auto& [name, value] : sizes) {
    value = value * scale + (draw.chance(50) ? static_cast<std::int64_t>(draw.below(7)) : 0);
  }
  return sizes;
}

struct SlicedCase {
  KernelCase kernel{};
  std::string target{};
};

/// What is listed is to be served: a refusal after the list is a finding.
SlicedCase case_of(const std::vector<GalleryKernel>& kernels, std::uint64_t seed) {
  Draw draw(seed);
  const GalleryKernel& given = draw.of(kernels);
  SlicedCase result;
  result.target = draw.chance(40) ? "host" : draw.chance(50) ? "devices" : "cuda";
  result.kernel.described = given.described;
  result.kernel.options = given.options;
  result.kernel.name_of_described = given.name;
  const IntegerValues listed_for = sizes_near(given.small_sizes, draw);
  if (!contains(given.described.assumptions, listed_for)) {
    throw InvalidInput("tests.gallery.sizes", "the kernel is not for these sizes");
  }
  loopy::SlicingConstraints constraints;
  constraints.parameters = listed_for;
  if (result.target == "host") {
    constraints.machine = loopy::machine_model(runtime::Device::host());
    constraints.machine.multiprocessors = draw.chance(50) ? 2 : 16;
  }
  const bool is_fixed = draw.chance(50);
  const Kernel to_list =
      is_fixed ? loopy::tuned_kernel(given.described, listed_for, {}) : given.described;
  const loopy::SlicingStream stream(to_list, constraints);
  if (stream.count() == 0) {
    throw InvalidInput("loopy.slicings.none", "there is no slicing of these sizes");
  }
  // families are listed in turns, the best first: most of a long list are tiles
  const std::size_t last =
      draw.chance(50) ? std::min<std::size_t>(stream.count(), 300) : stream.count();
  const loopy::Slicing slicing = stream.at(draw.below(last)).slicing;
  const std::string words = to_string(slicing);
  result.kernel.sizes = {listed_for};
  if (!is_fixed) {
    for (int i = 0; i < 4; ++i) {
      const IntegerValues other = sizes_near(given.small_sizes, draw);
      if (contains(given.described.assumptions, other)) {
        result.kernel.sizes.push_back(other);
      }
    }
  }
  result.kernel.story = fmt::format("{} by '{}', {}\n", given.name, words,
                                    is_fixed ? "with its sizes in the text" : "for every size");
  for (const auto& [name, value] : listed_for) {
    result.kernel.story += fmt::format("{}={} ", name, value);
  }
  try {
    result.kernel.transformed = is_fixed ? loopy::tuned_kernel(given.described, listed_for, slicing)
                                         : loopy::apply(given.described, slicing);
  } catch (const Error& error) {
    throw Finding(fmt::format("is listed and refused: {}: {}\n{}", error.code(), error.what(),
                              result.kernel.story));
  }
  return result;
}

Kind kind_of(const char* name, const char* what,
             const std::function<const std::vector<GalleryKernel>&()>& kernels) {
  return {name,
          what,
          [](Draw& draw) { return std::to_string(draw.bits()); },
          [kernels](const std::string& input) -> std::uint64_t {
            const SlicedCase made = case_of(kernels(), std::stoull(input));
            const std::string story = "\n" + made.target + ": " + made.kernel.story;
            try {
              return judge_kernel(made.kernel, made.target);
            } catch (const Finding& finding) {
              throw Finding(finding.what() + story);
            } catch (const InvalidInput& error) {
              throw Finding(fmt::format("is listed and refused: {}: {}{}", error.code(),
                                        error.what(), story));
            }
          },
          120,
          0};
}

}  // namespace

Kind gallery_kind() {
  return kind_of(
      "gallery",
      "listed slicings of the gallery's kernels, at odd sizes, on the targets of `kernels`",
      []() -> const std::vector<GalleryKernel>& { return gallery(); });
}

Kind held_out_kind() {
  return kind_of("held_out", "the same of kernels that no table and no other test has",
                 []() -> const std::vector<GalleryKernel>& { return held_out(); });
}

}  // namespace rtcg::campaigns
