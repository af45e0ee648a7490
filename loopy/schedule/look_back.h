#pragma once
// Internal header: it is not installed.

#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A block's search for what the blocks before it along a scan come to: what its code mentions.
/// The vectors have an element for each value of the scan.
struct LookBack {
  Expr thread = 0;            ///< the place along l.0
  Expr tile = 0;              ///< the place of the block along the scan
  Expr drawn = 0;             ///< what the block has found in the counter, see takes_tiles_in_order
  Expr published = 0;         ///< the first of the words that the blocks along the scan publish
  std::vector<Expr> total{};  ///< of the block
  std::vector<Expr> neutral{};  ///< what changes no value
  // Variables of a thread.
  std::vector<Expr> before{};  ///< what the blocks before come to, so far
  std::vector<Expr> found{};   ///< of another block
  std::vector<Expr> next{};    ///< of one that is nearer
  std::vector<Expr> combined{};
  // Values of `combined`.
  std::vector<Expr> found_and_next{};
  std::vector<Expr> found_and_before{};
  std::vector<Expr> before_and_total{};
};

/// As a statement, whose parts transformations change as they change other expressions; its text
/// is for readers alone, and generators print the code of look_back_of().
[[nodiscard]] RawCode as_statement(const LookBack& look_back);
/// @param statement  one of as_statement()
[[nodiscard]] LookBack look_back_of(const RawCode& statement);

}  // namespace rtcg::loopy
