#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/interpret/compile_expr.h"
#include "rtcg/loopy/interpret/machine.h"
#include "rtcg/loopy/interpret/nest.h"
#include "rtcg/loopy/interpret/run_order.h"

// A kernel that is ready to be interpreted.

namespace rtcg::loopy::interpretation {

/// A statement with its names looked up.
struct Step {
  const Instruction* instruction = nullptr;
  std::vector<Evaluate> predicates{};
  std::vector<std::pair<int, FindElement>> targets{};
  EvaluateAll values{};
  int lanes = 1;
  /// An atomic update: a device may run its iterations in any order.
  bool is_in_any_order = false;
  /// Of statements whose instances are stated to write different elements: where that holds.
  std::vector<Evaluate> disjoint_at{};
};

/// A loop or a step.
struct Part {
  std::string iname{};  ///< of a loop
  std::optional<Nest> loop{};
  std::vector<Part> body{};
  std::optional<Step> step{};
  /// Where the domain of the step has inames that it is not within.
  std::optional<Nest> condition{};
};

class Program {
 public:
  /// @param kernel  typed, with rules expanded; it has to live as long
  /// @throws Unsupported  loopy.interpret.raw_code, loopy.interpret.function,
  ///                      loopy.interpret.order
  Program(const Kernel& kernel, const InterpretArguments& arguments);

  /// Runs everything.
  void run();
  /// Whether the predicates of the step hold where the machine is; uncertain: perhaps.
  [[nodiscard]] Value holds(const Step& step);
  /// Parts of expressions that a whole run evaluates, about.
  [[nodiscard]] double estimated_operations() const;

  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] Machine& machine() { return machine_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// Array arguments that statements write.
  [[nodiscard]] std::vector<int> results() const;

 private:
  void fill_tables();
  void keep_apart(const std::vector<Turn>& turns);
  [[nodiscard]] std::vector<Part> parts_of(const std::vector<Turn>& turns, const NameSet& known);
  [[nodiscard]] std::optional<Step> step_of(const Instruction& instruction);
  void run(const std::vector<Part>& parts);
  void run(const Step& step);
  void forget(int variable);
  /// What a step that computes a value leaves in an element.
  [[nodiscard]] Value stored_value(const Step& step, const Value& computed, int variable,
                                   std::int64_t element);
  void write_one_of(const Step& step, std::size_t target,
                    const std::vector<std::int64_t>& possible);
  void check_is_disjoint(const Step& step, std::size_t target, std::int64_t element);
  [[nodiscard]] double cost_of(const Expr& expr) const;
  [[nodiscard]] double length_of(const std::string& iname) const;

  const Kernel& kernel_;
  Machine machine_;
  std::vector<Part> parts_;
  /// What instances of disjoint statements wrote: statement, target, values of the expressions,
  /// element.
  std::set<std::vector<std::int64_t>> written_;
};

}  // namespace rtcg::loopy::interpretation
