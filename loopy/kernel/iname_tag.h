#pragma once

#include <string>
#include <string_view>

namespace rtcg::loopy {

/// How the iterations of an iname are carried out.
enum class AxisKind {
  sequential,   ///< `for`: a loop
  unroll,       ///< `unr`: a copy of the body for each value
  unroll_hint,  ///< `unr_hint`, `unr_hint.4`: a loop with an unroll pragma
  ilp,          ///< `ilp`: inline-parallel, every statement is copied for each value
  vec,          ///< `vec`: lanes of a vector, otherwise as ilp
  grid,         ///< `g.0` ... `g.2`: an axis of the grid of blocks
  block,        ///< `l.0` ... `l.2`: an axis of the threads of a block
  block_auto,   ///< `l.auto`: an axis of the block that rtcg chooses
  ilp_loop,     ///< `ilp.seq`: inline-parallel, with a separate small loop for every statement
  /// `mma`: a loop of a sum of products that warps compute on tensor cores, see
  /// use_tensor_cores(); a sequential loop on targets without them
  tensor,
};

struct InameTag {
  AxisKind kind = AxisKind::sequential;
  int number = 0;  ///< axis of grid and block; factor of unroll_hint, 0 for "all"

  [[nodiscard]] bool is_parallel() const noexcept {
    return kind == AxisKind::grid || kind == AxisKind::block;
  }
  /// Whether each statement is done for all values, after all loops, before the next one is.
  [[nodiscard]] bool is_lane() const noexcept {
    return kind == AxisKind::ilp || kind == AxisKind::vec || kind == AxisKind::ilp_loop;
  }
  friend bool operator==(const InameTag&, const InameTag&) = default;
};

/// @throws InvalidInput  loopy.iname_tag.unknown
[[nodiscard]] InameTag parse_iname_tag(std::string_view text);
/// `g.0`, `unr`, ... ; `for` for a sequential loop.
[[nodiscard]] std::string to_string(const InameTag& tag);

}  // namespace rtcg::loopy
