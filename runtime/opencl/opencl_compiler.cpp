#include "rtcg/runtime/opencl/opencl_compiler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/compiler_judge.h"
#include "rtcg/runtime/compile/diagnostics.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/opencl/opencl_backend.h"
#include "rtcg/runtime/opencl/opencl_kernel.h"
#include "rtcg/runtime/opencl/opencl_self_test.h"

namespace rtcg::runtime::opencl {
namespace {

void check_request(const CompileRequest& request, const DeviceInfo& info) {
  if (request.kind != OutputKind::opencl_binary) {
    throw InvalidInput("runtime.opencl.wrong_kind",
                       fmt::format("an OpenCL device makes no '{}': ask for '{}'",
                                   to_string(request.kind), to_string(OutputKind::opencl_binary)));
  }
  if (request.target != info.target) {
    throw InvalidInput("runtime.opencl.wrong_target",
                       fmt::format("this device compiles for itself, '{}', not for '{}'",
                                   info.target, request.target));
  }
  if (!request.options.name_expressions.empty()) {
    throw InvalidInput("runtime.opencl.name_expression",
                       fmt::format("OpenCL C has no templates: '{}' cannot be instantiated",
                                   request.options.name_expressions.front()));
  }
}

[[noreturn]] void throw_io_failed(const std::string& path, const std::string& problem) {
  throw DeviceError("runtime.opencl.io_failed",
                    fmt::format("cannot write '{}' for the compiler: {}", path, problem), "write",
                    problem);
}

void write_header(const std::string& folder, const std::string& name, const std::string& text) {
  const std::filesystem::path relative(name);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (name.empty() || relative.is_absolute() || climbs) {
    throw InvalidInput("runtime.opencl.bad_header_name",
                       fmt::format("the header '{}' needs a relative name without '..'", name));
  }
  const std::filesystem::path path = std::filesystem::path(folder) / relative;
  std::string problem = make_private_folder(path.parent_path().string());
  if (problem.empty()) {
    problem = write_file(path.string(), text);
  }
  if (!problem.empty()) {
    throw_io_failed(path.string(), problem);
  }
}

// Options are one string cut at blanks, and drivers disagree about quotes: folders whose names
// would need them get another name.
std::string plain_path(const std::string& folder, const std::string& links, std::size_t index) {
  if (folder.find_first_of(" \t\"'\\") == std::string::npos) {
    return folder;
  }
  const std::string link = fmt::format("{}/folder{}", links, index);
  std::error_code problem;
  std::filesystem::create_directory_symlink(std::filesystem::absolute(folder), link, problem);
  if (problem) {
    throw_io_failed(link, problem.message());
  }
  return link;
}

std::vector<std::string> options_of(const CompileRequest& request, const std::string& folder) {
  const CompileOptions& given = request.options;
  std::vector<std::string> folders;
  if (!given.headers.empty()) {
    const std::string headers = folder + "/include";
    for (const auto& [name, text] : given.headers) {
      write_header(headers, name, text);
    }
    folders.push_back("-I" + headers);
  }
  for (std::size_t i = 0; i < given.include_dirs.size(); ++i) {
    folders.push_back("-I" + plain_path(given.include_dirs[i], folder, i));
  }
  std::vector<std::string> options = options_without_folders(request);
  // before the caller's flags
  options.insert(options.end() - static_cast<std::ptrdiff_t>(given.flags.size()), folders.begin(),
                 folders.end());
  return options;
}

std::string file_of(const CompileRequest& request) {
  std::string file =
      request.source_path.empty() ? request.program_name + ".cl" : request.source_path;
  std::replace_if(
      file.begin(), file.end(), [](char c) { return c == '"' || c == '\\' || c == '\n'; }, '_');
  return file;
}

std::string lines_before_text(const CompileRequest& request) {
  return fmt::format("{}#line 1 \"{}\"\n", macro_lines(request), file_of(request));
}

// The file and the line that #line directives give to a line of a text, counted from 1.
std::pair<std::string, long> place_of_line(const std::string& text, long line,
                                           std::string first_file) {
  std::pair<std::string, long> place{std::move(first_file), 1};
  std::istringstream lines(text);
  std::string each;
  for (long i = 1; i < line && std::getline(lines, each); ++i) {
    long number = 0;
    if (std::sscanf(each.c_str(), "#line %ld", &number) != 1) {
      ++place.second;
      continue;
    }
    place.second = number;
    const std::size_t open = each.find('"');
    if (open != std::string::npos) {
      place.first = each.substr(open + 1, each.rfind('"') - open - 1);
    }
  }
  return place;
}

// NVIDIA's compiler does not heed #line: it speaks of `<kernel>` and of lines of the whole text.
std::string in_lines_of_text(const std::string& log, const std::string& text,
                             const CompileRequest& request) {
  constexpr std::string_view mark = "<kernel>:";
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = log.find(mark); at != std::string::npos; at = log.find(mark, done)) {
    char* end = nullptr;
    const long line = std::strtol(log.c_str() + at + mark.size(), &end, 10);
    const auto [file, number] = place_of_line(text, line, file_of(request));
    result.append(log, done, at - done);
    result += fmt::format("{}:{}", file, number);
    done = static_cast<std::size_t>(end - log.c_str());
  }
  return result.append(log, done, std::string::npos);
}

std::vector<std::byte> binary_of(const Api& api, cl_program program) {
  std::size_t size_bytes = 0;
  api.clGetProgramInfo.must("ask for a program's binary", program, CL_PROGRAM_BINARY_SIZES,
                            sizeof(size_bytes), &size_bytes, nullptr);
  std::vector<std::byte> binary(size_bytes);
  std::byte* bytes = binary.data();
  api.clGetProgramInfo.must("ask for a program's binary", program, CL_PROGRAM_BINARIES,
                            sizeof(bytes), &bytes, nullptr);
  return binary;
}

// The resources of each kernel, and its parameters after the binary.
void add_kernels(const Api& api, cl_program program, cl_device_id device,
                 CompiledProgram& compiled) {
  ParameterTable parameters;
  for (const std::string& name : kernel_names(api, program)) {
    const HeldKernel kernel = create_kernel(api, program, name);
    const auto& declared = parameters[name] = read_parameters(api, kernel.get());
    const KernelAttributes attributes =
        describe_kernel(api, kernel.get(), device, declared)->attributes;
    KernelResources taken;
    taken.name = name;
    taken.shared_bytes = attributes.static_shared_bytes;
    taken.stack_bytes = attributes.local_bytes;
    compiled.resources.push_back(std::move(taken));
  }
  compiled.binary = with_parameters(std::move(compiled.binary), parameters);
}

}  // namespace

std::string build_log(const Api& api, cl_program program, cl_device_id device) {
  const cl_program_build_info what = CL_PROGRAM_BUILD_LOG;
  std::size_t size_bytes = 0;
  api.clGetProgramBuildInfo.must("read the compiler's log", program, device, what, 0, nullptr,
                                 &size_bytes);
  std::string log(size_bytes, '\0');
  api.clGetProgramBuildInfo.must("read the compiler's log", program, device, what, size_bytes,
                                 log.data(), nullptr);
  return log.substr(0, log.find('\0'));
}

std::vector<std::string> options_without_folders(const CompileRequest& request) {
  const CompileOptions& given = request.options;
  std::vector<std::string> options = {"-cl-kernel-arg-info"};
  if (given.fast_math) {
    options.emplace_back("-cl-fast-relaxed-math");
  }
  if (given.debug) {
    options.emplace_back("-g");
  }
  options.insert(options.end(), given.flags.begin(), given.flags.end());
  return options;
}

std::string macro_lines(const CompileRequest& request) {
  std::string text;
  for (const auto& [name, value] : request.options.defines) {
    text += fmt::format("#define {} {}\n", name, value);
  }
  return text;
}

std::string OpenClCompiler::identity(const CompileRequest&) {
  return fmt::format(
      "{}, binaries with parameters: {}",
      !CompilerJudge::is_switched_off() ? self_test_identity(backend_.info()) : "OpenCL",
      backend_.info().target);
}

CompiledProgram OpenClCompiler::compile(const CompileRequest& request) {
  check_request(request, backend_.info());
  return build(as_built(request));
}

CompileRequest OpenClCompiler::as_built(const CompileRequest& request) {
  if (CompilerJudge::is_switched_off()) {
    return request;
  }
  // Its race shows in one process and not in the next: no self-test is sure to see it.
  if (backend_.info().is_cpu && backend_.info().target.find("PoCL 5.") != std::string::npos) {
    throw Unsupported(
        "runtime.opencl.miscompiles",
        fmt::format("'{}' is a processor of PoCL {}, which is known to give wrong numbers for "
                    "kernels with barriers in loops: use the device 'host' or PoCL 3.1, or set "
                    "RTCG_TRUST_COMPILER=1 to use it anyway",
                    backend_.info().name, backend_.info().driver_version));
  }
  static CompilerJudge judge(CompileCache::standard().is_enabled()
                                 ? CompileCache::standard().folder() + "/compilers"
                                 : std::string());
  const CompilerJudge::Verdict verdict =
      judge.judge(self_test_identity(backend_.info()), self_test_mends(),
                  [&](const std::vector<std::string>& flags) {
                    return run_self_test(backend_, flags,
                                         [&](const CompileRequest& test) { return build(test); });
                  });
  if (!verdict.why_refused.empty()) {
    throw Unsupported(
        "runtime.opencl.miscompiles",
        fmt::format("the compiler of '{}' ({}) miscompiles {} with all flags, as PoCL 4 and 5 do: "
                    "use the device 'host', or set RTCG_TRUST_COMPILER=1 to use it "
                    "anyway",
                    backend_.info().name, backend_.info().driver_version, verdict.why_refused));
  }
  return with_mend(request, mend_for(request, verdict.flags));
}

CompiledProgram OpenClCompiler::build(const CompileRequest& request) {
  const Api& api = backend_.api();
  cl_device_id const device = backend_.device();
  const TemporaryFolder folder;
  const std::vector<std::string> options = options_of(request, folder.path());
  const std::string text = lines_before_text(request) + request.source.text;
  const char* begin = text.data();
  const std::size_t length = text.size();
  cl_int status = CL_SUCCESS;
  const HeldProgram program(
      api.clCreateProgramWithSource(backend_.context(), 1, &begin, &length, &status), {&api});
  if (status != CL_SUCCESS) {
    throw_status(status, api.clCreateProgramWithSource.name(), "hand a text to the compiler");
  }
  const std::string joined = fmt::format("{}", fmt::join(options, " "));
  status = api.clBuildProgram(program.get(), 1, &device, joined.c_str(), nullptr, nullptr);
  const std::string log = in_lines_of_text(build_log(api, program.get(), device), text, request);
  // NVIDIA's compiler reports a bad option in the log only
  const bool is_bad_option = status == CL_INVALID_BUILD_OPTIONS ||
                             status == CL_INVALID_COMPILER_OPTIONS ||
                             (status == CL_BUILD_PROGRAM_FAILURE &&
                              log.find("processing command line") != std::string::npos);
  if (is_bad_option) {
    throw InvalidInput("runtime.opencl.bad_option",
                       fmt::format("the compiler of '{}' does not know one of the options '{}'",
                                   backend_.info().name, joined));
  }
  if (status == CL_BUILD_PROGRAM_FAILURE) {
    throw compile_failure("runtime.opencl.refused", backend_.info().name, request, options, log);
  }
  if (status != CL_SUCCESS) {
    throw_status(status, api.clBuildProgram.name(),
                 fmt::format("compile '{}'", request.program_name));
  }
  CompiledProgram compiled;
  compiled.kind = request.kind;
  compiled.target = request.target;
  compiled.binary = binary_of(api, program.get());
  add_kernels(api, program.get(), device, compiled);
  compiled.log = log;
  return compiled;
}

}  // namespace rtcg::runtime::opencl
