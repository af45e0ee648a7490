// Nothing that is listed for a kernel of examples/gallery at its full sizes is refused.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::gallery {
namespace {

/// RTCG_SLICINGS_DRAWN=300 draws so many of each kernel and machine from all that are listed by
/// default.
int wanted_draws() {
  const char* wanted = std::getenv("RTCG_SLICINGS_DRAWN");
  return wanted != nullptr ? std::atoi(wanted) : 0;
}

/// Those whose loops carry dependences, scan, or have bounds that the kernel computes; the classes
/// of the others are drawn from in tests/loopy/slice.
bool is_drawn_by_default(const std::filesystem::path& file) {
  static const std::set<std::string> names = {
      "deriche",   "gramschmidt", "nussinov",       "row_scan", "running_sums", "segmented_sums",
      "seidel-2d", "small_lu",    "sparse_product", "trisolv",  "trmm"};
  return names.count(file.stem().string()) != 0;
}

std::vector<std::filesystem::path> kernel_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(RTCG_SOURCE_DIR "/examples/gallery")) {
    if (entry.path().extension() == ".loopy" &&
        (wanted_draws() != 0 || is_drawn_by_default(entry.path()))) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

class SlicingsOfGallery : public testing::TestWithParam<std::filesystem::path> {};

void expect_none_refused(const loopy::MachineModel& machine, loopy::Target target) {
  loopy::SlicingConstraints constraints;
  const loopy::KernelFile file = loopy::read_kernel_file(SlicingsOfGallery::GetParam().string());
  constraints.parameters.insert(file.sizes.begin(), file.sizes.end());
  constraints.machine = machine;
  if (wanted_draws() == 0) {
    constraints.max_items_per_thread = 4;  // fewer, so that listing them is quick
  }
  const loopy::Kernel kernel =
      loopy::tuned_kernel(loopy::described_kernel(file), constraints.parameters, {});
  std::optional<loopy::SlicingStream> stream;
  try {
    stream.emplace(kernel, constraints);
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.code(), "loopy.slicings.nothing_to_slice") << error.what();
  }
  if (!stream || stream->count() == 0) {
    return;
  }
  const int draws = wanted_draws() != 0 ? wanted_draws() : 2;
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < draws; ++i) {
    // half of them from the best, which searches try
    const std::size_t among =
        i % 2 == 0 ? std::min<std::size_t>(stream->count(), 1000) : stream->count();
    const loopy::RankedSlicing ranked = stream->at(i == 0 ? 0 : random() % among);
    try {
      static_cast<void>(
          loopy::generate_text(loopy::checked_kernel(apply(kernel, ranked.slicing)), target));
    } catch (const Error& error) {
      if (++refused <= 5) {
        ADD_FAILURE() << to_string(ranked.slicing) << ": " << error.code() << ": " << error.what();
      }
    }
  }
  EXPECT_EQ(refused, 0) << "of " << draws << " drawn from " << stream->count();
}

TEST_P(SlicingsOfGallery, AreNotRefusedOnAGpu) {
  expect_none_refused({}, loopy::Target::cuda);
}

TEST_P(SlicingsOfGallery, AreNotRefusedOnTheHost) {
  loopy::MachineModel two_cores = loopy::machine_model(runtime::Device::host());
  two_cores.multiprocessors = 2;  // the same slicings on every machine
  expect_none_refused(two_cores, loopy::Target::host);
}

std::string drawn_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, SlicingsOfGallery, testing::ValuesIn(kernel_files()), drawn_name);

}  // namespace
}  // namespace rtcg::gallery
