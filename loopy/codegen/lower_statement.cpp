#include "rtcg/loopy/codegen/lower_statement.h"

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/lower/lower.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/codegen/atomic_update.h"
#include "rtcg/loopy/codegen/look_back.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

/// The private scalar that the statement sets, if it sets one.
std::string scalar_name(const Expr& target, const cgen::Expr& place) {
  const auto* variable = get_if<cgen::Variable>(place);
  return variable != nullptr && is<Name>(target) ? variable->name : std::string();
}

/// `x = x + y` as `x += y`.
std::optional<cgen::Expr> as_update(const Assignment& assignment, const cgen::Expr& place,
                                    const cgen::Expr& value) {
  const auto* binary = get_if<cgen::Binary>(value);
  const Sum* sum = get_if<Sum>(assignment.value);
  const Product* product = get_if<Product>(assignment.value);
  if (binary == nullptr || !(binary->left == place) ||
      (sum == nullptr ? product == nullptr || product->factors.size() != 2
                      : sum->terms.size() != 2)) {
    return std::nullopt;
  }
  const bool is_plain = binary->op == cgen::BinaryOp::add ||
                        binary->op == cgen::BinaryOp::subtract ||
                        binary->op == cgen::BinaryOp::multiply;
  return is_plain ? std::optional(cgen::compound_assign(binary->op, place, binary->right))
                  : std::nullopt;
}

/// The expression with the dialect's functions in place of intrinsics, as the text of raw code is
/// not lowered later on.
cgen::Expr with_functions_of(cgen::Dialect dialect, const cgen::Expr& expr) {
  bool has_intrinsic = false;
  cgen::WalkVisitor visitor;
  visitor.expr = [&](const cgen::Expr& part) {
    has_intrinsic = has_intrinsic || is<cgen::IntrinsicCall>(part);
    return !has_intrinsic;
  };
  cgen::walk(expr, visitor);
  if (!has_intrinsic) {
    return expr;
  }
  cgen::Function function;
  function.result = expr.type();
  function.name = "value";
  function.body = cgen::Block{{cgen::Return{expr}}};
  const cgen::Module lowered = cgen::lower({"value", {std::move(function)}}, dialect);
  for (const cgen::Statement& item : lowered.items) {
    const auto* found = get_if<cgen::Function>(item);
    const auto* block = found != nullptr ? get_if<cgen::Block>(*found->body) : nullptr;
    const auto* result =
        block != nullptr ? get_if<cgen::Return>(block->statements.front()) : nullptr;
    if (result != nullptr) {
      return *result->value;
    }
  }
  return expr;
}

/// C text with the C of its parts put in.
cgen::Statement raw_statement(const RawCode& raw, cgen::Dialect dialect, const ExprScope& scope) {
  cgen::RawStatement statement;
  std::set<std::string> names(raw.reads.begin(), raw.reads.end());
  names.insert(raw.writes.begin(), raw.writes.end());
  std::size_t begin = 0;
  for (std::size_t at = raw.text.find("${"); at != std::string::npos;
       at = raw.text.find("${", begin)) {
    const std::size_t end = raw.text.find('}', at);
    const std::string number = raw.text.substr(at + 2, end - at - 2);
    statement.text += raw.text.substr(begin, at - begin);
    const RawPart& part = raw.parts.at(std::stoul(number));
    const cgen::Expr lowered = with_functions_of(dialect, lower_expr(scope, part.expr));
    const std::string code = cgen::print_expr(lowered, dialect);
    const bool stands_alone = is<cgen::Variable>(lowered) || is<cgen::Subscript>(lowered);
    statement.text += stands_alone ? code : "(" + code + ")";
    names.merge(cgen::free_names(lowered));
    begin = end + 1;
  }
  statement.text += raw.text.substr(begin);
  statement.names_used.assign(names.begin(), names.end());
  // of unknown origin: what a compiler refuses of it is the user's text, not made by a line of ours
  return {std::move(statement), SourceOrigin{}};
}

cgen::Statement copy_fence(KernelVariables& variables, const CopyFence& fence) {
  return variables.call(fence.kind == CopyFenceKind::commit
                            ? HelperFunction(Helper::commit_copies)
                            : HelperFunction(Helper::wait_for_copies, fence.open_groups));
}

/// Warps are 8 threads along l.1 of 4 along l.0 each.
void check_warps(const LaunchFacts& launch, const Instruction& instruction) {
  const auto length_of = [&](int axis) {
    const HardwareAxis* found = launch.axes.find(AxisKind::block, axis);
    return found != nullptr ? as_integer(found->extent).value_or(0) : 1;
  };
  if (length_of(0) != 4 || length_of(1) % 8 != 0) {
    throw InvalidInput(
        "loopy.generate.warps_of_product",
        fmt::format("'{}' multiplies on tensor cores, which takes 4 threads along l.0 and a "
                    "multiple of 8 along l.1: other statements of its launch make it {} and {}",
                    instruction.id, length_of(0), length_of(1)));
  }
}

cgen::Statement warp_product(KernelVariables& variables, const Instruction& instruction,
                             const ExprScope& scope) {
  check_warps(variables.launch, instruction);
  const WarpProduct& product = *get_if<WarpProduct>(instruction);
  std::vector<cgen::Expr> arguments;
  for_each_part_of(product, [&](const Expr& part, bool /*is_written*/) {
    arguments.push_back(lower_expr(scope, part));
  });
  return variables.call(HelperFunction(Helper::warp_product, product.atom.input),
                        std::move(arguments));
}

/// The copy from global to shared memory that goes on while the thread does, on targets that have
/// it.
std::optional<cgen::Statement> async_copy(KernelVariables& variables, const Assignment& assignment,
                                          const cgen::Expr& place, const ExprScope& scope,
                                          const cgen::Type& type) {
  const Temporary* target =
      find_temporary(variables.launch.kernel, target_name(assignment.targets.front()));
  const int bytes = size_bytes(type);
  const bool has_size = bytes == 4 || bytes == 8 || bytes == 16;
  if (!assignment.is_async_copy || !variables.launch.rules.has_async_copies || target == nullptr ||
      target->address_space != AddressSpace::local || !has_size) {
    return std::nullopt;
  }
  const Conditional* clipped = get_if<Conditional>(assignment.value);
  const Expr& source = clipped != nullptr ? clipped->then_value : assignment.value;
  const Access* element = get_if<Access>(source);
  if (element == nullptr || !find_global_array(variables.launch.kernel, element->array) ||
      find_image(variables.launch.kernel, element->array) != nullptr ||
      !(variables.type_of(source) == type) ||
      (clipped != nullptr && as_integer(clipped->else_value) != 0)) {
    return std::nullopt;
  }
  return copy_call(variables, bytes, place, lower_expr(scope, source, type),
                   clipped != nullptr ? &clipped->condition : nullptr, scope);
}

CodeItem lower_assignment(KernelVariables& variables, const Assignment& assignment,
                          const ExprScope& scope) {
  const Expr& target = assignment.targets.front();
  const cgen::Type type = variables.type_of(target);
  if (const Access* element = get_if<Access>(target);
      element != nullptr && find_image(variables.launch.kernel, element->array) != nullptr) {
    const cgen::Expr texel = as_value_of(
        type, lower_expr(scope, assignment.value, value_type(variables, assignment, type)));
    return {CodeStatement{variables.write_texel(*element, texel, scope)}};
  }
  const cgen::Expr place = lower_expr(scope, target, type);
  if (assignment.is_atomic) {
    return {CodeStatement{atomic_update(variables, assignment, place, scope, type)}};
  }
  if (const auto copy = async_copy(variables, assignment, place, scope, type)) {
    return {CodeStatement{*copy}};
  }
  const std::string scalar = scalar_name(target, place);
  const cgen::Expr value = as_value_of(
      type, lower_expr(scope, assignment.value, value_type(variables, assignment, type)));
  if (const auto update = as_update(assignment, place, value)) {
    return {CodeStatement{cgen::Statement(*update)}};
  }
  // what reads its own target goes on from an earlier value: it declares nothing
  if (!scalar.empty() && free_names(assignment.value).count(target_name(target)) == 0) {
    return {CodeScalarAssignment{scalar, place, value}};
  }
  return {CodeStatement{cgen::assign(place, value)}};
}

/// Whether a value is a constant, or one of several constants that conditions choose.
bool is_made_of_constants(const Expr& value) {
  bool is_constant = true;
  walk(value, [&](const Expr& part) {
    if (const Conditional* choice = get_if<Conditional>(part)) {
      is_constant = is_constant && is_made_of_constants(choice->then_value) &&
                    is_made_of_constants(choice->else_value);
      return false;
    }
    is_constant = is_constant && !is<Name>(part) && !is<Access>(part) && !is<LinearAccess>(part);
    return is_constant;
  });
  return is_constant;
}

}  // namespace

cgen::Type value_type(const KernelVariables& variables, const Assignment& assignment,
                      const cgen::Type& target) {
  if (is_made_of_constants(assignment.value)) {
    return target;
  }
  const cgen::Type own = variables.type_of(assignment.value);
  // lengths whose product 64 bits are needed for are multiplied in them
  const bool is_wide =
      target == cgen::i64 && own == cgen::i32 && variables.launch.options.index_type == cgen::i64;
  return is_wide ? target : own;
}

cgen::Statement copy_call(KernelVariables& variables, std::int64_t bytes, const cgen::Expr& target,
                          const cgen::Expr& source, const Expr* condition, const ExprScope& scope) {
  const Expr size = condition != nullptr ? Expr(Conditional{*condition, bytes, 0}) : Expr(bytes);
  return variables.call(
      HelperFunction(Helper::copy_async, static_cast<int>(bytes)),
      {cgen::address_of(target), cgen::address_of(source), lower_expr(scope, size, cgen::i32)});
}

CodeItem lower_statement(KernelVariables& variables, const Instruction& instruction,
                         const ExprScope& scope) {
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    return {CodeStatement{raw_statement(*raw, variables.launch.rules.dialect, scope)}};
  }
  if (const LookBack* look_back = get_if<LookBack>(instruction)) {
    return {CodeStatement{look_back_statement(variables, *look_back, scope)}};
  }
  if (is<WarpProduct>(instruction)) {
    return {CodeStatement{warp_product(variables, instruction, scope)}};
  }
  if (const CopyFence* fence = get_if<CopyFence>(instruction)) {
    return {CodeStatement{copy_fence(variables, *fence)}};
  }
  const Assignment* assignment = get_if<Assignment>(instruction);
  require_internal(assignment != nullptr && assignment->targets.size() == 1,
                   "one target once reductions are realised");
  return lower_assignment(variables, *assignment, scope);
}

}  // namespace rtcg::loopy
