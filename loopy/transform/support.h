#pragma once
// Internal header: it is not installed.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// What transformations share: how they refuse, record themselves, and replace inames.

namespace rtcg::loopy {

/// Why a transformation cannot be done, with its error code.
struct Refusal {
  std::string code;
  std::string reason;
};

/// @throws InvalidInput  with the refusal's code and reason, where there is one
void throw_if_refused(const std::optional<Refusal>& refusal);
/// @throws InvalidInput  always
[[noreturn]] void refuse(const char* code, std::string reason);
[[nodiscard]] std::optional<std::string> reason_of(std::optional<Refusal> refusal);
/// The words with which `attempt` refuses; nothing where it goes through.
[[nodiscard]] std::optional<std::string> reason_of_failure(const std::function<void()>& attempt);

/// Appends a step to the recipe; options without a value are left out.
void record(Kernel& kernel, std::string transformation, std::vector<std::string> arguments,
            std::map<std::string, std::string> options = {});
/// `[i, j]`.
[[nodiscard]] std::string list_text(const std::vector<std::string>& items);
[[nodiscard]] std::string list_text(const NameSet& items);

/// `kernel 'k' has no iname 'q': its inames are i, j`.
[[nodiscard]] std::string unknown_iname_text(const Kernel& kernel, std::string_view iname);
/// Why a caller cannot call something new in the kernel so; empty names are fine: they ask for a
/// name to be made.
[[nodiscard]] std::optional<std::string> why_not_new_name(const Kernel& kernel,
                                                          std::string_view name);
/// Why two inames of one statement would lie on one axis of the hardware, were `iname` tagged so.
[[nodiscard]] std::optional<std::string> why_not_on_axis(const Kernel& kernel,
                                                         std::string_view iname,
                                                         const InameTag& tag);

/// Why a text is no tag.
[[nodiscard]] std::optional<Refusal> find_tag_refusal(std::string_view tag);

/// The inames around a statement and those of its reductions.
[[nodiscard]] NameSet used_inames(const Instruction& instruction);

/// The statement or rule that uses some of the inames but not all of them together, be it as loops
/// around it or in one reduction: `statement 'set_a'`.
[[nodiscard]] std::optional<std::string> find_use_apart(const Kernel& kernel,
                                                        const std::vector<std::string>& inames);

/// `expr` with the iname's values replaced by `value`, and the iname in the lists of reductions by
/// `new_inames`. Indices are simplified where they change.
[[nodiscard]] Expr replace_iname(const Expr& expr, std::string_view iname, const Expr& value,
                                 const std::vector<std::string>& new_inames);
/// The same in all expressions of the kernel, in the lists of inames of domains and statements, and
/// in the priorities. Constraints and tags stay as they are.
[[nodiscard]] Kernel replace_iname(Kernel kernel, std::string_view iname, const Expr& value,
                                   const std::vector<std::string>& new_inames);
/// Each set of constraints of the domains replaced.
[[nodiscard]] Kernel map_constraints(Kernel kernel,
                                     const std::function<ConstraintSet(const ConstraintSet&)>& map);

/// Each expression of statements and rules; `map` is not asked about rules with a parameter that
/// is called `shadowed`.
[[nodiscard]] Kernel map_expressions_unless_shadowed(Kernel kernel, std::string_view shadowed,
                                                     const std::function<Expr(const Expr&)>& map);

/// Ids of the statements that fit, as match_instructions takes them; none and a refusal where the
/// text cannot be read.
[[nodiscard]] NameSet matching_ids(const Kernel& kernel, std::string_view match,
                                   std::optional<Refusal>& refusal);
/// `change` applied to each statement that fits.
[[nodiscard]] Kernel map_matching(Kernel kernel, std::string_view match,
                                  const std::function<void(Instruction&)>& change);

/// Whether the statements with these ids, or what they depend on, depend on one of `others`.
[[nodiscard]] bool depends_on_any(const Kernel& kernel, const NameSet& ids, const NameSet& others);

}  // namespace rtcg::loopy
