#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The numbers of a field within the memory of its array of structs. In the field's ArrayData they
/// are at the same bytes, and between them is nothing that counts.
class FieldBytes {
 public:
  /// @param field  an argument with a field_of
  /// @throws InvalidInput  loopy.argument_data.unknown_length
  FieldBytes(const Argument& field, const ArrayData& data, const IntegerValues& parameters);
  /// Copies them, as far as both reach.
  void copy(const std::vector<std::byte>& from, std::vector<std::byte>& to) const;

 private:
  std::size_t struct_bytes_;
  std::size_t number_bytes_;
  std::vector<std::size_t> places_;  // within a struct
};

/// Whether the argument is a field of the array of structs, whose name callers give.
[[nodiscard]] bool is_field_of(const Argument& argument, const std::string& array);

/// The memory of an array of structs with the values of its fields; zeros elsewhere.
[[nodiscard]] std::vector<std::byte> struct_memory(const Kernel& kernel, const std::string& array,
                                                   const ArgumentData& fields,
                                                   const IntegerValues& parameters);

}  // namespace rtcg::loopy
