#include "rtcg/loopy/transform/pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/loop_beginning.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"
#include "rtcg/loopy/transform/vector_copies.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_stages = 8;

/// Places of the statements that assign to the variable.
std::vector<std::size_t> writers_of(const Kernel& kernel, const std::string& variable) {
  std::vector<std::size_t> writers;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (written_variables(kernel.instructions[i]).count(variable) != 0) {
      writers.push_back(i);
    }
  }
  return writers;
}

/// The inames that no other statement is within.
NameSet own_inames(const Kernel& kernel, std::size_t statement) {
  NameSet own = kernel.instructions[statement].within_inames;
  for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (i != statement) {
      for (const std::string& used : used_inames(kernel.instructions[i])) {
        own.erase(used);
      }
    }
  }
  return own;
}

std::optional<std::string> why_not_filled_by(const Kernel& kernel, std::size_t writer,
                                             const std::string& iname) {
  const Instruction& fill = kernel.instructions[writer];
  const Assignment* assignment = get_if<Assignment>(fill);
  if (assignment == nullptr || assignment->targets.size() != 1 || assignment->is_atomic ||
      !is<Access>(assignment->targets.front()) || !reduction_inames(fill).empty()) {
    return fmt::format("'{}', which fills it, is not a plain assignment to its elements", fill.id);
  }
  if (fill.within_inames.count(iname) == 0) {
    return fmt::format("'{}', which fills it, is not within '{}'", fill.id, iname);
  }
  for (const std::string& read : read_variables(kernel, fill)) {
    const std::vector<std::size_t> writers = writers_of(kernel, read);
    if (std::any_of(writers.begin(), writers.end(),
                    [&](std::size_t each) { return !launch_ends_between(kernel, each, writer); })) {
      return fmt::format("'{}', which fills it, reads '{}', which the kernel changes", fill.id,
                         read);
    }
  }
  const NameSet own = own_inames(kernel, writer);
  for (const Domain& domain : kernel.domains) {
    const auto is_own = [&](const std::string& each) { return own.count(each) != 0; };
    const bool has_own = std::any_of(domain.inames.begin(), domain.inames.end(), is_own);
    if (has_own && !std::all_of(domain.inames.begin(), domain.inames.end(), is_own)) {
      return fmt::format("'{}', which fills it, shares the domain of {} with other statements",
                         fill.id, list_text(domain.inames));
    }
  }
  return own.empty()
             ? std::optional(fmt::format("'{}', which fills it, has no iname of its own", fill.id))
             : std::nullopt;
}

std::optional<std::string> why_not_temporary(const Kernel& kernel, const std::string& name,
                                             const std::string& iname) {
  const std::vector<std::size_t> writers = writers_of(kernel, name);
  if (writers.size() != 1) {
    return fmt::format("{} statements fill it", writers.size());
  }
  if (auto reason = why_not_filled_by(kernel, writers.front(), iname)) {
    return reason;
  }
  const Instruction& fill = kernel.instructions[writers.front()];
  if (!beginning_of(kernel, iname, fill.within_inames)) {
    return fmt::format(
        "'{}' begins at a value that depends on a thread, or that no affine form "
        "of the inames around '{}' gives",
        iname, fill.id);
  }
  for (const Instruction& reader : kernel.instructions) {
    if (read_variables(kernel, reader).count(name) != 0 && used_inames(reader).count(iname) == 0) {
      return fmt::format("'{}' reads it outside of '{}'", reader.id, iname);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel,
                                    const std::vector<std::string>& temporaries,
                                    std::string_view iname, std::int64_t stages) {
  if (!is_iname(kernel, iname)) {
    return Refusal{"loopy.pipeline.unknown_iname", unknown_iname_text(kernel, iname)};
  }
  if (stages < 2 || stages > most_stages) {
    return Refusal{
        "loopy.pipeline.bad_stages",
        fmt::format("{} stages are asked for: 2 to {} would be right", stages, most_stages)};
  }
  const std::string loop(iname);
  if (tag_of(kernel, loop).kind != AxisKind::sequential ||
      !constraints_of(kernel, {loop}).minimum(Affine(loop))) {
    return Refusal{"loopy.pipeline.not_possible",
                   fmt::format("'{}' is not a loop that begins at a constant", loop)};
  }
  const ConstraintSet range = constraints_of(kernel, {loop});
  if (const auto last = range.maximum(Affine(loop));
      last && *last - *range.minimum(Affine(loop)) + 1 < stages) {
    return Refusal{"loopy.pipeline.not_possible",
                   fmt::format("'{}' has {} iterations, which are fewer than {} stages", loop,
                               *last - *range.minimum(Affine(loop)) + 1, stages)};
  }
  if (temporaries.empty()) {
    return Refusal{"loopy.pipeline.not_possible", "no temporaries are named"};
  }
  std::optional<Affine> beginning;
  for (const std::string& name : temporaries) {
    if (find_temporary(kernel, name) == nullptr) {
      std::vector<std::string> known;
      for (const Temporary& each : kernel.temporaries) {
        known.push_back(each.name);
      }
      return Refusal{"loopy.pipeline.unknown_temporary",
                     fmt::format("kernel '{}' has no temporary '{}': it has {}", kernel.name, name,
                                 list_text(known))};
    }
    if (const auto reason = why_not_temporary(kernel, name, loop)) {
      return Refusal{"loopy.pipeline.not_possible",
                     fmt::format("'{}' cannot be filled ahead: {}", name, *reason)};
    }
    const std::size_t writer = writers_of(kernel, name).front();
    const auto own = beginning_of(kernel, loop, kernel.instructions[writer].within_inames);
    if (beginning && beginning != own) {
      return Refusal{
          "loopy.pipeline.not_possible",
          fmt::format("'{}' begins at '{}' for '{}' and at '{}' for '{}'", loop,
                      to_string(*beginning), temporaries.front(), to_string(*own), name)};
    }
    beginning = own;
  }
  return std::nullopt;
}

class Pipeliner {
 public:
  Pipeliner(Kernel kernel, const std::vector<std::string>& temporaries, std::string iname,
            std::int64_t stages)
      : kernel_(std::move(kernel)),
        temporaries_(temporaries),
        iname_(std::move(iname)),
        stages_(stages),
        names_(make_name_generator(kernel_)),
        first_(beginning_of(kernel_, iname_,
                            kernel_.instructions[writers_of(kernel_, temporaries_.front()).front()]
                                .within_inames)
                   .value_or(Affine(0))) {}

  Kernel run() {
    NameSet around;
    for (const std::string& name : temporaries_) {
      const NameSet& within = kernel_.instructions[writers_of(kernel_, name).front()].within_inames;
      around.insert(within.begin(), within.end());
    }
    loop_ = bounds_of_loop(kernel_, iname_, around);
    ahead_ = names_.make(iname_ + "_ahead");
    add_stage_domain();
    std::vector<Instruction> before;
    std::vector<std::string> fills;
    std::size_t first_place = kernel_.instructions.size();
    std::size_t last_place = 0;
    for (const std::string& name : temporaries_) {
      const std::size_t writer = writers_of(kernel_, name).front();
      first_place = std::min(first_place, writer);
      last_place = std::max(last_place, writer);
      fills.push_back(kernel_.instructions[writer].id);
      before.push_back(fill_before(writer));
      fill_ahead(writer);
    }
    for (const std::string& name : temporaries_) {
      read_buffer(name, fills);
      add_buffers(name);
    }
    add_fences(std::move(before), fills, first_place, last_place);
    return std::move(kernel_);
  }

 private:
  /// What holds for the inames of a form.
  [[nodiscard]] ConstraintSet known_of(const Affine& form) const {
    NameSet inames;
    for (const Affine::Term& term : form.terms()) {
      if (is_iname(kernel_, term.name)) {
        inames.insert(term.name);
      }
    }
    return constraints_of(kernel_, inames);
  }

  void add_stage_domain() {
    Domain domain;
    domain.inames = {ahead_};
    domain.constraints.add_nonnegative(Affine(ahead_));
    domain.constraints.add_nonnegative(Affine(stages_ - 2) - Affine(ahead_));
    kernel_.domains.push_back(std::move(domain));
  }

  [[nodiscard]] Expr buffer(const Expr& iteration) const {
    return modulo(simplify_index(iteration - to_expr(first_)), stages_);
  }

  static Expr with_leading_index(const Expr& element, const Expr& index) {
    Access access = *get_if<Access>(element);
    access.indices.insert(access.indices.begin(), index);
    return access;
  }

  /// A copy of the statement that fills the first buffers.
  Instruction fill_before(std::size_t writer) {
    const NameSet own = own_inames(kernel_, writer);
    std::map<std::string, std::string, std::less<>> renamed;
    for (const std::string& each : own) {
      renamed.emplace(each, names_.make(each + "_ahead"));
    }
    const Affine iteration = Affine(ahead_) + first_;
    copy_domains(own, renamed, iteration);
    const auto moved = [&](Expr expr) {
      for (const auto& [old, fresh] : renamed) {
        expr = replace_iname(expr, old, name(fresh), {fresh});
      }
      return replace_iname(expr, iname_, to_expr(iteration), {ahead_});
    };
    Instruction fill = map_expressions(kernel_.instructions[writer], moved);
    Assignment assignment = *get_if<Assignment>(fill);
    assignment.targets.front() = with_leading_index(assignment.targets.front(), name(ahead_));
    assignment.is_async_copy = true;
    fill.kind = std::move(assignment);
    fill.id = names_.make(fill.id + "_ahead");
    NameSet within = {ahead_};
    for (const std::string& each : fill.within_inames) {
      if (each != iname_) {
        const auto fresh = renamed.find(each);
        within.insert(fresh == renamed.end() ? each : fresh->second);
      }
    }
    fill.within_inames = std::move(within);
    return fill;
  }

  void copy_domains(const NameSet& own,
                    const std::map<std::string, std::string, std::less<>>& renamed,
                    const Affine& iteration) {
    const auto fresh = [&](const std::string& name) {
      const auto found = renamed.find(name);
      return found == renamed.end() ? name : found->second;
    };
    std::vector<Domain> copies;
    for (const Domain& domain : kernel_.domains) {
      if (domain.inames.empty() || own.count(domain.inames.front()) == 0) {
        continue;
      }
      Domain copy;
      for (const std::string& each : domain.inames) {
        copy.inames.push_back(fresh(each));
      }
      copy.constraints = domain.constraints.substitute(iname_, iteration).rename(fresh);
      if (copies.empty()) {
        copy.constraints.add(in_loop(loop_, iname_, iteration, known_of(iteration)));
      }
      copies.push_back(std::move(copy));
    }
    for (const std::string& each : own) {
      if (const InameTag tag = tag_of(kernel_, each); tag.kind != AxisKind::sequential) {
        kernel_.iname_tags.insert_or_assign(fresh(each), tag);
      }
    }
    kernel_.domains.insert(kernel_.domains.end(), copies.begin(), copies.end());
  }

  /// Makes the statement fill what will be used `stages_ - 1` iterations later, while there are
  /// any.
  void fill_ahead(std::size_t writer) {
    const NameSet own = own_inames(kernel_, writer);
    const Affine later = Affine(iname_) + Affine(stages_ - 1);
    const auto home =
        std::find_if(kernel_.domains.begin(), kernel_.domains.end(), [&](const Domain& each) {
          return !each.inames.empty() && own.count(each.inames.front()) != 0;
        });
    for (Domain& each : kernel_.domains) {
      if (!each.inames.empty() && own.count(each.inames.front()) != 0) {
        each.constraints = each.constraints.substitute(iname_, later);
      }
    }
    home->constraints.add(in_loop(loop_, iname_, later, loop_));
    Instruction& fill = kernel_.instructions[writer];
    fill = map_expressions(std::move(fill), [&](const Expr& expr) {
      return replace_iname(expr, iname_, to_expr(later), {iname_});
    });
    Assignment assignment = *get_if<Assignment>(fill);
    assignment.targets.front() =
        with_leading_index(assignment.targets.front(), buffer(to_expr(later)));
    assignment.is_async_copy = true;
    fill.kind = std::move(assignment);
  }

  /// Lets all but the fills read the buffer of their iteration.
  void read_buffer(const std::string& temporary, const std::vector<std::string>& fills) {
    for (Instruction& reader : kernel_.instructions) {
      if (std::find(fills.begin(), fills.end(), reader.id) != fills.end()) {
        continue;
      }
      reader = map_expressions(std::move(reader), [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          const Access* access = get_if<Access>(part);
          return access != nullptr && access->array == temporary
                     ? std::optional(with_leading_index(part, buffer(name(iname_))))
                     : std::nullopt;
        });
      });
    }
  }

  void add_buffers(const std::string& name) {
    Temporary& temporary = *std::find_if(kernel_.temporaries.begin(), kernel_.temporaries.end(),
                                         [&](const Temporary& each) { return each.name == name; });
    if (!temporary.strides_elements.empty()) {
      // whole rows, so that buffers are one more axis of the same array; aligned as the first one
      // is
      constexpr std::int64_t granule = 4;
      std::int64_t longest = 1;
      for (std::size_t axis = 0; axis < temporary.shape.size(); ++axis) {
        longest = std::max(longest, as_integer(temporary.shape[axis]).value_or(1) *
                                        as_integer(temporary.strides_elements[axis]).value_or(1));
      }
      const Expr stride = (longest + granule - 1) / granule * granule;
      temporary.strides_elements.insert(temporary.strides_elements.begin(), stride);
    }
    temporary.shape.insert(temporary.shape.begin(), Expr(stages_));
  }

  void add_fences(std::vector<Instruction> before, const std::vector<std::string>& fills,
                  std::size_t first_place, std::size_t last_place) {
    NameSet around = kernel_.instructions[first_place].within_inames;
    NameSet around_ahead = before.front().within_inames;
    NameSet before_ids;
    for (const Instruction& each : before) {
      std::erase_if(around_ahead, [&](const auto& i) { return each.within_inames.count(i) == 0; });
      before_ids.insert(each.id);
    }
    const NameSet fill_ids(fills.begin(), fills.end());
    for (const Instruction& each : kernel_.instructions) {
      if (fill_ids.count(each.id) != 0) {
        std::erase_if(around, [&](const auto& i) { return each.within_inames.count(i) == 0; });
      }
    }
    // inames of one fill alone are no loops around the others
    for (std::size_t i = 0; i < kernel_.instructions.size(); ++i) {
      if (fill_ids.count(kernel_.instructions[i].id) != 0) {
        for (const std::string& own : own_inames(kernel_, i)) {
          around.erase(own);
        }
      }
    }
    std::erase_if(around_ahead, [&](const std::string& each) {
      return each != ahead_ && around.count(each) == 0;
    });
    const auto fence = [&](const char* what, CopyFence kind, const NameSet& within,
                           const NameSet& after) {
      Instruction result;
      result.id = names_.make(fmt::format("{}_{}", what, iname_));
      result.kind = kind;
      result.within_inames = within;
      result.depends_on = after;
      return result;
    };
    const Instruction commit_before =
        fence("commit_ahead", {CopyFenceKind::commit, 0}, around_ahead, before_ids);
    const Instruction wait = fence("wait", {CopyFenceKind::wait, static_cast<int>(stages_ - 2)},
                                   around, {commit_before.id});
    const Instruction commit = fence("commit", {CopyFenceKind::commit, 0}, around, fill_ids);
    for (Instruction& each : kernel_.instructions) {
      if (fill_ids.count(each.id) != 0) {
        each.depends_on.insert(wait.id);
      } else if (std::any_of(each.depends_on.begin(), each.depends_on.end(),
                             [&](const std::string& id) { return fill_ids.count(id) != 0; })) {
        each.depends_on.insert(wait.id);
        each.depends_on.insert(commit.id);
      }
    }
    const auto at = [&](std::size_t place) {
      return kernel_.instructions.begin() + static_cast<std::ptrdiff_t>(place);
    };
    kernel_.instructions.insert(at(last_place + 1), commit);
    before.push_back(commit_before);
    before.push_back(wait);
    kernel_.instructions.insert(at(first_place), before.begin(), before.end());
  }

  Kernel kernel_;
  const std::vector<std::string>& temporaries_;
  const std::string iname_;
  const std::int64_t stages_;
  NameGenerator names_;
  const Affine first_;
  ConstraintSet loop_;
  std::string ahead_;
};

}  // namespace

Kernel pipeline(Kernel kernel, const std::vector<std::string>& temporaries, std::string_view iname,
                std::int64_t stages) {
  throw_if_refused(find_refusal(kernel, temporaries, iname, stages));
  for (const std::string& each : temporaries) {
    kernel = with_vector_copies(std::move(kernel), each);
  }
  kernel = Pipeliner(std::move(kernel), temporaries, std::string(iname), stages).run();
  record(kernel, "pipeline", {list_text(temporaries), std::string(iname), std::to_string(stages)});
  return kernel;
}

}  // namespace rtcg::loopy
