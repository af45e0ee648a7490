#pragma once

#include <chrono>
#include <string>

namespace rtcg::tools {

/// Shows progress on the standard error stream after two seconds.
///
/// On a terminal one line is updated, cut to its width; elsewhere the interval between lines
/// doubles, so logs stay short.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// May be called as often as one likes.
  void show(const std::string& text);
  /// Removes the line from the terminal, before other output.
  void clear();

 private:
  std::chrono::steady_clock::time_point begin_;
  double next_seconds_;  ///< when the next line is due
  bool is_shown_ = false;
};

}  // namespace rtcg::tools
