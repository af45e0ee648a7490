#include "rtcg/loopy/codegen/join_conditions.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/traverse.h"

namespace rtcg::loopy {
namespace {

bool is_negation(const cgen::Expr& left, const cgen::Expr& right) {
  const auto* negated = get_if<cgen::Unary>(left);
  return negated != nullptr && negated->op == cgen::UnaryOp::logical_not &&
         negated->operand == right;
}

std::optional<cgen::BinaryOp> opposite(cgen::BinaryOp op) {
  switch (op) {
    case cgen::BinaryOp::less:
      return cgen::BinaryOp::greater_equal;
    case cgen::BinaryOp::greater_equal:
      return cgen::BinaryOp::less;
    case cgen::BinaryOp::greater:
      return cgen::BinaryOp::less_equal;
    case cgen::BinaryOp::less_equal:
      return cgen::BinaryOp::greater;
    case cgen::BinaryOp::equal:
      return cgen::BinaryOp::not_equal;
    case cgen::BinaryOp::not_equal:
      return cgen::BinaryOp::equal;
    default:
      return std::nullopt;
  }
}

bool is_integer(const cgen::Expr& expr) {
  const auto kind = cgen::scalar_kind(expr.type());
  return kind && cgen::is_integral(*kind);
}

/// Whether exactly one of the two holds. Comparisons of floating-point numbers are not opposites:
/// with a NaN, neither holds.
bool are_opposite(const cgen::Expr& left, const cgen::Expr& right) {
  if (is_negation(left, right) || is_negation(right, left)) {
    return true;
  }
  const auto* first = get_if<cgen::Binary>(left);
  const auto* second = get_if<cgen::Binary>(right);
  return first != nullptr && second != nullptr && opposite(first->op) == second->op &&
         first->left == second->left && first->right == second->right && is_integer(first->left) &&
         is_integer(first->right);
}

using Names = std::set<std::string>;

bool has_common(const Names& left, const Names& right) {
  return std::any_of(left.begin(), left.end(),
                     [&](const std::string& each) { return right.count(each) != 0; });
}

/// What an element, member or target of a pointer is part of.
const cgen::Expr& object_of(const cgen::Expr& place) {
  if (const auto* element = get_if<cgen::Subscript>(place)) {
    return object_of(element->array);
  }
  if (const auto* member = get_if<cgen::Member>(place)) {
    return object_of(member->object);
  }
  if (const auto* cast = get_if<cgen::Cast>(place)) {
    return object_of(cast->operand);
  }
  const auto* unary = get_if<cgen::Unary>(place);
  const bool is_way = unary != nullptr && (unary->op == cgen::UnaryOp::dereference ||
                                           unary->op == cgen::UnaryOp::address_of);
  return is_way ? object_of(unary->operand) : place;
}

/// The variables and arrays that the statement may write to, those among them that it takes the
/// address of or calls a function with; nothing where these are not known.
std::optional<Names> written_names(const cgen::Statement& statement) {
  Names names;
  bool is_known = true;
  const auto touches = [&](const cgen::Expr& expr) {
    names.merge(cgen::free_names(object_of(expr)));
  };
  const auto visit_expr = [&](const cgen::Expr& expr) {
    if (const auto* assignment = get_if<cgen::AssignExpr>(expr)) {
      touches(assignment->target);
    } else if (const auto* unary = get_if<cgen::Unary>(expr)) {
      if (unary->op >= cgen::UnaryOp::address_of) {
        touches(unary->operand);
      }
    } else if (const auto* call = get_if<cgen::Call>(expr)) {
      for (const cgen::Expr& argument : call->arguments) {
        if (is<cgen::Pointer>(argument.type()) || is<cgen::Array>(argument.type())) {
          touches(argument);
        }
      }
    }
    return true;
  };
  const auto visit_statement = [&](const cgen::Statement& each) {
    is_known = is_known && !is<cgen::RawStatement>(each) && !is<cgen::InlineAsm>(each) &&
               !is<cgen::Barrier>(each) && !is<cgen::MemoryFence>(each);
    if (const auto* declaration = get_if<cgen::Declaration>(each)) {
      names.insert(declaration->name);
    }
    return is_known;
  };
  cgen::walk(statement, {.type = {}, .expr = visit_expr, .statement = visit_statement});
  return is_known ? std::optional(std::move(names)) : std::nullopt;
}

/// What code reads and writes, by name.
struct Effects {
  Names reads{};
  Names writes{};
  bool is_known = true;

  void add(const Effects& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    is_known = is_known && other.is_known;
  }
  /// Whether the two may change places.
  [[nodiscard]] bool commutes_with(const Effects& other) const {
    return is_known && other.is_known && !has_common(writes, other.reads) &&
           !has_common(writes, other.writes) && !has_common(reads, other.writes);
  }
};

Effects effects_of(const CodeItem& item);

Effects effects_of(const CodeBlock& block) {
  Effects effects;
  for (const CodeItem& item : block.items) {
    effects.add(effects_of(item));
  }
  return effects;
}

Effects effects_of(const CodeItem& item) {
  return match(
      item,
      [](const CodeStatement& e) {
        auto written = written_names(e.statement);
        const bool is_known = written.has_value();
        return Effects{cgen::free_names(e.statement), std::move(written).value_or(Names{}),
                       is_known};
      },
      [](const CodeScalarAssignment& e) {
        return Effects{cgen::free_names(e.value), cgen::free_names(object_of(e.target))};
      },
      [](const CodeLoop& e) {
        Effects effects = effects_of(e.body);
        effects.reads.merge(cgen::free_names(e.begin));
        effects.reads.merge(cgen::free_names(e.end));
        return effects;
      },
      [](const CodeIf& e) {
        Effects effects = effects_of(e.then_body);
        if (e.else_body) {
          effects.add(effects_of(*e.else_body));
        }
        effects.reads.merge(cgen::free_names(e.condition));
        return effects;
      });
}

/// Whether effects_of(block) are unknown or write one of the names: asked for each pair of
/// neighbours, so that no sets of all names are made.
bool may_write(const CodeBlock& block, const Names& names) {
  return std::any_of(block.items.begin(), block.items.end(), [&](const CodeItem& item) {
    return match(
        item,
        [&](const CodeStatement& e) {
          const auto written = written_names(e.statement);
          return !written || has_common(*written, names);
        },
        [&](const CodeScalarAssignment& e) {
          return has_common(cgen::free_names(object_of(e.target)), names);
        },
        [&](const CodeLoop& e) { return may_write(e.body, names); },
        [&](const CodeIf& e) {
          return may_write(e.then_body, names) || (e.else_body && may_write(*e.else_body, names));
        });
  });
}

template <class Kind>
Kind* find_kind(CodeItem& item) {
  return boost::variant2::get_if<Kind>(&item.kind);
}

bool join(CodeItem& first, CodeItem& second, const Effects* effects_of_first = nullptr);

/// The last item of `block` and the first of `more` are joined as well.
void append_joined(CodeBlock& block, CodeBlock more) {
  for (CodeItem& item : more.items) {
    if (block.items.empty() || !join(block.items.back(), item)) {
      block.items.push_back(std::move(item));
    }
  }
}

bool may_write(const Effects& effects, const Names& names) {
  return !effects.is_known || has_common(effects.writes, names);
}

/// Puts `second` into `first` where one test decides on both; whether it could be done.
/// @param effects_of_first  null: not known yet
bool join(CodeItem& first, CodeItem& second, const Effects* effects_of_first) {
  auto* before = find_kind<CodeIf>(first);
  auto* after = find_kind<CodeIf>(second);
  if (before == nullptr || after == nullptr || after->else_body) {
    return false;
  }
  const bool is_same = before->condition == after->condition;
  if (!is_same && !are_opposite(before->condition, after->condition)) {
    return false;
  }
  const Names names = cgen::free_names(before->condition);
  if (effects_of_first != nullptr
          ? may_write(*effects_of_first, names)
          : may_write(before->then_body, names) ||
                (before->else_body && may_write(*before->else_body, names))) {
    return false;
  }
  if (is_same) {
    append_joined(before->then_body, std::move(after->then_body));
  } else if (before->else_body) {
    append_joined(*before->else_body, std::move(after->then_body));
  } else {
    before->else_body = std::move(after->then_body);
  }
  return true;
}

/// Whether a condition can be asked wherever its names are known: it reads no memory and divides by
/// nothing.
bool is_safe_anywhere(const cgen::Expr& condition) {
  bool is_safe = true;
  cgen::walk(condition, {.type = {},
                         .expr =
                             [&](const cgen::Expr& part) {
                               const auto* binary = get_if<cgen::Binary>(part);
                               const auto* unary = get_if<cgen::Unary>(part);
                               is_safe =
                                   is_safe &&
                                   (is<cgen::Variable>(part) || is<cgen::IntLiteral>(part) ||
                                    is<cgen::FloatLiteral>(part) || is<cgen::Cast>(part) ||
                                    (unary != nullptr && unary->op < cgen::UnaryOp::dereference) ||
                                    (binary != nullptr && binary->op != cgen::BinaryOp::divide &&
                                     binary->op != cgen::BinaryOp::remainder));
                               return is_safe;
                             },
                         .statement = {}});
  return is_safe;
}

/// A condition around the whole body of a loop that does not change it is put around the loop.
void take_out_condition(CodeItem& item, const PrivateVariables& variables) {
  auto* loop = find_kind<CodeLoop>(item);
  auto* inner = loop != nullptr && loop->body.items.size() == 1
                    ? find_kind<CodeIf>(loop->body.items.front())
                    : nullptr;
  if (inner == nullptr || inner->else_body || !is_safe_anywhere(inner->condition)) {
    return;
  }
  const Names names = cgen::free_names(inner->condition);
  const bool has_private_names = std::any_of(
      names.begin(), names.end(), [&](const auto& name) { return variables.count(name) != 0; });
  // threads have variables of their own
  if (names.count(loop->name) != 0 || may_write(inner->then_body, names) ||
      (loop->is_over_threads && has_private_names)) {
    return;
  }
  CodeIf outer{inner->condition, {}, std::nullopt, false};
  CodeBlock body = std::move(inner->then_body);
  loop->body = std::move(body);
  outer.then_body.items.push_back({std::move(*loop)});
  item.kind = std::move(outer);
}

/// `target = condition ? value : other`
struct Choice {
  cgen::Expr target;
  cgen::Expr condition;
  cgen::Expr value;
  cgen::Expr other;
};

std::optional<Choice> as_choice(const CodeItem& item) {
  const auto* statement = get_if<CodeStatement>(item);
  const auto* expression =
      statement != nullptr ? get_if<cgen::ExpressionStatement>(statement->statement) : nullptr;
  const auto* assignment =
      expression != nullptr ? get_if<cgen::AssignExpr>(expression->expression) : nullptr;
  const auto* choice = assignment != nullptr && !assignment->op
                           ? get_if<cgen::Conditional>(assignment->value)
                           : nullptr;
  return choice != nullptr && choice->then_value.type() == choice->else_value.type()
             ? std::optional(Choice{assignment->target, choice->condition, choice->then_value,
                                    choice->else_value})
             : std::nullopt;
}

void add_operands(const cgen::Expr& condition, std::vector<cgen::Expr>& operands) {
  const auto* both = get_if<cgen::Binary>(condition);
  if (both != nullptr && both->op == cgen::BinaryOp::logical_and) {
    add_operands(both->left, operands);
    add_operands(both->right, operands);
  } else {
    operands.push_back(condition);
  }
}

/// Whether the conditions are of the same tests, in any order.
bool are_of_same_tests(const cgen::Expr& one, const cgen::Expr& other) {
  std::vector<cgen::Expr> first;
  std::vector<cgen::Expr> second;
  add_operands(one, first);
  add_operands(other, second);
  return first.size() == second.size() &&
         std::all_of(first.begin(), first.end(), [&](const cgen::Expr& each) {
           return std::find(second.begin(), second.end(), each) != second.end();
         });
}

std::vector<cgen::Expr> elements_in(const cgen::Expr& value) {
  std::vector<cgen::Expr> elements;
  const auto visit = [&](const cgen::Expr& part) {
    if (is<cgen::Subscript>(part)) {
      elements.push_back(part);
    }
    return true;
  };
  cgen::walk(value, {.type = {}, .expr = visit, .statement = {}});
  return elements;
}

/// Whether the value of the second is computed from an element that the first one loads, too, under
/// the same condition, which the first does not change.
bool load_the_same(const Choice& first, const Choice& second) {
  if (!are_of_same_tests(first.condition, second.condition) ||
      !elements_in(first.condition).empty() ||
      has_common(cgen::free_names(first.condition), cgen::free_names(object_of(first.target)))) {
    return false;
  }
  const std::vector<cgen::Expr> loaded = elements_in(first.value);
  const std::vector<cgen::Expr> wanted = elements_in(second.value);
  return std::any_of(wanted.begin(), wanted.end(), [&](const cgen::Expr& each) {
    return std::find(loaded.begin(), loaded.end(), each) != loaded.end();
  });
}

/// Neighbours that choose their values by the same tests, and load the same elements for these, as
/// one condition: compilers load what they share once.
CodeBlock with_joined_choices(CodeBlock block) {
  CodeBlock result;
  for (std::size_t i = 0; i < block.items.size();) {
    std::vector<Choice> run;
    while (i + run.size() < block.items.size()) {
      const std::optional<Choice> next = as_choice(block.items[i + run.size()]);
      if (!next || (!run.empty() && !load_the_same(run.back(), *next))) {
        break;
      }
      run.push_back(*next);
    }
    if (run.size() < 2) {
      result.items.push_back(std::move(block.items[i++]));
      continue;
    }
    CodeIf joined{run.front().condition, {}, CodeBlock(), false};
    for (const Choice& each : run) {
      joined.then_body.items.push_back({CodeStatement{cgen::assign(each.target, each.value)}});
      joined.else_body->items.push_back({CodeStatement{cgen::assign(each.target, each.other)}});
    }
    result.items.push_back({std::move(joined)});
    i += run.size();
  }
  return result;
}

CodeBlock joined(CodeBlock block, const PrivateVariables& variables, bool gathers) {
  CodeBlock result;
  block = with_joined_choices(std::move(block));
  if (gathers) {
    block = gather_conditions(std::move(block), variables, Gather::one_store);
  }
  for (CodeItem& item : block.items) {
    if (auto* loop = find_kind<CodeLoop>(item)) {
      loop->body = joined(std::move(loop->body), variables, gathers);
      take_out_condition(item, variables);
    } else if (auto* conditional = find_kind<CodeIf>(item)) {
      conditional->then_body = joined(std::move(conditional->then_body), variables, gathers);
      if (conditional->else_body) {
        conditional->else_body = joined(std::move(*conditional->else_body), variables, gathers);
      }
    }
    if (result.items.empty() || !join(result.items.back(), item)) {
      result.items.push_back(std::move(item));
    }
  }
  return result;
}

/// Conditions whose whole body is the rest of them, as one: last, since others may share the first.
void write_as_one(CodeBlock& block) {
  for (CodeItem& item : block.items) {
    if (auto* loop = find_kind<CodeLoop>(item)) {
      write_as_one(loop->body);
      continue;
    }
    auto* outer = find_kind<CodeIf>(item);
    if (outer == nullptr) {
      continue;
    }
    write_as_one(outer->then_body);
    if (outer->else_body) {
      write_as_one(*outer->else_body);
    }
    auto* inner = outer->goes_on && !outer->else_body && outer->then_body.items.size() == 1
                      ? find_kind<CodeIf>(outer->then_body.items.front())
                      : nullptr;
    if (inner != nullptr && !inner->else_body) {
      CodeBlock body = std::move(inner->then_body);
      outer->condition = outer->condition && inner->condition;
      outer->then_body = std::move(body);
    }
  }
}

// Each item is compared with all conditions before it, so a long text of many would take long.
constexpr std::size_t most_conditions = 64;

/// Whether equal conditions are apart.
bool has_any_to_gather(const CodeBlock& block) {
  const auto conditionals =
      std::count_if(block.items.begin(), block.items.end(),
                    [](const CodeItem& item) { return get_if<CodeIf>(item) != nullptr; });
  if (conditionals < 2) {
    return false;
  }
  std::unordered_set<cgen::Expr, cgen::TreeHash> conditions;
  const CodeIf* before = nullptr;
  bool has_any = false;
  for (const CodeItem& item : block.items) {
    const CodeIf* conditional = get_if<CodeIf>(item);
    if (conditional != nullptr && !conditional->else_body) {
      const bool is_new = conditions.insert(conditional->condition).second;
      has_any = has_any ||
                (!is_new && (before == nullptr || !(before->condition == conditional->condition)));
    }
    before = conditional;
  }
  return has_any && conditions.size() <= most_conditions;
}

/// Whether anything is written but private variables.
bool writes_memory(const Effects& effects, const PrivateVariables& variables) {
  return std::any_of(effects.writes.begin(), effects.writes.end(),
                     [&](const std::string& name) { return variables.count(name) == 0; });
}

}  // namespace

CodeBlock gather_conditions(CodeBlock block, const PrivateVariables& variables, Gather which) {
  if (!has_any_to_gather(block)) {
    return block;
  }
  /// A condition that others may join, and what has been written after it.
  struct Open {
    std::size_t item = 0;
    bool writes_memory = false;
    Effects own{};
    Effects later{};
  };
  std::vector<Open> open;
  std::vector<std::optional<CodeItem>> items;
  for (CodeItem& item : block.items) {
    const Effects effects = effects_of(item);
    const CodeIf* conditional = get_if<CodeIf>(item);
    const bool can_join = conditional != nullptr && !conditional->else_body;
    const bool is_store = writes_memory(effects, variables);
    bool moves_up = false;
    const auto found = std::find_if(open.begin(), open.end(), [&](const Open& each) {
      CodeItem& first = *items[each.item];
      if (!can_join || !(find_kind<CodeIf>(first)->condition == conditional->condition) ||
          (which == Gather::one_store && is_store && each.writes_memory)) {
        return false;
      }
      moves_up = effects.commutes_with(each.later);
      return (moves_up || each.own.commutes_with(each.later)) && join(first, item, &each.own);
    });
    if (found == open.end()) {
      items.emplace_back(std::move(item));
    } else {
      found->own.add(effects);
      found->writes_memory = found->writes_memory || is_store;
      if (!moves_up) {  // the first one moves down
        items.push_back(std::exchange(items[found->item], std::nullopt));
        found->item = items.size() - 1;
        found->later = {};
      }
    }
    for (auto each = open.begin(); each != open.end(); ++each) {
      if (each != found) {
        each->later.add(found == open.end() ? effects : found->own);
      }
    }
    if (found == open.end() && can_join) {
      open.push_back({items.size() - 1, is_store, effects, {}});
    }
  }
  CodeBlock result;
  for (std::optional<CodeItem>& item : items) {
    if (item) {
      result.items.push_back(std::move(*item));
    }
  }
  return result;
}

CodeBlock join_conditions(CodeBlock block, const PrivateVariables& variables, bool gathers) {
  CodeBlock result = joined(std::move(block), variables, gathers);
  write_as_one(result);
  return result;
}

}  // namespace rtcg::loopy
