#include "rtcg/loopy/interpret/fetch.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace rtcg::loopy::interpretation {
namespace {

/// Steps of a weight between 0 and 1.
constexpr long double weight_steps = 256;

Value zero_of(const Variable& variable) {
  return variable.is_complex                ? complex_value(0, 0)
         : cgen::is_floating(variable.kind) ? real_value(0)
                                            : integer_value(0);
}

Value unknown_of(const Variable& variable) {
  return cgen::is_floating(variable.kind) ? unknown_real() : unknown_integer();
}

/// A coordinate with its error, moved close to the image if it is far outside.
struct Coordinate {
  long double value = 0;
  long double error = 0;

  [[nodiscard]] std::int64_t least(long double shift) const {
    return static_cast<std::int64_t>(std::floor(value - error + shift));
  }
  [[nodiscard]] std::int64_t most(long double shift) const {
    return static_cast<std::int64_t>(std::floor(value + error + shift));
  }
};

/// Calls `use` with the indices of every element of a box, both ends included.
template <class Use>
void for_each_in_box(const std::vector<std::int64_t>& least, const std::vector<std::int64_t>& most,
                     const Use& use) {
  std::vector<std::int64_t> at = least;
  for (std::size_t axis = 0; axis < at.size();) {
    use(at);
    for (axis = 0; axis < at.size() && ++at[axis] > most[axis]; ++axis) {
      at[axis] = least[axis];
    }
  }
}

}  // namespace

Value fetch_element(Machine& machine, int image, const ImageReads& reads,
                    const std::vector<std::int64_t>& indices) {
  const Variable& variable = machine.variables[static_cast<std::size_t>(image)];
  std::int64_t element = variable.offset;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::int64_t last = variable.shape[axis] - 1;
    const std::int64_t within =
        std::clamp<std::int64_t>(indices[axis], 0, std::max<std::int64_t>(last, 0));
    if (within != indices[axis] && reads.outside == ImageReads::Outside::border) {
      return zero_of(variable);
    }
    element += within * variable.strides[axis];
  }
  return machine.load(image, element);
}

Value fetch_between(Machine& machine, int image, const ImageReads& reads,
                    const std::vector<Value>& position) {
  const Variable& variable = machine.variables[static_cast<std::size_t>(image)];
  std::vector<Coordinate> coordinates;
  for (std::size_t axis = 0; axis < position.size(); ++axis) {
    // as text has it: a number of f32, to which the centre of a texel is added
    const Value given = converted(position[axis], cgen::ScalarKind::f32);
    const Value at = add(given, real_value(0.5L), cgen::ScalarKind::f32);
    if (is_open(at) || !std::isfinite(at.real) || at.error > 1) {
      return unknown_of(variable);
    }
    const auto length = static_cast<long double>(variable.shape[axis]);
    coordinates.push_back({std::clamp(at.real - 0.5L, -4.0L, length + 4), at.error});
  }
  const bool is_linear = reads.between == ImageReads::Between::linear;
  std::vector<std::int64_t> least;
  std::vector<std::int64_t> most;
  for (const Coordinate& each : coordinates) {
    least.push_back(each.least(is_linear ? 0 : 0.5L));
    most.push_back(each.most(is_linear ? 0 : 0.5L) + (is_linear ? 1 : 0));
  }
  if (!is_linear) {
    std::optional<Value> result;
    for_each_in_box(least, most, [&](const std::vector<std::int64_t>& indices) {
      const Value value = fetch_element(machine, image, reads, indices);
      result = result ? either(*result, value) : value;
    });
    return *result;
  }
  Value sum = in_reals(zero_of(variable));
  // the numbers that a device may weight: ends of their real and imaginary parts
  long double ends[4] = {HUGE_VALL, -HUGE_VALL, HUGE_VALL, -HUGE_VALL};
  long double largest = 0;
  for_each_in_box(least, most, [&](const std::vector<std::int64_t>& indices) {
    const Value value = in_reals(fetch_element(machine, image, reads, indices));
    ends[0] = std::min(ends[0], value.real);
    ends[1] = std::max(ends[1], value.real);
    ends[2] = std::min(ends[2], value.imaginary);
    ends[3] = std::max(ends[3], value.imaginary);
    largest = std::max(largest, magnitude(value));
    long double weight = 1;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      const long double distance =
          std::fabs(coordinates[axis].value - static_cast<long double>(indices[axis]));
      weight *= std::max(1 - distance, 0.0L);
    }
    if (weight > 0) {
      sum.real += weight * value.real;
      sum.imaginary += weight * value.imaginary;
    }
    sum.error = std::max(sum.error, value.error);
  });
  const auto axes = static_cast<long double>(coordinates.size());
  long double off = (axes + std::exp2(axes)) / weight_steps;
  for (const Coordinate& each : coordinates) {
    off += each.error;
  }
  sum.error += off * (ends[1] - ends[0] + ends[3] - ends[2]);
  if (!std::isfinite(sum.real) || !std::isfinite(sum.imaginary) || std::isnan(sum.error)) {
    return unknown_of(variable);  // what weights of 0 give is not known
  }
  // a device adds products of weights, which may be larger than their sum
  sum.error += 8 * unit_of(variable.kind) * largest;
  return rounded(sum, variable.kind);
}

}  // namespace rtcg::loopy::interpretation
