#include "rtcg/runtime/compile/host_compiler.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/diagnostics.h"
#include "rtcg/runtime/compile/elf_build_id.h"
#include "rtcg/runtime/compile/files.h"

namespace rtcg::runtime {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

// A compiler and the arguments that its variable gave it (`ccache gcc`); empty: none was found.
std::vector<std::string> find_compiler(HostLanguage language) {
  const bool is_c = language == HostLanguage::c;
  for (const char* name : {is_c ? "RTCG_CC" : "RTCG_CXX", is_c ? "CC" : "CXX"}) {
    const std::vector<std::string> command = split(environment(name), ' ');
    if (!command.empty() && !find_program(command[0]).empty()) {
      return command;
    }
  }
  for (const char* name : {is_c ? "cc" : "c++", is_c ? "gcc" : "g++", is_c ? "clang" : "clang++"}) {
    if (!find_program(name).empty()) {
      return {name};
    }
  }
  return {};
}

std::vector<std::string> require_compiler(HostLanguage language) {
  std::vector<std::string> command = find_compiler(language);
  if (command.empty()) {
    const bool is_c = language == HostLanguage::c;
    throw Unsupported(
        "runtime.host_compiler.no_compiler",
        fmt::format("there is no {} compiler: looked for ${}, ${}, {} in PATH; install gcc or name "
                    "one in ${}",
                    is_c ? "C" : "C++", is_c ? "RTCG_CC" : "RTCG_CXX", is_c ? "CC" : "CXX",
                    is_c ? "cc, gcc, clang" : "c++, g++, clang++", is_c ? "RTCG_CC" : "RTCG_CXX"));
  }
  return command;
}

// What -march=native looks at. Only the first core is read: the list is long on large machines.
const std::string& cpu_identity() {
  static const std::string identity = [] {
    std::string text;
    std::istringstream cpu;
    if (FILE* file = std::fopen("/proc/cpuinfo", "re")) {
      std::string head(8192, '\0');
      head.resize(std::fread(head.data(), 1, head.size(), file));
      std::fclose(file);
      cpu.str(head.substr(0, head.find("\n\n")));
    }
    for (std::string line; std::getline(cpu, line);) {
      for (std::string_view name :
           {"vendor_id", "cpu family", "model", "flags", "Features", "CPU "}) {
        text += line.rfind(name, 0) == 0 ? line + "\n" : std::string();
      }
    }
    return to_hex(sha256(text)).substr(0, 16);
  }();
  return identity;
}

std::vector<std::string> default_flags(const CompileRequest& request) {
  const CompileOptions& options = request.options;
  std::vector<std::string> flags;
  if (options.debug) {
    flags = {"-O0", "-g"};
  } else {
    flags = {"-O3"};
  }
  flags.push_back("-march=" + (request.target == "host" ? std::string("native") : request.target));
  flags.insert(flags.end(), {"-fopenmp", "-fPIC"});
  if (options.language == HostLanguage::cpp) {
    flags.push_back("-std=c++20");
  } else {
    // what C++ refuses, C89 takes for an int: a misspelt function would give 0
    flags.insert(flags.end(), {"-Werror=implicit-function-declaration", "-Werror=implicit-int",
                               "-Werror=int-conversion", "-Werror=incompatible-pointer-types"});
  }
  if (options.fast_math) {
    flags.push_back("-ffast-math");
  }
  return flags;
}

void check_request(const CompileRequest& request) {
  if (request.kind != OutputKind::host_object && request.kind != OutputKind::host_shared_object) {
    throw InvalidInput("runtime.host_compiler.wrong_kind",
                       fmt::format("the host's compiler makes host_object and host_shared_object, "
                                   "not '{}'",
                                   to_string(request.kind)));
  }
  if (!request.options.name_expressions.empty()) {
    throw InvalidInput("runtime.host_compiler.name_expression",
                       fmt::format("the host's compiler cannot lower the name expression '{}': "
                                   "export functions with RTCG_KERNEL instead",
                                   request.options.name_expressions[0]));
  }
}

[[noreturn]] void fail_io(const std::string& path, const std::string& problem) {
  throw DeviceError("runtime.host_compiler.io_failed",
                    fmt::format("cannot write '{}' for the compiler: {}", path, problem),
                    problem.substr(0, problem.find(':')), problem);
}

void write_or_fail(const std::string& path, std::string_view bytes) {
  if (const std::string problem = write_file(path, bytes); !problem.empty()) {
    fail_io(path, problem);
  }
}

void write_header(const std::string& folder, const std::string& name, std::string_view text) {
  const fs::path path = fs::path(name).lexically_normal();
  if (name.empty() || path.is_absolute() || *path.begin() == "..") {
    throw InvalidInput("runtime.host_compiler.bad_header_name",
                       fmt::format("a header in memory cannot be named '{}': give a relative path "
                                   "that does not leave its folder",
                                   name));
  }
  const std::string target = (fs::path(folder) / path).string();
  if (const auto problem = make_private_folder(fs::path(target).parent_path().string());
      !problem.empty()) {
    fail_io(target, problem);
  }
  write_or_fail(target, text);
}

std::string file_name(const CompileRequest& request) {
  std::string name;
  for (const char c : request.program_name) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  }
  return name + (request.options.language == HostLanguage::c ? ".c" : ".cpp");
}

// Temporary paths mean nothing to a reader, and the log is stored.
std::string without_folder(std::string log, const std::string& folder) {
  for (std::size_t at = log.find(folder + "/"); at != std::string::npos;
       at = log.find(folder + "/")) {
    log.erase(at, folder.size() + 1);
  }
  return log;
}

void append(std::vector<std::string>& target, const std::vector<std::string>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

// Runs the compiler and reads what it made.
CompiledProgram run_compiler(const CompileRequest& request, std::vector<std::string> command,
                             const std::vector<std::string>& options, const std::string& folder) {
  const std::string output = folder + "/output";
  append(command, options);
  append(command, {"-o", output});
  const ProcessResult result = run_process(command);
  std::string log = without_folder(result.output + result.why_failed, folder);
  const auto binary = read_file(output);
  if (result.exit_code != 0 || !binary || binary->empty()) {
    throw compile_failure("runtime.host_compiler.refused", command[0], request, options,
                          std::move(log));
  }
  CompiledProgram program;
  program.kind = request.kind;
  program.target = request.target;
  const auto* begin = reinterpret_cast<const std::byte*>(binary->data());
  program.binary.assign(begin, begin + binary->size());
  program.log = std::move(log);
  program.source_path = request.source_path;
  return program;
}

// Folders that compilers search by themselves. More than one compiler's may be among them: a header
// too many only makes the key stricter.
const std::vector<std::string>& installed_dirs(HostLanguage language) {
  static const auto find = [](bool is_cpp) {
    std::vector<std::string> dirs;
    std::error_code ignored;
    const auto add = [&](const fs::path& dir) {
      if (fs::is_directory(dir, ignored)) {
        dirs.push_back(dir.string());
      }
    };
    for (const fs::path& triple : fs::directory_iterator("/usr/lib/gcc", ignored)) {
      for (const fs::path& version : fs::directory_iterator(triple, ignored)) {
        if (is_cpp) {
          add("/usr/include/c++" / version.filename());
          add("/usr/include" / triple.filename() / "c++" / version.filename());
        }
        add(version / "include");
      }
      add("/usr/include" / triple.filename());
    }
    add("/usr/local/include");
    add("/usr/include");
    return dirs;
  };
  static const std::vector<std::string> c_dirs = find(false);
  static const std::vector<std::string> cpp_dirs = find(true);
  return language == HostLanguage::c ? c_dirs : cpp_dirs;
}

}  // namespace

HostCompiler& HostCompiler::instance() {
  static HostCompiler compiler;
  return compiler;
}

std::string HostCompiler::identity(const CompileRequest& request) {
  const std::vector<std::string> command = find_compiler(request.options.language);
  if (command.empty()) {
    return "none";
  }
  std::error_code ignored;
  const fs::path program = fs::canonical(find_program(command[0]), ignored);
  std::string text = fmt::format("{} {} {}", program.filename().string(),
                                 elf_build_id(program.string()).substr(0, 40),
                                 fmt::join(default_flags(request), " "));
  for (std::size_t i = 1; i < command.size(); ++i) {
    text += " " + command[i];
  }
  static const std::string header = to_hex(sha256(host_kernel_header())).substr(0, 8);
  return text + " cpu " + cpu_identity() + " header " + header;
}

std::vector<std::string> HostCompiler::system_include_dirs(const CompileRequest& request) {
  const HostLanguage language = request.options.language;
  std::vector<std::string> dirs;
  for (const char* name :
       {"CPATH", language == HostLanguage::c ? "C_INCLUDE_PATH" : "CPLUS_INCLUDE_PATH"}) {
    append(dirs, split(environment(name), ':'));
  }
  append(dirs, installed_dirs(language));
  return dirs;
}

CompiledProgram HostCompiler::compile(const CompileRequest& request) {
  check_request(request);
  const std::vector<std::string> command = require_compiler(request.options.language);
  const TemporaryFolder folder;
  // A kept source keeps its headers too: debuggers show both.
  const bool is_kept = !request.source_path.empty();
  const std::string source =
      is_kept ? request.source_path : folder.path() + "/" + file_name(request);
  const std::string headers =
      is_kept ? request.source_path + ".headers" : folder.path() + "/include";
  if (!is_kept) {
    write_or_fail(source, request.source.text);
  }
  write_header(headers, "rtcg/host_kernel.h", host_kernel_header());
  for (const auto& [name, text] : request.options.headers) {
    write_header(headers, name, text);
  }
  std::vector<std::string> options = default_flags(request);
  options.push_back(request.kind == OutputKind::host_object ? "-c" : "-shared");
  options.push_back("-ffile-prefix-map=" + folder.path() + "/=");
  options.push_back("-I" + headers);
  for (const auto& [name, value] : request.options.defines) {
    options.push_back("-D" + name + "=" + value);
  }
  for (const std::string& dir : request.options.include_dirs) {
    options.push_back("-I" + dir);
  }
  append(options, request.options.flags);
  // After the flags a source may need libraries (-lm): they follow it on the line.
  const auto is_library = [](const std::string& flag) { return flag.rfind("-l", 0) == 0; };
  std::stable_partition(options.begin(), options.end(),
                        [&](const std::string& flag) { return !is_library(flag); });
  options.insert(std::find_if(options.begin(), options.end(), is_library), source);
  return run_compiler(request, command, options, folder.path());
}

CompiledProgram HostCompiler::link(const std::vector<CompiledProgram>& objects,
                                   const std::vector<std::string>& flags, HostLanguage language) {
  const TemporaryFolder folder;
  std::vector<std::string> options = {"-shared", "-fopenmp"};
  for (const CompiledProgram& object : objects) {
    if (object.kind != OutputKind::host_object) {
      throw InvalidInput(
          "runtime.host_compiler.wrong_kind",
          fmt::format("only a host_object can be linked, not a '{}'", to_string(object.kind)));
    }
    options.push_back(fmt::format("{}/object{}.o", folder.path(), options.size() - 2));
    write_or_fail(options.back(),
                  {reinterpret_cast<const char*>(object.binary.data()), object.binary.size()});
  }
  append(options, flags);
  CompileRequest request;
  request.program_name = "linked objects";
  return run_compiler(request, require_compiler(language), options, folder.path());
}

}  // namespace rtcg::runtime
