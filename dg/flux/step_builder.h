#pragma once
// Internal header: it is not installed.

#include <map>
#include <optional>
#include <vector>

#include "rtcg/dg/flux/evaluators.h"

namespace rtcg::dg::detail {

/// `factor` times a step, or just `factor`.
struct Scaled {
  double factor = 0;
  int step = -1;  ///< -1: the constant `factor`

  [[nodiscard]] bool is_constant() const noexcept { return step < 0; }
  friend bool operator==(const Scaled& left, const Scaled& right) = default;
};

/// Makes steps, each only once, and simplifies while it does. Constant factors, signs among them,
/// are not steps until something cannot move them outward.
class StepBuilder {
 public:
  /// @param merges_sums  Whether 2*a - (a + b) becomes a - b, which takes one more operation if a +
  ///                     b is needed elsewhere. Terms that cancel completely are always removed.
  explicit StepBuilder(bool merges_sums = true) : merges_sums_(merges_sums) {}

  [[nodiscard]] Scaled read(FluxRead read);
  [[nodiscard]] Scaled add(Scaled left, Scaled right);
  [[nodiscard]] Scaled subtract(Scaled left, Scaled right) {
    return add(left, {-right.factor, right.step});
  }
  [[nodiscard]] Scaled multiply(Scaled left, Scaled right);
  /// `right` is not the constant zero.
  [[nodiscard]] Scaled divide(Scaled left, Scaled right);
  [[nodiscard]] Scaled minimum(Scaled left, Scaled right);
  [[nodiscard]] Scaled maximum(Scaled left, Scaled right);
  [[nodiscard]] Scaled absolute(Scaled value);
  [[nodiscard]] Scaled square_root(Scaled value);
  [[nodiscard]] Scaled power(Scaled base, Scaled exponent);
  [[nodiscard]] Scaled if_positive(Scaled condition, Scaled then_value, Scaled else_value);
  [[nodiscard]] Scaled user_function(const std::string& name, const std::vector<Scaled>& arguments);

  /// The sum of terms, with the interior and exterior value of one leaf subtracted first, at any
  /// place in the sum; nullopt if there is no such pair.
  [[nodiscard]] std::optional<Scaled> sum_with_jumps(std::vector<Scaled> terms);

  /// The step that is this value, factor included.
  [[nodiscard]] int step_of(Scaled value);
  [[nodiscard]] const std::vector<Step>& steps() const noexcept { return steps_; }

 private:
  struct Less {
    bool operator()(const Step& left, const Step& right) const;
  };
  int intern(Step step);
  /// A step, with the constant factor that it was given taken out.
  [[nodiscard]] Scaled scaled_of(int step) const;
  /// Both terms of a step that is a sum or a difference, times a number; empty for other steps.
  [[nodiscard]] std::vector<Scaled> terms_of(Scaled sum) const;
  /// The sum of two values, where it is simpler than they are: a - (a + b), 2*a - (a + b) and such
  /// things times a common factor, over a common divisor, or term by term.
  [[nodiscard]] std::optional<Scaled> collapsed(Scaled left, Scaled right, int depth = 0);
  [[nodiscard]] std::optional<Scaled> collapsed_into_sum(Scaled part, Scaled sum);
  [[nodiscard]] std::optional<Scaled> collapsed_products(Scaled left, Scaled right, int depth);
  [[nodiscard]] std::optional<Scaled> paired(const Scaled& left, const Scaled& right);
  [[nodiscard]] bool are_two_sides(int left, int right) const;
  [[nodiscard]] Scaled extremum(StepKind kind, Scaled left, Scaled right);
  [[nodiscard]] Scaled integer_power(Scaled base, int exponent);

  bool merges_sums_;
  std::vector<Step> steps_;
  std::map<Step, int, Less> numbers_;
};

}  // namespace rtcg::dg::detail
