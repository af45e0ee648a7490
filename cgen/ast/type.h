#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/handles.h"
#include "rtcg/cgen/ast/kind_node.h"
#include "rtcg/cgen/support/match.h"

namespace rtcg::cgen {

/// The arithmetic types. i8 ... u64 have the width in their name in every dialect.
enum class ScalarKind {
  void_,
  bool_,
  char_,  ///< plain `char`, neither i8 nor u8
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
  size,     ///< `size_t`: converts like u64
  ptrdiff,  ///< `ptrdiff_t`: converts like i64
};

/// The memory of an object. CUDA C puts it on declarations only (MemorySpace), OpenCL C on the
/// pointed-to type.
enum class AddressSpace { unspecified, global, shared, constant, private_ };

enum class ImageAccess { read_only, write_only, read_write };

enum class RecordTag { struct_, union_, class_ };

/// The type of an ill-typed expression.
struct Invalid {};
/// A type that was not stated: its values are not checked.
struct Unknown {};
/// `auto`, in declarations with an initialiser.
struct Auto {};
struct Scalar {
  ScalarKind kind;
};
/// `std::complex<float>` and its like; `element` is f32 or f64.
struct Complex {
  Type element;
};
/// `float4`: 2, 3, 4, 8 or 16 lanes of a scalar.
struct Vector {
  Type element;
  int lanes;
};
struct Pointer {
  Type pointee;
  bool is_restrict = false;
};
struct Reference {
  Type referee;
  bool is_rvalue = false;
};
/// An array; no extent: `x[]`.
struct Array {
  Type element;
  std::optional<Expr> extent{};
};
struct FunctionType {
  Type result;
  std::vector<Type> parameters{};
  bool is_variadic = false;
};
/// const, volatile and address space of `type`. The helpers below keep one level of it.
struct Qualified {
  Type type;
  bool is_const = false;
  bool is_volatile = false;
  AddressSpace space = AddressSpace::unspecified;
};
/// A template argument: a type or a value; exactly one of the two is set.
struct TemplateArgument {
  TemplateArgument(Type argument) : type(std::move(argument)) {}
  template <std::convertible_to<Expr> Value>
  TemplateArgument(Value&& argument) : value(std::forward<Value>(argument)) {}
  std::optional<Type> type{};
  std::optional<Expr> value{};
};
/// A type known by name only (typedef, template parameter, library class): opaque to the checks.
struct Named {
  std::string name{};
  std::vector<TemplateArgument> arguments{};
};
struct RecordField {
  std::string name{};
  Type type;
};
/// A struct, union or class by name, with what is needed to type `x.member`. It refers to itself
/// through pointers to Named.
struct Record {
  RecordTag tag = RecordTag::struct_;
  std::string name{};
  std::vector<RecordField> fields{};
};
struct Enumeration {
  std::string name{};
  bool is_scoped = false;
  std::optional<Type> underlying{};  ///< i32 when absent
};
/// `decltype(expression)`, or `decltype(auto)` without one: opaque to the checks. As the result of
/// a function it prints after the parameters, so it may name them.
struct Decltype {
  std::optional<Expr> expression{};
};
/// An image, `dimensions` 1 to 3. With a texel it is a parameter in every dialect: a texture if it
/// is read only, a surface otherwise. Without one it is OpenCL's own.
struct Image {
  int dimensions = 2;
  ImageAccess access = ImageAccess::read_only;
  bool is_array = false;
  std::optional<Type> texel{};  ///< what kernels read: f32 also of f16 and of bytes as fractions
};

using TypeKinds =
    KindList<Unknown, Invalid, Auto, Scalar, Complex, Vector, Pointer, Reference, Array,
             FunctionType, Qualified, Named, Record, Enumeration, Decltype, Image>;

template <class Kind>
requires(TypeKinds::contains<Kind>) inline constexpr bool is_type_kind<Kind> = true;

struct TypeNode {
  using Kinds = TypeKinds;
  std::uint64_t hash;
  std::uint8_t index;  // of its kind in Kinds
};

inline std::uint64_t Type::hash() const noexcept {
  return node_->hash;
}

inline const TypeNode& kinds(const Type& type) {
  return type.node();
}

inline const Type void_type = Scalar{ScalarKind::void_};
inline const Type boolean = Scalar{ScalarKind::bool_};
inline const Type char_type = Scalar{ScalarKind::char_};
inline const Type i8 = Scalar{ScalarKind::i8};
inline const Type i16 = Scalar{ScalarKind::i16};
inline const Type i32 = Scalar{ScalarKind::i32};
inline const Type i64 = Scalar{ScalarKind::i64};
inline const Type u8 = Scalar{ScalarKind::u8};
inline const Type u16 = Scalar{ScalarKind::u16};
inline const Type u32 = Scalar{ScalarKind::u32};
inline const Type u64 = Scalar{ScalarKind::u64};
inline const Type f16 = Scalar{ScalarKind::f16};
inline const Type bf16 = Scalar{ScalarKind::bf16};
inline const Type f32 = Scalar{ScalarKind::f32};
inline const Type f64 = Scalar{ScalarKind::f64};
inline const Type size_type = Scalar{ScalarKind::size};
inline const Type ptrdiff_type = Scalar{ScalarKind::ptrdiff};
inline const Type auto_type = Auto{};

[[nodiscard]] Type pointer_to(Type pointee);
/// A pointer that is the only one to its memory (`restrict`).
[[nodiscard]] Type restrict_pointer_to(Type pointee);
[[nodiscard]] Type reference_to(Type referee);
[[nodiscard]] Type rvalue_reference_to(Type referee);
[[nodiscard]] Type array_of(Type element, Expr extent);
/// `element x[]`.
[[nodiscard]] Type array_of(Type element);
[[nodiscard]] Type function_type(Type result, std::vector<Type> parameters,
                                 bool is_variadic = false);
/// Adds const to the qualifiers of `type`; const of an array is an array of const.
[[nodiscard]] Type const_(Type type);
[[nodiscard]] Type volatile_(Type type);
[[nodiscard]] Type in_space(AddressSpace space, Type type);
/// @param lanes  2, 3, 4, 8 or 16
[[nodiscard]] Type vector_of(Type element, int lanes);
[[nodiscard]] Type complex_of(Type element);
[[nodiscard]] Type named(std::string name, std::vector<TemplateArgument> arguments = {});
/// A texture: `fetch` reads it at any position; that of a mipmap takes a level after the
/// coordinates. OpenCL C passes a sampler with it, which the tree does not mention.
/// @param texel  f32, i32, u8, f64, or vectors of 2 or 4 of these (of 2 f64)
[[nodiscard]] Type texture_of(Type texel, int dimensions = 2);
/// A surface, whose texels `read_texel` and `write_texel` reach by their index.
/// @param texel   f32, i32, u8, or vectors of 2 or 4 of these
/// @param access  for OpenCL C, which may lack read_write
[[nodiscard]] Type surface_of(Type texel, int dimensions = 2,
                              ImageAccess access = ImageAccess::read_write);
/// A texture or surface of 1 or 2 dimensions that has layers: an integer after the coordinates
/// chooses one.
[[nodiscard]] Type with_layers(const Type& image);
/// `decltype(expression)`.
[[nodiscard]] Type decltype_of(Expr expression);
/// `decltype(auto)`.
[[nodiscard]] Type decltype_auto();

/// `type` without its outermost qualifiers.
[[nodiscard]] Type without_qualifiers(const Type& type);
/// The outermost qualifiers of `type`, around the qualified type; none are set if there are none.
[[nodiscard]] Qualified qualifiers_of(const Type& type);
/// `type` without reference and outermost qualifiers: the type of a value read from it.
[[nodiscard]] Type value_type(const Type& type);
/// value_type, and arrays and functions turned into pointers, as when passed to a function.
[[nodiscard]] Type decayed(const Type& type);
/// Const, an array of const, or a reference to one of these.
[[nodiscard]] bool is_const(const Type& type);
/// The scalar kind of a value of this type; nothing for types that are not scalars. An unscoped
/// enumeration counts as its underlying type.
[[nodiscard]] std::optional<ScalarKind> scalar_kind(const Type& type);
/// Unknown, Auto, Decltype or Named: nothing can be said about expressions of this type.
[[nodiscard]] bool is_opaque(const Type& type);

[[nodiscard]] constexpr bool is_floating(ScalarKind kind) {
  return kind >= ScalarKind::f16 && kind <= ScalarKind::f64;
}
[[nodiscard]] constexpr bool is_integral(ScalarKind kind) {
  return kind != ScalarKind::void_ && !is_floating(kind);
}
[[nodiscard]] constexpr bool is_signed(ScalarKind kind) {
  return (kind >= ScalarKind::char_ && kind <= ScalarKind::i64) || kind == ScalarKind::ptrdiff ||
         is_floating(kind);
}
/// @unit bytes; 0 for void
[[nodiscard]] int size_bytes(ScalarKind kind);

}  // namespace rtcg::cgen
