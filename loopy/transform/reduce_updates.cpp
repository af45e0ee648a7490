#include "rtcg/loopy/transform/reduce_updates.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/analyze/infer_types.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/analyze/update.h"
#include "rtcg/loopy/polyhedral/range_of.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/loop_end.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/split_iname.h"

namespace rtcg::loopy {
namespace {

bool ends_launch(const Instruction& instruction) {
  const BarrierInstruction* barrier = get_if<BarrierInstruction>(instruction);
  return barrier != nullptr && barrier->scope == BarrierScope::global;
}

bool is_last_block(const Instruction& instruction) {
  return ends_launch(instruction) &&
         get_if<BarrierInstruction>(instruction)->is_passed_by_last_block;
}

class UpdateReducer {
 public:
  UpdateReducer(Kernel kernel, std::string array)
      : kernel_(std::move(kernel)),
        array_(std::move(array)),
        names_(make_name_generator(kernel_)) {}

  Kernel run() {
    find_launch();
    find_updates();
    find_element();
    find_start();
    std::vector<Instruction> fills;
    Expr part = 0;
    NameSet before;
    for (const std::size_t update : updates_) {
      const Expr own = keep(kernel_.instructions[update], fills);
      part = update == updates_.front() ? own : update_->combine(part, own);
      before.insert(kernel_.instructions[update].id);
    }
    Instruction result;
    result.id = names_.make("set_" + array_);
    result.within_inames = group_;
    Instruction parts = result;
    if (summed_.empty()) {
      result.depends_on = before;
      result.kind = Assignment{{element_}, with_start(part), false};
      place(std::move(fills), {result}, {});
      return std::move(kernel_);
    }
    parts.id = names_.make("set_" + array_ + "_parts");
    parts.within_inames = blocks_;
    parts.depends_on = before;
    result.depends_on = {parts.id};
    result.kind = Assignment{{element_}, with_start(sum_of_parts(part, parts)), false};
    place(std::move(fills), {parts}, {result});
    share_parts();
    return std::move(kernel_);
  }

 private:
  /// The statements of the launch that updates the element.
  void find_launch() {
    const Argument* argument = find_argument(kernel_, array_);
    if (argument == nullptr || !argument->is_array) {
      refuse("loopy.reduce_updates.unknown_array",
             fmt::format("kernel '{}' has no array argument '{}'", kernel_.name, array_));
    }
    const auto& all = kernel_.instructions;
    const auto update = std::find_if(all.begin(), all.end(), [&](const Instruction& each) {
      const Assignment* assignment = get_if<Assignment>(each);
      return assignment != nullptr && assignment->is_atomic && touches(kernel_, each, array_);
    });
    if (update == all.end()) {
      refuse("loopy.reduce_updates.not_updated",
             fmt::format("no atomic statement updates '{}'", array_));
    }
    first_ = static_cast<std::size_t>(update - all.begin());
    while (first_ > 0 && !ends_launch(all[first_ - 1])) {
      --first_;
    }
    end_ = static_cast<std::size_t>(std::find_if(update, all.end(), ends_launch) - all.begin());
  }

  void find_updates() {
    for (std::size_t i = first_; i < end_; ++i) {
      const Instruction& each = kernel_.instructions[i];
      if (!touches(kernel_, each, array_)) {
        continue;
      }
      const Assignment* assignment = get_if<Assignment>(each);
      const bool is_set = assignment != nullptr && assignment->targets.size() == 1 &&
                          is<Access>(assignment->targets.front()) &&
                          target_name(assignment->targets.front()) == array_;
      if (is_set && !assignment->is_atomic && !start_ && updates_.empty() &&
          accessed_arrays(assignment->value).count(array_) == 0 && each.predicates.empty()) {
        start_ = i;
        continue;
      }
      if (!is_set || !assignment->is_atomic) {
        refuse("loopy.reduce_updates.not_updated",
               fmt::format("statement '{}' touches '{}' and is not an atomic update of it", each.id,
                           array_));
      }
      const auto update = Update::find(kernel_, *assignment);
      if (!update || update->reduction().empty() || (update_ && !update_->is_like(*update))) {
        refuse("loopy.reduce_updates.other_operation",
               fmt::format("the update '{}' {}", each.id,
                           update && !update->reduction().empty()
                               ? "is another operation than those before it"
                               : "is not a sum, a product, a minimum or a maximum"));
      }
      update_ = update;
      updates_.push_back(i);
    }
    if (!host_loops_around(kernel_, updates_).empty()) {
      refuse("loopy.reduce_updates.not_updated",
             fmt::format("a loop of launches is around the updates of '{}'", array_));
    }
  }

  [[nodiscard]] const Expr& target_of(std::size_t statement) const {
    return get_if<Assignment>(kernel_.instructions[statement])->targets.front();
  }

  [[nodiscard]] NameSet blocks_around(std::size_t statement) const {
    NameSet blocks;
    for (const std::string& each : kernel_.instructions[statement].within_inames) {
      if (tag_of(kernel_, each).kind == AxisKind::grid) {
        blocks.insert(each);
      }
    }
    return blocks;
  }

  /// Which blocks update the same element.
  void find_element() {
    element_ = target_of(updates_.front());
    type_ = type_of(kernel_, element_);
    blocks_ = blocks_around(updates_.front());
    for (const std::size_t each : updates_) {
      if (!(target_of(each) == element_) || blocks_around(each) != blocks_) {
        refuse("loopy.reduce_updates.element",
               fmt::format("the updates of '{}' are of several elements, or on different axes of "
                           "the grid",
                           array_));
      }
    }
    bool is_one = true;
    for (const Expr& index : get_if<Access>(element_)->indices) {
      is_one = is_one && accessed_arrays(index).empty();
      for (const std::string& each : free_names(index)) {
        const bool is_block = blocks_.count(each) != 0;
        is_one = is_one && (is_block ||
                            (!is_iname(kernel_, each) && find_temporary(kernel_, each) == nullptr));
        if (is_block) {
          group_.insert(each);
        }
      }
    }
    if (!is_one) {
      refuse("loopy.reduce_updates.element",
             fmt::format("a block updates several elements of '{}': their indices may have axes of "
                         "the grid and parameters; see privatize_updates",
                         array_));
    }
    std::set_difference(blocks_.begin(), blocks_.end(), group_.begin(), group_.end(),
                        std::back_inserter(summed_));
    std::stable_sort(summed_.begin(), summed_.end(), [&](const auto& a, const auto& b) {
      return tag_of(kernel_, a).number < tag_of(kernel_, b).number;
    });
  }

  /// What the element has before the updates.
  void find_start() {
    if (!start_) {
      return;
    }
    const Instruction& start = kernel_.instructions[*start_];
    const NameSet names = free_names(get_if<Assignment>(start)->value);
    const bool is_constant = std::none_of(names.begin(), names.end(), [&](const auto& each) {
      return find_temporary(kernel_, each) != nullptr;
    });
    if (!(target_of(*start_) == element_) || start.within_inames != group_ || !is_constant ||
        !accessed_arrays(get_if<Assignment>(start)->value).empty()) {
      refuse("loopy.reduce_updates.element",
             fmt::format("'{}' does not set the element that is updated, once, to a value of "
                         "parameters",
                         start.id));
    }
  }

  [[nodiscard]] Expr with_start(const Expr& sum) const {
    const Expr start = start_ ? get_if<Assignment>(kernel_.instructions[*start_])->value : element_;
    return start == update_->neutral() || (start == Expr(0) && update_->reduction() == "sum")
               ? sum
               : update_->combine(start, sum);
  }

  /// Lets threads and lanes keep what an update combines. Adds the statement that starts it.
  /// @returns  what a block has
  Expr keep(Instruction& update, std::vector<Instruction>& fills) {
    Temporary own;
    own.name = names_.make(array_ + "_own");
    own.type = type_;
    own.address_space = AddressSpace::private_;
    std::vector<Expr> here;
    std::vector<Expr> filled;
    std::vector<Expr> read;
    Instruction fill;
    fill.id = names_.make("fill_" + own.name);
    fill.is_fill = true;
    fill.within_inames = blocks_;
    Reduction sum{update_->reduction(), {}, {}};
    for (const std::string& each : update.within_inames) {
      const InameTag tag = tag_of(kernel_, each);
      if (tag.kind != AxisKind::block && tag.kind != AxisKind::block_auto && !tag.is_lane()) {
        continue;
      }
      const auto [first, last] = range_of(constraints_of(kernel_, {each}), Affine(each));
      if (tag.kind == AxisKind::block_auto || !first || !last || *first < 0) {
        refuse("loopy.reduce_updates.unknown_length",
               fmt::format("the number of threads or lanes along '{}' is not constant", each));
      }
      const std::int64_t length = *last + 1;
      const std::string z = add_counted_iname(kernel_, names_, own.name + "_z", length, tag);
      sum.inames.push_back(add_counted_iname(kernel_, names_, own.name + "_h", length,
                                             tag.is_lane() ? InameTag{AxisKind::unroll} : tag));
      fill.within_inames.insert(z);
      here.emplace_back(Name{each});
      filled.emplace_back(Name{z});
      read.emplace_back(Name{sum.inames.back()});
      own.shape.emplace_back(length);
    }
    const auto element = [name = own.name](const std::vector<Expr>& index) {
      return index.empty() ? Expr(Name{name}) : access(name, index);
    };
    fill.kind = Assignment{{element(filled)}, update_->neutral(), false};
    Assignment kept = *get_if<Assignment>(update);
    const Expr target = kept.targets.front();
    kept.targets.front() = element(here);
    kept.value = rewrite_bottom_up(kept.value, [&](const Expr& part) -> std::optional<Expr> {
      return part == target ? std::optional(element(here)) : std::nullopt;
    });
    kept.is_atomic = false;
    update.kind = std::move(kept);
    update.depends_on.insert(fill.id);
    fills.push_back(std::move(fill));
    kernel_.temporaries.push_back(std::move(own));
    sum.operands = {element(read)};
    return sum.inames.empty() ? sum.operands.front() : Expr(std::move(sum));
  }

  /// Lets blocks store their parts, and returns the sum of all of them.
  Expr sum_of_parts(const Expr& part, Instruction& store) {
    NewNames copies;
    for (const std::string& each : summed_) {
      copies[each] = names_.make(each + "_of_parts");
    }
    Temporary parts;
    parts.name = names_.make(array_ + "_parts");
    parts.type = type_;
    parts.address_space = AddressSpace::global;
    std::vector<Expr> here;
    std::vector<Expr> there;
    for (const NameSet& names : {group_, NameSet(summed_.begin(), summed_.end())}) {
      for (const std::string& each : names) {
        if (!constraints_of(kernel_, {each}).implies_nonnegative(Affine(each))) {
          refuse("loopy.reduce_updates.unknown_length",
                 fmt::format("'{}' may be negative, and blocks store their parts by it", each));
        }
        parts.shape.push_back(end_of_loop(kernel_, each));
        here.emplace_back(Name{each});
        there.emplace_back(Name{copies.count(each) != 0 ? copies.at(each) : each});
      }
    }
    store.kind = Assignment{{access(parts.name, here)}, part, false};
    Reduction sum{update_->reduction(), {}, {access(parts.name, there)}};
    for (const std::string& each : summed_) {
      sum.inames.push_back(copies.at(each));
    }
    over_parts_ = copies.at(summed_.front());
    kernel_.temporaries.push_back(std::move(parts));
    kernel_ = with_copied_inames(std::move(kernel_), copies, group_);
    return sum;
  }

  /// Lets all threads that the launch has combine the parts of blocks.
  void share_parts() {
    std::array<std::int64_t, 3> lengths = {1, 1, 1};
    std::int64_t threads = 1;
    for (const auto& [iname, tag] : kernel_.iname_tags) {
      const bool is_here = std::any_of(
          kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(first_),
          kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(end_),
          [&, name = iname](const auto& each) { return each.within_inames.count(name) != 0; });
      if (is_here && tag.kind == AxisKind::block) {
        const auto [first, last] = range_of(constraints_of(kernel_, {iname}), Affine(iname));
        std::int64_t& length = lengths.at(static_cast<std::size_t>(tag.number));
        length = std::max(length, first == 0 && last ? *last + 1 : 1);
      }
    }
    for (const std::int64_t length : lengths) {
      threads *= length;
    }
    std::string rest = over_parts_;
    if (threads > 1) {
      SplitOptions split;
      split.inner_name = rest = names_.make(over_parts_ + "_inner");
      kernel_ = split_iname(std::move(kernel_), over_parts_, threads, split);
    }
    for (int axis = 2; axis >= 0; --axis) {
      const std::int64_t length = lengths.at(static_cast<std::size_t>(axis));
      threads /= length;
      const std::string tag = fmt::format("l.{}", axis);
      if (length > 1 && threads > 1) {
        SplitOptions split{.outer_tag = tag};
        split.inner_name = names_.make(over_parts_ + "_inner");
        const std::string inner = split.inner_name;
        kernel_ = split_iname(std::move(kernel_), rest, threads, split);
        rest = inner;
      } else if (length > 1) {
        kernel_.iname_tags.insert_or_assign(rest, parse_iname_tag(tag));
      }
    }
  }

  /// Inserts the statements before the updates, at the end of the launch, and of its last block.
  void place(std::vector<Instruction> fills, std::vector<Instruction> ends,
             std::vector<Instruction> of_last_block) {
    std::vector<Instruction>& all = kernel_.instructions;
    const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    if (!of_last_block.empty()) {
      const bool has_barrier = end_ < all.size() && is_last_block(all[end_]);
      if (has_barrier && blocks_around(end_ + 1) != group_) {
        refuse("loopy.reduce_updates.element",
               fmt::format("the last block of the launch gives a result of other blocks than "
                           "those which update '{}'",
                           array_));
      }
      if (!has_barrier) {
        Instruction barrier;
        barrier.id = names_.make(array_ + "_barrier");
        barrier.kind = BarrierInstruction{BarrierScope::global, true};
        all.insert(at(end_), std::move(barrier));
      }
      for (std::size_t i = first_; i < end_; ++i) {
        all[end_].depends_on.insert(all[i].id);
      }
      for (const Instruction& each : ends) {
        all[end_].depends_on.insert(each.id);
      }
      of_last_block.front().depends_on.insert(all[end_].id);
      all.insert(at(end_ + 1), of_last_block.begin(), of_last_block.end());
    }
    all.insert(at(end_), ends.begin(), ends.end());
    if (start_) {
      const Instruction start = all[*start_];
      all.erase(at(*start_));
      for (Instruction& each : all) {
        if (each.depends_on.erase(start.id) != 0) {
          each.depends_on.insert(start.depends_on.begin(), start.depends_on.end());
        }
      }
    }
    all.insert(at(first_), fills.begin(), fills.end());
  }

  Kernel kernel_;
  const std::string array_;
  NameGenerator names_;
  std::size_t first_ = 0;  ///< statement of the launch
  std::size_t end_ = 0;    ///< of its statements
  std::vector<std::size_t> updates_{};
  std::optional<std::size_t> start_{};
  std::optional<Update> update_{};
  Expr element_ = 0;
  cgen::Type type_{};
  NameSet blocks_{};                   ///< the inames of the grid around the updates
  NameSet group_{};                    ///< those that the element depends on
  std::vector<std::string> summed_{};  ///< the others
  std::string over_parts_{};
};

}  // namespace

Kernel reduce_updates(Kernel kernel, std::string_view array) {
  const RecordedStep step(kernel);
  kernel = infer_types(expand_subst(std::move(kernel)));
  kernel = UpdateReducer(std::move(kernel), std::string(array)).run();
  step.record(kernel, "reduce_updates", {std::string(array)}, {});
  return kernel;
}

}  // namespace rtcg::loopy
