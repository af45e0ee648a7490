#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Recipes: transformations as text, one per line or separated by `;`. `#` begins a comment.
//
//     split_iname(i, 16, outer_tag=g.0, inner_tag=l.0)
//     prioritize_loops(k, j)
//     join_inames([i, j], name=ij)
//     duplicate_inames([i], within="id:a* and not tag:x")
//
// Arguments are separated by commas outside of brackets; lists are in `[ ]`. Quotes surround text
// that would be read otherwise; `\"` and `\\` within them.

namespace rtcg::loopy {

/// `split_iname(i, 16, outer_tag=g.0)`; parse_recipe gives an equal step.
[[nodiscard]] std::string to_string(const RecipeStep& step);

/// @throws InvalidInput  loopy.parse_recipe.syntax
[[nodiscard]] std::vector<RecipeStep> parse_recipe(std::string_view text);

}  // namespace rtcg::loopy
