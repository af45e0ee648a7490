#include "rtcg/loopy/transform/separate_loop_head_tail_slab.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/combine_values.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

/// `condition` holds for all iterations but the first or the last ones; `opposite` for these.
struct Bound {
  Affine condition{};
  [[nodiscard]] Affine opposite() const { return Affine(-1) - condition; }
};

class SlabSeparation {
 public:
  SlabSeparation(Kernel kernel, std::string iname, std::int64_t head, std::int64_t tail)
      : kernel_(std::move(kernel)), iname_(std::move(iname)) {
    find_statements();
    if (has_loop_ && !reducers_.empty()) {
      refuse("loopy.separate_loop_head_tail_slab.torn_apart",
             fmt::format("statement '{}' reduces over '{}', and others are within it: separate "
                         "before add_prefetch, which then takes the reads of each piece",
                         *reducers_.begin(), iname_));
    }
    if (has_loop_) {
      order_statements();
    }
    const ConstraintSet bounds = own_bounds();
    if (head > 0) {
      head_ = bound_of(bounds, 1, head);
    }
    if (tail > 0) {
      tail_ = bound_of(bounds, -1, tail);
    }
  }

  Kernel run() {
    const std::vector<Instruction> originals(kernel_.instructions.begin() + first_,
                                             kernel_.instructions.begin() + last_ + 1);
    std::vector<Instruction> all;
    if (head_) {
      all = copied(originals, "_head", {head_->opposite()});
    }
    all.insert(all.end(), originals.begin(), originals.end());
    if (tail_) {
      std::vector<Affine> conditions = {tail_->opposite()};
      if (head_) {
        conditions.push_back(head_->condition);
      }
      const std::vector<Instruction> last = copied(originals, "_tail", conditions);
      all.insert(all.end(), last.begin(), last.end());
    }
    std::vector<Affine> between;
    for (const std::optional<Bound>& bound : {head_, tail_}) {
      if (bound) {
        between.push_back(bound->condition);
      }
    }
    for (const Affine& condition : between) {
      home_of(iname_).constraints.add_nonnegative(condition);
    }
    auto place = kernel_.instructions.erase(kernel_.instructions.begin() + first_,
                                            kernel_.instructions.begin() + last_ + 1);
    kernel_.instructions.insert(place, all.begin(), all.end());
    for (Instruction& each : kernel_.instructions) {
      if (reducers_.count(each.id) != 0) {
        const std::string id = each.id;
        each = map_expressions(std::move(each),
                               [&](const Expr& expr) { return with_all_parts(expr, id); });
      }
      for (const auto& [old, copy] : copied_ids_) {
        const bool is_outside = each.within_inames.count(iname_) == 0 && !is_copy(each.id);
        if (is_outside && each.depends_on.count(old) != 0) {
          each.depends_on.insert(copy);
        }
      }
    }
    return std::move(kernel_);
  }

 private:
  Domain& home_of(const std::string& iname) {
    return *std::find_if(kernel_.domains.begin(), kernel_.domains.end(), [&](const Domain& each) {
      return std::find(each.inames.begin(), each.inames.end(), iname) != each.inames.end();
    });
  }
  [[nodiscard]] bool is_copy(const std::string& id) const {
    return std::any_of(copied_ids_.begin(), copied_ids_.end(),
                       [&](const auto& each) { return each.second == id; });
  }

  void find_statements() {
    const Domain& home = home_of(iname_);
    for (const Instruction& each : kernel_.instructions) {
      const NameSet used = used_inames(each);
      if (reduction_inames(each).count(iname_) != 0) {
        reducers_.insert(each.id);
        around_.insert(each.within_inames.begin(), each.within_inames.end());
        for_each_expression(each, [&](const Expr& expr) { add_reduced(expr, each.id); });
        continue;
      }
      if (used.count(iname_) != 0) {
        has_loop_ = true;
        used_.insert(used.begin(), used.end());
        continue;
      }
      for (const std::string& other : home.inames) {
        if (used.count(other) != 0 && tag_of(kernel_, other).kind == AxisKind::sequential) {
          refuse("loopy.separate_loop_head_tail_slab.torn_apart",
                 fmt::format("statement '{}' is within '{}', whose bounds hang together with those "
                             "of '{}', but not within that",
                             each.id, other, iname_));
        }
      }
    }
    if (used_.empty()) {
      refuse("loopy.separate_loop_head_tail_slab.unknown_iname",
             fmt::format("no statement is within '{}'", iname_));
    }
  }

  /// The inames of the reductions over the loop.
  void add_reduced(const Expr& expr, const std::string& id) {
    walk(expr, [&](const Expr& part) {
      const Reduction* scanned = as_scan(part);
      const Reduction* reduction = get_if<Reduction>(part);
      if (is_reduced(scanned)) {
        refuse("loopy.separate_loop_head_tail_slab.reduced",
               fmt::format("statement '{}' scans over '{}': its iterations make one value", id,
                           iname_));
      }
      if (is_reduced(reduction)) {
        used_.insert(reduction->inames.begin(), reduction->inames.end());
        used_.merge(reduction_inames(part));
      }
      return true;
    });
  }
  [[nodiscard]] bool is_reduced(const Reduction* reduction) const {
    return reduction != nullptr && std::find(reduction->inames.begin(), reduction->inames.end(),
                                             iname_) != reduction->inames.end();
  }

  /// Reductions over the loop combined of those over its pieces.
  [[nodiscard]] Expr with_all_parts(const Expr& expr, const std::string& id) const {
    const Expr inside =
        map_children(expr, [&](const Expr& child) { return with_all_parts(child, id); });
    const Reduction* reduction = get_if<Reduction>(inside);
    if (!is_reduced(reduction)) {
      return inside;
    }
    std::vector<Expr> values;
    for (const NewNames& names : pieces_) {
      values.push_back(rename_all(inside, names));
    }
    values.insert(values.begin() + (head_ ? 1 : 0), inside);
    const std::optional<Expr> all = reduction->operands.size() == 1
                                        ? combine_values(reduction->operation, values)
                                        : std::nullopt;
    if (!all) {
      refuse("loopy.separate_loop_head_tail_slab.reduced",
             fmt::format("statement '{}' reduces over '{}' with '{}', which no function combines",
                         id, iname_, reduction->operation));
    }
    return *all;
  }

  /// The statements of the loop next to each other; sets first_ and last_.
  void order_statements() {
    const auto is_within = [&](const Instruction& each) {
      return each.within_inames.count(iname_) != 0;
    };
    std::vector<Instruction>& all = kernel_.instructions;
    first_ = std::find_if(all.begin(), all.end(), is_within) - all.begin();
    last_ = all.rend() - std::find_if(all.rbegin(), all.rend(), is_within) - 1;
    const std::optional<IterationOrder> order = iteration_order(kernel_);
    if (!order) {
      refuse("loopy.separate_loop_head_tail_slab.torn_apart",
             fmt::format("the loops of kernel '{}' cannot be nested yet", kernel_.name));
    }
    for (const auto& [id, statement] : *order) {
      for (const LoopLevel& level : statement.levels) {
        if (level.loop == iname_) {
          break;
        }
        if (find_instruction(kernel_, id)->within_inames.count(iname_) != 0) {
          around_.insert(level.loop);
        }
      }
    }
    if (std::all_of(all.begin() + first_, all.begin() + last_ + 1, is_within)) {
      return;
    }
    for (auto each = all.begin() + first_; each != all.begin() + last_ + 1; ++each) {
      if (order->count(each->id) == 0) {
        refuse("loopy.separate_loop_head_tail_slab.torn_apart",
               fmt::format("'{}' is between statements of loop '{}'", each->id, iname_));
      }
    }
    std::stable_sort(all.begin() + first_, all.begin() + last_ + 1,
                     [&](const Instruction& left, const Instruction& right) {
                       return order->at(left.id).place < order->at(right.id).place;
                     });
    first_ = std::find_if(all.begin(), all.end(), is_within) - all.begin();
    last_ = all.rend() - std::find_if(all.rbegin(), all.rend(), is_within) - 1;
  }

  /// What is known of the iname outside of the loops within it.
  ConstraintSet own_bounds() {
    const Domain& home = home_of(iname_);
    std::vector<std::string> inner;
    for (const std::string& each : home.inames) {
      if (each != iname_ && around_.count(each) == 0) {
        inner.push_back(each);
      }
    }
    return home.constraints.project_out(inner).without_redundancies();
  }

  /// The only bound from below (sign 1) or above (sign -1), `count` iterations further inside.
  [[nodiscard]] Bound bound_of(const ConstraintSet& bounds, int sign, std::int64_t count) const {
    std::vector<Affine> found;
    bool is_plain = true;
    for (const Constraint& each : bounds.constraints()) {
      const std::int64_t coefficient = each.expr.coefficient(iname_);
      is_plain = is_plain && (coefficient == 0 || !each.is_equality);
      if (coefficient * sign > 0) {
        found.push_back(each.expr - Affine(coefficient * sign * count));
      }
    }
    for (const Congruence& each : bounds.congruences()) {
      is_plain = is_plain && each.expr.coefficient(iname_) == 0;
    }
    if (!is_plain || found.size() != 1) {
      refuse("loopy.separate_loop_head_tail_slab.several_bounds",
             fmt::format("'{}' has {} bounds from {}, or takes not all values between: one is "
                         "needed",
                         iname_, found.size(), sign > 0 ? "below" : "above"));
    }
    return {found.front()};
  }

  [[nodiscard]] bool is_copied(const std::string& iname) const {
    if (around_.count(iname) != 0) {
      return false;
    }
    return iname == iname_ || is_loop_iname(kernel_, iname) ||
           with_parent_inames(kernel_, {iname}).count(iname_) != 0 ||
           find_home_domain(kernel_, iname) == find_home_domain(kernel_, iname_);
  }

  /// The statements over copies of the loops, under `conditions` on the iname.
  std::vector<Instruction> copied(const std::vector<Instruction>& originals,
                                  const std::string& suffix,
                                  const std::vector<Affine>& conditions) {
    NameGenerator names = make_name_generator(kernel_);
    NewNames inames;
    for (const std::string& each : used_) {
      if (is_copied(each)) {
        inames[each] = names.make(each + suffix);
      }
    }
    kernel_ = with_tagged_copies(std::move(kernel_), inames, used_);
    pieces_.push_back(inames);
    const auto renamed = [&](const std::string& old) {
      const auto found = inames.find(old);
      return found == inames.end() ? old : found->second;
    };
    for (const Affine& condition : conditions) {
      home_of(inames.at(iname_)).constraints.add_nonnegative(condition.rename(renamed));
    }
    const std::size_t priorities = kernel_.loop_priorities.size();
    for (std::size_t i = 0; i < priorities; ++i) {
      std::vector<std::string> priority = kernel_.loop_priorities[i];
      std::transform(priority.begin(), priority.end(), priority.begin(), renamed);
      if (priority != kernel_.loop_priorities[i]) {
        kernel_.loop_priorities.push_back(std::move(priority));
      }
    }
    std::map<std::string, std::string> ids;
    for (const Instruction& each : originals) {
      ids[each.id] = names.make(each.id + suffix);
    }
    std::vector<Instruction> copies;
    for (Instruction copy : originals) {
      copy = map_expressions(std::move(copy),
                             [&](const Expr& expr) { return rename_all(expr, inames); });
      copy.id = ids.at(copy.id);
      NameSet within;
      for (const std::string& each : copy.within_inames) {
        within.insert(renamed(each));
      }
      copy.within_inames = std::move(within);
      NameSet depends_on;
      for (const std::string& each : copy.depends_on) {
        depends_on.insert(ids.count(each) != 0 ? ids.at(each) : each);
      }
      copy.depends_on = std::move(depends_on);
      copies.push_back(std::move(copy));
    }
    copied_ids_.insert(copied_ids_.end(), ids.begin(), ids.end());
    return copies;
  }

  Kernel kernel_;
  std::string iname_;
  NameSet used_;                  // by the statements within
  NameSet around_;                // loops outside
  NameSet reducers_;              // statements that reduce over it
  bool has_loop_ = false;         // a statement is within it
  std::vector<NewNames> pieces_;  // new names in the head and the tail
  std::ptrdiff_t first_ = 0;
  std::ptrdiff_t last_ = -1;
  std::optional<Bound> head_;
  std::optional<Bound> tail_;
  std::vector<std::pair<std::string, std::string>> copied_ids_;
};

}  // namespace

Kernel separate_loop_head_tail_slab(Kernel kernel, std::string_view iname, std::int64_t head,
                                    std::int64_t tail) {
  const std::string old(iname);
  if (!is_iname(kernel, iname)) {
    refuse("loopy.separate_loop_head_tail_slab.unknown_iname", unknown_iname_text(kernel, iname));
  }
  if (head < 0 || tail < 0 || head + tail == 0) {
    refuse("loopy.separate_loop_head_tail_slab.bad_count",
           fmt::format("{} first and {} last iterations of '{}' cannot be separated", head, tail,
                       iname));
  }
  const RecordedStep step(kernel);
  if (tag_of(kernel, iname).is_parallel()) {
    // the text tests whether a tile is whole, and has code for both where that pays
    step.record(kernel, "separate_loop_head_tail_slab",
                {old, std::to_string(head), std::to_string(tail)});
    return kernel;
  }
  if (!kernel.rules.empty()) {
    kernel = expand_subst(std::move(kernel));  // rules may use the iname
  }
  kernel = SlabSeparation(std::move(kernel), old, head, tail).run();
  step.record(kernel, "separate_loop_head_tail_slab",
              {old, std::to_string(head), std::to_string(tail)});
  return kernel;
}

}  // namespace rtcg::loopy
