#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rtcg/arrays/solve/solve.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/distributed/arrays/distributed_array.h"

namespace rtcg::distributed {

/// A square sparse matrix whose rows are distributed over the ranks of a group as the elements of
/// vectors are.
///
/// A rank keeps its rows as a sparse matrix. A product fetches the elements of the vector that
/// these rows need from the ranks that have them. Each row adds its products in the order of its
/// columns, so that a product has the same bits for any number of ranks. All ranks make the same
/// calls. A handle: copies share the entries, and the memory for products, so that one product runs
/// at a time.
class DistributedMatrix {
 public:
  /// The entries of the rank's own rows, in any order, with rows and columns of the whole. Those of
  /// one place are added up.
  ///
  ///     const Blocks blocks(n, group.size());
  ///     for (row = blocks.begin(group.rank()); row < blocks.end(group.rank()); ++row) ...
  ///
  /// @param size  rows of the whole
  /// @throws InvalidInput  distributed.matrix.foreign_row: a row of another rank;
  ///                       distributed.matrix.bad_column; distributed.matrix.too_small: a rank
  ///                       without rows; as SparseMatrix::from_triplets
  /// @cost   sorts on the host, copies, and messages between all ranks
  template <arrays::Element T>
  [[nodiscard]] static DistributedMatrix from_triplets(const Group& group, std::int64_t size,
                                                       std::span<const std::int64_t> row,
                                                       std::span<const std::int64_t> column,
                                                       const std::vector<T>& value) {
    const Columns columns = find_columns(group, size, row, column);
    return {group, columns,
            arrays::SparseMatrix<T>::from_triplets(columns.blocks.count(group.rank()),
                                                   columns.count(), columns.own_row,
                                                   columns.own_column, value, stream_of(group))};
  }

  [[nodiscard]] const Group& group() const noexcept;
  [[nodiscard]] const Blocks& blocks() const noexcept;
  [[nodiscard]] arrays::DType dtype() const noexcept;
  /// The rank's rows. Their columns are the elements that they need: those of ranks before, the
  /// block's own, those of ranks after.
  [[nodiscard]] const arrays::AnySparseMatrix& local() const noexcept;
  /// The diagonal's elements in the rank's rows. @cost  as AnySparseMatrix::diagonal
  [[nodiscard]] arrays::AnyArray diagonal() const;
  /// Elements of other ranks that a product fetches.
  [[nodiscard]] std::int64_t fetched() const noexcept;

  /// y = A x of blocks, in the order of the stream.
  ///
  /// @cost  a copy of x, a launch that packs what others need, an exchange, the product by a thread
  ///        for each row. Where devices wait for each other no host does, and rows that need own
  ///        elements alone are multiplied while others' elements travel: up to three launches
  void multiply_into(runtime::StreamRef stream, const arrays::AnyArray& x,
                     const arrays::AnyArray& y) const;
  /// For solvers, on blocks; with inner_product() as their product.
  [[nodiscard]] arrays::LinearOperator linear_operator() const;

 private:
  /// Which elements of a vector the rank's rows need.
  struct Columns {
    Blocks blocks;
    std::vector<std::int64_t> before{};  ///< of ranks before, ascending
    std::vector<std::int64_t> after{};
    std::vector<std::int32_t> own_row{};     ///< of the triplets
    std::vector<std::int32_t> own_column{};  ///< among those that are needed
    std::int64_t own_count = 0;
    [[nodiscard]] std::int64_t count() const noexcept {
      return static_cast<std::int64_t>(before.size() + after.size()) + own_count;
    }
  };
  struct State;
  static void open_rounds(State& state, const Columns& columns);
  void multiply_in_rounds(runtime::StreamRef stream, const arrays::AnyArray& x,
                          const arrays::AnyArray& y) const;

  [[nodiscard]] static Columns find_columns(const Group& group, std::int64_t size,
                                            std::span<const std::int64_t> row,
                                            std::span<const std::int64_t> column);
  [[nodiscard]] static runtime::StreamRef stream_of(const Group& group);
  DistributedMatrix(const Group& group, const Columns& columns,
                    const arrays::AnySparseMatrix& rows);

  std::shared_ptr<const State> state_;
};

/// Solves A x = b over the ranks by conjugate gradients: arrays::conjugate_gradients with products
/// and sums over all ranks, where the options do not have an inner product. x is the rank's block.
/// The iterations have the same bits for any number of ranks on devices of one kind.
///
/// @param options  start, preconditioner and its diagonal are of blocks
/// @throws InvalidInput  distributed.matrix.shape: b is no vector of as many elements as the matrix
///                       has rows, or of another type; as arrays::conjugate_gradients
/// @cost   of an iteration: two exchanges of sums, and a product's
[[nodiscard]] arrays::Solution conjugate_gradients(const DistributedMatrix& a,
                                                   const DistributedArray& b,
                                                   arrays::SolveOptions options = {});

}  // namespace rtcg::distributed
