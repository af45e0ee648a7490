// Statements that are a call: a function of their own, with what they touch as parameters.
#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/codegen/emitter.h"
#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

void add_loops(const LoopTree& tree, NameSet& inames) {
  for (const LoopTreeNode& node : tree) {
    if (const LoopNode* loop = get_if<LoopNode>(node)) {
      inames.insert(loop->iname);
      add_loops(loop->body, inames);
    }
  }
}

/// The variables of a body in the order in which they stand in it, but those that it declares and
/// the functions that it calls.
std::vector<cgen::Variable> outer_variables(const cgen::Statement& body) {
  const std::set<std::string> free = cgen::free_names(body);
  std::set<std::string> seen;
  std::vector<cgen::Variable> result;
  cgen::walk(body, {.type = {},
                    .expr =
                        [&](const cgen::Expr& expr) {
                          if (const auto* call = get_if<cgen::Call>(expr)) {
                            if (const auto* function = get_if<cgen::Variable>(call->callee)) {
                              seen.insert(function->name);
                            }
                          }
                          const auto* variable = get_if<cgen::Variable>(expr);
                          if (variable != nullptr && free.count(variable->name) != 0 &&
                              seen.insert(variable->name).second) {
                            result.push_back(*variable);
                          }
                          return true;
                        },
                    .statement = {}});
  return result;
}

std::set<std::string> declared_names(const cgen::Statement& body) {
  std::set<std::string> names;
  cgen::walk(body, {.type = {}, .expr = {}, .statement = [&](const cgen::Statement& each) {
                      if (const auto* variable = get_if<cgen::Declaration>(each)) {
                        names.insert(variable->name);
                      }
                      return true;
                    }});
  return names;
}

/// A pointer to the rows of an array.
cgen::Type pointer_to_rows(cgen::Type element, const std::vector<cgen::Expr>& extents) {
  for (std::size_t axis = extents.size(); axis-- > 1;) {
    element = cgen::array_of(element, extents[axis]);
  }
  return cgen::pointer_to(element);
}

}  // namespace

bool Emitter::is_beginning(std::size_t statement) const {
  const Assignment* assignment = get_if<Assignment>(kernel_.instructions[statement]);
  return assignment != nullptr && is<Name>(assignment->targets.front()) &&
         (is<Integer>(assignment->value) || is<Real>(assignment->value));
}

std::size_t Emitter::end_of_call(const LoopTree& nodes, std::size_t begin) const {
  if (frame_ != nullptr || !has_calls_) {
    return begin;
  }
  std::shared_ptr<const CallSite> call;
  std::size_t end = begin;
  for (; end < nodes.size(); ++end) {
    const std::vector<std::size_t> statements = statements_in(nodes[end]);
    const bool is_same =
        !statements.empty() &&
        std::all_of(statements.begin(), statements.end(), [&](std::size_t statement) {
          const auto& own = kernel_.instructions[statement].call_site;
          call = call == nullptr ? own : call;
          return own != nullptr && *own == *call;
        });
    const LoopNode* loop = get_if<LoopNode>(nodes[end]);
    if (!is_same || (loop != nullptr && !has_loop(*call, loop->iname))) {
      break;
    }
  }
  const std::vector<std::size_t> run =
      statements_in(LoopTree(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                             nodes.begin() + static_cast<std::ptrdiff_t>(end)));
  const bool is_torn_off = std::all_of(
      run.begin(), run.end(), [&](std::size_t statement) { return is_beginning(statement); });
  return is_torn_off ? begin : end;
}

void Emitter::check_call(const LoopTree& run) const {
  const std::vector<std::size_t> statements = statements_in(run);
  const CallSite& call = *kernel_.instructions[statements.front()].call_site;
  // loops that were peeled have copies of the call: they are not within the same loops
  NameSet around = kernel_.instructions[statements.front()].within_inames;
  NameSet inside;
  add_loops(run, inside);
  std::erase_if(around, [&](const std::string& each) { return inside.count(each) != 0; });
  const bool is_torn =
      std::any_of(statements_.begin(), statements_.end(), [&](std::size_t statement) {
        const Instruction& other = kernel_.instructions[statement];
        return other.call_site != nullptr && *other.call_site == call && !is_beginning(statement) &&
               std::find(statements.begin(), statements.end(), statement) == statements.end() &&
               std::includes(other.within_inames.begin(), other.within_inames.end(), around.begin(),
                             around.end());
      });
  if (is_torn) {
    throw InvalidInput(
        "loopy.generate.call_split",
        fmt::format("the call '{}' of '{}' cannot be a function: other statements, barriers or "
                    "conditions are between its statements",
                    call.call, call.function));
  }
  const bool has_text = std::any_of(
      statements.begin(), statements.end(),
      [&](std::size_t statement) { return !is<Assignment>(kernel_.instructions[statement]); });
  if (has_text || std::any_of(run.begin(), run.end(), contains_barrier)) {
    throw InvalidInput(
        "loopy.generate.call_form",
        fmt::format("the call '{}' of '{}' cannot be a function: there are barriers, "
                    "fences of copies or C text in it",
                    call.call, call.function));
  }
}

cgen::Expr Emitter::index_in_frame(const std::string& name, const IndexedArray& array,
                                   const std::vector<Expr>& indices, const ExprScope& scope) {
  const std::vector<Expr> strides =
      array.strides->empty() ? c_order_strides(*array.shape) : *array.strides;
  std::vector<Affine> outer(indices.size());
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::optional<Affine> affine = to_affine(simplify_index(indices[axis]));
    if (!affine) {
      continue;
    }
    for (const Affine::Term& term : affine->terms()) {
      const bool is_outside =
          frame_->inames.count(term.name) == 0 && find_temporary(kernel_, term.name) == nullptr;
      if (is_outside) {
        outer[axis] = outer[axis] + Affine(term.name, term.coefficient);
      }
    }
  }
  // all accesses count from where the first one does
  const std::vector<Affine>& base = frame_->bases.emplace(name, outer).first->second;
  Expr place = 0;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const Expr index = simplify_index(indices[axis] - to_expr(base[axis]));
    place = place + (as_integer(strides[axis]) == 1 ? index : strides[axis] * index);
  }
  return lower_index(scope, place);
}

/// Arrays that are accessed by places in memory are passed from their beginning.
void Emitter::add_whole_arrays(const Instruction& instruction, CallFrame& frame) const {
  for_each_expression(instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const LinearAccess* access = get_if<LinearAccess>(part)) {
        const Argument* argument = find_argument(kernel_, access->array);
        const Temporary* temporary = find_temporary(kernel_, access->array);
        frame.bases.emplace(access->array,
                            std::vector<Affine>(argument != nullptr ? argument->shape.size()
                                                                    : temporary->shape.size()));
      }
      return true;
    });
  });
}

bool Emitter::is_touched_outside(const std::string& temporary, const LoopTree& run) const {
  if (spread_.count(temporary) != 0) {
    return true;
  }
  const std::vector<std::size_t> inside = statements_in(run);
  return std::any_of(statements_.begin(), statements_.end(), [&](std::size_t statement) {
    const Instruction& instruction = kernel_.instructions[statement];
    return std::find(inside.begin(), inside.end(), statement) == inside.end() &&
           (written_variables(instruction).count(temporary) != 0 ||
            read_variables(kernel_, instruction).count(temporary) != 0);
  });
}

Emitter::CallParameter Emitter::call_parameter(const cgen::Variable& variable,
                                               const NameSet& written, const CallFrame& frame,
                                               const EmitContext& place) {
  const auto own = variables_.find(variable.name);
  const std::string& name = own != variables_.end() ? own->second.temporary : variable.name;
  const bool is_written = written.count(name) != 0;
  const auto element = [&](const cgen::Type& type) {
    return is_written ? type : cgen::const_(type);
  };
  const cgen::Expr itself = cgen::variable(variable.name, variable.type);
  const Argument* argument = find_argument(kernel_, name);
  const Temporary* temporary = find_temporary(kernel_, name);
  const bool is_global = temporary != nullptr && temporary->address_space == AddressSpace::global;
  if (is_global || (argument != nullptr && argument->is_array)) {
    const bool is_constant =
        argument != nullptr && argument->address_space == AddressSpace::constant;
    const auto space = is_constant ? cgen::AddressSpace::constant : cgen::AddressSpace::global;
    const cgen::Type& type = is_global ? *temporary->type : *argument->type;
    CallParameter result{
        name, {cgen::pointer_to(cgen::in_space(space, element(type))), {}}, itself};
    if (const auto base = frame.bases.find(name); base != frame.bases.end()) {
      const std::vector<Expr>& shape = is_global ? temporary->shape : argument->shape;
      const std::vector<Expr>& stated =
          is_global ? temporary->strides_elements : argument->strides_elements;
      const std::vector<Expr> strides = stated.empty() ? c_order_strides(shape) : stated;
      Expr offset = is_global ? Expr(0) : argument->offset_elements;
      for (std::size_t axis = 0; axis < base->second.size(); ++axis) {
        offset = offset + strides[axis] * to_expr(base->second[axis]);
      }
      if (as_integer(simplify_index(offset)) != 0) {
        result.argument = cgen::address_of(itself[lower_index(scope_of(place), offset)]);
      }
    }
    return result;
  }
  if (temporary != nullptr && temporary->address_space == AddressSpace::local) {
    std::vector<cgen::Expr> extents;
    for (const std::int64_t extent : storage_extents(*temporary)) {
      extents.emplace_back(static_cast<int>(extent));
    }
    const cgen::Type type = cgen::in_space(cgen::AddressSpace::shared, element(*temporary->type));
    return {name, {pointer_to_rows(type, extents), {}}, itself};
  }
  if (temporary != nullptr) {
    if (!own->second.extents.empty()) {
      return {name, {pointer_to_rows(element(own->second.type), own->second.extents), {}}, itself};
    }
    if (is_written) {
      return {name, {cgen::pointer_to(own->second.type), {}}, cgen::address_of(itself), true};
    }
  }
  return {name, {cgen::const_(variable.type), {}}, itself};
}

void Emitter::emit_call(const LoopTree& run, const EmitContext& place, CodeBlock& block) {
  check_call(run);
  const std::vector<std::size_t> statements = statements_in(run);
  const CallSite& call = *kernel_.instructions[statements.front()].call_site;
  NameSet written;
  for (const std::size_t statement : statements) {
    written.merge(written_variables(kernel_.instructions[statement]));
  }
  CallFrame frame;
  add_loops(run, frame.inames);
  for (const std::size_t statement : statements) {
    add_whole_arrays(kernel_.instructions[statement], frame);
  }
  frame_ = &frame;
  CodeBlock code = emit_level(run, place);
  frame_ = nullptr;
  if (code.items.empty()) {
    return;
  }
  // the function declares what nothing else touches
  PrivateVariables declared;
  for (const std::string_view each : variables_of(code, variables_)) {
    const auto variable = variables_.find(each);
    if (!is_touched_outside(variable->second.temporary, run)) {
      declared.insert(*variable);
    }
  }
  const cgen::Statement body =
      cgen::Block{place_declarations(std::move(code), declared, rules_.gathers_conditions)};
  const std::vector<cgen::Variable> variables = outer_variables(body);
  std::set<std::string> taken = declared_names(body);
  for (const cgen::Variable& each : variables) {
    taken.insert(each.name);
  }
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = call.function;
  function.specifiers.is_static = true;
  function.specifiers.is_device = true;
  std::vector<cgen::Expr> arguments;
  std::map<std::string, cgen::Expr> inside;
  for (const cgen::Variable& each : variables) {
    const Temporary* table = find_temporary(kernel_, each.name);
    if (table != nullptr && table->address_space == AddressSpace::constant) {
      continue;  // stands ahead of all functions
    }
    CallParameter parameter = call_parameter(each, written, frame, place);
    const auto wanted = call.parameter_names.find(parameter.variable);
    const bool is_free = wanted != call.parameter_names.end() && !wanted->second.empty() &&
                         !functions_.is_reserved(wanted->second) &&
                         taken.insert(wanted->second).second;
    parameter.parameter.name = is_free ? wanted->second : each.name;
    const cgen::Expr own =
        cgen::variable(parameter.parameter.name,
                       parameter.is_pointer_to_scalar ? parameter.parameter.type : each.type);
    inside.emplace(each.name, parameter.is_pointer_to_scalar ? cgen::deref(own) : own);
    arguments.push_back(parameter.argument);
    function.parameters.push_back(std::move(parameter.parameter));
  }
  function.body = cgen::substitute(body, inside);
  const std::string name = functions_.add(std::move(function));
  block.items.push_back(
      {CodeStatement{cgen::Statement(cgen::call(name, std::move(arguments), cgen::void_type))}});
}

}  // namespace rtcg::loopy
