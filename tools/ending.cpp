#include "tools/ending.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/tune/tune.h"
#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::tools {
namespace {

// Of signal handlers and the thread that they wake, so that they cannot be members.
std::atomic<int> caught_signal = 0;
std::atomic<int> caught_count = 0;
std::atomic<std::int64_t> first_caught_ms = 0;
std::atomic<int> ends_by_itself = 0;
int wake_up = -1;

constexpr std::array handled = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// What a processor raises where a host kernel divides an integer by 0, or where its compiler found
// that it always does; with what to say of it, made before, since a handler may only write.
struct Trap {
  int number;
  std::string message;
};
std::array<Trap, 2> traps;

void handle(int number) {
  const int kept = errno;
  if (is_same_request()) {
    errno = kept;
    return;
  }
  const int before = caught_count.fetch_add(1);
  if (before == 0) {
    caught_signal = number;
  }
  if (before >= 2) {  // who cleans up is stuck
    _exit(128 + number);
  }
  const char byte = 0;
  static_cast<void>(!::write(wake_up, &byte, 1));
  errno = kept;
}

// What comes from the processor ends the program by the same signal once this returns.
void explain_trap(int number, siginfo_t* info, void*) {
  for (const Trap& trap : traps) {
    if (trap.number == number && info->si_code > 0) {
      static_cast<void>(!::write(STDERR_FILENO, trap.message.data(), trap.message.size()));
    }
  }
  std::signal(number, SIG_DFL);
  if (info->si_code <= 0) {
    std::raise(number);  // another process sent it, which happens once
  }
}

void explain_traps() {
  const auto message = [](const char* problem, const char* signal) {
    const DeviceError error("tools.rtcg.integer_division", problem, "a kernel on the host", signal);
    return std::string("rtcg: ") + error.what() + "\n";
  };
  traps = {
      Trap{SIGFPE,
           message(
               "an integer was divided by 0, or the smallest one by -1: make sure "
               "that divisors are never 0, or take another device, where the result is undefined",
               "SIGFPE")},
      Trap{SIGILL,
           message(
               "the host's compiler found that an integer is always divided by 0, "
               "or that C leaves another operation undefined: make sure that divisors are never 0",
               "SIGILL")}};
  for (const Trap& trap : traps) {
    struct sigaction action = {};
    // a sanitizer has its own handlers
    if (::sigaction(trap.number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
      action = {};
      action.sa_sigaction = explain_trap;
      action.sa_flags = SA_SIGINFO;
      ::sigaction(trap.number, &action, nullptr);
    }
  }
}

[[noreturn]] void end_by_signal(int number) {
  runtime::end_running_processes();
  runtime::remove_temporary_folders();
  std::signal(number, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(number);
  _exit(128 + number);  // the first process of a container is not ended by the signal
}

/// Whether another signal comes within the time.
bool is_woken(int descriptor, int milliseconds) {
  pollfd wait = {descriptor, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&wait, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  char byte = 0;
  return ready > 0 && ::read(descriptor, &byte, 1) == 1;
}

void watch(int descriptor) {
  constexpr int for_ever = -1;
  constexpr int patience_ms = 1000;
  do {
    if (!is_woken(descriptor, for_ever)) {
      return;
    }
  } while (caught_signal == 0);  // a copy of this process was meant
  if (ends_by_itself > 0) {
    is_woken(descriptor, patience_ms);
  }
  end_by_signal(caught_signal);
}

}  // namespace

void catch_signals() {
  explain_traps();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return;  // then signals end the program as they do without us
  }
  wake_up = ends[1];
  sigset_t mask;
  sigset_t before;
  sigfillset(&mask);
  pthread_sigmask(SIG_SETMASK, &mask, &before);
  std::thread([descriptor = ends[0]] { watch(descriptor); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (const int number : handled) {
    struct sigaction action = {};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      action = {};
      action.sa_handler = handle;
      action.sa_flags = SA_RESTART;
      ::sigaction(number, &action, nullptr);
    }
  }
}

EndsByItself::EndsByItself() {
  ++ends_by_itself;
}
EndsByItself::~EndsByItself() {
  --ends_by_itself;
}

bool is_same_request() {
  constexpr std::int64_t same_ms = 200;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t now_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  std::int64_t first_ms = 0;
  return !first_caught_ms.compare_exchange_strong(first_ms, now_ms) && now_ms - first_ms < same_ms;
}

bool is_interrupted() {
  return caught_signal != 0;
}

int end_output(int status) {
  std::cout.flush();
  const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  const int problem = errno;
  const bool is_closed = ::close(::dup(STDOUT_FILENO)) == 0 || errno == EBADF;
  if (is_lost || !is_closed) {
    const std::string reason = std::strerror(is_lost ? problem : errno);
    const DeviceError error("tools.rtcg.output_lost", "cannot write standard output", "write",
                            reason);
    std::fprintf(stderr, "rtcg: %s\n", error.what());
    status = 1;
  }
  if (is_interrupted()) {
    end_by_signal(caught_signal);
  }
  if (loopy::is_work_left()) {
    runtime::end_running_processes();
    runtime::remove_temporary_folders();
    _exit(status);
  }
  return status;
}

}  // namespace rtcg::tools
