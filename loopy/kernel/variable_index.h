#pragma once

#include <string_view>
#include <unordered_map>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The arguments and temporaries of a kernel by name, for passes that look up many: find_argument
/// and find_temporary go through the kernel's lists.
///
/// Sees the kernel as it was when the index was made: it must neither change nor move while the
/// index is in use.
class VariableIndex {
 public:
  explicit VariableIndex(const Kernel& kernel);

  /// As loopy::find_argument and loopy::find_temporary: the first of that name, or null.
  [[nodiscard]] const Argument* find_argument(std::string_view name) const {
    return find(arguments_, name);
  }
  [[nodiscard]] const Temporary* find_temporary(std::string_view name) const {
    return find(temporaries_, name);
  }

 private:
  template <class Variable>
  using Table = std::unordered_map<std::string_view, const Variable*>;
  template <class Variable>
  [[nodiscard]] static const Variable* find(const Table<Variable>& table, std::string_view name) {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second;
  }

  Table<Argument> arguments_;
  Table<Temporary> temporaries_;
};

/// Parameters, inames, arguments and temporaries: all that an expression may mention.
[[nodiscard]] NameSet known_names(const Kernel& kernel);

}  // namespace rtcg::loopy
