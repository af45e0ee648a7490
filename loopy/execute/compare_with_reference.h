#pragma once

#include <complex>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/execute/executor.h"
#include "rtcg/loopy/interpret/interpret.h"

namespace rtcg::loopy {

struct CompareOptions {
  std::uint64_t seed = 1;
  /// Launches that are timed, after one that is not; 0: no time is taken.
  int repetitions = 0;
  /// Values of arrays that cannot be random, such as tables of indices.
  std::map<std::string, std::vector<double>> values{};
  /// Floating-point scalars; those that are not listed get a random value in [-1, 1).
  std::map<std::string, double> reals{};
  /// The same of complex scalars.
  std::map<std::string, std::complex<double>> complex_values{};
};

/// Where the numbers come from that a kernel is compared with.
enum class Judge {
  interpreter,          ///< the description, interpreted as a whole
  sampled_interpreter,  ///< some of its results, interpreted
  generated_reference,  ///< code for the host that is generated from the description
};

struct ComparisonReport {
  bool is_equal = false;
  DataDifference worst{};
  double allowed = 0;         ///< the largest distance from `worst.right` that would be equal
  double transformed_ms = 0;  ///< of one launch
  Judge judge = Judge::interpreter;
  std::size_t compared = 0;   ///< numbers
  std::size_t undecided = 0;  ///< numbers that the description leaves open
  /// Why it was not interpreted, or only in part; otherwise empty.
  std::string note{};
  /// As Interpretation::first_open.
  std::string first_open{};
};

/// Runs a kernel on a device, interprets the kernel as described on the same random data, and
/// compares all arrays. If it cannot be interpreted, the code generated from the description runs
/// on the host instead, several times if numbers differ, to measure how far they may (see
/// MeasuredErrors); the report states that.
///
/// @param parameters  values of the integer scalars
/// @throws InvalidInput  loopy.compare_with_reference.contradiction; loopy.interpret.out_of_bounds
/// @throws Unsupported   loopy.compare_with_reference.layout
/// @throws  what Executor throws
[[nodiscard]] ComparisonReport compare_with_reference(const Kernel& transformed,
                                                      const Kernel& reference,
                                                      const IntegerValues& parameters,
                                                      runtime::Device device,
                                                      const CompareOptions& options = {});

/// The result of a comparison with an interpretation.
[[nodiscard]] ComparisonReport report_of(const Mismatch& worst, bool is_sampled = false);
/// @throws Error  loopy.compare_with_reference.wrong_numbers
void check_is_equal(const ComparisonReport& report);
/// Whether there was a number to compare, so that is_equal says something.
/// @throws Error  loopy.compare_with_reference.nothing_compared
void check_is_decided(const ComparisonReport& report);

/// `interpreter`, `sampled interpreter` or `generated reference`.
[[nodiscard]] std::string_view name_of(Judge judge);

/// Random data for a typed kernel, as random_arguments gives it, but arrays of indices that are not
/// among options.values have values with which no index leaves its array, as far as the kernel can
/// be interpreted: those of a permutation, or ascending ones, where these do.
///
/// @throws InvalidInput  loopy.interpret.out_of_bounds: no values were found
/// @cost   for kernels with arrays of indices, an interpretation or several
[[nodiscard]] ArgumentData runnable_arguments(const Kernel& kernel, const IntegerValues& parameters,
                                              const CompareOptions& options = {});

/// Time of one launch on random data, in milliseconds: the mean of options.repetitions after one
/// that is not timed.
///
/// @param reference   the kernel as described, which says what arrays of indices may hold
/// @param parameters  values of the integer scalars of `reference`
/// @throws  as compare_with_reference and runnable_arguments
[[nodiscard]] double time_kernel_ms(const Kernel& transformed, const Kernel& reference,
                                    const IntegerValues& parameters, runtime::Device device,
                                    const CompareOptions& options = {});

/// The arrays after one run of the kernel on the device.
[[nodiscard]] ArgumentData run_kernel(const Kernel& kernel, const IntegerValues& parameters,
                                      const ArgumentData& arrays, runtime::Device device,
                                      const CompareOptions& options = {});
/// The same of an executor, which makes its program once for all sizes.
[[nodiscard]] ArgumentData run_kernel(const Executor& executor, const IntegerValues& parameters,
                                      const ArgumentData& arrays,
                                      const CompareOptions& options = {});

}  // namespace rtcg::loopy
