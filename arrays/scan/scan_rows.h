#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/kernel_argument.h"
#include "rtcg/arrays/kernels/loop_call.h"
#include "rtcg/arrays/scan/scan_value.h"

// Calls of scan kernels: over which elements they run, and their scan as a call of a loop kernel.

namespace rtcg::arrays::detail {

/// Elements along the axis of a scan, those before that axis and those after it.
struct ScanRows {
  Extents shape{};
  std::int64_t outer = 1;
  std::int64_t length = 0;
  std::int64_t inner = 1;

  [[nodiscard]] std::int64_t count() const { return outer * length * inner; }
};

/// Those of the first argument that is an array: all in C order, or along the axis.
///
/// @param count  of the elements, instead
/// @throws InvalidInput  arrays.scan_kernel.no_count, arrays.layout.bad_axis
[[nodiscard]] ScanRows scan_rows(const std::vector<KernelArgument>& arguments,
                                 const std::vector<Expression>& given,
                                 const std::optional<std::int64_t>& axis,
                                 const std::optional<std::int64_t>& count);
/// Of the first value that is an array.
[[nodiscard]] runtime::StreamRef stream_of_values(const std::vector<Expression>& given);
/// The array of a value if it is contiguous and of that type and number of elements, in this shape.
[[nodiscard]] std::optional<AnyArray> whole_array(const Expression& value, DType dtype,
                                                  const Extents& shape);

/// The kernel with all lengths of 64 bits.
[[nodiscard]] loopy::Kernel with_long_lengths(loopy::Kernel kernel);

/// The kernel that joins the values of a scan. Each field has an array `values` and an array
/// `items`; with segments there is an array `starts`. Any thread may use it.
class ScanCall {
 public:
  /// @param kernel         of the length `n`, along an axis also of `outer` and `inner`, as i32
  /// @param is_along_axis  whether its arrays have three axes
  ScanCall(const loopy::Kernel& kernel, std::vector<ScanValue::Field> fields, bool is_along_axis,
           const std::string& wisdom_path)
      : fields_(std::move(fields)),
        is_along_axis_(is_along_axis),
        short_rows_(kernel, wisdom_path),
        long_rows_(with_long_lengths(kernel), wisdom_path) {}

  [[nodiscard]] const loopy::Kernel& kernel() const noexcept { return short_rows_.kernel(); }
  [[nodiscard]] std::vector<AnyArray> new_arrays(const ScanRows& rows,
                                                 runtime::StreamRef stream) const;
  void run(runtime::StreamRef stream, const ScanRows& rows, const std::vector<AnyArray>& values,
           const std::vector<AnyArray>& items, const std::optional<AnyArray>& starts) const;

 private:
  std::vector<ScanValue::Field> fields_;
  bool is_along_axis_;
  LoopCall short_rows_;
  LoopCall long_rows_;  // with more elements than an i32 counts
};

}  // namespace rtcg::arrays::detail
