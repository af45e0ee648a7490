#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rtcg/dg/operators/stage_runner.h"
#include "rtcg/loopy/tune/search.h"
#include "rtcg/loopy/tune/wisdom.h"

namespace rtcg::dg::detail {

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
void remember_shape(const std::string& key, runtime::Device device,
                    const loopy::TunedCandidate& found, const loopy::Wisdom& wisdom);

/// Runs stages with the shapes, in their order or as options.search takes them, on the arrays of a
/// runner, whose state stays. Each has to give the right-hand side that the runner's own shape
/// gives. Words are to_string(FusedShape).
///
/// @param runner  its arrays are in use for as long as loopy::is_work_left()
/// @param key     of the shapes in options.log
[[nodiscard]] loopy::SearchResult time_shapes(const std::shared_ptr<StageRunner>& runner,
                                              const std::vector<FusedShape>& candidates,
                                              const std::string& key,
                                              const loopy::SearchOptions& options);

}  // namespace rtcg::dg::detail
