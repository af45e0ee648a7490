#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/loopy/create/make_kernel.h"

namespace rtcg::loopy {

/// A product of arrays, summed over the indices that the result does not have.
///
///     make_einsum("ik,kj->ij", {"a", "b"})        out[i, j] = sum(k, a[i, k]*b[k, j])
///
/// The length of index i is the parameter `Ni`.
/// @param subscripts  one letter for each axis; without `->` the result has the letters that occur
///                    once, sorted. A letter that occurs twice in one operand selects its diagonal
/// @param operands    names, one for each part between commas
/// @param options     of the kernel; the result is called `out`
/// @throws InvalidInput  loopy.make_einsum.syntax, and what make_kernel throws
/// @source Loo.py `make_einsum`; NumPy `einsum`
[[nodiscard]] Kernel make_einsum(std::string_view subscripts,
                                 const std::vector<std::string>& operands,
                                 const KernelOptions& options = {.name = "einsum"});

/// Copies an array into one with another layout: `output[i0, i1] = input[i0, i1]`.
///
///     make_copy_kernel(2, "C", "F")        transposes in memory
///
/// The length of axis 0 is the parameter `n0`.
/// @param axes           at least one
/// @param output_layout  as tag_array_axes takes it
/// @param input_layout   the same
/// @throws InvalidInput  loopy.make_copy_kernel.no_axes, and what tag_array_axes throws
/// @source Loo.py `make_copy_kernel`
[[nodiscard]] Kernel make_copy_kernel(int axes, std::string_view output_layout,
                                      std::string_view input_layout,
                                      const KernelOptions& options = {.name = "copy"});

}  // namespace rtcg::loopy
