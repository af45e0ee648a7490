#include "rtcg/arrays/core/dtype.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

int bits_of(DType dtype) {
  return static_cast<int>(8 * size_bytes(dtype));
}

DType floating_of_bits(int bits) {
  return bits <= 16 ? DType::f16 : (bits <= 32 ? DType::f32 : DType::f64);
}

/// Bits of the smallest floating type that holds all of an integer type, or that NumPy takes for
/// it.
int floating_bits_for(DType dtype) {
  switch (bits_of(dtype)) {
    case 8:
      return 16;
    case 16:
      return 32;
    default:
      return 64;
  }
}

DType promote_integers(DType left, DType right) {
  if (is_signed_integer(left) == is_signed_integer(right)) {
    return bits_of(left) >= bits_of(right) ? left : right;
  }
  const DType with_sign = is_signed_integer(left) ? left : right;
  const DType without = is_signed_integer(left) ? right : left;
  if (bits_of(with_sign) > bits_of(without)) {
    return with_sign;
  }
  switch (without) {
    case DType::u8:
      return DType::i16;
    case DType::u16:
      return DType::i32;
    case DType::u32:
      return DType::i64;
    default:
      return DType::f64;  // nothing holds both u64 and negative numbers
  }
}

/// `left` is floating, `right` an integer or floating.
DType promote_floating(DType left, DType right) {
  const int right_bits = is_floating(right) ? bits_of(right) : floating_bits_for(right);
  if (is_floating(right) && left != right && bits_of(left) == right_bits) {
    return DType::f32;  // a half and a bfloat16
  }
  if (bits_of(left) >= right_bits) {
    return left;
  }
  return is_floating(right) ? right : floating_of_bits(right_bits);
}

[[noreturn]] void refuse_beside_vector(DType vector, std::string_view other) {
  throw InvalidInput(
      "arrays.promote.vectors",
      fmt::format("elements of {} and of {} cannot be combined: a short vector combines with one "
                  "of the same type, and what {} holds; convert with cast before",
                  name(vector), other, name(element_of(vector))));
}

/// One of them is a short vector at least.
DType promote_vectors(DType left, DType right) {
  if (left == right) {
    return left;
  }
  const DType vector = is_vector(left) ? left : right;
  const DType other = is_vector(left) ? right : left;
  if (is_vector(other) || promote(element_of(vector), other) != element_of(vector)) {
    refuse_beside_vector(vector, name(other));
  }
  return vector;
}

std::string_view name_of_vector(DType dtype) {
  constexpr std::string_view names[dtype_count][3] = {{},
                                                      {"char2", "char3", "char4"},
                                                      {"short2", "short3", "short4"},
                                                      {"int2", "int3", "int4"},
                                                      {"long2", "long3", "long4"},
                                                      {"uchar2", "uchar3", "uchar4"},
                                                      {"ushort2", "ushort3", "ushort4"},
                                                      {"uint2", "uint3", "uint4"},
                                                      {"ulong2", "ulong3", "ulong4"},
                                                      {"half2", "half3", "half4"},
                                                      {"bfloat2", "bfloat3", "bfloat4"},
                                                      {"float2", "float3", "float4"},
                                                      {"double2", "double3", "double4"},
                                                      {},
                                                      {}};
  return names[static_cast<int>(element_of(dtype))][lanes_of(dtype) - 2];
}

/// What `function` makes of the components' type.
template <class Function>
DType by_component(DType dtype, Function&& function) {
  return vector_of(function(element_of(dtype)), lanes_of(dtype));
}

}  // namespace

DType vector_of(DType element, int lanes) {
  if (lanes != 1 && (!has_vectors(element) || lanes < 2 || lanes > 4)) {
    throw InvalidInput("arrays.vector_of.no_vector",
                       fmt::format("there are no short vectors of {} {}: they have 2 to 4 "
                                   "integers or floating numbers",
                                   lanes, name(element)));
  }
  return static_cast<DType>(static_cast<int>(element) | ((lanes - 1) << 4));
}

std::string_view name(DType dtype) {
  if (is_vector(dtype)) {
    return name_of_vector(dtype);
  }
  constexpr std::string_view names[dtype_count] = {"boolean", "i8",  "i16", "i32", "i64",
                                                   "u8",      "u16", "u32", "u64", "f16",
                                                   "bf16",    "f32", "f64", "c64", "c128"};
  return names[static_cast<int>(dtype)];
}

DType promote(DType left, DType right) {
  if (is_vector(left) || is_vector(right)) {
    return promote_vectors(left, right);
  }
  if (left == right || right == DType::boolean) {
    return left;
  }
  if (left == DType::boolean) {
    return right;
  }
  if (is_complex(left) || is_complex(right)) {
    const DType part = promote(is_complex(left) ? real_of(left) : floating_for(left),
                               is_complex(right) ? real_of(right) : floating_for(right));
    return complex_of(part);
  }
  if (is_floating(left)) {
    return promote_floating(left, right);
  }
  return is_floating(right) ? promote_floating(right, left) : promote_integers(left, right);
}

DType promote(DType array, WeakKind number) {
  if (is_vector(array)) {
    if (promote(element_of(array), number) != element_of(array)) {
      refuse_beside_vector(array, number == WeakKind::real ? "a real number" : "a complex number");
    }
    return array;
  }
  switch (number) {
    case WeakKind::boolean:
      return array;
    case WeakKind::integer:
      return array == DType::boolean ? DType::i64 : array;
    case WeakKind::real:
      return is_floating(array) || is_complex(array) ? array : DType::f64;
    case WeakKind::complex:
      break;
  }
  return complex_of(array);
}

bool is_same_kind(DType from, DType to) {
  const auto rank = [](DType dtype) {
    const DType element = element_of(dtype);
    return element == DType::boolean      ? 0
           : is_unsigned_integer(element) ? 1
           : is_signed_integer(element)   ? 2
           : is_floating(element)         ? 3
                                          : 4;
  };
  return rank(from) <= rank(to);
}

DType dtype_of(WeakKind number) {
  constexpr DType types[] = {DType::boolean, DType::i64, DType::f64, DType::c128};
  return types[static_cast<int>(number)];
}

DType floating_for(DType dtype) {
  if (is_vector(dtype)) {
    return by_component(dtype, floating_for);
  }
  if (is_floating(dtype) || is_complex(dtype)) {
    return dtype;
  }
  return floating_of_bits(floating_bits_for(dtype));
}

DType real_of(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : (dtype == DType::c128 ? DType::f64 : dtype);
}

DType complex_of(DType dtype) {
  if (is_complex(dtype)) {
    return dtype;
  }
  return is_floating(dtype) && dtype != DType::f64 ? DType::c64 : DType::c128;
}

DType sum_type(DType dtype) {
  if (is_vector(dtype)) {
    return by_component(dtype, sum_type);
  }
  if (dtype == DType::boolean || is_signed_integer(dtype)) {
    return DType::i64;
  }
  return is_unsigned_integer(dtype) ? DType::u64 : dtype;
}

cgen::Type storage_type(DType dtype) {
  switch (element_of(dtype)) {
    case DType::boolean:
      return cgen::u8;
    case DType::f16:
      return cgen::f16;
    case DType::bf16:
      return cgen::u16;
    default:
      return value_type(dtype);
  }
}

cgen::Type value_type(DType dtype) {
  switch (element_of(dtype)) {
    case DType::boolean:
      return cgen::boolean;
    case DType::i8:
      return cgen::i8;
    case DType::i16:
      return cgen::i16;
    case DType::i32:
      return cgen::i32;
    case DType::i64:
      return cgen::i64;
    case DType::u8:
      return cgen::u8;
    case DType::u16:
      return cgen::u16;
    case DType::u32:
      return cgen::u32;
    case DType::u64:
      return cgen::u64;
    case DType::f64:
    case DType::c128:
      return cgen::f64;
    default:
      return cgen::f32;
  }
}

std::uint16_t half_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<std::uint16_t>(sign | 0x7e00U);
  }
  if (magnitude >= 0x47800000U) {  // 2^16 and more; the rest of what rounds to inf does so below
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < 0x38800000U) {  // below the least normal half: adding 0.5 rounds at its last bit
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U;
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

float float_of_half_bits(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude >= 0x7c00U) {
    return std::bit_cast<float>(sign | 0x7f800000U | ((magnitude & 0x3ffU) << 13));
  }
  // 2^112 moves the exponent from the half's bias to the float's; exact, for subnormals too
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

}  // namespace rtcg::arrays
