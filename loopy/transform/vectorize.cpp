#include "rtcg/loopy/transform/vectorize.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/transform/assign_auto_axes.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// What statements make of the iname's lanes.
struct Outcome {
  NameSet vectors{};  ///< arrays
  std::vector<VectorObstacle> obstacles{};
};

Outcome outcome_of(const Kernel& kernel, const std::string& iname) {
  Outcome outcome;
  for (const Instruction& instruction : kernel.instructions) {
    if (instruction.within_inames.count(iname) == 0) {
      continue;
    }
    if (const auto plan = find_vector_plan(kernel, instruction, iname)) {
      for (const Expr& load : plan->loads) {
        outcome.vectors.insert(target_name(load));
      }
      if (plan->is_store) {
        outcome.vectors.merge(written_variables(instruction));
      }
      outcome.obstacles.insert(outcome.obstacles.end(), plan->obstacles.begin(),
                               plan->obstacles.end());
    } else {
      outcome.obstacles.push_back(
          {"",
           fmt::format("statement '{}' touches no arrays by '{}', has conditions, is atomic, or "
                       "reads elsewhere in what it writes",
                       instruction.id, iname)});
    }
  }
  return outcome;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::string& iname,
                                    const std::vector<std::string>& arrays) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.vectorize.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  const InameTag tag = tag_of(kernel, iname);
  if (tag.kind != AxisKind::sequential && tag.kind != AxisKind::vec) {
    return Refusal{"loopy.vectorize.tagged_already",
                   fmt::format("'{}' is tagged {}: untag it first", iname, to_string(tag))};
  }
  const ConstraintSet set = constraints_of(kernel, {iname});
  const auto last = set.maximum(Affine(iname));
  const bool is_length = last == 1 || last == 3 || last == 7 || last == 15;
  if (set.minimum(Affine(iname)) != 0 || !is_length) {
    return Refusal{
        "loopy.vectorize.bad_length",
        fmt::format("'{}' does not have 2, 4, 8 or 16 values from 0 on: split it by such "
                    "a number, and take the inner iname",
                    iname)};
  }
  // rules hide accesses, and address spaces say what is memory
  const Kernel seen = placed_on_axes(kernel);
  const Outcome outcome = outcome_of(seen, iname);
  if (outcome.vectors.empty()) {
    return Refusal{"loopy.vectorize.no_vector",
                   fmt::format("no access becomes a vector along '{}': {}", iname,
                               outcome.obstacles.empty() ? "no statement is within it"
                                                         : outcome.obstacles.front().reason)};
  }
  for (const std::string& array : arrays) {
    const auto obstacle =
        std::find_if(outcome.obstacles.begin(), outcome.obstacles.end(),
                     [&](const VectorObstacle& each) { return each.array == array; });
    if (obstacle != outcome.obstacles.end() || outcome.vectors.count(array) == 0) {
      return Refusal{"loopy.vectorize.no_vector",
                     obstacle != outcome.obstacles.end()
                         ? obstacle->reason
                         : fmt::format("'{}' is not touched along '{}'", array, iname)};
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel vectorize(Kernel kernel, std::string_view iname, const std::vector<std::string>& arrays) {
  const std::string lane(iname);
  throw_if_refused(find_refusal(kernel, lane, arrays));
  kernel.iname_tags.insert_or_assign(lane, InameTag{AxisKind::vec, 0});
  record(kernel, "vectorize", {lane}, {{"arrays", arrays.empty() ? "" : list_text(arrays)}});
  return kernel;
}

}  // namespace rtcg::loopy
