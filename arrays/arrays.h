#pragma once

/// The headers of `arrays` that most programs need. Programs include matmul.h and interop/ by
/// themselves.

#include "rtcg/arrays/core/array.h"
#include "rtcg/arrays/core/npy.h"
#include "rtcg/arrays/create/create.h"
#include "rtcg/arrays/create/indexing.h"
#include "rtcg/arrays/fft/fft.h"
#include "rtcg/arrays/kernels/elementwise_kernel.h"
#include "rtcg/arrays/kernels/reduction_kernel.h"
#include "rtcg/arrays/lazy/evaluate.h"
#include "rtcg/arrays/lazy/functions.h"
#include "rtcg/arrays/random/generator.h"
#include "rtcg/arrays/scan/copy_if.h"
#include "rtcg/arrays/scan/cumulative.h"
#include "rtcg/arrays/scan/runs.h"
#include "rtcg/arrays/scan/scan_by_key.h"
#include "rtcg/arrays/scan/scan_kernel.h"
#include "rtcg/arrays/sort/histogram.h"
#include "rtcg/arrays/sort/list_builder.h"
#include "rtcg/arrays/sort/merge_sort.h"
#include "rtcg/arrays/sort/search.h"
#include "rtcg/arrays/sort/sort.h"
#include "rtcg/arrays/sparse/best_format.h"
#include "rtcg/arrays/sparse/sparse_matrix.h"
#include "rtcg/cgen/support/error.h"
