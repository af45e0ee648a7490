#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "rtcg/arrays/core/half.h"
#include "rtcg/arrays/core/short_vector.h"
#include "rtcg/cgen/ast/type.h"

namespace rtcg::arrays {

/// The types of elements. c64 consists of two f32, c128 of two f64. The enumerators have short
/// vectors: vector_of(DType::f32, 4) is `float4`.
enum class DType : std::uint8_t {
  boolean,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
};
inline constexpr int dtype_count = 15;  ///< without short vectors

/// `boolean`, `i8`, ...: as enumerators are spelled; short vectors as C has them: `float4`,
/// `uchar2`, `long3`, `half2`; those of bf16 `bfloat2` and so on.
[[nodiscard]] std::string_view name(DType dtype);

[[nodiscard]] constexpr bool is_complex(DType dtype) {
  return dtype == DType::c64 || dtype == DType::c128;
}
[[nodiscard]] constexpr bool is_floating(DType dtype) {
  return dtype >= DType::f16 && dtype <= DType::f64;
}
/// Signed and unsigned integers; not bool.
[[nodiscard]] constexpr bool is_integer(DType dtype) {
  return dtype >= DType::i8 && dtype <= DType::u64;
}
[[nodiscard]] constexpr bool is_signed_integer(DType dtype) {
  return dtype >= DType::i8 && dtype <= DType::i64;
}
[[nodiscard]] constexpr bool is_unsigned_integer(DType dtype) {
  return dtype >= DType::u8 && dtype <= DType::u64;
}
/// Whether there are short vectors of such elements: of integers and floating types.
[[nodiscard]] constexpr bool has_vectors(DType element) {
  return is_integer(element) || is_floating(element);
}
/// Short vectors of 2 to 4 elements; of one lane, the element itself.
///
/// @throws InvalidInput  arrays.vector_of.no_vector: of other elements or lanes
[[nodiscard]] DType vector_of(DType element, int lanes);
[[nodiscard]] constexpr int lanes_of(DType dtype) {
  return (static_cast<int>(dtype) >> 4) + 1;
}
[[nodiscard]] constexpr bool is_vector(DType dtype) {
  return lanes_of(dtype) > 1;
}
/// Of a short vector the type of its components; others stay.
[[nodiscard]] constexpr DType element_of(DType dtype) {
  return static_cast<DType>(static_cast<int>(dtype) & 15);
}
/// f16, bf16, and short vectors of them: kept in memory, and computed with in f32.
[[nodiscard]] constexpr bool is_half(DType dtype) {
  return element_of(dtype) == DType::f16 || element_of(dtype) == DType::bf16;
}

/// @unit bytes of an element in memory
[[nodiscard]] constexpr std::size_t size_bytes(DType dtype) {
  constexpr std::size_t sizes[dtype_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
  return sizes[static_cast<int>(element_of(dtype))] * static_cast<std::size_t>(lanes_of(dtype));
}

/// The type that holds results of `left op right`, as NumPy 2's promote_types. bfloat16, which
/// NumPy lacks, combines with numbers as float16 does; with float16 it gives f32. A short vector
/// combines with one of the same type, or with a number that its components hold, and keeps its
/// type.
///
/// @throws InvalidInput  arrays.promote.vectors: a short vector and something else
[[nodiscard]] DType promote(DType left, DType right);

/// The kind of a C++ number in an expression: it gets the array's type unless its kind is higher,
/// as Python's numbers do in NumPy 2.
enum class WeakKind { boolean, integer, real, complex };
/// The type of `array op number`: `2 * f32` and `2.0 * f32` are f32, `2.0 * i32` is f64.
///
/// @throws InvalidInput  arrays.promote.vectors: the components do not hold the number
[[nodiscard]] DType promote(DType array, WeakKind number);
/// The type of a number on its own: boolean, i64, f64, c128.
[[nodiscard]] DType dtype_of(WeakKind number);

/// Whether elements of a type go into an array of another without a word, which loses digits at
/// most: from bool over unsigned and signed integers and real numbers to complex ones, never back.
/// NumPy's `can_cast(from, to, "same_kind")`; short vectors by component.
[[nodiscard]] bool is_same_kind(DType from, DType to);

/// The type of sin(x), sqrt(x), ... : x's own if it is floating or complex, otherwise the smallest
/// floating type that holds it; of short vectors, that of their components.
[[nodiscard]] DType floating_for(DType dtype);
/// f32 for c64, f64 for c128; others stay.
[[nodiscard]] DType real_of(DType dtype);
/// c128 for f64 and for integers, c64 for smaller floating types; complex types stay.
[[nodiscard]] DType complex_of(DType dtype);
/// The type of sums and products: i64 and u64 for booleans and smaller integers, otherwise the
/// same.
[[nodiscard]] DType sum_type(DType dtype);

/// As memory holds an element, or the half of a complex one: a boolean as u8, a bfloat16 as u16.
[[nodiscard]] cgen::Type storage_type(DType dtype);
/// As kernels compute with it: f16 and bf16 in f32; of complex numbers, a part; of short vectors, a
/// component.
[[nodiscard]] cgen::Type value_type(DType dtype);

namespace detail {
template <class T>
struct ShortVectorParts {
  static constexpr int lanes = 1;
  using Component = T;
};
template <class T, int count>
struct ShortVectorParts<ShortVector<T, count>> {
  static constexpr int lanes = count;
  using Component = T;
};

template <class T>
constexpr int scalar_index() {
  using std::is_same_v;
  if constexpr (is_same_v<T, bool>) {
    return static_cast<int>(DType::boolean);
  } else if constexpr (std::is_integral_v<T>) {
    constexpr int width = sizeof(T) == 1 ? 0 : (sizeof(T) == 2 ? 1 : (sizeof(T) == 4 ? 2 : 3));
    return static_cast<int>(std::is_signed_v<T> ? DType::i8 : DType::u8) + width;
  } else if constexpr (is_same_v<T, Half>) {
    return static_cast<int>(DType::f16);
  } else if constexpr (is_same_v<T, BFloat16>) {
    return static_cast<int>(DType::bf16);
  } else if constexpr (is_same_v<T, float>) {
    return static_cast<int>(DType::f32);
  } else if constexpr (is_same_v<T, double>) {
    return static_cast<int>(DType::f64);
  } else if constexpr (is_same_v<T, std::complex<float>>) {
    return static_cast<int>(DType::c64);
  } else if constexpr (is_same_v<T, std::complex<double>>) {
    return static_cast<int>(DType::c128);
  } else {
    return -1;
  }
}

template <class T>
constexpr int dtype_index() {
  using Parts = ShortVectorParts<T>;
  constexpr int component = scalar_index<typename Parts::Component>();
  if constexpr (Parts::lanes == 1 || component < 0) {
    return component;
  } else {
    return has_vectors(static_cast<DType>(component)) ? component + ((Parts::lanes - 1) << 4) : -1;
  }
}
}  // namespace detail

/// A C++ type that elements of arrays have on the host.
template <class T>
concept Element = detail::dtype_index<T>()
>= 0;

template <Element T>
inline constexpr DType dtype_of_type = static_cast<DType>(detail::dtype_index<T>());

/// Calls `action(std::type_identity<T>())` with the C++ type of elements of that type; of short
/// vectors, with that of their components.
template <class Action>
decltype(auto) with_element_type(DType dtype, Action&& action) {
  switch (element_of(dtype)) {
    case DType::boolean:
      return action(std::type_identity<bool>());
    case DType::i8:
      return action(std::type_identity<std::int8_t>());
    case DType::i16:
      return action(std::type_identity<std::int16_t>());
    case DType::i32:
      return action(std::type_identity<std::int32_t>());
    case DType::i64:
      return action(std::type_identity<std::int64_t>());
    case DType::u8:
      return action(std::type_identity<std::uint8_t>());
    case DType::u16:
      return action(std::type_identity<std::uint16_t>());
    case DType::u32:
      return action(std::type_identity<std::uint32_t>());
    case DType::u64:
      return action(std::type_identity<std::uint64_t>());
    case DType::f16:
      return action(std::type_identity<Half>());
    case DType::bf16:
      return action(std::type_identity<BFloat16>());
    case DType::f32:
      return action(std::type_identity<float>());
    case DType::f64:
      return action(std::type_identity<double>());
    case DType::c64:
      return action(std::type_identity<std::complex<float>>());
    case DType::c128:
      break;
  }
  return action(std::type_identity<std::complex<double>>());
}

}  // namespace rtcg::arrays
