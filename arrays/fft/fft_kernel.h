#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>
#include <vector>

#include "rtcg/arrays/core/dtype.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"

// Kernels of Fourier transforms: a launch does a step of Stockham's method with a large radix, the
// length of a block's transforms, which the block does in passes with small radices. Which
// elements a butterfly reads and writes depends on quotients and remainders of its number, which
// the loop engine does not take for subscripts of shared memory.

namespace rtcg::arrays::detail {

/// What the text of a launch depends on.
///
/// An array of [outer, n, inner] is transformed along its middle axis in launches with radices R
/// whose product is n. With `before`, the product of the radices of earlier launches, and the steps
///     read_step = n / R * inner,    write_step = before * inner
/// column c = o * read_step + J reads elements o * n * inner + J + e * read_step for e < R,
/// multiplies them by exp(-2 pi i (J % write_step / inner) e / (before * R)), transforms them, and
/// writes them to o * n * inner + J / write_step * write_step * R + J % write_step + e *
/// write_step.
struct FftForm {
  cgen::Dialect dialect = cgen::Dialect::c;
  DType dtype = DType::c64;
  std::vector<int> radices{};  ///< of a block's passes; R is their product
  int columns = 1;             ///< of a block
  bool reads_rows = false;     ///< read_step is 1, so inner and write_step are
  bool writes_rows = false;    ///< write_step is 1
  bool has_twiddles = false;   ///< `before` is not 1
  bool has_inner = false;      ///< `inner` is not 1
  /// The columns of a block have one `o` and are neighbours in memory: `columns` divides read_step,
  /// write_step unless that is 1, and, with twiddles, `inner` unless that is 1.
  bool is_even = false;
  bool has_tail = false;    ///< `columns` does not divide the number of columns
  bool is_inverse = false;  ///< exp(+2 pi i ...)
  bool is_wide = false;     ///< indices have 64 bits

  [[nodiscard]] int length() const noexcept;
  /// Of a block; on the host 1.
  [[nodiscard]] int threads() const noexcept;
  /// To find the kernel again.
  [[nodiscard]] std::string name() const;
};

/// Bytes that values of one block take in shared memory.
[[nodiscard]] std::int64_t shared_bytes(const FftForm& form);

/// Parameters: in, out (may be the same if this is the only launch), with several passes their
/// factors (twiddles.h), and with twiddles the fine and the coarse roots of order before * R and
/// the bits (i32) of a fine one's number; the number of columns if it has a tail, read_step unless
/// it reads rows, write_step unless it writes rows, `inner` if it has twiddles and an inner axis,
/// all of the index type; and a factor for the results, of the parts' type.
[[nodiscard]] cgen::Module make_fft_module(const FftForm& form);

}  // namespace rtcg::arrays::detail
