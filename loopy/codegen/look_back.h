#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// The code of a block's first warp that looks back.
///
/// A tile publishes one value. 32 tiles are a group, and 32 groups a group of groups. The last
/// tile of a group publishes the value of the group, the last one of a group of groups the value
/// of all tiles up to itself, and each other tile its own. So the value before a tile is that of
/// all groups of groups before, of the groups before in its own, and of the tiles before in its
/// group: three reads by a warp, in an order that does not depend on when blocks run. In memory
/// the values of the groups of a group of groups are adjacent and precede those of its tiles. Each
/// word of 64 bits has 32 bits of a value and the number of the launch, so that a value is whole if
/// all its words have that number: neither fences nor cleared words are needed.
/// @source Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back,
///         with an order of the operations that is the same each time
[[nodiscard]] cgen::Statement look_back_statement(KernelVariables& variables,
                                                  const LookBack& look_back,
                                                  const ExprScope& scope);

}  // namespace rtcg::loopy
