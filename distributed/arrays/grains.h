#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <string>

#include "rtcg/distributed/arrays/array_messages.h"
#include "rtcg/distributed/arrays/blocks.h"

// Kernels over the grains of a block, and values that each grain has.

namespace rtcg::distributed::detail {

/// Of kernels over the elements h of the grains c of an array of n: their domain, the element's
/// place in the array, and the number of grains.
struct GrainTexts {
  explicit GrainTexts(std::int64_t grain);

  std::string domain;
  std::string place;
  std::string count;
  /// A thread for each short grain, a block for each long one.
  std::string recipe;
};

/// Sends the values of this rank's grains to all others, and receives theirs.
///
/// @param all   a value for each grain of all ranks; those of this rank are set
/// @param what  the calculation, for errors
void exchange_values_of_grains(const Group& group, const Blocks& blocks, runtime::StreamRef stream,
                               const arrays::AnyArray& all, const std::string& what);

}  // namespace rtcg::distributed::detail
