#include "rtcg/loopy/transform/privatize_updates.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/update.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_private_bytes = 227 * 1024;  // of a block, on every GPU so far

class UpdatePrivatizer {
 public:
  UpdatePrivatizer(Kernel kernel, std::string array, const PrivatizeUpdatesOptions& options)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        options_(options),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    check_arguments();
    find_updates();
    find_type();
    find_axes();
    find_threads();
    private_ = options_.temporary_name.empty() ? names_.make(array_ + "_private")
                                               : options_.temporary_name;
    add_temporary();
    Instruction fill = fill_copies();
    std::vector<Instruction> merge = merge_copies();
    redirect_updates(fill.id);
    const auto place = [&](std::size_t i) {
      return kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(i);
    };
    kernel_.instructions.insert(place(updates_.back() + 1), merge.begin(), merge.end());
    kernel_.instructions.insert(place(updates_.front()), std::move(fill));
    return std::move(kernel_);
  }

 private:
  void check_arguments() const {
    const Argument* argument = find_argument(kernel_, array_);
    if (argument == nullptr || !argument->is_array) {
      refuse("loopy.privatize_updates.unknown_array",
             fmt::format("kernel '{}' has no array argument '{}'", kernel_.name, array_));
    }
    if (const auto reason = why_not_new_name(kernel_, options_.temporary_name)) {
      refuse("loopy.privatize_updates.name_taken", *reason);
    }
  }

  [[nodiscard]] const Assignment& assignment_of(std::size_t update) const {
    return *get_if<Assignment>(kernel_.instructions[update]);
  }
  [[nodiscard]] const Access& target_of(std::size_t update) const {
    return *get_if<Access>(assignment_of(update).targets.front());
  }

  void find_updates() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction& each = kernel_.instructions[i];
      if (!touches(kernel_, each, array_)) {
        continue;
      }
      const Assignment* assignment = get_if<Assignment>(each);
      const bool is_update = assignment != nullptr && assignment->is_atomic &&
                             assignment->targets.size() == 1 &&
                             is<Access>(assignment->targets.front()) &&
                             target_name(assignment->targets.front()) == array_;
      if (!is_update) {
        refuse("loopy.privatize_updates.not_updated",
               fmt::format("statement '{}' touches '{}' and is no atomic update of it", each.id,
                           array_));
      }
      const auto update = Update::find(kernel_, *assignment);
      if (!update || (update_ && !update_->is_like(*update))) {
        refuse("loopy.privatize_updates.other_operation",
               fmt::format("the update '{}' {}", each.id,
                           update ? "is another operation than those before it"
                                  : "is no operation that commutes and has a neutral element"));
      }
      update_ = update;
      updates_.push_back(i);
    }
    if (updates_.empty()) {
      refuse("loopy.privatize_updates.not_updated",
             fmt::format("no statement updates '{}'", array_));
    }
    for (std::size_t i = updates_.front(); i < updates_.back(); ++i) {
      const BarrierInstruction* barrier = get_if<BarrierInstruction>(kernel_.instructions[i]);
      if (barrier != nullptr && barrier->scope == BarrierScope::global) {
        refuse("loopy.privatize_updates.not_updated",
               fmt::format("several launches update '{}'", array_));
      }
    }
    around_ = around_blocks(updates_.front());
    for (const std::size_t each : updates_) {
      if (around_blocks(each) != around_) {
        refuse("loopy.privatize_updates.not_updated",
               fmt::format("the updates of '{}' are on different axes of the grid", array_));
      }
    }
  }

  void find_type() {
    of_array_ = type_of(kernel_, assignment_of(updates_.front()).targets.front());
    type_ = of_array_;
    if (options_.type.empty()) {
      return;
    }
    const auto type = parse_scalar_type(options_.type);
    const auto kind = type ? cgen::scalar_kind(*type) : std::nullopt;
    const auto given = cgen::scalar_kind(of_array_);
    if (!kind || !given || cgen::is_floating(*kind) != cgen::is_floating(*given)) {
      refuse("loopy.privatize_updates.bad_type",
             fmt::format("copies of '{}' cannot have the type '{}': both are integers, or both "
                         "floating-point numbers",
                         array_, options_.type));
    }
    type_ = *type;
  }

  /// Loops of the host and of the grid.
  [[nodiscard]] NameSet around_blocks(std::size_t update) const {
    NameSet around = host_loops_around(kernel_, {update});
    for (const std::string& each : kernel_.instructions[update].within_inames) {
      if (tag_of(kernel_, each).kind == AxisKind::grid) {
        around.insert(each);
      }
    }
    return with_parent_inames(kernel_, around);
  }

  /// The axes that have copies.
  void find_axes() {
    const Argument& argument = *find_argument(kernel_, array_);
    const std::vector<Expr>& first = target_of(updates_.front()).indices;
    for (std::size_t axis = 0; axis < first.size(); ++axis) {
      const auto is_same = [&](std::size_t each) {
        return target_of(each).indices[axis] == first[axis];
      };
      if (is_of_block(first[axis]) && std::all_of(updates_.begin(), updates_.end(), is_same)) {
        continue;
      }
      const auto length = as_integer(argument.shape[axis]);
      if (!length) {
        refuse("loopy.privatize_updates.unknown_length",
               fmt::format("the length of axis {} of '{}' is not constant: fix the parameters",
                           axis, array_));
      }
      axes_.push_back(axis);
      lengths_.push_back(*length);
      elements_ *= *length;
      if (elements_ > most_private_bytes) {
        refuse_size();
      }
    }
  }
  /// Whether an index has one value in a block.
  [[nodiscard]] bool is_of_block(const Expr& index) const {
    if (!accessed_arrays(index).empty()) {
      return false;
    }
    const NameSet names = free_names(index);
    return std::all_of(names.begin(), names.end(), [&](const std::string& each) {
      return around_.count(each) != 0 ||
             (!is_iname(kernel_, each) && find_temporary(kernel_, each) == nullptr);
    });
  }

  [[noreturn]] void refuse_size() const {
    refuse("loopy.privatize_updates.too_large",
           fmt::format("{} copies of '{}' need more than {} bytes of shared memory",
                       options_.copies, array_, most_private_bytes));
  }

  /// How many threads are along each axis of the block, and which one of them a thread is.
  void find_threads() {
    for (const std::size_t update : updates_) {
      for (const std::string& each : kernel_.instructions[update].within_inames) {
        const InameTag tag = tag_of(kernel_, each);
        if (tag.kind != AxisKind::block) {
          continue;
        }
        const auto [first, last] = range_of(constraints_of(kernel_, {each}), Affine(each));
        if (!first || !last || *first < 0) {
          refuse("loopy.privatize_updates.unknown_length",
                 fmt::format("the number of threads along '{}' is not constant", each));
        }
        std::int64_t& length = threads_.at(static_cast<std::size_t>(tag.number));
        length = std::max(length, *last + 1);
      }
    }
    const std::int64_t all = thread_count();
    if (options_.copies < 1 || options_.copies > all) {
      refuse("loopy.privatize_updates.bad_copies",
             fmt::format("a block of {} threads has no {} copies of '{}'", all, options_.copies,
                         array_));
    }
    const auto bytes = static_cast<std::int64_t>(size_bytes(type_));
    if (elements_ * options_.copies * bytes > most_private_bytes) {
      refuse_size();
    }
  }
  [[nodiscard]] std::int64_t thread_count() const {
    return threads_[0] * threads_[1] * threads_[2];
  }

  void add_temporary() {
    Temporary temporary;
    temporary.name = private_;
    temporary.type = type_;
    temporary.address_space = AddressSpace::local;
    temporary.shape = {elements_};
    if (options_.copies > 1) {
      temporary.shape.emplace_back(options_.copies);
    }
    kernel_.temporaries.push_back(std::move(temporary));
  }

  [[nodiscard]] Expr element(const Expr& place, const Expr& copy) const {
    return options_.copies > 1 ? access(private_, {place, copy}) : access(private_, {place});
  }

  /// All numbers below `count`, spread over the threads of the block.
  struct Spread {
    NameSet inames{};
    Expr number = 0;
  };
  Spread spread(const std::string& base, std::int64_t count) {
    Domain domain;
    Affine number;
    std::int64_t step = 1;
    Spread result;
    const auto add = [&](std::int64_t length, const InameTag& tag) {
      const std::string iname = names_.make(base);
      domain.inames.push_back(iname);
      domain.constraints.add(Constraint{Affine(iname)});
      if (length != 0) {
        domain.constraints.add(Constraint{Affine(length - 1) - Affine(iname)});
      }
      if (tag.kind != AxisKind::sequential) {
        kernel_.iname_tags.insert_or_assign(iname, tag);
      }
      number = number + Affine(iname, step);
      step *= length;
      result.inames.insert(iname);
    };
    for (std::size_t axis = 0; axis < threads_.size(); ++axis) {
      if (threads_.at(axis) > 1) {
        add(threads_.at(axis), {AxisKind::block, static_cast<int>(axis)});
      }
    }
    if (step < count) {
      add(0, {});
    }
    domain.constraints.add(Constraint{Affine(count - 1) - number});
    kernel_.domains.push_back(std::move(domain));
    result.inames.insert(around_.begin(), around_.end());
    result.number = to_expr(number);
    return result;
  }

  Instruction fill_copies() {
    const Spread all = spread(private_ + "_z", elements_ * options_.copies);
    Instruction fill;
    fill.id = names_.make("fill_" + private_);
    fill.is_fill = true;
    fill.within_inames = all.inames;
    fill.kind = Assignment{
        {element(floor_div(all.number, options_.copies), modulo(all.number, options_.copies))},
        update_->neutral()};
    return fill;
  }

  /// The copy that a thread updates.
  [[nodiscard]] Expr own_copy(const Instruction& update) const {
    Affine thread;
    std::int64_t last = 0;
    for (const std::string& each : update.within_inames) {
      const InameTag tag = tag_of(kernel_, each);
      std::int64_t step = 1;
      for (int axis = 0; axis < tag.number; ++axis) {
        step *= threads_.at(static_cast<std::size_t>(axis));
      }
      if (tag.kind == AxisKind::block && step % options_.copies != 0) {
        thread = thread + Affine(each, step);
        last += step * (threads_.at(static_cast<std::size_t>(tag.number)) - 1);
      }
    }
    return last < options_.copies ? to_expr(thread) : modulo(to_expr(thread), options_.copies);
  }

  void redirect_updates(const std::string& fill) {
    for (const std::size_t each : updates_) {
      Instruction& update = kernel_.instructions[each];
      const Expr target = assignment_of(each).targets.front();
      Expr place = 0;
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        place = place * lengths_[i] + target_of(each).indices[axes_[i]];
      }
      const Expr copy = element(place, own_copy(update));
      Assignment changed = assignment_of(each);
      const auto replace = [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          return part == target ? std::optional(copy) : std::nullopt;
        });
      };
      changed.targets.front() = copy;
      changed.value = replace(changed.value);
      changed.is_atomic = options_.copies < thread_count();
      update.kind = std::move(changed);
      update.depends_on.insert(fill);
    }
  }

  std::vector<Instruction> merge_copies() {
    std::vector<Instruction> result;
    const Spread all = spread(private_ + "_b", elements_);
    NameSet needed;
    for (const std::size_t each : updates_) {
      needed.insert(kernel_.instructions[each].id);
    }
    Expr merged = element(all.number, 0);
    if (options_.copies > 1) {
      const std::string copy = names_.make(private_ + "_c");
      Domain domain{{copy}, {}, {}};
      const bool is_reduction = !update_->reduction().empty();
      domain.constraints.add(Constraint{Affine(copy) - Affine(is_reduction ? 0 : 1)});
      domain.constraints.add(Constraint{Affine(options_.copies - 1) - Affine(copy)});
      kernel_.domains.push_back(std::move(domain));
      if (is_reduction) {
        // threads next to each other begin at different banks
        merged = Reduction{update_->reduction(),
                           {copy},
                           {element(all.number, modulo(name(copy) + all.number, options_.copies))}};
      } else {
        Instruction gather;
        gather.id = names_.make("gather_" + private_);
        gather.within_inames = all.inames;
        gather.within_inames.insert(copy);
        gather.depends_on = needed;
        gather.kind =
            Assignment{{merged}, update_->combine(merged, element(all.number, name(copy)))};
        needed = {gather.id};
        result.push_back(std::move(gather));
      }
    }
    std::vector<Expr> indices = target_of(updates_.front()).indices;
    Expr rest = all.number;
    for (std::size_t i = axes_.size(); i-- > 0;) {
      indices[axes_[i]] = i == 0 ? rest : modulo(rest, lengths_[i]);
      rest = floor_div(rest, lengths_[i]);
    }
    const Expr target = access(array_, std::move(indices));
    Instruction merge;
    merge.id = names_.make("merge_" + private_);
    merge.within_inames = all.inames;
    merge.depends_on = std::move(needed);
    if (!(type_ == of_array_)) {
      merged = Cast{of_array_, merged};
    }
    merge.kind = Assignment{{target}, update_->combine(target, merged), true};
    result.push_back(std::move(merge));
    return result;
  }

  Kernel kernel_;
  const std::string array_;
  const PrivatizeUpdatesOptions& options_;
  NameGenerator names_;
  std::optional<Update> update_{};
  std::vector<std::size_t> updates_{};
  cgen::Type of_array_{};
  cgen::Type type_{};                ///< of the copies
  NameSet around_{};                 ///< the inames of blocks, and those of the host around
  std::vector<std::size_t> axes_{};  ///< of the array, and their lengths
  std::vector<std::int64_t> lengths_{};
  std::int64_t elements_ = 1;  ///< of one copy
  std::array<std::int64_t, 3> threads_{1, 1, 1};
  std::string private_{};
};

}  // namespace

Kernel privatize_updates(Kernel kernel, std::string_view array,
                         const PrivatizeUpdatesOptions& options) {
  const RecordedStep step(kernel);
  kernel = infer_types(expand_subst(std::move(kernel)));
  kernel = UpdatePrivatizer(std::move(kernel), std::string(array), options).run();
  step.record(kernel, "privatize_updates", {std::string(array)},
              {{"copies", options.copies == 1 ? "" : std::to_string(options.copies)},
               {"type", options.type},
               {"temporary_name", options.temporary_name}});
  return kernel;
}

}  // namespace rtcg::loopy
