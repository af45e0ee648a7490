#pragma once
// Internal header: it is not installed.

#include <functional>

#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/expr.h"

namespace rtcg::loopy {

/// An index with quotients and remainders by constants in a shorter form.
///
/// Those of one number are put together again, `72*(i // 72) + i % 72` is `i`, also those by
/// parameters; what divides them is
/// taken out, `(4*i + j) % 72` with j from 0 to 3 is `4*(i % 18) + j`, and so are multiples,
/// `(4*i + j) // 4` is `i + j // 4`; and those that cannot change anything are dropped. What is
/// divided may itself have quotients and remainders. Others stay as they are written.
/// @param is_nonnegative  whether that is known of a form: it may always say no
[[nodiscard]] Expr fold_quotients(const Expr& index,
                                  const std::function<bool(const Affine&)>& is_nonnegative);

/// Whether an index has quotients or remainders.
[[nodiscard]] bool has_quotients(const Expr& index);

}  // namespace rtcg::loopy
