#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/tune/wisdom.h"
#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::loopy {

/// A tuned kernel that is ready to be called, and how it is sliced.
struct PackedKernel {
  Executor executor;
  std::string slicing{};
};

/// Tuned kernels with their binaries, in one file: what is taken to machines that have no compiler.
///
/// A file of JSON lines that is only ever appended to, as Wisdom is; files may be joined by `cat`,
/// and lines that cannot be read are passed over. A binary for the host is for processors with the
/// same instructions as the one it was made on.
class KernelPack {
 public:
  /// @param path  need not exist
  explicit KernelPack(std::string path) : path_(std::move(path)) {}

  /// Whether the file is one that binaries may be appended to, or none yet.
  /// @throws InvalidInput  loopy.tune.foreign_file
  void check() const;

  /// Compiles a kernel with its sizes put in and sliced, and appends it.
  ///
  /// @param architecture  `sm_90`, ... or `host`; needs no device of that kind
  /// @throws Unsupported   loopy.kernel_pack.architecture
  /// @throws InvalidInput  loopy.kernel_pack.unwritable, loopy.tune.foreign_file; what tuned_kernel
  ///                       throws
  /// @throws  what compiling throws
  void add(const Kernel& kernel, const std::string& architecture, const IntegerValues& parameters,
           const Slicing& slicing, double microseconds) const;

  /// The fastest one for exactly these sizes, ready to be called; compiles nothing. Nothing where
  /// there is none for this device, or rtcg would write other text today. What lays arrays out
  /// otherwise is found only where these are among `free_layouts`.
  [[nodiscard]] std::optional<PackedKernel> find(
      const Kernel& kernel, runtime::Device device, const IntegerValues& parameters,
      const std::vector<std::string>& free_layouts = {}) const;

  /// What is in it.
  [[nodiscard]] std::vector<WisdomEntry> entries() const;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace rtcg::loopy
