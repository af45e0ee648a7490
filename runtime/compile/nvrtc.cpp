#include "rtcg/runtime/compile/nvrtc.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_words.h"
#include "rtcg/runtime/compile/diagnostics.h"
#include "rtcg/runtime/compile/header_scan.h"
#include "rtcg/runtime/compile/nvrtc_library.h"

namespace rtcg::runtime {
namespace {

// Loaded at the first compile, not at a lookup: opening it costs 5 ms.
const NvrtcLibrary& open_library() {
  static const NvrtcLibrary library(nvrtc_place().library);
  return library;
}

const NvrtcLibrary& require_library() {
  if (const std::string why = Nvrtc::instance().why_unavailable(); !why.empty()) {
    throw Unsupported("runtime.nvrtc.not_found", why);
  }
  return open_library();
}

std::array<int, 2> version_numbers(const NvrtcLibrary& nvrtc) {
  std::array<int, 2> numbers = {0, 0};
  nvrtc.version(&numbers[0], &numbers[1]);
  return numbers;
}

bool has_flag(const CompileRequest& request, std::initializer_list<std::string_view> prefixes) {
  const auto& flags = request.options.flags;
  return std::any_of(flags.begin(), flags.end(), [&](const std::string& flag) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return flag.rfind(prefix, 0) == 0; });
  });
}

// What rtcg adds of its own accord, but for what the caller decides by a flag; in the identity.
std::vector<std::string> default_flags(const CompileRequest& request) {
  std::vector<std::string> flags;
  if (!has_flag(request, {"--std", "-std"})) {
    flags.emplace_back("--std=c++20");
  }
  if (request.kind == OutputKind::cubin) {
    flags.emplace_back("--ptxas-options=-v");
  }
  if (request.kind == OutputKind::lto_ir) {
    flags.emplace_back("-dlto");
  }
  if (request.options.fast_math) {
    flags.emplace_back("--use_fast_math");
  }
  if (request.options.debug && !has_flag(request, {"-lineinfo", "--generate-line-info", "-G"})) {
    flags.emplace_back("--device-debug");
  }
  return flags;
}

// `sm_90a` -> 90; 0 when it is no CUDA target.
int arch_number(const std::string& target) {
  const std::size_t begin = target.rfind("sm_", 0) == 0 ? 3 : 0;
  std::size_t end = begin;
  while (end < target.size() && std::isdigit(static_cast<unsigned char>(target[end])) != 0) {
    ++end;
  }
  const std::string suffix = target.substr(end);
  const bool is_good = begin == 3 && end > begin && end < begin + 5 &&
                       (suffix.empty() || suffix == "a" || suffix == "f");
  return is_good ? std::stoi(target.substr(begin, end - begin)) : 0;
}

void check_cuda_request(const CompileRequest& request) {
  if (request.kind != OutputKind::cubin && request.kind != OutputKind::ptx &&
      request.kind != OutputKind::lto_ir) {
    throw InvalidInput(
        "runtime.nvrtc.wrong_kind",
        fmt::format("NVRTC makes cubin, ptx and lto_ir, not '{}'", to_string(request.kind)));
  }
  const std::vector<std::string> targets = Nvrtc::instance().supported_targets();
  const std::string plain = fmt::format("sm_{}", arch_number(request.target));
  if (std::find(targets.begin(), targets.end(), plain) == targets.end()) {
    throw InvalidInput(
        "runtime.nvrtc.unknown_target",
        fmt::format("NVRTC {} has no target '{}': its targets are {}, each also with the "
                    "suffix 'a' or 'f' where the architecture has one",
                    Nvrtc::instance().version(), request.target, fmt::join(targets, ", ")));
  }
}

std::vector<std::string> all_options(const NvrtcLibrary& nvrtc, const CompileRequest& request) {
  std::vector<std::string> options = {"--gpu-architecture=" + request.target};
  const std::vector<std::string> defaults = default_flags(request);
  options.insert(options.end(), defaults.begin(), defaults.end());
  if (version_numbers(nvrtc) >= std::array<int, 2>{12, 9}) {
    // A hit of NVRTC's own hidden cache would leave the log, and with it the resources, empty.
    options.emplace_back("--no-cache");
  }
  for (const auto& [name, value] : request.options.defines) {
    options.push_back("--define-macro=" + name + "=" + value);
  }
  for (const std::string& dir : request.options.include_dirs) {
    options.push_back("--include-path=" + dir);
  }
  const std::vector<std::string>& toolkit = nvrtc_place().includes;
  if (scan_headers(request, toolkit).needs_system) {
    for (const std::string& dir : toolkit) {
      options.push_back("--include-path=" + dir);
    }
  }
  options.insert(options.end(), request.options.flags.begin(), request.options.flags.end());
  return options;
}

// Owns one nvrtcProgram.
class Program {
 public:
  Program(const NvrtcLibrary& nvrtc, const CompileRequest& request) : nvrtc_(nvrtc) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const auto& [name, text] : request.options.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    const std::string file =
        request.source_path.empty() ? request.program_name + ".cu" : request.source_path;
    check(nvrtc_.create(&program_, request.source.text.c_str(), file.c_str(),
                        static_cast<int>(names.size()), texts.data(), names.data()),
          "nvrtcCreateProgram");
    for (const std::string& expression : request.options.name_expressions) {
      check(nvrtc_.add_name_expression(program_, expression.c_str()), "nvrtcAddNameExpression");
    }
  }
  ~Program() { nvrtc_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  NvrtcLibrary::Status compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) {
      texts.push_back(option.c_str());
    }
    return nvrtc_.compile(program_, static_cast<int>(texts.size()), texts.data());
  }

  [[nodiscard]] std::string log() const {
    std::size_t size_bytes = 0;
    check(nvrtc_.log_size(program_, &size_bytes), "nvrtcGetProgramLogSize");
    std::string text(size_bytes, '\0');
    check(nvrtc_.log(program_, text.data()), "nvrtcGetProgramLog");
    while (!text.empty() && text.back() == '\0') {
      text.pop_back();
    }
    return text;
  }

  /// What was made; empty: NVRTC has made something else.
  [[nodiscard]] std::vector<std::byte> binary(OutputKind kind) const {
    const bool is_cubin = kind == OutputKind::cubin;
    const bool is_ptx = kind == OutputKind::ptx;
    std::size_t size_bytes = 0;
    const NvrtcLibrary::Status status = (is_cubin ? nvrtc_.cubin_size
                                         : is_ptx ? nvrtc_.ptx_size
                                                  : nvrtc_.lto_ir_size)(program_, &size_bytes);
    if (status != NvrtcLibrary::success || size_bytes == 0) {
      return {};
    }
    std::vector<std::byte> bytes(size_bytes);
    check((is_cubin ? nvrtc_.cubin
           : is_ptx ? nvrtc_.ptx
                    : nvrtc_.lto_ir)(program_, reinterpret_cast<char*>(bytes.data())),
          "nvrtcGet...");
    if (is_ptx && bytes.back() == std::byte{0}) {
      bytes.pop_back();  // ptxas takes the end of a C string for an unexpected end of the text
    }
    return bytes;
  }

  [[nodiscard]] std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    check(nvrtc_.lowered_name(program_, expression.c_str(), &name), "nvrtcGetLoweredName");
    return name;
  }

 private:
  void check(NvrtcLibrary::Status status, const char* api) const {
    require_internal(status == NvrtcLibrary::success, fmt::format("{} succeeds, but it returned {}",
                                                                  api, nvrtc_.status_text(status)));
  }

  const NvrtcLibrary& nvrtc_;
  NvrtcLibrary::Program program_ = nullptr;
};

}  // namespace

std::vector<std::string> nvrtc_words(const CompileRequest& request) {
  return all_options(require_library(), request);
}

Nvrtc& Nvrtc::instance() {
  static Nvrtc nvrtc;
  return nvrtc;
}

std::string Nvrtc::why_unavailable() {
  const NvrtcPlace& place = nvrtc_place();
  return place.library.empty() ? place.why_not_found : open_library().why_unavailable();
}

std::string Nvrtc::version() {
  const std::array<int, 2> numbers = version_numbers(require_library());
  return fmt::format("{}.{}", numbers[0], numbers[1]);
}

std::vector<std::string> Nvrtc::supported_targets() {
  const NvrtcLibrary& nvrtc = require_library();
  int count = 0;
  nvrtc.supported_arch_count(&count);
  std::vector<int> archs(static_cast<std::size_t>(count));
  nvrtc.supported_archs(archs.data());
  std::vector<std::string> targets;
  for (const int arch : archs) {
    targets.push_back(fmt::format("sm_{}", arch));
  }
  return targets;
}

std::string Nvrtc::identity(const CompileRequest& request) {
  const NvrtcPlace& place = nvrtc_place();
  return place.library.empty()
             ? "none"
             : fmt::format("nvrtc {} {}", place.build, fmt::join(default_flags(request), " "));
}

std::vector<std::string> Nvrtc::system_include_dirs(const CompileRequest& /*request*/) {
  return nvrtc_place().includes;
}

CompiledProgram Nvrtc::compile(const CompileRequest& request) {
  const NvrtcLibrary& nvrtc = require_library();
  check_cuda_request(request);
  const std::vector<std::string> options = all_options(nvrtc, request);
  Program program(nvrtc, request);
  const NvrtcLibrary::Status status = program.compile(options);
  std::string log = program.log();
  if (status == NvrtcLibrary::invalid_option) {
    throw InvalidInput("runtime.nvrtc.bad_option",
                       fmt::format("NVRTC {} does not know an option among '{}': {}", version(),
                                   fmt::join(options, " "), log));
  }
  if (status != NvrtcLibrary::success) {
    throw compile_failure("runtime.nvrtc.refused", "NVRTC " + version(), request, options,
                          log.empty() ? nvrtc.status_text(status) : std::move(log));
  }
  CompiledProgram compiled;
  compiled.kind = request.kind;
  compiled.target = request.target;
  compiled.binary = program.binary(request.kind);
  if (compiled.binary.empty()) {
    throw InvalidInput(
        "runtime.nvrtc.no_result",
        fmt::format("NVRTC {} has made no {} of '{}' with the options '{}': leave the option out "
                    "that asks for another result; for -dlto, ask for lto_ir as the kind, or with "
                    "rtcg compile --target lto:{}",
                    version(), to_string(request.kind), request.program_name,
                    fmt::join(request.options.flags, " "), request.target));
  }
  for (const std::string& expression : request.options.name_expressions) {
    compiled.lowered_names[expression] = program.lowered(expression);
  }
  compiled.resources = parse_ptxas_log(log);
  compiled.log = std::move(log);
  compiled.source_path = request.source_path;
  return compiled;
}

}  // namespace rtcg::runtime
