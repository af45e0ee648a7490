#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/runtime/compile/compile_request.h"
#include "rtcg/runtime/device/buffer.h"
#include "rtcg/runtime/device/function.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::cgen {
struct Module;
enum class Dialect;
}  // namespace rtcg::cgen

namespace rtcg::runtime {

namespace detail {
[[noreturn]] void throw_bad_global(const std::string& name, std::size_t global_bytes,
                                   std::size_t element_bytes);
}  // namespace detail

/// Compiled code, loaded on a device. A cheap value: copies, kernels, functions and globals share
/// the loaded code, and it is unloaded with the last program, kernel or function. Any thread may
/// use it.
class Program {
 public:
  /// Compiles text for the device, or takes an earlier result from the cache
  /// (CompileCache::standard()), and loads it.
  ///
  /// The text is CUDA C++ for a CUDA device, OpenCL C for an OpenCL device, and for the host C as
  /// `host_kernel_header()` describes.
  ///
  /// @param name  appears in messages and in the cache's listing
  /// @throws CompileFailure  the compiler refused the text
  /// @throws DeviceError     the driver refused the binary
  [[nodiscard]] static Program compile(Device device, SourceText source,
                                       const CompileOptions& options = {},
                                       std::string name = "kernel");
  [[nodiscard]] static Program compile(Device device, std::string source,
                                       const CompileOptions& options = {},
                                       std::string name = "kernel");
  /// Prints a syntax tree in the language of the device and compiles that:
  /// `Program::compile(device, module)`. The caller includes `rtcg/cgen.h`, which the runtime does
  /// not use: a template whose Dialect is named by the caller.
  ///
  /// @throws  as cgen::print_module and above
  template <class Tree, class Dialect = cgen::Dialect>
  requires std::same_as<Tree, cgen::Module>
  [[nodiscard]] static Program compile(Device device, const Tree& module,
                                       const CompileOptions& options = {}) {
    const BackendKind kind = device.info().id.kind;
    const Dialect dialect = kind == BackendKind::cuda     ? Dialect::cuda
                            : kind == BackendKind::opencl ? Dialect::opencl
                                                          : Dialect::c;
    return compile(device, print_module(module, dialect), options, module.name);
  }
  /// Loads a result of compile_cached, or of another compile for this device.
  ///
  /// @throws InvalidInput  runtime.program.wrong_binary
  [[nodiscard]] static Program load(Device device, CompiledProgram compiled);

  [[nodiscard]] Device device() const noexcept;
  /// The binary, the log, the resources and the lowered names.
  [[nodiscard]] const CompiledProgram& compiled() const noexcept;
  /// The resources of each kernel; empty if the compiler does not report them.
  [[nodiscard]] const std::vector<KernelResources>& resources() const noexcept;
  /// CUmodule or CUlibrary, cl_program.
  [[nodiscard]] void* native_handle() const noexcept;

  /// @param name  of an `extern "C"` kernel, or one of `options.name_expressions`, unchanged
  /// @throws InvalidInput  runtime.program.unknown_kernel
  [[nodiscard]] Kernel kernel(const std::string& name) const;
  /// The same with its parameter types, which are compared with the kernel's own.
  ///
  ///     auto twice = program.function<float*, int>("twice");
  ///
  /// @throws InvalidInput  runtime.program.unknown_kernel, runtime.function.parameter_count,
  ///                       runtime.function.parameter_size, runtime.function.parameter_type
  template <class... Parameters>
  [[nodiscard]] Function<Parameters...> function(const std::string& name) const {
    return Function<Parameters...>(kernel(name));
  }
  /// A `__constant__` or `__device__` variable, or an exported one on the host. Valid as long as
  /// the program is loaded.
  ///
  /// @throws InvalidInput  runtime.program.unknown_global, runtime.program.global_size
  template <class T>
  [[nodiscard]] BufferRef<T> global(const std::string& name) const {
    const SymbolAddress symbol = find_global(name);
    if (symbol.size_bytes % sizeof(T) != 0) {
      detail::throw_bad_global(name, symbol.size_bytes, sizeof(T));
    }
    return {device(), symbol.address, symbol.size_bytes / sizeof(T)};
  }

 private:
  explicit Program(std::shared_ptr<const detail::LoadedProgram> loaded) noexcept
      : loaded_(std::move(loaded)) {}
  [[nodiscard]] SymbolAddress find_global(const std::string& name) const;
  [[nodiscard]] const std::string& lowered(const std::string& name) const;

  std::shared_ptr<const detail::LoadedProgram> loaded_;
};

/// Whether RTCG_DEBUG=1: sources are kept, the cache is bypassed, each launch is waited for.
[[nodiscard]] bool is_debug_mode();

}  // namespace rtcg::runtime
