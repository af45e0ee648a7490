#include "rtcg/loopy/slice/march_problem.h"

#include <algorithm>
#include <utility>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/moving_reads.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/transform/expand_subst.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double most_written_terms = 128;  // terms of the sums of a statement
constexpr std::int64_t most_planes = 32;  // of a queue, which rotates in as many copies of the loop

class MarchReader {
 public:
  MarchReader(const Kernel& kernel, const SlicingConstraints& constraints)
      : kernel_(infer_types(expand_subst(kernel))), constraints_(constraints) {}

  /// Nothing where no loop has reads at several distances.
  std::optional<MarchProblem> read() {
    const std::vector<SlicedLoop> loops = result_loops(kernel_, constraints_.parameters);
    if (loops.size() < 2 || loops.size() > 3) {
      return std::nullopt;
    }
    // the slowest loop that there is something to keep along, but not the fast one
    for (std::size_t i = loops.size(); i-- > 1;) {
      read_arrays(loops, loops[i].iname);
      if (!problem_.arrays.empty() && are_queues_short() && are_sums_short()) {
        problem_.march = loops[i];
        for (std::size_t k = 0; k < loops.size(); ++k) {
          problem_.points *= static_cast<double>(loops[k].length);
          if (k != i) {
            problem_.across.push_back(loops[k]);
          }
        }
        read_work();
        return std::move(problem_);
      }
    }
    return std::nullopt;
  }

 private:
  void read_arrays(const std::vector<SlicedLoop>& loops, const std::string& march) {
    problem_ = {};
    for (const Argument& argument : kernel_.arguments) {
      if (!argument.is_array || argument.address_space == AddressSpace::image ||
          is_overwritten(kernel_, argument.name)) {
        continue;
      }
      const MovingReads all = moving_reads(kernel_, argument.name, march);
      if (all.length_elements < 2) {
        continue;
      }
      read_array(argument, all, loops, march);
    }
  }

  void read_array(const Argument& argument, const MovingReads& all,
                  const std::vector<SlicedLoop>& loops, const std::string& march) {
    MarchedArray result{argument.name, static_cast<double>(size_bytes(*argument.type))};
    const MovingReads own = reads_of_thread(kernel_, all);
    const auto row = as_integer(argument.shape.back());
    result.has_wide_rows = row && *row * static_cast<std::int64_t>(result.element_bytes) % 16 == 0;
    result.length = all.length_elements;
    result.thread_length = own.length_elements;
    MovingReads others{all.axis, {}, 1};
    for (const std::vector<Affine>& each : all.reads) {
      const bool is_own = std::find(own.reads.begin(), own.reads.end(), each) != own.reads.end();
      result.reads += values_of(each);
      if (!is_own) {
        others.reads.push_back(each);
        result.other_reads += values_of(each);
        result.shifted_reads +=
            is_shifted(each, own.reads.front(), loops[0].iname) ? values_of(each) : 0;
      }
    }
    result.is_one_plane = spread_along(others, march) == 1;
    if (!others.reads.empty()) {
      const auto [first_other, last_other] = range_along(others, march);
      const double last_own = range_along(own, march).second;
      result.feeding_length = static_cast<std::int64_t>(std::max(last_own, last_other) -
                                                        std::min(last_own, first_other)) +
                              1;
    }
    for (std::size_t i = 0, place = 0; i < loops.size(); ++i) {
      if (loops[i].iname == march) {
        continue;
      }
      const double spread = spread_along(all, loops[i].iname);
      result.halo.at(place++) = spread - 1;
      result.thread_box *= spread_along(own, loops[i].iname);
    }
    for (const std::string& each : spread_inames(kernel_, all, false)) {
      if (std::find(problem_.sums.begin(), problem_.sums.end(), each) == problem_.sums.end()) {
        problem_.sums.push_back(each);
      }
    }
    problem_.arrays.push_back(std::move(result));
  }

  static bool is_shifted(const std::vector<Affine>& indices, const std::vector<Affine>& own,
                         const std::string& fast) {
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (indices[axis].coefficient(fast) != 0 && indices[axis] != own[axis]) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::int64_t length_of(const std::string& iname) const {
    return sliced_loop(kernel_, constraints_.parameters, iname).length;
  }
  /// Different elements that one point reads by one access.
  [[nodiscard]] double values_of(const std::vector<Affine>& indices) const {
    NameSet sums;
    for (const Affine& index : indices) {
      for (const Affine::Term& term : index.terms()) {
        if (is_sum(term.name)) {
          sums.insert(term.name);
        }
      }
    }
    double values = 1;
    for (const std::string& each : sums) {
      values *= static_cast<double>(length_of(each));
    }
    return values;
  }
  [[nodiscard]] bool is_sum(const std::string& name) const {
    return std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(),
        [&](const Instruction& each) { return reduction_inames(each).count(name) != 0; });
  }
  /// Elements between the first and the last that reads of one point touch along the axis of a
  /// loop.
  [[nodiscard]] double spread_along(const MovingReads& reads, const std::string& loop) const {
    const auto [first, last] = range_along(reads, loop);
    return last - first + 1;
  }
  /// The first and the last of these elements, from the loop's value on.
  [[nodiscard]] std::pair<double, double> range_along(const MovingReads& reads,
                                                      const std::string& loop) const {
    double first = 0;
    double last = 0;
    bool is_first = true;
    for (const std::vector<Affine>& indices : reads.reads) {
      for (const Affine& index : indices) {
        if (index.coefficient(loop) == 0) {
          continue;
        }
        double least = static_cast<double>(index.constant());
        double most = least;
        for (const Affine::Term& term : index.terms()) {
          if (!is_sum(term.name)) {
            continue;
          }
          const ConstraintSet set = constraints_of(kernel_, {term.name});
          const auto low = static_cast<double>(set.minimum(Affine(term.name)).value_or(0));
          const auto high = static_cast<double>(set.maximum(Affine(term.name)).value_or(0));
          const auto step = static_cast<double>(term.coefficient);
          least += step * (step > 0 ? low : high);
          most += step * (step > 0 ? high : low);
        }
        first = is_first ? least : std::min(first, least);
        last = is_first ? most : std::max(last, most);
        is_first = false;
      }
    }
    return {first, last};
  }
  [[nodiscard]] bool are_queues_short() const {
    return std::all_of(problem_.arrays.begin(), problem_.arrays.end(),
                       [](const MarchedArray& each) { return each.length <= most_planes; });
  }
  [[nodiscard]] bool are_sums_short() const {
    double terms = 1;
    for (const std::string& each : problem_.sums) {
      const SlicedLoop loop = sliced_loop(kernel_, constraints_.parameters, each);
      terms *= loop.is_constant ? static_cast<double>(loop.length) : most_written_terms + 1;
    }
    return terms <= most_written_terms;
  }

  void read_work() {
    const KernelWork work = count_work(kernel_, constraints_.parameters, "");
    problem_.compulsory_bytes = work.compulsory_bytes;
    problem_.operations = work.in_sum.count() + work.outside.count();
    problem_.float_clocks = 2 *
                            (work.in_sum.as_floats(constraints_.machine) +
                             work.outside.as_floats(constraints_.machine)) /
                            constraints_.machine.flops_per_clock;
    PointCounter counter(kernel_, constraints_.parameters);
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      const Argument* argument = find_argument(kernel_, access.array);
      if (argument == nullptr || !argument->is_array) {
        continue;
      }
      const auto marched =
          std::find_if(problem_.arrays.begin(), problem_.arrays.end(),
                       [&](const MarchedArray& each) { return each.array == access.array; });
      if (marched != problem_.arrays.end()) {
        marched->elements = std::max(marched->elements, counter.elements(access));
        continue;
      }
      const double times = counter.points(access.inames) / problem_.points;
      problem_.other_reads += times;
      const double bytes = std::min(times, counter.elements(access) / problem_.points) *
                           static_cast<double>(size_bytes(*argument->type));
      problem_.other_bytes += bytes;
      problem_.other_read_bytes += access.is_write ? 0 : bytes;
    }
  }

  Kernel kernel_;
  const SlicingConstraints& constraints_;
  MarchProblem problem_{};
};

}  // namespace

std::optional<MarchProblem> read_march_problem(const Kernel& kernel,
                                               const SlicingConstraints& constraints) {
  return MarchReader(kernel, constraints).read();
}

}  // namespace rtcg::loopy::detail
