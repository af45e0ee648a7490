#pragma once
// Internal header: it is not installed.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rtcg/dg/operators/block_items.h"
#include "rtcg/dg/operators/fused_shape.h"

namespace rtcg::dg::detail {

/// `number + more`, or `number` alone if there is nothing to add.
[[nodiscard]] inline cgen::Expr plus(const cgen::Expr& number, int more) {
  return more == 0 ? number : number + more;
}

/// A matrix in a kernel's memory, row by row.
struct BlockMatrix {
  cgen::Expr array;
  int offset = 0;  ///< numbers before the first
  int stride = 0;  ///< numbers from row to row

  [[nodiscard]] cgen::Expr at(const cgen::Expr& row, const cgen::Expr& column) const {
    return array[plus(row * stride + column, offset)];
  }
};

/// The distance of rows, a multiple of `step`, at which threads meet the fewest banks of shared
/// memory when each reads or writes the fields of an element at a node: nodes first, and also in
/// the order in which volume fluxes are shared out.
[[nodiscard]] int least_conflict_stride(const KernelShape& shape, const cgen::Type& real,
                                        int elements, ItemOrder volume_order, int step = 1);

/// The volume fluxes of a column as sums of an element's values: along `axis` at a node, the sum
/// over terms of weights[axis * terms + term] * values.at(node, places[term]).
struct ColumnFlux {
  cgen::Expr weights;
  std::vector<cgen::Expr> places;
};
/// Declares those of a column under names that end in `suffix`.
using MakeColumnFlux = std::function<ColumnFlux(cgen::BlockBuilder& body, const cgen::Expr& column,
                                                const std::string& suffix)>;

/// Writes the product of a fused kernel, sums[nodes][columns] += matrix * work, where the matrices
/// are the derivatives and the lift in turn and `work` is memory of the block. Threads keep the
/// sums until they are stored.
class BlockProduct {
 public:
  [[nodiscard]] static std::unique_ptr<BlockProduct> make(const KernelShape& shape,
                                                          const cgen::Type& real,
                                                          const FusedShape& fused);
  BlockProduct(const KernelShape& shape, cgen::Type real, const FusedShape& fused);
  virtual ~BlockProduct() = default;

  [[nodiscard]] int columns() const noexcept { return columns_; }
  /// The distance of rows of `work`, chosen for shared memory's banks.
  [[nodiscard]] virtual int stride() const;
  /// The same for the elements' values, which add_volume reads; a multiple of `step`.
  [[nodiscard]] virtual int values_stride(int step) const;
  [[nodiscard]] virtual int threads() const = 0;
  /// The product reads this number of rows of `work` at once: rows up to a multiple of it must be
  /// finite.
  [[nodiscard]] virtual int depth() const { return 1; }
  /// `rows` and the rows that are read after them.
  [[nodiscard]] int padded(int rows) const { return (rows + depth() - 1) / depth() * depth(); }

  /// Functions for the head of the module.
  [[nodiscard]] virtual std::vector<cgen::Statement> functions() const { return {}; }
  /// Declares the sums and sets them to 0.
  virtual void begin(cgen::BlockBuilder& body, const cgen::Expr& thread) = 0;
  /// @param first  number of the matrix's first column in the table, where each of the parts counts
  ///               padded(columns)
  virtual void add(cgen::BlockBuilder& body, ParameterList& parameters, const Matrix& matrix,
                   const cgen::Expr& first, const BlockMatrix& work) = 0;
  /// Whether add_volume may be called: volume fluxes then need no memory.
  [[nodiscard]] virtual bool takes_values() const { return false; }
  /// Adds the product of the derivatives and fluxes that are linear in `values`, which has
  /// padded(nodes) rows.
  virtual void add_volume(cgen::BlockBuilder& body, ParameterList& parameters,
                          const std::vector<Matrix>& derivatives, const MakeColumnFlux& make_flux,
                          const BlockMatrix& values);
  /// How volume fluxes are best shared out. With elements first `work` of any stride is met
  /// quietly, but as many elements' metrics are read at once.
  [[nodiscard]] virtual ItemOrder volume_order() const { return ItemOrder::elements_first; }
  /// Whether one text does for all derivatives: `part` may be a variable.
  [[nodiscard]] virtual bool has_one_text() const { return true; }
  /// Makes all sums visible to every thread, in `work` or in the result.
  virtual BlockMatrix store(cgen::BlockBuilder& body, const BlockMatrix& work) = 0;
  /// The contents of `operators`; empty if it is not read.
  [[nodiscard]] virtual std::vector<double> table(const std::vector<Matrix>& parts) const {
    (void)parts;
    return {};
  }

 protected:
  /// The terms of the flux of a column at a node.
  [[nodiscard]] std::vector<cgen::Expr> terms_at(cgen::BlockBuilder& body, const ColumnFlux& flux,
                                                 const BlockMatrix& values, const cgen::Expr& node,
                                                 const std::string& suffix) const;
  /// The flux along an axis.
  [[nodiscard]] cgen::Expr flux_along(cgen::BlockBuilder& body, const ColumnFlux& flux,
                                      const std::vector<cgen::Expr>& terms, int axis,
                                      const std::string& suffix) const;
  /// `count` sums of a thread, set to 0 one by one.
  void declare_sums(cgen::BlockBuilder& body, int count);

  const KernelShape& shape_;
  cgen::Type real_;
  FusedShape fused_;
  int columns_;
  cgen::Expr sums_ = 0;
};

}  // namespace rtcg::dg::detail
