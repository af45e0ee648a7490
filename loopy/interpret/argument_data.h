#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The numbers of an array in the memory of the host: its elements, or one after the other the
/// parts of complex ones and the lanes of vectors.
struct ArrayData {
  cgen::ScalarKind kind = cgen::ScalarKind::f32;
  std::vector<std::byte> bytes;
  int numbers_an_element = 1;

  /// Of numbers.
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] double element(std::size_t index) const;
  /// The same without rounding: all integers are exact.
  [[nodiscard]] long double number(std::size_t index) const;
  void set_element(std::size_t index, double value);
};

using ArgumentData = std::map<std::string, ArrayData>;

/// Values for all arrays of a typed kernel, as long as it needs them: reals in [-1, 1), rounded to
/// their type, integers in [0, 8). The same seed gives the same values.
///
/// @throws InvalidInput  loopy.argument_data.unknown_length
[[nodiscard]] ArgumentData random_arguments(const Kernel& kernel, const IntegerValues& parameters,
                                            std::uint64_t seed);

/// Elements of an array argument, from the first to the last one.
/// @throws InvalidInput  loopy.argument_data.unknown_length
[[nodiscard]] std::size_t element_count(const Argument& argument, const IntegerValues& parameters);

/// Where two sets of arrays differ most.
struct DataDifference {
  std::string array{};
  std::size_t index = 0;  ///< of the number
  double left = 0;
  double right = 0;
  /// |left - right| / (1 + |right|); infinite if one of them is not a number, or if integers
  /// differ.
  double error = 0;
};
/// @param right  has all arrays of `left`, as long
[[nodiscard]] DataDifference largest_difference(const ArgumentData& left,
                                                const ArgumentData& right);

}  // namespace rtcg::loopy
