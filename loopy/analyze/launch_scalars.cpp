#include "rtcg/loopy/analyze/launch_scalars.h"

namespace rtcg::loopy {
namespace {

bool is_integral(const std::optional<cgen::Type>& type) {
  const auto kind = type ? cgen::scalar_kind(*type) : std::nullopt;
  return !type || (kind && cgen::is_integral(*kind));
}

/// Whether all of the value are integers and integer arguments.
bool is_formula(const Kernel& kernel, const Expr& value) {
  bool is_plain = true;
  walk(value, [&](const Expr& part) {
    const Name* name = get_if<Name>(part);
    const Argument* argument = name != nullptr ? find_argument(kernel, name->name) : nullptr;
    is_plain =
        is_plain &&
        (name != nullptr ? argument != nullptr && !argument->is_array && is_integral(argument->type)
                         : is<Integer>(part) || is<Sum>(part) || is<Product>(part) ||
                               is<FloorDiv>(part) || is<Modulo>(part));
    return is_plain;
  });
  return is_plain;
}

}  // namespace

Substitution launch_scalars(const Kernel& kernel) {
  Substitution formulas;
  for (const Temporary& temporary : kernel.temporaries) {
    const bool is_private = temporary.address_space == AddressSpace::private_ ||
                            temporary.address_space == AddressSpace::automatic;
    if (!temporary.shape.empty() || !is_private || !is_integral(temporary.type)) {
      continue;
    }
    const Instruction* writer = nullptr;
    std::size_t writers = 0;
    for (const Instruction& each : kernel.instructions) {
      if (written_variables(each).count(temporary.name) != 0) {
        writer = &each;
        ++writers;
      }
    }
    const Assignment* assignment = writers == 1 ? get_if<Assignment>(*writer) : nullptr;
    if (assignment != nullptr && assignment->targets.size() == 1 && !assignment->is_atomic &&
        is<Name>(assignment->targets.front()) && writer->within_inames.empty() &&
        writer->predicates.empty() && is_formula(kernel, assignment->value)) {
      formulas.emplace(temporary.name, assignment->value);
    }
  }
  return formulas;
}

}  // namespace rtcg::loopy
