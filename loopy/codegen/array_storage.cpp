#include "rtcg/loopy/codegen/array_storage.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

/// Of an array of a thread or a block: extents in the text are of type int.
constexpr std::int64_t most_elements = std::numeric_limits<std::int32_t>::max();

[[noreturn]] std::int64_t refuse_length(const Temporary& temporary) {
  throw InvalidInput(
      "loopy.generate.temporary_too_long",
      fmt::format("temporary '{}' has more than 2^31 - 1 elements, which no array of "
                  "a thread or a block may have: use shorter tiles or less padding",
                  temporary.name));
}

std::int64_t constant_length(const Kernel& kernel, const Temporary& temporary, const Expr& length) {
  if (const auto affine = to_affine(length)) {
    if (const auto value = kernel.assumptions.maximum(*affine)) {
      return *value;
    }
  }
  throw InvalidInput(
      "loopy.generate.array_length_not_constant",
      fmt::format("temporary '{}' has an axis of length {}, which is not a constant: "
                  "arrays of a thread or a block need constant lengths",
                  temporary.name, to_string(length)));
}

std::int64_t linear_length(const Kernel& kernel, const Temporary& temporary) {
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    const std::int64_t stride = as_integer(temporary.strides_elements[axis]).value_or(1);
    const std::int64_t steps = constant_length(kernel, temporary, temporary.shape[axis]) - 1;
    if (stride > most_elements || steps > most_elements ||
        (last += std::max<std::int64_t>(steps, 0) * stride) >= most_elements) {
      refuse_length(temporary);
    }
  }
  return last + 1;
}

}  // namespace

std::vector<std::int64_t> storage_extents(const Kernel& kernel, const Temporary& temporary) {
  std::vector<std::int64_t> extents;
  for (const Expr& length : temporary.shape) {
    // one element at least, as C has it: where a domain is empty, none is touched
    extents.push_back(std::max<std::int64_t>(constant_length(kernel, temporary, length), 1));
  }
  if (!temporary.strides_elements.empty()) {
    // strides of C order with longer rows are rows of that length; others make one long array
    for (std::size_t axis = extents.size(); axis-- > 1;) {
      const auto outer = as_integer(temporary.strides_elements[axis - 1]);
      const auto inner = as_integer(temporary.strides_elements[axis]);
      if (!outer || !inner || *inner <= 0 || *outer % *inner != 0 ||
          *outer / *inner < extents[axis]) {
        return {};
      }
      extents[axis] = *outer / *inner;
    }
    if (!extents.empty() && as_integer(temporary.strides_elements.back()) != 1) {
      return {};
    }
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    count = extent > most_elements / count ? refuse_length(temporary) : count * extent;
  }
  return extents;
}

std::vector<std::int64_t> declared_extents(const Kernel& kernel, const Temporary& temporary) {
  std::vector<std::int64_t> extents = storage_extents(kernel, temporary);
  if (extents.empty() && !temporary.shape.empty()) {
    extents = {linear_length(kernel, temporary)};
  }
  return extents;
}

}  // namespace rtcg::loopy
