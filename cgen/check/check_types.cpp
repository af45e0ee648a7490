#include "rtcg/cgen/check/check_types.h"

#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/ast/infer_type.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/ast/walk.h"
#include "rtcg/cgen/check/complain.h"
#include "rtcg/cgen/check/type_rules.h"

namespace rtcg::cgen {
namespace {

enum class Place { file, record, function };

/// What surrounds a statement.
struct Context {
  Place place = Place::file;
  bool is_in_loop = false;
  bool is_in_switch = false;
  std::optional<Type> result{};  ///< of the function around; nothing for a constructor
};

/// Functions that a module declares with one type only; null when there are overloads.
using Functions = std::map<std::string, std::optional<Type>>;

Functions collect_functions(const Module& module) {
  Functions functions;
  std::unordered_set<const void*> template_entities;
  WalkVisitor visitor;
  visitor.statement = [&](const Statement& s) {
    if (const auto* template_kind = get_if<Template>(s)) {
      template_entities.insert(&template_kind->entity.node());
    }
    const auto* function = get_if<Function>(s);
    if (function != nullptr) {
      const bool is_template = template_entities.count(&s.node()) != 0;
      bool has_defaults = false;
      for (const Parameter& parameter : function->parameters) {
        has_defaults = has_defaults || parameter.default_value.has_value();
      }
      const Type type = type_of(*function);
      const auto [known, is_new] = functions.emplace(function->name, type);
      if (is_template || has_defaults || (!is_new && known->second != type)) {
        known->second.reset();
      }
    }
    // members are found through their object, not by name
    return !is<RecordDefinition>(s) && function == nullptr;
  };
  visitor.expr = [](const Expr&) { return false; };
  walk(module, visitor);
  return functions;
}

class TypeCheck {
 public:
  /// @param has_this  whether what is checked may be part of a member function
  TypeCheck(Functions functions, bool has_this)
      : functions_(std::move(functions)), has_this_(has_this) {}

  void statements(const std::vector<Statement>& list, const Context& context) {
    for (const Statement& statement : list) {
      one(statement, context);
    }
  }

  void one(const Statement& s, const Context& context) {
    require_place(s, context);
    check_own_expressions(s);
    match(
        s, [&](const Declaration& d) { declaration(d, s, context); },
        [&](const Block& b) { statements(b.statements, context); },
        [&](const Group& g) { statements(g.statements, context); },
        [&](const If& i) {
          require_condition(i.condition);
          one(i.then_body, context);
          if (i.else_body) {
            one(*i.else_body, context);
          }
        },
        [&](const For& f) { for_(f, s, context); },
        [&](const RangeFor& r) { range_for(r, s, context); },
        [&](const Try& t) { try_(t, s, context); },
        [&](const StructuredBinding& b) { binding(b, s); },
        [&](const While& w) {
          require_condition(w.condition);
          one(w.body, in_loop(context));
        },
        [&](const DoWhile& d) {
          require_condition(d.condition);
          one(d.body, in_loop(context));
        },
        [&](const Switch& k) { switch_(k, s, context); },
        [&](const Return& r) { return_(r, s, context); },
        [&](const Break&) { require_around(s, context.is_in_loop || context.is_in_switch); },
        [&](const Continue&) { require_around(s, context.is_in_loop); },
        [&](const StaticAssert& a) { require_condition(a.condition); },
        [&](const PreprocessorIf& p) {
          for (const PreprocessorBranch& branch : p.branches) {
            statements(branch.body, context);
          }
          statements(p.else_body.value_or(std::vector<Statement>{}), context);
        },
        [&](const Function& f) { function(f, s, context); },
        [&](const Template& t) {
          if (t.requirement) {
            require_constraint(*t.requirement);
          }
          one(t.entity, context);
        },
        [&](const RecordDefinition& r) {
          require_alignment(r.align_bytes, r.name, s.where());
          require_record_form(r, context.place == Place::record, s.where());
          with_this(true, [&] { statements(r.members, {Place::record}); });
        },
        [&](const InlineAsm& a) {
          for (const AsmOperand& output : a.outputs) {
            require_output(output.value);
          }
        },
        [&](const EnumDefinition& e) { enumeration(e, s); },
        [&](const Typedef& t) { require_valid(t.type, s.where()); },
        [&](const UsingAlias& u) { require_valid(u.type, s.where()); },
        [&](const Namespace& n) { statements(n.items, context); },
        [&](const ExternC& e) { statements(e.items, context); }, [](const auto&) {});
  }

  /// @param may_expand  whether `root` may be a pack expansion
  void expr(const Expr& root, bool may_expand = false) {
    if (may_expand) {
      note_element(root);
    }
    // Children after parents in `order`, so that the innermost problem is the one reported.
    std::vector<const Expr*> order;
    has_expansions_ = false;
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& e) {
      if (is<Variable>(e)) {
        return false;  // nothing can be wrong with it alone
      }
      const bool is_new = !detail::is_shared(e) || seen_.insert(&e.node()).second;
      if (is_new) {
        order.push_back(&e);
        has_expansions_ = has_expansions_ || is<PackExpansion>(e);
      }
      return is_new;
    };
    visitor.statement = [](const Statement&) { return false; };  // see check_one: lambda bodies
    walk(root, visitor);
    if (has_expansions_) {
      check_expansions(order);
    }
    for (auto e = order.rbegin(); e != order.rend(); ++e) {
      check_one(**e);
    }
  }

 private:
  static Context in_loop(Context context) {
    context.is_in_loop = true;
    context.is_in_switch = false;
    return context;
  }

  void check_expansions(const std::vector<const Expr*>& expressions) {
    for (const Expr* e : expressions) {
      note_elements_of(*e);
    }
    for (const Expr* e : expressions) {
      if (is<PackExpansion>(*e) && list_elements_.count(&e->node()) == 0) {
        complain("cgen.check_types.misplaced",
                 fmt::format("'{}' is allowed only as an argument or an element of a list",
                             describe(*e)),
                 e->where());
      }
    }
  }

  // Notes where pack expansions are allowed.
  void note_element(const Expr& element) {
    if (is<PackExpansion>(element)) {
      list_elements_.insert(&element.node());
    }
  }
  void note_elements(const std::vector<Expr>& elements) {
    for (const Expr& element : elements) {
      note_element(element);
    }
  }
  void note_elements(const InitializerList& list) {
    for (const Initializer& element : list.elements) {
      note_element(element.value);
    }
  }
  void note_elements(const std::vector<TemplateArgument>& arguments) {
    for (const TemplateArgument& argument : arguments) {
      if (argument.value) {
        note_element(*argument.value);
      }
    }
  }
  void note_elements_of(const Expr& parent) {
    match(
        parent,
        [&](const Call& c) {
          note_elements(c.arguments);
          note_elements(c.template_arguments);
        },
        [&](const KernelLaunch& k) {
          note_elements(k.arguments);
          note_elements(k.template_arguments);
        },
        [&](const New& n) {
          note_elements(n.arguments.value_or(std::vector<Expr>{}));
          note_elements(n.placement);
        },
        [&](const InitializerList& l) { note_elements(l); },
        [&](const CompoundLiteral& c) { note_elements(c.value); }, [](const auto&) {});
  }

  template <class Check>
  void with_this(bool has_this, const Check& check) {
    const bool before = std::exchange(has_this_, has_this);
    check();
    has_this_ = before;
  }

  void check_own_expressions(const Statement& s) {
    if (const auto* function = get_if<Function>(s)) {
      for (const MemberInitializer& member : function->member_initializers) {
        note_elements(member.arguments);
      }
    }
    for_each_child(
        s, {[&](const Type& t) { check_extents(t); }, [&](const Expr& e) { expr(e); }, nullptr});
  }

  void check_extents(const Type& type) {
    WalkVisitor visitor;
    visitor.expr = [&](const Expr& e) {
      expr(e, true);  // it may be a template argument
      return false;
    };
    walk(type, visitor);
  }

  void check_one(const Expr& e) {
    if (const auto problem = infer_type(kinds(e)).problem) {
      complain(problem->code, fmt::format("in '{}': {}", describe(e), problem->message), e.where());
    }
    match(
        e, [&](const Call& c) { check_known_call(c, e); },
        [&](const Cast& c) { require_valid(c.type, e.where()); },
        [&](const CompoundLiteral& c) {
          require_object(c.type, "the literal", e.where());
          require_initializes(c.type, Expr(c.value, e.where()), describe(e), e.where());
        },
        [&](const KernelLaunch& k) { check_known_launch(k, e); },
        [&](const Lambda& l) { lambda(l, e); }, [&](const New& n) { require_new_object(n, e); },
        [&](const Throw& t) {
          if (t.value) {
            require_object(decayed(t.value->type()), describe(e), e.where());
          }
        },
        [&](const This&) {
          if (!has_this_) {
            complain("cgen.check_types.misplaced",
                     "'this' is allowed only in a member function that is not static", e.where());
          }
        },
        [](const auto&) {});
  }

  /// The callee's name, typed as the module declares it; nothing when there is nothing to add.
  std::optional<Expr> as_declared(const Expr& callee) const {
    const auto* variable = get_if<Variable>(callee);
    const auto found = variable != nullptr ? functions_.find(variable->name) : functions_.end();
    if (found == functions_.end() || !found->second || *found->second == callee.type()) {
      return std::nullopt;
    }
    return Expr(Variable{variable->name, *found->second}, callee.where());
  }

  static std::optional<TypeProblem> why_not_callable(const Expr& callee,
                                                     const std::vector<Expr>& arguments,
                                                     const Expr& e) {
    return infer_type(kinds(Expr(Call{callee, arguments, {}}, e.where()))).problem;
  }

  void check_known_call(const Call& call, const Expr& e) {
    if (const auto callee = as_declared(call.callee)) {
      if (const auto problem = why_not_callable(*callee, call.arguments, e)) {
        complain(problem->code, problem->message, e.where());
      }
    }
  }

  void check_known_launch(const KernelLaunch& launch, const Expr& e) {
    if (const auto callee = as_declared(launch.callee)) {
      if (const auto problem = why_not_callable(*callee, launch.arguments, e)) {
        complain(problem->code, problem->message, e.where());
      }
    }
  }

  void lambda(const Lambda& lambda, const Expr& e) {
    for (const Parameter& parameter : lambda.parameters) {
      require_object(parameter.type, parameter.name, e.where());
    }
    one(lambda.body, {Place::function, false, false, lambda.result.value_or(Type())});
  }

  void require_around(const Statement& s, bool is_around) {
    if (!is_around) {
      complain("cgen.check_types.outside_loop",
               fmt::format("'{}' is not in a loop{} of its function", describe(s),
                           is<Break>(s) ? " or switch" : ""),
               s.where());
    }
  }

  static bool may_stand(const Statement& s, Place place) {
    const bool in_file = place == Place::file;
    const bool in_record = place == Place::record;
    const bool in_function = place == Place::function;
    const auto only = [](bool here) { return here; };
    return match(
        s, [&](const Declaration&) { return true; }, [&](const Group&) { return true; },
        [&](const Comment&) { return true; }, [&](const BlankLine&) { return true; },
        [&](const StaticAssert&) { return true; }, [&](const RawStatement&) { return true; },
        [&](const Pragma&) { return true; }, [&](const Define&) { return true; },
        [&](const Undef&) { return true; }, [&](const PreprocessorIf&) { return true; },
        [&](const LineDirective&) { return true; }, [&](const ErrorDirective&) { return true; },
        [&](const StructuredBinding&) { return only(!in_record); },
        [&](const NamespaceAlias&) { return only(!in_record); },
        [&](const RecordDefinition&) { return true; }, [&](const EnumDefinition&) { return true; },
        [&](const Typedef&) { return true; }, [&](const UsingAlias&) { return true; },
        [&](const UsingDeclaration&) { return true; }, [&](const EmptyStatement&) { return true; },
        [&](const Include&) { return only(!in_record); },
        [&](const UsingDirective&) { return only(!in_record); },
        // within a function a function may be declared, not defined
        [&](const Function& f) { return !in_function || !f.body; },
        [&](const Template&) { return only(!in_function); },
        [&](const ExplicitInstantiation&) { return only(in_file); },
        [&](const Namespace&) { return only(in_file); },
        [&](const ExternC&) { return only(in_file); },
        [&](const AccessSpecifier&) { return only(in_record); },
        [&](const InlineAsm&) { return only(!in_record); },
        [&](const auto&) { return only(in_function); });
  }

  void require_place(const Statement& s, const Context& context) {
    if (!may_stand(s, context.place)) {
      constexpr const char* places[] = {"at file scope", "among members", "in a function"};
      complain("cgen.check_types.misplaced",
               fmt::format("'{}' is not allowed {}", describe(s),
                           places[static_cast<int>(context.place)]),
               s.where());
    }
  }

  void declaration(const Declaration& d, const Statement& s, const Context& context) {
    require_object(d.type, d.name, s.where());
    if (d.initializer) {
      require_initializes(d.type, *d.initializer, d.name, s.where());
    } else if (context.place == Place::function) {
      require_complete(d, s);
    }
    require_memory(d, context.place == Place::function, s.where());
    const auto kind = scalar_kind(d.type);
    const bool is_bit_field_type = kind && is_integral(*kind);
    if (d.bit_width && (context.place != Place::record || !is_bit_field_type ||
                        *d.bit_width > 8 * size_bytes(*kind) || *d.bit_width < 0)) {
      complain("cgen.check_types.bad_type",
               fmt::format("'{}' cannot be a bit-field of {} bits: it must be a member of an "
                           "integer type with at least as many",
                           d.name, *d.bit_width),
               s.where());
    }
  }

  // A variable of a function that has no initialiser.
  static void require_complete(const Declaration& d, const Statement& s) {
    const Type plain = without_qualifiers(d.type);
    const auto* array = get_if<Array>(plain);
    const bool lacks_extent = array != nullptr && !array->extent &&
                              d.memory != MemorySpace::dynamic_shared && !d.specifiers.is_extern;
    const auto* decltyped = get_if<Decltype>(plain);
    const bool is_deduced = is<Auto>(plain) || (decltyped != nullptr && !decltyped->expression);
    if (lacks_extent || is_deduced || is<Reference>(plain)) {
      complain("cgen.check_types.bad_type",
               fmt::format("'{}' of type '{}' needs an initialiser", d.name, describe(d.type)),
               s.where());
    }
  }

  static void require_output(const Expr& output) {
    if (!is_lvalue(output) || is_const(output.type())) {
      complain("cgen.check_types.not_assignable",
               fmt::format("inline assembly cannot write to '{}'", describe(output)),
               output.where());
    }
  }

  void for_(const For& f, const Statement& s, const Context& context) {
    if (f.init && !is<Declaration>(*f.init) && !is<StructuredBinding>(*f.init) &&
        !is<ExpressionStatement>(*f.init)) {
      complain("cgen.check_types.misplaced",
               fmt::format("'{}' may not begin a for loop; a declaration or an expression may",
                           describe(*f.init)),
               s.where());
    }
    if (f.init) {
      one(*f.init, context);
    }
    if (f.condition) {
      require_condition(*f.condition);
    }
    one(f.body, in_loop(context));
  }

  void range_for(const RangeFor& r, const Statement& s, const Context& context) {
    const auto* variable = get_if<Declaration>(r.variable);
    const auto* names = get_if<StructuredBinding>(r.variable);
    if ((variable == nullptr || variable->initializer) &&
        (names == nullptr || names->initializer)) {
      complain("cgen.check_types.misplaced",
               fmt::format("'{}' cannot be the variable of a range-based for loop; a declaration "
                           "without initialiser can",
                           describe(r.variable)),
               s.where());
    }
    check_own_expressions(r.variable);
    const Type element = require_range(r.range);
    if (names != nullptr) {
      require_binding(*names, element, s.where());
    } else {
      require_object(variable->type, variable->name, s.where());
      require_memory(*variable, true, s.where());
      if (const auto reason = why_not_convertible(element, variable->type)) {
        complain("cgen.check_types.conversion",
                 fmt::format("'{}' of type '{}' cannot hold the elements of '{}', which are of "
                             "type '{}': {}",
                             variable->name, describe(variable->type), describe(r.range),
                             describe(element), *reason),
                 s.where());
      }
    }
    one(r.body, in_loop(context));
  }

  static void binding(const StructuredBinding& b, const Statement& s) {
    if (!b.initializer) {
      complain("cgen.check_types.bad_type", fmt::format("the {} needs an initialiser", describe(s)),
               s.where());
    }
    require_binding(b, b.initializer->type(), s.where());
  }

  void try_(const Try& t, const Statement& s, const Context& context) {
    if (t.handlers.empty()) {
      complain("cgen.check_types.misplaced", "'try' needs a handler", s.where());
    }
    one(t.body, context);
    for (const Handler& handler : t.handlers) {
      if (!handler.exception && &handler != &t.handlers.back()) {
        complain("cgen.check_types.misplaced", "'catch (...)' must be the last handler",
                 handler.body.where());
      }
      if (handler.exception) {
        require_exception(*handler.exception, s.where());
      }
      one(handler.body, context);
    }
  }

  void switch_(const Switch& k, const Statement& s, const Context& context) {
    const auto kind = scalar_kind(k.value.type());
    const Type value = value_type(k.value.type());
    if (!is_opaque(value) && !is<Enumeration>(value) && (!kind || !is_integral(*kind))) {
      complain("cgen.check_types.condition",
               fmt::format("a switch needs an integer, not '{}' of type '{}'", describe(k.value),
                           describe(value)),
               s.where());
    }
    Context inside = context;
    inside.is_in_switch = true;
    std::vector<Expr> labels;
    bool has_default = false;
    for (const SwitchCase& one_case : k.cases) {
      for (const Expr& label : one_case.labels) {
        require_new(label, labels);
      }
      if (one_case.is_default && has_default) {
        complain("cgen.check_types.duplicate_case", "a switch has two default cases", s.where());
      }
      has_default = has_default || one_case.is_default;
      statements(one_case.body, inside);
    }
  }

  static void require_new(const Expr& label, std::vector<Expr>& labels) {
    const auto kind = scalar_kind(label.type());
    const bool is_enumerator = is<Enumeration>(value_type(label.type()));
    if (!is_opaque(label.type()) && !is_enumerator && (!kind || !is_integral(*kind))) {
      complain("cgen.check_types.condition",
               fmt::format("the case label '{}' is not an integer", describe(label)),
               label.where());
    }
    for (const Expr& earlier : labels) {
      const auto* l = get_if<IntLiteral>(earlier);
      const auto* r = get_if<IntLiteral>(label);
      const bool same_number = l != nullptr && r != nullptr && l->magnitude == r->magnitude &&
                               (l->is_negative == r->is_negative || l->magnitude == 0);
      if (earlier == label || same_number) {
        complain("cgen.check_types.duplicate_case",
                 fmt::format("the case '{}' occurs twice in one switch", describe(label)),
                 label.where());
      }
    }
    labels.push_back(label);
  }

  void return_(const Return& r, const Statement& s, const Context& context) {
    const Type result = context.result.value_or(void_type);
    if (is_opaque(result)) {
      return;
    }
    const bool wants_value = result != void_type;
    if (wants_value != r.value.has_value()) {
      complain("cgen.check_types.return_type",
               wants_value
                   ? fmt::format("a function of result '{}' returns no value", describe(result))
                   : "a function without result returns a value",
               s.where());
    }
    if (!r.value || is<InitializerList>(*r.value)) {
      return;
    }
    const auto* integer = get_if<IntLiteral>(*r.value);
    const bool is_null =
        is<NullPointer>(*r.value) || (integer != nullptr && integer->magnitude == 0);
    if (const auto reason = why_not_convertible(r.value->type(), result, is_null)) {
      complain("cgen.check_types.return_type",
               fmt::format("'{}' of type '{}' cannot be returned as '{}': {}", describe(*r.value),
                           describe(r.value->type()), describe(result), *reason),
               s.where());
    }
  }

  void function(const Function& f, const Statement& s, const Context& context) {
    if (f.result) {
      require_valid(type_of(f), s.where());
    } else if (context.place == Place::file && f.name.find("::") == std::string::npos) {
      complain("cgen.check_types.misplaced",
               fmt::format("'{}' has no result type, as only constructors and destructors have",
                           describe(s)),
               s.where());
    }
    require_kernel_rules(f, s.where());
    require_function_form(f, context.place == Place::record, s.where());
    for (const Parameter& parameter : f.parameters) {
      require_object(parameter.type, parameter.name, s.where());
      if (parameter.default_value) {
        require_initializes(parameter.type, *parameter.default_value, parameter.name, s.where());
      }
    }
    if (f.body) {
      if (!is<Block>(*f.body)) {
        complain("cgen.check_types.misplaced",
                 fmt::format("the body of '{}' must be a block", f.name), s.where());
      }
      const bool is_member =
          context.place == Place::record && !f.specifiers.is_static && !f.specifiers.is_friend;
      const bool is_outside = f.name.find("::") != std::string::npos;  // of its class
      with_this(is_member || is_outside, [&] {
        one(*f.body, {Place::function, false, false, f.result});
      });
    }
  }

  void enumeration(const EnumDefinition& e, const Statement& s) {
    const auto underlying = e.underlying ? scalar_kind(*e.underlying) : ScalarKind::i32;
    if (e.underlying && !is_opaque(*e.underlying) && (!underlying || !is_integral(*underlying))) {
      complain("cgen.check_types.bad_type",
               fmt::format("enumeration '{}' must have an integer type", e.name), s.where());
    }
    for (const Enumerator& enumerator : e.enumerators) {
      if (enumerator.value) {
        require_initializes(i64, *enumerator.value, enumerator.name, s.where());
      }
    }
  }

  Functions functions_;
  std::unordered_set<const void*> seen_;
  std::unordered_set<const void*> list_elements_;  // pack expansions that have their place
  bool has_expansions_ = false;                    // in the expression that is walked
  bool has_this_;
};

}  // namespace

void check_types(const Module& module) {
  TypeCheck(collect_functions(module), false).statements(module.items, {});
}

void check_types(const Statement& statement) {
  const bool is_of_file = is<Function>(statement) || is<Template>(statement) ||
                          is<Namespace>(statement) || is<ExternC>(statement) ||
                          is<ExplicitInstantiation>(statement);
  TypeCheck({}, true).one(statement,
                          {is_of_file ? Place::file : Place::function, false, false, Type()});
}

void check_types(const Expr& expr) {
  TypeCheck({}, true).expr(expr);
}

}  // namespace rtcg::cgen
