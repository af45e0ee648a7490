#pragma once
// Internal header: it is not installed.

#include "rtcg/loopy/slice/slicing_source.h"

namespace rtcg::loopy::detail {

/// The slicings of a kernel that some words change first, as slicings of the kernel before: with
/// these words, which are Slicing::is_apart, Slicing::stores, Slicing::inlines, Slicing::together,
/// Slicing::phases and Slicing::global_values.
/// @param slicings  may be null, as is the result then
[[nodiscard]] SourcePtr with_words(Slicing words, SourcePtr slicings);

}  // namespace rtcg::loopy::detail
