// gallery_texts [KERNEL...] [--repeat COUNT]: the processor time from the description of each
// kernel of examples/gallery to its CUDA text, with the slicing that the model ranks first and with
// all checks, and of listing its slicings.
//
// Kernels that are not sliced have the text of their file's recipe. Takes about two minutes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"
#include "rtcg/loopy/slice/enumerate_slicings.h"
#include "rtcg/loopy/tune/tune.h"

namespace {

namespace loopy = rtcg::loopy;

/// Since any time before, of this thread: others on the machine hardly count.
double processor_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Times {
  double description_ms = 0;
  double slicing_ms = 0;
  double checks_ms = 0;
  double text_ms = 0;
  [[nodiscard]] double all_ms() const { return description_ms + slicing_ms + checks_ms + text_ms; }
};

Times times_of(const loopy::KernelFile& file, const loopy::IntegerValues& sizes,
               const std::optional<loopy::Slicing>& slicing) {
  const double start = processor_ms();
  loopy::Kernel kernel = loopy::tuned_kernel(loopy::described_kernel(file), sizes, {});
  const double described = processor_ms();
  kernel = slicing ? loopy::apply(kernel, *slicing) : loopy::transformed_kernel(file, kernel);
  const double sliced = processor_ms();
  kernel = loopy::checked_kernel(kernel);
  const double checked = processor_ms();
  static_cast<void>(loopy::generate_text(kernel, loopy::Target::cuda));
  return {described - start, sliced - described, checked - sliced, processor_ms() - checked};
}

struct Listed {
  std::optional<loopy::Slicing> first{};
  std::size_t count = 0;
  double list_ms = 0;
};

Listed listed(const loopy::KernelFile& file, const loopy::IntegerValues& sizes) {
  loopy::SlicingConstraints constraints;
  constraints.parameters = sizes;
  const loopy::Kernel kernel = loopy::tuned_kernel(loopy::described_kernel(file), sizes, {});
  const double start = processor_ms();
  try {
    const loopy::SlicingStream stream(kernel, constraints);
    const double list_ms = processor_ms() - start;
    return {stream.count() != 0 ? std::optional(stream.at(0).slicing) : std::nullopt,
            stream.count(), list_ms};
  } catch (const rtcg::InvalidInput& error) {
    if (error.code() != "loopy.slicings.nothing_to_slice") {
      throw;
    }
    return {};
  }
}

int run(const std::vector<std::string>& wanted, int repeats) {
  std::vector<std::filesystem::path> paths;
  for (const auto& each :
       std::filesystem::recursive_directory_iterator(RTCG_SOURCE_DIR "/examples/gallery")) {
    const std::string name = each.path().stem().string();
    if (each.path().extension() == ".loopy" &&
        (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end())) {
      paths.push_back(each.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::printf("%-22s %9s %9s %9s %9s %9s %9s %9s\n", "kernel, ms", "all", "describe", "slice",
              "check", "text", "list", "slicings");
  double sum_ms = 0;
  int beyond = 0;
  for (const std::filesystem::path& path : paths) {
    const loopy::KernelFile file = loopy::read_kernel_file(path.string());
    const loopy::IntegerValues sizes(file.sizes.begin(), file.sizes.end());
    const Listed list = listed(file, sizes);
    Times best = times_of(file, sizes, list.first);
    for (int i = 1; i < repeats; ++i) {
      const Times times = times_of(file, sizes, list.first);
      best = times.all_ms() < best.all_ms() ? times : best;
    }
    sum_ms += best.all_ms();
    beyond += best.all_ms() > 5 ? 1 : 0;
    std::printf("%-22s %9.2f %9.2f %9.2f %9.2f %9.2f %9.1f %9zu%s\n", path.stem().c_str(),
                best.all_ms(), best.description_ms, best.slicing_ms, best.checks_ms, best.text_ms,
                list.list_ms, list.count, list.first ? "" : " (recipe)");
    std::fflush(stdout);
  }
  std::printf("%zu kernels, mean %.2f ms, %d above 5 ms\n", paths.size(),
              paths.empty() ? 0 : sum_ms / static_cast<double>(paths.size()), beyond);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> wanted;
  int repeats = 5;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--repeat" && i + 1 < count && std::atoi(arguments[i + 1]) > 0) {
      repeats = std::atoi(arguments[++i]);
    } else if (word.empty() || word[0] == '-') {
      std::fprintf(stderr, "usage: gallery_texts [KERNEL...] [--repeat COUNT]\n");
      return word == "--help" ? 0 : 2;
    } else {
      wanted.push_back(word);
    }
  }
  return run(wanted, repeats);
}
