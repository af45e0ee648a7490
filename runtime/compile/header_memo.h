#pragma once
// Internal header: it is not installed.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/file_stamps.h"

namespace rtcg::runtime {

struct IncludeName {
  std::string_view name;
  bool is_quoted = false;
};

/// The scan of one header, independent of its place.
struct ScannedHeader {
  std::vector<IncludeName> includes;
  std::shared_ptr<const std::string>
      names{};  ///< keeps what `includes` points into, if not the text
  std::string why_uncachable;
  Digest digest = {};
};

/// Scans of the compilers' own headers, by path and stamp, so a lookup does not read the hundreds
/// of files of an `#include <vector>` again.
///
/// Only headers of the system's folders belong here: the caller's may change twice within one tick
/// of the file system's clock, so they are always read. A header changed within the last seconds is
/// not remembered either. Kept in the cache's folder as one checksummed file; a bad one is ignored.
/// Any thread may use it.
class HeaderMemo {
 public:
  /// The process's own.
  [[nodiscard]] static HeaderMemo& instance();

  /// Reads the folder's file when the first header is looked up, and saves there.
  void use_folder(const std::string& folder);
  [[nodiscard]] std::shared_ptr<const ScannedHeader> find(const std::string& path,
                                                          const FileStamp& stamp);
  void add(const std::string& path, const FileStamp& stamp,
           std::shared_ptr<const ScannedHeader> header);
  /// Writes the folder's file if something was added; a failed write is not an error.
  void save();

 private:
  void load();
  [[nodiscard]] std::string bytes_of_headers() const;

  using Known = std::pair<FileStamp, std::shared_ptr<const ScannedHeader>>;

  std::mutex mutex_;
  std::string folder_;
  bool is_load_due_ = false;
  bool has_news_ = false;
  std::unordered_map<std::string, Known> headers_;
};

}  // namespace rtcg::runtime
