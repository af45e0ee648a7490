#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <functional>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/create/describe.h"
#include "rtcg/loopy/create/parse_statements.h"

// The contents of the values and statements of describe.h.

namespace rtcg::loopy::describe {

enum class DeclarationKind { iname, parameter, array, temporary, rule };

struct Declaration {
  DeclarationKind kind{};
  std::string name{};
  SourceOrigin where{};
  Argument argument{};
  Temporary temporary{};
  SubstitutionRule rule{};
  Mentions mentions{};  // of shapes, strides, values and the body
};

struct StatementTree {
  enum class Kind { single, block, loop, branches };
  struct Branch {
    std::optional<Expr> condition{};
    std::vector<Statement> statements{};
  };
  Kind kind = Kind::single;
  ParsedStatement statement{};  // of kind single
  Mentions mentions{};
  SourceOrigin where{};
  std::vector<std::function<void(ParsedStatement&)>> options{};
  NameSet inames{};                // of kind loop
  std::vector<Branch> branches{};  // one, but for kind branches
};

[[nodiscard]] inline std::string message_at(const SourceOrigin& where, const std::string& message) {
  return where.file == nullptr ? message : place_of(where) + ": " + message;
}

[[noreturn]] inline void fail(const char* code, const SourceOrigin& where,
                              const std::string& message) {
  throw InvalidInput(code, message_at(where, message));
}

/// The result of `body`; its errors get the place.
template <class Body>
auto located(const SourceOrigin& where, const Body& body) {
  try {
    return body();
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), message_at(where, error.message()));
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), message_at(where, error.message()));
  }
}

[[nodiscard]] inline Mentions joined(const Mentions& left, const Mentions& right) {
  if (left == nullptr || right == nullptr || left == right) {
    return left == nullptr ? right : left;
  }
  std::vector<DeclarationPointer> all = *left;
  for (const DeclarationPointer& each : *right) {
    if (std::find(left->begin(), left->end(), each) == left->end()) {
      all.push_back(each);
    }
  }
  return all.size() == left->size() ? left
                                    : std::make_shared<const std::vector<DeclarationPointer>>(all);
}

[[nodiscard]] inline Mentions mention_of(DeclarationPointer declaration) {
  return std::make_shared<const std::vector<DeclarationPointer>>(1, std::move(declaration));
}

[[nodiscard]] inline Mentions mentions_of(const std::vector<Value>& values,
                                          Mentions all = nullptr) {
  for (const Value& each : values) {
    all = joined(all, each.mentions());
  }
  return all;
}

[[nodiscard]] inline std::vector<Expr> exprs_of(const std::vector<Value>& values) {
  std::vector<Expr> exprs;
  exprs.reserve(values.size());
  for (const Value& each : values) {
    exprs.push_back(each.expr());
  }
  return exprs;
}

}  // namespace rtcg::loopy::describe
