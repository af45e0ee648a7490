#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/arrays/lazy/kernel_form.h"

// The result of planning an expression: its launch.

namespace rtcg::arrays::detail {

/// The one launch by which an expression went into an array: from its third time into the same
/// array on the same stream an expression is launched without being looked at. An immutable value;
/// any thread may use it while the expression lives.
struct PreparedLaunch {
  runtime::StreamRef stream;
  // the target, which may be destroyed: another array of the same place and layout may replace it
  runtime::DeviceAddress address = 0;
  DType dtype = DType::f32;
  Layout layout{};

  const runtime::Kernel* kernel = nullptr;
  runtime::LaunchShape shape{};
  runtime::ArgumentPack arguments{};
  std::vector<Storage*> leaves{};  ///< which the expression keeps alive

  [[nodiscard]] bool fits(runtime::StreamRef on, const AnyArray& target) const;
  void run(const AnyArray& target) const;
};

/// The record of a run of an expression.
struct LaunchRecord {
  static constexpr int too_many = 2;
  int launches = 0;  ///< too_many and more: there is nothing to be prepared
  const runtime::Kernel* kernel = nullptr;
  runtime::LaunchShape shape{};
  runtime::ArgumentPack arguments{};
  std::vector<Storage*> leaves{};
};

}  // namespace rtcg::arrays::detail
