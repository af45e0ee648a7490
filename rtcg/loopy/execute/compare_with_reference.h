#pragma once

#include <complex>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/execute/argument_data.h"
#include "rtcg/loopy/execute/executor.h"

namespace rtcg::loopy {

struct CompareOptions {
  /// Largest |a - b| / (1 + |b|) that counts as equal; integers must be equal.
  double tolerance = 1e-3;
  std::uint64_t seed = 1;
  /// Launches that are timed, after one that is not; 0: no time is taken.
  int repetitions = 0;
  /// Values of arrays that random ones cannot stand for, such as tables of indices.
  std::map<std::string, std::vector<double>> values{};
  /// Floating-point scalars; those that are not listed get a random value in [-1, 1).
  std::map<std::string, double> reals{};
  /// The same of complex scalars.
  std::map<std::string, std::complex<double>> complex_values{};
};

struct ComparisonReport {
  bool is_equal = false;
  DataDifference worst{};
  double transformed_ms = 0;  ///< of one launch
  double reference_ms = 0;
};

/// Runs a kernel as a device runs it, and the kernel it was made from on the host, on the same
/// random data, and compares all arrays.
///
/// @param parameters  values of the integer scalars
/// @throws  what Executor throws for either
[[nodiscard]] ComparisonReport compare_with_reference(const Kernel& transformed,
                                                      const Kernel& reference,
                                                      const IntegerValues& parameters,
                                                      runtime::Device device,
                                                      const CompareOptions& options = {});

/// Time of one launch on random data, in milliseconds: the mean of options.repetitions after one
/// that is not timed.
[[nodiscard]] double time_kernel_ms(const Kernel& kernel, const IntegerValues& parameters,
                                    runtime::Device device, const CompareOptions& options = {});

/// The arrays after one run of the kernel on the device.
[[nodiscard]] ArgumentData run_kernel(const Kernel& kernel, const IntegerValues& parameters,
                                      const ArgumentData& arrays, runtime::Device device,
                                      const CompareOptions& options = {});

}  // namespace rtcg::loopy
