#pragma once
// Internal header: it is not installed.

#include "rtcg/dg/operators/block_product.h"
#include "rtcg/dg/reference/reflections.h"

namespace rtcg::dg::detail {

/// The product of matrices that are literals in the text, with a thread for each column:
/// Product::literals, or Product::reflections, where sums and factors are waves of reflected nodes.
class LiteralProduct final : public BlockProduct {
 public:
  using BlockProduct::BlockProduct;

  [[nodiscard]] ItemOrder volume_order() const override { return ItemOrder::nodes_first; }
  [[nodiscard]] bool has_one_text() const override { return false; }
  [[nodiscard]] int threads() const override { return columns_; }
  void begin(cgen::BlockBuilder& body, const cgen::Expr& thread) override;
  void add(cgen::BlockBuilder& body, ParameterList& parameters, const Matrix& matrix,
           const cgen::Expr& first, const BlockMatrix& work) override;
  [[nodiscard]] bool takes_values() const override { return true; }
  void add_volume(cgen::BlockBuilder& body, ParameterList& parameters,
                  const std::vector<Matrix>& derivatives, const MakeColumnFlux& make_flux,
                  const BlockMatrix& values) override;
  BlockMatrix store(cgen::BlockBuilder& body, const BlockMatrix& work) override;

 private:
  /// A matrix between waves of its rows and columns.
  struct Waves {
    std::vector<ReflectionOrbit> columns;
    Matrix matrix;
  };

  /// By those orbits of its columns that leave the fewest entries.
  [[nodiscard]] Waves waves_of(const Matrix& matrix) const;
  /// The derivatives along directions that reflections keep, and the flux along these.
  [[nodiscard]] std::vector<Matrix> directed(const std::vector<Matrix>& derivatives) const;
  [[nodiscard]] ColumnFlux directed(cgen::BlockBuilder& body, ColumnFlux flux) const;
  /// Sums of 1, 2 or 4 numbers with the signs of waves, with a name if they are used more than
  /// once.
  [[nodiscard]] std::vector<cgen::Expr> waves(cgen::BlockBuilder& body,
                                              std::vector<cgen::Expr> numbers,
                                              const std::string& name,
                                              const std::vector<bool>& is_wanted) const;
  void add_column(cgen::BlockBuilder& body, const Matrix& matrix, std::size_t column,
                  const cgen::Expr& factor) const;

  cgen::Expr column_ = 0;
  std::vector<cgen::Expr> column_sums_;
  ReferenceElement element_;
  std::vector<ReflectionOrbit> rows_;
};

}  // namespace rtcg::dg::detail
