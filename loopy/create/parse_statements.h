#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/cgen/support/source_origin.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/symbolic/invalid_line.h"

namespace rtcg::loopy {

/// A statement as it was written; make_kernel makes an Instruction of it.
struct ParsedStatement {
  Instruction instruction{};
  /// From `for` around it.
  NameSet for_inames{};
  /// `inames=i:j`: exactly these; `inames=+i`: these too.
  std::optional<NameSet> stated_inames{};
  NameSet additional_inames{};
  /// `id_prefix=`, otherwise empty.
  std::string id_prefix{};
  /// `dep=a:b*`: ids and patterns.
  std::vector<std::string> dependency_patterns{};
  /// `dep_query=writes:t and not tag:x`: as match_instructions takes it.
  std::vector<std::string> dependency_queries{};
  /// `<> t = ...`: targets that it declares, with a type if `<f32>` states it.
  std::vector<Temporary> declared{};
  /// `... call f(x=a[i, _0])`: the kernel to insert here, and its arguments, by name or, with an
  /// empty name, by place. The instruction does nothing.
  std::string callee{};
  std::vector<std::pair<std::string, std::string>> bindings{};
  /// `nosync=a:b@local`, of Loo.py.
  std::vector<std::string> without_barrier{};
  /// `as_function`: the call stays one in the text.
  bool is_function = false;
  /// `dup=i->i2`: inames that are copied for the statement, and the names of the copies; empty if
  /// rtcg chooses them.
  std::vector<std::pair<std::string, std::string>> duplicated{};
  std::size_t line = 0;   ///< from 1; of statements described in C++ their number
  SourceOrigin origin{};  ///< of statements described in C++
};

/// `matmul.cpp:12`: the file without its folder. The origin is known.
[[nodiscard]] std::string place_of(const SourceOrigin& origin);
/// `line 3`, or `matmul.cpp:12` where the statement was described in C++.
[[nodiscard]] std::string place_of(const ParsedStatement& statement);

/// An error of the statement.
[[nodiscard]] InvalidLine invalid_at(const ParsedStatement& statement, std::string code,
                                     std::string problem);

struct ParsedStatements {
  std::vector<ParsedStatement> statements{};
  std::vector<SubstitutionRule> rules{};
  /// Those with a shape: `<f32> m[12]` without a value.
  std::vector<Temporary> temporaries{};
  /// Whether there may be uses with a tag, `a$near[i]`, parts of arrays, `a[i, _0]`, and fields,
  /// `p.x[i]`.
  bool may_have_tags = true;
  bool may_have_parts = true;
  bool may_have_fields = true;
};

/// Statements, one a line or separated by `;`. `#` begins a comment.
///
///     out[i, j] = 2*a[i]            {id=twice, dep=first:other*, tags=x, if=i > 2}
///     a[i] += 1                     also -=, *= and /=
///     <> t = a[i]                   a new temporary; <f32> states its type
///     <f32> m[12]                   a new temporary with a shape, not assigned to yet
///     <f32> w[3] = table(1, 2, 1)   a new table, read only
///     v, p = argmax(i, a[i], i)     several targets
///     s, c = sincos(x)              also divmod(a, b), minmax(a, b), make_tuple(x, y), rules that
///                                   give a tuple, and other kernels
///     [k]: b[i, k] = f([k]: a[i, k], 2*t)
///                                   what the kernel f writes and reads, in the order of its
///                                   arguments
///     f(x) := x*x                   a substitution rule; followed by {neutral=0} an operation
///                                   that reductions can name (analyze/rule_operation.h)
///     for i, j ... end;  if i > 2 ... elif ... else ... end;  with {tags=x} ... end
///     ... lbarrier;  ... gbarrier;  ... nop
///     ... call f(x=a[i, _0], 2*t)   the statements of another kernel, as inline_kernel puts them;
///                                   what its arguments are is said by name or in their order
///     ... c "${b[i]} = frob(${a[i]});" {writes=b}
///                                   C text, with expressions of the kernel in `${}`; what of them
///                                   it writes, and what else it touches, is said by reads and
///                                   writes
///
/// Options of a statement: id, id_prefix, dep, dep_query, inames, dup, if, tags, atomic, and of C
/// text reads and writes; disjoint, disjoint=c. `nosync` with the id of the statement itself is
/// read as disjoint, other hints of Loo.py for its schedule are refused. `dup=i:j->j2` gives it its
/// own copies of inames; `atomic=init` sets the element without reading it.
///
/// A statement within `if` has its conditions as predicates, those of earlier branches negated. If
/// the body writes variables of a condition, a boolean temporary keeps the condition's value from
/// before.
/// @throws InvalidInput  loopy.parse_statements.syntax, loopy.parse_expr.syntax, both with the line
[[nodiscard]] ParsedStatements parse_statements(std::string_view text);

}  // namespace rtcg::loopy
