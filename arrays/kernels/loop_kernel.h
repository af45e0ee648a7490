#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/arrays/kernels/loop_lowering.h"
#include "rtcg/arrays/kernels/snippet.h"

// Generators of C text as kernels of the loop engine.

namespace rtcg::arrays::detail {

/// The statements of a snippet. @param has_more  functions or statements outside of it
/// @throws Unsupported  arrays.as_loop_kernel.no_loop
[[nodiscard]] std::vector<std::string> loop_statements(const Snippet& snippet, bool has_more);

/// The operation of the loop engine that joins `a` and `b` so, if there is one.
[[nodiscard]] std::optional<std::string> known_operation(const Snippet& join);
/// Whether that is the neutral element of the operation.
[[nodiscard]] bool is_neutral(const Snippet& value, const std::string& operation);

/// The expression of a snippet that reduces: `reduce(sum, i, x[i])`.
/// @throws Unsupported  arrays.as_loop_kernel.no_loop
[[nodiscard]] std::string loop_reduction(const Snippet& reduce, const Snippet& neutral,
                                         const Snippet& map);

/// A loop over i from 0 to n of these statements.
///
/// @param result  the type of out[0], if there is one
/// @throws Unsupported  arrays.as_loop_kernel.no_loop: the loop engine does not take them
[[nodiscard]] loopy::Kernel element_loop_kernel(const std::vector<KernelArgument>& arguments,
                                                const std::vector<std::string>& statements,
                                                const std::string& name,
                                                std::optional<DType> result = {});

}  // namespace rtcg::arrays::detail
