#include "rtcg/cgen/ast/scope_walk.h"

#include <set>

#include "rtcg/cgen/ast/scope_walker.h"
#include "rtcg/cgen/ast/traverse.h"

namespace rtcg::cgen {
namespace {

/// Hands what a walk reports to the functions of a ScopeEvents.
struct ToFunctions {
  const ScopeEvents& events;
  void enter(const std::string& name) const { events.enter(name); }
  void leave() const { events.leave(); }
  void declare(const std::string& name, NameKind kind, const Statement& where, const Type& type,
               bool is_conditional) const {
    events.declare({name, kind, where, type, is_conditional});
  }
  void use_variable(const Variable& variable, const Expr& expr) const {
    events.use({variable.name, expr.where(), variable.type});
  }
  void use_name(const std::string& name, SourceOrigin where) const {
    events.use({name, where, {}});
  }
  void use_namespace(const std::string& name) const { events.use_namespace(name); }
};

std::set<std::string> collect_free(const std::function<void(const ScopeEvents&)>& run) {
  std::set<std::string> free;
  std::vector<std::set<std::string>> scopes(1);
  ScopeEvents events;
  events.enter = [&](const std::string&) { scopes.emplace_back(); };
  events.leave = [&] { scopes.pop_back(); };
  events.declare = [&](const DeclaredName& declared) { scopes.back().insert(declared.name); };
  events.use = [&](const UsedName& used) {
    for (const auto& scope : scopes) {
      if (scope.count(used.name) != 0) {
        return;
      }
    }
    free.insert(used.name);
  };
  events.use_namespace = [](const std::string&) {};
  run(events);
  return free;
}

}  // namespace

void walk_scopes(const std::vector<Statement>& statements, const ScopeEvents& events) {
  ToFunctions functions{events};
  detail::ScopeWalk<ToFunctions>(functions).statements(statements);
}
void walk_scopes(const Expr& expr, const ScopeEvents& events) {
  ToFunctions functions{events};
  detail::ScopeWalk<ToFunctions>(functions).expr(expr);
}

std::set<std::string> free_names(const Expr& tree) {
  return collect_free([&](const ScopeEvents& events) { walk_scopes(tree, events); });
}
std::set<std::string> free_names(const Statement& tree) {
  return collect_free(
      [&](const ScopeEvents& events) { walk_scopes(std::vector<Statement>{tree}, events); });
}

}  // namespace rtcg::cgen
