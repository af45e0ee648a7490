#include "rtcg/loopy/analyze/access.h"

#include <algorithm>
#include <utility>

#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

class AccessCollector {
 public:
  AccessCollector(const Kernel& kernel, const Instruction& instruction)
      : kernel_(kernel), statement_(instruction.id), inames_(instruction.within_inames) {}

  void read(const Expr& expr);
  void write(const Expr& target);
  void assume(const Expr& condition) {
    conditions_.push_back(condition);
    ++predicates_;
  }
  std::vector<ArrayAccess> take() { return std::move(accesses_); }

 private:
  void read_reduction(const Reduction& reduction);
  void read_scan(const Reduction& reduction);
  void read_conditional(const Conditional& conditional);
  void read_logical(const Logical& logical);
  /// Reads where `condition` holds.
  void read_under(const Expr& condition, const Expr& expr);
  void add(const std::string& array, std::vector<Expr> indices, bool is_write, bool is_linear) {
    accesses_.push_back(
        {array, std::move(indices), is_write, is_linear, statement_, inames_, conditions_});
  }

  const Kernel& kernel_;
  const std::string& statement_;
  NameSet inames_;
  std::vector<Expr> conditions_;
  std::size_t predicates_ = 0;  // how many of these are the statement's own
  std::vector<ArrayAccess> accesses_;
};

void AccessCollector::read(const Expr& expr) {
  match(
      expr,
      [&](const Name& e) {
        const bool is_variable =
            find_temporary(kernel_, e.name) != nullptr || find_argument(kernel_, e.name) != nullptr;
        if (is_variable && inames_.count(e.name) == 0) {
          add(e.name, {}, false, false);
        }
      },
      [&](const Access& e) {
        for_each_child(expr, [&](const Expr& index) { read(index); });
        add(e.array, e.indices, false, false);
      },
      [&](const LinearAccess& e) {
        read(e.index);
        add(e.array, {e.index}, false, true);
      },
      [&](const Reduction& e) { read_reduction(e); },
      [&](const Conditional& e) { read_conditional(e); },
      [&](const Logical& e) { read_logical(e); },
      [&](const Call& e) {
        if (const Reduction* scanned = as_scan(expr)) {
          read_scan(*scanned);
        } else if (sampled_image(kernel_, e) != nullptr) {  // at places that no index gives
          std::for_each(e.arguments.begin() + 1, e.arguments.end(),
                        [&](const Expr& coordinate) { read(coordinate); });
        } else {
          for_each_child(expr, [&](const Expr& child) { read(child); });
        }
      },
      [](const Integer&) {}, [](const Real&) {},
      [&](const auto&) { for_each_child(expr, [&](const Expr& child) { read(child); }); });
}

void AccessCollector::read_reduction(const Reduction& reduction) {
  NameSet outer = inames_;
  inames_.insert(reduction.inames.begin(), reduction.inames.end());
  for (const Expr& operand : reduction.operands) {
    read(operand);
  }
  inames_ = std::move(outer);
}

// a scan goes on from one iteration to the next, also where a branch has no use for its value
void AccessCollector::read_scan(const Reduction& reduction) {
  std::vector<Expr> outer = conditions_;
  conditions_.resize(predicates_, Expr(0));
  read_reduction(reduction);
  conditions_ = std::move(outer);
}

void AccessCollector::read_under(const Expr& condition, const Expr& expr) {
  conditions_.push_back(condition);
  read(expr);
  conditions_.pop_back();
}

void AccessCollector::read_conditional(const Conditional& conditional) {
  read(conditional.condition);
  read_under(conditional.condition, conditional.then_value);
  read_under(logical_not(conditional.condition), conditional.else_value);
}

void AccessCollector::read_logical(const Logical& logical) {
  // as in C, an operand is computed only where those before it leave the answer open
  const std::size_t outer = conditions_.size();
  for (const Expr& operand : logical.operands) {
    read(operand);
    conditions_.push_back(logical.op == LogicalOp::and_ ? operand : logical_not(operand));
  }
  conditions_.resize(outer, Expr(0));
}

void AccessCollector::write(const Expr& target) {
  for_each_child(target, [&](const Expr& index) { read(index); });
  const Access* element = get_if<Access>(target);
  const LinearAccess* linear = get_if<LinearAccess>(target);
  add(target_name(target),
      element != nullptr  ? element->indices
      : linear != nullptr ? std::vector<Expr>{linear->index}
                          : std::vector<Expr>{},
      true, linear != nullptr);
}

}  // namespace

std::vector<ArrayAccess> accesses_of(const Kernel& kernel, const Instruction& instruction) {
  AccessCollector collector(kernel, instruction);
  for (const Expr& predicate : instruction.predicates) {
    collector.read(predicate);
    collector.assume(predicate);
  }
  if (const Assignment* assignment = get_if<Assignment>(instruction)) {
    collector.read(assignment->value);
    for (const Expr& target : assignment->targets) {
      collector.write(target);
    }
  }
  for_each_part(instruction, [&](const Expr& part, bool is_read, bool) {
    if (is_read) {
      collector.read(part);
    }
  });
  for_each_part(instruction, [&](const Expr& part, bool, bool is_written) {
    if (is_written) {
      collector.write(part);
    }
  });
  return collector.take();
}

std::vector<ArrayAccess> accesses_of(const Kernel& kernel) {
  std::vector<ArrayAccess> all;
  for (const Instruction& instruction : kernel.instructions) {
    for (ArrayAccess& each : accesses_of(kernel, instruction)) {
      all.push_back(std::move(each));
    }
  }
  return all;
}

}  // namespace rtcg::loopy
