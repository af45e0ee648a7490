// Gives reductions inames of their own where one loop could not serve them all.
#include <algorithm>

#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/preprocess/preprocess.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/copy_inames.h"

namespace rtcg::loopy {
namespace {

/// A statement or a reduction that has a loop.
struct LoopUser {
  std::size_t statement = 0;
  /// All loops around what is done there.
  NameSet loops;
  /// The loops around the statement, or around the reduction.
  NameSet outer_loops;
  /// Variables read there; nothing for a statement.
  std::optional<NameSet> reads;
  /// Distinguishes the reductions of all statements.
  std::size_t number = 0;
};

class Separator {
 public:
  explicit Separator(Kernel kernel)
      : kernel_(std::move(kernel)), names_(make_name_generator(kernel_)) {
    find_order();
  }

  Kernel run() {
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      for (const std::string& iname : kernel_.instructions[i].within_inames) {
        const NameSet loops = loops_among(kernel_.instructions[i].within_inames);
        statements_in_[iname].push_back({i, loops, loops, {}});
      }
    }
    for (statement_ = 0; statement_ < kernel_.instructions.size(); ++statement_) {
      const Instruction old = kernel_.instructions[statement_];
      kernel_.instructions[statement_] =
          map_expressions(old, [&](const Expr& expr) { return rewrite(expr, old.within_inames); });
    }
    return std::move(kernel_);
  }

 private:
  void find_order() {
    direct_ = statement_order(kernel_);
    before_ = transitive_closure(direct_);
  }
  /// Whether `earlier` must run before `later`, because of others perhaps.
  [[nodiscard]] bool precedes(std::size_t earlier, std::size_t later) const {
    return std::binary_search(before_[later].begin(), before_[later].end(), earlier);
  }

  [[nodiscard]] NameSet loops_among(const NameSet& inames) const {
    NameSet loops;
    for (const std::string& each : inames) {
      if (is_loop_iname(kernel_, each)) {
        loops.insert(each);
      }
    }
    return loops;
  }

  Expr rewrite(const Expr& expr, const NameSet& around) {
    const Reduction* reduction = get_if<Reduction>(expr);
    if (reduction == nullptr) {
      return is<Conditional>(expr) || is<Logical>(expr)
                 ? rewrite_in_order(expr, around)
                 : map_children(expr, [&](const Expr& child) { return rewrite(child, around); });
    }
    const Expr own = with_own_inames(expr, around);
    NameSet inside = around;
    const Reduction& renamed = *get_if<Reduction>(own);
    inside.insert(renamed.inames.begin(), renamed.inames.end());
    return map_children(own, [&](const Expr& child) { return rewrite(child, inside); });
  }

  /// A condition is computed completely before what depends on it.
  Expr rewrite_in_order(const Expr& expr, const NameSet& around) {
    const std::set<std::size_t> outer = decided_before_;
    const auto decides = [&](const Expr& condition) {
      const std::size_t first = next_number_;
      Expr result = rewrite(condition, around);
      for (std::size_t number = first; number < next_number_; ++number) {
        decided_before_.insert(number);
      }
      return result;
    };
    Expr result = expr;
    if (const Conditional* conditional = get_if<Conditional>(expr)) {
      const Expr condition = decides(conditional->condition);
      const Expr then_value = rewrite(conditional->then_value, around);
      result = Conditional{condition, then_value, rewrite(conditional->else_value, around)};
    } else {
      Logical logical = *get_if<Logical>(expr);
      for (Expr& operand : logical.operands) {
        operand = decides(operand);
      }
      result = logical;
    }
    decided_before_ = outer;
    return result;
  }

  /// The reduction over the first copy of its inames whose other users leave room for it.
  Expr with_own_inames(const Expr& expr, const NameSet& around) {
    const NameSet copied = inames_to_copy(expr);
    if (copied.empty()) {
      return expr;
    }
    std::vector<NewNames>& copies = copies_of_[*copied.begin()];
    std::optional<Expr> found;
    if (is_handed_values(expr) || fits(expr, around)) {
      found = expr;
    }
    for (std::size_t i = 0; i < copies.size() && !found; ++i) {
      const Expr renamed = rename_all(expr, copies[i]);
      if (names_exactly(copies[i], copied) && fits(renamed, around)) {
        found = renamed;
      }
    }
    if (!found) {
      NewNames names;
      for (const std::string& iname : copied) {
        names[iname] = copy_name(names_, iname);
      }
      NameSet used = around;
      used.merge(reduction_inames(expr));
      kernel_ = with_tagged_copies(std::move(kernel_), names, used);
      found = rename_all(expr, names);
      copies.push_back(std::move(names));
    }
    add_user(*found, around);
    return *found;
  }

  /// The loops of the reduction, and what within is tied to them: kept or copied together. Nothing
  /// where the reduction has no loop.
  [[nodiscard]] NameSet inames_to_copy(const Expr& expr) const {
    const std::vector<std::string>& own = get_if<Reduction>(expr)->inames;
    const NameSet loops = loops_among(NameSet(own.begin(), own.end()));
    return loops.empty() ? loops : tied_reduction_inames(kernel_, expr, loops);
  }

  static bool names_exactly(const NewNames& names, const NameSet& inames) {
    return names.size() == inames.size() &&
           std::all_of(inames.begin(), inames.end(),
                       [&](const std::string& each) { return names.count(each) != 0; });
  }

  [[nodiscard]] LoopUser user_of(const Expr& expr, const NameSet& around) const {
    const Reduction& reduction = *get_if<Reduction>(expr);
    NameSet inside = around;
    inside.insert(reduction.inames.begin(), reduction.inames.end());
    Instruction operands;
    operands.kind = Assignment{{}, expr, false};
    operands.predicates = kernel_.instructions[statement_].predicates;
    operands.within_inames = inside;
    return {statement_, loops_among(inside), loops_among(around),
            read_variables(kernel_, operands)};
  }
  void add_user(const Expr& expr, const NameSet& around) {
    LoopUser user = user_of(expr, around);
    user.number = next_number_++;
    for (const std::string& iname : get_if<Reduction>(expr)->inames) {
      users_[iname].push_back(user);
    }
  }

  /// Whether the reduction can share the loops over its inames with all who have them already.
  [[nodiscard]] bool fits(const Expr& expr, const NameSet& around) {
    const LoopUser user = user_of(expr, around);
    for (const std::string& iname : get_if<Reduction>(expr)->inames) {
      if (!is_loop_iname(kernel_, iname)) {
        continue;
      }
      if (around.count(iname) != 0) {
        return false;
      }
      for (const LoopUser& other : users_[iname]) {
        if (other.loops != user.loops || decided_before_.count(other.number) != 0 ||
            needs(user, other) || needs(other, user)) {
          return false;
        }
      }
      // a statement in a loop over the same iname hands its values on within an iteration
      for (const LoopUser& other : statements_in_[iname]) {
        if (!std::includes(other.loops.begin(), other.loops.end(), user.outer_loops.begin(),
                           user.outer_loops.end()) ||
            needs(other, user) || reads_elsewhere(expr, other)) {
          return false;
        }
      }
    }
    return true;
  }

  /// Whether a statement in a loop over an iname of the reduction hands it a value that only stays
  /// for an iteration: no other loop will do.
  [[nodiscard]] bool is_handed_values(const Expr& expr) {
    const NameSet read = names_read(expr);
    for (const std::string& iname : get_if<Reduction>(expr)->inames) {
      for (const LoopUser& writer : statements_in_[iname]) {
        for (const ArrayAccess& access : writes_of(writer)) {
          if (read.count(access.array) != 0 && !mentions(access.indices, iname)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /// Whether the reduction reads elements that a statement in a loop over its iname writes in other
  /// iterations.
  [[nodiscard]] bool reads_elsewhere(const Expr& expr, const LoopUser& writer) const {
    bool is_elsewhere = false;
    for (const ArrayAccess& access : writes_of(writer)) {
      walk(expr, [&](const Expr& part) {
        const Access* read = get_if<Access>(part);
        is_elsewhere = is_elsewhere || (read != nullptr && read->array == access.array &&
                                        read->indices != access.indices);
        return true;
      });
    }
    return is_elsewhere;
  }
  [[nodiscard]] std::vector<ArrayAccess> writes_of(const LoopUser& user) const {
    std::vector<ArrayAccess> accesses = accesses_of(kernel_, kernel_.instructions[user.statement]);
    std::erase_if(accesses, [](const ArrayAccess& each) { return !each.is_write; });
    return accesses;
  }
  [[nodiscard]] static NameSet names_read(const Expr& expr) {
    NameSet names = free_names(expr);
    names.merge(accessed_arrays(expr));
    return names;
  }
  /// Whether each value of the iname has separate elements: values under `%` repeat.
  [[nodiscard]] static bool mentions(const std::vector<Expr>& indices, const std::string& iname) {
    bool found = false;
    for (const Expr& index : indices) {
      walk(index, [&](const Expr& part) {
        const Name* name = get_if<Name>(part);
        found = found || (name != nullptr && name->name == iname);
        return !is<Modulo>(part);
      });
    }
    return found;
  }

  /// Whether `later` uses what the whole statement of `earlier` gives.
  [[nodiscard]] bool needs(const LoopUser& later, const LoopUser& earlier) const {
    if (later.statement == earlier.statement) {
      return false;
    }
    if (!later.reads) {
      return earlier.reads && precedes(earlier.statement, later.statement);
    }
    const Instruction& instruction = kernel_.instructions[later.statement];
    for (const std::size_t each : direct_[later.statement]) {
      const Instruction& previous = kernel_.instructions[each];
      const NameSet written = written_variables(previous);
      const bool is_used =
          instruction.depends_on.count(previous.id) != 0 || is<BarrierInstruction>(previous) ||
          std::any_of(written.begin(), written.end(),
                      [&](const std::string& name) { return later.reads->count(name) != 0; });
      if (is_used && (each == earlier.statement || precedes(earlier.statement, each))) {
        return true;
      }
    }
    return false;
  }

  Kernel kernel_;
  NameGenerator names_;
  std::size_t statement_ = 0;
  Edges direct_;
  Edges before_;  // the closure of direct_
  std::map<std::string, std::vector<LoopUser>, std::less<>> statements_in_;
  std::map<std::string, std::vector<LoopUser>, std::less<>> users_;
  std::map<std::string, std::vector<NewNames>, std::less<>> copies_of_;
  std::size_t next_number_ = 0;
  std::set<std::size_t> decided_before_;  // reductions in conditions around the present expression
};

/// Whether some loop of a reduction has another user.
bool is_any_shared(const Kernel& kernel) {
  NameSet seen;
  bool found = false;
  for (const Instruction& instruction : kernel.instructions) {
    seen.insert(instruction.within_inames.begin(), instruction.within_inames.end());
  }
  const auto look_at = [&](const Expr& expr) {
    walk(expr, [&](const Expr& part) {
      if (const Reduction* reduction = get_if<Reduction>(part)) {
        for (const std::string& iname : reduction->inames) {
          found = found || (!seen.insert(iname).second && is_loop_iname(kernel, iname));
        }
      }
      return !found;
    });
  };
  for (const Instruction& instruction : kernel.instructions) {
    for_each_expression(instruction, look_at);
  }
  return found;
}

}  // namespace

Kernel separate_reductions(Kernel kernel) {
  if (!is_any_shared(kernel)) {
    return kernel;
  }
  return Separator(std::move(kernel)).run();
}

}  // namespace rtcg::loopy
