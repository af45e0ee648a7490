#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rtcg/dg/flux/flux_vector.h"

namespace rtcg::dg {

/// Some fields under one name, numbered after those of the groups before it.
struct FieldGroup {
  std::string name{};
  int count = 1;
  std::string axes{};      ///< as of FluxVector; empty: by count
  bool is_scalar = false;  ///< one number, not a vector of one

  friend bool operator==(const FieldGroup& left, const FieldGroup& right) = default;
};

/// `e:3,h:3`; `e:z,h:xy` on axes of space; `density,energy,momentum:2`, a name without a number is
/// a scalar.
///
/// @throws InvalidInput  dg.parse_field_groups.syntax, dg.parse_field_groups.duplicate
[[nodiscard]] std::vector<FieldGroup> parse_field_groups(std::string_view text);

/// The fields of a group, the first of them being component `first` of the state.
[[nodiscard]] FluxVector fields_of(const FieldGroup& group, int first);

/// The meanings of the names in the text of a flux.
struct FluxNames {
  std::vector<FieldGroup> fields{};
  int dimension = 3;  ///< of `n` and `x`
  std::vector<std::string> materials{};
  std::map<std::string, int> boundary_values{};  ///< how many components each has
  std::map<std::string, double> constants{};
  std::vector<std::string> functions{};  ///< functions that the caller defines
  /// The parameters given at run time. Default: every other name is one.
  std::optional<std::vector<std::string>> parameters{};
};

/// A flux from text, such as `0.5*cross(n, jump(h) - alpha*cross(n, jump(e)))`.
///
/// Statements end with `;`. `name = value;` gives a name to a scalar or vector; every other
/// statement adds its components to the flux. There are `+ - * /`, powers `a**b`, vectors
/// `[a, b]`, components `v[0]` and `v[0:2]`; the functions interior, exterior, jump, average, dot,
/// cross, norm, if_positive, min, max, abs, sqrt, pow, penalty; and the names `n` (normal), `x`
/// (point), `order`, `mesh_size`, `face_jacobian`, `element_jacobian` and `pi`, unless FluxNames or
/// the text use them otherwise.
/// @throws InvalidInput  dg.parse_flux.syntax, dg.parse_flux.unknown_name,
///                       dg.parse_flux.unknown_function, dg.parse_flux.argument_count,
///                       dg.parse_flux.not_a_scalar, dg.parse_flux.not_a_vector,
///                       dg.parse_flux.no_sides: a side of an expression without fields and
///                       materials, but with an undeclared name;
///                       dg.parse_flux.empty, and what the operations themselves throw
[[nodiscard]] FluxVector parse_flux(std::string_view text, const FluxNames& names);

}  // namespace rtcg::dg
