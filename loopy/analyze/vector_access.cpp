#include "rtcg/loopy/analyze/vector_access.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/fold_quotients.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

constexpr int most_vector_bytes = 16;

/// What a vector access needs to know about an array.
struct MemoryLayout {
  std::vector<Expr> strides_elements{};
  Expr offset_elements = 0;
  std::optional<cgen::Type> type{};
  /// Adjacent elements of a row of a swizzled array.
  std::int64_t group_elements = INT64_MAX;
};

/// Of an element that vectors hold, a number or a complex one; otherwise 0.
int bytes_in_vectors(const cgen::Type& type) {
  const auto kind = cgen::scalar_kind(number_type(type));
  const bool is_number = kind && kind != cgen::ScalarKind::bool_ && !is<cgen::Vector>(type);
  return is_number ? size_bytes(type) : 0;
}

/// Nothing for registers and images, and where there is no such array.
std::optional<MemoryLayout> memory_layout(const Kernel& kernel, const std::string& array) {
  if (find_image(kernel, array) != nullptr) {
    return std::nullopt;
  }
  if (const auto argument = find_global_array(kernel, array)) {
    return MemoryLayout{argument->strides_elements.empty() ? c_order_strides(argument->shape)
                                                           : argument->strides_elements,
                        argument->offset_elements, argument->type};
  }
  const Temporary* temporary = find_temporary(kernel, array);
  if (temporary == nullptr || (temporary->address_space != AddressSpace::local &&
                               temporary->address_space != AddressSpace::automatic)) {
    return std::nullopt;
  }
  return MemoryLayout{temporary->strides_elements.empty() ? c_order_strides(temporary->shape)
                                                          : temporary->strides_elements,
                      0, temporary->type,
                      temporary->swizzle.patterns > 1 ? temporary->swizzle.group : INT64_MAX};
}

/// Whether an integer expression is known to be a multiple of `count`; a product is where one of
/// its factors is.
bool is_multiple(const ConstraintSet& known, const Expr& expr, int count) {
  if (const std::optional<Affine> affine = to_affine(expr)) {
    return known.implies(Congruence{*affine, count});
  }
  if (const Product* product = get_if<Product>(expr)) {
    return std::any_of(product->factors.begin(), product->factors.end(),
                       [&](const Expr& factor) { return is_multiple(known, factor, count); });
  }
  if (const Sum* sum = get_if<Sum>(expr)) {
    return std::all_of(sum->terms.begin(), sum->terms.end(),
                       [&](const Expr& term) { return is_multiple(known, term, count); });
  }
  return false;
}

/// The number of values of an iname that takes 0, 1, ... like the lanes of a vector; otherwise 0.
int lane_count(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet set = constraints_of(kernel, {iname});
  const auto low = set.minimum(Affine(iname));
  const auto high = set.maximum(Affine(iname));
  const bool fits = low == 0 && (high == 1 || high == 3 || high == 7 || high == 15);
  return fits ? static_cast<int>(*high + 1) : 0;
}

bool mentions(const Expr& expr, const std::string& iname) {
  return free_names(expr).count(iname) != 0;
}

/// The rest of an index that is `iname` plus something else; otherwise nothing.
std::optional<Expr> without_lane(const Expr& index, const std::string& iname) {
  if (const auto affine = to_affine(index)) {
    return affine->coefficient(iname) == 1 ? std::optional(to_expr(*affine - Affine(iname)))
                                           : std::nullopt;
  }
  const Expr simple = simplify_index(index);
  const Sum* sum = get_if<Sum>(simple);
  Expr rest = 0;
  int lanes = 0;
  for (const Expr& term : sum != nullptr ? sum->terms : std::vector<Expr>{}) {
    const bool is_lane = mentions(term, iname);
    lanes += is_lane ? (to_affine(term) == Affine(iname) ? 1 : 2) : 0;
    rest = is_lane ? rest : rest + term;
  }
  return lanes == 1 ? std::optional(rest) : std::nullopt;
}

/// The place of an element in memory where an index divides what the lanes differ in, and all
/// strides are constants; otherwise nothing.
std::optional<Expr> divided_place(const MemoryLayout& layout, const Access& element,
                                  const std::string& iname) {
  bool is_divided = false;
  Expr place = layout.offset_elements;
  for (std::size_t axis = 0; axis < element.indices.size(); ++axis) {
    const Expr& index = element.indices[axis];
    is_divided = is_divided || (mentions(index, iname) && has_quotients(index));
    if (!as_integer(layout.strides_elements[axis])) {
      return std::nullopt;
    }
    place = place + layout.strides_elements[axis] * index;
  }
  return is_divided ? std::optional(place) : std::nullopt;
}

/// The element accesses outside of other accesses' indices that differ by lane.
std::vector<Expr> lane_accesses(const Expr& expr, const std::string& iname) {
  std::vector<Expr> found;
  walk(expr, [&](const Expr& part) {
    const bool is_access = is<Access>(part) || is<LinearAccess>(part);
    if (is_access && mentions(part, iname) &&
        std::find(found.begin(), found.end(), part) == found.end()) {
      found.push_back(part);
    }
    // an access in a branch may be outside of the array if another branch is taken
    return !is_access && !is<Conditional>(part) && !is<Logical>(part);
  });
  return found;
}

}  // namespace

std::optional<std::string> why_not_vector_access(const Kernel& kernel,
                                                 const Instruction& instruction, const Expr& access,
                                                 const std::string& iname, int lanes) {
  const auto refuse = [&](const std::string& why) {
    return fmt::format("'{}' in statement '{}' {}", to_string(access), instruction.id, why);
  };
  const Access* element = get_if<Access>(access);
  const auto layout = element != nullptr ? memory_layout(kernel, element->array) : std::nullopt;
  if (!layout || layout->strides_elements.size() != element->indices.size()) {
    return refuse("is not an element of an array in global or shared memory");
  }
  const int bytes = layout->type ? bytes_in_vectors(*layout->type) : 0;
  if (bytes == 0 || bytes * lanes > most_vector_bytes) {
    return refuse(
        fmt::format("has no type of which {} fit into {} bytes", lanes, most_vector_bytes));
  }
  if (layout->group_elements < lanes) {
    return refuse(fmt::format("is in rows that are swizzled by groups of {} elements",
                              layout->group_elements));
  }
  const ConstraintSet known = constraints_of(kernel, instruction.within_inames);
  const std::string misaligned = fmt::format(
      "does not start at a multiple of {} elements, as far as is known: assume lengths of rows to "
      "be multiples, or pad them",
      lanes);
  const std::string apart =
      fmt::format("does not go through neighbours in memory along '{}'", iname);
  if (const auto place = divided_place(*layout, *element, iname)) {
    const Expr folded = fold_quotients(
        *place, [&](const Affine& value) { return known.implies_nonnegative(value); });
    const std::optional<Expr> rest = without_lane(folded, iname);
    return !rest                               ? std::optional(refuse(apart))
           : !is_multiple(known, *rest, lanes) ? std::optional(refuse(misaligned))
                                               : std::nullopt;
  }
  bool has_lane = false;
  bool is_aligned = is_multiple(known, layout->offset_elements, lanes);
  for (std::size_t axis = 0; axis < element->indices.size(); ++axis) {
    const Expr& index = element->indices[axis];
    const Expr& stride = layout->strides_elements[axis];
    Expr rest = index;
    if (mentions(index, iname)) {
      const std::optional<Expr> others = without_lane(index, iname);
      if (!others || as_integer(stride) != 1 || has_lane) {
        return refuse(apart);
      }
      has_lane = true;
      rest = *others;
    }
    is_aligned =
        is_aligned && (is_multiple(known, rest, lanes) || is_multiple(known, stride, lanes));
  }
  if (!has_lane) {
    return refuse(fmt::format("is the same for all values of '{}'", iname));
  }
  if (!is_aligned) {
    return refuse(misaligned);
  }
  return std::nullopt;
}

std::optional<VectorPlan> find_vector_plan(const Kernel& kernel, const Instruction& instruction,
                                           const std::string& iname) {
  const Assignment* assignment = get_if<Assignment>(instruction);
  VectorPlan plan{.lanes = lane_count(kernel, iname)};
  if (assignment == nullptr || plan.lanes == 0 || assignment->is_atomic ||
      assignment->targets.size() != 1 || !instruction.predicates.empty()) {
    return std::nullopt;
  }
  const Expr& target = assignment->targets.front();
  for (const Expr& access : lane_accesses(assignment->value, iname)) {
    const Access* element = get_if<Access>(access);
    if (element != nullptr && element->array == target_name(target) && !(access == target)) {
      return std::nullopt;  // what a lane reads another may write
    }
    if (auto why_not = why_not_vector_access(kernel, instruction, access, iname, plan.lanes)) {
      plan.obstacles.push_back({target_name(access), std::move(*why_not)});
    } else {
      plan.loads.push_back(access);
    }
  }
  if (const Conditional* clipped = get_if<Conditional>(assignment->value);
      clipped != nullptr && as_integer(clipped->else_value) == 0 &&
      is<Access>(clipped->then_value) && target_name(clipped->then_value) != target_name(target) &&
      !why_not_vector_access(kernel, instruction, clipped->then_value, iname, plan.lanes)) {
    plan.is_clipped = true;
    plan.loads = {clipped->then_value};
  }
  if (is<Access>(target) && mentions(target, iname)) {
    if (auto why_not = why_not_vector_access(kernel, instruction, target, iname, plan.lanes)) {
      plan.obstacles.push_back({target_name(target), std::move(*why_not)});
    } else {
      plan.is_store = true;
    }
  }
  const bool is_any = plan.is_store || !plan.loads.empty() || !plan.obstacles.empty();
  return is_any ? std::optional(std::move(plan)) : std::nullopt;
}

std::optional<Expr> vector_copy_source(const Kernel& kernel, const Instruction& instruction,
                                       const std::string& iname) {
  const Assignment* copy = get_if<Assignment>(instruction);
  const int lanes = lane_count(kernel, iname);
  if (copy == nullptr || !copy->is_async_copy || lanes == 0) {
    return std::nullopt;
  }
  const Expr& target = copy->targets.front();
  const Conditional* clipped = get_if<Conditional>(copy->value);
  const Expr& source = clipped != nullptr ? clipped->then_value : copy->value;
  const Temporary* temporary = find_temporary(kernel, target_name(target));
  const std::optional<Argument> argument =
      is<Access>(source) ? find_global_array(kernel, target_name(source)) : std::nullopt;
  if (temporary == nullptr || !argument || !argument->type ||
      (temporary->type && !(*temporary->type == *argument->type)) ||
      (clipped != nullptr && as_integer(clipped->else_value) != 0)) {
    return std::nullopt;
  }
  const int bytes = lanes * bytes_in_vectors(*argument->type);
  const bool fits = bytes == 8 || bytes == 16;
  return fits && !why_not_vector_access(kernel, instruction, target, iname, lanes) &&
                 !why_not_vector_access(kernel, instruction, source, iname, lanes)
             ? std::optional(source)
             : std::nullopt;
}

std::map<std::string, int> vector_alignments(const Kernel& kernel) {
  std::map<std::string, int> alignments;
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& iname : instruction.within_inames) {
      if (tag_of(kernel, iname).kind != AxisKind::vec) {
        continue;
      }
      std::vector<Expr> accesses;
      if (const auto source = vector_copy_source(kernel, instruction, iname)) {
        accesses.push_back(*source);  // all that such a statement reads from global memory
      } else if (const auto plan = find_vector_plan(kernel, instruction, iname)) {
        accesses = plan->loads;
        if (plan->is_store) {
          accesses.push_back(get_if<Assignment>(instruction)->targets.front());
        }
      }
      for (const Expr& access : accesses) {
        const std::string& array = target_name(access);
        if (const Argument* argument = find_argument(kernel, array)) {
          alignments[array] = std::max(
              alignments[array], lane_count(kernel, iname) * bytes_in_vectors(*argument->type));
        }
      }
    }
  }
  return alignments;
}

}  // namespace rtcg::loopy
