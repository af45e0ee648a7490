#pragma once
// Internal header: it is not installed.

#include <optional>
#include <vector>

#include "rtcg/dg/operators/discretization.h"
#include "rtcg/distributed/arrays/distributed_array.h"

namespace rtcg::dg::detail {

/// Sums of a term for each element on devices, of all ranks, with the same bits for any number of
/// ranks on devices of one kind: terms are added in the order of the whole mesh, as
/// distributed::sum adds the elements of an array.
///
/// All ranks make the same calls, on one stream, within a StreamScope.
class ElementSum {
 public:
  /// @param dtype  f32 or f64
  ElementSum(const Discretization& on, runtime::StreamRef stream, arrays::DType dtype);

  /// Where the terms of the rank's own elements have to be written.
  [[nodiscard]] const arrays::AnyArray& terms() const noexcept { return terms_; }
  /// Their sum and those of other ranks, in the order of the stream, into an array without axes.
  ///
  /// @cost  two launches and an exchange of up to 32 KB; where a rank has elements out of order,
  /// two
  ///        launches more, and where one has those of another one's block, an exchange of terms
  void sum_into(const arrays::AnyArray& result) const;

 private:
  /// Terms that one rank sends another one: `begin` to before `end` of a message.
  struct Section {
    int rank;
    std::int64_t begin;
    std::int64_t end;
  };
  void put_in_order() const;

  runtime::StreamRef stream_;
  distributed::DistributedArray ordered_;  ///< by places in the whole mesh
  arrays::AnyArray terms_;
  bool is_in_order_;  ///< of all ranks: terms_ is the block of ordered_
  std::vector<Section> sent_{};
  std::vector<Section> received_{};
  // Which term is where in the messages sent, and which place where in those received.
  std::optional<arrays::AnyArray> of_sent_{};
  std::optional<arrays::AnyArray> of_places_{};
};

}  // namespace rtcg::dg::detail
