#include "rtcg/loopy/slice/make_loop_kernel.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/create/make_kernel.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

std::int64_t length_of(const Kernel& kernel, const std::string& iname) {
  const ConstraintSet set = constraints_of(kernel, {iname});
  return *set.maximum(Affine(iname)) + 1;
}

/// Powers of two from 2 on that divide `length`, at most `most`.
std::vector<std::int64_t> dividing_powers(std::int64_t length, std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t each = 2; each <= std::min(length, most) && length % each == 0; each *= 2) {
    result.push_back(each);
  }
  return result;
}

/// Lets the dimensions, one after the other, stay loops or go to blocks and threads.
class Assigner {
 public:
  Assigner(const Kernel& kernel, const LoopSlicingConstraints& constraints)
      : constraints_(constraints), inames_(all_inames(kernel)) {
    NameSet results;
    for (const Instruction& each : kernel.instructions) {
      results.insert(each.within_inames.begin(), each.within_inames.end());
    }
    for (const std::string& each : inames_) {
      lengths_.push_back(length_of(kernel, each));
      is_result_.push_back(results.count(each) != 0);
    }
  }

  std::vector<Slicing> run() {
    assign(0);
    return std::move(found_);
  }

 private:
  struct Cut {
    bool is_block = false;     ///< the outer part, or the whole
    std::int64_t threads = 1;  ///< of the inner part
  };

  void assign(std::size_t which) {
    if (which == inames_.size()) {
      number_threads();
      return;
    }
    add(which, {false, 1});
    if (!is_result_[which]) {
      return;
    }
    add(which, {true, 1});
    for (const std::int64_t threads :
         dividing_powers(lengths_[which], constraints_.max_threads / thread_count())) {
      add(which, {false, threads});
      if (threads < lengths_[which]) {
        add(which, {true, threads});
      }
    }
  }
  void add(std::size_t which, const Cut& cut) {
    const auto count = [&](auto is_wanted) {
      return std::count_if(cuts_.begin(), cuts_.end(), is_wanted);
    };
    if ((cut.is_block && count([](const Cut& each) { return each.is_block; }) == 2) ||
        (cut.threads > 1 && count([](const Cut& each) { return each.threads > 1; }) == 3)) {
      return;
    }
    cuts_.push_back(cut);
    assign(which + 1);
    cuts_.pop_back();
  }
  [[nodiscard]] std::int64_t thread_count() const {
    return std::accumulate(cuts_.begin(), cuts_.end(), std::int64_t{1},
                           [](std::int64_t all, const Cut& each) { return all * each.threads; });
  }
  [[nodiscard]] std::int64_t block_count() const {
    std::int64_t all = 1;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      all *= cuts_[i].is_block ? lengths_[i] / cuts_[i].threads : 1;
    }
    return all;
  }

  void number_threads() {
    std::vector<std::size_t> on_threads;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      if (cuts_[i].threads > 1) {
        on_threads.push_back(i);
      }
    }
    if (on_threads.empty() || thread_count() < constraints_.min_threads ||
        block_count() < constraints_.min_blocks) {
      return;
    }
    do {
      found_.push_back(slicing(on_threads));
    } while (std::next_permutation(on_threads.begin(), on_threads.end()));
  }

  /// @param on_threads  the dimension on each axis of the block
  [[nodiscard]] Slicing slicing(const std::vector<std::size_t>& on_threads) const {
    Slicing result;
    int next_grid_axis = 0;
    for (std::size_t i = 0; i < cuts_.size(); ++i) {
      const Cut& cut = cuts_[i];
      const auto axis = std::find(on_threads.begin(), on_threads.end(), i) - on_threads.begin();
      const InameTag block{AxisKind::block, static_cast<int>(axis)};
      const InameTag outer = cut.is_block ? InameTag{AxisKind::grid, next_grid_axis++} : InameTag{};
      InameSlicing sliced{inames_[i], {{0, cut.threads == lengths_[i] ? block : outer}}};
      if (cut.threads > 1 && cut.threads < lengths_[i]) {
        sliced.factors.push_back({cut.threads, block});
      }
      result.inames.push_back(std::move(sliced));
    }
    return result;
  }

  const LoopSlicingConstraints& constraints_;
  std::vector<std::string> inames_;
  std::vector<std::int64_t> lengths_{};
  std::vector<bool> is_result_{};
  std::vector<Cut> cuts_{};
  std::vector<Slicing> found_{};
};

/// Chooses what an assignment fetches, and how far along its loops.
class Fetcher {
 public:
  Fetcher(const Kernel& kernel, const LoopSlicingConstraints& constraints)
      : kernel_(kernel), constraints_(constraints) {
    for (const ArrayAccess& access : accesses_of(kernel)) {
      if (access.is_write || find_argument(kernel, access.array) == nullptr) {
        continue;
      }
      NameSet& mentioned = mentioned_[access.array];
      for (const Expr& index : access.indices) {
        mentioned.merge(free_names(index));
      }
    }
  }

  void add_all(const Slicing& assignment, std::vector<Slicing>& found) const {
    const std::size_t subsets = std::size_t{1} << mentioned_.size();
    for (std::size_t subset = 0; subset < subsets; ++subset) {
      std::vector<std::string> fetched;
      bool is_allowed = true;
      std::size_t bit = 0;
      for (const auto& [array, mentioned] : mentioned_) {
        const bool is_in = (subset >> bit++ & 1) != 0;
        const auto hint = constraints_.prefetch_hints.find(array);
        is_allowed &= hint == constraints_.prefetch_hints.end() || hint->second == is_in;
        if (is_in) {
          fetched.push_back(array);
        }
      }
      if (is_allowed) {
        cut_loops(assignment, fetched, 0, found);
      }
    }
  }

 private:
  [[nodiscard]] bool is_mentioned(const std::string& iname,
                                  const std::vector<std::string>& fetched) const {
    return std::any_of(fetched.begin(), fetched.end(), [&](const std::string& each) {
      return mentioned_.at(each).count(iname) != 0;
    });
  }

  [[nodiscard]] bool is_around_sums(const std::string& iname) const {
    return std::any_of(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.within_inames.count(iname) != 0 && !reduction_inames(each).empty();
        });
  }

  /// The loops from `which` on are fetched by 1 value, or by more.
  void cut_loops(const Slicing& slicing, const std::vector<std::string>& fetched, std::size_t which,
                 std::vector<Slicing>& found) const {
    if (which == slicing.inames.size()) {
      Slicing whole = slicing;
      for (const std::string& array : fetched) {
        whole.fetches.push_back({array, false, 0});
      }
      if (shared_bytes(whole) <= constraints_.max_shared_bytes) {
        found.push_back(std::move(whole));
      }
      return;
    }
    const InameSlicing& each = slicing.inames[which];
    if (each.factors.front().axis.kind != AxisKind::sequential ||
        !is_mentioned(each.iname, fetched)) {
      cut_loops(slicing, fetched, which + 1, found);
      return;
    }
    const std::int64_t threads = each.factors.size() == 1 ? 1 : each.factors.back().length;
    std::vector<std::int64_t> lengths = {1};
    const std::int64_t rest = length_of(kernel_, each.iname) / threads;
    // a loop of the results stands around those of the reduction, along which the tiles move
    if (!is_around_sums(each.iname)) {
      for (const std::int64_t length : dividing_powers(rest, rest - 1)) {
        lengths.push_back(length);
      }
    }
    for (const std::int64_t length : lengths) {
      Slicing cut = slicing;
      std::vector<SlicingFactor>& factors = cut.inames[which].factors;
      if (length > 1 || factors.size() == 1) {
        factors.insert(factors.begin() + 1, {length, {}});
      }
      cut_loops(cut, fetched, which + 1, found);
    }
  }

  /// Of the values that the indices of the fetched arrays take within a block, at most.
  [[nodiscard]] std::int64_t shared_bytes(const Slicing& slicing) const {
    std::int64_t bytes = 0;
    for (const FetchPlan& fetch : slicing.fetches) {
      std::int64_t elements = 1;
      for (const InameSlicing& each : slicing.inames) {
        if (mentioned_.at(fetch.array).count(each.iname) == 0) {
          continue;
        }
        const bool is_whole_threads = each.factors.front().axis.kind == AxisKind::block;
        elements *= is_whole_threads ? length_of(kernel_, each.iname) : 1;
        for (std::size_t i = 1; i < each.factors.size(); ++i) {
          elements *= each.factors[i].length;
        }
      }
      bytes += 4 * elements;
    }
    return bytes;
  }

  const Kernel& kernel_;
  const LoopSlicingConstraints& constraints_;
  std::map<std::string, NameSet> mentioned_{};
};

}  // namespace

Kernel make_loop_kernel(const std::vector<LoopDimension>& dimensions,
                        const std::vector<LoopInstruction>& instructions) {
  std::vector<std::string> names;
  std::string bounds;
  for (const LoopDimension& each : dimensions) {
    if (each.length < 2) {
      throw InvalidInput(
          "loopy.make_loop_kernel.short_dimension",
          fmt::format("dimension '{}' has length {}, but 2 is the least", each.name, each.length));
    }
    names.push_back(each.name);
    bounds += fmt::format("{}0 <= {} < {}", bounds.empty() ? "" : " and ", each.name, each.length);
  }
  std::string statements;
  for (const LoopInstruction& each : instructions) {
    const NameSet indexing = free_names(parse_expr(each.result));
    std::vector<std::string> summed;
    std::copy_if(names.begin(), names.end(), std::back_inserter(summed),
                 [&](const std::string& name) { return indexing.count(name) == 0; });
    statements += summed.empty() ? fmt::format("{} = {}\n", each.result, each.expression)
                                 : fmt::format("{} = sum(({}), {})\n", each.result,
                                               fmt::join(summed, ", "), each.expression);
  }
  return make_kernel(fmt::format("{{[{}]: {}}}", fmt::join(names, ", "), bounds), statements,
                     {.default_type = cgen::f32});
}

std::vector<Slicing> loop_assignments(const Kernel& kernel,
                                      const LoopSlicingConstraints& constraints) {
  return Assigner(kernel, constraints).run();
}

std::vector<Slicing> loop_slicings(const Kernel& kernel,
                                   const LoopSlicingConstraints& constraints) {
  const Fetcher fetcher(kernel, constraints);
  std::vector<Slicing> found;
  for (const Slicing& each : loop_assignments(kernel, constraints)) {
    fetcher.add_all(each, found);
  }
  return found;
}

}  // namespace rtcg::loopy
