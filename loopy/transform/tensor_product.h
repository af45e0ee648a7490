#pragma once
// Internal header: it is not installed.

#include <optional>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// A sum of products as tensor cores compute it: loops and factors by their parts in it.
///
/// Threads along l.1 have different rows, those along l.0 different columns.
struct TensorProduct {
  TensorAtom atom{};
  Expr left = 0;          ///< the factor of the rows, in the type of the atom's input
  Expr right = 0;         ///< that of the columns
  std::string rows{};     ///< the iname on l.1
  std::string columns{};  ///< the iname on l.0
  /// Lanes around the statement. Of each pair of iterations of `row_pairs` one is eight rows of
  /// the atom, of each pair of `column_pairs` one is every other column.
  std::vector<std::string> lanes{};
  std::string row_pairs{};
  std::string column_pairs{};
  std::string contraction{};  ///< the iname tagged mma
  std::int64_t length = 0;    ///< of the contraction
  /// Inames that all threads of a warp have in common: those of grids, loops and l.2.
  NameSet common{};
  /// What the factors ask for of their inames beyond the lengths of the loops: they are 0
  /// elsewhere.
  std::vector<Constraint> left_bounds{};
  std::vector<Constraint> right_bounds{};
};

/// The atom for sums of a type of products of a type of factors; nothing if there is none.
[[nodiscard]] std::optional<TensorAtom> find_tensor_atom(const cgen::Type& input,
                                                         const cgen::Type& sum);

/// The factors of a sum of products, and its atom; nothing for other reductions and types.
struct TensorSum {
  TensorAtom atom{};
  std::vector<Expr> factors{};
};
/// @param kernel  typed, without rules
[[nodiscard]] std::optional<TensorSum> find_tensor_sum(const Kernel& kernel,
                                                       const Reduction& reduction);

/// How tensor cores compute a reduction of a statement.
///
/// @param kernel       typed, without rules
/// @param statement    the one around the reduction, without lanes that neither factor mentions
/// @param contraction  one of the reduction's inames
/// @throws InvalidInput  loopy.use_tensor_cores.no_product, loopy.use_tensor_cores.no_atom,
///                       loopy.use_tensor_cores.no_warp, loopy.use_tensor_cores.partial_atom,
///                       loopy.use_tensor_cores.not_a_box
[[nodiscard]] TensorProduct find_tensor_product(const Kernel& kernel, const Instruction& statement,
                                                const Reduction& reduction,
                                                const std::string& contraction);

}  // namespace rtcg::loopy
