#pragma once

#include <string>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"

namespace rtcg::runtime {

class CompileCache;

/// Turns text into a binary. Calls may come from any thread, at once.
class Compiler {
 public:
  virtual ~Compiler() = default;

  /// Name, version and build of the compiler and all else outside the request that decides the
  /// output (the CPU for -march=native). It is part of the cache's key and needed at every lookup,
  /// so it is cheap and starts no process.
  [[nodiscard]] virtual std::string identity(const CompileRequest& request) = 0;

  /// Folders this compiler searches for headers after the request's own.
  [[nodiscard]] virtual std::vector<std::string> system_include_dirs(
      const CompileRequest& /*request*/) {
    return {};
  }

  /// Compiles without a cache.
  ///
  /// @throws CompileFailure  the text was refused; build it with compile_failure (diagnostics.h)
  [[nodiscard]] virtual CompiledProgram compile(const CompileRequest& request) = 0;
};

/// The one way from text to binary: looks into the cache; otherwise compiles and stores.
///
/// Identical requests of several threads compile once. In debug mode (`options.debug` or
/// RTCG_DEBUG=1) the source is kept as a file in RTCG_DEBUG_DIR, or in the cache's folder `debug`,
/// and the cache is bypassed.
///
/// @throws CompileFailure  and other errors of the compiler
/// @cost   a hit starts no process and runs no compiler
[[nodiscard]] CompiledProgram compile_cached(Compiler& compiler, const CompileRequest& request,
                                             CompileCache& cache);
/// The same with CompileCache::standard().
[[nodiscard]] CompiledProgram compile_cached(Compiler& compiler, const CompileRequest& request);

}  // namespace rtcg::runtime
