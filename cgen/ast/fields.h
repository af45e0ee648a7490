#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/module.h"

// The only list of the parts of each node. Hashing, comparing, walking, rewriting and destroying
// are written once with it.

namespace rtcg::cgen::detail {

/// How many members a node kind, or a part of one, has. Writing a wrong number does not compile:
/// the structured bindings below then do not match. Kinds without members are not listed.
template <class Struct>
inline constexpr int field_count = 0;

// clang-format off
template <> inline constexpr int field_count<Scalar> = 1;
template <> inline constexpr int field_count<Complex> = 1;
template <> inline constexpr int field_count<Vector> = 2;
template <> inline constexpr int field_count<Pointer> = 2;
template <> inline constexpr int field_count<Reference> = 2;
template <> inline constexpr int field_count<Array> = 2;
template <> inline constexpr int field_count<FunctionType> = 3;
template <> inline constexpr int field_count<Qualified> = 4;
template <> inline constexpr int field_count<TemplateArgument> = 2;
template <> inline constexpr int field_count<Named> = 2;
template <> inline constexpr int field_count<RecordField> = 2;
template <> inline constexpr int field_count<Record> = 3;
template <> inline constexpr int field_count<Enumeration> = 3;
template <> inline constexpr int field_count<Decltype> = 1;
template <> inline constexpr int field_count<Image> = 4;

template <> inline constexpr int field_count<IntLiteral> = 3;
template <> inline constexpr int field_count<FloatLiteral> = 2;
template <> inline constexpr int field_count<BoolLiteral> = 1;
template <> inline constexpr int field_count<CharLiteral> = 1;
template <> inline constexpr int field_count<StringLiteral> = 1;
template <> inline constexpr int field_count<Variable> = 2;
template <> inline constexpr int field_count<BuiltinIndex> = 2;
template <> inline constexpr int field_count<IntrinsicCall> = 3;
template <> inline constexpr int field_count<Unary> = 2;
template <> inline constexpr int field_count<Binary> = 3;
template <> inline constexpr int field_count<AssignExpr> = 3;
template <> inline constexpr int field_count<Conditional> = 3;
template <> inline constexpr int field_count<Cast> = 3;
template <> inline constexpr int field_count<Call> = 3;
template <> inline constexpr int field_count<Subscript> = 2;
template <> inline constexpr int field_count<Member> = 2;
template <> inline constexpr int field_count<Initializer> = 3;
template <> inline constexpr int field_count<InitializerList> = 1;
template <> inline constexpr int field_count<CompoundLiteral> = 2;
template <> inline constexpr int field_count<SizeOf> = 1;
template <> inline constexpr int field_count<AlignOf> = 1;
template <> inline constexpr int field_count<KernelLaunch> = 7;
template <> inline constexpr int field_count<Attribute> = 2;
template <> inline constexpr int field_count<Parameter> = 5;
template <> inline constexpr int field_count<Capture> = 3;
template <> inline constexpr int field_count<Lambda> = 7;
template <> inline constexpr int field_count<This> = 1;
template <> inline constexpr int field_count<New> = 4;
template <> inline constexpr int field_count<Delete> = 2;
template <> inline constexpr int field_count<Throw> = 1;
template <> inline constexpr int field_count<Fold> = 4;
template <> inline constexpr int field_count<PackExpansion> = 1;
template <> inline constexpr int field_count<RawExpr> = 4;

template <> inline constexpr int field_count<ExpressionStatement> = 1;
template <> inline constexpr int field_count<DeclarationSpecifiers> = 7;
template <> inline constexpr int field_count<Declaration> = 9;
template <> inline constexpr int field_count<StructuredBinding> = 3;
template <> inline constexpr int field_count<Block> = 1;
template <> inline constexpr int field_count<Group> = 1;
template <> inline constexpr int field_count<If> = 4;
template <> inline constexpr int field_count<For> = 5;
template <> inline constexpr int field_count<RangeFor> = 3;
template <> inline constexpr int field_count<While> = 2;
template <> inline constexpr int field_count<DoWhile> = 2;
template <> inline constexpr int field_count<SwitchCase> = 4;
template <> inline constexpr int field_count<Switch> = 2;
template <> inline constexpr int field_count<Return> = 1;
template <> inline constexpr int field_count<Goto> = 1;
template <> inline constexpr int field_count<Label> = 1;
template <> inline constexpr int field_count<Handler> = 2;
template <> inline constexpr int field_count<Try> = 2;
template <> inline constexpr int field_count<AsmOperand> = 2;
template <> inline constexpr int field_count<InlineAsm> = 5;
template <> inline constexpr int field_count<Barrier> = 1;
template <> inline constexpr int field_count<MemoryFence> = 1;
template <> inline constexpr int field_count<Comment> = 2;
template <> inline constexpr int field_count<StaticAssert> = 2;
template <> inline constexpr int field_count<RawStatement> = 3;
template <> inline constexpr int field_count<Pragma> = 1;
template <> inline constexpr int field_count<Include> = 2;
template <> inline constexpr int field_count<Define> = 3;
template <> inline constexpr int field_count<Undef> = 1;
template <> inline constexpr int field_count<PreprocessorBranch> = 3;
template <> inline constexpr int field_count<PreprocessorIf> = 2;
template <> inline constexpr int field_count<LineDirective> = 2;
template <> inline constexpr int field_count<ErrorDirective> = 1;
template <> inline constexpr int field_count<FunctionSpecifiers> = 15;
template <> inline constexpr int field_count<LaunchBounds> = 2;
template <> inline constexpr int field_count<MemberInitializer> = 2;
template <> inline constexpr int field_count<Function> = 13;
template <> inline constexpr int field_count<TemplateParameter> = 4;
template <> inline constexpr int field_count<Template> = 3;
template <> inline constexpr int field_count<ExplicitInstantiation> = 6;
template <> inline constexpr int field_count<AccessSpecifier> = 1;
template <> inline constexpr int field_count<BaseClass> = 2;
template <> inline constexpr int field_count<RecordDefinition> = 10;
template <> inline constexpr int field_count<Enumerator> = 2;
template <> inline constexpr int field_count<EnumDefinition> = 4;
template <> inline constexpr int field_count<Typedef> = 2;
template <> inline constexpr int field_count<UsingAlias> = 2;
template <> inline constexpr int field_count<NamespaceAlias> = 2;
template <> inline constexpr int field_count<UsingDirective> = 1;
template <> inline constexpr int field_count<UsingDeclaration> = 1;
template <> inline constexpr int field_count<Namespace> = 3;
template <> inline constexpr int field_count<ExternC> = 1;

/// Calls `visit` with all members of one node: visit(first, second, ...).
template <class Struct, class Visit>
decltype(auto) with_fields(Struct& s, Visit&& visit) {
  constexpr int count = field_count<std::remove_const_t<Struct>>;
  if constexpr (count == 0) {
    static_assert(std::is_empty_v<Struct>, "list this kind in field_count");
    return visit();
  } else if constexpr (count == 1) {
    auto& [a] = s;
    return visit(a);
  } else if constexpr (count == 2) {
    auto& [a, b] = s;
    return visit(a, b);
  } else if constexpr (count == 3) {
    auto& [a, b, c] = s;
    return visit(a, b, c);
  } else if constexpr (count == 4) {
    auto& [a, b, c, d] = s;
    return visit(a, b, c, d);
  } else if constexpr (count == 5) {
    auto& [a, b, c, d, e] = s;
    return visit(a, b, c, d, e);
  } else if constexpr (count == 6) {
    auto& [a, b, c, d, e, f] = s;
    return visit(a, b, c, d, e, f);
  } else if constexpr (count == 7) {
    auto& [a, b, c, d, e, f, g] = s;
    return visit(a, b, c, d, e, f, g);
  } else if constexpr (count == 8) {
    auto& [a, b, c, d, e, f, g, h] = s;
    return visit(a, b, c, d, e, f, g, h);
  } else if constexpr (count == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = s;
    return visit(a, b, c, d, e, f, g, h, i);
  } else if constexpr (count == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = s;
    return visit(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (count == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = s;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else {
    static_assert(count == 15, "write the bindings for this many members");
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = s;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
}
// clang-format on

template <class T>
inline constexpr bool is_handle =
    std::is_same_v<T, Type> || std::is_same_v<T, Expr> || std::is_same_v<T, Statement>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_sequence = false;
template <class T>
inline constexpr bool is_sequence<std::vector<T>> = true;
template <class T, std::size_t n>
inline constexpr bool is_sequence<std::array<T, n>> = true;

/// Calls `visit` for every handle in `field`: a member of a node, of any type.
template <class Field, class Visit>
void for_each_handle(Field& field, Visit& visit) {
  using Plain = std::remove_const_t<Field>;
  if constexpr (is_handle<Plain>) {
    visit(field);
  } else if constexpr (is_optional<Plain>) {
    if (field) {
      for_each_handle(*field, visit);
    }
  } else if constexpr (is_sequence<Plain>) {
    for (auto& element : field) {
      for_each_handle(element, visit);
    }
  } else if constexpr (field_count<Plain> > 0) {
    with_fields(field, [&](auto&... members) { (for_each_handle(members, visit), ...); });
  }
}

}  // namespace rtcg::cgen::detail

namespace rtcg::cgen {

/// Reaches into handles; for ast alone.
struct NodeAccess {
  template <class Handle>
  static auto& pointer(Handle& handle) {
    return handle.node_;
  }
};

}  // namespace rtcg::cgen
