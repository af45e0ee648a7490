// Arrays of marks, 0 or 1, as the bits of a word, where each thread sets and reads only its own.
#include <algorithm>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/gpu_limits.h"
#include "rtcg/loopy/analyze/type_of.h"
#include "rtcg/loopy/preprocess/realizer.h"
#include "rtcg/loopy/symbolic/affine.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

// no names of users' functions; the argument of both is the word
constexpr const char* marks_up_to_function = "(marks_up_to)";  ///< and the place in it
constexpr const char* all_marks_function = "(all_marks)";

Expr without_casts(const Expr& expr) {
  const Cast* cast = get_if<Cast>(expr);
  return cast != nullptr && cgen::is_integral(*cgen::scalar_kind(cast->type))
             ? without_casts(cast->operand)
             : expr;
}

/// The one writer of an array of marks, and what it says of the others.
struct MarkArray {
  const Temporary* array = nullptr;
  const Instruction* writer = nullptr;
  Affine index{};  ///< of the element
  std::string thread{};
  NameSet items{};
  Affine place{};  ///< of the element among those of the thread
};

/// The statement's element: consecutive ones of each thread along an axis of the block.
std::optional<MarkArray> find_element(const Kernel& kernel, const Instruction& writer,
                                      const Temporary& array) {
  const Assignment* assignment = get_if<Assignment>(writer);
  if (assignment == nullptr || assignment->targets.size() != 1 || assignment->is_atomic ||
      assignment->is_async_copy || !writer.predicates.empty() ||
      !is_zero_or_one(assignment->value)) {
    return std::nullopt;
  }
  const Access* target = get_if<Access>(assignment->targets.front());
  const auto index = target != nullptr && target->indices.size() == 1
                         ? to_affine(target->indices.front())
                         : std::nullopt;
  if (!index) {
    return std::nullopt;
  }
  MarkArray marks{.array = &array, .writer = &writer, .index = *index};
  std::int64_t items = 0;
  for (const Affine::Term& term : index->terms()) {
    const InameTag tag = tag_of(kernel, term.name);
    if (writer.within_inames.count(term.name) == 0) {
      return std::nullopt;
    }
    if (tag.kind == AxisKind::block && marks.thread.empty()) {
      marks.thread = term.name;
      items = term.coefficient;
    } else if (tag.is_lane()) {
      marks.items.insert(term.name);
    } else {
      return std::nullopt;
    }
  }
  if (marks.thread.empty()) {
    return std::nullopt;
  }
  marks.place = *index - Affine(marks.thread, items);
  const ConstraintSet known = constraints_of(kernel, writer.within_inames);
  const auto first = known.minimum(marks.place);
  const auto last = known.maximum(marks.place);
  const bool is_own = first && last && *first >= 0 && *last < std::min(items, bits_of_word);
  return is_own ? std::optional(marks) : std::nullopt;
}

/// Expressions that read an array of marks, in other words.
class MarkReader {
 public:
  MarkReader(const Kernel& kernel, const MarkArray& marks, std::string word)
      : kernel_(kernel), marks_(marks), word_(std::move(word)) {}

  Expr rewrite(const Expr& expr, const Instruction& around) {
    const Reduction* scanned = as_scan(expr);
    const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(expr);
    if (reduction != nullptr && counts_marks(*reduction)) {
      is_wrong_ = is_wrong_ || !(scanned != nullptr ? is_up_to_element(*scanned, around)
                                                    : is_over_all(*reduction, around));
      has_totals_ = has_totals_ || scanned == nullptr;
      const cgen::Type type = types_of_targets(kernel_, expr).front();
      const Expr count = scanned != nullptr
                             ? call(marks_up_to_function, {Name{word_}, to_expr(marks_.place)})
                             : call(all_marks_function, {Name{word_}});
      return type == cgen::i32 ? count : Cast{type, count};
    }
    if (is_mark(expr)) {
      return Cast{*marks_.array->type, bit_of(expr, around)};
    }
    const Comparison* comparison = get_if<Comparison>(expr);
    const auto number = comparison != nullptr ? as_integer(comparison->right) : std::nullopt;
    if (number && *number >= 0 && is_mark(comparison->left)) {
      return Comparison{comparison->op, bit_of(comparison->left, around), comparison->right};
    }
    return map_children(expr, [&](const Expr& child) { return rewrite(child, around); });
  }

  /// Whether something reads the array in a way that a word does not know.
  [[nodiscard]] bool is_wrong() const { return is_wrong_; }
  [[nodiscard]] bool has_totals() const { return has_totals_; }

 private:
  [[nodiscard]] bool is_mark(const Expr& expr) const {
    const Access* access = get_if<Access>(expr);
    return access != nullptr && access->array == marks_.array->name;
  }

  /// The mark that a statement reads, as a u32: that of its own element.
  Expr bit_of(const Expr& mark, const Instruction& around) {
    const auto index = to_affine(get_if<Access>(mark)->indices.front());
    const NameSet& inames = marks_.writer->within_inames;
    is_wrong_ = is_wrong_ || !index || !(*index == marks_.index) ||
                !std::includes(around.within_inames.begin(), around.within_inames.end(),
                               inames.begin(), inames.end());
    const Expr place = to_expr(marks_.place);
    return Bitwise{BitOp::and_, Bitwise{BitOp::shift_right, word_of_marks(word_, place), place}, 1};
  }

  [[nodiscard]] bool counts_marks(const Reduction& reduction) const {
    if (reduction.operation != "sum" || reduction.inames.size() != 1) {
      return false;
    }
    const Expr operand = without_casts(reduction.operands.front());
    return is_mark(operand) &&
           get_if<Access>(operand)->indices.front() == Expr(Name{reduction.inames.front()});
  }

  /// Whether all elements of the array meet the constraints of the iname, but for `upper`.
  [[nodiscard]] bool takes_all(const std::string& iname, const Affine* upper) const {
    const ConstraintSet known = constraints_of(kernel_, marks_.writer->within_inames);
    const ConstraintSet& home = find_home_domain(kernel_, iname)->constraints;
    bool has_upper = upper == nullptr;
    for (const Constraint& each : home.constraints()) {
      if (upper != nullptr && !each.is_equality && each.expr == *upper - Affine(iname)) {
        has_upper = true;
      } else if (!known.implies(
                     Constraint{each.expr.substitute(iname, marks_.index), each.is_equality})) {
        return false;
      }
    }
    return has_upper &&
           std::none_of(home.congruences().begin(), home.congruences().end(),
                        [&](const Congruence& each) { return each.expr.coefficient(iname) != 0; });
  }

  [[nodiscard]] bool is_up_to_element(const Reduction& scanned, const Instruction& around) const {
    return around.within_inames == marks_.writer->within_inames &&
           takes_all(scanned.inames.front(), &marks_.index);
  }

  [[nodiscard]] bool is_over_all(const Reduction& reduction, const Instruction& around) const {
    NameSet inames = marks_.writer->within_inames;
    inames.erase(marks_.thread);
    for (const std::string& each : marks_.items) {
      inames.erase(each);
    }
    return around.within_inames == inames && takes_all(reduction.inames.front(), nullptr);
  }

  const Kernel& kernel_;
  const MarkArray& marks_;
  std::string word_;
  bool is_wrong_ = false;
  bool has_totals_ = false;
};

}  // namespace

bool comes_after(const std::vector<Instruction>& all, const Instruction& statement,
                 const std::string& id) {
  NameSet seen;
  std::vector<std::string> open(statement.depends_on.begin(), statement.depends_on.end());
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    if (next == id) {
      return true;
    }
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.id == next; });
    if (found != all.end() && seen.insert(next).second) {
      open.insert(open.end(), found->depends_on.begin(), found->depends_on.end());
    }
  }
  return false;
}

bool is_zero_or_one(const Expr& expr) {
  if (const Cast* cast = get_if<Cast>(expr)) {
    const auto kind = cgen::scalar_kind(cast->type);
    return kind == cgen::ScalarKind::bool_ ||
           (kind && cgen::is_integral(*kind) && is_zero_or_one(cast->operand));
  }
  if (const Conditional* choice = get_if<Conditional>(expr)) {
    return is_zero_or_one(choice->then_value) && is_zero_or_one(choice->else_value);
  }
  const auto number = as_integer(expr);
  return is<Comparison>(expr) || is<Logical>(expr) || is<Not>(expr) ||
         (number && (*number == 0 || *number == 1));
}

Expr word_of_marks(const std::string& array, const Expr& place) {
  return Access{array, {floor_div(place, bits_of_word)}};
}

Expr with_mark(const Expr& word, const Expr& value, const Expr& place) {
  return Bitwise{BitOp::or_, word,
                 Bitwise{BitOp::shift_left, Cast{cgen::u32, without_casts(value)}, place}};
}

Expr marks_up_to(const Expr& word, const Expr& place) {
  return call("popcount", {Bitwise{BitOp::shift_left, word, Expr(bits_of_word - 1) - place}});
}

void Realizer::make_mark_words() {
  if (!options_.has_warp_shuffles) {
    return;
  }
  const std::vector<Temporary> temporaries = kernel_.temporaries;
  for (const Temporary& array : temporaries) {
    const auto kind = array.type ? cgen::scalar_kind(*array.type) : std::nullopt;
    const bool is_private = array.address_space == AddressSpace::private_;
    if (array.shape.size() == 1 && kind && cgen::is_integral(*kind) && !is_private &&
        array.address_space != AddressSpace::global && array.initial_values.empty()) {
      make_mark_word(array);
    }
  }
}

/// Leaves the kernel as it is unless every use of the array is known.
void Realizer::make_mark_word(const Temporary& array) {
  std::optional<MarkArray> marks;
  for (const Instruction& each : described_) {
    if (written_variables(each).count(array.name) != 0) {
      if (marks) {
        return;
      }
      marks = find_element(kernel_, each, array);
      if (!marks) {
        return;
      }
    }
  }
  if (!marks) {
    return;
  }
  const std::string word = names_.make(array.name + "_word");
  MarkReader reader(kernel_, *marks, word);
  std::vector<Instruction> statements;
  for (const Instruction& each : described_) {
    if (&each == marks->writer || !touches(kernel_, each, array.name)) {
      statements.push_back(each);
      continue;
    }
    if (get_if<Assignment>(each) == nullptr || !comes_after(described_, each, marks->writer->id)) {
      return;
    }
    statements.push_back(
        map_expressions(each, [&](const Expr& expr) { return reader.rewrite(expr, each); }));
  }
  if (reader.is_wrong()) {
    return;
  }
  MarkWord made{.word = word, .thread = marks->thread, .has_total = reader.has_totals()};
  made.threads = *marks->writer;
  made.threads.depends_on = {marks->writer->id};
  made.threads.within_inames.erase(marks->thread);
  for (const std::string& each : marks->items) {
    made.threads.within_inames.erase(each);
  }
  const auto writer =
      std::find_if(statements.begin(), statements.end(),
                   [&](const Instruction& each) { return each.id == marks->writer->id; });
  const Expr place = to_expr(marks->place);
  const Expr value = get_if<Assignment>(*writer)->value;
  const Expr bits = word_of_marks(word, place);
  writer->kind = Assignment{{bits}, with_mark(bits, value, place)};
  Temporary temporary;
  temporary.name = word;
  temporary.type = cgen::u32;
  temporary.address_space = AddressSpace::private_;
  temporary.shape = {1};
  std::erase_if(kernel_.temporaries, [&](const auto& each) { return each.name == array.name; });
  kernel_.temporaries.push_back(temporary);
  NameSet within = made.threads.within_inames;
  within.insert(whole_axis(marks->thread));
  writer->depends_on.insert(
      add_statement(word + "_clear", Access{word, {0}}, 0, within, made.threads, ""));
  described_ = std::move(statements);
  mark_words_.push_back(std::move(made));
}

std::optional<Expr> Realizer::count_of_marks(const Expr& expr) {
  const Call* counted = get_if<Call>(expr);
  const bool is_total = counted != nullptr && counted->function == all_marks_function;
  if (!is_total && (counted == nullptr || counted->function != marks_up_to_function)) {
    return std::nullopt;
  }
  const std::string& word = get_if<Name>(counted->arguments.front())->name;
  MarkWord& marks = *std::find_if(mark_words_.begin(), mark_words_.end(),
                                  [&](const MarkWord& each) { return each.word == word; });
  if (marks.last.empty()) {
    NameSet within = marks.threads.within_inames;
    within.insert(whole_axis(marks.thread));
    Accumulated own{{add_temporary(word + "_sum", cgen::i32)}, ""};
    own.last = add_statement(own.names.front(), Name{own.names.front()},
                             call("popcount", {Access{word, {0}}}), within, marks.threads, "");
    const ReductionOperation sum(kernel_, Reduction{"sum", {marks.thread}, {0}}, {cgen::i32});
    const ThreadScan scan = scan_axis(sum, own, marks.thread, marks.threads,
                                      {.before = true, .total = marks.has_total});
    marks.before = scan.before.front();
    marks.total = marks.has_total ? scan.total.front() : Expr(0);
    marks.last = scan.last;
  }
  new_dependencies_.insert(marks.last);
  const Expr& place = counted->arguments.back();
  return is_total ? marks.total
                  : Name{marks.before} + marks_up_to(word_of_marks(word, place), place);
}

}  // namespace rtcg::loopy
