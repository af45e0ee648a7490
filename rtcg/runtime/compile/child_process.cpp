#include "rtcg/runtime/compile/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rtcg::runtime {
namespace {

// One pipe takes both streams, read to its end before waiting: the child can never block on us.
int spawn(const std::vector<std::string>& arguments, int output, pid_t& process) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  const int status =
      ::posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return status;
}

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments) {
  ProcessResult result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return {-1, {}, std::string("pipe2: ") + std::strerror(errno)};
  }
  pid_t process = 0;
  const int status = spawn(arguments, ends[1], process);
  ::close(ends[1]);
  if (status != 0) {
    ::close(ends[0]);
    return {-1, {}, arguments[0] + ": " + std::strerror(status)};
  }
  result.output = read_to_end(ends[0]);
  ::close(ends[0]);
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
  const char* given = std::getenv("PATH");
  const std::string path = given == nullptr ? "/usr/bin:/bin" : given;
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
