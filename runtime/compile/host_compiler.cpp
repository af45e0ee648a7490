#include "rtcg/runtime/compile/host_compiler.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/cache_key.h"
#include "rtcg/runtime/compile/child_process.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/compile_words.h"
#include "rtcg/runtime/compile/compile_workers.h"
#include "rtcg/runtime/compile/compiler_judge.h"
#include "rtcg/runtime/compile/diagnostics.h"
#include "rtcg/runtime/compile/elf_build_id.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/host_self_test.h"

namespace rtcg::runtime {
namespace {

namespace fs = std::filesystem;

// Programs may have loaded it, but not what it brings for vectors.
constexpr const char* math_library = "-lm";

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

// Included before every text that tcc compiles.
constexpr std::string_view tiny_c_header =
    R"(/* What tcc lacks of the builtin functions of gcc that generated C uses. */
#ifndef RTCG_TINY_C_H
#define RTCG_TINY_C_H

void *memcpy(void *, const void *, unsigned long);
#define __builtin_memcpy memcpy
#define __builtin_inf() 1e999
#define __builtin_inff() ((float)1e999)
#define __builtin_nan(text) (1e999 - 1e999)
#define __builtin_nanf(text) ((float)(1e999 - 1e999))
#define __builtin_isnan(x) ((x) != (x))
#define __builtin_isinf(x) ((x) == 1e999 || (x) == -1e999)
#define __builtin_isfinite(x) ((x) - (x) == 0)
#define __builtin_unreachable() ((void)0)
#define __builtin_prefetch(...) ((void)0)
static inline int __builtin_abs(int x) {
  return x < 0 ? -x : x;
}
static inline long long __builtin_llabs(long long x) {
  return x < 0 ? -x : x;
}
static inline int __builtin_clzll(unsigned long long x) {
  int zeros = 64;
  for (; x != 0; x >>= 1) --zeros;
  return zeros;
}
static inline int __builtin_clz(unsigned x) {
  return __builtin_clzll(x) - 32;
}
static inline int __builtin_popcountll(unsigned long long x) {
  int ones = 0;
  for (; x != 0; x &= x - 1) ++ones;
  return ones;
}
#define __builtin_popcount(x) __builtin_popcountll((unsigned)(x))

#define __ATOMIC_RELAXED 0
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_SEQ_CST 5
#define __atomic_thread_fence(order) __asm__ volatile("mfence" : : : "memory")
/* Of 1, 2, 4 or 8 bytes. */
#define RTCG_TINY_EXCHANGE(TYPE, INSTRUCTION)                                                       \
  {                                                                                                 \
    TYPE before = *(TYPE *)expected;                                                                \
    __asm__ volatile("lock; " INSTRUCTION " %3, (%2); sete %1"                                      \
                     : "=a"(before), "=c"(ok)                                                       \
                     : "D"(target), "d"(*(const TYPE *)value), "0"(before)                          \
                     : "memory", "cc");                                                             \
    *(TYPE *)expected = before;                                                                     \
  }
static inline int rtcg_tiny_exchange(volatile void *target, void *expected, const void *value,
                                     unsigned long bytes) {
  unsigned char ok = 0;
  if (bytes == 8) RTCG_TINY_EXCHANGE(long long, "cmpxchgq")
  else if (bytes == 4) RTCG_TINY_EXCHANGE(int, "cmpxchgl")
  else if (bytes == 2) RTCG_TINY_EXCHANGE(short, "cmpxchgw")
  else RTCG_TINY_EXCHANGE(char, "cmpxchgb")
  return ok;
}
#define __atomic_load(target, found, order) (*(found) = *(target))
#define __atomic_compare_exchange(target, expected, value, is_weak, success, failure) \
  rtcg_tiny_exchange(target, expected, value, sizeof *(target))
#define RTCG_TINY_UPDATE(target, NEXT)                                            \
  ({                                                                              \
    __typeof__(*(target)) rtcg_found = *(target), rtcg_next;                      \
    do rtcg_next = NEXT;                                                          \
    while (!rtcg_tiny_exchange(target, &rtcg_found, &rtcg_next, sizeof *(target))); \
    rtcg_found;                                                                   \
  })
#define __atomic_fetch_add(target, value, order) RTCG_TINY_UPDATE(target, rtcg_found + (value))
#define __atomic_fetch_sub(target, value, order) RTCG_TINY_UPDATE(target, rtcg_found - (value))
#define __atomic_fetch_and(target, value, order) RTCG_TINY_UPDATE(target, rtcg_found &(value))
#define __atomic_fetch_or(target, value, order) RTCG_TINY_UPDATE(target, rtcg_found | (value))
#define __atomic_fetch_xor(target, value, order) RTCG_TINY_UPDATE(target, rtcg_found ^ (value))
#define __atomic_exchange_n(target, value, order) RTCG_TINY_UPDATE(target, (value))

#endif
)";

// A compiler and the arguments that its variable gave it (`ccache gcc`).
struct CompilerCommand {
  std::vector<std::string> words{};  ///< empty: none was found
  bool is_tiny = false;              ///< tcc, which knows few flags and does not optimise
};

// Also behind a wrapper such as `ccache tcc`, or a link such as `cc`.
bool names_tiny_c_compiler(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    std::error_code ignored;
    const std::string path = word.rfind('-', 0) == 0 ? "" : find_program(word);
    const std::string name = fs::canonical(path, ignored).filename().string();
    return name == "tcc" || (name.size() > 4 && name.rfind("-tcc") == name.size() - 4);
  });
}

// CC and CXX are for every program, so their compilers may be missing; RTCG_CC and RTCG_CXX are for
// this one.
CompilerCommand find_compiler(HostLanguage language) {
  const bool is_c = language == HostLanguage::c;
  const char* const own = is_c ? "RTCG_CC" : "RTCG_CXX";
  for (const char* name : {own, is_c ? "CC" : "CXX"}) {
    const std::vector<std::string> command = split(environment(name), ' ');
    if (!command.empty() && !find_program(command[0]).empty()) {
      return {command, is_c && names_tiny_c_compiler(command)};
    }
    if (!command.empty() && name == own) {
      throw Unsupported("runtime.host_compiler.not_found",
                        fmt::format("{} names '{}', which is not an executable program: correct "
                                    "it, or unset it to use the system's compiler",
                                    own, command[0]));
    }
  }
  for (const char* name : {is_c ? "cc" : "c++", is_c ? "gcc" : "g++", is_c ? "clang" : "clang++"}) {
    if (!find_program(name).empty()) {
      return {{name}, is_c && names_tiny_c_compiler({name})};
    }
  }
  return {};
}

CompilerCommand require_compiler(HostLanguage language) {
  CompilerCommand command = find_compiler(language);
  if (command.words.empty()) {
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

void append(std::vector<std::string>& target, const std::vector<std::string>& more) {
  target.insert(target.end(), more.begin(), more.end());
}

std::vector<std::string> flags_of_this_compiler(const std::vector<std::string>& command) {
  const bool is_clang = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    std::error_code ignored;
    return fs::canonical(find_program(word), ignored).filename().string().rfind("clang", 0) == 0;
  });
  if (!is_clang) {
    // gcc 12 does not end where it jams a loop around the maxima of lanes
    return {"-fno-loop-unroll-and-jam"};
  }
  // clang does not learn from declarations that functions have variants for vectors. Those of glibc
  // are within 4 units in the last place; other libraries have none that it knows.
#if defined(__x86_64__) && defined(__GLIBC__)
  return {"-fveclib=libmvec"};
#else
  return {};
#endif
}

// tcc has no optimiser, and takes flags that it does not know for nothing. Of its warnings the
// first one ends the compile, among them those that gcc's flags below make errors.
std::vector<std::string> flags_of_tiny_c_compiler(const CompileRequest& request) {
  if (request.target != "host") {
    throw Unsupported("runtime.host_compiler.one_target",
                      fmt::format("tcc makes code for the processor that it was built for, not for "
                                  "'{}': name gcc or clang in RTCG_CC",
                                  request.target));
  }
  std::vector<std::string> flags = {"-Wimplicit-function-declaration", "-Werror"};
  if (request.options.debug) {
    flags.insert(flags.begin(), "-g");
  }
  return flags;
}

std::vector<std::string> default_flags(const CompileRequest& request,
                                       const CompilerCommand& command) {
  if (command.is_tiny) {
    return flags_of_tiny_c_compiler(request);
  }
  const CompileOptions& options = request.options;
  std::vector<std::string> flags;
  if (options.debug) {
    flags = {"-O0", "-g"};
  } else {
    flags = {"-O3"};
  }
  flags.push_back("-march=" + (request.target == "host" ? std::string("native") : request.target));
  // Nobody reads the flags of floating-point exceptions. With AVX-512 gcc 12 and 13 keep arithmetic
  // that may trap to the lanes of its branch, and mistake the lanes. Nor does anybody read errno,
  // for which a square root is a call and no instruction of vectors.
  flags.insert(flags.end(), {"-fopenmp", "-fPIC", "-fno-trapping-math", "-fno-math-errno"});
  append(flags, flags_of_this_compiler(command.words));
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

double time_limit_seconds() {
  constexpr double usual = 300;
  return environment_seconds("RTCG_COMPILE_SECONDS").value_or(usual);
}

// Without optimisation there is nothing to judge, and code for another processor cannot be run.
bool is_judged(const CompileRequest& request, const CompilerCommand& command) {
  return !request.options.debug && request.target == "host" && !command.is_tiny &&
         !CompilerJudge::is_switched_off();
}

// The narrowest first. gcc 12 keeps what it knows of a guarded value when it drops the guard, and
// its dominator passes believe that; the if-conversion is what drops guards.
const std::vector<std::vector<std::string>>& mends() {
  static const std::vector<std::vector<std::string>> flags = {
      {"-fno-tree-dominator-opts"},
      {"-fno-tree-loop-if-convert"},
      {"-fno-tree-loop-if-convert", "-fno-tree-vectorize"},
      {"-O1"},
  };
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

bool is_library(const std::string& flag) {
  return flag.rfind("-l", 0) == 0;
}

// Systems refuse names of more than 255 bytes; the folder is the program's own.
std::string file_name(const CompileRequest& request) {
  constexpr std::size_t longest_stem = 100;
  std::string name;
  for (const char c : request.program_name.substr(0, longest_stem)) {
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

// Runs the compiler and reads its output.
CompiledProgram run_compiler(const CompileRequest& request, std::vector<std::string> command,
                             const std::vector<std::string>& options, const std::string& folder,
                             const std::stop_token& stop = {}) {
  const std::string output = folder + "/output";
  append(command, options);
  append(command, {"-o", output});
  const double limit_seconds = time_limit_seconds();
  const ProcessResult result = run_process(command, limit_seconds, stop, folder);
  if (stop.stop_requested()) {
    throw_stopped(request);
  }
  if (result.is_late) {
    throw DeviceError(
        "runtime.host_compiler.time_limit",
        fmt::format("'{}' did not compile '{}' in {} s and was killed; a smaller text "
                    "is compiled faster, and RTCG_COMPILE_SECONDS gives more time",
                    command[0], request.program_name, limit_seconds),
        command[0], "timeout");
  }
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

// The self-test's text, compiled with the flags of the request, and run.
CompilerJudge::Trial run_self_test(const CompileRequest& request, const CompilerCommand& compiler,
                                   const std::vector<std::string>& mend) {
  using Result = CompilerJudge::Trial::Result;
  constexpr double limit_seconds = 60;
  const TemporaryFolder folder;
  const bool is_c = request.options.language == HostLanguage::c;
  const std::string source = folder.path() + (is_c ? "/self_test.c" : "/self_test.cpp");
  const std::string program = folder.path() + "/self_test";
  write_or_fail(source, host_self_test());
  std::vector<std::string> command = compiler.words;
  append(command, default_flags(request, compiler));
  append(command, mend);
  append(command, {source, "-o", program, math_library});
  if (run_process(command, limit_seconds, {}, folder.path()).exit_code != 0) {
    return {};
  }
  const ProcessResult ran = run_process({program}, limit_seconds);
  if (ran.exit_code < 0 || ran.is_late) {
    return {};
  }
  return {ran.exit_code == 0 ? Result::right : Result::wrong,
          std::string(host_self_test_part(ran.exit_code))};
}

std::string identity_of(const CompileRequest& request, const CompilerCommand& command);

// What is added to the flags so that the compiler is right.
std::vector<std::string> judged_flags(const CompileRequest& request,
                                      const CompilerCommand& command) {
  if (!is_judged(request, command)) {
    return {};
  }
  static CompilerJudge judge(CompileCache::standard().is_enabled()
                                 ? CompileCache::standard().folder() + "/compilers"
                                 : std::string());
  const CompilerJudge::Verdict verdict =
      judge.judge(identity_of(request, command), mends(),
                  [&](const auto& mend) { return run_self_test(request, command, mend); });
  if (!verdict.why_refused.empty()) {
    throw Unsupported(
        "runtime.host_compiler.miscompiles",
        fmt::format("'{}' with {} miscompiles {}, also with each of the flags that usually "
                    "prevent it: name another compiler in {}, or set "
                    "RTCG_TRUST_COMPILER=1 to use it anyway",
                    command.words[0], fmt::join(default_flags(request, command), " "),
                    verdict.why_refused,
                    request.options.language == HostLanguage::c ? "RTCG_CC" : "RTCG_CXX"));
  }
  return verdict.flags;
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

// The verdict itself is not part of it, so that a hit asks for none: it follows from the compiler,
// its flags, the CPU and the text of the self-test.
std::string identity_of(const CompileRequest& request, const CompilerCommand& command) {
  std::error_code ignored;
  const fs::path program = fs::canonical(find_program(command.words[0]), ignored);
  std::string text = fmt::format("{} {} {}", program.filename().string(),
                                 elf_build_id(program.string()).substr(0, 40),
                                 fmt::join(default_flags(request, command), " "));
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    text += " " + command.words[i];
  }
  static const std::string header =
      to_hex(sha256(std::string(host_kernel_header()) + std::string(host_image_header())))
          .substr(0, 8);
  if (command.is_tiny) {
    text += " builtins " + to_hex(sha256(tiny_c_header)).substr(0, 8);
  }
  static const std::string self_test = to_hex(sha256(host_self_test())).substr(0, 8);
  return fmt::format("{} cpu {} header {} {}", text, cpu_identity(), header,
                     is_judged(request, command) ? "judged by " + self_test : "not judged");
}

}  // namespace

std::vector<std::string> host_compile_words(const CompileRequest& request,
                                            std::vector<std::string>& libraries) {
  const CompilerCommand command = require_compiler(request.options.language);
  std::vector<std::string> words = command.words;
  append(words, default_flags(request, command));
  append(words, judged_flags(request, command));
  for (const auto& [name, value] : request.options.defines) {
    words.push_back("-D" + name + "=" + value);
  }
  append(words, request.options.flags);
  const auto first = std::stable_partition(
      words.begin(), words.end(), [](const std::string& word) { return !is_library(word); });
  libraries.assign(first, words.end());
  libraries.emplace_back(math_library);
  words.erase(first, words.end());
  return words;
}

std::string_view forced_host_header(const CompileRequest& request) {
  return require_compiler(request.options.language).is_tiny ? tiny_c_header : std::string_view();
}

HostCompiler& HostCompiler::instance() {
  static HostCompiler compiler;
  return compiler;
}

std::string HostCompiler::identity(const CompileRequest& request) {
  const CompilerCommand command = find_compiler(request.options.language);
  return command.words.empty() ? "none" : identity_of(request, command);
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
  return compile(request, {});
}

CompiledProgram HostCompiler::compile(const CompileRequest& request, const std::stop_token& stop) {
  check_request(request);
  const CompilerCommand command = require_compiler(request.options.language);
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
  write_header(headers, "rtcg/host_image.h", host_image_header());
  for (const auto& [name, text] : request.options.headers) {
    write_header(headers, name, text);
  }
  std::vector<std::string> options = default_flags(request, command);
  append(options, judged_flags(request, command));
  options.push_back(request.kind == OutputKind::host_object ? "-c" : "-shared");
  if (command.is_tiny) {
    write_header(headers, "rtcg/tiny_c.h", tiny_c_header);
    append(options, {"-include", headers + "/rtcg/tiny_c.h"});
  } else {
    options.push_back("-ffile-prefix-map=" + folder.path() + "/=");
  }
  options.push_back("-I" + headers);
  for (const auto& [name, value] : request.options.defines) {
    options.push_back("-D" + name + "=" + value);
  }
  for (const std::string& dir : request.options.include_dirs) {
    options.push_back("-I" + dir);
  }
  append(options, request.options.flags);
  if (request.kind == OutputKind::host_shared_object) {
    options.emplace_back(math_library);
  }
  // A source needs the libraries that follow it on the line.
  std::stable_partition(options.begin(), options.end(),
                        [&](const std::string& flag) { return !is_library(flag); });
  options.insert(std::find_if(options.begin(), options.end(), is_library), source);
  return run_compiler(request, command.words, options, folder.path(), stop);
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
  options.emplace_back(math_library);
  CompileRequest request;
  request.program_name = "linked objects";
  return run_compiler(request, require_compiler(language).words, options, folder.path());
}

}  // namespace rtcg::runtime
