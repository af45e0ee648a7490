#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Which expressions of a kernel are one value.

namespace rtcg::loopy {

/// The inames whose values an expression depends on: not those of its reductions.
[[nodiscard]] NameSet free_inames(const Kernel& kernel, const Expr& expr);

/// Whether no other inames than those that it mentions bound an expression's reductions, and the
/// loops that it depends on have bounds of their own.
[[nodiscard]] bool has_own_bounds(const Kernel& kernel, const Expr& expr);

/// Expressions with their terms and factors in an order that the names of inames do not decide.
/// Remembers those that it was asked for. For one thread; keeps a reference to the kernel.
class OrderedExpressions {
 public:
  explicit OrderedExpressions(const Kernel& kernel) : kernel_(kernel) {}

  [[nodiscard]] Expr in_order(const Expr& expr) { return ordered(expr).expr; }
  /// The same for expressions that differ in names of inames, and in the order of terms and
  /// factors.
  [[nodiscard]] std::uint64_t hash(const Expr& expr) { return ordered(expr).hash; }

 private:
  struct Ordered {
    Expr of = 0;  ///< keeps the key alive
    Expr expr = 0;
    std::uint64_t hash = 0;
  };
  const Ordered& ordered(const Expr& expr);
  [[nodiscard]] std::uint64_t hash_without_inames(const Expr& expr) const;

  const Kernel& kernel_;
  std::unordered_map<const ExprNode*, Ordered> known_{};
};

/// Finds the expressions that are equal to a value but for the names of inames, and for the order
/// of terms and factors. Their inames take no values that those of the value do not.
class EqualValues {
 public:
  /// The inames in place of those of the value gives a replacement, or nothing to keep it.
  using Replace = std::function<std::optional<Expr>(const std::vector<std::string>& inames)>;

  /// @param inames  those that the value depends on, in the order in which Replace gets others
  EqualValues(const Kernel& kernel, const Expr& value, const std::vector<std::string>& inames);
  /// @param ordered  of the same kernel
  EqualValues(const Kernel& kernel, const Expr& value, const std::vector<std::string>& inames,
              std::shared_ptr<OrderedExpressions> ordered);

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
  [[nodiscard]] Form form_of(const Expr& expr) const;
  [[nodiscard]] std::optional<std::vector<std::string>> inames_of_equal(const Expr& expr) const;
  [[nodiscard]] bool takes_equal_values(const Form& other) const;
  [[nodiscard]] std::optional<Expr> factors_replaced(const Expr& expr,
                                                     const Replace& replace) const;

  const Kernel& kernel_;
  const std::shared_ptr<OrderedExpressions> ordered_;
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
