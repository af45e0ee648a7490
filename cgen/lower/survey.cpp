// The look at a module before it is lowered: what the dialect has not and cannot be given, and
// where there is something to rewrite.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/ast/value_type_within.h"
#include "rtcg/cgen/ast/walk.h"
#include "rtcg/cgen/check/complain.h"
#include "rtcg/cgen/lower/lowering.h"
#include "rtcg/cgen/lower/short_floats.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

void refuse(const char* code, Dialect dialect, const std::string& construct,
            const std::string& advice, SourceOrigin where) {
  throw Unsupported(
      code, fmt::format("{} has no {}: {}{}", name(dialect), construct, advice, built_at(where)));
}

bool runs_on_device(const Statement& tree, const Function& function) {
  const FunctionSpecifiers& specifiers = function.specifiers;
  if (specifiers.is_kernel || specifiers.is_device || specifiers.is_host) {
    return !specifiers.is_host || specifiers.is_device;
  }
  bool launches = false;
  walk(tree, {{},
              [&](const Expr& e) {
                launches |= is<KernelLaunch>(e);
                return true;
              },
              {}});
  return !launches;
}

const Block* body_of(const Statement& item) {
  const Function* function = get_if<Function>(item);
  return function != nullptr && function->body ? get_if<Block>(*function->body) : nullptr;
}

namespace {

void refuse_types(const Type& type, Dialect dialect, SourceOrigin where) {
  const auto cpp_only = [&](const std::string& construct, const std::string& advice) {
    if (is_c_like(dialect)) {
      refuse("cgen.lower.cpp_only", dialect, construct, advice, where);
    }
  };
  match(
      type, [&](const Reference&) { cpp_only("references", "pass a pointer"); },
      [&](const Auto&) { cpp_only("auto", "state the type"); },
      [&](const Decltype&) { cpp_only("decltype", "state the type"); },
      [&](const Named& t) {
        if (!t.arguments.empty() || t.name.find("::") != std::string::npos) {
          cpp_only("type '" + t.name + "'", "name a type of C");
        }
      },
      [&](const Vector& t) {
        if (dialect == Dialect::cuda && t.lanes > 4) {
          refuse("cgen.lower.no_vector", dialect, fmt::format("vectors of {} lanes", t.lanes),
                 "use vectors of up to 4", where);
        }
      },
      [&](const Pointer& t) {
        if (dialect == Dialect::opencl && is<FunctionType>(t.pointee)) {
          refuse("cgen.lower.no_function_pointer", dialect, "pointers to functions",
                 "call the function by its name, or choose it by a switch", where);
        }
      },
      [&](const Image& t) {
        if (dialect != Dialect::opencl && !t.texel) {
          refuse("cgen.lower.no_image", dialect, "image types of OpenCL", "state their texels",
                 where);
        }
      },
      [&](const Scalar& t) {
        if (t.kind == ScalarKind::bf16 && dialect != Dialect::cuda) {
          refuse("cgen.lower.no_bf16", dialect, "bfloat16", "keep the values as f32", where);
        }
      },
      [](const auto&) {});
}

bool is_vector(const Expr& tree) {
  return is<Vector>(value_type_within(tree.type()));
}
bool has_complex_type(const Expr& tree) {
  return is<Complex>(value_type_within(tree.type()));
}
bool is_compound(const Expr& tree) {
  return is_vector(tree) || has_complex_type(tree);
}
bool holds_complex(const Type& type) {
  const auto* array = get_if<Array>(value_type_within(type));
  return array != nullptr ? holds_complex(array->element) : is<Complex>(value_type_within(type));
}

void refuse_expr(const Expr& tree, Dialect dialect) {
  const auto cpp_only = [&](const char* construct, const char* advice) {
    if (is_c_like(dialect)) {
      refuse("cgen.lower.cpp_only", dialect, construct, advice, tree.where());
    }
  };
  match(
      tree,
      [&](const Member& e) {
        if (dialect != Dialect::opencl && has_complex_type(e.object)) {
          refuse("cgen.lower.no_complex", dialect, "parts of complex numbers by name",
                 "call real and imag", tree.where());
        }
      },
      [&](const Lambda&) { cpp_only("lambdas", "write a function"); },
      [&](const This&) { cpp_only("this", "pass a pointer to the object"); },
      [&](const New&) { cpp_only("new", "pass memory, or call malloc where there is one"); },
      [&](const Delete&) { cpp_only("delete", "pass memory, or call free where there is one"); },
      [&](const Throw&) { cpp_only("exceptions", "return a status"); },
      [&](const Fold&) { cpp_only("folds", "write the operators"); },
      [&](const PackExpansion&) { cpp_only("parameter packs", "write the arguments"); },
      [&](const KernelLaunch&) {
        if (dialect != Dialect::cuda) {
          refuse("cgen.lower.cuda_only", dialect, "launches in kernel code",
                 "launch from the host program", tree.where());
        }
      },
      [&](const Call& e) {
        if (is_c_like(dialect) && !e.template_arguments.empty()) {
          refuse("cgen.lower.cpp_only", dialect, "template arguments",
                 "call a function made for the types", tree.where());
        }
      },
      [](const auto&) {});
}

/// Inline assembly of what only devices of CUDA run is PTX.
void refuse_ptx(const Statement& tree, const Function& node, Dialect dialect) {
  if (dialect == Dialect::cuda || !node.specifiers.is_device || node.specifiers.is_host) {
    return;
  }
  walk(tree, {{}, {}, [&](const Statement& s) {
                if (is<InlineAsm>(s)) {
                  refuse("cgen.lower.cuda_only", dialect, "PTX ('" + node.name + "')",
                         "print the module in CUDA, or do without clusters and assembly",
                         tree.where());
                }
                return true;
              }});
}

void refuse_function(const Statement& tree, const Function& node, Dialect dialect) {
  refuse_ptx(tree, node, dialect);
  if (!is_c_like(dialect)) {
    return;
  }
  const auto cpp_only = [&](bool is_there, const std::string& construct) {
    if (is_there) {
      refuse("cgen.lower.cpp_only", dialect, construct + " ('" + node.name + "')",
             "write it as C does", tree.where());
    }
  };
  const FunctionSpecifiers& specifiers = node.specifiers;
  cpp_only(!node.result, "constructors");
  cpp_only(specifiers.is_const_member || specifiers.is_virtual || specifiers.is_explicit,
           "member functions");
  cpp_only(specifiers.is_override || specifiers.is_final || specifiers.is_friend,
           "override, final and friend");
  cpp_only(specifiers.is_noexcept, "noexcept");
  cpp_only(node.definition != FunctionDefinition::by_body, "'= default' and its like");
  for (const Parameter& parameter : node.parameters) {
    cpp_only(parameter.default_value.has_value(), "default arguments");
    cpp_only(parameter.is_pack, "parameter packs");
  }
}

void refuse_statement(const Statement& tree, Dialect dialect) {
  const auto cpp_only = [&](const std::string& construct, const std::string& advice) {
    if (is_c_like(dialect)) {
      refuse("cgen.lower.cpp_only", dialect, construct, advice, tree.where());
    }
  };
  match(
      tree, [&](const Template&) { cpp_only("templates", "write the function for each type"); },
      [&](const ExplicitInstantiation&) { cpp_only("templates", "write the function"); },
      [&](const Namespace& s) { cpp_only("namespace '" + s.name + "'", "prefix the names"); },
      [&](const NamespaceAlias& s) { cpp_only("namespace '" + s.name + "'", "prefix the names"); },
      [&](const If& s) {
        if (s.is_constexpr) {
          cpp_only("if constexpr", "use a plain if, or #if");
        }
      },
      [&](const RangeFor&) { cpp_only("range-based for", "count the elements"); },
      [&](const Try&) { cpp_only("exceptions", "return a status"); },
      [&](const StructuredBinding&) { cpp_only("structured bindings", "declare each name"); },
      [&](const UsingDirective&) { cpp_only("using", "write the names in full"); },
      [&](const UsingDeclaration&) { cpp_only("using", "write the names in full"); },
      [&](const Function& s) { refuse_function(tree, s, dialect); },
      [&](const RecordDefinition& s) {
        if (s.tag == RecordTag::class_ || !s.bases.empty() || s.is_final || s.is_friend) {
          cpp_only("class '" + s.name + "'", "use a struct without bases, friends and final");
        }
        for (const Statement& member : s.members) {
          if (is<Function>(member) || is<AccessSpecifier>(member)) {
            cpp_only("member functions (struct '" + s.name + "')", "write functions");
          }
        }
      },
      [&](const EnumDefinition& s) {
        if (s.is_scoped || s.underlying) {
          cpp_only("scoped or sized enumerations ('" + s.name + "')", "use a plain enum");
        }
      },
      [&](const Declaration& s) {
        if (s.bit_width && dialect == Dialect::opencl) {
          refuse("cgen.lower.no_bit_field", dialect, "bit-fields ('" + s.name + "')",
                 "shift and mask the bits of an integer", tree.where());
        }
        if (s.initializer_style != InitializerStyle::equals && s.initializer) {
          cpp_only("initialisation without '=' ('" + s.name + "')", "use '='");
        }
        if (dialect != Dialect::cuda &&
            (s.memory == MemorySpace::managed || s.memory == MemorySpace::device)) {
          refuse("cgen.lower.cuda_only", dialect, "device variables ('" + s.name + "')",
                 "pass a buffer", tree.where());
        }
        if ((dialect == Dialect::c || dialect == Dialect::cpp) &&
            (s.memory == MemorySpace::shared || s.memory == MemorySpace::dynamic_shared)) {
          refuse("cgen.lower.host_barrier", dialect, "shared memory ('" + s.name + "')",
                 "the loop engine splits loops over a block's threads; a kernel written by hand "
                 "runs its threads one after another",
                 tree.where());
        }
      },
      [&](const Barrier& s) {
        if (dialect == Dialect::c || dialect == Dialect::cpp) {
          refuse("cgen.lower.host_barrier", dialect, "barriers",
                 "the loop engine splits loops over a block's threads; a kernel written by hand "
                 "runs its threads one after another",
                 tree.where());
        }
        if (s.scope != BarrierScope::block && dialect == Dialect::opencl) {
          refuse("cgen.lower.no_barrier", dialect, "barrier of that scope inside a kernel",
                 "end the kernel there and launch a second one, or use a block's barrier",
                 tree.where());
        }
      },
      [](const auto&) {});
}

/// Whether it selects from a vector, or through a pointer to one.
bool is_lane(const Member& member) {
  const Type& object = value_type_within(member.object.type());
  const auto* pointer = get_if<Pointer>(object);
  const auto* array = get_if<Array>(object);
  return is<Vector>(pointer != nullptr ? value_type_within(pointer->pointee)
                    : array != nullptr ? value_type_within(array->element)
                                       : object);
}

/// Whether the dialect selects the lane by the name that it has already.
bool keeps_lane(const Member& member, Dialect dialect) {
  return dialect == Dialect::opencl ||
         (dialect == Dialect::cuda && member.name.size() == 1 &&
          std::string_view("xyzw").find(member.name) != std::string_view::npos);
}

// Whether a node itself may change, apart from those below it.
bool may_change(const Expr& tree, Dialect dialect) {
  return match(
      tree, [](const IntLiteral&) { return false; }, [](const FloatLiteral&) { return false; },
      [](const Variable&) { return false; },
      [](const Binary& e) {
        return is_compound(e.left) || is_compound(e.right) || mixes_short_floats(e.left, e.right);
      },
      [](const AssignExpr& e) {
        return (is_vector(e.target) && e.op) || has_complex_type(e.target) ||
               mixes_short_floats(e.target, e.value);
      },
      [](const Unary& e) { return is_vector(e.operand); },
      [&](const Member& e) { return is_lane(e) && !keeps_lane(e, dialect); },
      [](const Subscript&) { return false; },
      [](const Call& e) {
        return std::any_of(e.arguments.begin(), e.arguments.end(), [](const Expr& argument) {
          return is<Image>(value_type_within(argument.type()));
        });
      },
      [](const Conditional& e) {
        return is_vector(e.condition) || has_complex_type(e.then_value) ||
               has_complex_type(e.else_value) || mixes_short_floats(e.then_value, e.else_value);
      },
      [](const Cast& e) {
        const Type& type = value_type_within(e.type);
        return e.style != CastStyle::c_style || is<Vector>(type) || is<Complex>(type) ||
               has_complex_type(e.operand);
      },
      [](const auto&) { return true; });
}
bool may_change(const Statement& tree, Dialect /*dialect*/) {
  return match(
      tree, [](const ExpressionStatement&) { return false; },
      [](const Declaration& s) {
        return s.specifiers.is_constexpr || s.memory == MemorySpace::dynamic_shared ||
               holds_complex(s.type);
      },
      [](const Block&) { return false; }, [](const If&) { return false; },
      [](const For&) { return false; }, [](const Comment&) { return false; },
      [](const BlankLine&) { return false; }, [](const Return&) { return false; },
      [](const auto&) { return true; });
}

/// Types without expressions that were visited before: of the thousands of places with `float*` in
/// a module, one is visited. The table may forget a type, which costs a second visit.
class SimpleTypesSeen {
 public:
  bool has(const Type& type) const { return places_[place_of(type)] == &type.node(); }
  void add(const Type& type) {
    const Type* inner = &type;
    while (const auto* pointer = get_if<Pointer>(*inner)) {
      inner = &pointer->pointee;
    }
    if (is<Scalar>(*inner)) {
      places_[place_of(type)] = &type.node();
    }
  }

 private:
  std::size_t place_of(const Type& type) const { return type.hash() % places_.size(); }

  std::array<const TypeNode*, 64> places_{};
};

/// What the survey does at each node, parents before children.
class Surveying {
 public:
  Surveying(Dialect dialect, const std::function<void(const Type&)>& note_type)
      : dialect_(dialect), note_type_(note_type) {}

  bool is_done(const Type& type) const { return seen_.has(type); }
  static bool is_done(const Expr&) { return false; }
  static bool is_done(const Statement&) { return false; }

  bool operator()(const Type& type) {
    refuse_types(type, dialect_, last_);
    note_type_(type);
    seen_.add(type);
    return true;
  }
  bool operator()(const Expr& tree) {
    last_ = tree.where();
    refuse_expr(tree, dialect_);
    has_exceptions_ = has_exceptions_ || is<Throw>(tree);
    changes_ = changes_ || may_change(tree, dialect_);
    return true;
  }
  bool operator()(const Statement& tree) {
    last_ = tree.where();
    refuse_statement(tree, dialect_);
    has_exceptions_ = has_exceptions_ || is<Try>(tree);
    changes_ = changes_ || may_change(tree, dialect_);
    return true;
  }

  /// Whether something that was visited since the last call may come out differently.
  bool take_changes() { return std::exchange(changes_, false); }

  [[nodiscard]] bool has_exceptions() const { return has_exceptions_; }

 private:
  Dialect dialect_;
  const std::function<void(const Type&)>& note_type_;
  SourceOrigin last_;  // types know no place; the statement or expression around them does
  SimpleTypesSeen seen_;
  bool changes_ = false;
  bool has_exceptions_ = false;
};

/// Refuses `throw` and `try` in what a device runs.
void refuse_device_exceptions(const Module& module, Dialect dialect) {
  const auto refuse_here = [&](SourceOrigin where) {
    refuse("cgen.lower.no_exceptions", dialect, "exceptions in device code",
           "return a status, or make the function one of the host", where);
  };
  WalkVisitor inside;
  inside.expr = [&](const Expr& e) {
    if (is<Throw>(e)) {
      refuse_here(e.where());
    }
    return true;
  };
  inside.statement = [&](const Statement& s) {
    if (is<Try>(s)) {
      refuse_here(s.where());
    }
    return true;
  };
  WalkVisitor device_code;
  device_code.expr = [&](const Expr& e) {
    const auto* lambda = get_if<Lambda>(e);
    if (lambda != nullptr && lambda->is_device) {
      walk(e, inside);
    }
    return true;
  };
  device_code.statement = [&](const Statement& s) {
    const auto* function = get_if<Function>(s);
    if (function != nullptr && runs_on_device(s, *function)) {
      walk(s, inside);
    }
    return true;
  };
  walk(module, device_code);
}

/// Whether something in a tree may come out differently.
struct ChangeFinder {
  bool operator()(const Type&) { return false; }
  template <class Tree>
  bool operator()(const Tree& tree) {
    has_found = has_found || may_change(tree, dialect);
    return !has_found;
  }
  Dialect dialect;
  bool has_found = false;
};

}  // namespace

Statement rewrite_changing(const Statement& tree, Dialect dialect, const Rewriter& rewriter,
                           int levels) {
  if (levels == 0) {
    return rewrite(tree, rewriter);
  }
  ChangeFinder finder{dialect};
  detail::Walk walk(finder);
  walk(tree);
  if (!finder.has_found) {
    return tree;
  }
  const auto part = [&](auto& optional) {
    if (optional) {
      optional = rewrite(*optional, rewriter);
    }
  };
  return match(
      tree,
      [&](Block s) {
        for (Statement& each : s.statements) {
          each = rewrite_changing(each, dialect, rewriter, levels - 1);
        }
        return Statement(std::move(s), tree.where());
      },
      [&](For s) {
        part(s.init);
        part(s.condition);
        part(s.step);
        s.body = rewrite_changing(s.body, dialect, rewriter, levels - 1);
        return Statement(std::move(s), tree.where());
      },
      [&](If s) {
        s.condition = rewrite(s.condition, rewriter);
        s.then_body = rewrite_changing(s.then_body, dialect, rewriter, levels - 1);
        if (s.else_body) {
          s.else_body = rewrite_changing(*s.else_body, dialect, rewriter, levels - 1);
        }
        return Statement(std::move(s), tree.where());
      },
      [&](const auto&) { return rewrite(tree, rewriter); });
}

Survey survey(const Module& module, Dialect dialect,
              const std::function<void(const Type&)>& note_type) {
  Surveying visit(dialect, note_type);
  detail::Walk walk(visit);
  Survey found;
  for (const Statement& item : module.items) {
    std::vector<std::size_t>& changing = found.changing.emplace_back();
    const Block* body = body_of(item);
    if (body == nullptr) {
      walk(item);
      continue;
    }
    visit(item);
    const auto enter = [&](const auto& child) {
      if constexpr (!std::is_same_v<decltype(child), const Statement&>) {
        walk(child);
      } else {  // the body
        visit(child);
        (void)visit.take_changes();
        for (std::size_t i = 0; i < body->statements.size(); ++i) {
          if (i + 1 < body->statements.size()) {
            detail::fetch(body->statements[i + 1]);
          }
          walk(body->statements[i]);
          if (visit.take_changes()) {
            changing.push_back(i);
          }
        }
      }
    };
    detail::visit_children(item, enter);
  }
  if (dialect == Dialect::cuda && visit.has_exceptions()) {
    refuse_device_exceptions(module, dialect);
  }
  return found;
}

}  // namespace rtcg::cgen
