#pragma once

#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Lets warps compute a sum of products on their tensor cores, which multiply and add small
/// matrices: tags the iname of the sum `mma`.
///
/// Rewrites, with i_1 on l.1, j_1 on l.0 and lanes i_2, j_2 of two values each,
///     c[8*i_2 + i_1, 2*j_1 + j_2] = sum(k, a[8*i_2 + i_1, k]*b[k, 2*j_1 + j_2])
///   into
///     each thread:  left = a at its two rows and its place of k;  right = b at that place and one
///                   column
///     each warp:    acc = acc + left*right
///     each thread:  c at its two rows and two columns = acc
///
/// Threads along l.1, a multiple of 8, have different rows, and the 4 along l.0 different columns.
/// Each has an even number of rows and of columns as lanes, in any order: which rows and columns
/// these are is up to the other transformations. The iname runs from 0 over a multiple of 4 in f64,
/// of 16 in f16 and bf16, and of 32 in i8 and u8. One factor mentions the iname on l.1 and not that
/// on l.0, the other one the reverse. Factors are read as they are, from the array or from a tile
/// that was copied before; where the domain ends, they are 0.
///
/// Sums of f64 are of products of f64, those of f32 of products of f16 or bf16 that are cast to
/// f32, `cast(f32, a[i, k])*cast(f32, b[k, j])`, and those of i32 of products of i8 or u8 that are
/// cast to i32. Products are exact in f32, but tensor cores add up those of a step in an order and
/// with a rounding of their own.
///
/// Devices older than sm_90 (f64) or sm_80 (others) exchange the factors and add the products one
/// by one. OpenCL and the host run the iname as a loop.
/// @param iname  of a reduction, a loop
/// @throws InvalidInput  loopy.use_tensor_cores.unknown_iname,
///                       loopy.use_tensor_cores.tagged_already,
///                       loopy.use_tensor_cores.no_product, loopy.use_tensor_cores.no_atom,
///                       loopy.use_tensor_cores.no_warp, loopy.use_tensor_cores.partial_atom,
///                       loopy.use_tensor_cores.not_a_box; what infer_types throws
/// @source PTX ISA 9.0, mma.m16n8k4, mma.m16n8k16 and mma.m16n8k32
[[nodiscard]] Kernel use_tensor_cores(Kernel kernel, std::string_view iname);

}  // namespace rtcg::loopy
