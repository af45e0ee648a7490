#include "rtcg/arrays/scan/scan_by_key.h"

#include <string>
#include <tuple>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/make_node.h"
#include "rtcg/arrays/lazy/operand.h"
#include "rtcg/arrays/scan/scan_kernel.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

/// The number that joined with any other gives the other, in C.
std::string neutral_of(ScanOp op, DType dtype) {
  if (op == ScanOp::sum || op == ScanOp::product) {
    return op == ScanOp::sum ? "0" : "1";
  }
  const bool is_max = op == ScanOp::max;
  if (is_floating(dtype)) {
    return is_max ? "-INFINITY" : "INFINITY";
  }
  const auto bits = 8 * static_cast<int>(size_bytes(dtype));
  if (is_unsigned_integer(dtype)) {
    return is_max ? "0" : bits == 64 ? "~0ul" : fmt::format("{}u", ~0U >> (32 - bits));
  }
  const std::string most = fmt::format("{}l", ~std::uint64_t{0} >> (65 - bits));
  return is_max ? fmt::format("-{} - 1", most) : most;
}

std::string joined(ScanOp op) {
  switch (op) {
    case ScanOp::sum:
      return "a + b";
    case ScanOp::product:
      return "a * b";
    case ScanOp::min:
      return "a < b || a != a ? a : b";  // a NaN wins
    case ScanOp::max:
      break;
  }
  return "a > b || a != a ? a : b";
}

/// One for each operation and types; kept for good.
const ScanKernel& kernel_for(ScanOp op, DType value, DType key, bool is_exclusive) {
  using Key = std::tuple<ScanOp, DType, DType, bool>;
  static auto& made = *new detail::MadeOnce<Key, ScanKernel>;
  return made.of({op, value, key, is_exclusive}, [&] {
    const ScanText text{.input = "x[i]",
                        .scan = fmt::format("across_seg_boundary ? b : ({})", joined(op)),
                        .neutral = neutral_of(op, value),
                        .output = is_exclusive ? "y[i] = prev_item" : "y[i] = item",
                        .segment_start = "i > 0 && key[i] != key[i - 1]"};
    KernelArgument values = array_argument(value, "x");
    KernelArgument keys = array_argument(key, "key");
    values.is_const = true;
    keys.is_const = true;
    return ScanKernel(value, text, {values, keys, array_argument(value, "y")},
                      {.name = "scan_by_key"});
  });
}

}  // namespace

AnyArray scan_by_key(ScanOp op, const AnyArray& keys, const Expression& values,
                     const CumulativeOptions& options) {
  if (keys.axes() != 1 || !(keys.shape() == values.shape())) {
    throw InvalidInput(
        "arrays.scan_by_key.shape_mismatch",
        fmt::format("keys of shape {} do not belong to values of shape {}: both have "
                    "one axis of one length",
                    to_string(keys.shape()), to_string(values.shape())));
  }
  static_cast<void>(checked_axis(options.axis.value_or(0), 1));
  const bool is_sum = op == ScanOp::sum || op == ScanOp::product;
  const DType dtype = is_sum ? options.dtype.value_or(sum_type(values.dtype())) : values.dtype();
  for (const DType each : {keys.dtype(), dtype}) {
    if (is_complex(each) || is_vector(each)) {
      detail::refuse_dtype("scan_by_key", each);
    }
  }
  if (dtype == DType::boolean) {  // an order of two values
    CumulativeOptions as_bytes = options;
    as_bytes.dtype = DType::u8;
    return evaluate(cast(scan_by_key(op, keys, cast(values, DType::u8), as_bytes), dtype));
  }
  const AnyArray x = detail::values_of(cast(values, dtype));
  AnyArray result(dtype, keys.shape(), current_stream(keys.stream()));
  const ScanKernel& kernel = kernel_for(op, dtype, keys.dtype(), options.is_exclusive);
  if (options.is_reverse) {
    kernel(x.flip({0}), keys.flip({0}), result.flip({0}));
  } else {
    kernel(x, keys, result);
  }
  return result;
}

}  // namespace rtcg::arrays
