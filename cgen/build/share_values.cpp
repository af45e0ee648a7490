#include "rtcg/cgen/build/share_values.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"

namespace rtcg::cgen {
namespace {

/// What a value costs, in additions of floating-point numbers. Indices without divisions cost
/// nothing: compilers add them up in addresses.
constexpr int work_of_division = 4;
constexpr int work_of_function = 4;
constexpr int work_of_guarded_load = 4;  // compilers do not join loads of branches
constexpr int least_work = 4;

/// Since when a value is what it is: the number of the last statement of the row that wrote
/// something that it reads, from 1 on.
using Stamp = std::size_t;

bool is_power_of_two(const Expr& expr) {
  const auto* literal = get_if<IntLiteral>(expr);
  return literal != nullptr && literal->magnitude != 0 &&
         (literal->magnitude & (literal->magnitude - 1)) == 0;
}

bool is_floating_value(const Expr& expr) {
  const auto kind = scalar_kind(value_type(expr.type()));
  return kind && is_floating(*kind);
}

/// What a constant may be declared of.
bool is_number(const Expr& expr) {
  const auto kind = scalar_kind(value_type(expr.type()));
  return kind && *kind != ScalarKind::void_ && *kind != ScalarKind::bool_;
}

bool is_pure_function(Intrinsic intrinsic) {
  switch (intrinsic_info(intrinsic).family) {
    case IntrinsicFamily::atomic:
    case IntrinsicFamily::shuffle_value:
    case IntrinsicFamily::vote:
    case IntrinsicFamily::ballot:
      return false;
    case IntrinsicFamily::image:
      return intrinsic != Intrinsic::write_texel;
    default:
      return true;
  }
}

int work_of(const IntrinsicCall& call) {
  switch (intrinsic_info(call.intrinsic).family) {
    case IntrinsicFamily::floating:
    case IntrinsicFamily::image:
      return call.intrinsic == Intrinsic::fma ? 1 : work_of_function;
    case IntrinsicFamily::arithmetic:
      return 1;
    default:
      return 0;
  }
}

int work_of(const Binary& binary, const Expr& expr) {
  switch (binary.op) {
    case BinaryOp::divide:
      return is_floating_value(expr) || !is_power_of_two(binary.right) ? work_of_division : 1;
    case BinaryOp::remainder:
      return is_power_of_two(binary.right) ? 1 : work_of_division;
    case BinaryOp::add:
    case BinaryOp::subtract:
    case BinaryOp::multiply:
      return is_floating_value(expr) ? 1 : 0;
    default:
      return 0;
  }
}

/// The variable that an lvalue or a pointer leads to; empty: not known.
std::string base_name(const Expr& expr) {
  const Expr* each = &expr;
  while (true) {
    const auto* unary = get_if<Unary>(*each);
    if (const auto* subscript = get_if<Subscript>(*each)) {
      each = &subscript->array;
    } else if (const auto* member = get_if<Member>(*each)) {
      each = &member->object;
    } else if (const auto* cast = get_if<Cast>(*each)) {
      each = &cast->operand;
    } else if (unary != nullptr &&
               (unary->op == UnaryOp::dereference || unary->op == UnaryOp::address_of)) {
      each = &unary->operand;
    } else if (const auto* variable = get_if<Variable>(*each)) {
      return variable->name;
    } else {
      return {};
    }
  }
}

/// Values of a row of statements that nothing interrupts.
class Row {
 public:
  explicit Row(const ShareValuesOptions& options) : options_(options) {}

  void add(const Statement& statement) {
    statements_.push_back(statement);
    counted_.clear();
    changed_.clear();
    has_call_ = false;
    found_.emplace_back();
    const Expr* target = nullptr;
    if (const auto* declaration = get_if<Declaration>(statement)) {
      if (declaration->initializer) {
        visit(*declaration->initializer, true);
      }
      changed_.push_back(declaration->name);
    } else if (const auto* expression = get_if<ExpressionStatement>(statement)) {
      target = visit_effect(expression->expression);
    }
    const Stamp now = statements_.size();
    if (has_call_) {
      last_call_ = now;
    }
    for (const std::string& name : changed_) {
      writes_.insert_or_assign(name, now);
    }
    if (target != nullptr) {
      note_write(*target, now);
    }
  }

  /// Whether a row may contain it.
  [[nodiscard]] static bool takes(const Statement& statement) {
    if (const auto* declaration = get_if<Declaration>(statement)) {
      return declaration->memory == MemorySpace::automatic && !declaration->specifiers.is_static &&
             (!declaration->initializer || !is<InitializerList>(*declaration->initializer));
    }
    return is<ExpressionStatement>(statement) || is<Comment>(statement) ||
           is<BlankLine>(statement) || is<EmptyStatement>(statement);
  }

  /// The statements, with constants.
  void append_to(std::vector<Statement>& result) {
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      std::vector<std::size_t>& found = found_[i];
      std::erase_if(found, [&](std::size_t number) { return values_[number].uses < 2; });
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      // by the value as it is written with the constants for its parts
      std::unordered_map<Expr, Expr, TreeHash, SameTree> constants;
      Rewriter rewriter;
      rewriter.expr = [&](const Expr& each) {
        const auto known = constants.find(each);
        return known == constants.end() ? each : known->second;
      };
      for (const std::size_t number : found) {
        Value& value = values_[number];
        if (!value.variable) {
          const Type type = value_type(value.expr.type());
          value.expr = rewrite(value.expr, rewriter);
          value.variable = Variable{options_.new_name("value"), type};
          result.push_back(
              declare(const_(type), get_if<Variable>(*value.variable)->name, value.expr));
        }
        constants.emplace(value.expr, *value.variable);
      }
      result.push_back(found.empty() ? statements_[i] : rewrite(statements_[i], rewriter));
    }
  }

 private:
  struct Value {
    Expr expr;
    std::size_t first = 0;  ///< the statement that needs it first, from 0 on
    int uses = 0;           ///< by statements, and by other values, each computed once
    std::optional<Expr> variable{};
  };
  struct Facts {
    int work = 0;
    Stamp stamp = 0;
    bool is_pure = true;
    bool has_load = false;
  };
  struct Key {
    Expr expr;
    Stamp stamp;
    friend bool operator==(const Key& left, const Key& right) {
      return left.stamp == right.stamp && equal_trees(left.expr, right.expr);
    }
  };
  struct SameTree {
    bool operator()(const Expr& left, const Expr& right) const { return equal_trees(left, right); }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return static_cast<std::size_t>(key.expr.hash()) * 31 + key.stamp;
    }
  };

  static Facts joined(Facts left, const Facts& right) {
    left.work += right.work;
    left.stamp = std::max(left.stamp, right.stamp);
    left.is_pure = left.is_pure && right.is_pure;
    left.has_load = left.has_load || right.has_load;
    return left;
  }
  static Facts impure() { return {0, 0, false}; }

  [[nodiscard]] bool is_restricted(const std::string& name) const {
    return options_.restricted.count(name) != 0;
  }

  [[nodiscard]] std::size_t here() const { return statements_.size() - 1; }

  [[nodiscard]] Stamp written(const std::string& name) const {
    const auto found = writes_.find(name);
    return found == writes_.end() ? 0 : found->second;
  }
  /// Of what memory holds: a store through a pointer may change all that other pointers lead to,
  /// and a call may change all.
  [[nodiscard]] Stamp memory_written(const std::string& name) const {
    return std::max({written(name), last_call_, is_restricted(name) ? 0 : last_open_write_});
  }

  void note_write(const Expr& target, Stamp now) {
    const std::string name = base_name(target);
    if (name.empty()) {
      last_call_ = now;
      return;
    }
    writes_.insert_or_assign(name, now);
    if (!is<Variable>(target) && !is_restricted(name)) {
      last_open_write_ = now;
    }
  }

  /// @returns  what is written; null: nothing but what calls write
  const Expr* visit_effect(const Expr& expr) {
    const auto* assignment = get_if<AssignExpr>(expr);
    if (assignment == nullptr) {
      visit(expr, true);
      return nullptr;
    }
    visit_place(assignment->target);
    visit(assignment->value, true);
    return &assignment->target;
  }

  /// The parts of an lvalue that are computed.
  Facts visit_place(const Expr& place) {
    if (const auto* subscript = get_if<Subscript>(place)) {
      return joined(visit_place(subscript->array), visit(subscript->index, true));
    }
    if (const auto* member = get_if<Member>(place)) {
      return visit_place(member->object);
    }
    return is<Variable>(place) ? Facts{} : visit(place, true);
  }

  /// @param is_sure  whether the statement computes it in any case
  Facts visit(const Expr& expr, bool is_sure) {
    const std::size_t counted = counted_.size();
    const auto with = [&](Facts facts, int work) {
      facts.work += work;
      return noted(expr, facts, is_sure, counted);
    };
    return match(
        expr,
        [&](const Variable& e) {
          return Facts{0, written(e.name), true};
        },
        [&](const Unary& e) {
          const bool is_negation = e.op == UnaryOp::negate && is_floating_value(expr);
          return e.op == UnaryOp::address_of    ? visit_address(e.operand)
                 : e.op == UnaryOp::dereference ? loaded(visit(e.operand, is_sure), e.operand)
                 : e.op < UnaryOp::dereference  ? with(visit(e.operand, is_sure), is_negation)
                                                : after_call({e.operand});
        },
        [&](const Binary& e) {
          const bool may_skip = e.op == BinaryOp::logical_and || e.op == BinaryOp::logical_or;
          const Facts left = visit(e.left, is_sure);
          return e.op == BinaryOp::comma
                     ? after_call({expr})
                     : with(joined(left, visit(e.right, is_sure && !may_skip)), work_of(e, expr));
        },
        [&](const Conditional& e) {
          const Facts condition = visit(e.condition, is_sure);
          const Facts one = visit(e.then_value, false);
          const Facts values = joined(one, visit(e.else_value, false));
          return with(joined(condition, values), values.has_load ? work_of_guarded_load : 1);
        },
        [&](const Cast& e) { return with(visit(e.operand, is_sure), 0); },
        [&](const Subscript& e) {
          const Facts array = visit(e.array, is_sure);
          return loaded(joined(array, visit(e.index, is_sure)), e.array);
        },
        [&](const Member& e) { return loaded(visit(e.object, is_sure), e.object); },
        [&](const IntrinsicCall& e) {
          Facts facts = visit_all(e.arguments, is_sure);
          if (!is_pure_function(e.intrinsic)) {
            return after_call(e.arguments);
          }
          if (intrinsic_info(e.intrinsic).family == IntrinsicFamily::image) {
            facts = loaded(facts, e.arguments.front());
          }
          return with(facts, work_of(e));
        },
        [&](const Call& e) {
          const Facts facts = visit_all(e.arguments, is_sure);
          const auto* callee = get_if<Variable>(e.callee);
          return callee != nullptr && options_.pure_functions.count(callee->name) != 0
                     ? with(facts, work_of_function)
                     : after_call(e.arguments);
        },
        [&](const IntLiteral&) { return Facts{}; }, [&](const FloatLiteral&) { return Facts{}; },
        [&](const BoolLiteral&) { return Facts{}; }, [&](const BuiltinIndex&) { return Facts{}; },
        // assignments within, lambdas, raw text: whatever they do
        [&](const auto&) { return after_call({expr}); });
  }

  Facts visit_all(const std::vector<Expr>& arguments, bool is_sure) {
    Facts facts;
    for (const Expr& argument : arguments) {
      facts = joined(facts, visit(argument, is_sure));
    }
    return facts;
  }

  /// An address is no number: it has no name of its own, but its parts may.
  Facts visit_address(const Expr& place) {
    visit_place(place);
    return impure();
  }

  /// What memory has at a place.
  [[nodiscard]] Facts loaded(Facts facts, const Expr& place) const {
    facts.stamp = std::max(facts.stamp, memory_written(base_name(place)));
    facts.has_load = true;
    return facts;
  }

  /// A call that may change whatever its arguments mention, and all memory.
  Facts after_call(const std::vector<Expr>& arguments) {
    has_call_ = true;
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& part) {
      if (const auto* variable = get_if<Variable>(part)) {
        changed_.push_back(variable->name);
      }
      return true;
    };
    for (const Expr& argument : arguments) {
      walk(argument, visitor);
    }
    return impure();
  }

  /// Counts a use of a value.
  /// @param counted  the length of `counted_` before its parts were visited
  Facts noted(const Expr& expr, const Facts& facts, bool is_sure, std::size_t counted) {
    if (!facts.is_pure || facts.work < least_work || !is_number(expr)) {
      return facts;
    }
    const auto [known, is_new] = is_sure ? numbers_.try_emplace({expr, facts.stamp}, values_.size())
                                         : std::pair(numbers_.find({expr, facts.stamp}), false);
    if (known == numbers_.end() || (!is_sure && has_call_)) {
      return facts;
    }
    const std::size_t number = known->second;
    found_.back().push_back(number);
    if (!is_sure) {
      return facts;
    }
    if (is_new) {
      values_.push_back({expr, here()});
    } else {
      // its parts are not computed again
      std::for_each(counted_.begin() + static_cast<std::ptrdiff_t>(counted), counted_.end(),
                    [this](std::size_t part) { --values_[part].uses; });
      counted_.resize(counted);
    }
    ++values_[number].uses;
    counted_.push_back(number);
    return facts;
  }

  const ShareValuesOptions& options_;
  std::vector<Statement> statements_;
  std::vector<Value> values_;  ///< parts before what contains them
  std::unordered_map<Key, std::size_t, KeyHash> numbers_;
  std::vector<std::vector<std::size_t>> found_;  ///< the values in each statement
  std::unordered_map<std::string, Stamp> writes_;
  Stamp last_open_write_ = 0;
  Stamp last_call_ = 0;
  // of the statement that is being added
  std::vector<std::size_t> counted_;
  std::vector<std::string> changed_;
  bool has_call_ = false;
};

bool ends_row(const Statement& statement) {
  return !Row::takes(statement);
}

/// Bodies of loops and branches, each by itself.
Statement with_shared_bodies(const Statement& statement, const ShareValuesOptions& options);

std::vector<Statement> flat(const std::vector<Statement>& statements) {
  std::vector<Statement> result;
  for (const Statement& each : statements) {
    if (const auto* group = get_if<Group>(each)) {
      const std::vector<Statement> inner = flat(group->statements);
      result.insert(result.end(), inner.begin(), inner.end());
    } else {
      result.push_back(each);
    }
  }
  return result;
}

Statement shared_body(const Statement& body, const ShareValuesOptions& options) {
  const auto* block = get_if<Block>(body);
  return block != nullptr ? Statement(Block{share_values(block->statements, options)}, body.where())
                          : with_shared_bodies(body, options);
}

Statement with_shared_bodies(const Statement& statement, const ShareValuesOptions& options) {
  return match(
      statement, [&](const Block&) { return shared_body(statement, options); },
      [&](If e) {
        e.then_body = shared_body(e.then_body, options);
        if (e.else_body) {
          e.else_body = shared_body(*e.else_body, options);
        }
        return Statement(std::move(e), statement.where());
      },
      [&](For e) {
        e.body = shared_body(e.body, options);
        return Statement(std::move(e), statement.where());
      },
      [&](While e) {
        e.body = shared_body(e.body, options);
        return Statement(std::move(e), statement.where());
      },
      [&](const auto&) { return statement; });
}

}  // namespace

std::vector<Statement> share_values(const std::vector<Statement>& statements,
                                    const ShareValuesOptions& options) {
  std::vector<Statement> result;
  const std::vector<Statement> all = flat(statements);
  for (auto next = all.begin(); next != all.end();) {
    const auto end = std::find_if(next, all.end(), ends_row);
    Row row(options);
    std::for_each(next, end, [&](const Statement& each) { row.add(each); });
    row.append_to(result);
    next = end;
    if (next != all.end()) {
      result.push_back(with_shared_bodies(*next, options));
      ++next;
    }
  }
  return result;
}

}  // namespace rtcg::cgen
