#include "rtcg/cgen/ast/compare.h"

#include <bit>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/fields.h"
#include "rtcg/cgen/support/structural_hash.h"

namespace rtcg::cgen {
namespace {

/// Compares node by node; pairs of children wait in lists, so that depth costs no stack.
class Comparison {
 public:
  template <class Tree>
  bool run(const Tree& left, const Tree& right) {
    if (!expect_equal(left, right)) {
      return false;
    }
    while (true) {
      bool equal = true;
      if (!exprs_.empty()) {
        equal = compare_next(exprs_);
      } else if (!types_.empty()) {
        equal = compare_next(types_);
      } else if (!statements_.empty()) {
        equal = compare_next(statements_);
      } else {
        return true;
      }
      if (!equal) {
        return false;
      }
    }
  }

 private:
  template <class Tree>
  using Pairs = std::vector<std::pair<const Tree*, const Tree*>>;

  Pairs<Type>& list(const Type&) { return types_; }
  Pairs<Expr>& list(const Expr&) { return exprs_; }
  Pairs<Statement>& list(const Statement&) { return statements_; }

  // False when they differ for certain; true when they are one node, or when that is left to find
  // out.
  template <class Tree>
  bool expect_equal(const Tree& left, const Tree& right) {
    if (&left.node() == &right.node()) {
      return true;
    }
    if (left.hash() != right.hash() || kinds(left).index != kinds(right).index) {
      return false;
    }
    list(left).emplace_back(&left, &right);
    return true;
  }

  template <class Tree>
  bool compare_next(Pairs<Tree>& pairs) {
    const auto [left, right] = pairs.back();
    pairs.pop_back();
    const Tree& other = *right;
    return match(*left, [&](const auto& kind) {
      using Kind = std::remove_cvref_t<decltype(kind)>;
      return compare_fields(kind, *get_if<Kind>(other));
    });
  }

  template <class Field>
  bool compare_fields(const Field& left, const Field& right) {
    if constexpr (detail::is_handle<Field>) {
      return expect_equal(left, right);
    } else if constexpr (detail::is_optional<Field>) {
      return left.has_value() == right.has_value() &&
             (!left.has_value() || compare_fields(*left, *right));
    } else if constexpr (detail::is_sequence<Field>) {
      bool equal = left.size() == right.size();
      for (std::size_t i = 0; equal && i < left.size(); ++i) {
        equal = compare_fields(left[i], right[i]);
      }
      return equal;
    } else if constexpr (std::is_same_v<Field, double>) {
      return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
    } else if constexpr (std::is_arithmetic_v<Field> || std::is_enum_v<Field> ||
                         std::is_same_v<Field, std::string>) {
      return left == right;
    } else {
      return detail::with_fields(left, [&](const auto&... lefts) {
        return detail::with_fields(
            right, [&](const auto&... rights) { return (compare_fields(lefts, rights) && ...); });
      });
    }
  }

  Pairs<Type> types_;
  Pairs<Expr> exprs_;
  Pairs<Statement> statements_;
};

}  // namespace

bool equal_trees(const Type& left, const Type& right) {
  return Comparison().run(left, right);
}
bool equal_trees(const Expr& left, const Expr& right) {
  return Comparison().run(left, right);
}
bool equal_trees(const Statement& left, const Statement& right) {
  return Comparison().run(left, right);
}

std::uint64_t hash(const Module& module) {
  StructuralHash hash;
  hash.add(module.name).add(module.items.size());
  for (const Statement& item : module.items) {
    hash.add(item.hash());
  }
  return hash.value();
}

}  // namespace rtcg::cgen
