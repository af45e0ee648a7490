#pragma once
// Internal header: it is not installed.

#include <map>
#include <string>
#include <vector>

#include "rtcg/cgen/ast/scope_walk.h"
#include "rtcg/cgen/ast/walk.h"

// The walk of scope_walk.h with callables known at compile time: for the check of names in every
// generated module.

namespace rtcg::cgen::detail {

/// Walks in the order of the text and reports to `Events`, which has
///   enter(name), leave(), use_namespace(name) as ScopeEvents has them,
///   declare(name, kind, where, type, is_conditional),
///   use_variable(variable, expr), and use_name(name, where) for names in raw text.
template <class Events>
class ScopeWalk {
 public:
  explicit ScopeWalk(Events& events) : events_(events) {}
  ScopeWalk(const ScopeWalk&) = delete;
  ScopeWalk& operator=(const ScopeWalk&) = delete;

  void statements(const std::vector<Statement>& list) {
    for (const Statement& statement : list) {
      one(statement);
    }
  }

  void expr(const Expr& tree) { uses(tree); }

 private:
  /// Reports the names used in expressions and array extents, lambdas as scopes of their own.
  struct Uses {
    ScopeWalk& scopes;
    bool operator()(const Expr& e) const {
      if (const auto* variable = get_if<Variable>(e)) {
        scopes.events_.use_variable(*variable, e);
        return false;  // the type was written where the name was declared
      }
      if (const auto* raw = get_if<RawExpr>(e)) {
        scopes.use_all(raw->names_used, e.where());
      }
      if (const auto* lambda_kind = get_if<Lambda>(e)) {
        scopes.lambda(*lambda_kind);
        return false;
      }
      return true;
    }
    template <class Tree>
    bool operator()(const Tree&) const {
      return true;
    }
    // parts without names are not pushed to the stack
    static bool is_done(const Expr& e) { return is<IntLiteral>(e) || is<FloatLiteral>(e); }
    static bool is_done(const Type& type) { return is<Scalar>(type); }
    static bool is_done(const Statement&) { return false; }
  };
  template <class Tree>
  void uses(const Tree& tree) {
    if (is_walking_) {  // within a lambda of the tree that is being walked
      Walk<Uses> inner(visit_);
      inner(tree);
      return;
    }
    is_walking_ = true;
    walk_(tree);
    is_walking_ = false;
  }

  void use_all(const std::vector<std::string>& names, SourceOrigin where) {
    for (const std::string& name : names) {
      events_.use_name(name, where);
    }
  }

  void declare(const std::string& name, NameKind kind, const Statement& where,
               const Type& type = {}) {
    if (!name.empty()) {
      events_.declare(name, kind, where, type, conditional_depth_ > 0);
    }
  }

  void lambda(const Lambda& lambda) {
    for (const Capture& capture : lambda.captures) {
      if (capture.initializer) {
        expr(*capture.initializer);
      } else if (capture.name != "this" && capture.name != "*this") {
        events_.use_name(capture.name, lambda.body.where());
      }
    }
    events_.enter("");
    for (const Capture& capture : lambda.captures) {
      if (capture.initializer) {
        declare(capture.name, NameKind::variable, lambda.body);
      }
    }
    parameters(lambda.parameters, lambda.body);
    inline_body(lambda.body);
    events_.leave();
  }

  void parameters(const std::vector<Parameter>& list, const Statement& where) {
    for (const Parameter& each : list) {
      parameter(each, where);
    }
  }

  void parameter(const Parameter& parameter, const Statement& where) {
    uses(parameter.type);
    if (parameter.default_value) {
      expr(*parameter.default_value);
    }
    declare(parameter.name, NameKind::parameter, where, parameter.type);
  }

  // Parameters and the outermost block of a body are one scope.
  void inline_body(const Statement& body) {
    if (const auto* block = get_if<Block>(body)) {
      statements(block->statements);
    } else {
      one(body);
    }
  }

  void scope(const std::vector<Statement>& list, const std::string& name = {}) {
    events_.enter(name);
    statements(list);
    events_.leave();
  }

  void scope(const Statement& body) {
    events_.enter("");
    inline_body(body);
    events_.leave();
  }

  void function(const Function& function, const Statement& where) {
    events_.enter("");
    parameters(function.parameters, where);
    if (function.result) {
      uses(*function.result);  // after the parameters, which a decltype may name
    }
    for (const MemberInitializer& member : function.member_initializers) {
      events_.use_name(member.name, where.where());
      for (const Expr& argument : member.arguments) {
        expr(argument);
      }
    }
    if (function.body) {
      inline_body(*function.body);
    }
    events_.leave();
  }

  void declare_entity(const Statement& entity) {
    if (const auto* f = get_if<Function>(entity)) {
      if (f->result) {  // constructors and destructors bear the name of their class
        declare(f->name, f->body ? NameKind::function_definition : NameKind::function_declaration,
                entity, type_of(*f));
      }
    } else if (const auto* record = get_if<RecordDefinition>(entity)) {
      declare(record->name,
              record->is_definition ? NameKind::type_definition : NameKind::type_declaration,
              entity);
    } else if (const auto* alias = get_if<UsingAlias>(entity)) {
      declare(alias->name, NameKind::type_definition, entity);
    }
  }

  // The parts of an entity whose name is declared already.
  void entity_inside(const Statement& entity) {
    if (const auto* f = get_if<Function>(entity)) {
      function(*f, entity);
    } else if (const auto* record_kind = get_if<RecordDefinition>(entity)) {
      record(*record_kind);
    }
  }

  static bool is_friend(const Statement& member) {
    const auto* template_kind = get_if<Template>(member);
    const auto* f = get_if<Function>(template_kind == nullptr ? member : template_kind->entity);
    return f != nullptr && f->specifiers.is_friend;
  }

  void record(const RecordDefinition& record) {
    for (const Statement& member : record.members) {
      if (is_friend(member)) {  // a function of the scope around
        const auto* template_kind = get_if<Template>(member);
        declare_entity(template_kind == nullptr ? member : template_kind->entity);
      }
    }
    events_.enter("");
    // a member function sees members declared after it
    for (const Statement& member : record.members) {
      if (is<Function>(member)) {
        if (!is_friend(member)) {
          declare_entity(member);
        }
      } else {
        one(member);
      }
    }
    for (const Statement& member : record.members) {
      if (const auto* f = get_if<Function>(member)) {
        function(*f, member);
      }
    }
    events_.leave();
  }

  /// `f` of `f<float>`, as an explicit specialisation is called; empty for other names.
  static std::string specialised(const Template& kind) {
    const auto* f = get_if<Function>(kind.entity);
    const auto* record = get_if<RecordDefinition>(kind.entity);
    const std::string name = f != nullptr ? f->name : record != nullptr ? record->name : "";
    const std::size_t arguments = name.find('<');
    const bool is_one =
        kind.parameters.empty() && arguments != std::string::npos && name.ends_with('>');
    return is_one ? name.substr(0, arguments) : "";
  }

  void template_(const Template& kind, const Statement& where) {
    if (const std::string name = specialised(kind); !name.empty()) {
      events_.use_name(name, where.where());
    } else {
      declare_entity(kind.entity);
    }
    events_.enter("");
    for (const TemplateParameter& parameter : kind.parameters) {
      declare(parameter.name, NameKind::parameter, where);
    }
    if (kind.requirement) {
      expr(*kind.requirement);
    }
    entity_inside(kind.entity);
    events_.leave();
  }

  void enumeration(const EnumDefinition& kind, const Statement& where) {
    declare(kind.name, NameKind::type_definition, where);
    if (kind.is_scoped) {
      events_.enter("");
    }
    for (const Enumerator& enumerator : kind.enumerators) {
      if (enumerator.value) {
        expr(*enumerator.value);
      }
      declare(enumerator.name, NameKind::enumerator, where);
    }
    if (kind.is_scoped) {
      events_.leave();
    }
  }

  void switch_(const Switch& kind) {
    expr(kind.value);
    events_.enter("");
    for (const SwitchCase& one_case : kind.cases) {
      for (const Expr& label : one_case.labels) {
        expr(label);
      }
      scope(one_case.body);
    }
    events_.leave();
  }

  void for_(const For& kind) {
    events_.enter("");
    if (kind.init) {
      one(*kind.init);
    }
    if (kind.condition) {
      expr(*kind.condition);
    }
    if (kind.step) {
      expr(*kind.step);
    }
    scope(kind.body);
    events_.leave();
  }

  void range_for(const RangeFor& kind) {
    expr(kind.range);
    events_.enter("");
    one(kind.variable);
    scope(kind.body);
    events_.leave();
  }

  void try_(const Try& kind, const Statement& where) {
    scope(kind.body);
    for (const Handler& handler : kind.handlers) {
      events_.enter("");
      if (handler.exception) {
        parameter(*handler.exception, where);
      }
      inline_body(handler.body);
      events_.leave();
    }
  }

  void preprocessor(const PreprocessorIf& kind) {
    ++conditional_depth_;
    for (const PreprocessorBranch& branch : kind.branches) {
      statements(branch.body);
    }
    if (kind.else_body) {
      statements(*kind.else_body);
    }
    --conditional_depth_;
  }

  struct Children {
    ScopeWalk& scopes;
    void operator()(const Type& type) const { scopes.uses(type); }
    void operator()(const Expr& e) const { scopes.expr(e); }
    void operator()(const Statement& s) const { scopes.scope(s); }
  };
  void children(const Statement& statement) {
    const Children visit{*this};
    visit_children(statement, visit);
  }

  void one(const Statement& s) {
    match(
        s,
        [&](const Declaration& d) {
          children(s);
          declare(d.name, NameKind::variable, s, d.type);
        },
        [&](const Block& b) { scope(b.statements); },
        [&](const Group& g) { statements(g.statements); }, [&](const For& f) { for_(f); },
        [&](const Switch& k) { switch_(k); }, [&](const RangeFor& r) { range_for(r); },
        [&](const Try& t) { try_(t, s); },
        [&](const StructuredBinding& b) {
          children(s);
          for (const std::string& name : b.names) {
            declare(name, NameKind::variable, s);
          }
        },
        [&](const RawStatement& r) {
          use_all(r.names_used, s.where());
          for (const std::string& name : r.names_declared) {
            declare(name, NameKind::raw, s);
          }
        },
        [&](const Define& d) { declare(d.name, NameKind::macro, s); },
        [&](const PreprocessorIf& p) { preprocessor(p); },
        [&](const Function& f) {
          declare_entity(s);
          function(f, s);
        },
        [&](const Template& t) { template_(t, s); },
        [&](const RecordDefinition& r) {
          declare_entity(s);
          record(r);
        },
        [&](const EnumDefinition& e) { enumeration(e, s); },
        [&](const Typedef& t) {
          children(s);
          declare(t.name, NameKind::type_definition, s);
        },
        [&](const UsingAlias&) {
          children(s);
          declare_entity(s);
        },
        [&](const NamespaceAlias& a) {
          declare(a.name, NameKind::namespace_alias, s);
          const auto known = aliases_.find(a.target);
          aliases_[a.name] = known == aliases_.end() ? a.target : known->second;
        },
        [&](const UsingDirective& u) {
          const auto alias = aliases_.find(u.name);
          events_.use_namespace(alias == aliases_.end() ? u.name : alias->second);
        },
        [&](const UsingDeclaration& u) {
          const auto last = u.qualified_name.rfind("::");
          declare(last == std::string::npos ? u.qualified_name : u.qualified_name.substr(last + 2),
                  NameKind::type_declaration, s);
        },
        [&](const Namespace& n) {
          n.name.empty() || n.is_inline ? statements(n.items) : scope(n.items, n.name);
        },
        [&](const ExternC& e) { statements(e.items); }, [&](const auto&) { children(s); });
  }

  Events& events_;
  int conditional_depth_ = 0;
  std::map<std::string, std::string> aliases_;  // of namespaces, to their targets
  Uses visit_{*this};
  Walk<Uses> walk_{visit_};  // one for all trees: its stack needs memory once
  bool is_walking_ = false;
};

}  // namespace rtcg::cgen::detail
