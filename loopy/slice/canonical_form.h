#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "rtcg/loopy/slice/slicing.h"

namespace rtcg::loopy {

using Renaming = std::map<std::string, std::string, std::less<>>;

/// A kernel up to names of inames, variables and statements, the order of statements, terms and
/// factors, and the order of the axes of arrays with the same memory layout.
struct CanonicalForm {
  /// Equal for kernels that differ in these alone. Empty: the kernel has more than 100 names.
  std::string key{};
  /// The canonical names of inames and variables, which are arrays, parameters and scalars.
  Renaming names{};
  /// Of each array with several groups of reads (FetchPlan::group): the place of each group in the
  /// canonical order.
  std::map<std::string, std::vector<std::size_t>, std::less<>> groups{};
};

/// @param kernel  as described; name, tags of loops and priorities do not matter
/// @throws  what infer_types and expand_subst throw
/// @source colour refinement and individualisation: McKay and Piperno 2014, Practical graph
/// isomorphism, II. Where
///         refinement leaves names alike that no symmetry exchanges, equal kernels may get
///         different keys.
[[nodiscard]] CanonicalForm canonical_form(const Kernel& kernel);

/// A slicing of a kernel with the canonical names of it, and back.
[[nodiscard]] Slicing to_canonical(Slicing slicing, const CanonicalForm& form);
[[nodiscard]] Slicing from_canonical(Slicing slicing, const CanonicalForm& form);

}  // namespace rtcg::loopy
