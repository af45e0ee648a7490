#include "rtcg/cgen/ast/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rtcg::cgen {
namespace {

constexpr int deepest = 4;

std::string describe_type(const Type& type, int depth);
std::string describe_expr(const Expr& expr, int depth);

std::string list(const std::vector<Expr>& expressions, int depth) {
  std::string text;
  for (const Expr& expression : expressions) {
    text += (text.empty() ? "" : ", ") + describe_expr(expression, depth + 1);
  }
  return text;
}

std::string describe_argument(const TemplateArgument& argument, int depth) {
  return argument.type ? describe_type(*argument.type, depth)
                       : describe_expr(*argument.value, depth);
}

std::string describe_scalar(ScalarKind kind) {
  constexpr const char* names[] = {"void", "bool", "char", "i8",     "i16",      "i32",
                                   "i64",  "u8",   "u16",  "u32",    "u64",      "f16",
                                   "bf16", "f32",  "f64",  "size_t", "ptrdiff_t"};
  return names[static_cast<int>(kind)];
}

std::string describe_qualified(const Qualified& q, int depth) {
  constexpr const char* spaces[] = {"", "global ", "shared ", "constant ", "private "};
  return fmt::format("{}{}{}{}", q.is_const ? "const " : "", q.is_volatile ? "volatile " : "",
                     spaces[static_cast<int>(q.space)], describe_type(q.type, depth + 1));
}

std::string describe_function(const FunctionType& function, int depth) {
  std::string parameters;
  for (const Type& parameter : function.parameters) {
    parameters += (parameters.empty() ? "" : ", ") + describe_type(parameter, depth + 1);
  }
  return fmt::format("{}({}{})", describe_type(function.result, depth + 1), parameters,
                     function.is_variadic ? ", ..." : "");
}

std::string describe_type(const Type& type, int depth) {
  if (depth > 2 * deepest) {
    return "...";
  }
  const auto inner = [&](const Type& t) { return describe_type(t, depth + 1); };
  return match(
      type, [](const Unknown&) -> std::string { return "unknown type"; },
      [](const Invalid&) -> std::string { return "ill-typed"; },
      [](const Auto&) -> std::string { return "auto"; },
      [](const Scalar& s) { return describe_scalar(s.kind); },
      [&](const Complex& c) { return "complex " + inner(c.element); },
      [&](const Vector& v) { return fmt::format("{}x{}", inner(v.element), v.lanes); },
      [&](const Pointer& p) { return inner(p.pointee) + (p.is_restrict ? "* restrict" : "*"); },
      [&](const Reference& r) { return inner(r.referee) + (r.is_rvalue ? "&&" : "&"); },
      [&](const Array& a) {
        return fmt::format("{}[{}]", inner(a.element),
                           a.extent ? describe_expr(*a.extent, depth + 1) : "");
      },
      [&](const FunctionType& f) { return describe_function(f, depth); },
      [&](const Qualified& q) { return describe_qualified(q, depth); },
      [](const Named& n) { return n.name; }, [](const Record& r) { return r.name; },
      [](const Enumeration& e) { return e.name; },
      [&](const Decltype& d) {
        return fmt::format("decltype({})",
                           d.expression ? describe_expr(*d.expression, depth + 1) : "auto");
      },
      [](const Image& i) {
        if (!i.texel) {
          return fmt::format("image{}d", i.dimensions);
        }
        return fmt::format("{}{}d of {}{}",
                           i.access == ImageAccess::read_only ? "texture" : "surface", i.dimensions,
                           i.is_array ? "layers of " : "", describe(*i.texel));
      });
}

std::string describe_unary(const Unary& unary, int depth) {
  const std::string operand = describe_expr(unary.operand, depth + 1);
  const bool is_postfix =
      unary.op == UnaryOp::post_increment || unary.op == UnaryOp::post_decrement;
  return is_postfix ? fmt::format("({}{})", operand, spelling(unary.op))
                    : fmt::format("({}{})", spelling(unary.op), operand);
}

std::string describe_builtin(const BuiltinIndex& builtin) {
  constexpr const char* names[] = {"thread_idx", "block_idx", "block_dim", "grid_dim"};
  constexpr const char* axes[] = {"x", "y", "z"};
  const bool is_known = builtin.axis >= 0 && builtin.axis < 3;
  return fmt::format("{}_{}", names[static_cast<int>(builtin.kind)],
                     is_known ? axes[builtin.axis] : "?");
}

std::string describe_float(const FloatLiteral& f) {
  return fmt::format("{}", f.value);
}

std::string describe_expr(const Expr& expr, int depth) {
  if (depth > deepest) {
    return "...";
  }
  const auto inner = [&](const Expr& e) { return describe_expr(e, depth + 1); };
  return match(
      expr,
      [](const IntLiteral& i) {
        return fmt::format("{}{}", i.is_negative ? "-" : "", i.magnitude);
      },
      [](const FloatLiteral& f) { return describe_float(f); },
      [](const BoolLiteral& b) -> std::string { return b.value ? "true" : "false"; },
      [](const CharLiteral& c) { return fmt::format("'{}'", c.value); },
      [](const StringLiteral& s) { return fmt::format("\"{}\"", s.text); },
      [](const NullPointer&) -> std::string { return "null"; },
      [](const Variable& v) { return v.name; },
      [](const BuiltinIndex& b) { return describe_builtin(b); },
      [&](const IntrinsicCall& c) {
        return fmt::format("{}({})", intrinsic_info(c.intrinsic).name, list(c.arguments, depth));
      },
      [&](const Unary& u) { return describe_unary(u, depth); },
      [&](const Binary& b) {
        return fmt::format("({} {} {})", inner(b.left), spelling(b.op), inner(b.right));
      },
      [&](const AssignExpr& a) {
        return fmt::format("{} {}= {}", inner(a.target), a.op ? spelling(*a.op) : "",
                           inner(a.value));
      },
      [&](const Conditional& c) {
        return fmt::format("({} ? {} : {})", inner(c.condition), inner(c.then_value),
                           inner(c.else_value));
      },
      [&](const Cast& c) {
        return fmt::format("({}){}", describe_type(c.type, depth + 1), inner(c.operand));
      },
      [&](const Call& c) {
        return fmt::format("{}({})", inner(c.callee), list(c.arguments, depth));
      },
      [&](const Subscript& s) { return fmt::format("{}[{}]", inner(s.array), inner(s.index)); },
      [&](const Member& m) {
        const bool is_pointer = is<This>(m.object) || is<Pointer>(decayed(m.object.type()));
        const char* dot = is_pointer ? "->" : ".";
        return fmt::format("{}{}{}", inner(m.object), dot, m.name);
      },
      [](const InitializerList&) -> std::string { return "{...}"; },
      [&](const CompoundLiteral& c) { return describe_type(c.type, depth + 1) + "{...}"; },
      [&](const SizeOf& s) {
        return fmt::format("sizeof({})", describe_argument(s.operand, depth + 1));
      },
      [&](const AlignOf& a) {
        return fmt::format("alignof({})", describe_type(a.type, depth + 1));
      },
      [&](const KernelLaunch& k) {
        return fmt::format("{}<<<...>>>({})", inner(k.callee), list(k.arguments, depth));
      },
      [](const Lambda&) -> std::string { return "[](...) {...}"; },
      [](const This&) -> std::string { return "this"; },
      [&](const New& n) { return "new " + describe_type(n.type, depth + 1); },
      [&](const Delete& d) {
        return fmt::format("delete{} {}", d.is_array ? "[]" : "", inner(d.pointer));
      },
      [&](const Throw& t) { return t.value ? "throw " + inner(*t.value) : "throw"; },
      [&](const Fold& f) {
        return f.is_left ? fmt::format("(... {} {})", spelling(f.op), inner(f.pack))
                         : fmt::format("({} {} ...)", inner(f.pack), spelling(f.op));
      },
      [&](const PackExpansion& p) { return inner(p.pattern) + "..."; },
      [](const RawExpr& r) { return r.text; });
}

}  // namespace

std::string describe(const Type& type) {
  return describe_type(type, 0);
}
std::string describe(const Expr& expr) {
  return describe_expr(expr, 0);
}

std::string describe(const Statement& statement) {
  return match(
      statement, [](const ExpressionStatement& s) { return describe(s.expression); },
      [](const Declaration& d) { return fmt::format("declaration of '{}'", d.name); },
      [](const Function& f) { return fmt::format("function '{}'", f.name); },
      [](const RecordDefinition& r) { return fmt::format("definition of '{}'", r.name); },
      [](const EnumDefinition& e) { return fmt::format("definition of '{}'", e.name); },
      [](const Typedef& t) { return fmt::format("typedef '{}'", t.name); },
      [](const UsingAlias& u) { return fmt::format("alias '{}'", u.name); },
      [](const Namespace& n) { return fmt::format("namespace '{}'", n.name); },
      [](const Label& l) { return fmt::format("label '{}'", l.name); },
      [](const Goto& g) { return fmt::format("goto '{}'", g.label); },
      [](const Return&) -> std::string { return "return"; },
      [](const Break&) -> std::string { return "break"; },
      [](const Continue&) -> std::string { return "continue"; },
      [](const Switch&) -> std::string { return "switch"; },
      [](const If&) -> std::string { return "if"; },
      [](const For&) -> std::string { return "for"; },
      [](const While&) -> std::string { return "while"; },
      [](const DoWhile&) -> std::string { return "do"; },
      [](const RangeFor&) -> std::string { return "range-based for"; },
      [](const Try&) -> std::string { return "try"; },
      [](const StructuredBinding& b) {
        return fmt::format("structured binding of '{}'", fmt::join(b.names, "', '"));
      },
      [](const ErrorDirective&) -> std::string { return "#error"; },
      [](const NamespaceAlias& n) { return fmt::format("namespace alias '{}'", n.name); },
      [](const Block&) -> std::string { return "block"; },
      [](const Barrier&) -> std::string { return "barrier"; },
      [](const MemoryFence&) -> std::string { return "memory fence"; },
      [](const InlineAsm&) -> std::string { return "inline assembly"; },
      [](const Include& i) { return fmt::format("include of '{}'", i.file); },
      [](const Define& d) { return fmt::format("macro '{}'", d.name); },
      [](const Template&) -> std::string { return "template"; },
      [](const ExplicitInstantiation& e) { return fmt::format("instantiation of '{}'", e.name); },
      [](const ExternC&) -> std::string { return "extern \"C\" block"; },
      [](const AccessSpecifier&) -> std::string { return "access specifier"; },
      [](const UsingDirective& u) { return fmt::format("using namespace '{}'", u.name); },
      [](const auto&) -> std::string { return "statement"; });
}

}  // namespace rtcg::cgen
