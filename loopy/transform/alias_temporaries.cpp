#include "rtcg/loopy/transform/alias_temporaries.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/assign_auto_axes.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// Where in the kernel a temporary is in use.
struct Life {
  std::string name{};
  std::size_t first = 0;  ///< statements
  std::size_t last = 0;
  bool is_used = false;
  /// Loops that some of its statements are within, and those that all are within.
  NameSet some_loops{};
  NameSet all_loops{};
};

Life life_of(const Kernel& kernel, const std::string& name) {
  Life life{name};
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    if (!touches(kernel, instruction, name)) {
      continue;
    }
    NameSet loops;
    for (const std::string& iname : instruction.within_inames) {
      if (is_loop_iname(kernel, iname)) {
        loops.insert(iname);
      }
    }
    if (!life.is_used) {
      life.first = i;
      life.all_loops = loops;
    }
    std::erase_if(life.all_loops,
                  [&](const std::string& iname) { return loops.count(iname) == 0; });
    life.some_loops.merge(loops);
    life.last = i;
    life.is_used = true;
  }
  return life;
}

/// Why a temporary's values may come from before its first statement: from an earlier iteration.
std::optional<std::string> why_kept_over(const Kernel& kernel, const Life& life,
                                         const NameSet& loops) {
  const Instruction& first = kernel.instructions[life.first];
  if (read_variables(kernel, first).count(life.name) != 0 ||
      written_variables(first).count(life.name) == 0) {
    return fmt::format("statement '{}' reads '{}' before it is written", first.id, life.name);
  }
  if (loops.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = life.first; i <= life.last; ++i) {
    const Instruction& instruction = kernel.instructions[i];
    if (written_variables(instruction).count(life.name) != 0 && !instruction.predicates.empty()) {
      return fmt::format("statement '{}' writes '{}' under a condition, within a loop",
                         instruction.id, life.name);
    }
    for (const ArrayAccess& access : accesses_of(kernel, instruction)) {
      for (const Expr& index : access.array == life.name ? access.indices : std::vector<Expr>{}) {
        const NameSet names = free_names(index);
        for (const std::string& iname : loops) {
          if (names.count(iname) != 0) {
            return fmt::format(
                "elements of '{}' differ by iterations of '{}', which may need "
                "each other's",
                life.name, iname);
          }
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_together(const Kernel& kernel, const Life& left, const Life& right) {
  if (!left.is_used || !right.is_used) {
    return std::nullopt;
  }
  if (left.first <= right.last && right.first <= left.last) {
    return fmt::format("'{}' is in use between statements '{}' and '{}', and so is '{}'", left.name,
                       kernel.instructions[left.first].id, kernel.instructions[left.last].id,
                       right.name);
  }
  // in a loop around statements of both, each has to be written and read anew
  NameSet common;
  for (const std::string& iname : left.some_loops) {
    if (right.some_loops.count(iname) == 0) {
      continue;
    }
    common.insert(iname);
    for (const Life* life : {&left, &right}) {
      if (life->all_loops.count(iname) == 0) {
        return fmt::format("'{}' is used within loop '{}' and outside of it, and '{}' within it",
                           life->name, iname, life == &left ? right.name : left.name);
      }
    }
  }
  std::optional<std::string> why = why_kept_over(kernel, left, common);
  return why ? why : why_kept_over(kernel, right, common);
}

std::optional<std::int64_t> element_count(const Temporary& temporary) {
  std::int64_t last = 0;
  const std::vector<Expr> strides = temporary.strides_elements.empty()
                                        ? c_order_strides(temporary.shape)
                                        : temporary.strides_elements;
  for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
    const auto length = as_integer(temporary.shape[axis]);
    const auto stride = as_integer(strides[axis]);
    if (!length || !stride) {
      return std::nullopt;
    }
    last += (*length - 1) * *stride;
  }
  return last + 1;
}

std::optional<Refusal> find_refusal_of_kinds(const Kernel& placed, const Temporary& first,
                                             const std::string& name) {
  const Temporary* temporary = find_temporary(placed, name);
  const bool is_same = first.type == temporary->type &&
                       first.address_space == temporary->address_space &&
                       first.shape.empty() == temporary->shape.empty();
  if (!is_same) {
    return Refusal{"loopy.alias_temporaries.different_kinds",
                   fmt::format("'{}' and '{}' differ in type or address space, or only one is an "
                               "array",
                               first.name, name)};
  }
  if (!element_count(*temporary) || !element_count(first)) {
    return Refusal{"loopy.alias_temporaries.not_constant",
                   fmt::format("'{}' and '{}' need constant sizes", first.name, name)};
  }
  if (has_linear_access(placed, name) || parameters(placed).count(name) != 0 ||
      !temporary->initial_values.empty()) {
    return Refusal{"loopy.alias_temporaries.different_kinds",
                   fmt::format("'{}' bounds a loop, is a table, or is accessed by its place in "
                               "memory",
                               name)};
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel,
                                    const std::vector<std::string>& temporaries) {
  if (NameSet(temporaries.begin(), temporaries.end()).size() != temporaries.size() ||
      temporaries.size() < 2) {
    return Refusal{"loopy.alias_temporaries.unknown_temporary",
                   "two or more different temporaries are needed"};
  }
  for (const std::string& name : temporaries) {
    if (find_temporary(kernel, name) == nullptr) {
      return Refusal{"loopy.alias_temporaries.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary '{}'", kernel.name, name)};
    }
  }
  const Kernel placed = placed_on_axes(kernel);
  std::vector<Life> lives;
  for (const std::string& name : temporaries) {
    if (std::optional<Refusal> refusal =
            find_refusal_of_kinds(placed, *find_temporary(placed, temporaries.front()), name)) {
      return refusal;
    }
    const Life life = life_of(placed, name);
    for (const Instruction& instruction : placed.instructions) {
      if (is<RawCode>(instruction) && touches(placed, instruction, name)) {
        return Refusal{
            "loopy.alias_temporaries.different_kinds",
            fmt::format("the C text of statement '{}' touches '{}'", instruction.id, name)};
      }
    }
    for (const Life& other : lives) {
      if (auto why = why_together(placed, other, life)) {
        return Refusal{"loopy.alias_temporaries.needed_together", std::move(*why)};
      }
    }
    lives.push_back(life);
  }
  return std::nullopt;
}

bool have_one_layout(const Kernel& kernel, const std::vector<std::string>& temporaries) {
  const Temporary& first = *find_temporary(kernel, temporaries.front());
  return std::all_of(temporaries.begin(), temporaries.end(), [&](const std::string& name) {
    const Temporary& other = *find_temporary(kernel, name);
    return other.shape == first.shape && other.strides_elements == first.strides_elements &&
           other.swizzle == first.swizzle;
  });
}

/// The temporary's accesses as ones to `storage`, in its place in memory where `is_linear`.
Kernel with_storage(Kernel kernel, const Temporary& temporary, const std::string& storage,
                    bool is_linear) {
  const std::vector<Expr> strides = temporary.strides_elements.empty()
                                        ? c_order_strides(temporary.shape)
                                        : temporary.strides_elements;
  const auto replaced = [&](const Expr& expr) {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Name* scalar = get_if<Name>(part);
      if (scalar != nullptr && scalar->name == temporary.name) {
        return name(storage);
      }
      const Access* element = get_if<Access>(part);
      if (element == nullptr || element->array != temporary.name) {
        return std::nullopt;
      }
      if (!is_linear) {
        return access(storage, element->indices);
      }
      Expr place = 0;
      for (std::size_t axis = 0; axis < element->indices.size(); ++axis) {
        place = place + strides[axis] * element->indices[axis];
      }
      return access(storage, {simplify_index(place)});
    });
  };
  return map_expressions_unless_shadowed(std::move(kernel), temporary.name, replaced);
}

}  // namespace

Kernel alias_temporaries(Kernel kernel, const std::vector<std::string>& temporaries) {
  throw_if_refused(find_refusal(kernel, temporaries));
  const RecordedStep step(kernel);
  kernel = expand_subst(std::move(kernel));
  const bool is_linear = !have_one_layout(kernel, temporaries);
  const std::string& storage = temporaries.front();
  std::int64_t count = 0;
  for (const std::string& each : temporaries) {
    const Temporary temporary = *find_temporary(kernel, each);
    count = std::max(count, element_count(temporary).value_or(0));
    kernel = with_storage(std::move(kernel), temporary, storage, is_linear);
  }
  std::erase_if(kernel.temporaries, [&](const Temporary& temporary) {
    return temporary.name != storage &&
           std::find(temporaries.begin(), temporaries.end(), temporary.name) != temporaries.end();
  });
  for (Temporary& temporary : kernel.temporaries) {
    if (temporary.name == storage && is_linear) {
      temporary.shape = {Expr(count)};
      temporary.strides_elements.clear();
      temporary.swizzle = {};
    }
  }
  step.record(kernel, "alias_temporaries", {list_text(temporaries)});
  return kernel;
}

}  // namespace rtcg::loopy
