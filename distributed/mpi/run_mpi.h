#pragma once

#include <functional>
#include <optional>

#include "rtcg/distributed/group/group.h"
#include "rtcg/distributed/group/run_ranks.h"

namespace rtcg::distributed {

/// The device of a rank: with GPUs of CUDA the one of its number on its machine, in turns;
/// otherwise Device::best().
[[nodiscard]] runtime::Device device_of_rank(int node_rank);

struct MpiOptions {
  GroupOptions group{};
  std::optional<runtime::Device> device{};  ///< none: device_of_rank
};

/// The ranks of the processes that one `mpirun` started, each with one process. Messages between
/// devices go through memory of the host. Kernels of a solver of dg that wait for others' stores
/// (Waiting::kernels) reach memory of other processes of the machine by handles of the driver.
///
/// Open MPI or MPICH is opened at run time, the one whose launcher started the process; programs
/// that use MPI themselves share theirs. MPI ends with the process.
///
/// @throws Unsupported   distributed.mpi.not_found
/// @throws DeviceError   distributed.mpi.call_failed
/// @throws InvalidInput  distributed.group.bad_timeout
[[nodiscard]] Group mpi_group(const MpiOptions& options = {});

/// Runs `work` with the group of this process. If it throws, the other ranks learn why, and their
/// calls throw distributed.group.rank_failed. A rank that ends without a word is noticed, too.
///
///     mpirun -n 4 program
///
/// @throws  what mpi_group and `work` throw; the message begins with the rank
void run_mpi(const std::function<void(const Group&)>& work, const MpiOptions& options = {});

}  // namespace rtcg::distributed
