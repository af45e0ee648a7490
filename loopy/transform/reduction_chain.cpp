#include "rtcg/loopy/transform/reduction_chain.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using IsPart = std::function<bool(const Reduction&)>;

bool has_part(const Expr& expr, const IsPart& is_part) {
  bool found = false;
  walk(expr, [&](const Expr& part) {
    const Reduction* reduction = get_if<Reduction>(part);
    found = found || (reduction != nullptr && is_part(*reduction));
    return !found;
  });
  return found;
}

bool is_one(const Expr& expr) {
  const Real* real = get_if<Real>(expr);
  return as_integer(expr) == 1 || (real != nullptr && real->value == 1);
}
bool is_zero(const Expr& expr) {
  const Real* real = get_if<Real>(expr);
  return as_integer(expr) == 0 || (real != nullptr && real->value == 0);
}

/// How an operand depends on earlier values.
class RepairFinder {
 public:
  RepairFinder(NameSet running, NameSet inames)
      : running_(std::move(running)), inames_(std::move(inames)) {}

  /// Whether the link can follow the earlier values; its operand loses the outer factor.
  bool find(ChainLink& link) const {
    if (!depends(link.operand)) {
      return true;
    }
    if (link.operation != "sum") {
      return false;
    }
    if (const auto split = split_factors(link.operand)) {
      link.operand = split->rest;
      link.factors = split->exponentials;
      link.outer_factor = split->outer;
      return true;
    }
    return find_product(link);
  }

  [[nodiscard]] bool depends(const Expr& expr) const { return mentions(expr, running_); }

 private:
  struct Factors {
    Expr rest = 1;
    std::vector<ExponentialFactor> exponentials{};
    Expr outer = 1;
  };

  static bool mentions(const Expr& expr, const NameSet& names) {
    bool found = false;
    for_each_free_name(expr,
                       [&](const std::string& each) { found = found || names.count(each) != 0; });
    return found;
  }
  /// Whether each element has a value of its own.
  [[nodiscard]] bool varies(const Expr& expr) const { return mentions(expr, inames_); }

  [[nodiscard]] std::optional<Factors> split_factors(const Expr& expr) const {
    if (!depends(expr)) {
      return Factors{expr};
    }
    if (!varies(expr)) {
      return Factors{1, {}, expr};
    }
    if (const Product* product = get_if<Product>(expr)) {
      Factors all;
      for (const Expr& factor : product->factors) {
        const auto part = split_factors(factor);
        if (!part) {
          return std::nullopt;
        }
        all.rest = all.rest * part->rest;
        all.outer = all.outer * part->outer;
        all.exponentials.insert(all.exponentials.end(), part->exponentials.begin(),
                                part->exponentials.end());
      }
      return all;
    }
    if (const Quotient* quotient = get_if<Quotient>(expr)) {
      auto above = split_factors(quotient->numerator);
      const bool is_outer = depends(quotient->denominator);
      if (!above || (is_outer && varies(quotient->denominator))) {
        return std::nullopt;
      }
      (is_outer ? above->outer : above->rest) =
          (is_outer ? above->outer : above->rest) / quotient->denominator;
      return above;
    }
    if (const Cast* cast = get_if<Cast>(expr)) {
      auto inside = split_factors(cast->operand);
      if (inside && is_one(inside->outer)) {
        inside->rest = Cast{cast->type, inside->rest};
        return inside;
      }
      return std::nullopt;
    }
    if (const Conditional* conditional = get_if<Conditional>(expr)) {
      return split_branches(*conditional);
    }
    if (is_exponential(expr)) {
      const Call* call = get_if<Call>(expr);
      const auto terms = split_terms(call->arguments.front(), 1);
      return terms ? std::optional(Factors{expr, {{call->function, *terms}}, 1}) : std::nullopt;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<Factors> split_branches(const Conditional& conditional) const {
    const auto then_part = split_factors(conditional.then_value);
    const auto else_part = split_factors(conditional.else_value);
    if (depends(conditional.condition) || !then_part || !else_part || !is_one(then_part->outer) ||
        !is_one(else_part->outer)) {
      return std::nullopt;
    }
    // a branch that is 0 stays 0 when it is multiplied
    const bool is_then = is_zero(conditional.else_value);
    if (!is_then && !is_zero(conditional.then_value) &&
        then_part->exponentials != else_part->exponentials) {
      return std::nullopt;
    }
    return Factors{Conditional{conditional.condition, then_part->rest, else_part->rest},
                   is_then ? then_part->exponentials : else_part->exponentials, 1};
  }

  /// What of an exponent depends on earlier values, as a sum of multiples.
  [[nodiscard]] std::optional<std::vector<ExponentTerm>> split_terms(const Expr& expr,
                                                                     const Expr& times) const {
    std::vector<ExponentTerm> all;
    if (!depends(expr)) {
      return all;
    }
    if (const Sum* sum = get_if<Sum>(expr)) {
      for (const Expr& term : sum->terms) {
        const auto part = split_terms(term, times);
        if (!part) {
          return std::nullopt;
        }
        all.insert(all.end(), part->begin(), part->end());
      }
      return all;
    }
    if (const Product* product = get_if<Product>(expr)) {
      Expr others = times;
      const Expr* dependent = nullptr;
      for (const Expr& factor : product->factors) {
        if (!depends(factor) && !varies(factor)) {
          others = others * factor;
        } else if (dependent == nullptr && depends(factor)) {
          dependent = &factor;
        } else {
          return std::nullopt;
        }
      }
      return split_terms(*dependent, others);
    }
    if (const Quotient* quotient = get_if<Quotient>(expr)) {
      return depends(quotient->denominator) || varies(quotient->denominator)
                 ? std::nullopt
                 : split_terms(quotient->numerator, times / quotient->denominator);
    }
    if (const Cast* cast = get_if<Cast>(expr)) {
      return split_terms(cast->operand, times);
    }
    if (varies(expr)) {
      return std::nullopt;
    }
    all.push_back({times, expr});
    return all;
  }

  /// `f(y) + shift(r)` as both; nothing where they are not added.
  [[nodiscard]] std::optional<std::pair<Expr, Expr>> split_shift(const Expr& expr) const {
    Expr own = 0;
    Expr shift = 0;
    const Sum* sum = get_if<Sum>(expr);
    for (const Expr& term : sum != nullptr ? sum->terms : std::vector{expr}) {
      if (depends(term) && varies(term)) {
        return std::nullopt;
      }
      (depends(term) ? shift : own) = (depends(term) ? shift : own) + term;
    }
    return std::pair(own, shift);
  }

  bool find_product(ChainLink& link) const {
    std::vector<Expr> factors = {link.operand};
    if (const Product* product = get_if<Product>(link.operand)) {
      factors = product->factors;
    }
    Expr outer = 1;
    std::vector<Expr> bases;
    for (const Expr& factor : factors) {
      const Power* power = get_if<Power>(factor);
      if (!varies(factor)) {
        outer = outer * factor;
      } else if (power != nullptr && as_integer(power->exponent) == 2) {
        bases.insert(bases.end(), 2, power->base);
      } else {
        bases.push_back(factor);
      }
    }
    if (bases.size() != 2) {
      return false;
    }
    const auto first = split_shift(bases[0]);
    const auto second = split_shift(bases[1]);
    if (!first || !second) {
      return false;
    }
    link.product = ShiftedProduct{first->first, first->second, second->first, second->second};
    link.outer_factor = outer;
    return true;
  }

  const NameSet running_;
  const NameSet inames_;
};

class ChainFinder {
 public:
  ChainFinder(const Kernel& kernel, const std::vector<std::string>& inames, const IsPart& is_part)
      : kernel_(kernel), inames_(inames), is_part_(is_part), names_(make_name_generator(kernel)) {}

  ReductionChain run() {
    for (const std::string& iname : inames_) {
      if (!is_iname(kernel_, iname)) {
        refuse("loopy.reduction_chain.unknown_iname", unknown_iname_text(kernel_, iname));
      }
    }
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      find_parts(i);
    }
    if (chain_.links.empty()) {
      refuse("loopy.reduction_chain.no_chain",
             fmt::format("no statement reduces over {}", list_text(inames_)));
    }
    find_types();
    for (std::size_t i = 0; i < chain_.links.size(); ++i) {
      follow(i);
    }
    return std::move(chain_);
  }

 private:
  [[noreturn]] void refuse_form(const Instruction& instruction, const std::string& why) const {
    refuse("loopy.reduction_chain.not_alike", fmt::format("the reduction over {} in '{}' {}",
                                                          list_text(inames_), instruction.id, why));
  }

  void find_parts(std::size_t statement) {
    const Instruction& instruction = kernel_.instructions[statement];
    const Assignment* assignment = get_if<Assignment>(instruction);
    bool is_anywhere = false;
    for_each_expression(instruction, [&](const Expr& each) {
      is_anywhere = is_anywhere || has_part(each, is_part_);
    });
    if (!is_anywhere) {
      return;
    }
    if (assignment == nullptr || assignment->targets.size() != 1 ||
        !has_part(assignment->value, is_part_)) {
      refuse_form(instruction, "is not in the value of an assignment to one target");
    }
    if (!instruction.predicates.empty() || assignment->is_atomic) {
      refuse_form(instruction, "is done under a condition, or atomically");
    }
    look(assignment->value, statement);
  }

  /// Reductions in branches are not always done, and those within others have other inames around
  /// them.
  void look(const Expr& expr, std::size_t statement) {
    const Instruction& instruction = kernel_.instructions[statement];
    const Reduction* reduction = get_if<Reduction>(expr);
    if (reduction != nullptr && is_part_(*reduction)) {
      add_link(*reduction, statement);
      return;
    }
    if ((reduction != nullptr || is<Conditional>(expr) || is<Logical>(expr) ||
         as_scan(expr) != nullptr) &&
        has_part(expr, is_part_)) {
      refuse_form(instruction, "is part of a condition, of a branch, or of another reduction");
    }
    for_each_child(expr, [&](const Expr& child) { look(child, statement); });
  }

  void add_link(const Reduction& reduction, std::size_t statement) {
    const Instruction& instruction = kernel_.instructions[statement];
    if (reduction.operands.size() != 1 || !is_known_operation(reduction.operation)) {
      refuse_form(instruction,
                  fmt::format("is '{}', which works on tuples or is a rule", reduction.operation));
    }
    for (const ChainLink& known : chain_.links) {
      if (known.statement == statement && known.reduction == Expr(reduction)) {
        return;
      }
    }
    ChainLink link;
    link.statement = statement;
    link.reduction = reduction;
    link.operation = reduction.operation;
    link.inames = reduction.inames;
    link.running =
        names_.make(target_name(get_if<Assignment>(instruction)->targets.front()) + "_run");
    chain_.links.push_back(std::move(link));
  }

  void find_types() {
    const Kernel typed = infer_types(expand_subst(kernel_));
    for (ChainLink& link : chain_.links) {
      link.type = types_of_targets(typed, expand_rules(kernel_, link.reduction)).front();
    }
  }

  [[nodiscard]] std::optional<std::size_t> link_of(std::size_t statement, const Expr& expr) const {
    for (std::size_t i = 0; i < chain_.links.size(); ++i) {
      if (chain_.links[i].statement == statement && chain_.links[i].reduction == expr) {
        return i;
      }
    }
    return std::nullopt;
  }

  /// `expr` of a statement as the first statement of the chain could compute it: with the values of
  /// the statements between, and the running values for reductions.
  Expr resolved(const Expr& expr, std::size_t statement) {
    if (const auto link = link_of(statement, expr)) {
      return Name{chain_.links[*link].running};
    }
    const Name* name = get_if<Name>(expr);
    const Access* element = get_if<Access>(expr);
    const LinearAccess* linear = get_if<LinearAccess>(expr);
    const std::string* variable = name != nullptr      ? &name->name
                                  : element != nullptr ? &element->array
                                  : linear != nullptr  ? &linear->array
                                                       : nullptr;
    std::optional<std::size_t> writer;
    for (std::size_t i = chain_.links.front().statement; variable != nullptr && i < statement;
         ++i) {
      const Instruction& each = kernel_.instructions[i];
      if (written_variables(each).count(*variable) == 0) {
        continue;
      }
      const Assignment* assignment = get_if<Assignment>(each);
      const bool is_value = !writer && assignment != nullptr && assignment->targets.size() == 1 &&
                            assignment->targets.front() == expr && each.predicates.empty() &&
                            !assignment->is_atomic && !touches_itself(*assignment, *variable);
      if (!is_value) {
        refuse("loopy.reduction_chain.input_changes",
               fmt::format("'{}' reads '{}', which '{}' changes after the chain of reductions over "
                           "{} begins",
                           kernel_.instructions[statement].id, *variable, each.id,
                           list_text(inames_)));
      }
      writer = i;
    }
    if (writer) {
      return resolved(get_if<Assignment>(kernel_.instructions[*writer])->value, *writer);
    }
    return map_children(expr, [&](const Expr& child) { return resolved(child, statement); });
  }
  static bool touches_itself(const Assignment& assignment, const std::string& variable) {
    return free_names(assignment.value).count(variable) != 0 ||
           accessed_arrays(assignment.value).count(variable) != 0;
  }

  void follow(std::size_t place) {
    ChainLink& link = chain_.links[place];
    const Instruction& instruction = kernel_.instructions[link.statement];
    link.operand = resolved(get_if<Reduction>(link.reduction)->operands.front(), link.statement);
    NameSet running;
    for (std::size_t i = 0; i < place; ++i) {
      running.insert(chain_.links[i].running);
      if (free_names(link.operand).count(chain_.links[i].running) != 0) {
        link.uses.push_back(i);
      }
    }
    const RepairFinder finder(std::move(running), {link.inames.begin(), link.inames.end()});
    const auto kind = cgen::scalar_kind(link.type);
    const bool is_floating = kind && cgen::is_floating(*kind);
    if (!finder.find(link) || (!is_floating && !link.uses.empty())) {
      refuse("loopy.reduction_chain.no_repair",
             fmt::format("'{}' reduces '{}' by {}, and no factor corrects the result when the "
                         "earlier values change: sums of exp(a - r)*b and of (a - r)*(b - s) in "
                         "floating point can be corrected",
                         instruction.id, to_string(link.operand), link.operation));
    }
    if (!link.uses.empty()) {
      check_not_empty(link, instruction);
    }
  }

  /// An earlier value of no elements is infinite, as is one of infinite elements alone: their later
  /// values differ.
  void check_not_empty(const ChainLink& link, const Instruction& instruction) const {
    NameSet all = instruction.within_inames;
    const ConstraintSet around = constraints_of(kernel_, all);
    all.insert(link.inames.begin(), link.inames.end());
    const ConstraintSet known = constraints_of(kernel_, all).project_out(link.inames);
    const bool has_any = std::all_of(known.constraints().begin(), known.constraints().end(),
                                     [&](const Constraint& each) { return around.implies(each); });
    if (!has_any) {
      refuse("loopy.reduction_chain.may_be_empty",
             fmt::format("the reduction over {} in '{}' may have no elements: state that it has "
                         "some, such as 'assume n >= 1'",
                         list_text(link.inames), instruction.id));
    }
  }

  const Kernel& kernel_;
  const std::vector<std::string>& inames_;
  const IsPart& is_part_;
  NameGenerator names_;
  ReductionChain chain_{};
};

}  // namespace

bool is_exponential(const Expr& expr) {
  const Call* call = get_if<Call>(expr);
  return call != nullptr && call->arguments.size() == 1 &&
         (call->function == "exp" || call->function == "exp2" || call->function == "exp10");
}

const ChainLink* ReductionChain::find_link(const std::string& running) const {
  const auto found = std::find_if(links.begin(), links.end(),
                                  [&](const ChainLink& each) { return each.running == running; });
  return found == links.end() ? nullptr : &*found;
}

ReductionChain find_reduction_chain(const Kernel& kernel, const std::vector<std::string>& inames,
                                    const IsPart& is_part) {
  return ChainFinder(kernel, inames, is_part).run();
}

Kernel with_visible_chain(Kernel kernel, const IsPart& is_part) {
  NameSet written;
  for (const Instruction& each : kernel.instructions) {
    written.merge(written_variables(each));
  }
  const auto is_written = [&](const std::string& each) { return written.count(each) != 0; };
  const bool hides = std::any_of(kernel.rules.begin(), kernel.rules.end(), [&](const auto& rule) {
    const NameSet names = free_names(rule.body);
    const NameSet arrays = accessed_arrays(rule.body);
    return rule.neutral.empty() &&
           (has_part(rule.body, is_part) || std::any_of(names.begin(), names.end(), is_written) ||
            std::any_of(arrays.begin(), arrays.end(), is_written));
  });
  return hides ? expand_subst(std::move(kernel)) : kernel;
}

Expr change_of(const std::vector<ExponentialFactor>& factors, const AtomChange& change) {
  Expr result = 1;
  for (const ExponentialFactor& factor : factors) {
    Expr exponent = 0;
    for (const ExponentTerm& term : factor.terms) {
      const bool is_reversed = as_integer(term.coefficient) == -1;
      const Expr changed = change(term.atom, is_reversed);
      exponent = exponent + (is_reversed ? changed : term.coefficient * changed);
    }
    result = result * call(factor.function, {exponent});
  }
  return result;
}

Expr finished(const ChainLink& link, const Expr& value) {
  const Expr correction =
      change_of(link.factors, [](const Expr& atom, bool) { return atom - atom; });
  return value * correction * link.outer_factor;
}

namespace {

ReductionOperation operation_of(const Kernel& kernel, const ChainLink& link) {
  return ReductionOperation(kernel, *get_if<Reduction>(link.reduction), {link.type});
}

}  // namespace

Expr neutral_of(const Kernel& kernel, const ChainLink& link) {
  const Expr neutral = operation_of(kernel, link).neutral().front();
  const auto kind = cgen::scalar_kind(link.type);
  const auto value = as_integer(neutral);
  return value && kind && cgen::is_floating(*kind) ? Expr(Real{static_cast<double>(*value), *kind})
                                                   : neutral;
}

Expr combined(const Kernel& kernel, const ChainLink& link, const Expr& left, const Expr& right) {
  return operation_of(kernel, link).combine({left}, {right}).front();
}

NameSet inputs_of(const Kernel& kernel, const ReductionChain& chain) {
  NameSet inputs;
  const std::size_t first = chain.links.front().statement;
  for (std::size_t i = first; i <= chain.links.back().statement; ++i) {
    inputs.insert(kernel.instructions[i].depends_on.begin(),
                  kernel.instructions[i].depends_on.end());
  }
  for (std::size_t i = first; i < kernel.instructions.size(); ++i) {
    inputs.erase(kernel.instructions[i].id);
  }
  return inputs;
}

void replace_reductions(Kernel& kernel, const ReductionChain& chain, const std::string& last,
                        const std::function<Expr(const ChainLink&)>& value) {
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    Instruction& instruction = kernel.instructions[i];
    bool is_of_chain = false;
    const auto replaced = [&](const Expr& expr) {
      const std::function<Expr(const Expr&)> replace = [&](const Expr& part) -> Expr {
        for (const ChainLink& link : chain.links) {
          if (link.statement == i && link.reduction == part) {
            is_of_chain = true;
            return value(link);
          }
        }
        return map_children(part, replace);
      };
      return replace(expr);
    };
    instruction = map_expressions(std::move(instruction), replaced);
    if (is_of_chain) {
      instruction.depends_on.insert(last);
    }
  }
}

}  // namespace rtcg::loopy
