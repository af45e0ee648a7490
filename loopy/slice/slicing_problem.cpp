#include "rtcg/loopy/slice/slicing_problem.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

class ProblemReader {
 public:
  ProblemReader(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(expand_subst(kernel))),
        parameters_(parameters),
        accesses_(accesses_of(kernel_)) {}

  SlicingProblem read(std::vector<FreeLayout> free_layouts) {
    problem_.free_layouts = std::move(free_layouts);
    const std::vector<std::string> results = result_inames();
    read_results(results);
    read_reductions();
    if (results.empty() && problem_.loops[reduced_loop].iname.empty()) {
      throw InvalidInput("loopy.slicings.nothing_to_slice",
                         fmt::format("kernel '{}' has no iname that all statements are within and "
                                     "all results are indexed by, and no reduction",
                                     kernel_.name));
    }
    read_accesses();
    number_arrays(problem_.reads);
    number_arrays(problem_.laid_writes);
    return std::move(problem_);
  }

 private:
  SlicedLoop loop(const std::string& iname) const {
    ConstraintSet set = constraints_of(kernel_, {iname});
    for (const auto& [name, value] : parameters_) {
      set = set.substitute(name, Affine(value));
    }
    const auto first = set.minimum(Affine(iname));
    const auto last = set.maximum(Affine(iname));
    if (!first || !last) {
      throw InvalidInput("loopy.slicings.missing_parameter",
                         fmt::format("the length of loop '{}' is unknown: give a value to each "
                                     "parameter that bounds it",
                                     iname));
    }
    return {iname, std::max<std::int64_t>(1, *last - *first + 1)};
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
  }

  /// Those that are cut or lie on the grid, the fastest varying in the results first.
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
          std::find(result.begin(), result.end(), iname) == result.end()) {
        result.push_back(iname);
      }
    }
    return result;
  }
  [[nodiscard]] bool is_around_all(const std::string& iname) const {
    return tag_of(kernel_, iname).kind == AxisKind::sequential &&
           with_parent_inames(kernel_, {iname}).size() == 1 &&
           std::all_of(
               kernel_.instructions.begin(), kernel_.instructions.end(),
               [&](const Instruction& each) { return each.within_inames.count(iname) != 0; });
  }

  void read_reductions() {
    NameSet inames;
    std::size_t summing = 0;
    for (const Instruction& instruction : kernel_.instructions) {
      const NameSet own = reduction_inames(instruction);
      summing += own.empty() ? 0 : 1;
      inames.insert(own.begin(), own.end());
    }
    for (const std::string& iname : inames) {
      const SlicedLoop each = loop(iname);
      if (tag_of(kernel_, iname).kind != AxisKind::sequential) {
        continue;
      }
      SlicedLoop& longest = problem_.loops[reduced_loop];
      if (each.length > longest.length || longest.iname.empty()) {
        problem_.other_steps *= longest.length;
        longest = each;
      } else {
        problem_.other_steps *= each.length;
      }
    }
    problem_.can_share_sums = summing == 1 && kernel_.instructions.size() == 1 &&
                              with_parent_inames(kernel_, inames).size() == inames.size();
  }

  void read_accesses() {
    double operations = 0;
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
      operations += 2;
      add_read(access, bytes);
    }
    problem_.flops_per_step = std::max(1.0, operations / 2);
  }

  /// What one index of a read reaches; nothing where it is not affine.
  std::optional<SlicedRead::Axis> axis_of(const Expr& index) const {
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
      const bool is_cut = std::any_of(problem_.loops.begin(), problem_.loops.end(),
                                      [&](const auto& each) { return each.iname == term.name; });
      if (!is_cut && is_iname(kernel_, term.name)) {
        axis.others += std::abs(term.coefficient) * (loop(term.name).length - 1);
      }
    }
    return axis;
  }

  /// Which elements an access reaches; an axis whose index is not affine counts as one element.
  SlicedRead reached_by(const ArrayAccess& access, double bytes) const {
    SlicedRead read;
    read.array = access.array;
    read.element_bytes = bytes;
    for (const Expr& index : access.indices) {
      read.axes.push_back(axis_of(index).value_or(SlicedRead::Axis()));
      for (std::size_t i = 0; i < loop_count; ++i) {
        read.mentions[i] = read.mentions[i] || read.axes.back().coefficients[i] != 0;
      }
    }
    read.vector_width = vector_width(access, read);
    return read;
  }

  /// The most neighbours of 16 bytes together of which the first one is known to be aligned.
  std::int64_t vector_width(const ArrayAccess& access, const SlicedRead& read) const {
    const Argument* argument = find_argument(kernel_, access.array);
    const auto lanes = static_cast<std::int64_t>(16 / read.element_bytes);
    const auto last = access.indices.empty() ? std::nullopt : to_affine(access.indices.back());
    if (argument == nullptr || !last || (lanes != 2 && lanes != 4) ||
        read.axes.back().others != 1 || last->terms().size() != 1 || last->constant() != 0 ||
        last->terms().front().coefficient != 1) {
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

  void add_read(const ArrayAccess& access, double bytes) {
    const SlicedRead read = reached_by(access, bytes);
    const bool is_affine =
        std::all_of(access.indices.begin(), access.indices.end(),
                    [&](const Expr& index) { return axis_of(index).has_value(); });
    if (!join_to_alike(read)) {
      problem_.reads.push_back(read);
      if (is_affine) {
        note_if_fetchable(read);
      }
    }
  }

  /// Neighbours of what is read already: the footprint grows by about one element on each side.
  bool join_to_alike(const SlicedRead& read) {
    for (SlicedRead& each : problem_.reads) {
      if (each.array != read.array || each.mentions != read.mentions) {
        continue;
      }
      each.times += 1;
      for (std::size_t i = 0; i < each.axes.size() && i < read.axes.size(); ++i) {
        each.axes[i].others = std::max(each.axes[i].others, read.axes[i].others) +
                              (i + 1 == each.axes.size() ? 1 : 0);
      }
      return true;
    }
    return false;
  }

  void note_if_fetchable(const SlicedRead& read) {
    const auto is_array = [&](const ArrayAccess& each) {
      return !each.is_write && each.array == read.array;
    };
    const bool is_across =
        !read.axes.empty() && read.mentions[fast_loop] && read.axes.back().coefficients[0] == 0;
    const bool is_shared = is_across || !read.mentions[fast_loop] || !read.mentions[slow_loop] ||
                           read.axes.empty() ||
                           std::any_of(read.axes.begin(), read.axes.end(),
                                       [](const auto& axis) { return axis.others > 1; }) ||
                           std::count_if(accesses_.begin(), accesses_.end(), is_array) > 1;
    std::vector<std::string>& known = problem_.fetchable;
    if (is_shared && known.size() < 4 &&
        std::find(known.begin(), known.end(), read.array) == known.end()) {
      known.push_back(read.array);
    }
  }

  void number_arrays(std::vector<SlicedRead>& reads) const {
    for (SlicedRead& read : reads) {
      for (std::size_t i = 0; i < problem_.fetchable.size(); ++i) {
        read.fetchable = problem_.fetchable[i] == read.array ? i : read.fetchable;
      }
      for (std::size_t i = 0; i < problem_.free_layouts.size(); ++i) {
        read.free_layout = problem_.free_layouts[i].array == read.array ? i : read.free_layout;
      }
    }
  }

  Kernel kernel_;
  const IntegerValues& parameters_;
  std::vector<ArrayAccess> accesses_;
  SlicingProblem problem_{};
};

}  // namespace

SlicingProblem read_slicing_problem(const Kernel& kernel, const IntegerValues& parameters,
                                    const std::vector<std::string>& free_layouts,
                                    std::int64_t piece) {
  return ProblemReader(kernel, parameters)
      .read(read_free_layouts(kernel, free_layouts, parameters, piece));
}

}  // namespace rtcg::loopy::detail
