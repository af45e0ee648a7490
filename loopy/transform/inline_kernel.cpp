#include "rtcg/loopy/transform/inline_kernel.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/with_own_names.h"

namespace rtcg::loopy {
namespace {

using BoundTo = std::map<std::string, Expr, std::less<>>;

[[noreturn]] void refuse_binding(const std::string& name, const std::string& text,
                                 const std::string& why) {
  refuse("loopy.inline_kernel.bad_binding",
         fmt::format("'{}' cannot be bound to '{}': {}", name, text, why));
}

std::string index_name(std::size_t axis) {
  return fmt::format("_{}", axis);
}

bool is_index_name(const std::string& name) {
  return name.size() > 1 && name[0] == '_' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<cgen::Type> type_of_array(const Kernel& kernel, const std::string& name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    return argument->type;
  }
  const Temporary* temporary = find_temporary(kernel, name);
  return temporary == nullptr ? std::nullopt : temporary->type;
}

void check_types(const Kernel& kernel, const Kernel& callee, const Argument& argument,
                 const std::string& bound) {
  const std::optional<cgen::Type> own = type_of_array(kernel, bound);
  if (own && argument.type && !(*own == *argument.type)) {
    refuse("loopy.inline_kernel.different_types",
           fmt::format("'{}' of kernel '{}' and '{}' of kernel '{}' have different types",
                       argument.name, callee.name, bound, kernel.name));
  }
}

/// What an array argument is: an element of the kernel's with places for the callee's indices.
Expr array_binding(const Kernel& kernel, const Kernel& callee, const Argument& argument,
                   const std::string& text) {
  Expr bound = parse_expr(text);
  const std::size_t rank = argument.shape.size();
  const bool is_one_element =
      std::all_of(argument.shape.begin(), argument.shape.end(),
                  [](const Expr& length) { return as_integer(length) == 1; });
  const Name* whole = get_if<Name>(bound);
  const Temporary* scalar = whole != nullptr ? find_temporary(kernel, whole->name) : nullptr;
  if (scalar != nullptr && scalar->shape.empty() && is_one_element) {
    check_types(kernel, callee, argument, scalar->name);
    return bound;
  }
  if (whole != nullptr) {
    std::vector<Expr> indices;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      indices.push_back(name(index_name(axis)));
    }
    bound = access(whole->name, std::move(indices));
  }
  const Access* element = get_if<Access>(bound);
  const auto layout = element != nullptr ? find_layout(kernel, element->array) : std::nullopt;
  if (!layout || layout->shape.size() != element->indices.size()) {
    refuse_binding(
        argument.name, text,
        fmt::format("write an element of an array of '{}', such as a[i, _0]", kernel.name));
  }
  const NameSet names = free_names(bound);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const bool is_always_zero = as_integer(argument.shape[axis]) == 1;
    if (names.count(index_name(axis)) == 0 && !is_always_zero) {
      refuse_binding(argument.name, text,
                     fmt::format("it does not say where '{}', the callee's index {}, goes",
                                 index_name(axis), axis));
    }
  }
  if (has_linear_access(callee, argument.name)) {
    refuse_binding(argument.name, text, "the callee accesses it by its place in memory");
  }
  check_types(kernel, callee, argument, element->array);
  return bound;
}

BoundTo read_bindings(const Kernel& kernel, const Kernel& callee, const Instruction& call,
                      const Bindings& bindings) {
  BoundTo bound;
  for (const auto& [name, text] : bindings) {
    const Argument* argument = find_argument(callee, name);
    if (argument == nullptr) {
      refuse_binding(name, text, fmt::format("kernel '{}' has no such argument", callee.name));
    }
    const Expr value =
        argument->is_array ? array_binding(kernel, callee, *argument, text) : parse_expr(text);
    for (const std::string& each : free_names(value)) {
      const bool is_inside = call.within_inames.count(each) != 0;
      if (is_iname(kernel, each) && !is_inside) {
        refuse_binding(name, text, fmt::format("statement '{}' is not within '{}'", call.id, each));
      }
      if (is_index_name(each) &&
          (!argument->is_array || std::stoul(each.substr(1)) >= argument->shape.size())) {
        refuse_binding(name, text, fmt::format("the callee has no index '{}'", each));
      }
    }
    if (parameters(callee).count(name) != 0 && !to_affine(value)) {
      refuse_binding(name, text, "bounds depend on it, and it is not affine");
    }
    if (!bound.emplace(name, value).second) {
      refuse_binding(name, text, "it is bound already");
    }
  }
  return bound;
}

Expr with_bindings(const Expr& expr, const BoundTo& bound) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Name* scalar = get_if<Name>(part);
    const Access* element = get_if<Access>(part);
    const std::string* name = scalar != nullptr    ? &scalar->name
                              : element != nullptr ? &element->array
                                                   : nullptr;
    const auto found = name != nullptr ? bound.find(*name) : bound.end();
    if (found == bound.end()) {
      return std::nullopt;
    }
    if (scalar != nullptr || is<Name>(found->second)) {
      return found->second;
    }
    Substitution indices;
    for (std::size_t axis = 0; axis < element->indices.size(); ++axis) {
      indices.emplace(index_name(axis), element->indices[axis]);
    }
    const Access& target = *get_if<Access>(found->second);
    std::vector<Expr> result;
    for (const Expr& index : target.indices) {
      result.push_back(simplify_index(substitute(index, indices)));
    }
    return access(target.array, std::move(result));
  });
}

/// Constraints on parameters in terms of what these are bound to.
ConstraintSet with_bindings(ConstraintSet set, const BoundTo& bound) {
  const auto hidden = [](const std::string& name) { return "." + name; };  // no one is called so
  set = set.rename(
      [&](const std::string& name) { return bound.count(name) != 0 ? hidden(name) : name; });
  for (const auto& [name, value] : bound) {
    if (set.mentions(hidden(name))) {
      set = set.substitute(hidden(name), *to_affine(value));
    }
  }
  return set;
}

Kernel with_bindings(Kernel callee, const BoundTo& bound) {
  const auto map = [&](const Expr& expr) { return with_bindings(expr, bound); };
  callee = map_expressions(std::move(callee), map);
  for (Temporary& temporary : callee.temporaries) {
    std::transform(temporary.shape.begin(), temporary.shape.end(), temporary.shape.begin(), map);
    std::transform(temporary.strides_elements.begin(), temporary.strides_elements.end(),
                   temporary.strides_elements.begin(), map);
  }
  for (Domain& domain : callee.domains) {
    domain.constraints = with_bindings(std::move(domain.constraints), bound);
  }
  callee.assumptions = with_bindings(std::move(callee.assumptions), bound);
  std::erase_if(callee.arguments,
                [&](const Argument& argument) { return bound.count(argument.name) != 0; });
  return callee;
}

/// The callee's statements as they run at the call.
std::vector<Instruction> statements_at(const Instruction& call, const Kernel& callee) {
  std::vector<Instruction> statements = callee.instructions;
  for (Instruction& each : statements) {
    each.within_inames.insert(call.within_inames.begin(), call.within_inames.end());
    each.depends_on.insert(call.depends_on.begin(), call.depends_on.end());
    each.predicates.insert(each.predicates.begin(), call.predicates.begin(), call.predicates.end());
    each.tags.insert(call.tags.begin(), call.tags.end());
  }
  return statements;
}

template <class Item>
void append_all(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Kernel with_statements(Kernel kernel, const Kernel& callee, const std::string& call) {
  const auto place = std::find_if(kernel.instructions.begin(), kernel.instructions.end(),
                                  [&](const Instruction& each) { return each.id == call; });
  const std::vector<Instruction> statements = statements_at(*place, callee);
  kernel.instructions.insert(kernel.instructions.erase(place), statements.begin(),
                             statements.end());
  for (Instruction& each : kernel.instructions) {
    if (each.depends_on.erase(call) != 0) {
      for (const Instruction& statement : statements) {
        each.depends_on.insert(statement.id);
      }
    }
  }
  return kernel;
}

void check_function(const Kernel& callee) {
  const auto parallel =
      std::find_if(callee.iname_tags.begin(), callee.iname_tags.end(), [](const auto& each) {
        const InameTag& tag = each.second;
        return tag.is_parallel() || tag.is_lane() || tag.kind == AxisKind::block_auto;
      });
  if (parallel != callee.iname_tags.end()) {
    refuse("loopy.inline_kernel.not_a_function",
           fmt::format("'{}' of kernel '{}' is tagged {}: the loops of a function are sequential",
                       parallel->first, callee.name, to_string(parallel->second)));
  }
  for (const Instruction& each : callee.instructions) {
    if (!is<Assignment>(each) && !is<NoOperation>(each)) {
      refuse("loopy.inline_kernel.not_a_function",
             fmt::format("statement '{}' of kernel '{}' is a barrier or C text: functions have "
                         "assignments only",
                         each.id, callee.name));
    }
  }
}

/// The call, with what the callee calls that which it is bound to.
std::shared_ptr<const CallSite> call_site_of(const Kernel& kernel, const Kernel& callee,
                                             const std::string& call, const BoundTo& bound) {
  CallSite site{callee.name, call, {}};
  const auto is_taken = [&] {
    return std::any_of(
        kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
          return each.call_site != nullptr && each.call_site->function == site.function &&
                 each.call_site->call == site.call;
        });
  };
  for (int number = 1; is_taken(); ++number) {
    site.call = fmt::format("{}_{}", call, number);
  }
  NameSet twice;
  for (const auto& [name, value] : bound) {
    const Access* element = get_if<Access>(value);
    const Name* variable = get_if<Name>(value);
    const std::string* own = element != nullptr    ? &element->array
                             : variable != nullptr ? &variable->name
                                                   : nullptr;
    if (own != nullptr && !site.parameter_names.emplace(*own, name).second) {
      twice.insert(*own);  // one pointer, for two parts of it
    }
  }
  for (const std::string& each : twice) {
    site.parameter_names.erase(each);
  }
  for (const std::string& iname : all_inames(callee)) {
    site.parameter_names.emplace(iname, "");  // no parameter: a loop of its own
  }
  return std::make_shared<const CallSite>(std::move(site));
}

void check_axes(const Kernel& kernel) {
  for (const auto& [iname, tag] : kernel.iname_tags) {
    if (const auto why_not = why_not_on_axis(kernel, iname, tag)) {
      refuse("loopy.inline_kernel.axis_used_twice", *why_not);
    }
  }
}

}  // namespace

Kernel inline_kernel(Kernel kernel, const Kernel& callee, std::string_view call,
                     const Bindings& bindings, const InlineOptions& options) {
  const Instruction* place = find_instruction(kernel, call);
  if (place == nullptr || !is<NoOperation>(*place)) {
    refuse("loopy.inline_kernel.no_call",
           fmt::format("kernel '{}' has no statement '{}' that does nothing: write "
                       "... nop {{id={}}} for the call of '{}'",
                       kernel.name, call, call, callee.name));
  }
  NameGenerator names = make_name_generator(kernel);
  for (const Argument& argument : callee.arguments) {
    names.reserve(argument.name);
  }
  const BoundTo bound = read_bindings(kernel, callee, *place, bindings);
  Kernel inlined = with_bindings(with_own_names(callee, names, "_in"), bound);
  if (options.as_function) {
    check_function(callee);
    const auto site = call_site_of(kernel, inlined, std::string(call), bound);
    for (Instruction& each : inlined.instructions) {
      each.call_site = site;
    }
  }
  for (const Argument& argument : inlined.arguments) {
    const bool is_there = find_argument(kernel, argument.name) != nullptr ||
                          find_temporary(kernel, argument.name) != nullptr;
    if (is_iname(kernel, argument.name) || find_rule(kernel, argument.name) != nullptr) {
      refuse_binding(argument.name, argument.name, "that is not a variable of the kernel");
    }
    const std::optional<cgen::Type> own = type_of_array(kernel, argument.name);
    if (is_there && own && argument.type && !(*own == *argument.type)) {
      refuse("loopy.inline_kernel.different_types",
             fmt::format("'{}' has different types in kernels '{}' and '{}'", argument.name,
                         callee.name, kernel.name));
    }
    if (!is_there) {
      kernel.arguments.push_back(argument);
    }
  }
  kernel = with_statements(std::move(kernel), inlined, std::string(call));
  append_all(kernel.domains, inlined.domains);
  append_all(kernel.temporaries, inlined.temporaries);
  append_all(kernel.rules, inlined.rules);
  append_functions(kernel, inlined);
  append_all(kernel.loop_priorities, inlined.loop_priorities);
  kernel.iname_tags.insert(inlined.iname_tags.begin(), inlined.iname_tags.end());
  const std::vector<std::string> assumed = inlined.assumptions.names();
  if (std::none_of(assumed.begin(), assumed.end(),
                   [&](const std::string& each) { return is_iname(kernel, each); })) {
    kernel.assumptions.add(inlined.assumptions);
  }
  check_axes(kernel);
  std::vector<std::string> arguments = {to_string(to_kernel_file(callee)), std::string(call)};
  for (const auto& [name, text] : bindings) {
    arguments.push_back(fmt::format("{}:{}", name, to_string(parse_expr(text))));
  }
  record(kernel, "inline_kernel", std::move(arguments),
         {{"as_function", options.as_function ? "yes" : ""}});
  return kernel;
}

}  // namespace rtcg::loopy
