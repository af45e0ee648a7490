// Steps of a slicing that store the values of rules.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/slice/rule_uses.h"
#include "rtcg/loopy/slice/slicing_steps.h"

namespace rtcg::loopy::detail {
namespace {

/// The loops within a block that an iname stands for once it is cut: without those on the grid and
/// the one along which tiles of a reduction move.
std::vector<std::string> loops_within_block(const Kernel& kernel, const Slicing& slicing,
                                            const std::string& iname) {
  const InameSlicing* sliced = find_sliced(slicing, iname);
  if (sliced == nullptr || sliced->factors.size() == 1) {
    const InameTag axis = sliced == nullptr ? tag_of(kernel, iname) : sliced->factors.front().axis;
    return axis.kind == AxisKind::grid ? std::vector<std::string>() : std::vector{iname};
  }
  std::vector<std::string> loops;
  for (std::size_t i = 0; i < sliced->factors.size(); ++i) {
    const AxisKind kind = sliced->factors[i].axis.kind;
    if (kind != AxisKind::grid && (i != 0 || kind != AxisKind::sequential)) {
      loops.push_back(part_name(iname, i));
    }
  }
  return loops;
}

bool is_array(const Kernel& kernel, const std::string& name) {
  const Argument* argument = find_argument(kernel, name);
  return (argument != nullptr && argument->is_array) || find_temporary(kernel, name) != nullptr;
}

/// @throws InvalidInput  loopy.recipe_of.nothing_to_hold
void check_handed_on(const Kernel& expanded, const std::string& array) {
  bool is_written = false;
  bool is_read = false;
  for (const Instruction& each : expanded.instructions) {
    is_written = is_written || written_variables(each).count(array) != 0;
    is_read = is_read || (is_written && read_variables(expanded, each).count(array) != 0);
  }
  if (!is_read) {
    throw InvalidInput("loopy.recipe_of.nothing_to_hold",
                       fmt::format("'place {0} shared' takes an array that one nest writes and a "
                                   "later one reads, as none does with '{0}' in kernel '{1}'",
                                   array, expanded.name));
  }
}

}  // namespace

void add_shared_values(const Kernel& kernel, const Kernel& expanded, const Slicing& slicing,
                       std::vector<RecipeStep>& steps) {
  std::vector<std::string> rules;
  for (const std::string& each : slicing.shared_values) {
    if (is_array(kernel, each)) {
      check_handed_on(expanded, each);
      steps.push_back({"hold_array", {each}, {}});
      continue;
    }
    rules.push_back(each);
    if (find_rule(kernel, each) == nullptr) {
      std::vector<std::string> names;
      for (const SubstitutionRule& rule : kernel.rules) {
        names.push_back(rule.name);
      }
      throw InvalidInput(
          "loopy.recipe_of.unknown_rule",
          fmt::format("'place {0} shared': kernel '{1}' has no rule or array '{0}': its rules are "
                      "{2}",
                      each, kernel.name,
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
    }
  }
  for (const std::string& rule : callees_first(kernel, rules)) {
    std::vector<std::string> sweep;
    for (const std::string& iname : inames_of_uses(kernel, rule)) {
      for (std::string& loop : loops_within_block(kernel, slicing, iname)) {
        sweep.push_back(std::move(loop));
      }
    }
    steps.push_back(
        {"precompute",
         {rule, list_of(sweep)},
         {{"any_sweep", "yes"}, {"address_space", "local"}, {"temporary_name", rule + "_values"}}});
  }
}

}  // namespace rtcg::loopy::detail
