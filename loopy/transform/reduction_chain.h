#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/kernel/kernel.h"

// Reductions over the same values whose later ones use the results of earlier ones, such as
//     top = reduce(max, j, x[j]);  total = sum(j, exp(x[j] - top))
// and what corrects the later one when the earlier one changes.

namespace rtcg::loopy {

/// `coefficient*atom` in an exponent. The atom is an expression of earlier values.
struct ExponentTerm {
  Expr coefficient = 1;
  Expr atom = 0;
  friend bool operator==(const ExponentTerm&, const ExponentTerm&) = default;
};
/// `exp(terms + ...)`, a factor of the terms of a sum. When the earlier values change from r to r',
/// the sum is multiplied by `exp(terms(r') - terms(r))`.
struct ExponentialFactor {
  std::string function = "exp";
  std::vector<ExponentTerm> terms{};
  friend bool operator==(const ExponentialFactor&, const ExponentialFactor&) = default;
};
/// A sum of products `(first + first_shift)*(second + second_shift)`, whose shifts are expressions
/// of earlier values: it follows from the number of terms, the means, and the sum of
/// `(first - its mean)*(second - its mean)`.
struct ShiftedProduct {
  Expr first = 0;
  Expr first_shift = 0;
  Expr second = 0;
  Expr second_shift = 0;
};

/// `exp(x)`, `exp2(x)`, `exp10(x)`.
[[nodiscard]] bool is_exponential(const Expr& expr);

struct ChainLink {
  std::size_t statement = 0;  ///< place of the statement
  Expr reduction = 0;         ///< as the kernel has it
  std::string operation{};
  std::vector<std::string> inames{};
  cgen::Type type{};
  /// What is reduced; earlier values are the names `running` of their links.
  Expr operand = 0;
  std::string running{};
  /// The result is the reduction of `operand` times this expression of earlier values.
  Expr outer_factor = 1;
  std::vector<ExponentialFactor> factors{};  ///< of `operand`
  std::optional<ShiftedProduct> product{};
  /// Links whose values the operand uses.
  std::vector<std::size_t> uses{};

  [[nodiscard]] bool is_plain() const { return factors.empty() && !product; }
};

struct ReductionChain {
  std::vector<ChainLink> links{};
  [[nodiscard]] const ChainLink* find_link(const std::string& running) const;
};

/// The reductions that `is_part` chooses, in the order of the statements.
///
/// @param inames   over which all of them are
/// @throws InvalidInput  loopy.reduction_chain.unknown_iname, loopy.reduction_chain.no_chain,
///                       loopy.reduction_chain.not_alike, loopy.reduction_chain.input_changes,
///                       loopy.reduction_chain.no_repair, loopy.reduction_chain.may_be_empty, and
///                       what infer_types throws
[[nodiscard]] ReductionChain find_reduction_chain(
    const Kernel& kernel, const std::vector<std::string>& inames,
    const std::function<bool(const Reduction&)>& is_part);

/// The kernel with its rules expanded where they read what statements write, or have reductions
/// that `is_part` chooses.
[[nodiscard]] Kernel with_visible_chain(Kernel kernel,
                                        const std::function<bool(const Reduction&)>& is_part);

/// The difference of an atom's values: after less before, or the opposite.
using AtomChange = std::function<Expr(const Expr& atom, bool is_reversed)>;
/// By what a sum is multiplied when the earlier values change: `exp(terms(after) - terms(before))`.
[[nodiscard]] Expr change_of(const std::vector<ExponentialFactor>& factors,
                             const AtomChange& change);
/// What the reduction of the kernel is, once all running values are complete: NaN where an earlier
/// value is infinite, as in the two passes.
[[nodiscard]] Expr finished(const ChainLink& link, const Expr& value);
/// The value before the first element, of the link's type.
[[nodiscard]] Expr neutral_of(const Kernel& kernel, const ChainLink& link);
/// The value with another part of the reduction.
[[nodiscard]] Expr combined(const Kernel& kernel, const ChainLink& link, const Expr& left,
                            const Expr& right);

/// The ids of statements before the first of the chain that its statements depend on.
[[nodiscard]] NameSet inputs_of(const Kernel& kernel, const ReductionChain& chain);
/// The statements of the chain with `value(link)` for their reductions, after the statement `last`.
void replace_reductions(Kernel& kernel, const ReductionChain& chain, const std::string& last,
                        const std::function<Expr(const ChainLink&)>& value);

}  // namespace rtcg::loopy
