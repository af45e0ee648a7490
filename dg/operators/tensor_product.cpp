#include "rtcg/dg/operators/tensor_product.h"

#include <cmath>

#include <fmt/format.h>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/cgen/support/integer.h"

namespace rtcg::dg::detail {
namespace {

using cgen::BlockBuilder;
using cgen::Expr;
using cgen::Type;

// Lane l has rows l / 4 and l / 4 + 8 of a tile of weights, at depth l % 4; of the factors column
// l / 4 at depth l % 4; of the sums rows l / 4 and l / 4 + 8 of columns 2 (l % 4) and the next.
constexpr const char* double_function =
    "static __device__ inline void multiply_tiles(double *sums, double2 weights, double factor)\n"
    "{\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "  asm(\"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 \"\n"
    "      \"{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\"\n"
    "      : \"+d\"(sums[0]), \"+d\"(sums[1]), \"+d\"(sums[2]), \"+d\"(sums[3])\n"
    "      : \"d\"(weights.x), \"d\"(weights.y), \"d\"(factor));\n"
    "#else\n"
    "  const int lane = threadIdx.x % 32;\n"
    "  for (int k = 0; k < 4; ++k) {\n"
    "    const double upper = __shfl_sync(0xffffffffu, weights.x, lane / 4 * 4 + k);\n"
    "    const double lower = __shfl_sync(0xffffffffu, weights.y, lane / 4 * 4 + k);\n"
    "    const double left = __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + k);\n"
    "    const double right = __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + 4 + k);\n"
    "    sums[0] += upper * left;\n"
    "    sums[1] += upper * right;\n"
    "    sums[2] += lower * left;\n"
    "    sums[3] += lower * right;\n"
    "  }\n"
    "#endif\n"
    "}";

// The weights come as their two parts of tf32, the factors are cut here: the first part is the
// nearest number of 11 bits, and tensor cores take no more bits of the second.
constexpr const char* single_functions =
    "#if __CUDA_ARCH__ >= 900\n"
    "static __device__ inline float nearest_tf32(float x)\n"
    "{\n"
    "  return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u);\n"
    "}\n"
    "static __device__ inline void multiply_parts(float *sums, float4 weights, float first,\n"
    "                                             float second)\n"
    "{\n"
    "  asm(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 \"\n"
    "      \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "      : \"+f\"(sums[0]), \"+f\"(sums[1]), \"+f\"(sums[2]), \"+f\"(sums[3])\n"
    "      : \"r\"(__float_as_uint(weights.x)), \"r\"(__float_as_uint(weights.y)),\n"
    "        \"r\"(__float_as_uint(weights.z)), \"r\"(__float_as_uint(weights.w)),\n"
    "        \"r\"(__float_as_uint(first)), \"r\"(__float_as_uint(second)));\n"
    "}\n"
    "#endif\n"
    "static __device__ inline void multiply_tiles(float *sums, float4 high, float4 low,\n"
    "                                             float first, float second)\n"
    "{\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "  const float first_high = nearest_tf32(first);\n"
    "  const float second_high = nearest_tf32(second);\n"
    "  multiply_parts(sums, low, first_high, second_high);\n"
    "  multiply_parts(sums, high, first - first_high, second - second_high);\n"
    "  multiply_parts(sums, high, first_high, second_high);\n"
    "#else\n"
    "  const int lane = threadIdx.x % 32;\n"
    "  for (int k = 0; k < 8; ++k) {\n"
    "    const float upper_weight = k < 4 ? high.x + low.x : high.z + low.z;\n"
    "    const float lower_weight = k < 4 ? high.y + low.y : high.w + low.w;\n"
    "    const float factor = k < 4 ? first : second;\n"
    "    const float upper = __shfl_sync(0xffffffffu, upper_weight, lane / 4 * 4 + k % 4);\n"
    "    const float lower = __shfl_sync(0xffffffffu, lower_weight, lane / 4 * 4 + k % 4);\n"
    "    const float left = __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + k % 4);\n"
    "    const float right = __shfl_sync(0xffffffffu, factor, lane % 4 * 8 + 4 + k % 4);\n"
    "    sums[0] += upper * left;\n"
    "    sums[1] += upper * right;\n"
    "    sums[2] += lower * left;\n"
    "    sums[3] += lower * right;\n"
    "  }\n"
    "#endif\n"
    "}";

// The nearest number of 11 significant bits.
double rounded_to_tf32(double x) {
  if (x == 0) {
    return 0;
  }
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
}

}  // namespace

TensorProduct::TensorProduct(const KernelShape& shape, const Type& real, const FusedShape& fused)
    : BlockProduct(shape, real, fused), is_double_(real == cgen::f64) {
  const int tiles = ceil_divide(shape.nodes, tile_rows);
  tiles_of_warp_ = (tiles + fused.row_groups - 1) / fused.row_groups;
}

int TensorProduct::stride() const {
  // rows are 4 numbers apart in the banks, those of a step's lanes 8 in f32
  constexpr int step = 4;
  int stride = round_up(columns_, step);
  while (stride / step % 2 == 0) {
    stride += step;
  }
  return stride;
}

int TensorProduct::values_stride(int step) const {
  return step <= 4 ? stride() : BlockProduct::values_stride(step);
}

int TensorProduct::threads() const {
  return warp_size * fused_.row_groups * (columns_ / fused_.columns_per_thread);
}

std::vector<cgen::Statement> TensorProduct::functions() const {
  const std::vector<std::string> names =
      is_double_ ? std::vector<std::string>{"multiply_tiles"}
                 : std::vector<std::string>{"nearest_tf32", "multiply_parts", "multiply_tiles"};
  return {cgen::RawStatement{is_double_ ? double_function : single_functions, names, {}}};
}

void TensorProduct::begin(BlockBuilder& body, const Expr& thread) {
  lane_ = body.add_constant(cgen::i32, "lane", thread % warp_size);
  const Expr warp = body.add_constant(cgen::i32, "warp", thread / warp_size);
  row_tile_ = body.add_constant(cgen::i32, "row_tile", warp % fused_.row_groups * tiles_of_warp_);
  column_ =
      body.add_constant(cgen::i32, "column", warp / fused_.row_groups * fused_.columns_per_thread);
  declare_sums(body, tiles_of_warp_ * column_tiles() * 4);
}

Expr TensorProduct::sums_of(int row_tile, int column_tile) const {
  return plus(sums_, (row_tile * column_tiles() + column_tile) * 4);
}

Expr TensorProduct::factor_row(const Expr& step, int quarter) const {
  // in f32 a lane's two rows are neighbours: then lanes meet different banks at odd strides / 4
  return is_double_ ? step * depth() + lane_ % 4 : plus(step * depth() + lane_ % 4 * 2, quarter);
}

void TensorProduct::multiply(BlockBuilder& body, const Expr& operators, const Expr& step,
                             const std::vector<std::vector<Expr>>& factors,
                             const std::string& suffix) const {
  const Type pack = cgen::vector_of(real_, is_double_ ? 2 : 4);
  const int parts = is_double_ ? 1 : 2;
  const Expr entry = body.add_constant(
      cgen::i32, "entry" + suffix, (step * row_tiles() + row_tile_) * (parts * warp_size) + lane_);
  for (int i = 0; i < tiles_of_warp_; ++i) {
    std::vector<Expr> weights;
    for (int each = 0; each < parts; ++each) {
      const int number = i * parts + each;
      weights.push_back(body.add_constant(pack, fmt::format("weights_{}{}", number, suffix),
                                          operators[plus(entry, number * warp_size)]));
    }
    for (int j = 0; j < column_tiles(); ++j) {
      std::vector<Expr> arguments = {sums_of(i, j)};
      arguments.insert(arguments.end(), weights.begin(), weights.end());
      const std::vector<Expr>& of_tile = factors[static_cast<std::size_t>(j)];
      arguments.insert(arguments.end(), of_tile.begin(), of_tile.end());
      body << cgen::call("multiply_tiles", arguments, cgen::void_type);
    }
  }
}

void TensorProduct::add(BlockBuilder& body, ParameterList& parameters, const Matrix& matrix,
                        const Expr& first, const BlockMatrix& work) {
  const Expr operators = parameters.table("operators", cgen::vector_of(real_, is_double_ ? 2 : 4));
  const int steps = padded(static_cast<int>(matrix.columns)) / depth();
  const Expr first_step = body.add_constant(cgen::i32, "first_step", first / depth());
  const auto step = [&](const Expr& k, BlockBuilder& inner) {
    const Expr column = inner.add_constant(cgen::i32, "factor_column", column_ + lane_ / 4);
    std::vector<std::vector<Expr>> factors;
    for (int j = 0; j < column_tiles(); ++j) {
      std::vector<Expr>& of_tile = factors.emplace_back();
      for (int quarter = 0; quarter < depth() / 4; ++quarter) {
        of_tile.push_back(
            inner.add_constant(real_, fmt::format("factor_{}_{}", j, quarter),
                               work.at(factor_row(k, quarter), plus(column, j * tile_columns))));
      }
    }
    multiply(inner, operators, k + first_step, factors, "");
  };
  body << cgen::for_(cgen::i32, "k", 0, steps, step, {1, 2});
}

void TensorProduct::add_volume(BlockBuilder& body, ParameterList& parameters,
                               const std::vector<Matrix>& derivatives,
                               const MakeColumnFlux& make_flux, const BlockMatrix& values) {
  const Expr operators = parameters.table("operators", cgen::vector_of(real_, is_double_ ? 2 : 4));
  const int steps = padded(shape_.nodes) / depth();
  std::vector<ColumnFlux> columns;
  for (int j = 0; j < column_tiles(); ++j) {
    const std::string suffix = fmt::format("_{}", j);
    const Expr column = body.add_constant(cgen::i32, "volume_column" + suffix,
                                          plus(column_ + lane_ / 4, j * tile_columns));
    columns.push_back(make_flux(body, column, suffix));
  }
  const auto step = [&](const Expr& k, BlockBuilder& inner) {
    // [axis][column tile][quarter]
    std::vector<std::vector<std::vector<Expr>>> factors(derivatives.size());
    for (int j = 0; j < column_tiles(); ++j) {
      for (auto& of_axis : factors) {
        of_axis.emplace_back();
      }
      for (int quarter = 0; quarter < depth() / 4; ++quarter) {
        const ColumnFlux& flux = columns[static_cast<std::size_t>(j)];
        const std::string suffix = fmt::format("_{}_{}", j, quarter);
        const std::vector<Expr> terms =
            terms_at(inner, flux, values, factor_row(k, quarter), suffix);
        for (std::size_t axis = 0; axis < factors.size(); ++axis) {
          factors[axis].back().push_back(
              flux_along(inner, flux, terms, static_cast<int>(axis), suffix));
        }
      }
    }
    for (std::size_t axis = 0; axis < factors.size(); ++axis) {
      multiply(inner, operators, plus(k, static_cast<int>(axis) * steps), factors[axis],
               fmt::format("_{}", axis));
    }
  };
  body << cgen::for_(cgen::i32, "k", 0, steps, step, {1, 1});
}

BlockMatrix TensorProduct::store(BlockBuilder& body, const BlockMatrix& work) {
  const Expr column = body.add_constant(cgen::i32, "sums_column", column_ + lane_ % 4 * 2);
  for (int i = 0; i < tiles_of_warp_; ++i) {
    for (int half = 0; half < 2; ++half) {
      BlockBuilder inner;
      const Expr row = inner.add_constant(
          cgen::i32, "row", plus(row_tile_ * tile_rows + lane_ / 4, i * tile_rows + half * 8));
      BlockBuilder rows;
      for (int j = 0; j < column_tiles(); ++j) {
        for (int n = 0; n < 2; ++n) {
          rows << cgen::assign(work.at(row, plus(column, j * tile_columns + n)),
                               sums_[(i * column_tiles() + j) * 4 + half * 2 + n]);
        }
      }
      inner << cgen::if_(row < shape_.nodes, rows);
      body << inner.block();
    }
  }
  return work;
}

std::vector<double> TensorProduct::table(const std::vector<Matrix>& parts) const {
  std::vector<double> numbers;
  const auto number = [](const Matrix& matrix, int row, int column) {
    const auto i = static_cast<std::size_t>(row);
    const auto k = static_cast<std::size_t>(column);
    return i < matrix.rows && k < matrix.columns ? matrix(i, k) : 0;
  };
  // as factor_row
  const auto column_of = [&](int step, int lane, int quarter) {
    return step * depth() + (is_double_ ? lane % 4 : lane % 4 * 2 + quarter);
  };
  // rows of a lane first, then depths, as the fragments have them
  const auto add_tile = [&](const Matrix& matrix, int tile, int step, const auto& part_of) {
    for (int lane = 0; lane < warp_size; ++lane) {
      for (int quarter = 0; quarter < depth(); quarter += 4) {
        for (int half = 0; half < 2; ++half) {
          numbers.push_back(part_of(number(matrix, tile * tile_rows + lane / 4 + half * 8,
                                           column_of(step, lane, quarter / 4))));
        }
      }
    }
  };
  for (const Matrix& matrix : parts) {
    for (int step = 0; step < padded(static_cast<int>(matrix.columns)) / depth(); ++step) {
      for (int tile = 0; tile < row_tiles(); ++tile) {
        if (is_double_) {
          add_tile(matrix, tile, step, [](double x) { return x; });
        } else {
          add_tile(matrix, tile, step, rounded_to_tf32);
          add_tile(matrix, tile, step,
                   [](double x) { return rounded_to_tf32(x - rounded_to_tf32(x)); });
        }
      }
    }
  }
  return numbers;
}

}  // namespace rtcg::dg::detail
