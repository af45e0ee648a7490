#pragma once

#include <chrono>
#include <string>

namespace rtcg::tools {

/// Says on the standard error stream how far something is, once it has taken two seconds.
///
/// On a terminal one line is written over and over, cut to the width of the terminal; elsewhere
/// each line comes after twice the time of the one before, so that logs stay short.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// May be called as often as one likes.
  void show(const std::string& text);
  /// Takes the line off the terminal, before anything else is written.
  void clear();

 private:
  std::chrono::steady_clock::time_point begin_;
  double next_seconds_;  ///< when the next line is due
  bool is_shown_ = false;
};

}  // namespace rtcg::tools
