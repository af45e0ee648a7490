#pragma once

#include <cstdint>

namespace rtcg::distributed {

/// How places 0, 1, ..., length - 1 are cut into blocks, one for each rank: the first axis of a
/// distributed array, the rows of a distributed matrix.
///
/// A block is a number of whole grains, but for the last grain, which may be shorter. What a grain
/// is depends on the length alone: sums that add the numbers of each grain first, then these sums,
/// have the same bits for any number of ranks. Blocks differ by one grain at most; there are
/// between 2049 and 4096 grains if the length is more than 4096, otherwise each place is one.
class Blocks {
 public:
  /// @throws InvalidInput  distributed.blocks.bad_length: a negative length, or no ranks
  Blocks(std::int64_t length, int ranks);

  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  /// Places of a grain, a power of 2.
  [[nodiscard]] std::int64_t grain() const noexcept { return grain_; }
  [[nodiscard]] std::int64_t grains() const noexcept { return grains_; }

  // Of a rank in [0, ranks()); of ranks() the ends.
  [[nodiscard]] std::int64_t first_grain(int rank) const noexcept {
    return grains_ * rank / ranks_;
  }
  [[nodiscard]] std::int64_t begin(int rank) const noexcept;
  [[nodiscard]] std::int64_t end(int rank) const noexcept { return begin(rank + 1); }
  [[nodiscard]] std::int64_t count(int rank) const noexcept { return end(rank) - begin(rank); }
  [[nodiscard]] std::int64_t grain_count(int rank) const noexcept {
    return first_grain(rank + 1) - first_grain(rank);
  }
  /// @pre  a place in [0, length())
  [[nodiscard]] int rank_of(std::int64_t place) const noexcept;

  friend bool operator==(const Blocks& a, const Blocks& b) noexcept {
    return a.length_ == b.length_ && a.ranks_ == b.ranks_;
  }

 private:
  std::int64_t length_;
  int ranks_;
  std::int64_t grain_ = 1;
  std::int64_t grains_;
};

}  // namespace rtcg::distributed
