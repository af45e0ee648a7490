#pragma once

#include <cstddef>
#include <type_traits>

#include "rtcg/cgen/support/match.h"

namespace rtcg::cgen {

/// The kinds that a sum may hold, in the order of their indices.
template <class... Kinds>
struct KindList {
  using Variant = boost::variant2::variant<Kinds...>;
  static constexpr std::size_t count = sizeof...(Kinds);
  template <class Kind>
  static constexpr bool contains = (std::is_same_v<Kind, Kinds> || ...);
  template <class Kind>
  static constexpr std::size_t index_of = [] {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<Kind, Kinds> || (++index, false)) || ...));
    return index;
  }();
};

/// A node of a tree: a `Head` (TypeNode, ExprNode, StatementNode), which all nodes of a family have
/// and which holds the kind, followed by the value of that kind. A node is only as large as its
/// kind, where a variant would be as large as the largest. Reading a large tree is limited by
/// memory.
template <class Head, class Kind>
struct KindNode : Head {
  KindNode(Head head, Kind node_kind) : Head(std::move(head)), kind(std::move(node_kind)) {}
  KindNode(const KindNode&) = delete;
  KindNode& operator=(const KindNode&) = delete;

  Kind kind;
};

}  // namespace rtcg::cgen

namespace rtcg {

/// Reads a node by its head.
template <class Head>
requires requires {
  typename Head::Kinds;
}
struct SumAccess<Head> {
  static constexpr std::size_t count = Head::Kinds::count;
  template <std::size_t index>
  using Kind = boost::variant2::variant_alternative_t<index, typename Head::Kinds::Variant>;
  static std::size_t index(const Head& head) { return head.index; }
  template <class Wanted>
  static const Wanted* find(const Head& head) {
    return head.index == Head::Kinds::template index_of<Wanted>
               ? &static_cast<const cgen::KindNode<Head, Wanted>&>(head).kind
               : nullptr;
  }
};

}  // namespace rtcg
