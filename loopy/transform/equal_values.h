#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Which expressions of a kernel are one value.

namespace rtcg::loopy {

/// The inames whose values an expression depends on: not those of its reductions.
[[nodiscard]] NameSet free_inames(const Kernel& kernel, const Expr& expr);

/// Whether no other inames than those that it mentions bound an expression's reductions, and the
/// loops that it depends on have bounds of their own.
[[nodiscard]] bool has_own_bounds(const Kernel& kernel, const Expr& expr);

/// Finds the expressions that are equal to a value but for the names of inames, and for the order
/// of terms and factors. Their inames take no values that those of the value do not.
class EqualValues {
 public:
  /// The inames in place of those of the value gives a replacement, or nothing to keep it.
  using Replace = std::function<std::optional<Expr>(const std::vector<std::string>& inames)>;

  /// @param inames  those that the value depends on, in the order in which Replace gets others
  EqualValues(const Kernel& kernel, const Expr& value, const std::vector<std::string>& inames);

  /// `expr` with all that is equal replaced. Of a product some factors may be equal to the value.
  [[nodiscard]] Expr replaced(const Expr& expr, const Replace& replace) const;
  /// How often the statements of the kernel compute the value.
  [[nodiscard]] int places() const;

 private:
  /// An expression with numbers for its inames.
  struct Form {
    Expr expr = 0;
    std::vector<std::string> inames{};  ///< by number
  };
  [[nodiscard]] NameSet inames_within(const Expr& expr) const;
  [[nodiscard]] std::uint64_t hash_without_inames(const Expr& expr) const;
  [[nodiscard]] Expr in_order(const Expr& expr) const;
  [[nodiscard]] Form form_of(const Expr& expr) const;
  [[nodiscard]] std::optional<std::vector<std::string>> inames_of_equal(const Expr& expr) const;
  [[nodiscard]] bool takes_equal_values(const Form& other) const;
  [[nodiscard]] std::optional<Expr> factors_replaced(const Expr& expr,
                                                     const Replace& replace) const;

  const Kernel& kernel_;
  const Expr value_;
  const std::vector<std::string> inames_;
  const Form form_;
  const std::uint64_t hash_;
};

/// The largest part of a value that the kernel computes in most places: a part with reductions that
/// depends on the same inames, or the value itself. Parts that are computed under a condition only
/// are left alone.
[[nodiscard]] Expr most_shared_part(const Kernel& kernel, const Expr& value,
                                    const std::vector<std::string>& inames);

}  // namespace rtcg::loopy
