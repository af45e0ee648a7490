#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Reads of an array that move along a loop: each goes one element further along one axis in each
/// iteration, and not along the others.
struct MovingReads {
  std::size_t axis = 0;
  /// The indices of each, none twice, in the order of the kernel.
  std::vector<std::vector<Affine>> reads{};
  /// Elements along the axis that one iteration reads, from the first to the last.
  std::int64_t length_elements = 1;

  [[nodiscard]] bool contains(const std::vector<Expr>& indices) const;
};

/// Reads of statements that fill copies.
enum class FillReads : std::uint8_t {
  none,
  of_registers,  ///< of copies in registers
};

/// Whether the statement fills a copy in registers.
[[nodiscard]] bool fills_registers(const Kernel& kernel, const Instruction& statement);

/// All reads of an array that move along `iname`, of those that fill copies what `fills` says; with
/// sums of constant length around them, and lanes, they span a range. Empty where there are none,
/// or where they move along different axes.
///
/// @param expanded  has no rules
[[nodiscard]] MovingReads moving_reads(const Kernel& expanded, std::string_view array,
                                       const std::string& iname, FillReads fills = FillReads::none);

/// Of these, those that a thread keeps in registers: all, if they fill the box around them, else
/// the reads that agree along the other axes, of those the ones with the longest range.
[[nodiscard]] MovingReads reads_of_thread(const Kernel& expanded, const MovingReads& all);

/// The inames in the indices along which one iteration of a thread, or of a block, reads several
/// elements: of sums, lanes and unrolled loops, and the threads of a block.
[[nodiscard]] NameSet spread_inames(const Kernel& expanded, const MovingReads& reads,
                                    bool is_of_block);

}  // namespace rtcg::loopy
