#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/statement.h"

namespace rtcg::cgen {

struct ShareValuesOptions {
  /// A name that nothing else has, made from the given one.
  std::function<std::string(const std::string& base)> new_name{};
  /// Functions that are called by name and do nothing but compute a result.
  std::set<std::string> pure_functions{};
  /// Pointers whose memory the statements reach by no other name, as `restrict` says.
  std::set<std::string> restricted{};
};

/// Statements of a function in which values that take some work and are computed more than once in
/// a row are constants, `const float value = rsqrtf(...);`, and used by name. Each is declared
/// before the first statement that always needs it.
///
/// Compilers find most of them, too; but code written out for many lanes is long, and they take
/// time for each copy. Values with integer divisions, functions, or several operations on
/// floating-point numbers count, and `?:` whose branches load from memory: compilers make such
/// loads again for each copy. What only one branch of `?:`, `&&` or `||` computes is not computed
/// ahead of it. Whatever is written in between, or might be, is read again. Loops,
/// branches, barriers and raw text end a row; bodies are looked at by themselves.
[[nodiscard]] std::vector<Statement> share_values(const std::vector<Statement>& statements,
                                                  const ShareValuesOptions& options);

}  // namespace rtcg::cgen
