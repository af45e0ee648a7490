#pragma once
// Internal header: it is not installed.

#include <cstddef>
#include <vector>

#include "rtcg/dg/reference/reference_element.h"

// Reflections of a reference element swap the vertices 0 and 1, and in three dimensions 2 and 3.
// The element's operators commute with them, so they map sums to sums and differences to
// differences of reflected values: in these its matrices have about a third of their entries.

namespace rtcg::dg {

/// Numbers of nodes, or of places on faces, that reflections map to each other: 1, 2 or 4 of them.
/// Number i + 1 is the first reflection of number i for even i, number i + 2 the second.
using ReflectionOrbit = std::vector<int>;

/// `count` orbits of one each.
[[nodiscard]] std::vector<ReflectionOrbit> trivial_orbits(std::size_t count);

/// Each node is in one orbit.
[[nodiscard]] std::vector<ReflectionOrbit> node_orbits(const ReferenceElement& element);

/// The places of `count` faces from `first` on, numbered from 0 as the lift's columns are; those of
/// faces that a reflection maps outside of these are separate orbits.
[[nodiscard]] std::vector<ReflectionOrbit> place_orbits(const ReferenceElement& element,
                                                        std::size_t first, std::size_t count);

/// The same product for waves of values: y = A x becomes Y = B X, where X are, orbit by orbit, the
/// sums of x with the signs of waves, and y those of Y. The waves of an orbit of two have the signs
/// ++ and +-, those of four ++++, +-+-, ++-- and +--+. Entries that are only rounding errors are
/// set to 0.
[[nodiscard]] Matrix between_waves(const Matrix& matrix, const std::vector<ReflectionOrbit>& rows,
                                   const std::vector<ReflectionOrbit>& columns);

/// Directions that reflections map to themselves but for the sign, [direction][axis]: derivatives
/// along r, s, t, combined by a row, are one along a direction.
[[nodiscard]] Matrix reflection_directions(int dimension);
/// The transposed inverse: its rows combine factors of derivatives along axes into the factor of
/// the derivative along a direction.
[[nodiscard]] Matrix reflection_components(int dimension);

}  // namespace rtcg::dg
