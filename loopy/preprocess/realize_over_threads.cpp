// Reductions over an axis of the block: a tree in shared memory, or exchanges within warps.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/transform/copy_inames.h"

namespace rtcg::loopy {
namespace {

std::int64_t next_power_of_two(std::int64_t value) {
  std::int64_t power = 1;
  while (power < value) {
    power *= 2;
  }
  return power;
}

}  // namespace

std::int64_t Realizer::length_of(const std::string& iname) const {
  const ConstraintSet constraints = constraints_of(kernel_, {iname});
  const auto smallest = constraints.minimum(Affine(iname));
  const auto largest = constraints.maximum(Affine(iname));
  if (smallest != 0 || !largest) {
    throw InvalidInput(
        "loopy.realize_reductions.block_length",
        fmt::format("iname '{}' is reduced over as an axis of the block or as lanes, which take "
                    "values from 0 to a constant: split it and tag the inner part",
                    iname));
  }
  return *largest + 1;
}

std::string Realizer::add_axis_iname(const std::string& base, const std::string& like,
                                     std::int64_t length) {
  return add_counted_iname(kernel_, names_, base, length, tag_of(kernel_, like));
}

std::int64_t Realizer::elements_along(const std::string& iname) const {
  const auto [smallest, largest] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
  return smallest && largest && *smallest >= 0 ? *largest + 1 : length_of(iname);
}

std::string Realizer::whole_axis(const std::string& iname) {
  const auto known = whole_axes_.find(iname);
  if (known != whole_axes_.end()) {
    return known->second;
  }
  const char* const suffix = tag_of(kernel_, iname).is_lane() ? "_lane" : "_thread";
  const std::string whole = add_axis_iname(iname + suffix, iname, length_of(iname));
  whole_axes_.emplace(iname, whole);
  return whole;
}

std::vector<Expr> Realizer::SharedParts::at(const Expr& index) const {
  std::vector<Expr> indices = outer;
  indices.push_back(index);
  indices.insert(indices.end(), inner.begin(), inner.end());
  std::vector<Expr> elements;
  for (const std::string& array : arrays) {
    elements.emplace_back(Access{array, indices});
  }
  return elements;
}

Realizer::SharedParts Realizer::add_parts(const ReductionOperation& operation,
                                          const Accumulated& own, const std::string& iname,
                                          std::int64_t length, const Instruction& around) {
  const auto number_of = [&](const std::string& each) {
    const InameTag tag = tag_of(kernel_, each);
    return tag.kind == AxisKind::block ? tag.number : std::numeric_limits<int>::max();
  };
  std::vector<std::string> others;
  for (const std::string& other : around.within_inames) {
    const InameTag tag = tag_of(kernel_, other);
    if (tag.kind == AxisKind::block || tag.is_lane()) {
      others.push_back(other);
    }
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](const auto& a, const auto& b) { return number_of(a) > number_of(b); });
  SharedParts parts;
  std::vector<Expr> shape;
  bool is_inner = false;
  for (const std::string& other : others) {
    if (!is_inner && number_of(other) < number_of(iname)) {
      is_inner = true;
      shape.emplace_back(length);
    }
    shape.emplace_back(elements_along(other));
    (is_inner ? parts.inner : parts.outer).emplace_back(Name{other});
  }
  if (!is_inner) {
    shape.emplace_back(length);
  }
  for (std::size_t i = 0; i < own.names.size(); ++i) {
    parts.arrays.push_back(
        add_temporary(own.names[i] + "_parts", operation.types()[i], AddressSpace::local, shape));
  }
  return parts;
}

std::vector<Expr> Realizer::over_threads(const ReductionOperation& operation,
                                         const Accumulated& own, const std::string& iname,
                                         const Instruction& around) {
  if (is_part_of_warp(operation, iname)) {
    return by_exchanges(operation, own, iname, around);
  }
  return can_shuffle(operation, iname) ? by_shuffles(operation, own, iname, around)
                                       : by_tree(operation, own, iname, around);
}

std::vector<Expr> Realizer::by_tree(const ReductionOperation& operation, const Accumulated& own,
                                    const std::string& iname, const Instruction& around) {
  const std::int64_t length = length_of(iname);
  const SharedParts parts = add_parts(operation, own, iname, length, around);
  const std::string whole = whole_axis(iname);
  NameSet within = around.within_inames;
  within.insert(whole);
  std::string last = add_statements("_store", parts.at(Name{whole}), as_names(own.names),
                                    parts.arrays, within, around, own.last);
  std::int64_t open = length;
  std::int64_t distance = 1;  // of ordered values that are left
  for (int stage = 0; open > 1; ++stage) {
    // the upper part is added to the lower one, whose length is a power of two; of neighbours each
    // second one is added to the one before
    const std::int64_t left = operation.is_ordered() ? (open + 1) / 2 : next_power_of_two(open) / 2;
    const std::string lane =
        add_axis_iname(fmt::format("{}_stage_{}", iname, stage), iname, open - left);
    NameSet stage_within = around.within_inames;
    stage_within.insert(lane);
    const Expr place = operation.is_ordered() ? Expr(2 * distance) * name(lane) : name(lane);
    last = add_combination(operation, fmt::format("_stage_{}", stage), parts.at(place),
                           parts.at(place + Expr(operation.is_ordered() ? distance : left)),
                           parts.arrays, stage_within, around, last);
    open = left;
    distance *= 2;
  }
  new_dependencies_.insert(last);
  return parts.at(0);
}

/// Whether warps exchange the values: numbers, real or complex.
bool Realizer::has_shuffle(const ReductionOperation& operation, const std::string& iname) const {
  if (!options_.has_warp_shuffles || tag_of(kernel_, iname).number != 0) {
    return false;
  }
  return std::all_of(operation.types().begin(), operation.types().end(), [](const auto& type) {
    return cgen::scalar_kind(type) || is<cgen::Complex>(type);
  });
}

/// Whether each row of threads along the axis is 2, 4, 8 or 16 lanes of a warp.
bool Realizer::is_part_of_warp(const ReductionOperation& operation,
                               const std::string& iname) const {
  if (!has_shuffle(operation, iname)) {
    return false;
  }
  const std::int64_t length = length_of(iname);
  return length > 1 && length < warp_size && next_power_of_two(length) == length &&
         block_length(kernel_, 0) == length;
}

/// Whether the axis consists of whole warps that can exchange the values.
bool Realizer::can_shuffle(const ReductionOperation& operation, const std::string& iname) const {
  if (!has_shuffle(operation, iname)) {
    return false;
  }
  // rows of threads that are not a multiple of 32 would begin within a warp
  const std::int64_t length = length_of(iname);
  if (length % warp_size != 0) {
    return false;
  }
  for (const std::string& other : inames_on_axis(kernel_, InameTag{AxisKind::block, 0})) {
    const auto others_length = constant_length(kernel_, other);
    if (!others_length || (*others_length > length && *others_length % warp_size != 0)) {
      return false;
    }
  }
  return true;
}

void Realizer::combine_lanes(const ReductionOperation& operation, Accumulated& own,
                             std::int64_t lanes, const Expr& lane, const NameSet& within,
                             const Instruction& around, bool is_part) {
  const std::vector<Expr> here = as_names(own.names);
  if (lanes > 1 && !is_part && (operation.name() == "any" || operation.name() == "all")) {
    const std::string vote = operation.name() == "any" ? warp_any_function : warp_all_function;
    own.last = add_statement(own.names.front() + "_vote", here.front(), call(vote, here), within,
                             around, own.last);
    return;
  }
  if (operation.is_ordered()) {
    combine_neighbours(operation, own, lanes, lane, within, around, is_part);
    return;
  }
  // values are fetched by all lanes before any of them decides what to take, or need not decide
  const bool decides =
      operation.repeats_operands() || operation.name() == "any" || operation.name() == "all";
  std::vector<Expr> there = here;
  for (std::int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    const std::string suffix = fmt::format("_lanes_{}", distance);
    for (std::size_t i = 0; i < here.size(); ++i) {
      std::vector<Expr> arguments = {here[i], distance};
      if (is_part) {
        arguments.emplace_back(lanes);
      }
      const Expr fetched = call(shuffle_xor_function, std::move(arguments));
      if (!decides) {
        there[i] = fetched;
        continue;
      }
      if (distance == lanes / 2) {
        there[i] = Name{add_temporary(own.names[i] + "_other", operation.types()[i])};
      }
      own.last =
          add_statement(own.names[i] + "_fetch", there[i], fetched, within, around, own.last);
    }
    own.last = add_combination(operation, suffix, here, there, own.names, within, around, own.last);
  }
}

void Realizer::combine_neighbours(const ReductionOperation& operation, Accumulated& own,
                                  std::int64_t lanes, const Expr& lane, const NameSet& within,
                                  const Instruction& around, bool is_part) {
  const std::vector<Expr> here = as_names(own.names);
  std::vector<std::string> left;
  std::vector<std::string> right;
  for (std::size_t i = 0; lanes > 1 && i < here.size(); ++i) {
    left.push_back(add_temporary(own.names[i] + "_left", operation.types()[i]));
    right.push_back(add_temporary(own.names[i] + "_right", operation.types()[i]));
  }
  for (std::int64_t distance = 1; distance < lanes; distance *= 2) {
    const Expr is_left = Comparison{ComparisonOp::less, modulo(lane, 2 * distance), distance};
    for (std::size_t i = 0; i < here.size(); ++i) {
      std::vector<Expr> arguments = {here[i], distance};
      if (is_part) {
        arguments.emplace_back(lanes);
      }
      // all lanes fetch before any of them decides on which side its value is
      own.last =
          add_statement(own.names[i] + "_fetch", Name{right[i]},
                        call(shuffle_xor_function, std::move(arguments)), within, around, own.last);
      own.last =
          add_statement(own.names[i] + "_first", Name{left[i]},
                        Conditional{is_left, here[i], Name{right[i]}}, within, around, own.last);
      own.last =
          add_statement(own.names[i] + "_second", Name{right[i]},
                        Conditional{is_left, Name{right[i]}, here[i]}, within, around, own.last);
    }
    own.last = assign_combined(operation, fmt::format("_lanes_{}", distance), here,
                               operation.combine(as_names(left), as_names(right)), own.names,
                               within, around, own.last);
  }
}

/// Several rows of threads share a warp: each exchanges values among its own lanes, whether or not
/// the others have a row.
std::vector<Expr> Realizer::by_exchanges(const ReductionOperation& operation,
                                         const Accumulated& accumulated, const std::string& iname,
                                         const Instruction& around) {
  Accumulated own = accumulated;
  NameSet within = around.within_inames;
  within.insert(whole_axis(iname));
  combine_lanes(operation, own, length_of(iname), Name{whole_axis(iname)}, within, around, true);
  mark_same_in_all_threads(own.names);
  new_dependencies_.insert(own.last);
  return as_names(own.names);
}

/// Each warp combines its lanes; one element of each goes through shared memory; then every warp
/// combines these, so that one barrier is enough and all threads have the result.
std::vector<Expr> Realizer::by_shuffles(const ReductionOperation& operation,
                                        const Accumulated& accumulated, const std::string& iname,
                                        const Instruction& around) {
  Accumulated own = accumulated;
  const std::int64_t warps = length_of(iname) / warp_size;
  const Expr thread = Name{whole_axis(iname)};
  NameSet within = around.within_inames;
  within.insert(whole_axis(iname));
  combine_lanes(operation, own, warp_size, thread, within, around);
  if (warps > 1) {
    const SharedParts parts = add_parts(operation, own, iname, warps, around);
    Instruction first_lane = around;
    first_lane.predicates.push_back(Comparison{ComparisonOp::equal, modulo(thread, warp_size), 0});
    own.last = add_statements("_store", parts.at(floor_div(thread, warp_size)), as_names(own.names),
                              parts.arrays, within, first_lane, own.last);
    Accumulated total{{}, own.last};
    for (std::size_t i = 0; i < own.names.size(); ++i) {
      total.names.push_back(add_temporary(own.names[i] + "_total", operation.types()[i]));
    }
    const std::int64_t lanes = next_power_of_two(warps);
    const Expr lane = modulo(thread, lanes);
    std::vector<Expr> loaded = parts.at(lane);
    if (lanes != warps) {
      const std::vector<Expr> neutral = operation.neutral();
      for (std::size_t i = 0; i < loaded.size(); ++i) {
        loaded[i] = Conditional{Comparison{ComparisonOp::less, lane, warps}, loaded[i], neutral[i]};
      }
    }
    total.last = add_statements("_load", as_names(total.names), loaded, total.names, within, around,
                                own.last);
    combine_lanes(operation, total, lanes, thread, within, around);
    own = total;
  }
  mark_same_in_all_threads(own.names);
  new_dependencies_.insert(own.last);
  return as_names(own.names);
}

void Realizer::mark_same_in_all_threads(const std::vector<std::string>& names) {
  for (Instruction& each : kernel_.instructions) {
    for (const std::string& name : names) {
      if (written_variables(each).count(name) != 0) {
        each.is_same_in_all_threads = true;
      }
    }
  }
}

}  // namespace rtcg::loopy
