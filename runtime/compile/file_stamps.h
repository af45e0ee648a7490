#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace rtcg::runtime {

/// Inode, length, and the times of the last change of content and of attributes, to the nanosecond.
using FileStamp = std::array<std::int64_t, 6>;

/// Whether a file with this stamp was left alone for some seconds. One that was not may be written
/// once more without its stamp changing (or the clock is wrong), so nothing should rest on it.
[[nodiscard]] bool is_settled(const FileStamp& stamp);

/// Gets the stamps of many files in few folders.
///
/// Each folder is opened once, which makes lookups three times cheaper, and a missing folder
/// answers for all files in it. One object serves one scan: it does not see new or removed folders.
/// Every lookup reads the file's current stamp. One thread at a time.
class FileStamps {
 public:
  FileStamps() = default;
  FileStamps(const FileStamps&) = delete;
  FileStamps& operator=(const FileStamps&) = delete;
  ~FileStamps();

  /// Nothing if it is not a regular file.
  [[nodiscard]] std::optional<FileStamp> find(const std::string& path);

 private:
  [[nodiscard]] int open_folder(const std::string& path);

  std::unordered_map<std::string, int> folders_;  // descriptors, or what is said in the .cpp
  std::string folder_;                            // the key under construction
};

}  // namespace rtcg::runtime
