#pragma once

#include "rtcg/loopy/codegen/code_block.h"

namespace rtcg::loopy {

/// The block with neighbouring conditions joined, here and within: of two equal ones the bodies
/// stand under one, of two opposite ones the second body becomes the other's `else`, and a
/// condition whose whole body is another one without `else` is tested with it where both were one
/// condition of a statement. Conditions are opposite where one is the other's negation as written,
/// or the opposite comparison of integers. Nothing is joined across a statement that may change
/// what the condition reads. A loop that stands under a condition as a whole, which no iteration
/// changes, goes under it: it is tested once. Internal to codegen.
[[nodiscard]] CodeBlock join_conditions(CodeBlock block);

/// The block with conditions that are equal put together where nothing in between minds: what is
/// done under them goes to the first of them. For code whose speed does not count: it separates
/// what lanes do.
[[nodiscard]] CodeBlock gather_conditions(CodeBlock block);

}  // namespace rtcg::loopy
