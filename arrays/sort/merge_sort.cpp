#include "rtcg/arrays/sort/merge_sort.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/snippet.h"
#include "rtcg/arrays/kernels/struct_array.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::arrays {
namespace {

/// Elements that a thread sorts alone.
constexpr std::int64_t run_of_thread = 16;

bool names(std::string_view text, char variable) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = at == 0 || (!is_part(text[at - 1]) && text[at - 1] != '.');
    const bool ends = at + 1 == text.size() || !is_part(text[at + 1]);
    if (text[at] == variable && begins && ends) {
      return true;
    }
  }
  return false;
}

/// The type of `a` and `b`: short integers are compared as int.
const char* compared_type(DType dtype) {
  if (is_vector(dtype)) {
    throw InvalidInput("arrays.sort.dtype",
                       fmt::format("elements of {} cannot be compared in C: sort their components, "
                                   "or make them structs",
                                   name(dtype)));
  }
  const bool is_short = dtype == DType::boolean || (is_integer(dtype) && size_bytes(dtype) < 4);
  return is_short ? "int" : detail::c_name(dtype);
}

/// Rows of keys, and what sorts their places.
class ComparedRows {
 public:
  ComparedRows(const AnyArray& keys, std::string_view comparison, const ComparisonOptions& options)
      : options_(options), comparison_(comparison) {
    if (!names(comparison, 'a') || !names(comparison, 'b')) {
      throw InvalidInput("arrays.sort.comparison",
                         fmt::format("'{}' does not compare 'a' with 'b'", comparison));
    }
    const bool has_structs = options.structure != nullptr;
    const int axes = keys.axes() - (has_structs ? 1 : 0);
    if (has_structs) {
      static_cast<void>(layout_of_structs(keys, options.structure->size_bytes));
    }
    type_ = has_structs ? options.structure->name : compared_type(keys.dtype());
    if (axes == 0) {
      throw InvalidInput("arrays.sort.axis", "an array without axes has nothing to sort");
    }
    axis_ = checked_axis(options.axis, axes);
    last_ = axes - 1;
    const AnyArray moved = keys.move_axis(axis_, last_).contiguous();
    shape_ = moved.shape();
    length_ = shape_[last_];
    rows_ = 1;
    for (int axis = 0; axis < last_; ++axis) {
      rows_ *= shape_[axis];
    }
    keys_ = has_structs ? moved.reshape(rows_ * length_, keys.shape().back())
                        : moved.reshape(rows_ * length_);
  }

  /// Of each element in its order: where it was among those of all rows.
  [[nodiscard]] AnyArray order() const {
    const DType dtype = rows_ * length_ <= INT32_MAX ? DType::i32 : DType::i64;
    AnyArray from(dtype, {rows_ * length_}, current_stream());
    if (rows_ * length_ == 0) {
      return from;
    }
    AnyArray to(dtype, from.shape(), current_stream());
    const std::int64_t runs = ceil_divide(length_, run_of_thread);
    sorted_runs(dtype).run({*keys_, from, Expression(length_), Expression(runs)},
                           {.range = Slice{0, rows_ * runs}});
    for (std::int64_t width = run_of_thread; width < length_; width *= 2) {
      merged_runs(dtype).run({*keys_, from, to, Expression(length_), Expression(width)});
      std::swap(from, to);
    }
    return from;
  }

  [[nodiscard]] AnyArray sorted(const AnyArray& order) const {
    const AnyArray flat = rows_ * length_ == 0 ? *keys_ : evaluate(take(*keys_, order, 0));
    return flat.reshape(shape_).move_axis(last_, axis_).contiguous();
  }

  [[nodiscard]] AnyArray places(const AnyArray& order) const {
    Extents shape;
    for (int axis = 0; axis <= last_; ++axis) {
      shape.push_back(shape_[axis]);
    }
    const AnyArray within =
        length_ == 0 ? order.as_type(DType::i64) : evaluate(cast(order, DType::i64) % length_);
    return within.reshape(shape).move_axis(last_, axis_).contiguous();
  }

 private:
  [[nodiscard]] std::vector<KernelArgument> arguments(DType place, bool is_first) const {
    KernelArgument keys = options_.structure ? struct_argument(*options_.structure, "key")
                                             : array_argument(keys_->dtype(), "key");
    keys.is_const = true;
    std::vector<KernelArgument> result = {keys};
    const std::vector<std::string> of_places =
        is_first ? std::vector<std::string>{"place"} : std::vector<std::string>{"from", "to"};
    for (const std::string& each : of_places) {
      result.push_back(array_argument(place, each));
    }
    result.push_back(number_argument(DType::i64, "length"));
    result.push_back(number_argument(DType::i64, is_first ? "runs" : "width"));
    return result;
  }

  /// Each thread inserts the elements of its run one after the other.
  [[nodiscard]] ElementwiseKernel sorted_runs(DType place) const {
    return {arguments(place, true),
            fmt::format(R"(
              const long begin = i / runs * length + i % runs * {0};
              const long row_end = (i / runs + 1) * length;
              const long end = begin + {0} < row_end ? begin + {0} : row_end;
              for (long next = begin; next < end; ++next) {{
                long at = next;
                while (at > begin) {{
                  const {1} a = key[next];
                  const {1} b = key[place[at - 1]];
                  if (!({2})) {{
                    break;
                  }}
                  place[at] = place[at - 1];
                  --at;
                }}
                place[at] = next;
              }}
            )",
                        run_of_thread, type_, comparison_),
            {.preamble = options_.preamble, .name = "sort_runs"}};
  }

  /// Each element finds its place by how many of the other run come before it.
  [[nodiscard]] ElementwiseKernel merged_runs(DType place) const {
    return {arguments(place, false),
            fmt::format(R"(
              const long begin = i / length * length;
              const long end = begin + length;
              const long run = (i - begin) / width;
              const int is_left = run % 2 == 0;
              const long other = begin + (is_left ? run + 1 : run - 1) * width;
              const long first = other < end ? other : end;
              long low = first;
              long high = other + width < end ? other + width : end;
              while (low < high) {{
                const long middle = (low + high) / 2;
                const long of_a = is_left ? middle : i;
                const long of_b = is_left ? i : middle;
                const {0} a = key[from[of_a]];
                const {0} b = key[from[of_b]];
                if ((({1}) != 0) == is_left) {{
                  low = middle + 1;
                }} else {{
                  high = middle;
                }}
              }}
              to[i - run % 2 * width + (low - first)] = from[i];
            )",
                        type_, comparison_),
            {.preamble = options_.preamble, .name = "merge_runs"}};
  }

  const ComparisonOptions& options_;
  std::string comparison_;
  std::string type_{};
  int axis_ = 0;
  int last_ = 0;  ///< where the sorted axis is in `shape_`
  Extents shape_{};
  std::int64_t length_ = 0;
  std::int64_t rows_ = 1;
  std::optional<AnyArray> keys_{};  ///< [rows * length], and the bytes of structs
};

}  // namespace

AnyArray sort_by(const AnyArray& keys, std::string_view comparison,
                 const ComparisonOptions& options) {
  const StreamScope scope(current_stream(keys.stream()));
  const ComparedRows rows(keys, comparison, options);
  return rows.sorted(rows.order());
}

AnyArray argsort_by(const AnyArray& keys, std::string_view comparison,
                    const ComparisonOptions& options) {
  const StreamScope scope(current_stream(keys.stream()));
  const ComparedRows rows(keys, comparison, options);
  return rows.places(rows.order());
}

SortedPairs sort_by_key_by(const AnyArray& keys, const std::vector<AnyArray>& values,
                           std::string_view comparison, const ComparisonOptions& options) {
  const StreamScope scope(current_stream(keys.stream()));
  const std::int64_t count = keys.axes() == 0 ? 0 : keys.shape()[0];
  if (keys.axes() != (options.structure ? 2 : 1)) {
    throw InvalidInput("arrays.sort.shape_mismatch",
                       fmt::format("sort_by_key_by takes keys of one axis, not of shape {}",
                                   to_string(keys.shape())));
  }
  for (const AnyArray& each : values) {
    if (each.axes() == 0 || each.shape()[0] != count) {
      throw InvalidInput("arrays.sort.shape_mismatch",
                         fmt::format("values of shape {} do not belong to {} keys: their first "
                                     "axis must be as long",
                                     to_string(each.shape()), count));
    }
  }
  const ComparedRows rows(keys, comparison, options);
  const AnyArray order = rows.order();
  SortedPairs result{rows.sorted(order), {}};
  for (const AnyArray& each : values) {
    result.values.push_back(count == 0 ? each.copy() : evaluate(take(each, order, 0)));
  }
  return result;
}

}  // namespace rtcg::arrays
