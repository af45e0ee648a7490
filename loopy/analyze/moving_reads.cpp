#include "rtcg/loopy/analyze/moving_reads.h"

#include <algorithm>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/footprint.h"
#include "rtcg/loopy/polyhedral/range_of.h"

namespace rtcg::loopy {
namespace {

/// Nothing unless all indices are affine.
std::optional<std::vector<Affine>> affine_indices(const std::vector<Expr>& indices) {
  std::vector<Affine> result;
  for (const Expr& each : indices) {
    const auto affine = to_affine(each);
    if (!affine) {
      return std::nullopt;
    }
    result.push_back(*affine);
  }
  return result;
}

/// The axis along which an access moves by one element; nothing where it does not, or along
/// several.
std::optional<std::size_t> axis_of_move(const std::vector<Affine>& indices,
                                        const std::string& iname) {
  std::optional<std::size_t> found;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const std::int64_t step = indices[axis].coefficient(iname);
    if (step != 0 && (found || step != 1)) {
      return std::nullopt;
    }
    found = step != 0 ? std::optional(axis) : found;
  }
  return found;
}

bool is_summed(const Kernel& expanded, const std::string& iname) {
  return std::any_of(
      expanded.instructions.begin(), expanded.instructions.end(),
      [&](const Instruction& each) { return reduction_inames(each).count(iname) != 0; });
}

/// The values of an index while some inames take all of theirs; nothing where their ranges are not
/// constant.
std::optional<FootprintAxis> range_along(const Kernel& expanded, const Affine& index,
                                         const NameSet& spread) {
  FootprintAxis range{index, 1};
  for (const Affine::Term& term : index.terms()) {
    if (spread.count(term.name) == 0) {
      continue;
    }
    const auto [first, last] = range_of(constraints_of(expanded, {term.name}), Affine(term.name));
    if (!first || !last) {
      return std::nullopt;
    }
    range.base = range.base.substitute(term.name, Affine(term.coefficient > 0 ? *first : *last));
    range.length_elements += std::abs(term.coefficient) * (*last - *first);
  }
  return range;
}

/// The range of an axis over all reads; nothing where they are no constant distance apart.
std::optional<std::int64_t> length_along(const Kernel& expanded, const MovingReads& reads,
                                         std::size_t axis, const NameSet& spread) {
  std::optional<FootprintAxis> all;
  for (const std::vector<Affine>& indices : reads.reads) {
    const auto own = range_along(expanded, indices[axis], spread);
    if (!own) {
      return std::nullopt;
    }
    if (!all) {
      all = own;
      continue;
    }
    const Affine shift = own->base - all->base;
    if (!shift.is_constant()) {
      return std::nullopt;
    }
    const std::int64_t first = std::min<std::int64_t>(0, shift.constant());
    const std::int64_t end =
        std::max(all->length_elements, shift.constant() + own->length_elements);
    all = FootprintAxis{all->base + Affine(first), end - first};
  }
  return all ? std::optional(all->length_elements) : std::nullopt;
}

/// Whether the reads touch each element of the box around them.
bool fill_box(const Kernel& expanded, const MovingReads& reads, const NameSet& spread) {
  constexpr std::int64_t most = 1000;
  std::int64_t box = 1;
  std::int64_t points = 0;
  for (const std::vector<Affine>& indices : reads.reads) {
    std::int64_t own = 1;
    for (const Affine& index : indices) {
      const auto range = range_along(expanded, index, spread);
      own = range ? std::min(most, own * range->length_elements) : most;
    }
    points += own;
  }
  for (std::size_t axis = 0; axis < reads.reads.front().size(); ++axis) {
    const auto length = length_along(expanded, reads, axis, spread);
    box = length ? std::min(most, box * *length) : most;
  }
  return box < most && box <= points;
}

}  // namespace

bool MovingReads::contains(const std::vector<Expr>& indices) const {
  const auto affine = affine_indices(indices);
  return affine && std::find(reads.begin(), reads.end(), *affine) != reads.end();
}

NameSet spread_inames(const Kernel& expanded, const MovingReads& reads, bool is_of_block) {
  NameSet result;
  for (const std::vector<Affine>& indices : reads.reads) {
    for (const Affine& index : indices) {
      for (const Affine::Term& term : index.terms()) {
        if (!is_iname(expanded, term.name)) {
          continue;
        }
        const AxisKind kind = tag_of(expanded, term.name).kind;
        const bool is_thread = kind == AxisKind::block || kind == AxisKind::block_auto;
        const bool is_loop = kind == AxisKind::sequential || kind == AxisKind::grid;
        if (is_summed(expanded, term.name) || (is_thread ? is_of_block : !is_loop)) {
          result.insert(term.name);
        }
      }
    }
  }
  return result;
}

bool fills_registers(const Kernel& kernel, const Instruction& statement) {
  const NameSet written = written_variables(statement);
  return statement.is_fill && std::all_of(written.begin(), written.end(), [&](const auto& each) {
           const Temporary* temporary = find_temporary(kernel, each);
           return temporary != nullptr && temporary->address_space == AddressSpace::private_;
         });
}

MovingReads moving_reads(const Kernel& expanded, std::string_view array, const std::string& iname,
                         FillReads fills) {
  MovingReads result;
  bool is_first = true;
  NameSet copies;
  for (const Instruction& each : expanded.instructions) {
    if (each.is_fill && (fills == FillReads::none || !fills_registers(expanded, each))) {
      copies.insert(each.id);
    }
  }
  for (const ArrayAccess& access : accesses_of(expanded)) {
    if (access.array != array || access.is_write || access.is_linear ||
        access.inames.count(iname) == 0 || copies.count(access.statement) != 0) {
      continue;
    }
    const auto indices = affine_indices(access.indices);
    const auto axis = indices ? axis_of_move(*indices, iname) : std::nullopt;
    if (!axis) {
      continue;
    }
    if (!is_first && *axis != result.axis) {
      return {};
    }
    result.axis = *axis;
    is_first = false;
    if (std::find(result.reads.begin(), result.reads.end(), *indices) == result.reads.end()) {
      result.reads.push_back(*indices);
    }
  }
  if (!is_first) {
    const NameSet spread = spread_inames(expanded, result, true);
    const auto length = length_along(expanded, result, result.axis, spread);
    if (!length) {
      return {};
    }
    result.length_elements = *length;
  }
  return result;
}

MovingReads reads_of_thread(const Kernel& expanded, const MovingReads& all) {
  if (all.reads.empty()) {
    return all;
  }
  const NameSet spread = spread_inames(expanded, all, false);
  if (fill_box(expanded, all, spread)) {
    return all;
  }
  const auto in_column = [&](const std::vector<Affine>& a, const std::vector<Affine>& b) {
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
      if (axis != all.axis && a[axis] != b[axis]) {
        return false;
      }
    }
    return true;
  };
  MovingReads best;
  for (const std::vector<Affine>& first : all.reads) {
    MovingReads column{all.axis, {}, 0};
    for (const std::vector<Affine>& each : all.reads) {
      if (in_column(first, each)) {
        column.reads.push_back(each);
      }
    }
    column.length_elements = length_along(expanded, column, all.axis, spread).value_or(0);
    if (column.length_elements > best.length_elements || best.reads.empty()) {
      best = std::move(column);
    }
  }
  return best;
}

}  // namespace rtcg::loopy
