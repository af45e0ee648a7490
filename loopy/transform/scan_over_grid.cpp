#include "rtcg/loopy/transform/scan_over_grid.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/axis_length.h"
#include "rtcg/loopy/analyze/reduction_operation.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/schedule/loop_bounds.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/loop_end.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"
#include "rtcg/loopy/transform/tag_inames.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy {
namespace {

/// The bounds of a scan: first <= j <= block*g + rest, where g is the axis of the grid.
struct ScanBlocks {
  Affine first;
  Affine rest;             ///< without g
  std::int64_t block = 0;  ///< elements of a block
  NameSet sweeps;          ///< the inames of the statement in `rest`
};

/// The upper bound of the iname that grows with an iname of the statement.
std::optional<Affine> growing_bound(const Kernel& kernel, const Reduction& reduction,
                                    const Instruction& around) {
  const Domain* home =
      reduction.inames.size() == 1 ? find_home_domain(kernel, reduction.inames.front()) : nullptr;
  if (home == nullptr) {
    return std::nullopt;
  }
  const std::string& iname = reduction.inames.front();
  for (const Constraint& constraint : home->constraints.constraints()) {
    const Affine rest = constraint.expr - Affine(iname, constraint.expr.coefficient(iname));
    const bool grows =
        std::any_of(rest.terms().begin(), rest.terms().end(), [&](const Affine::Term& term) {
          return term.coefficient > 0 && around.within_inames.count(term.name) != 0;
        });
    if (constraint.expr.coefficient(iname) == -1 && grows) {
      return rest;
    }
  }
  return std::nullopt;
}

/// Calls `visit` with each scan in the statement whose upper bound grows with the iname.
template <class Visit>
void for_each_scan(const Kernel& kernel, const Instruction& instruction, std::string_view iname,
                   const Visit& visit) {
  for_each_expression(instruction, [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      const Reduction* reduction = as_scan(part);
      if (reduction != nullptr && !looks_back(part)) {
        const auto bound = growing_bound(kernel, *reduction, instruction);
        if (bound && bound->coefficient(iname) != 0) {
          visit(part, *reduction);
        }
      }
      return true;
    });
  });
}

[[noreturn]] void refuse_bounds(const Instruction& around, const Reduction& reduction,
                                const std::string& why) {
  refuse("loopy.scan_over_grid.bounds",
         fmt::format("the scan over '{}' in '{}' cannot be cut into blocks: {}",
                     fmt::join(reduction.inames, ", "), around.id, why));
}

ScanBlocks bounds_of_scan(const Kernel& kernel, const Reduction& reduction,
                          const Instruction& around, const std::string& grid) {
  const std::string& iname = reduction.inames.front();
  const Affine upper = *growing_bound(kernel, reduction, around);
  ScanBlocks scan;
  scan.block = upper.coefficient(grid);
  scan.rest = upper - Affine(grid, scan.block);
  const Domain& home = *find_home_domain(kernel, iname);
  bool has_first = false;
  for (const Constraint& constraint : home.constraints.constraints()) {
    const std::int64_t coefficient = constraint.expr.coefficient(iname);
    const Affine rest = constraint.expr - Affine(iname, coefficient);
    if (coefficient == 0) {
      continue;
    }
    if (coefficient == 1 && !constraint.is_equality && !has_first) {
      scan.first = -rest;
      has_first = true;
    } else if (coefficient != -1 || constraint.is_equality || !(rest == upper)) {
      refuse_bounds(around, reduction, "its bounds are more than a lower and an upper one");
    }
  }
  for (const Congruence& congruence : home.constraints.congruences()) {
    if (congruence.expr.coefficient(iname) != 0) {
      refuse_bounds(around, reduction, "its iname goes in strides");
    }
  }
  const Affine inside = scan.rest - scan.first;
  const auto is_inside = [&](const Affine& affine) {
    return std::any_of(affine.terms().begin(), affine.terms().end(), [&](const Affine::Term& term) {
      return around.within_inames.count(term.name) != 0;
    });
  };
  if (!has_first || is_inside(scan.first)) {
    refuse_bounds(around, reduction, "its lower bound changes with a loop around it");
  }
  for (const Affine::Term& term : scan.rest.terms()) {
    if (around.within_inames.count(term.name) != 0) {
      scan.sweeps.insert(term.name);
    }
  }
  // a block ends where the next one begins
  const ConstraintSet known = constraints_of(kernel, around.within_inames);
  if (scan.block <= 0 || !known.implies_nonnegative(inside + 1) ||
      !known.implies_nonnegative(Affine(scan.block - 1) - inside)) {
    refuse_bounds(around, reduction,
                  fmt::format("the values of '{}' for one '{}' are not {} that follow each other",
                              to_string(to_expr(upper)), grid, scan.block));
  }
  return scan;
}

[[noreturn]] void refuse_surroundings(const Instruction& around, const std::string& why) {
  refuse("loopy.scan_over_grid.surroundings",
         fmt::format("the scan in '{}' cannot be cut into launches: {}", around.id, why));
}

/// What the first launch computes must be there before the kernel has done anything.
void check_surroundings(const Kernel& kernel, const Instruction& around, const Reduction& reduction,
                        const ScanBlocks& scan, const std::string& grid) {
  NameSet read;
  for (const Expr& operand : reduction.operands) {
    read.merge(free_names(operand));
    read.merge(accessed_arrays(operand));
  }
  for (const std::string& each : read) {
    if (scan.sweeps.count(each) != 0 || each == grid) {
      refuse_surroundings(around, fmt::format("its elements change with '{}'", each));
    }
    for (const Instruction& other : kernel.instructions) {
      if (written_variables(other).count(each) != 0) {
        refuse_surroundings(around,
                            fmt::format("'{}' writes '{}', which it reads", other.id, each));
      }
    }
  }
  for (const std::string& each : around.within_inames) {
    const AxisKind kind = tag_of(kernel, each).kind;
    if (each != grid && scan.sweeps.count(each) == 0 && kind != AxisKind::grid) {
      refuse_surroundings(around, fmt::format("'{}' around it is not an axis of the grid", each));
    }
  }
  if (!around.predicates.empty()) {
    refuse_surroundings(around, "it runs under a condition");
  }
}

/// Of a thread of the second launch, which is one block for each scan: fewer would make it last.
constexpr std::int64_t items_of_parts = 8;

class GridScanner {
 public:
  GridScanner(Kernel kernel, std::string grid, std::int64_t threads)
      : kernel_(std::move(kernel)),
        grid_(std::move(grid)),
        threads_(threads),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    std::vector<Instruction> last;
    const std::vector<Instruction> old = kernel_.instructions;
    for (const Instruction& instruction : old) {
      std::vector<Expr> scans;
      for_each_scan(kernel_, instruction, grid_, [&](const Expr& scan, const Reduction&) {
        if (std::find(scans.begin(), scans.end(), scan) == scans.end()) {
          scans.push_back(scan);
        }
      });
      if (scans.empty()) {
        last.push_back(instruction);
      } else {
        add_stages(instruction, scans, last);
      }
    }
    kernel_.instructions = std::move(parts_);
    kernel_.instructions.push_back(barrier());
    append(befores_);
    kernel_.instructions.push_back(barrier());
    append(last);
    for (const std::string& each : second_inames_) {
      const auto most = constraints_of(kernel_, {each}).maximum(Affine(each));
      if (most && *most < threads_) {
        kernel_ = tag_inames(std::move(kernel_), each + ":l.0");
      } else if (threads_ > 1) {
        kernel_ = split_iname(std::move(kernel_), each, threads_ * items_of_parts);
        kernel_ = split_iname(std::move(kernel_), each + "_inner", items_of_parts,
                              {.outer_tag = "l.0", .inner_tag = "unr"});
      }
    }
    for (const auto& [each, length] : part_inames_) {
      if (length > 1) {
        kernel_ = split_iname(std::move(kernel_), each, length, {.inner_tag = "l.0"});
      }
    }
    return std::move(kernel_);
  }

 private:
  void append(const std::vector<Instruction>& more) {
    kernel_.instructions.insert(kernel_.instructions.end(), more.begin(), more.end());
  }

  Instruction barrier() {
    Instruction result;
    result.id = names_.make("scan_barrier");
    result.kind = BarrierInstruction{BarrierScope::global};
    return result;
  }

  /// What holds for the axis of the grid alone.
  [[nodiscard]] ConstraintSet range_of_grid(const Instruction& around) const {
    std::vector<std::string> others = all_inames(kernel_);
    std::erase(others, grid_);
    return constraints_of(kernel_, around.within_inames).project_out(others).without_redundancies();
  }

  void add_domain(const std::string& iname, ConstraintSet constraints) {
    kernel_.domains.push_back({{iname}, std::move(constraints)});
  }

  [[nodiscard]] static std::vector<Expr> elements(const std::vector<std::string>& arrays,
                                                  const std::vector<Expr>& outer,
                                                  const std::string& index) {
    std::vector<Expr> result;
    for (const std::string& array : arrays) {
      std::vector<Expr> indices = outer;
      indices.emplace_back(Name{index});
      result.emplace_back(Access{array, std::move(indices)});
    }
    return result;
  }

  std::vector<std::string> add_arrays(const std::string& base, std::size_t count,
                                      const std::vector<Expr>& shape) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < count; ++i) {
      Temporary temporary;
      temporary.name = names_.make(base);
      temporary.shape = shape;
      temporary.address_space = AddressSpace::global;
      kernel_.temporaries.push_back(temporary);
      result.push_back(temporary.name);
    }
    return result;
  }

  [[nodiscard]] static Expr with_element(const Expr& operand, const std::string& iname,
                                         const Affine& element) {
    return substitute(operand, {{iname, to_expr(element)}});
  }

  /// The results of the blocks, of those before each block, and of the statement.
  void add_stages(const Instruction& around, const std::vector<Expr>& scans,
                  std::vector<Instruction>& last) {
    Instruction rest = around;
    std::vector<Instruction> first;
    for (const Expr& expr : scans) {
      const Reduction reduction = *as_scan(expr);
      const ScanBlocks scan = bounds_of_scan(kernel_, reduction, around, grid_);
      check_surroundings(kernel_, around, reduction, scan, grid_);
      const std::string name = result_name(around);
      std::vector<Expr> outer;
      std::vector<Expr> shape;
      NameSet within;
      for (const std::string& each : around.within_inames) {
        if (each != grid_ && scan.sweeps.count(each) == 0) {
          outer.emplace_back(Name{each});
          shape.push_back(end_of_loop(kernel_, each));
          within.insert(each);
        }
      }
      shape.push_back(end_of_loop(kernel_, grid_));
      const std::size_t count = reduction.operands.size();
      const std::vector<std::string> parts = add_arrays(name + "_parts", count, shape);
      const std::vector<std::string> befores = add_arrays(name + "_before", count, shape);
      add_parts(around, reduction, scan, within, elements(parts, outer, part_block(around)));
      add_befores(around, reduction, within, parts, befores, outer);
      const std::vector<Expr> before = elements(befores, outer, grid_);
      const std::vector<Expr> own = own_values(around, reduction, scan, first);
      const std::vector<Expr> whole =
          ReductionOperation(kernel_, reduction, types_of(expr)).combine(before, own);
      replace(rest, expr, whole);
    }
    for (Instruction& each : first) {
      last.push_back(std::move(each));
    }
    push_results(rest, last);
  }

  /// Several results become a statement each.
  void push_results(const Instruction& rest, std::vector<Instruction>& last) {
    const Assignment* assignment = get_if<Assignment>(rest);
    const Call* tuple = assignment != nullptr ? get_if<Call>(assignment->value) : nullptr;
    if (assignment == nullptr || assignment->targets.size() == 1 || tuple == nullptr) {
      last.push_back(rest);
      return;
    }
    for (std::size_t i = 0; i < assignment->targets.size(); ++i) {
      Instruction each = rest;
      if (i > 0) {
        each.id = names_.make(rest.id);
      }
      each.kind = Assignment{{assignment->targets[i]}, tuple->arguments.at(i)};
      last.push_back(std::move(each));
    }
  }

  static void replace(Instruction& instruction, const Expr& scan, const std::vector<Expr>& whole) {
    const Expr value = whole.size() == 1 ? whole.front() : Expr(Call{"make_tuple", whole});
    instruction = map_expressions(std::move(instruction), [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
        return part == scan ? std::optional(value) : std::nullopt;
      });
    });
  }

  [[nodiscard]] std::vector<cgen::Type> types_of(const Expr& scan) const {
    return types_of_targets(kernel_, scan);
  }

  static std::string result_name(const Instruction& instruction) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    return assignment == nullptr ? instruction.id : target_name(assignment->targets.front());
  }

  /// The axis of the blocks whose results others need: all but the last one.
  const std::string& part_block(const Instruction& around) {
    if (part_block_.empty()) {
      part_block_ = copy_name(names_, grid_);
      ConstraintSet constraints =
          range_of_grid(around).substitute(grid_, Affine(part_block_) + Affine(1));
      constraints.add_nonnegative(Affine(part_block_));
      add_domain(part_block_, std::move(constraints));
      kernel_.iname_tags[part_block_] = tag_of(kernel_, grid_);
    }
    return part_block_;
  }

  void add_parts(const Instruction& around, const Reduction& reduction, const ScanBlocks& scan,
                 const NameSet& within, const std::vector<Expr>& targets) {
    const std::string inside = names_.make(reduction.inames.front() + "_inner");
    ConstraintSet constraints;
    constraints.add_nonnegative(Affine(inside));
    constraints.add_nonnegative(Affine(scan.block - 1) - Affine(inside));
    add_domain(inside, std::move(constraints));
    // threads would combine the values of a rule in an order of their own
    part_inames_.emplace_back(inside,
                              is_known_operation(reduction.operation) ? threads_of(scan) : 1);
    Reduction part{reduction.operation, {inside}, {}};
    for (const Expr& operand : reduction.operands) {
      part.operands.push_back(
          with_element(operand, reduction.inames.front(),
                       Affine(part_block_, scan.block) + scan.first + Affine(inside)));
    }
    Instruction statement;
    statement.id = names_.make(around.id + "_parts");
    statement.within_inames = within;
    statement.within_inames.insert(part_block_);
    statement.kind = Assignment{targets, part};
    parts_.push_back(std::move(statement));
  }

  /// As many as scan the block in the last launch; 1 where that is no axis.
  [[nodiscard]] std::int64_t threads_of(const ScanBlocks& scan) const {
    for (const std::string& each : scan.sweeps) {
      const auto most = constraints_of(kernel_, {each}).maximum(Affine(each));
      const InameTag tag = tag_of(kernel_, each);
      if (tag.kind == AxisKind::block && most && *most >= 1 && *most < scan.block) {
        return *most + 1;
      }
    }
    return 1;
  }

  void add_befores(const Instruction& around, const Reduction& reduction, const NameSet& within,
                   const std::vector<std::string>& parts, const std::vector<std::string>& befores,
                   const std::vector<Expr>& outer) {
    const std::string block = copy_name(names_, grid_);
    ConstraintSet constraints = range_of_grid(around).substitute(grid_, Affine(block));
    add_domain(block, std::move(constraints));
    second_inames_.push_back(block);
    const std::string earlier = copy_name(names_, grid_);
    ConstraintSet below;
    below.add_nonnegative(Affine(earlier));
    below.add_nonnegative(Affine(block) - Affine(earlier) - Affine(1));
    add_domain(earlier, std::move(below));
    Instruction statement;
    statement.id = names_.make(around.id + "_before");
    statement.within_inames = within;
    statement.within_inames.insert(block);
    statement.kind =
        Assignment{elements(befores, outer, block),
                   scan({reduction.operation, {earlier}, elements(parts, outer, earlier)})};
    befores_.push_back(std::move(statement));
  }

  /// The values of the scan within the block.
  std::vector<Expr> own_values(const Instruction& around, const Reduction& reduction,
                               const ScanBlocks& grid_scan, std::vector<Instruction>& first) {
    const std::string inside = names_.make(reduction.inames.front());
    ConstraintSet constraints;
    constraints.add_nonnegative(Affine(inside));
    constraints.add_nonnegative(grid_scan.rest - grid_scan.first - Affine(inside));
    add_domain(inside, std::move(constraints));
    Reduction own{reduction.operation, {inside}, {}};
    for (const Expr& operand : reduction.operands) {
      own.operands.push_back(
          with_element(operand, reduction.inames.front(),
                       Affine(grid_, grid_scan.block) + grid_scan.first + Affine(inside)));
    }
    if (own.operands.size() == 1) {
      // with nothing to go along, there is one element or none
      return {grid_scan.sweeps.empty() ? Expr(own) : scan(own)};
    }
    Instruction statement = around;
    statement.id = names_.make(around.id + "_own");
    std::vector<Expr> values;
    Assignment assignment;
    for (std::size_t i = 0; i < own.operands.size(); ++i) {
      Temporary temporary;
      temporary.name = names_.make(result_name(around) + "_own");
      kernel_.temporaries.push_back(temporary);
      assignment.targets.emplace_back(Name{temporary.name});
      values.emplace_back(Name{temporary.name});
    }
    assignment.value = grid_scan.sweeps.empty() ? Expr(own) : scan(own);
    statement.kind = std::move(assignment);
    first.push_back(std::move(statement));
    return values;
  }

  Kernel kernel_;
  const std::string grid_;
  const std::int64_t threads_;
  NameGenerator names_;
  std::string part_block_;
  std::vector<Instruction> parts_;
  std::vector<Instruction> befores_;
  std::vector<std::string> second_inames_;
  std::vector<std::pair<std::string, std::int64_t>> part_inames_;
};

[[noreturn]] void refuse_look_back(const Instruction& around, const std::string& why) {
  refuse("loopy.scan_over_grid.look_back",
         fmt::format("the blocks of the scan in '{}' cannot look back: {}", around.id, why));
}

/// The elements are those before the block, and threads along l.0 can look back.
void check_totals(const Kernel& kernel, const Instruction& around, const Reduction& reduction,
                  const ScanBlocks& scan, const std::vector<Expr>& totals) {
  if (!scan.sweeps.empty() || !(scan.rest - scan.first == Affine(-1))) {
    refuse("loopy.scan_over_grid.totals",
           fmt::format("the scan over '{}' in '{}' is not that of the elements before the block",
                       reduction.inames.front(), around.id));
  }
  if (totals.size() != reduction.operands.size()) {
    refuse("loopy.scan_over_grid.totals",
           fmt::format("the scan in '{}' has {} results, and {} totals are given", around.id,
                       reduction.operands.size(), totals.size()));
  }
  if (find_look_back_threads(kernel).empty()) {
    refuse_look_back(
        around, fmt::format("its threads are not a multiple of {} along l.0 alone", warp_size));
  }
}

/// What look-back takes besides what the three launches do.
void check_look_back(const Kernel& kernel, const Instruction& around, const Reduction& reduction,
                     const ScanBlocks& scan, const std::string& grid,
                     const std::vector<Expr>& totals) {
  const auto least = constraints_of(kernel, {grid}).minimum(Affine(grid));
  if (least != 0) {
    refuse_look_back(around, fmt::format("'{}' does not begin at 0", grid));
  }
  if (!totals.empty()) {
    check_totals(kernel, around, reduction, scan, totals);
    return;
  }
  std::string threads;
  for (const std::string& each : scan.sweeps) {
    const InameTag tag = tag_of(kernel, each);
    if (tag.is_parallel()) {
      if (!(tag == InameTag{AxisKind::block, 0}) || !threads.empty()) {
        refuse_look_back(around, fmt::format("'{}' is tagged {}, and l.0 alone scans a block", each,
                                             to_string(tag)));
      }
      threads = each;
    }
  }
  const std::optional<std::int64_t> length =
      threads.empty() ? std::nullopt : constant_length(kernel, threads);
  if (!length || *length % warp_size != 0) {
    refuse_look_back(
        around, fmt::format("a multiple of {} threads along l.0 scans a block, not {}", warp_size,
                            length ? std::to_string(*length) : "an unknown number"));
  }
  for (const std::string& each : scan.sweeps) {
    if (scan.rest.coefficient(each) > scan.rest.coefficient(threads)) {
      refuse_look_back(around, fmt::format("'{}' goes around the threads of '{}': let it count "
                                           "within them",
                                           each, threads));
    }
  }
  Affine first = scan.rest - scan.first;
  for (const std::string& each : scan.sweeps) {
    first = first.substitute(each, Affine(0));
  }
  if (!(first == Affine(0)) && !(first == Affine(-1))) {
    refuse_look_back(around, fmt::format("the scan over '{}' begins with elements before those of "
                                         "the first block",
                                         reduction.inames.front()));
  }
}

/// Each scan whose upper bound grows with the iname, marked.
/// @param totals  of a scan, where the kernel computes them
Kernel with_look_back(Kernel kernel, const std::string& grid,
                      const std::function<std::vector<Expr>(const Expr&)>& totals) {
  for (Instruction& each : kernel.instructions) {
    std::vector<Expr> scans;
    for_each_scan(kernel, each, grid, [&](const Expr& scan, const Reduction& reduction) {
      const ScanBlocks blocks = bounds_of_scan(kernel, reduction, each, grid);
      check_surroundings(kernel, each, reduction, blocks, grid);
      check_look_back(kernel, each, reduction, blocks, grid, totals(scan));
      scans.push_back(scan);
    });
    if (!scans.empty()) {
      each = map_expressions(std::move(each), [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          return std::find(scans.begin(), scans.end(), part) != scans.end()
                     ? std::optional(scan_by_look_back(*as_scan(part), totals(part)))
                     : std::nullopt;
        });
      });
    }
  }
  return kernel;
}

/// The totals that options name, which are those of the one scan along the axis.
std::vector<Expr> stated_totals(const Kernel& kernel, std::string_view iname,
                                const ScanOverGridOptions& options) {
  std::vector<Expr> result;
  for (const std::string& each : options.totals) {
    const Temporary* temporary = find_temporary(kernel, each);
    if (temporary == nullptr || !temporary->shape.empty()) {
      refuse("loopy.scan_over_grid.totals",
             fmt::format("'{}' is no scalar that the kernel computes", each));
    }
    result.emplace_back(Name{each});
  }
  if (result.empty()) {
    return result;
  }
  if (options.how != GridScan::look_back) {
    refuse("loopy.scan_over_grid.totals", "only blocks that look back take totals");
  }
  int scans = 0;
  for (const Instruction& each : kernel.instructions) {
    for_each_scan(kernel, each, iname, [&](const Expr&, const Reduction&) { scans += 1; });
  }
  if (scans > 1) {
    refuse("loopy.scan_over_grid.totals",
           fmt::format("totals are those of one scan, and {} go along '{}'", scans, iname));
  }
  return result;
}

std::optional<Refusal> find_scan_refusal(const Kernel& kernel, std::string_view iname,
                                         std::int64_t threads) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.scan_over_grid.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (tag_of(kernel, iname).kind != AxisKind::grid) {
    return Refusal{"loopy.scan_over_grid.not_on_grid",
                   fmt::format("'{}' is tagged {}: tag it g.0, g.1 or g.2", iname,
                               to_string(tag_of(kernel, iname)))};
  }
  if (threads < 1 || threads > most_threads_of_block) {
    return Refusal{"loopy.scan_over_grid.threads",
                   fmt::format("{} threads are not 1 to {}", threads, most_threads_of_block)};
  }
  bool is_found = false;
  for (const Instruction& instruction : kernel.instructions) {
    for_each_scan(kernel, instruction, iname,
                  [&](const Expr&, const Reduction&) { is_found = true; });
  }
  if (!is_found) {
    return Refusal{"loopy.scan_over_grid.no_scan", fmt::format("no scan goes along '{}'", iname)};
  }
  return std::nullopt;
}

}  // namespace

std::string find_look_back_threads(const Kernel& kernel) {
  std::string result;
  std::int64_t most = 0;
  for (const std::string& each : all_inames(kernel)) {
    const InameTag tag = tag_of(kernel, each);
    if (tag.kind == AxisKind::block && tag.number != 0) {
      return "";
    }
    const auto length = tag.kind == AxisKind::block ? constant_length(kernel, each) : std::nullopt;
    if (length && *length > most) {
      most = *length;
      result = each;
    }
  }
  return most % warp_size == 0 ? result : "";
}

NameSet grid_inames_of_scans(const Kernel& kernel) {
  NameSet result;
  for (const Instruction& instruction : kernel.instructions) {
    for (const std::string& iname : instruction.within_inames) {
      if (tag_of(kernel, iname).kind == AxisKind::grid) {
        for_each_scan(kernel, instruction, iname,
                      [&](const Expr&, const Reduction&) { result.insert(iname); });
      }
    }
  }
  return result;
}

Kernel scan_over_grid(Kernel kernel, std::string_view iname, const ScanOverGridOptions& options) {
  const RecordedStep step(kernel);
  kernel = expand_subst(std::move(kernel));
  throw_if_refused(find_scan_refusal(kernel, iname, options.threads));
  const bool is_look_back = options.how == GridScan::look_back;
  const std::vector<Expr> totals = stated_totals(kernel, iname, options);
  kernel = is_look_back ? with_look_back(std::move(kernel), std::string(iname),
                                         [&](const Expr&) { return totals; })
                        : GridScanner(std::move(kernel), std::string(iname), options.threads).run();
  step.record(
      kernel, "scan_over_grid", {std::string(iname)},
      {{"how", is_look_back ? "look_back" : ""},
       {"threads", options.threads == 256 ? "" : std::to_string(options.threads)},
       {"totals", totals.empty() ? "" : fmt::format("[{}]", fmt::join(options.totals, ", "))}});
  return kernel;
}

Kernel without_impossible_look_back(Kernel kernel, bool has_look_back) {
  NameSet grids;
  std::vector<std::pair<Expr, std::vector<Expr>>> totals;
  for (Instruction& each : kernel.instructions) {
    bool is_marked = false;
    each = map_expressions(std::move(each), [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
        if (!looks_back(part)) {
          return std::nullopt;
        }
        is_marked = true;
        const Expr plain = scan(*as_scan(part));
        totals.emplace_back(plain, totals_of_scan(part));
        return plain;
      });
    });
    for (const std::string& iname : each.within_inames) {
      if (is_marked && tag_of(kernel, iname).kind == AxisKind::grid) {
        grids.insert(iname);
      }
    }
  }
  if (has_look_back) {
    for (const std::string& iname : grids) {
      // tags may have changed since
      static_cast<void>(why_not([&] {
        return kernel = with_look_back(kernel, iname, [&](const Expr& scan) {
                 const auto found =
                     std::find_if(totals.begin(), totals.end(),
                                  [&](const auto& each) { return each.first == scan; });
                 return found == totals.end() ? std::vector<Expr>{} : found->second;
               });
      }));
    }
  }
  return kernel;
}

}  // namespace rtcg::loopy
