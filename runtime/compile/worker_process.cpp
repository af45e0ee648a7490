#include "rtcg/runtime/compile/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>

namespace rtcg::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

// More than any text or binary has: what asks for more talks about something else.
constexpr std::uint64_t longest_message = std::uint64_t{1} << 32;

/// Milliseconds for poll: -1 for ever.
int time_left(const Deadline& deadline) {
  if (!deadline) {
    return -1;
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left + 1, 0, INT_MAX));
}

Reception read_bytes(int socket, char* bytes, std::size_t count, const Deadline& deadline) {
  while (count > 0) {
    pollfd ready = {socket, POLLIN, 0};
    const int events = ::poll(&ready, 1, time_left(deadline));
    if (events == 0) {
      return Reception::late;
    }
    if (events < 0 && errno == EINTR) {
      continue;
    }
    const ssize_t got = ::recv(socket, bytes, count, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return Reception::closed;
    }
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return Reception::whole;
}

bool write_bytes(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    // no SIGPIPE for the program that uses us
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      return false;
    }
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

// In a process group of its own: Ctrl-C on the terminal is for us to deal with. posix_spawn copies
// nothing of the process, so that it may have a GPU and many threads.
int spawn(const std::vector<std::string>& command, int input, pid_t& process) {
  std::vector<char*> pointers;
  for (const std::string& each : command) {
    pointers.push_back(const_cast<char*>(each.c_str()));
  }
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int status =
      ::posix_spawnp(&process, pointers[0], &actions, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return status;
}

}  // namespace

bool send_message(int socket, std::string_view message) {
  const std::uint64_t length = message.size();
  char head[sizeof length];
  std::memcpy(head, &length, sizeof length);
  return write_bytes(socket, head, sizeof head) &&
         write_bytes(socket, message.data(), message.size());
}

Received receive_message(int socket, Deadline deadline) {
  std::uint64_t length = 0;
  Received received;
  received.how = read_bytes(socket, reinterpret_cast<char*>(&length), sizeof length, deadline);
  if (received.how != Reception::whole) {
    return received;
  }
  if (length > longest_message) {
    return {};
  }
  received.message.resize(length);
  received.how = read_bytes(socket, received.message.data(), length, deadline);
  return received;
}

std::shared_ptr<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& command,
                                                    std::string& problem) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    problem = std::string("socketpair: ") + std::strerror(errno);
    return nullptr;
  }
  pid_t process = 0;
  const int status = spawn(command, ends[1], process);
  ::close(ends[1]);
  if (status != 0) {
    ::close(ends[0]);
    problem = "'" + command[0] + "': " + std::strerror(status);
    return nullptr;
  }
  return std::shared_ptr<WorkerProcess>(new WorkerProcess(process, ends[0]));
}

WorkerProcess::~WorkerProcess() {
  kill();
  ::close(socket_);
  int ended = 0;
  // ECHILD where the program ignores SIGCHLD: the system has forgotten the process by itself
  while (::waitpid(process_, &ended, 0) < 0 && errno == EINTR) {
  }
}

void WorkerProcess::kill() const noexcept {
  ::kill(process_, SIGKILL);
}

}  // namespace rtcg::runtime
