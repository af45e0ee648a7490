// C's conversions between types.
#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_type.h"

namespace rtcg::cgen {

ScalarKind promoted(ScalarKind kind) {
  return is_integral(kind) && size_bytes(kind) < 4 ? ScalarKind::i32 : kind;
}

std::optional<ScalarKind> common_kind(ScalarKind left, ScalarKind right) {
  if (left == ScalarKind::void_ || right == ScalarKind::void_) {
    return std::nullopt;
  }
  left = promoted(left);
  right = promoted(right);
  if (left == right) {
    return left;
  }
  if (is_floating(left) && is_floating(right)) {
    if (size_bytes(left) == size_bytes(right)) {
      return std::nullopt;  // a half and a bfloat16: neither holds the other
    }
    return size_bytes(left) > size_bytes(right) ? left : right;
  }
  if (is_floating(left) || is_floating(right)) {
    return is_floating(left) ? left : right;
  }
  if (is_signed(left) == is_signed(right)) {
    if (size_bytes(left) == size_bytes(right)) {  // size_t and its 64-bit twins
      return is_signed(left) ? ScalarKind::i64 : ScalarKind::u64;
    }
    return size_bytes(left) > size_bytes(right) ? left : right;
  }
  const ScalarKind of_sign = is_signed(left) ? left : right;
  const ScalarKind of_none = is_signed(left) ? right : left;
  return size_bytes(of_none) >= size_bytes(of_sign) ? of_none : of_sign;
}

namespace {

std::optional<std::string> why_not_pointer(const Pointer& from, const Pointer& to) {
  const Qualified source = qualifiers_of(from.pointee);
  const Qualified target = qualifiers_of(to.pointee);
  if ((source.is_const && !target.is_const) || (source.is_volatile && !target.is_volatile)) {
    return "it would drop const or volatile of what is pointed to";
  }
  if (source.space != target.space && source.space != AddressSpace::unspecified &&
      target.space != AddressSpace::unspecified) {
    return "the address spaces differ";
  }
  if (is_opaque(source.type) || is_opaque(target.type) || target.type == void_type ||
      source.type == target.type) {
    return std::nullopt;
  }
  // `T (*)[3]` to `T (*)[]` and pointers to functions with opaque parts are left to the compiler
  if ((is<Array>(source.type) && is<Array>(target.type)) ||
      (is<FunctionType>(source.type) && is<FunctionType>(target.type))) {
    return std::nullopt;
  }
  return "they point to different types";
}

bool is_arithmetic(const Type& type) {
  return (scalar_kind(type) && scalar_kind(type) != ScalarKind::void_) || is<Complex>(type);
}

std::optional<std::string> why_not_value(const Type& from, const Type& to, bool is_null) {
  if (from == to) {
    return std::nullopt;
  }
  const auto* to_pointer = get_if<Pointer>(to);
  const auto* from_pointer = get_if<Pointer>(from);
  if (to_pointer != nullptr && is_null) {
    return std::nullopt;
  }
  if (to_pointer != nullptr && from_pointer != nullptr) {
    return why_not_pointer(*from_pointer, *to_pointer);
  }
  if (from_pointer != nullptr && to == boolean) {
    return std::nullopt;
  }
  if (is<Enumeration>(to)) {
    return "an enumeration takes only its own enumerators without a cast";
  }
  if (is_arithmetic(from) && is_arithmetic(to)) {
    const bool loses_imaginary = is<Complex>(from) && !is<Complex>(to);
    return loses_imaginary ? std::optional<std::string>("the imaginary part would be lost")
                           : std::nullopt;
  }
  if (is<Vector>(to) && is_arithmetic(from)) {
    return std::nullopt;  // a scalar spreads over all lanes
  }
  return "there is no such conversion";
}

}  // namespace

std::optional<std::string> why_not_convertible(const Type& from, const Type& to, bool is_null) {
  if (is<Scalar>(from) && is<Scalar>(to)) {
    return why_not_value(from, to, is_null);
  }
  if (is_opaque(from) || is_opaque(to) || is<Invalid>(from) || is<Invalid>(to)) {
    return std::nullopt;
  }
  const Type target = without_qualifiers(to);
  if (const auto* reference = get_if<Reference>(target)) {
    if (!reference->is_rvalue && is_const(from) && !is_const(reference->referee)) {
      return "it would drop const";
    }
    const Type referee = value_type(reference->referee);
    if (is<Array>(referee) || is<FunctionType>(referee)) {
      return std::nullopt;
    }
    if (!reference->is_rvalue && !is_const(reference->referee) && value_type(from) != referee) {
      return "a reference binds only to its own type";
    }
    return why_not_value(decayed(from), referee, is_null);
  }
  return why_not_value(decayed(from), decayed(target), is_null);
}

}  // namespace rtcg::cgen
