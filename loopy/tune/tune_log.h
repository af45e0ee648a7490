#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>

#include "rtcg/loopy/tune/search.h"

namespace rtcg::loopy {

/// What a search measured, a JSON line a candidate, so that a search that was killed goes on from
/// there. Only ever appended to, by one write a line: several processes may share a file, and lines
/// that cannot be read are passed over.
class TuneLog {
 public:
  /// Reads what the file has under that key.
  /// @param path  empty: nothing is read or written
  /// @throws InvalidInput  loopy.tune.foreign_file
  TuneLog(std::string path, std::string key);

  /// Null where the candidate was not tried.
  [[nodiscard]] const TunedCandidate* find(const std::string& words) const;
  /// @throws InvalidInput  loopy.tune.unwritable_log
  void add(const TunedCandidate& tuned);

 private:
  std::string path_;
  std::string key_;
  std::map<std::string, TunedCandidate, std::less<>> known_{};
};

}  // namespace rtcg::loopy
