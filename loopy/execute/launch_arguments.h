#pragma once
// Internal header: it is not installed.

#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/analyze/evaluate_integer.h"
#include "rtcg/loopy/execute/executor.h"
#include "rtcg/runtime/device/kernel.h"

namespace rtcg::loopy {

/// Elements that 32-bit indices reach, with room for what they overshoot before a guard is tested.
constexpr std::int64_t most_of_32_bits = INT32_MAX - (1 << 20);

/// The arguments of one call, checked against the kernel.
class LaunchArguments {
 public:
  /// @throws  as Executor::operator()
  LaunchArguments(const Kernel& kernel, runtime::Device device,
                  const std::vector<NamedArgument>& given);

  /// Integer scalars, given or found.
  [[nodiscard]] const IntegerValues& integers() const noexcept { return integers_; }
  /// Whether all elements of all arguments, and all loops, are within reach of 32-bit indices.
  [[nodiscard]] bool fits_32_bits() const noexcept { return fits_32_bits_; }
  /// Elements of a temporary in global memory.
  [[nodiscard]] std::size_t count_of(const KernelParameter& temporary) const;
  /// @param temporaries  the addresses of those in global memory
  [[nodiscard]] runtime::ArgumentPack pack(
      const std::vector<KernelParameter>& parameters,
      const std::map<std::string, runtime::DeviceAddress>& temporaries) const;

 private:
  void add(const NamedArgument& argument);
  void find_parameters();
  bool solve(const Expr& length, std::int64_t value, const std::string& array);
  void check_arrays();
  void check_loops();
  void check_length(const Expr& length, std::int64_t value, std::size_t axis,
                    const std::string& array) const;
  [[noreturn]] void fail_size(const std::string& array, const std::string& what) const;
  [[nodiscard]] std::int64_t evaluate(const Expr& expr, const std::string& array) const;

  const Kernel& kernel_;
  runtime::Device device_;
  std::map<std::string, NamedArgument::Array> arrays_;
  IntegerValues integers_;
  std::map<std::string, std::complex<double>> reals_;  ///< complex numbers too
  bool fits_32_bits_ = true;
};

}  // namespace rtcg::loopy
