#pragma once
// Internal header: it is not installed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rtcg/arrays/sort/radix_keys.h"
#include "rtcg/cgen/ast/module.h"

// Kernels of CUDA that sort by digits: blocks rank their keys in registers and shared memory, which
// the loop engine has no statement for.

namespace rtcg::arrays::detail {

inline constexpr int radix_threads = 256;  ///< of a block, one for each digit

/// What the text of these kernels depends on.
struct RadixBlocks {
  DType key = DType::u32;
  bool is_descending = false;
  int value_bytes = 0;   ///< of the value of each key: 0 (none), 1, 2, 4 or 8
  bool is_wide = false;  ///< counts have 64 bits: 2^30 keys or more
  int items = 16;        ///< keys of each thread, at most `most_items()`

  /// How many keys of a thread are fastest; their neighbours are neighbours in memory more often.
  /// Found on an H200, 2026-11-29, among 12 to 36 keys and 2 to 5 blocks.
  [[nodiscard]] int most_items() const noexcept {
    const int long_ones = (size_bytes(key) == 8 ? 1 : 0) + (value_bytes == 8 ? 1 : 0);
    return long_ones == 2 || (long_ones == 1 && value_bytes == 0) ? 24 : long_ones == 1 ? 28 : 32;
  }
  /// Of a multiprocessor, for which registers suffice; from the same search.
  [[nodiscard]] int least_blocks() const noexcept {
    return value_bytes != 0 ? 2 : size_bytes(key) == 8 ? 3 : 4;
  }
  /// Of the keys of a tile, or of the values in their place.
  [[nodiscard]] std::size_t tile_bytes() const noexcept {
    return static_cast<std::size_t>(tile()) *
           std::max(size_bytes(key), static_cast<std::size_t>(value_bytes));
  }
  /// Dynamic shared memory of a block: the tile, counts of warps, sums of warps, the shift (and
  /// what aligns the next), where digits begin and the tile's number.
  [[nodiscard]] std::size_t shared_bytes() const noexcept {
    constexpr std::size_t warps = radix_threads / 32;
    return tile_bytes() + 4 * (warps * radix_digits + warps + 2) + 8 * (radix_digits + 1);
  }
  [[nodiscard]] std::int64_t tile() const noexcept { return std::int64_t{radix_threads} * items; }
  /// For messages, and to find the kernel again.
  [[nodiscard]] std::string name(const char* what) const;
};

/// Moves keys, and values, to where one digit wants them: a pass of a stable sort.
///
/// Each block takes the next tile, counts its keys of each digit and publishes the counts; orders
/// the tile in shared memory; looks back at what the tiles before have published; and writes the
/// tile, neighbours next to each other. Words of `published` carry a status and a count, so neither
/// fences nor a second launch are needed.
///
/// Parameters: keys, sorted keys[, values, sorted values], `counts_of_digits` (256 numbers of i32,
/// or i64 if wide: how often each digit occurs; the first tile publishes where it begins),
/// `published` (a word of 32 or 64 bits for each digit of each tile, 0), `cleared` (the same for
/// the next pass, which gets 0), `drawn` (a u32, 0), the number of keys (i64), shift and mask of
/// the digit (i32).
/// @source Adinets and Merrill 2022, Onesweep, arXiv:2206.01784
[[nodiscard]] cgen::Module make_radix_pass(const RadixBlocks& blocks);

/// Sorts rows of at most a tile, one a block, in one launch.
///
/// Parameters: keys, sorted keys[, values, sorted values], the length of a row (i32), the first bit
/// and the one after the last (i32).
[[nodiscard]] cgen::Module make_row_sort(const RadixBlocks& blocks);

}  // namespace rtcg::arrays::detail
