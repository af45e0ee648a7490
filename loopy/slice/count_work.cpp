#include "rtcg/loopy/slice/count_work.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/count_points.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/measure/seen_values.h"
#include "rtcg/loopy/measure/statistics.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

/// Operations whose number is not known count as often as their statements would in a box.
void add_operations(const Kernel& kernel, const IntegerValues& parameters, const std::string& cut,
                    KernelWork& work) {
  const Statistics statistics = count_operations(kernel, RepeatedValues::once);
  for (const auto& [operation, count] : statistics.operations) {
    const auto& [name, type] = operation;
    const double all = static_cast<double>(count.evaluate(parameters));
    const double inside =
        cut.empty() ? 0 : static_cast<double>(count.within(cut).evaluate(parameters));
    work.in_sum.add(name, type, inside);
    work.outside.add(name, type, all - inside);
  }
}

/// Finds what OperationMix::fused_floats is about: compilers contract a sum of products, and keep
/// products that do not depend on all loops around a statement.
class FusionCounter {
 public:
  FusionCounter(const Kernel& kernel, const std::string& cut, PointCounter& counter,
                KernelWork& work)
      : kernel_(kernel), cut_(cut), counter_(counter), work_(work) {}

  void add(const Instruction& instruction) {
    if (const Assignment* assignment = get_if<Assignment>(instruction)) {
      seen_.enter(instruction);
      within_ = instruction.within_inames;
      inames_ = within_;
      visit(assignment->value);
    }
  }

 private:
  [[nodiscard]] static bool is_product(const Expr& expr) {
    const Power* power = get_if<Power>(expr);
    const Product* product = get_if<Product>(expr);
    return (power != nullptr && as_integer(power->exponent).value_or(0) > 1) ||
           (product != nullptr &&
            product->factors.size() > (as_integer(product->factors.front()) == -1 ? 2U : 1U));
  }

  void visit(const Expr& expr) {
    if (is<Access>(expr) || is<LinearAccess>(expr) || !seen_.add(expr)) {
      return;  // indices, and what is known
    }
    const Reduction* reduction = get_if<Reduction>(expr);
    const NameSet outer = inames_;
    if (reduction != nullptr) {
      inames_.insert(reduction->inames.begin(), reduction->inames.end());
      const bool is_contracted =
          reduction->operation == "sum" && is_product(reduction->operands[0]);
      add_fused(expr, is_contracted ? 1 : 0);
    } else if (const Sum* sum = get_if<Sum>(expr)) {
      const auto products = std::count_if(sum->terms.begin(), sum->terms.end(), is_product);
      add_fused(expr, static_cast<double>(
                          std::min<std::ptrdiff_t>(products, std::ssize(sum->terms) - 1)));
    } else if (const Product* product = get_if<Product>(expr)) {
      add_shared(expr, *product);
    }
    for_each_child(expr, [&](const Expr& child) { visit(child); });
    inames_ = outer;
  }

  /// The leading factors of a product that a loop of the results does not change.
  void add_shared(const Expr& expr, const Product& product) {
    constexpr double share = 1 - 1.0 / 4;  // of items along that loop
    NameSet used;
    for (std::size_t i = 0; i + 1 < product.factors.size(); ++i) {
      for (const std::string& name : free_names(product.factors[i])) {
        used.insert(name);
      }
      const bool is_shared = std::any_of(within_.begin(), within_.end(),
                                         [&](const auto& each) { return used.count(each) == 0; });
      add_fused(expr, i > 0 && is_shared ? share : 0);
    }
  }

  void add_fused(const Expr& expr, double count) {
    if (count == 0) {
      return;
    }
    const cgen::Type type = type_of(kernel_, expr);
    const cgen::Type part = number_type(type);
    OperationMix& mix = inames_.count(cut_) != 0 ? work_.in_sum : work_.outside;
    // a complex product with an addition is eight operations
    const double fused = (type == part ? 1 : 4) * count * counter_.points(inames_);
    if (part == cgen::f32) {
      mix.fused_floats += fused;
    } else if (part == cgen::f64) {
      mix.fused_doubles += fused;
    }
  }

  const Kernel& kernel_;
  const std::string& cut_;
  PointCounter& counter_;
  KernelWork& work_;
  SeenValues seen_{};
  NameSet within_{};
  NameSet inames_{};
};

/// One operation for each read, in a box around all loops: of kernels whose points cannot be
/// counted.
void guess_operations(const std::vector<ArrayAccess>& accesses, const std::string& cut,
                      PointCounter& counter, KernelWork& work) {
  for (const ArrayAccess& access : accesses) {
    if (!access.is_write && !access.indices.empty()) {
      const bool is_inside = !cut.empty() && access.inames.count(cut) != 0;
      (is_inside ? work.in_sum : work.outside).floats += counter.points(access.inames);
    }
  }
}

/// An operation by itself, in operations of floats: about what the model takes it for.
double operations_in(const Expr& expr) {
  constexpr double of_special = 8;
  OperationMix mix;
  const auto add = [&](std::string_view operation) { mix.add(operation, "f32", 1); };
  if (const Sum* sum = get_if<Sum>(expr)) {
    mix.floats += static_cast<double>(sum->terms.size()) - 1;
  } else if (const Product* product = get_if<Product>(expr)) {
    const bool is_negation = as_integer(product->factors.front()) == -1;
    mix.floats += static_cast<double>(product->factors.size()) - (is_negation ? 2 : 1);
  } else if (const Power* power = get_if<Power>(expr)) {
    const auto exponent = as_integer(power->exponent);
    if (exponent && *exponent >= 1 && *exponent <= 4) {
      mix.floats += static_cast<double>(*exponent) - 1;
    } else {
      add("power");
    }
  } else if (is<Quotient>(expr)) {
    add("divide");
  } else if (const Call* call = get_if<Call>(expr)) {
    add(call->function);
  } else if (is<Comparison>(expr) || is<Conditional>(expr)) {
    mix.integers += 1;
  }
  return mix.floats + mix.integers + of_special * mix.special;
}

/// Adds up operations by the loops that their operands depend on.
class LoopShares {
 public:
  LoopShares(std::string cut, std::array<std::string, 2> loops, PointCounter& counter)
      : cut_(std::move(cut)), loops_(std::move(loops)), counter_(counter) {}

  void add(const Expr& value) {
    seen_.clear();
    visit(value, 0);
  }
  [[nodiscard]] std::array<double, 4> shares() const {
    std::array<double, 4> result = counts_;
    for (double& each : result) {
      each = all_ == 0 ? 0 : each / all_;
    }
    return all_ == 0 ? std::array<double, 4>{0, 0, 0, 1} : result;
  }

 private:
  /// @param steps  of sums within the one that is cut, for each step of it; 0: outside of it
  void visit(const Expr& expr, double steps) {
    if (is<Access>(expr) || is<LinearAccess>(expr)) {
      return;  // indices
    }
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      double inner = std::max(steps, 1.0);
      bool is_cut = steps != 0;
      for (const std::string& each : reduction->inames) {
        is_cut = is_cut || each == cut_;
        inner *= each == cut_ ? 1 : counter_.length(each);
      }
      steps = is_cut ? inner : 0;
      // the accumulator is one for each item
      all_ += steps;
      counts_[3] += steps;
    } else if (steps != 0) {
      const double count = operations_in(expr) * steps;
      all_ += count;
      if (std::none_of(seen_.begin(), seen_.end(),
                       [&](const Expr& each) { return each == expr; })) {
        seen_.push_back(expr);
        counts_[place_of(expr)] += count;
      }
    }
    for_each_child(expr, [&](const Expr& child) { visit(child, steps); });
  }
  [[nodiscard]] std::size_t place_of(const Expr& expr) const {
    std::size_t place = 0;
    for_each_free_name(expr, [&](const std::string& each) {
      place |= each == loops_[0] ? 1U : each == loops_[1] ? 2U : 0U;
    });
    return place;
  }

  std::string cut_;
  std::array<std::string, 2> loops_;
  PointCounter& counter_;
  std::vector<Expr> seen_{};
  std::array<double, 4> counts_{};
  double all_ = 0;
};

/// Adds up the operations of a kernel, and those of reductions that a loop does not change.
class IdleCounter {
 public:
  IdleCounter(std::string cut, std::string loop, PointCounter& counter)
      : cut_(std::move(cut)), loop_(std::move(loop)), counter_(counter) {}

  void visit(const Expr& expr, NameSet inames, bool is_idle) {
    if (is<Access>(expr) || is<LinearAccess>(expr)) {
      return;  // indices
    }
    double operations = operations_in(expr);
    if (const Reduction* reduction = get_if<Reduction>(expr)) {
      is_idle = is_idle || (inames.count(loop_) != 0 && free_names(expr).count(loop_) == 0);
      inames.insert(reduction->inames.begin(), reduction->inames.end());
      operations = 1;
    }
    if (operations != 0) {
      const std::size_t place = inames.count(cut_) != 0 ? 0 : 1;
      all_[place] += operations * counter_.points(inames);
      idle_[place] += is_idle ? operations * counter_.points(inames) : 0;
    }
    for_each_child(expr, [&](const Expr& child) { visit(child, inames, is_idle); });
  }
  [[nodiscard]] IdleShares shares() const {
    const auto share = [&](std::size_t place) {
      return all_[place] == 0 ? 0 : idle_[place] / all_[place];
    };
    return {share(0), share(1)};
  }

 private:
  std::string cut_;
  std::string loop_;
  PointCounter& counter_;
  std::array<double, 2> all_{};  // within the reduction that is cut, and elsewhere
  std::array<double, 2> idle_{};
};

double points_of_longest_sum(const Kernel& kernel, PointCounter& counter) {
  double most = 1;
  for (const Instruction& instruction : kernel.instructions) {
    const Assignment* assignment = get_if<Assignment>(instruction);
    if (assignment == nullptr) {
      continue;
    }
    const Reduction* sum = nullptr;
    walk(assignment->value, [&](const Expr& part) {
      const Reduction* found = get_if<Reduction>(part);
      if (found == nullptr) {
        return true;
      }
      NameSet inames = instruction.within_inames;
      inames.insert(found->inames.begin(), found->inames.end());
      most = std::max(most, counter.points(inames));
      sum = found;
      return false;  // what is within may not depend on all loops
    });
    most = sum == nullptr ? std::max(most, counter.points(instruction.within_inames)) : most;
  }
  return most;
}

using Accesses = std::vector<const ArrayAccess*>;

/// Those of array arguments, in the order of the statements.
std::map<std::string, Accesses> by_array(const Kernel& kernel,
                                         const std::vector<ArrayAccess>& accesses) {
  std::map<std::string, Accesses> result;
  for (const ArrayAccess& each : accesses) {
    const Argument* argument = find_argument(kernel, each.array);
    if (argument != nullptr && argument->is_array) {
      result[each.array].push_back(&each);
    }
  }
  return result;
}

Accesses reads_or_writes(Accesses accesses, bool are_writes) {
  std::erase_if(accesses, [&](const ArrayAccess* each) { return each->is_write != are_writes; });
  return accesses;
}
Accesses reads_of(const Accesses& all) {
  return reads_or_writes(all, false);
}
Accesses writes_of(const Accesses& all) {
  return reads_or_writes(all, true);
}

double element_bytes(const Kernel& kernel, const std::string& array) {
  return static_cast<double>(size_bytes(*find_argument(kernel, array)->type));
}

/// Different elements that accesses to an array touch, or fewer: of accesses that may have elements
/// in common the largest one counts.
template <class ElementsOf>
double elements_apart(PointCounter& counter, const Accesses& accesses,
                      const ElementsOf& elements_of) {
  std::vector<std::pair<double, const ArrayAccess*>> largest_first;
  for (const ArrayAccess* each : accesses) {
    largest_first.emplace_back(elements_of(each), each);
  }
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Accesses counted;
  double sum = 0;
  for (const auto& [elements, access] : largest_first) {
    if (std::all_of(counted.begin(), counted.end(), [&, own = access](const ArrayAccess* each) {
          return counter.are_apart(*each, *own);
        })) {
      counted.push_back(access);
      sum += elements;
    }
  }
  return sum;
}
double elements_apart(PointCounter& counter, const Accesses& accesses) {
  return elements_apart(counter, accesses,
                        [&](const ArrayAccess* each) { return counter.elements(*each); });
}

std::optional<double> exact_elements_of(const PointCounter& counter, const ArrayAccess& access) {
  try {
    return counter.exact_elements(access);
  } catch (const Unsupported&) {  // more than 64 bits hold
    return std::nullopt;
  }
}

}  // namespace

ConstraintSet PointCounter::domain_of(const NameSet& inames) const {
  const NameSet all = with_parent_inames(kernel_, inames);
  ConstraintSet set = constraints_of(kernel_, all);
  for (const auto& [name, value] : parameters_) {
    set = set.substitute(name, Affine(value));
  }
  std::vector<std::string> others;
  for (const std::string& name : set.names()) {
    if (is_iname(kernel_, name) && inames.count(name) == 0) {
      others.push_back(name);
    }
  }
  return set.project_out(others);
}

double PointCounter::length(const std::string& iname) {
  const auto known = lengths_.find(iname);
  if (known != lengths_.end()) {
    return known->second;
  }
  const ConstraintSet set = domain_of({iname});
  const auto first = set.minimum(Affine(iname));
  const auto last = set.maximum(Affine(iname));
  const double result =
      first && last ? static_cast<double>(std::max<std::int64_t>(1, *last - *first + 1)) : 1;
  lengths_.emplace(iname, result);
  return result;
}

std::optional<double> PointCounter::exact_points(const NameSet& inames) const {
  const auto pieces = count_points(domain_of(inames), {inames.begin(), inames.end()});
  if (!pieces) {
    return std::nullopt;
  }
  double sum = 0;
  for (const CountPiece& piece : *pieces) {
    const auto value = piece.count.evaluate(parameters_);
    if (!value || !piece.conditions.names().empty()) {
      return std::nullopt;
    }
    sum += static_cast<double>(*value);
  }
  return pieces->empty() ? std::nullopt : std::optional(sum);
}

double PointCounter::points(const NameSet& inames) {
  const auto known = known_.find(inames);
  if (known != known_.end()) {
    return known->second;
  }
  std::optional<double> result;
  try {
    result = exact_points(inames);
  } catch (const Unsupported&) {  // more than 64 bits hold
  }
  if (!result) {
    result = 1;
    for (const std::string& iname : inames) {
      *result *= length(iname);
    }
  }
  known_.emplace(inames, *result);
  return *result;
}

double PointCounter::elements(const ArrayAccess& access) {
  // indices that depend on a loop of their own each are different for all values of these loops
  NameSet own;
  for (const Expr& index : access.indices) {
    const auto affine = to_affine(index);
    if (!affine) {
      continue;
    }
    std::string longest;
    for (const Affine::Term& term : affine->terms()) {
      const bool is_free = access.inames.count(term.name) != 0 && own.count(term.name) == 0;
      if (is_free && (longest.empty() || length(term.name) > length(longest))) {
        longest = term.name;
      }
    }
    if (!longest.empty()) {
      own.insert(longest);
    }
  }
  return points(own);
}

std::optional<double> PointCounter::exact_elements(const ArrayAccess& access) const {
  NameSet own;
  for (const Expr& index : access.indices) {
    const auto affine = to_affine(index);
    if (access.is_linear || !affine) {
      return std::nullopt;
    }
    bool has_loop = false;
    for (const Affine::Term& term : affine->terms()) {
      if (!is_iname(kernel_, term.name)) {
        continue;
      }
      const bool is_plain = term.coefficient == 1 || term.coefficient == -1;
      if (has_loop || !is_plain || !own.insert(term.name).second) {
        return std::nullopt;
      }
      has_loop = true;
    }
  }
  return exact_points(own);
}

bool PointCounter::are_apart(const ArrayAccess& a, const ArrayAccess& b) {
  if (a.is_linear || b.is_linear || a.indices.size() != b.indices.size()) {
    return false;
  }
  for (std::size_t axis = 0; axis < a.indices.size(); ++axis) {
    const auto first = index_of(a.indices[axis]);
    const auto second = index_of(b.indices[axis]);
    if (!first || !second || !first->has_same_terms(*second)) {
      continue;
    }
    const std::int64_t shift = std::abs(first->constant() - second->constant());
    const std::int64_t stride = first->coefficient_gcd();
    double range = 0;
    for (const Affine::Term& term : first->terms()) {
      range += std::abs(static_cast<double>(term.coefficient)) * (length(term.name) - 1);
    }
    if (stride == 0 ? shift != 0 : shift % stride != 0 || static_cast<double>(shift) > range) {
      return true;
    }
  }
  return false;
}

std::optional<Affine> PointCounter::index_of(const Expr& expr) const {
  std::optional<Affine> index = to_affine(expr);
  if (!index) {
    return std::nullopt;
  }
  for (const auto& [name, value] : parameters_) {
    index = index->substitute(name, Affine(value));
  }
  const auto terms = index->terms();
  const bool has_loops_only = std::all_of(
      terms.begin(), terms.end(), [&](const auto& term) { return is_iname(kernel_, term.name); });
  return has_loops_only ? index : std::nullopt;
}

double untouched_bytes(const Kernel& kernel, const IntegerValues& parameters) {
  PointCounter counter(kernel, parameters);
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  double result = 0;
  for (const auto& [array, own] : by_array(kernel, accesses)) {
    std::map<const ArrayAccess*, double> exact;
    for (const ArrayAccess* each : own) {
      if (const auto elements = exact_elements_of(counter, *each)) {
        exact.emplace(each, *elements);
      }
    }
    if (exact.size() != own.size()) {
      continue;
    }
    double all = 1;
    for (const Expr& length : find_argument(kernel, array)->shape) {
      const auto value = evaluate_integer(length, parameters);
      all *= value ? static_cast<double>(*value) : 0;
    }
    const double touched =
        elements_apart(counter, own, [&](const ArrayAccess* each) { return exact.at(each); });
    result += element_bytes(kernel, array) * std::max(0.0, all - touched);
  }
  return result;
}

double updated_bytes(const Kernel& kernel, const IntegerValues& parameters) {
  PointCounter counter(kernel, parameters);
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  double result = 0;
  for (const auto& [array, own] : by_array(kernel, accesses)) {
    if (!own.front()->is_write) {
      result += element_bytes(kernel, array) * elements_apart(counter, writes_of(own));
    }
  }
  return result;
}

IdleShares idle_shares(const Kernel& kernel, const IntegerValues& parameters,
                       const std::string& cut, const std::string& loop) {
  PointCounter points(kernel, parameters);
  IdleCounter counter(cut, loop, points);
  for (const Instruction& instruction : kernel.instructions) {
    if (const Assignment* assignment = get_if<Assignment>(instruction)) {
      counter.visit(assignment->value, instruction.within_inames, false);
    }
  }
  return counter.shares();
}

std::array<double, 4> shares_of_loops(const Kernel& kernel, const IntegerValues& parameters,
                                      const std::string& cut,
                                      const std::array<std::string, 2>& loops) {
  PointCounter counter(kernel, parameters);
  LoopShares shares(cut, loops, counter);
  for (const Instruction& instruction : kernel.instructions) {
    if (const Assignment* assignment = get_if<Assignment>(instruction)) {
      shares.add(assignment->value);
    }
  }
  return shares.shares();
}

namespace {
bool is_uncountable(const Error& error) {
  return dynamic_cast<const Unsupported*>(&error) != nullptr ||
         error.code() == "loopy.statistics.missing_parameter";
}
}  // namespace

KernelWork count_work(const Kernel& kernel, const IntegerValues& parameters,
                      const std::string& cut) {
  KernelWork work;
  PointCounter counter(kernel, parameters);
  const std::vector<ArrayAccess> accesses = accesses_of(kernel);
  try {
    add_operations(kernel, parameters, cut, work);
    FusionCounter fusions(kernel, cut, counter, work);
    for (const Instruction& instruction : kernel.instructions) {
      fusions.add(instruction);
    }
  } catch (const Error& error) {
    // of loops whose bounds statements assign, too
    if (!is_uncountable(error)) {
      throw;
    }
    work = {};
    guess_operations(accesses, cut, counter, work);
  }
  work.least_steps = points_of_longest_sum(kernel, counter);
  for (const auto& [array, own] : by_array(kernel, accesses)) {
    const double bytes = element_bytes(kernel, array);
    work.compulsory_bytes +=
        bytes * (elements_apart(counter, reads_of(own)) + elements_apart(counter, writes_of(own)));
    for (const ArrayAccess* each : writes_of(own)) {
      work.written_bytes += bytes * counter.points(each->inames);
    }
  }
  return work;
}

}  // namespace rtcg::loopy::detail
