#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rtcg/loopy/interpret/machine.h"
#include "rtcg/loopy/polyhedral/constraint_set.h"

// Loops over the points of a domain.

namespace rtcg::loopy::interpretation {

/// A sum of names whose values the machine knows.
struct LinearForm {
  /// Slots, or ~number of scalar variables, with their factors.
  std::vector<std::pair<int, std::int64_t>> terms{};
  std::int64_t constant = 0;
};

/// All points of a set in some inames, where other names have values. A bound of a loop is taken
/// from each constraint as soon as its names have values, so that no point is visited but those of
/// the set.
class Nest {
 public:
  /// The role of inames of the set that neither have values nor are loops of the nest.
  enum class Others {
    have_some_value,  ///< a point counts where there is some value for them
    are_inner_loops,  ///< which are tested later
  };
  /// @param inames  from the outermost loop to the innermost
  /// @param known   inames that have values around the nest
  /// @throws Unsupported  loopy.interpret.unbounded, when it runs
  Nest(const Machine& machine, const ConstraintSet& set, const std::vector<std::string>& inames,
       const NameSet& known, Others others = Others::have_some_value);

  [[nodiscard]] bool has_other_inames() const { return !others_.empty(); }

  /// Body returns whether to go on.
  bool run(Machine& machine, const std::function<bool()>& body) const {
    return run(machine, 0, body);
  }

 private:
  /// Forms and what divides them.
  using Divisions = std::vector<std::pair<LinearForm, std::int64_t>>;
  struct Bound {
    std::int64_t factor = 0;  ///< factor * iname + rest >= 0
    LinearForm rest{};
    bool is_equality = false;
  };
  struct Level {
    std::string iname{};
    std::size_t slot = 0;
    std::vector<Bound> bounds{};
    Divisions congruences{};
  };
  bool run(Machine& machine, std::size_t depth, const std::function<bool()>& body) const;
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range(Machine& machine,
                                                            const Level& level) const;
  [[nodiscard]] static bool hold(Machine& machine, const Divisions& divisions);
  [[nodiscard]] bool has_others(Machine& machine) const;

  std::vector<Level> levels_;
  std::vector<Bound> guards_;  ///< of known names alone: factor 0
  Divisions divisions_;        ///< of known names alone
  Others meaning_of_others_;
  std::vector<std::string> others_;
  ConstraintSet set_;
};

[[nodiscard]] std::int64_t value_of(Machine& machine, const LinearForm& form);

}  // namespace rtcg::loopy::interpretation
