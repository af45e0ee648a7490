// Scans along the threads of a block: in shared memory, or by exchanges within warps; with one
// element or several for each thread.
#include <fmt/format.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"

namespace rtcg::loopy {
namespace {

Expr is_at_least(const Expr& value, std::int64_t least) {
  return Comparison{ComparisonOp::greater_equal, value, least};
}

/// `values` where the condition holds, otherwise `others`.
std::vector<Expr> where(const Expr& condition, std::vector<Expr> values,
                        const std::vector<Expr>& others) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = Conditional{condition, values[i], others[i]};
  }
  return values;
}

std::vector<Expr> elements_at(const std::vector<std::string>& arrays, const Expr& place) {
  std::vector<Expr> elements;
  for (const std::string& array : arrays) {
    elements.emplace_back(Access{array, {place}});
  }
  return elements;
}

}  // namespace

Realizer::ThreadScan Realizer::scan_axis(const ReductionOperation& operation,
                                         const Accumulated& own, const std::string& iname,
                                         const Instruction& threads, ThreadScanWants wants) {
  return can_shuffle(operation, iname) ? scan_by_shuffles(operation, own, iname, threads, wants)
                                       : scan_in_memory(operation, own, iname, threads, wants);
}

/// Each thread takes over what the thread `distance` before it has, for distances 1, 2, 4, ...; two
/// arrays by turns, so that one barrier is enough for each.
/// @source Hillis and Steele 1986, Data parallel algorithms
Realizer::ThreadScan Realizer::scan_in_memory(const ReductionOperation& operation,
                                              const Accumulated& own, const std::string& iname,
                                              const Instruction& threads, ThreadScanWants wants) {
  const std::int64_t length = length_of(iname);
  SharedParts parts = add_parts(operation, own, iname, length, threads);
  SharedParts other = add_parts(operation, own, iname, length, threads);
  const Expr thread = Name{whole_axis(iname)};
  NameSet within = threads.within_inames;
  within.insert(whole_axis(iname));
  ThreadScan scan;
  scan.last = add_statements("_store", parts.at(thread), as_names(own.names), parts.arrays, within,
                             threads, own.last);
  for (std::int64_t distance = 1; distance < length; distance *= 2) {
    const std::vector<Expr> here = parts.at(thread);
    const std::vector<Expr> sums =
        where(is_at_least(thread, distance),
              operation.combine(parts.at(thread - Expr(distance)), here), here);
    scan.last = add_statements(fmt::format("_step_{}", distance), other.at(thread), sums,
                               parts.arrays, within, threads, scan.last);
    std::swap(parts, other);
  }
  scan.inclusive = parts.at(Name{iname});
  scan.total = parts.at(length - 1);
  if (wants.before) {
    for (std::size_t i = 0; i < own.names.size(); ++i) {
      scan.before.push_back(add_temporary(own.names[i] + "_start", operation.types()[i]));
    }
    scan.last = add_statements(
        "_start", as_names(scan.before),
        where(is_at_least(thread, 1), parts.at(thread - Expr(1)), operation.neutral()), scan.before,
        within, threads, scan.last);
  }
  return scan;
}

/// @source Kogge and Stone 1973, A parallel algorithm for the efficient solution of a general class
///         of recurrence equations
void Realizer::scan_lanes(const ReductionOperation& operation, Accumulated& own, std::int64_t lanes,
                          const Expr& lane, const NameSet& within, const Instruction& around) {
  const std::vector<Expr> here = as_names(own.names);
  std::vector<Expr> there;
  for (std::size_t i = 0; lanes > 1 && i < here.size(); ++i) {
    there.emplace_back(Name{add_temporary(own.names[i] + "_other", operation.types()[i])});
  }
  for (std::int64_t distance = 1; distance < lanes; distance *= 2) {
    // all lanes exchange values before any of them decides what to take
    for (std::size_t i = 0; i < here.size(); ++i) {
      own.last =
          add_statement(own.names[i] + "_fetch", there[i],
                        call(shuffle_up_function, {here[i], distance}), within, around, own.last);
    }
    own.last =
        assign_combined(operation, fmt::format("_lanes_{}", distance), here,
                        where(is_at_least(lane, distance), operation.combine(there, here), here),
                        own.names, within, around, own.last);
  }
}

/// Each warp scans its lanes; the value of each goes through shared memory; then every warp scans
/// these, so that one barrier is enough.
Realizer::ThreadScan Realizer::scan_by_shuffles(const ReductionOperation& operation,
                                                const Accumulated& accumulated,
                                                const std::string& iname,
                                                const Instruction& threads, ThreadScanWants wants) {
  Accumulated own = accumulated;
  const std::int64_t warps = length_of(iname) / warp_size;
  const Expr thread = Name{whole_axis(iname)};
  const Expr lane = modulo(thread, warp_size);
  const Expr warp = floor_div(thread, warp_size);
  NameSet within = threads.within_inames;
  within.insert(whole_axis(iname));
  const std::size_t count = own.names.size();
  /// variables with the values of the lane that is named
  const auto fetched = [&](const Accumulated& from, const char* name, const Expr& source) {
    Accumulated result{{}, own.last};
    for (std::size_t i = 0; i < count; ++i) {
      result.names.push_back(add_temporary(from.names[i] + name, operation.types()[i]));
      result.last = add_statement(result.names[i], Name{result.names[i]},
                                  call(shuffle_function, {Name{from.names[i]}, source}), within,
                                  threads, result.last);
    }
    own.last = result.last;
    return result;
  };
  scan_lanes(operation, own, warp_size, lane, within, threads);
  ThreadScan scan;
  if (wants.before) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string start = add_temporary(own.names[i] + "_start", operation.types()[i]);
      scan.before.push_back(start);
      own.last =
          add_statement(start, Name{start}, call(shuffle_up_function, {Name{own.names[i]}, 1}),
                        within, threads, own.last);
    }
    const std::vector<Expr> start = as_names(scan.before);
    own.last =
        add_statements("_first", start, where(is_at_least(lane, 1), start, operation.neutral()),
                       scan.before, within, threads, own.last);
  }
  Accumulated all = own;
  Expr last_lane = warp_size - 1;
  if (warps > 1) {
    const SharedParts parts = add_parts(operation, own, iname, warps, threads);
    Instruction last_lanes = threads;
    last_lanes.predicates.push_back(Comparison{ComparisonOp::equal, lane, last_lane});
    const std::string stored = add_statements("_store", parts.at(warp), as_names(own.names),
                                              parts.arrays, within, last_lanes, own.last);
    std::int64_t lanes = 1;
    while (lanes < warps) {
      lanes *= 2;
    }
    const Expr place = modulo(thread, lanes);
    std::vector<Expr> loaded = parts.at(place);
    if (lanes != warps) {
      loaded = where(Comparison{ComparisonOp::less, place, warps}, loaded, operation.neutral());
    }
    all.names.clear();
    for (std::size_t i = 0; i < count; ++i) {
      all.names.push_back(add_temporary(own.names[i] + "_warps", operation.types()[i]));
    }
    all.last =
        add_statements("_load", as_names(all.names), loaded, all.names, within, threads, stored);
    scan_lanes(operation, all, lanes, place, within, threads);
    own.last = all.last;
    const Accumulated earlier =
        fetched(all, "_before", Conditional{is_at_least(warp, 1), warp - Expr(1), 0});
    const std::vector<std::string>& sums = wants.before ? scan.before : own.names;
    const std::vector<Expr> here = as_names(sums);
    own.last = assign_combined(
        operation, "_after", here,
        where(is_at_least(warp, 1), operation.combine(as_names(earlier.names), here), here), sums,
        within, threads, own.last);
    last_lane = warps - 1;
  }
  if (wants.total) {
    const Accumulated total = fetched(all, "_total", last_lane);
    mark_same_in_all_threads(total.names);
    scan.total = as_names(total.names);
  }
  scan.inclusive = wants.before ? std::vector<Expr>{} : as_names(own.names);
  scan.last = own.last;
  return scan;
}

std::vector<Expr> Realizer::carry(const ReductionOperation& operation, const Accumulated& so_far,
                                  const std::vector<Expr>& total, const ScanSweeps& sweeps,
                                  const Instruction& threads, std::string& last) {
  if (!sweeps.grid.empty()) {
    return look_back(operation, total, sweeps, threads, last);
  }
  const std::vector<Expr> earlier = as_names(so_far.names);
  if (sweeps.loops.empty()) {
    return earlier;
  }
  std::vector<std::string> copies;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    copies.push_back(add_temporary(so_far.names[i] + "_before", operation.types()[i]));
  }
  last = add_statements("_copy", as_names(copies), earlier, copies, threads.within_inames, threads,
                        last);
  last = add_statements("_carry", earlier, operation.combine(as_names(copies), total), so_far.names,
                        threads.within_inames, threads, last);
  return as_names(copies);
}

std::vector<Expr> Realizer::scan_threads(const ReductionOperation& operation,
                                         const Accumulated& so_far, const Accumulated& own,
                                         const ScanSweeps& sweeps, const Instruction& around) {
  Instruction threads = around;
  threads.within_inames.erase(sweeps.thread);
  ThreadScan scan = scan_axis(operation, own, sweeps.thread, threads,
                              {.total = !sweeps.loops.empty() || !sweeps.grid.empty()});
  const std::vector<Expr> earlier =
      carry(operation, so_far, scan.total, sweeps, threads, scan.last);
  new_dependencies_.insert(scan.last);
  return earlier.empty() ? scan.inclusive : operation.combine(earlier, scan.inclusive);
}

Realizer::ScanItems Realizer::load_items(const Reduction& reduction,
                                         const ReductionOperation& operation,
                                         const ScanSweeps& sweeps, const Affine& upper,
                                         const std::vector<Affine>& lower,
                                         const Instruction& around) {
  ScanItems items;
  Affine place;
  items.count = 1;
  NewNames copies;
  for (auto each = sweeps.items.rbegin(); each != sweeps.items.rend(); ++each) {
    place = place + Affine(*each, items.count);
    items.count *= length_of(*each);
    copies.emplace(*each, copy_name(names_, *each));
  }
  items.place = to_expr(place);
  const auto kind = cgen::scalar_kind(operation.types().front());
  items.are_bits = options_.has_warp_shuffles && operation.name() == "sum" && kind &&
                   cgen::is_integral(*kind) && items.count > 1 && items.count <= bits_of_word &&
                   is_zero_or_one(reduction.operands.front());
  if (items.are_bits) {
    items.arrays = {add_temporary(base_name(reduction) + "_marks", cgen::u32,
                                  AddressSpace::private_, {Expr(1)})};
  }
  for (std::size_t i = 0; !items.are_bits && i < operation.types().size(); ++i) {
    items.arrays.push_back(add_temporary(base_name(reduction) + "_items" + operation.suffix(i),
                                         operation.types()[i], AddressSpace::private_,
                                         {Expr(items.count)}));
  }
  // items beyond the domain change no value
  Instruction threads = around;
  threads.within_inames.erase(sweeps.thread);
  threads.within_inames.insert(whole_axis(sweeps.thread));
  for (const std::string& each : sweeps.items) {
    threads.within_inames.erase(each);
  }
  NameSet inner = threads.within_inames;
  Expr cleared_place = 0;
  if (!items.are_bits) {
    const std::string item = add_loop("item", 0, items.count, {AxisKind::unroll});
    inner.insert(item);
    cleared_place = Name{item};
  }
  const std::string cleared = add_statements("_clear", elements_at(items.arrays, cleared_place),
                                             operation.neutral(), items.arrays, inner, threads, "");
  kernel_ = with_tagged_copies(std::move(kernel_), copies, around.within_inames);
  const auto renamed = [&](const Affine& affine) {
    return affine.rename([&](const std::string& name) {
      const auto found = copies.find(name);
      return found != copies.end() ? found->second : name;
    });
  };
  Instruction load = around;
  for (const auto& [old, fresh] : copies) {
    load.within_inames.erase(old);
    load.within_inames.insert(fresh);
    if (tag_of(kernel_, fresh).kind == AxisKind::sequential) {
      kernel_.iname_tags[fresh] = {
          AxisKind::unroll};  // only what has a constant index is a register
    }
  }
  const Affine element = renamed(upper);
  const ConstraintSet known = constraints_of(kernel_, load.within_inames);
  for (const Affine& each : lower) {
    if (!known.implies_nonnegative(element - each)) {
      load.predicates.push_back(
          Comparison{ComparisonOp::greater_equal, to_expr(element), to_expr(each)});
    }
  }
  std::vector<Expr> values;
  for (const Expr& operand : reduction.operands) {
    values.push_back(
        realize_within(substitute(operand, {{reduction.inames.front(), to_expr(element)}}), load));
  }
  const Expr own_place = to_expr(renamed(place));
  std::vector<Expr> elements = elements_at(items.arrays, own_place);
  if (items.are_bits) {
    elements = {word_of_marks(items.arrays.front(), own_place)};
    values = {with_mark(elements.front(), values.front(), own_place)};
  }
  items.last =
      add_statements("_load", elements, values, items.arrays, load.within_inames, load, cleared);
  for (std::size_t i = 0; i < items.arrays.size(); ++i) {
    (kernel_.instructions.end() - 1 - static_cast<std::ptrdiff_t>(i))->exchanges_items =
        around.exchanges_items;
  }
  return items;
}

/// Each thread scans its items; the threads scan the values of these; what came before a thread is
/// added to each of its items.
std::vector<Expr> Realizer::scan_items(const ReductionOperation& operation,
                                       const Accumulated& so_far, const ScanItems& items,
                                       const ScanSweeps& sweeps, const Instruction& around) {
  Instruction threads = around;
  threads.within_inames.erase(sweeps.thread);
  for (const std::string& each : sweeps.items) {
    threads.within_inames.erase(each);
  }
  NameSet within = threads.within_inames;
  within.insert(whole_axis(sweeps.thread));
  Accumulated own;
  own.last = items.last;
  if (items.count > 1 && !items.are_bits) {
    const std::string item = add_loop("item", 1, items.count, {AxisKind::unroll});
    NameSet inner = within;
    inner.insert(item);
    own.last = assign_combined(operation, "_run", elements_at(items.arrays, Name{item}),
                               operation.combine(elements_at(items.arrays, name(item) - Expr(1)),
                                                 elements_at(items.arrays, Name{item})),
                               items.arrays, inner, threads, own.last);
  }
  for (std::size_t i = 0; i < items.arrays.size(); ++i) {
    own.names.push_back(add_temporary(items.arrays[i] + "_sum", operation.types()[i]));
  }
  std::vector<Expr> of_thread = elements_at(items.arrays, items.are_bits ? 0 : items.count - 1);
  if (items.are_bits) {
    of_thread = {call("popcount", of_thread)};
  }
  own.last =
      add_statements("_sum", as_names(own.names), of_thread, own.names, within, threads, own.last);
  ThreadScan scan =
      scan_axis(operation, own, sweeps.thread, threads,
                {.before = true, .total = !sweeps.loops.empty() || !sweeps.grid.empty()});
  const std::vector<Expr> earlier =
      carry(operation, so_far, scan.total, sweeps, threads, scan.last);
  const std::vector<Expr> start = as_names(scan.before);
  if (!earlier.empty()) {
    scan.last = assign_combined(operation, "_begin", start, operation.combine(earlier, start),
                                scan.before, within, threads, scan.last);
  }
  new_dependencies_.insert(scan.last);
  return operation.combine(
      start, items.are_bits ? std::vector<Expr>{marks_up_to(
                                  word_of_marks(items.arrays.front(), items.place), items.place)}
                            : elements_at(items.arrays, items.place));
}

std::string Realizer::add_loop(const std::string& base, std::int64_t first, std::int64_t end,
                               const InameTag& tag) {
  const std::string iname = names_.make(base);
  Domain domain;
  domain.inames = {iname};
  domain.constraints.add_nonnegative(Affine(iname) - Affine(first));
  domain.constraints.add_nonnegative(Affine(end - 1) - Affine(iname));
  kernel_.domains.push_back(std::move(domain));
  kernel_.iname_tags.insert_or_assign(iname, tag);
  return iname;
}

}  // namespace rtcg::loopy
