#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/ast/handles.h"
#include "rtcg/loopy/kernel/target.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// A function of the user that expressions call like any other: its types, and its code for each
/// target. Numbers, complex numbers and vectors are passed and returned; arguments are converted to
/// the types of the parameters. Calls must have no effects: transformations copy, move and drop
/// them.
struct TypedFunction {
  struct Parameter {
    std::string name{};
    cgen::Type type{};
    friend bool operator==(const Parameter& left, const Parameter& right) {
      return left.name == right.name && left.type.hash() == right.type.hash();
    }
  };
  struct Body {
    /// Nothing: for the targets without a body of their own.
    std::optional<Target> target{};
    /// The statements between the braces: C text (c_body), or a cgen::Block.
    cgen::Statement code;
  };
  std::string name{};
  std::vector<Parameter> parameters{};
  cgen::Type result{};
  std::vector<Body> bodies{};
  /// What it computes, in terms of its parameters: the interpreter, and with it `--check`,
  /// evaluates this. Without it, kernels that call the function are not interpreted.
  std::optional<Expr> meaning{};
};

/// C text of the user ahead of all functions: includes, macros, functions that bodies call.
struct Preamble {
  std::optional<Target> target{};  ///< nothing: for all targets
  std::string text{};
};

/// C text as the code of a function: `c_body("return x*x;")`.
[[nodiscard]] cgen::Statement c_body(std::string text);

/// The code for a target; null if the function has none.
[[nodiscard]] const TypedFunction::Body* find_body(const TypedFunction& function, Target target);

/// `host`, `opencl` or `cuda`.
[[nodiscard]] std::string_view target_word(Target target);
[[nodiscard]] std::optional<Target> find_target(std::string_view word);

/// As a kernel file writes them: `f(x: f32): f32 = x*x`, with the bodies on the lines below. Code
/// that is a tree is written as its hash, which no file reads.
[[nodiscard]] std::string to_string(const TypedFunction& function);
[[nodiscard]] std::string to_string(const Preamble& preamble);
/// Whether some code of it is a tree.
[[nodiscard]] bool has_tree(const TypedFunction& function);

}  // namespace rtcg::loopy
