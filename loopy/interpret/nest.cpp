#include "rtcg/loopy/interpret/nest.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy::interpretation {
namespace {

LinearForm linear_form(const Machine& machine, const Affine& affine, std::string_view without) {
  LinearForm form{{}, affine.constant()};
  for (const Affine::Term& term : affine.terms()) {
    if (term.name == without) {
      continue;
    }
    const int slot = machine.find_slot(term.name);
    form.terms.emplace_back(slot >= 0 ? slot : ~machine.find_variable(term.name), term.coefficient);
  }
  return form;
}

}  // namespace

std::int64_t value_of(Machine& machine, const LinearForm& form) {
  std::int64_t value = form.constant;
  for (const auto& [source, factor] : form.terms) {
    const std::int64_t part =
        source >= 0
            ? machine.slots[static_cast<std::size_t>(source)]
            : static_cast<std::int64_t>(
                  machine.load(~source, machine.variables[static_cast<std::size_t>(~source)].offset)
                      .integer);
    value += factor * part;
  }
  return value;
}

Nest::Nest(const Machine& machine, const ConstraintSet& given,
           const std::vector<std::string>& inames, const NameSet& known, Others others)
    : meaning_of_others_(others), set_(given) {
  for (const auto& [name, value] : machine.parameters()) {
    if (set_.mentions(name) && !is_iname(machine.kernel(), name)) {
      set_ = set_.substitute(name, value);
    }
  }
  const auto is_own = [&](const std::string& name) {
    return std::find(inames.begin(), inames.end(), name) != inames.end();
  };
  for (const std::string& name : set_.names()) {
    if (is_iname(machine.kernel(), name) && known.count(name) == 0 && !is_own(name)) {
      others_.push_back(name);
    }
  }
  NameSet open = known;
  const auto is_open = [&](const Affine& affine) {
    return std::all_of(affine.terms().begin(), affine.terms().end(), [&](const Affine::Term& term) {
      return open.count(term.name) != 0 || !is_iname(machine.kernel(), term.name);
    });
  };
  for (const Constraint& each : set_.constraints()) {
    if (is_open(each.expr)) {
      guards_.push_back({0, linear_form(machine, each.expr, {}), each.is_equality});
    }
  }
  for (const Congruence& each : set_.congruences()) {
    if (is_open(each.expr)) {
      divisions_.emplace_back(linear_form(machine, each.expr, {}), each.modulus);
    }
  }
  for (std::size_t i = 0; i < inames.size(); ++i) {
    const std::string& iname = inames[i];
    Level level{iname, static_cast<std::size_t>(machine.find_slot(iname)), {}, {}};
    open.insert(iname);
    std::vector<std::string> later(inames.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   inames.end());
    later.insert(later.end(), others_.begin(), others_.end());
    std::vector<Constraint> constraints = set_.constraints();
    if (!later.empty()) {
      const ConstraintSet projected = set_.project_out(later);
      constraints.insert(constraints.end(), projected.constraints().begin(),
                         projected.constraints().end());
    }
    for (const Constraint& each : constraints) {
      const std::int64_t factor = each.expr.coefficient(iname);
      if (factor != 0 && is_open(each.expr)) {
        level.bounds.push_back({factor, linear_form(machine, each.expr, iname), each.is_equality});
      }
    }
    for (const Congruence& each : set_.congruences()) {
      if (each.expr.coefficient(iname) != 0 && is_open(each.expr)) {
        level.congruences.emplace_back(linear_form(machine, each.expr, {}), each.modulus);
      }
    }
    levels_.push_back(std::move(level));
  }
}

std::pair<std::int64_t, std::int64_t> Nest::range(Machine& machine, const Level& level) const {
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  for (const Bound& bound : level.bounds) {
    const std::int64_t rest = value_of(machine, bound.rest);
    if (bound.factor > 0 || bound.is_equality) {
      const std::int64_t factor = bound.factor;
      low = std::max(
          low, factor > 0 ? divide_rounding_up(-rest, factor) : divide_rounding_up(rest, -factor));
    }
    if (bound.factor < 0 || bound.is_equality) {
      const std::int64_t factor = bound.factor;
      high = std::min(high, factor < 0 ? divide_rounding_down(rest, -factor)
                                       : divide_rounding_down(-rest, factor));
    }
  }
  if (low == INT64_MIN || high == INT64_MAX) {
    throw Unsupported("loopy.interpret.unbounded",
                      fmt::format("the loop over '{}' in kernel '{}' has no bounds that can be "
                                  "computed",
                                  level.iname, machine.kernel().name));
  }
  return {low, high};
}

bool Nest::hold(Machine& machine, const Divisions& divisions) {
  return std::all_of(divisions.begin(), divisions.end(), [&](const auto& each) {
    return value_of(machine, each.first) % each.second == 0;
  });
}

bool Nest::has_others(Machine& machine) const {
  ConstraintSet open = set_;
  for (const std::string& name : set_.names()) {
    if (std::find(others_.begin(), others_.end(), name) == others_.end()) {
      open = open.substitute(name, value_of(machine, linear_form(machine, Affine(name), {})));
    }
  }
  return !open.is_empty();
}

bool Nest::run(Machine& machine, std::size_t depth, const std::function<bool()>& body) const {
  if (depth == 0) {
    for (const Bound& guard : guards_) {
      const std::int64_t value = value_of(machine, guard.rest);
      if (guard.is_equality ? value != 0 : value < 0) {
        return true;
      }
    }
    if (!hold(machine, divisions_)) {
      return true;
    }
  }
  if (depth == levels_.size()) {
    const bool has_none =
        meaning_of_others_ == Others::have_some_value && !others_.empty() && !has_others(machine);
    return has_none || body();
  }
  const Level& level = levels_[depth];
  const auto [low, high] = range(machine, level);
  for (std::int64_t value = low; value <= high; ++value) {
    machine.slots[level.slot] = value;
    machine.count_operation();
    if (hold(machine, level.congruences) && !run(machine, depth + 1, body)) {
      return false;
    }
  }
  return true;
}

}  // namespace rtcg::loopy::interpretation
