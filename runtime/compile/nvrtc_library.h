#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string>
#include <vector>

namespace rtcg::runtime {

/// The functions of NVRTC that we call, found at run time. The declarations are our own, so a build
/// without the CUDA toolkit can use an NVRTC that is installed later; NVRTC's C interface has kept
/// them since version 11.
class NvrtcLibrary {
 public:
  using Program = void*;
  using Status = int;

  // Of nvrtcResult.
  static constexpr Status success = 0;
  static constexpr Status invalid_option = 5;
  static constexpr Status compilation = 6;

  Status (*version)(int* major, int* minor) = nullptr;
  Status (*supported_arch_count)(int* count) = nullptr;
  Status (*supported_archs)(int* archs) = nullptr;
  Status (*create)(Program* program, const char* source, const char* name, int headers,
                   const char* const* header_texts, const char* const* header_names) = nullptr;
  Status (*destroy)(Program* program) = nullptr;
  Status (*add_name_expression)(Program program, const char* expression) = nullptr;
  Status (*compile)(Program program, int options, const char* const* option_texts) = nullptr;
  Status (*lowered_name)(Program program, const char* expression, const char** name) = nullptr;
  Status (*log_size)(Program program, std::size_t* size_bytes) = nullptr;
  Status (*log)(Program program, char* text) = nullptr;
  Status (*cubin_size)(Program program, std::size_t* size_bytes) = nullptr;
  Status (*cubin)(Program program, char* bytes) = nullptr;
  Status (*ptx_size)(Program program, std::size_t* size_bytes) = nullptr;
  Status (*ptx)(Program program, char* bytes) = nullptr;
  Status (*lto_ir_size)(Program program, std::size_t* size_bytes) = nullptr;
  Status (*lto_ir)(Program program, char* bytes) = nullptr;
  const char* (*status_text)(Status status) = nullptr;

  /// Opens the library; `why_unavailable` is the missing part.
  explicit NvrtcLibrary(const std::string& path);

  [[nodiscard]] const std::string& why_unavailable() const noexcept { return why_unavailable_; }

 private:
  std::string why_unavailable_;
};

/// The files of NVRTC, found without loading it.
struct NvrtcPlace {
  std::string library;                ///< empty: not found
  std::string builtins;               ///< libnvrtc-builtins in the same folder, which NVRTC opens
  std::vector<std::string> includes;  ///< the toolkit's folders of headers
  std::string why_not_found;          ///< the searched places, and the remedy
  std::string build;                  ///< name and build ids of both libraries
};

/// Looked up once in a process.
[[nodiscard]] const NvrtcPlace& nvrtc_place();

/// The lookup itself, with the current environment.
[[nodiscard]] NvrtcPlace find_nvrtc();

/// Another library of the toolkit, looked for in the same places; empty: it is not there.
///
/// @param names  of files, the best one first
[[nodiscard]] std::string find_cuda_library(const std::vector<std::string>& names);

}  // namespace rtcg::runtime
