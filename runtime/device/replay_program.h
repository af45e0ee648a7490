#pragma once
// Internal header: it is not installed.

// A launch as a program of its own: what a back end writes, and what all of them share. The
// programs are C that is C++ too.

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/runtime/device/backend.h"
#include "rtcg/runtime/device/image.h"
#include "rtcg/runtime/device/launch_attributes.h"

namespace rtcg::runtime {

/// The numbers in an array, as far as the text of a kernel says.
struct ElementType {
  char kind = 'u';  ///< 'f', 'i' or 'u': a number of floating point, with or without a sign
  std::size_t size_bytes = 1;
};

/// Memory that a launch reaches, whole allocations, a variable of the program, or an image.
struct CapturedMemory {
  std::string name;  ///< `x`, of the file x.npy
  std::size_t size_bytes = 0;
  ElementType element;
  std::string variable;  ///< the program's name for it; empty: it is no variable
  /// Of an image, whose texels are without gaps, each level after the one before.
  std::optional<ImageShape> image{};
  bool is_changed = false;
};

/// How a launch reaches an image: by a texture or a surface.
struct CapturedAccess {
  std::size_t memory = 0;  ///< a number among those of the launch
  bool is_surface = false;
  TextureOptions options{};  ///< of a texture
  int level = 0;             ///< of a surface
};

/// Where an argument points to.
struct CapturedPointer {
  std::size_t argument_bytes = 0;  ///< before it in the argument: pointers may be parts of structs
  std::size_t memory = 0;          ///< a number among those of the launch
  std::size_t memory_bytes = 0;    ///< before the place in the memory
};

struct CapturedArgument {
  std::string name;
  std::string type;       ///< as the text has it; empty: unknown
  bool is_local = false;  ///< memory of an OpenCL work group: the value is its length
  std::vector<std::byte> bytes;
  std::vector<CapturedPointer> pointers;
  std::optional<CapturedAccess> access{};

  /// Whether it is one address, also a null pointer, which points nowhere.
  [[nodiscard]] bool is_pointer() const {
    return bytes.size() == sizeof(DeviceAddress) &&
           (pointers.size() == 1 || (pointers.empty() && type.find('*') != std::string::npos));
  }
};

struct CapturedLaunch {
  std::string kernel;          ///< as the binary spells it
  const CompileRequest* text;  ///< of what kind and for which target the binary is, too
  std::string place;           ///< the device, in words
  std::string device_name;
  LaunchShape shape;
  LaunchAttributes attributes;
  std::vector<CapturedArgument> arguments;
  std::vector<CapturedMemory> memories;
  bool has_ended = false;  ///< only then the program compares
};

/// The files of a program and the command lines that build it.
struct ReplayProgram {
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> commands;
};

/// What a back end offers that writes such programs; found by a cast of Backend.
class ReplayBackend {
 public:
  virtual ~ReplayBackend() = default;
  [[nodiscard]] virtual ReplayProgram replay(const CapturedLaunch& launch) = 0;
};

namespace detail {

/// A parameter as the text of a kernel declares it.
struct DeclaredInText {
  std::string type;  ///< empty: not found
  std::string name;
  bool is_pointer = false;
  bool is_local = false;
  bool is_image = false;
};

/// The parameters of a kernel in CUDA C++ or OpenCL C, or of the host's that have declarations
/// `float *x = *(float **)arguments[0];`. Empty if the text does not show them.
[[nodiscard]] std::vector<DeclaredInText> parameters_in_text(std::string_view text,
                                                             std::string_view kernel,
                                                             BackendKind kind, std::size_t count);
/// `const float *` -> f, 4 bytes.
[[nodiscard]] ElementType element_type(const std::string& type);

/// The numbers in the texels of an image.
[[nodiscard]] ElementType element_type(TexelKind kind);
/// Of all levels of an image.
[[nodiscard]] std::size_t texel_bytes_of_all_levels(const ImageShape& shape);

/// A string literal of C.
[[nodiscard]] std::string c_string(const std::string& text);
/// A word for a shell, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);
[[nodiscard]] std::string shell_line(const std::vector<std::string>& words);

/// The comment at the head of a replay, the inclusion of C's headers and of more, and functions to
/// read and compare arrays.
///
/// @param before  lines before the headers
[[nodiscard]] std::string replay_head(const CapturedLaunch& launch, std::string_view before,
                                      std::initializer_list<const char*> more_headers);
/// `  const int argument_n = 1000;`: arguments without pointers; bytes for types unknown here.
/// Names in C are `argument_` and the name, those of memory `memory_`.
[[nodiscard]] std::string declare_value(const CapturedArgument& argument);
/// The same for arguments that may be or have pointers into memory, to be declared before.
///
/// @param pointer_type  of what holds an address: `void *const`
[[nodiscard]] std::string declare_argument(const CapturedLaunch& launch,
                                           const CapturedArgument& argument,
                                           std::string_view pointer_type);
/// What passes a declared argument by its address: `&argument_n`, or an array's name.
[[nodiscard]] std::string address_of(const CapturedArgument& argument);
/// The comparisons and the end of main().
///
/// @param fetched  of each memory, the expression for its bytes on the host
[[nodiscard]] std::string replay_end(const CapturedLaunch& launch,
                                     const std::vector<std::string>& fetched);
/// The headers of a request, as files in the folder `include`: those in memory, and those that its
/// text reaches in the folders it names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> replay_headers(
    const CompileRequest& request, const std::vector<std::string>& system_dirs);

}  // namespace detail
}  // namespace rtcg::runtime
