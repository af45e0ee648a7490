#include "rtcg/loopy/create/make_kernel.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/create/infer_arguments.h"
#include "rtcg/loopy/create/infer_inames.h"
#include "rtcg/loopy/create/keep_projections.h"
#include "rtcg/loopy/create/kernel_parts.h"
#include "rtcg/loopy/create/make_kernel_with_callees.h"
#include "rtcg/loopy/create/ordered_reductions.h"
#include "rtcg/loopy/create/parse_arguments.h"
#include "rtcg/loopy/create/parse_statements.h"
#include "rtcg/loopy/create/refuse_half_written.h"
#include "rtcg/loopy/create/resolve_calls.h"
#include "rtcg/loopy/create/segmented_scans.h"
#include "rtcg/loopy/create/split_unions.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/kernel/parse_domain.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/inline_kernel.h"

namespace rtcg::loopy {
namespace {

/// Whether `text` fits `pattern`, in which `*` matches any characters.
bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == text;
  }
  if (!text.starts_with(pattern.substr(0, star))) {
    return false;
  }
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t skip = star; skip <= text.size(); ++skip) {
    if (matches(rest, text.substr(skip))) {
      return true;
    }
  }
  return false;
}

/// Turns `not i < n` into `i >= n` where both sides are integers: bounds are read off that form.
Kernel with_simple_predicates(Kernel kernel) {
  const auto is_integer = [&](const std::string& name) {
    const Argument* argument = find_argument(kernel, name);
    const auto kind =
        argument != nullptr && argument->type ? cgen::scalar_kind(*argument->type) : std::nullopt;
    return is_iname(kernel, name) || (kind && cgen::is_integral(*kind));
  };
  for (Instruction& instruction : kernel.instructions) {
    for (Expr& predicate : instruction.predicates) {
      const Not* negated = get_if<Not>(predicate);
      const Comparison* inner = negated != nullptr ? get_if<Comparison>(negated->operand) : nullptr;
      if (inner == nullptr || !to_affine(inner->left) || !to_affine(inner->right)) {
        continue;
      }
      const NameSet names = free_names(predicate);
      if (std::all_of(names.begin(), names.end(), is_integer)) {
        predicate = logical_not(negated->operand);
      }
    }
  }
  return kernel;
}

/// Inames that share no condition, directly or through others, each in a domain of their own: a
/// loop then runs whether or not another one has iterations, so that a sum over nothing is 0, and
/// questions about a loop meet only the conditions that concern it.
std::vector<Domain> separated(const std::vector<Domain>& domains) {
  std::vector<Domain> result;
  for (const Domain& domain : domains) {
    std::vector<std::size_t> part(domain.inames.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = i;
    }
    const auto join = [&](const Affine& expr) {
      std::optional<std::size_t> first;
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (expr.coefficient(domain.inames[i]) == 0) {
          continue;
        }
        if (!first) {
          first = part[i];
        }
        const std::size_t old = part[i];
        std::replace(part.begin(), part.end(), std::max(old, *first), std::min(old, *first));
        first = std::min(old, *first);
      }
      return first.value_or(0);  // conditions on parameters go with the first part
    };
    const auto for_each_condition = [&](const auto& use) {
      for (const Constraint& each : domain.constraints.constraints()) {
        use(each);
      }
      for (const Congruence& each : domain.constraints.congruences()) {
        use(each);
      }
    };
    for_each_condition([&](const auto& each) { join(each.expr); });
    const std::size_t begin = result.size();
    std::map<std::size_t, std::size_t> place;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto [found, is_new] = place.emplace(part[i], result.size() - begin);
      if (is_new) {
        result.emplace_back();
      }
      result[begin + found->second].inames.push_back(domain.inames[i]);
    }
    if (part.empty() || !domain.other_parts.empty()) {
      result.resize(begin);
      result.push_back(domain);
      continue;
    }
    for_each_condition(
        [&](const auto& each) { result[begin + place.at(join(each.expr))].constraints.add(each); });
  }
  return result;
}

/// A call `max(j, x)` or `min(j, x)` whose first argument is a free iname: Loo.py reads it as a
/// reduction.
struct OpenReduction {
  Expr call = 0;
  std::string iname{};
};

/// Adds those within `expr` to `found`, and the inames that are free elsewhere to `others`.
void find_open_reductions(const Kernel& kernel, const Expr& expr, const NameSet& bound,
                          std::vector<OpenReduction>& found, NameSet& others) {
  if (const Name* name = get_if<Name>(expr)) {
    if (bound.count(name->name) == 0 && is_iname(kernel, name->name)) {
      others.insert(name->name);
    }
    return;
  }
  const Call* call = get_if<Call>(expr);
  const Name* first = call != nullptr && call->arguments.size() == 2 &&
                              (call->function == "max" || call->function == "min")
                          ? get_if<Name>(call->arguments.front())
                          : nullptr;
  if (first != nullptr && bound.count(first->name) == 0 && is_iname(kernel, first->name)) {
    found.push_back({expr, first->name});
    NameSet inside = bound;
    inside.insert(first->name);
    find_open_reductions(kernel, call->arguments.back(), inside, found, others);
    return;
  }
  NameSet inside = bound;
  if (const Reduction* reduction = get_if<Reduction>(expr)) {
    inside.insert(reduction->inames.begin(), reduction->inames.end());
  }
  for_each_child(
      expr, [&](const Expr& child) { find_open_reductions(kernel, child, inside, found, others); });
}

constexpr const char* two_readings = "loopy.make_kernel.two_readings";

/// What can be the larger one of two numbers or a maximum over a loop.
std::optional<std::string> find_two_readings(const std::vector<OpenReduction>& found,
                                             const NameSet& others) {
  for (const OpenReduction& each : found) {
    if (others.count(each.iname) != 0) {
      continue;
    }
    const Call& call = *get_if<Call>(each.call);
    const std::string value = to_string(call.arguments.back());
    return fmt::format(
        "'{}' can be the {} of '{}' over the loop '{}' and the {} one of '{}' and '{}': write "
        "reduce({}, {}, {}) for the loop, {}({}, {}) for the two",
        to_string(each.call), call.function == "max" ? "maximum" : "minimum", value, each.iname,
        call.function == "max" ? "larger" : "smaller", each.iname, value, call.function, each.iname,
        value, call.function, value, each.iname);
  }
  return std::nullopt;
}

class KernelMaker {
 public:
  KernelMaker(KernelParts parts, const std::vector<Kernel>& callees)
      : parts_(with_segmented_scans(std::move(parts))),
        callees_(callees),
        parsed_(resolve_calls(std::move(parts_.statements), callees)) {
    kernel_.name = parts_.name;
    kernel_.domains = separated(parts_.domains);
    name_fields();
    kernel_.assumptions = parts_.assumptions;
    kernel_.arguments = parts_.arguments;
    kernel_.rules = parsed_.rules;
    for (const Preamble& preamble : parts_.functions.preambles) {
      kernel_ = add_preamble(std::move(kernel_), preamble);
    }
    for (const TypedFunction& function : parts_.functions.functions) {
      kernel_ = add_function(std::move(kernel_), function);
    }
    for (const SubstitutionRule& rule : kernel_.rules) {
      std::vector<OpenReduction> open;
      NameSet others;
      find_open_reductions(kernel_, rule.body, {rule.parameters.begin(), rule.parameters.end()},
                           open, others);
      if (const auto problem = find_two_readings(open, others)) {
        throw InvalidInput(two_readings, fmt::format("rule '{}': {}", rule.name, *problem));
      }
      const NameSet bounds = names_in_bounds(kernel_, reduction_inames(rule.body));
      for (const std::string& parameter : rule.parameters) {
        if (bounds.count(parameter) != 0) {
          throw InvalidInput(
              two_readings,
              fmt::format("rule '{0}': bounds of its sum depend on the iname '{1}', which is also "
                          "the name of a parameter: they may be those of the argument or those of "
                          "the loop '{1}'; rename the parameter if the loop is meant, otherwise "
                          "write the sum in the statement",
                          rule.name, parameter));
        }
      }
    }
    fix_parameters();
  }

  Kernel run() {
    name_statements();
    declare_temporaries();
    kernel_.instructions.reserve(parsed_.statements.size());
    for (const ParsedStatement& statement : parsed_.statements) {
      kernel_.instructions.push_back(statement.instruction);
    }
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      kernel_.instructions[i].within_inames = inames_of(parsed_.statements[i]);
    }
    resolve_dependencies();
    NameSet settled;
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      if (parsed_.statements[i].stated_inames) {
        settled.insert(kernel_.instructions[i].id);
      }
    }
    kernel_ = infer_inames(std::move(kernel_), settled);
    check_disjoint();
    resolve_queries();
    split_unions();
    shape_temporaries();
    Kernel kernel = with_copied_inames(with_calls_inlined(infer_arguments(std::move(kernel_))));
    if (!kernel.rules.empty()) {
      check_rule_operations(kernel);
    }
    kernel = detail::with_ordered_reductions(std::move(kernel));
    if (parts_.default_type) {
      for (Argument& argument : kernel.arguments) {
        if (!argument.type) {
          argument.type = parts_.default_type;
        }
      }
    }
    kernel = detail::with_projections(with_simple_predicates(std::move(kernel)));
    if (!parts_.sequential_dependencies) {
      detail::refuse_half_written(kernel);
    }
    return kernel;
  }

 private:
  /// Fields, `p.x` until now, get names that the text can have: `p_x`. Those that nothing uses go.
  void name_fields() {
    NameSet arrays;
    for (Argument& argument : parts_.arguments) {
      if (!argument.field_of || argument.name.find('.') == std::string::npos) {
        continue;
      }
      const std::string name = variable_of_field(argument.name);
      const bool is_taken =
          std::any_of(parts_.arguments.begin(), parts_.arguments.end(),
                      [&](const Argument& each) { return each.name == name; }) ||
          std::any_of(parsed_.rules.begin(), parsed_.rules.end(),
                      [&](const SubstitutionRule& each) { return each.name == name; }) ||
          is_iname(kernel_, name);
      if (is_taken) {
        throw InvalidInput("loopy.make_kernel.structs",
                           fmt::format("the field '{}' is called '{}' in the text, and so is "
                                       "something else: rename one of them",
                                       argument.name, name));
      }
      field_names_.emplace(argument.name, name);
      arrays.insert(argument.field_of->array);
      argument.name = name;
    }
    if (field_names_.empty() && !parsed_.may_have_fields) {
      return;
    }
    NameSet used;
    const auto renamed = [&](const Expr& expr) {
      const Expr result = rename_all(expr, field_names_);
      used.merge(accessed_arrays(result));
      return result;
    };
    for (ParsedStatement& statement : parsed_.statements) {
      for_each_expression(statement.instruction, [&](const Expr& expr) {
        if (const auto problem = find_field_problem(expr, arrays)) {
          throw invalid_at(statement, "loopy.make_kernel.fields", *problem);
        }
      });
      statement.instruction = map_expressions(std::move(statement.instruction), renamed);
      if (const RawCode* raw = get_if<RawCode>(statement.instruction)) {
        used.insert(raw->reads.begin(), raw->reads.end());
        used.insert(raw->writes.begin(), raw->writes.end());
      }
      for (auto& [name, value] : statement.bindings) {
        value = to_string(renamed(parse_expr(value)));
      }
    }
    for (SubstitutionRule& rule : parsed_.rules) {
      if (const auto problem = find_field_problem(rule.body, arrays)) {
        throw InvalidInput("loopy.make_kernel.fields",
                           fmt::format("rule '{}': {}", rule.name, *problem));
      }
      rule.body = renamed(rule.body);
    }
    std::erase_if(parts_.arguments, [&](const Argument& each) {
      return each.field_of && used.count(each.name) == 0;
    });
  }

  /// A field that no array of structs has, or a struct without a field.
  [[nodiscard]] std::optional<std::string> find_field_problem(const Expr& expr,
                                                              const NameSet& arrays) const {
    std::optional<std::string> problem;
    const auto check = [&](const std::string& name, bool is_indexed) {
      const std::string array = name.substr(0, name.find('.'));
      const bool is_field = array != name;
      if (problem || (!is_field && arrays.count(array) == 0)) {
        return;
      }
      std::vector<std::string> known;
      for (const auto& [field, new_name] : field_names_) {
        if (field.starts_with(array + ".")) {
          known.push_back(field.substr(array.size() + 1));
        }
      }
      if (arrays.count(array) == 0) {
        problem = fmt::format(
            "'{}' is not declared as an array of structs, so it has no field "
            "'{}': state it among the arguments, '{}: particle[n]'",
            array, name.substr(array.size() + 1), array);
      } else if (field_names_.count(name) == 0) {
        problem = fmt::format(
            "'{}' is {}: the numbers of '{}' are {} (a number whose place "
            "in the struct is not a multiple of its size cannot be named)",
            name, is_field ? "no number of a struct" : "a struct, not a number", array,
            fmt::join(known, ", "));
      } else if (!is_indexed) {
        problem = fmt::format("'{}' is a field of each struct of '{}': write {}[i]{}", name, array,
                              array, name.substr(array.size()));
      }
    };
    walk(expr, [&](const Expr& part) {
      if (const Name* name = get_if<Name>(part)) {
        check(name->name, false);
      } else if (const Access* access = get_if<Access>(part)) {
        check(access->array, true);
      } else if (const LinearAccess* linear = get_if<LinearAccess>(part)) {
        check(linear->array, true);
      }
      return true;
    });
    return problem;
  }

  void fix_parameters() {
    if (parts_.fixed_parameters.empty()) {
      return;
    }
    Substitution values;
    for (const auto& [name, value] : parts_.fixed_parameters) {
      values.emplace(name, Expr(value));
      for (Domain& domain : kernel_.domains) {
        domain.constraints = domain.constraints.substitute(name, Affine(value));
        for (ConstraintSet& part : domain.other_parts) {
          part = part.substitute(name, Affine(value));
        }
      }
      kernel_.assumptions = kernel_.assumptions.substitute(name, Affine(value));
    }
    const auto fixed = [&](const Expr& expr) { return substitute(expr, values); };
    for (ParsedStatement& statement : parsed_.statements) {
      statement.instruction = map_expressions(std::move(statement.instruction), fixed);
    }
    for (SubstitutionRule& rule : kernel_.rules) {
      rule.body = fixed(rule.body);
    }
    for (Temporary& temporary : parsed_.temporaries) {
      std::transform(temporary.shape.begin(), temporary.shape.end(), temporary.shape.begin(),
                     fixed);
    }
    for (Argument& argument : kernel_.arguments) {
      for (std::vector<Expr>* exprs : {&argument.shape, &argument.strides_elements}) {
        std::transform(exprs->begin(), exprs->end(), exprs->begin(), fixed);
      }
      argument.offset_elements = fixed(argument.offset_elements);
    }
    std::erase_if(kernel_.arguments, [&](const Argument& argument) {
      return parts_.fixed_parameters.count(argument.name) != 0;
    });
  }

  void name_statements() {
    NameGenerator names;
    for (const ParsedStatement& statement : parsed_.statements) {
      const std::string& id = statement.instruction.id;
      if (!id.empty() && !names.reserve(id)) {
        throw invalid_at(statement, "loopy.make_kernel.duplicate_id",
                         fmt::format("there is a statement '{}' already", id));
      }
    }
    for (ParsedStatement& statement : parsed_.statements) {
      if (statement.instruction.id.empty()) {
        statement.instruction.id = names.make(
            statement.id_prefix.empty() ? default_id(statement.instruction) : statement.id_prefix);
      }
      ids_.push_back(statement.instruction.id);
    }
  }

  void split_unions() {
    const bool has_union =
        std::any_of(kernel_.domains.begin(), kernel_.domains.end(),
                    [](const Domain& domain) { return !domain.other_parts.empty(); });
    if (!has_union) {
      return;
    }
    for (const ParsedStatement& statement : parsed_.statements) {
      if (!statement.callee.empty() || !statement.duplicated.empty()) {
        throw Unsupported("loopy.make_kernel.union_use",
                          fmt::format("{}: calls of kernels and 'dup' are not supported in a "
                                      "kernel with a domain that is a union",
                                      place_of(statement)));
      }
    }
    kernel_ = with_unions_split(std::move(kernel_));
  }

  /// The expressions of `disjoint=` are numbers of an iteration.
  void check_disjoint() const {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& instruction = kernel_.instructions[i];
      for (const Expr& each : instruction.disjoint_at.value_or(std::vector<Expr>{})) {
        for (const std::string& name : free_names(each)) {
          if (is_iname(kernel_, name) && instruction.within_inames.count(name) == 0) {
            throw invalid_at(parsed_.statements[i], "loopy.make_kernel.unknown_iname",
                             fmt::format("'disjoint={}' mentions '{}', and '{}' is not within it",
                                         to_string(each), name, instruction.id));
          }
        }
        if (!to_affine(each)) {
          throw invalid_at(
              parsed_.statements[i], "loopy.make_kernel.disjoint",
              fmt::format("'disjoint={}' names inames, one after the other with ':' between",
                          to_string(each)));
        }
      }
      if (instruction.disjoint_at && !is<Assignment>(instruction)) {
        throw invalid_at(parsed_.statements[i], "loopy.make_kernel.disjoint",
                         "only assignments are disjoint: they write elements");
      }
    }
  }

  static std::string default_id(const Instruction& instruction) {
    if (const Assignment* assignment = get_if<Assignment>(instruction)) {
      return "set_" + target_name(assignment->targets.front());
    }
    return is<BarrierInstruction>(instruction) ? "barrier"
           : is<RawCode>(instruction)          ? "code"
                                               : "nop";
  }

  void declare_temporaries() {
    for (const Temporary& temporary : parsed_.temporaries) {
      declare(temporary);
    }
    for (const ParsedStatement& statement : parsed_.statements) {
      for (const Temporary& temporary : statement.declared) {
        declare(temporary);
      }
    }
  }

  void declare(const Temporary& temporary) {
    const bool is_argument = find_argument(kernel_, temporary.name) != nullptr;
    if (is_argument || is_iname(kernel_, temporary.name)) {
      throw InvalidInput("loopy.make_kernel.mixed_use",
                         fmt::format("temporary '{}' is {} already: give it another name",
                                     temporary.name, is_argument ? "an argument" : "an iname"));
    }
    if (find_temporary(kernel_, temporary.name) == nullptr) {
      kernel_.temporaries.push_back(temporary);
    }
  }

  /// Temporaries that statements index take the shape that their accesses need.
  void shape_temporaries() {
    if (kernel_.temporaries.empty()) {
      return;
    }
    NameSet indexed;
    for (const Instruction& instruction : kernel_.instructions) {
      if (const Assignment* assignment = get_if<Assignment>(instruction)) {
        for (const Expr& target : assignment->targets) {
          if (const Access* access = get_if<Access>(target)) {
            indexed.insert(access->array);
          }
        }
      }
    }
    const auto is_open = [&](const Temporary& each) {
      return each.shape.empty() && indexed.count(each.name) != 0;
    };
    if (std::none_of(kernel_.temporaries.begin(), kernel_.temporaries.end(), is_open)) {
      return;
    }
    // they need what arguments need
    Kernel probe = kernel_;
    std::erase_if(probe.temporaries, is_open);
    for (const Temporary& each : kernel_.temporaries) {
      if (find_temporary(probe, each.name) == nullptr) {
        probe.arguments.push_back({.name = each.name, .is_array = true});
      }
    }
    const Kernel shaped = infer_arguments(std::move(probe));
    for (Temporary& each : kernel_.temporaries) {
      if (is_open(each)) {
        each.shape = find_argument(shaped, each.name)->shape;
      }
    }
  }

  NameSet inames_of(const ParsedStatement& statement) const {
    if (statement.stated_inames) {
      check_inames(*statement.stated_inames, statement);
      return with_parent_inames(kernel_, *statement.stated_inames);
    }
    NameSet inames = statement.for_inames;
    inames.insert(statement.additional_inames.begin(), statement.additional_inames.end());
    check_inames(inames, statement);
    {
      std::vector<OpenReduction> open;
      NameSet others = inames;
      for_each_expression(statement.instruction, [&](const Expr& expr) {
        find_open_reductions(kernel_, expr, {}, open, others);
      });
      if (const auto problem = find_two_readings(open, others)) {
        throw invalid_at(statement, two_readings, *problem);
      }
    }
    const auto add_from = [&](const Expr& expr) {
      for_each_free_name(expand_rules(kernel_, expr), [&](const std::string& each) {
        if (is_iname(kernel_, each)) {
          inames.insert(each);
        }
      });
    };
    const Instruction& instruction = statement.instruction;
    for_each_expression(instruction, add_from);
    for (const auto& [name, value] : statement.bindings) {
      add_from(parse_expr(value));
    }
    // inames on which the domains of reductions depend are outside of them
    NameSet bound;
    for_each_expression(instruction, [&](const Expr& expr) {
      bound.merge(reduction_inames(expand_rules(kernel_, expr)));
    });
    for (const std::string& each : bound) {
      if (!is_iname(kernel_, each)) {
        throw invalid_at(
            statement, "loopy.make_kernel.unknown_iname",
            fmt::format("'{}' reduces over '{}', which no domain has", instruction.id, each));
      }
    }
    if (!bound.empty()) {
      NameSet outer = with_parent_inames(kernel_, bound);
      for (const std::string& each : bound) {
        outer.erase(each);
      }
      inames.merge(outer);
    }
    return with_parent_inames(kernel_, inames);
  }

  void check_inames(const NameSet& inames, const ParsedStatement& statement) const {
    for (const std::string& each : inames) {
      if (!is_iname(kernel_, each)) {
        throw invalid_at(statement, "loopy.make_kernel.unknown_iname",
                         fmt::format("no domain has iname '{}': there are {}", each,
                                     fmt::join(all_inames(kernel_), ", ")));
      }
    }
  }

  void resolve_dependencies() {
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      const ParsedStatement& statement = parsed_.statements[i];
      NameSet& depends_on = kernel_.instructions[i].depends_on;
      for (std::string pattern : statement.dependency_patterns) {
        if (pattern.size() > 1 && pattern.starts_with("*")) {
          // `*a:b` means "these besides those that follow from the variables", which always holds
          pattern.erase(0, 1);
        }
        bool found = false;
        for (std::size_t other = 0; other < kernel_.instructions.size(); ++other) {
          const std::string& id = kernel_.instructions[other].id;
          const bool is_all = pattern == "*";
          if (other != i && (is_all ? other < i : matches(pattern, id))) {
            depends_on.insert(id);
            found = true;
          }
          found = found || is_all;
        }
        if (!found) {
          throw invalid_at(
              statement, "loopy.make_kernel.unknown_dependency",
              fmt::format("statement '{}' depends on '{}', which is not the id of a statement",
                          kernel_.instructions[i].id, pattern));
        }
      }
      if (parts_.sequential_dependencies && i > 0) {
        depends_on.insert(kernel_.instructions[i - 1].id);
      }
    }
  }

  /// What a query says of inames and of what is read through rules is known by now.
  void resolve_queries() {
    std::optional<Kernel> expanded;
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      Instruction& instruction = kernel_.instructions[i];
      for (const std::string& query : parsed_.statements[i].dependency_queries) {
        if (!expanded) {
          expanded = map_expressions(kernel_,
                                     [&](const Expr& expr) { return expand_rules(kernel_, expr); });
        }
        std::vector<std::string> found = match_instructions(*expanded, query);
        std::erase(found, instruction.id);
        if (found.empty()) {
          throw invalid_at(parsed_.statements[i], "loopy.make_kernel.unknown_dependency",
                           fmt::format("statement '{}' depends on '{}', which no other "
                                       "statement fits",
                                       instruction.id, query));
        }
        instruction.depends_on.insert(found.begin(), found.end());
      }
    }
  }

  /// The statements of the callees where they are called.
  Kernel with_calls_inlined(Kernel kernel) const {
    bool is_any = false;
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      const ParsedStatement& statement = parsed_.statements[i];
      if (statement.callee.empty() && statement.is_function) {
        throw invalid_at(statement, "loopy.make_kernel.unknown_callee",
                         fmt::format("'{}' is not a call of a kernel: as_function is for "
                                     "these",
                                     ids_[i]));
      }
      if (statement.callee.empty()) {
        continue;
      }
      const auto callee = std::find_if(callees_.begin(), callees_.end(), [&](const Kernel& each) {
        return each.name == statement.callee;
      });
      if (callee == callees_.end()) {
        throw invalid_at(statement, "loopy.make_kernel.unknown_callee",
                         fmt::format("there is no kernel '{}' to call", statement.callee));
      }
      try {
        kernel = inline_kernel(std::move(kernel), *callee, ids_[i], bindings_of(statement, *callee),
                               {.as_function = statement.is_function});
      } catch (const InvalidInput& error) {
        throw invalid_at(statement, error.code(), error.message());
      }
      is_any = true;
    }
    kernel.recipe.clear();
    if (!is_any) {
      return kernel;
    }
    return infer_arguments(std::move(kernel));
  }

  /// `dup=i->i2`.
  [[nodiscard]] Kernel with_copied_inames(Kernel kernel) const {
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      for (const auto& [iname, copy] : parsed_.statements[i].duplicated) {
        DuplicateOptions options{.within = "id:" + ids_[i], .new_names = {}};
        if (!copy.empty()) {
          options.new_names = {copy};
        }
        kernel = duplicate_inames(std::move(kernel), {iname}, options);
      }
    }
    kernel.recipe.clear();
    return kernel;
  }

  static Bindings bindings_of(const ParsedStatement& statement, const Kernel& callee) {
    Bindings bindings;
    for (std::size_t i = 0; i < statement.bindings.size(); ++i) {
      const auto& [name, value] = statement.bindings[i];
      if (name.empty() && i >= callee.arguments.size()) {
        throw InvalidInput(
            "loopy.inline_kernel.bad_binding",
            fmt::format("kernel '{}' has {} arguments only", callee.name, callee.arguments.size()));
      }
      bindings.emplace_back(name.empty() ? callee.arguments[i].name : name, value);
    }
    return bindings;
  }

  KernelParts parts_;
  const std::vector<Kernel>& callees_;
  ParsedStatements parsed_;
  std::vector<std::string> ids_;                                 // of the statements
  std::map<std::string, std::string, std::less<>> field_names_;  // p_x of `p.x`
  Kernel kernel_;
};

}  // namespace

Kernel make_kernel(std::string_view domains, std::string_view statements,
                   const KernelOptions& options) {
  return make_kernel_with_callees(domains, statements, options, {});
}

Kernel make_kernel_with_callees(std::string_view domains, std::string_view statements,
                                const KernelOptions& options, const std::vector<Kernel>& callees) {
  return make_kernel_of_parts(
      {.name = options.name,
       .statements = parse_statements(statements),
       .domains = parse_domains(domains),
       .assumptions = parse_assumptions(options.assumptions),
       .arguments = parse_arguments(options.arguments, parse_structs(options.structs)),
       .functions = parse_functions(options.functions),
       .default_type = options.default_type,
       .sequential_dependencies = options.sequential_dependencies,
       .fixed_parameters = options.fixed_parameters},
      callees);
}

Kernel make_kernel_of_parts(KernelParts parts, const std::vector<Kernel>& callees) {
  return KernelMaker(std::move(parts), callees).run();
}

}  // namespace rtcg::loopy
