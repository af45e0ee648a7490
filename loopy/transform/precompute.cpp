#include "rtcg/loopy/transform/precompute.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/analyze/footprint.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
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

bool is_block_iname(const Kernel& kernel, const std::string& iname) {
  const InameTag tag = tag_of(kernel, iname);
  return tag.kind == AxisKind::block || tag.kind == AxisKind::block_auto;
}

bool has_block_inames(const Kernel& kernel) {
  return std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                     [](const auto& each) { return each.second.kind == AxisKind::block; });
}

/// What is computed ahead, be it a rule or an array.
struct Source {
  std::string name;
  std::string temporary_base;
  /// The indices of an access or a call, where `expr` is one that may be replaced.
  std::function<const std::vector<Expr>*(const Expr& expr)> indices;
  /// The value at some indices; `box` are the constraints of where they lie.
  std::function<Expr(const std::vector<Expr>& indices, const ConstraintSet& box)> value;
  const char* nothing_replaced;  // codes
  const char* input_changes;
};

class Stager {
 public:
  Stager(Kernel kernel, const Source& source, const std::vector<std::string>& sweep,
         const PrecomputeOptions& options)
      : kernel_(std::move(kernel)), source_(source), sweep_(as_set(sweep)), options_(options) {}

  Kernel run() {
    find_accesses();
    box_ = footprint(kernel_, source_.name, accesses_, sweep_);
    for (const FootprintAxis& axis : box_) {
      is_kept_.push_back(axis.length_elements > 1);
    }
    NameGenerator names = make_name_generator(kernel_);
    temporary_ = options_.temporary_name.empty() ? names.make(source_.temporary_base)
                                                 : options_.temporary_name;
    replace_accesses();
    add_store(names);
    return std::move(kernel_);
  }

 private:
  void find_accesses() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Assignment* assignment = get_if<Assignment>(kernel_.instructions[i]);
      if (assignment == nullptr) {
        continue;
      }
      bool found = false;
      const auto look = [&](const Expr& expr) {
        walk(expr, [&](const Expr& part) {
          const std::vector<Expr>* indices = source_.indices(part);
          if (indices != nullptr && mentions_all(*indices, sweep_)) {
            accesses_.push_back(*indices);
            found = true;
          }
          return true;
        });
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
      throw InvalidInput(source_.nothing_replaced,
                         fmt::format("no use of '{}' mentions all of {}: nothing would be replaced",
                                     source_.name, fmt::join(sweep_, ", ")));
    }
  }

  void replace_accesses() {
    const auto replaced = [&](const Expr& expr) {
      return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
        const std::vector<Expr>* indices = source_.indices(part);
        if (indices == nullptr || !mentions_all(*indices, sweep_)) {
          return std::nullopt;
        }
        std::vector<Expr> kept;
        for (std::size_t axis = 0; axis < indices->size(); ++axis) {
          if (is_kept_[axis]) {
            kept.push_back(simplify_index((*indices)[axis] - to_expr(box_[axis].base)));
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
  }

  /// What the box makes: inames over it, the temporary, and where its elements come from.
  struct Filling {
    Domain domain{};
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
      result.domain.inames.push_back(iname);
      result.domain.constraints.add_nonnegative(Affine(iname));
      result.domain.constraints.add_nonnegative(Affine(length - 1) - Affine(iname));
      result.source_indices.push_back(to_expr(box_[axis].base + Affine(iname)));
      result.target_indices.push_back(Name{iname});
      result.temporary.shape.emplace_back(length);
    }
    return result;
  }

  void add_store(NameGenerator& names) {
    Filling filling = make_filling(names);
    ConstraintSet here = constraints_of(kernel_, filling.outer_inames);
    here.add(filling.domain.constraints);
    const Expr value = source_.value(filling.source_indices, here);
    const Expr target = filling.target_indices.empty()
                            ? Expr(Name{temporary_})
                            : Expr(Access{temporary_, filling.target_indices});
    Instruction store;
    store.id = names.make("fill_" + temporary_);
    store.kind = Assignment{{target}, value};
    store.is_fill = true;
    NameSet within = std::move(filling.outer_inames);
    for (const std::string& each : free_names(value)) {
      if (is_iname(kernel_, each)) {
        within.insert(each);  // of a rule's body
      }
    }
    within.merge(inames_of_changes(store));
    within = with_parent_inames(kernel_, within);
    tag_inames_of(filling.domain, within);
    store.within_inames = within;
    store.within_inames.insert(filling.domain.inames.begin(), filling.domain.inames.end());
    if (!filling.domain.inames.empty()) {
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

  /// The loops that both statements are within; a user is within its reductions for what is filled
  /// there.
  [[nodiscard]] static NameSet shared_inames(const Instruction& writer, const Instruction& user) {
    NameSet shared = writer.is_fill ? used_inames(user) : user.within_inames;
    std::erase_if(shared, [&](const auto& each) { return writer.within_inames.count(each) == 0; });
    return shared;
  }

  /// The loops in which a user finds what the store reads changed: the store is within them, too.
  [[nodiscard]] NameSet inames_of_changes(const Instruction& store) const {
    const NameSet reads = read_variables(kernel_, store);
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
            std::any_of(sweep_.begin(), sweep_.end(),
                        [&](const std::string& iname) { return shared.count(iname) != 0; });
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

  /// As early as what it reads allows, behind other such statements: neighbours share a barrier.
  [[nodiscard]] std::size_t place_of(const Instruction& store) const {
    const NameSet reads = read_variables(kernel_, store);
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
  const NameSet sweep_;
  const PrecomputeOptions& options_;
  std::vector<std::vector<Expr>> accesses_;
  std::vector<std::size_t> users_;
  std::vector<FootprintAxis> box_;
  std::vector<bool> is_kept_;
  std::string temporary_;
};

/// The array, and the indices that an access must have; none where any will do.
Access parse_pattern(std::string_view text) {
  if (text.find('[') == std::string_view::npos) {
    return {std::string(text), {}};
  }
  const Expr pattern = parse_expr(text);
  const Access* access = get_if<Access>(pattern);
  if (access == nullptr) {
    return {std::string(text), {}};
  }
  Access result = *access;
  for (Expr& index : result.indices) {
    index = simplify_index(index);
  }
  return result;
}

std::string without_tag_sign(std::string name) {
  std::replace(name.begin(), name.end(), '$', '_');
  return name;
}

bool fits(const Access& pattern, const Access& access, bool any_offset) {
  if (pattern.array != access.array || pattern.indices.empty()) {
    return pattern.array == access.array;
  }
  const auto is_alike = [&](const Expr& left, const Expr& right) {
    const std::optional<Affine> distance =
        any_offset ? to_affine(left - right) : std::optional<Affine>();
    return distance ? distance->is_constant() : left == simplify_index(right);
  };
  return std::equal(pattern.indices.begin(), pattern.indices.end(), access.indices.begin(),
                    access.indices.end(), is_alike);
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
  for (const std::string& each : stated) {
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

}  // namespace

Kernel precompute(Kernel kernel, std::string_view rule, const std::vector<std::string>& sweep,
                  const PrecomputeOptions& options) {
  if (find_rule(kernel, rule) == nullptr) {
    throw InvalidInput("loopy.precompute.not_possible",
                       fmt::format("kernel '{}' has no substitution rule '{}'", kernel.name, rule));
  }
  auto reason = why_not_arguments(kernel, sweep, options);
  if (options.vector_width != 0 || options.any_offset) {
    reason = "vector_width and any_offset are for arrays, not for rules";
  }
  if (reason) {
    throw InvalidInput("loopy.precompute.not_possible", *reason);
  }
  const Kernel before = kernel;
  const SubstitutionRule definition = *find_rule(before, rule);
  Source source;
  source.name = definition.name;
  source.temporary_base = without_tag_sign(definition.name) + "_store";
  source.nothing_replaced = "loopy.precompute.nothing_replaced";
  source.input_changes = "loopy.precompute.input_changes";
  source.indices = [&](const Expr& expr) -> const std::vector<Expr>* {
    const Call* call = get_if<Call>(expr);
    return call != nullptr && call->function == definition.name &&
                   call->arguments.size() == definition.parameters.size()
               ? &call->arguments
               : nullptr;
  };
  source.value = [&](const std::vector<Expr>& indices, const ConstraintSet&) {
    return expand_rules(before, Call{definition.name, indices});
  };
  // calls within other rules become visible
  std::vector<std::string> others;
  for (const SubstitutionRule& each : kernel.rules) {
    if (each.name != definition.name && called_functions(each.body).count(definition.name) != 0) {
      others.push_back(each.name);
    }
  }
  const RecordedStep step(kernel);
  for (const std::string& other : others) {
    kernel = expand_subst(std::move(kernel), other);
  }
  kernel = Stager(std::move(kernel), source, sweep, options).run();
  refuse_reordering(before, kernel, "loopy.precompute.reorders_loops");
  step.record(kernel, "precompute", {std::string(rule), fmt::format("{}", fmt::join(sweep, ":"))},
              recorded_precompute_options(options));
  return kernel;
}

Kernel add_prefetch(Kernel kernel, std::string_view array, const std::vector<std::string>& sweep,
                    const PrecomputeOptions& options) {
  const Access pattern = parse_pattern(array);
  const std::string plain = pattern.array.substr(0, pattern.array.find('$'));
  const bool is_tagged = plain.size() != pattern.array.size();
  const Argument* found = is_tagged && find_rule(kernel, pattern.array) == nullptr
                              ? nullptr
                              : find_argument(kernel, plain);
  if (found == nullptr || !found->is_array) {
    throw InvalidInput(
        "loopy.add_prefetch.not_possible",
        fmt::format("kernel '{}' has no array argument '{}'", kernel.name, pattern.array));
  }
  if (const auto reason = why_not_arguments(kernel, sweep, options)) {
    throw InvalidInput("loopy.add_prefetch.not_possible", *reason);
  }
  const Argument argument = *found;
  const Kernel before = kernel;
  Source source;
  source.name = pattern.array;
  source.temporary_base = without_tag_sign(pattern.array) + "_fetch";
  source.nothing_replaced = "loopy.add_prefetch.nothing_replaced";
  source.input_changes = "loopy.add_prefetch.input_changes";
  source.indices = [&](const Expr& expr) -> const std::vector<Expr>* {
    if (const Call* use = is_tagged ? get_if<Call>(expr) : nullptr) {
      return fits(pattern, {use->function, use->arguments}, options.any_offset) ? &use->arguments
                                                                                : nullptr;
    }
    const Access* access = get_if<Access>(expr);
    return access != nullptr && fits(pattern, *access, options.any_offset) ? &access->indices
                                                                           : nullptr;
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

}  // namespace rtcg::loopy
