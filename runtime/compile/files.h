#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <string_view>

namespace rtcg::runtime {

/// The bytes of a regular file, or nothing.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

/// Writes a new file. Empty, or the failure, e.g. `write: No space left on device`; then there is
/// no such file.
[[nodiscard]] std::string write_file(const std::string& path, std::string_view bytes,
                                     bool sync = false);

/// Writes `path` so that it is either complete or absent: to another file in the same folder, which
/// is renamed.
[[nodiscard]] std::string write_file_atomically(const std::string& path, std::string_view bytes);

/// Why the contents of a file or folder must not be run as code, or followed: a user other than
/// this one and root owns it (or a link to it), or its group or all users can write to it. Empty:
/// they may, or there is no such file.
[[nodiscard]] std::string why_untrusted(const std::string& path);

/// @param what  name of the file's contents, for the message: `a pack of compiled kernels`
/// @throws InvalidInput  runtime.files.untrusted
void check_is_trusted(const std::string& path, std::string_view what);

/// Makes the folder and its parents, with mode 0700. Empty, or the failure.
[[nodiscard]] std::string make_private_folder(const std::string& path);

/// A new folder in TMPDIR or /tmp, removed with its contents at the end. The first one of a process
/// also removes folders of killed processes of this user.
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

/// Removes folders of killed processes of this user in TMPDIR or /tmp.
void sweep_temporary_folders();

/// Removes the folders of all TemporaryFolder objects, for a process that ends without unwinding:
/// making another one then blocks for ever.
void remove_temporary_folders() noexcept;

/// Temporary files of write_file_atomically have this prefix, then the machine and the process.
/// `is_abandoned` is whether that process has ended.
inline constexpr std::string_view unfinished_prefix = "unfinished-";
[[nodiscard]] bool is_abandoned(const std::string& file_name,
                                std::string_view prefix = unfinished_prefix);

}  // namespace rtcg::runtime
