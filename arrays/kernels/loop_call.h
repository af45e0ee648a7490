#pragma once
// Internal header: it is not installed.

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rtcg/arrays/kernels/planned_loops.h"

// Calls of loop kernels over whole arrays, whose kernel does not depend on layouts.

namespace rtcg::arrays::detail {

/// A loop kernel over contiguous arrays, for calls with any lengths. Any thread may use it.
class LoopCall {
 public:
  explicit LoopCall(loopy::Kernel kernel, std::string wisdom_path = {})
      : kernel_(std::move(kernel)), wisdom_path_(std::move(wisdom_path)) {}

  /// @param arrays   contiguous, by the names of the kernel's arguments
  /// @param lengths  of all loops; > 0
  void run(runtime::StreamRef stream, const std::vector<std::pair<std::string, AnyArray>>& arrays,
           const loopy::IntegerValues& lengths) const;

  [[nodiscard]] const loopy::Kernel& kernel() const noexcept { return kernel_; }

 private:
  using Key = std::tuple<const runtime::Backend*, loopy::IntegerValues, bool>;

  loopy::Kernel kernel_;
  std::string wisdom_path_;
  mutable std::mutex mutex_{};  // of planned_
  mutable std::map<Key, PlannedLoops> planned_{};
};

}  // namespace rtcg::arrays::detail
