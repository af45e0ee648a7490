#include "rtcg/loopy/transform/fuse_reductions.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/reduction_chain.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// The sums and products of an exponent without terms that cancel each other: `c*(x - x)` is 0.
Expr with_cancelled_terms(const Expr& exponent) {
  return rewrite_bottom_up(exponent, [](const Expr& part) -> std::optional<Expr> {
    if (const Sum* sum = get_if<Sum>(part)) {
      std::vector<Expr> left;
      for (const Expr& term : sum->terms) {
        const auto opposite = std::find(left.begin(), left.end(), -term);
        opposite != left.end() ? static_cast<void>(left.erase(opposite)) : left.push_back(term);
      }
      Expr rest = 0;
      for (const Expr& term : left) {
        rest = rest + term;
      }
      return rest;
    }
    const Product* product = get_if<Product>(part);
    const bool is_nothing =
        product != nullptr && std::any_of(product->factors.begin(), product->factors.end(),
                                          [](const Expr& each) { return as_integer(each) == 0; });
    return is_nothing ? std::optional(Expr(0)) : std::nullopt;
  });
}

/// `expr` with 1 for exponentials whose terms cancel each other.
Expr with_simple_exponentials(const Expr& expr) {
  return rewrite_bottom_up(expr, [](const Expr& part) -> std::optional<Expr> {
    if (is_exponential(part)) {
      const Call* call = get_if<Call>(part);
      const Expr exponent = with_cancelled_terms(call->arguments.front());
      return as_integer(exponent) == 0 ? Expr(1) : Expr(Call{call->function, {exponent}});
    }
    const Product* product = get_if<Product>(part);
    if (product == nullptr) {
      return std::nullopt;
    }
    Expr rest = 1;
    for (const Expr& factor : product->factors) {
      rest = rest * factor;
    }
    return rest;
  });
}

class ReductionFuser {
 public:
  ReductionFuser(Kernel kernel, std::vector<std::string> inames)
      : kernel_(std::move(kernel)), inames_(std::move(inames)) {}

  Kernel run() {
    const NameSet all(inames_.begin(), inames_.end());
    const auto is_part = [&](const Reduction& reduction) {
      return NameSet(reduction.inames.begin(), reduction.inames.end()) == all;
    };
    kernel_ = with_visible_chain(std::move(kernel_), is_part);
    chain_ = find_reduction_chain(kernel_, inames_, is_part);
    if (chain_.links.size() < 2) {
      refuse("loopy.fuse_reductions.one_reduction",
             fmt::format("kernel '{}' has one reduction over {}: there is nothing to fuse",
                         kernel_.name, list_text(inames_)));
    }
    check_surroundings();
    names_ = make_name_generator(kernel_);
    for (const ChainLink& link : chain_.links) {
      names_.reserve(link.running);
    }
    for (const ChainLink& link : chain_.links) {
      add_values(link);
    }
    add_rule();
    add_statement();
    return std::move(kernel_);
  }

 private:
  /// One of the values that the reduction combines.
  struct Value {
    std::string name;  ///< of the temporary
    cgen::Type type;
    Expr operand;
    Expr neutral;
    std::string left;  ///< names of the rule's operands
    std::string right;
  };

  void check_surroundings() const {
    const Instruction& first = kernel_.instructions[chain_.links.front().statement];
    for (const ChainLink& link : chain_.links) {
      const Instruction& each = kernel_.instructions[link.statement];
      if (each.within_inames != first.within_inames) {
        refuse("loopy.reduction_chain.not_alike",
               fmt::format("'{}' is within the loops {}, but '{}' within {}: reduce_online takes "
                           "reductions within different loops",
                           first.id, list_text(first.within_inames), each.id,
                           list_text(each.within_inames)));
      }
      check_rule_can_have(link);
    }
  }

  /// A rule may use its operands and scalar arguments alone.
  void check_rule_can_have(const ChainLink& link) const {
    for (const ExponentialFactor& factor : link.factors) {
      for (const ExponentTerm& term : factor.terms) {
        for (const Expr& expr : {term.coefficient, term.atom}) {
          NameSet other = free_names(expr);
          std::erase_if(other, [&](const std::string& name) {
            const Argument* argument = find_argument(kernel_, name);
            return chain_.find_link(name) != nullptr ||
                   (argument != nullptr && !argument->is_array);
          });
          other.merge(accessed_arrays(expr));
          other.merge(reduction_inames(expr));
          if (!other.empty()) {
            refuse("loopy.reduction_chain.no_repair",
                   fmt::format("the factor that corrects '{}' would read '{}': the rule that "
                               "combines two parts may read scalar arguments alone",
                               link.running, *other.begin()));
          }
        }
      }
    }
  }

  [[nodiscard]] static Expr constant(double value, const cgen::Type& type) {
    return Real{value, cgen::scalar_kind(type)};
  }

  std::size_t add_value(const std::string& name, const cgen::Type& type, const Expr& operand,
                        const Expr& neutral) {
    values_.push_back(
        {name, type, operand, neutral, names_.make(name + "_left"), names_.make(name + "_right")});
    return values_.size() - 1;
  }
  /// A count or mean, which several links may share.
  std::size_t shared_value(const std::string& name, const cgen::Type& type, const Expr& operand) {
    const auto key = std::pair(to_string(operand), cgen::scalar_kind(type));
    const auto known = shared_.find(key);
    return known != shared_.end()
               ? known->second
               : shared_
                     .emplace(key, add_value(names_.make(name), type, operand, constant(0, type)))
                     .first->second;
  }

  void add_values(const ChainLink& link) {
    if (link.product) {
      Moments moments;
      moments.count = shared_value(link.running + "_count", link.type, constant(1, link.type));
      moments.first = shared_value(link.running + "_mean", link.type, link.product->first);
      moments.second = shared_value(link.running + "_mean", link.type, link.product->second);
      moments_.emplace(link.running, moments);
      add_value(link.running, link.type, constant(0, link.type), constant(0, link.type));
      return;
    }
    // of one element the earlier values are its own
    Substitution own;
    for (const Value& each : values_) {
      own.emplace(each.name, each.operand);
    }
    const Expr element =
        link.uses.empty() ? link.operand : with_simple_exponentials(substitute(link.operand, own));
    const auto number = as_integer(element);
    add_value(link.running, link.type,
              number ? constant(static_cast<double>(*number), link.type) : element,
              neutral_of(kernel_, link));
  }

  [[nodiscard]] const Value& value_named(const std::string& name) const {
    return *std::find_if(values_.begin(), values_.end(),
                         [&](const Value& each) { return each.name == name; });
  }

  /// The maximum or minimum that alone decides about the factors of the link; null otherwise.
  [[nodiscard]] const ChainLink* find_extreme(const ChainLink& link) const {
    const ChainLink* found = nullptr;
    for (const ExponentialFactor& factor : link.factors) {
      for (const ExponentTerm& term : factor.terms) {
        const Name* name = get_if<Name>(term.atom);
        const ChainLink* used = name != nullptr ? chain_.find_link(name->name) : nullptr;
        if (used == nullptr || (found != nullptr && used != found) || !used->is_plain() ||
            !is_one(used->outer_factor) ||
            (!is_least(used->operation) && !is_greatest(used->operation))) {
          return nullptr;
        }
        found = used;
      }
    }
    return found;
  }
  static bool is_one(const Expr& expr) { return as_integer(expr) == 1; }

  /// Of two extreme values one stays what it is, so one of the sums needs no factor.
  [[nodiscard]] Expr combined_beside(const ChainLink& extreme, const ChainLink& link,
                                     const Value& value) const {
    const Value& bound = value_named(extreme.running);
    const Expr left = name(bound.left);
    const Expr right = name(bound.right);
    const Expr is_right = compare(
        is_greatest(extreme.operation) ? ComparisonOp::less : ComparisonOp::greater, left, right);
    const Expr change = change_of(link.factors, [&](const Expr&, bool is_reversed) {
      const Expr kept = Conditional{is_right, right, left};
      const Expr given_up = Conditional{is_right, left, right};
      // equal ones may be infinite
      return Conditional{compare(ComparisonOp::equal, left, right), 0,
                         is_reversed ? given_up - kept : kept - given_up};
    });
    return Expr(Conditional{is_right, name(value.left), name(value.right)}) * change +
           Expr(Conditional{is_right, name(value.right), name(value.left)});
  }

  [[nodiscard]] Expr combined_by_factors(const ChainLink& link, const Value& value,
                                         const Substitution& next) const {
    const auto factor = [&](bool is_left) {
      Substitution before;
      for (const Value& each : values_) {
        before.emplace(each.name, name(is_left ? each.left : each.right));
      }
      return change_of(link.factors, [&](const Expr& atom, bool is_reversed) {
        const Expr old_atom = substitute(atom, before);
        const Expr new_atom = substitute(atom, next);
        return Conditional{compare(ComparisonOp::equal, old_atom, new_atom), 0,
                           is_reversed ? old_atom - new_atom : new_atom - old_atom};
      });
    };
    return name(value.left) * factor(true) + name(value.right) * factor(false);
  }

  /// Of the right part among both.
  [[nodiscard]] Expr share_of(const Value& count) const {
    return Conditional{compare(ComparisonOp::equal, name(count.right), 0), 0,
                       name(count.right) / (name(count.left) + name(count.right))};
  }

  [[nodiscard]] Expr combined_product(const ChainLink& link, const Value& value) const {
    const auto& [number, first, second] = moments_.at(link.running);
    const Value& count = values_[number];
    const auto distance = [&](std::size_t mean) {
      return name(values_[mean].right) - name(values_[mean].left);
    };
    return name(value.left) + name(value.right) +
           distance(first) * distance(second) * name(count.left) * share_of(count);
  }

  [[nodiscard]] std::vector<Expr> combined_values() const {
    std::vector<Expr> results;
    Substitution next;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      const ChainLink* link = chain_.find_link(value.name);
      Expr result = name(value.left) + name(value.right);  // a count
      if (link == nullptr) {
        for (const auto& [running, moments] : moments_) {
          if (i == moments.first || i == moments.second) {
            result = name(value.left) +
                     (name(value.right) - name(value.left)) * share_of(values_[moments.count]);
          }
        }
      } else if (link->product) {
        result = combined_product(*link, value);
      } else if (link->is_plain()) {
        result = combined(kernel_, *link, name(value.left), name(value.right));
      } else if (const ChainLink* extreme = find_extreme(*link)) {
        result = combined_beside(*extreme, *link, value);
      } else {
        result = combined_by_factors(*link, value, next);
      }
      next.emplace(value.name, result);
      results.push_back(std::move(result));
    }
    return results;
  }

  void add_rule() {
    SubstitutionRule rule;
    rule.name = rule_ = names_.make("online");
    for (const Value& each : values_) {
      rule.parameters.push_back(each.left);
      rule.neutral.push_back(each.neutral);
    }
    for (const Value& each : values_) {
      rule.parameters.push_back(each.right);
    }
    rule.body = call("make_tuple", combined_values());
    kernel_.rules.push_back(std::move(rule));
  }

  [[nodiscard]] Expr result_of(const ChainLink& link) const {
    if (!link.product) {
      return finished(link, name(link.running));
    }
    const auto& [number, first, second] = moments_.at(link.running);
    const Expr shifted = (name(values_[first].name) + link.product->first_shift) *
                         (name(values_[second].name) + link.product->second_shift);
    return (name(link.running) + name(values_[number].name) * shifted) * link.outer_factor;
  }

  void add_statement() {
    const std::size_t place = chain_.links.front().statement;
    Instruction fused;
    fused.id = names_.make("fused_" + kernel_.instructions[place].id);
    fused.within_inames = kernel_.instructions[place].within_inames;
    fused.depends_on = inputs_of(kernel_, chain_);
    Assignment assignment;
    std::vector<Expr> operands;
    for (const Value& each : values_) {
      Temporary temporary;
      temporary.name = each.name;
      temporary.type = each.type;
      kernel_.temporaries.push_back(std::move(temporary));
      assignment.targets.push_back(name(each.name));
      operands.push_back(each.operand);
    }
    assignment.value = Reduction{rule_, inames_, operands};
    fused.kind = std::move(assignment);
    replace_reductions(kernel_, chain_, fused.id,
                       [&](const ChainLink& link) { return result_of(link); });
    kernel_.instructions.insert(kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place),
                                std::move(fused));
  }

  /// Places of the values that a sum of products follows from.
  struct Moments {
    std::size_t count = 0;
    std::size_t first = 0;
    std::size_t second = 0;
  };

  Kernel kernel_;
  const std::vector<std::string> inames_;
  ReductionChain chain_{};
  NameGenerator names_{};
  std::vector<Value> values_{};
  std::map<std::pair<std::string, std::optional<cgen::ScalarKind>>, std::size_t> shared_{};
  std::map<std::string, Moments> moments_{};
  std::string rule_{};
};

}  // namespace

Kernel fuse_reductions(Kernel kernel, const std::vector<std::string>& inames) {
  const RecordedStep step(kernel);
  kernel = ReductionFuser(std::move(kernel), inames).run();
  step.record(kernel, "fuse_reductions", {list_text(inames)});
  return kernel;
}

}  // namespace rtcg::loopy
