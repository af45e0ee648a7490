#pragma once

/// What most programs need of the layer `arrays`; beside it there are matmul.h and interop/.

#include "rtcg/arrays/array.h"
#include "rtcg/arrays/create.h"
#include "rtcg/arrays/indexing.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/npy.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/cgen/support/error.h"
