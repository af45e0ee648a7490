#pragma once

/// The headers of `dg` that most programs need. Programs include flux/, the language of fluxes
/// alone, and mesh/partition.h by themselves.

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/equations/advection.h"
#include "rtcg/dg/equations/burgers.h"
#include "rtcg/dg/equations/euler.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/equations/problem.h"
#include "rtcg/dg/equations/wave.h"
#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/mesh/read_gmsh.h"
#include "rtcg/dg/operators/distribute.h"
#include "rtcg/dg/operators/solve_poisson.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/dg/output/write_file.h"
#include "rtcg/dg/output/write_vtu.h"
