#pragma once

#include <memory>
#include <string>

namespace rtcg::tools {

/// Says on standard error what a command does and for how long, where that takes longer than a
/// moment: on a terminal in one line that is written again each second and is gone at the end, else
/// in a line each half minute. Any thread may call.
class Progress {
 public:
  /// @param doing  such as `compiling axpy.c`
  explicit Progress(std::string doing);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void set(std::string doing);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rtcg::tools
