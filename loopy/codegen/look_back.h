#pragma once
// Internal header: it is not installed.

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/codegen/kernel_variables.h"

namespace rtcg::loopy {

/// The code of a block's first warp that looks back.
///
/// It publishes the block's value, with the status 1. Then it reads what 32 blocks before it
/// have published, and the 32 before these, until one has published all up to itself, with the
/// status 2; and publishes the same for this block. Each word of 64 bits has a status and 32 bits
/// of a value, so that a value is whole if its words have the same status: no fences are needed.
/// The status counts the launches, so that nothing has to be cleared.
/// @source Merrill and Garland 2016, Single-pass parallel prefix scan with decoupled look-back
[[nodiscard]] cgen::Statement look_back_statement(KernelVariables& variables,
                                                  const LookBack& look_back,
                                                  const ExprScope& scope);

}  // namespace rtcg::loopy
