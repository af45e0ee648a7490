#pragma once

// How the program ends: by itself, with all output written, or by a signal, within a second and
// with no temporary files and no compilers left.

namespace rtcg::tools {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE (the reader of its output has ended) remove
/// temporary files and end compilers, and then end the program as by default, with the exit status
/// 128 + the signal. Ignored signals stay ignored. A command may set its own handlers. If a kernel
/// of the host divides an integer by 0, standard error states it before the signal ends the
/// program. Called once, before any thread starts.
void catch_signals();

/// While it exists, the command ends by itself if is_interrupted(), and saves its results: it has a
/// second for that. A second signal ends it at once.
class EndsByItself {
 public:
  EndsByItself();
  ~EndsByItself();
  EndsByItself(const EndsByItself&) = delete;
  EndsByItself& operator=(const EndsByItself&) = delete;
};
[[nodiscard]] bool is_interrupted();
/// For handlers of signals: whether another signal came within the last 200 ms. `timeout` sends its
/// signal to the process and then to its group, which is one request to end.
[[nodiscard]] bool is_same_request();

/// Flushes the output and returns the exit status: `status`, or 1 if the output cannot be written,
/// with a message on standard error. Ends the program here if a signal interrupted it, or if
/// threads are left that need not be waited for.
[[nodiscard]] int end_output(int status);

}  // namespace rtcg::tools
