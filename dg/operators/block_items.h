#pragma once
// Internal header: it is not installed.

#include <functional>
#include <optional>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/dg/operators/kernel_writer.h"

namespace rtcg::dg::detail {

/// Which index neighbouring threads differ in when a block's items are shared out.
enum class ItemOrder { nodes_first, elements_first };

/// One of elements * count items; each thread of a block has one in each round.
struct BlockItem {
  cgen::Expr round;
  cgen::Expr local;     ///< element of the block
  cgen::Expr element;   ///< of the mesh
  cgen::Expr place;     ///< in [0, count)
  cgen::Expr is_there;  ///< whether the item and its element exist
};

/// Shares the items of a block out to its threads.
class BlockItems {
 public:
  /// @param first   the block's first element
  /// @param thread  nothing where a block is one thread
  BlockItems(int elements, int threads, cgen::Expr first, std::optional<cgen::Expr> thread)
      : elements_(elements),
        threads_(threads),
        first_(std::move(first)),
        thread_(std::move(thread)) {}

  [[nodiscard]] const cgen::Expr& first() const noexcept { return first_; }
  [[nodiscard]] int rounds(int count) const { return ceil_divide(elements_ * count, threads_); }
  /// Declares the item of a round, which may be past the last.
  [[nodiscard]] BlockItem item(cgen::BlockBuilder& body, ParameterList& parameters, ItemOrder order,
                               int count, const cgen::Expr& round) const;

  using Fill = std::function<void(cgen::BlockBuilder& body, const BlockItem& item)>;
  /// A loop over all rounds, asked for with items that may not be there.
  ///
  /// @param unroll  as cgen::For::unroll
  void for_rounds(cgen::BlockBuilder& body, ParameterList& parameters, ItemOrder order, int count,
                  const Fill& fill, int unroll = 1) const;
  /// The same for existing items.
  void for_items(cgen::BlockBuilder& body, ParameterList& parameters, ItemOrder order, int count,
                 const Fill& fill) const;

 private:
  int elements_;
  int threads_;
  cgen::Expr first_;
  std::optional<cgen::Expr> thread_;
};

}  // namespace rtcg::dg::detail
