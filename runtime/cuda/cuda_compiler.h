#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime::cuda {

/// NVRTC, also for devices that are newer than the installed NVRTC.
///
/// A cubin for an architecture beyond the newest that NVRTC knows becomes PTX for that newest one,
/// which the driver compiles when it loads it. All else is as in NVRTC. The decision is made at the
/// compile, because it needs NVRTC, which a cache hit must not load.
class CudaCompiler : public Compiler {
 public:
  [[nodiscard]] std::string identity(const CompileRequest& request) override;
  [[nodiscard]] std::vector<std::string> system_include_dirs(
      const CompileRequest& request) override;
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;
};

}  // namespace rtcg::runtime::cuda
