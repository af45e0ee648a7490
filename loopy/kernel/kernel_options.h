#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "rtcg/cgen/ast/type.h"

namespace rtcg::loopy {

struct KernelOptions {
  std::string name = "loopy_kernel";
  /// Types of the elements of arguments: `particle {x, y, z: f32; kind: i32}`. Statements name
  /// fields, `p[i].x`. struct_text() gives the text of a cgen::LaidOutStruct.
  std::string structs{};
  /// Arguments with types and shapes: `a, out: f32[n, m]; n: i32; table: f64[16] {space=constant}`.
  /// Arguments that are not listed are inferred, and so are missing types and shapes: `a, out`
  /// states an order only. Options: order=C or F, strides=s1:s2, offset=o, space=global,
  /// constant or image, and of an image filter=point or linear, address=clamp, border, wrap or
  /// mirror, layers, levels=N, level_filter=point or linear. `...` is
  /// the rest.
  std::string arguments{};
  /// Type of the arrays and scalars without a type that no bound, shape or index uses.
  std::optional<cgen::Type> default_type{};
  /// Facts about parameters: `n >= 1 and n mod 16 = 0`.
  std::string assumptions{};
  /// Functions that statements call, with their types and their code in braces, for all targets or
  /// for one; what they compute, for the interpreter; and text ahead of all functions:
  ///
  ///     soft(x: f32): f32 = x/(1 + abs(x))
  ///       { return x/(1.0f + fabs(x)); }
  ///       cuda { return __fdividef(x, 1.0f + fabsf(x)); }
  ///     preamble cuda { #define FAST 1 }
  std::string functions{};
  /// Every statement runs after the one before it.
  bool sequential_dependencies = false;
  /// Parameters with a known value.
  std::map<std::string, std::int64_t> fixed_parameters{};
};

}  // namespace rtcg::loopy
