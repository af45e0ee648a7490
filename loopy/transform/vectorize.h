#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Makes the values of an iname the lanes of vectors: neighbouring elements are read and written
/// together, by one instruction of the device.
///
/// Rewrites
///     for v in [0, 4): b[4*i + v] = 2*a[4*i + v]
///   into
///     float4 x = *(float4*)&a[4*i];  *(float4*)&b[4*i] = (2*x.x, 2*x.y, 2*x.z, 2*x.w)
///
/// Where a guard lets only some of the lanes through, these are done one by one. On the host all of
/// them are: its compilers find the vectors by themselves. Accesses that are no vectors are done
/// lane by lane.
/// @param iname   untagged, or tagged `vec`; its values are 0 and 1, or 0 to 3, of at most 16 bytes
/// @param arrays  to be read and written as vectors wherever they differ by lane; empty: all for
///                which it is possible, at least one
/// @throws InvalidInput  loopy.vectorize.unknown_iname, loopy.vectorize.bad_length,
///                       loopy.vectorize.tagged_already, loopy.vectorize.no_vector
/// @throws InvalidInput  at a call: loopy.executor.misaligned_array
/// @source Loo.py tag `vec`
[[nodiscard]] Kernel vectorize(Kernel kernel, std::string_view iname,
                               const std::vector<std::string>& arrays = {});

}  // namespace rtcg::loopy
