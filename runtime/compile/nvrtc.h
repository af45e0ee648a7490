#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime {

/// CUDA C++ to CUBIN, PTX or LTO-IR through NVRTC, opened at run time; needs no GPU and no driver.
///
/// Looks for libnvrtc under CUDA_HOME, CUDA_PATH, /usr/local/cuda, in the loader's path and in the
/// folders of Python's nvidia packages; RTCG_NVRTC names the file itself. C++20,
/// `--ptxas-options=-v` (whence the resources) and `--no-cache` are the defaults.
class Nvrtc : public Compiler {
 public:
  /// The process's own. It exists also without NVRTC: compiling then fails.
  [[nodiscard]] static Nvrtc& instance();

  /// Empty where NVRTC can be used, else the reason and the remedy.
  [[nodiscard]] std::string why_unavailable();
  /// `13.0`. @throws Unsupported  runtime.nvrtc.not_found
  [[nodiscard]] std::string version();
  /// `sm_75`, `sm_80`, ... @throws Unsupported  runtime.nvrtc.not_found
  [[nodiscard]] std::vector<std::string> supported_targets();

  [[nodiscard]] std::string identity(const CompileRequest& request) override;
  /// The toolkit's `include` and `include/cccl`.
  [[nodiscard]] std::vector<std::string> system_include_dirs(
      const CompileRequest& request) override;

  /// Makes a cubin, ptx (without a final zero) or lto_ir for `request.target`.
  ///
  /// @throws CompileFailure  runtime.nvrtc.refused
  /// @throws Unsupported     runtime.nvrtc.not_found, saying where it looked
  /// @throws InvalidInput    runtime.nvrtc.unknown_target, runtime.nvrtc.wrong_kind,
  ///                         runtime.nvrtc.bad_option, runtime.nvrtc.no_result
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;
};

/// The resources of each kernel, from what `--ptxas-options=-v` wrote into a log.
[[nodiscard]] std::vector<KernelResources> parse_ptxas_log(std::string_view log);

}  // namespace rtcg::runtime
