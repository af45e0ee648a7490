#include "rtcg/loopy/slice/contraction.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/overfetch.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/slice/slicing_fusion.h"
#include "rtcg/loopy/slice/view_axes.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/why_not.h"

namespace rtcg::loopy::detail {
namespace {

constexpr std::size_t most_result_groups = 4;
constexpr std::size_t most_fused_slicings = 150000;  // of each way to fuse
constexpr std::int64_t least_fused_tile = 16;
constexpr double usual_tile = 64;  // of rows and of columns
constexpr std::int64_t usual_written_neighbours = 16;
/// What the next requests read of a sector is still in a cache.
constexpr std::int64_t usual_read_neighbours = 2 * request_threads;
constexpr double operations_of_element = 8;  // integers that find one of a view
// Of copies of operands, by what tiles move for each byte: what they have to gain, and what each
// costs.
constexpr double least_gain_of_copies = 0.25;
constexpr double cost_of_copy = 0.05;
constexpr double most_share_of_copies = 0.15;  // of the time of the sum, at the peak of each

/// Inames that the same arrays of the sum are indexed by, the slowest varying first.
struct InameGroup {
  NameSet arrays{};
  std::vector<std::string> inames{};
};

/// One array as the inames reach it.
struct Operand {
  std::string array{};
  std::map<std::string, std::int64_t> strides{};  ///< in memory, of each iname
  bool has_own_axes = true;                       ///< whether each iname is an index
};

/// A way to fuse the inames of all groups, and what tiles move then for each byte they need.
struct FusionWay {
  double cost = std::numeric_limits<double>::infinity();
  std::vector<InameFusion> fusions{};
};

class ContractionReader {
 public:
  ContractionReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(kernel), parameters_(parameters) {}

  /// Whether there is something to fuse in a contraction.
  bool read() {
    return has_one_target() && has_sum() && read_operands() && operands_.size() > 1 &&
           read_lengths() && make_groups() && has_fused_group();
  }
  /// Whether there is something to fuse where arrays with other orders of axes are copied or
  /// combined.
  bool read_permutation() {
    return has_one_target() && !has_sum() && read_operands() && !operands_.empty() &&
           read_lengths() && make_groups_along_memory() && has_fused_group();
  }

  /// The best way with tiles and the best one without, the better one first.
  [[nodiscard]] std::vector<FusionWay> best_fusions(bool may_be_tiled = true) const {
    FusionWay tiled;
    FusionWay plain;
    std::vector<std::vector<InameFusion>> of_groups;
    for (const InameGroup& group : groups_) {
      of_groups.push_back(group.inames.size() > 1 ? ways_of(group, may_be_tiled)
                                                  : std::vector<InameFusion>());
    }
    std::vector<InameFusion> chosen;
    const std::function<void(std::size_t, bool)> choose = [&](std::size_t next, bool has_tiles) {
      if (next == of_groups.size()) {
        const double cost = overfetch_of(chosen);
        FusionWay& best = has_tiles ? tiled : plain;
        if (cost < best.cost) {
          best = {cost, chosen};
        }
        return;
      }
      if (of_groups[next].empty()) {
        choose(next + 1, has_tiles);
      }
      for (const InameFusion& way : of_groups[next]) {
        const bool is_tiled = std::any_of(way.parts.begin(), way.parts.end(),
                                          [](const FusedIname& part) { return part.tile > 1; });
        chosen.push_back(way);
        choose(next + 1, has_tiles || is_tiled);
        chosen.pop_back();
      }
    };
    choose(0, false);
    if (tiled.fusions.empty() || plain.fusions.empty()) {
      return {tiled.fusions.empty() ? plain : tiled};
    }
    return tiled.cost < plain.cost ? std::vector{tiled, plain} : std::vector{plain, tiled};
  }

  /// See copies_of_operands().
  [[nodiscard]] std::vector<std::vector<StorePlan>> sets_of_copies(const MachineModel& machine) {
    std::vector<std::vector<StorePlan>> sets = {least_copies(), along_results()};
    if (sets[0] == sets[1]) {
      sets.pop_back();
    }
    std::erase_if(sets, [&](const std::vector<StorePlan>& each) {
      return each.empty() ||
             seconds_of(each, machine) > most_share_of_copies * seconds_of_sum(machine);
    });
    return sets;
  }

  /// The kernel with these inames as a product of matrices; nothing where they cannot be fused.
  [[nodiscard]] std::optional<FusedContraction> fused(const std::vector<InameFusion>& fusions,
                                                      const MachineModel& machine) const {
    const std::vector<RecipeStep> steps = fusion_steps(fusions);
    if (why_not([&] { return apply_recipe(kernel_, steps); })) {
      return std::nullopt;
    }
    Kernel kernel = apply_recipe(kernel_, steps);
    FusedContraction result;
    result.fusions = fusions;
    std::map<std::string, double> overfetch;
    std::map<std::string, NeighbourLines> lines;
    std::map<std::string, std::vector<Expr>> known;
    for (const ArrayAccess& access : accesses_of(kernel)) {
      const bool is_divided = std::any_of(access.indices.begin(), access.indices.end(),
                                          [](const Expr& each) { return !to_affine(each); });
      const auto [place, is_new] = known.emplace(access.array, access.indices);
      if (!is_new && place->second != access.indices) {
        return std::nullopt;
      }
      if (!is_divided || overfetch.count(access.array) != 0) {
        continue;
      }
      ViewAxes axes = view_axes(kernel, access);
      if (access.array == target_ && has_sum()) {
        axes.inames = result_axes(axes.inames, fusions);
        axes.overfetch = overfetch_of(target_strides_, fusions);
      }
      overfetch[access.array] = axes.overfetch;
      lines[access.array] = axes.lines;
      kernel = with_view(std::move(kernel), access, axes.inames);
      const auto operand =
          std::find_if(operands_.begin(), operands_.end(),
                       [&](const Operand& each) { return each.array == access.array; });
      if (operand != operands_.end() && !is_flat(*operand, fusions)) {
        result.viewed.push_back(access.array);
      }
    }
    result.problem = read_slicing_problem(kernel, parameters_, {}, machine);
    result.problem.bounds.most_slicings = most_fused_slicings;
    result.problem.least_tile = least_fused_tile;
    for (SlicedRead& read : result.problem.reads) {
      if (const auto found = overfetch.find(read.array); found != overfetch.end()) {
        read.overfetch = found->second;
        read.index_operations = operations_of_element;
        read.lines = lines.at(read.array);
        read.vector_width = 0;
      }
    }
    if (const auto found = overfetch.find(target_); found != overfetch.end()) {
      result.problem.written_bytes *= found->second;
    }
    const bool can_fetch_all =
        std::all_of(result.viewed.begin(), result.viewed.end(), [&](const std::string& array) {
          return std::any_of(result.problem.fetchable.begin(), result.problem.fetchable.end(),
                             [&](const Fetchable& each) { return each.array == array; });
        });
    return can_fetch_all ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  [[nodiscard]] bool has_fused_group() const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [](const InameGroup& each) { return each.inames.size() > 1; });
  }
  [[nodiscard]] bool has_sum() const { return !reduced_.empty(); }

  /// One assignment to an element, with one sum at most.
  bool has_one_target() {
    const Assignment* assignment = kernel_.instructions.size() == 1
                                       ? get_if<Assignment>(kernel_.instructions.front())
                                       : nullptr;
    if (assignment == nullptr || assignment->is_atomic || assignment->targets.size() != 1 ||
        !is<Access>(assignment->targets.front()) ||
        !kernel_.instructions.front().predicates.empty()) {
      return false;
    }
    target_ = target_name(assignment->targets.front());
    std::size_t sums = 0;
    walk(assignment->value, [&](const Expr& part) {
      if (const Reduction* sum = get_if<Reduction>(part)) {
        ++sums;
        reduced_ = sum->inames;
      }
      return true;
    });
    return sums <= 1 && std::all_of(reduced_.begin(), reduced_.end(), [&](const auto& each) {
             return tag_of(kernel_, each).kind == AxisKind::sequential;
           });
  }

  bool read_operands() {
    NameSet twice;
    NameSet once;
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (access.indices.empty() && argument != nullptr && !access.is_write) {
        continue;
      }
      const auto strides = strides_of(access);
      if (argument == nullptr || !access.conditions.empty() || !strides) {
        return false;
      }
      (once.insert(access.array).second ? once : twice).insert(access.array);
      const bool is_in_sum =
          !has_sum() || std::any_of(reduced_.begin(), reduced_.end(), [&](const auto& each) {
            return access.inames.count(each) != 0;
          });
      element_bytes_ = argument->type ? size_bytes(*argument->type) : element_bytes_;
      if (access.is_write) {
        target_strides_ = {access.array, *strides};
      } else if (is_in_sum) {
        const bool has_own_axes =
            strides->size() == access.indices.size() &&
            std::all_of(access.indices.begin(), access.indices.end(), [](const Expr& each) {
              const auto index = to_affine(each);
              return index && index->terms().size() == 1 && index->terms()[0].coefficient == 1;
            });
        operands_.push_back({access.array, *strides, has_own_axes});
      }
    }
    return operands_.size() <= most_fetchable &&
           std::none_of(operands_.begin(), operands_.end(),
                        [&](const Operand& each) { return twice.count(each.array) != 0; });
  }

  /// Nothing where indices or strides are not known.
  [[nodiscard]] std::optional<std::map<std::string, std::int64_t>> strides_of(
      const ArrayAccess& access) const {
    const Argument* argument = find_argument(kernel_, access.array);
    if (argument == nullptr || access.is_linear || argument->address_space == AddressSpace::image) {
      return std::nullopt;
    }
    const std::vector<Expr> strides = argument->strides_elements.empty()
                                          ? c_order_strides(argument->shape)
                                          : argument->strides_elements;
    std::map<std::string, std::int64_t> result;
    for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
      const auto index = to_affine(access.indices[axis]);
      const auto stride = as_integer(strides[axis]);
      if (!index || !stride) {
        return std::nullopt;
      }
      for (const Affine::Term& term : index->terms()) {
        result[term.name] += term.coefficient * *stride;
      }
    }
    return result;
  }

  /// Those of all loops, which are constants.
  bool read_lengths() {
    std::vector<SlicedLoop> loops = result_loops(kernel_, parameters_);
    NameSet named;
    for (const SlicedLoop& each : loops) {
      results_.insert(results_.begin(), each.iname);
      named.insert(each.iname);
    }
    if (loops.empty() || named != kernel_.instructions.front().within_inames) {
      return false;
    }
    fastest_ = loops.front().iname;
    for (const std::string& each : reduced_) {
      loops.push_back(sliced_loop(kernel_, parameters_, each));
    }
    for (const SlicedLoop& each : loops) {
      lengths_[each.iname] = each.length;
    }
    return std::all_of(loops.begin(), loops.end(),
                       [](const SlicedLoop& each) { return each.is_constant; });
  }

  /// Rows, columns and batch, then what is summed over.
  bool make_groups() {
    for (const std::string& each : results_) {
      add_to_group(each, 0);
    }
    const std::size_t of_results = groups_.size();
    for (const std::string& each : reduced_) {
      add_to_group(each, of_results);
    }
    fastest_ = fastest_in_product();
    const NameSet fast = arrays_of(fastest_);
    return of_results <= most_result_groups && !fast.empty() && fast.size() < operands_.size() &&
           have_flat_indices();
  }

  /// Columns are inames that are contiguous in the result, rows those that are in an operand along
  /// whose fastest axis the result is not written: as many as a warp needs, where axes are short.
  bool make_groups_along_memory() {
    const auto operand = std::find_if(operands_.begin(), operands_.end(), [&](const Operand& each) {
      const std::string fastest = iname_at(each, 1);
      return !fastest.empty() && fastest != fastest_;
    });
    if (operand == operands_.end() || iname_at(target_strides_, 1) != fastest_) {
      return false;
    }
    NameSet taken = {iname_at(*operand, 1)};
    const std::vector<std::string> columns = chain_along(target_strides_, taken);
    taken = {columns.begin(), columns.end()};
    const std::vector<std::string> rows = chain_along(*operand, taken);
    groups_ = {{{}, columns}, {{}, rows}};
    return have_flat_indices();
  }
  /// Inames that are contiguous in an array, the slowest varying first, without some.
  [[nodiscard]] std::vector<std::string> chain_along(const Operand& array,
                                                     const NameSet& without) const {
    std::vector<std::string> chain;
    std::int64_t length = 1;
    for (std::string next = iname_at(array, 1);
         !next.empty() && without.count(next) == 0 && length < usual_read_neighbours;
         next = iname_at(array, length)) {
      length *= lengths_.at(next);
      chain.insert(chain.begin(), next);
    }
    return chain;
  }
  /// The longer one of those with the stride; empty: none.
  [[nodiscard]] std::string iname_at(const Operand& array, std::int64_t stride) const {
    std::string found;
    for (const auto& [iname, own] : array.strides) {
      if (own == stride && (found.empty() || lengths_.at(iname) > lengths_.at(found))) {
        found = iname;
      }
    }
    return found;
  }

  [[nodiscard]] bool have_flat_indices() const {
    return std::all_of(groups_.begin(), groups_.end(), [&](const InameGroup& group) {
      double length = 1;
      for (const std::string& each : group.inames) {
        length *= static_cast<double>(lengths_.at(each));
      }
      return length < INT32_MAX;
    });
  }

  /// The fastest varying of the results, but for a few iterations that all operands have: phases of
  /// it, which blocks take.
  [[nodiscard]] std::string fastest_in_product() const {
    const auto found = std::find_if(results_.rbegin(), results_.rend(), [&](const auto& each) {
      return lengths_.at(each) >= least_fused_tile || arrays_of(each).size() < operands_.size();
    });
    return found == results_.rend() ? fastest_ : *found;
  }

  [[nodiscard]] bool is_reduced(const std::string& iname) const {
    return std::find(reduced_.begin(), reduced_.end(), iname) != reduced_.end();
  }

  [[nodiscard]] NameSet arrays_of(const std::string& iname) const {
    NameSet arrays;
    for (const Operand& each : operands_) {
      if (each.strides.count(iname) != 0) {
        arrays.insert(each.array);
      }
    }
    return arrays;
  }

  void add_to_group(const std::string& iname, std::size_t first) {
    const NameSet arrays = arrays_of(iname);
    const auto known =
        std::find_if(groups_.begin() + static_cast<std::ptrdiff_t>(first), groups_.end(),
                     [&](const InameGroup& each) { return each.arrays == arrays; });
    if (known == groups_.end()) {
      groups_.push_back({arrays, {iname}});
    } else {
      known->inames.push_back(iname);
    }
  }

  /// Inames of a group along which an array of it is contiguous.
  [[nodiscard]] std::vector<std::string> contiguous_inames(const InameGroup& group) const {
    std::vector<std::string> result;
    for (const Operand& operand : operands_) {
      for (const std::string& each : group.inames) {
        const auto stride = operand.strides.find(each);
        if (stride != operand.strides.end() && stride->second == 1 &&
            std::find(result.begin(), result.end(), each) == result.end()) {
          result.push_back(each);
        }
      }
    }
    return result;
  }

  /// The axes of an operand in its order, but that one becomes the fastest.
  [[nodiscard]] StorePlan copy_along(const Operand& operand, const std::string& fastest) const {
    std::vector<std::pair<std::int64_t, std::string>> axes;
    for (const auto& [iname, stride] : operand.strides) {
      if (iname != fastest) {
        axes.emplace_back(-stride, iname);
      }
    }
    std::sort(axes.begin(), axes.end());
    StorePlan plan{operand.array, {}};
    for (const auto& [stride, iname] : axes) {
      plan.inames.push_back(iname);
    }
    plan.inames.push_back(fastest);
    return plan;
  }
  [[nodiscard]] Operand copied(const Operand& operand, const StorePlan& plan) const {
    Operand result{operand.array, {}};
    std::int64_t stride = 1;
    for (std::size_t i = plan.inames.size(); i-- > 0;) {
      result.strides[plan.inames[i]] = stride;
      stride *= lengths_.at(plan.inames[i]);
    }
    return result;
  }
  /// Those that let tiles move the fewest sectors; none if the best fusions move about as few.
  [[nodiscard]] std::vector<StorePlan> least_copies() {
    const double as_described = best_fusions().front().cost;
    const std::vector<Operand> described = operands_;
    double least = as_described - least_gain_of_copies;
    std::vector<StorePlan> best;
    std::vector<StorePlan> chosen;
    const std::function<void(std::size_t)> choose = [&](std::size_t next) {
      if (next == described.size()) {
        const double cost =
            best_fusions(false).front().cost + cost_of_copy * static_cast<double>(chosen.size());
        if (!chosen.empty() && cost < least) {
          least = cost;
          best = chosen;
        }
        return;
      }
      choose(next + 1);
      for (const InameGroup& group : groups_) {
        if (!described[next].has_own_axes || group.arrays.count(described[next].array) == 0) {
          continue;
        }
        for (const std::string& iname : group.inames) {
          chosen.push_back(copy_along(described[next], iname));
          operands_[next] = copied(described[next], chosen.back());
          choose(next + 1);
          operands_[next] = described[next];
          chosen.pop_back();
        }
      }
    };
    choose(0);
    return best;
  }

  /// Copies of what is not contiguous along the rows or columns of the result.
  [[nodiscard]] std::vector<StorePlan> along_results() const {
    std::vector<StorePlan> copies;
    for (const Operand& operand : operands_) {
      const auto group = std::find_if(groups_.begin(), groups_.end(), [&](const InameGroup& each) {
        return each.arrays == NameSet{operand.array} && !is_reduced(each.inames.front());
      });
      if (group == groups_.end()) {
        continue;
      }
      // other groups may end with any iname, the fast one with that whose neighbours are written
      const std::string& last = group->inames.back();
      const auto is_contiguous = [&](const std::string& iname) {
        const auto stride = operand.strides.find(iname);
        return stride != operand.strides.end() && stride->second == 1 &&
               (last != fastest_ || iname == last);
      };
      if (std::none_of(group->inames.begin(), group->inames.end(), is_contiguous)) {
        if (!operand.has_own_axes) {
          return {};
        }
        copies.push_back(copy_along(operand, last));
      }
    }
    return copies;
  }

  /// Each element is read and written.
  [[nodiscard]] double seconds_of(const std::vector<StorePlan>& copies,
                                  const MachineModel& machine) const {
    double elements = 0;
    for (const StorePlan& each : copies) {
      double own = 1;
      for (const std::string& iname : each.inames) {
        own *= static_cast<double>(lengths_.at(iname));
      }
      elements += own;
    }
    return 2 * elements * element_bytes_ / machine.memory_bytes_per_second;
  }
  [[nodiscard]] double seconds_of_sum(const MachineModel& machine) const {
    double steps = 1;
    for (const auto& [iname, length] : lengths_) {
      steps *= static_cast<double>(length);
    }
    return 2 * steps / (machine.multiprocessors * machine.flops_per_clock * machine.clock_hz);
  }

  [[nodiscard]] std::vector<InameFusion> ways_of(const InameGroup& group, bool may_be_tiled) const {
    std::vector<std::string> last = contiguous_inames(group);
    const bool is_fast =
        std::find(group.inames.begin(), group.inames.end(), fastest_) != group.inames.end();
    std::vector<InameFusion> ways;
    if (is_fast || last.empty()) {
      ways.push_back(in_order(group.inames, {}));
    } else {
      for (const std::string& each : last) {
        ways.push_back(in_order(group.inames, {{each, 1}}));
      }
    }
    if (!may_be_tiled) {
      return ways;
    }
    if (is_fast) {
      std::erase(last, fastest_);
      last.push_back(fastest_);  // whose neighbours are written
    }
    for (std::size_t i = 0; i < last.size(); ++i) {
      for (std::size_t j = 0; j < last.size(); ++j) {
        if (i != j && (!is_fast || last[j] == fastest_)) {
          add_tiled(group, last[i], last[j], ways);
        }
      }
    }
    return ways;
  }

  void add_tiled(const InameGroup& group, const std::string& slower, const std::string& faster,
                 std::vector<InameFusion>& ways) const {
    for (const std::int64_t slow_tile : {4, 8}) {
      for (const std::int64_t fast_tile : {4, 8, 16}) {
        const std::int64_t slow_length = lengths_.at(slower);
        const std::int64_t fast_length = lengths_.at(faster);
        if (slow_length % slow_tile == 0 && fast_length % fast_tile == 0 &&
            slow_length > slow_tile && fast_length > fast_tile) {
          ways.push_back(in_order(group.inames, {{slower, slow_tile}, {faster, fast_tile}}));
        }
      }
    }
  }

  /// `ab`, or `row_column` of longer names.
  [[nodiscard]] static InameFusion in_order(const std::vector<std::string>& inames,
                                            const std::vector<FusedIname>& last) {
    InameFusion fusion;
    for (const std::string& each : inames) {
      if (std::none_of(last.begin(), last.end(),
                       [&](const FusedIname& part) { return part.iname == each; })) {
        fusion.parts.push_back({each});
      }
    }
    fusion.parts.insert(fusion.parts.end(), last.begin(), last.end());
    fusion.name = fused_name(fusion.parts);
    return fusion;
  }

  /// What copies of all operands and the results move for each byte that they need, weighed by how
  /// often they do in tiles of the usual size.
  [[nodiscard]] double overfetch_of(const std::vector<InameFusion>& fusions) const {
    double sum = 0;
    for (const Operand& each : operands_) {
      sum += overfetch_of(each, fusions);
    }
    double steps = 1;
    for (const std::string& each : reduced_) {
      steps *= static_cast<double>(lengths_.at(each));
    }
    return sum + overfetch_of(target_strides_, fusions) * usual_tile / steps;
  }

  /// Of the result along its fastest index, of others along the one that is best. A warp writes a
  /// few neighbours for each row of its threads, and memory takes two sectors at once.
  [[nodiscard]] double overfetch_of(const Operand& operand,
                                    const std::vector<InameFusion>& fusions) const {
    const bool is_result = operand.array == target_;
    const std::int64_t unit = is_result ? 2 * sector_elements : sector_elements;
    auto best = static_cast<double>(unit);
    for (const auto& each_length : lengths_) {
      const std::string& iname = each_length.first;
      const auto fusion = std::find_if(fusions.begin(), fusions.end(), [&](const auto& each) {
        return std::any_of(each.parts.begin(), each.parts.end(),
                           [&](const FusedIname& part) { return part.iname == iname; });
      });
      const auto stride = operand.strides.find(iname);
      if (stride == operand.strides.end() || (is_result && iname != fastest_)) {
        continue;
      }
      std::set<std::int64_t> sectors;
      const std::int64_t count = std::min(
          is_result ? usual_written_neighbours : usual_read_neighbours,
          fusion == fusions.end() ? each_length.second : product_of_lengths(fusion->parts));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place =
            fusion == fusions.end() ? i * stride->second : place_in(operand, fusion->parts, i);
        sectors.insert(place / unit);
      }
      best = std::min(best, static_cast<double>(static_cast<std::int64_t>(sectors.size()) * unit) /
                                static_cast<double>(count));
    }
    return std::max(1.0, best);
  }

  [[nodiscard]] std::int64_t product_of_lengths(const std::vector<FusedIname>& parts) const {
    std::int64_t product = 1;
    for (const FusedIname& part : parts) {
      product *= lengths_.at(part.iname);
    }
    return product;
  }

  /// Where the element of a fused index is.
  [[nodiscard]] std::int64_t place_in(const Operand& operand, const std::vector<FusedIname>& parts,
                                      std::int64_t index) const {
    std::int64_t place = 0;
    const auto take = [&](const FusedIname& part, std::int64_t length, std::int64_t unit) {
      const auto stride = operand.strides.find(part.iname);
      place += index % length * unit * (stride == operand.strides.end() ? 0 : stride->second);
      index /= length;
    };
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (parts[i].tile > 1) {
        take(parts[i], parts[i].tile, 1);
      }
    }
    for (std::size_t i = parts.size(); i-- > 0;) {
      take(parts[i], lengths_.at(parts[i].iname) / parts[i].tile, parts[i].tile);
    }
    return place;
  }

  /// Whether what inames of each fusion index is found without dividing the fused one.
  [[nodiscard]] bool is_flat(const Operand& operand,
                             const std::vector<InameFusion>& fusions) const {
    const auto stride_of = [&](const std::string& iname) {
      const auto found = operand.strides.find(iname);
      return found == operand.strides.end() ? 0 : found->second;
    };
    return std::all_of(fusions.begin(), fusions.end(), [&](const InameFusion& fusion) {
      std::int64_t expected = stride_of(fusion.parts.back().iname);
      bool is_flat = true;
      for (std::size_t i = fusion.parts.size(); i-- > 0;) {
        const FusedIname& part = fusion.parts[i];
        is_flat = is_flat && part.tile == 1 && stride_of(part.iname) == expected;
        expected *= lengths_.at(part.iname);
      }
      return is_flat;
    });
  }

  /// Those of the result: batch, then rows, then columns, which vary fastest.
  [[nodiscard]] std::vector<std::string> result_axes(
      std::vector<std::string> inames, const std::vector<InameFusion>& fusions) const {
    const auto rank = [&](const std::string& iname) {
      std::string first = iname;
      for (const InameFusion& each : fusions) {
        first = each.name == iname ? each.parts.front().iname : first;
      }
      const NameSet arrays = arrays_of(first);
      return arrays == arrays_of(fastest_) ? 2 : arrays.size() < operands_.size() ? 1 : 0;
    };
    std::stable_sort(inames.begin(), inames.end(),
                     [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
    return inames;
  }

  /// The array as one that has an axis for each of these inames.
  [[nodiscard]] Kernel with_view(Kernel kernel, const ArrayAccess& access,
                                 const std::vector<std::string>& inames) const {
    std::vector<Expr> indices;
    std::vector<Expr> shape;
    for (const std::string& each : inames) {
      indices.push_back(name(each));
      shape.emplace_back(sliced_loop(kernel, parameters_, each).length);
    }
    const Expr viewed = Access{access.array, indices};
    kernel = map_expressions(std::move(kernel), [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) {
        const Access* element = get_if<Access>(part);
        return element != nullptr && element->array == access.array ? std::optional(viewed)
                                                                    : std::nullopt;
      });
    });
    for (Argument& argument : kernel.arguments) {
      if (argument.name == access.array) {
        argument.shape = shape;
        argument.strides_elements.clear();
        argument.offset_elements = 0;
      }
    }
    return kernel;
  }

  const Kernel& kernel_;
  const IntegerValues& parameters_;
  std::string target_{};
  std::string fastest_{};               // iname of the result
  std::vector<std::string> results_{};  // the slowest varying first
  std::vector<std::string> reduced_{};
  std::vector<Operand> operands_{};
  Operand target_strides_{};
  double element_bytes_ = 4;
  std::map<std::string, std::int64_t> lengths_{};
  std::vector<InameGroup> groups_{};
};

}  // namespace

std::vector<FusedContraction> fused_contractions(const Kernel& typed,
                                                 const IntegerValues& parameters,
                                                 const MachineModel& machine) {
  ContractionReader reader(typed, parameters);
  std::vector<FusedContraction> result;
  if (!reader.read()) {
    return result;
  }
  for (const FusionWay& each : reader.best_fusions()) {
    if (auto fused = reader.fused(each.fusions, machine)) {
      result.push_back(*std::move(fused));
    }
  }
  return result;
}

std::optional<FusedContraction> fused_permutation(const Kernel& typed,
                                                  const IntegerValues& parameters,
                                                  const MachineModel& machine) {
  ContractionReader reader(typed, parameters);
  return reader.read_permutation()
             ? reader.fused(reader.best_fusions(false).front().fusions, machine)
             : std::nullopt;
}

std::vector<std::vector<StorePlan>> copies_of_operands(const Kernel& typed,
                                                       const IntegerValues& parameters,
                                                       const MachineModel& machine) {
  ContractionReader reader(typed, parameters);
  if (!reader.read()) {
    return {};
  }
  std::vector<std::vector<StorePlan>> sets = reader.sets_of_copies(machine);
  for (std::vector<StorePlan>& copies : sets) {
    NameGenerator names = make_name_generator(typed);
    for (StorePlan& each : copies) {
      each.array = names.make(each.array + "_copy");
    }
  }
  return sets;
}

}  // namespace rtcg::loopy::detail
