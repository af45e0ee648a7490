#include "rtcg/loopy/transform/hold_array.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/index_cases.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/polyhedral/set_union.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// What the copy has of an axis of the array.
struct HeldAxis {
  std::optional<Affine> outer{};  ///< that drops out of the indices
  bool is_whole = false;          ///< places are computed
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] bool is_dropped() const { return !is_whole && first == last; }
  [[nodiscard]] std::int64_t length() const { return last - first + 1; }
};

std::string axis_name(std::size_t axis) {
  return fmt::format("'{}", axis);
}

class ArrayHolder {
 public:
  ArrayHolder(Kernel kernel, std::string array, const HoldOptions& options)
      : kernel_(std::move(kernel)), array_(std::move(array)), options_(options) {}

  Kernel run() {
    check_arguments();
    find_users();
    find_shared_loops();
    find_axes();
    check_reads();
    NameGenerator names = make_name_generator(kernel_);
    if (is_argument()) {
      held_ =
          options_.temporary_name.empty() ? names.make(array_ + "_held") : options_.temporary_name;
    }
    add_temporary();
    for (std::size_t i = users_.size(); i-- > 0;) {
      hold(users_[i], names);
    }
    return std::move(kernel_);
  }

 private:
  [[nodiscard]] bool is_argument() const { return find_argument(kernel_, array_) != nullptr; }
  [[nodiscard]] bool is_of_thread() const {
    return options_.address_space == AddressSpace::private_;
  }

  void check_arguments() {
    layout_ = find_layout(kernel_, array_);
    const Temporary* temporary = find_temporary(kernel_, array_);
    if (!layout_ || layout_->shape.empty() ||
        (temporary != nullptr && !temporary->initial_values.empty())) {
      refuse("loopy.hold_array.unknown_array",
             fmt::format("kernel '{}' has no array '{}' with a shape that statements write",
                         kernel_.name, array_));
    }
    if (options_.address_space != AddressSpace::local && !is_of_thread()) {
      refuse("loopy.hold_array.bad_space",
             fmt::format("'{}' is held in local or in private memory", array_));
    }
    if (const auto why_not = why_not_new_name(kernel_, options_.temporary_name)) {
      refuse("loopy.hold_array.name_taken", *why_not);
    }
  }

  void find_users() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& instruction = kernel_.instructions[i];
      if (!touches(kernel_, instruction, array_)) {
        continue;
      }
      if (is<RawCode>(instruction)) {
        refuse("loopy.hold_array.different_accesses",
               fmt::format("statement '{}' touches '{}' in C text", instruction.id, array_));
      }
      users_.push_back(i);
    }
    if (users_.empty()) {
      refuse("loopy.hold_array.unknown_array",
             fmt::format("no statement of kernel '{}' touches '{}'", kernel_.name, array_));
    }
    for (std::size_t i = users_.front(); i < users_.back(); ++i) {
      const BarrierInstruction* barrier = get_if<BarrierInstruction>(kernel_.instructions[i]);
      if (barrier != nullptr && barrier->scope == BarrierScope::global) {
        refuse("loopy.hold_array.several_launches",
               fmt::format("a launch ends between '{}' and '{}', and what is held of '{}' with it",
                           kernel_.instructions[users_.front()].id,
                           kernel_.instructions[users_.back()].id, array_));
      }
    }
    for (const ArrayAccess& access : accesses_of(kernel_)) {
      if (access.array == array_) {
        if (access.is_linear || access.indices.size() != layout_->shape.size()) {
          refuse("loopy.hold_array.different_accesses",
                 fmt::format("statement '{}' touches '{}' by its place in memory", access.statement,
                             array_));
        }
        accesses_.push_back(access);
      }
    }
  }

  [[nodiscard]] const NameSet& loops_around(std::size_t user) const {
    return kernel_.instructions[user].within_inames;
  }

  void find_shared_loops() {
    shared_ = loops_around(users_.front());
    NameSet all;
    for (const std::size_t user : users_) {
      std::erase_if(shared_, [&](const auto& each) { return loops_around(user).count(each) == 0; });
      all.insert(loops_around(user).begin(), loops_around(user).end());
    }
    for (const std::string& each : all) {
      const AxisKind kind = tag_of(kernel_, each).kind;
      const bool is_apart = kind == AxisKind::grid || (is_of_thread() && kind == AxisKind::block);
      if (is_apart && shared_.count(each) == 0) {
        refuse("loopy.hold_array.other_blocks",
               fmt::format("'{}' is on axis {} and not around all statements that touch '{}': "
                           "rename_inames gives nests one loop",
                           each, to_string(tag_of(kernel_, each)), array_));
      }
    }
    std::erase_if(shared_, [&](const std::string& each) {
      const InameTag tag = tag_of(kernel_, each);
      return tag.is_lane() || tag.kind == AxisKind::block_auto ||
             (tag.kind == AxisKind::block && !is_of_thread());
    });
  }

  /// Nothing where the place is computed from values.
  [[nodiscard]] std::optional<Affine> affine_of(const Expr& index) const {
    auto affine = to_affine(index);
    if (!affine) {
      return std::nullopt;
    }
    for (const Affine::Term& term : affine->terms()) {
      if (!is_iname(kernel_, term.name) && find_argument(kernel_, term.name) == nullptr) {
        return std::nullopt;
      }
    }
    return affine;
  }

  /// The part of an index that drops out.
  [[nodiscard]] Affine outer_part(const Affine& index) const {
    Affine outer;
    for (const Affine::Term& term : index.terms()) {
      if (!is_iname(kernel_, term.name) || shared_.count(term.name) != 0) {
        outer = outer + Affine(term.name, term.coefficient);
      }
    }
    return outer;
  }

  [[nodiscard]] ConstraintSet points_of(const ArrayAccess& access) const {
    ConstraintSet set = constraints_of(kernel_, access.inames);
    for (const Expr& condition : access.conditions) {
      set.add(context_of(condition));
    }
    return set;
  }

  void find_axes() {
    axes_.resize(layout_->shape.size());
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      axes_[d].is_whole =
          std::any_of(accesses_.begin(), accesses_.end(),
                      [&](const ArrayAccess& each) { return !affine_of(each.indices[d]); });
    }
    for (const ArrayAccess& access : accesses_) {
      const ConstraintSet points = points_of(access);
      for (std::size_t d = 0; d < axes_.size(); ++d) {
        add_to_axis(access, points, d);
      }
    }
  }

  void add_to_axis(const ArrayAccess& access, const ConstraintSet& points, std::size_t d) {
    HeldAxis& axis = axes_[d];
    const std::optional<Affine> index = affine_of(access.indices[d]);
    const Affine outer = index ? outer_part(*index) : Affine();
    const bool is_first = !axis.outer;
    axis.outer = axis.outer.value_or(outer);
    if (!(*axis.outer == outer)) {
      refuse("loopy.hold_array.different_accesses",
             fmt::format("statement '{}' touches '{}' at {}, and others at places that other "
                         "iterations of {} touch",
                         access.statement, array_, to_string(access.indices[d]),
                         fmt::join(shared_, ", ")));
    }
    std::optional<std::int64_t> first = 0;
    std::optional<std::int64_t> last;
    if (axis.is_whole) {
      const auto length = to_affine(layout_->shape[d]);
      if (length && length->is_constant()) {
        last = length->constant() - 1;
      }
    } else {
      std::tie(first, last) = range_of(points, *index - outer);
    }
    if (!first || !last) {
      refuse("loopy.hold_array.no_constant_length",
             fmt::format("what statement '{}' touches of '{}' along axis {} has no constant "
                         "length: fix the parameters, or split the loops and share the outer ones",
                         access.statement, array_, d));
    }
    axis.first = is_first ? *first : std::min(axis.first, *first);
    axis.last = is_first ? *last : std::max(axis.last, *last);
  }

  /// The elements that one iteration of the loops around the access touches, as constraints of
  /// axis_name(); nothing where places are computed.
  [[nodiscard]] std::optional<ConstraintSet> elements_of(const ArrayAccess& access) const {
    ConstraintSet set = points_of(access);
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const std::optional<Affine> index = affine_of(access.indices[d]);
      if (!index) {
        return std::nullopt;
      }
      set.add_zero(Affine(axis_name(d)) - *index);
    }
    return set;
  }
  /// What may be read: along axes with computed places any element.
  [[nodiscard]] ConstraintSet elements_read(const ArrayAccess& access) const {
    ConstraintSet set = points_of(access);
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      if (const std::optional<Affine> index = affine_of(access.indices[d])) {
        set.add_zero(Affine(axis_name(d)) - *index);
      } else {
        set.add_nonnegative(Affine(axis_name(d)) - axes_[d].first);
        set.add_nonnegative(Affine(axes_[d].last) - Affine(axis_name(d)));
      }
    }
    return set;
  }

  [[nodiscard]] const Instruction& statement_of(const ArrayAccess& access) const {
    return *find_instruction(kernel_, access.statement);
  }

  /// The inames of an access, those first that make the smallest steps in an index: without them
  /// the next ones leave no remainders.
  [[nodiscard]] std::vector<std::string> by_steps(const ArrayAccess& access) const {
    const NameSet all = with_parent_inames(kernel_, access.inames);
    std::vector<std::string> result(all.begin(), all.end());
    const auto step = [&](const std::string& iname) {
      std::int64_t least = 0;
      for (const Expr& index : access.indices) {
        const std::optional<Affine> affine = affine_of(index);
        const std::int64_t own = affine ? std::abs(affine->coefficient(iname)) : 0;
        least = own != 0 && (least == 0 || own < least) ? own : least;
      }
      return least;
    };
    std::stable_sort(result.begin(), result.end(),
                     [&](const auto& a, const auto& b) { return step(a) < step(b); });
    return result;
  }

  /// The elements that an access has written when `reader` runs, for each iteration of the loops
  /// that both run in one after the other.
  [[nodiscard]] SetUnion written_before(const ArrayAccess& write, const Instruction& reader) const {
    std::optional<ConstraintSet> elements = elements_of(write);
    const Assignment* assignment = get_if<Assignment>(statement_of(write));
    if (!elements || assignment == nullptr || assignment->is_atomic || !write.conditions.empty()) {
      return {};
    }
    SetUnion parts = {*std::move(elements)};
    for (const std::string& each : by_steps(write)) {
      const InameTag tag = tag_of(kernel_, each);
      const bool is_one_iteration =
          shared_.count(each) != 0 ||
          (reader.within_inames.count(each) != 0 && !tag.is_lane() && tag.kind != AxisKind::block &&
           tag.kind != AxisKind::block_auto);
      if (is_one_iteration) {
        continue;
      }
      SetUnion projected;
      for (const ConstraintSet& part : parts) {
        const std::optional<SetUnion> without = without_existing(part, each);
        if (!without) {
          return {};
        }
        projected.insert(projected.end(), without->begin(), without->end());
      }
      parts = std::move(projected);
    }
    return parts;
  }

  /// Axes along which a statement writes one place.
  [[nodiscard]] std::vector<std::size_t> axes_of_single_places() const {
    std::vector<std::size_t> result;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const bool is_single =
          std::any_of(accesses_.begin(), accesses_.end(), [&](const ArrayAccess& each) {
            const std::optional<Affine> index = affine_of(each.indices[d]);
            return each.is_write && index && (*index - outer_part(*index)).is_constant();
          });
      if (is_single && axes_[d].length() > 1) {
        result.push_back(d);
      }
    }
    return result;
  }

  void check_reads() const {
    const std::vector<std::size_t> singles = axes_of_single_places();
    for (const ArrayAccess& read : accesses_) {
      if (read.is_write) {
        continue;
      }
      SetUnion written;
      for (const std::size_t user : users_) {
        if (kernel_.instructions[user].id == read.statement) {
          break;
        }
        for (const ArrayAccess& write : accesses_) {
          if (write.is_write && write.statement == kernel_.instructions[user].id) {
            const SetUnion parts = written_before(write, statement_of(read));
            written.insert(written.end(), parts.begin(), parts.end());
          }
        }
      }
      if (!is_covered(elements_read(read), written, singles, 0)) {
        refuse("loopy.hold_array.not_written_before",
               fmt::format("statement '{}' reads elements of '{}' that no statement has written "
                           "before in the same iteration of the loops that both share{}",
                           read.statement, array_,
                           shared_.empty() ? std::string()
                                           : fmt::format(" ({})", fmt::join(shared_, ", "))));
      }
    }
  }

  /// @param singles  axes whose places are looked at one by one, from `next` on
  [[nodiscard]] bool is_covered(const ConstraintSet& read, const SetUnion& written,
                                const std::vector<std::size_t>& singles, std::size_t next) const {
    const auto has_all = [&](const ConstraintSet& part) {
      return std::all_of(part.constraints().begin(), part.constraints().end(),
                         [&](const Constraint& each) { return read.implies(each); }) &&
             std::all_of(part.congruences().begin(), part.congruences().end(),
                         [&](const Congruence& each) { return read.implies(each); });
    };
    if (read.is_empty() || std::any_of(written.begin(), written.end(), has_all)) {
      return true;
    }
    if (next == singles.size()) {
      return false;
    }
    const HeldAxis& axis = axes_[singles[next]];
    for (std::int64_t place = axis.first; place <= axis.last; ++place) {
      ConstraintSet part = read;
      part.add_zero(Affine(axis_name(singles[next])) - *axis.outer - place);
      if (!is_covered(part, written, singles, next + 1)) {
        return false;
      }
    }
    return true;
  }

  void add_temporary() {
    ArrayLayout held;
    for (const HeldAxis& axis : axes_) {
      if (!axis.is_dropped()) {
        held.shape.emplace_back(axis.length());
      }
    }
    if (is_argument()) {
      kernel_.temporaries.push_back({.name = held_,
                                     .type = find_argument(kernel_, array_)->type,
                                     .shape = std::move(held.shape),
                                     .address_space = options_.address_space});
      return;
    }
    held.strides_elements = c_order_strides(held.shape);
    kernel_ = with_layout(std::move(kernel_), array_, std::move(held));
    for (Temporary& each : kernel_.temporaries) {
      each.address_space = each.name == array_ ? options_.address_space : each.address_space;
    }
  }

  [[nodiscard]] const std::string& name_of_copy() const { return is_argument() ? held_ : array_; }

  [[nodiscard]] Expr in_copy(const Expr& expr) const {
    return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
      const Access* element = get_if<Access>(part);
      if (element == nullptr || element->array != array_) {
        return std::nullopt;
      }
      std::vector<Expr> indices;
      for (std::size_t d = 0; d < axes_.size(); ++d) {
        if (axes_[d].is_whole) {
          indices.push_back(element->indices[d]);
        } else if (!axes_[d].is_dropped()) {
          indices.push_back(
              to_expr(*affine_of(element->indices[d]) - *axes_[d].outer - axes_[d].first));
        }
      }
      return indices.empty() ? name(name_of_copy()) : access(name_of_copy(), std::move(indices));
    });
  }

  void hold(std::size_t user, NameGenerator& names) {
    const Instruction before = kernel_.instructions[user];
    Instruction& held = kernel_.instructions[user];
    held = map_expressions(std::move(held), [&](const Expr& expr) { return in_copy(expr); });
    if (!is_argument() || written_variables(before).count(array_) == 0) {
      return;
    }
    const Assignment* assignment = get_if<Assignment>(before);
    const bool is_plain = assignment != nullptr && !assignment->is_atomic &&
                          read_variables(kernel_, before).count(array_) == 0;
    if (!is_plain) {
      refuse("loopy.hold_array.different_accesses",
             fmt::format("statement '{}' updates '{}', an argument: make it a temporary", before.id,
                         array_));
    }
    for (const Expr& target : get_if<Assignment>(before)->targets) {
      if (target_name(target) == array_) {
        Instruction store = before;
        store.id = names.make("store_" + held_);
        store.depends_on.insert(before.id);
        store.kind = Assignment{{target}, in_copy(target)};
        kernel_.instructions.insert(
            kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(user) + 1, std::move(store));
      }
    }
  }

  Kernel kernel_;
  const std::string array_;
  const HoldOptions& options_;
  std::optional<ArrayLayout> layout_{};
  std::vector<std::size_t> users_{};
  std::vector<ArrayAccess> accesses_{};
  NameSet shared_{};
  std::vector<HeldAxis> axes_{};
  std::string held_{};
};

}  // namespace

Kernel hold_array(Kernel kernel, std::string_view array, const HoldOptions& options) {
  const RecordedStep step(kernel);
  const std::string name(array);
  kernel = expand_if_in_rules(std::move(kernel), name);
  kernel = ArrayHolder(std::move(kernel), name, options).run();
  step.record(kernel, "hold_array", {name},
              {{"address_space", options.address_space == AddressSpace::private_ ? "private" : ""},
               {"temporary_name", options.temporary_name}});
  return kernel;
}

}  // namespace rtcg::loopy
