#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

// Kernels of one loop, for the tests of type inference.

namespace rtcg::loopy {

using Type = std::optional<cgen::Type>;

inline Argument array(const std::string& name, Type type) {
  return {.name = name, .type = std::move(type), .is_array = true, .shape = {loopy::name("n")}};
}

inline Instruction assign(const std::string& id, const Expr& target, const Expr& value) {
  return {.id = id, .kind = Assignment{{target}, value}, .within_inames = {"i"}};
}

inline const Expr i = name("i");

/// One loop over i in [0, n).
inline Kernel loop(std::vector<Argument> arguments, std::vector<Instruction> instructions) {
  Kernel kernel;
  Domain domain{.inames = {"i"}};
  domain.constraints.add_nonnegative(Affine("i"));
  domain.constraints.add_nonnegative(Affine("n") - Affine("i") - 1);
  kernel.domains = {domain};
  kernel.arguments = std::move(arguments);
  kernel.instructions = std::move(instructions);
  return kernel;
}

/// The element that the loop is at.
inline Expr at(const std::string& array) {
  return access(array, {i});
}

}  // namespace rtcg::loopy
