#pragma once
// Internal header: it is not installed.

#include "rtcg/dg/operators/block_product.h"

namespace rtcg::dg::detail {

/// The product on tensor cores, mma.m16n8k4 in f64 and mma.m16n8k8 in tf32: a warp has
/// ceil(rows / 16 / row_groups) tiles of 16 rows for each 8 of its `columns_per_thread` columns.
///
/// Below sm_90 the text uses shuffles instead, so it runs on every CUDA device.
/// @source PTX ISA 8, "Matrix Fragments for mma.m16n8k4" and "... mma.m16n8k8"
class TensorProduct final : public BlockProduct {
 public:
  static constexpr int tile_rows = 16;
  static constexpr int tile_columns = 8;

  TensorProduct(const KernelShape& shape, const cgen::Type& real, const FusedShape& fused);

  /// Distances of rows at which the lanes of a warp, 4 rows by 8 columns, meet different banks.
  [[nodiscard]] int stride() const override;
  [[nodiscard]] int threads() const override;
  [[nodiscard]] int depth() const override { return is_double_ ? 4 : 8; }
  [[nodiscard]] std::vector<cgen::Statement> functions() const override;
  void begin(cgen::BlockBuilder& body, const cgen::Expr& thread) override;
  [[nodiscard]] int values_stride(int step) const override;
  void add(cgen::BlockBuilder& body, ParameterList& parameters, const Matrix& matrix,
           const cgen::Expr& first, const BlockMatrix& work) override;
  [[nodiscard]] bool takes_values() const override { return true; }
  void add_volume(cgen::BlockBuilder& body, ParameterList& parameters,
                  const std::vector<Matrix>& derivatives, const MakeColumnFlux& make_flux,
                  const BlockMatrix& values) override;
  BlockMatrix store(cgen::BlockBuilder& body, const BlockMatrix& work) override;
  [[nodiscard]] std::vector<double> table(const std::vector<Matrix>& parts) const override;

 private:
  [[nodiscard]] int row_tiles() const { return tiles_of_warp_ * fused_.row_groups; }
  [[nodiscard]] int column_tiles() const { return fused_.columns_per_thread / tile_columns; }
  [[nodiscard]] cgen::Expr sums_of(int row_tile, int column_tile) const;
  /// The rows of factors that a lane has in a step, one for each 4 of `depth`.
  [[nodiscard]] cgen::Expr factor_row(const cgen::Expr& step, int quarter) const;
  /// Multiplies the tiles of a step of the table with the factors of each column tile.
  void multiply(cgen::BlockBuilder& body, const cgen::Expr& operators, const cgen::Expr& step,
                const std::vector<std::vector<cgen::Expr>>& factors,
                const std::string& suffix) const;

  bool is_double_;
  int tiles_of_warp_;  ///< of 16 rows each
  cgen::Expr lane_ = 0;
  cgen::Expr row_tile_ = 0;  ///< the warp's first
  cgen::Expr column_ = 0;    ///< the warp's first
};

}  // namespace rtcg::dg::detail
