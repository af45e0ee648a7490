#include "rtcg/arrays/dense/small_matrices.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/arrays/core/made_once.h"

namespace rtcg::arrays::detail {
namespace {

/// The same operations for real and complex numbers, as C.
std::string number_functions(DType dtype) {
  const bool is_single = real_of(dtype) == DType::f32;
  const std::string real = is_single ? "float" : "double";
  if (!is_complex(dtype)) {
    return fmt::format(R"({0} num_add({0} a, {0} b) {{ return a + b; }}
{0} num_sub({0} a, {0} b) {{ return a - b; }}
{0} num_mul({0} a, {0} b) {{ return a * b; }}
{0} num_div({0} a, {0} b) {{ return a / b; }}
{0} num_conj({0} a) {{ return a; }}
{0} num_abs2({0} a) {{ return a * a; }}
{0} num_size({0} a) {{ return a < 0 ? -a : a; }}
{0} num_re({0} a) {{ return a; }}
{0} num_im({0} a) {{ return 0 * a; }}
{0} num_make({0} re, {0} im) {{ return re + 0 * im; }}
{0} num_scale({0} factor, {0} a) {{ return factor * a; }}
)",
                       real);
  }
  return fmt::format(R"({1} num_add({1} a, {1} b) {{ return {1}_add(a, b); }}
{1} num_sub({1} a, {1} b) {{ return {1}_sub(a, b); }}
{1} num_mul({1} a, {1} b) {{ return {1}_mul(a, b); }}
{1} num_div({1} a, {1} b) {{ return {1}_div(a, b); }}
{1} num_conj({1} a) {{ return {1}_conj(a); }}
{0} num_abs2({1} a) {{ return a.re * a.re + a.im * a.im; }}
{0} num_size({1} a) {{ return (a.re < 0 ? -a.re : a.re) + (a.im < 0 ? -a.im : a.im); }}
{0} num_re({1} a) {{ return a.re; }}
{0} num_im({1} a) {{ return a.im; }}
{1} num_make({0} re, {0} im) {{ return {1}_make(re, im); }}
{1} num_scale({0} factor, {1} a) {{ return {1}_make(factor * a.re, factor * a.im); }}
)",
                     real, is_single ? "complex64" : "complex128");
}

std::string with_types(std::string_view text, DType dtype) {
  const bool is_single = real_of(dtype) == DType::f32;
  const std::string real = is_single ? "float" : "double";
  const std::string value = is_complex(dtype) ? (is_single ? "complex64" : "complex128") : real;
  std::string result(text);
  const auto replace = [&](std::string_view word, const std::string& type) {
    for (std::size_t at = result.find(word); at != std::string::npos;
         at = result.find(word, at + type.size())) {
      result.replace(at, word.size(), type);
    }
  };
  replace("VALUE", value);
  replace("REAL", real);
  replace("ROUNDING", is_single ? "5.9604645e-8f" : "1.1102230246251565e-16");
  return result;
}

// Element e of matrix i is at e * ae + i * ai, those of others likewise.

constexpr std::string_view lu_text = R"(
  int bad = 0;
  for (int k = 0; k < order; ++k) {
    int pivot = k;
    REAL best = num_size(a[(k * order + k) * ae + i * ai]);
    for (int row = k + 1; row < order; ++row) {
      const REAL size = num_size(a[(row * order + k) * ae + i * ai]);
      if (size > best) {
        best = size;
        pivot = row;
      }
    }
    pivots[k * pe + i * pi] = pivot;
    if (!(best > 0)) {
      if (bad == 0) bad = k + 1;
      continue;
    }
    for (int column = 0; pivot != k && column < order; ++column) {
      const VALUE kept = a[(k * order + column) * ae + i * ai];
      a[(k * order + column) * ae + i * ai] = a[(pivot * order + column) * ae + i * ai];
      a[(pivot * order + column) * ae + i * ai] = kept;
    }
    const VALUE diagonal = a[(k * order + k) * ae + i * ai];
    for (int row = k + 1; row < order; ++row) {
      const VALUE factor = num_div(a[(row * order + k) * ae + i * ai], diagonal);
      a[(row * order + k) * ae + i * ai] = factor;
      for (int column = k + 1; column < order; ++column) {
        a[(row * order + column) * ae + i * ai] =
            num_sub(a[(row * order + column) * ae + i * ai],
                    num_mul(factor, a[(k * order + column) * ae + i * ai]));
      }
    }
  }
  info[i] = bad;
)";

constexpr std::string_view solve_text = R"(
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < order; ++row) {
      const int pivot = pivots[row * pe + i * pi];
      const VALUE kept = b[(pivot * columns + column) * be + i * bi];
      b[(pivot * columns + column) * be + i * bi] = b[(row * columns + column) * be + i * bi];
      VALUE sum = kept;
      for (int k = 0; k < row; ++k) {
        sum = num_sub(sum, num_mul(a[(row * order + k) * ae + i * ai],
                                   b[(k * columns + column) * be + i * bi]));
      }
      b[(row * columns + column) * be + i * bi] = sum;
    }
    for (int row = order - 1; row >= 0; --row) {
      VALUE sum = b[(row * columns + column) * be + i * bi];
      for (int k = row + 1; k < order; ++k) {
        sum = num_sub(sum, num_mul(a[(row * order + k) * ae + i * ai],
                                   b[(k * columns + column) * be + i * bi]));
      }
      b[(row * columns + column) * be + i * bi] =
          num_div(sum, a[(row * order + row) * ae + i * ai]);
    }
  }
)";

constexpr std::string_view determinant_text = R"(
  VALUE product = num_make(1, 0);
  for (int k = 0; k < order; ++k) {
    product = num_mul(product, a[(k * order + k) * ae + i * ai]);
    if (pivots[k * pe + i * pi] != k) product = num_sub(num_make(0, 0), product);
  }
  result[i] = product;
)";

constexpr std::string_view cholesky_text = R"(
  int bad = 0;
  for (int k = 0; k < order; ++k) {
    REAL square = num_re(a[(k * order + k) * ae + i * ai]);
    for (int column = 0; column < k; ++column) {
      square -= num_abs2(a[(k * order + column) * ae + i * ai]);
    }
    if (!(square > 0)) {
      if (bad == 0) bad = k + 1;
    }
    const REAL root = sqrt(square);
    a[(k * order + k) * ae + i * ai] = num_make(root, 0);
    for (int row = k + 1; row < order; ++row) {
      VALUE sum = a[(row * order + k) * ae + i * ai];
      for (int column = 0; column < k; ++column) {
        sum = num_sub(sum, num_mul(a[(row * order + column) * ae + i * ai],
                                   num_conj(a[(k * order + column) * ae + i * ai])));
      }
      a[(row * order + k) * ae + i * ai] = num_div(sum, num_make(root, 0));
      a[(k * order + row) * ae + i * ai] = num_make(0, 0);
    }
  }
  info[i] = bad;
)";

// The signs are those of LAPACK's reflections, so that R is the same.
constexpr std::string_view qr_text = R"(
  const int least = rows < columns ? rows : columns;
  for (int k = 0; k < least; ++k) {
    REAL below = 0;
    for (int row = k + 1; row < rows; ++row) below += num_abs2(a[(row * columns + k) * ae + i * ai]);
    const VALUE alpha = a[(k * columns + k) * ae + i * ai];
    if (below == 0 && num_im(alpha) == 0) {
      work[k * we + i * wi] = num_make(0, 0);
      continue;
    }
    const REAL norm = sqrt(num_abs2(alpha) + below);
    const REAL beta = num_re(alpha) > 0 ? -norm : norm;
    const VALUE tau = num_make((beta - num_re(alpha)) / beta, -num_im(alpha) / beta);
    const VALUE scale = num_sub(alpha, num_make(beta, 0));
    for (int row = k + 1; row < rows; ++row) {
      a[(row * columns + k) * ae + i * ai] = num_div(a[(row * columns + k) * ae + i * ai], scale);
    }
    a[(k * columns + k) * ae + i * ai] = num_make(beta, 0);
    work[k * we + i * wi] = tau;
    for (int column = k + 1; column < columns; ++column) {
      VALUE sum = a[(k * columns + column) * ae + i * ai];
      for (int row = k + 1; row < rows; ++row) {
        sum = num_add(sum, num_mul(num_conj(a[(row * columns + k) * ae + i * ai]),
                                   a[(row * columns + column) * ae + i * ai]));
      }
      sum = num_mul(num_conj(tau), sum);
      a[(k * columns + column) * ae + i * ai] =
          num_sub(a[(k * columns + column) * ae + i * ai], sum);
      for (int row = k + 1; row < rows; ++row) {
        a[(row * columns + column) * ae + i * ai] =
            num_sub(a[(row * columns + column) * ae + i * ai],
                    num_mul(a[(row * columns + k) * ae + i * ai], sum));
      }
    }
  }
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < least; ++column) {
      q[(row * least + column) * qe + i * qi] = num_make(row == column ? 1 : 0, 0);
    }
  }
  for (int k = least - 1; k >= 0; --k) {
    for (int column = k; column < least; ++column) {
      VALUE sum = q[(k * least + column) * qe + i * qi];
      for (int row = k + 1; row < rows; ++row) {
        sum = num_add(sum, num_mul(num_conj(a[(row * columns + k) * ae + i * ai]),
                                   q[(row * least + column) * qe + i * qi]));
      }
      sum = num_mul(work[k * we + i * wi], sum);
      q[(k * least + column) * qe + i * qi] =
          num_sub(q[(k * least + column) * qe + i * qi], sum);
      for (int row = k + 1; row < rows; ++row) {
        q[(row * least + column) * qe + i * qi] =
            num_sub(q[(row * least + column) * qe + i * qi],
                    num_mul(a[(row * columns + k) * ae + i * ai], sum));
      }
    }
  }
  for (int row = 1; row < rows; ++row) {
    for (int column = 0; column < row && column < columns; ++column) {
      a[(row * columns + column) * ae + i * ai] = num_make(0, 0);
    }
  }
)";

// Jacobi's rotations: each makes the element (p, q) zero, until all are small.
constexpr std::string_view eigh_text = R"(
  REAL largest = 0;
  int bad = 0;
  for (int row = 0; row < order; ++row) {
    for (int column = 0; column <= row; ++column) {
      const REAL size = num_size(a[(row * order + column) * ae + i * ai]);
      if (!(size < INFINITY)) bad = 1;
      if (size > largest) largest = size;
    }
  }
  const REAL scale = largest > 0 ? 1 / largest : 1;
  REAL square = 0;
  for (int row = 0; row < order; ++row) {
    for (int column = 0; column <= row; ++column) {
      VALUE x = num_scale(scale, a[(row * order + column) * ae + i * ai]);
      if (column == row) x = num_make(num_re(x), 0);
      square += (column == row ? 1 : 2) * num_abs2(x);
      a[(row * order + column) * ae + i * ai] = x;
      a[(column * order + row) * ae + i * ai] = num_conj(x);
      v[(row * order + column) * ve + i * vi] = num_make(column == row ? 1 : 0, 0);
      v[(column * order + row) * ve + i * vi] = num_make(column == row ? 1 : 0, 0);
    }
  }
  const REAL least = ROUNDING * sqrt(square) / 8;
  int rotates = !bad;
  for (int sweep = 0; rotates && sweep < 40; ++sweep) {
    rotates = 0;
    for (int p = 0; p < order; ++p) {
      for (int q = p + 1; q < order; ++q) {
        const VALUE x = a[(p * order + q) * ae + i * ai];
        const REAL size = sqrt(num_abs2(x));
        if (!(size > least)) continue;
        rotates = 1;
        const VALUE phase = num_scale(1 / size, x);
        const REAL gap = (num_re(a[(q * order + q) * ae + i * ai]) -
                          num_re(a[(p * order + p) * ae + i * ai])) / (2 * size);
        const REAL tangent = (gap < 0 ? -1 : 1) / ((gap < 0 ? -gap : gap) + sqrt(gap * gap + 1));
        const REAL cosine = 1 / sqrt(tangent * tangent + 1);
        const REAL sine = tangent * cosine;
        for (int k = 0; k < order; ++k) {
          VALUE first = a[(k * order + p) * ae + i * ai];
          VALUE second = num_mul(num_conj(phase), a[(k * order + q) * ae + i * ai]);
          a[(k * order + p) * ae + i * ai] =
              num_sub(num_scale(cosine, first), num_scale(sine, second));
          a[(k * order + q) * ae + i * ai] =
              num_add(num_scale(sine, first), num_scale(cosine, second));
          first = v[(k * order + p) * ve + i * vi];
          second = num_mul(num_conj(phase), v[(k * order + q) * ve + i * vi]);
          v[(k * order + p) * ve + i * vi] =
              num_sub(num_scale(cosine, first), num_scale(sine, second));
          v[(k * order + q) * ve + i * vi] =
              num_add(num_scale(sine, first), num_scale(cosine, second));
        }
        for (int k = 0; k < order; ++k) {
          const VALUE first = a[(p * order + k) * ae + i * ai];
          const VALUE second = num_mul(phase, a[(q * order + k) * ae + i * ai]);
          a[(p * order + k) * ae + i * ai] =
              num_sub(num_scale(cosine, first), num_scale(sine, second));
          a[(q * order + k) * ae + i * ai] =
              num_add(num_scale(sine, first), num_scale(cosine, second));
        }
        a[(p * order + q) * ae + i * ai] = num_make(0, 0);
        a[(q * order + p) * ae + i * ai] = num_make(0, 0);
      }
    }
  }
  for (int k = 0; k < order; ++k) {
    int place = k;
    for (int other = k + 1; other < order; ++other) {
      if (num_re(a[(other * order + other) * ae + i * ai]) <
          num_re(a[(place * order + place) * ae + i * ai])) {
        place = other;
      }
    }
    w[k * we + i * wi] = num_re(a[(place * order + place) * ae + i * ai]) / scale;
    if (place == k) continue;
    a[(place * order + place) * ae + i * ai] = a[(k * order + k) * ae + i * ai];
    for (int row = 0; row < order; ++row) {
      const VALUE kept = v[(row * order + k) * ve + i * vi];
      v[(row * order + k) * ve + i * vi] = v[(row * order + place) * ve + i * vi];
      v[(row * order + place) * ve + i * vi] = kept;
    }
  }
  info[i] = bad || rotates ? 1 : 0;
)";

// Rotations of two columns that make them orthogonal, after Hestenes, until all are.
constexpr std::string_view svd_text = R"(
  REAL largest = 0;
  int bad = 0;
  for (int k = 0; k < rows * columns; ++k) {
    const REAL size = num_size(a[k * ae + i * ai]);
    if (!(size < INFINITY)) bad = 1;
    if (size > largest) largest = size;
  }
  const REAL scale = largest > 0 ? 1 / largest : 1;
  for (int k = 0; k < rows * columns; ++k) {
    a[k * ae + i * ai] = num_scale(scale, a[k * ae + i * ai]);
  }
  for (int row = 0; row < columns; ++row) {
    for (int column = 0; column < columns; ++column) {
      v[(row * columns + column) * ve + i * vi] = num_make(column == row ? 1 : 0, 0);
    }
  }
  int rotates = !bad;
  for (int sweep = 0; rotates && sweep < 40; ++sweep) {
    rotates = 0;
    for (int p = 0; p < columns; ++p) {
      for (int q = p + 1; q < columns; ++q) {
        REAL first_square = 0;
        REAL second_square = 0;
        VALUE x = num_make(0, 0);
        for (int row = 0; row < rows; ++row) {
          const VALUE first = a[(row * columns + p) * ae + i * ai];
          const VALUE second = a[(row * columns + q) * ae + i * ai];
          first_square += num_abs2(first);
          second_square += num_abs2(second);
          x = num_add(x, num_mul(num_conj(first), second));
        }
        const REAL size = sqrt(num_abs2(x));
        if (!(size > rows * ROUNDING * sqrt(first_square) * sqrt(second_square))) continue;
        rotates = 1;
        const VALUE phase = num_scale(1 / size, x);
        const REAL gap = (second_square - first_square) / (2 * size);
        const REAL tangent = (gap < 0 ? -1 : 1) / ((gap < 0 ? -gap : gap) + sqrt(gap * gap + 1));
        const REAL cosine = 1 / sqrt(tangent * tangent + 1);
        const REAL sine = tangent * cosine;
        for (int row = 0; row < rows; ++row) {
          const VALUE first = a[(row * columns + p) * ae + i * ai];
          const VALUE second = num_mul(num_conj(phase), a[(row * columns + q) * ae + i * ai]);
          a[(row * columns + p) * ae + i * ai] =
              num_sub(num_scale(cosine, first), num_scale(sine, second));
          a[(row * columns + q) * ae + i * ai] =
              num_add(num_scale(sine, first), num_scale(cosine, second));
        }
        for (int row = 0; row < columns; ++row) {
          const VALUE first = v[(row * columns + p) * ve + i * vi];
          const VALUE second = num_mul(num_conj(phase), v[(row * columns + q) * ve + i * vi]);
          v[(row * columns + p) * ve + i * vi] =
              num_sub(num_scale(cosine, first), num_scale(sine, second));
          v[(row * columns + q) * ve + i * vi] =
              num_add(num_scale(sine, first), num_scale(cosine, second));
        }
      }
    }
  }
  for (int k = 0; k < columns; ++k) {
    int place = k;
    REAL best = -1;
    for (int column = k; column < columns; ++column) {
      REAL square = 0;
      for (int row = 0; row < rows; ++row) square += num_abs2(a[(row * columns + column) * ae + i * ai]);
      if (square > best) {
        best = square;
        place = column;
      }
    }
    for (int row = 0; place != k && row < rows; ++row) {
      const VALUE kept = a[(row * columns + k) * ae + i * ai];
      a[(row * columns + k) * ae + i * ai] = a[(row * columns + place) * ae + i * ai];
      a[(row * columns + place) * ae + i * ai] = kept;
    }
    for (int row = 0; place != k && row < columns; ++row) {
      const VALUE kept = v[(row * columns + k) * ve + i * vi];
      v[(row * columns + k) * ve + i * vi] = v[(row * columns + place) * ve + i * vi];
      v[(row * columns + place) * ve + i * vi] = kept;
    }
    const REAL norm = sqrt(best);
    w[k * we + i * wi] = norm / scale;
    if (norm > 0) {
      for (int row = 0; row < rows; ++row) {
        a[(row * columns + k) * ae + i * ai] =
            num_scale(1 / norm, a[(row * columns + k) * ae + i * ai]);
      }
      continue;
    }
    // any column that is orthogonal to those before: what is left of the first unit vector that
    // has enough left
    REAL left = 0;
    for (int unit = 0; unit < rows && !(2 * rows * left > 1); ++unit) {
      for (int row = 0; row < rows; ++row) {
        a[(row * columns + k) * ae + i * ai] = num_make(row == unit ? 1 : 0, 0);
      }
      for (int pass = 0; pass < 2; ++pass) {
        for (int column = 0; column < k; ++column) {
          VALUE part = num_make(0, 0);
          for (int row = 0; row < rows; ++row) {
            part = num_add(part, num_mul(num_conj(a[(row * columns + column) * ae + i * ai]),
                                         a[(row * columns + k) * ae + i * ai]));
          }
          for (int row = 0; row < rows; ++row) {
            a[(row * columns + k) * ae + i * ai] =
                num_sub(a[(row * columns + k) * ae + i * ai],
                        num_mul(part, a[(row * columns + column) * ae + i * ai]));
          }
        }
      }
      left = 0;
      for (int row = 0; row < rows; ++row) left += num_abs2(a[(row * columns + k) * ae + i * ai]);
    }
    for (int row = 0; row < rows; ++row) {
      a[(row * columns + k) * ae + i * ai] =
          num_scale(1 / sqrt(left), a[(row * columns + k) * ae + i * ai]);
    }
  }
  info[i] = bad || rotates ? 1 : 0;
)";

/// The steps of the matrices follow the pointers, those of `a` as ae and ai, then the numbers.
struct SmallKernel {
  const char* name;
  const char* pointers;
  const char* matrices;  ///< by their letters
  const char* numbers;
  std::string_view text;
};

constexpr SmallKernel lu_kernel = {"factor_lu", "VALUE *a, int *pivots, int *info", "ap",
                                   "int order", lu_text};
constexpr SmallKernel lu_solution_kernel = {"solve_lu",
                                            "const VALUE *a, const int *pivots, VALUE *b", "apb",
                                            "int order, int columns", solve_text};
constexpr SmallKernel determinant_kernel = {"multiply_pivots",
                                            "const VALUE *a, const int *pivots, VALUE *result",
                                            "ap", "int order", determinant_text};
constexpr SmallKernel cholesky_kernel = {"factor_cholesky", "VALUE *a, int *info", "a", "int order",
                                         cholesky_text};
constexpr SmallKernel qr_kernel = {"factor_qr", "VALUE *a, VALUE *q, VALUE *work", "aqw",
                                   "int rows, int columns", qr_text};
constexpr SmallKernel eigh_kernel = {"find_eigenvalues", "VALUE *a, VALUE *v, REAL *w, int *info",
                                     "avw", "int order", eigh_text};
constexpr SmallKernel svd_kernel = {"find_singular_values",
                                    "VALUE *a, VALUE *v, REAL *w, int *info", "avw",
                                    "int rows, int columns", svd_text};

/// For elements of that type, made once.
const ElementwiseKernel& kernel_of(const SmallKernel& kernel, DType dtype) {
  static auto& made = *new MadeOnce<std::pair<std::string, DType>, ElementwiseKernel>;
  return made.of({kernel.name, dtype}, [&] {
    std::string arguments = kernel.pointers;
    for (const char letter : std::string_view(kernel.matrices)) {
      arguments += fmt::format(", long {0}e, long {0}i", letter);
    }
    arguments += fmt::format(", {}", kernel.numbers);
    return ElementwiseKernel(with_types(arguments, dtype), with_types(kernel.text, dtype),
                             {.preamble = number_functions(dtype), .name = kernel.name});
  });
}

/// @param arrays  what the kernel has pointers to besides the matrices
void run(const SmallKernel& kernel, std::initializer_list<const SmallMatrices*> matrices,
         std::initializer_list<AnyArray> arrays, std::initializer_list<std::int64_t> numbers) {
  std::vector<Expression> values;
  for (const SmallMatrices* each : matrices) {
    values.emplace_back(each->values());
  }
  values.insert(values.end(), arrays.begin(), arrays.end());
  for (const SmallMatrices* each : matrices) {
    values.emplace_back(each->element_step());
    values.emplace_back(each->matrix_step());
  }
  values.insert(values.end(), numbers.begin(), numbers.end());
  const SmallMatrices& first = **matrices.begin();
  kernel_of(kernel, first.values().dtype())
      .run(values, {Slice{0, first.count()}, first.values().stream()});
}

}  // namespace

SmallMatrices::SmallMatrices(DType dtype, std::int64_t count, std::int64_t rows,
                             std::int64_t columns, runtime::StreamRef stream)
    : has_neighbours_(stream.device().info().id.kind != runtime::BackendKind::host),
      count_(count),
      rows_(rows),
      columns_(columns),
      values_(dtype,
              has_neighbours_ ? Extents{rows, columns, count} : Extents{count, rows, columns},
              stream) {}

SmallMatrices::SmallMatrices(const AnyArray& matrices, runtime::StreamRef stream)
    : SmallMatrices(matrices.dtype(), matrices.shape()[0], matrices.shape()[1], matrices.shape()[2],
                    stream) {
  this->matrices().assign(matrices);
}

std::int64_t SmallMatrices::element_step() const {
  return has_neighbours_ ? count_ : 1;
}

std::int64_t SmallMatrices::matrix_step() const {
  return has_neighbours_ ? 1 : rows_ * columns_;
}

AnyArray SmallMatrices::matrices() const {
  return has_neighbours_ ? values_.transposed({2, 0, 1}) : values_;
}

void factor_lu(const SmallMatrices& a, const SmallMatrices& pivots, const AnyArray& info) {
  run(lu_kernel, {&a, &pivots}, {info}, {a.rows()});
}

void solve_lu(const SmallMatrices& lu, const SmallMatrices& pivots, const SmallMatrices& b) {
  run(lu_solution_kernel, {&lu, &pivots, &b}, {}, {lu.rows(), b.columns()});
}

void multiply_pivots(const SmallMatrices& lu, const SmallMatrices& pivots, const AnyArray& result) {
  run(determinant_kernel, {&lu, &pivots}, {result}, {lu.rows()});
}

void factor_cholesky(const SmallMatrices& a, const AnyArray& info) {
  run(cholesky_kernel, {&a}, {info}, {a.rows()});
}

void factor_qr(const SmallMatrices& a, const SmallMatrices& q, const SmallMatrices& work) {
  run(qr_kernel, {&a, &q, &work}, {}, {a.rows(), a.columns()});
}

void find_eigenvalues(const SmallMatrices& a, const SmallMatrices& vectors,
                      const SmallMatrices& values, const AnyArray& info) {
  run(eigh_kernel, {&a, &vectors, &values}, {info}, {a.rows()});
}

void find_singular_values(const SmallMatrices& a, const SmallMatrices& v,
                          const SmallMatrices& values, const AnyArray& info) {
  run(svd_kernel, {&a, &v, &values}, {info}, {a.rows(), a.columns()});
}

std::vector<ElementwiseKernel> small_matrix_kernels(DType dtype) {
  std::vector<ElementwiseKernel> result;
  for (const SmallKernel& each : {lu_kernel, lu_solution_kernel, determinant_kernel,
                                  cholesky_kernel, qr_kernel, eigh_kernel, svd_kernel}) {
    result.push_back(kernel_of(each, dtype));
  }
  return result;
}

}  // namespace rtcg::arrays::detail
