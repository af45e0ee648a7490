#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

struct KernelOptions {
  std::string name = "loopy_kernel";
  /// Arguments with types and shapes: `a, out: f32[n, m]; n: i32; table: f64[16] {space=constant}`.
  /// What it does not list is inferred, and so is what it leaves out: `a, out` states an order
  /// only. Options: order=C or F, strides=s1:s2, offset=o, space=global or constant. `...` may
  /// stand for the rest.
  std::string arguments{};
  /// Type of the arrays and scalars without a type that no bound, shape or index uses.
  std::optional<cgen::Type> default_type{};
  /// Facts about parameters: `n >= 1 and n mod 16 = 0`.
  std::string assumptions{};
  /// Every statement runs after the one before it.
  bool sequential_dependencies = false;
  /// Parameters with a known value.
  std::map<std::string, std::int64_t> fixed_parameters{};
};

/// A kernel from text.
///
///     make_kernel("{[i, j, k]: 0 <= i, j, k < n}", "c[i, j] = sum(k, a[i, k]*b[k, j])",
///                 {.default_type = cgen::f32});
///
/// Names that nothing declares become arguments: arrays with the shape that the accesses need,
/// parameters of domains and shapes as i32 scalars, and other scalars. A statement is within the
/// inames that its indices and values mention, those of the `for` around it, those in which the
/// temporaries that it reads get their values, and those on which the domains of all these depend.
/// Inames that share no condition become domains of their own, so that a sum over an empty loop is
/// 0. Patterns of `dep=` and queries of `dep_query=` match any statement but the one itself;
/// `dep=*` means all before it.
/// @param domains     as parse_domains takes them
/// @param statements  as parse_statements takes them
/// @throws InvalidInput  what the parsers throw; loopy.make_kernel.duplicate_id,
///         loopy.make_kernel.unknown_iname, loopy.make_kernel.unknown_dependency,
///         loopy.make_kernel.mixed_use, loopy.make_kernel.undeclared_target,
///         loopy.make_kernel.rank, loopy.make_kernel.unknown_shape,
///         loopy.make_kernel.arguments
/// @source Loo.py `make_kernel`; Kloeckner 2014, arXiv:1405.7470
[[nodiscard]] Kernel make_kernel(std::string_view domains, std::string_view statements,
                                 const KernelOptions& options = {});

}  // namespace rtcg::loopy
