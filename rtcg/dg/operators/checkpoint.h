#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/dg/operators/system.h"

namespace rtcg::dg::detail {

/// What is left of a run to a given time: a resumed one takes steps of the same length.
struct RunPlan {
  double end = 0;
  double courant = 0;
  double time_step = 0;
  long long steps_left = 0;
};

struct Checkpoint {
  double time = 0;
  long long steps = 0;
  RunPlan plan{};
  std::vector<std::byte> state{};  ///< as kernels hold it
};

/// What a checkpoint is of: system, order, mesh and precision, as one line of text.
[[nodiscard]] std::string checkpoint_head(const System& system, const Discretization& on,
                                          const cgen::Type& real);

/// Written beside the target first and then renamed, so that a crash leaves the old one.
///
/// @throws InvalidInput  dg.checkpoint.unwritable
void write_checkpoint(const std::string& path, const std::string& head,
                      const Checkpoint& checkpoint);
/// @throws InvalidInput  dg.checkpoint.unreadable, dg.checkpoint.mismatch
[[nodiscard]] Checkpoint read_checkpoint(const std::string& path, const std::string& head,
                                         std::size_t state_bytes);

}  // namespace rtcg::dg::detail
