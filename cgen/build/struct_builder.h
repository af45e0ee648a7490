#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {

/// The size and alignment of a type of the generated language, the same on every 64-bit target.
struct TypeLayout {
  std::size_t size_bytes = 0;
  std::size_t alignment_bytes = 1;
};

/// @throws InvalidInput  cgen.layout_of.unknown_layout: for types known by name only, vectors of
///   three lanes (12 bytes in CUDA, 16 in OpenCL), records with functions and unsized arrays
[[nodiscard]] TypeLayout layout_of(const Type& type);

struct LaidOutField {
  std::string name;
  Type type;
  std::size_t offset_bytes = 0;
};

/// A struct whose layout is known: definition, type and offsets agree.
struct LaidOutStruct {
  std::string name;
  Type type;                         ///< the record, padding included
  Statement definition;              ///< `struct name { ... };`
  std::vector<LaidOutField> fields;  ///< without padding
  std::size_t size_bytes = 0;
  std::size_t alignment_bytes = 1;

  /// @throws InvalidInput  cgen.struct_builder.unknown_field
  [[nodiscard]] std::size_t offset_bytes(const std::string& field) const;
};

/// `static_assert`s that size and offsets are as laid out (C11, C++, CUDA; include stddef.h).
[[nodiscard]] std::vector<Statement> layout_assertions(const LaidOutStruct& laid_out);

/// A kernel of one thread, `NAME_layout(global i32* found)`, that writes the device compiler's
/// offset of each field and, last, the size: compare with `expected_layout`.
[[nodiscard]] Declared layout_kernel(const LaidOutStruct& laid_out);
[[nodiscard]] std::vector<std::int32_t> expected_layout(const LaidOutStruct& laid_out);

/// The type of the generated language that C++'s `T` has: numbers, bool, char, std::complex,
/// pointers to these, arrays and std::array of these.
template <class T>
[[nodiscard]] Type type_for();

struct PaddingOptions {
  int align_bytes = 0;  ///< pad the size to a multiple of this; 0: of the natural alignment
  /// Pad on until size / alignment has no common divisor with any of these. With the number of
  /// memory banks, the structs of adjacent threads are then in different banks.
  std::vector<int> aligned_prime_to{};
};

/// A struct of these fields in the natural layout, with padding at its end as asked.
/// @throws InvalidInput  cgen.layout_of.unknown_layout; cgen.struct_builder.bad_padding when the
///   request cannot be met
[[nodiscard]] LaidOutStruct lay_out_struct(std::string name, const std::vector<RecordField>& fields,
                                           const PaddingOptions& options = {});

namespace detail {

struct HostField {
  std::string name;
  Type type;
  std::size_t offset_bytes;
  std::size_t size_bytes;
};

[[nodiscard]] LaidOutStruct match_host(const std::string& name, std::vector<HostField> fields,
                                       std::size_t size_bytes, std::size_t alignment_bytes);

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t n>
inline constexpr bool is_std_array<std::array<T, n>> = true;
template <class T>
inline constexpr bool is_std_complex = false;
template <class T>
inline constexpr bool is_std_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool has_no_type_here = false;

template <class Number>
Type number_type() {
  if constexpr (std::is_floating_point_v<Number>) {
    static_assert(sizeof(Number) <= 8, "no target has long double");
    return sizeof(Number) == 4 ? f32 : f64;
  } else {
    constexpr int width = sizeof(Number) == 1   ? 0
                          : sizeof(Number) == 2 ? 1
                          : sizeof(Number) == 4 ? 2
                                                : 3;
    const Type types[2][4] = {{u8, u16, u32, u64}, {i8, i16, i32, i64}};
    return types[std::is_signed_v<Number> ? 1 : 0][width];
  }
}

}  // namespace detail

template <class T>
Type type_for() {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_const_v<T>) {
    return const_(type_for<Plain>());
  } else if constexpr (std::is_void_v<Plain>) {
    return void_type;
  } else if constexpr (std::is_same_v<Plain, bool>) {
    return boolean;
  } else if constexpr (std::is_same_v<Plain, char>) {
    return char_type;
  } else if constexpr (std::is_arithmetic_v<Plain>) {
    return detail::number_type<Plain>();
  } else if constexpr (std::is_enum_v<Plain>) {
    return type_for<std::underlying_type_t<Plain>>();
  } else if constexpr (std::is_pointer_v<Plain>) {
    return pointer_to(type_for<std::remove_pointer_t<Plain>>());
  } else if constexpr (detail::is_std_complex<Plain>) {
    return complex_of(type_for<typename Plain::value_type>());
  } else if constexpr (std::is_array_v<Plain>) {
    return array_of(type_for<std::remove_extent_t<Plain>>(),
                    static_cast<int>(std::extent_v<Plain>));
  } else if constexpr (detail::is_std_array<Plain>) {
    return array_of(type_for<typename Plain::value_type>(),
                    static_cast<int>(std::tuple_size_v<Plain>));
  } else {
    static_assert(detail::has_no_type_here<T>, "name the field's type: field(name, member, type)");
  }
}

/// Builds the struct of the generated language with the memory layout of the C++ struct `Host`.
///
///     StructBuilder<Particle> builder("particle");
///     builder.field("position", &Particle::position).field("mass", &Particle::mass);
///     LaidOutStruct particle = builder.build();
///
/// Fields come in the order of their offsets; gaps between named fields, and host members that are
/// not named, become padding.
template <class Host>
class StructBuilder {
  static_assert(std::is_standard_layout_v<Host>, "only standard layout has portable offsets");

 public:
  explicit StructBuilder(std::string name) : name_(std::move(name)) {}

  template <class Field>
  StructBuilder& field(std::string name, Field Host::*member) {
    return field(std::move(name), member, type_for<Field>());
  }
  /// For fields of record and vector types.
  template <class Field>
  StructBuilder& field(std::string name, Field Host::*member, Type type) {
    fields_.push_back({std::move(name), std::move(type), offset_of(member), sizeof(Field)});
    return *this;
  }

  /// @throws InvalidInput  cgen.struct_builder.field_size: a stated type is larger or smaller than
  ///   the member; cgen.struct_builder.layout: the fields overlap, or `Host` is packed in a way
  ///   that the generated language does not have; cgen.layout_of.unknown_layout
  [[nodiscard]] LaidOutStruct build() const {
    return detail::match_host(name_, fields_, sizeof(Host), alignof(Host));
  }

 private:
  // In the C++ ABI of all our compilers a pointer to member is the member's offset. Reading it
  // needs no Host, and may name members of packed structs.
  template <class Field>
  static std::size_t offset_of(Field Host::*member) {
    static_assert(sizeof(member) == sizeof(std::ptrdiff_t));
    return static_cast<std::size_t>(std::bit_cast<std::ptrdiff_t>(member));
  }

  std::string name_;
  std::vector<detail::HostField> fields_;
};

}  // namespace rtcg::cgen
