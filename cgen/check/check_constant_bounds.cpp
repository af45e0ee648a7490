#include "rtcg/cgen/check/check_constant_bounds.h"

#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/traverse.h"

namespace rtcg::cgen {
namespace {

using Int = std::int64_t;

struct ValueRange {
  Int low = 0;
  Int high = 0;
};

/// constant + sum of coefficient * variable
struct LinearForm {
  Int constant = 0;
  std::map<std::string, Int> terms{};
};

constexpr Int far_away = Int(1) << 31;  // products of such numbers fit
bool is_far(Int value) {
  return value > far_away || value < -far_away;
}

std::optional<Int> literal_value(const Expr& e) {
  const auto* literal = get_if<IntLiteral>(e);
  if (literal == nullptr || literal->magnitude > static_cast<std::uint64_t>(far_away)) {
    return std::nullopt;
  }
  const Int magnitude = static_cast<Int>(literal->magnitude);
  return literal->is_negative ? -magnitude : magnitude;
}

std::string thread_name(int axis) {
  return fmt::format("thread {}", axis);  // no identifier
}

std::optional<LinearForm> scaled(std::optional<LinearForm> form, Int factor) {
  if (!form || is_far(factor)) {
    return std::nullopt;
  }
  form->constant *= factor;
  bool is_small = !is_far(form->constant);
  for (auto& [name, coefficient] : form->terms) {
    coefficient *= factor;
    is_small = is_small && !is_far(coefficient);
  }
  return is_small ? form : std::nullopt;
}

std::optional<LinearForm> added(std::optional<LinearForm> left,
                                const std::optional<LinearForm>& right) {
  if (!left || !right) {
    return std::nullopt;
  }
  left->constant += right->constant;
  bool is_small = !is_far(left->constant);
  for (const auto& [name, coefficient] : right->terms) {
    Int& sum = left->terms[name];
    sum += coefficient;
    is_small = is_small && !is_far(sum);
  }
  return is_small ? left : std::nullopt;
}

std::optional<LinearForm> linear_form(const Expr& e) {
  if (const auto value = literal_value(e)) {
    return LinearForm{*value, {}};
  }
  if (const auto* variable = get_if<Variable>(e)) {
    return LinearForm{0, {{variable->name, 1}}};
  }
  if (const auto* index = get_if<BuiltinIndex>(e)) {
    return index->kind == BuiltinKind::thread_idx
               ? std::optional(LinearForm{0, {{thread_name(index->axis), 1}}})
               : std::nullopt;
  }
  if (const auto* cast = get_if<Cast>(e)) {
    const auto kind = scalar_kind(cast->type);
    const bool is_wide = kind && is_integral(*kind) && size_bytes(*kind) >= 4;
    return is_wide ? linear_form(cast->operand) : std::nullopt;
  }
  if (const auto* unary = get_if<Unary>(e)) {
    return unary->op == UnaryOp::negate ? scaled(linear_form(unary->operand), -1) : std::nullopt;
  }
  const auto* binary = get_if<Binary>(e);
  if (binary == nullptr) {
    return std::nullopt;
  }
  switch (binary->op) {
    case BinaryOp::add:
      return added(linear_form(binary->left), linear_form(binary->right));
    case BinaryOp::subtract:
      return added(linear_form(binary->left), scaled(linear_form(binary->right), -1));
    case BinaryOp::multiply:
      if (const auto factor = literal_value(binary->right)) {
        return scaled(linear_form(binary->left), *factor);
      }
      if (const auto factor = literal_value(binary->left)) {
        return scaled(linear_form(binary->right), *factor);
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

class BoundsCheck {
 public:
  explicit BoundsCheck(const Function& function) : function_(function) {
    if (function.required_work_group_size) {
      for (int axis = 0; axis < 3; ++axis) {
        const int size = (*function.required_work_group_size)[static_cast<std::size_t>(axis)];
        ranges_[thread_name(axis)] = ValueRange{0, size - 1};
      }
    }
  }

  std::optional<std::string> run() {
    statement(*function_.body);
    return problem_;
  }

 private:
  /// The names in a condition: their values where it holds are not known.
  void add_names(const Expr& condition) {
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& e) {
      if (const auto* variable = get_if<Variable>(e)) {
        conditional_.insert(variable->name);
        if (const auto from = made_from_.find(variable->name); from != made_from_.end()) {
          conditional_.insert(from->second.begin(), from->second.end());
        }
      } else if (const auto* index = get_if<BuiltinIndex>(e)) {
        conditional_.insert(thread_name(index->axis));
      }
      return true;
    };
    walk(condition, visitor);
  }

  template <class Body>
  void under(const Expr* condition, const Body& body) {
    const auto names = conditional_;
    if (condition != nullptr) {
      add_names(*condition);
    }
    body();
    conditional_ = names;
  }

  void check(const Subscript& subscript, const Expr& e) {
    const Type array_type = without_qualifiers(subscript.array.type());
    const auto* array = get_if<Array>(array_type);
    const auto extent =
        array != nullptr && array->extent ? literal_value(*array->extent) : std::optional<Int>();
    const auto index = extent ? linear_form(subscript.index) : std::nullopt;
    if (!index || problem_ || may_have_left_) {
      return;
    }
    ValueRange range{index->constant, index->constant};
    for (const auto& [name, coefficient] : index->terms) {
      const auto found = ranges_.find(name);
      if (found == ranges_.end() || !found->second || conditional_.count(name) != 0) {
        return;
      }
      const Int first = coefficient * found->second->low;
      const Int last = coefficient * found->second->high;
      range.low += std::min(first, last);
      range.high += std::max(first, last);
    }
    if (range.low < 0 || range.high >= *extent) {
      problem_ = fmt::format(
          "'{}' of function '{}', built at {}:{}, takes elements from {} to {} of an array that "
          "has "
          "{}",
          describe(e), function_.name, e.where().file, e.where().line, range.low, range.high,
          *extent);
    }
  }

  void expr(const Expr& root) {
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& e) {
      if (const auto* subscript = get_if<Subscript>(e)) {
        check(*subscript, e);
      } else if (const auto* conditional = get_if<Conditional>(e)) {
        expr(conditional->condition);
        under(&conditional->condition, [&] {
          if (literal_condition(conditional->condition) != false) {
            expr(conditional->then_value);
          }
          if (literal_condition(conditional->condition) != true) {
            expr(conditional->else_value);
          }
        });
        return false;
      } else if (const auto* binary = get_if<Binary>(e);
                 binary != nullptr &&
                 (binary->op == BinaryOp::logical_and || binary->op == BinaryOp::logical_or)) {
        expr(binary->left);
        under(&binary->left, [&] { expr(binary->right); });
        return false;
      } else if (const auto* unary = get_if<Unary>(e);
                 unary != nullptr && unary->op == UnaryOp::address_of) {
        // the address after the last element may be taken
        if (const auto* place = get_if<Subscript>(unary->operand)) {
          expr(place->index);
          return false;
        }
      } else if (const auto* assignment = get_if<AssignExpr>(e)) {
        if (const auto* target = get_if<Variable>(assignment->target)) {
          const auto names = conditional_;
          add_names(assignment->value);
          made_from_[target->name].insert(conditional_.begin(), conditional_.end());
          conditional_ = names;
        }
      } else if (is<Throw>(e)) {
        may_have_left_ = true;
      } else if (is<Lambda>(e) || is<SizeOf>(e)) {
        return false;
      }
      return true;
    };
    visitor.statement = [](const Statement&) { return false; };
    visitor.type = [](const Type&) { return false; };
    walk(root, visitor);
  }

  static std::optional<bool> literal_condition(const Expr& e) {
    if (const auto* literal = get_if<BoolLiteral>(e)) {
      return literal->value;
    }
    const auto value = literal_value(e);
    return value ? std::optional(*value != 0) : std::nullopt;
  }

  void statements(const std::vector<Statement>& list) {
    for (const Statement& each : list) {
      statement(each);
    }
  }

  /// The values of the variable of `for (T i = a; i < b; i += c)`, where these are numbers; an
  /// empty range where it never runs.
  static std::optional<ValueRange> values_of(const For& f) {
    const auto* init = f.init ? get_if<Declaration>(*f.init) : nullptr;
    const auto* test = f.condition ? get_if<Binary>(*f.condition) : nullptr;
    if (init == nullptr || !init->initializer || test == nullptr || !f.step) {
      return std::nullopt;
    }
    const auto low = literal_value(*init->initializer);
    const auto end = literal_value(test->right);
    const auto is_variable = [&](const Expr& e) {
      const auto* variable = get_if<Variable>(e);
      return variable != nullptr && variable->name == init->name;
    };
    if (!low || !end || !is_variable(test->left) ||
        (test->op != BinaryOp::less && test->op != BinaryOp::less_equal)) {
      return std::nullopt;
    }
    std::optional<Int> step;
    if (const auto* unary = get_if<Unary>(*f.step);
        unary != nullptr && is_variable(unary->operand) &&
        (unary->op == UnaryOp::pre_increment || unary->op == UnaryOp::post_increment)) {
      step = 1;
    } else if (const auto* assignment = get_if<AssignExpr>(*f.step);
               assignment != nullptr && assignment->op == BinaryOp::add &&
               is_variable(assignment->target)) {
      step = literal_value(assignment->value);
    }
    if (!step || *step <= 0) {
      return std::nullopt;
    }
    const Int last = test->op == BinaryOp::less ? *end - 1 : *end;
    return last < *low ? ValueRange{0, -1} : ValueRange{*low, last - (last - *low) % *step};
  }

  void for_(const For& f) {
    const auto before = ranges_;
    if (f.init) {
      statement(*f.init);
    }
    const auto values = values_of(f);
    if (values && values->low > values->high) {
      ranges_ = before;
      return;
    }
    if (values) {
      ranges_[get_if<Declaration>(*f.init)->name] = values;
      statement(f.body);
    } else {
      under(f.condition ? &*f.condition : nullptr, [&] {
        if (f.condition) {
          expr(*f.condition);
        }
        statement(f.body);
      });
    }
    ranges_ = before;
  }

  void statement(const Statement& s) {
    match(
        s, [&](const ExpressionStatement& e) { expr(e.expression); },
        [&](const Declaration& d) {
          if (d.initializer) {
            expr(*d.initializer);
            const auto names = conditional_;
            conditional_.clear();
            add_names(*d.initializer);
            made_from_[d.name].insert(conditional_.begin(), conditional_.end());
            conditional_ = names;
          }
          ranges_[d.name] = std::nullopt;  // hides a loop's variable of this name
        },
        [&](const Block& b) {
          const auto before = ranges_;
          statements(b.statements);
          ranges_ = before;
        },
        [&](const Group& g) { statements(g.statements); },
        [&](const If& i) {
          expr(i.condition);
          const auto holds = literal_condition(i.condition);
          under(&i.condition, [&] {
            if (holds != false) {
              statement(i.then_body);
            }
            if (i.else_body && holds != true) {
              statement(*i.else_body);
            }
          });
        },
        [&](const For& f) { for_(f); },
        [&](const RangeFor& r) {
          expr(r.range);
          const auto before = ranges_;
          statement(r.variable);
          under(&r.range, [&] { statement(r.body); });  // a range may be empty
          ranges_ = before;
        },
        [&](const Try& t) {
          statement(t.body);
          for (const Handler& handler : t.handlers) {
            statement(handler.body);
          }
        },
        [&](const StructuredBinding& b) {
          if (b.initializer) {
            expr(*b.initializer);
          }
          for (const std::string& name : b.names) {
            ranges_[name] = std::nullopt;
          }
        },
        [&](const While& w) { under(&w.condition, [&] { statement(w.body); }); },
        [&](const DoWhile& d) { statement(d.body); },
        [&](const Switch& k) {
          for (const SwitchCase& each : k.cases) {
            under(&k.value, [&] { statements(each.body); });
          }
        },
        [&](const Return& r) {
          if (r.value) {
            expr(*r.value);
          }
          may_have_left_ = true;
        },
        [&](const Break&) { may_have_left_ = true; },
        [&](const Continue&) { may_have_left_ = true; },
        [&](const Goto&) { may_have_left_ = true; }, [](const auto&) {});
  }

  const Function& function_;
  std::map<std::string, std::optional<ValueRange>> ranges_;
  std::set<std::string> conditional_;
  /// The names that a variable's value comes from: a condition on it is one on them.
  std::map<std::string, std::set<std::string>> made_from_;
  bool may_have_left_ = false;
  std::optional<std::string> problem_;
};

}  // namespace

std::optional<std::string> why_out_of_bounds(const Module& module) {
  std::optional<std::string> problem;
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    const auto* function = get_if<Function>(s);
    if (function != nullptr && function->body && !problem) {
      problem = BoundsCheck(*function).run();
    }
    return function == nullptr;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(module, visitor);
  return problem;
}

}  // namespace rtcg::cgen
