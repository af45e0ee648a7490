#pragma once
// Internal header: it is not installed.

#include <string>

namespace rtcg::runtime {

/// Keeps other processes from compiling the same entry of a cache meanwhile.
///
/// It is the lock of a file beside the entry, which ends with its process, and it is advice: where
/// a folder cannot be written, a file system has no locks, or a process takes too long, all
/// compile.
class CompileClaim {
 public:
  /// Waits as long as another process has the claim and the entry is not there, but not longer than
  /// RTCG_COMPILE_SECONDS (300).
  CompileClaim(std::string path, const std::string& path_of_entry);
  ~CompileClaim();
  CompileClaim(const CompileClaim&) = delete;
  CompileClaim& operator=(const CompileClaim&) = delete;

  /// Whether the entry was there at the end.
  [[nodiscard]] bool is_stored() const noexcept { return is_stored_; }

  /// Removes the file of a claim that no process has.
  static void remove_unused(const std::string& path) noexcept;

 private:
  std::string path_;
  int file_ = -1;  // locked, if there is one
  bool is_stored_ = false;
};

}  // namespace rtcg::runtime
