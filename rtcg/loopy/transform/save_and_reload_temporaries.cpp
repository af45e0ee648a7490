#include "rtcg/loopy/transform/save_and_reload_temporaries.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/support.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;

[[noreturn]] void refuse(const char* code, std::string reason) {
  throw_if_refused(Refusal{code, std::move(reason)});
  std::abort();
}

bool touches(const Kernel& kernel, const Instruction& instruction, const std::string& variable) {
  return read_variables(kernel, instruction).count(variable) != 0 ||
         written_variables(instruction).count(variable) != 0;
}

bool is_global_barrier(const Instruction& instruction) {
  const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
  return barrier != nullptr && barrier->scope == BarrierScope::global;
}

/// Temporaries of threads and blocks that statements before and after a global barrier touch.
Names find_crossing(const Kernel& kernel) {
  Names crossing;
  for (const Temporary& temporary : kernel.temporaries) {
    bool is_before = false;
    bool is_fenced = false;
    bool is_after = false;
    for (const Instruction& each : kernel.instructions) {
      is_fenced = is_fenced || (is_before && is_global_barrier(each));
      if (touches(kernel, each, temporary.name)) {
        is_after = is_after || is_fenced;
        is_before = true;
      }
    }
    if (is_after && temporary.address_space != AddressSpace::global &&
        temporary.initial_values.empty()) {
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

Kernel with_saved(Kernel kernel, const std::string& old, bool is_private) {
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
           fmt::format("no temporary of kernel '{}' is used before and after a global barrier",
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
    kernel = with_saved(std::move(kernel), each, temporary.address_space == AddressSpace::private_);
    if (is_scalar_alone) {
      for (Temporary& own : kernel.temporaries) {
        if (own.name.starts_with(each + "_saved") && own.shape.empty()) {
          own.shape = {1};
        }
      }
    }
  }
  record(kernel, "save_and_reload_temporaries",
         temporaries.empty() ? Names{} : Names{list_text(temporaries)});
  return kernel;
}

std::optional<std::string> why_not_save_and_reload_temporaries(
    const Kernel& kernel, const std::vector<std::string>& temporaries) {
  return reason_of_failure(
      [&] { static_cast<void>(save_and_reload_temporaries(kernel, temporaries)); });
}

}  // namespace rtcg::loopy
