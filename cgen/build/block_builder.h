#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/module.h"

// Functions that build trees and read like the code they build:
//
//   auto idx = declare(i32, "idx", thread_idx_x + block_dim_x * block_idx_x);
//   BlockBuilder body;
//   body << idx << if_(idx < n, assign(target[idx], 2.0f * source[idx]));
//   Declared twice = kernel("twice", {target, source, n}, body);

namespace rtcg::cgen {

/// Collects statements in order. An expression becomes a statement; a result of `declare` becomes
/// its declaration.
class BlockBuilder {
 public:
  BlockBuilder() = default;
  BlockBuilder(std::initializer_list<Statement> statements) : statements_(statements) {}

  BlockBuilder& operator<<(const Statement& statement) {
    statements_.push_back(statement);
    return *this;
  }
  /// Declares a variable here and gives its name.
  Expr add(const Declared& declared) {
    *this << declared.declaration();
    return declared;
  }
  /// Declares `const type name = value;` here and gives its name.
  Expr add_constant(const Type& type, std::string name, const Operand& value);
  /// Declares the array `element name[count];` here and gives its name.
  Expr add_array(const Type& element, std::string name, int count,
                 SourceOrigin where = SourceOrigin::current());

  [[nodiscard]] const std::vector<Statement>& statements() const noexcept { return statements_; }
  /// The statements in braces.
  [[nodiscard]] Statement block(SourceOrigin where = SourceOrigin::current()) const {
    return Statement(Block{statements_}, where);
  }
  /// The statements as they are.
  [[nodiscard]] Statement group(SourceOrigin where = SourceOrigin::current()) const {
    return Statement(Group{statements_}, where);
  }

 private:
  std::vector<Statement> statements_;
};

/// The body of a function, branch or loop: always a Block, made from one statement or expression, a
/// list in braces, a BlockBuilder, a Module, or a function that fills a BlockBuilder.
class Body {
 public:
  template <std::convertible_to<Statement> Source>
  Body(Source&& source) : block_(as_block(std::forward<Source>(source))) {}
  Body(const BlockBuilder& builder) : block_(builder.block()) {}
  Body(std::initializer_list<Statement> statements) : block_(Block{statements}) {}
  Body(const Module& module) : block_(Block{module.items}) {}
  /// Calls `fill(BlockBuilder&)`.
  template <std::invocable<BlockBuilder&> Fill>
  Body(Fill&& fill) : block_(Block{}) {
    BlockBuilder builder;
    fill(builder);
    block_ = builder.block();
  }

  [[nodiscard]] const Statement& block() const noexcept { return block_; }

 private:
  static Statement as_block(const Statement& statement);
  Statement block_;
};

/// A conditional under construction; converts to the finished Statement.
class IfBuilder {
 public:
  IfBuilder(Operand condition, const Body& then_body, bool is_constexpr = false);

  [[nodiscard]] IfBuilder else_if_(Operand condition, const Body& then_body) const;
  [[nodiscard]] IfBuilder else_if_constexpr(Operand condition, const Body& then_body) const;
  [[nodiscard]] Statement else_(const Body& else_body) const;
  operator Statement() const { return finish(std::nullopt); }

 private:
  [[nodiscard]] Statement finish(std::optional<Statement> else_body) const;
  struct Branch {
    Operand condition;
    Statement body;
    bool is_constexpr;
  };
  std::vector<Branch> branches_;
};

/// `if_(c, body)`, `if_(c, body).else_if_(d, other).else_(rest)`.
[[nodiscard]] inline IfBuilder if_(Operand condition, const Body& then_body) {
  return {std::move(condition), then_body};
}

/// `if constexpr (condition) body`.
[[nodiscard]] inline IfBuilder if_constexpr(Operand condition, const Body& then_body) {
  return {std::move(condition), then_body, true};
}

/// A try block under construction; converts to the finished Statement.
class TryBuilder {
 public:
  explicit TryBuilder(const Body& body, SourceOrigin where) : body_(body.block()), where_(where) {}

  [[nodiscard]] TryBuilder catch_(Parameter exception, const Body& body) const;
  /// `catch (...)`.
  [[nodiscard]] TryBuilder catch_all(const Body& body) const;
  operator Statement() const { return Statement(Try{body_, handlers_}, where_); }

 private:
  Statement body_;
  SourceOrigin where_;
  std::vector<Handler> handlers_;
};

/// `try_(body).catch_(param(type, "error"), handler).catch_all(other)`.
[[nodiscard]] inline TryBuilder try_(const Body& body,
                                     SourceOrigin where = SourceOrigin::current()) {
  return TryBuilder(body, where);
}

/// A switch under construction; converts to the finished Statement.
class SwitchBuilder {
 public:
  explicit SwitchBuilder(Operand value) : value_(std::move(value)) {}

  [[nodiscard]] SwitchBuilder case_(std::vector<Expr> labels, const Body& body) const;
  [[nodiscard]] SwitchBuilder default_(const Body& body) const;
  operator Statement() const { return Statement(Switch{value_.expr, cases_}, value_.where); }

 private:
  Operand value_;
  std::vector<SwitchCase> cases_;
};

/// `switch_(value).case_({0, 1}, body).default_(rest)`.
[[nodiscard]] inline SwitchBuilder switch_(Operand value) {
  return SwitchBuilder(std::move(value));
}

struct ForOptions {
  Expr step = 1;
  std::optional<int> unroll{};  ///< as For::unroll
};

/// `for (type name = begin; name < end; name += step) fill(name, body)`; a step of 1 is `++name`.
template <std::invocable<Expr, BlockBuilder&> Fill>
[[nodiscard]] Statement for_(const Type& type, const std::string& name, Operand begin, Operand end,
                             Fill&& fill, const ForOptions& options = {});
/// The loop around a finished body, which refers to the counter by name.
[[nodiscard]] Statement counted_loop(const Type& type, const std::string& name,
                                     const Operand& begin, const Operand& end, const Body& body,
                                     const ForOptions& options = {});
/// `for (type name : range) fill(name, body)`.
template <std::invocable<Expr, BlockBuilder&> Fill>
[[nodiscard]] Statement range_for(const Type& type, const std::string& name, Operand range,
                                  Fill&& fill);
/// The loop around a finished body, which refers to the variable by name.
[[nodiscard]] Statement range_for(Statement variable, const Operand& range, const Body& body);
[[nodiscard]] Statement while_(Operand condition, const Body& body);
[[nodiscard]] Statement do_while_(const Body& body, Operand condition);

/// `type name;` or `type name = initializer;`.
[[nodiscard]] Declared declare(Type type, std::string name,
                               SourceOrigin where = SourceOrigin::current());
[[nodiscard]] Declared declare(Type type, std::string name, Operand initializer);
/// A declaration with everything that it may have.
[[nodiscard]] Declared declare(Declaration declaration,
                               SourceOrigin where = SourceOrigin::current());
/// `auto [names] = initializer;`. Later statements refer to the names by `variable`.
[[nodiscard]] Statement bind_elements(std::vector<std::string> names, Operand initializer,
                                      Type type = auto_type);
/// An array in the memory of a thread block; extents outermost first.
[[nodiscard]] Declared shared_array(const Type& element, std::string name,
                                    const std::vector<Expr>& extents,
                                    SourceOrigin where = SourceOrigin::current());
/// The array in the memory of a thread block with the size that the launch gives.
[[nodiscard]] Declared dynamic_shared_array(Type element, std::string name,
                                            SourceOrigin where = SourceOrigin::current());
/// An array that kernels read and the host writes (file scope).
[[nodiscard]] Declared constant_array(const Type& element, std::string name,
                                      const std::vector<Expr>& extents,
                                      SourceOrigin where = SourceOrigin::current());

/// A parameter: an expression in the body, and an element of a parameter list.
class DeclaredParameter : public Expr {
 public:
  DeclaredParameter(Type type, std::string name, SourceOrigin where)
      : Expr(Variable{name, type}, where), parameter_{std::move(type), std::move(name)} {}
  operator Parameter() const { return parameter_; }

 private:
  Parameter parameter_;
};

[[nodiscard]] inline DeclaredParameter param(Type type, std::string name,
                                             SourceOrigin where = SourceOrigin::current()) {
  return {std::move(type), std::move(name), where};
}

/// A function with a body: the definition as statement, the name as expression.
[[nodiscard]] Declared function(Type result, std::string name, std::vector<Parameter> parameters,
                                const Body& body, const FunctionSpecifiers& specifiers = {},
                                SourceOrigin where = SourceOrigin::current());
/// A function with everything that it may have.
[[nodiscard]] Declared function(Function function, SourceOrigin where = SourceOrigin::current());
/// A function declared, not defined.
[[nodiscard]] Declared declare_function(Type result, std::string name,
                                        std::vector<Parameter> parameters,
                                        const FunctionSpecifiers& specifiers = {},
                                        SourceOrigin where = SourceOrigin::current());
/// A function that a device runs as a grid of threads. It returns nothing; its name is not mangled.
[[nodiscard]] Declared kernel(std::string name, std::vector<Parameter> parameters, const Body& body,
                              SourceOrigin where = SourceOrigin::current());
[[nodiscard]] Declared kernel(std::string name, std::vector<Parameter> parameters, const Body& body,
                              const LaunchBounds& bounds,
                              SourceOrigin where = SourceOrigin::current());

/// `callee<<<grid, block, shared_bytes>>>(arguments)`; the host runs it.
[[nodiscard]] inline Expr launch(const Operand& callee, const Operand& grid, const Operand& block,
                                 std::vector<Expr> arguments,
                                 std::optional<Expr> shared_bytes = {}) {
  return Expr(KernelLaunch{callee.expr, grid.expr, block.expr, std::move(arguments),
                           std::move(shared_bytes)},
              callee.where);
}

[[nodiscard]] inline Statement return_(SourceOrigin where = SourceOrigin::current()) {
  return Statement(Return{}, where);
}
[[nodiscard]] inline Statement return_(const Operand& value) {
  return Statement(Return{value.expr}, value.where);
}
[[nodiscard]] inline Statement break_(SourceOrigin where = SourceOrigin::current()) {
  return Statement(Break{}, where);
}
[[nodiscard]] inline Statement continue_(SourceOrigin where = SourceOrigin::current()) {
  return Statement(Continue{}, where);
}
[[nodiscard]] inline Statement barrier(BarrierScope scope = BarrierScope::block,
                                       SourceOrigin where = SourceOrigin::current()) {
  return Statement(Barrier{scope}, where);
}
[[nodiscard]] inline Statement comment(std::string text,
                                       SourceOrigin where = SourceOrigin::current()) {
  return Statement(Comment{std::move(text)}, where);
}
[[nodiscard]] inline Statement blank_line(SourceOrigin where = SourceOrigin::current()) {
  return Statement(BlankLine{}, where);
}
/// `#include <file>`.
[[nodiscard]] inline Statement include_system(std::string file,
                                              SourceOrigin where = SourceOrigin::current()) {
  return Statement(Include{std::move(file), true}, where);
}
/// `#include "file"`.
[[nodiscard]] inline Statement include(std::string file,
                                       SourceOrigin where = SourceOrigin::current()) {
  return Statement(Include{std::move(file), false}, where);
}

template <std::invocable<Expr, BlockBuilder&> Fill>
Statement range_for(const Type& type, const std::string& name, Operand range, Fill&& fill) {
  BlockBuilder body;
  fill(Expr(Variable{name, is<Auto>(type) ? Type() : type}, range.where), body);
  return range_for(Statement(Declaration{type, name}, range.where), range, body);
}

template <std::invocable<Expr, BlockBuilder&> Fill>
Statement for_(const Type& type, const std::string& name, Operand begin, Operand end, Fill&& fill,
               const ForOptions& options) {
  BlockBuilder body;
  fill(Expr(Variable{name, type}, begin.where), body);
  return counted_loop(type, name, begin, end, body, options);
}

}  // namespace rtcg::cgen
