#include "rtcg/loopy/transform/keep_row.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/flat_indices.h"
#include "rtcg/loopy/analyze/global_array.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void refuse_to_keep(std::string reason) {
  refuse("loopy.keep_row.not_possible", std::move(reason));
}

/// A loop along the row, and by how far one iteration of it goes.
struct RowLoop {
  std::string iname{};
  std::size_t axis = 0;
  std::int64_t coefficient = 0;
  friend bool operator==(const RowLoop&, const RowLoop&) = default;
};

/// The indices of a read, apart from the loops along the row.
struct RowRead {
  FlatIndices flat{};            ///< axes that a joined loop goes through are one
  std::vector<Affine> others{};  ///< for each of its axes
  std::vector<RowLoop> loops{};  ///< by axis, the largest steps first
};

class RowKeeper {
 public:
  RowKeeper(Kernel kernel, std::string array, const std::vector<std::string>& inames,
            const KeepRowOptions& options)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        inames_(inames.begin(), inames.end()),
        options_(options) {}

  Kernel run() {
    check_arguments();
    find_users();
    NameGenerator names = make_name_generator(kernel_);
    row_ = options_.temporary_name.empty() ? names.make(array_ + "_row") : options_.temporary_name;
    for (std::size_t i = 0; i < model_.loops.size(); ++i) {
      const std::string copy = names.make(fmt::format("{}_{}", row_, i));
      copies_.push_back({copy, model_.loops[i].axis, model_.loops[i].coefficient});
    }
    add_row_inames();
    tag_lanes();
    add_temporary();
    for (const std::size_t user : users_) {
      read_in_row(kernel_.instructions[user]);
    }
    add_fill(names.make("fill_" + row_));
    return std::move(kernel_);
  }

 private:
  void check_arguments() const {
    if (!find_global_array(kernel_, array_)) {
      refuse_to_keep(
          fmt::format("kernel '{}' has no array '{}' in global memory", kernel_.name, array_));
    }
    for (const std::string& iname : inames_) {
      if (!is_iname(kernel_, iname)) {
        refuse_to_keep(unknown_iname_text(kernel_, iname));
      }
    }
    if (options_.address_space != AddressSpace::private_ &&
        options_.address_space != AddressSpace::local) {
      refuse_to_keep("a row is kept in registers or in shared memory: private or local");
    }
    if (const auto reason = why_not_new_name(kernel_, options_.temporary_name)) {
      refuse_to_keep(*reason);
    }
  }

  /// Whether each iteration of a statement writes the one element of the row that it reads itself,
  /// and no iteration comes back to it: what it reads is what was there before the statement.
  [[nodiscard]] bool updates_own_elements(const Instruction& instruction) const {
    std::optional<RowRead> own;
    for (const ArrayAccess& each : accesses_of(kernel_, instruction)) {
      if (each.array == array_ && each.is_write) {
        own = each.is_linear || own ? std::nullopt : row_read(each.indices);
        if (!own || own->others != model_.others || !has_one_iteration_each(*own)) {
          return false;
        }
      }
    }
    const auto is_own = [&](const ArrayAccess& each) {
      const auto read = row_read(each.indices);
      return each.array != array_ || (!each.is_linear && (!read || read->others != own->others ||
                                                          read->loops == own->loops));
    };
    const std::vector<ArrayAccess> all = accesses_of(kernel_, instruction);
    return own && std::all_of(all.begin(), all.end(), is_own) &&
           std::all_of(
               instruction.within_inames.begin(), instruction.within_inames.end(),
               [&](const std::string& iname) {
                 return std::any_of(own->loops.begin(), own->loops.end(),
                                    [&](const auto& each) { return each.iname == iname; }) ||
                        std::any_of(
                            own->others.begin(), own->others.end(),
                            [&](const Affine& each) { return each.coefficient(iname) != 0; });
               });
  }

  /// Whether the loops along the row count its elements as digits do, each once.
  [[nodiscard]] bool has_one_iteration_each(const RowRead& read) const {
    for (std::size_t i = 0; i < read.loops.size(); ++i) {
      std::int64_t reach = 0;
      for (std::size_t k = i + 1; k < read.loops.size(); ++k) {
        const auto [first, last] =
            range_of(constraints_of(kernel_, {read.loops[k].iname}), Affine(read.loops[k].iname));
        if (read.loops[k].axis == read.loops[i].axis) {
          if (!first || !last) {
            return false;
          }
          reach += read.loops[k].coefficient * (*last - *first);
        }
      }
      if (read.loops[i].coefficient <= reach) {
        return false;
      }
    }
    return true;
  }

  /// The loops in which users find the array changed: the copy is filled within them. Statements
  /// that write it come before or after all users, and in no iteration along the row, or are the
  /// last user and update elements of their own.
  [[nodiscard]] NameSet loops_of_changes() const {
    NameSet result;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& writer = kernel_.instructions[i];
      if (written_variables(writer).count(array_) == 0 ||
          (i == users_.back() && updates_own_elements(writer))) {
        continue;
      }
      NameSet shared;
      for (const std::size_t user : users_) {
        for (const std::string& each : kernel_.instructions[user].within_inames) {
          if (writer.within_inames.count(each) != 0) {
            shared.insert(each);
          }
        }
      }
      const bool is_along_row =
          std::any_of(shared.begin(), shared.end(),
                      [&](const std::string& each) { return inames_.count(each) != 0; });
      if (is_along_row || (users_.front() <= i && i <= users_.back())) {
        refuse_to_keep(
            fmt::format("statement '{}' writes '{}' between its reads", writer.id, array_));
      }
      result.merge(shared);
    }
    return result;
  }

  /// Nothing where the loops along the row are not in affine indices.
  [[nodiscard]] std::optional<RowRead> row_read(const std::vector<Expr>& indices) const {
    RowRead read;
    read.flat = flat_indices(kernel_, array_, indices);
    for (std::size_t axis = 0; axis < read.flat.indices.size(); ++axis) {
      const auto affine = to_affine(read.flat.indices[axis]);
      if (!affine) {
        return std::nullopt;
      }
      Affine others = *affine;
      std::vector<RowLoop> along;
      for (const Affine::Term& term : affine->terms()) {
        if (inames_.count(term.name) != 0) {
          others = others - Affine(term.name, term.coefficient);
          along.push_back({term.name, axis, term.coefficient});
        }
      }
      std::stable_sort(along.begin(), along.end(),
                       [](const auto& a, const auto& b) { return a.coefficient > b.coefficient; });
      read.others.push_back(others);
      read.loops.insert(read.loops.end(), along.begin(), along.end());
    }
    return read.loops.empty() ? std::nullopt : std::optional(read);
  }

  /// The values of the loops along the row, named as the copies' places in a list.
  [[nodiscard]] ConstraintSet range_along(const RowRead& read) const {
    NameSet own;
    for (const RowLoop& each : read.loops) {
      own.insert(each.iname);
    }
    const ConstraintSet all = constraints_of(kernel_, own);
    std::vector<std::string> others;
    for (const std::string& each : all.names()) {
      if (own.count(each) == 0 && is_iname(kernel_, each)) {
        others.push_back(each);
      }
    }
    const ConstraintSet projected = all.project_out(others);
    ConstraintSet range;
    for (const Constraint& each : projected.constraints()) {
      if (std::any_of(each.expr.terms().begin(), each.expr.terms().end(),
                      [&](const Affine::Term& term) { return own.count(term.name) != 0; })) {
        range.add(each);
      }
    }
    return range.rename([&](const std::string& name) {
      for (std::size_t i = 0; i < read.loops.size(); ++i) {
        if (read.loops[i].iname == name) {
          return fmt::format("{}", i);
        }
      }
      return name;
    });
  }

  [[nodiscard]] bool are_alike(const RowRead& read) const {
    const ConstraintSet own = range_along(read);
    const std::vector<Constraint>& needed = range_.constraints();
    return std::equal(read.loops.begin(), read.loops.end(), model_.loops.begin(),
                      model_.loops.end(),
                      [&](const RowLoop& a, const RowLoop& b) {
                        return a.axis == b.axis && a.coefficient == b.coefficient &&
                               (options_.address_space == AddressSpace::local ||
                                is_of_block(a.iname) == is_of_block(b.iname)) &&
                               (!is_of_block(a.iname) || !is_of_block(b.iname) ||
                                tag_of(kernel_, a.iname) == tag_of(kernel_, b.iname));
                      }) &&
           std::all_of(needed.begin(), needed.end(),
                       [&](const Constraint& each) { return own.implies(each); });
  }
  [[nodiscard]] bool is_of_block(const std::string& iname) const {
    return tag_of(kernel_, iname).kind == AxisKind::block;
  }

  void find_users() {
    bool is_first = true;
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& instruction = kernel_.instructions[i];
      bool is_user = false;
      for (const ArrayAccess& access : accesses_of(kernel_, instruction)) {
        const auto read = access.array == array_ && !access.is_write && !access.is_linear &&
                                  !is<RawCode>(instruction)
                              ? row_read(access.indices)
                              : std::nullopt;
        if (!read || (!is_first && read->others != model_.others)) {
          continue;
        }
        if (!access.conditions.empty() && !may_keep_without_conditions(kernel_, access)) {
          refuse_to_keep(
              fmt::format("statement '{}' reads '{}' under a condition, and the array may end "
                          "where that does not hold",
                          instruction.id, array_));
        }
        if (is_first) {
          model_ = *read;
          range_ = range_along(model_);
          is_first = false;
        } else if (!are_alike(*read)) {
          refuse("loopy.keep_row.cut_differently",
                 fmt::format("the loops along '{}' in statement '{}' are not cut as those in '{}': "
                             "threads, steps and ranges have to be the same",
                             array_, instruction.id, kernel_.instructions[users_.front()].id));
        }
        is_user = true;
      }
      if (is_user) {
        users_.push_back(i);
      }
    }
    if (users_.empty()) {
      refuse("loopy.keep_row.nothing_kept",
             fmt::format("no statement reads '{}' along {}", array_, fmt::join(inames_, ", ")));
    }
    for (std::size_t i = users_.front(); i < users_.back(); ++i) {
      const BarrierInstruction* barrier = get_if<BarrierInstruction>(kernel_.instructions[i]);
      if (barrier != nullptr && barrier->scope == BarrierScope::global) {
        refuse_to_keep(fmt::format("a launch ends between '{}' and '{}', and the copy with it",
                                   kernel_.instructions[users_.front()].id,
                                   kernel_.instructions[users_.back()].id));
      }
    }
  }

  void add_row_inames() {
    Domain domain;
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      domain.inames.push_back(copies_[i].iname);
      const InameTag tag = tag_of(kernel_, model_.loops[i].iname);
      if (tag.kind != AxisKind::sequential) {
        kernel_.iname_tags.insert_or_assign(copies_[i].iname, tag);
      }
    }
    domain.constraints = range_.rename([&](const std::string& name) {
      for (std::size_t i = 0; i < copies_.size(); ++i) {
        if (fmt::format("{}", i) == name) {
          return copies_[i].iname;
        }
      }
      return name;
    });
    kernel_.domains.push_back(std::move(domain));
  }

  /// The innermost loop of the filling statement becomes lanes.
  void tag_lanes() {
    if (options_.vector_width == 0) {
      return;
    }
    const RowLoop& last = copies_.back();
    if (last.axis + 1 != model_.others.size() || last.coefficient != 1 || is_of_block(last.iname) ||
        constant_length(Affine(last.iname)) != options_.vector_width) {
      refuse_to_keep(fmt::format("the innermost loops along the row do not take {} neighbours",
                                 options_.vector_width));
    }
    kernel_.iname_tags.insert_or_assign(last.iname, InameTag{AxisKind::vec, 0});
  }

  [[nodiscard]] std::int64_t constant_length(const Affine& index) const {
    NameSet inames;
    for (const Affine::Term& each : index.terms()) {
      inames.insert(each.name);
    }
    const auto [first, last] = range_of(constraints_of(kernel_, inames), index);
    if (!first || !last || *first < 0) {
      refuse("loopy.keep_row.cut_differently",
             fmt::format("the range of '{}' along '{}' is not constant: fix the parameters",
                         fmt::join(inames, ", "), array_));
    }
    return *last + 1;
  }

  /// The indices in the copy for loops along the row.
  [[nodiscard]] std::vector<Affine> kept_indices(const std::vector<RowLoop>& loops) const {
    std::vector<Affine> indices;
    if (options_.address_space != AddressSpace::local) {
      for (std::size_t i = 0; i < loops.size(); ++i) {
        if (!is_of_block(copies_[i].iname)) {
          indices.emplace_back(loops[i].iname);
        }
      }
      return indices;
    }
    for (const std::string& each : threads_of_rows()) {
      indices.emplace_back(each);
    }
    std::size_t axis = model_.others.size();
    for (const RowLoop& each : loops) {
      if (each.axis != axis) {
        indices.emplace_back();
        axis = each.axis;
      }
      indices.back() = indices.back() + Affine(each.iname, each.coefficient);
    }
    return indices;
  }

  /// Inames of the block in the other indices: each of their values has a row of its own.
  [[nodiscard]] std::vector<std::string> threads_of_rows() const {
    std::vector<std::string> inames;
    for (const Affine& index : model_.others) {
      for (const Affine::Term& term : index.terms()) {
        if (is_iname(kernel_, term.name) && is_of_block(term.name)) {
          inames.push_back(term.name);
        }
      }
    }
    return inames;
  }

  void add_temporary() {
    Temporary temporary;
    temporary.name = row_;
    temporary.type = find_global_array(kernel_, array_)->type;
    temporary.address_space = options_.address_space;
    for (const Affine& index : kept_indices(copies_)) {
      temporary.shape.emplace_back(constant_length(index));
    }
    kernel_.temporaries.push_back(std::move(temporary));
  }

  [[nodiscard]] Expr element_of_row(const std::vector<RowLoop>& loops) const {
    std::vector<Expr> indices;
    for (const Affine& each : kept_indices(loops)) {
      indices.push_back(to_expr(each));
    }
    return indices.empty() ? name(row_) : access(row_, std::move(indices));
  }

  void read_in_row(Instruction& instruction) const {
    const auto mapped = [&](const Expr& expr) { return in_row(expr); };
    const Assignment* before = get_if<Assignment>(instruction);
    std::vector<Expr> targets = before != nullptr ? before->targets : std::vector<Expr>();
    instruction = map_expressions(std::move(instruction), mapped);
    if (!targets.empty()) {
      Assignment assignment = *get_if<Assignment>(instruction);
      for (std::size_t i = 0; i < targets.size(); ++i) {
        assignment.targets[i] = map_children(targets[i], mapped);  // what is written stays
      }
      instruction.kind = std::move(assignment);
    }
  }

  [[nodiscard]] Expr in_row(const Expr& expr) const {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      const auto read = element != nullptr && element->array == array_ ? row_read(element->indices)
                                                                       : std::nullopt;
      return read && read->others == model_.others ? std::optional(element_of_row(read->loops))
                                                   : std::nullopt;
    });
  }

  void add_fill(std::string id) {
    std::vector<Affine> indices = model_.others;
    Instruction fill;
    fill.id = std::move(id);
    fill.is_fill = true;
    fill.within_inames = host_loops_around(kernel_, users_);
    fill.within_inames.merge(loops_of_changes());
    for (const Affine& index : model_.others) {
      for (const Affine::Term& term : index.terms()) {
        if (is_iname(kernel_, term.name)) {
          fill.within_inames.insert(term.name);
        }
      }
    }
    fill.within_inames = with_parent_inames(kernel_, fill.within_inames);
    for (const RowLoop& each : copies_) {
      indices[each.axis] = indices[each.axis] + Affine(each.iname, each.coefficient);
      fill.within_inames.insert(each.iname);
    }
    std::vector<Expr> source;
    for (const Affine& each : indices) {
      source.push_back(to_expr(each));
    }
    fill.kind =
        Assignment{{element_of_row(copies_)}, access(array_, model_.flat.of_all_axes(source))};
    for (const std::size_t user : users_) {
      kernel_.instructions[user].depends_on.insert(fill.id);
    }
    kernel_.instructions.insert(
        kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(users_.front()),
        std::move(fill));
  }

  Kernel kernel_;
  const std::string array_;
  const NameSet inames_;
  const KeepRowOptions& options_;
  RowRead model_{};        ///< the first read
  ConstraintSet range_{};  ///< of its loops, named as their places
  std::vector<RowLoop> copies_{};
  std::vector<std::size_t> users_{};
  std::string row_{};
};

}  // namespace

bool may_keep_without_conditions(const Kernel& kernel, const ArrayAccess& access) {
  const Argument* argument = find_argument(kernel, access.array);
  if (argument == nullptr || access.is_linear || argument->shape.size() != access.indices.size()) {
    return false;
  }
  const ConstraintSet points = constraints_of(kernel, access.inames);
  for (std::size_t axis = 0; axis < access.indices.size(); ++axis) {
    const auto index = to_affine(access.indices[axis]);
    const auto length = to_affine(argument->shape[axis]);
    if (!index || !length || !points.implies_nonnegative(*index) ||
        !points.implies_nonnegative(*length - *index - 1)) {
      return false;
    }
  }
  return true;
}

Kernel keep_row(Kernel kernel, std::string_view array, const std::vector<std::string>& inames,
                const KeepRowOptions& options) {
  const std::string name(array);
  const RecordedStep step(kernel);
  kernel = expand_if_in_rules(std::move(kernel), name);
  kernel = RowKeeper(std::move(kernel), name, inames, options).run();
  step.record(
      kernel, "keep_row", {name, list_text(inames)},
      {{"address_space", options.address_space == AddressSpace::local ? "local" : ""},
       {"temporary_name", options.temporary_name},
       {"vector_width", options.vector_width == 0 ? "" : std::to_string(options.vector_width)}});
  return kernel;
}

}  // namespace rtcg::loopy
