#pragma once
// Internal header: it is not installed.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rtcg/loopy/kernel/kernel.h"

namespace rtcg::loopy {

/// What codegen asks about each statement and each temporary of a launch, answered once.
class StatementFacts {
 public:
  StatementFacts(const Kernel& kernel, const std::vector<std::size_t>& statements);

  /// The constraints that must hold where the statement runs. Those that it may ignore, since it
  /// only computes private values that nothing outside its domain reads, are left out.
  [[nodiscard]] const ConstraintSet& guards(std::size_t statement) const {
    const Statement& own = statements_[statement];
    return own.is_relaxed ? own.domain->kept : own.domain->all;
  }
  /// What has to be tested unless it is known: guards(), predicates, and the conditions within the
  /// statement's value, as far as they are affine; of comparisons with quotients what makes them
  /// superfluous.
  [[nodiscard]] std::vector<Constraint> tested(std::size_t statement) const;
  /// Whether guards() leaves some of the domain's constraints out.
  [[nodiscard]] bool is_relaxed(std::size_t statement) const {
    return statements_[statement].is_relaxed;
  }
  /// Whether it fills registers whose values statements hand on to the next iteration of a loop,
  /// `q[0] = q[1]`. Compilers rename such registers unless a test is around the statements.
  [[nodiscard]] bool hands_on(std::size_t statement) const;
  /// All constraints of the statement's domain.
  [[nodiscard]] const ConstraintSet& domain(std::size_t statement) const {
    return statements_[statement].domain->all;
  }
  /// Inames whose values the statement is copied for, in the order of the domains.
  [[nodiscard]] const std::vector<std::string>& lanes(std::size_t statement) const {
    return statements_[statement].lanes;
  }
  /// Inames for each of whose values a private temporary exists of its own.
  [[nodiscard]] const std::vector<std::string>& lanes_of_temporary(const std::string& name) const;
  /// Whether different threads of a block run the statement differently.
  [[nodiscard]] bool differs_by_thread(std::size_t statement) const {
    return statements_[statement].differs_by_thread;
  }
  /// Whether threads of a block have different values of the private temporary.
  [[nodiscard]] bool is_varying(const std::string& temporary) const {
    return varying_.count(temporary) != 0;
  }
  /// Whether the text has a loop for the iname whose bounds hold for all threads of a block, if
  /// each thread tests what it needs.
  [[nodiscard]] bool is_loop_of_all_threads(const std::string& iname) const;
  /// Whether compilers write the loop out by themselves if none is within it.
  [[nodiscard]] bool is_short_loop(const std::string& iname) const;
  /// Whether compilers vectorise the statement in the innermost loop only: it calls a function that
  /// is no instruction, or chooses between values.
  [[nodiscard]] bool calls_or_chooses(std::size_t statement) const;
  /// Whether the statement writes what other threads see.
  [[nodiscard]] bool writes_shared(std::size_t statement) const {
    return statements_[statement].writes_shared;
  }
  /// Whether it writes what other blocks see.
  [[nodiscard]] bool writes_global(std::size_t statement) const {
    return statements_[statement].writes_global;
  }
  /// The variables that the statement writes.
  [[nodiscard]] const NameSet& written(std::size_t statement) const {
    return statements_[statement].written;
  }
  /// The temporaries that it writes or reads, among other variables.
  [[nodiscard]] const NameSet& touched(std::size_t statement) const {
    return statements_[statement].touched;
  }

 private:
  void find_lanes(std::size_t statement);
  void find_varying(const std::vector<std::size_t>& statements);
  void find_guards(const std::vector<std::size_t>& statements);
  [[nodiscard]] bool is_private(const std::string& name) const;
  [[nodiscard]] bool is_safe_outside(std::size_t statement, const ConstraintSet& kept) const;
  /// What statements within the same inames have in common.
  struct Domain {
    ConstraintSet all;
    /// Without the constraints that mention lanes alone.
    ConstraintSet kept;
    std::vector<Constraint> dropped;
  };
  struct Statement {
    const Domain* domain = nullptr;
    std::vector<std::string> lanes{};
    NameSet written{};
    NameSet reads{};
    NameSet touched{};
    bool is_relaxed = false;
    bool differs_by_thread = false;
    bool writes_shared = false;
    bool writes_global = false;
  };
  [[nodiscard]] Domain domain_of(const NameSet& inames) const;
  /// Whether a constraint mentions threads, blocks, lanes and parameters, not of loops, and of
  /// more than the shape of a block.
  [[nodiscard]] bool is_about_lanes_only(const Affine& expr) const;
  /// Whether `reader` reads private values that `writer` computes.
  [[nodiscard]] bool feeds(std::size_t writer, std::size_t reader) const;
  /// Whether the statement runs only where those of `writer`'s constraints hold that it may ignore.
  [[nodiscard]] bool stays_within(std::size_t statement, std::size_t writer) const;

  const Kernel& kernel_;
  std::map<NameSet, Domain> domains_;     // by the inames that a statement is within
  std::vector<Statement> statements_;     // by their places in the kernel
  std::vector<std::string> lane_inames_;  // in the order of the domains
  std::map<std::string, std::vector<std::string>> lanes_of_temporary_;
  std::set<std::string> varying_;
  std::set<std::string> handed_on_;  // private temporaries that a fill reads and writes
};

}  // namespace rtcg::loopy
