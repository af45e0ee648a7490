#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Chooses the memory of temporaries.
///
/// @param space  `private`, `local`, `global`, or `auto` to let rtcg choose
/// @throws InvalidInput  loopy.set_temporary_address_space.unknown_temporary,
///                       loopy.set_temporary_address_space.unknown_space
/// @source Loo.py `set_temporary_address_space`
[[nodiscard]] Kernel set_temporary_address_space(Kernel kernel,
                                                 const std::vector<std::string>& temporaries,
                                                 std::string_view space);

/// Gives temporaries an axis for each of some inames: each iteration has its own elements.
///
/// Rewrites
///     for i in [0, 8): t = a[i]; b[i] = t
///   into
///     t: f32[8];  for i in [0, 8): t[i] = a[i]; b[i] = t[i]
///
/// @param inames       of constant length
/// @param temporaries  empty: all that statements within one of the inames write. All statements
///                     that touch one have to be within the same of the inames
/// @throws InvalidInput  loopy.privatize_temporaries.unknown_iname,
///                       loopy.privatize_temporaries.unknown_temporary,
///                       loopy.privatize_temporaries.no_constant_length,
///                       loopy.privatize_temporaries.used_outside
/// @source Loo.py `privatize_temporaries_with_inames`
[[nodiscard]] Kernel privatize_temporaries(Kernel kernel, const std::vector<std::string>& inames,
                                           const std::vector<std::string>& temporaries = {});

/// Takes an axis away from temporaries that have an element for each value of an iname, where each
/// iteration uses but its own: the inverse of privatize_temporaries.
///
/// Rewrites
///     t: f32[8];  for i in [0, 8): t[i] = a[i]; b[i] = t[i]
///   into
///     for i in [0, 8): t = a[i]; b[i] = t
///
/// @param temporaries  every access has the iname, less a constant, as one index, the same for all;
///                     it is written first, under no condition
/// @throws InvalidInput  loopy.unprivatize_temporaries.unknown_iname,
///                       loopy.unprivatize_temporaries.unknown_temporary,
///                       loopy.unprivatize_temporaries.no_such_axis,
///                       loopy.unprivatize_temporaries.needed_later
/// @source Loo.py `unprivatize_temporaries_with_inames`
[[nodiscard]] Kernel unprivatize_temporaries(Kernel kernel, std::string_view iname,
                                             const std::vector<std::string>& temporaries);

}  // namespace rtcg::loopy
