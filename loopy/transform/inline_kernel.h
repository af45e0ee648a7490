#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What arguments of an inlined kernel are where it is called. `{"x", "a[i, _0]"}`: its `x[k]` is
/// `a[i, k]`; `{"s", "2*t"}`: its scalar `s` is `2*t`.
using Bindings = std::vector<std::pair<std::string, std::string>>;

struct InlineOptions {
  /// Whether the statements become a function of the text, one for all calls that need the same;
  /// otherwise they are inserted among the other statements.
  bool as_function = false;
};

/// Puts the statements of another kernel into the place of a statement that does nothing.
///
/// Rewrites, for a kernel `y[k] = s*x[k]` called at `call` with x as a[i, _0], y as b[i, _0]
///     for i: ... nop {id=call}
///   into
///     for i: for k: b[i, k] = s*a[i, k]
///
/// The statements are within the inames of the call, under its conditions, and wait for what it
/// waits for. Arguments that are not bound are those of the same name; the kernel gets them where
/// it lacks them. Inames, temporaries, rules and ids get new names where theirs are taken.
/// @param callee    recipes have it as the text of a kernel file, or the path of one
/// @param call      id of a `nop` statement
/// @param bindings  `_0`, `_1`, ... are the callee's indices
/// @param options   as a function, it gets pointers to the parts of arrays that it touches, and
///                  scalars; its loops are sequential, and it has no barriers and no C text
/// @throws InvalidInput  loopy.inline_kernel.not_a_function, loopy.inline_kernel.no_call,
///                       loopy.inline_kernel.bad_binding,
///                       loopy.inline_kernel.different_types, loopy.inline_kernel.axis_used_twice,
///                       loopy.parse_expr.syntax
/// @throws Unsupported   loopy.to_kernel_file.not_sayable
/// @source Loo.py `inline_callable_kernel`
[[nodiscard]] Kernel inline_kernel(Kernel kernel, const Kernel& callee, std::string_view call,
                                   const Bindings& bindings = {},
                                   const InlineOptions& options = {});

}  // namespace rtcg::loopy
