#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Where the rules of a kernel are used.

namespace rtcg::loopy::detail {

/// A use of a rule in a statement, perhaps within rules that the statement calls.
struct RuleUse {
  std::vector<Expr> arguments{};  ///< in terms of the statement's inames
  std::size_t statement = 0;      ///< its place in the kernel
};

/// All uses of a rule, also those in other rules.
[[nodiscard]] std::vector<RuleUse> uses_of(const Kernel& kernel, const std::string& rule);
/// The inames that arguments of its uses mention, in the order of all_inames().
[[nodiscard]] std::vector<std::string> inames_of_uses(const Kernel& kernel,
                                                      const std::string& rule);
/// Whether a rule calls another one, itself or by others.
[[nodiscard]] bool calls(const Kernel& kernel, const std::string& rule, const std::string& other);
/// The rules, each after those of them that it calls.
[[nodiscard]] std::vector<std::string> callees_first(const Kernel& kernel,
                                                     std::vector<std::string> rules);

}  // namespace rtcg::loopy::detail
