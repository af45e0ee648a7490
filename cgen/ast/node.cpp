// Construction and destruction of nodes: what is computed once when a node is made.
#include <bit>

#include "rtcg/cgen/ast/fields.h"
#include "rtcg/cgen/ast/infer_type.h"
#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::cgen {
namespace {

template <class Field>
void hash_field(StructuralHash& hash, const Field& field) {
  if constexpr (detail::is_handle<Field>) {
    hash.add(field.hash());
  } else if constexpr (detail::is_optional<Field>) {
    hash.add(std::uint64_t{field.has_value()});
    if (field) {
      hash_field(hash, *field);
    }
  } else if constexpr (detail::is_sequence<Field>) {
    hash.add(std::uint64_t{field.size()});
    for (const auto& element : field) {
      hash_field(hash, element);
    }
  } else if constexpr (std::is_same_v<Field, std::string>) {
    hash.add(std::string_view(field));
  } else if constexpr (std::is_same_v<Field, double>) {
    hash.add(std::bit_cast<std::uint64_t>(field));
  } else if constexpr (std::is_arithmetic_v<Field> || std::is_enum_v<Field>) {
    hash.add(static_cast<std::uint64_t>(field));
  } else {
    detail::with_fields(field, [&](const auto&... members) { (hash_field(hash, members), ...); });
  }
}

template <class Head, class Kind>
std::uint64_t hash_node(const Kind& kind, std::uint64_t family) {
  StructuralHash hash;
  hash.add(family).add(std::uint64_t{Head::Kinds::template index_of<Kind>});
  hash_field(hash, kind);
  return hash.value();
}

// Nodes whose turn to die has not come: a node hands its children over instead of destroying them,
// so that a chain of any length takes one level of the stack. A plain pointer, because constants
// of static storage outlive everything that needs a destructor itself.
using Doomed = std::vector<std::shared_ptr<const void>>;

Doomed*& doomed() {
  thread_local Doomed* list = nullptr;
  return list;
}

template <class Kind>
void hand_over_children(Kind& kind, Doomed& list) {
  auto take = [&](auto& handle) {
    auto& pointer = NodeAccess::pointer(handle);
    if (pointer != nullptr && pointer.use_count() == 1) {
      list.push_back(std::move(pointer));
    }
  };
  detail::for_each_handle(kind, take);
}

template <class Kind>
void destroy_children(Kind& kind) {
  Doomed*& active = doomed();
  if (active != nullptr) {
    hand_over_children(kind, *active);
    return;
  }
  Doomed list;
  active = &list;
  hand_over_children(kind, list);
  while (!list.empty()) {
    const std::shared_ptr<const void> next = std::move(list.back());
    list.pop_back();
    // `next` dies here, after its place in the list was freed for its children
  }
  active = nullptr;
}

Statement as_body(Statement body) {
  if (const auto* group = get_if<Group>(body)) {
    return Statement(Block{group->statements}, body.where());
  }
  return body;
}

template <class Kind>
Kind with_block_bodies(Kind kind) {
  if constexpr (std::is_same_v<Kind, If>) {
    kind.then_body = as_body(std::move(kind.then_body));
    if (kind.else_body) {
      kind.else_body = as_body(std::move(*kind.else_body));
    }
  } else if constexpr (std::is_same_v<Kind, Function>) {
    if (kind.body) {
      kind.body = as_body(std::move(*kind.body));
    }
  } else if constexpr (std::is_same_v<Kind, For> || std::is_same_v<Kind, RangeFor> ||
                       std::is_same_v<Kind, While> || std::is_same_v<Kind, DoWhile>) {
    kind.body = as_body(std::move(kind.body));
  } else if constexpr (std::is_same_v<Kind, Try>) {
    kind.body = as_body(std::move(kind.body));
    for (Handler& handler : kind.handlers) {
      handler.body = as_body(std::move(handler.body));
    }
  }
  return kind;
}

template <class Head, class Kind>
struct Node final : KindNode<Head, Kind> {
  using KindNode<Head, Kind>::KindNode;
  ~Node() { destroy_children(this->kind); }
};

template <class Head, class Kind>
constexpr auto index_of = static_cast<std::uint8_t>(Head::Kinds::template index_of<Kind>);

}  // namespace

template <TypeKind Kind>
Type::Type(Kind kind) {
  const TypeNode head = {hash_node<TypeNode>(kind, 1), index_of<TypeNode, Kind>};
  node_ = std::make_shared<Node<TypeNode, Kind>>(head, std::move(kind));
}

template <ExprKind Kind>
Expr::Expr(Kind kind, SourceOrigin where) {
  const std::uint64_t hash = hash_node<ExprNode>(kind, 2);
  const auto node = std::make_shared<Node<ExprNode, Kind>>(
      ExprNode{hash, Type(), where.file, where.line, index_of<ExprNode, Kind>}, std::move(kind));
  node->type = infer_type(*node).type;
  node_ = node;
}

template <StatementKind Kind>
Statement::Statement(Kind kind, SourceOrigin where) {
  Kind statement = with_block_bodies(std::move(kind));
  const StatementNode head = {hash_node<StatementNode>(statement, 3), where.file, where.line,
                              index_of<StatementNode, Kind>};
  node_ = std::make_shared<Node<StatementNode, Kind>>(head, std::move(statement));
}

Type::Type() {
  static const Type unknown = Unknown{};
  node_ = unknown.node_;
}

Statement::Statement(const Expr& expression)
    : Statement(ExpressionStatement{expression}, expression.where()) {}
Statement::Statement(const Declared& declared) : Statement(declared.declaration()) {}

// The only place that makes nodes: it lists every kind.
template Type::Type(Unknown);
template Type::Type(Invalid);
template Type::Type(Auto);
template Type::Type(Scalar);
template Type::Type(Complex);
template Type::Type(Vector);
template Type::Type(Pointer);
template Type::Type(Reference);
template Type::Type(Array);
template Type::Type(FunctionType);
template Type::Type(Qualified);
template Type::Type(Named);
template Type::Type(Record);
template Type::Type(Enumeration);
template Type::Type(Decltype);
template Type::Type(Image);
template Expr::Expr(IntLiteral, SourceOrigin);
template Expr::Expr(FloatLiteral, SourceOrigin);
template Expr::Expr(BoolLiteral, SourceOrigin);
template Expr::Expr(CharLiteral, SourceOrigin);
template Expr::Expr(StringLiteral, SourceOrigin);
template Expr::Expr(NullPointer, SourceOrigin);
template Expr::Expr(Variable, SourceOrigin);
template Expr::Expr(BuiltinIndex, SourceOrigin);
template Expr::Expr(IntrinsicCall, SourceOrigin);
template Expr::Expr(Unary, SourceOrigin);
template Expr::Expr(Binary, SourceOrigin);
template Expr::Expr(AssignExpr, SourceOrigin);
template Expr::Expr(Conditional, SourceOrigin);
template Expr::Expr(Cast, SourceOrigin);
template Expr::Expr(Call, SourceOrigin);
template Expr::Expr(Subscript, SourceOrigin);
template Expr::Expr(Member, SourceOrigin);
template Expr::Expr(InitializerList, SourceOrigin);
template Expr::Expr(CompoundLiteral, SourceOrigin);
template Expr::Expr(SizeOf, SourceOrigin);
template Expr::Expr(AlignOf, SourceOrigin);
template Expr::Expr(KernelLaunch, SourceOrigin);
template Expr::Expr(Lambda, SourceOrigin);
template Expr::Expr(This, SourceOrigin);
template Expr::Expr(New, SourceOrigin);
template Expr::Expr(Delete, SourceOrigin);
template Expr::Expr(Throw, SourceOrigin);
template Expr::Expr(Fold, SourceOrigin);
template Expr::Expr(PackExpansion, SourceOrigin);
template Expr::Expr(RawExpr, SourceOrigin);
template Statement::Statement(ExpressionStatement, SourceOrigin);
template Statement::Statement(Declaration, SourceOrigin);
template Statement::Statement(Block, SourceOrigin);
template Statement::Statement(Group, SourceOrigin);
template Statement::Statement(If, SourceOrigin);
template Statement::Statement(For, SourceOrigin);
template Statement::Statement(While, SourceOrigin);
template Statement::Statement(DoWhile, SourceOrigin);
template Statement::Statement(Switch, SourceOrigin);
template Statement::Statement(Return, SourceOrigin);
template Statement::Statement(Break, SourceOrigin);
template Statement::Statement(Continue, SourceOrigin);
template Statement::Statement(Goto, SourceOrigin);
template Statement::Statement(Label, SourceOrigin);
template Statement::Statement(EmptyStatement, SourceOrigin);
template Statement::Statement(InlineAsm, SourceOrigin);
template Statement::Statement(Barrier, SourceOrigin);
template Statement::Statement(MemoryFence, SourceOrigin);
template Statement::Statement(StructuredBinding, SourceOrigin);
template Statement::Statement(RangeFor, SourceOrigin);
template Statement::Statement(Try, SourceOrigin);
template Statement::Statement(Comment, SourceOrigin);
template Statement::Statement(BlankLine, SourceOrigin);
template Statement::Statement(StaticAssert, SourceOrigin);
template Statement::Statement(RawStatement, SourceOrigin);
template Statement::Statement(Pragma, SourceOrigin);
template Statement::Statement(Include, SourceOrigin);
template Statement::Statement(Define, SourceOrigin);
template Statement::Statement(Undef, SourceOrigin);
template Statement::Statement(PreprocessorIf, SourceOrigin);
template Statement::Statement(LineDirective, SourceOrigin);
template Statement::Statement(ErrorDirective, SourceOrigin);
template Statement::Statement(Function, SourceOrigin);
template Statement::Statement(Template, SourceOrigin);
template Statement::Statement(ExplicitInstantiation, SourceOrigin);
template Statement::Statement(AccessSpecifier, SourceOrigin);
template Statement::Statement(RecordDefinition, SourceOrigin);
template Statement::Statement(EnumDefinition, SourceOrigin);
template Statement::Statement(Typedef, SourceOrigin);
template Statement::Statement(UsingAlias, SourceOrigin);
template Statement::Statement(NamespaceAlias, SourceOrigin);
template Statement::Statement(UsingDirective, SourceOrigin);
template Statement::Statement(UsingDeclaration, SourceOrigin);
template Statement::Statement(Namespace, SourceOrigin);
template Statement::Statement(ExternC, SourceOrigin);

}  // namespace rtcg::cgen
