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

template <class Variant>
std::uint64_t hash_node(const Variant& variant, std::uint64_t family) {
  StructuralHash hash;
  hash.add(family).add(variant.index());
  const auto add = [&](const auto& kind) {
    hash_field(hash, kind);
    return 0;
  };
  rtcg::detail::switch_on_kind<int>(variant, add);
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

template <class Variant>
void hand_over_children(Variant& variant, Doomed& list) {
  auto take = [&](auto& handle) {
    auto& pointer = NodeAccess::pointer(handle);
    if (pointer != nullptr && pointer.use_count() == 1) {
      list.push_back(std::move(pointer));
    }
  };
  const auto take_all = [&](const auto& kind) {
    // The node is being destroyed, and nodes are never created const.
    using Kind = std::remove_cvref_t<decltype(kind)>;
    detail::for_each_handle(const_cast<Kind&>(kind), take);
    return 0;
  };
  rtcg::detail::switch_on_kind<int>(variant, take_all);
}

template <class Variant>
void destroy_children(Variant& variant) {
  Doomed*& active = doomed();
  if (active != nullptr) {
    hand_over_children(variant, *active);
    return;
  }
  Doomed list;
  active = &list;
  hand_over_children(variant, list);
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

StatementKinds::Variant with_block_bodies(StatementKinds::Variant variant) {
  namespace v2 = boost::variant2;
  if (auto* conditional = v2::get_if<If>(&variant)) {
    conditional->then_body = as_body(std::move(conditional->then_body));
    if (conditional->else_body) {
      conditional->else_body = as_body(std::move(*conditional->else_body));
    }
  } else if (auto* loop = v2::get_if<For>(&variant)) {
    loop->body = as_body(std::move(loop->body));
  } else if (auto* while_loop = v2::get_if<While>(&variant)) {
    while_loop->body = as_body(std::move(while_loop->body));
  } else if (auto* do_loop = v2::get_if<DoWhile>(&variant)) {
    do_loop->body = as_body(std::move(do_loop->body));
  } else if (auto* function = v2::get_if<Function>(&variant)) {
    if (function->body) {
      function->body = as_body(std::move(*function->body));
    }
  }
  return variant;
}

}  // namespace

TypeNode::TypeNode(TypeKinds::Variant node_kind)
    : kind(std::move(node_kind)), hash(hash_node(kind, 1)) {}
TypeNode::~TypeNode() {
  destroy_children(kind);
}

ExprNode::ExprNode(ExprKinds::Variant node_kind, SourceOrigin origin)
    : kind(std::move(node_kind)),
      type(infer_type(kind).type),
      where(origin),
      hash(hash_node(kind, 2)) {}
ExprNode::~ExprNode() {
  destroy_children(kind);
}

StatementNode::StatementNode(StatementKinds::Variant node_kind, SourceOrigin origin)
    : kind(with_block_bodies(std::move(node_kind))), where(origin), hash(hash_node(kind, 3)) {}
StatementNode::~StatementNode() {
  destroy_children(kind);
}

Type::Type() {
  static const Type unknown = Unknown{};
  node_ = unknown.node_;
}

Statement::Statement(const Expr& expression)
    : Statement(ExpressionStatement{expression}, expression.where()) {}
Statement::Statement(const Declared& declared) : Statement(declared.declaration()) {}

}  // namespace rtcg::cgen
