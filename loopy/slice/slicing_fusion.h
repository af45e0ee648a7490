#pragma once
// Internal header: it is not installed.

#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/slice/slicing.h"

// Flat indices in place of several, and arrays that are read by them.

namespace rtcg::loopy::detail {

/// What a fused iname is called: `ab`, or `row_column` of longer names.
[[nodiscard]] std::string fused_name(const std::vector<FusedIname>& parts);

/// The inames of `e*4 f*8` are cut into e_0 and e_1, f_0 and f_1, and joined.
[[nodiscard]] std::vector<RecipeStep> fusion_steps(const std::vector<InameFusion>& fusions);

/// The rule by which an array is read where its indices are not affine, `A_view(p, x) := A[p // 72,
/// x, p % 72]`; null where there is none, or where the array is read otherwise, too.
[[nodiscard]] const SubstitutionRule* find_view(const Kernel& kernel, std::string_view array);

/// What makes a rule of the array's reads, if they are alike and their indices are not affine.
[[nodiscard]] std::vector<RecipeStep> view_steps(const Kernel& kernel, std::string_view array);

}  // namespace rtcg::loopy::detail
