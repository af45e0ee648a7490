#include "rtcg/loopy/transform/vector_copies.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/vector_access.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

std::size_t filling_statement(const Kernel& kernel, const std::string& temporary) {
  const auto found = std::find_if(
      kernel.instructions.begin(), kernel.instructions.end(), [&](const Instruction& each) {
        return written_variables(each).count(temporary) != 0 && is<Assignment>(each);
      });
  require_internal(found != kernel.instructions.end(), "a statement that fills the temporary");
  return static_cast<std::size_t>(found - kernel.instructions.begin());
}

/// Whether other statements could do without the iname's being split.
bool is_own_iname(const Kernel& kernel, std::size_t statement, const std::string& iname) {
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (i != statement && used_inames(kernel.instructions[i]).count(iname) != 0) {
      return false;
    }
  }
  return true;
}

/// Whether the values of an iname can be cut into lanes, each run of them whole.
bool can_be_cut(const Kernel& kernel, const std::string& iname, std::int64_t lanes) {
  const AxisKind kind = tag_of(kernel, iname).kind;
  const ConstraintSet range = constraints_of(kernel, {iname});
  const auto last = range.maximum(Affine(iname));
  return (kind == AxisKind::sequential || kind == AxisKind::block_auto ||
          kind == AxisKind::unroll) &&
         last && range.minimum(Affine(iname)) == 0 && (*last + 1) % lanes == 0;
}

/// The kernel with `iname` as an outer part, which keeps its tag, and the name of its lanes.
std::pair<Kernel, std::string> with_lanes(Kernel kernel, const std::string& iname,
                                          std::int64_t lanes) {
  const RecordedStep step(kernel);
  const InameTag tag = tag_of(kernel, iname);
  kernel.iname_tags.erase(iname);
  NameGenerator names = make_name_generator(kernel);
  const std::string outer = names.make(iname + "_outer");
  std::string lane = names.make(iname + "_lane");
  kernel = split_iname(std::move(kernel), iname, lanes,
                       {.outer_name = outer, .inner_name = lane, .inner_tag = "vec"});
  if (tag.kind != AxisKind::sequential) {
    kernel.iname_tags.insert_or_assign(outer, tag);
  }
  step.remove_parts(kernel);
  return {std::move(kernel), std::move(lane)};
}

const Expr& copied_element(const Assignment& copy) {
  const Conditional* clipped = get_if<Conditional>(copy.value);
  return clipped != nullptr ? clipped->then_value : copy.value;
}

}  // namespace

Kernel with_wide_loads(Kernel kernel, const std::string& temporary, std::int64_t lanes) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidInput(
        "loopy.add_prefetch.no_vector",
        fmt::format("'{}' cannot be filled by vectors of {} elements: {}", temporary, lanes, why));
  };
  if (lanes != 2 && lanes != 4) {
    refuse("vectors have 2 or 4");
  }
  const std::size_t writer = filling_statement(kernel, temporary);
  std::optional<std::string> reason;
  const NameSet inames = kernel.instructions[writer].within_inames;
  for (const std::string& iname : inames) {
    if (!is_own_iname(kernel, writer, iname) || !can_be_cut(kernel, iname, lanes)) {
      continue;
    }
    auto [trial, lane] = with_lanes(kernel, iname, lanes);
    const Instruction& fill = trial.instructions[writer];
    const auto why = why_not_vector_access(trial, fill, copied_element(*get_if<Assignment>(fill)),
                                           lane, static_cast<int>(lanes));
    if (!why) {
      return std::move(trial);
    }
    reason = why;  // of the axis that varies fastest, which comes last
  }
  refuse(reason.value_or("no axis that is copied is a multiple of them long"));
  return kernel;
}

Kernel with_vector_copies(Kernel kernel, const std::string& temporary) {
  const Temporary* target = find_temporary(kernel, temporary);
  const auto kind = target->type ? cgen::scalar_kind(*target->type) : std::nullopt;
  const std::int64_t lanes = kind ? 16 / cgen::size_bytes(*kind) : 0;
  const std::size_t first = filling_statement(kernel, temporary);
  for (std::size_t writer = first; writer < kernel.instructions.size() && lanes >= 2; ++writer) {
    const Instruction& fill = kernel.instructions[writer];
    const Assignment* assignment = get_if<Assignment>(fill);
    if (assignment == nullptr || written_variables(fill).count(temporary) == 0 ||
        (writer != first && !assignment->is_async_copy)) {
      continue;
    }
    const NameSet inames = fill.within_inames;
    for (const std::string& iname : inames) {
      if (!is_own_iname(kernel, writer, iname) || !can_be_cut(kernel, iname, lanes)) {
        continue;
      }
      auto [trial, lane] = with_lanes(kernel, iname, lanes);
      Assignment copy = *get_if<Assignment>(trial.instructions[writer]);
      copy.is_async_copy = true;
      trial.instructions[writer].kind = std::move(copy);
      if (vector_copy_source(trial, trial.instructions[writer], lane)) {
        kernel = std::move(trial);
        break;
      }
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
