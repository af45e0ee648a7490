#pragma once

/// What most programs need of the layer `dg`; beside it there are flux/ for the language of fluxes
/// alone, as text and as code, and mesh/partition.h.

#include "rtcg/cgen/support/error.h"
#include "rtcg/dg/equations/advection.h"
#include "rtcg/dg/equations/burgers.h"
#include "rtcg/dg/equations/euler.h"
#include "rtcg/dg/equations/maxwell.h"
#include "rtcg/dg/equations/problem.h"
#include "rtcg/dg/equations/wave.h"
#include "rtcg/dg/mesh/box_mesh.h"
#include "rtcg/dg/mesh/read_gmsh.h"
#include "rtcg/dg/operators/solve_poisson.h"
#include "rtcg/dg/operators/solver.h"
#include "rtcg/dg/output/write_file.h"
#include "rtcg/dg/output/write_vtu.h"
