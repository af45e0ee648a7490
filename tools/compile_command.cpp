// rtcg compile: text in, resource use out; no device is needed for CUDA or the host.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime.h"
#include "rtcg/runtime/compile/host_compiler.h"
#include "rtcg/runtime/compile/nvrtc.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/progress.h"

namespace rtcg::tools {

namespace {

struct CompileArguments {
  std::string file;
  std::string target = "host";
  std::string output;
  std::vector<std::string> flags;
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;
  bool as_json = false;
  bool no_cache = false;
};

std::string read_file(const std::string& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || std::filesystem::is_directory(path)) {
    throw InvalidInput("tools.compile.unreadable_file",
                       fmt::format("cannot read '{}': give a file of kernel source", path));
  }
  if (std::filesystem::path(path).extension() == ".loopy") {
    throw InvalidInput(
        "tools.compile.kernel_file",
        fmt::format("'{0}' is a kernel file, not source: 'rtcg show {0} --target host' prints its "
                    "source, 'rtcg run {0}' compiles and runs it",
                    path));
  }
  if (text.str().empty()) {
    throw InvalidInput("tools.compile.empty_file",
                       fmt::format("'{}' is empty: give a file of kernel source", path));
  }
  return text.str();
}

struct Target {
  runtime::Compiler* compiler;
  runtime::OutputKind kind;
  std::string name;
};

/// What a word before `:sm_90` asks of NVRTC.
std::optional<runtime::OutputKind> nvrtc_kind(const std::string& word) {
  if (word == "cuda") {
    return runtime::OutputKind::cubin;
  }
  if (word == "ptx") {
    return runtime::OutputKind::ptx;
  }
  return word == "lto" ? std::optional(runtime::OutputKind::lto_ir) : std::nullopt;
}

/// `host`, `opencl[:INDEX]`, `cuda:sm_90`, `ptx:sm_90`, `lto:sm_90`; `cuda:INDEX` is a device of
/// this machine.
Target find_target(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string backend = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (const auto kind = nvrtc_kind(backend); kind && rest.starts_with("sm_")) {
    return {&runtime::Nvrtc::instance(), *kind, rest};
  }
  if (text == "host") {
    return {&runtime::HostCompiler::instance(), runtime::OutputKind::host_shared_object, "host"};
  }
  if (backend != "opencl" && backend != "cuda") {
    throw InvalidInput(
        "tools.compile.bad_target",
        fmt::format(
            "'{}' is not a target: write host, opencl:INDEX, cuda:sm_90, ptx:sm_90 or lto:sm_90",
            text));
  }
  runtime::Backend& device = runtime::Device::find(text).backend();
  return {&device.compiler(), device.output_kind(), device.info().target};
}

nlohmann::ordered_json resources_json(const runtime::KernelResources& kernel) {
  nlohmann::ordered_json object = {{"kernel", kernel.name}};
  const auto add = [&](const char* name, const auto& value) {
    if (value) {
      object[name] = *value;
    }
  };
  add("registers", kernel.registers);
  add("spill_store_bytes", kernel.spill_store_bytes);
  add("spill_load_bytes", kernel.spill_load_bytes);
  add("shared_bytes", kernel.shared_bytes);
  add("constant_bytes", kernel.constant_bytes);
  add("stack_bytes", kernel.stack_bytes);
  return object;
}

runtime::CompileRequest make_request(const CompileArguments& arguments, const Target& target) {
  runtime::CompileRequest request;
  request.kind = target.kind;
  request.target = target.name;
  request.source.text = read_file(arguments.file);
  request.program_name = arguments.file;
  request.options.flags = arguments.flags;
  request.options.include_dirs = arguments.include_dirs;
  request.options.use_cache = !arguments.no_cache;
  const bool is_cpp = arguments.file.ends_with(".cpp") || arguments.file.ends_with(".cc");
  request.options.language = is_cpp ? runtime::HostLanguage::cpp : runtime::HostLanguage::c;
  for (const std::string& define : arguments.defines) {
    const std::size_t equals = define.find('=');
    request.options.defines.emplace_back(
        define.substr(0, equals), equals == std::string::npos ? "1" : define.substr(equals + 1));
  }
  return request;
}

void compile_file(const CompileArguments& arguments) {
  const Target target = find_target(arguments.target);
  const runtime::CompileRequest request = make_request(arguments, target);
  const runtime::CompiledProgram compiled = [&] {
    const Progress progress("compiling " + arguments.file);
    return compile_cached(*target.compiler, request);
  }();
  if (!arguments.output.empty()) {
    write_results(arguments.output,
                  {reinterpret_cast<const char*>(compiled.binary.data()), compiled.binary.size()},
                  "tools.compile.unwritable_file");
  }
  if (arguments.as_json) {
    nlohmann::ordered_json object = {{"file", arguments.file},
                                     {"kind", std::string(to_string(compiled.kind))},
                                     {"target", compiled.target},
                                     {"binary_bytes", compiled.binary.size()},
                                     {"from_cache", compiled.from_cache},
                                     {"kernels", nlohmann::ordered_json::array()}};
    for (const runtime::KernelResources& kernel : compiled.resources) {
      object["kernels"].push_back(resources_json(kernel));
    }
    tools::print_json(object);
    return;
  }
  std::printf("%s for %s: %zu bytes%s\n", std::string(to_string(compiled.kind)).c_str(),
              compiled.target.c_str(), compiled.binary.size(),
              compiled.from_cache ? ", from the cache" : "");
  for (const runtime::KernelResources& kernel : compiled.resources) {
    std::printf("  %s: %s\n", kernel.name.c_str(), to_string(kernel).c_str());
  }
  if (compiled.resources.empty()) {
    std::puts("  this compiler does not report resource use");
  }
}

void add_request_options(CLI::App& command, CompileArguments& arguments) {
  command.add_option("FILE", arguments.file, "CUDA C++, OpenCL C, or C for the host")->required();
  command
      .add_option("--target,-t", arguments.target,
                  "host, opencl:INDEX, cuda:sm_90, ptx:sm_90, lto:sm_90 or cuda:INDEX")
      ->capture_default_str();
  command.add_option("--include-dir,-I", arguments.include_dirs, "Folder to search for headers");
  command.add_option("--define,-D", arguments.defines, "Define a macro: NAME or NAME=VALUE");
  command.add_option("--flag", arguments.flags, "Option to pass to the compiler");
  command.add_flag("--json", arguments.as_json, "Print JSON");
}

}  // namespace

void add_compile_command(CLI::App& app) {
  const auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command =
      app.add_subcommand("compile", "Compile a file of kernels and report resource use");
  command->footer(
      "Examples:\n"
      "  rtcg compile kernels.cu --target cuda:sm_90 -I include -D TILE=16\n"
      "  rtcg compile axpy.c -o axpy.so");
  add_request_options(*command, *arguments);
  command->add_option("--output,-o", arguments->output, "Write the binary to this file");
  command->add_flag("--no-cache", arguments->no_cache, "Compile again, without the cache");
  command->callback([arguments] { compile_file(*arguments); });
}

void add_cache_why_command(CLI::App& cache) {
  const auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = cache.add_subcommand(
      "why", "Report why a file would be compiled again, without compiling it");
  command->footer("Example:\n  rtcg cache why axpy.c -D FAST=1");
  add_request_options(*command, *arguments);
  command->callback([arguments] {
    const Target target = find_target(arguments->target);
    const std::string why = runtime::CompileCache::standard().why_missed(
        *target.compiler, make_request(*arguments, target));
    if (arguments->as_json) {
      tools::print_json(nlohmann::ordered_json({{"why", why}}));
    } else {
      std::puts(why.empty() ? "it is in the cache" : why.c_str());
    }
  });
}

}  // namespace rtcg::tools
