#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <optional>

#include "rtcg/loopy/kernel/kernel.h"

// Expressions of mathematics at drawn points: as exact fractions where that is possible, so that
// rounding never looks like a difference.

namespace rtcg::loopy {

/// A real number: a fraction of 64 bits, or an approximation where functions such as exp occur or a
/// fraction would be too long.
class SampledValue {
 public:
  SampledValue(std::int64_t whole)
      : numerator_(whole), denominator_(1), approximation_(static_cast<long double>(whole)) {}
  [[nodiscard]] static SampledValue about(long double approximation);
  /// @param denominator  > 0
  [[nodiscard]] static SampledValue fraction(std::int64_t numerator, std::int64_t denominator);
  /// The number exactly where it has few digits.
  [[nodiscard]] static SampledValue of(double number);

  [[nodiscard]] bool is_exact() const noexcept { return denominator_ != 0; }
  [[nodiscard]] bool is_whole() const noexcept { return denominator_ == 1; }
  /// 0 for others than fractions.
  [[nodiscard]] std::int64_t numerator() const noexcept { return numerator_; }
  [[nodiscard]] std::int64_t denominator() const noexcept { return denominator_; }
  [[nodiscard]] long double approximation() const noexcept { return approximation_; }

 private:
  SampledValue() = default;

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 0;
  long double approximation_ = 0;
};

/// Whether both are one number: fractions exactly, approximations but for their rounding.
[[nodiscard]] bool are_same(const SampledValue& left, const SampledValue& right);

/// Points at which two expressions are compared.
inline constexpr int trials_of_samples = 64;

/// Numbers of a fixed sequence. There are few different ones, so that two are often equal.
class NumberSource {
 public:
  /// From 0 to before `count`.
  [[nodiscard]] std::size_t below(std::size_t count);
  [[nodiscard]] std::int64_t between(std::int64_t first, std::int64_t last);
  /// @param trial     trials have numbers of different ranges
  /// @param is_whole  whether no fractions are wanted
  [[nodiscard]] SampledValue number(int trial, bool is_whole);

 private:
  std::uint64_t state_ = 1;
};

/// Evaluates expressions without rules.
class SampledEvaluator {
 public:
  /// The value of a name, of an element of an array, or of another part that has no value here.
  using Leaf = std::function<std::optional<SampledValue>(const Expr&)>;

  SampledEvaluator(const Kernel& kernel, Leaf leaf) : kernel_(kernel), leaf_(std::move(leaf)) {}

  /// Nothing where a leaf has no value. Parts that are leaves are names and elements, and what is
  /// unknown: of other numbers than real ones, and where approximations decide and nearly agree. A
  /// function that is not known is one that gives equal values for equal arguments, and no others.
  [[nodiscard]] std::optional<SampledValue> evaluate(const Expr& expr) const;

 private:
  using Result = std::optional<SampledValue>;
  using Combine = std::function<Result(const SampledValue&, const SampledValue&)>;

  [[nodiscard]] Result inside(const Expr& expr) const;
  [[nodiscard]] Result fold(const std::vector<Expr>& parts, const Combine& combine) const;
  [[nodiscard]] Result call(const Call& call) const;
  [[nodiscard]] Result choose(const Conditional& conditional) const;
  [[nodiscard]] Result logical(const Logical& logical) const;

  const Kernel& kernel_;
  Leaf leaf_;
};

}  // namespace rtcg::loopy
