#pragma once

#include <string>
#include <vector>

namespace rtcg::runtime {

struct ProcessResult {
  int exit_code = 0;       ///< 128 + the signal when one ended it; -1: could not be started
  std::string output;      ///< standard output and standard error, in their order
  std::string why_failed;  ///< when it could not be started
};

/// Runs a program and waits for it. No shell: each argument arrives as it is. Standard input is
/// empty. Works from several threads at once and leaves no process behind.
///
/// @param arguments  the program (looked for in PATH when without a slash), then its arguments
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments);

/// The path of a program as run_process would find it, or empty.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace rtcg::runtime
