#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/parse_recipe.h"

namespace rtcg::loopy {

/// Transforms a kernel step by step. Kernels record their own recipe: applied to the kernel that
/// the steps began with, it gives an equal kernel.
///
/// @throws InvalidInput  loopy.apply_recipe.unknown_transformation, with close names;
///                       loopy.apply_recipe.bad_arguments; loopy.parse_recipe.syntax; what the
///                       transformations throw
[[nodiscard]] Kernel apply_recipe(Kernel kernel, const std::vector<RecipeStep>& steps);
[[nodiscard]] Kernel apply_recipe(Kernel kernel, std::string_view text);

/// The names of all transformations that recipes know, sorted.
[[nodiscard]] std::vector<std::string> transformation_names();

}  // namespace rtcg::loopy
