#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"

namespace rtcg::runtime {

/// The entries of one folder as files. The path is its only state: every call reads the disk.
class CacheFolder {
 public:
  struct File {
    std::string name;
    std::uint64_t size_bytes = 0;
    double age_seconds = 0;  ///< since its last use; negative when dated in the future
  };

  explicit CacheFolder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(const Digest& key) const;
  /// Of the file by which processes claim to compile an entry.
  [[nodiscard]] std::string claim_of(const Digest& key) const;
  /// Makes the folder. Empty, or why it is not used: not writable, or others could write to it.
  [[nodiscard]] std::string prepare() const;

  /// Entries, least recently used first. An entry dated in the future was written while the clock
  /// was wrong and counts as older than all others.
  [[nodiscard]] std::vector<File> files() const;
  [[nodiscard]] std::string path_of(const File& file) const { return path_ + "/" + file.name; }
  /// Marks as used now.
  void touch(const Digest& key) const;
  /// Removes files of killed processes, then the least recently used entries until at most this
  /// number of bytes is left. Returns the number of removed entries.
  std::size_t trim(std::uint64_t max_bytes) const;

 private:
  std::string path_;
};

}  // namespace rtcg::runtime
