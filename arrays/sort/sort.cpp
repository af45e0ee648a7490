#include "rtcg/arrays/sort/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/scan/words.h"
#include "rtcg/arrays/sort/radix_sort.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

using detail::RadixKeys;
using detail::RadixPairs;

RadixKeys keys_of(DType dtype, const SortOptions& options) {
  if (!detail::is_key(dtype)) {
    throw InvalidInput("arrays.sort.dtype",
                       fmt::format("elements of {} have no order: sort booleans, integers or "
                                   "floating-point numbers",
                                   name(dtype)));
  }
  const int bits = detail::key_bits(dtype);
  const int end = options.end_bit.value_or(bits);
  if (options.begin_bit < 0 || end < options.begin_bit || end > bits) {
    throw InvalidInput("arrays.sort.bits", fmt::format("bits {} to {} are not among the {} of {}",
                                                       options.begin_bit, end, bits, name(dtype)));
  }
  return {dtype, options.is_descending, options.begin_bit, end};
}

/// Places in i32 where they fit, which halves what is moved.
AnyArray places_below(std::int64_t count) {
  return evaluate(cast(indices({count}), count <= INT32_MAX ? DType::i32 : DType::i64));
}

/// Sorts by the numbers of groups, which are below `groups`, what has been sorted within all.
RadixPairs sort_by_group(runtime::StreamRef stream, const AnyArray& group, std::int64_t groups,
                         const AnyArray& values) {
  const int bits =
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(groups, 1) - 1));
  const bool is_short = group.dtype() == DType::u32;
  return detail::radix_sort(stream, group, values,
                            {is_short ? DType::u32 : DType::u64, false, 0, bits});
}

DType group_type(std::int64_t groups) {
  return groups <= INT32_MAX ? DType::u32 : DType::u64;
}

/// Elements as rows of the axis that is sorted, which comes last.
class SortedRows {
 public:
  SortedRows(const Expression& keys, std::int64_t axis, const RadixKeys& what) : what_(what) {
    if (keys.shape().empty()) {
      throw InvalidInput("arrays.sort.axis", "an array without axes has nothing to sort");
    }
    axis_ = checked_axis(axis, static_cast<int>(keys.shape().size()));
    const detail::ExpressionNode& node = *keys.node();
    const AnyArray all = node.op == Op::leaf ? *node.array : evaluate(keys);
    const AnyArray moved = all.move_axis(axis_, -1);
    shape_ = moved.shape();
    length_ = shape_[shape_.size() - 1];
    keys_ = moved.contiguous();
    rows_ = length_ == 0 ? 0 : keys_->count() / length_;
    stream_ = current_stream(all.stream());
  }

  [[nodiscard]] std::int64_t length() const noexcept { return length_; }

  [[nodiscard]] AnyArray sorted() const { return in_shape(run(false).keys); }

  /// The keys, and their places in i64.
  [[nodiscard]] TopElements sorted_with_places() const {
    const RadixPairs pairs = run(true);
    return {in_shape(pairs.keys), in_shape(evaluate(cast(*pairs.values, DType::i64)))};
  }

 private:
  [[nodiscard]] AnyArray in_shape(const AnyArray& rows) const {
    return rows.reshape(shape_).move_axis(-1, axis_).contiguous();
  }

  [[nodiscard]] RadixPairs run(bool has_places) const {
    const StreamScope scope(stream_);
    if (keys_->count() == 0) {
      return {*keys_, has_places ? std::optional(empty(DType::i32, keys_->shape())) : std::nullopt};
    }
    std::optional<AnyArray> places;
    if (has_places) {
      places = evaluate(cast(indices({rows_, length_}) % length_,
                             length_ <= INT32_MAX ? DType::i32 : DType::i64));
    }
    const AnyArray rows = keys_->reshape(rows_, length_);
    if (rows_ > 1) {
      if (auto at_once = detail::sort_short_rows(stream_, rows, places, what_)) {
        return std::move(*at_once);
      }
    }
    const AnyArray flat = keys_->reshape(keys_->count());
    if (rows_ == 1) {
      return detail::radix_sort(
          stream_, flat, places ? std::optional(places->reshape(length_)) : std::nullopt, what_);
    }
    // all elements, then by their row, which keeps the order within rows
    const AnyArray where =
        *detail::radix_sort(stream_, flat, places_below(flat.count()), what_).values;
    const AnyArray row = evaluate(cast(floor_divide(where, length_), group_type(rows_)));
    const AnyArray order = *sort_by_group(stream_, row, rows_, where).values;
    RadixPairs result{evaluate(take(flat, order)), {}};
    if (has_places) {
      result.values = evaluate(order % length_);
    }
    return result;
  }

  RadixKeys what_;
  int axis_ = 0;
  Extents shape_{};
  std::int64_t length_ = 0;
  std::int64_t rows_ = 0;
  std::optional<AnyArray> keys_{};
  runtime::StreamRef stream_{current_stream()};
};

/// Elements along the axis from the first on.
AnyArray first_along(const AnyArray& array, std::int64_t axis, std::int64_t begin,
                     std::int64_t end) {
  std::vector<Index> index(static_cast<std::size_t>(array.axes()), Index(whole));
  index[static_cast<std::size_t>(checked_axis(axis, array.axes()))] = Slice{begin, end};
  return array.view(slice(array.layout(), index));
}

void check_taken(std::int64_t k, std::int64_t length) {
  if (k < 0 || k > length) {
    throw InvalidInput("arrays.sort.top_k",
                       fmt::format("{} of {} elements cannot be taken", k, length));
  }
}

AnyArray one_axis(const Expression& keys, const char* what) {
  if (keys.shape().size() != 1) {
    throw InvalidInput(
        "arrays.sort.shape_mismatch",
        fmt::format("{} takes keys of one axis, not of shape {}", what, to_string(keys.shape())));
  }
  const detail::ExpressionNode& node = *keys.node();
  return (node.op == Op::leaf ? *node.array : evaluate(keys)).contiguous();
}

}  // namespace

AnyArray sort(const Expression& keys, const SortOptions& options) {
  return SortedRows(keys, options.axis, keys_of(keys.dtype(), options)).sorted();
}

AnyArray argsort(const Expression& keys, const SortOptions& options) {
  return SortedRows(keys, options.axis, keys_of(keys.dtype(), options)).sorted_with_places().places;
}

SortedPairs sort_by_key(const Expression& keys, const std::vector<AnyArray>& values,
                        const SortOptions& options) {
  const RadixKeys what = keys_of(keys.dtype(), options);
  const AnyArray flat = one_axis(keys, "sort_by_key");
  for (const AnyArray& each : values) {
    if (each.axes() == 0 || each.shape()[0] != flat.count()) {
      throw InvalidInput(
          "arrays.sort.shape_mismatch",
          fmt::format("values of shape {} do not belong to {} keys: their first axis "
                      "must be as long",
                      to_string(each.shape()), flat.count()));
    }
  }
  const runtime::StreamRef stream = current_stream(flat.stream());
  const StreamScope scope(stream);
  if (values.empty()) {
    return {detail::radix_sort(stream, flat, {}, what).keys, {}};
  }
  if (values.size() == 1 && values.front().axes() == 1 && detail::word_of(values.front().dtype())) {
    const RadixPairs pairs = detail::radix_sort(stream, flat, values.front().contiguous(), what);
    return {pairs.keys, {*pairs.values}};
  }
  const RadixPairs pairs = detail::radix_sort(stream, flat, places_below(flat.count()), what);
  SortedPairs result{pairs.keys, {}};
  for (const AnyArray& each : values) {
    result.values.push_back(flat.count() == 0 ? each.copy()
                                              : evaluate(take(each, *pairs.values, 0)));
  }
  return result;
}

GroupedValues group_by_key(const Expression& keys, const AnyArray& values, std::int64_t groups) {
  if (groups < 0 || !is_integer(keys.dtype())) {
    throw InvalidInput("arrays.sort.groups",
                       fmt::format("{} groups by keys of {} cannot be made: keys are integers, and "
                                   "there are at least 0 groups",
                                   groups, name(keys.dtype())));
  }
  const DType dtype = group_type(groups);
  const Expression number = cast(keys, DType::i64);
  const Expression group = where(number >= 0 && number < groups, number, groups);
  const SortedPairs sorted =
      sort_by_key(cast(group, dtype), {values},
                  {.end_bit = std::bit_width(static_cast<std::uint64_t>(groups))});
  const StreamScope scope(current_stream(values.stream()));
  return {sorted.values.front(),
          searchsorted(sorted.keys, cast(indices({groups + 1}), dtype), SearchSide::left)};
}

AnyArray segmented_sort(const Expression& keys, const AnyArray& offsets,
                        const SortOptions& options) {
  const RadixKeys what = keys_of(keys.dtype(), options);
  const AnyArray flat = one_axis(keys, "segmented_sort");
  if (offsets.axes() != 1 || !is_integer(offsets.dtype())) {
    throw InvalidInput("arrays.sort.offsets",
                       fmt::format("offsets of segments are integers along one axis, not {} of "
                                   "shape {}",
                                   name(offsets.dtype()), to_string(offsets.shape())));
  }
  const runtime::StreamRef stream = current_stream(flat.stream());
  const StreamScope scope(stream);
  if (flat.count() == 0) {
    return flat.copy();
  }
  const AnyArray where = *detail::radix_sort(stream, flat, places_below(flat.count()), what).values;
  // elements before the first segment and after the last are groups, too
  const std::int64_t groups = offsets.count() + 1;
  const AnyArray group =
      evaluate(cast(searchsorted(offsets, where, SearchSide::right).any(), group_type(groups)));
  return evaluate(take(flat, *sort_by_group(stream, group, groups, where).values));
}

TopElements top_k(const Expression& values, std::int64_t k, bool is_greatest, std::int64_t axis) {
  const SortedRows rows(values, axis, keys_of(values.dtype(), {.is_descending = is_greatest}));
  check_taken(k, rows.length());
  const TopElements all = rows.sorted_with_places();
  return {first_along(all.values, axis, 0, k).contiguous(),
          first_along(all.places, axis, 0, k).contiguous()};
}

AnyArray partial_sort(const Expression& keys, std::int64_t k, const SortOptions& options) {
  const SortedRows rows(keys, options.axis, keys_of(keys.dtype(), options));
  check_taken(k, rows.length());
  return first_along(rows.sorted(), options.axis, 0, k).contiguous();
}

AnyArray quantile(const Expression& values, double q, std::int64_t axis) {
  const SortedRows rows(values, axis, keys_of(values.dtype(), {}));
  if (!(q >= 0 && q <= 1) || rows.length() == 0) {
    throw InvalidInput("arrays.sort.quantile",
                       fmt::format("the quantile {} of {} elements is not defined: q is between 0 "
                                   "and 1",
                                   q, rows.length()));
  }
  const DType given = values.dtype();
  const DType dtype = !is_floating(given) ? DType::f64 : is_half(given) ? DType::f32 : given;
  const AnyArray sorted = rows.sorted();
  const double place = q * static_cast<double>(rows.length() - 1);
  const auto below = static_cast<std::int64_t>(std::floor(place));
  const std::int64_t above = std::min(below + 1, rows.length() - 1);
  const auto at = [&](std::int64_t i) {
    const AnyArray part = first_along(sorted, axis, i, i + 1);
    return cast(part.squeeze({checked_axis(axis, part.axes())}), dtype);
  };
  const double part = place - static_cast<double>(below);
  const Expression low = at(below);
  const Expression mixed = part == 0 ? low : low + (at(above) - low) * part;
  const Expression last = at(rows.length() - 1);  // a NaN, if there is one
  return evaluate(is_floating(given) ? where(isnan(last), last, mixed) : mixed);
}

AnyArray median(const Expression& values, std::int64_t axis) {
  return quantile(values, 0.5, axis);
}

AnyArray merge(const AnyArray& a, const AnyArray& b) {
  if (a.axes() != 1 || b.axes() != 1) {
    throw InvalidInput(
        "arrays.sort.shape_mismatch",
        fmt::format("arrays of shapes {} and {} cannot be merged: both have one axis",
                    to_string(a.shape()), to_string(b.shape())));
  }
  static_cast<void>(keys_of(a.dtype(), {}));
  const StreamScope scope(current_stream(a.stream()));
  const AnyArray other = detail::fitted_array(b, a.dtype());
  const AnyArray result(a.dtype(), {a.count() + b.count()}, current_stream());
  const AnyArray of_a = searchsorted(other, a, SearchSide::left);
  const AnyArray of_b = searchsorted(a, other, SearchSide::right);
  put(result, evaluate(of_a + indices(a.shape())), a);
  put(result, evaluate(of_b + indices(b.shape())), other);
  return result;
}

}  // namespace rtcg::arrays
