#pragma once

#include <functional>
#include <string_view>

#include "rtcg/loopy/symbolic/expr.h"
#include "rtcg/loopy/symbolic/tokenizer.h"

namespace rtcg::loopy {

/// An expression from kernel text: `+ - * / // % **`, comparisons, `and or not`, `& | ^ << >>`,
/// `a[i, j]`, `a[[k]]`, `f(x)`, `if(c, a, b)`, `a if c else b`, `cast(f32, x)`, numbers with the
/// suffixes `f` and `d`, imaginary ones (`2j`, `0.5jf`), and reductions.
///
/// Reductions: `sum(i, e)`, `product(i, e)`, `any`, `all`, `argmin(i, e, place)`, `argmax`, over
/// several inames `sum((i, j), e)`, and `reduce(max, i, e)` or `simul_reduce` for any operation.
/// `min` and `max` of two values are functions: their reductions are written with `reduce`. With
/// the type of the accumulator, for any types of the values and the result: `sum_f64(i, e)`,
/// `reduce(max_i64, i, e)`, `argmin_f32(i, e, place)`; it means `sum(i, cast(f64, e))`.
///
/// Parts of arrays, `[k]: a[i, k]`, are arguments of kernels that statements call: they mean `a[i,
/// _0]`. A tag after a name, `a$near[i]`, `f$outer(x)`, marks the use: make_kernel makes a
/// substitution rule of that name.
/// @throws InvalidInput  loopy.parse_expr.syntax
[[nodiscard]] Expr parse_expr(std::string_view text);

/// Reads the longest expression at the front of `reader`.
[[nodiscard]] Expr read_expr(TokenReader& reader);

/// f32, f64, i32, ..., float32, float64, int32, ..., c64, c128 (complex), f32x4, float4 (vectors).
[[nodiscard]] std::optional<cgen::Type> parse_scalar_type(std::string_view name);

}  // namespace rtcg::loopy
