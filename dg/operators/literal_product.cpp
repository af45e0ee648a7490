#include "rtcg/dg/operators/literal_product.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;

bool is_zero(const Matrix& matrix, std::size_t column) {
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (matrix(i, column) != 0) {
      return false;
    }
  }
  return true;
}

std::size_t entries(const Matrix& matrix) {
  return matrix.values.size() -
         static_cast<std::size_t>(std::count(matrix.values.begin(), matrix.values.end(), 0.0));
}

}  // namespace

void LiteralProduct::begin(BlockBuilder& body, const Expr& thread) {
  column_ = thread;
  rows_ = trivial_orbits(static_cast<std::size_t>(shape_.nodes));
  if (fused_.product == Product::reflections) {
    element_ = make_reference_element(shape_.dimension, shape_.order);
    rows_ = node_orbits(element_);
  }
  // not an array, which compilers take three times as long to keep in registers
  for (int i = 0; i < shape_.nodes; ++i) {
    column_sums_.push_back(
        body.add(cgen::declare(real_, fmt::format("sum_{}", i), cgen::literal(0, real_))));
  }
}

LiteralProduct::Waves LiteralProduct::waves_of(const Matrix& matrix) const {
  std::vector<std::vector<ReflectionOrbit>> choices = {trivial_orbits(matrix.columns)};
  if (fused_.product == Product::reflections) {
    if (matrix.columns == element_.node_count()) {
      choices.push_back(node_orbits(element_));
    }
    // a part of the lift has complete faces; the choice of faces leaves the fewest entries
    const std::size_t faces = matrix.columns / element_.nodes_of_face();
    if (faces * element_.nodes_of_face() == matrix.columns) {
      for (std::size_t first = 0; first + faces <= element_.face_count(); first += faces) {
        choices.push_back(place_orbits(element_, first, faces));
      }
    }
  }
  Waves best;
  for (std::vector<ReflectionOrbit>& columns : choices) {
    Matrix between = between_waves(matrix, rows_, columns);
    if (best.columns.empty() || entries(between) < entries(best.matrix)) {
      best = {std::move(columns), std::move(between)};
    }
  }
  return best;
}

std::vector<Expr> LiteralProduct::waves(BlockBuilder& body, std::vector<Expr> numbers,
                                        const std::string& name,
                                        const std::vector<bool>& is_wanted) const {
  // of neighbours first, then of those two apart
  for (std::size_t apart = 1; apart < numbers.size(); apart *= 2) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if ((i & apart) == 0) {
        const Expr here = numbers[i];
        const Expr there = numbers[i + apart];
        const auto part = [&](std::size_t place, const Expr& value) {
          const bool is_read = 2 * apart < numbers.size() || is_wanted[place];
          return is_read
                     ? body.add_constant(real_, fmt::format("{}_{}_{}", name, apart, place), value)
                     : value;
        };
        numbers[i] = part(i, here + there);
        numbers[i + apart] = part(i + apart, here - there);
      }
    }
  }
  return numbers;
}

void LiteralProduct::add(BlockBuilder& body, ParameterList& parameters, const Matrix& matrix,
                         const Expr& first, const BlockMatrix& work) {
  (void)parameters;
  (void)first;
  const Waves product = waves_of(matrix);
  std::size_t column = 0;
  for (const ReflectionOrbit& orbit : product.columns) {
    std::vector<bool> is_wanted;
    for (std::size_t wave = 0; wave < orbit.size(); ++wave) {
      is_wanted.push_back(!is_zero(product.matrix, column + wave));
    }
    if (std::find(is_wanted.begin(), is_wanted.end(), true) != is_wanted.end()) {
      BlockBuilder inner;
      std::vector<Expr> factors;
      for (const int place : orbit) {
        const std::string number = orbit.size() == 1 ? "" : fmt::format("_{}", factors.size());
        factors.push_back(inner.add_constant(real_, "factor" + number, work.at(place, column_)));
      }
      factors = waves(inner, std::move(factors), "wave", is_wanted);
      for (std::size_t wave = 0; wave < orbit.size(); ++wave) {
        add_column(inner, product.matrix, column + wave, factors[wave]);
      }
      body << inner.block();
    }
    column += orbit.size();
  }
}

std::vector<Matrix> LiteralProduct::directed(const std::vector<Matrix>& derivatives) const {
  const Matrix along = reflection_directions(shape_.dimension);
  std::vector<Matrix> result;
  for (std::size_t direction = 0; direction < derivatives.size(); ++direction) {
    Matrix& sum = result.emplace_back(derivatives[0]);
    for (std::size_t i = 0; i < sum.values.size(); ++i) {
      sum.values[i] = 0;
      for (std::size_t axis = 0; axis < derivatives.size(); ++axis) {
        sum.values[i] += along(direction, axis) * derivatives[axis].values[i];
      }
    }
  }
  return result;
}

ColumnFlux LiteralProduct::directed(BlockBuilder& body, ColumnFlux flux) const {
  const Matrix along = reflection_components(shape_.dimension);
  const auto terms = static_cast<int>(flux.places.size());
  const Expr weights = body.add_array(real_, "directed_weights", shape_.dimension * terms);
  for (int direction = 0; direction < shape_.dimension; ++direction) {
    for (int term = 0; term < terms; ++term) {
      std::optional<Expr> sum;
      for (int axis = 0; axis < shape_.dimension; ++axis) {
        const double share =
            along(static_cast<std::size_t>(direction), static_cast<std::size_t>(axis));
        const Expr weight = flux.weights[axis * terms + term];
        const Expr part = share == 1 ? weight : cgen::literal(share, real_) * weight;
        if (share != 0) {
          sum = sum ? *sum + part : part;
        }
      }
      body << cgen::assign(weights[direction * terms + term], sum.value());
    }
  }
  flux.weights = weights;
  return flux;
}

void LiteralProduct::add_volume(BlockBuilder& body, ParameterList& parameters,
                                const std::vector<Matrix>& derivatives,
                                const MakeColumnFlux& make_flux, const BlockMatrix& values) {
  (void)parameters;
  ColumnFlux flux = make_flux(body, column_, "");
  std::vector<Matrix> matrices = derivatives;
  if (fused_.product == Product::reflections) {
    flux = directed(body, std::move(flux));
    matrices = directed(derivatives);
    for (Matrix& matrix : matrices) {
      matrix = between_waves(matrix, rows_, rows_);
    }
  }
  std::size_t column = 0;
  for (const ReflectionOrbit& orbit : rows_) {
    BlockBuilder inner;
    // [term][wave]
    std::vector<std::vector<Expr>> terms(flux.places.size());
    for (std::size_t i = 0; i < orbit.size(); ++i) {
      const std::string suffix = orbit.size() == 1 ? "" : fmt::format("_of_{}", i);
      const std::vector<Expr> here = terms_at(inner, flux, values, orbit[i], suffix);
      for (std::size_t term = 0; term < terms.size(); ++term) {
        terms[term].push_back(here[term]);
      }
    }
    std::vector<bool> is_wanted;
    for (std::size_t wave = 0; wave < orbit.size(); ++wave) {
      is_wanted.push_back(std::any_of(matrices.begin(), matrices.end(), [&](const Matrix& each) {
        return !is_zero(each, column + wave);
      }));
    }
    for (std::size_t term = 0; term < terms.size(); ++term) {
      terms[term] = waves(inner, std::move(terms[term]), fmt::format("wave_{}", term), is_wanted);
    }
    for (std::size_t wave = 0; wave < orbit.size(); ++wave, ++column) {
      std::vector<Expr> here;
      for (const std::vector<Expr>& each : terms) {
        here.push_back(each[wave]);
      }
      const std::string suffix = orbit.size() == 1 ? "" : fmt::format("_of_{}", wave);
      for (std::size_t axis = 0; axis < matrices.size(); ++axis) {
        if (!is_zero(matrices[axis], column)) {
          add_column(inner, matrices[axis], column,
                     flux_along(inner, flux, here, static_cast<int>(axis), suffix));
        }
      }
    }
    body << inner.block();
  }
}

BlockMatrix LiteralProduct::store(BlockBuilder& body, const BlockMatrix& work) {
  std::size_t first = 0;
  for (const ReflectionOrbit& orbit : rows_) {
    BlockBuilder inner;
    std::vector<Expr> numbers;
    for (std::size_t i = 0; i < orbit.size(); ++i) {
      numbers.push_back(column_sums_[first++]);
    }
    numbers = waves(inner, std::move(numbers), "value", std::vector<bool>(orbit.size(), true));
    for (std::size_t i = 0; i < orbit.size(); ++i) {
      inner << cgen::assign(work.at(orbit[i], column_), numbers[i]);
    }
    body << (orbit.size() == 1 ? inner.group() : inner.block());
  }
  return work;
}

void LiteralProduct::add_column(BlockBuilder& body, const Matrix& matrix, std::size_t column,
                                const Expr& factor) const {
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (matrix(i, column) != 0) {
      body << cgen::add_assign(column_sums_[i], cgen::literal(matrix(i, column), real_) * factor);
    }
  }
}

}  // namespace rtcg::dg::detail
