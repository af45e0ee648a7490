#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

namespace rtcg::testing {

/// A folder of its own for a test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rtcg_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct CommandResult {
  int status = 0;
  std::string output;
};

/// Runs a command line of the test's own making; output is what it printed on both streams.
inline CommandResult run_command(const std::string& command) {
  CommandResult result;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t count = ::fread(buffer, 1, sizeof(buffer), pipe)) {
    result.output.append(buffer, count);
  }
  result.status = ::pclose(pipe);
  return result;
}

enum class HostLanguage { c, cpp };

/// Compiles `text` with the system's compiler, all warnings being errors, and runs it when asked.
inline CommandResult compile_text(const std::string& text, HostLanguage language,
                                  const std::string& flags = "", bool and_run = false) {
  const ScratchFolder folder;
  const std::string source =
      (folder.path() / (language == HostLanguage::c ? "text.c" : "text.cpp")).string();
  std::ofstream(source) << text;
  const std::string program = (folder.path() / "program").string();
  const std::string compiler = language == HostLanguage::c ? "cc -std=c11 " : "c++ -std=c++20 ";
  const std::string what = and_run ? "-o " + program + " " : "-c -o " + program + ".o ";
  CommandResult result =
      run_command(compiler + "-Wall -Wextra -Werror " + flags + " " + what + source);
  if (result.status == 0 && and_run) {
    result = run_command(program);
  }
  return result;
}

}  // namespace rtcg::testing
