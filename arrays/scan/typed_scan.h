#pragma once
// Internal header: it is not installed.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/scan/scan_kernel.h"
#include "rtcg/arrays/scan/scan_rows.h"

// Scans of expressions.

namespace rtcg::arrays::detail {

/// The implementation of a ScanKernel of expressions.
class TypedScan {
 public:
  /// @throws  as ScanKernel
  TypedScan(const ScanExpressions& scan, std::vector<KernelArgument> arguments,
            ScanKernelOptions options);

  void run(const std::vector<Expression>& given, const ScanLaunch& launch) const;
  [[nodiscard]] const loopy::Kernel& loop_kernel() const noexcept { return scan_->kernel(); }

 private:
  using Bound = std::map<std::string, Expression>;

  void make_inputs(const ScanExpressions& scan);
  void make_outputs(const ScanExpressions& scan);
  [[nodiscard]] loopy::Kernel make_kernel(const ScanExpressions& scan) const;
  [[nodiscard]] bool has_segments() const { return segment_start_.has_value(); }

  [[nodiscard]] std::vector<AnyArray> values_of(const Bound& bound, const ScanRows& rows,
                                                runtime::StreamRef stream,
                                                std::optional<AnyArray>& starts) const;
  [[nodiscard]] std::optional<AnyArray> target_of(const Bound& bound, const ScanRows& rows,
                                                  const AnyArray& values) const;
  void add_items(Bound& bound, const ScanRows& rows, const std::vector<AnyArray>& items,
                 const std::optional<AnyArray>& starts) const;

  std::vector<KernelArgument> arguments_;
  ScanKernelOptions options_;
  std::vector<Expression> inputs_{};  // of the types of fields_
  std::vector<Expression> neutral_{};
  std::optional<Expression> segment_start_{};
  std::vector<ElementAssignment> outputs_{};
  std::vector<ScanValue::Field> fields_{};
  bool uses_last_ = false;
  bool scans_exclusively_ = false;  // items leave their own element out
  std::unique_ptr<const ScanCall> scan_{};
};

}  // namespace rtcg::arrays::detail
