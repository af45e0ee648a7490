#pragma once

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives a type to every argument and temporary that has none.
///
/// What is written takes the common type of the values written to it (type_of.h says how types
/// meet; `acc = 0` followed by `acc = acc + a[i]` takes the type of `a`). Scalars that bounds,
/// shapes, strides or indices use are i32. What is only read takes the type of the targets that it
/// is added or multiplied into, where these have one. Stated types stay as they are.
///
/// @throws InvalidInput  loopy.infer_types.untyped, naming all that remain without a type;
///                       loopy.infer_types.conflict; those of type_of
[[nodiscard]] Kernel infer_types(Kernel kernel);

}  // namespace rtcg::loopy
