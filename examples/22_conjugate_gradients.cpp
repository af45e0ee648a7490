// Lesson 22: a sparse matrix of a stencil, and the method of conjugate gradients with
// preconditioners. The residuals are drawn as lines of text.
#include <cmath>

#include "examples/lesson.h"
#include "rtcg/arrays.h"
#include "rtcg/arrays/solve/conjugate_gradients.h"
#include "rtcg/arrays/solve/preconditioners.h"
#include "rtcg/arrays/solve/smoothed_aggregation.h"

namespace rt = rtcg::runtime;
namespace ar = rtcg::arrays;

// -div(k grad u) on a square of side x side points, u = 0 on its edge. In the middle k is 100.
ar::SparseMatrix<double> diffusion(int side) {
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> column;
  std::vector<double> value;
  const auto add = [&](int i, int j, double number) {
    row.push_back(i);
    column.push_back(j);
    value.push_back(number);
  };
  const auto k = [&](int x, int y) {
    return std::abs(2 * x - side) < side / 2 && std::abs(2 * y - side) < side / 2 ? 100.0 : 1.0;
  };
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      const int steps[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
      for (const auto& [dx, dy] : steps) {
        const double between = 2 / (1 / k(x, y) + 1 / k(x + dx, y + dy));
        add(y * side + x, y * side + x, between);  // entries of one place are added up
        if (x + dx >= 0 && x + dx < side && y + dy >= 0 && y + dy < side) {
          add(y * side + x, (y + dy) * side + x + dx, -between);
        }
      }
    }
  }
  return ar::SparseMatrix<double>::from_triplets(side * side, side * side, row, column, value);
}

// A line for every tenth iteration; a star for a third of a power of ten.
void draw(const std::vector<double>& history) {
  for (std::size_t i = 0; i < history.size() && i <= 60; i += 10) {
    const int length =
        std::max(0, static_cast<int>(std::lround(3 * (10 + std::log10(history[i])))));
    std::printf("%4zu %s\n", i, std::string(static_cast<std::size_t>(length), '*').c_str());
  }
}

int main(int count, char** arguments) {
  return lesson::run(count, arguments, [](rt::Device device) {
    const ar::StreamScope scope(device.default_stream());
    const int side = 24;
    const ar::SparseMatrix<double> a = diffusion(side);
    std::printf("%lld equations, %lld entries\n", static_cast<long long>(a.rows()),
                static_cast<long long>(a.entries()));
    const ar::Array<double> b = ar::ones<double>({a.rows()});

    bool is_fine = true;
    std::int64_t iterations = 0;  // without a preconditioner
    const auto solve = [&](const char* name, const ar::Preconditioner& inverse) {
      ar::Solution found =
          conjugate_gradients(a, b, {.tolerance = 1e-8, .preconditioner = inverse});
      // the true residual, by another way
      const ar::AnyArray rest = b - a * found.x;
      const bool is_small = norm(rest).item<double>() <= 2e-8 * norm(b).item<double>();
      is_fine = is_fine && is_small;
      iterations = iterations == 0 ? found.iterations : iterations;
      std::printf("%s: %s after 1/%lld of the iterations\n", name,
                  is_small ? "solved" : "not solved",
                  static_cast<long long>(iterations / found.iterations));
      return found;
    };
    static_cast<void>(solve("no preconditioner", {}));
    const ar::Solution found = solve("diagonal", jacobi(a));
    static_cast<void>(solve("blocks of a line each", block_jacobi(a, side)));
    static_cast<void>(solve("multigrid", smoothed_aggregation(a, {.coarsest_rows = 50})));

    std::printf("residuals with the diagonal:\n");
    draw(found.history);
    try {
      static_cast<void>(conjugate_gradients(a, b, {.tolerance = 1e-8, .max_iterations = 20}));
    } catch (const ar::NotConverged& error) {
      std::printf("%s after %zu iterations\n", error.code().c_str(), error.history().size() - 1);
    }
    return is_fine;
  });
}
