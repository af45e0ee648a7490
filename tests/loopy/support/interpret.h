#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/analyze/rule_operation.h"
#include "rtcg/loopy/kernel/kernel.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

// Runs kernels slowly and plainly, to see that transformations keep their meaning.

namespace rtcg::loopy {

/// Statements in source order; neighbours that share an iname share its loop, and all loops run
/// upwards. Arrays are maps from indices to numbers; what was never written has a value that
/// depends on the array and the indices alone.
class Interpreter {
 public:
  using Element = std::pair<std::string, std::vector<std::int64_t>>;
  using Values = std::map<std::string, std::int64_t, std::less<>>;

  Interpreter(const Kernel& kernel, Values parameters)
      : kernel_(expand_subst(kernel)), inames_(std::move(parameters)) {}

  /// The elements written, without those of temporaries.
  std::map<Element, double> run() {
    std::vector<const Instruction*> all;
    for (const Instruction& each : kernel_.instructions) {
      all.push_back(&each);
    }
    run(all, {});
    std::erase_if(memory_, [&](const auto& element) {
      return find_temporary(kernel_, element.first.first) != nullptr;
    });
    return memory_;
  }

 private:
  void run(const std::vector<const Instruction*>& list, const std::set<std::string>& open) {
    for (std::size_t i = 0; i < list.size();) {
      const std::string iname = next_iname(*list[i], open);
      if (iname.empty()) {
        execute(*list[i++]);
        continue;
      }
      std::vector<const Instruction*> inner;
      while (i < list.size() && list[i]->within_inames.count(iname) != 0) {
        inner.push_back(list[i++]);
      }
      std::set<std::string> all_open = open;
      all_open.insert(iname);
      for_each_value(iname, [&] { run(inner, all_open); });
    }
  }
  std::string next_iname(const Instruction& instruction, const std::set<std::string>& open) {
    for (const std::string& iname : all_inames(kernel_)) {
      if (instruction.within_inames.count(iname) != 0 && open.count(iname) == 0) {
        return iname;
      }
    }
    return {};
  }
  ConstraintSet known(const NameSet& inames) const {
    ConstraintSet set = constraints_of(kernel_, inames);
    for (const auto& [name, value] : inames_) {
      set = set.substitute(name, value);
    }
    return set;
  }
  template <class Body>
  void for_each_value(const std::string& iname, const Body& body) {
    const ConstraintSet set = known({iname});
    const auto low = set.minimum(Affine(iname));
    const auto high = set.maximum(Affine(iname));
    if (!low || !high) {
      EXPECT_TRUE(set.is_empty()) << iname << " has no bounds in " << to_string(set);
      return;
    }
    for (std::int64_t value = *low; value <= *high; ++value) {
      inames_[iname] = value;
      body();
    }
    inames_.erase(iname);
  }
  void execute(const Instruction& instruction) {
    if (known(instruction.within_inames).is_empty()) {
      return;
    }
    for (const Expr& predicate : instruction.predicates) {
      if (evaluate(predicate) == 0) {
        return;
      }
    }
    if (const Assignment* assignment = get_if<Assignment>(instruction)) {
      const double value = evaluate(assignment->value);
      memory_[element_of(assignment->targets.front())] = value;
    }
  }
  Element element_of(const Expr& expr) {
    if (const Name* scalar = get_if<Name>(expr)) {
      return {scalar->name, {}};
    }
    const Access* access = get_if<Access>(expr);
    std::vector<std::int64_t> indices;
    for (const Expr& index : access->indices) {
      indices.push_back(std::llround(evaluate(index)));
    }
    return {access->array, indices};
  }
  double read(const Element& element) {
    const auto found = memory_.find(element);
    if (found != memory_.end()) {
      return found->second;
    }
    double value = static_cast<double>(element.first.front());
    for (const std::int64_t index : element.second) {
      value = value * 31 + static_cast<double>(index);
    }
    return std::fmod(value, 97);
  }
  double evaluate(const Expr& expr) {
    std::vector<double> parts;
    const auto all = [&] {
      for_each_child(expr, [&](const Expr& child) { parts.push_back(evaluate(child)); });
    };
    if (const Integer* number = get_if<Integer>(expr)) {
      return static_cast<double>(number->value);
    }
    if (const Real* number = get_if<Real>(expr)) {
      return number->value;
    }
    if (const Name* name = get_if<Name>(expr)) {
      const auto found = inames_.find(name->name);
      return found != inames_.end() ? static_cast<double>(found->second) : read({name->name, {}});
    }
    if (is<Access>(expr)) {
      return read(element_of(expr));
    }
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      double total = neutral(*reduction);
      reduce(*reduction, 0, total);
      return total;
    }
    if (const Conditional* conditional = get_if<Conditional>(expr)) {
      return evaluate(evaluate(conditional->condition) != 0 ? conditional->then_value
                                                            : conditional->else_value);
    }
    all();
    if (is<Sum>(expr)) {
      double sum = 0;
      for (const double part : parts) {
        sum += part;
      }
      return sum;
    }
    if (is<Product>(expr)) {
      double product = 1;
      for (const double part : parts) {
        product *= part;
      }
      return product;
    }
    if (is<FloorDiv>(expr)) {
      return std::floor(parts[0] / parts[1]);
    }
    if (is<Modulo>(expr)) {
      return parts[0] - parts[1] * std::floor(parts[0] / parts[1]);
    }
    if (const Comparison* comparison = get_if<Comparison>(expr)) {
      switch (comparison->op) {
        case ComparisonOp::less:
          return parts[0] < parts[1];
        case ComparisonOp::less_equal:
          return parts[0] <= parts[1];
        case ComparisonOp::greater:
          return parts[0] > parts[1];
        case ComparisonOp::greater_equal:
          return parts[0] >= parts[1];
        case ComparisonOp::equal:
          return parts[0] == parts[1];
        case ComparisonOp::not_equal:
          return parts[0] != parts[1];
      }
    }
    if (const Logical* logical = get_if<Logical>(expr)) {
      const bool is_and = logical->op == LogicalOp::and_;
      const auto holds = [](double part) { return part != 0; };
      return is_and ? std::all_of(parts.begin(), parts.end(), holds)
                    : std::any_of(parts.begin(), parts.end(), holds);
    }
    ADD_FAILURE() << "the interpreter does not know " << to_string(expr);
    return 0;
  }
  double neutral(const Reduction& reduction) {
    const std::string& operation = reduction.operation;
    if (const auto rule = find_rule_operation(kernel_, reduction)) {
      return evaluate(rule->neutral.front());
    }
    EXPECT_TRUE(operation == "sum" || operation == "min" || operation == "max") << operation;
    const double infinity = std::numeric_limits<double>::infinity();
    return operation == "sum" ? 0 : operation == "min" ? infinity : -infinity;
  }
  void reduce(const Reduction& reduction, std::size_t depth, double& total) {
    if (depth == reduction.inames.size()) {
      NameSet inames;
      for (const auto& [name, value] : inames_) {
        if (is_iname(kernel_, name)) {
          inames.insert(name);
        }
      }
      if (!known(inames).is_empty()) {
        const double value = evaluate(reduction.operands.front());
        const auto rule = find_rule_operation(kernel_, reduction);
        total = rule                           ? evaluate(rule->combine({total}, {value}).front())
                : reduction.operation == "sum" ? total + value
                : reduction.operation == "min" ? std::min(total, value)
                                               : std::max(total, value);
      }
      return;
    }
    for_each_value(reduction.inames[depth], [&] { reduce(reduction, depth + 1, total); });
  }

  Kernel kernel_;
  Values inames_;
  std::map<Element, double> memory_;
};

/// Whether both kernels write the same numbers, and any at all.
inline void expect_same_results(const Kernel& left, const Kernel& right,
                                const Interpreter::Values& parameters) {
  const auto expected = Interpreter(left, parameters).run();
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(expected, Interpreter(right, parameters).run()) << to_string(right);
}

/// The statements, one a line.
inline std::string statements_of(const Kernel& kernel) {
  std::string text;
  for (const Instruction& each : kernel.instructions) {
    text += to_string(each) + "\n";
  }
  return text;
}
/// The domains, one a line: `[i, j]: i >= 0 and i < n`.
inline std::string domains_of(const Kernel& kernel) {
  std::string text;
  for (const Domain& domain : kernel.domains) {
    std::string inames;
    for (const std::string& iname : domain.inames) {
      inames += (inames.empty() ? "" : ", ") + iname;
    }
    text += "[" + inames + "]: " + to_string(domain.constraints) + "\n";
  }
  return text;
}

}  // namespace rtcg::loopy
