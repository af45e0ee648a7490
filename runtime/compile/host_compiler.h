#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/runtime/compile/compiler.h"

namespace rtcg::runtime {

/// Text of `#include <rtcg/host_kernel.h>`, valid C99 and C++: the shape of a launch and how a
/// kernel for the host is declared.
///
///     typedef struct rtcg_launch { grid[3], block[3], shared_bytes } rtcg_launch;
///     RTCG_KERNEL void NAME(const rtcg_launch *launch, void *const *arguments)
///     RTCG_PARAMETER_BYTES(NAME, count, bytes...)
///
/// `arguments` points to the arguments' values, as cuLaunchKernel takes them. The second defines
/// `const unsigned NAME_parameter_bytes[]`, the count and then the bytes of each parameter, against
/// which launches are checked, and keeps its words: of `sizeof(const float *)` the type is known,
/// too, and a Function is checked against it; of a bare number, or a name of a type of your own, it
/// is not. Every request to the host's compiler has this header.
[[nodiscard]] std::string_view host_kernel_header();

/// Text of `#include <rtcg/host_image.h>`, valid C99 and C++: textures and surfaces of the host,
/// with the weights of CUDA's hardware. Every request to the host's compiler has this header, too.
///
///     rtcg_tex2d_f32(texture, x, y)              also 1d and 3d; i32, u8, f64; x2 and x4
///     rtcg_surf2d_read_f32(surface, x, y)        also 1d and 3d; i32, u8; x2 and x4
///     rtcg_surf2d_write_f32(surface, value, x, y)
///
/// The parameters of a kernel are of the types `rtcg_texture` and `rtcg_surface`.
[[nodiscard]] std::string_view host_image_header();

/// The system's C and C++ compiler, run as a process with an argument vector.
///
/// C is compiled by the first of RTCG_CC, CC, cc, gcc, clang; C++ by the first of RTCG_CXX, CXX,
/// c++, g++, clang++. Options: -O3 -march=native -fopenmp -fno-trapping-math -fno-math-errno, and
/// for clang on x86-64 with glibc -fveclib=libmvec; in debug mode -O0 -g. Shared objects are linked
/// with -lm. Only the source in debug mode stays on disk. A target other than `host` is passed as
/// -march.
///
/// Before a compiler makes code for this machine for the first time, it is judged by a self-test
/// (CompilerJudge): if it makes wrong code, the flag that corrects it is added; without such a flag
/// it is refused. The verdict is kept in the cache's folder. RTCG_TRUST_COMPILER=1 skips this. A
/// compile that takes longer than RTCG_COMPILE_SECONDS (300) is killed.
///
/// tcc, the Tiny C Compiler, compiles C ten times faster and does not optimise. It is recognised by
/// the name of its program; it gets only flags that it knows, and is not judged.
class HostCompiler : public Compiler {
 public:
  /// The process's own. It exists also on a machine without a compiler: compiling then fails.
  [[nodiscard]] static HostCompiler& instance();

  /// @throws Unsupported  runtime.host_compiler.not_found, runtime.host_compiler.one_target
  [[nodiscard]] std::string identity(const CompileRequest& request) override;
  [[nodiscard]] std::vector<std::string> system_include_dirs(
      const CompileRequest& request) override;

  /// Makes a host_object or a host_shared_object.
  ///
  /// @throws CompileFailure  runtime.host_compiler.refused
  /// @throws Unsupported     runtime.host_compiler.no_compiler, naming what was looked for;
  ///                         runtime.host_compiler.not_found, when RTCG_CC or RTCG_CXX names
  ///                         nothing; runtime.host_compiler.miscompiles;
  ///                         runtime.host_compiler.one_target: tcc knows no other processor
  /// @throws InvalidInput    runtime.host_compiler.wrong_kind,
  ///                         runtime.host_compiler.name_expression,
  ///                         runtime.host_compiler.bad_header_name
  /// @throws DeviceError     runtime.host_compiler.io_failed, runtime.host_compiler.time_limit,
  ///                         runtime.files.no_temporary_folder
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request) override;
  /// The same, ended when `stop` is requested: its processes are ended at once.
  ///
  /// @throws DeviceError  runtime.compile_workers.stopped
  [[nodiscard]] CompiledProgram compile(const CompileRequest& request, const std::stop_token& stop);

  /// Makes one shared object of several objects (host_object). `flags` are passed on.
  ///
  /// @throws CompileFailure, Unsupported, InvalidInput, DeviceError  as compile
  [[nodiscard]] CompiledProgram link(const std::vector<CompiledProgram>& objects,
                                     const std::vector<std::string>& flags = {},
                                     HostLanguage language = HostLanguage::c);
};

}  // namespace rtcg::runtime
