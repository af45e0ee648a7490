// One copy of a statement: assignments, atomics, copies, C text.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::string describe(const Instruction& instruction) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  return assignment == nullptr ? instruction.id
                               : fmt::format("{} = {}", to_string(assignment->targets.front()),
                                             to_string(assignment->value));
}

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

}  // namespace

void Emitter::emit_statement(std::size_t statement, const EmitContext& context, CodeBlock& block) {
  const Instruction& instruction = launch_.kernel.instructions[statement];
  if (launch_.options.statement_comments) {
    block.items.push_back({CodeStatement{cgen::comment(describe(instruction))}});
  }
  settle_lanes(statement, context);
  loaded_.clear();
  if (launch_.facts.lanes(statement).empty()) {
    emit_instance(statement, context, block);
    return;
  }
  EmitContext inside = context;
  emit_lanes(statement, launch_.facts.lanes(statement), 0, inside, block);
}

cgen::Statement Emitter::raw_statement(const RawCode& raw, const ExprScope& scope) const {
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
    const cgen::Expr lowered = lower_expr(scope, part.expr);
    const std::string code = cgen::print_expr(lowered, launch_.rules.dialect);
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

void Emitter::emit_body_of(const Instruction& instruction, const ExprScope& scope,
                           CodeBlock& block) {
  if (const RawCode* raw = get_if<RawCode>(instruction)) {
    block.items.push_back({CodeStatement{raw_statement(*raw, scope)}});
    return;
  }
  if (const CopyFence* fence = get_if<CopyFence>(instruction)) {
    block.items.push_back({CodeStatement{copy_fence(*fence)}});
    return;
  }
  const Assignment* assignment = get_if<Assignment>(instruction);
  require_internal(assignment != nullptr && assignment->targets.size() == 1,
                   "one target once reductions are realised");
  block.items.push_back(assignment_code(*assignment, scope));
}

void Emitter::emit_lane_body(std::size_t statement, bool is_in_call, const ExprScope& scope,
                             CodeBlock& block) {
  const Instruction& instruction = launch_.kernel.instructions[statement];
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr || is_in_call || launch_.facts.lanes(statement).empty()) {
    emit_body_of(instruction, scope, block);
    return;
  }
  std::size_t key = statement;
  for (const auto& [iname, value] : *scope.values) {
    key = key * 0x9E3779B97F4A7C15U + static_cast<std::size_t>(value.constant());
  }
  const auto [begin, end] = written_.equal_range(key);
  for (auto known = begin; known != end; ++known) {
    const bool is_same =
        std::equal(known->second.values.begin(), known->second.values.end(), scope.values->begin(),
                   scope.values->end(), [](const auto& left, const auto& right) {
                     return left.first == right.first && left.second == right.second;
                   });
    if (known->second.statement == statement && is_same) {
      block.items.push_back(known->second.item);
      return;
    }
  }
  has_asked_context_ = false;
  CodeItem item = assignment_code(*assignment, scope);
  if (!has_asked_context_) {
    WrittenLane written{statement, {scope.values->begin(), scope.values->end()}, item};
    written_.emplace(key, std::move(written));
  }
  block.items.push_back(std::move(item));
}

CodeItem Emitter::assignment_code(const Assignment& assignment, const ExprScope& scope) {
  const Expr& target = assignment.targets.front();
  const cgen::Type type = type_of(target);
  const cgen::Expr place = lower_expr(scope, target, type);
  if (assignment.is_atomic) {
    return {CodeStatement{atomic_update(assignment, place, scope, type)}};
  }
  if (const auto copy = async_copy(assignment, place, scope, type)) {
    return {CodeStatement{*copy}};
  }
  const std::string scalar = scalar_name(target, place);
  const cgen::Expr value =
      as_value_of(type, lower_expr(scope, assignment.value, value_type(assignment, type)));
  if (const auto update = as_update(assignment, place, value)) {
    return {CodeStatement{cgen::Statement(*update)}};
  }
  // what reads its own target goes on from an earlier value: it declares nothing
  if (!scalar.empty() && free_names(assignment.value).count(target_name(target)) == 0) {
    return {CodeScalarAssignment{scalar, place, value}};
  }
  return {CodeStatement{cgen::assign(place, value)}};
}

cgen::Statement Emitter::copy_fence(const CopyFence& fence) {
  const HelperFunction function = fence.kind == CopyFenceKind::commit
                                      ? HelperFunction(Helper::commit_copies)
                                      : HelperFunction(Helper::wait_for_copies, fence.open_groups);
  helpers_.insert(function);
  return cgen::Statement(cgen::call(function.name(), {}, cgen::void_type));
}

std::optional<cgen::Statement> Emitter::async_copy(const Assignment& assignment,
                                                   const cgen::Expr& place, const ExprScope& scope,
                                                   const cgen::Type& type) {
  const Temporary* target = find_temporary(launch_.kernel, target_name(assignment.targets.front()));
  const int bytes = size_bytes(type);
  const bool has_size = bytes == 4 || bytes == 8 || bytes == 16;
  if (!assignment.is_async_copy || !launch_.rules.has_async_copies || target == nullptr ||
      target->address_space != AddressSpace::local || !has_size) {
    return std::nullopt;
  }
  const Conditional* clipped = get_if<Conditional>(assignment.value);
  const Expr& source = clipped != nullptr ? clipped->then_value : assignment.value;
  const Access* element = get_if<Access>(source);
  if (element == nullptr || find_argument(launch_.kernel, element->array) == nullptr ||
      !(type_of(source) == type) || (clipped != nullptr && as_integer(clipped->else_value) != 0)) {
    return std::nullopt;
  }
  return copy_call(bytes, place, lower_expr(scope, source, type),
                   clipped != nullptr ? &clipped->condition : nullptr, scope);
}

cgen::Type Emitter::value_type(const Assignment& assignment, const cgen::Type& target) {
  bool is_constant = true;
  walk(assignment.value, [&](const Expr& part) {
    is_constant = is_constant && !is<Name>(part) && !is<Access>(part) && !is<LinearAccess>(part);
    return is_constant;
  });
  return is_constant ? target : type_of(assignment.value);
}

cgen::Statement Emitter::atomic_update(const Assignment& assignment, const cgen::Expr& place,
                                       const ExprScope& scope, const cgen::Type& type) {
  const Expr& target = assignment.targets.front();
  const auto operand_of = [&](const std::vector<Expr>& parts) -> std::optional<Expr> {
    return parts.size() == 2 && parts[0] == target   ? std::optional(parts[1])
           : parts.size() == 2 && parts[1] == target ? std::optional(parts[0])
                                                     : std::nullopt;
  };
  std::optional<Expr> operand;
  cgen::Intrinsic function = cgen::Intrinsic::atomic_add;
  if (const Sum* sum = get_if<Sum>(assignment.value)) {
    operand = operand_of(sum->terms);
  } else if (const Call* call = get_if<Call>(assignment.value);
             call != nullptr && (call->function == "min" || call->function == "max")) {
    operand = operand_of(call->arguments);
    function = call->function == "min" ? cgen::Intrinsic::atomic_min : cgen::Intrinsic::atomic_max;
  } else if (accessed_arrays(assignment.value).count(target_name(target)) == 0) {
    operand = assignment.value;
    function = cgen::Intrinsic::atomic_exchange;
  }
  if (!operand || !cgen::scalar_kind(type)) {
    throw Unsupported("loopy.generate.atomic_form",
                      fmt::format("the atomic statement '{} = {}' is not a sum, min or max of its "
                                  "target and a number: there is no atomic function for it",
                                  to_string(target), to_string(assignment.value)));
  }
  return cgen::Statement(
      cgen::call(function, {cgen::address_of(place), lower_expr(scope, *operand, type)}));
}

}  // namespace rtcg::loopy
