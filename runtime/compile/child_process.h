#pragma once
// Internal header: it is not installed.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace rtcg::runtime {

struct ProcessResult {
  int exit_code = 0;       ///< 128 + the signal when one ended it; -1: could not be started
  std::string output;      ///< standard output and standard error, in their order
  std::string why_failed;  ///< when it could not be started
  bool is_late = false;    ///< it was killed at the end of its time
};

/// Runs a program and waits for it. No shell: arguments are not interpreted. Standard input is
/// empty. Several threads may call it at once. No process remains: the program and its children are
/// a process group, which is killed when its time is over and when this process ends for any
/// reason.
///
/// @param arguments      the program (looked for in PATH when without a slash), then its arguments
/// @param limit_seconds  time limit; nothing: none
/// @param stop           ends the group at once
/// @param temporary_folder  the TMPDIR of the program, if it is to have its own: a compiler that is
///                       killed leaves its files there
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments,
                                        std::optional<double> limit_seconds = {},
                                        const std::stop_token& stop = {},
                                        const std::string& temporary_folder = {});

/// Ends all programs that run_process waits for, with their children. Later calls start no program:
/// for a process that is about to end. Not for signal handlers.
void end_running_processes();

/// The path of a program as run_process would find it, or empty. An empty part of PATH, which a
/// shell takes for the current folder, is skipped.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace rtcg::runtime
