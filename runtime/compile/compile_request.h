#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/cgen/support/source_text.h"

namespace rtcg::runtime {

/// The kind of a compiler's output.
enum class OutputKind {
  cubin,        ///< machine code of one GPU architecture; loads without the driver's compiler
  ptx,          ///< CUDA's portable assembly; the driver compiles it at load time
  lto_ir,       ///< input of NVIDIA's link-time optimiser
  host_object,  ///< a relocatable object, for link_shared_object
  host_shared_object,  ///< for SharedObject
  opencl_binary,       ///< the result of clGetProgramInfo for one device
  spirv,               ///< SPIR-V, the portable intermediate language of OpenCL; rtcg loads it only
};

/// `cubin`, `ptx`, ...: as enumerators are spelled.
[[nodiscard]] std::string_view to_string(OutputKind kind);

/// Language of a text for the host's compiler; the others have one each.
enum class HostLanguage { c, cpp };

/// All inputs of a compiler besides the text. They enter the cache's key, in order.
struct CompileOptions {
  /// Passed unchanged after rtcg's own, so they take precedence.
  std::vector<std::string> flags;
  /// Macro and value; an empty value defines the macro as nothing.
  std::vector<std::pair<std::string, std::string>> defines;
  /// Folders searched for headers, before the compiler's own.
  std::vector<std::string> include_dirs;
  /// Headers that are not files: name as in #include, and text. They precede files.
  std::vector<std::pair<std::string, std::string>> headers;
  /// C++ entities whose lowered names are wanted, e.g. `scale<float, 4>`; instantiates templates.
  /// NVRTC only.
  std::vector<std::string> name_expressions;
  HostLanguage language = HostLanguage::c;
  /// Trades IEEE results for speed, as the compiler in question understands it.
  bool fast_math = false;
  /// Keeps the source as a file, compiles it with line information and bypasses the cache. Also
  /// switched on by RTCG_DEBUG=1.
  bool debug = false;
  bool use_cache = true;
};

/// One text to compile.
struct CompileRequest {
  OutputKind kind = OutputKind::host_shared_object;
  SourceText source;
  /// `sm_90` (also `sm_90a`), `host`, or an OpenCL device's identity; DeviceInfo::target.
  std::string target = "host";
  CompileOptions options;
  /// Appears in messages and in the cache's listing.
  std::string program_name = "kernel";
  /// The file that holds the text in debug mode; set by compile_cached.
  std::string source_path;
};

/// The resources of one kernel, as far as its compiler reports them; known without a device.
struct KernelResources {
  std::string name;  ///< lowered
  std::optional<int> registers;
  std::optional<std::size_t> spill_store_bytes;
  std::optional<std::size_t> spill_load_bytes;
  std::optional<std::size_t> shared_bytes;  ///< static
  std::optional<std::size_t> constant_bytes;
  std::optional<std::size_t> stack_bytes;  ///< local memory of a thread, spills included

  friend bool operator==(const KernelResources&, const KernelResources&) = default;
};

/// `16 registers, 0 bytes spilled, 1024 shared bytes`: the known ones, as text.
[[nodiscard]] std::string to_string(const KernelResources& resources);

/// The result of a compile.
struct CompiledProgram {
  OutputKind kind = OutputKind::host_shared_object;
  std::string target;
  std::vector<std::byte> binary;
  std::map<std::string, std::string> lowered_names;  ///< of each name expression
  std::vector<KernelResources> resources;
  std::string log;  ///< the compiler's output; warnings are here
  bool from_cache = false;
  std::string source_path;  ///< the kept source, in debug mode
};

}  // namespace rtcg::runtime
