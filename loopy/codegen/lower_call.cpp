#include "rtcg/loopy/codegen/lower_call.h"

#include <algorithm>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/loopy/codegen/array_storage.h"
#include "rtcg/loopy/codegen/call_runs.h"

namespace rtcg::loopy {
namespace {

/// The variables of a body in the order of their first use, but those that it declares and
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

/// A pointer to the rows of an array.
cgen::Type pointer_to_rows(const cgen::Type& element, const std::vector<int>& extents) {
  return cgen::pointer_to(array_type(element, extents, 1));
}

/// Whether statements that are not part of the call use the temporary as well.
bool is_touched_outside(const LaunchFacts& launch, const std::string& temporary,
                        const std::vector<std::size_t>& inside) {
  const auto touches = [&](std::size_t statement) {
    return std::find(inside.begin(), inside.end(), statement) == inside.end() &&
           launch.facts.touched(statement).count(temporary) != 0;
  };
  return launch.spread.count(temporary) != 0 ||
         std::any_of(launch.statements.begin(), launch.statements.end(), touches);
}

struct CallParameter {
  std::string variable;  ///< of the kernel
  cgen::Parameter parameter;
  cgen::Expr argument;
  bool is_pointer_to_scalar = false;
};

CallParameter call_parameter(KernelVariables& variables, const cgen::Variable& variable,
                             const NameSet& written, const GuardedCall& guarded) {
  const Kernel& kernel = variables.launch.kernel;
  const PrivateVariables& private_variables = variables.private_variables();
  const auto own = private_variables.find(variable.name);
  const std::string& name = own != private_variables.end() ? own->second.temporary : variable.name;
  const bool is_written = written.count(name) != 0;
  const auto element = [&](const cgen::Type& type) {
    return is_written ? type : cgen::const_(type);
  };
  const cgen::Expr itself = cgen::variable(variable.name, variable.type);
  const Argument* argument = find_argument(kernel, name);
  const Temporary* temporary = find_temporary(kernel, name);
  const bool is_global = temporary != nullptr && temporary->address_space == AddressSpace::global;
  if (is_global || (argument != nullptr && argument->is_array)) {
    const bool is_constant =
        argument != nullptr && argument->address_space == AddressSpace::constant;
    const auto space = is_constant ? cgen::AddressSpace::constant : cgen::AddressSpace::global;
    const cgen::Type& type = is_global ? *temporary->type : *argument->type;
    CallParameter result{
        name, {cgen::pointer_to(cgen::in_space(space, element(type))), {}}, itself};
    if (const auto base = guarded.frame->bases.find(name); base != guarded.frame->bases.end()) {
      const std::vector<Expr>& shape = is_global ? temporary->shape : argument->shape;
      const std::vector<Expr>& stated =
          is_global ? temporary->strides_elements : argument->strides_elements;
      const std::vector<Expr> strides = strides_or_c_order(stated, shape);
      Expr offset = is_global ? Expr(0) : argument->offset_elements;
      for (std::size_t axis = 0; axis < base->second.size(); ++axis) {
        offset = offset + strides[axis] * to_expr(base->second[axis]);
      }
      if (as_integer(simplify_index(offset)) != 0) {
        result.argument =
            cgen::address_of(itself[lower_index(variables.scope_of(*guarded.context), offset)]);
      }
    }
    return result;
  }
  if (temporary != nullptr && temporary->address_space == AddressSpace::local) {
    const cgen::Type type = cgen::in_space(cgen::AddressSpace::shared, element(*temporary->type));
    return {name, {pointer_to_rows(type, storage_extents(kernel, *temporary)), {}}, itself};
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

}  // namespace

CodeItem lower_call(KernelVariables& variables, FunctionTable& functions,
                    const GuardedCall& guarded, CodeBlock code) {
  const LaunchFacts& launch = variables.launch;
  const CallSite& call = *launch.kernel.instructions[guarded.statements.front()].call_site;
  NameSet written;
  for (const std::size_t statement : guarded.statements) {
    const NameSet& own = launch.facts.written(statement);
    written.insert(own.begin(), own.end());
  }
  // the function declares what nothing else touches
  PrivateVariables declared = variables_in(code, variables.private_variables());
  std::erase_if(declared, [&](const auto& each) {
    return is_touched_outside(launch, each.second.temporary, guarded.statements);
  });
  const cgen::Statement body =
      cgen::Block{place_declarations(std::move(code), declared, launch.rules.gathers_conditions)};
  const std::vector<cgen::Variable> outer = outer_variables(body);
  std::set<std::string> taken = declared_names(body);
  for (const cgen::Variable& each : outer) {
    taken.insert(each.name);
  }
  cgen::Function function;
  function.result = cgen::void_type;
  function.name = call.function;
  function.specifiers.is_static = true;
  function.specifiers.is_device = true;
  std::vector<cgen::Expr> arguments;
  std::map<std::string, cgen::Expr> inside;
  for (const cgen::Variable& each : outer) {
    const Temporary* table = find_temporary(launch.kernel, each.name);
    if (table != nullptr && table->address_space == AddressSpace::constant) {
      continue;  // declared before all functions
    }
    CallParameter parameter = call_parameter(variables, each, written, guarded);
    const auto wanted = call.parameter_names.find(parameter.variable);
    const bool is_free = wanted != call.parameter_names.end() && !wanted->second.empty() &&
                         !functions.is_reserved(wanted->second) &&
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
  const std::string name = functions.add(std::move(function));
  return {CodeStatement{cgen::Statement(cgen::call(name, std::move(arguments), cgen::void_type))}};
}

}  // namespace rtcg::loopy
