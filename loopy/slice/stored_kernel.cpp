#include "rtcg/loopy/slice/stored_kernel.h"

#include <algorithm>
#include <optional>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/check/checked_kernel.h"
#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/slice/count_work.h"
#include "rtcg/loopy/slice/slicing_problem.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/equal_values.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/partial_sums.h"

namespace rtcg::loopy::detail {
namespace {

constexpr double least_stored_steps = 16;      // of a sum that is stored
constexpr double least_stored_repetition = 8;  // of other values
constexpr std::size_t most_stores = 4;
constexpr std::size_t most_values_of_loops = 8;
constexpr double most_stored_elements = 2147483647;  // of an array: indices are of 32 bits

/// What may be stored: the loops that it depends on, the outermost first.
struct Candidate {
  Expr value = 0;
  std::size_t statement = 0;
  std::vector<std::string> inames{};
};

bool is_costly(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const Expr& part) {
    found = found || is<Call>(part) || is<Quotient>(part) || is<Power>(part);
    return !found && !is<Access>(part);
  });
  return found;
}

/// Looks for what a kernel computes several times.
class RepetitionFinder {
 public:
  RepetitionFinder(const Kernel& kernel, const IntegerValues& parameters)
      : kernel_(infer_types(make_reduction_inames_unique(expand_subst(kernel)))),
        points_(kernel_, parameters) {}

  /// A long sum, with all around it that depends on the same loops.
  [[nodiscard]] std::optional<Candidate> find_sum() {
    return find([&](const Expr& expr, const Expr& around, const std::vector<std::string>& sums) {
      const Reduction* sum = get_if<Reduction>(expr);
      if (sum == nullptr || steps_of(sum->inames) < least_stored_steps) {
        return std::optional<Candidate>();
      }
      const auto whole = usable(around, sums);
      return whole && (is_repeated(*whole, sums) || is_in_several_places(*whole))
                 ? whole
                 : find_partial_sum(expr, sums);
    });
  }

  /// A sum that depends on loops of its statement alone, with all around it that depends on these,
  /// in other loops or within another sum.
  [[nodiscard]] std::optional<Candidate> find_sum_of_loops() {
    return find([&](const Expr& expr, const Expr& around, const std::vector<std::string>& sums) {
      const Reduction* sum = get_if<Reduction>(expr);
      if (sum == nullptr || steps_of(sum->inames) < 2) {
        return std::optional<Candidate>();
      }
      const Candidate whole = candidate(around, sums);
      return are_loops_of_statement(whole.inames) && is_repeated(whole, sums) ? usable(around, sums)
                                                                              : std::nullopt;
    });
  }

  /// A factor of the terms of a sum that costs more than to read it, and that other loops of the
  /// results compute again.
  [[nodiscard]] std::optional<Candidate> find_weight() {
    return find([&](const Expr& expr, const Expr&, const std::vector<std::string>& sums) {
      const Product* product = sums.empty() ? nullptr : get_if<Product>(expr);
      return product != nullptr ? weight_of(*product, sums) : std::nullopt;
    });
  }

  [[nodiscard]] double bytes_of(const Candidate& candidate) {
    return points_.points({candidate.inames.begin(), candidate.inames.end()}) *
           size_bytes(type_of(kernel_, candidate.value));
  }

  /// Temporaries without an element for each iteration that a statement reads, besides the value.
  [[nodiscard]] std::vector<std::string> scalars_beside(const Candidate& candidate) const {
    const EqualValues equal(kernel_, candidate.value, candidate.inames);
    NameSet read;
    for (const Instruction& each : kernel_.instructions) {
      const Assignment* assignment = get_if<Assignment>(each);
      if (assignment != nullptr) {
        bool is_user = false;
        const Expr rest = equal.replaced(assignment->value, [&](const auto&) {
          is_user = true;
          return std::optional<Expr>(0);
        });
        if (is_user) {
          read.merge(free_names(rest));
        }
      }
    }
    std::vector<std::string> scalars;
    for (const Temporary& each : kernel_.temporaries) {
      if (each.shape.empty() && read.count(each.name) != 0) {
        scalars.push_back(each.name);
      }
    }
    return scalars;
  }

 private:
  template <class Wanted>
  std::optional<Candidate> find(const Wanted& wanted) {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (const Assignment* assignment = get_if<Assignment>(kernel_.instructions[i])) {
        statement_ = i;
        if (auto found = find_within(assignment->value, assignment->value, {}, wanted)) {
          return found;
        }
      }
    }
    return std::nullopt;
  }

  /// @param around  the largest expression around `expr` that depends on the same inames
  /// @param sums    inames of the reductions around it
  template <class Wanted>
  std::optional<Candidate> find_within(const Expr& expr, const Expr& around,
                                       const std::vector<std::string>& sums, const Wanted& wanted) {
    if (auto found = wanted(expr, around, sums)) {
      return found;
    }
    if (is<Access>(expr) || as_scan(expr) != nullptr) {
      return std::nullopt;
    }
    std::vector<std::string> inner = sums;
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      inner.insert(inner.end(), reduction->inames.begin(), reduction->inames.end());
    }
    std::optional<Candidate> result;
    for_each_child(expr, [&](const Expr& child) {
      if (!result) {
        const bool is_same = free_inames(kernel_, child) == free_inames(kernel_, around);
        result = find_within(child, is_same ? around : child, inner, wanted);
      }
    });
    return result;
  }

  /// A long sum over some of the inames of a sum, the one that takes the fewest operations.
  [[nodiscard]] std::optional<Candidate> find_partial_sum(const Expr& sum,
                                                          const std::vector<std::string>& sums) {
    std::vector<std::string> all = sums;
    const std::vector<std::string>& own = get_if<Reduction>(sum)->inames;
    all.insert(all.end(), own.begin(), own.end());
    std::optional<Candidate> best;
    double least = 0;
    for (const PartialSum& each : partial_sums(kernel_, sum)) {
      const Reduction& inner = *get_if<Reduction>(each.inner);
      Candidate part = candidate(each.inner, all);
      const double elements = part.inames.empty() ? 0 : steps_of(part.inames);
      const double operations = elements * steps_of(inner.inames);
      if (steps_of(inner.inames) >= least_stored_steps && elements > 0 &&
          elements <= most_stored_elements && (!best || operations + elements < least)) {
        least = operations + elements;
        best = std::move(part);
      }
    }
    return best;
  }

  /// Iterations; 1 where the kernel computes how many.
  [[nodiscard]] double steps_of(const std::vector<std::string>& inames) {
    const bool is_known = std::none_of(inames.begin(), inames.end(), [&](const auto& each) {
      return has_computed_bounds(kernel_, each);
    });
    return is_known ? points_.points({inames.begin(), inames.end()}) : 1;
  }

  [[nodiscard]] const Instruction& statement() const { return kernel_.instructions[statement_]; }

  /// Loops around a value of the statement that it depends on, those of the results first.
  [[nodiscard]] Candidate candidate(const Expr& value, const std::vector<std::string>& sums) const {
    const NameSet own = free_inames(kernel_, value);
    Candidate result{value, statement_, {}};
    for (const std::string& each : all_inames(kernel_)) {
      if (statement().within_inames.count(each) != 0 && own.count(each) != 0) {
        result.inames.push_back(each);
      }
    }
    for (const std::string& each : sums) {
      if (own.count(each) != 0) {
        result.inames.push_back(each);
      }
    }
    return result;
  }

  /// Iterations of the loops of the results that a value does not depend on.
  [[nodiscard]] double repetition_of(const Candidate& value) {
    NameSet others = statement().within_inames;
    for (const std::string& each : value.inames) {
      others.erase(each);
    }
    return others.empty() ? 1 : steps_of({others.begin(), others.end()});
  }

  [[nodiscard]] std::optional<Candidate> usable(const Expr& value,
                                                const std::vector<std::string>& sums) {
    Candidate result = candidate(value, sums);
    result.value = most_shared_part(kernel_, value, result.inames);
    if (result.inames.empty() || !has_own_bounds(kernel_, result.value) ||
        steps_of(result.inames) > most_stored_elements) {
      return std::nullopt;
    }
    return result;
  }
  /// @param sums  inames of the reductions around it
  [[nodiscard]] bool is_repeated(const Candidate& value, const std::vector<std::string>& sums) {
    return !sums.empty() || repetition_of(value) >= 2;
  }
  [[nodiscard]] bool is_in_several_places(const Candidate& value) const {
    return EqualValues(kernel_, value.value, value.inames).places() >= 2;
  }
  [[nodiscard]] bool are_loops_of_statement(const std::vector<std::string>& inames) const {
    return std::all_of(inames.begin(), inames.end(), [&](const auto& each) {
      return statement().within_inames.count(each) != 0;
    });
  }

  [[nodiscard]] std::optional<Candidate> weight_of(const Product& product,
                                                   const std::vector<std::string>& sums) {
    const NameSet& within = statement().within_inames;
    for (const std::string& other : within) {
      std::vector<Expr> own;
      for (const Expr& factor : product.factors) {
        if (free_inames(kernel_, factor).count(other) == 0) {
          own.push_back(factor);
        }
      }
      if (own.empty() || own.size() == product.factors.size()) {
        continue;
      }
      const Expr value = own.size() == 1 ? own.front() : Expr(Product{own});
      if (!reduction_inames(value).empty() || !is_costly(value)) {
        continue;
      }
      Candidate result = candidate(value, sums);
      if (!result.inames.empty() && steps_of(result.inames) <= most_stored_elements &&
          repetition_of(result) >= least_stored_repetition) {
        return result;
      }
    }
    return std::nullopt;
  }

  const Kernel kernel_;
  PointCounter points_;
  std::size_t statement_ = 0;
};

class KernelStorer {
 public:
  KernelStorer(const Kernel& kernel, const IntegerValues& parameters, double most_bytes)
      : kernel_(kernel),
        parameters_(parameters),
        bytes_left_(most_bytes),
        names_(make_name_generator(kernel)) {
    result_.kernel = kernel;
  }

  std::optional<StoredKernel> run_in_loops() {
    while (result_.words.stores.size() < most_values_of_loops && store_in_loops()) {
    }
    return result_.words.stores.empty() ? std::nullopt : std::optional(result_);
  }

  std::vector<StoredKernel> run() {
    std::vector<StoredKernel> all;
    while (result_.words.stores.size() < most_stores &&
           store("sums", [](RepetitionFinder& finder) { return finder.find_sum(); })) {
    }
    if (!result_.words.stores.empty()) {
      all.push_back(result_);
      if (store("weights", [](RepetitionFinder& finder) { return finder.find_weight(); })) {
        all.push_back(result_);
      }
    }
    return all;
  }

 private:
  bool store_in_loops() {
    const auto found = RepetitionFinder(result_.kernel, parameters_).find_sum_of_loops();
    if (!found) {
      return false;
    }
    StoredKernel next = result_;
    next.words.stores.push_back({names_.make("value"), found->inames, true});
    return try_to_apply(next);
  }

  template <class Find>
  bool store(const char* name, const Find& find) {
    RepetitionFinder finder(result_.kernel, parameters_);
    const auto found = find(finder);
    if (!found) {
      return false;
    }
    bytes_left_ -= finder.bytes_of(*found);
    if (bytes_left_ < 0) {
      return false;
    }
    StoredKernel next = result_;
    next.words.stores.push_back({names_.make(name), found->inames});
    if (try_to_apply(next)) {
      return true;
    }
    // what the nests hand on is in global memory then
    for (std::string& each : finder.scalars_beside(*found)) {
      next.words.global_values.push_back(std::move(each));
    }
    return next.words.global_values.size() > result_.words.global_values.size() &&
           try_to_apply(next);
  }

  bool try_to_apply(StoredKernel& next) {
    try {
      next.kernel = apply(kernel_, next.words);
      next.kernel.recipe = kernel_.recipe;
      if (next.words.stores.back().in_loops) {
        // the loops of several values may be within each other
        static_cast<void>(
            generate(checked_kernel(next.kernel), Target::cuda, {.recipe_comment = false}));
      }
      result_ = next;
      return true;
    } catch (const InvalidInput&) {
      return false;
    } catch (const Unsupported&) {
      return false;
    }
  }

  const Kernel& kernel_;
  const IntegerValues& parameters_;
  double bytes_left_;
  NameGenerator names_;
  StoredKernel result_{};
};

}  // namespace

std::optional<StoredKernel> find_values_of_loops(const Kernel& kernel,
                                                 const IntegerValues& parameters) {
  return KernelStorer(kernel, parameters, 0).run_in_loops();
}

std::vector<StoredKernel> find_stored_kernels(const Kernel& kernel, const IntegerValues& parameters,
                                              double most_bytes) {
  return KernelStorer(kernel, parameters, most_bytes).run();
}

}  // namespace rtcg::loopy::detail
