#pragma once

#include <memory>
#include <vector>

#include "rtcg/dg/equations/system.h"
#include "rtcg/dg/mesh/partition.h"
#include "rtcg/dg/operators/discretization.h"

namespace rtcg::dg {

struct DistributeOptions {
  PartitionMethod method = PartitionMethod::automatic;
  /// [element]: the rank that has it; empty: what partition() finds. Ranks may have none.
  std::vector<int> rank_of{};
};

/// A rank's part of a mesh, with polynomials of one order. All ranks call it with the same mesh. A
/// Solver on the result solves with the other ranks, on the device of its rank: states, materials
/// and files are those of the rank's elements.
///
///     run_ranks({gpu_0, gpu_1}, [&](const Group& group) {
///       const auto on = distribute(mesh, 4, group);
///       Solver solver(system, on, data_of_rank(data, *on), {.device = group.device()});
///       ...
///     });
///
/// The results have the bits of one rank: an element's numbers depend on its own and its
/// neighbours' alone, and sums over elements are made in the order of the mesh.
///
/// @throws InvalidInput  dg.discretize.empty_mesh, dg.split_mesh.bad_parts; what discretize throws
/// @cost  each rank finds the neighbours of all elements and partitions the mesh
[[nodiscard]] std::shared_ptr<const Discretization> distribute(
    const Mesh& mesh, int order, const distributed::Group& group,
    const DistributeOptions& options = {});

/// The data of a rank's elements: its materials, of those of the whole mesh. All else is the same.
///
/// @throws InvalidInput  dg.data_of_rank.count: a material without a number for each element
[[nodiscard]] SystemData data_of_rank(SystemData data, const Discretization& on);
/// A state of the whole mesh on a rank's elements.
///
/// @throws InvalidInput  dg.check_state.shape: it is not of the whole mesh
[[nodiscard]] State state_of_rank(const State& whole, const Discretization& on);
/// The state of the whole mesh, from all ranks' parts, on the first rank; no elements on others.
/// All ranks call it.
///
/// @throws InvalidInput  dg.check_state.shape
[[nodiscard]] State gathered_state(const Discretization& on, const State& state);

}  // namespace rtcg::dg
