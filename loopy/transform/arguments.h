#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// Removes arguments that no statement, rule, bound, assumption, shape or stride mentions.
///
/// @source Loo.py `remove_unused_arguments`
[[nodiscard]] Kernel remove_unused_arguments(Kernel kernel);

/// Gives an argument another name.
///
/// @throws InvalidInput  loopy.rename_argument.unknown_argument, loopy.rename_argument.name_taken,
///                       loopy.rename_argument.raw_code
/// @source Loo.py `rename_argument`
[[nodiscard]] Kernel rename_argument(Kernel kernel, std::string_view argument,
                                     std::string_view new_name);

/// Puts the arguments into an order.
///
/// @param arguments  the first ones, in their order; the others follow as they are
/// @throws InvalidInput  loopy.set_argument_order.unknown_argument
/// @source Loo.py `set_argument_order`
[[nodiscard]] Kernel set_argument_order(Kernel kernel, const std::vector<std::string>& arguments);

/// States types of arguments and temporaries, in place of those they may have.
///
/// @param types  names and types, as parse_scalar_type takes them: `{{"a", "f32"}}`
/// @throws InvalidInput  loopy.add_dtypes.unknown_variable, loopy.add_dtypes.unknown_type
/// @source Loo.py `add_dtypes`
[[nodiscard]] Kernel add_dtypes(Kernel kernel,
                                const std::vector<std::pair<std::string, std::string>>& types);

}  // namespace rtcg::loopy
