#pragma once

#include <string>

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"

namespace rtcg::loopy {

/// The steps that a kernel went through, one a line.
inline std::string recipe_of(const Kernel& kernel) {
  std::string text;
  for (const RecipeStep& step : kernel.recipe) {
    text += to_string(step) + "\n";
  }
  return text;
}

/// Whether `after` recorded exactly these steps, and they make it of `before` again.
inline void expect_recipe(const Kernel& before, const Kernel& after, const std::string& recipe) {
  EXPECT_EQ(recipe_of(after), recipe);
  EXPECT_EQ(to_string(apply_recipe(before, recipe)), to_string(after));
}

}  // namespace rtcg::loopy
