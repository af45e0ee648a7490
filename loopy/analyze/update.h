#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>

#include "rtcg/loopy/kernel/kernel.h"

// Updates `element = f(element, operand)` whose order does not matter.

namespace rtcg::loopy {

/// What an atomic statement does to an element. Results of several threads are combined by the same
/// operation: it is associative and commutative, and `neutral` changes nothing.
class Update {
 public:
  /// Nothing if no neutral element is known, or if the order of updates matters.
  /// @param kernel  with types, and rules expanded
  [[nodiscard]] static std::optional<Update> find(const Kernel& kernel,
                                                  const Assignment& assignment);

  /// `sum`, `product`, `min` or `max` where it is one of these reductions, otherwise empty.
  [[nodiscard]] const std::string& reduction() const noexcept { return reduction_; }
  [[nodiscard]] const Expr& neutral() const noexcept { return neutral_; }
  /// f(left, right).
  [[nodiscard]] Expr combine(const Expr& left, const Expr& right) const;
  /// Whether both are the same operation.
  [[nodiscard]] bool is_like(const Update& other) const;

 private:
  Update(std::string reduction, Expr neutral, Expr form)
      : reduction_(std::move(reduction)), neutral_(std::move(neutral)), form_(std::move(form)) {}

  std::string reduction_;
  Expr neutral_;
  Expr form_;  ///< f of two names
};

/// Whether numbers of `given` may be negative, and elements of `stored` not: the minimum of an
/// element would be a large number for the next update.
[[nodiscard]] bool may_lose_sign(const cgen::Type& stored, const cgen::Type& given);

}  // namespace rtcg::loopy
