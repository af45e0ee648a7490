#pragma once
// Internal header: it is not installed.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The variables that a body declares.
[[nodiscard]] std::set<std::string> declared_names(const cgen::Statement& body);

/// The functions that kernels of a text call: those that differ by the names of their parameters
/// and variables alone are one.
class FunctionTable {
 public:
  FunctionTable(const Kernel& kernel, cgen::Dialect dialect);

  /// The name under which the function can be called, its own or another one where that is taken.
  [[nodiscard]] std::string add(cgen::Function function);
  /// Whether nothing in the text can be called so.
  [[nodiscard]] bool is_reserved(const std::string& name) const {
    return cgen::is_reserved(dialect_, name);
  }
  [[nodiscard]] const std::vector<cgen::Statement>& definitions() const { return definitions_; }

 private:
  [[nodiscard]] std::string form_of(const cgen::Function& function) const;
  NameGenerator& names();

  const cgen::Dialect dialect_;
  const Kernel& kernel_;
  std::optional<NameGenerator> names_;  // made when a function is added
  std::vector<cgen::Statement> definitions_;
  std::vector<std::pair<std::string, std::string>> known_;  // form and name
};

}  // namespace rtcg::loopy
