#include "rtcg/loopy/create/resolve_calls.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::string index_name(std::size_t axis) {
  return fmt::format("_{}", axis);
}

const SubstitutionRule* find_rule(const std::vector<SubstitutionRule>& rules,
                                  const std::string& name) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const SubstitutionRule& each) { return each.name == name; });
  return found == rules.end() ? nullptr : &*found;
}

class CallResolver {
 public:
  // most texts have neither tags nor parts of arrays: no expression is looked through then
  CallResolver(ParsedStatements parsed, const std::vector<Kernel>& callees)
      : parsed_(std::move(parsed)), callees_(callees) {}

  ParsedStatements run() {
    if (parsed_.may_have_tags) {
      name_tagged_uses();
    }
    std::vector<ParsedStatement> statements = std::move(parsed_.statements);
    parsed_.statements.clear();
    for (ParsedStatement& statement : statements) {
      resolve(std::move(statement));
    }
    return std::move(parsed_);
  }

 private:
  // ---- `a$tag`

  void name_tagged_uses() {
    const auto map = [this](const Expr& expr) { return with_rules(expr); };
    for (ParsedStatement& statement : parsed_.statements) {
      statement_ = &statement;
      if (has_tagged_use(statement.instruction)) {
        statement.instruction = map_expressions(std::move(statement.instruction), map);
      }
    }
    // rules that this adds have no tags in their bodies
    const std::size_t count = parsed_.rules.size();
    for (std::size_t i = 0; i < count; ++i) {
      Expr body = with_rules(parsed_.rules[i].body);
      parsed_.rules[i].body = std::move(body);
    }
  }

  static bool has_tagged_use(const Instruction& instruction) {
    bool found = false;
    for_each_expression(instruction, [&](const Expr& expr) {
      walk(expr, [&](const Expr& part) {
        const Access* element = get_if<Access>(part);
        const Call* call = get_if<Call>(part);
        found = found || (element != nullptr && element->array.find('$') != std::string::npos) ||
                (call != nullptr && call->function.find('$') != std::string::npos);
        return !found;
      });
    });
    return found;
  }

  Expr with_rules(const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      const Call* call = get_if<Call>(part);
      const std::string* name = element != nullptr ? &element->array
                                : call != nullptr  ? &call->function
                                                   : nullptr;
      if (name == nullptr || name->find('$') == std::string::npos) {
        return std::nullopt;
      }
      const std::vector<Expr>& arguments = element != nullptr ? element->indices : call->arguments;
      require_rule(*name, arguments.size(), element != nullptr);
      return Expr(Call{*name, arguments});
    });
  }

  void require_rule(const std::string& name, std::size_t count, bool is_element) {
    if (const SubstitutionRule* rule = find_rule(parsed_.rules, name)) {
      if (rule->parameters.size() != count) {
        throw invalid_at(*statement_, "loopy.make_kernel.rank",
                         fmt::format("'{}' has {} indices or arguments here, and {} "
                                     "elsewhere",
                                     name, count, rule->parameters.size()));
      }
      return;
    }
    SubstitutionRule rule;
    rule.name = name;
    std::vector<Expr> arguments;
    for (std::size_t i = 0; i < count; ++i) {
      rule.parameters.push_back(index_name(i));
      arguments.emplace_back(Name{index_name(i)});
    }
    const std::string plain = name.substr(0, name.find('$'));
    rule.body = is_element ? Expr(Access{plain, std::move(arguments)})
                           : Expr(Call{plain, std::move(arguments)});
    parsed_.rules.push_back(std::move(rule));
  }

  // ---- calls

  void resolve(ParsedStatement statement) {
    statement_ = &statement;
    const Assignment* assignment = get_if<Assignment>(statement.instruction);
    const Call* call = assignment != nullptr ? get_if<Call>(assignment->value) : nullptr;
    const auto callee =
        call == nullptr ? callees_.end()
                        : std::find_if(callees_.begin(), callees_.end(), [&](const Kernel& each) {
                            return each.name == call->function;
                          });
    if (callee != callees_.end()) {
      parsed_.statements.push_back(as_call(std::move(statement), *callee));
      return;
    }
    if (parsed_.may_have_parts) {
      refuse_parts_of_arrays(statement.instruction);
    }
    if (call != nullptr && assignment->targets.size() > 1 && call->function != scan_function) {
      add_each_result(statement, *assignment, results_of(*call, assignment->targets.size()));
      return;
    }
    parsed_.statements.push_back(std::move(statement));
  }

  /// The targets are the callee's writes, the call's arguments its reads, both in its order.
  ParsedStatement as_call(ParsedStatement statement, const Kernel& callee) const {
    const Assignment assignment = *get_if<Assignment>(statement.instruction);
    NameSet written;
    for (const Instruction& each : callee.instructions) {
      written.merge(written_variables(each));
    }
    statement.callee = callee.name;
    const auto bind = [&](const std::vector<Expr>& values, bool is_result) {
      std::size_t next = 0;
      for (const Argument& argument : callee.arguments) {
        if (next < values.size() && (written.count(argument.name) != 0) == is_result) {
          statement.bindings.emplace_back(argument.name, to_string(values[next]));
          ++next;
        }
      }
      if (next < values.size()) {
        throw invalid_at(*statement_, "loopy.make_kernel.result_count",
                         fmt::format("kernel '{}' has {} {}, found {}", callee.name, next,
                                     is_result ? "results" : "arguments", values.size()));
      }
    };
    bind(assignment.targets, true);
    bind(get_if<Call>(assignment.value)->arguments, false);
    statement.instruction.kind = NoOperation{};
    return statement;
  }

  void refuse_parts_of_arrays(const Instruction& instruction) const {
    const std::string part = index_name(0);
    for_each_expression(instruction, [&](const Expr& expr) {
      bool is_there = false;
      for_each_free_name(expr,
                         [&](const std::string& each) { is_there = is_there || each == part; });
      if (is_there) {
        throw invalid_at(*statement_, "loopy.make_kernel.part_of_array",
                         fmt::format("'{}' is a part of an array: only kernels that "
                                     "statements call take one, as an argument of its own",
                                     to_string(expr)));
      }
    });
  }

  [[nodiscard]] std::vector<Expr> results_of(const Call& call, std::size_t count) const {
    const std::vector<Expr>& of = call.arguments;
    std::vector<Expr> results;
    if (call.function == "make_tuple") {
      results = of;
    } else if (call.function == "sincos" && of.size() == 1) {
      results = {Call{"sin", of}, Call{"cos", of}};
    } else if (call.function == "minmax" && of.size() == 2) {
      results = {Call{"min", of}, Call{"max", of}};
    } else if (call.function == "divmod" && of.size() == 2 && as_integer(of[1]) != 0) {
      results = {floor_div(of[0], of[1]), modulo(of[0], of[1])};
    } else if (const SubstitutionRule* rule = find_rule(parsed_.rules, call.function);
               rule != nullptr && is<Call>(rule->body) && rule->parameters.size() == of.size()) {
      Substitution values;
      for (std::size_t i = 0; i < of.size(); ++i) {
        values.emplace(rule->parameters[i], of[i]);
      }
      const Expr body = substitute(rule->body, values);
      return results_of(*get_if<Call>(body), count);
    }
    if (results.size() != count) {
      throw invalid_at(*statement_, "loopy.make_kernel.result_count",
                       fmt::format("'{}' gives {}, for {} targets: several values are "
                                   "those of sincos(x), divmod(a, b), minmax(a, b), "
                                   "make_tuple(a, b), of rules that give one of these, and of "
                                   "kernels that are called",
                                   to_string(Expr(call)),
                                   results.empty() ? std::string("one value")
                                                   : fmt::format("{} values", results.size()),
                                   count));
    }
    return results;
  }

  /// All values are computed before the first target is written where a later one reads it.
  void add_each_result(const ParsedStatement& statement, const Assignment& assignment,
                       std::vector<Expr> results) {
    bool is_read = false;
    for (std::size_t i = 0; i + 1 < results.size(); ++i) {
      const std::string& target = target_name(assignment.targets[i]);
      for (std::size_t later = i + 1; later < results.size(); ++later) {
        NameSet reads;
        for (const Expr& each : {results[later], assignment.targets[later]}) {
          reads.merge(free_names(each));
          reads.merge(accessed_arrays(each));
        }
        if (is<Name>(assignment.targets[later])) {
          reads.erase(target_name(assignment.targets[later]));
        }
        is_read = is_read || reads.count(target) != 0;
      }
    }
    const auto add = [&](const Expr& target, const Expr& value, bool is_first) {
      ParsedStatement one = statement;
      Assignment copy = assignment;
      copy.targets = {target};
      copy.value = value;
      one.instruction.kind = std::move(copy);
      if (!is_first && !statement.instruction.id.empty()) {
        one.instruction.id.clear();
        one.id_prefix = statement.instruction.id;
      }
      std::erase_if(one.declared,
                    [&](const Temporary& each) { return each.name != target_name(target); });
      parsed_.statements.push_back(std::move(one));
    };
    if (is_read) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string name = fmt::format("result_{}_{}", statement.line, i);
        add(Name{name}, results[i], false);
        parsed_.statements.back().declared = {{.name = name}};
        results[i] = Name{name};
      }
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      add(assignment.targets[i], results[i], i == 0);
    }
  }

  ParsedStatements parsed_;
  const std::vector<Kernel>& callees_;
  const ParsedStatement* statement_ = nullptr;  // in work
};

}  // namespace

ParsedStatements resolve_calls(ParsedStatements parsed, const std::vector<Kernel>& callees) {
  return CallResolver(std::move(parsed), callees).run();
}

}  // namespace rtcg::loopy
