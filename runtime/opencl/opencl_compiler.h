#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"
#include "rtcg/runtime/opencl/opencl_api.h"

namespace rtcg::runtime::opencl {

class OpenClBackend;

/// The compiler inside an OpenCL driver, for one device. Its output is the device's binary,
/// followed by the kernels' parameters (with_parameters). The driver may compile further when it
/// loads the binary.
class OpenClCompiler : public Compiler {
 public:
  explicit OpenClCompiler(OpenClBackend& backend) noexcept : backend_(backend) {}

  /// Names platform, device and driver with their versions: a new driver misses in the cache
  /// instead of refusing an old binary.
  [[nodiscard]] std::string identity(const CompileRequest& request) override;

  /// The first compile for a device runs a self-test on it (run_self_test), whose verdict is kept
  /// in the cache's folder: an option that corrects the error is added, or the device is refused.
  /// RTCG_TRUST_COMPILER=1 skips this.
  ///
  /// @throws CompileFailure  runtime.opencl.refused
  /// @throws Unsupported     runtime.opencl.miscompiles
  /// @throws InvalidInput    runtime.opencl.wrong_kind, runtime.opencl.wrong_target,
  ///                         runtime.opencl.name_expression
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;

  /// The request with what the verdict adds.
  ///
  /// @throws Unsupported  runtime.opencl.miscompiles
  [[nodiscard]] CompileRequest as_built(const CompileRequest& request);

 private:
  [[nodiscard]] CompiledProgram build(const CompileRequest& request);

  OpenClBackend& backend_;
};

/// What the driver's compiler said about a program.
[[nodiscard]] std::string build_log(const Api& api, cl_program program, cl_device_id device);
/// The options of a request without its folders of headers.
[[nodiscard]] std::vector<std::string> options_without_folders(const CompileRequest& request);
/// A request's macros, which precede its text, since their values cannot be quoted as options.
[[nodiscard]] std::string macro_lines(const CompileRequest& request);

}  // namespace rtcg::runtime::opencl
