// What a dialect has not and cannot be given.
#include <fmt/format.h>

#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/dialect/lowering.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

void refuse(const char* code, Dialect dialect, const std::string& construct,
            const std::string& advice, SourceOrigin where) {
  const std::string place =
      where.file == nullptr ? "" : fmt::format(" (built at {}:{})", where.file, where.line);
  throw Unsupported(code,
                    fmt::format("{} has no {}: {}{}", name(dialect), construct, advice, place));
}

namespace {

bool is_c_like(Dialect dialect) {
  return dialect == Dialect::c || dialect == Dialect::opencl;
}

void refuse_types(const Type& type, Dialect dialect, SourceOrigin where) {
  const auto cpp_only = [&](const std::string& construct, const std::string& advice) {
    if (is_c_like(dialect)) {
      refuse("cgen.lower.cpp_only", dialect, construct, advice, where);
    }
  };
  match(
      type, [&](const Reference&) { cpp_only("references", "pass a pointer"); },
      [&](const Auto&) { cpp_only("auto", "state the type"); },
      [&](const Named& t) {
        if (!t.arguments.empty() || t.name.find("::") != std::string::npos) {
          cpp_only("type '" + t.name + "'", "name a type of C");
        }
      },
      [&](const Complex&) {
        if (dialect == Dialect::opencl) {
          refuse("cgen.lower.no_complex", dialect, "complex numbers",
                 "keep real and imaginary parts in a vector of two lanes", where);
        }
      },
      [&](const Vector& t) {
        if (dialect == Dialect::cuda && t.lanes > 4) {
          refuse("cgen.lower.no_vector", dialect, fmt::format("vectors of {} lanes", t.lanes),
                 "use vectors of up to 4", where);
        }
      },
      [&](const Image&) {
        if (dialect != Dialect::opencl) {
          refuse("cgen.lower.no_image", dialect, "image types", "read from a buffer", where);
        }
      },
      [&](const Scalar& t) {
        if (t.kind == ScalarKind::bf16 && dialect != Dialect::cuda) {
          refuse("cgen.lower.no_bf16", dialect, "bfloat16", "keep the values as f32", where);
        }
      },
      [](const auto&) {});
}

void refuse_expr(const Expr& tree, Dialect dialect) {
  match(
      tree,
      [&](const Lambda&) {
        if (is_c_like(dialect)) {
          refuse("cgen.lower.cpp_only", dialect, "lambdas", "write a function", tree.where());
        }
      },
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

void refuse_function(const Statement& tree, const Function& node, Dialect dialect) {
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
  cpp_only(specifiers.is_noexcept, "noexcept");
  for (const Parameter& parameter : node.parameters) {
    cpp_only(parameter.default_value.has_value(), "default arguments");
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
      [&](const UsingDirective&) { cpp_only("using", "write the names in full"); },
      [&](const UsingDeclaration&) { cpp_only("using", "write the names in full"); },
      [&](const Function& s) { refuse_function(tree, s, dialect); },
      [&](const RecordDefinition& s) {
        if (s.tag == RecordTag::class_ || !s.bases.empty()) {
          cpp_only("class '" + s.name + "'", "use a struct without bases");
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
        if (s.scope == BarrierScope::grid ||
            (s.scope == BarrierScope::warp && dialect == Dialect::opencl)) {
          refuse("cgen.lower.no_barrier", dialect, "barrier of that scope inside a kernel",
                 "end the kernel there and launch a second one, or use a block's barrier",
                 tree.where());
        }
      },
      [](const auto&) {});
}

}  // namespace

void refuse_what_is_missing(const Module& module, Dialect dialect,
                            const std::function<void(const Type&)>& note_type) {
  SourceOrigin last;  // types know no place; the statement or expression around them does
  walk(module, {[&](const Type& type) {
                  refuse_types(type, dialect, last);
                  note_type(type);
                  return true;
                },
                [&](const Expr& tree) {
                  last = tree.where();
                  refuse_expr(tree, dialect);
                  if (const auto* number = get_if<FloatLiteral>(tree)) {
                    note_type(number->type);
                  }
                  return true;
                },
                [&](const Statement& tree) {
                  last = tree.where();
                  refuse_statement(tree, dialect);
                  return true;
                }});
}

}  // namespace rtcg::cgen
