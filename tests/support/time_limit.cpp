// A test that does not end says its name and where its threads are, and ends its program with status 124.
// RTCG_TEST_SECONDS sets the limit of one test: default 300, 0 for none.
#include <dirent.h>
#include <execinfo.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::array<char, 256> name_of_test{};
std::atomic<int> threads_shown = 0;

void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void show_thread(int) {
  std::array<void*, 64> calls{};
  ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), static_cast<int>(calls.size())),
                         STDERR_FILENO);
  ++threads_shown;
}

// Sends a signal to each other thread in turn and waits for its list of calls, a fifth of a second at most.
void show_other_threads() {
  DIR* const threads = ::opendir("/proc/self/task");
  if (threads == nullptr) {
    return;
  }
  while (const dirent* const entry = ::readdir(threads)) {
    const int thread = std::atoi(entry->d_name);
    if (thread == 0 || thread == ::gettid()) {
      continue;
    }
    say("another thread:\n");
    const int before = threads_shown;
    ::syscall(SYS_tgkill, ::getpid(), thread, SIGUSR2);
    for (int wait = 0; wait < 20 && threads_shown == before; ++wait) {
      ::usleep(10'000);
    }
  }
  ::closedir(threads);
}

// Processes that this one started, for instance compilers.
void show_children() {
  std::array<char, 192> command{};
  std::snprintf(command.data(), command.size(),
                "for child in $(cat /proc/%d/task/*/children); do "
                "echo \"process $child: $(tr '\\0' ' ' < /proc/$child/cmdline)\"; done 1>&2",
                ::getpid());
  [[maybe_unused]] const int status = std::system(command.data());
}

// The program ends here in any case, so calls that a signal handler must not make may at worst stop it:
// a second alarm ends it then.
void end_program(int) {
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(10);
  say("\n[  FAILED  ] ");
  say(name_of_test.data());
  say(" has not ended within RTCG_TEST_SECONDS; it is here:\n");
  show_thread(0);
  show_other_threads();
  show_children();
  ::_exit(124);
}

class TimeLimit : public testing::EmptyTestEventListener {
 public:
  explicit TimeLimit(unsigned seconds) : seconds_(seconds) {
    std::array<void*, 1> first{};
    ::backtrace(first.data(), 1);  // loads what it needs now and not in the handler
    std::signal(SIGUSR2, show_thread);
    std::signal(SIGALRM, end_program);
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    start(std::string(test.test_suite_name()) + "." + test.name());
  }
  void OnTestProgramEnd(const testing::UnitTest&) override { start("the program, after its tests,"); }
  void start(const std::string& name) {
    std::snprintf(name_of_test.data(), name_of_test.size(), "%s", name.c_str());
    ::alarm(seconds_);
  }

  unsigned seconds_;
};

const bool is_limited = [] {
  const char* const set = std::getenv("RTCG_TEST_SECONDS");
  const int seconds = set == nullptr ? 300 : std::atoi(set);
  if (seconds > 0) {
    testing::UnitTest::GetInstance()->listeners().Append(new TimeLimit(static_cast<unsigned>(seconds)));
  }
  return seconds > 0;
}();

}  // namespace
