#include "rtcg/cgen/check/check_barriers.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/traverse.h"

namespace rtcg::cgen {
namespace {

/// One function, walked again and again until no more variables are found to depend on the thread.
class BarrierCheck {
 public:
  /// @param waiting  functions in which a thread waits for others by an instruction of PTX
  BarrierCheck(const Function& function, const std::set<std::string>& waiting)
      : function_(function), waiting_(waiting) {
    const WorkGroupSize sizes = function.required_work_group_size.value_or(WorkGroupSize{0, 0, 0});
    const int threads = function.launch_bounds ? function.launch_bounds->max_threads : 0;
    for (int axis = 0; axis < 3; ++axis) {
      is_one_thread_[axis] = sizes[static_cast<std::size_t>(axis)] == 1 || threads == 1;
    }
  }

  std::optional<std::string> run() {
    std::size_t known = 0;
    do {
      known = divergent_.size() + divergent_loops_.size();
      problem_.reset();
      next_ = 0;
      next_loop_ = 0;
      is_divergent_ = false;
      loops_.clear();
      scopes_.assign(1, {});
      for (const Parameter& parameter : function_.parameters) {
        declare(parameter.name, true);
      }
      statement(*function_.body);
    } while (known != divergent_.size() + divergent_loops_.size());
    return problem_;
  }

 private:
  struct Entry {
    std::size_t number;
    bool is_memory;  ///< of the block or of all: every thread reads the same value
  };

  void declare(const std::string& name, bool is_memory) {
    scopes_.back()[name] = {next_++, is_memory};
  }
  const Entry* find(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) {
        return &found->second;
      }
    }
    return nullptr;
  }

  static bool differs_by_thread(Intrinsic intrinsic) {
    return intrinsic >= Intrinsic::atomic_add && intrinsic <= Intrinsic::warp_ballot;
  }

  /// Whether the value depends on the thread; notes what the expression assigns on the way.
  bool expr(const Expr& root) {
    bool depends = false;
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& e) {
      if (const auto* index = get_if<BuiltinIndex>(e)) {
        depends =
            depends || (index->kind == BuiltinKind::thread_idx && !is_one_thread_[index->axis]);
      } else if (const auto* call = get_if<IntrinsicCall>(e)) {
        depends = depends || differs_by_thread(call->intrinsic);
      } else if (const auto* variable = get_if<Variable>(e)) {
        const Entry* entry = find(variable->name);
        depends = depends || (entry != nullptr && divergent_.count(entry->number) != 0);
      } else if (const auto* assignment = get_if<AssignExpr>(e)) {
        assign(assignment->target, expr(assignment->value) || expr(assignment->target));
      } else if (const auto* unary = get_if<Unary>(e)) {
        if (unary->op >= UnaryOp::pre_increment) {
          assign(unary->operand, false);
        }
      } else if (is<Throw>(e)) {
        has_left_ = has_left_ || is_divergent_;
      }
      return !is<Lambda>(e);
    };
    visitor.statement = [](const Statement&) { return false; };
    visitor.type = [](const Type&) { return false; };
    walk(root, visitor);
    return depends;
  }

  void assign(const Expr& target, bool depends) {
    const Expr* root = &target;
    while (true) {
      if (const auto* subscript = get_if<Subscript>(*root)) {
        root = &subscript->array;
      } else if (const auto* member = get_if<Member>(*root)) {
        root = &member->object;
      } else {
        break;
      }
    }
    const auto* variable = get_if<Variable>(*root);
    const Entry* entry = variable != nullptr ? find(variable->name) : nullptr;
    if (entry != nullptr && !entry->is_memory && (depends || is_divergent_)) {
      divergent_.insert(entry->number);
    }
  }

  template <class Body>
  void scope(const Body& body) {
    scopes_.emplace_back();
    body();
    scopes_.pop_back();
  }
  template <class Body>
  void under(bool is_divergent, const Body& body) {
    const bool before = is_divergent_;
    is_divergent_ = is_divergent_ || is_divergent;
    scope(body);
    is_divergent_ = before || has_left_;
  }
  template <class Body>
  void loop(const Body& body) {
    const std::size_t number = next_loop_++;
    loops_.push_back(number);
    under(divergent_loops_.count(number) != 0, body);
    loops_.pop_back();
  }

  void statements(const std::vector<Statement>& list) {
    for (const Statement& each : list) {
      statement(each);
    }
  }

  void leave_loop() {
    if (is_divergent_ && !loops_.empty()) {
      divergent_loops_.insert(loops_.back());
    }
  }

  void wait_for_all(const Statement& s) {
    if (is_divergent_ && !problem_) {
      problem_ = fmt::format(
          "a barrier of function '{}', built at {}:{}, is where not all threads of a block come",
          function_.name, s.where().file, s.where().line);
    }
  }

  void statement(const Statement& s) {
    match(
        s,
        [&](const ExpressionStatement& e) {
          expr(e.expression);
          const auto* call = get_if<Call>(e.expression);
          const auto* callee = call != nullptr ? get_if<Variable>(call->callee) : nullptr;
          if (callee != nullptr && waiting_.count(callee->name) > 0) {
            wait_for_all(s);
          }
        },
        [&](const Declaration& d) {
          const bool depends = d.initializer && expr(*d.initializer);
          declare(d.name, d.memory != MemorySpace::automatic);
          if (depends || (d.initializer && is_divergent_)) {
            divergent_.insert(find(d.name)->number);
          }
        },
        [&](const Block& b) { scope([&] { statements(b.statements); }); },
        [&](const Group& g) { statements(g.statements); },
        [&](const If& i) {
          const bool depends = expr(i.condition);
          under(depends, [&] { statement(i.then_body); });
          if (i.else_body) {
            under(depends, [&] { statement(*i.else_body); });
          }
        },
        [&](const For& f) {
          loop([&] {
            if (f.init) {
              statement(*f.init);
            }
            const bool depends = f.condition && expr(*f.condition);
            under(depends, [&] {
              statement(f.body);
              if (f.step) {
                expr(*f.step);
              }
            });
          });
        },
        [&](const RangeFor& r) {
          const bool depends = expr(r.range);
          loop([&] {
            statement(r.variable);
            under(depends, [&] { statement(r.body); });
          });
        },
        [&](const Try& t) {
          scope([&] { statement(t.body); });
          for (const Handler& handler : t.handlers) {
            under(true, [&] { statement(handler.body); });  // where some threads threw
          }
        },
        [&](const StructuredBinding& b) {
          const bool depends = b.initializer && expr(*b.initializer);
          for (const std::string& name : b.names) {
            declare(name, false);
            if (depends || (b.initializer && is_divergent_)) {
              divergent_.insert(find(name)->number);
            }
          }
        },
        [&](const While& w) {
          loop([&] { under(expr(w.condition), [&] { statement(w.body); }); });
        },
        [&](const DoWhile& d) {
          loop([&] {
            // the second iteration is under the condition of the first
            under(expr(d.condition), [&] { statement(d.body); });
          });
        },
        [&](const Switch& k) {
          const bool depends = expr(k.value);
          for (const SwitchCase& each : k.cases) {
            under(depends, [&] { statements(each.body); });
          }
        },
        [&](const Return& r) {
          if (r.value) {
            expr(*r.value);
          }
          has_left_ = has_left_ || is_divergent_;
        },
        [&](const Break&) { leave_loop(); }, [&](const Continue&) { leave_loop(); },
        [&](const Barrier& b) {
          if (b.scope != BarrierScope::warp) {
            wait_for_all(s);
          }
        },
        [&](const PreprocessorIf& p) {
          for (const PreprocessorBranch& branch : p.branches) {
            statements(branch.body);
          }
          if (p.else_body) {
            statements(*p.else_body);
          }
        },
        [](const auto&) {});
  }

  const Function& function_;
  const std::set<std::string>& waiting_;
  bool is_one_thread_[3] = {};
  std::vector<std::map<std::string, Entry>> scopes_;
  std::set<std::size_t> divergent_;        // variables, by the order of their declarations
  std::set<std::size_t> divergent_loops_;  // that some threads leave earlier than others
  std::vector<std::size_t> loops_;         // around the present statement
  std::size_t next_ = 0;
  std::size_t next_loop_ = 0;
  bool is_divergent_ = false;
  bool has_left_ = false;  // some threads returned
  std::optional<std::string> problem_;
};

std::set<std::string> waiting_functions(const Module& module) {
  std::set<std::string> names;
  const Function* function = nullptr;
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    if (const auto* inside = get_if<Function>(s)) {
      function = inside;
    }
    const auto* assembly = get_if<InlineAsm>(s);
    if (assembly != nullptr && function != nullptr &&
        std::string_view(assembly->text).substr(0, 8) == "barrier.") {
      names.insert(function->name);
    }
    return true;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(module, visitor);
  return names;
}

}  // namespace

std::optional<std::string> why_barriers_diverge(const Module& module) {
  const std::set<std::string> waiting = waiting_functions(module);
  std::optional<std::string> problem;
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    const auto* function = get_if<Function>(s);
    if (function != nullptr && function->body && !problem) {
      problem = BarrierCheck(*function, waiting).run();
    }
    return function == nullptr;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(module, visitor);
  return problem;
}

}  // namespace rtcg::cgen
