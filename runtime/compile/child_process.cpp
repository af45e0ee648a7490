#include "rtcg/runtime/compile/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

#include "rtcg/runtime/compile/environment.h"

namespace rtcg::runtime {
namespace {

using ChildClock = std::chrono::steady_clock;
using ChildDeadline = std::optional<ChildClock::time_point>;

// Starts a program in a process group of its own. posix_spawn copies nothing of this process, which
// may have a GPU, pinned memory and many threads.
int spawn_in_group(const std::string& program, const std::vector<std::string>& arguments, int input,
                   int output, pid_t& process, const std::string& temporary_folder = {}) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  std::string own_folder = "TMPDIR=" + temporary_folder;
  std::vector<char*> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    if (temporary_folder.empty() || !std::string_view(*each).starts_with("TMPDIR=")) {
      variables.push_back(*each);
    }
  }
  if (!temporary_folder.empty()) {
    variables.push_back(own_folder.data());
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (input < 0) {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  } else {
    ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  }
  if (output < 0) {
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  } else {
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int status = ::posix_spawn(&process, program.c_str(), &actions, &attributes,
                                   pointers.data(), variables.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return status;
}

void wait_for(pid_t process) {
  int ended = 0;
  while (::waitpid(process, &ended, 0) < 0 && errno == EINTR) {
  }
}

// Kills a process group when this process ends, even by SIGKILL. PR_SET_PDEATHSIG would reach the
// compiler's driver alone, and not what that started; so a shell waits for the end of a pipe that
// only this process holds open, and kills then.
class GroupGuard {
 public:
  explicit GroupGuard(pid_t group) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    const std::string id = std::to_string(group);
    const char* const script =
        "read word || { kill -s TERM -- \"-$0\"; sleep 1; kill -s KILL -- \"-$0\"; }";
    if (spawn_in_group("/bin/sh", {"sh", "-c", script, id}, ends[0], -1, watcher_) != 0) {
      watcher_ = 0;
    }
    ::close(ends[0]);
    line_ = ends[1];
  }
  ~GroupGuard() {
    if (watcher_ != 0) {
      ::kill(watcher_, SIGKILL);
      wait_for(watcher_);
    }
    if (line_ >= 0) {
      ::close(line_);
    }
  }
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

 private:
  pid_t watcher_ = 0;
  int line_ = -1;
};

// Whether the descriptor became readable before the deadline.
bool is_ready_in_time(int descriptor, const ChildDeadline& deadline) {
  for (;;) {
    int left_ms = -1;
    if (deadline) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - ChildClock::now());
      left_ms = static_cast<int>(std::clamp<long long>(left.count() + 1, 0, INT_MAX));
    }
    pollfd ready = {descriptor, POLLIN, 0};
    const int events = ::poll(&ready, 1, left_ms);
    if (events >= 0 || errno != EINTR) {
      return events != 0;
    }
  }
}

// One pipe takes both streams, read to its end before waiting: the child can never block on us.
// False: the deadline came first.
bool read_to_end(int descriptor, const ChildDeadline& deadline, std::string& text) {
  std::array<char, 4096> buffer;
  while (is_ready_in_time(descriptor, deadline)) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return true;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return false;
}

// A child may close its output and go on.
bool ends_in_time(pid_t process, const ChildDeadline& deadline) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) {
    return true;  // a kernel without it: waitpid waits for as long as it takes
  }
  const bool is_in_time = is_ready_in_time(descriptor, deadline);
  ::close(descriptor);
  return is_in_time;
}

/// The programs that run_process waits for, each the leader of its group.
class RunningProcesses {
 public:
  static RunningProcesses& instance() {
    static auto* running = new RunningProcesses;  // threads may outlive static objects
    return *running;
  }
  /// Starts one, unless all were ended. @returns  0, or why none was started
  int start(const std::string& program, const std::vector<std::string>& arguments, int output,
            const std::string& temporary_folder, pid_t& process) {
    const std::lock_guard lock(mutex_);
    const int status =
        has_ended_ ? ECANCELED
                   : spawn_in_group(program, arguments, -1, output, process, temporary_folder);
    if (status == 0) {
      processes_.insert(process);
    }
    return status;
  }
  /// Before it is reaped: its number may be another process's afterwards.
  void remove(pid_t process) {
    const std::lock_guard lock(mutex_);
    processes_.erase(process);
  }
  void end(pid_t process) {
    const std::lock_guard lock(mutex_);
    if (processes_.count(process) != 0) {
      ::kill(-process, SIGKILL);
    }
  }
  void end_all() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    for (const pid_t each : processes_) {
      ::kill(-each, SIGKILL);
    }
  }

 private:
  std::mutex mutex_;
  std::set<pid_t> processes_;
  bool has_ended_ = false;
};

/// Until it has ended; it stays there to be reaped.
void wait_for_end(pid_t process) {
  siginfo_t info = {};
  while (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
}

}  // namespace

void end_running_processes() {
  RunningProcesses::instance().end_all();
}

ProcessResult run_process(const std::vector<std::string>& arguments,
                          std::optional<double> limit_seconds, const std::stop_token& stop,
                          const std::string& temporary_folder) {
  ProcessResult result;
  const std::string program = find_program(arguments[0]);
  if (program.empty()) {
    return {-1, {}, arguments[0] + ": " + std::strerror(ENOENT)};
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {-1, {}, std::string("pipe2: ") + std::strerror(errno)};
  }
  ChildDeadline deadline;
  if (limit_seconds) {
    deadline =
        ChildClock::now() + std::chrono::duration_cast<ChildClock::duration>(
                                std::chrono::duration<double>(std::min(*limit_seconds, 1e8)));
  }
  pid_t process = 0;
  RunningProcesses& running = RunningProcesses::instance();
  const int status = running.start(program, arguments, ends[1], temporary_folder, process);
  ::close(ends[1]);
  if (status != 0) {
    ::close(ends[0]);
    return {-1, {}, arguments[0] + ": " + std::strerror(status)};
  }
  const GroupGuard guard(process);
  {
    const std::stop_callback end_it(stop, [&] { running.end(process); });
    result.is_late =
        !read_to_end(ends[0], deadline, result.output) || !ends_in_time(process, deadline);
    ::close(ends[0]);
    if (result.is_late) {
      ::kill(-process, SIGKILL);
    }
    wait_for_end(process);
    running.remove(process);
  }
  int ended = 0;
  while (::waitpid(process, &ended, 0) < 0) {
    if (errno != EINTR) {
      // The program that uses us ignores SIGCHLD, so the system has forgotten how the child ended;
      // the caller sees by the missing output whether it failed.
      return result;
    }
  }
  result.exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
  return result;
}

std::string find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    return is_program(name) ? name : std::string();
  }
  const std::string given = environment("PATH");
  const std::string path = given.empty() ? "/usr/bin:/bin" : given;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (end > begin && is_program(candidate)) {
      return candidate;
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace rtcg::runtime
