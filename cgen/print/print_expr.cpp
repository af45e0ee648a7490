// Expressions. The left operand of an operator keeps the operator's own level, the right one gets
// the next tighter; parentheses are only where C or a careful reader needs them.
#include <cmath>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/print/printer.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

namespace {

Level level_of(const Unary& node) {
  return node.op == UnaryOp::post_increment || node.op == UnaryOp::post_decrement ? Level::postfix
                                                                                  : Level::unary;
}

// Whether a left operand that is an operator too, of level `operand`, needs no parentheses under an
// operator of level `parent`. Chains of one operator read from left to right, but readers do not
// take `a < b < c` for a chain.
bool fits_on_the_left(Level operand, Level parent) {
  if (operand == parent) {
    return parent != Level::equality && parent != Level::relational && parent != Level::shift;
  }
  return operand > parent && operand >= readable_operand_level(parent);
}

// The level that an operand of `parent` needs to have no parentheses, apart from the chains above.
Level operand_level(Level parent) {
  return std::max(tighter(parent), readable_operand_level(parent));
}

bool is_pointer(const Expr& object) {
  return is<This>(object) || is<Pointer>(decayed(object.type()));
}

// A type at the end of an expression takes all of `*`, `&` and `&&` that follows for its own.
Level level_of(const New& node) {
  return node.arguments ? Level::unary : Level::conditional;
}

// What `new` has no other way to write than in parentheses: `int (*)[3]`.
bool needs_parentheses(const Type& type) {
  const Type plain = without_qualifiers(type);
  if (const auto* array = get_if<Array>(plain)) {
    return needs_parentheses(array->element);
  }
  const auto* pointer = get_if<Pointer>(plain);
  return is<FunctionType>(plain) ||
         (pointer != nullptr &&
          (is<Array>(without_qualifiers(pointer->pointee)) || needs_parentheses(pointer->pointee)));
}

// `delete []() {...}()` would be `delete[]`.
bool starts_with_lambda(const Expr& tree) {
  return match(
      tree, [](const Lambda&) { return true; },
      [](const Call& e) { return starts_with_lambda(e.callee); },
      [](const Subscript& e) { return starts_with_lambda(e.array); },
      [](const Member& e) { return starts_with_lambda(e.object); },
      [](const Unary& e) { return level_of(e) == Level::postfix && starts_with_lambda(e.operand); },
      [](const auto&) { return false; });
}

// `- -x` and `-(-x)` mean the same, `--x` does not: the operand of a sign must not start with one.
bool starts_with(const Expr& tree, char sign, Dialect dialect) {
  return match(
      tree, [&](const IntLiteral& e) { return int_literal(e, dialect)[0] == sign; },
      [&](const FloatLiteral& e) { return float_literal(e, dialect)[0] == sign; },
      [&](const Unary& e) {
        return e.op != UnaryOp::post_increment && e.op != UnaryOp::post_decrement &&
               spelling(e.op)[0] == sign;
      },
      [](const auto&) { return false; });
}

}  // namespace

// Prints in parentheses what its place asks to be tighter than it is.
template <class Print>
void Printer::grouped(Level own_level, Level least_level, const Print& print) {
  if (own_level >= least_level) {
    print();
    return;
  }
  out.append('(');
  ++brackets_;
  print();
  --brackets_;
  out.append(')');
}

void Printer::operand_list(const std::vector<Expr>& operands) {
  out.append('(');
  ++brackets_;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) {
      out.append(", ");
      break_here(Level::comma);
    } else {
      break_here(Level::primary);  // better than within further brackets
    }
    expr(operands[i], Level::assignment);
  }
  --brackets_;
  out.append(')');
}

void Printer::template_argument(const TemplateArgument& argument) {
  if (argument.type) {
    declarator(*argument.type, "");
  } else {
    // `a > b` and `a >> b` would end the list
    expr(*argument.value, Level::additive);
  }
}

void Printer::template_arguments(const std::vector<TemplateArgument>& arguments) {
  if (arguments.empty()) {
    return;
  }
  out.append('<');
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    out.append(i > 0 ? ", " : "");
    template_argument(arguments[i]);
  }
  out.append('>');
}

void Printer::initializer_list(const InitializerList& list) {
  out.append('{');
  ++brackets_;
  for (std::size_t i = 0; i < list.elements.size(); ++i) {
    const Initializer& element = list.elements[i];
    if (i > 0) {
      out.append(", ");
      break_here(Level::comma);
    }
    if (element.member) {
      out.append(".");
      out.append(*element.member);
      out.append(" = ");
    } else if (element.index) {
      out.append('[');
      expr(*element.index, Level::conditional);
      out.append("] = ");
    }
    expr(element.value, Level::assignment);
  }
  --brackets_;
  out.append('}');
}

void Printer::binary(const Expr& tree) {
  // The left spine is walked in a loop: a sum of 100,000 terms is as deep as it is long.
  const std::size_t begin = spines_.size();
  const Expr* leftmost = &tree;
  while (const Binary* node = get_if<Binary>(*leftmost)) {
    if (spines_.size() > begin &&
        !fits_on_the_left(level_of(node->op), level_of(spines_.back()->op))) {
      break;
    }
    __builtin_prefetch(&node->right.node());
    spines_.push_back(node);
    leftmost = &node->left;
  }
  const Level first_level = level_of(spines_.back()->op);
  const Unary* sign = get_if<Unary>(*leftmost);
  // compilers and readers take `!a == b` for a slip
  const bool is_misread = sign != nullptr && sign->op == UnaryOp::logical_not &&
                          first_level >= Level::bit_or && first_level <= Level::relational;
  expr(*leftmost, is_misread ? tighter(Level::primary) : operand_level(first_level));
  while (spines_.size() > begin) {
    const Binary& node = *spines_.back();
    spines_.pop_back();
    const Level own = level_of(node.op);
    if (node.op != BinaryOp::comma) {
      out.append(' ');
    }
    out.append(spelling(node.op));
    out.append(' ');
    break_here(own);
    expr(node.right, operand_level(own));
  }
}

void Printer::unary(const Unary& node) {
  const std::string_view sign = spelling(node.op);
  if (node.op == UnaryOp::post_increment || node.op == UnaryOp::post_decrement) {
    expr(node.operand, Level::postfix);
    out.append(sign);
    return;
  }
  out.append(sign);
  const bool would_merge = (sign[0] == '-' || sign[0] == '+' || sign[0] == '&') &&
                           starts_with(node.operand, sign[0], dialect_);
  expr(node.operand, would_merge ? tighter(Level::primary) : Level::unary);
}

void Printer::cast(const Cast& node) {
  const auto named_cast = [&](std::string_view name) {
    out.append(name);
    out.append('<');
    declarator(node.type, "");
    out.append(">(");
    ++brackets_;
    expr(node.operand, Level::comma);
    --brackets_;
    out.append(')');
  };
  switch (node.style) {
    case CastStyle::c_style:
      out.append('(');
      declarator(node.type, "");
      out.append(')');
      expr(node.operand, Level::unary);
      return;
    case CastStyle::functional:
      declarator(node.type, "");
      operand_list({node.operand});
      return;
    case CastStyle::static_cast_:
      named_cast("static_cast");
      return;
    case CastStyle::reinterpret_cast_:
      named_cast("reinterpret_cast");
      return;
    case CastStyle::const_cast_:
      named_cast("const_cast");
      return;
  }
}

void Printer::kernel_launch(const KernelLaunch& node) {
  expr(node.callee, Level::postfix);
  template_arguments(node.template_arguments);
  out.append("<<<");
  expr(node.grid, Level::assignment);
  out.append(", ");
  expr(node.block, Level::assignment);
  if (node.shared_bytes || node.stream) {
    out.append(", ");
    expr(node.shared_bytes.value_or(Expr(0)), Level::assignment);
  }
  if (node.stream) {
    out.append(", ");
    expr(*node.stream, Level::assignment);
  }
  out.append(">>>");
  operand_list(node.arguments);
}

void Printer::lambda(const Lambda& node) {
  out.append('[');
  std::string_view separator;
  if (node.capture_default != CaptureDefault::none) {
    out.append(node.capture_default == CaptureDefault::by_value ? "=" : "&");
    separator = ", ";
  }
  for (const Capture& capture : node.captures) {
    out.append(separator);
    out.append(capture.by_reference ? "&" : "");
    out.append(capture.name);
    if (capture.initializer) {
      out.append(" = ");
      expr(*capture.initializer, Level::assignment);
    }
    separator = ", ";
  }
  out.append(']');
  if (node.is_device) {
    out.append(" __device__ ");
  }
  parameters(node.parameters, false);
  out.append(node.is_mutable ? " mutable" : "");
  if (node.result) {
    out.append(" -> ");
    declarator(*node.result, "");
  }
  // The body has its own lines; the line of the expression continues after its brace.
  out.append(" {");
  out.end_line();
  out.indent();
  if (const Block* block = get_if<Block>(node.body)) {
    statements(block->statements);
  } else {
    statement(node.body);
  }
  out.outdent();
  out.begin_line();
  out.append('}');
}

void Printer::literal(const IntLiteral& node, Level least_level) {
  if (!node.is_negative && scalar_kind(node.type) == ScalarKind::i32) {  // nearly always
    grouped(Level::primary, least_level, [&] { out.append(node.magnitude); });
    return;
  }
  const std::string text = int_literal(node, dialect_);
  const bool is_unary = text[0] == '-' || (text[0] == '(' && text.back() != ')');
  grouped(is_unary ? Level::unary : Level::primary, least_level, [&] { out.append(text); });
}

void Printer::literal(const FloatLiteral& node, Level least_level) {
  const auto kind = scalar_kind(node.type);
  const bool is_plain = kind == ScalarKind::f32 || kind == ScalarKind::f64;
  // whole numbers that no exponent makes shorter, which most literals are
  if (is_plain && !std::signbit(node.value) && node.value < 1e5 &&
      node.value == std::trunc(node.value)) {
    grouped(Level::primary, least_level, [&] {
      out.append(static_cast<std::uint64_t>(node.value));
      out.append(kind == ScalarKind::f32 ? ".0f" : ".0");
    });
    return;
  }
  const bool is_short = kind == ScalarKind::f16 || kind == ScalarKind::bf16;
  const std::string text = is_short && is_constant_value_ && dialect_ == Dialect::cuda
                               ? short_float_bits(node)
                               : float_literal(node, dialect_);
  const bool is_unary = text[0] == '-' || text[0] == '(';
  grouped(is_unary ? Level::unary : Level::primary, least_level, [&] { out.append(text); });
}

void Printer::expr(const Expr& tree, Level least) {
  match(
      tree, [&](const IntLiteral& e) { literal(e, least); },
      [&](const FloatLiteral& e) { literal(e, least); },
      [&](const BoolLiteral& e) { out.append(e.value ? words_.true_ : words_.false_); },
      [&](const CharLiteral& e) { out.append(char_literal(e.value)); },
      [&](const StringLiteral& e) { out.append(string_literal(e.text)); },
      [&](const NullPointer&) { out.append(words_.null_pointer); },
      [&](const Variable& e) { out.append(e.name); },
      [&](const BuiltinIndex&) { require_internal(false, "thread indices to be lowered"); },
      [&](const IntrinsicCall&) { require_internal(false, "intrinsics to be lowered"); },
      [&](const Unary& e) { grouped(level_of(e), least, [&] { unary(e); }); },
      [&](const Binary& e) { grouped(cgen::level_of(e.op), least, [&] { binary(tree); }); },
      [&](const AssignExpr& e) { grouped(Level::assignment, least, [&] { assignment(e); }); },
      [&](const Conditional& e) { grouped(Level::conditional, least, [&] { conditional(e); }); },
      [&](const Cast& e) {
        const bool is_unary = e.style == CastStyle::c_style;
        grouped(is_unary ? Level::unary : Level::postfix, least, [&] { cast(e); });
      },
      [&](const Call& e) { grouped(Level::postfix, least, [&] { call(e); }); },
      [&](const Subscript& e) { grouped(Level::postfix, least, [&] { subscript(e); }); },
      [&](const Member& e) { grouped(Level::postfix, least, [&] { member(e); }); },
      [&](const InitializerList& e) { initializer_list(e); },
      [&](const CompoundLiteral& e) {
        grouped(Level::postfix, least, [&] { compound_literal(e); });
      },
      [&](const SizeOf& e) { grouped(Level::unary, least, [&] { size_of(e); }); },
      [&](const AlignOf& e) {
        out.append(words_.align_of);
        out.append('(');
        declarator(e.type, "");
        out.append(')');
      },
      [&](const KernelLaunch& e) { grouped(Level::postfix, least, [&] { kernel_launch(e); }); },
      [&](const Lambda& e) { lambda(e); }, [&](const This&) { out.append("this"); },
      [&](const New& e) { grouped(level_of(e), least, [&] { new_(e); }); },
      [&](const Delete& e) {
        grouped(Level::unary, least, [&] {
          out.append(e.is_array ? "delete[] " : "delete ");
          expr(e.pointer, starts_with_lambda(e.pointer) ? tighter(Level::primary) : Level::unary);
        });
      },
      [&](const Throw& e) {
        grouped(Level::assignment, least, [&] {
          out.append(e.value ? "throw " : "throw");
          if (e.value) {
            expr(*e.value, Level::assignment);
          }
        });
      },
      [&](const Fold& e) { fold(e); },
      [&](const PackExpansion& e) {
        expr(e.pattern, Level::postfix);
        out.append("...");
      },
      [&](const RawExpr& e) {
        out.append(e.is_primary ? "" : "(");
        out.append(e.text);
        out.append(e.is_primary ? "" : ")");
      });
}

void Printer::assignment(const AssignExpr& node) {
  __builtin_prefetch(&node.value.node());
  expr(node.target, Level::unary);
  out.append(' ');
  out.append(node.op ? spelling(*node.op) : "");
  out.append("= ");
  break_before_value(node.value);
  expr(node.value, Level::assignment);
}

// As good as a break at the value's own operator, better than any within its operands.
void Printer::break_before_value(const Expr& value) {
  const Binary* binary = get_if<Binary>(value);
  break_here(binary != nullptr        ? cgen::level_of(binary->op)
             : is<Conditional>(value) ? Level::conditional
                                      : Level::primary);
}

void Printer::conditional(const Conditional& node) {
  expr(node.condition, Level::logical_or);
  out.append(" ? ");
  break_here(Level::conditional);
  expr(node.then_value, Level::assignment);
  out.append(" : ");
  break_here(Level::conditional);
  // C++ takes a `throw` there without parentheses
  expr(node.else_value, is<Throw>(node.else_value) ? Level::assignment : Level::conditional);
}

void Printer::new_(const New& node) {
  out.append("new ");
  if (!node.placement.empty()) {
    operand_list(node.placement);
    out.append(' ');
  }
  const bool is_grouped = needs_parentheses(node.type);
  out.append(is_grouped ? "(" : "");
  declarator(node.type, "");
  out.append(is_grouped ? ")" : "");
  if (!node.arguments) {
    return;
  }
  if (!node.has_braces) {
    operand_list(*node.arguments);
    return;
  }
  initializer_list(
      InitializerList{std::vector<Initializer>(node.arguments->begin(), node.arguments->end())});
}

void Printer::fold(const Fold& node) {
  const auto op = [&] {
    out.append(node.op == BinaryOp::comma ? "" : " ");
    out.append(spelling(node.op));
    out.append(' ');
  };
  const auto operand = [&](const Expr& tree) { expr(tree, Level::unary); };
  out.append('(');
  ++brackets_;
  if (!node.is_left) {
    operand(node.pack);
    op();
  } else if (node.initial) {
    operand(*node.initial);
    op();
  }
  out.append("...");
  if (node.is_left) {
    op();
    operand(node.pack);
  } else if (node.initial) {
    op();
    operand(*node.initial);
  }
  --brackets_;
  out.append(')');
}

// A requires clause takes primary expressions joined by && and ||.
void Printer::constraint(const Expr& tree) {
  const Binary* binary = get_if<Binary>(tree);
  if (binary == nullptr ||
      (binary->op != BinaryOp::logical_and && binary->op != BinaryOp::logical_or)) {
    expr(tree, Level::primary);
    return;
  }
  const Binary* left = get_if<Binary>(binary->left);
  if (left != nullptr && left->op == binary->op) {
    constraint(binary->left);
  } else {
    expr(binary->left, Level::primary);
  }
  out.append(' ');
  out.append(spelling(binary->op));
  out.append(' ');
  break_here(cgen::level_of(binary->op));
  expr(binary->right, Level::primary);
}

void Printer::call(const Call& node) {
  expr(node.callee, Level::postfix);
  template_arguments(node.template_arguments);
  operand_list(node.arguments);
}

void Printer::subscript(const Subscript& node) {
  __builtin_prefetch(&node.index.node());
  expr(node.array, Level::postfix);
  out.append('[');
  ++brackets_;
  expr(node.index, Level::assignment);  // C++20 frowns on a bare comma here
  --brackets_;
  out.append(']');
}

void Printer::member(const Member& node) {
  // `1.x` is one token
  expr(node.object, is<IntLiteral>(node.object) ? tighter(Level::primary) : Level::postfix);
  out.append(is_pointer(node.object) ? "->" : ".");
  out.append(node.name);
}

void Printer::compound_literal(const CompoundLiteral& node) {
  const bool has_cast = dialect_ == Dialect::c || dialect_ == Dialect::opencl;
  out.append(has_cast ? "(" : "");
  declarator(node.type, "");
  out.append(has_cast ? ")" : "");
  initializer_list(node.value);
}

void Printer::size_of(const SizeOf& node) {
  out.append("sizeof(");
  if (node.operand.type) {
    declarator(*node.operand.type, "");
  } else {
    expr(*node.operand.value, Level::comma);
  }
  out.append(')');
}

}  // namespace rtcg::cgen
