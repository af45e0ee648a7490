#pragma once

#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Gives a type to every argument and temporary that has none.
///
/// Written variables get the common type of the values written to them (see type_of.h; `acc = 0`
/// followed by `acc = acc + a[i]` gets the type of `a`). Scalars that bounds, shapes, strides or
/// indices use are i32. Variables that are only read get the type of the targets that they are
/// added or multiplied into, if these have one. Stated types stay as they are.
///
/// @throws InvalidInput  loopy.infer_types.untyped, naming all that remain without a type;
///                       loopy.infer_types.conflict; those of type_of
[[nodiscard]] Kernel infer_types(Kernel kernel);

}  // namespace rtcg::loopy
