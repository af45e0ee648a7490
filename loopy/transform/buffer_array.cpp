#include "rtcg/loopy/transform/buffer_array.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/footprint.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// The accesses to the array: indices that all of them have, and the statements.
struct Use {
  std::vector<Expr> indices{};
  std::size_t first = 0;  ///< statements
  std::size_t last = 0;
  bool is_written = false;
};

NameSet index_inames(const Kernel& kernel, const std::vector<Expr>& indices) {
  NameSet inames;
  for (const Expr& index : indices) {
    for (const std::string& name : free_names(index)) {
      if (is_iname(kernel, name)) {
        inames.insert(name);
      }
    }
  }
  return inames;
}

/// Loops around the copy that run one iteration after the other: statements outside of one come
/// before or after all copies that are made in it.
NameSet loops_around_copy(const Kernel& kernel, const std::string& array,
                          const std::vector<std::string>& inames) {
  NameSet loops;
  for (const ArrayAccess& access : accesses_of(kernel)) {
    const NameSet indexed = index_inames(kernel, access.indices);
    if (access.array == array && access.is_write &&
        std::all_of(inames.begin(), inames.end(),
                    [&](const std::string& each) { return indexed.count(each) != 0; })) {
      loops = indexed;
      break;
    }
  }
  std::erase_if(loops, [&](const std::string& each) {
    return tag_of(kernel, each).kind != AxisKind::sequential ||
           std::find(inames.begin(), inames.end(), each) != inames.end();
  });
  return loops;
}

std::optional<Refusal> find_use(const Kernel& kernel, const std::string& array,
                                const std::vector<std::string>& inames, Use& use) {
  const NameSet around = loops_around_copy(kernel, array, inames);
  bool is_first = true;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    const Instruction& instruction = kernel.instructions[i];
    const NameSet& within = instruction.within_inames;
    if (!touches(kernel, instruction, array) ||
        !std::includes(within.begin(), within.end(), around.begin(), around.end())) {
      continue;
    }
    const auto refuse = [&](const std::string& why) {
      return Refusal{"loopy.buffer_array.different_accesses",
                     fmt::format("statement '{}' {}", instruction.id, why)};
    };
    if (is<RawCode>(instruction)) {
      return refuse(fmt::format("touches '{}' in C text", array));
    }
    use.first = is_first ? i : use.first;
    use.last = i;
    for (const ArrayAccess& access : accesses_of(kernel, instruction)) {
      if (access.array != array) {
        continue;
      }
      if (access.is_linear) {
        return refuse(fmt::format("touches '{}' by its place in memory", array));
      }
      if (!is_first && access.indices != use.indices) {
        return refuse(fmt::format("touches '{}' with other indices than those before it", array));
      }
      use.indices = access.indices;
      use.is_written = use.is_written || access.is_write;
      is_first = false;
    }
  }
  return use.is_written
             ? std::nullopt
             : std::optional(Refusal{"loopy.buffer_array.not_written",
                                     fmt::format("no statement writes '{}': add_prefetch is for "
                                                 "what is only read",
                                                 array)});
}

/// Why a buffer that is not filled might be written back where no statement has written it.
std::optional<std::string> why_not_all_written(const Kernel& kernel, const std::string& array,
                                               const NameSet& indexed, const Use& use) {
  const Instruction& first = kernel.instructions[use.first];
  const auto because = [&](const std::string& why) {
    return fmt::format("statement '{}', the first that touches '{}', {}: let the buffer be filled",
                       first.id, array, why);
  };
  if (get_if<Assignment>(first) == nullptr || get_if<Assignment>(first)->is_atomic ||
      written_variables(first).count(array) == 0) {
    return because("does not write it plainly");
  }
  if (read_variables(kernel, first).count(array) != 0) {
    return because("reads it");
  }
  if (!first.predicates.empty()) {
    return because("has a condition");
  }
  if (first.within_inames != with_parent_inames(kernel, indexed)) {
    return because("runs in loops that its indices do not mention, which may be empty");
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const std::string& array,
                                    const std::vector<std::string>& inames,
                                    const BufferOptions& options, Use& use) {
  const Argument* argument = find_argument(kernel, array);
  if (argument == nullptr || !argument->is_array) {
    return Refusal{"loopy.buffer_array.unknown_array",
                   fmt::format("kernel '{}' has no array argument '{}'", kernel.name, array)};
  }
  if (std::optional<Refusal> refusal = find_use(kernel, array, inames, use)) {
    return refusal;
  }
  const NameSet indexed = index_inames(kernel, use.indices);
  for (const std::string& iname : inames) {
    if (indexed.count(iname) == 0) {
      return Refusal{"loopy.buffer_array.bad_inames",
                     fmt::format("'{}' is not an iname in the indices of '{}': these are {}", iname,
                                 array, fmt::join(indexed, ", "))};
    }
  }
  for (std::size_t i = use.first; i <= use.last; ++i) {
    const Instruction& instruction = kernel.instructions[i];
    const NameSet& within = instruction.within_inames;
    if (touches(kernel, instruction, array) &&
        !std::includes(within.begin(), within.end(), indexed.begin(), indexed.end())) {
      return Refusal{"loopy.buffer_array.bad_inames",
                     fmt::format("statement '{}' runs through inames of the indices of '{}' in a "
                                 "reduction",
                                 instruction.id, array)};
    }
  }
  if (const auto why_not = why_not_new_name(kernel, options.temporary_name)) {
    return Refusal{"loopy.buffer_array.name_taken", *why_not};
  }
  if (!options.is_filled) {
    if (const auto why_not = why_not_all_written(kernel, array, indexed, use)) {
      return Refusal{"loopy.buffer_array.not_all_written", *why_not};
    }
  }
  return std::nullopt;
}

class Buffering {
 public:
  Buffering(Kernel kernel, std::string array, const std::vector<std::string>& inames,
            const BufferOptions& options, Use use)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        inames_(inames),
        options_(options),
        use_(std::move(use)),
        around_(loops_around_copy(kernel_, array_, inames_)),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    box_ = footprint(kernel_, array_, {use_.indices}, NameSet(inames_.begin(), inames_.end()));
    buffer_ =
        options_.temporary_name.empty() ? names_.make(array_ + "_buffer") : options_.temporary_name;
    add_temporary();
    // both copies first: they ask which inames the statements use
    std::optional<Instruction> init;
    if (options_.is_filled) {
      init = copy_statement(true);
    }
    Instruction store = copy_statement(false);
    for (std::size_t i = use_.first; i <= use_.last; ++i) {
      const NameSet& within = kernel_.instructions[i].within_inames;
      if (std::includes(within.begin(), within.end(), around_.begin(), around_.end())) {
        kernel_.instructions[i] = map_expressions(
            std::move(kernel_.instructions[i]), [&](const Expr& expr) { return in_buffer(expr); });
      }
    }
    const auto place = [&](std::size_t i) {
      return kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(i);
    };
    kernel_.instructions.insert(place(use_.last + 1), std::move(store));
    if (init) {
      kernel_.instructions.insert(place(use_.first), *std::move(init));
    }
    return std::move(kernel_);
  }

 private:
  void add_temporary() {
    Temporary temporary;
    temporary.name = buffer_;
    temporary.type = find_argument(kernel_, array_)->type;
    for (const FootprintAxis& axis : box_) {
      if (axis.length_elements > 1) {
        temporary.shape.emplace_back(axis.length_elements);
      }
    }
    kernel_.temporaries.push_back(std::move(temporary));
  }

  [[nodiscard]] Expr element_of_buffer(const std::vector<Expr>& indices) const {
    std::vector<Expr> kept;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (box_[axis].length_elements > 1) {
        kept.push_back(simplify_index(indices[axis] - to_expr(box_[axis].base)));
      }
    }
    return kept.empty() ? name(buffer_) : access(buffer_, std::move(kept));
  }

  [[nodiscard]] Expr in_buffer(const Expr& expr) const {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      return element != nullptr && element->array == array_
                 ? std::optional(element_of_buffer(element->indices))
                 : std::nullopt;
    });
  }

  /// The statement that fills the buffer, or that writes it back, in loops of its own.
  Instruction copy_statement(bool is_init) {
    const NameSet indexed = with_parent_inames(kernel_, index_inames(kernel_, use_.indices));
    NewNames copies;
    Substitution values;
    for (const std::string& iname : inames_) {
      copies[iname] = copy_name(names_, iname);
      values.emplace(iname, name(copies[iname]));
    }
    if (options_.default_tag.empty()) {
      kernel_ = with_tagged_copies(std::move(kernel_), copies, indexed);
    } else {
      kernel_ = with_copied_inames(std::move(kernel_), copies, indexed);
      const InameTag tag = parse_iname_tag(options_.default_tag);
      for (const auto& [old, copy] : copies) {
        kernel_.iname_tags.insert_or_assign(copy, tag);
      }
    }
    drop_known_bounds(copies, indexed);
    std::vector<Expr> indices;
    for (const Expr& index : use_.indices) {
      indices.push_back(simplify_index(substitute(index, values)));
    }
    const Expr base = access(array_, indices);
    const Expr buffer = element_of_buffer(indices);
    const Expr value = substitute(parse_expr(is_init ? options_.init : options_.store),
                                  {{"base", base}, {"buffer", buffer}});
    Instruction instruction;
    instruction.id = names_.make((is_init ? "load_" : "store_") + buffer_);
    instruction.kind = Assignment{{is_init ? buffer : base}, value};
    for (const std::string& iname : indexed) {
      const auto copy = copies.find(iname);
      instruction.within_inames.insert(copy == copies.end() ? iname : copy->second);
    }
    return instruction;
  }

  /// Bounds of the copies that follow from the loops around them: with them the first value of a
  /// copy would seem to depend on these loops.
  void drop_known_bounds(const NewNames& copies, NameSet outer) {
    std::vector<std::string> copied;
    for (const auto& [old, copy] : copies) {
      outer.erase(old);
      copied.push_back(old);
    }
    // without the originals first: what remains is about whole values of the outer loops
    const ConstraintSet around = constraints_of(kernel_, outer).project_out(copied);
    for (Domain& domain : kernel_.domains) {
      const bool is_copy = std::any_of(copies.begin(), copies.end(), [&](const auto& each) {
        return std::find(domain.inames.begin(), domain.inames.end(), each.second) !=
               domain.inames.end();
      });
      const std::vector<Constraint> all = domain.constraints.constraints();
      for (std::size_t i = is_copy ? 0 : all.size(); i < all.size(); ++i) {
        ConstraintSet others;
        for (const Constraint& each : domain.constraints.constraints()) {
          if (!(each == all[i])) {
            others.add(each);
          }
        }
        for (const Congruence& each : domain.constraints.congruences()) {
          others.add(each);
        }
        ConstraintSet known = around;
        known.add(others);
        if (known.implies(all[i])) {
          domain.constraints = std::move(others);
        }
      }
    }
  }

  Kernel kernel_;
  const std::string array_;
  const std::vector<std::string>& inames_;
  const BufferOptions& options_;
  const Use use_;
  const NameSet around_;
  NameGenerator names_;
  std::vector<FootprintAxis> box_;
  std::string buffer_;
};

}  // namespace

Kernel buffer_array(Kernel kernel, std::string_view array, const std::vector<std::string>& inames,
                    const BufferOptions& options) {
  const std::string name(array);
  const Kernel before = kernel;
  const RecordedStep step(kernel);
  kernel = expand_if_in_rules(std::move(kernel), name);
  Use use;
  throw_if_refused(find_refusal(kernel, name, inames, options, use));
  kernel = Buffering(std::move(kernel), name, inames, options, std::move(use)).run();
  refuse_reordering(before, kernel, "loopy.buffer_array.reorders_loops");
  const BufferOptions usual;
  step.record(kernel, "buffer_array", {name, list_text(inames)},
              {{"init", options.init == usual.init ? "" : options.init},
               {"store", options.store == usual.store ? "" : options.store},
               {"temporary_name", options.temporary_name},
               {"default_tag", options.default_tag},
               {"is_filled", options.is_filled ? "" : "no"}});
  return kernel;
}

}  // namespace rtcg::loopy
