#pragma once

/// Ranks, each with a device, that compute together: as threads of one process or as processes.

#include "rtcg/cgen/support/error.h"
#include "rtcg/distributed/collectives/collectives.h"
#include "rtcg/distributed/group/group.h"
#include "rtcg/distributed/group/rounds.h"
#include "rtcg/distributed/group/run_ranks.h"
#include "rtcg/distributed/mpi/run_mpi.h"
#include "rtcg/distributed/nccl/nccl_group.h"
