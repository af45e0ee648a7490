#include "tools/progress_line.h"

#include <algorithm>
#include <cstdio>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rtcg::tools {
namespace {

constexpr double first_seconds = 2;
constexpr double terminal_seconds = 0.1;

bool is_on_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

// A line as wide as the terminal would begin another one.
std::size_t room() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? std::size_t{size.ws_col} - 1 : 79;
}

}  // namespace

ProgressLine::ProgressLine()
    : begin_(std::chrono::steady_clock::now()), next_seconds_(first_seconds) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(const std::string& text) {
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (seconds < next_seconds_) {
    return;
  }
  if (is_on_terminal()) {
    std::fprintf(stderr, "\r\x1b[K%s", text.substr(0, room()).c_str());
    is_shown_ = true;
    next_seconds_ = seconds + terminal_seconds;
  } else {
    std::fprintf(stderr, "rtcg: %s\n", text.c_str());
    next_seconds_ = 2 * seconds;
  }
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (is_shown_) {
    std::fputs("\r\x1b[K", stderr);
    is_shown_ = false;
  }
}

}  // namespace rtcg::tools
