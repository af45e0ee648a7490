#include "rtcg/loopy/transform/queue_reads.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/integer.h"
#include "rtcg/loopy/analyze/moving_reads.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/array_layout.h"
#include "rtcg/loopy/transform/expand_subst.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/loop_beginning.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"
#include "rtcg/loopy/transform/stage_reads.h"
#include "rtcg/loopy/transform/vector_copies.h"

namespace rtcg::loopy {
namespace {

constexpr std::int64_t most_ahead = 4;

[[noreturn]] void refuse_queue(std::string reason) {
  refuse("loopy.queue_reads.not_possible", std::move(reason));
}

class ReadQueuer {
 public:
  ReadQueuer(Kernel kernel, const Argument& array, std::string iname, std::int64_t length,
             const QueueReadsOptions& options)
      : kernel_(std::move(kernel)),
        array_(array),
        iname_(std::move(iname)),
        length_(length),
        options_(options),
        is_shared_(options.address_space == AddressSpace::local) {}

  Kernel run() {
    stage();
    if (length_ == 1) {
      return std::move(kernel_);  // each iteration fills it again
    }
    take_fill();
    if (!is_shared_) {
      shift_registers();
      return std::move(kernel_);
    }
    rotate_places();
    return ahead() > 0 ? with_vector_copies(std::move(kernel_), queue_) : std::move(kernel_);
  }

 private:
  void stage() {
    check_loop();
    const MovingReads all =
        moving_reads(kernel_, array_.name, iname_,
                     options_.fills_registers ? FillReads::of_registers : FillReads::none);
    const MovingReads reads = is_shared_ ? all : reads_of_thread(kernel_, all);
    if (reads.length_elements < (is_shared_ && !reads.reads.empty() ? 1 : 2)) {
      refuse("loopy.queue_reads.nothing_queued",
             fmt::format("no reads of '{}' are at different constant distances along '{}'",
                         array_.name, iname_));
    }
    check_writes();
    const std::int64_t ahead = length_ - reads.length_elements;
    if (ahead < 0 || ahead > most_ahead) {
      refuse("loopy.queue_reads.bad_length",
             fmt::format("the queue of '{}' has {} places: its reads along '{}' need {}, and {} "
                         "more are filled ahead at most",
                         array_.name, length_, iname_, reads.length_elements, most_ahead));
    }
    const NameSet spread = spread_inames(kernel_, reads, is_shared_);
    lanes_ = is_shared_ ? 0 : lanes_of(spread, reads.reads.front().back());
    PrecomputeOptions stage;
    stage.address_space = options_.address_space;
    stage.temporary_name = options_.temporary_name;
    stage.outer_inames = {iname_};
    stage.default_tag = is_shared_ ? "" : "unr";
    for (const Instruction& each : kernel_.instructions) {
      const bool is_staged =
          !each.is_fill || (options_.fills_registers && fills_registers(kernel_, each));
      if (is_staged && each.within_inames.count(iname_) != 0) {
        stage.within += (stage.within.empty() ? "id:" : " or id:") + each.id;
      }
    }
    NameGenerator names = make_name_generator(kernel_);
    if (stage.temporary_name.empty()) {
      stage.temporary_name = names.make(array_.name + "_queue");
    }
    axis_ = reads.axis;
    needed_ = reads.length_elements;
    if (options_.fills_registers) {
      take_clips();
    }
    const ReadsToStage wanted{
        array_, [&](const std::vector<Expr>& indices) { return reads.contains(indices); },
        length_ > 1 ? std::optional(axis_) : std::nullopt};
    StagedReads staged =
        stage_reads(std::move(kernel_), wanted, {spread.begin(), spread.end()}, stage);
    kernel_ = std::move(staged.kernel);
    queue_ = staged.temporary;
    box_ = std::move(staged.box);
    place_axis_ = static_cast<std::size_t>(
        std::count_if(box_.begin(), box_.begin() + static_cast<std::ptrdiff_t>(axis_),
                      [](const FootprintAxis& each) { return each.length_elements > 1; }));
  }

  /// What fills registers within the loop reads planes, which have zeros where the array ends.
  void take_clips() {
    for (Instruction& each : kernel_.instructions) {
      const Assignment* fill = get_if<Assignment>(each);
      if (fill == nullptr || each.within_inames.count(iname_) == 0 ||
          !fills_registers(kernel_, each)) {
        continue;
      }
      const Conditional* clipped = get_if<Conditional>(fill->value);
      const Access* read = clipped != nullptr ? get_if<Access>(clipped->then_value) : nullptr;
      if (read != nullptr && read->array == array_.name &&
          as_integer(clipped->else_value) == std::int64_t{0}) {
        Assignment plain = *fill;
        plain.value = *read;
        each.kind = std::move(plain);
      }
    }
  }

  /// The length of the vectors along the last axis; 0: no vectors.
  [[nodiscard]] std::int64_t lanes_of(const NameSet& spread, const Affine& index) const {
    for (const std::string& each : spread) {
      if (tag_of(kernel_, each).kind == AxisKind::vec && index.coefficient(each) == 1) {
        return constraints_of(kernel_, {each}).maximum(Affine(each)).value_or(-1) + 1;
      }
    }
    return 0;
  }

  void check_loop() const {
    const ConstraintSet set = constraints_of(kernel_, {iname_});
    if (tag_of(kernel_, iname_).kind != AxisKind::sequential ||
        std::any_of(set.congruences().begin(), set.congruences().end(),
                    [&](const Congruence& each) { return each.expr.coefficient(iname_) != 0; })) {
      refuse_queue(fmt::format("'{}' is not a loop that takes one value after the other", iname_));
    }
  }

  void check_writes() const {
    for (std::size_t writer = 0; writer < kernel_.instructions.size(); ++writer) {
      if (written_variables(kernel_.instructions[writer]).count(array_.name) == 0) {
        continue;
      }
      for (std::size_t user = 0; user < kernel_.instructions.size(); ++user) {
        const Instruction& reader = kernel_.instructions[user];
        if (reader.within_inames.count(iname_) != 0 &&
            read_variables(kernel_, reader).count(array_.name) != 0 &&
            !launch_ends_between(kernel_, writer, user)) {
          refuse("loopy.queue_reads.is_written",
                 fmt::format("statement '{}' writes '{}' in the launch in which '{}' reads it",
                             kernel_.instructions[writer].id, array_.name, reader.id));
        }
      }
    }
  }

  /// Takes the statement apart that fills the whole queue in each iteration.
  void take_fill() {
    const auto found =
        std::find_if(kernel_.instructions.begin(), kernel_.instructions.end(),
                     [&](const auto& each) { return written_variables(each).count(queue_) != 0; });
    fill_ = *found;
    place_ = found - kernel_.instructions.begin();
    kernel_.instructions.erase(found);
    target_ = *get_if<Access>(get_if<Assignment>(fill_)->targets.front());
    for (const Expr& each : target_.indices) {
      own_.push_back(get_if<Name>(each)->name);
    }
    place_iname_ = own_[place_axis_];
    tag_lanes();
    widen_rows();
    fill_.within_inames.erase(place_iname_);
    const auto first = beginning_of(kernel_, iname_, fill_.within_inames);
    if (!first) {
      refuse_queue(
          fmt::format("'{}' begins at a value that depends on a thread, or that no affine "
                      "form of the inames around it gives",
                      iname_));
    }
    first_ = *first;
    loop_ = bounds_of_loop(kernel_, iname_, fill_.within_inames);
    if (is_shared_ && own_.size() < 2) {
      refuse_queue(fmt::format("threads share no elements of '{}': keep the queue in registers",
                               array_.name));
    }
  }

  /// Neighbours that the lanes of a vector read are moved at once.
  void tag_lanes() {
    const std::size_t last = box_.size() - 1;
    if (last == axis_ || box_[last].length_elements != lanes_) {
      return;
    }
    kernel_.iname_tags.insert_or_assign(own_.back(), InameTag{AxisKind::vec, 0});
  }

  /// Lets rows that are copied ahead begin and end where 16 bytes do, so that copies of 16 bytes
  /// move them; the array has what is more, or it is clipped.
  void widen_rows() {
    const std::size_t last = box_.size() - 1;
    const auto kind = cgen::scalar_kind(*array_.type);
    const std::int64_t lanes = kind ? 16 / cgen::size_bytes(*kind) : 0;
    const auto row = to_affine(array_.shape.back());
    if (!is_shared_ || ahead() == 0 || last == axis_ || box_[last].length_elements < 2 ||
        lanes < 2 || !row || !kernel_.assumptions.implies(Congruence{*row, lanes})) {
      return;
    }
    Affine& base = box_[last].base;
    for (const Affine::Term& term : base.terms()) {
      if (term.coefficient % lanes != 0) {
        return;
      }
    }
    const std::int64_t before =
        base.constant() - divide_rounding_down(base.constant(), lanes) * lanes;
    const std::int64_t length = round_up(box_[last].length_elements + before, lanes);
    if (length == box_[last].length_elements) {
      return;
    }
    base = base - Affine(before);
    box_[last].length_elements = length;
    const std::string& iname = own_.back();
    Domain& home = *std::find_if(kernel_.domains.begin(), kernel_.domains.end(), [&](auto& each) {
      return std::find(each.inames.begin(), each.inames.end(), iname) != each.inames.end();
    });
    ConstraintSet wide;
    for (const Constraint& each : home.constraints.constraints()) {
      if (each.expr.coefficient(iname) == 0) {
        wide.add(each);
      }
    }
    wide.add_nonnegative(Affine(iname));
    wide.add_nonnegative(Affine(length - 1) - Affine(iname));
    home.constraints = std::move(wide);
    find_queue().shape.back() = length;
    rewrite_queue(
        [&](Access& read) { read.indices.back() = simplify_index(read.indices.back() + before); });
  }

  [[nodiscard]] Temporary& find_queue() {
    return *std::find_if(kernel_.temporaries.begin(), kernel_.temporaries.end(),
                         [&](const Temporary& each) { return each.name == queue_; });
  }

  template <typename Change>
  void rewrite_queue(const Change& change) {
    for (Instruction& each : kernel_.instructions) {
      each = map_expressions(std::move(each), [&](const Expr& expr) {
        return rewrite_bottom_up(expr, [&](const Expr& part) -> std::optional<Expr> {
          const Access* read = get_if<Access>(part);
          if (read == nullptr || read->array != queue_) {
            return std::nullopt;
          }
          Access changed = *read;
          change(changed);
          return changed;
        });
      });
    }
  }

  /// What is stored in a place, counted from the first that the iteration needs.
  /// @param here  what holds there
  [[nodiscard]] Expr value_at(const Affine& place, const Affine& iteration,
                              const ConstraintSet& here) const {
    std::vector<Expr> indices;
    std::size_t kept = 0;
    for (std::size_t axis = 0; axis < box_.size(); ++axis) {
      Affine index = box_[axis].base.substitute(iname_, iteration);
      if (axis == axis_) {
        index = index + place;
        ++kept;
      } else if (box_[axis].length_elements > 1) {
        index = index + Affine(own_[kept++]);
      }
      indices.push_back(to_expr(index));
    }
    return clipped_element(array_, indices, here);
  }
  [[nodiscard]] Expr element(const Expr& place) const {
    Access access = target_;
    access.indices[place_axis_] = place;
    return access;
  }
  [[nodiscard]] Instruction statement(std::string id, Expr target, Expr value) const {
    Instruction result = fill_;
    result.id = std::move(id);
    result.kind = Assignment{{std::move(target)}, std::move(value)};
    return result;
  }
  /// Around what is done before the loop.
  [[nodiscard]] NameSet around_first() const {
    NameSet around = fill_.within_inames;
    around.erase(iname_);
    return around;
  }

  using Names = std::map<std::string, std::string, std::less<>>;
  static Instruction renamed(Instruction instruction, const Names& names) {
    for (const auto& [old, fresh] : names) {
      const Expr replacement = name(fresh);
      instruction = map_expressions(std::move(instruction), [&, from = old](const Expr& expr) {
        return replace_iname(expr, from, replacement, {});
      });
      if (instruction.within_inames.erase(old) != 0) {
        instruction.within_inames.insert(fresh);
      }
    }
    return instruction;
  }

  /// The inames of the fill, which has none for its place any more, and of its copy before the
  /// loop.
  /// @param has_places  whether the copy has one for its place
  Names copy_domain(bool has_places) {
    NameGenerator names = make_name_generator(kernel_);
    Names fresh;
    for (const std::string& each : own_) {
      if (each != place_iname_ || has_places) {
        fresh.emplace(each, names.make(each + "_first"));
        if (const InameTag tag = tag_of(kernel_, each); tag.kind != AxisKind::sequential) {
          kernel_.iname_tags.insert_or_assign(fresh.at(each), tag);
        }
      }
    }
    kernel_.iname_tags.erase(place_iname_);
    const auto home = std::find_if(kernel_.domains.begin(), kernel_.domains.end(), [&](auto& each) {
      return std::find(each.inames.begin(), each.inames.end(), place_iname_) != each.inames.end();
    });
    std::erase(home->inames, place_iname_);
    ConstraintSet rest;
    for (const Constraint& each : home->constraints.constraints()) {
      if (each.expr.coefficient(place_iname_) == 0) {
        rest.add(each);
      }
    }
    home->constraints = rest;
    Domain copy;
    for (const auto& [old, renamed] : fresh) {
      copy.inames.push_back(renamed);
    }
    copy.constraints = rest.rename([&](const std::string& old) {
      const auto found = fresh.find(old);
      return found == fresh.end() ? old : found->second;
    });
    if (has_places) {
      const std::string& place = fresh.at(place_iname_);
      copy.constraints.add_nonnegative(Affine(place));
      copy.constraints.add_nonnegative(Affine(length_ - 2) - Affine(place));
    }
    if (is_shared_) {
      copy.constraints.add(in_loop(loop_, iname_, first_, constraints_of(kernel_, around_first())));
      home->constraints.add(in_loop(loop_, iname_, Affine(iname_) + Affine(ahead()),
                                    constraints_of(kernel_, fill_.within_inames)));
      if (constraints_of(kernel_, fill_.within_inames).is_empty()) {
        refuse("loopy.queue_reads.bad_length",
               fmt::format("'{}' has no more iterations than {}, by which the queue of '{}' would "
                           "be filled ahead",
                           iname_, ahead(), array_.name));
      }
    }
    if (home->inames.empty()) {
      kernel_.domains.erase(home);
    }
    if (!copy.inames.empty()) {
      kernel_.domains.push_back(std::move(copy));
    }
    return fresh;
  }
  [[nodiscard]] std::int64_t ahead() const { return length_ - needed_; }

  /// What statements within inames know of the march alone, whichever thread and block they are in.
  /// A thread whose results are outside of the domain then reads within the array, too: without a
  /// test around what it shifts, compilers rename registers, where they would move each of them
  /// twice.
  [[nodiscard]] ConstraintSet known_of_march(const NameSet& inames) const {
    ConstraintSet result = kernel_.assumptions;
    const Affine& moved = box_[axis_].base;
    ConstraintSet all = constraints_of(kernel_, inames);
    std::vector<std::string> others;
    for (const std::string& name : all.names()) {
      if (is_iname(kernel_, name) && inames.count(name) == 0) {
        others.push_back(name);
      }
    }
    all = all.project_out(others);
    for (const Constraint& each : all.constraints()) {
      const Affine::Terms terms = each.expr.terms();
      const bool is_of_march = std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
        return !is_iname(kernel_, term.name) || moved.coefficient(term.name) != 0;
      });
      const bool is_of_loop = std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
        return is_iname(kernel_, term.name) &&
               tag_of(kernel_, term.name).kind == AxisKind::sequential;
      });
      if (is_of_march && (is_of_loop || terms.size() == 1)) {
        result.add(each);
      }
    }
    return result;
  }

  /// `q[1] = a[first]; ...`, then in the loop `q[0] = q[1]; ...; q[2] = a[i + 2]`.
  void shift_registers() {
    NameGenerator names = make_name_generator(kernel_);
    const ConstraintSet here = known_of_march(fill_.within_inames);
    const ConstraintSet before = known_of_march(around_first());
    const Names fresh = copy_domain(false);
    std::vector<Instruction> statements;
    const auto add = [&](Instruction each) {
      if (!statements.empty()) {
        each.depends_on.insert(statements.back().id);
      }
      statements.push_back(std::move(each));
    };
    for (std::int64_t place = 0; place + 1 < length_; ++place) {
      Instruction each = statement(names.make(fmt::format("{}_first", fill_.id)),
                                   element(place + 1), value_at(Affine(place), first_, before));
      each.within_inames.erase(iname_);
      add(renamed(std::move(each), fresh));
    }
    for (std::int64_t place = 0; place + 1 < length_; ++place) {
      add(statement(names.make("shift_" + queue_), element(place), element(place + 1)));
    }
    add(statement(fill_.id, element(length_ - 1),
                  value_at(Affine(length_ - 1), Affine(iname_), here)));
    insert(std::move(statements));
  }

  /// `q[x] = a[first + x]`, then in the loop `q[(i + 2) % 3] = a[i + 2]`.
  void rotate_places() {
    NameGenerator names = make_name_generator(kernel_);
    const ConstraintSet here = constraints_of(kernel_, fill_.within_inames);
    ConstraintSet before;
    const ConstraintSet around = constraints_of(kernel_, around_first());
    for (const Constraint& each : around.constraints()) {
      if (each.expr.coefficient(place_iname_) == 0) {  // of the places that an iteration needs
        before.add(each);
      }
    }
    before.add_nonnegative(Affine(place_iname_));
    before.add_nonnegative(Affine(length_ - 2) - Affine(place_iname_));
    const auto place_of = [&](const Expr& place) {
      return modulo(simplify_index(name(iname_) - to_expr(first_) + place), length_);
    };
    rewrite_queue(
        [&](Access& read) { read.indices[place_axis_] = place_of(read.indices[place_axis_]); });
    const bool has_places = length_ > 2;
    const Affine place = has_places ? Affine(place_iname_) : Affine(0);
    Instruction first = statement(names.make(fmt::format("{}_first", fill_.id)),
                                  element(to_expr(place)), value_at(place, first_, before));
    first.within_inames = around_first();
    if (has_places) {
      first.within_inames.insert(place_iname_);
    }
    Instruction load = statement(fill_.id, element(place_of(length_ - 1)),
                                 value_at(Affine(length_ - 1), Affine(iname_), here));
    const Names fresh = copy_domain(has_places);
    first = renamed(std::move(first), fresh);
    if (ahead() == 0) {
      load.depends_on.insert(first.id);
      insert({std::move(first), std::move(load)});
      return;
    }
    add_fences(std::move(first), std::move(load));
  }

  /// Copies that run while the threads compute: see pipeline(). What an iteration waits for comes
  /// first in it, so that each barrier is after it.
  void add_fences(Instruction first, Instruction load) {
    NameGenerator names = make_name_generator(kernel_);
    for (Instruction* each : {&first, &load}) {
      Assignment assignment = *get_if<Assignment>(*each);
      assignment.is_async_copy = true;
      each->kind = std::move(assignment);
      names.reserve(each->id);
    }
    NameSet around = fill_.within_inames;
    for (const std::string& each : own_) {
      around.erase(each);
    }
    NameSet before = around;
    before.erase(iname_);
    const auto fence = [&](const char* what, CopyFence kind, const NameSet& within,
                           const std::string& after) {
      Instruction result;
      result.id = names.make(fmt::format("{}_{}", what, queue_));
      result.kind = kind;
      result.within_inames = within;
      result.depends_on = {after};
      return result;
    };
    Instruction commit_first = fence("commit_first", {CopyFenceKind::commit, 0}, before, first.id);
    // the copies of the last iterations but one may be on their way; what was copied before the
    // loop is one group, so all of it is waited for there
    const int open = static_cast<int>(ahead()) - 1;
    std::optional<Instruction> wait_first;
    if (open > 0) {
      wait_first = fence("wait_first", {CopyFenceKind::wait, 0}, before, commit_first.id);
    }
    Instruction wait = fence("wait", {CopyFenceKind::wait, open}, around,
                             wait_first ? wait_first->id : commit_first.id);
    load.depends_on.insert(wait.id);
    Instruction commit = fence("commit", {CopyFenceKind::commit, 0}, around, load.id);
    for (Instruction& each : kernel_.instructions) {
      if (each.depends_on.count(load.id) != 0) {
        each.depends_on.insert(wait.id);
        each.depends_on.insert(commit.id);
      }
    }
    insert({std::move(load), std::move(commit)});
    const auto begin = std::find_if(
        kernel_.instructions.begin(), kernel_.instructions.end(), [&](const Instruction& each) {
          return each.within_inames.count(iname_) != 0 && !is<CopyFence>(each);
        });
    std::vector<Instruction> before_all = {std::move(first), std::move(commit_first)};
    if (wait_first) {
      before_all.push_back(*std::move(wait_first));
    }
    before_all.push_back(std::move(wait));
    kernel_.instructions.insert(begin, before_all.begin(), before_all.end());
  }

  void insert(std::vector<Instruction> statements) {
    kernel_.instructions.insert(kernel_.instructions.begin() + place_, statements.begin(),
                                statements.end());
    find_queue().shape[place_axis_] = length_;
  }

  Kernel kernel_;
  const Argument array_;
  const std::string iname_;
  const std::int64_t length_;
  const QueueReadsOptions& options_;
  const bool is_shared_;
  std::size_t axis_ = 0;  ///< of the array, along which the loop moves
  std::int64_t lanes_ = 0;
  std::int64_t needed_ = 0;  ///< elements along it that an iteration reads
  std::vector<FootprintAxis> box_{};
  std::string queue_{};
  std::size_t place_axis_ = 0;  ///< of the queue
  std::string place_iname_{};
  std::vector<std::string> own_{};  ///< inames of the fill, one for each axis of the queue
  Instruction fill_{};
  std::ptrdiff_t place_ = 0;  ///< of the fill in the kernel
  Access target_{};
  Affine first_{};  ///< value of the loop
  ConstraintSet loop_{};
};

}  // namespace

Kernel queue_reads(Kernel kernel, std::string_view array, std::string_view iname,
                   std::int64_t length, const QueueReadsOptions& options) {
  const std::string array_name(array);
  const Argument* found = find_argument(kernel, array_name);
  if (found == nullptr || !found->is_array) {
    refuse_queue(fmt::format("kernel '{}' has no array argument '{}'", kernel.name, array));
  }
  if (!is_iname(kernel, iname)) {
    refuse_queue(unknown_iname_text(kernel, iname));
  }
  if (options.address_space != AddressSpace::private_ &&
      options.address_space != AddressSpace::local) {
    refuse_queue("a queue is in registers or in shared memory: private or local");
  }
  if (const auto reason = why_not_new_name(kernel, options.temporary_name)) {
    refuse_queue(*reason);
  }
  const Argument argument = *found;
  const RecordedStep step(kernel);
  kernel = expand_if_in_rules(std::move(kernel), array_name);
  const Kernel before = kernel;
  kernel = ReadQueuer(std::move(kernel), argument, std::string(iname), length, options).run();
  refuse_reordering(before, kernel, "loopy.queue_reads.not_possible");
  step.record(kernel, "queue_reads", {array_name, std::string(iname), std::to_string(length)},
              {{"address_space", options.address_space == AddressSpace::local ? "local" : ""},
               {"fills_registers", options.fills_registers ? "yes" : ""},
               {"temporary_name", options.temporary_name}});
  return kernel;
}

}  // namespace rtcg::loopy
