#include <cctype>
#include <string>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/compile/compile_cache.h"
#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/compile/environment.h"
#include "rtcg/runtime/compile/files.h"
#include "rtcg/runtime/compile/known_texts.h"

namespace rtcg::runtime {
namespace {

std::string_view extension(const CompileRequest& request) {
  switch (request.kind) {
    case OutputKind::cubin:
    case OutputKind::ptx:
    case OutputKind::lto_ir:
      return "cu";
    case OutputKind::host_object:
    case OutputKind::host_shared_object:
      return request.options.language == HostLanguage::c ? "c" : "cpp";
    case OutputKind::opencl_binary:
    case OutputKind::spirv:
      return "cl";
  }
  return "txt";
}

std::string debug_folder(const CompileCache& cache) {
  if (std::string given = environment("RTCG_DEBUG_DIR"); !given.empty()) {
    return given;
  }
  return cache.folder().empty() ? std::string("rtcg_debug") : cache.folder() + "/debug";
}

// Of names of files, which systems cut or refuse beyond 255 bytes.
constexpr std::size_t longest_stem = 100;

std::string file_stem(const std::string& program_name) {
  std::string stem;
  for (const char c : program_name.substr(0, longest_stem)) {
    stem += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' ? c : '_';
  }
  return stem;
}

// Writes the source where debuggers will look for it, named by its content so that the sources of
// several programs of one name stay apart.
std::string keep_source(const CompileRequest& request, const CompileCache& cache) {
  const std::string folder = debug_folder(cache);
  std::string problem = make_private_folder(folder);
  const std::string path =
      fmt::format("{}/{}-{}.{}", folder, file_stem(request.program_name),
                  to_hex(sha256(request.source.text)).substr(0, 12), extension(request));
  if (problem.empty()) {
    problem = write_file_atomically(path, request.source.text);
  }
  if (!problem.empty()) {
    throw DeviceError("runtime.compile.source_not_kept",
                      fmt::format("cannot keep the source of '{}' as '{}' for debugging: {}; set "
                                  "RTCG_DEBUG_DIR to a folder that can be written",
                                  request.program_name, path, problem),
                      problem.substr(0, problem.find(':')), problem);
  }
  return path;
}

CompiledProgram compile_or_look_up(Compiler& compiler, const CompileRequest& request,
                                   CompileCache& cache) {
  if (request.options.debug || environment_switch("RTCG_DEBUG")) {
    cache.note_bypass("debug mode bypasses the cache");
    CompileRequest kept = request;
    kept.options.debug = true;
    kept.source_path = keep_source(request, cache);
    CompiledProgram program = compiler.compile(kept);
    program.source_path = kept.source_path;
    return program;
  }
  if (!request.options.use_cache || !cache.is_enabled()) {
    cache.note_bypass(cache.is_enabled() ? "the request has use_cache switched off"
                                         : cache.why_disabled());
    return compiler.compile(request);
  }
  return cache.get(make_cache_key(compiler, request, cache.folder()),
                   [&] { return compiler.compile(request); });
}

}  // namespace

CompiledProgram compile_cached(Compiler& compiler, const CompileRequest& request,
                               CompileCache& cache) {
  CompiledProgram program = compile_or_look_up(compiler, request, cache);
  remember_text(program, request);
  return program;
}

CompiledProgram compile_cached(Compiler& compiler, const CompileRequest& request) {
  return compile_cached(compiler, request, CompileCache::standard());
}

}  // namespace rtcg::runtime
