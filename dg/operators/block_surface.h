#pragma once
// Internal header: it is not installed.

#include <functional>

#include "rtcg/dg/operators/block_product.h"

namespace rtcg::dg::detail {

/// Writes the surface fluxes of a block's elements, in groups of faces.
class BlockSurface {
 public:
  /// @param values  of the block's elements
  /// @param work    gets the fluxes of a group, one row a place
  /// @param is_plain  nothing is prefetched: a block is one thread of a CPU
  BlockSurface(const KernelWriter& writer, ParameterList& parameters, BlockItems items,
               BlockMatrix values, BlockMatrix work, int groups, bool is_plain);

  /// Places of a group.
  [[nodiscard]] int rows() const { return writer_.shape().lifted() / groups_; }
  /// Code that starts to copy a number from an address to an element of `work`.
  using Copy = std::function<cgen::Statement(const cgen::Expr& to, const cgen::Expr& from)>;
  /// Starts to copy the neighbours' values to `work`; all links are loaded first.
  void copy_traces(cgen::BlockBuilder& body, int group, const Copy& copy) const;
  /// @param with_copies  copy_traces has brought the neighbours' values
  void add_fluxes(cgen::BlockBuilder& body, int group, bool with_copies) const;

 private:
  /// Links are loaded two rounds before they are needed, neighbours' values one round before.
  void add_pipelined_fluxes(cgen::BlockBuilder& body, int group) const;
  /// The flux at an item whose link and neighbour's values are loaded.
  void add_flux(cgen::BlockBuilder& body, const BlockItem& item, int group, const cgen::Expr& link,
                const KernelWriter::Load& exterior) const;
  /// Of an item that need not be there: then of the block's first element.
  [[nodiscard]] cgen::Expr link_of(const BlockItem& item, int group) const;
  [[nodiscard]] cgen::Expr place_of(const BlockItem& item, int group) const {
    return plus(item.place, group * rows());
  }
  [[nodiscard]] cgen::Expr slot(const BlockMatrix& of, const BlockItem& item, const cgen::Expr& row,
                                int field) const {
    return of.at(row, item.local * writer_.shape().fields + field);
  }

  const KernelWriter& writer_;
  ParameterList& parameters_;
  BlockItems items_;
  BlockMatrix values_;
  BlockMatrix work_;
  int groups_;
  bool is_plain_;
};

}  // namespace rtcg::dg::detail
