#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/file_stamps.h"
#include "rtcg/runtime/compile/header_scan.h"

namespace rtcg::runtime {

/// An answer of the file system: the stamp of a file, or that there is none.
using FileAnswer = std::pair<std::string, std::optional<FileStamp>>;

/// The result of a complete scan of the compiler's own headers, with the file system's answers that
/// it depends on. If the answers are the same again, so is the result, and two thousand includes
/// need not be followed.
///
/// One checksummed file for each scan in the cache's folder; the last written ones are kept. A bad
/// file and a failed write are not errors. Any thread, any process may use it.
class ScanMemo {
 public:
  /// How many scans a folder holds.
  static constexpr std::size_t most_scans = 64;

  /// @param question  the inputs of the scan besides the files: the includes and the folders
  /// @param folder    empty: nothing is kept
  ScanMemo(std::string folder, const Digest& question);

  /// The headers found, if all files answer as they did then.
  /// @cost  reads one file, asks for the stamp of each header
  [[nodiscard]] std::optional<HeaderScan> recall(FileStamps& stamps) const;
  /// Does nothing when a file was changed within the last seconds: it may still be being written.
  ///
  /// @param answers  those about the files of `scan` among them
  void keep(const HeaderScan& scan, const std::vector<FileAnswer>& answers) const;

 private:
  void remove_oldest() const;

  std::string folder_;
  std::string path_;
};

}  // namespace rtcg::runtime
