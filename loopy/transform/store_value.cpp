#include "rtcg/loopy/transform/store_value.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/equal_values.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/loop_end.h"
#include "rtcg/loopy/transform/partial_sums.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/rename_iname.h"

namespace rtcg::loopy {
namespace {

struct FoundValue {
  Expr expr = 0;
  std::size_t statement = 0;
  bool is_conditional = false;  ///< whether only some points of its loops need it
  bool is_repeated = true;      ///< whether it is computed more often than its loops have points
};

bool is_computed(const Expr& expr) {
  return !is<Access>(expr) && !is<Name>(expr) && !is<Integer>(expr) && !is<Real>(expr) &&
         !is<Comparison>(expr) && !is<Logical>(expr) && !is<Not>(expr);
}

bool has_scan(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const Expr& part) {
    found = found || as_scan(part) != nullptr;
    return !found;
  });
  return found;
}

bool has_reduction(const Expr& expr) {
  return !reduction_inames(expr).empty();
}

/// Whether a statement may use a value of each iteration of the loops over some inames.
bool is_within(const Instruction& statement, const NameSet& inames) {
  const NameSet& within = statement.within_inames;
  return std::includes(within.begin(), within.end(), inames.begin(), inames.end());
}

/// Finds values that mention some inames and no others, from the outside in.
class ValueFinder {
 public:
  ValueFinder(const Kernel& kernel, const std::vector<std::string>& inames,
              const StoreOptions& options)
      : kernel_(kernel), inames_(inames.begin(), inames.end()), options_(options) {}

  [[nodiscard]] std::optional<FoundValue> run() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& instruction = kernel_.instructions[i];
      const Assignment* assignment = get_if<Assignment>(instruction);
      if (assignment != nullptr && (!options_.in_loops || is_within(instruction, inames_))) {
        statement_ = i;
        changing_ = options_.in_loops ? written_in_other_loops(instruction) : NameSet();
        whole_ =
            instruction.within_inames == inames_ ? std::optional(assignment->value) : std::nullopt;
        find(assignment->value, !instruction.predicates.empty(),
             !options_.in_loops || instruction.within_inames != inames_);
      }
    }
    std::stable_partition(found_.begin(), found_.end(),
                          [](const FoundValue& each) { return each.is_repeated; });
    const auto sum = std::find_if(found_.begin(), found_.end(),
                                  [](const FoundValue& each) { return has_reduction(each.expr); });
    return sum != found_.end() ? std::optional(*sum)
           : found_.empty()    ? element_
                               : std::optional(found_.front());
  }

 private:
  /// What changes in iterations of the statement's other loops.
  [[nodiscard]] NameSet written_in_other_loops(const Instruction& statement) const {
    NameSet names;
    for (const Instruction& each : kernel_.instructions) {
      const bool shares_any =
          std::any_of(each.within_inames.begin(), each.within_inames.end(), [&](const auto& iname) {
            return statement.within_inames.count(iname) != 0 && inames_.count(iname) == 0;
          });
      names.merge(shares_any ? written_variables(each) : NameSet());
    }
    return names;
  }
  /// Whether its scalars have one value in all iterations of these.
  [[nodiscard]] bool is_fixed(const Expr& expr) const {
    const NameSet read = free_names(expr);
    return std::none_of(read.begin(), read.end(),
                        [&](const auto& each) { return changing_.count(each) != 0; });
  }

  void find(const Expr& expr, bool is_conditional, bool is_repeated) {
    const NameSet own = free_inames(kernel_, expr);
    if (own == inames_ && is_computed(expr) && !has_scan(expr) && !(expr == whole_) &&
        is_fixed(expr)) {
      found_.push_back({expr, statement_, is_conditional, is_repeated});
      if (is_repeated) {
        return;
      }
    }
    if (is<Access>(expr) && own == inames_ && !is_conditional && !element_ && !(expr == whole_)) {
      element_ = {expr, statement_, false};
    }
    if (is<Access>(expr) || is<LinearAccess>(expr) || as_scan(expr) != nullptr) {
      return;
    }
    if (const Conditional* choice = get_if<Conditional>(expr)) {
      find(choice->then_value, true, is_repeated);
      find(choice->else_value, true, is_repeated);
      return;
    }
    if (const Product* product = get_if<Product>(expr);
        product != nullptr && is_repeated && find_factors(*product, is_conditional)) {
      return;
    }
    for_each_child(expr, [&](const Expr& child) {
      find(child, is_conditional, is_repeated || is<Reduction>(expr));
    });
  }

  /// Those of the factors that mention no other inames, if all are mentioned.
  bool find_factors(const Product& product, bool is_conditional) {
    std::vector<Expr> own;
    NameSet mentioned;
    for (const Expr& factor : product.factors) {
      NameSet names = free_inames(kernel_, factor);
      if (std::includes(inames_.begin(), inames_.end(), names.begin(), names.end()) &&
          is_fixed(factor)) {
        own.push_back(factor);
        mentioned.merge(std::move(names));
      }
    }
    if (own.size() < 2 || mentioned != inames_) {
      return false;
    }
    const Expr value = Product{std::move(own)};
    if (has_scan(value)) {
      return false;
    }
    found_.push_back({value, statement_, is_conditional});
    return true;
  }

  const Kernel& kernel_;
  const NameSet inames_;
  const StoreOptions options_;
  std::size_t statement_ = 0;
  NameSet changing_{};           ///< what a value must not read
  std::optional<Expr> whole_{};  ///< that the statement stores as it is
  std::vector<FoundValue> found_{};
  std::optional<FoundValue> element_{};  ///< of an array, which is always read
};

/// Whether all indices of what it reads follow from inames: elsewhere conditions may guard them.
bool has_plain_indices(const Expr& expr) {
  bool are_plain = true;
  walk(expr, [&](const Expr& part) {
    if (const Access* access = get_if<Access>(part)) {
      are_plain = are_plain && std::all_of(access->indices.begin(), access->indices.end(),
                                           [](const Expr& each) { return to_affine(each); });
    }
    are_plain = are_plain && !is<LinearAccess>(part);
    return are_plain;
  });
  return are_plain;
}

/// What a value is but for a factor of -1, which its users take: differences are sums.
Expr without_sign(const Expr& value) {
  const Product* product = get_if<Product>(value);
  if (product == nullptr || product->factors.size() < 2 || as_integer(product->factors[0]) != -1) {
    return value;
  }
  std::vector<Expr> factors(product->factors.begin() + 1, product->factors.end());
  return factors.size() == 1 ? factors.front() : Expr(Product{std::move(factors)});
}

class Storer {
 public:
  Storer(Kernel kernel, std::string array, std::vector<std::string> inames,
         const StoreOptions& options)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        inames_(std::move(inames)),
        options_(options) {}

  Kernel run() {
    auto found = ValueFinder(kernel_, inames_, options_).run();
    if (!found || !has_reduction(found->expr)) {
      Kernel nested = with_partial_sums(kernel_, {inames_.begin(), inames_.end()});
      const auto sum = ValueFinder(nested, inames_, options_).run();
      if (sum && has_reduction(sum->expr)) {
        kernel_ = std::move(nested);
        found = sum;
      }
    }
    if (!found || (found->is_conditional && !has_plain_indices(found->expr))) {
      refuse("loopy.store_value.not_found",
             fmt::format("no statement of kernel '{}' computes a value of {} alone", kernel_.name,
                         fmt::join(inames_, ", ")));
    }
    value_ = most_shared_part(kernel_, found->expr, inames_);
    value_ = options_.in_loops ? without_sign(value_) : value_;
    check_bounds();
    replace(found->statement);
    Instruction store = store_statement();
    if (options_.in_loops) {
      find_place_in_loops(store);
      add_in_loops(std::move(store));
    } else {
      split_loops(store);
      add(std::move(store));
    }
    return remove_unused_inames(std::move(kernel_));
  }

 private:
  void check_bounds() const {
    NameSet used = free_inames(kernel_, value_);
    used.merge(reduction_inames(value_));
    const auto refuse_bounds = [&](const std::string& why) {
      refuse("loopy.store_value.bounds", fmt::format("'{}' cannot have an axis for each of {}: {}",
                                                     array_, fmt::join(inames_, ", "), why));
    };
    if (!has_own_bounds(kernel_, value_)) {
      refuse_bounds(fmt::format("the bounds of '{}' depend on other loops", to_string(value_)));
    }
    for (const std::string& each : used) {
      for (const std::string& name : find_home_domain(kernel_, each)->constraints.names()) {
        if (!is_iname(kernel_, name) && is_written(name)) {
          refuse_bounds(fmt::format("'{}' bounds '{}'", name, each));
        }
      }
    }
    for (const std::string& each : options_.in_loops ? std::vector<std::string>() : inames_) {
      if (!constraints_of(kernel_, {each}).implies_nonnegative(Affine(each))) {
        refuse_bounds(fmt::format("'{}' may be negative", each));
      }
      try {
        static_cast<void>(end_of_loop(kernel_, each));
      } catch (const InvalidInput&) {
        refuse_bounds(fmt::format("'{}' has no upper bound in terms of parameters", each));
      }
    }
  }

  [[nodiscard]] bool is_written(const std::string& name) const {
    return std::any_of(kernel_.instructions.begin(), kernel_.instructions.end(),
                       [&](const auto& each) { return written_variables(each).count(name) != 0; });
  }

  /// Puts elements of the array in place of the value.
  void replace(std::size_t statement) {
    EqualValues equal(kernel_, value_, inames_);
    const bool is_everywhere = has_reduction(value_);
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Assignment* old = get_if<Assignment>(kernel_.instructions[i]);
      if (old == nullptr || (!is_everywhere && i != statement) ||
          (options_.in_loops &&
           !is_within(kernel_.instructions[i], {inames_.begin(), inames_.end()}))) {
        continue;
      }
      Assignment assignment = *old;
      bool is_changed = false;
      assignment.value =
          equal.replaced(assignment.value, [&](const auto& names) -> std::optional<Expr> {
            if ((!is_everywhere || options_.in_loops) && names != inames_) {
              return std::nullopt;
            }
            is_changed = true;
            return element(names);
          });
      if (is_changed) {
        users_.push_back(i);
        replaced_.emplace_back(i, std::move(assignment));
      }
    }
  }
  [[nodiscard]] Expr element(const std::vector<std::string>& names) const {
    if (options_.in_loops) {
      return Name{array_};
    }
    Access access{array_};
    for (const std::string& each : names) {
      access.indices.emplace_back(Name{each});
    }
    return access;
  }

  /// The statement that computes the value, with the inames that it has in its statement.
  [[nodiscard]] Instruction store_statement() const {
    Instruction store;
    store.id = make_name_generator(kernel_).make("set_" + array_);
    store.kind = Assignment{{element(inames_)}, value_};
    store.within_inames = {inames_.begin(), inames_.end()};
    return store;
  }

  [[nodiscard]] NameSet loops_of_users() const {
    NameSet loops;
    for (const std::size_t each : users_) {
      loops.insert(kernel_.instructions[each].within_inames.begin(),
                   kernel_.instructions[each].within_inames.end());
    }
    return loops;
  }
  [[nodiscard]] bool shares_loops(std::size_t statement, const NameSet& loops) const {
    const NameSet& within = kernel_.instructions[statement].within_inames;
    return std::any_of(within.begin(), within.end(),
                       [&](const std::string& each) { return loops.count(each) != 0; });
  }

  /// Before the first statement that shares a loop with the users which is not one of the value's,
  /// but after what the value depends on.
  void find_place_in_loops(const Instruction& store) {
    NameSet inner = loops_of_users();
    for (const std::string& each : inames_) {
      inner.erase(each);
    }
    const NameSet needed = read_variables(kernel_, store);
    place_ = users_.front();
    for (std::size_t i = users_.front(); i-- > 0;) {
      place_ = shares_loops(i, inner) ? i : place_;
    }
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (!writes_any(i, needed)) {
        continue;
      }
      if ((i >= users_.front() && i < users_.back()) || shares_loops(i, inner)) {
        refuse_change(i);
      }
      place_ = i < users_.front() ? std::max(place_, i + 1) : place_;
    }
  }

  [[nodiscard]] bool writes_any(std::size_t statement, const NameSet& names) const {
    const NameSet written = written_variables(kernel_.instructions[statement]);
    return std::any_of(written.begin(), written.end(),
                       [&](const auto& name) { return names.count(name) != 0; });
  }
  [[noreturn]] void refuse_change(std::size_t statement) const {
    refuse("loopy.store_value.input_changes",
           fmt::format("statement '{}' changes what '{}' depends on",
                       kernel_.instructions[statement].id, to_string(value_)));
  }

  /// Finds where the values are computed, and which loops they share with what they depend on.
  void split_loops(const Instruction& store) {
    const NameSet loops = loops_of_users();
    const std::size_t count = kernel_.instructions.size();
    NameSet needed = read_variables(kernel_, store);
    place_ = users_.front();
    for (std::size_t i = 0; i < count; ++i) {
      if (shares_loops(i, loops)) {
        place_ = std::min(place_, i);
      }
    }
    for (std::size_t i = count; i-- > 0;) {
      const Instruction& each = kernel_.instructions[i];
      if (!writes_any(i, needed)) {
        continue;
      }
      if (i >= users_.front()) {
        if (i < users_.back() || shares_loops(i, loops)) {
          refuse_change(i);
        }
        continue;
      }
      place_ = std::max(place_, i + 1);
      if (shares_loops(i, loops)) {
        needed.merge(read_variables(kernel_, each));
        share_loops_with(each, loops);
      }
    }
  }

  void share_loops_with(const Instruction& writer, const NameSet& loops) {
    for (const std::string& each : writer.within_inames) {
      if (loops.count(each) != 0 &&
          std::find(inames_.begin(), inames_.end(), each) == inames_.end()) {
        refuse("loopy.store_value.input_changes",
               fmt::format("statement '{}' changes what '{}' depends on in each iteration of '{}'",
                           writer.id, to_string(value_), each));
      }
    }
    for (const std::string& each : inames_) {
      if (loops.count(each) != 0) {
        kept_.insert(each);
      }
    }
  }

  /// What holds the values, without axes.
  [[nodiscard]] Temporary temporary() const {
    Temporary result;
    result.name = array_;
    const cgen::Type type = type_of(infer_types(kernel_), value_);
    result.type = is_known(type) ? std::optional(type) : std::nullopt;
    return result;
  }

  void add_in_loops(Instruction store) {
    kernel_.temporaries.push_back(temporary());
    read_values();
    insert(std::move(store));
  }

  /// Puts what reads the values in place of the users.
  void read_values() {
    for (auto& [place, assignment] : replaced_) {
      kernel_.instructions[place].kind = std::move(assignment);
    }
  }
  void insert(Instruction store) {
    kernel_.instructions.insert(kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place_),
                                std::move(store));
  }

  void add(Instruction store) {
    NameGenerator names = make_name_generator(kernel_);
    const auto copy = [&](const std::string& iname) {
      return names.make(fmt::format("{}_{}", iname, array_));
    };
    Temporary stored = temporary();
    stored.address_space = AddressSpace::global;
    for (const std::string& each : inames_) {
      stored.shape.push_back(end_of_loop(kernel_, each));
    }
    NewNames copies;
    for (const NameSet& all : {NameSet(inames_.begin(), inames_.end()), reduction_inames(value_)}) {
      for (const std::string& each : all) {
        if (kept_.count(each) == 0) {
          copies[each] = copy(each);
        }
      }
    }
    kernel_.temporaries.push_back(std::move(stored));
    read_values();
    kernel_ = with_copied_inames(std::move(kernel_), copies, kept_);
    store = map_expressions(std::move(store),
                            [&](const Expr& expr) { return rename_all(expr, copies); });
    NameSet within;
    for (const std::string& each : store.within_inames) {
      within.insert(new_name(copies, each));
    }
    store.within_inames = within;
    const std::vector<std::string> later = kept_.empty() ? std::vector<std::string>() : users_on();
    insert(std::move(store));
    if (!later.empty()) {
      duplicate_loops_of(later, copy);
    }
  }

  /// Those that share loops with the users, from the first of these on.
  [[nodiscard]] std::vector<std::string> users_on() const {
    const NameSet loops = loops_of_users();
    std::vector<std::string> ids;
    for (std::size_t i = users_.front(); i < kernel_.instructions.size(); ++i) {
      if (shares_loops(i, loops)) {
        ids.push_back(kernel_.instructions[i].id);
      }
    }
    return ids;
  }

  template <class Copy>
  void duplicate_loops_of(const std::vector<std::string>& ids, const Copy& copy) {
    NameSet own;
    NameSet others;
    for (const Instruction& each : kernel_.instructions) {
      const bool is_own = std::find(ids.begin(), ids.end(), each.id) != ids.end();
      (is_own ? own : others).insert(each.within_inames.begin(), each.within_inames.end());
    }
    std::vector<std::string> shared;
    std::vector<std::string> copies;
    for (const std::string& each : own) {
      if (others.count(each) != 0) {
        shared.push_back(each);
        copies.push_back(copy(each));
      }
    }
    if (!shared.empty()) {
      kernel_ = duplicate_inames(
          std::move(kernel_), shared,
          {.within = fmt::format("id:{}", fmt::join(ids, " or id:")), .new_names = copies});
    }
  }

  Kernel kernel_;
  const std::string array_;
  const std::vector<std::string> inames_;
  const StoreOptions options_;
  Expr value_ = 0;
  std::vector<std::size_t> users_{};
  std::vector<std::pair<std::size_t, Assignment>> replaced_{};
  std::size_t place_ = 0;  ///< of the new statement
  NameSet kept_{};         ///< inames that it shares with what it depends on
};

}  // namespace

Kernel store_value(Kernel kernel, std::string_view array, const std::vector<std::string>& inames,
                   const StoreOptions& options) {
  if (const auto why = why_not_new_name(kernel, array); why || array.empty() || inames.empty()) {
    refuse("loopy.store_value.name_taken",
           why.value_or("a stored value takes a name and inames, store_value(s, [i, j])"));
  }
  const RecordedStep step(kernel);
  kernel = make_reduction_inames_unique(expand_subst(std::move(kernel)));
  for (const std::string& each : inames) {
    if (!is_iname(kernel, each) || std::count(inames.begin(), inames.end(), each) > 1) {
      refuse("loopy.store_value.unknown_iname", is_iname(kernel, each)
                                                    ? fmt::format("'{}' is named twice", each)
                                                    : unknown_iname_text(kernel, each));
    }
  }
  kernel = Storer(std::move(kernel), std::string(array), inames, options).run();
  step.record(kernel, "store_value", {std::string(array), list_text(inames)},
              {{"in_loops", options.in_loops ? "yes" : ""}});
  return kernel;
}

}  // namespace rtcg::loopy
