#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/stage_runner.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::dg::detail {

/// A shape that was tried.
struct TimedShape {
  FusedShape shape{};
  double microseconds = 0;  ///< of a stage; 0 if it was refused
  int registers = 0;        ///< of a thread
  std::string refusal{};
};

/// Shapes worth trying on a device for kernels of a shape, all within its shared memory.
///
/// @param with_split_singles  whether f32 may take tensor cores, see Product::tensor_cores
[[nodiscard]] std::vector<FusedShape> fused_candidates(const KernelShape& shape,
                                                       const cgen::Type& real,
                                                       const runtime::DeviceInfo& device,
                                                       bool with_split_singles = false);

/// The key of a fused kernel without its shape: equal systems, orders, dimensions and precisions
/// have equal keys.
[[nodiscard]] std::string key_of(const KernelWriter& writer);

/// The shape that a search found on this very device, by key_of; nullopt: none yet.
[[nodiscard]] std::optional<FusedShape> known_shape(const std::string& key, runtime::Device device,
                                                    const loopy::Wisdom& wisdom);
void remember_shape(const std::string& key, runtime::Device device, const TimedShape& found,
                    const loopy::Wisdom& wisdom);

/// Runs stages with each shape on the runner's state, which keeps its values. The fastest comes
/// first, refused ones last; the runner ends up with the fastest.
///
/// @cost compiles all of them, by all cores at once
[[nodiscard]] std::vector<TimedShape> time_shapes(StageRunner& runner,
                                                  const std::vector<FusedShape>& candidates);

}  // namespace rtcg::dg::detail
