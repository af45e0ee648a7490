#pragma once

#include <memory>

#include "rtcg/loopy/execute/compare_with_reference.h"

namespace rtcg::loopy {

/// A kernel as CUDA text on the CPU, compiled once.
class CudaTextOnCpu {
 public:
  explicit CudaTextOnCpu(const Kernel& kernel);
  ~CudaTextOnCpu();
  CudaTextOnCpu(const CudaTextOnCpu&) = delete;
  CudaTextOnCpu& operator=(const CudaTextOnCpu&) = delete;

  /// The arrays after one run with checks for races and bounds.
  [[nodiscard]] ArgumentData run(const IntegerValues& parameters, ArgumentData arrays,
                                 const CompareOptions& options = {});
  /// The same without checks: sums by atomics depend on the order, which counts as a race.
  [[nodiscard]] ArgumentData run_unchecked(const IntegerValues& parameters, ArgumentData arrays,
                                           const CompareOptions& options = {});

 private:
  ArgumentData run(const IntegerValues& parameters, ArgumentData arrays,
                   const CompareOptions& options, bool is_checked);

  struct Text;
  std::unique_ptr<Text> text_;
};

}  // namespace rtcg::loopy
