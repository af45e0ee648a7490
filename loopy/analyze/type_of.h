#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/type.h"
#include "rtcg/loopy/kernel/variable_index.h"

// Types of expressions of kernels.
//
// Numbers are converted to a common type as in C, with these differences: an integer and a
// floating-point number have the type of the latter (i64 + f32 is f32); integers below 32 bits stay
// short (i8 + i8 is i8, i8 + u8 is i16); an integer constant never widens the other operand, nor
// does a real one without a stated type (f32 * 2.0 is f32); integers are divided in f64 by `/`.

namespace rtcg::loopy {

/// How firmly an expression holds on to its type.
enum class Firmness {
  integer_constant,  ///< made of integer constants below 2^31: takes the type it meets
  real_constant,     ///< made of real constants: takes any floating-point type it meets
  fixed,
};
struct LooseType {
  cgen::Type type = cgen::Unknown{};
  Firmness firmness = Firmness::fixed;
};

[[nodiscard]] inline bool is_known(const cgen::Type& type) {
  return !is<cgen::Unknown>(type);
}

/// The type of the numbers that a value consists of: of the parts of a complex number, of the lanes
/// of a vector, or its own.
[[nodiscard]] cgen::Type number_type(const cgen::Type& type);
/// Of how many of these it consists, in memory.
[[nodiscard]] int numbers_in(const cgen::Type& type);
/// Of an element in memory. @throws Unsupported  loopy.type_of.no_size
[[nodiscard]] int size_bytes(const cgen::Type& type);

/// The type of the elements for arrays. Unknown where some name in `expr` has no type.
/// @throws InvalidInput  loopy.type_of.unknown_function, loopy.type_of.argument_count,
///                       loopy.type_of.recursive_rule, loopy.type_of.not_an_image
[[nodiscard]] cgen::Type type_of(const Kernel& kernel, const Expr& expr);
/// Refuses calls of unknown functions and rules, and calls with a wrong number of arguments.
/// @throws InvalidInput  loopy.type_of.unknown_function, loopy.type_of.argument_count
void require_callable(const Kernel& kernel, const Call& call);
/// The types that the targets of an assignment of `value` get: one for each operand of a reduction
/// over tuples, otherwise one. `argmin` and `argmax` give the extreme value and where it is.
/// @throws InvalidInput  as type_of
[[nodiscard]] std::vector<cgen::Type> types_of_targets(const Kernel& kernel, const Expr& value);

/// The type in which two numbers are added; Unknown if no type fits.
[[nodiscard]] cgen::Type common_type(const cgen::Type& left, const cgen::Type& right);
[[nodiscard]] LooseType common_type(const LooseType& left, const LooseType& right);

using TypeLookup = std::function<LooseType(const std::string& name)>;
/// types_of_targets where `lookup` types the names.
[[nodiscard]] std::vector<LooseType> loose_types_of_targets(const Kernel& kernel,
                                                            const TypeLookup& lookup,
                                                            const Expr& value);
/// The type of a name in the kernel; Unknown without one.
[[nodiscard]] LooseType declared_type(const Kernel& kernel, const std::string& name);
[[nodiscard]] LooseType declared_type(const Kernel& kernel, const VariableIndex& variables,
                                      const std::string& name);

}  // namespace rtcg::loopy
