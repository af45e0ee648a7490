#include "tools/progress.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "tools/command.h"

namespace rtcg::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// One that takes the sequences which lines are written again with.
bool is_stderr_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

std::size_t columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

}  // namespace

struct Progress::State {
  std::mutex mutex{};  // of all below
  std::condition_variable is_changed{};
  std::string doing{};
  bool has_ended = false;
  bool has_line = false;
  const bool is_terminal = is_stderr_terminal();
  const Clock::time_point begin = Clock::now();
  std::thread thread{};

  void work() {
    const std::chrono::milliseconds first =
        is_terminal ? std::chrono::milliseconds(1000) : std::chrono::milliseconds(30000);
    const std::chrono::milliseconds next = is_terminal ? std::chrono::milliseconds(500) : first;
    std::unique_lock lock(mutex);
    for (Clock::time_point at = begin + first;; at += next) {
      if (is_changed.wait_until(lock, at, [&] { return has_ended; })) {
        return;
      }
      write();
    }
  }
  void write() {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const std::string line = fmt::format("{:.0f} s: {}", seconds, printable(doing));
    if (is_terminal) {
      // a line that is broken could not be written again
      std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(columns() - 1), line.c_str());
    } else {
      std::fprintf(stderr, "rtcg: %s\n", line.c_str());
    }
    has_line = true;
    std::fflush(stderr);
  }
};

Progress::Progress(std::string doing) : state_(std::make_unique<State>()) {
  state_->doing = std::move(doing);
  state_->thread = std::thread([state = state_.get()] { state->work(); });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
  }
  state_->is_changed.notify_all();
  state_->thread.join();
  if (state_->has_line && state_->is_terminal) {
    std::fputs("\r\x1b[K", stderr);
  }
}

void Progress::set(std::string doing) {
  const std::lock_guard lock(state_->mutex);
  state_->doing = std::move(doing);
}

}  // namespace rtcg::tools
