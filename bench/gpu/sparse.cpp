// Products of sparse matrices, and conjugate gradients.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <stdexcept>

#include "bench/gpu/compete.h"
#include "bench/gpu/cusparse.h"
#include "bench/gpu/sections.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/solve/preconditioners.h"
#include "rtcg/arrays/solve/smoothed_aggregation.h"
#include "rtcg/arrays/sparse/best_format.h"
#include "rtcg/arrays/sparse/chunked_product.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/arrays/sparse/tiled_product.h"
#include "rtcg/cgen/support/error.h"

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

/// The neighbours of each point of a box: along the axes, or all 26.
HostRows box_rows(std::int64_t nx, std::int64_t ny, std::int64_t nz, bool takes_corners) {
  HostRows result;
  const std::int64_t lengths[] = {nx, ny, nz};
  for (std::int64_t row = 0; row < nx * ny * nz; ++row) {
    const std::int64_t place[] = {row % nx, row / nx % ny, row / nx / ny};
    for (int neighbour = 0; neighbour < 27; ++neighbour) {
      const std::int64_t step[] = {neighbour % 3 - 1, neighbour / 3 % 3 - 1, neighbour / 9 - 1};
      std::int64_t distance = 0;
      bool is_inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        distance += std::abs(step[axis]);
        const std::int64_t at = place[axis] + step[axis];
        is_inside = is_inside && at >= 0 && at < lengths[axis];
      }
      if (is_inside && (takes_corners || distance <= 1)) {
        result.add(row + (step[2] * ny + step[1]) * nx + step[0], distance == 0 ? 6 : -1);
      }
    }
    result.end_row();
  }
  return result;
}

/// Rows of the lengths that `length` gives, at random columns.
template <class Length>
HostRows random_rows(std::int64_t rows, const Length& length) {
  std::mt19937_64 random(2);
  HostRows result;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t count = length(row);
    for (std::int64_t entry = 0; entry < count; ++entry) {
      result.add(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)), 0.5);
    }
    result.end_row();
  }
  return result;
}

HostRows rows_between_empty_ones() {
  return random_rows(1 << 21, [](std::int64_t row) { return row % 4 == 0 ? 20 : 0; });
}
HostRows one_dense_row() {
  return random_rows(1 << 20, [](std::int64_t row) { return row == 12345 ? 1 << 20 : 8; });
}
HostRows rows_of_two_lengths() {
  return random_rows(1 << 20, [](std::int64_t row) { return row / 4096 % 2 == 0 ? 2 : 40; });
}

/// Diagonals at these distances from the main one, in ascending order.
HostRows diagonal_rows(std::int64_t rows, const std::vector<std::int64_t>& distances) {
  HostRows result;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const std::int64_t distance : distances) {
      if (row + distance >= 0 && row + distance < rows) {
        result.add(row + distance, 1.0 / static_cast<double>(1 + std::abs(distance) % 7));
      }
    }
    result.end_row();
  }
  return result;
}

/// Dense blocks: that on the diagonal and `others` of each row of blocks.
HostRows block_rows(std::int64_t blocks, std::int64_t size, std::int64_t others) {
  HostRows result;
  for (std::int64_t row = 0; row < blocks * size; ++row) {
    for (std::int64_t other = 0; other <= others; ++other) {
      const std::int64_t block = (row / size + other * (blocks / 7 + 1)) % blocks;
      for (std::int64_t i = 0; i < size; ++i) {
        result.add(block * size + i, 0.5);
      }
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

/// Formats that store at most a half more numbers than the matrix has entries.
template <Element T>
std::vector<arrays::FormatChoice> formats_to_measure(const SparseMatrix<T>& a) {
  using arrays::SparseFormat;
  constexpr double most = 1.5;
  std::vector<arrays::FormatChoice> result = {
      {SparseFormat::ell, {.most_stored = most}},
      {SparseFormat::sell, {.most_stored = most}},
      {SparseFormat::sell, {.window = 512, .most_stored = most}},
      {SparseFormat::dia, {.most_stored = most}},
      {SparseFormat::packets, {}}};
  for (const int block : {6, 3, 2}) {
    if (a.rows() % block == 0) {
      result.push_back({SparseFormat::bsr, {.block = block, .most_stored = most}});
      break;
    }
  }
  return result;
}

/// Ways to multiply one matrix with one vector, in addition to compressed rows and cuSPARSE.
template <Element T>
class Products {
 public:
  Products(const Stream& stream, const HostRows& rows)
      : stream_(stream),
        a(sent<T>(rows)),
        x(cast<T>(sin(arrays::arange<double>(a.columns())))),
        y(arrays::zeros<T>({a.rows()})),
        expected_(arrays::zeros<T>({a.rows()})),
        peer_(stream, operands_of(a), x.address(), expected_.address()) {
    add("rtcg arrays", [this] { multiply_into(a, x, y); });
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products() = default;

  /// @param run  writes y
  void add(std::string name, std::function<void()> run) {
    rivals_.push_back({std::move(name), false, std::move(run)});
  }

  /// @throws std::runtime_error  if one of them gives other numbers than cuSPARSE
  void compete(const std::string& op, Report& report) {
    const char* const dtype = sizeof(T) == 8 ? "f64" : "f32";
    peer_.run();
    for (const Rival& each : rivals_) {
      y.assign(std::numeric_limits<T>::quiet_NaN());
      each.run();
      check(op + " by " + each.impl);
    }
    rivals_.push_back({"cuSPARSE", true, [this] { peer_.run(); }});
    compete_in_turns(stream_, rivals_, {.op = op, .dtype = dtype, .n = a.rows()}, product_bytes(a),
                     2 * static_cast<double>(a.entries()), report);
    std::fprintf(stderr, "measured %s in %s\n", op.c_str(), dtype);
  }

 private:
  void check(const std::string& what) const {
    const double off = Array<double>(max(abs(cast<double>(y) - cast<double>(expected_)))).item();
    const double size = Array<double>(max(abs(cast<double>(expected_)))).item();
    if (!(off <= (sizeof(T) == 8 ? 1e-12 : 1e-4) * size)) {
      throw std::runtime_error(what + " is off by " + std::to_string(off));
    }
  }

  const Stream& stream_;

 public:
  const SparseMatrix<T> a;
  const Array<T> x;
  const Array<T> y;

 private:
  const Array<T> expected_;
  const CusparseProduct peer_;
  std::vector<Rival> rivals_{};
};

template <Element T>
void measure_product(const Stream& stream, const std::string& op, const HostRows& rows,
                     bool in_all_formats, Report& report) {
  Products<T> products(stream, rows);
  const auto add = [&](const std::string& name, const arrays::FormatChoice& choice) {
    products.add("rtcg arrays, " + name,
                 [&products, other = products.a.in_format(choice.format, choice.options)] {
                   multiply_into(other, products.x, products.y);
                 });
  };
  for (const arrays::FormatChoice& choice :
       in_all_formats ? formats_to_measure(products.a)
                      : std::vector<arrays::FormatChoice>{{arrays::SparseFormat::packets, {}}}) {
    try {
      add(std::string(name(choice.format)) + (choice.options.window > 1 ? ", sorted" : ""), choice);
    } catch (const InvalidInput&) {  // it would store too much, or columns are too far apart
    }
  }
  if (in_all_formats) {
    add("best format", best_format(products.a, {.measures = true}));
  }
  products.compete(op, report);
}

/// Chunks of so many rows that their products fit into 32 KiB.
std::vector<arrays::detail::ChunkShape> chunks_to_measure(const HostRows& rows,
                                                          std::int64_t element_bytes) {
  constexpr std::int64_t most_bytes = 32768;
  std::vector<arrays::detail::ChunkShape> result;
  for (std::int64_t count = 16; count <= 1024; count *= 2) {
    std::int64_t most = 1;
    for (std::int64_t row = 0; row < rows.rows(); row += count) {
      const auto begin = static_cast<std::size_t>(row);
      const auto end = static_cast<std::size_t>(std::min(row + count, rows.rows()));
      most = std::max<std::int64_t>(most, rows.first[end] - rows.first[begin]);
    }
    const std::int64_t mean = (most + count - 1) / count;
    if (mean * count * element_bytes <= most_bytes) {
      result.push_back({count, mean});
    }
  }
  return result;
}

std::vector<arrays::detail::TileShape> tiles_to_measure() {
  std::vector<arrays::detail::TileShape> result;
  for (const bool keeps_ends : {false, true}) {
    for (const int of_row : {1, 2, 4, 8, 16, 32}) {
      result.push_back({2048, 256, of_row, keeps_ends});
    }
    for (const int of_row : {1, 4, 16}) {
      result.push_back({1024, 128, of_row, keeps_ends});
      result.push_back({2048, 128, of_row, keeps_ends});
      result.push_back({4096, 256, of_row, keeps_ends});
    }
  }
  return result;
}

template <Element T>
void measure_shapes(const Stream& stream, const std::string& op, const HostRows& rows,
                    Report& report) {
  Products<T> products(stream, rows);
  for (const auto& shape : tiles_to_measure()) {
    products.add("tiles of " + std::to_string(shape.items) + ", " + std::to_string(shape.threads) +
                     " threads, " + std::to_string(shape.threads_of_row) + " a row" +
                     (shape.keeps_ends ? ", ends" : ""),
                 [&, shape] {
                   arrays::detail::multiply_by_tiles(stream, products.a, products.x, products.y,
                                                     shape);
                 });
  }
  for (const auto& shape : chunks_to_measure(rows, sizeof(T))) {
    products.add("chunks of " + std::to_string(shape.rows) + " rows", [&, shape] {
      arrays::detail::multiply_by_chunks(stream, products.a, products.x, products.y, shape);
    });
  }
  products.compete(op, report);
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

/// Whether RTCG_SPMV_MATRICES, names separated by commas, has a part of this name; all if it is not
/// set.
bool is_wanted(const std::string& op) {
  const char* const given = std::getenv("RTCG_SPMV_MATRICES");
  if (given == nullptr) {
    return true;
  }
  std::istringstream names(given);
  for (std::string name; std::getline(names, name, ',');) {
    if (op.find(name) != std::string::npos) {
      return true;
    }
  }
  return false;
}

void measure_products(Device device, bool in_all_formats, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  const auto measure = [&](const std::string& op, const auto& make) {
    if (!is_wanted(op)) {
      return;
    }
    const HostRows rows = make();
    measure_product<float>(stream, op, rows, in_all_formats, report);
    measure_product<double>(stream, op, rows, in_all_formats, report);
  };
  measure("A x, stencil of 200^3", [] { return poisson_rows(200); });
  measure("A x, power law", [] { return power_law_rows(1 << 20); });
  measure("A x, band of 41", [] { return banded_rows(1 << 20, 20); });
  measure("A x, band of 401", [] { return banded_rows(1 << 17, 200); });
  measure("A x, stencil of 3 points", [] { return box_rows(1 << 22, 1, 1, false); });
  measure("A x, stencil of 5 points", [] { return box_rows(2048, 2048, 1, false); });
  measure("A x, stencil of 9 points", [] { return box_rows(1500, 1500, 1, true); });
  measure("A x, stencil of 27 points", [] { return box_rows(120, 120, 120, true); });
  measure("A x, band of 9", [] { return banded_rows(1 << 21, 4); });
  measure("A x, distant diagonals", [] {
    return diagonal_rows(1 << 21, {-(1 << 19), -1000, 0, 1000, 1 << 19});
  });
  measure("A x, diagonal", [] { return diagonal_rows(1 << 23, {0}); });
  measure("A x, blocks of 2", [] { return block_rows(1 << 19, 2, 4); });
  measure("A x, blocks of 3", [] { return block_rows(1 << 18, 3, 6); });
  measure("A x, blocks of 6", [] { return block_rows(1 << 17, 6, 4); });
  measure("A x, 8 random a row",
          [] { return random_rows(1 << 20, [](std::int64_t) { return 8; }); });
  measure("A x, 64 random a row",
          [] { return random_rows(1 << 18, [](std::int64_t) { return 64; }); });
  measure("A x, 1 to 16 random a row", [] {
    return random_rows(1 << 20, [](std::int64_t row) { return 1 + row * 7919 % 16; });
  });
  measure("A x, empty rows", [] { return rows_between_empty_ones(); });
  measure("A x, one dense row", [] { return one_dense_row(); });
  measure("A x, two lengths", [] { return rows_of_two_lengths(); });
}

/// Solutions to a residual of 1e-4 in f32 and 1e-8 in f64.
template <Element T>
void measure_preconditioners(const Stream& stream, std::int64_t side, Report& report) {
  const SparseMatrix<T> a = sent<T>(poisson_rows(side));
  const Array<T> b = cast<T>(1 + sin(arrays::arange<double>(a.rows())));
  const arrays::LinearOperator linear(a);
  const char* const dtype = sizeof(T) == 8 ? "f64" : "f32";
  const std::string op = "solution of " + std::to_string(side) + "^3";
  std::vector<Rival> rivals;
  const auto add = [&](const std::string& name, const auto& make, int check_every = 20) {
    const auto begin = std::chrono::steady_clock::now();
    const arrays::Preconditioner inverse = make();
    stream.synchronize();
    const std::chrono::duration<double> made = std::chrono::steady_clock::now() - begin;
    const arrays::SolveOptions options{.tolerance = sizeof(T) == 8 ? 1e-8 : 1e-4,
                                       .preconditioner = inverse,
                                       .check_every = check_every};
    try {
      const arrays::Solution found = conjugate_gradients(linear, b, options);
      std::printf("%s, %s, %s: %lld iterations, residual %.2g; made in %.2f s\n", op.c_str(), dtype,
                  name.c_str(), static_cast<long long>(found.iterations), found.residual,
                  made.count());
    } catch (const arrays::NotConverged& error) {  // rounding is the limit
      std::printf("%s, %s, %s: %s\n", op.c_str(), dtype, name.c_str(), error.what());
      return;
    }
    rivals.push_back({name, false, [&linear, &b, options] {
                        static_cast<void>(conjugate_gradients(linear, b, options));
                      }});
  };
  add("no preconditioner", [] { return arrays::Preconditioner(); });
  add("jacobi", [&] { return arrays::jacobi(a); });
  add("chebyshev_polynomial", [&] { return arrays::chebyshev_polynomial(linear); });
  for (const int steps : {1, 2}) {
    add(
        "smoothed_aggregation, " + std::to_string(steps) + " steps",
        [&] {
          return arrays::smoothed_aggregation(
              a, {.smoothing_steps = steps, .report = [](const arrays::AggregationLevel& level) {
                    std::printf("  a level of %lld rows, %lld entries\n",
                                static_cast<long long>(level.rows),
                                static_cast<long long>(level.entries));
                  }});
        },
        2);
  }
  compete_in_turns(stream, rivals, {.op = op, .dtype = dtype, .n = a.rows()}, 0, 0, report);
}

}  // namespace

void measure_spmv(Device device, Report& report) {
  measure_products(device, false, report);
}

void measure_spmv_formats(Device device, Report& report) {
  measure_products(device, true, report);
}

void measure_spmv_shapes(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  const auto measure = [&](const std::string& op, const auto& make) {
    if (!is_wanted(op)) {
      return;
    }
    const HostRows rows = make();
    measure_shapes<float>(stream, op, rows, report);
    measure_shapes<double>(stream, op, rows, report);
  };
  measure("A x, one dense row", [] { return one_dense_row(); });
  measure("A x, power law", [] { return power_law_rows(1 << 20); });
  measure("A x, empty rows", [] { return rows_between_empty_ones(); });
  measure("A x, two lengths", [] { return rows_of_two_lengths(); });
}

void measure_cg(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t side : {50, 200}) {
    measure_gradients<float>(stream, side, report);
    measure_gradients<double>(stream, side, report);
  }
}

void measure_preconditioners(Device device, Report& report) {
  const Stream stream(device);
  const arrays::StreamScope scope(stream);
  for (const std::int64_t side : {100, 200}) {
    measure_preconditioners<float>(stream, side, report);
    measure_preconditioners<double>(stream, side, report);
  }
}

}  // namespace rtcg::bench
