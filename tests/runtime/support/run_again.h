#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/child_process.h"

namespace rtcg::runtime::testing {

/// Runs some tests of this program in a process of its own.
///
/// The process is not a part of a run in shards, even if this one is: there it might have no test.
///
/// @param variables  of its environment, as NAME=value
/// @param wrapper    a program, and its arguments, that runs the process
/// @returns  exit code 0 only if at least one test ran
inline ProcessResult run_again(const std::string& filter, const std::vector<std::string>& variables,
                               const std::vector<std::string>& wrapper = {}) {
  std::vector<std::string> command = {"/usr/bin/env"};
  for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_SHARD_STATUS_FILE",
                           "GTEST_OUTPUT", "GTEST_REPEAT"}) {
    command.insert(command.end(), {"-u", name});
  }
  command.insert(command.end(), variables.begin(), variables.end());
  command.insert(command.end(), wrapper.begin(), wrapper.end());
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.push_back("--gtest_filter=" + filter);
  ProcessResult result = run_process(command);
  if (result.exit_code == 0 && result.output.find("[  PASSED  ] 0 tests") != std::string::npos) {
    result.exit_code = -1;
  }
  return result;
}

}  // namespace rtcg::runtime::testing
