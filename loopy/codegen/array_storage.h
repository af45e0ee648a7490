#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/loopy/kernel/kernel.h"

// Temporaries of a thread or a block as arrays of C.

namespace rtcg::loopy {

class KernelVariables;

/// Extents of an array with an index for each axis, whose rows may be longer than the shape says;
/// empty if the strides allow only one index, and for scalars.
/// @throws InvalidInput  loopy.generate.array_length_not_constant,
///         loopy.generate.temporary_too_long
[[nodiscard]] std::vector<int> storage_extents(const Kernel& kernel, const Temporary& temporary);
/// The same, but one extent if the strides allow only one index.
[[nodiscard]] std::vector<int> declared_extents(const Kernel& kernel, const Temporary& temporary);
/// The type of an array with these extents, once its first axes have been indexed.
template <class Extent>
[[nodiscard]] cgen::Type array_type(cgen::Type element, const std::vector<Extent>& extents,
                                    std::size_t indexed_axes = 0) {
  for (std::size_t axis = extents.size(); axis-- > indexed_axes;) {
    element = cgen::array_of(std::move(element), extents[axis]);
  }
  return element;
}

/// The shared memory of a block.
struct BlockMemory {
  std::vector<cgen::Statement> declarations{};
  std::int64_t bytes = 0;
  /// The arrays that take them, with the bytes of each.
  std::vector<std::pair<std::string, std::int64_t>> arrays{};
  /// Whether they are parts of one array whose size the launch gives.
  bool is_dynamic = false;
};

/// The temporaries in shared memory that the launch uses, as arrays.
[[nodiscard]] BlockMemory block_memory(KernelVariables& variables);

}  // namespace rtcg::loopy
