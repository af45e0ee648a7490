#include "rtcg/loopy/transform/save_and_reload_temporaries.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/choose_address_spaces.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;

bool is_global_barrier(const Instruction& instruction) {
  const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
  return barrier != nullptr && barrier->scope == BarrierScope::global;
}

/// Statements between two global barriers, within the same loops of the host.
struct Stretch {
  NameSet host_loops;
  std::vector<std::size_t> statements;
};

std::vector<Stretch> stretches_of(const Kernel& kernel) {
  const NameSet host_loops = host_loops_of(kernel);
  std::vector<Stretch> stretches(1);
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    NameSet around = kernel.instructions[i].within_inames;
    std::erase_if(around, [&](const std::string& each) { return host_loops.count(each) == 0; });
    if (is_global_barrier(kernel.instructions[i]) || around != stretches.back().host_loops) {
      stretches.push_back({std::move(around), {}});
    }
    stretches.back().statements.push_back(i);
  }
  return stretches;
}

/// Temporaries of threads and blocks that are touched before and after a global barrier, or in one
/// iteration of a host loop and in the next.
Names find_crossing(const Kernel& kernel) {
  const std::vector<Stretch> stretches = stretches_of(kernel);
  Names crossing;
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.address_space == AddressSpace::global || !temporary.initial_values.empty()) {
      continue;
    }
    int launches = 0;
    bool is_carried = false;
    for (Stretch stretch : stretches) {
      std::erase_if(stretch.statements, [&](std::size_t each) {
        return !touches(kernel, kernel.instructions[each], temporary.name);
      });
      launches += stretch.statements.empty() ? 0 : 1;
      is_carried = is_carried || (!stretch.host_loops.empty() &&
                                  outlives_iteration(kernel, temporary.name, stretch.statements,
                                                     stretch.host_loops));
    }
    if (launches > 1 || is_carried) {
      crossing.push_back(temporary.name);
    }
  }
  return crossing;
}

/// Inames whose values have copies of the temporary of their own: those of the grid, and of the
/// block where each thread has its own.
NameSet owners(const Kernel& kernel, const Instruction& instruction, bool is_private) {
  NameSet inames;
  for (const std::string& iname : instruction.within_inames) {
    const InameTag tag = tag_of(kernel, iname);
    const bool is_block = tag.kind == AxisKind::block || tag.kind == AxisKind::block_auto;
    if (tag.kind == AxisKind::grid || tag.is_lane() || (is_private && is_block)) {
      inames.insert(iname);
    }
  }
  return inames;
}

/// Values that the iname takes from its smallest on, in parameters.
Expr length_of(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet all = constraints_of(kernel, {iname});
  Names others;
  for (const std::string& each : all.names()) {
    if (each != iname && find_argument(kernel, each) == nullptr) {
      others.push_back(each);
    }
  }
  std::optional<Expr> length;
  const ConstraintSet own = all.project_out(others);
  for (const Constraint& each : own.constraints()) {
    const std::int64_t coefficient = each.expr.coefficient(iname);
    if (coefficient < 0 && own.minimum(Affine(iname)) == 0) {
      const Affine last = each.expr + Affine(iname, -coefficient);
      const Expr bound = coefficient == -1
                             ? to_expr(last + 1)
                             : simplify_index(floor_div(to_expr(last), -coefficient) + 1);
      if (!length || as_integer(bound)) {
        length = bound;
      }
    }
  }
  if (!length) {
    refuse("loopy.save_and_reload_temporaries.no_length",
           fmt::format("'{}' does not begin at 0, or nothing bounds it from above: how much to "
                       "save is not known",
                       iname));
  }
  return *length;
}

/// @param is_scalar_alone  whether it is a scalar of all threads together, which is saved in an
/// array of one
///                         element
Kernel with_saved(Kernel kernel, const std::string& old, bool is_private, bool is_scalar_alone) {
  std::optional<NameSet> axes;
  for (const Instruction& each : kernel.instructions) {
    if (!touches(kernel, each, old)) {
      continue;
    }
    const NameSet own = owners(kernel, each, is_private);
    if (axes && own != *axes) {
      refuse("loopy.save_and_reload_temporaries.different_axes",
             fmt::format("statement '{}' touches '{}' on other axes than others do: {} and {}",
                         each.id, old, list_text(own), list_text(*axes)));
    }
    axes = own;
  }
  NameGenerator names = make_name_generator(kernel);
  const std::string saved = names.make(old + "_saved");
  std::vector<Expr> indices;
  std::vector<Expr> lengths;
  for (const std::string& iname : all_inames(kernel)) {
    if (axes->count(iname) != 0) {
      indices.push_back(name(iname));
      lengths.push_back(length_of(kernel, iname));
    }
  }
  for (Temporary& temporary : kernel.temporaries) {
    if (temporary.name == old) {
      temporary.name = saved;
      temporary.address_space = AddressSpace::global;
      temporary.strides_elements.clear();
      temporary.swizzle = {};
      temporary.shape.insert(temporary.shape.begin(), lengths.begin(), lengths.end());
      if (is_scalar_alone && temporary.shape.empty()) {
        temporary.shape = {1};
      }
    }
  }
  return map_expressions_unless_shadowed(std::move(kernel), old, [&](const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Name* scalar = get_if<Name>(part);
      const Access* element = get_if<Access>(part);
      if ((scalar == nullptr || scalar->name != old) &&
          (element == nullptr || element->array != old)) {
        return std::nullopt;
      }
      std::vector<Expr> all = indices;
      if (element != nullptr) {
        all.insert(all.end(), element->indices.begin(), element->indices.end());
      }
      return all.empty() ? access(saved, {Expr(0)}) : access(saved, std::move(all));
    });
  });
}

}  // namespace

Kernel save_and_reload_temporaries(Kernel kernel, const std::vector<std::string>& temporaries) {
  for (const std::string& each : temporaries) {
    if (find_temporary(kernel, each) == nullptr) {
      refuse("loopy.save_and_reload_temporaries.unknown_temporary",
             fmt::format("kernel '{}' has no temporary '{}'", kernel.name, each));
    }
  }
  const Kernel placed = choose_address_spaces(expand_subst(kernel));
  const Names chosen = temporaries.empty() ? find_crossing(placed) : temporaries;
  if (chosen.empty()) {
    refuse("loopy.save_and_reload_temporaries.nothing_to_save",
           fmt::format("no temporary of kernel '{}' is used before and after a global barrier, or "
                       "in several iterations of a loop with one within",
                       kernel.name));
  }
  for (const std::string& each : chosen) {
    const Temporary& temporary = *find_temporary(placed, each);
    const bool is_scalar_alone =
        temporary.shape.empty() &&
        owners(placed,
               *std::find_if(placed.instructions.begin(), placed.instructions.end(),
                             [&](const Instruction& one) { return touches(placed, one, each); }),
               true)
            .empty();
    kernel = with_saved(std::move(kernel), each, temporary.address_space == AddressSpace::private_,
                        is_scalar_alone);
  }
  record(kernel, "save_and_reload_temporaries",
         temporaries.empty() ? Names{} : Names{list_text(temporaries)});
  return kernel;
}

}  // namespace rtcg::loopy
