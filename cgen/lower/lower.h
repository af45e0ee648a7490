#pragma once

#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/dialect/dialect.h"

namespace rtcg::cgen {

/// `module` without constructs that `dialect` lacks, so that printing is mechanical. It rewrites
/// intrinsics, thread indices, barriers, half and complex numbers, vectors, OpenCL's address
/// spaces, and the includes and helper functions that these need.
///
/// In C and C++ a kernel becomes an entry of the host back end: a function of one thread and,
/// around it, loops over the launch, blocks spread over OpenMP's threads. In OpenCL a
/// dynamic_shared array becomes the last parameter of its kernel, given at launch as a size in
/// bytes; in CUDA a pointer to the one array that a module has. The README's table lists constructs
/// without a replacement. Types are not checked: run check_types before.
/// @throws Unsupported  cgen.lower.*: the dialect has neither the construct nor a replacement
[[nodiscard]] Module lower(const Module& module, Dialect dialect);

}  // namespace rtcg::cgen
