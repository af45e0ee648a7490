#pragma once

#include <memory>
#include <string>

namespace rtcg::tools {

/// Shows on standard error what a command does and for how long, if it is not immediate. On a
/// terminal it is one line, which is updated each second and removed at the end; elsewhere it is a
/// line each half minute. Any thread may call.
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
