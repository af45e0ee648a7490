#pragma once
// Internal header: it is not installed.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace rtcg::runtime {

/// Sends one message: its length as 8 bytes, then itself. False if there is no reader.
[[nodiscard]] bool send_message(int socket, std::string_view message);

/// How waiting for a message ended.
enum class Reception { whole, closed, late };
struct Received {
  Reception how = Reception::closed;
  std::string message{};
};
/// The next message. @param deadline  nothing: waits for ever
[[nodiscard]] Received receive_message(
    int socket, std::optional<std::chrono::steady_clock::time_point> deadline = {});

/// A started program whose standard input is one end of a socket. The destructor kills it and waits
/// for it.
class WorkerProcess {
 public:
  /// Null if it cannot be started; `problem` is then the reason.
  /// @param command  program and arguments; no shell
  [[nodiscard]] static std::shared_ptr<WorkerProcess> start(const std::vector<std::string>& command,
                                                            std::string& problem);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// For the one thread that talks to it.
  [[nodiscard]] int socket() const noexcept { return socket_; }
  [[nodiscard]] pid_t id() const noexcept { return process_; }
  /// Ends it at once. Any thread may call, also while another uses it.
  void kill() const noexcept;

 private:
  WorkerProcess(pid_t process, int socket) : process_(process), socket_(socket) {}
  pid_t process_;
  int socket_;
};

}  // namespace rtcg::runtime
