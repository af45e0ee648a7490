#include "rtcg/arrays/core/extents.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::arrays {
namespace {

void check_axis_count(std::size_t axes) {
  if (axes > Extents::max_axes) {
    throw InvalidInput("arrays.extents.too_many_axes",
                       fmt::format("an array would have {} axes, and {} is the most there can be",
                                   axes, Extents::max_axes));
  }
}

}  // namespace

Extents::Extents(std::span<const std::int64_t> values) {
  check_axis_count(values.size());
  std::copy(values.begin(), values.end(), values_.begin());
  size_ = static_cast<int>(values.size());
}

Extents Extents::filled(int axes, std::int64_t value) {
  check_axis_count(static_cast<std::size_t>(axes));
  Extents result;
  result.size_ = axes;
  std::fill(result.begin(), result.end(), value);
  return result;
}

void Extents::insert(int axis, std::int64_t value) {
  check_axis_count(static_cast<std::size_t>(size_) + 1);
  std::copy_backward(begin() + axis, end(), end() + 1);
  ++size_;
  (*this)[axis] = value;
}

void Extents::erase(int axis) noexcept {
  std::copy(begin() + axis + 1, end(), begin() + axis);
  --size_;
}

bool Extents::contains(std::int64_t value) const noexcept {
  return std::find(begin(), end(), value) != end();
}

std::string to_string(const Extents& extents) {
  std::string text = "(";
  for (int axis = 0; axis < extents.size(); ++axis) {
    text += fmt::format("{}{}", axis == 0 ? "" : ", ", extents[axis]);
  }
  return text + (extents.size() == 1 ? ",)" : ")");
}

std::int64_t element_count(const Extents& shape) {
  std::int64_t count = 1;
  bool overflows = false;
  for (const std::int64_t length : shape) {
    if (length < 0) {
      throw InvalidInput("arrays.extents.negative_length",
                         fmt::format("shape {} has a negative length", to_string(shape)));
    }
    overflows = __builtin_mul_overflow(count, length, &count) || overflows;
  }
  if (overflows && !shape.contains(0)) {
    throw InvalidInput("arrays.extents.too_large",
                       fmt::format("shape {} has more than 2^63 elements", to_string(shape)));
  }
  return shape.contains(0) ? 0 : count;
}

namespace detail {
namespace {

[[noreturn]] void throw_too_large(std::int64_t a, char op, std::int64_t b) {
  throw InvalidInput("arrays.extents.too_large",
                     fmt::format("a length or distance of {} {} {} elements is 2^63 or more, which "
                                 "no array has",
                                 a, op, b));
}

}  // namespace

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw_too_large(a, '+', b);
  }
  return result;
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw_too_large(a, '*', b);
  }
  return result;
}

}  // namespace detail

}  // namespace rtcg::arrays
