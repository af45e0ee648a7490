#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/loopy/execute/compare_with_reference.h"

namespace rtcg::campaigns {

/// A kernel, as it is described and as it is to run.
struct KernelCase {
  loopy::Kernel described{};
  loopy::Kernel transformed{};
  /// The transformed kernel is compiled once and run at each of them.
  std::vector<loopy::IntegerValues> sizes{};
  std::string story{};
  loopy::CompareOptions options{};
  /// Cases with the same name have the same `described` and `options`, so that it is interpreted
  /// once for each of their sizes. Empty: there is no other such case.
  std::string name_of_described{};
};

/// @param target  `host`, `devices` (all others of this machine) or `cuda`, on the CPU
/// @returns  how many times the transformed kernel was run and compared
/// @throws Finding  wrong numbers, a text that does not compile, or what the harness of CUDA texts
///                  reports
[[nodiscard]] std::uint64_t judge_kernel(const KernelCase& each, const std::string& target);

}  // namespace rtcg::campaigns
