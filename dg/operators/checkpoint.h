#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/dg/equations/system.h"
#include "rtcg/dg/operators/discretization.h"

namespace rtcg::dg::detail {

/// The rest of a run to a given time: a resumed run takes steps of the same length.
struct RunPlan {
  double end = 0;
  double courant = 0;
  double time_step = 0;
  long long steps_left = 0;
  long long steps_to_speeds = 0;  ///< until the speed of waves is looked at again
};

struct Checkpoint {
  double time = 0;
  long long steps = 0;
  RunPlan plan{};
  std::vector<std::byte> state{};  ///< as kernels hold it
};

/// The problem of a checkpoint, as one line of text: system, order and precision in words; mesh,
/// fluxes, boundary conditions, parameters, materials and boundary values as fingerprints. Of
/// signals and boundary values, which are functions, at some times and points. Of a part of a mesh
/// it is that of the whole one, on the first rank; all ranks call it.
[[nodiscard]] std::string checkpoint_head(const System& system, const Discretization& on,
                                          const SystemData& data, const cgen::Type& real);

/// Writes a file in the same folder and renames it, so a crash leaves the old checkpoint.
///
/// @throws InvalidInput  dg.checkpoint.unwritable
void write_checkpoint(const std::string& path, const std::string& head,
                      const Checkpoint& checkpoint);
/// @throws InvalidInput  dg.checkpoint.unreadable: not a checkpoint, truncated, or with another
///                       checksum; dg.checkpoint.old_format; dg.checkpoint.mismatch: the message
///                       has the difference
[[nodiscard]] Checkpoint read_checkpoint(const std::string& path, const std::string& head,
                                         std::size_t state_bytes);

}  // namespace rtcg::dg::detail
