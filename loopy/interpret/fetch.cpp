#include "rtcg/loopy/interpret/fetch.h"

#include <algorithm>
#include <cmath>

#include "rtcg/loopy/analyze/image.h"

namespace rtcg::loopy::interpretation {
namespace {

/// Steps of a weight between 0 and 1.
constexpr long double weight_steps = 256;
/// Bits of a normalised coordinate that devices keep, one less for what they round.
constexpr long double normalised_steps = 1 << 20;
/// Of a position, where it is divided by a length: some roundings of f32.
constexpr long double normalising_error = 1.0L / (1 << 21);

Value zero_of(const Variable& variable) {
  return variable.is_complex                ? complex_value(0, 0)
         : cgen::is_floating(variable.kind) ? real_value(0)
                                            : integer_value(0);
}

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

std::int64_t remainder_of(std::int64_t value, std::int64_t length) {
  return ((value % length) + length) % length;
}

/// The index of the element that an image has there; nothing outside of a border.
std::optional<std::int64_t> index_within(std::int64_t index, std::int64_t length,
                                         ImageReads::Outside outside) {
  if (index >= 0 && index < length) {
    return index;
  }
  const std::int64_t count = std::max<std::int64_t>(length, 1);
  switch (outside) {
    case ImageReads::Outside::clamp:
      break;
    case ImageReads::Outside::border:
      return std::nullopt;
    case ImageReads::Outside::wrap:
      return remainder_of(index, count);
    case ImageReads::Outside::mirror: {
      const std::int64_t turned = remainder_of(index, 2 * count);
      return turned < count ? turned : 2 * count - 1 - turned;
    }
  }
  return std::clamp<std::int64_t>(index, 0, count - 1);
}

}  // namespace

/// A position along an axis with its error, in elements of level 0.
struct FetchedImage::Coordinate {
  long double value = 0;
  long double error = 0;

  [[nodiscard]] std::int64_t least(long double shift) const {
    return static_cast<std::int64_t>(std::floor(value - error + shift));
  }
  [[nodiscard]] std::int64_t most(long double shift) const {
    return static_cast<std::int64_t>(std::floor(value + error + shift));
  }
  /// The same position of a level. Centres of elements are at .5.
  [[nodiscard]] Coordinate scaled(std::int64_t from, std::int64_t to) const {
    if (from == to || from == 0) {
      return *this;
    }
    const long double factor = static_cast<long double>(to) / static_cast<long double>(from);
    return {(value + 0.5L) * factor - 0.5L,
            error * factor + static_cast<long double>(to) / normalised_steps};
  }
};

namespace {

Variable without_numbers(const Variable& variable) {
  Variable result;
  result.name = variable.name;
  result.kind = variable.kind;
  result.is_complex = variable.is_complex;
  result.lanes = variable.lanes;
  result.is_argument = variable.is_argument;
  result.shape = variable.shape;
  result.strides = variable.strides;
  result.offset = variable.offset;
  result.count = variable.count;
  result.initial = variable.initial;
  return result;
}

}  // namespace

FetchedImage::FetchedImage(const Machine& machine, const Argument& image)
    : variable_(machine.find_variable(image.name)),
      reads_(image.image_reads),
      level_0_(without_numbers(machine.variables[static_cast<std::size_t>(variable_)])) {
  if (reads_.levels == 1 || level_0_.initial == nullptr) {
    return;
  }
  data_ = make_mipmap(*level_0_.initial, level_0_.shape, reads_.levels);
  for (const MipmapLevel& each : data_) {
    Variable level = level_0_;
    level.shape = each.shape;
    level.initial = &each.data;
    levels_.push_back(std::move(level));
  }
  for (Variable& each : levels_) {
    std::int64_t stride = 1;
    for (std::size_t axis = each.shape.size(); axis-- > 0;) {
      each.strides[axis] = stride;
      stride *= each.shape[axis];
    }
  }
}

std::int64_t FetchedImage::length(std::size_t axis, int level) const {
  return levels_.empty() ? level_0_.shape[axis]
                         : levels_[static_cast<std::size_t>(level)].shape[axis];
}

Value FetchedImage::unknown() const {
  return cgen::is_floating(level_0_.kind) ? unknown_real() : unknown_integer();
}

Value FetchedImage::load(Machine& machine, const std::vector<std::int64_t>& indices,
                         int level) const {
  const Variable& from = levels_.empty() ? level_0_ : levels_[static_cast<std::size_t>(level)];
  std::int64_t element = from.offset;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const bool is_layer = axis == 0 && reads_.has_layers;
    const std::optional<std::int64_t> within = index_within(
        indices[axis], from.shape[axis], is_layer ? ImageReads::Outside::clamp : reads_.outside);
    if (!within) {
      return zero_of(from);
    }
    element += *within * from.strides[axis];
  }
  return levels_.empty() ? machine.load(variable_, element) : machine.initial_value(from, element);
}

Value FetchedImage::element(Machine& machine, const std::vector<std::int64_t>& indices) const {
  if (!has_normalised_coordinates(reads_)) {
    return load(machine, indices, 0);
  }
  std::vector<Value> position;
  for (const std::int64_t each : indices) {
    position.push_back(integer_value(each));
  }
  return between(machine, position);
}

std::optional<std::vector<FetchedImage::Coordinate>> FetchedImage::coordinates_of(
    const std::vector<Value>& position) const {
  std::vector<Coordinate> coordinates;
  for (std::size_t axis = 0; axis < level_0_.shape.size(); ++axis) {
    const std::int64_t elements = level_0_.shape[axis];
    const auto count = static_cast<long double>(elements);
    if (axis == 0 && reads_.has_layers) {
      const Value layer = converted(position[axis], cgen::ScalarKind::i32);
      if (!layer.is_certain()) {
        return std::nullopt;
      }
      coordinates.push_back(
          {static_cast<long double>(std::clamp<Wide>(layer.integer, 0, elements)), 0});
      continue;
    }
    // as text has it: a number of f32, to which the centre of a texel is added
    const Value given = converted(position[axis], cgen::ScalarKind::f32);
    const Value at = add(given, real_value(0.5L), cgen::ScalarKind::f32);
    if (is_open(at) || !std::isfinite(at.real)) {
      return std::nullopt;
    }
    Coordinate coordinate{at.real - 0.5L, at.error};
    if (has_normalised_coordinates(reads_)) {
      coordinate.error += count / normalised_steps + normalising_error * std::fabs(at.real);
    }
    if (coordinate.error > 1) {
      return std::nullopt;
    }
    if (reads_.outside == ImageReads::Outside::wrap ||
        reads_.outside == ImageReads::Outside::mirror) {
      const long double period = reads_.outside == ImageReads::Outside::mirror ? 2 * count : count;
      coordinate.value -= period > 0 ? period * std::floor(coordinate.value / period) : 0;
    }
    coordinates.push_back(coordinate);
  }
  return coordinates;
}

Value FetchedImage::between(Machine& machine, const std::vector<Value>& position) const {
  const auto coordinates = coordinates_of(position);
  if (!coordinates) {
    return unknown();
  }
  if (reads_.levels == 1 || position.size() == coordinates->size()) {
    return at_level(machine, *coordinates, 0);
  }
  const Value level = converted(position.back(), cgen::ScalarKind::f32);
  if (is_open(level) || std::isnan(level.real) || level.error > 1) {
    return unknown();
  }
  const int last = reads_.levels - 1;
  const long double at = std::clamp<long double>(level.real, 0, last);
  const long double error = level.error + 1 / weight_steps;
  const bool is_mixed = reads_.between_levels == ImageReads::Between::linear;
  const auto level_at = [&](long double where) {
    return static_cast<int>(std::clamp<long double>(std::floor(where), 0, last));
  };
  if (!is_mixed) {
    const int least = level_at(at - error + 0.5L);
    const int most = level_at(at + error + 0.5L);
    Value result = at_level(machine, *coordinates, least);
    for (int i = least + 1; i <= most; ++i) {
      result = either(result, at_level(machine, *coordinates, i));
    }
    return result;
  }
  const int least = level_at(at - error);
  const int most = level_at(at + error);
  const auto mixed_from = [&](int first) {
    const Value near = at_level(machine, *coordinates, first);
    if (first == last) {
      return near;
    }
    return mixed(near, at_level(machine, *coordinates, first + 1),
                 std::clamp<long double>(at - first, 0, 1));
  };
  Value result = mixed_from(least);
  for (int i = least + 1; i <= most; ++i) {
    result = either(result, mixed_from(i));
  }
  const Value near = in_reals(at_level(machine, *coordinates, level_at(at)));
  const Value far = in_reals(at_level(machine, *coordinates, level_at(at + 1)));
  result.error +=
      2 * error * magnitude(complex_value(far.real - near.real, far.imaginary - near.imaginary));
  return result;
}

Value FetchedImage::mixed(const Value& near, const Value& far, long double weight) const {
  Value sum = in_reals(near);
  const Value other = in_reals(far);
  const long double largest = std::max(magnitude(sum), magnitude(other));
  sum.real += weight * (other.real - sum.real);
  sum.imaginary += weight * (other.imaginary - sum.imaginary);
  sum.error = std::max(sum.error, other.error) + 4 * unit_of(level_0_.kind) * largest;
  return rounded(sum, level_0_.kind);
}

Value FetchedImage::at_level(Machine& machine, const std::vector<Coordinate>& of_level_0,
                             int level) const {
  std::vector<Coordinate> coordinates;
  for (std::size_t axis = 0; axis < of_level_0.size(); ++axis) {
    const std::int64_t elements = length(axis, level);
    Coordinate each = of_level_0[axis].scaled(length(axis, 0), elements);
    if (!(reads_.outside == ImageReads::Outside::wrap ||
          reads_.outside == ImageReads::Outside::mirror)) {
      each.value = std::clamp(each.value, -4.0L, static_cast<long double>(elements) + 4);
    }
    coordinates.push_back(each);
  }
  const bool is_linear = reads_.between == ImageReads::Between::linear;
  std::vector<std::int64_t> least;
  std::vector<std::int64_t> most;
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    const bool is_layer = axis == 0 && reads_.has_layers;
    const Coordinate& each = coordinates[axis];
    least.push_back(each.least(is_layer || is_linear ? 0 : 0.5L));
    most.push_back(is_layer ? least.back() : each.most(is_linear ? 0 : 0.5L) + (is_linear ? 1 : 0));
  }
  if (!is_linear) {
    std::optional<Value> result;
    for_each_in_box(least, most, [&](const std::vector<std::int64_t>& indices) {
      const Value value = load(machine, indices, level);
      result = result ? either(*result, value) : value;
    });
    return *result;
  }
  Value sum = in_reals(zero_of(level_0_));
  // the numbers that a device may weight: ends of their real and imaginary parts
  long double ends[4] = {HUGE_VALL, -HUGE_VALL, HUGE_VALL, -HUGE_VALL};
  long double largest = 0;
  for_each_in_box(least, most, [&](const std::vector<std::int64_t>& indices) {
    const Value value = in_reals(load(machine, indices, level));
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
    return unknown();  // what weights of 0 give is not known
  }
  // a device adds products of weights, which may be larger than their sum
  sum.error += 8 * unit_of(level_0_.kind) * largest;
  return rounded(sum, level_0_.kind);
}

}  // namespace rtcg::loopy::interpretation
