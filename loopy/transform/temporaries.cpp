#include "rtcg/loopy/transform/temporaries.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;

std::optional<AddressSpace> parse_space(std::string_view text) {
  if (text == "private") {
    return AddressSpace::private_;
  }
  if (text == "local") {
    return AddressSpace::local;
  }
  if (text == "global") {
    return AddressSpace::global;
  }
  return text == "auto" ? std::optional(AddressSpace::automatic) : std::nullopt;
}

std::optional<Refusal> find_space_refusal(const Kernel& kernel, const Names& temporaries,
                                          std::string_view space) {
  for (const std::string& name : temporaries) {
    if (find_temporary(kernel, name) == nullptr) {
      return Refusal{"loopy.set_temporary_address_space.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary '{}'", kernel.name, name)};
    }
  }
  if (!parse_space(space)) {
    return Refusal{
        "loopy.set_temporary_address_space.unknown_space",
        fmt::format("'{}' is not an address space for temporaries: write private, local, "
                    "global or auto",
                    space)};
  }
  return std::nullopt;
}

/// The inames for which each temporary gets an axis.
using NewAxes = std::map<std::string, Names, std::less<>>;

Names inames_of_writers(const Kernel& kernel, const Names& inames, const std::string& temporary) {
  Names result;
  for (const std::string& iname : inames) {
    for (const Instruction& instruction : kernel.instructions) {
      if (instruction.within_inames.count(iname) != 0 &&
          written_variables(instruction).count(temporary) != 0) {
        result.push_back(iname);
        break;
      }
    }
  }
  return result;
}

NewAxes find_new_axes(const Kernel& kernel, const Names& inames, const Names& temporaries) {
  NewAxes axes;
  for (const Temporary& temporary : kernel.temporaries) {
    const bool is_chosen = temporaries.empty() || std::find(temporaries.begin(), temporaries.end(),
                                                            temporary.name) != temporaries.end();
    Names own = is_chosen ? inames_of_writers(kernel, inames, temporary.name) : Names{};
    if (!own.empty()) {
      axes[temporary.name] = std::move(own);
    }
  }
  return axes;
}

std::optional<Refusal> find_usage_refusal(const Kernel& kernel, const NewAxes& axes) {
  for (const auto& [temporary, inames] : axes) {
    const bool bounds_a_loop = parameters(kernel).count(temporary) != 0;
    if (bounds_a_loop || has_linear_access(kernel, temporary)) {
      return Refusal{
          "loopy.privatize_temporaries.used_outside",
          fmt::format("'{}' {} and cannot get another axis", temporary,
                      bounds_a_loop ? "bounds a loop" : "is accessed by its place in memory")};
    }
    for (const Instruction& instruction : kernel.instructions) {
      const bool is_user = read_variables(kernel, instruction).count(temporary) != 0 ||
                           written_variables(instruction).count(temporary) != 0;
      for (const std::string& iname : inames) {
        if (is_user && (instruction.within_inames.count(iname) == 0 || is<RawCode>(instruction))) {
          return Refusal{"loopy.privatize_temporaries.used_outside",
                         fmt::format("statement '{}' touches '{}' outside of '{}'", instruction.id,
                                     temporary, iname)};
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_privatize_refusal(const Kernel& kernel, const Names& inames,
                                              const Names& temporaries) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.privatize_temporaries.unknown_iname",
                     unknown_iname_text(kernel, iname)};
    }
    const ConstraintSet set = constraints_of(kernel, {iname});
    if (!set.minimum(Affine(iname)) || !set.maximum(Affine(iname))) {
      return Refusal{
          "loopy.privatize_temporaries.no_constant_length",
          fmt::format("'{}' has no constant bounds: split it, and take the inner iname", iname)};
    }
  }
  for (const std::string& name : temporaries) {
    if (find_temporary(kernel, name) == nullptr) {
      return Refusal{"loopy.privatize_temporaries.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary '{}'", kernel.name, name)};
    }
  }
  return find_usage_refusal(kernel, find_new_axes(kernel, inames, temporaries));
}

/// `t` and `t[i]` with further indices.
Expr with_indices(const Expr& expr, const NewAxes& axes,
                  const std::map<std::string, std::int64_t>& lowest) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Name* scalar = get_if<Name>(part);
    const Access* element = get_if<Access>(part);
    if (scalar == nullptr && element == nullptr) {
      return std::nullopt;
    }
    const std::string& array = scalar != nullptr ? scalar->name : element->array;
    const auto found = axes.find(array);
    if (found == axes.end()) {
      return std::nullopt;
    }
    std::vector<Expr> indices = element != nullptr ? element->indices : std::vector<Expr>{};
    for (const std::string& iname : found->second) {
      indices.push_back(name(iname) - Expr(lowest.at(iname)));
    }
    return access(array, std::move(indices));
  });
}

/// The axis on which all accesses have `iname` as their index.
std::optional<std::size_t> find_private_axis(const Kernel& kernel, const std::string& temporary,
                                             std::string_view iname) {
  std::optional<std::size_t> axis;
  std::optional<Expr> common;
  for (const ArrayAccess& access : accesses_of(kernel)) {
    if (access.array != temporary) {
      continue;
    }
    std::optional<std::size_t> own;
    for (std::size_t i = 0; i < access.indices.size(); ++i) {
      const auto index = to_affine(access.indices[i]);
      if (!access.is_linear && index && index->coefficient(iname) == 1 &&
          index->terms().size() == 1) {
        own = i;
      }
    }
    if (!own || (axis && axis != own) || (common && !(*common == access.indices[*own]))) {
      return std::nullopt;
    }
    axis = own;
    common = access.indices[*own];
  }
  return axis;
}

/// Why an iteration may see what another one wrote.
std::optional<std::string> find_later_use(const Kernel& kernel, const std::string& temporary,
                                          std::string_view iname) {
  bool is_first = true;
  for (const Instruction& instruction : kernel.instructions) {
    const bool is_read = read_variables(kernel, instruction).count(temporary) != 0;
    const bool is_written = written_variables(instruction).count(temporary) != 0;
    if (!is_read && !is_written) {
      continue;
    }
    if (instruction.within_inames.count(iname) == 0 || is<RawCode>(instruction)) {
      return fmt::format("statement '{}' touches '{}' outside of '{}', or in C text",
                         instruction.id, temporary, iname);
    }
    if (is_first && (is_read || !instruction.predicates.empty())) {
      return fmt::format("statement '{}' may see what an earlier iteration left in '{}'",
                         instruction.id, temporary);
    }
    is_first = false;
  }
  return std::nullopt;
}

std::optional<Refusal> find_unprivatize_refusal(const Kernel& kernel, std::string_view iname,
                                                const Names& temporaries) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.unprivatize_temporaries.unknown_iname",
                   unknown_iname_text(kernel, iname)};
  }
  for (const std::string& name : temporaries) {
    const Temporary* temporary = find_temporary(kernel, name);
    if (temporary == nullptr || temporary->shape.empty()) {
      return Refusal{"loopy.unprivatize_temporaries.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary array '{}'", kernel.name, name)};
    }
    if (!find_private_axis(kernel, name, iname)) {
      return Refusal{
          "loopy.unprivatize_temporaries.no_such_axis",
          fmt::format("no axis of '{}' has '{}' as its index wherever it is used", name, iname)};
    }
    if (auto why = find_later_use(kernel, name, iname)) {
      return Refusal{"loopy.unprivatize_temporaries.needed_later", std::move(*why)};
    }
  }
  return std::nullopt;
}

Expr without_index(const Expr& expr, const std::string& array, std::size_t axis) {
  return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
    const Access* element = get_if<Access>(part);
    if (element == nullptr || element->array != array) {
      return std::nullopt;
    }
    std::vector<Expr> indices = element->indices;
    indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(axis));
    return indices.empty() ? name(array) : access(array, std::move(indices));
  });
}

}  // namespace

Kernel set_temporary_address_space(Kernel kernel, const std::vector<std::string>& temporaries,
                                   std::string_view space) {
  throw_if_refused(find_space_refusal(kernel, temporaries, space));
  for (Temporary& temporary : kernel.temporaries) {
    if (std::find(temporaries.begin(), temporaries.end(), temporary.name) != temporaries.end()) {
      temporary.address_space = *parse_space(space);
    }
  }
  record(kernel, "set_temporary_address_space", {list_text(temporaries), std::string(space)});
  return kernel;
}

Kernel privatize_temporaries(Kernel kernel, const std::vector<std::string>& inames,
                             const std::vector<std::string>& temporaries) {
  throw_if_refused(find_privatize_refusal(kernel, inames, temporaries));
  const NewAxes axes = find_new_axes(kernel, inames, temporaries);
  std::map<std::string, std::int64_t> lengths;
  std::map<std::string, std::int64_t> lowest;
  for (const std::string& iname : inames) {
    const ConstraintSet set = constraints_of(kernel, {iname});
    lowest[iname] = *set.minimum(Affine(iname));
    lengths[iname] = *set.maximum(Affine(iname)) - lowest[iname] + 1;
  }
  for (const auto& each : axes) {
    const NewAxes one = {each};
    kernel = map_expressions_unless_shadowed(std::move(kernel), each.first, [&](const Expr& expr) {
      return with_indices(expr, one, lowest);
    });
  }
  for (const auto& [array, own] : axes) {
    ArrayLayout layout = find_layout(kernel, array).value_or(ArrayLayout{});
    for (const std::string& iname : own) {
      layout.shape.emplace_back(lengths[iname]);
    }
    // packed again: what gaps there were had their meaning without the new axes
    layout.strides_elements = c_order_strides(layout.shape);
    kernel = with_layout(std::move(kernel), array, std::move(layout));
  }
  record(kernel, "privatize_temporaries", {list_text(inames)},
         {{"temporaries", temporaries.empty() ? "" : list_text(temporaries)}});
  return kernel;
}

Kernel unprivatize_temporaries(Kernel kernel, std::string_view iname,
                               const std::vector<std::string>& temporaries) {
  const RecordedStep step(kernel);
  Kernel expanded = expand_subst(kernel);
  throw_if_refused(find_unprivatize_refusal(expanded, iname, temporaries));
  kernel = std::move(expanded);
  // a name given twice has lost its axis the first time
  for (const std::string& array : std::set<std::string>(temporaries.begin(), temporaries.end())) {
    const std::size_t axis = *find_private_axis(kernel, array, iname);
    kernel = map_expressions(std::move(kernel),
                             [&](const Expr& expr) { return without_index(expr, array, axis); });
    for (Temporary& temporary : kernel.temporaries) {
      if (temporary.name == array) {
        temporary.shape.erase(temporary.shape.begin() + static_cast<std::ptrdiff_t>(axis));
        temporary.strides_elements.clear();
        temporary.swizzle = {};
      }
    }
  }
  step.record(kernel, "unprivatize_temporaries", {std::string(iname), list_text(temporaries)});
  return kernel;
}

}  // namespace rtcg::loopy
