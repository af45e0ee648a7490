#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime::testing {

/// A folder of its own, gone at the end of the test.
class ScratchFolder {
 public:
  ScratchFolder() {
    path_ = (std::filesystem::temp_directory_path() / "rtcg-test-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) {
      std::abort();
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Sets an environment variable (null: removes it) until the end of the scope.
class EnvironmentGuard {
 public:
  EnvironmentGuard(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    had_value_ = before != nullptr;
    before_ = had_value_ ? before : "";
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  ~EnvironmentGuard() {
    had_value_ ? ::setenv(name_.c_str(), before_.c_str(), 1) : ::unsetenv(name_.c_str());
  }
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;

 private:
  std::string name_;
  std::string before_;
  bool had_value_ = false;
};

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Its binary is the source, `copies` times: cheap, and wrong ones are recognised at once.
class FakeCompiler : public Compiler {
 public:
  std::string name = "fake 1.0";
  std::size_t copies = 1;
  std::atomic<int> compiled = 0;
  std::function<void()> while_compiling = [] {};

  [[nodiscard]] std::string identity(const CompileRequest& /*request*/) override { return name; }

  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override {
    ++compiled;
    while_compiling();
    CompiledProgram program;
    program.kind = request.kind;
    program.target = request.target;
    for (std::size_t i = 0; i < copies; ++i) {
      for (const char c : request.source.text) {
        program.binary.push_back(static_cast<std::byte>(c));
      }
    }
    program.lowered_names = {{"scale<float>", "_Z5scaleIfEvT_"}};
    KernelResources kernel;
    kernel.name = "k";
    kernel.registers = 32;
    kernel.spill_store_bytes = 16;
    program.resources = {kernel};
    program.log = "a warning";
    return program;
  }
};

inline std::string text_of(const CompiledProgram& program) {
  return {reinterpret_cast<const char*>(program.binary.data()), program.binary.size()};
}

inline CompileRequest request_of(const std::string& source) {
  CompileRequest request;
  request.source.text = source;
  return request;
}

inline std::vector<std::string> entries_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& item : std::filesystem::directory_iterator(folder)) {
    if (item.path().extension() == ".rtcg") {
      paths.push_back(item.path().string());
    }
  }
  return paths;
}

}  // namespace rtcg::runtime::testing
