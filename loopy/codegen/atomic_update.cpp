#include "rtcg/loopy/codegen/atomic_update.h"

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/order_free.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/update.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using cgen::Intrinsic;
using cgen::ScalarKind;

/// `x = x op operand` for an operation that some targets have an atomic function for.
struct KnownUpdate {
  Intrinsic function = Intrinsic::atomic_add;
  Expr operand = 0;
};

std::optional<KnownUpdate> known_update(const Assignment& assignment) {
  const Expr& target = assignment.targets.front();
  const auto operand_of = [&](const std::vector<Expr>& parts) -> std::optional<Expr> {
    const std::optional<Expr> found =
        parts.size() == 2 && parts[0] == target   ? std::optional(parts[1])
        : parts.size() == 2 && parts[1] == target ? std::optional(parts[0])
                                                  : std::nullopt;
    // x + f(x) is no sum of x and a number
    return found && accessed_arrays(*found).count(target_name(target)) == 0 &&
                   free_names(*found).count(target_name(target)) == 0
               ? found
               : std::nullopt;
  };
  const auto update = [&](Intrinsic function, const std::vector<Expr>& parts) {
    const auto operand = operand_of(parts);
    return operand ? std::optional(KnownUpdate{function, *operand}) : std::nullopt;
  };
  if (const Sum* sum = get_if<Sum>(assignment.value)) {
    return update(Intrinsic::atomic_add, sum->terms);
  }
  if (const Call* call = get_if<Call>(assignment.value);
      call != nullptr && (call->function == "min" || call->function == "max")) {
    return update(call->function == "min" ? Intrinsic::atomic_min : Intrinsic::atomic_max,
                  call->arguments);
  }
  if (accessed_arrays(assignment.value).count(target_name(target)) == 0 &&
      free_names(assignment.value).count(target_name(target)) == 0) {
    return KnownUpdate{Intrinsic::atomic_exchange, assignment.value};
  }
  return std::nullopt;
}

/// Whether the dialect has an atomic function for it, or makes one.
bool has_function(cgen::Dialect dialect, Intrinsic function, ScalarKind kind) {
  const bool is_minmax = function == Intrinsic::atomic_min || function == Intrinsic::atomic_max;
  const bool is_floating = cgen::is_floating(kind);
  if (cgen::size_bytes(kind) < 4) {
    return false;
  }
  switch (dialect) {
    case cgen::Dialect::cuda:
      return !is_floating ||
             (!is_minmax && (kind == ScalarKind::f32 || function != Intrinsic::atomic_exchange));
    case cgen::Dialect::opencl:
      return !is_floating || (kind == ScalarKind::f32 && !is_minmax);
    default:
      return true;
  }
}

/// The unsigned integer of as many bits; nothing for more than 64.
std::optional<cgen::Type> word_type(const cgen::Type& type) {
  switch (size_bytes(type)) {
    case 1:
      return cgen::u8;
    case 2:
      return cgen::u16;
    case 4:
      return cgen::u32;
    case 8:
      return cgen::u64;
    default:
      return std::nullopt;
  }
}

cgen::Expr bits_of(const cgen::Expr& value, const cgen::Type& type, const cgen::Type& word) {
  if (!is<cgen::Complex>(type)) {
    return cgen::bit_cast(word, value);
  }
  const auto part = [&](Intrinsic function) {
    return cgen::cast(cgen::u64, cgen::bit_cast(cgen::u32, cgen::call(function, {value})));
  };
  return part(Intrinsic::real) | (part(Intrinsic::imag) << cgen::literal(32, cgen::u32));
}

cgen::Expr value_of_bits(const cgen::Expr& bits, const cgen::Type& type) {
  if (!is<cgen::Complex>(type)) {
    return cgen::bit_cast(type, bits);
  }
  const auto part = [](const cgen::Expr& half) {
    return cgen::bit_cast(cgen::f32, cgen::cast(cgen::u32, half));
  };
  return cgen::call(Intrinsic::make_complex,
                    {part(bits), part(bits >> cgen::literal(32, cgen::u32))});
}

cgen::Expr with_replaced(const cgen::Expr& expr, const cgen::Expr& place, const cgen::Expr& value) {
  return cgen::rewrite(
      expr, {.type = {},
             .expr = [&](const cgen::Expr& part) { return part == place ? value : part; },
             .statement = {}});
}

/// How a statement updates one element.
class AtomicWriter {
 public:
  AtomicWriter(KernelVariables& variables, bool is_shared)
      : variables_(variables), is_shared_(is_shared) {}

  [[nodiscard]] cgen::Type pointer_type(const cgen::Type& type) const {
    return cgen::pointer_to(
        cgen::in_space(is_shared_ ? cgen::AddressSpace::shared : cgen::AddressSpace::global, type));
  }

  /// @param place  of type `type`, and what `value` reads of the old value
  cgen::Statement loop(const cgen::Expr& place, const cgen::Type& type, const cgen::Expr& value) {
    const cgen::Type word = *word_type(type);
    const cgen::Expr found = cgen::variable(variables_.new_name("found"), word);
    const cgen::Expr expected = cgen::variable(variables_.new_name("expected"), word);
    const cgen::Expr old = cgen::variable(variables_.new_name("old"), type);
    const cgen::Expr next = cgen::variable(variables_.new_name("next"), type);
    const bool is_plain = type == word && !is_shared_;
    const cgen::Expr address = is_plain ? cgen::address_of(place)
                                        : cgen::cast(pointer_type(word), cgen::address_of(place));
    const cgen::Expr made = with_replaced(value, place, old);
    cgen::BlockBuilder round;
    round << cgen::assign(expected, found);
    round << cgen::declare(cgen::const_(type), name_of(old), value_of_bits(expected, type));
    round << cgen::declare(cgen::const_(type), name_of(next),
                           cgen::value_type(made.type()) == type ? made : cgen::cast(type, made));
    round << cgen::assign(found, cgen::call(Intrinsic::atomic_compare_exchange,
                                            {address, expected, bits_of(next, type, word)}));
    cgen::BlockBuilder body;
    body << cgen::declare(word, name_of(found), bits_of(place, type, word));
    body << cgen::declare(word, name_of(expected));
    body << cgen::DoWhile{cgen::Block{round.statements()}, cgen::not_equal(found, expected)};
    return cgen::Block{body.statements()};
  }

  /// A sum of complex numbers, part by part.
  cgen::Statement sum_of_parts(const cgen::Expr& place, const cgen::Type& type,
                               const cgen::Expr& operand) {
    const cgen::Type number = number_type(type);
    const cgen::Expr value = cgen::variable(variables_.new_name("added"), type);
    const cgen::Expr parts = cgen::cast(pointer_type(number), cgen::address_of(place));
    cgen::BlockBuilder body;
    body << cgen::declare(cgen::const_(type), name_of(value), operand);
    int i = 0;
    for (const Intrinsic part : {Intrinsic::real, Intrinsic::imag}) {
      const cgen::Expr element = parts[i++];
      const cgen::Expr added = cgen::call(part, {value});
      if (has_function(variables_.launch.rules.dialect, Intrinsic::atomic_add,
                       *cgen::scalar_kind(number))) {
        body << cgen::call(Intrinsic::atomic_add, {cgen::address_of(element), added});
      } else {
        body << loop(element, number, element + added);
      }
    }
    return cgen::Block{body.statements()};
  }

 private:
  static const std::string& name_of(const cgen::Expr& variable) {
    return get_if<cgen::Variable>(variable)->name;
  }

  KernelVariables& variables_;
  bool is_shared_;
};

bool is_choice(const KnownUpdate& update) {
  return update.function == Intrinsic::atomic_min || update.function == Intrinsic::atomic_max;
}

[[noreturn]] void refuse_update(const Assignment& assignment, const std::string& reason) {
  throw Unsupported(
      "loopy.generate.atomic_form",
      fmt::format("the atomic statement '{} = {}' has no atomic form: {}",
                  to_string(assignment.targets.front()), to_string(assignment.value), reason));
}

/// A negative number that is stored in an unsigned element is a large one for the next update.
void check_signs(const Kernel& kernel, const Instruction& instruction, const Assignment& assignment,
                 const KnownUpdate& update) {
  const cgen::Type stored = type_of(kernel, assignment.targets.front());
  if (update.function != Intrinsic::atomic_min ||
      !may_lose_sign(stored, type_of(kernel, assignment.value))) {
    return;
  }
  const std::optional<Affine> operand = to_affine(update.operand);
  if (!operand ||
      !constraints_of(kernel, instruction.within_inames).implies_nonnegative(*operand)) {
    const std::string type = cgen::describe(stored);
    refuse_update(assignment,
                  fmt::format("a negative number would be a large one of {} for the next update; "
                              "write cast({}, {})",
                              type, type, to_string(update.operand)));
  }
}

}  // namespace

void check_atomic_updates(const Kernel& kernel) {
  for (const Instruction& instruction : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr || !assignment->is_atomic) {
      continue;
    }
    if (const std::optional<KnownUpdate> known = known_update(*assignment)) {
      check_signs(kernel, instruction, *assignment, *known);
      continue;
    }
    if (const auto reason =
            why_order_matters(kernel, assignment->targets.front(), assignment->value)) {
      refuse_update(*assignment, *reason);
    }
  }
}

cgen::Statement atomic_update(KernelVariables& variables, const Assignment& assignment,
                              const cgen::Expr& place, const ExprScope& scope,
                              const cgen::Type& type) {
  const std::optional<KnownUpdate> known = known_update(assignment);
  const auto kind = cgen::scalar_kind(type);
  // functions of devices convert the operand before they compare
  const bool is_converted = known && is_choice(*known) && kind && cgen::is_integral(*kind) &&
                            !(type_of(variables.launch.kernel, assignment.value) == type);
  if (known && kind && !is_converted &&
      has_function(variables.launch.rules.dialect, known->function, *kind)) {
    return cgen::Statement(cgen::call(
        known->function, {cgen::address_of(place), lower_expr(scope, known->operand, type)}));
  }
  const Temporary* temporary =
      find_temporary(variables.launch.kernel, target_name(assignment.targets.front()));
  AtomicWriter writer(variables,
                      temporary != nullptr && temporary->address_space == AddressSpace::local);
  const bool is_complex = is<cgen::Complex>(type);
  if (known && is_complex && known->function == Intrinsic::atomic_add) {
    const cgen::Expr operand = lower_expr(scope, known->operand, type);
    return writer.sum_of_parts(place, type, as_value_of(type, operand));
  }
  if ((!kind && !is_complex) || !word_type(type)) {
    refuse_update(assignment,
                  fmt::format("its elements have {} bytes, and no device exchanges more "
                              "than 8 at once; sums of complex numbers are added by "
                              "parts",
                              size_bytes(type)));
  }
  return writer.loop(place, type, as_value_of(type, lower_expr(scope, assignment.value, type)));
}

}  // namespace rtcg::loopy
