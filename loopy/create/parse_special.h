#pragma once
// Internal header: it is not installed.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Statements that are not plain assignments.

namespace rtcg::loopy {

/// `f(x=a[i, _0], 2*t)`: arguments by name or, with an empty one, by place.
struct ParsedCall {
  std::string callee{};
  std::vector<std::pair<std::string, std::string>> bindings{};
};
/// @throws InvalidInput  loopy.parse_statements.syntax, loopy.parse_expr.syntax
[[nodiscard]] ParsedCall parse_call(std::string_view text);

/// `commit copies`, `wait for copies, but for 1 groups`: what pipeline makes.
[[nodiscard]] std::optional<CopyFence> parse_copy_fence(std::string_view text);

/// The temporary that `<f32> weights[3] = table(0.25, 0.5, 0.25)` declares; nothing if the value is
/// not a table. Values are in C order.
/// @throws InvalidInput  loopy.parse_statements.syntax
[[nodiscard]] std::optional<Temporary> parse_table(Temporary declared, const Expr& target,
                                                   const Expr& value);

/// The statement with its option `atomic`, `atomic=init` or `asynchronous`.
/// @throws InvalidInput  loopy.parse_statements.syntax
[[nodiscard]] Instruction with_manner(Instruction instruction, const std::string& manner,
                                      const std::string& how);

/// `f(site, a=x)`: a call site as print_kernel writes it.
/// @throws InvalidInput  loopy.parse_statements.syntax
[[nodiscard]] std::shared_ptr<const CallSite> parse_call_site(std::string_view text);

/// `i:j->j2`: inames, each with the name of its copy or an empty one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_duplicates(
    std::string_view text);

}  // namespace rtcg::loopy
