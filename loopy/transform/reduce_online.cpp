#include "rtcg/loopy/transform/reduce_online.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/duplicate_inames.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/reduction_chain.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/temporaries.h"

namespace rtcg::loopy {
namespace {

class OnlineReducer {
 public:
  OnlineReducer(Kernel kernel, std::string iname)
      : kernel_(std::move(kernel)), iname_(std::move(iname)) {}

  Kernel run() {
    const auto is_part = [&](const Reduction& reduction) {
      return std::find(reduction.inames.begin(), reduction.inames.end(), iname_) !=
             reduction.inames.end();
    };
    kernel_ = with_visible_chain(std::move(kernel_), is_part);
    chain_ = find_reduction_chain(kernel_, {iname_}, is_part);
    check_loop();
    names_ = make_name_generator(kernel_);
    for (const ChainLink& link : chain_.links) {
      names_.reserve(link.running);
      for (const std::size_t used : link.uses) {
        followed_.insert(chain_.links[used].running);
      }
    }
    inputs_ = inputs_of(kernel_, chain_);
    for (const ChainLink& link : chain_.links) {
      add_start(link);
    }
    for (const ChainLink& link : chain_.links) {
      add_update(link);
    }
    for (const ChainLink& link : chain_.links) {
      if (followed_.count(link.running) != 0) {
        add_statement("keep_" + link.running, link.running, name(next_.at(link.running)),
                      in_loop(link));
      }
    }
    const std::size_t place = chain_.links.front().statement;
    replace_reductions(kernel_, chain_, statements_.back().id,
                       [](const ChainLink& link) { return finished(link, name(link.running)); });
    kernel_.instructions.insert(kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place),
                                statements_.begin(), statements_.end());
    add_axes();
    return std::move(kernel_);
  }

 private:
  void check_loop() const {
    const InameTag tag = tag_of(kernel_, iname_);
    const auto refuse_form = [&](std::string reason) {
      refuse("loopy.reduction_chain.not_alike", std::move(reason));
    };
    if (tag.kind != AxisKind::sequential) {
      refuse_form(fmt::format("'{}' is tagged {}, and running values take a sequential loop",
                              iname_, to_string(tag)));
    }
    for (const Instruction& each : kernel_.instructions) {
      if (each.within_inames.count(iname_) != 0) {
        refuse_form(fmt::format("'{}' is within the loop '{}'", each.id, iname_));
      }
    }
    for (const ChainLink& link : chain_.links) {
      if (link.product) {
        refuse("loopy.reduction_chain.no_repair",
               fmt::format("the products in '{}' follow from means, not from a factor: "
                           "fuse_reductions takes them",
                           kernel_.instructions[link.statement].id));
      }
    }
  }

  [[nodiscard]] const NameSet& around(const ChainLink& link) const {
    return kernel_.instructions[link.statement].within_inames;
  }
  [[nodiscard]] NameSet in_loop(const ChainLink& link) const {
    NameSet within = around(link);
    within.insert(iname_);
    return within;
  }

  void add_temporary(const std::string& text, const cgen::Type& type) {
    Temporary temporary;
    temporary.name = text;
    temporary.type = type;
    kernel_.temporaries.push_back(std::move(temporary));
  }

  /// In the order of the calls: each depends on the one before, which keeps iterations apart.
  void add_statement(const std::string& id, const std::string& target, const Expr& value,
                     const NameSet& within) {
    Instruction statement;
    statement.id = names_.make(id);
    statement.kind = Assignment{{name(target)}, value};
    statement.within_inames = with_parent_inames(kernel_, within);
    statement.depends_on = inputs_;
    if (!statements_.empty()) {
      statement.depends_on.insert(statements_.back().id);
    }
    statements_.push_back(std::move(statement));
  }

  void add_start(const ChainLink& link) {
    add_temporary(link.running, link.type);
    add_statement("start_" + link.running, link.running, neutral_of(kernel_, link), around(link));
    starts_.push_back(statements_.back());
  }

  /// What one iteration reduces, by the new values of earlier links.
  [[nodiscard]] Expr part_of(const ChainLink& link) const {
    std::vector<std::string> inner = link.inames;
    std::erase(inner, iname_);
    Substitution values;
    for (const std::size_t used : link.uses) {
      const std::string& running = chain_.links[used].running;
      values.emplace(running, name(pivot_.at(running)));
    }
    const Expr operand = substitute(link.operand, values);
    return inner.empty() ? operand : Expr(Reduction{link.operation, inner, {operand}});
  }

  /// The factor of the link's sums in one iteration, as a variable.
  [[nodiscard]] Expr factor_of(const ChainLink& link) {
    Substitution after;
    NameSet within = {iname_};
    for (const std::size_t used : link.uses) {
      const std::string& running = chain_.links[used].running;
      after.emplace(running, name(pivot_.at(running)));
      within.insert(around(chain_.links[used]).begin(), around(chain_.links[used]).end());
    }
    const Expr factor = change_of(link.factors, [&](const Expr& atom, bool is_reversed) {
      const Expr changed = substitute(atom, after);
      return is_reversed ? atom - changed : changed - atom;
    });
    for (const std::string& each : free_names(factor)) {
      if (is_iname(kernel_, each)) {
        within.insert(each);
      }
    }
    for (const auto& [known, variable] : factors_) {
      if (known == factor) {
        return name(variable);
      }
    }
    const std::string variable = names_.make(link.running + "_factor");
    add_temporary(variable, link.type);
    add_statement("set_" + variable, variable, factor, within);
    factors_.emplace_back(factor, variable);
    return name(variable);
  }

  void add_update(const ChainLink& link) {
    const Expr old_value =
        link.factors.empty() ? name(link.running) : name(link.running) * factor_of(link);
    const Expr value = combined(kernel_, link, old_value, part_of(link));
    if (followed_.count(link.running) == 0) {
      add_statement("update_" + link.running, link.running, value, in_loop(link));
      updates_.push_back(statements_.back().id);
      return;
    }
    const std::string next = names_.make(link.running + "_next");
    add_temporary(next, link.type);
    add_statement("set_" + next, next, value, in_loop(link));
    updates_.push_back(statements_.back().id);
    next_.emplace(link.running, next);
    pivot_.emplace(link.running, next);
    if (is_least(link.operation) || is_greatest(link.operation)) {
      // differences from an infinite value would not be numbers
      const Expr neutral = neutral_of(kernel_, link);
      const std::string pivot = names_.make(link.running + "_pivot");
      add_temporary(pivot, link.type);
      add_statement("set_" + pivot, pivot,
                    Conditional{compare(ComparisonOp::equal, name(next), neutral),
                                Real{0, cgen::scalar_kind(link.type)}, name(next)},
                    in_loop(link));
      pivot_[link.running] = pivot;
    }
  }

  /// Loops that not all statements are within run before, in and after the loop over the iname:
  /// each time under a name of their own.
  void add_axes() {
    const NameSet common = around_all();
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      std::vector<std::string> own;
      for (const std::string& each : starts_[i].within_inames) {
        const AxisKind kind = tag_of(kernel_, each).kind;
        const bool is_loop = kind == AxisKind::sequential || kind == AxisKind::unroll ||
                             kind == AxisKind::unroll_hint;
        if (common.count(each) == 0 && is_loop) {
          own.push_back(each);
        }
      }
      if (!own.empty()) {
        kernel_ = privatize_temporaries(std::move(kernel_), own, {chain_.links[i].running});
        kernel_ = duplicate_inames(std::move(kernel_), own, {.within = "id:" + starts_[i].id});
        kernel_ = duplicate_inames(std::move(kernel_), own, {.within = "id:" + updates_[i]});
      }
    }
  }
  [[nodiscard]] NameSet around_all() const {
    std::optional<NameSet> common;
    for (const Instruction& each : statements_) {
      NameSet within = each.within_inames;
      within.erase(iname_);
      if (!common) {
        common = within;
      }
      std::erase_if(*common, [&](const auto& iname) { return within.count(iname) == 0; });
    }
    return common.value_or(NameSet());
  }

  Kernel kernel_;
  const std::string iname_;
  ReductionChain chain_{};
  NameGenerator names_{};
  NameSet followed_{};  ///< running values that later reductions use
  NameSet inputs_{};
  std::map<std::string, std::string> next_{};  ///< by the running value
  std::map<std::string, std::string>
      pivot_{};  ///< finite where the next value is that of no element
  std::vector<std::pair<Expr, std::string>> factors_{};
  std::vector<Instruction> statements_{};
  std::vector<Instruction> starts_{};   ///< of these, those that set the first values
  std::vector<std::string> updates_{};  ///< ids of those that set the next ones
};

}  // namespace

Kernel reduce_online(Kernel kernel, std::string_view iname) {
  const RecordedStep step(kernel);
  kernel = OnlineReducer(std::move(kernel), std::string(iname)).run();
  step.record(kernel, "reduce_online", {std::string(iname)});
  return kernel;
}

}  // namespace rtcg::loopy
