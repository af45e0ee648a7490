#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/kernel_options.h"

namespace rtcg::loopy {

/// The contents of a `.loopy` file: a kernel and its transformations. docs/kernel_files.md
/// describes the format.
struct KernelFile {
  std::string domains{};
  std::string statements{};
  KernelOptions options{};
  /// As apply_recipe takes it; may be empty.
  std::string recipe{};
  /// Kernels that statements call, each with its own recipe.
  std::vector<KernelFile> callees{};
  /// Values of parameters for commands that run the kernel and are given no others.
  std::map<std::string, std::int64_t> sizes{};
  /// The same for `--small`: sizes at which the kernel as described runs and is checked in a
  /// moment.
  std::map<std::string, std::int64_t> small_sizes{};
  /// Where it was read from, for errors; empty where it was no file.
  std::string path{};
  /// The line on which the text of each section begins, for errors.
  std::map<std::string, int, std::less<>> lines{};
};

/// Text that parse_kernel_file reads as the same kernel and recipe.
[[nodiscard]] std::string to_string(const KernelFile& file);

/// The file of a kernel in its current form: `described_kernel` of it, with its recipe applied, has
/// the same loops and generates the same text, apart from the recipe's comment.
///
/// Loops, arrays and statements are those after the transformations; its recipe has the tags,
/// orders of loops and places of temporaries, which statements cannot state. To keep the kernel as
/// it was described, with its transformations, write the KernelFile that it came from.
/// @throws Unsupported  loopy.to_kernel_file.not_sayable, the kernel has temporaries with strides
///                      that are not constants, or functions whose code is a tree
[[nodiscard]] KernelFile to_kernel_file(const Kernel& kernel);

}  // namespace rtcg::loopy
