#pragma once

// How the program ends: by itself, with all output written, or by a signal, within a second and
// with no temporary files and no compilers left.

namespace rtcg::tools {

/// From now on SIGINT, SIGTERM, SIGHUP and SIGPIPE (the reader of its output is gone) end the
/// program as they would by themselves, with the exit status 128 + the signal, but remove temporary
/// files and end compilers first; signals that are ignored stay so. A command may set handlers of
/// its own. Where a kernel of the host divides an integer by 0, standard error says so before the
/// signal ends the program. Called once, before any thread starts.
void catch_signals();

/// While it lives, the command ends by itself when is_interrupted() says so, to keep what it has:
/// it gets a second for that. A second signal ends it at once.
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

/// Writes what was printed, and gives the exit status: `status`, or 1 where not all could be
/// written, which it says on standard error. Ends the program by the signal that interrupted it, or
/// where threads are left that nobody waits for.
[[nodiscard]] int end_output(int status);

}  // namespace rtcg::tools
