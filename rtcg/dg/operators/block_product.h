#pragma once

#include <memory>
#include <vector>

#include "rtcg/dg/operators/stage_kernels.h"

namespace rtcg::dg::detail {

/// `number + more`, plain where there is nothing to add.
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

/// Which index neighbouring threads differ in when a block's items are shared out.
enum class ItemOrder { nodes_first, elements_first };

/// The distance of rows, a multiple of `step`, at which threads meet the fewest banks of shared
/// memory when each reads or writes the fields of an element at a node: nodes first, and also in
/// the order in which volume fluxes are shared out.
[[nodiscard]] int quiet_stride(const KernelShape& shape, const cgen::Type& real, int elements,
                               ItemOrder volume_order, int step = 1);

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
  [[nodiscard]] virtual int threads() const = 0;
  /// The product reads so many rows of `work` at once: up to a multiple they must be finite.
  [[nodiscard]] virtual int depth() const { return 1; }
  /// `rows` and what is read behind them.
  [[nodiscard]] int padded(int rows) const { return (rows + depth() - 1) / depth() * depth(); }

  /// Functions for the head of the module.
  [[nodiscard]] virtual std::vector<cgen::Statement> functions() const { return {}; }
  /// Declares the sums and sets them to 0.
  virtual void begin(cgen::BlockBuilder& body, const cgen::Expr& thread) = 0;
  /// @param part  which of [derivatives | lift] `matrix` is
  virtual void add(cgen::BlockBuilder& body, KernelParameters& parameters, const Matrix& matrix,
                   const cgen::Expr& part, const BlockMatrix& work) = 0;
  /// How volume fluxes are best shared out. With elements first `work` of any stride is met
  /// quietly, but as many elements' metrics are read at once.
  [[nodiscard]] virtual ItemOrder volume_order() const { return ItemOrder::elements_first; }
  /// Whether one text does for all derivatives: `part` may be a variable.
  [[nodiscard]] virtual bool has_one_text() const { return true; }
  /// Lets every thread reach the sums of all, in `work` or in what it gives back.
  virtual BlockMatrix store(cgen::BlockBuilder& body, const BlockMatrix& work) = 0;
  /// What `operators` holds; empty where it is not read.
  [[nodiscard]] virtual std::vector<double> table(const std::vector<Matrix>& parts) const {
    (void)parts;
    return {};
  }

 protected:
  [[nodiscard]] cgen::Expr constant(cgen::BlockBuilder& body, const std::string& name,
                                    const cgen::Expr& value) const;
  [[nodiscard]] cgen::Expr array(cgen::BlockBuilder& body, const std::string& name,
                                 int count) const;
  /// `count` sums of a thread, set to 0 one by one.
  void declare_sums(cgen::BlockBuilder& body, int count);

  const KernelShape& shape_;
  cgen::Type real_;
  FusedShape fused_;
  int columns_;
  cgen::Expr sums_ = 0;
};

}  // namespace rtcg::dg::detail
