#pragma once

#include "rtcg/arrays/fft/fft.h"
#include "rtcg/distributed/arrays/distributed_array.h"

// Matrices over ranks, whose rows are distributed.

namespace rtcg::distributed {

/// The transposed matrix, whose rows are distributed as well.
///
/// @shape x  two axes
/// @throws InvalidInput  distributed.arrays.shape
/// @cost   one launch for the messages, one exchange of all elements, one launch for each rank's
[[nodiscard]] DistributedArray transposed(const DistributedArray& x);

/// Fourier transforms along both axes, as arrays::fft2: c64 or c128. The last bits of a result may
/// depend on how many rows a rank has.
///
/// @shape x  two axes, of length 1 at least
/// @throws InvalidInput  distributed.arrays.shape; as arrays::fft
/// @cost   two transforms of a block and two transpositions
[[nodiscard]] DistributedArray fft2(const DistributedArray& x,
                                    arrays::FftNorm norm = arrays::FftNorm::backward);
[[nodiscard]] DistributedArray ifft2(const DistributedArray& x,
                                     arrays::FftNorm norm = arrays::FftNorm::backward);

}  // namespace rtcg::distributed
