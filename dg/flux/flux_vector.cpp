#include "rtcg/dg/flux/flux_vector.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::dg {
namespace {

std::string default_axes(std::size_t count) {
  return count == 2 ? "xy" : count == 3 ? "xyz" : "";
}

template <class Map>
FluxVector map_components(const FluxVector& vector, Map&& map) {
  std::vector<FluxExpr> components;
  components.reserve(vector.count());
  for (const FluxExpr& component : vector.components()) {
    components.push_back(map(component));
  }
  return {std::move(components), vector.axes()};
}

std::string described(const FluxVector& vector) {
  return fmt::format("'{}' ({} component{}{})", to_string(vector), vector.count(),
                     vector.count() == 1 ? "" : "s",
                     vector.axes().empty() ? "" : " on " + vector.axes());
}

[[noreturn]] void refuse_shapes(std::string_view operation, const FluxVector& left,
                                const FluxVector& right) {
  throw InvalidInput("dg.flux_vector.shape_mismatch",
                     fmt::format("cannot {} {} and {}: they need as many components on the same "
                                 "axes",
                                 operation, described(left), described(right)));
}

template <class Combine>
FluxVector zip(std::string_view operation, const FluxVector& left, const FluxVector& right,
               Combine&& combine) {
  const bool same_axes = left.axes().empty() || right.axes().empty() || left.axes() == right.axes();
  if (left.count() != right.count() || !same_axes) {
    refuse_shapes(operation, left, right);
  }
  std::vector<FluxExpr> components;
  components.reserve(left.count());
  for (std::size_t i = 0; i < left.count(); ++i) {
    components.push_back(combine(left.components()[i], right.components()[i]));
  }
  return {std::move(components), left.axes().empty() ? right.axes() : left.axes()};
}

// The component on an axis of space, if the vector has one there.
std::optional<FluxExpr> on_axis(const FluxVector& vector, char axis) {
  const std::size_t place = vector.axes().find(axis);
  if (place == std::string::npos) {
    return std::nullopt;
  }
  return vector.components()[place];
}

void check_dimension(int dimension) {
  if (dimension < 1 || dimension > 3) {
    throw InvalidInput(
        "dg.normal.bad_dimension",
        fmt::format("there are no vectors in {} dimensions: write 1, 2 or 3", dimension));
  }
}

}  // namespace

FluxVector::FluxVector(std::vector<FluxExpr> components)
    : components_(std::move(components)), axes_(default_axes(components_.size())) {}

FluxVector::FluxVector(std::vector<FluxExpr> components, std::string axes)
    : components_(std::move(components)), axes_(std::move(axes)) {
  const bool ascending =
      std::adjacent_find(axes_.begin(), axes_.end(), std::greater_equal<>()) == axes_.end();
  const bool known = axes_.find_first_not_of("xyz") == std::string::npos;
  if (!axes_.empty() && (axes_.size() != components_.size() || !ascending || !known)) {
    throw InvalidInput("dg.flux_vector.bad_axes",
                       fmt::format("'{}' cannot be the axes of '{}': name one of x, y, z for each "
                                   "of its {} components, in this order",
                                   axes_, to_string(*this), components_.size()));
  }
}

const FluxExpr& FluxVector::operator[](int index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= count()) {
    throw InvalidInput("dg.flux_vector.bad_index",
                       fmt::format("there is no component {} of '{}': it has {}, counted from 0",
                                   index, to_string(*this), count()));
  }
  return components_[static_cast<std::size_t>(index)];
}

FluxVector FluxVector::slice(int first, int count) const {
  if (first < 0 || count < 0 || static_cast<std::size_t>(first) + count > components_.size()) {
    throw InvalidInput("dg.flux_vector.bad_slice",
                       fmt::format("there are no components {} to {} of '{}': it has {}", first,
                                   first + count - 1, to_string(*this), components_.size()));
  }
  return FluxVector(
      std::vector<FluxExpr>(components_.begin() + first, components_.begin() + first + count));
}

FluxVector FluxVector::on_axes(std::string axes) const {
  return {components_, std::move(axes)};
}

FluxVector fields(int count, const std::string& name, int first) {
  std::vector<FluxExpr> components;
  for (int i = 0; i < count; ++i) {
    components.push_back(field(first + i, fmt::format("{}[{}]", name, i)));
  }
  return FluxVector(std::move(components));
}

FluxVector normal(int dimension) {
  check_dimension(dimension);
  std::vector<FluxExpr> components;
  for (int axis = 0; axis < dimension; ++axis) {
    components.push_back(detail::normal_component(axis));
  }
  return {components, std::string("xyz").substr(0, components.size())};
}

FluxVector coordinates(int dimension) {
  check_dimension(dimension);
  std::vector<FluxExpr> components;
  for (int axis = 0; axis < dimension; ++axis) {
    components.push_back(coordinate(axis));
  }
  return {components, std::string("xyz").substr(0, components.size())};
}

FluxVector boundary_values(const std::string& name, int count) {
  std::vector<FluxExpr> components;
  for (int i = 0; i < count; ++i) {
    components.push_back(boundary_value(name, i));
  }
  return FluxVector(std::move(components));
}

FluxVector interior(const FluxVector& value) {
  return map_components(value, [](const FluxExpr& each) { return interior(each); });
}
FluxVector exterior(const FluxVector& value) {
  return map_components(value, [](const FluxExpr& each) { return exterior(each); });
}
FluxVector jump(const FluxVector& value) {
  return map_components(value, [](const FluxExpr& each) { return jump(each); });
}
FluxVector average(const FluxVector& value) {
  return map_components(value, [](const FluxExpr& each) { return average(each); });
}
FluxVector flip(const FluxVector& flux) {
  detail::Flipped flipped;
  return map_components(flux, [&](const FluxExpr& each) { return detail::flip(each, flipped); });
}

FluxVector operator+(const FluxVector& left, const FluxVector& right) {
  return zip("add", left, right, [](const FluxExpr& l, const FluxExpr& r) { return l + r; });
}
FluxVector operator-(const FluxVector& left, const FluxVector& right) {
  return zip("subtract", left, right, [](const FluxExpr& l, const FluxExpr& r) { return l - r; });
}
FluxVector operator*(const FluxExpr& factor, const FluxVector& vector) {
  return map_components(vector, [&](const FluxExpr& each) { return factor * each; });
}
FluxVector operator*(const FluxVector& vector, const FluxExpr& factor) {
  return factor * vector;
}
FluxVector operator/(const FluxVector& vector, const FluxExpr& divisor) {
  return map_components(vector, [&](const FluxExpr& each) { return each / divisor; });
}
FluxVector operator-(const FluxVector& vector) {
  return map_components(vector, [](const FluxExpr& each) { return -each; });
}
FluxVector if_positive(const FluxExpr& condition, const FluxVector& then_value,
                       const FluxVector& else_value) {
  return zip("choose between", then_value, else_value,
             [&](const FluxExpr& l, const FluxExpr& r) { return if_positive(condition, l, r); });
}

FluxVector concatenate(const std::vector<FluxVector>& parts) {
  std::vector<FluxExpr> components;
  for (const FluxVector& part : parts) {
    components.insert(components.end(), part.components().begin(), part.components().end());
  }
  return {std::move(components), ""};
}

FluxExpr dot(const FluxVector& left, const FluxVector& right) {
  std::optional<FluxExpr> sum;
  const auto add = [&](const FluxExpr& term) { sum = sum ? *sum + term : term; };
  if (!left.axes().empty() && !right.axes().empty()) {
    for (const char axis : std::string_view("xyz")) {
      const std::optional<FluxExpr> l = on_axis(left, axis);
      const std::optional<FluxExpr> r = on_axis(right, axis);
      if (l && r) {
        add(*l * *r);
      }
    }
    return sum.value_or(0.0);
  }
  if (left.count() != right.count()) {
    refuse_shapes("multiply", left, right);
  }
  for (std::size_t i = 0; i < left.count(); ++i) {
    add(left.components()[i] * right.components()[i]);
  }
  return sum.value_or(0.0);
}

FluxExpr norm(const FluxVector& vector) {
  return sqrt(dot(vector, vector));
}

FluxVector cross(const FluxVector& left, const FluxVector& right) {
  for (const FluxVector* operand : {&left, &right}) {
    if (operand->axes().empty()) {
      throw InvalidInput("dg.cross.no_axes",
                         fmt::format("cross({}, {}) needs vectors on axes of space, but {} is on "
                                     "none: use on_axes, or declare the field on axes",
                                     to_string(left), to_string(right), described(*operand)));
    }
  }
  constexpr std::array<std::array<char, 3>, 3> cycles = {
      {{'x', 'y', 'z'}, {'y', 'z', 'x'}, {'z', 'x', 'y'}}};
  std::vector<FluxExpr> components;
  std::string axes;
  for (const auto& [axis, next, last] : cycles) {
    const auto product = [](const std::optional<FluxExpr>& l, const std::optional<FluxExpr>& r) {
      return l && r ? std::optional<FluxExpr>(*l * *r) : std::nullopt;
    };
    const std::optional<FluxExpr> plus = product(on_axis(left, next), on_axis(right, last));
    const std::optional<FluxExpr> minus = product(on_axis(left, last), on_axis(right, next));
    if (plus || minus) {
      components.push_back(plus && minus ? *plus - *minus : plus ? *plus : -*minus);
      axes += axis;
    }
  }
  return {std::move(components), std::move(axes)};
}

std::string to_string(const FluxVector& vector) {
  std::string text = "[";
  for (std::size_t i = 0; i < vector.count(); ++i) {
    text += (i == 0 ? "" : ", ") + to_string(vector.components()[i]);
  }
  return text + "]";
}

}  // namespace rtcg::dg
