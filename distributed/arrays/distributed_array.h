#pragma once

#include <cstdint>
#include <optional>

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/lazy/expression.h"
#include "rtcg/distributed/arrays/blocks.h"
#include "rtcg/distributed/group/group.h"

namespace rtcg::distributed {

struct DistributedArrayOptions {
  /// Places before and after a rank's block for the elements of its neighbours.
  std::int64_t halo = 0;
  /// Whether the first place follows the last one. Otherwise the halo beyond the ends is 0.
  bool is_periodic = false;
};

/// An array whose first axis is distributed over the ranks of a group: each has a block of adjacent
/// places on its device, as an array.
///
///     DistributedArray u(group, DType::f64, {rows, columns}, {.halo = 1});
///     u.assign(sin(0.1 * u.places().reshape(-1, 1)));
///     u.update_halo();
///     v.assign(u.shifted(-1) - 2 * u.local() + u.shifted(1));
///
/// All functions of arrays work on local(), as long as the arrays have the same length: their
/// blocks are then the same. A handle: copies share the elements. All ranks make the same calls;
/// work goes to the stream of the innermost StreamScope, as that on arrays does.
class DistributedArray {
 public:
  /// Elements without values.
  ///
  /// @param shape  of the whole
  /// @throws InvalidInput  distributed.arrays.shape: no axis; distributed.arrays.halo: a negative
  ///                       width, or one beyond the length
  DistributedArray(const Group& group, arrays::DType dtype, const arrays::Extents& shape,
                   const DistributedArrayOptions& options = {});
  /// The elements of an array of `root`; `whole` is used there alone.
  ///
  /// @throws InvalidInput  as above; distributed.group.bad_rank; distributed.arrays.no_whole: no
  ///                       array on `root`
  /// @cost   one exchange; the ranks learn of shape and type before
  [[nodiscard]] static DistributedArray scattered(const Group& group,
                                                  const std::optional<arrays::AnyArray>& whole,
                                                  int root = 0,
                                                  const DistributedArrayOptions& options = {});

  [[nodiscard]] const Group& group() const noexcept { return group_; }
  [[nodiscard]] const Blocks& blocks() const noexcept { return blocks_; }
  [[nodiscard]] const arrays::Extents& shape() const noexcept { return shape_; }
  [[nodiscard]] arrays::DType dtype() const noexcept { return local_.dtype(); }
  /// The place in the whole of the block's first element.
  [[nodiscard]] std::int64_t begin() const noexcept { return blocks_.begin(group_.rank()); }

  /// The rank's block, contiguous: a view that writes the elements.
  [[nodiscard]] const arrays::AnyArray& local() const noexcept { return local_; }
  /// The places in the whole of the block's elements along the first axis, as i64.
  [[nodiscard]] arrays::AnyArray places() const;
  /// Writes the values of an expression of local() arrays.
  ///
  /// @throws  what AnyArray::assign throws
  void assign(const arrays::Expression& value) const { local_.assign(value); }

  /// Sends the elements next to the ends of blocks to the ranks that have them in their halos.
  ///
  /// @cost  one exchange, in the order of the stream
  void update_halo() const;
  /// The elements `distance` places further along the first axis, of the shape of local(); those of
  /// other ranks as they were at the latest update_halo().
  ///
  /// @throws InvalidInput  distributed.arrays.halo: further than the halo
  [[nodiscard]] arrays::AnyArray shifted(std::int64_t distance) const;

  /// The whole array on `root`, no elements on others.
  ///
  /// @throws InvalidInput  distributed.group.bad_rank
  /// @cost   one exchange
  [[nodiscard]] arrays::AnyArray gathered(int root = 0) const;

 private:
  Group group_;
  arrays::Extents shape_;
  DistributedArrayOptions options_;
  Blocks blocks_;
  arrays::AnyArray with_halo_;
  arrays::AnyArray local_;
};

}  // namespace rtcg::distributed
