#pragma once
// Internal header: it is not installed.

#include <string>
#include <vector>

#include "rtcg/loopy/slice/slicing_source.h"

// What hints ask of families whose slicings are not made for them: those that keep them are left.

namespace rtcg::loopy::detail {

/// Whether there are hints for inames, arrays or widths of vectors.
[[nodiscard]] bool has_hints(const SlicingConstraints& constraints);

/// The slicings of a family that keep the hints, in their order. An iname that a slicing does not
/// mention is one tile, all of its iterations; of one that is marched along, a march is the tile.
/// left_out() names the family if none is left.
/// @param family    `rows`, for left_out()
/// @param slicings  may be null, as is the result then
[[nodiscard]] SourcePtr hinted(const Kernel& kernel, const SlicingConstraints& constraints,
                               const std::string& family, SourcePtr slicings);

/// No slicings, of a family that is left out.
[[nodiscard]] SourcePtr left_out_family(const std::string& family, const std::string& why);

/// @param what  `iname` or `array`
/// @throws InvalidInput  loopy.slicings.unknown_hint: no known loop or array has the name of the hint
void refuse_unknown_hint(const char* what, const std::string& name,
                         const std::vector<std::string>& known);
/// @throws InvalidInput  loopy.slicings.unknown_hint: for an iname or array that the kernel lacks
void check_hints(const Kernel& kernel, const SlicingConstraints& constraints);

}  // namespace rtcg::loopy::detail
