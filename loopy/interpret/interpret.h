#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/interpret/argument_data.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// The inputs of a run. Arrays have the layout of the kernel's arguments: strides and offsets.
/// Missing values are zero.
struct InterpretArguments {
  /// Parameters and other integer scalars.
  IntegerValues parameters{};
  /// Floating-point scalars; complex ones have two parts.
  std::map<std::string, std::complex<double>> reals{};
  ArgumentData arrays{};
};

struct InterpretOptions {
  /// Parts of expressions that are evaluated. A kernel that takes more is not run as a whole: some
  /// of its results are computed.
  double most_operations = 2e7;
  /// Results of each array that are computed then, among them the first, the last and some of the
  /// last along each axis; 0: none, the kernel is refused.
  std::size_t samples = 128;
  /// That four samples of each array may take, where that is more than most_operations: the first
  /// of them half of it.
  double operations_of_few_samples = 0;
  std::uint64_t seed = 1;
  /// Numbers of arrays that are computed, and no others; empty: all, or samples. Those that take
  /// more than most_operations are left out.
  std::map<std::string, std::vector<std::size_t>> places{};
};

/// A number that a kernel leaves in an array, and how far that of a device may be from it.
struct ExpectedNumber {
  long double value = 0;
  /// 0: none. Counts the roundings in the declared types; for sums as many as their length and the
  /// size of their parts allow in any order. Of integers that roundings decide, half the distance
  /// of the least from the largest. Infinite if the description leaves it open: if signed integers
  /// overflow, for comparisons that an error decides, for values that were never set.
  long double error = 0;
};

/// The largest distance from the value that counts as equal: errors count each rounding with twice
/// the error of rounding to nearest, and some functions are less exact than that.
[[nodiscard]] long double allowed_distance(const ExpectedNumber& number);

/// The contents of an array after a kernel.
struct ExpectedArray {
  cgen::ScalarKind kind = cgen::ScalarKind::f32;
  /// Which numbers of the array in memory they are; empty: all of them, from the first on.
  std::vector<std::size_t> places{};
  std::vector<ExpectedNumber> numbers{};
};

struct Interpretation {
  /// The arrays that the kernel may write.
  std::map<std::string, ExpectedArray> arrays{};
  /// Whether only some of the results were computed.
  bool is_sampled = false;
  /// Parts of expressions that were evaluated.
  double operations = 0;
  /// The first value that the description leaves open, and the statement it is of: others follow
  /// from it. Empty if there is none.
  std::string first_open{};
};

/// Runs a kernel as it is described, one iteration after the other, in exact integers and reals of
/// 64 bits. It uses neither the schedule nor the code that is generated.
///
/// The meaning: statements run in the order of their text as far as variables and stated
/// dependencies require it, each in all points of its domain, loops upwards; statements that share
/// loops share their iterations. `//` and `%` round down. Integers are exact until a variable of
/// the type stores them, where they wrap around. Tags of inames have no meaning.
///
/// @throws InvalidInput  loopy.interpret.missing_value, loopy.interpret.out_of_bounds,
///                       loopy.interpret.not_disjoint;
///                       loopy.infer_types.*, ...: the errors of kernels without a meaning
/// @throws Unsupported   loopy.interpret.raw_code, loopy.interpret.function,
///                       loopy.interpret.unbounded, loopy.interpret.order,
///                       loopy.interpret.too_long
[[nodiscard]] Interpretation interpret(const Kernel& kernel, const InterpretArguments& arguments,
                                       const InterpretOptions& options = {});

/// The largest deviation of arrays from the expected results, relative to the allowed one.
struct Mismatch {
  std::string array{};
  std::size_t index = 0;  ///< of the number in the array
  double found = 0;
  double expected = 0;
  double allowed = 0;  ///< the largest distance that counts as equal
  /// |found - expected| / allowed; infinite where `allowed` is 0 and they differ.
  double excess = 0;
  std::size_t compared = 0;   ///< numbers
  std::size_t undecided = 0;  ///< numbers that may have any value

  [[nodiscard]] bool is_equal() const noexcept { return excess <= 1; }
};

/// Compares all arrays that `expected` has. Infinite values and NaNs equal themselves.
/// @param found  has these arrays, in the layout of the interpretation
[[nodiscard]] Mismatch find_mismatch(const ArgumentData& found, const Interpretation& expected);

}  // namespace rtcg::loopy
