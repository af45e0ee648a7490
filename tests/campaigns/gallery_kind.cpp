// The kernels of examples/gallery by any slicing that is listed of them, on every target of this
// machine, against the interpreter of the description.
#include <algorithm>
#include <map>

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

struct GalleryKernel {
  std::string name{};
  Kernel described{};
  IntegerValues small_sizes{};
  loopy::CompareOptions options{};
};

const std::vector<GalleryKernel>& gallery() {
  static const std::vector<GalleryKernel> all = [] {
    std::vector<GalleryKernel> made;
    for (const std::string_view text : embedded_gallery()) {
      const loopy::KernelFile file = loopy::parse_kernel_file(text);
      GalleryKernel& each = made.emplace_back();
      each.described = loopy::described_kernel(file);
      each.name = each.described.name;
      each.small_sizes.insert(file.small_sizes.begin(), file.small_sizes.end());
      double value = 0.75;
      for (const loopy::Argument& argument :
           loopy::infer_types(loopy::expand_subst(each.described)).arguments) {
        if (!argument.is_array && each.small_sizes.count(argument.name) == 0) {
          each.options.reals[argument.name] = value += 0.125;
        }
      }
    }
    return made;
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
SlicedCase case_of(std::uint64_t seed) {
  Draw draw(seed);
  const GalleryKernel& given = draw.of(gallery());
  SlicedCase result;
  result.target = draw.chance(40) ? "host" : draw.chance(50) ? "devices" : "cuda";
  result.kernel.described = given.described;
  result.kernel.options = given.options;
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

}  // namespace

Kind gallery_kind() {
  return {"gallery",
          "listed slicings of the gallery's kernels, at odd sizes, on the targets of `kernels`",
          [](Draw& draw) { return std::to_string(draw.bits()); },
          [](const std::string& input) -> std::uint64_t {
            const SlicedCase made = case_of(std::stoull(input));
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

}  // namespace rtcg::campaigns
