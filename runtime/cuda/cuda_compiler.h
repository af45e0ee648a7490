#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime::cuda {

/// NVRTC, for devices newer than the NVRTC at hand too.
///
/// A cubin for an architecture beyond the newest that NVRTC knows becomes PTX for that newest one,
/// which the driver finishes when it loads it. Everything else is as NVRTC does it. Decided at the
/// compile and not before, because asking NVRTC means loading it, which a cache hit must not do.
class CudaCompiler : public Compiler {
 public:
  [[nodiscard]] std::string identity(const CompileRequest& request) override;
  [[nodiscard]] std::vector<std::string> system_include_dirs(
      const CompileRequest& request) override;
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;
};

}  // namespace rtcg::runtime::cuda
