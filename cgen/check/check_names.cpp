#include "rtcg/cgen/check/check_names.h"

#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/scope_walk.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/check/complain.h"
#include "rtcg/cgen/support/name_generator.h"

namespace rtcg::cgen {
namespace {

struct Entry {
  NameKind kind = NameKind::variable;
  bool is_conditional = false;
  std::optional<Statement> where;
  Type type{};
};
using Scope = std::map<std::string, Entry>;

bool is_function(NameKind kind) {
  return kind == NameKind::function_definition || kind == NameKind::function_declaration;
}

/// Whether the second declaration of a name in one scope is right.
bool may_stand_twice(const Entry& first, const Entry& second) {
  if (first.is_conditional || second.is_conditional) {
    return true;
  }
  if (first.kind == NameKind::type_declaration || second.kind == NameKind::type_declaration) {
    return true;
  }
  if (first.kind == NameKind::macro && second.kind == NameKind::macro) {
    return *first.where == *second.where;
  }
  if (first.kind == NameKind::namespace_alias && second.kind == first.kind) {
    return get_if<NamespaceAlias>(*first.where)->target ==
           get_if<NamespaceAlias>(*second.where)->target;
  }
  // `struct point point;` and `typedef struct s s;` are C's custom
  const bool is_type = first.kind == NameKind::type_definition;
  if (is_type != (second.kind == NameKind::type_definition)) {
    return is<RecordDefinition>(is_type ? *first.where : *second.where);
  }
  if (is_type) {
    return is<Typedef>(*first.where) != is<Typedef>(*second.where);
  }
  if (is_function(first.kind) && is_function(second.kind)) {
    const auto* l = get_if<Function>(*first.where);
    const auto* r = get_if<Function>(*second.where);
    return first.kind != second.kind || first.kind == NameKind::function_declaration ||
           l == nullptr || r == nullptr || type_of(*l) != type_of(*r);
  }
  const auto* variable = get_if<Declaration>(*first.where);
  return variable != nullptr && is<Declaration>(*second.where) && variable->specifiers.is_extern;
}

class NameCheck {
 public:
  NameCheck(Dialect dialect, const std::set<std::string>& known, UseTypes use_types)
      : dialect_(dialect), known_(known), use_types_(use_types), scopes_(1) {}

  void run(const std::vector<Statement>& statements) {
    ScopeEvents events;
    events.enter = [this](const std::string& name) { enter(name); };
    events.leave = [this] { leave(); };
    events.declare = [this](const DeclaredName& d) {
      declare(d.name, {d.kind, d.is_conditional, d.where, d.type});
    };
    events.use = [this](const UsedName& used) { use(used); };
    events.use_namespace = [this](const std::string& name) { use_namespace(name); };
    walk_scopes(statements, events);
  }

 private:
  void enter(const std::string& name) {
    open_names_.push_back(name);
    const auto found = namespaces_.find(name);
    scopes_.push_back(found == namespaces_.end() ? Scope{} : found->second);
  }

  void leave() {
    if (!open_names_.back().empty()) {
      namespaces_[open_names_.back()] = std::move(scopes_.back());
    }
    open_names_.pop_back();
    scopes_.pop_back();
  }

  void use_namespace(const std::string& name) {
    if (const auto found = namespaces_.find(name); found != namespaces_.end()) {
      scopes_.back().insert(found->second.begin(), found->second.end());
    }
  }

  void declare(const std::string& name, const Entry& entry) {
    const Statement& where = *entry.where;
    check_spelling(name, where);
    const auto found = scopes_.back().find(name);
    if (found != scopes_.back().end() && !may_stand_twice(found->second, entry)) {
      complain("cgen.check_names.duplicate",
               fmt::format("'{}' is declared twice in one scope, first by the {}{}", name,
                           describe(*found->second.where), built_at(found->second.where->where())),
               where.where());
    }
    scopes_.back()[name] = entry;
  }

  void check_spelling(const std::string& name, const Statement& where) {
    if (!is_identifier(name) && !is_member_name(name)) {
      complain("cgen.check_names.not_an_identifier",
               fmt::format("'{}' in the {} is not a name: names have letters, "
                           "digits and underscores, and no digit first",
                           name, describe(where)),
               where.where());
    }
    const bool is_entry_point = name == "main" && is<Function>(where);
    if (is_reserved(dialect_, name) && !is_entry_point) {
      complain("cgen.check_names.reserved",
               fmt::format("'{}' in the {} is a reserved word of {}", name, describe(where),
                           rtcg::cgen::name(dialect_)),
               where.where());
    }
  }

  // Operators and destructors are functions whose names are not identifiers; so are members defined
  // outside their class.
  static bool is_member_name(const std::string& name) {
    return name.rfind("operator", 0) == 0 || name.find("::") != std::string::npos ||
           (name.size() > 1 && name[0] == '~' && is_identifier(name.substr(1)));
  }

  void use(const UsedName& used) {
    const std::string& name = used.name;
    if (name.find("::") != std::string::npos || name == "this" || known_.count(name) != 0) {
      return;
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) {
        require_same_type(used, found->second);
        return;
      }
    }
    complain("cgen.check_names.undeclared",
             fmt::format("'{}' is used, but nothing before declares it", name), used.where);
  }

  void require_same_type(const UsedName& used, const Entry& entry) const {
    if (entry.is_conditional || is_left_open(used.type) || is_left_open(entry.type)) {
      return;
    }
    if (comparable(used.type) != comparable(entry.type)) {
      complain(
          "cgen.check_names.other_type",
          fmt::format("'{}' is used as '{}', but declared as '{}'{}", used.name,
                      describe(used.type), describe(entry.type), built_at(entry.where->where())),
          used.where);
    }
  }

  // Functions may be overloaded or known by result alone; their calls are checked by check_types.
  static bool is_left_open(const Type& type) {
    const Type value = decayed(type);
    const auto* pointer = get_if<Pointer>(value);
    return is_opaque(value) || is<Invalid>(value) ||
           (pointer != nullptr && (is<FunctionType>(without_qualifiers(pointer->pointee)) ||
                                   is<Array>(without_qualifiers(pointer->pointee))));
  }

  [[nodiscard]] Type comparable(const Type& type) const {
    const Type value = decayed(type);
    const auto* pointer = get_if<Pointer>(value);
    if (pointer == nullptr) {
      return value;
    }
    return pointer_to(use_types_ == UseTypes::exact ? pointer->pointee
                                                    : without_qualifiers(pointer->pointee));
  }

  Dialect dialect_;
  const std::set<std::string>& known_;
  UseTypes use_types_;
  std::vector<Scope> scopes_;
  std::vector<std::string> open_names_;
  std::map<std::string, Scope> namespaces_;
};

void check_labels(const Statement& root) {
  std::map<std::string, SourceOrigin> labels;
  std::vector<Statement> jumps;
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    if (const auto* label = get_if<Label>(s)) {
      if (!is_identifier(label->name)) {
        complain("cgen.check_names.not_an_identifier",
                 fmt::format("the {} is not a name", describe(s)), s.where());
      }
      const auto [first, is_new] = labels.emplace(label->name, s.where());
      if (!is_new) {
        complain("cgen.check_names.duplicate_label",
                 fmt::format("the {} occurs twice in one function, first{}", describe(s),
                             built_at(first->second)),
                 s.where());
      }
    } else if (is<Goto>(s)) {
      jumps.push_back(s);
    }
    const bool is_other_function = is<Function>(s) && &s.node() != &root.node();
    return !is_other_function;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(root, visitor);
  for (const Statement& jump : jumps) {
    if (labels.count(get_if<Goto>(jump)->label) == 0) {
      complain(
          "cgen.check_names.missing_label",
          fmt::format("'{}' refers to a label that its function does not have", describe(jump)),
          jump.where());
    }
  }
}

void require_one_line(const std::string& text, const Statement& where) {
  if (text.find_first_of("\r\n") != std::string::npos) {
    complain("cgen.check_names.line_break",
             fmt::format(
                 "the text of the {} has a line break, which is not allowed in a preprocessor line",
                 describe(where)),
             where.where());
  }
}

void check_macro(const Define& define, const Statement& where) {
  require_one_line(define.value, where);
  for (const std::string& parameter : define.parameters.value_or(std::vector<std::string>{})) {
    if (!is_identifier(parameter) && parameter != "...") {
      complain("cgen.check_names.not_an_identifier",
               fmt::format("'{}' of the {} is not a name", parameter, describe(where)),
               where.where());
    }
  }
}

void check_directives(const Statement& root) {
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    match(
        s, [&](const Include& i) { require_one_line(i.file, s); },
        [&](const Pragma& p) { require_one_line(p.text, s); },
        [&](const Define& d) { check_macro(d, s); },
        [&](const Undef& u) { require_one_line(u.name, s); },
        [&](const LineDirective& l) { require_one_line(l.file, s); },
        [&](const PreprocessorIf& p) {
          for (const PreprocessorBranch& branch : p.branches) {
            require_one_line(branch.condition, s);
          }
        },
        [&](const Function&) { check_labels(s); }, [](const auto&) {});
    return true;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(root, visitor);
}

void check(const std::vector<Statement>& statements, Dialect dialect,
           const std::set<std::string>& known_names, UseTypes use_types) {
  for (const Statement& statement : statements) {
    check_directives(statement);
  }
  NameCheck(dialect, known_names, use_types).run(statements);
}

}  // namespace

void check_names(const Module& module, Dialect dialect, const std::set<std::string>& known_names,
                 UseTypes use_types) {
  check(module.items, dialect, known_names, use_types);
}

void check_names(const Statement& statement, Dialect dialect,
                 const std::set<std::string>& known_names) {
  if (!is<Function>(statement)) {
    check_labels(statement);
  }
  check({statement}, dialect, known_names, UseTypes::exact);
}

}  // namespace rtcg::cgen
