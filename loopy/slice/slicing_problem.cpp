#include "rtcg/loopy/slice/slicing_problem.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/slice/access_groups.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/gpu_figures.h"
#include "rtcg/loopy/slice/legal_slicing.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/reduce_over_grid.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

class ProblemReader {
 public:
  ProblemReader(const Kernel& kernel, const IntegerValues& parameters, bool is_cpu = false,
                std::int64_t shared_bytes = 0)
      : kernel_(infer_types(expand_subst(kernel))),
        parameters_(parameters),
        is_cpu_(is_cpu),
        shared_bytes_(shared_bytes),
        accesses_(distinct_accesses(accesses_of(kernel_))),
        counter_(kernel_, parameters_) {}

  SlicingProblem read(std::vector<FreeLayout> free_layouts) {
    problem_.free_layouts = std::move(free_layouts);
    results_ = with_tiled_reads(result_inames());
    read_results(results_);
    read_reductions();
    if (results_.empty() && problem_.loops[reduced_loop].iname.empty()) {
      throw InvalidInput("loopy.slicings.nothing_to_slice", describe_what_forbids());
    }
    read_accesses();
    read_work();
    read_bounds();
    ask_about_copies();
    ask_about_order();
    number_arrays(problem_.reads);
    number_arrays(problem_.laid_writes);
    return std::move(problem_);
  }

  SlicedLoop loop(const std::string& iname) const {
    ConstraintSet set = constraints_of(kernel_, {iname});
    for (const auto& [name, value] : parameters_) {
      set = set.substitute(name, Affine(value));
    }
    if (set.is_empty()) {
      throw InvalidInput("loopy.slicings.nothing_to_slice",
                         fmt::format("loop '{}' of kernel '{}' has no iterations ({}): give larger "
                                     "values to the parameters that bound it",
                                     iname, kernel_.name, to_string(set)));
    }
    const auto first = set.minimum(Affine(iname));
    const auto last = set.maximum(Affine(iname));
    if (!first || !last) {
      throw InvalidInput("loopy.slicings.missing_parameter",
                         fmt::format("the length of loop '{}' is unknown: give a value to each "
                                     "parameter that bounds it",
                                     iname));
    }
    return {iname, std::max<std::int64_t>(1, *last - *first + 1), has_known_range(iname), *first};
  }

  std::vector<SlicedLoop> result_loops() const {
    std::vector<SlicedLoop> loops;
    for (const std::string& each : result_inames()) {
      loops.push_back(loop(each));
    }
    return loops;
  }

 private:
  /// What keeps the iterations of one loop from running at once, and which other loops there are.
  [[nodiscard]] std::string describe_what_forbids() const {
    std::string reason;
    std::vector<std::string> forbidden;  // others
    std::vector<std::string> partial;
    std::vector<std::string> possible;
    for (const std::string& each : all_inames(kernel_)) {
      const auto is_within = [&](const Instruction& one) {
        return one.within_inames.count(each) != 0;
      };
      const auto& all = kernel_.instructions;
      if (tag_of(kernel_, each).kind != AxisKind::sequential ||
          has_computed_bounds(kernel_, each) || std::none_of(all.begin(), all.end(), is_within)) {
        continue;
      }
      const auto why =
          why_not_sliced(kernel_, {.inames = {{each, {{0, {}}, {2, {AxisKind::block, 0}}}}}});
      if (why && reason.empty()) {
        reason = fmt::format("; '{}': {}", each, *why);
      } else {
        const bool is_around_all = std::all_of(all.begin(), all.end(), is_within);
        (why ? forbidden : is_around_all ? possible : partial).push_back(fmt::format("'{}'", each));
      }
    }
    if (!possible.empty()) {
      return fmt::format(
          "no slicing of kernel '{}' that is listed fits these lengths and constraints, such as "
          "the least number of threads; iterations of {} can run at once",
          kernel_.name, fmt::join(possible, ", "));
    }
    const auto with_names = [](const char* text, const std::vector<std::string>& names) {
      return names.empty() ? "" : fmt::format("; {} {}", text, fmt::join(names, ", "));
    };
    return fmt::format(
        "no loop around all results of kernel '{}' can run its iterations at once, and no "
        "reduction can be shared{}{}{}",
        kernel_.name, reason, with_names("neither can", forbidden),
        with_names("some statements are outside of", partial));
  }

  void read_results(const std::vector<std::string>& results) {
    std::size_t next_whole = first_whole_loop;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const SlicedLoop each = loop(results[i]);
      if (i < 2) {
        problem_.loops[i] = each;
      } else if (next_whole < loop_count) {
        problem_.loops[next_whole++] = each;
      } else {
        problem_.other_results *= each.length;
      }
    }
    for (const std::string& iname : inner_loops()) {
      if (next_whole < loop_count) {
        SlicedLoop inner = loop(iname);
        inner.is_inner = true;
        problem_.loops[next_whole++] = inner;
        results_.push_back(iname);
      }
    }
  }

  /// Loops around some statements with sums that do not depend on them: as items of a thread, they
  /// have these once.
  [[nodiscard]] std::vector<std::string> inner_loops() const {
    constexpr std::int64_t most_inner_items = 64;
    NameSet found;
    for (const Instruction& each : kernel_.instructions) {
      const Assignment* assignment = get_if<Assignment>(each);
      for (const std::string& iname : each.within_inames) {
        bool has_idle_sum = false;
        walk(assignment != nullptr ? assignment->value : Expr(0), [&](const Expr& part) {
          has_idle_sum =
              has_idle_sum || (is<Reduction>(part) && free_names(part).count(iname) == 0);
          return !has_idle_sum;
        });
        if (has_idle_sum) {
          found.insert(iname);
        }
      }
    }
    std::vector<std::string> result;
    for (const std::string& iname : found) {
      const bool is_candidate = !is_around_all(iname) && !is_reduced(iname) &&
                                tag_of(kernel_, iname).kind == AxisKind::sequential &&
                                with_parent_inames(kernel_, {iname}).size() == 1 &&
                                !has_computed_bounds(kernel_, iname) && !is_scanned(iname);
      if (!is_candidate) {
        continue;
      }
      const SlicedLoop each = loop(iname);
      if (each.is_constant && each.begin == 0 && each.length > 1 &&
          each.length <= most_inner_items &&
          !why_not_sliced(kernel_, {.inames = {{iname, {{0, {AxisKind::ilp, 0}}}}}})) {
        result.push_back(iname);
      }
    }
    return result;
  }

  /// Nothing where the constraint mentions more than the loops that are cut.
  std::optional<LoopBound> bound_of(const Constraint& constraint) const {
    LoopBound bound{{}, constraint.expr.constant()};
    std::size_t found = 0;
    for (std::size_t i = 0; i < loop_count; ++i) {
      bound.coefficients[i] =
          problem_.has(i) ? constraint.expr.coefficient(problem_.loops[i].iname) : 0;
      found += bound.coefficients[i] != 0 ? 1 : 0;
    }
    return constraint.is_equality || found != constraint.expr.terms().size() ? std::nullopt
                                                                             : std::optional(bound);
  }

  /// What is known of some of the loops that are cut, without what the rest implies.
  ConstraintSet domain_of_loops(const NameSet& within, const NameSet& loops) const {
    const NameSet all = with_parent_inames(kernel_, within);
    ConstraintSet set = constraints_of(kernel_, all);
    for (const auto& [name, value] : parameters_) {
      set = set.substitute(name, Affine(value));
    }
    std::vector<std::string> others;
    for (const std::string& name : set.names()) {
      if (is_iname(kernel_, name) && loops.count(name) == 0) {
        others.push_back(name);
      }
    }
    return set.project_out(others).without_redundancies();
  }

  void read_bounds() {
    const std::string& cut = problem_.loops[reduced_loop].iname;
    NameSet results;
    for (std::size_t i = 0; i < loop_count; ++i) {
      if (i != reduced_loop && problem_.has(i)) {
        results.insert(problem_.loops[i].iname);
      }
    }
    if (!cut.empty()) {
      NameSet all = results;
      all.insert(cut);
      bool begins_elsewhere = false;
      bool ends_elsewhere = false;
      std::vector<LoopBound> bounds;
      const ConstraintSet set = domain_of_loops({cut}, all);
      for (const Constraint& each : set.constraints()) {
        const bool depends = each.expr.terms().size() > 1;
        const bool is_lower = each.expr.coefficient(cut) > 0;
        begins_elsewhere = begins_elsewhere || (is_lower && depends);
        ends_elsewhere =
            ends_elsewhere || (each.expr.coefficient(cut) < 0 && depends) || each.is_equality;
        if (is_lower) {
          bounds.push_back(bound_of(each).value_or(LoopBound()));
        }
      }
      if (begins_elsewhere && ends_elsewhere) {
        bounds.emplace_back();  // elimination may lose bounds of copies that run ahead in a band
      }
      problem_.beginnings = begins_elsewhere ? bounds : std::vector<LoopBound>();
    }
    if (problem_.has(slow_loop)) {
      read_triangles({problem_.loops[fast_loop].iname, problem_.loops[slow_loop].iname});
    }
  }

  /// Of what all statements have in common.
  void read_triangles(const NameSet& loops) {
    std::optional<ConstraintSet> common;
    for (const Instruction& each : kernel_.instructions) {
      const ConstraintSet own = domain_of_loops(each.within_inames, loops);
      ConstraintSet both;
      for (const Constraint& known : common ? common->constraints() : own.constraints()) {
        if (own.implies(known)) {
          both.add(known);
        }
      }
      common = std::move(both);
    }
    for (const Constraint& each : common ? common->constraints() : std::vector<Constraint>()) {
      const auto bound = bound_of(each);
      if (bound && each.expr.terms().size() == 2) {
        problem_.triangles.push_back(*bound);
      }
    }
  }

  /// Those that are cut or on the grid, the fastest varying in the results first.
  std::vector<std::string> result_inames() const {
    std::vector<std::string> order;
    std::optional<NameSet> common;
    for (const ArrayAccess& access : accesses_) {
      if (!access.is_write || find_argument(kernel_, access.array) == nullptr) {
        continue;
      }
      NameSet indexed;
      for (std::size_t axis = access.indices.size(); axis-- > 0;) {
        for (const std::string& name : free_names(access.indices[axis])) {
          if (is_iname(kernel_, name)) {
            indexed.insert(name);
            order.push_back(name);
          }
        }
      }
      if (common) {
        std::erase_if(*common, [&](const auto& each) { return indexed.count(each) == 0; });
      } else {
        common = indexed;
      }
    }
    std::vector<std::string> result;
    for (const std::string& iname : order) {
      if (common->count(iname) != 0 && is_around_all(iname) &&
          std::find(result.begin(), result.end(), iname) == result.end() && !is_scanned(iname) &&
          can_run_at_once(kernel_, iname)) {
        result.push_back(iname);
      }
    }
    return result;
  }
  /// The loops of results, with the second one such that tiles of the first two read neighbours:
  /// `b[k, j, i] = a[i, j, k]` has tiles along i and k.
  [[nodiscard]] std::vector<std::string> with_tiled_reads(std::vector<std::string> loops) const {
    const auto reads_neighbours = [&](const std::string& iname) {
      return std::any_of(accesses_.begin(), accesses_.end(), [&](const ArrayAccess& each) {
        const auto last =
            each.is_write || each.indices.empty() || find_argument(kernel_, each.array) == nullptr
                ? std::nullopt
                : to_affine(each.indices.back());
        return last && last->coefficient(iname) != 0 && last->coefficient(loops.front()) == 0;
      });
    };
    // a batch of sums: its iterations have no element in common
    const bool has_sums =
        std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                    [](const Instruction& each) { return !loopy::reduction_inames(each).empty(); });
    const auto is_batch = [&](const std::string& iname) {
      return has_sums &&
             std::all_of(accesses_.begin(), accesses_.end(), [&](const ArrayAccess& each) {
               return each.indices.empty() ||
                      std::any_of(each.indices.begin(), each.indices.end(), [&](const Expr& index) {
                        return free_names(index).count(iname) != 0;
                      });
             });
    };
    if (loops.size() > 2 && !reads_neighbours(loops[1])) {
      const auto found = std::find_if(loops.begin() + 2, loops.end(), [&](const std::string& each) {
        return reads_neighbours(each) && !is_batch(each);
      });
      if (found != loops.end()) {
        std::rotate(loops.begin() + 1, found, found + 1);
      }
    }
    return loops;
  }
  [[nodiscard]] bool is_around_all(const std::string& iname) const {
    return tag_of(kernel_, iname).kind == AxisKind::sequential &&
           with_parent_inames(kernel_, {iname}).size() == 1 &&
           std::all_of(
               kernel_.instructions.begin(), kernel_.instructions.end(),
               [&](const Instruction& each) { return each.within_inames.count(iname) != 0; });
  }

  /// Whether the range of one loop depends on another; it does so on itself.
  [[nodiscard]] bool bounds(const std::string& iname, const std::string& bounded) const {
    const ConstraintSet set = constraints_of(kernel_, {bounded});
    return std::any_of(
        set.constraints().begin(), set.constraints().end(), [&](const Constraint& each) {
          return each.expr.coefficient(bounded) != 0 && each.expr.coefficient(iname) != 0;
        });
  }

  /// Whether a loop is one of a scan, or the loop along which a scan runs: its iterations go on
  /// from each other.
  [[nodiscard]] bool is_scanned(const std::string& iname) const {
    bool result = false;
    for (const Instruction& each : kernel_.instructions) {
      for_each_expression(each, [&](const Expr& whole) {
        walk(whole, [&](const Expr& part) {
          if (const Reduction* scanned = as_scan(part)) {
            result = result || std::any_of(scanned->inames.begin(), scanned->inames.end(),
                                           [&](const auto& own) { return bounds(iname, own); });
          }
          return true;
        });
      });
    }
    return result;
  }

  /// Inames that a quotient or remainder of an index contains.
  [[nodiscard]] NameSet divided_inames() const {
    NameSet result;
    for (const ArrayAccess& access : accesses_) {
      for (const Expr& index : access.indices) {
        if (!to_affine(index)) {
          const auto names = free_names(index);
          result.insert(names.begin(), names.end());
        }
      }
    }
    return result;
  }

  void read_reductions() {
    NameSet inames;
    std::size_t summing = 0;
    for (const Instruction& instruction : kernel_.instructions) {
      const NameSet own = reduction_inames(instruction);
      summing += own.empty() ? 0 : 1;
      inames.insert(own.begin(), own.end());
    }
    const NameSet divided = is_cpu_ ? NameSet() : divided_inames();
    const std::int64_t most_steps = is_cpu_ ? 8 : 16;
    const std::int64_t most_written = is_cpu_ ? 64 : 128;  // steps that are written out, in all
    std::int64_t& written = problem_.written_steps;
    for (const std::string& iname : inames) {
      if (tag_of(kernel_, iname).kind != AxisKind::sequential ||
          has_computed_bounds(kernel_, iname) || is_scanned(iname)) {
        continue;
      }
      const SlicedLoop each = loop(iname);
      if (each.is_constant && each.length <= most_steps && written * each.length <= most_written &&
          (is_cpu_ || divided.count(iname) != 0)) {
        written *= each.length;
        problem_.short_sums.push_back(iname);
      }
      SlicedLoop& longest = problem_.loops[reduced_loop];
      if (each.length > longest.length || longest.iname.empty()) {
        longest = each;
      }
    }
    ask_how_to_share(summing == 1 && kernel_.instructions.size() == 1 &&
                     with_parent_inames(kernel_, inames).size() == inames.size());
  }

  /// Asks the transformations that a slicing would use.
  void ask_how_to_share(bool is_one_sum) {
    const std::string& iname = problem_.loops[reduced_loop].iname;
    if (iname.empty()) {
      return;
    }
    constexpr std::int64_t threads = warp_size;
    problem_.can_spread_sums =
        !why_not_sliced(kernel_, {.inames = {{iname, {{0, {}}, {threads, {AxisKind::block, 0}}}}}});
    const auto can_reduce = [&](GridReduction how) {
      Slicing shared{.inames = {{iname, {{0, {AxisKind::grid, 0}}}}}};
      if (how == GridReduction::atomic) {
        shared.atomic_reductions = {iname};
      } else if (how == GridReduction::last_block) {
        shared.last_block_reductions = {iname};
      }
      return is_one_sum && !why_not_sliced(kernel_, shared);
    };
    problem_.can_share_sums = can_reduce(GridReduction::two_stage);
    problem_.can_add_atomically = problem_.can_share_sums && can_reduce(GridReduction::atomic);
    problem_.can_end_with_last_block =
        problem_.can_share_sums && can_reduce(GridReduction::last_block);
  }

  /// Whether reductions are around the one that is cut where it has these reads.
  [[nodiscard]] bool is_in_outer_sum(const Fetchable& fetchable) const {
    return std::any_of(problem_.reads.begin(), problem_.reads.end(), [&](const SlicedRead& each) {
      return each.array == fetchable.array && each.outer_steps > 1 &&
             static_cast<std::int64_t>(each.group) + 1 ==
                 std::max<std::int64_t>(1, fetchable.group);
    });
  }

  /// Whether loops that are not results choose what these reads reach: the statements between
  /// them and other loops, as those of a recurrence, may leave no room for copies there.
  [[nodiscard]] bool is_within_serial_loop(const Fetchable& fetchable) const {
    const std::vector<AccessGroup>& groups = groups_.find(fetchable.array)->second;
    const auto number = static_cast<std::size_t>(std::max<std::int64_t>(1, fetchable.group) - 1);
    return std::any_of(
        groups[number].inames.begin(), groups[number].inames.end(), [&](const std::string& iname) {
          return !is_cut(iname) && !is_reduced(iname) &&
                 std::find(results_.begin(), results_.end(), iname) == results_.end();
        });
  }

  /// Asks add_prefetch and pipeline about each group, with loops of one or two iterations in a
  /// tile; where copies join reductions or other loops around that loop, the generator, too.
  void ask_about_copies() {
    Slicing slicing;
    for (std::size_t i = 0; i < first_whole_loop; ++i) {
      if (problem_.has(i)) {
        // a long tile of results begins before its bands do
        const std::int64_t result_tile = problem_.beginnings.empty() ? 2 : 64;
        slicing.inames.push_back(
            {problem_.loops[i].iname, {{0, {}}, {i == reduced_loop ? 1 : result_tile, {}}}});
      }
    }
    Slicing in_blocks = slicing;
    for (std::size_t i = 0; i < in_blocks.inames.size() && i < reduced_loop; ++i) {
      InameSlicing& each = in_blocks.inames[i];
      if (each.iname != problem_.loops[reduced_loop].iname) {
        each.factors.front().axis = {AxisKind::grid, static_cast<int>(i)};
        each.factors.back() = {2, {AxisKind::block, static_cast<int>(i)}};
      }
    }
    const auto is_refused = [&](const Fetchable& each) {
      in_blocks.stages = slicing.stages;
      in_blocks.fetches = slicing.fetches;
      return is_in_outer_sum(each) || is_within_serial_loop(each)
                 ? why_not_sliced(kernel_, in_blocks).has_value()
                 : why_not([&] { return apply(kernel_, slicing); }).has_value();
    };
    std::erase_if(problem_.fetchable, [&](Fetchable& each) {
      slicing.stages = 1;
      slicing.fetches = {{.array = each.array, .group = each.group}};
      if (is_refused(each)) {
        return true;
      }
      slicing.stages = 2;
      each.can_run_ahead = !is_refused(each);
      return false;
    });
    // sums that share the loop that is cut, within different other ones, have room for one of them
    in_blocks.stages = 1;
    in_blocks.fetches.clear();
    std::erase_if(problem_.fetchable, [&](const Fetchable& each) {
      if (!is_in_outer_sum(each)) {
        return false;
      }
      in_blocks.fetches.push_back({.array = each.array, .group = each.group});
      const bool is_too_many = why_not_sliced(kernel_, in_blocks).has_value();
      if (is_too_many) {
        in_blocks.fetches.pop_back();
      }
      return is_too_many;
    });
  }

  /// Sums that follow from each other may leave no room for copies between them: asks the generator
  /// about the sets of copies, with all short sums written out.
  void ask_about_order() {
    if (kernel_.instructions.size() > 1 && problem_.has(reduced_loop) &&
        !problem_.fetchable.empty()) {
      ask_about_order(false);
      ask_about_order(true);
    }
  }

  void ask_about_order(bool is_whole) {
    std::uint16_t& refused = problem_.refused_fetches[is_whole ? 1 : 0];
    Slicing slicing;
    for (std::size_t i = 0; i < first_whole_loop; ++i) {
      if (problem_.has(i)) {
        const bool is_sum = i == reduced_loop;
        const InameTag outer = is_sum ? InameTag() : InameTag{AxisKind::grid, static_cast<int>(i)};
        const InameTag inner = is_sum ? InameTag() : InameTag{AxisKind::block, static_cast<int>(i)};
        slicing.inames.push_back({problem_.loops[i].iname, {{0, outer}, {2, inner}}});
        if (is_sum && is_whole) {
          slicing.inames.back().factors.pop_back();
        }
      }
    }
    for (const std::string& each : problem_.short_sums) {
      if (each != problem_.loops[reduced_loop].iname) {
        slicing.inames.push_back({each, {{0, {AxisKind::unroll, 0}}}});
      }
    }
    const auto has_no_order = [&](unsigned fetched) {
      slicing.fetches.clear();
      for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
        if ((fetched >> i & 1U) != 0) {
          const Fetchable& each = problem_.fetchable[i];
          slicing.fetches.push_back({.array = each.array, .group = each.group});
        }
      }
      return code_of_refusal(kernel_, slicing).starts_with("loopy.schedule.");
    };
    const unsigned all = (1U << problem_.fetchable.size()) - 1;
    if (!has_no_order(all)) {
      return;  // nor has a part of them
    }
    for (unsigned fetched = 1; fetched <= all; ++fetched) {
      bool is_refused = fetched == all;
      for (unsigned part = 1; part < fetched && !is_refused; ++part) {
        is_refused = (part & ~fetched) == 0 && (refused >> part & 1U) != 0;
      }
      if (is_refused || has_no_order(fetched)) {
        refused |= static_cast<std::uint16_t>(1U << fetched);
      }
    }
  }

  void read_accesses() {
    problem_.writes_neighbours = !problem_.loops[fast_loop].iname.empty();
    for (const ArrayAccess& access : accesses_) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (argument == nullptr || !argument->is_array) {
        continue;
      }
      const double bytes = size_bytes(*argument->type);
      if (access.is_write) {
        problem_.result_bytes = bytes;
        const auto last = access.indices.empty() ? std::nullopt : to_affine(access.indices.back());
        problem_.writes_neighbours &=
            last && last->coefficient(problem_.loops[fast_loop].iname) == 1;
        note_if_laid_out(access, bytes);
        continue;
      }
      add_read(access, bytes);
    }
  }

  /// Counts arithmetic, and what moves in any case, over the points of all loops.
  void read_work() {
    double result_count = static_cast<double>(problem_.other_results);
    for (std::size_t i = 0; i < loop_count; ++i) {
      result_count *= i == reduced_loop ? 1 : static_cast<double>(problem_.loops[i].length);
    }
    const SlicedLoop& cut = problem_.loops[reduced_loop];
    const KernelWork work = count_work(kernel_, parameters_, cut.iname);
    problem_.in_sum = cut.iname.empty() ? work.outside : work.in_sum;
    problem_.in_sum *= 1 / (result_count * static_cast<double>(cut.length));
    problem_.outside = cut.iname.empty() ? OperationMix() : work.outside;
    problem_.outside *= 1 / result_count;
    // moving an element takes an instruction, too
    const auto operations = [](const OperationMix& mix) {
      return mix.count() + mix.fused_floats + mix.fused_doubles;
    };
    problem_.in_sum.floats +=
        std::max(0.0, 1 - operations(problem_.in_sum) - operations(problem_.outside));
    if (!cut.iname.empty()) {
      problem_.shares_of_loops =
          shares_of_loops(kernel_, parameters_, cut.iname,
                          {problem_.loops[fast_loop].iname, problem_.loops[slow_loop].iname});
    }
    for (std::size_t i = 0; i < loop_count; ++i) {
      if (problem_.loops[i].is_inner) {
        problem_.idle_shares[i] =
            idle_shares(kernel_, parameters_, cut.iname, problem_.loops[i].iname);
      }
    }
    for (const Instruction& each : kernel_.instructions) {
      if (!reduction_inames(each).empty()) {
        problem_.serial_sums =
            std::max(problem_.serial_sums, counter_.points(each.within_inames) / result_count);
      }
    }
    problem_.least_steps = work.least_steps;
    problem_.compulsory_bytes = work.compulsory_bytes;
    problem_.written_bytes = work.written_bytes / result_count;
  }

  /// What one index of a read reaches; nothing where it is not affine.
  /// @param outer_sums  inames of reductions around the one that is cut
  std::optional<SlicedRead::Axis> axis_of(const Expr& index, const NameSet& outer_sums) const {
    const auto affine = to_affine(index);
    if (!affine) {
      return std::nullopt;
    }
    SlicedRead::Axis axis;
    for (std::size_t i = 0; i < loop_count; ++i) {
      if (!problem_.loops[i].iname.empty()) {
        axis.coefficients[i] = affine->coefficient(problem_.loops[i].iname);
      }
    }
    for (const Affine::Term& term : affine->terms()) {
      if (!is_cut(term.name) && is_iname(kernel_, term.name) && is_reduced(term.name) &&
          !has_computed_bounds(kernel_, term.name)) {
        (outer_sums.count(term.name) != 0 ? axis.outer_sums : axis.others) +=
            std::abs(term.coefficient) * (loop(term.name).length - 1);
      }
    }
    return axis;
  }

  /// Which elements an access reaches; an axis whose index is not affine counts as one element.
  SlicedRead reached_by(const ArrayAccess& access, double bytes,
                        const NameSet& outer_sums = {}) const {
    SlicedRead read;
    read.array = access.array;
    read.element_bytes = bytes;
    for (const Expr& index : access.indices) {
      read.axes.push_back(axis_of(index, outer_sums).value_or(SlicedRead::Axis()));
      for (std::size_t i = 0; i < loop_count; ++i) {
        read.mentions[i] = read.mentions[i] || read.axes.back().coefficients[i] != 0;
      }
    }
    read.vector_width = begins_at_vectors(access, read) ? vector_width(access, read) : 0;
    return read;
  }

  /// Whether the first element along the last axis is a multiple of all widths of vectors: the
  /// index is a loop that begins at one.
  [[nodiscard]] bool begins_at_vectors(const ArrayAccess& access, const SlicedRead& read) const {
    constexpr std::int64_t widest = 4;
    const auto last = access.indices.empty() ? std::nullopt : to_affine(access.indices.back());
    if (!last || read.axes.back().others + read.axes.back().outer_sums != 1 ||
        last->terms().size() != 1 || last->constant() != 0 ||
        last->terms().front().coefficient != 1) {
      return false;
    }
    const std::string& index = last->terms().front().name;
    const auto first = constraints_of(kernel_, {index}).minimum(Affine(index));
    return first && *first % widest == 0;
  }

  /// The most neighbours, four or those of 16 bytes, where rows are known to begin aligned.
  std::int64_t vector_width(const ArrayAccess& access, const SlicedRead& read) const {
    const Argument* argument = find_argument(kernel_, access.array);
    const auto lanes =
        std::min<std::int64_t>(4, static_cast<std::int64_t>(16 / read.element_bytes));
    if (argument == nullptr || argument->address_space == AddressSpace::image ||
        is<cgen::Vector>(*argument->type) ||  // no vectors of vectors
        lanes < 2) {
      return 0;
    }
    const std::vector<Expr> strides = argument->strides_elements.empty()
                                          ? c_order_strides(argument->shape)
                                          : argument->strides_elements;
    const auto is_whole = [&](const Expr& expr) {
      const auto affine = to_affine(expr);
      return affine && kernel_.assumptions.implies(Congruence{*affine, lanes});
    };
    const bool is_aligned = as_integer(strides.back()) == 1 &&
                            is_whole(argument->offset_elements) &&
                            std::all_of(strides.begin(), strides.end() - 1, is_whole);
    return is_aligned ? lanes : 0;
  }

  void note_if_laid_out(const ArrayAccess& access, double bytes) {
    for (const FreeLayout& each : problem_.free_layouts) {
      if (each.array == access.array) {
        problem_.laid_writes.push_back(reached_by(access, bytes));
      }
    }
  }

  const std::vector<AccessGroup>& groups_of(const std::string& array) {
    const auto known = groups_.find(array);
    return known != groups_.end()
               ? known->second
               : groups_.emplace(array, access_groups(kernel_, array)).first->second;
  }

  void add_read(const ArrayAccess& access, double bytes) {
    const std::vector<AccessGroup>& groups = groups_of(access.array);
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& each) { return each.contains(access); });
    const auto number = static_cast<std::size_t>(group - groups.begin());
    for (SlicedRead& each : problem_.reads) {
      if (each.array == access.array && each.group == number) {
        each.times += 1;
        return;
      }
    }
    const NameSet outer_sums = sums_around_cut(*group);
    SlicedRead read = reached_by(access, bytes, outer_sums);
    read.group = number;
    add_distances(*group, read);
    add_gathered_axes(*group, read);
    if (read.is_gathered && group->gathered.back()) {
      read.vector_width = vector_width(access, read);
    }
    add_loops_around(access, outer_sums, read);
    problem_.reads.push_back(read);
    if (is_fetchable(*group, read)) {
      problem_.fetchable.push_back(
          {read.array, groups.size() > 1 ? static_cast<std::int64_t>(number) + 1 : 0});
    }
  }

  /// Any element of the axes at whose places loops look up or compute where they read.
  void add_gathered_axes(const AccessGroup& group, SlicedRead& read) const {
    // compilers for processors gather element by element, from memory as well
    const Argument* argument = find_argument(kernel_, read.array);
    read.is_gathered = !is_cpu_ && !group.gathered.empty();
    for (std::size_t axis = 0; axis < read.axes.size() && read.is_gathered; ++axis) {
      if (!group.gathered[axis]) {
        continue;
      }
      const auto length = evaluate_integer(argument->shape[axis], parameters_);
      read.axes[axis] = SlicedRead::Axis();
      read.axes[axis].others = std::max<std::int64_t>(1, length.value_or(1));
      for (const ArrayAccess& each : group.reads) {
        const NameSet names = free_names(each.indices[axis]);
        const bool is_set_before = have_common(names, group.computed);
        for (std::size_t i = 0; i < loop_count; ++i) {
          const std::string& iname = problem_.loops[i].iname;
          read.chosen_by[i] = read.chosen_by[i] || names.count(iname) != 0 ||
                              (is_set_before && each.inames.count(iname) != 0);
        }
      }
    }
    if (read.is_gathered) {
      read.share_of_sectors = share_of_sectors(group, read.element_bytes);
    }
    for (std::size_t i = 0; i < loop_count && read.is_gathered; ++i) {
      read.mentions[i] = std::any_of(read.axes.begin(), read.axes.end(),
                                     [&](const auto& each) { return each.coefficients[i] != 0; });
    }
  }
  /// Neighbours, `a[place]` and `a[place + 1]`, are in one sector.
  static double share_of_sectors(const AccessGroup& group, double element_bytes) {
    const auto are_neighbours = [&](const ArrayAccess& one, const ArrayAccess& other) {
      const auto a = to_affine(one.indices.back());
      const auto b = to_affine(other.indices.back());
      return a && b && (*a - *b).is_constant() &&
             std::abs(static_cast<double>((*a - *b).constant())) * element_bytes <
                 gpu::sector_bytes &&
             std::equal(one.indices.begin(), one.indices.end() - 1, other.indices.begin());
    };
    std::vector<const ArrayAccess*> apart;
    for (const ArrayAccess& each : group.reads) {
      if (std::none_of(apart.begin(), apart.end(),
                       [&](const auto* known) { return are_neighbours(*known, each); })) {
        apart.push_back(&each);
      }
    }
    return static_cast<double>(apart.size()) / static_cast<double>(group.reads.size());
  }
  static bool have_common(const NameSet& one, const NameSet& other) {
    return std::any_of(one.begin(), one.end(),
                       [&](const std::string& each) { return other.count(each) != 0; });
  }

  /// Inames of reductions around the one that is cut, if the group's indices mention it.
  [[nodiscard]] NameSet sums_around_cut(const AccessGroup& group) const {
    const std::string& cut = problem_.loops[reduced_loop].iname;
    return group.inames.count(cut) != 0 ? sums_around(kernel_, group, cut) : NameSet();
  }

  void add_loops_around(const ArrayAccess& access, const NameSet& outer_sums, SlicedRead& read) {
    double box = 1;
    for (const std::string& iname : access.inames) {
      const double length = counter_.length(iname);
      box *= length;
      const bool is_result = std::find(results_.begin(), results_.end(), iname) != results_.end();
      if (is_result || iname == problem_.loops[reduced_loop].iname) {
        read.is_in_cut_sum = read.is_in_cut_sum || !is_result;
        continue;
      }
      const bool is_index =
          std::any_of(access.indices.begin(), access.indices.end(),
                      [&](const Expr& index) { return free_names(index).count(iname) != 0; });
      const bool is_outer_sum = outer_sums.count(iname) != 0;
      read.outer_steps *= is_outer_sum ? length : 1;
      read.repeats *= is_outer_sum && !is_index ? length : 1;
      read.other_steps *= is_index ? length : 1;
      read.other_elements *= is_index && !is_reduced(iname) ? length : 1;
    }
    read.density = counter_.points(access.inames) / box;
  }

  /// The distances between the reads of a group.
  static void add_distances(const AccessGroup& group, SlicedRead& read) {
    for (std::size_t axis = 0; axis < read.axes.size() && group.is_affine; ++axis) {
      const auto place = [&](const ArrayAccess& each) {
        return to_affine(each.indices[axis])->constant();
      };
      const auto [first, last] = std::minmax_element(
          group.reads.begin(), group.reads.end(),
          [&](const auto& one, const auto& other) { return place(one) < place(other); });
      read.axes[axis].others += place(*last) - place(*first);
    }
  }

  /// Whether a copy of what the group reads serves several items or threads, and add_prefetch can
  /// make it.
  [[nodiscard]] bool is_fetchable(const AccessGroup& group, const SlicedRead& read) {
    const auto is_everywhere = [&](std::size_t loop) {
      return !problem_.has(loop) || read.mentions[loop];
    };
    const bool is_across =
        !read.axes.empty() && read.mentions[fast_loop] && read.axes.back().coefficients[0] == 0;
    // `a[i + k]`: neighbours read nearly the same elements
    const auto is_window = [&](const SlicedRead::Axis& axis) {
      return axis.coefficients[fast_loop] != 0 && axis.coefficients[reduced_loop] != 0;
    };
    // `g[y + u, x + v]` with results for each u and v: so do the items of a thread
    const auto is_window_of_results = [&](const SlicedRead::Axis& axis) {
      return (axis.coefficients[fast_loop] != 0 || axis.coefficients[slow_loop] != 0) &&
             (axis.coefficients[first_whole_loop] != 0 ||
              axis.coefficients[first_whole_loop + 1] != 0);
    };
    const bool is_shared =
        is_across || !is_everywhere(fast_loop) || !is_everywhere(slow_loop) || read.axes.empty() ||
        std::any_of(read.axes.begin(), read.axes.end(), [&](const auto& axis) {
          return axis.others + axis.outer_sums > 1 || is_window(axis) || is_window_of_results(axis);
        });
    return (read.is_gathered ? has_room(group, read)
                             : is_shared && group.is_affine && !is_gathered_elsewhere(group)) &&
           find_image(kernel_, read.array) == nullptr &&
           problem_.fetchable.size() < most_fetchable && !is_overwritten(kernel_, read.array) &&
           (read.is_gathered || !is_at_own_place(group)) &&
           std::all_of(group.inames.begin(), group.inames.end(),
                       [&](const std::string& iname) { return is_cut(iname) || can_stay(iname); });
  }
  /// Whether the axes along which places are computed fit into shared memory, and the copy has
  /// constant lengths.
  [[nodiscard]] bool has_room(const AccessGroup& group, const SlicedRead& read) const {
    const Argument* argument = find_argument(kernel_, read.array);
    double bytes = read.element_bytes;
    for (std::size_t axis = 0; axis < read.axes.size(); ++axis) {
      if (group.is_gathered(axis)) {
        const std::optional<std::int64_t> length = as_integer(argument->shape[axis]);
        bytes *= length && *length > 0 ? static_cast<double>(*length) : 1e30;
      }
    }
    return bytes <= static_cast<double>(shared_bytes_);
  }
  /// Whether the array is read at computed places as well: a copy for these may serve all reads,
  /// and leave none to another one.
  [[nodiscard]] bool is_gathered_elsewhere(const AccessGroup& group) {
    const std::vector<AccessGroup>& groups = groups_of(group.reads.front().array);
    return !is_cpu_ && std::any_of(groups.begin(), groups.end(),
                                   [](const auto& each) { return !each.gathered.empty(); });
  }
  /// Whether threads compute where they read, `volume[i, j, k]` of a point's cell: a copy would
  /// serve one result.
  [[nodiscard]] bool is_at_own_place(const AccessGroup& group) const {
    NameSet names;
    for (const Expr& index : group.reads.front().indices) {
      names.merge(free_names(index));
    }
    return std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          const bool is_own = each.within_inames.count(problem_.loops[fast_loop].iname) != 0 ||
                              each.within_inames.count(problem_.loops[slow_loop].iname) != 0;
          const NameSet written = written_variables(each);
          return is_own && std::any_of(written.begin(), written.end(),
                                       [&](const auto& name) { return names.count(name) != 0; });
        });
  }
  [[nodiscard]] bool is_cut(const std::string& iname) const {
    return std::any_of(problem_.loops.begin(), problem_.loops.end(),
                       [&](const auto& each) { return each.iname == iname; });
  }
  /// Whether copies can do with a loop as it stands: they are within those around statements, and
  /// sweep those of reductions, whose range they have to know.
  [[nodiscard]] bool can_stay(const std::string& iname) const {
    return !is_reduced(iname) || has_known_range(iname);
  }
  [[nodiscard]] bool is_reduced(const std::string& iname) const {
    return std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                       [&](const auto& each) { return reduction_inames(each).count(iname) != 0; });
  }
  [[nodiscard]] bool has_known_range(const std::string& iname) const {
    const auto [first, last] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
    return first && last;
  }

  void number_arrays(std::vector<SlicedRead>& reads) const {
    for (SlicedRead& read : reads) {
      for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
        read.fetchable = problem_.fetchable[i].array == read.array &&
                                 std::max<std::int64_t>(problem_.fetchable[i].group, 1) ==
                                     static_cast<std::int64_t>(read.group) + 1
                             ? i
                             : read.fetchable;
      }
      for (std::size_t i = 0; i < problem_.free_layouts.size(); ++i) {
        read.free_layout = problem_.free_layouts[i].array == read.array ? i : read.free_layout;
      }
    }
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  const bool is_cpu_;
  const std::int64_t shared_bytes_;  // of a block, at most
  std::vector<ArrayAccess> accesses_;
  std::map<std::string, std::vector<AccessGroup>> groups_{};
  PointCounter counter_;
  std::vector<std::string> results_{};
  SlicingProblem problem_{};
};

}  // namespace

std::uint8_t tables_outside_of_sums(const SlicingProblem& problem) {
  std::uint8_t result = 0;
  for (const SlicedRead& each : problem.reads) {
    if (each.is_gathered && each.fetchable != nowhere && !each.mentions[reduced_loop]) {
      result |= static_cast<std::uint8_t>(1U << each.fetchable);
    }
  }
  return result;
}

SlicingProblem read_slicing_problem(const Kernel& kernel, const IntegerValues& parameters,
                                    const std::vector<std::string>& free_layouts,
                                    const MachineModel& machine) {
  const std::int64_t piece = machine.is_cpu ? 16 : machine.warp_lanes;
  return ProblemReader(kernel, parameters, machine.is_cpu, machine.shared_bytes)
      .read(read_free_layouts(kernel, free_layouts, parameters, piece));
}

std::vector<SlicedLoop> result_loops(const Kernel& expanded, const IntegerValues& parameters) {
  return ProblemReader(expanded, parameters).result_loops();
}

bool has_computed_bounds(const Kernel& kernel, const std::string& iname) {
  const std::vector<std::string> names = constraints_of(kernel, {iname}).names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& each) {
    return find_temporary(kernel, each) != nullptr;
  });
}

SlicedLoop sliced_loop(const Kernel& expanded, const IntegerValues& parameters,
                       const std::string& iname) {
  return ProblemReader(expanded, parameters).loop(iname);
}

}  // namespace rtcg::loopy::detail
