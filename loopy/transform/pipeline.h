#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets the copies into temporaries run ahead of the loop that uses them.
///
/// Each temporary gets `stages` buffers. While an iteration of `iname` works on one of them, those
/// of the next `stages - 1` iterations are being filled; the first ones are filled before the loop.
/// Rewrites
///     for k:  t[x] = a[k, x];              out += t[...]
///   into
///     for s < stages - 1:  t[s, x] = a[s, x]
///     for k:  t[(k + stages - 1) % stages, x] = a[k + stages - 1, x];  out += t[k % stages, ...]
/// which takes one barrier an iteration instead of two. In CUDA the copies are asynchronous
/// (`cp.async`, from compute capability 8.0 on) where elements have 4, 8 or 16 bytes and the
/// temporary is shared; 16 bytes are copied at once where rows of both sides allow it.
/// @param temporaries  what add_prefetch or precompute made within `iname`; all are filled together
/// @param iname        a loop whose first value is a constant, or an affine form of the inames around
///                     it that are the same for all threads of a block
/// @param stages       2 to 8
/// @throws InvalidInput  loopy.pipeline.unknown_temporary, loopy.pipeline.unknown_iname,
///                       loopy.pipeline.bad_stages, loopy.pipeline.not_possible
/// @source PTX ISA 9.0, 9.7.9.25.3 (cp.async); the schedule is that of multistage matrix products
/// in
///         NVIDIA's documentation of CUTLASS
[[nodiscard]] Kernel pipeline(Kernel kernel, const std::vector<std::string>& temporaries,
                              std::string_view iname, std::int64_t stages);

}  // namespace rtcg::loopy
