#include "rtcg/loopy/transform/precompute.h"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/analyze/footprint.h"
#include "rtcg/loopy/analyze/image.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/split_outside_brackets.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/guarded_reads.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_uses.h"
#include "rtcg/loopy/transform/stage_reads.h"
#include "rtcg/loopy/transform/vector_copies.h"

namespace rtcg::loopy {
namespace {

NameSet as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

bool mentions_all(const std::vector<Expr>& exprs, const NameSet& names) {
  NameSet found;
  for (const Expr& each : exprs) {
    found.merge(free_names(each));
  }
  return std::includes(found.begin(), found.end(), names.begin(), names.end());
}

bool mentions_any(const std::vector<Expr>& exprs, const NameSet& names) {
  return std::any_of(exprs.begin(), exprs.end(), [&](const Expr& each) {
    const NameSet found = free_names(each);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return found.count(name) != 0; });
  });
}

bool is_block_iname(const Kernel& kernel, const std::string& iname) {
  const InameTag tag = tag_of(kernel, iname);
  return tag.kind == AxisKind::block || tag.kind == AxisKind::block_auto;
}

bool has_block_inames(const Kernel& kernel) {
  return std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                     [](const auto& each) { return each.second.kind == AxisKind::block; });
}

/// Which uses are replaced: `a`, `a[i + 1, j]`, `a[:, j]`, `f(:)`.
struct Pattern {
  std::string name;
  /// What the indices are; none for `:`. Empty: any.
  std::vector<std::optional<Expr>> indices{};
};

/// What is computed ahead, be it a rule or an array.
struct Source {
  std::string name;
  std::string temporary_base;
  Pattern pattern;
  /// The lengths of the axes of `:`, of an array; a rule has none: there `:` sweeps the inames of
  /// the argument.
  std::vector<std::int64_t> lengths_elements{};
  UseReplacer::FindUse find_use;
  /// Which uses are replaced, in place of the pattern and what they mention.
  std::function<bool(const std::vector<Expr>& indices)> is_wanted{};
  /// An axis that the temporary keeps even if its length is 1.
  std::optional<std::size_t> kept_axis{};
  /// The value at some indices; `box` has their constraints.
  std::function<Expr(const std::vector<Expr>& indices, const ConstraintSet& box)> value;
  const char* nothing_replaced;  // codes
  const char* input_changes;
  const char* not_possible;
};

class Stager {
 public:
  Stager(Kernel kernel, const Source& source, const std::vector<std::string>& sweep,
         const PrecomputeOptions& options)
      : kernel_(std::move(kernel)), source_(source), sweep_(as_set(sweep)), options_(options) {}

  Kernel run() {
    UseReplacer uses(kernel_, source_.find_use);
    find_accesses(uses);
    find_box();
    for (std::size_t axis = 0; axis < box_.size(); ++axis) {
      is_kept_.push_back(box_[axis].length_elements > 1 || source_.kept_axis == axis);
    }
    find_own_iterations();
    NameGenerator names = make_name_generator(kernel_);
    temporary_ = options_.temporary_name.empty() ? names.make(source_.temporary_base)
                                                 : options_.temporary_name;
    uses.reserve(temporary_);
    replace_accesses(uses);
    names = make_name_generator(kernel_);
    names.reserve(temporary_);
    add_store(names);
    return std::move(kernel_);
  }

  [[nodiscard]] const std::vector<FootprintAxis>& box() const { return box_; }

 private:
  [[nodiscard]] bool is_slice(std::size_t axis) const {
    const auto& indices = source_.pattern.indices;
    return axis < indices.size() && !indices[axis];
  }

  [[nodiscard]] bool fits(const std::vector<Expr>& found) const {
    if (source_.is_wanted) {
      return source_.is_wanted(found);
    }
    const auto is_alike = [&](const std::optional<Expr>& wanted, const Expr& index) {
      const std::optional<Affine> distance =
          wanted && options_.any_offset ? to_affine(*wanted - index) : std::optional<Affine>();
      return !wanted || (distance ? distance->is_constant() : *wanted == simplify_index(index));
    };
    const auto& indices = source_.pattern.indices;
    return (indices.empty() ||
            std::equal(indices.begin(), indices.end(), found.begin(), found.end(), is_alike)) &&
           (options_.any_sweep ? mentions_any(found, sweep_) : mentions_all(found, sweep_));
  }

  void find_accesses(UseReplacer& uses) {
    std::optional<Refusal> refusal;
    const NameSet chosen = matching_ids(kernel_, options_.within, refusal);
    throw_if_refused(refusal);
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Assignment* assignment = get_if<Assignment>(kernel_.instructions[i]);
      if (assignment == nullptr || chosen.count(kernel_.instructions[i].id) == 0) {
        continue;
      }
      bool found = false;
      const auto look = [&](const Expr& expr) {
        static_cast<void>(
            uses.replaced(expr, [&](const std::vector<Expr>&, const std::vector<Expr>& values) {
              if (fits(values)) {
                accesses_.push_back(values);
                found = true;
              }
              return std::optional<Expr>();
            }));
      };
      look(assignment->value);
      for (const Expr& target : assignment->targets) {
        for_each_child(target, look);
      }
      if (found) {
        users_.push_back(i);
      }
    }
    if (accesses_.empty()) {
      const std::string where =
          options_.within.empty() ? "" : fmt::format(" in '{}'", options_.within);
      throw InvalidInput(
          source_.nothing_replaced,
          sweep_.empty()
              ? fmt::format("'{}' is not used{}{}: nothing would be replaced", source_.name, where,
                            source_.pattern.indices.empty() ? "" : " with such indices")
              : fmt::format("no use of '{}'{} mentions {} of {}: nothing would be "
                            "replaced",
                            source_.name, where, options_.any_sweep ? "any" : "all",
                            fmt::join(sweep_, ", ")));
    }
  }

  void find_box() {
    const bool is_array = !source_.lengths_elements.empty();
    std::vector<std::vector<Expr>> accesses = accesses_;
    for (std::vector<Expr>& indices : accesses) {
      for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        if (!is_slice(axis)) {
          continue;
        }
        for (const std::string& name : free_names(indices[axis])) {
          if (!is_array && is_iname(kernel_, name)) {
            sweep_.insert(name);
          }
        }
        indices[axis] = is_array ? Expr(0) : indices[axis];
      }
    }
    box_ = footprint(kernel_, source_.name, accesses, sweep_);
    for (std::size_t axis = 0; axis < box_.size(); ++axis) {
      if (is_array && is_slice(axis)) {
        box_[axis] = {Affine(0), source_.lengths_elements[axis]};
      }
    }
  }

  /// Shared inames whose iterations use only what they fill themselves.
  void find_own_iterations() {
    std::size_t number = 0;
    for (std::size_t axis = 0; axis < box_.size() && number < options_.inames.size(); ++axis) {
      if (!is_kept_[axis]) {
        continue;
      }
      const std::string& iname = options_.inames[number++];
      const bool is_own =
          std::all_of(accesses_.begin(), accesses_.end(),
                      [&](const auto& indices) { return indices[axis] == Expr(Name{iname}); }) &&
          std::all_of(users_.begin(), users_.end(), [&](std::size_t user) {
            return kernel_.instructions[user].within_inames.count(iname) != 0;
          });
      if (is_own) {
        own_iterations_.insert(iname);
      }
    }
  }

  void replace_accesses(UseReplacer& uses) {
    NameSet outer;
    for (const FootprintAxis& axis : box_) {
      for (const Affine::Term& term : axis.base.terms()) {
        outer.insert(term.name);
      }
    }
    uses.expand_rules_that_hide(std::move(outer));
    const std::vector<std::vector<Expr>>& wanted = accesses_;
    const auto replaced = [&](const Expr& expr) {
      return uses.replaced(
          expr,
          [&](const std::vector<Expr>& indices,
              const std::vector<Expr>& values) -> std::optional<Expr> {
            if (std::find(wanted.begin(), wanted.end(), values) == wanted.end()) {
              return std::nullopt;
            }
            std::vector<Expr> kept;
            for (std::size_t axis = 0; axis < indices.size(); ++axis) {
              if (is_kept_[axis]) {
                kept.push_back(simplify_index(indices[axis] - to_expr(box_[axis].base)));
              }
            }
            return kept.empty() ? Expr(Name{temporary_}) : Expr(Access{temporary_, kept});
          });
    };
    for (const std::size_t user : users_) {
      Assignment assignment = *get_if<Assignment>(kernel_.instructions[user]);
      assignment.value = replaced(assignment.value);
      for (Expr& target : assignment.targets) {
        target = map_children(target, replaced);  // what is written stays
      }
      kernel_.instructions[user].kind = std::move(assignment);
    }
    kernel_ = uses.with_new_rules(std::move(kernel_));
  }

  /// What the box makes: inames over it, the temporary, and where its elements come from.
  struct Filling {
    Domain domain{};  // of the inames that are new
    NameSet inames{};
    ConstraintSet range{};
    Temporary temporary{};
    std::vector<Expr> source_indices{};
    std::vector<Expr> target_indices{};
    NameSet outer_inames{};
  };

  Filling make_filling(NameGenerator& names) const {
    Filling result;
    result.temporary.name = temporary_;
    result.temporary.address_space = options_.address_space;
    result.outer_inames = as_set(options_.outer_inames);
    if (options_.address_space != AddressSpace::global) {  // all others end with their launch
      result.outer_inames.merge(host_loops_around(kernel_, users_));
    }
    for (std::size_t axis = 0; axis < box_.size(); ++axis) {
      for (const Affine::Term& term : box_[axis].base.terms()) {
        if (is_iname(kernel_, term.name)) {
          result.outer_inames.insert(term.name);
        }
      }
      if (!is_kept_[axis]) {
        result.source_indices.push_back(to_expr(box_[axis].base));
        continue;
      }
      const std::size_t number = result.target_indices.size();
      const std::string iname = number < options_.inames.size()
                                    ? options_.inames[number]
                                    : names.make(fmt::format("{}_{}", temporary_, number));
      const std::int64_t length = box_[axis].length_elements;
      result.inames.insert(iname);
      if (!is_iname(kernel_, iname)) {
        result.domain.inames.push_back(iname);
      } else if (own_iterations_.count(iname) == 0) {
        check_shared_iname(iname, length);
      }
      result.range.add_nonnegative(Affine(iname));
      result.range.add_nonnegative(Affine(length - 1) - Affine(iname));
      result.source_indices.push_back(to_expr(box_[axis].base + Affine(iname)));
      result.target_indices.push_back(Name{iname});
      result.temporary.shape.emplace_back(length);
    }
    return result;
  }

  void add_store(NameGenerator& names) {
    Filling filling = make_filling(names);
    ConstraintSet here = constraints_of(kernel_, filling.outer_inames);
    here.add(filling.range);
    const Expr value = source_.value(filling.source_indices, here);
    const Expr target = filling.target_indices.empty()
                            ? Expr(Name{temporary_})
                            : Expr(Access{temporary_, filling.target_indices});
    Instruction store;
    store.id = names.make("fill_" + temporary_);
    store.kind = Assignment{{target}, value};
    store.is_fill = true;
    NameSet within = std::move(filling.outer_inames);
    for (const std::string& each : free_names(expand_rules(kernel_, value))) {
      if (is_iname(kernel_, each)) {
        within.insert(each);  // of a rule's body
      }
    }
    for (const std::string& iname : filling.inames) {
      within.erase(iname);
    }
    within.merge(inames_of_changes(store));
    check_shared_loops(filling.inames, store);
    within = with_parent_inames(kernel_, within);
    tag_inames_of(filling.domain, within);
    store.within_inames = within;
    store.within_inames.insert(filling.inames.begin(), filling.inames.end());
    if (!filling.domain.inames.empty()) {
      for (const Constraint& each : filling.range.constraints()) {
        for (const std::string& iname : filling.domain.inames) {
          if (each.expr.coefficient(iname) != 0) {
            filling.domain.constraints.add(each);
          }
        }
      }
      kernel_.domains.push_back(std::move(filling.domain));
    }
    kernel_.temporaries.push_back(std::move(filling.temporary));
    for (const std::size_t user : users_) {
      kernel_.instructions[user].depends_on.insert(store.id);
    }
    const std::size_t place = place_of(store);
    kernel_.instructions.insert(kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place),
                                std::move(store));
  }

  [[nodiscard]] Instruction expanded(const Instruction& instruction) const {
    return kernel_.rules.empty() ? instruction
                                 : map_expressions(instruction, [&](const Expr& expr) {
                                     return expand_rules(kernel_, expr);
                                   });
  }

  /// An iname that is there already has to take the same values.
  void check_shared_iname(const std::string& iname, std::int64_t length) const {
    const Domain& home = *find_home_domain(kernel_, iname);
    const auto [first, last] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
    const bool is_apart =
        std::all_of(home.constraints.constraints().begin(), home.constraints.constraints().end(),
                    [&](const Constraint& each) {
                      return each.expr.coefficient(iname) == 0 || each.expr.terms().size() == 1;
                    });
    const bool takes_all =
        is_apart &&
        std::none_of(home.constraints.congruences().begin(), home.constraints.congruences().end(),
                     [&](const Congruence& each) { return each.expr.coefficient(iname) != 0; });
    if (!takes_all || first != 0 || last != length - 1) {
      throw InvalidInput(source_.not_possible,
                         fmt::format("'{}' is an iname already, and does not take the values from "
                                     "0 to {} that '{}' needs: give a new name",
                                     iname, length - 1, source_.name));
    }
  }

  /// Loops that are shared: no statement may need in one iteration what another one fills.
  void check_shared_loops(const NameSet& inames, const Instruction& store) const {
    const NameSet reads = read_variables(kernel_, expanded(store));
    for (const std::string& iname : inames) {
      if (!is_iname(kernel_, iname) || own_iterations_.count(iname) != 0) {
        continue;
      }
      const Instruction* other = nullptr;
      for (const Instruction& each : kernel_.instructions) {
        const NameSet written = written_variables(each);
        const bool feeds =
            std::any_of(written.begin(), written.end(),
                        [&](const std::string& variable) { return reads.count(variable) != 0; });
        if (feeds && each.within_inames.count(iname) != 0) {
          other = &each;
        }
      }
      for (const std::size_t user : users_) {
        if (used_inames(expanded(kernel_.instructions[user])).count(iname) != 0) {
          other = &kernel_.instructions[user];
        }
      }
      if (other != nullptr && !tag_of(kernel_, iname).is_parallel()) {
        throw InvalidInput(
            source_.not_possible,
            fmt::format("'{}' is a loop of statement '{}', which would meet '{}' half filled: "
                        "give a new name",
                        iname, other->id, temporary_));
      }
    }
  }

  /// The loops that both statements are within; a user is within its reductions for what is filled
  /// there.
  [[nodiscard]] NameSet shared_inames(const Instruction& writer, const Instruction& user) const {
    NameSet shared = writer.is_fill ? used_inames(expanded(user)) : user.within_inames;
    std::erase_if(shared, [&](const auto& each) { return writer.within_inames.count(each) == 0; });
    return shared;
  }

  /// The loops in which a user finds what the store reads changed: the store is within them, too.
  [[nodiscard]] NameSet inames_of_changes(const Instruction& store) const {
    const NameSet reads = read_variables(kernel_, expanded(store));
    NameSet result;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& writer = kernel_.instructions[i];
      for (const std::string& variable : written_variables(writer)) {
        if (reads.count(variable) == 0) {
          continue;
        }
        NameSet shared;
        for (const std::size_t user : users_) {
          shared.merge(shared_inames(writer, kernel_.instructions[user]));
        }
        const bool is_swept =
            std::any_of(sweep_.begin(), sweep_.end(), [&](const std::string& iname) {
              return shared.count(iname) != 0 && own_iterations_.count(iname) == 0;
            });
        if (is_swept || (users_.front() <= i && i < users_.back())) {
          throw InvalidInput(
              source_.input_changes,
              fmt::format("'{}' cannot be read ahead for '{}': statement '{}' changes it between "
                          "its uses",
                          variable, source_.name, writer.id));
        }
        result.merge(shared);
      }
    }
    return result;
  }

  /// As early as what it reads allows, after other such statements: neighbours share a barrier.
  [[nodiscard]] std::size_t place_of(const Instruction& store) const {
    const NameSet reads = read_variables(kernel_, expanded(store));
    std::size_t place = 0;
    for (std::size_t i = 0; i < users_.front(); ++i) {
      const Instruction& earlier = kernel_.instructions[i];
      const NameSet written = written_variables(earlier);
      const bool feeds = std::any_of(written.begin(), written.end(), [&](const std::string& each) {
        return reads.count(each) != 0;
      });
      if (feeds || is<BarrierInstruction>(earlier) || earlier.is_fill) {
        place = i + 1;
      }
    }
    return place;
  }

  void tag_inames_of(const Domain& domain, const NameSet& within) {
    std::string tag = options_.default_tag;
    if (tag.empty()) {
      const bool differs_by_thread =
          std::any_of(within.begin(), within.end(), [&](const std::string& iname) {
            return is_block_iname(kernel_, iname) || tag_of(kernel_, iname).is_lane();
          });
      tag = has_block_inames(kernel_) && !differs_by_thread ? "l.auto" : "for";
    }
    const InameTag parsed = parse_iname_tag(tag);
    for (const std::string& iname : domain.inames) {
      if (parsed.kind != AxisKind::sequential) {
        kernel_.iname_tags.insert_or_assign(iname, parsed);
      }
    }
  }

  Kernel kernel_;
  const Source& source_;
  NameSet sweep_;
  const PrecomputeOptions& options_;
  std::vector<std::vector<Expr>> accesses_;
  std::vector<std::size_t> users_;
  std::vector<FootprintAxis> box_;
  std::vector<bool> is_kept_;
  NameSet own_iterations_;
  std::string temporary_;
};

/// `a`, `a[i + 1, :]`, `f(:)`: brackets for arrays, parentheses for rules.
Pattern parse_pattern(std::string_view text, char open) {
  const std::size_t begin = text.find(open);
  if (begin == std::string_view::npos || text.back() != (open == '[' ? ']' : ')')) {
    return {std::string(text)};
  }
  Pattern pattern{std::string(trimmed(text.substr(0, begin)))};
  for (const std::string& index :
       split_outside_brackets(text.substr(begin + 1, text.size() - begin - 2), ',')) {
    pattern.indices.push_back(index == ":" ? std::nullopt
                                           : std::optional(simplify_index(parse_expr(index))));
  }
  return pattern;
}

std::string without_tag_sign(std::string name) {
  std::replace(name.begin(), name.end(), '$', '_');
  return name;
}

std::optional<std::string> why_not_inames(const Kernel& kernel,
                                          const std::vector<std::string>& inames) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return unknown_iname_text(kernel, iname);
    }
  }
  return std::nullopt;
}

/// What of the arguments alone does not fit.
std::optional<std::string> why_not_arguments(const Kernel& kernel,
                                             const std::vector<std::string>& sweep,
                                             const PrecomputeOptions& options) {
  auto reason = why_not_inames(kernel, sweep);
  reason = reason ? reason : why_not_inames(kernel, options.outer_inames);
  if (reason) {
    return reason;
  }
  NameGenerator names = make_name_generator(kernel);
  std::vector<std::string> stated = options.inames;
  if (!options.temporary_name.empty()) {
    stated.push_back(options.temporary_name);
  }
  NameSet shared;
  for (const std::string& each : stated) {
    if (is_iname(kernel, each) && each != options.temporary_name && shared.insert(each).second) {
      continue;
    }
    if (!is_identifier(each) || !names.reserve(each)) {
      return fmt::format("'{}' cannot be the name of something new: it is taken, or no name", each);
    }
  }
  return std::nullopt;
}

std::map<std::string, std::string> recorded_precompute_options(const PrecomputeOptions& options) {
  std::map<std::string, std::string> recorded;
  const auto note = [&](const char* option, const std::string& value) {
    recorded.emplace(option, value);
  };
  note("default_tag", options.default_tag);
  note("inames", fmt::format("{}", fmt::join(options.inames, ":")));
  note("temporary_name", options.temporary_name);
  note("outer_inames", fmt::format("{}", fmt::join(options.outer_inames, ":")));
  note("vector_width", options.vector_width == 0 ? "" : std::to_string(options.vector_width));
  note("any_offset", options.any_offset ? "yes" : "");
  note("any_sweep", options.any_sweep ? "yes" : "");
  note("within", options.within);
  switch (options.address_space) {
    case AddressSpace::private_:
      note("address_space", "private");
      break;
    case AddressSpace::local:
      note("address_space", "local");
      break;
    case AddressSpace::global:
      note("address_space", "global");
      break;
    default:
      break;
  }
  return recorded;
}

/// The array that is fetched: an argument, or a temporary as one.
std::optional<Argument> find_array(const Kernel& kernel, std::string_view name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    return argument->is_array ? std::optional(*argument) : std::nullopt;
  }
  const Temporary* temporary = find_temporary(kernel, name);
  if (temporary == nullptr || temporary->shape.empty()) {
    return std::nullopt;
  }
  Argument array;
  array.name = temporary->name;
  array.type = temporary->type;
  array.is_array = true;
  array.shape = temporary->shape;
  return array;
}

}  // namespace

Kernel precompute(Kernel kernel, std::string_view rule, const std::vector<std::string>& sweep,
                  const PrecomputeOptions& options) {
  Source source;
  source.pattern = parse_pattern(rule, '(');
  source.name = source.pattern.name;
  if (find_rule(kernel, source.name) == nullptr) {
    throw InvalidInput(
        "loopy.precompute.not_possible",
        fmt::format("kernel '{}' has no substitution rule '{}'", kernel.name, source.name));
  }
  auto reason = why_not_arguments(kernel, sweep, options);
  if (options.vector_width != 0 || options.any_offset) {
    reason = "vector_width and any_offset are for arrays, not for rules";
  }
  const Kernel before = kernel;
  const SubstitutionRule definition = *find_rule(before, source.name);
  if (!source.pattern.indices.empty() &&
      source.pattern.indices.size() != definition.parameters.size()) {
    reason = fmt::format("rule '{}' takes {} arguments, not {}", source.name,
                         definition.parameters.size(), source.pattern.indices.size());
  }
  if (reason) {
    throw InvalidInput("loopy.precompute.not_possible", *reason);
  }
  source.temporary_base = without_tag_sign(definition.name) + "_store";
  source.nothing_replaced = "loopy.precompute.nothing_replaced";
  source.input_changes = "loopy.precompute.input_changes";
  source.not_possible = "loopy.precompute.not_possible";
  const std::vector<Expr> none;
  source.find_use = [&](const Expr& expr) -> const std::vector<Expr>* {
    const Name* name = definition.parameters.empty() ? get_if<Name>(expr) : nullptr;
    if (name != nullptr && name->name == definition.name) {
      return &none;
    }
    const Call* call = get_if<Call>(expr);
    return call != nullptr && call->function == definition.name &&
                   call->arguments.size() == definition.parameters.size()
               ? &call->arguments
               : nullptr;
  };
  source.value = [&](const std::vector<Expr>& indices, const ConstraintSet& here) {
    Substitution values;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      values.emplace(definition.parameters[i], indices[i]);
    }
    return with_guarded_reads(before, substitute(definition.body, values), here);
  };
  const RecordedStep step(kernel);
  kernel = Stager(std::move(kernel), source, sweep, options).run();
  if (const Access* element = get_if<Access>(definition.body)) {
    const std::optional<Argument> copied = find_array(before, element->array);
    kernel.temporaries.back().type = copied ? copied->type : std::nullopt;
  }
  refuse_reordering(before, kernel, "loopy.precompute.reorders_loops");
  step.record(kernel, "precompute", {std::string(rule), fmt::format("{}", fmt::join(sweep, ":"))},
              recorded_precompute_options(options));
  return kernel;
}

namespace {

/// Elements outside of an image have values, which a tile would lack.
void refuse_image(const Kernel& kernel, const std::string& array) {
  if (find_image(kernel, array) != nullptr) {
    throw InvalidInput("loopy.add_prefetch.image",
                       fmt::format("'{}' of kernel '{}' is an image, whose reads the device's "
                                   "texture cache serves: read it as it is, or precompute a rule "
                                   "that reads it",
                                   array, kernel.name));
  }
}

std::optional<std::string> why_not_slices(const Argument& array, const Pattern& pattern) {
  for (std::size_t axis = 0; axis < pattern.indices.size(); ++axis) {
    if (pattern.indices.size() != array.shape.size()) {
      return fmt::format("'{}' has {} axes, not {}", array.name, array.shape.size(),
                         pattern.indices.size());
    }
    if (!pattern.indices[axis] && !as_integer(array.shape[axis])) {
      return fmt::format(
          "axis {} of '{}' has the length {}, which is not a constant: sweep inames "
          "instead of ':'",
          axis, array.name, to_string(array.shape[axis]));
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel add_prefetch(Kernel kernel, std::string_view array, const std::vector<std::string>& sweep,
                    const PrecomputeOptions& options) {
  Source source;
  source.pattern = parse_pattern(array, '[');
  source.name = source.pattern.name;
  const std::string plain = source.name.substr(0, source.name.find('$'));
  const bool is_tagged = plain.size() != source.name.size();
  const std::optional<Argument> found = is_tagged && find_rule(kernel, source.name) == nullptr
                                            ? std::nullopt
                                            : find_array(kernel, plain);
  if (!found) {
    throw InvalidInput("loopy.add_prefetch.not_possible",
                       fmt::format("kernel '{}' has no array '{}'", kernel.name, source.name));
  }
  refuse_image(kernel, plain);
  auto reason = why_not_arguments(kernel, sweep, options);
  reason = reason ? reason : why_not_slices(*found, source.pattern);
  reason = options.any_sweep ? "any_sweep is for rules, not for arrays" : reason;
  if (reason) {
    throw InvalidInput("loopy.add_prefetch.not_possible", *reason);
  }
  const Argument argument = *found;
  const Kernel before = kernel;
  for (std::size_t axis = 0; axis < source.pattern.indices.size(); ++axis) {
    source.lengths_elements.push_back(as_integer(argument.shape[axis]).value_or(0));
  }
  source.temporary_base = without_tag_sign(source.name) + "_fetch";
  source.nothing_replaced = "loopy.add_prefetch.nothing_replaced";
  source.input_changes = "loopy.add_prefetch.input_changes";
  source.not_possible = "loopy.add_prefetch.not_possible";
  source.find_use = [&](const Expr& expr) -> const std::vector<Expr>* {
    if (const Call* use = is_tagged ? get_if<Call>(expr) : nullptr) {
      return use->function == source.name ? &use->arguments : nullptr;
    }
    const Access* access = get_if<Access>(expr);
    return access != nullptr && access->array == source.name ? &access->indices : nullptr;
  };
  source.value = [&](const std::vector<Expr>& indices, const ConstraintSet& box) {
    return clipped_element(argument, indices, box);
  };
  const RecordedStep step(kernel);
  if (!is_tagged) {
    kernel = expand_tagged_uses(std::move(kernel), argument.name);
  }
  kernel = Stager(std::move(kernel), source, sweep, options).run();
  if (Temporary* temporary = &kernel.temporaries.back(); argument.type) {
    temporary->type = argument.type;
  }
  if (options.vector_width != 0) {
    const std::string temporary = kernel.temporaries.back().name;
    kernel = with_wide_loads(std::move(kernel), temporary, options.vector_width);
  }
  refuse_reordering(before, kernel, "loopy.add_prefetch.reorders_loops");
  step.record(kernel, "add_prefetch",
              {std::string(array), fmt::format("{}", fmt::join(sweep, ":"))},
              recorded_precompute_options(options));
  return kernel;
}

StagedReads stage_reads(Kernel kernel, const ReadsToStage& reads,
                        const std::vector<std::string>& sweep, const PrecomputeOptions& options) {
  const Argument& array = reads.array;
  refuse_image(kernel, array.name);
  Source source;
  source.name = array.name;
  source.pattern.name = array.name;
  source.is_wanted = reads.is_wanted;
  source.kept_axis = reads.kept_axis;
  source.nothing_replaced = "loopy.add_prefetch.nothing_replaced";
  source.input_changes = "loopy.add_prefetch.input_changes";
  source.not_possible = "loopy.add_prefetch.not_possible";
  source.find_use = [&](const Expr& expr) -> const std::vector<Expr>* {
    const Access* access = get_if<Access>(expr);
    return access != nullptr && access->array == array.name ? &access->indices : nullptr;
  };
  source.value = [&](const std::vector<Expr>& indices, const ConstraintSet& box) {
    return clipped_element(array, indices, box);
  };
  Stager stager(std::move(kernel), source, sweep, options);
  StagedReads result{stager.run(), {}, stager.box()};
  Temporary& temporary = result.kernel.temporaries.back();
  temporary.type = array.type;
  result.temporary = temporary.name;
  return result;
}

}  // namespace rtcg::loopy
