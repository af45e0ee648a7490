#pragma once

#include "bench/gpu/report.h"
#include "rtcg/runtime/device/device.h"

namespace rtcg::bench {

// Each measures one area on the device, ours and the peers alternating in the same run, and checks
// the results; a wrong one throws std::runtime_error.

/// The cost of a launch: `function(...)` and `Kernel::launch` against raw cuLaunchKernel.
void measure_launch(runtime::Device device, Report& report);
/// Conjugate gradients as a loop of a graph, against replays of graphs and launches.
void measure_graph_loops(runtime::Device device, Report& report);
/// Jacobi steps in one launch, with barriers of the grid, against a launch for each.
void measure_joined_launches(runtime::Device device, Report& report);
/// Square single-precision products by scripted transformations against cuBLAS.
void measure_matmul(runtime::Device device, Report& report);
/// The same product with slicings that the tuner found, within 12 s a size or RTCG_TUNE_SECONDS;
/// so the other sections with `tune`, of 6 or 8 s a case.
void measure_tune_matmul(runtime::Device device, Report& report);
/// Products of sizes that libraries are not made for, among them many small ones.
void measure_tune_small(runtime::Device device, Report& report);
/// Derivatives on tetrahedra of orders 1 to 9 against one product of cuBLAS.
void measure_tune_dg(runtime::Device device, Report& report);
/// Transpose, stencil, convolution and n-body as shares of the device's roofline.
void measure_tune_roofline(runtime::Device device, Report& report);
/// How soon a search is within 5 % of the best of all slicings of a small product, against the time
/// that trying all of them takes.
void measure_search_quality(runtime::Device device, Report& report);
/// Candidates that are compiled, verified and timed in a second.
void measure_trial_rate(runtime::Device device, Report& report);
/// Against the device's own copy of as many bytes.
void measure_transpose(runtime::Device device, Report& report);
void measure_stencil(runtime::Device device, Report& report);
/// Sums of the rows of a matrix against CUB.
void measure_reduce(runtime::Device device, Report& report);

/// Expressions of arrays against cub::DeviceTransform and kernels written by hand.
void measure_elementwise(runtime::Device device, Report& report);
/// Reductions of arrays, whole and along axes, against CUB.
void measure_reductions(runtime::Device device, Report& report);
/// Running sums of arrays against CUB.
void measure_scan(runtime::Device device, Report& report);
/// Selections and runs of equal keys against CUB.
void measure_select(runtime::Device device, Report& report);
/// Sorts of keys and pairs against CUB.
void measure_sort(runtime::Device device, Report& report);
/// Counts by value against CUB.
void measure_histogram(runtime::Device device, Report& report);
/// Fourier transforms of c64, in one dimension from 2^10 to 2^26, of 256^3, and of rows, against
/// cuFFT.
void measure_fft(runtime::Device device, Report& report);
/// Products of sparse matrices with vectors against cuSPARSE: a stencil, rows by a power law,
/// bands.
void measure_spmv(runtime::Device device, Report& report);
/// Also in every format that fits, and in the best one. Takes minutes.
void measure_spmv_formats(runtime::Device device, Report& report);
/// Shapes of tiles and chunks for matrices whose rows are of different lengths.
void measure_spmv_shapes(runtime::Device device, Report& report);
/// 200 iterations of conjugate gradients on stencils against a textbook's with cuSPARSE and cuBLAS.
void measure_cg(runtime::Device device, Report& report);
/// Solutions of stencils of 100^3 and 200^3 by conjugate gradients with preconditioners.
void measure_preconditioners(runtime::Device device, Report& report);
/// Broadcast, transposed and strided operands against the device's copy of as many bytes.
void measure_strided(runtime::Device device, Report& report);
/// Uniform and normal random numbers against cuRAND.
void measure_random(runtime::Device device, Report& report);
/// What an expression whose kernel is there costs the host, against raw cuLaunchKernel.
void measure_host_cost(runtime::Device device, Report& report);
/// Time steps of Maxwell's equations, 13,000 to 5 million unknowns, replayed as graphs beside their
/// launches one by one.
void measure_dg_steps(runtime::Device device, Report& report);
/// Stages of Maxwell's equations in three dimensions, 60 million unknowns, orders 1 to 9 or those
/// in RTCG_DG_ORDERS, both precisions, with the shapes that the solver takes without a search. Then
/// order 4 with a user's flux and with the shipped one, in turns.
void measure_dg_maxwell(runtime::Device device, Report& report);
/// The same with the fastest of all candidates, each of which it prints: those like the default
/// shape first, as many as RTCG_DG_SECONDS allow for all orders together; default: all.
void measure_dg_maxwell_search(runtime::Device device, Report& report);
/// The same in f32 on tensor cores, each factor cut into two numbers of tf32, within 50 s or
/// RTCG_DG_SECONDS.
void measure_dg_maxwell_split(runtime::Device device, Report& report);
/// How long it takes to make a solver of 60 million unknowns that searches for its kernel with
/// nothing compiled or remembered, and one that finds both: order 4 or those in RTCG_DG_ORDERS.
void measure_dg_tuning(runtime::Device device, Report& report);

/// Halos of 4 KB to 16 MB, compared with raw peer copies and NCCL's calls, and an all_reduce of a
/// scalar, compared with ncclAllReduce, on 2, 4, ... GPUs.
void measure_scaling_calls(runtime::Device device, Report& report);
/// Products of square matrices over 1, 2, 4, ... GPUs, by our kernels and by cuBLAS.
void measure_scaling_products(runtime::Device device, Report& report);
/// Maxwell's equations of order 4 on 1, 2, 4, ... GPUs, in both precisions, by peer copies and by
/// NCCL where it is found: strong with 59, 7.3 and 0.9 million unknowns for all, weak with 59
/// million each. A figure takes RTCG_SCALING_SECONDS; default: 1.
void measure_scaling_strong(runtime::Device device, Report& report);
void measure_scaling_weak(runtime::Device device, Report& report);

}  // namespace rtcg::bench
