#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/arrays/core/dtype.h"

namespace rtcg::cgen {
struct LaidOutStruct;  // of cgen/build/struct_builder.h, which is long to compile
}  // namespace rtcg::cgen

namespace rtcg::arrays {

/// An argument of a kernel that is made from a snippet of C: a number, or an array that the snippet
/// indexes by `x[i]`.
struct KernelArgument {
  std::string name{};
  DType dtype = DType::f32;  ///< u8 of an array of structs
  bool is_array = false;
  bool is_const = false;  ///< of an array: the snippet may not write it
  /// Of an array of structs: its elements are those of an array of u8 whose last axis has the
  /// struct's size.
  std::shared_ptr<const cgen::LaidOutStruct> structure{};
  friend bool operator==(const KernelArgument&, const KernelArgument&) = default;
};

[[nodiscard]] inline KernelArgument number_argument(DType dtype, std::string name) {
  return {std::move(name), dtype, false, false};
}
[[nodiscard]] inline KernelArgument array_argument(DType dtype, std::string name) {
  return {std::move(name), dtype, true, false};
}
template <Element T>
[[nodiscard]] KernelArgument number_argument(std::string name) {
  return number_argument(dtype_of_type<T>, std::move(name));
}
template <Element T>
[[nodiscard]] KernelArgument array_argument(std::string name) {
  return array_argument(dtype_of_type<T>, std::move(name));
}

/// An array of structs, as `structs_from_host` makes them.
[[nodiscard]] KernelArgument struct_argument(const cgen::LaidOutStruct& type, std::string name);

/// Arguments as C declares parameters: `float a, const float *x, unsigned char
/// *mask`.
///
/// Types are C's numbers (`unsigned long long`, `int32_t`, `bool`, `half`), OpenCL's short names
/// (`uchar`), those of DType (`f32`, `bf16`), complex ones (`complex<float>`, `c64`, `cfloat_t`)
/// and short vectors (`float4`, `long2`). `const`, `restrict` and `__global` may appear where C or
/// OpenCL allow them.
///
/// @throws InvalidInput  arrays.parse_arguments.syntax,
/// arrays.parse_arguments.unknown_type
[[nodiscard]] std::vector<KernelArgument> parse_arguments(std::string_view text);
/// The same where these structs are known by their names: `particle *p`.
[[nodiscard]] std::vector<KernelArgument> parse_arguments(
    std::string_view text, const std::vector<cgen::LaidOutStruct>& structs);
/// The type that C text names. @throws  as parse_arguments
[[nodiscard]] DType parse_dtype(std::string_view text);

/// Arguments of a kernel, as text or as a list.
class ArgumentList {
 public:
  // NOLINTBEGIN(google-explicit-constructor): text or a list, as the caller has
  // it
  ArgumentList(const char* text) : list_(parse_arguments(text)) {}
  ArgumentList(const std::string& text) : list_(parse_arguments(text)) {}
  ArgumentList(std::vector<KernelArgument> list) : list_(std::move(list)) {}
  ArgumentList(std::initializer_list<KernelArgument> list) : list_(list) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] const std::vector<KernelArgument>& list() const noexcept { return list_; }

 private:
  std::vector<KernelArgument> list_;
};

}  // namespace rtcg::arrays
