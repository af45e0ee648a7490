// Products of sparse matrices, and conjugate gradients.
#include <cmath>
#include <random>
#include <stdexcept>

#include "bench/gpu/compete.h"
#include "bench/gpu/cusparse.h"
#include "bench/gpu/sections.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"

namespace rtcg::bench {
namespace {

using arrays::AnyArray;
using arrays::Array;
using arrays::Element;
using arrays::SparseMatrix;
using runtime::Device;
using runtime::Stream;

struct HostRows {
  std::vector<std::int32_t> first = {0};
  std::vector<std::int32_t> column{};
  std::vector<double> value{};
  void add(std::int64_t place, double number) {
    column.push_back(static_cast<std::int32_t>(place));
    value.push_back(number);
  }
  void end_row() { first.push_back(static_cast<std::int32_t>(column.size())); }
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(first.size()) - 1; }
};

/// The seven-point Laplacian.
HostRows poisson_rows(std::int64_t side) {
  HostRows result;
  for (std::int64_t z = 0; z < side; ++z) {
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) {
        const std::int64_t row = (z * side + y) * side + x;
        if (z > 0) result.add(row - side * side, -1);
        if (y > 0) result.add(row - side, -1);
        if (x > 0) result.add(row - 1, -1);
        result.add(row, 6);
        if (x + 1 < side) result.add(row + 1, -1);
        if (y + 1 < side) result.add(row + side, -1);
        if (z + 1 < side) result.add(row + side * side, -1);
        result.end_row();
      }
    }
  }
  return result;
}

/// Rows whose lengths follow a power law, at random columns.
HostRows power_law_rows(std::int64_t rows) {
  std::mt19937_64 random(1);
  HostRows result;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double part = std::uniform_real_distribution<double>(1e-4, 1)(random);
    const auto length = std::min<std::int64_t>(rows, static_cast<std::int64_t>(3 / part));
    for (std::int64_t entry = 0; entry < length; ++entry) {
      result.add(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)), 0.5);
    }
    result.end_row();
  }
  return result;
}

/// `width` neighbours on each side.
HostRows banded_rows(std::int64_t rows, std::int64_t width) {
  HostRows result;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t place = std::max<std::int64_t>(0, row - width);
         place <= std::min(rows - 1, row + width); ++place) {
      result.add(place, 1.0 / static_cast<double>(1 + std::abs(place - row)));
    }
    result.end_row();
  }
  return result;
}

template <Element T>
SparseMatrix<T> sent(const HostRows& rows) {
  return SparseMatrix<T>(rows.rows(), Array<std::int32_t>(rows.first),
                         Array<std::int32_t>(rows.column),
                         Array<T>(std::vector<T>(rows.value.begin(), rows.value.end())));
}

template <Element T>
SparseOperands operands_of(const SparseMatrix<T>& a) {
  return {sizeof(T) == 8,
          a.rows(),
          a.columns(),
          a.entries(),
          a.any().first().address(),
          a.any().column().address(),
          a.any().value().address()};
}

/// Of one product: the matrix once, both vectors once.
template <Element T>
double product_bytes(const SparseMatrix<T>& a) {
  return static_cast<double>(a.entries()) * (sizeof(T) + 4) +
         static_cast<double>(a.rows()) * (2 * sizeof(T) + 4);
}

template <Element T>
void measure_product(const Stream& stream, const std::string& op, const HostRows& rows,
                     Report& report) {
  const SparseMatrix<T> a = sent<T>(rows);
  const Array<T> x = cast<T>(sin(arrays::arange<double>(a.columns())));
  const Array<T> y = arrays::zeros<T>({a.rows()});
  const Array<T> expected = arrays::zeros<T>({a.rows()});
  const CusparseProduct peer(stream, operands_of(a), x.address(), expected.address());
  const std::vector<Rival> rivals = {{"rtcg arrays", false, [&] { multiply_into(a, x, y); }},
                                     {"cuSPARSE", true, [&] { peer.run(); }}};
  compete_in_turns(stream, rivals,
                   {.op = op, .dtype = sizeof(T) == 8 ? "f64" : "f32", .n = a.rows()},
                   product_bytes(a), 2 * static_cast<double>(a.entries()), report);
  const double off = Array<double>(max(abs(cast<double>(y) - cast<double>(expected)))).item();
  const double size = Array<double>(max(abs(cast<double>(expected)))).item();
  if (!(off <= (sizeof(T) == 8 ? 1e-12 : 1e-4) * size)) {
    throw std::runtime_error(op + " is off by " + std::to_string(off));
  }
}

template <Element T>
void measure_gradients(const Stream& stream, std::int64_t side, Report& report) {
  constexpr int iterations = 200;
  const SparseMatrix<T> a = sent<T>(poisson_rows(side));
  const Array<T> b = cast<T>(1 + sin(arrays::arange<double>(a.rows())));
  const arrays::LinearOperator linear(a);
  const arrays::SolveOptions options{
      .tolerance = 1e-30, .max_iterations = iterations, .checks_true_residual = false};
  std::vector<double> history;
  TextbookGradients peer(stream, operands_of(a), b.address());
  double square = 0;
  const std::vector<Rival> rivals = {
      {"rtcg arrays", false,
       [&] {
         try {
           static_cast<void>(conjugate_gradients(linear, b, options));
         } catch (const arrays::NotConverged& error) {
           history = error.history();
         }
       }},
      {"cuSPARSE and cuBLAS", true, [&] { square = peer.run(iterations); }}};
  const double vectors = 9 * static_cast<double>(a.rows()) * sizeof(T);
  compete_in_turns(stream, rivals,
                   {.op = "200 conjugate gradients of " + std::to_string(side) + "^3",
                    .dtype = sizeof(T) == 8 ? "f64" : "f32",
                    .n = a.rows()},
                   iterations * (product_bytes(a) + vectors), 0, report);
  const double size = Array<double>(norm(cast<double>(b))).item();
  const double ours = history.back() * size;
  if (!(std::abs(ours - std::sqrt(square)) <= (sizeof(T) == 8 ? 1e-6 : 0.1) * std::sqrt(square))) {
    throw std::runtime_error("conjugate gradients of " + std::to_string(side) + "^3: residual " +
                             std::to_string(ours) + ", not " + std::to_string(std::sqrt(square)));
  }
}

}  // namespace

void measure_spmv(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  const auto measure = [&](const std::string& op, const HostRows& rows) {
    measure_product<float>(stream, op, rows, report);
    measure_product<double>(stream, op, rows, report);
  };
  measure("A x, stencil of 200^3", poisson_rows(200));
  measure("A x, power law", power_law_rows(1 << 20));
  measure("A x, band of 41", banded_rows(1 << 20, 20));
  measure("A x, band of 401", banded_rows(1 << 17, 200));
}

void measure_cg(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t side : {50, 200}) {
    measure_gradients<float>(stream, side, report);
    measure_gradients<double>(stream, side, report);
  }
}

}  // namespace rtcg::bench
