#include "rtcg/loopy/create/segmented_scans.h"

#include <algorithm>
#include <map>

#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_segmented_scan(const Expr& expr) {
  const Call* call = get_if<Call>(expr);
  return call != nullptr && call->function == segmented_scan_function &&
         call->arguments.size() == 2 && as_scan(call->arguments.back()) != nullptr;
}

bool has_segmented_scan(const ParsedStatement& statement) {
  bool has_any = false;
  for_each_expression(statement.instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      has_any = has_any || is_segmented_scan(part);
      return !has_any;
    });
  });
  return has_any;
}

class SegmentWriter {
 public:
  explicit SegmentWriter(KernelParts parts) : parts_(std::move(parts)) { reserve_names(); }

  KernelParts run() {
    std::vector<ParsedStatement> old = std::move(parts_.statements.statements);
    parts_.statements.statements.clear();
    for (ParsedStatement& each : old) {
      if (has_segmented_scan(each)) {
        rewrite(each);
      }
      parts_.statements.statements.push_back(std::move(each));
    }
    return std::move(parts_);
  }

 private:
  void reserve_names() {
    const auto reserve = [&](const std::string& name) { static_cast<void>(names_.reserve(name)); };
    for (const Argument& each : parts_.arguments) {
      reserve(each.name);
    }
    for (const Domain& each : parts_.domains) {
      std::for_each(each.inames.begin(), each.inames.end(), reserve);
    }
    for (const Temporary& each : parts_.statements.temporaries) {
      reserve(each.name);
    }
    for (const SubstitutionRule& each : parts_.statements.rules) {
      reserve(each.name);
    }
    for (const ParsedStatement& each : parts_.statements.statements) {
      reserve(each.instruction.id);
      for (const Temporary& declared : each.declared) {
        reserve(declared.name);
      }
      for_each_expression(each.instruction, [&](const Expr& expr) {
        for (const std::string& name : free_names(expr)) {
          reserve(name);
        }
        for (const std::string& name : accessed_arrays(expr)) {
          reserve(name);
        }
      });
    }
  }

  void rewrite(ParsedStatement& statement) {
    const Assignment* assignment = get_if<Assignment>(statement.instruction);
    if (assignment != nullptr && is_segmented_scan(assignment->value)) {
      Assignment pairs = *assignment;
      pairs.targets.emplace_back(Name{declare("begun", statement)});
      pairs.value = as_scan_of_pairs(pairs.value);
      statement.instruction.kind = std::move(pairs);
      return;
    }
    // before the statement is taken apart
    inames_ = inames_around(statement);
    depends_on_ = statement.instruction.depends_on;
    NameSet added;
    statement.instruction =
        map_expressions(std::move(statement.instruction), [&](const Expr& expr) {
          return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
            return is_segmented_scan(part)
                       ? std::optional(in_statement_of_its_own(part, statement, added))
                       : std::nullopt;
          });
        });
    statement.instruction.depends_on.merge(added);
  }

  /// The inames that the statement is in, as far as its text says.
  [[nodiscard]] NameSet inames_around(const ParsedStatement& statement) const {
    NameSet result = statement.additional_inames;
    const NameSet reduced = reduction_inames(statement.instruction);
    for_each_expression(statement.instruction, [&](const Expr& expr) {
      for (const std::string& name : free_names(expr)) {
        const bool is_iname =
            std::any_of(parts_.domains.begin(), parts_.domains.end(), [&](const Domain& domain) {
              return std::find(domain.inames.begin(), domain.inames.end(), name) !=
                     domain.inames.end();
            });
        if (is_iname && reduced.count(name) == 0) {
          result.insert(name);
        }
      }
    });
    return result;
  }

  std::string declare(const std::string& base, ParsedStatement& statement) {
    Temporary temporary;
    temporary.name = names_.make(base);
    statement.declared.push_back(temporary);
    return temporary.name;
  }

  /// Its value, which the statement added before `around` sets.
  /// @param added  gets its id
  Expr in_statement_of_its_own(const Expr& scan, const ParsedStatement& around, NameSet& added) {
    ParsedStatement statement;
    statement.for_inames = around.for_inames;
    statement.stated_inames = around.stated_inames;
    statement.additional_inames = inames_;
    statement.dependency_patterns = around.dependency_patterns;
    statement.dependency_queries = around.dependency_queries;
    statement.instruction.depends_on = depends_on_;
    statement.instruction.id = names_.make("scan_segments");
    const std::string value = declare("in_segment", statement);
    const std::string begun = declare("begun", statement);
    statement.instruction.kind = Assignment{{Name{value}, Name{begun}}, as_scan_of_pairs(scan)};
    added.insert(statement.instruction.id);
    parts_.statements.statements.push_back(std::move(statement));
    return Name{value};
  }

  Expr as_scan_of_pairs(const Expr& segmented) {
    const Call& call = *get_if<Call>(segmented);
    const Expr& begins = call.arguments.front();
    Reduction reduction = *as_scan(call.arguments.back());
    reduction.operation = rule_for(reduction);
    const bool is_condition = is<Comparison>(begins) || is<Logical>(begins) || is<Not>(begins);
    reduction.operands.push_back(Conditional{
        is_condition ? begins : Expr(Comparison{ComparisonOp::not_equal, begins, 0}), 1, 0});
    return scan(std::move(reduction));
  }

  /// The name of the operation on values and flags.
  const std::string& rule_for(const Reduction& reduction) {
    const auto known = rules_.find(reduction.operation);
    if (known != rules_.end()) {
      return known->second;
    }
    Kernel kernel;
    kernel.arguments = parts_.arguments;
    kernel.rules = parts_.statements.rules;
    const ReductionOperation operation(kernel, reduction, {});
    SubstitutionRule rule;
    rule.name = names_.make(reduction.operation + "_in_segments");
    std::vector<Expr> left;
    std::vector<Expr> right;
    for (std::size_t i = 0; i < reduction.operands.size(); ++i) {
      left.emplace_back(Name{names_.make("a")});
      right.emplace_back(Name{names_.make("b")});
    }
    const Expr begun = Name{names_.make("has_begun")};
    const Expr begins = Name{names_.make("begins")};
    std::vector<Expr> values = operation.combine(left, right);
    // of others it depends on the type, which is not known yet
    const bool has_neutral = !is_choice(reduction.operation);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Expr starts = Comparison{ComparisonOp::greater, begins, 0};
      const Expr is_first =
          Logical{LogicalOp::or_, {starts, Comparison{ComparisonOp::less, begun, 0}}};
      values[i] = Conditional{has_neutral ? starts : is_first, right[i], values[i]};
      if (!has_neutral) {
        values[i] = Conditional{Comparison{ComparisonOp::less, begins, 0}, left[i], values[i]};
      }
    }
    values.push_back(loopy::call("max", {begun, begins}));
    rule.body = Call{"make_tuple", values};
    left.push_back(begun);
    right.push_back(begins);
    for (const std::vector<Expr>& side : {left, right}) {
      for (const Expr& each : side) {
        rule.parameters.push_back(get_if<Name>(each)->name);
      }
    }
    rule.neutral =
        has_neutral ? operation.neutral() : std::vector<Expr>(reduction.operands.size(), Expr(0));
    rule.neutral.emplace_back(has_neutral ? 0 : -1);
    parts_.statements.rules.push_back(rule);
    return rules_.emplace(reduction.operation, rule.name).first->second;
  }

  KernelParts parts_;
  NameGenerator names_;
  NameSet inames_;  // of the statement that is being rewritten
  NameSet depends_on_;
  std::map<std::string, std::string> rules_;
};

}  // namespace

KernelParts with_segmented_scans(KernelParts parts) {
  const bool has_any = std::any_of(parts.statements.statements.begin(),
                                   parts.statements.statements.end(), has_segmented_scan);
  return has_any ? SegmentWriter(std::move(parts)).run() : std::move(parts);
}

}  // namespace rtcg::loopy
