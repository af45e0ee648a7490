#include "rtcg/arrays/scan/scan_rows.h"

#include <algorithm>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays::detail {

ScanRows scan_rows(const std::vector<KernelArgument>& arguments,
                   const std::vector<Expression>& given, const std::optional<std::int64_t>& axis,
                   const std::optional<std::int64_t>& count) {
  const auto first = std::find_if(arguments.begin(), arguments.end(),
                                  [](const auto& each) { return each.is_array; });
  if (!axis && count) {
    return {{*count}, 1, *count, 1};
  }
  if (first == arguments.end()) {
    throw InvalidInput("arrays.scan_kernel.no_count",
                       "a scan without arrays has no number of elements: give ScanLaunch::count");
  }
  Extents shape = given[static_cast<std::size_t>(first - arguments.begin())].shape();
  if (first->structure) {
    shape.pop_back();
  }
  if (!axis) {
    const std::int64_t elements = element_count(shape);
    return {{elements}, 1, elements, 1};
  }
  const auto along = static_cast<std::size_t>(checked_axis(*axis, static_cast<int>(shape.size())));
  ScanRows result{shape, 1, shape[along], 1};
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.size()); ++i) {
    (i < along ? result.outer : result.inner) *= i == along ? 1 : shape[i];
  }
  return result;
}

runtime::StreamRef stream_of_values(const std::vector<Expression>& given) {
  for (const Expression& value : given) {
    if (value.node()->array) {
      return current_stream(value.node()->array->stream());
    }
  }
  return current_stream();
}

std::optional<AnyArray> whole_array(const Expression& value, DType dtype, const Extents& shape) {
  const ExpressionNode& node = *value.node();
  const bool fits = node.op == Op::leaf && node.dtype == dtype &&
                    node.array->layout().is_contiguous() &&
                    node.array->count() == element_count(shape);
  return fits ? std::optional(node.array->reshape(shape)) : std::nullopt;
}

loopy::Kernel with_long_lengths(loopy::Kernel kernel) {
  for (loopy::Argument& each : kernel.arguments) {
    if (!each.is_array) {
      each.type = cgen::i64;
    }
  }
  return kernel;
}

std::vector<AnyArray> ScanCall::new_arrays(const ScanRows& rows, runtime::StreamRef stream) const {
  std::vector<AnyArray> result;
  for (const auto& field : fields_) {
    result.emplace_back(field.dtype, rows.shape, stream);
  }
  return result;
}

void ScanCall::run(runtime::StreamRef stream, const ScanRows& rows,
                   const std::vector<AnyArray>& values, const std::vector<AnyArray>& items,
                   const std::optional<AnyArray>& starts) const {
  std::vector<std::pair<std::string, AnyArray>> arrays;
  loopy::IntegerValues lengths = {{"n", rows.length}};
  const auto in_rows = [&](const AnyArray& array) {
    return is_along_axis_ ? array.reshape(rows.outer, rows.length, rows.inner) : array;
  };
  for (std::size_t k = 0; k < values.size(); ++k) {
    arrays.emplace_back(ScanValue::part("values", fields_[k]), in_rows(values[k]));
    arrays.emplace_back(ScanValue::part("items", fields_[k]), in_rows(items[k]));
  }
  if (starts) {
    arrays.emplace_back("starts", in_rows(*starts));
  }
  if (is_along_axis_) {
    lengths["outer"] = rows.outer;
    lengths["inner"] = rows.inner;
  }
  const bool is_long = std::max({rows.outer, rows.length, rows.inner}) > INT32_MAX;
  (is_long ? long_rows_ : short_rows_).run(stream, arrays, lengths);
}

}  // namespace rtcg::arrays::detail
