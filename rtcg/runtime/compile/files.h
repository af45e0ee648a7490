#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rtcg::runtime {

/// The bytes of a regular file, or nothing.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

/// Writes a file anew. Empty, or what failed, e.g. `write: No space left on device`; then there is
/// no such file.
[[nodiscard]] std::string write_file(const std::string& path, std::string_view bytes,
                                     bool sync = false);

/// Writes `path` so that it is either whole or not there: through a file beside it and a rename.
[[nodiscard]] std::string write_file_atomically(const std::string& path, std::string_view bytes);

/// Makes the folder and its parents, with mode 0700. Empty, or what failed.
[[nodiscard]] std::string make_private_folder(const std::string& path);

/// A folder of its own in TMPDIR or /tmp, removed with everything in it at the end.
class TemporaryFolder {
 public:
  /// @throws DeviceError  runtime.files.no_temporary_folder
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// Files that write_file_atomically left behind when its process was killed bear this prefix, and
/// then the process and the machine: `is_abandoned` tells whether that writer is gone.
inline constexpr std::string_view unfinished_prefix = "unfinished-";
[[nodiscard]] bool is_abandoned(const std::string& file_name);

}  // namespace rtcg::runtime
