#pragma once

#include <string>

#include "rtcg/loopy/symbolic/affine.h"

namespace rtcg::loopy {

/// The expression as kernels are written: `2*a[i] - b[i, j]`, `sum(k, x[k])`, `n // 16`. Parsed, it
/// gives an equal expression.
[[nodiscard]] std::string to_string(const Expr& expr);
[[nodiscard]] std::string to_string(const Affine& affine);

/// `f32`, `i64`, `c64` (two f32), `f32x4` ...; empty for types that kernels cannot name.
[[nodiscard]] std::string scalar_type_name(const cgen::Type& type);

}  // namespace rtcg::loopy
