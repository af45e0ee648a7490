#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/slice/slicing.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::loopy {

/// What a search decided for a kernel, a device and a size.
struct WisdomEntry {
  /// The kernel's CanonicalForm::key, with canonical names in parameters and decision; or its
  /// kernel_key, where it has no canonical form or its arrays are laid out otherwise; or that of a
  /// program of a user.
  std::string kernel{};
  std::string device{};        ///< Device::identity, which has driver and compiler in it
  std::string architecture{};  ///< DeviceInfo::target
  IntegerValues parameters{};
  /// As text: to_string(Slicing) of a loop kernel. In the file its key is `slicing`.
  std::string decision{};
  double microseconds = 0;
};

/// The key of a kernel, independent of its name and of the tags of its loops: equal texts of
/// domains, statements and typed arguments give equal keys.
[[nodiscard]] std::string kernel_key(const Kernel& kernel);

/// Whether a slicing, as text, leaves all arrays but these as a kernel describes them. One that
/// cannot be read does.
[[nodiscard]] bool lays_out_only(const std::string& slicing,
                                 const std::vector<std::string>& free_layouts);

/// What was learned by running, kept in a file of JSON lines that is only ever appended to: many
/// processes may write at once, files may be joined by `cat`, and lines that cannot be read (torn
/// by a full disk, written by another version) are passed over.
class Wisdom {
 public:
  /// @param path  empty: `wisdom.jsonl` in the folder of the compile cache; where that folder is
  /// not
  ///              the user's own, nothing is known or kept. Need not exist.
  explicit Wisdom(std::string path = {});

  /// Whether the file is one that entries may be appended to, or none yet.
  /// @throws InvalidInput  loopy.tune.foreign_file
  void check() const;
  /// Why nothing can be added; empty: it can. @cost opens the file, and makes it
  [[nodiscard]] std::string why_unwritable() const;
  /// Appends an entry. @throws InvalidInput  loopy.wisdom.unwritable, loopy.tune.foreign_file
  void add(const WisdomEntry& entry) const;
  /// Appends the slicing of a kernel for a device and sizes. It is found again for kernels that
  /// differ in names, in the order of statements, terms and factors, and in the order of the axes
  /// of arrays with the same memory layout.
  void add(const Kernel& kernel, const runtime::Device& device, const IntegerValues& parameters,
           const Slicing& slicing, double microseconds) const;

  // Of kernels, with the names that the kernel has. What lays arrays out otherwise than the kernel
  // describes them is found only where these are among `free_layouts`.

  /// The entry that fits best: same device before same architecture, then the nearest sizes (by the
  /// ratio of each parameter), then the later one.
  [[nodiscard]] std::optional<WisdomEntry> find(
      const Kernel& kernel, const runtime::Device& device, const IntegerValues& parameters,
      const std::vector<std::string>& free_layouts = {}) const;
  /// All entries of the device's architecture, the best matches first.
  [[nodiscard]] std::vector<WisdomEntry> nearest(
      const Kernel& kernel, const runtime::Device& device, const IntegerValues& parameters,
      const std::vector<std::string>& free_layouts = {}) const;
  /// The same of what is no kernel: TuningProblem::name.
  [[nodiscard]] std::vector<WisdomEntry> nearest(
      const std::string& key, const runtime::Device& device, const IntegerValues& parameters,
      const std::vector<std::string>& free_layouts = {}) const;
  /// Only for exactly these sizes, on exactly this device.
  [[nodiscard]] std::optional<WisdomEntry> find_exact(
      const Kernel& kernel, const runtime::Device& device, const IntegerValues& parameters,
      const std::vector<std::string>& free_layouts = {}) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// All that can be read, in the order of the file.
  /// @throws InvalidInput  runtime.files.untrusted: another user may have written it
  [[nodiscard]] std::vector<WisdomEntry> entries() const;

 private:
  std::string path_;
};

}  // namespace rtcg::loopy
