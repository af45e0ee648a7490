#include "rtcg/cgen/print/spelling.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/short_float.h"

namespace rtcg::cgen {

const Spelling& spelling(Dialect dialect) {
  static constexpr Spelling c = {"restrict",
                                 "NULL",
                                 "true",
                                 "false",
                                 "ll",
                                 "ull",
                                 "__asm__",
                                 "_Static_assert",
                                 "_Thread_local",
                                 "_Alignof",
                                 "__attribute__((fallthrough));",
                                 false,
                                 false};
  static constexpr Spelling cpp = {"__restrict__",
                                   "nullptr",
                                   "true",
                                   "false",
                                   "ll",
                                   "ull",
                                   "asm",
                                   "static_assert",
                                   "thread_local",
                                   "alignof",
                                   "[[fallthrough]];",
                                   true,
                                   true};
  static constexpr Spelling opencl = {"restrict",
                                      "NULL",
                                      "true",
                                      "false",
                                      "l",
                                      "ul",
                                      "__asm__",
                                      "_Static_assert",
                                      "",
                                      "_Alignof",
                                      "/* fall through */",
                                      false,
                                      false};
  switch (dialect) {
    case Dialect::c:
      return c;
    case Dialect::opencl:
      return opencl;
    case Dialect::cpp:
    case Dialect::cuda:
      break;
  }
  return cpp;
}

std::string_view scalar_name(ScalarKind kind, Dialect dialect) {
  const bool is_opencl = dialect == Dialect::opencl;
  const bool is_cuda = dialect == Dialect::cuda;
  switch (kind) {
    case ScalarKind::void_:
      return "void";
    case ScalarKind::bool_:
      return "bool";
    case ScalarKind::char_:
      return "char";
    case ScalarKind::i8:
      return is_opencl ? "char" : "signed char";
    case ScalarKind::i16:
      return "short";
    case ScalarKind::i32:
      return "int";
    case ScalarKind::i64:
      return is_opencl ? "long" : "long long";
    case ScalarKind::u8:
      return is_opencl ? "uchar" : "unsigned char";
    case ScalarKind::u16:
      return is_opencl ? "ushort" : "unsigned short";
    case ScalarKind::u32:
      return is_opencl ? "uint" : "unsigned int";
    case ScalarKind::u64:
      return is_opencl ? "ulong" : "unsigned long long";
    case ScalarKind::f16:
      return is_opencl ? "half" : is_cuda ? "__half" : "_Float16";
    case ScalarKind::bf16:
      return is_cuda ? "__nv_bfloat16" : "__bf16";
    case ScalarKind::f32:
      return "float";
    case ScalarKind::f64:
      return "double";
    case ScalarKind::size:
      return "size_t";
    case ScalarKind::ptrdiff:
      return "ptrdiff_t";
  }
  return "void";
}

std::string vector_name(const Vector& vector, Dialect dialect) {
  const ScalarKind kind = scalar_kind(vector.element).value_or(ScalarKind::f32);
  const bool is_opencl = dialect == Dialect::opencl;
  const auto element = [&]() -> std::string_view {
    switch (kind) {
      case ScalarKind::char_:
      case ScalarKind::i8:
        return "char";
      case ScalarKind::u8:
        return "uchar";
      case ScalarKind::u16:
        return "ushort";
      case ScalarKind::u32:
        return "uint";
      case ScalarKind::i64:
        return is_opencl ? "long" : "longlong";
      case ScalarKind::u64:
        return is_opencl ? "ulong" : "ulonglong";
      case ScalarKind::f16:
        return "half";
      default:
        return scalar_name(kind, dialect);
    }
  }();
  return std::string(element) + std::to_string(vector.lanes);
}

std::string_view memory_prefix(MemorySpace memory, Dialect dialect) {
  if (dialect == Dialect::cuda) {
    switch (memory) {
      case MemorySpace::automatic:
        return "";
      case MemorySpace::shared:
        return "__shared__ ";
      case MemorySpace::dynamic_shared:
        return "extern __shared__ ";
      case MemorySpace::constant:
        return "__constant__ ";
      case MemorySpace::device:
        return "__device__ ";
      case MemorySpace::managed:
        return "__managed__ ";
    }
  }
  if (dialect == Dialect::opencl) {
    switch (memory) {
      case MemorySpace::automatic:
        return "";
      case MemorySpace::shared:
      case MemorySpace::dynamic_shared:
        return "__local ";
      case MemorySpace::constant:
        return "__constant ";
      case MemorySpace::device:
      case MemorySpace::managed:
        return "__global ";
    }
  }
  // On the host all memory is alike; that constants are const is their type's business.
  return memory == MemorySpace::constant ? "static " : "";
}

std::string_view address_space_name(AddressSpace space, Dialect dialect) {
  if (dialect != Dialect::opencl) {
    return "";
  }
  switch (space) {
    case AddressSpace::unspecified:
      return "";
    case AddressSpace::global:
      return "__global";
    case AddressSpace::shared:
      return "__local";
    case AddressSpace::constant:
      return "__constant";
    case AddressSpace::private_:
      return "__private";
  }
  return "";
}

namespace {

template <class Number>
std::string shortest_digits(Number number) {
  char buffer[64];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
  std::string digits(buffer, result.ptr);
  if (digits.find_first_of(".e") == std::string::npos) {
    digits += ".0";  // 2 is an int, 2.0 is not
  }
  return digits;
}

std::string special_f32(double value, Dialect dialect) {
  const bool is_nan = std::isnan(value);
  std::string text;
  switch (dialect) {
    case Dialect::cuda:
      text = is_nan ? "__int_as_float(0x7fffffff)" : "__int_as_float(0x7f800000)";
      break;
    case Dialect::opencl:
      text = is_nan ? "NAN" : "INFINITY";
      break;
    case Dialect::c:
    case Dialect::cpp:
      text = is_nan ? "__builtin_nanf(\"\")" : "__builtin_inff()";
      break;
  }
  return !is_nan && value < 0 ? "-" + text : text;
}

std::string special_f64(double value, Dialect dialect) {
  const bool is_nan = std::isnan(value);
  std::string text;
  switch (dialect) {
    case Dialect::cuda:
      text = is_nan ? "__longlong_as_double(0x7fffffffffffffffll)"
                    : "__longlong_as_double(0x7ff0000000000000ll)";
      break;
    case Dialect::opencl:
      text = is_nan ? "(double)NAN" : "(double)INFINITY";
      break;
    case Dialect::c:
    case Dialect::cpp:
      text = is_nan ? "__builtin_nan(\"\")" : "__builtin_inf()";
      break;
  }
  return !is_nan && value < 0 ? "-" + text : text;
}

}  // namespace

std::string float_literal(const FloatLiteral& literal, Dialect dialect) {
  const ScalarKind kind = scalar_kind(literal.type).value_or(ScalarKind::f64);
  if (kind == ScalarKind::f64) {
    return std::isfinite(literal.value) ? shortest_digits(literal.value)
                                        : special_f64(literal.value, dialect);
  }
  const auto single = static_cast<float>(literal.value);
  const std::string text =
      std::isfinite(single) ? shortest_digits(single) + "f" : special_f32(single, dialect);
  if (kind == ScalarKind::f32) {
    return text;
  }
  if (dialect == Dialect::cuda) {
    return (kind == ScalarKind::f16 ? "__float2half(" : "__float2bfloat16(") + text + ")";
  }
  return "(" + std::string(scalar_name(kind, dialect)) + ")" + text;
}

std::string short_float_bits(const FloatLiteral& literal) {
  const bool is_half = scalar_kind(literal.type) == ScalarKind::f16;
  const auto single = static_cast<float>(literal.value);
  return fmt::format("{}{{{:#06x}}}", is_half ? "__half_raw" : "__nv_bfloat16_raw",
                     is_half ? Half(single).bits() : BrainFloat(single).bits());
}

std::string int_literal(const IntLiteral& literal, Dialect dialect) {
  const ScalarKind kind = scalar_kind(literal.type).value_or(ScalarKind::i32);
  std::string_view suffix;
  bool needs_cast = false;
  switch (kind) {
    case ScalarKind::i32:
      break;
    case ScalarKind::u32:
      suffix = "u";
      break;
    case ScalarKind::i64:
      suffix = spelling(dialect).i64_suffix;
      break;
    case ScalarKind::u64:
      suffix = spelling(dialect).u64_suffix;
      break;
    case ScalarKind::size:
      suffix = "u";
      needs_cast = true;
      break;
    default:
      needs_cast = true;
      break;
  }
  if (needs_cast && literal.magnitude > 0x7fffffffULL) {
    suffix = is_signed(kind) ? spelling(dialect).i64_suffix : spelling(dialect).u64_suffix;
  }
  const bool is_smallest =
      literal.is_negative && ((kind == ScalarKind::i32 && literal.magnitude == 1ULL << 31) ||
                              literal.magnitude == 1ULL << 63);
  std::string text;
  if (is_smallest) {
    // C has no negative literals: -2147483648 would negate a number that is not an int.
    text = "(-" + std::to_string(literal.magnitude - 1);
    text.append(suffix).append(" - 1)");
  } else {
    text = (literal.is_negative ? "-" : "") + std::to_string(literal.magnitude);
    text.append(suffix);
  }
  return needs_cast ? "(" + std::string(scalar_name(kind, dialect)) + ")" + text : text;
}

namespace {

void append_escaped(std::string& text, char c, char quote) {
  switch (c) {
    case '\n':
      text += "\\n";
      return;
    case '\t':
      text += "\\t";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '?':
      text += "\\?";
      return;  // no trigraphs
    default:
      break;
  }
  if (c == quote) {
    text += '\\';
  }
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code < 0x7f) {
    text += c;
    return;
  }
  // Three octal digits: unlike \x, they end by themselves.
  text += '\\';
  text += static_cast<char>('0' + (code >> 6));
  text += static_cast<char>('0' + ((code >> 3) & 7));
  text += static_cast<char>('0' + (code & 7));
}

}  // namespace

std::string char_literal(char value) {
  std::string text = "'";
  append_escaped(text, value, '\'');
  return text + "'";
}

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    // an escape between two keeps them from starting a trigraph
    const bool could_be_trigraph = i > 0 && text[i - 1] == '?';
    if (text[i] == '?' && !could_be_trigraph) {
      result += '?';
    } else {
      append_escaped(result, text[i], '"');
    }
  }
  return result + "\"";
}

}  // namespace rtcg::cgen
