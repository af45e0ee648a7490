#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>

// Arithmetic of 64 bits that gives nothing where the result has more.

namespace rtcg::loopy {

[[nodiscard]] inline std::optional<std::int64_t> checked_sum(std::int64_t left,
                                                             std::int64_t right) {
  std::int64_t result = 0;
  return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional(result);
}

[[nodiscard]] inline std::optional<std::int64_t> checked_product(std::int64_t left,
                                                                 std::int64_t right) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional(result);
}

/// Rounded down. Nothing for a denominator of 0.
[[nodiscard]] inline std::optional<std::int64_t> checked_floor_quotient(std::int64_t numerator,
                                                                        std::int64_t denominator) {
  if (denominator == 0 || denominator == -1) {  // -2^63 / -1 has more than 64 bits
    return denominator == 0 ? std::nullopt : checked_product(numerator, -1);
  }
  const std::int64_t truncated = numerator / denominator;
  const bool is_inexact = numerator % denominator != 0;
  return is_inexact && (numerator < 0) != (denominator < 0) ? truncated - 1 : truncated;
}

/// Of the denominator's sign. Nothing for a denominator of 0.
[[nodiscard]] inline std::optional<std::int64_t> checked_remainder(std::int64_t numerator,
                                                                   std::int64_t denominator) {
  const auto quotient = checked_floor_quotient(numerator, denominator);
  return quotient ? std::optional(numerator - denominator * *quotient) : std::nullopt;
}

}  // namespace rtcg::loopy
