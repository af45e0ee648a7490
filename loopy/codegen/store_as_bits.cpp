#include "rtcg/loopy/codegen/store_as_bits.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using cgen::ScalarKind;

/// What OpenCL has for all devices.
TypedFunction f16_value_function(const std::string& name) {
  return {.name = name,
          .parameters = {{"bits", cgen::u16}},
          .result = cgen::f32,
          .bodies = {{std::nullopt, c_body("return vload_half(0, (const half *)&bits);")}}};
}
TypedFunction f16_bits_function(const std::string& name) {
  return {.name = name,
          .parameters = {{"value", cgen::f32}},
          .result = cgen::u16,
          .bodies = {{std::nullopt, c_body("ushort bits;\n"
                                           "vstore_half_rte(value, 0, (half *)&bits);\n"
                                           "return bits;")}}};
}

/// The upper half of an f32.
TypedFunction bf16_value_function(const std::string& name) {
  const cgen::Expr bits = cgen::variable("bits", cgen::u16);
  return {
      .name = name,
      .parameters = {{"bits", cgen::u16}},
      .result = cgen::f32,
      .bodies = {{std::nullopt,
                  cgen::Block{{cgen::return_(cgen::bit_cast(
                      cgen::f32, cgen::cast(cgen::u32, bits) << cgen::literal(16, cgen::u32)))}}}}};
}
/// To nearest, ties to even; a NaN stays one.
TypedFunction bf16_bits_function(const std::string& name) {
  const cgen::Expr value = cgen::variable("value", cgen::f32);
  const cgen::Expr all = cgen::variable("all", cgen::u32);
  const auto number = [](int each) { return cgen::literal(each, cgen::u32); };
  cgen::BlockBuilder body;
  body << cgen::declare(cgen::const_(cgen::u32), "all", cgen::bit_cast(cgen::u32, value));
  const cgen::Expr rounded =
      (all + number(0x7FFF) + ((all >> number(16)) & number(1))) >> number(16);
  body << cgen::return_(
      cgen::cast(cgen::u16, cgen::select(cgen::not_equal(value, value), number(0x7FC0), rounded)));
  return {.name = name,
          .parameters = {{"value", cgen::f32}},
          .result = cgen::u16,
          .bodies = {{std::nullopt, cgen::Block{body.statements()}}}};
}

class BitsPass {
 public:
  BitsPass(Kernel kernel, const TargetRules& rules) : kernel_(std::move(kernel)), rules_(rules) {}

  Kernel run() {
    find_variables();
    if (!has_type_) {
      return std::move(kernel_);
    }
    names_ = make_name_generator(kernel_);
    for (Instruction& instruction : kernel_.instructions) {
      instruction = rewritten(std::move(instruction));
    }
    change_types();
    add_functions();
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] std::optional<ScalarKind> stored_kind(const cgen::Type& type) const {
    const auto kind = cgen::scalar_kind(number_type(type));
    const bool is_stored = (kind == ScalarKind::f16 && !rules_.computes_f16) ||
                           (kind == ScalarKind::bf16 && !rules_.computes_bf16);
    return is_stored ? kind : std::nullopt;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Unsupported(
        "loopy.generate.stored_type",
        fmt::format("kernel '{}': {} only stores f16 and bf16 numbers here, and {}: use f32 there",
                    kernel_.name, cgen::name(rules_.dialect), what));
  }

  void add(const std::string& name, const cgen::Type& type, bool is_register) {
    const auto kind = stored_kind(type);
    if (!kind) {
      return;
    }
    if (numbers_in(type) != 1) {
      refuse(fmt::format("'{}' consists of several", name));
    }
    has_type_ = true;
    if (!is_register) {
      stored_.emplace(name, *kind);
    }
  }

  static bool is_register(const Temporary& temporary) {
    return temporary.address_space == AddressSpace::private_ ||
           temporary.address_space == AddressSpace::constant;
  }

  void find_variables() {
    for (const Argument& argument : kernel_.arguments) {
      add(argument.name, *argument.type, false);
    }
    for (const Temporary& temporary : kernel_.temporaries) {
      add(temporary.name, *temporary.type, is_register(temporary));
    }
    for (const Instruction& instruction : kernel_.instructions) {
      for_each_expression(instruction, [&](const Expr& expr) {
        walk(expr, [&](const Expr& part) {
          const Cast* cast = get_if<Cast>(part);
          has_type_ = has_type_ || (cast != nullptr && stored_kind(cast->type));
          return true;
        });
      });
    }
  }

  [[nodiscard]] std::optional<ScalarKind> kind_of_place(const Expr& place) const {
    const Name* name = get_if<Name>(place);
    const Access* access = get_if<Access>(place);
    const LinearAccess* linear = get_if<LinearAccess>(place);
    if (name == nullptr && access == nullptr && linear == nullptr) {
      return std::nullopt;
    }
    const auto found = stored_.find(name != nullptr     ? name->name
                                    : access != nullptr ? access->array
                                                        : linear->array);
    return found == stored_.end() ? std::nullopt : std::optional(found->second);
  }

  Expr bits_of(ScalarKind kind, const Expr& value) {
    // a copy is one of bits
    const Call* read = get_if<Call>(value);
    if (read != nullptr && read->function == value_name(kind)) {
      return read->arguments.front();
    }
    return Call{bits_name(kind), {value}};
  }

  Expr read(const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      if (const auto kind = kind_of_place(part)) {
        return Expr(Call{value_name(*kind), {part}});
      }
      if (const Cast* cast = get_if<Cast>(part)) {
        if (const auto kind = stored_kind(cast->type)) {
          return Expr(Call{value_name(*kind), {bits_of(*kind, cast->operand)}});
        }
      }
      if (const Real* real = get_if<Real>(part)) {
        if (real->stated_kind && stored_kind(cgen::Scalar{*real->stated_kind})) {
          return Expr(Real{real->value, ScalarKind::f32});
        }
      }
      return std::nullopt;
    });
  }

  Instruction rewritten(Instruction instruction) {
    for (Expr& predicate : instruction.predicates) {
      predicate = read(predicate);
    }
    if (const RawCode* raw = get_if<RawCode>(instruction)) {
      for (const RawPart& part : raw->parts) {
        if (read(part.expr) != part.expr) {
          refuse(fmt::format("the C text of statement '{}' uses '{}'", instruction.id,
                             to_string(part.expr)));
        }
      }
    }
    const Assignment* given = get_if<Assignment>(instruction);
    if (given == nullptr) {
      return instruction;
    }
    Assignment assignment = *given;
    Expr& target = assignment.targets.front();
    const auto kind = kind_of_place(target);
    target = map_children(target, [&](const Expr& index) { return read(index); });
    const Expr value = read(assignment.value);
    assignment.value = kind ? bits_of(*kind, value) : value;
    instruction.kind = std::move(assignment);
    return instruction;
  }

  void change_types() {
    for (Argument& argument : kernel_.arguments) {
      if (stored_.count(argument.name) != 0) {
        argument.type = cgen::u16;
      }
    }
    for (Temporary& temporary : kernel_.temporaries) {
      if (stored_kind(*temporary.type)) {
        temporary.type = is_register(temporary) ? cgen::f32 : cgen::u16;
      }
    }
  }

  const std::string& value_name(ScalarKind kind) {
    return function_name(value_names_, kind, "value");
  }
  const std::string& bits_name(ScalarKind kind) { return function_name(bits_names_, kind, "bits"); }

  const std::string& function_name(std::map<ScalarKind, std::string>& names, ScalarKind kind,
                                   const char* result) {
    std::string& name = names[kind];
    if (name.empty()) {
      name = names_.make(fmt::format("{}_{}", scalar_type_name(cgen::Scalar{kind}), result));
    }
    return name;
  }

  void add_functions() {
    for (const auto& [kind, name] : value_names_) {
      kernel_.functions.push_back(kind == ScalarKind::f16 ? f16_value_function(name)
                                                          : bf16_value_function(name));
    }
    for (const auto& [kind, name] : bits_names_) {
      kernel_.functions.push_back(kind == ScalarKind::f16 ? f16_bits_function(name)
                                                          : bf16_bits_function(name));
    }
  }

  Kernel kernel_;
  const TargetRules& rules_;
  bool has_type_ = false;
  std::map<std::string, ScalarKind, std::less<>> stored_;  // variables in memory
  NameGenerator names_;
  std::map<ScalarKind, std::string> value_names_;
  std::map<ScalarKind, std::string> bits_names_;
};

}  // namespace

Kernel store_as_bits(Kernel kernel, const TargetRules& rules) {
  return rules.computes_f16 && rules.computes_bf16 ? std::move(kernel)
                                                   : BitsPass(std::move(kernel), rules).run();
}

void restore_types(const std::vector<Argument>& typed, GeneratedProgram& program) {
  // the arguments come first, in their order
  for (std::size_t i = 0; i < typed.size(); ++i) {
    program.parameters[i].type = *typed[i].type;
  }
}

}  // namespace rtcg::loopy
