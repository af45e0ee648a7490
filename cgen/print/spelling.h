#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/dialect/dialect.h"

// The spellings of constructs that all dialects have: all that the printer knows about dialects.

namespace rtcg::cgen {

/// The words in which dialects differ; an empty word is left out.
struct Spelling {
  std::string_view restrict_;
  std::string_view null_pointer;
  std::string_view true_;
  std::string_view false_;
  std::string_view i64_suffix;
  std::string_view u64_suffix;
  std::string_view asm_;
  std::string_view static_assert_;
  std::string_view thread_local_;
  std::string_view align_of;
  std::string_view fall_through;
  bool has_record_names;  ///< `struct s` may be called `s`
  bool has_extern_c;
};

[[nodiscard]] const Spelling& spelling(Dialect dialect);

/// `float`, `unsigned int`, `uint`, `__half` ...
[[nodiscard]] std::string_view scalar_name(ScalarKind kind, Dialect dialect);

/// `float4`, `uchar2`; 64-bit lanes are `longlong2` in CUDA and C, `long2` in OpenCL. C and C++
/// have these names from the typedefs that lowering adds.
[[nodiscard]] std::string vector_name(const Vector& vector, Dialect dialect);

/// `__shared__ `, `__local ` ...: the specifier of a declaration in that memory.
[[nodiscard]] std::string_view memory_prefix(MemorySpace memory, Dialect dialect);

/// `__global` ... in OpenCL; nothing in the other dialects, which have no such types.
[[nodiscard]] std::string_view address_space_name(AddressSpace space, Dialect dialect);

/// `2.0f`, `1e-05`, `(half)0.5f`, `INFINITY`: a literal that reads back as the same value.
[[nodiscard]] std::string float_literal(const FloatLiteral& literal, Dialect dialect);
/// `__half_raw{0x3800}`: what CUDA takes where functions such as `__float2half` cannot be called.
[[nodiscard]] std::string short_float_bits(const FloatLiteral& literal);
/// `7`, `7u`, `(-2147483647 - 1)`, `(short)7`.
[[nodiscard]] std::string int_literal(const IntLiteral& literal, Dialect dialect);
[[nodiscard]] std::string char_literal(char value);
/// With quotes; everything but printable ASCII is escaped.
[[nodiscard]] std::string string_literal(std::string_view text);

}  // namespace rtcg::cgen
