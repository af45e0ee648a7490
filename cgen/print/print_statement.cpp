// Statements and their order on the page.
#include <algorithm>

#include "rtcg/cgen/ast/walk.h"
#include "rtcg/cgen/print/printer.h"
#include "rtcg/cgen/support/error.h"

namespace rtcg::cgen {

namespace {

/// The statement of a body without its braces.
const std::vector<Statement>* inside_of(const Statement& body) {
  const Block* block = get_if<Block>(body);
  return block == nullptr ? nullptr : &block->statements;
}

bool is_jump(const Statement& statement) {
  return is<Return>(statement) || is<Break>(statement) || is<Continue>(statement) ||
         is<Goto>(statement);
}

}  // namespace

void Printer::begin(SourceOrigin origin) {
  if (options_.line_directives && origin.file != nullptr) {
    const std::size_t believed = out.next_line_number() + line_offset_;
    if (line_file_ == nullptr || std::string_view(line_file_) != origin.file ||
        believed != origin.line) {
      out.begin_line_at(0, origin);
      out.append("#line " + std::to_string(origin.line) + " " + string_literal(origin.file));
      out.end_line();
      line_file_ = origin.file;
      line_offset_ = origin.line - out.next_line_number();
    }
  }
  out.begin_line(origin);
}

void Printer::bodied(const Statement& body, std::string_view closing) {
  const std::vector<Statement>* inside = inside_of(body);
  out.append(" {");
  if (inside != nullptr && inside->empty() && closing == "}") {
    out.append("}");
    out.end_line();
    return;
  }
  out.end_line();
  out.indent();
  if (inside != nullptr) {
    statements(*inside);
  } else {
    statement(body);
  }
  out.outdent();
  out.begin_line(body.where());
  out.append(closing);
  if (closing == "}") {
    out.end_line();
  }
}

void Printer::if_chain(const Statement& tree, const If& first) {
  const If* node = &first;
  begin(tree);
  while (true) {
    out.append(node->is_constexpr ? "if constexpr (" : "if (");
    ++brackets_;
    expr(node->condition, Level::comma);
    --brackets_;
    out.append(")");
    if (!node->else_body) {
      bodied(node->then_body);
      return;
    }
    bodied(node->then_body, "} else");
    const Statement* next = &*node->else_body;
    const std::vector<Statement>* inside = inside_of(*next);
    if (inside != nullptr && inside->size() == 1 && is<If>(inside->front())) {
      next = &inside->front();  // else { if } reads better as else if
    }
    const If* chained = get_if<If>(*next);
    if (chained == nullptr) {
      bodied(*node->else_body);
      return;
    }
    out.append(" ");
    node = chained;
  }
}

void Printer::declaration_inline(const Declaration& node) {
  const DeclarationSpecifiers& specifiers = node.specifiers;
  const auto word = [&](bool is_there, std::string_view text) {
    if (is_there) {
      out.append(text);
      out.append(' ');
    }
  };
  attributes(node.attributes, AttributeStyle::standard);
  word(specifiers.is_extern, "extern");
  word(specifiers.is_static, "static");
  word(specifiers.is_thread_local, words_.thread_local_);
  word(specifiers.is_inline, "inline");
  word(specifiers.is_constexpr, "constexpr");
  word(specifiers.is_mutable, "mutable");
  word(specifiers.is_register, "register");
  out.append(memory_prefix(node.memory, dialect_));
  if (node.align_bytes && dialect_ != Dialect::opencl) {
    out.append(dialect_ == Dialect::cuda ? "__align__("
               : dialect_ == Dialect::c  ? "_Alignas("
                                         : "alignas(");
    out.append(std::to_string(*node.align_bytes));
    out.append(") ");
  }
  declarator(node.type, node.name);
  if (node.bit_width) {
    out.append(" : " + std::to_string(*node.bit_width));
  }
  if (node.align_bytes && dialect_ == Dialect::opencl) {
    out.append(" __attribute__((aligned(" + std::to_string(*node.align_bytes) + ")))");
  }
  attributes(node.attributes, AttributeStyle::gnu);
  if (!node.initializer) {
    return;
  }
  is_constant_value_ = node.memory == MemorySpace::constant || node.memory == MemorySpace::device ||
                       node.memory == MemorySpace::managed || specifiers.is_static ||
                       specifiers.is_constexpr;
  initializer_of(node);
  is_constant_value_ = false;
}

void Printer::initializer_of(const Declaration& node) {
  switch (node.initializer_style) {
    case InitializerStyle::equals:
      out.append(" = ");
      if (!is<InitializerList>(*node.initializer)) {
        break_before_value(*node.initializer);
      }
      expr(*node.initializer, Level::assignment);
      return;
    case InitializerStyle::parentheses:
      out.append('(');
      expr(*node.initializer, Level::assignment);
      out.append(')');
      return;
    case InitializerStyle::braces: {
      const bool has_braces = is<InitializerList>(*node.initializer);
      out.append(has_braces ? "" : "{");
      expr(*node.initializer, Level::assignment);
      out.append(has_braces ? "" : "}");
      return;
    }
  }
}

void Printer::for_loop(const Statement& tree, const For& node) {
  if (node.unroll) {
    const bool is_gnu = dialect_ == Dialect::c || dialect_ == Dialect::cpp;
    std::string pragma = is_gnu ? "#pragma GCC unroll" : "#pragma unroll";
    if (*node.unroll > 0) {
      pragma += " " + std::to_string(*node.unroll);
    } else if (is_gnu) {
      pragma += " 65534";  // the most that gcc takes
    }
    directive(tree, pragma);
  }
  begin(tree);
  out.append("for (");
  ++brackets_;
  if (node.init) {
    match(
        *node.init, [&](const Declaration& d) { declaration_inline(d); },
        [&](const StructuredBinding& b) { binding_inline(b); },
        [&](const ExpressionStatement& e) { expr(e.expression, Level::comma); },
        [&](const RawStatement& r) {
          const std::size_t end = r.text.find_last_not_of("; \n");
          out.append(std::string_view(r.text).substr(0, end + 1));
        },
        [&](const auto&) {
          require_internal(false, "a declaration or expression to start a loop");
        });
  }
  out.append(';');
  if (node.condition) {
    out.append(' ');
    break_here(Level::comma);
    expr(*node.condition, Level::comma);
  }
  out.append(';');
  if (node.step) {
    out.append(' ');
    break_here(Level::comma);
    expr(*node.step, Level::comma);
  }
  --brackets_;
  out.append(')');
  bodied(node.body);
}

// The names replace the one of a declarator: `const auto &[a, b]`.
void Printer::binding_inline(const StructuredBinding& node) {
  const std::string around = declarator_text(node.type, "\x01");
  const std::size_t hole = around.find('\x01');
  out.append(std::string_view(around).substr(0, hole));
  out.append('[');
  for (std::size_t i = 0; i < node.names.size(); ++i) {
    out.append(i > 0 ? ", " : "");
    out.append(node.names[i]);
  }
  out.append(']');
  out.append(std::string_view(around).substr(hole + 1));
  if (node.initializer) {
    out.append(" = ");
    break_before_value(*node.initializer);
    expr(*node.initializer, Level::assignment);
  }
}

void Printer::range_for(const Statement& tree, const RangeFor& node) {
  begin(tree);
  out.append("for (");
  ++brackets_;
  match(
      node.variable, [&](const Declaration& d) { declaration_inline(d); },
      [&](const StructuredBinding& b) { binding_inline(b); },
      [&](const auto&) {
        require_internal(false, "a declaration as the variable of a range-based loop");
      });
  out.append(" : ");
  break_here(Level::comma);
  expr(node.range, Level::assignment);
  --brackets_;
  out.append(')');
  bodied(node.body);
}

void Printer::try_(const Statement& tree, const Try& node) {
  begin(tree);
  out.append("try");
  const Statement* body = &node.body;
  for (const Handler& handler : node.handlers) {
    bodied(*body, "} catch (");
    if (handler.exception) {
      attributes(handler.exception->attributes, AttributeStyle::standard);
      declarator(handler.exception->type, handler.exception->name);
      attributes(handler.exception->attributes, AttributeStyle::gnu);
    } else {
      out.append("...");
    }
    out.append(')');
    body = &handler.body;
  }
  bodied(*body);
}

void Printer::switch_case(const SwitchCase& node, bool is_last) {
  const bool has_declaration = std::any_of(
      node.body.begin(), node.body.end(),
      [](const Statement& s) { return is<Declaration>(s) || is<StructuredBinding>(s); });
  std::size_t left = node.labels.size() + (node.is_default ? 1 : 0);
  const auto label = [&](const Expr* value) {
    begin(value != nullptr ? value->where() : SourceOrigin{});
    if (value != nullptr) {
      out.append("case ");
      expr(*value, Level::conditional);
      out.append(':');
    } else {
      out.append("default:");
    }
    out.append(--left == 0 && has_declaration ? " {" : "");
    out.end_line();
  };
  for (const Expr& value : node.labels) {
    label(&value);
  }
  if (node.is_default) {
    label(nullptr);
  }
  out.indent();
  statements(node.body);
  if (node.falls_through) {
    if (!is_last && !node.body.empty()) {
      out.line(words_.fall_through);
    }
  } else if (node.body.empty() || !is_jump(node.body.back())) {
    out.line("break;");
  }
  out.outdent();
  if (has_declaration) {
    out.line("}");
  }
}

void Printer::switch_(const Statement& tree, const Switch& node) {
  begin(tree);
  out.append("switch (");
  expr(node.value, Level::comma);
  out.append(") {");
  out.end_line();
  out.indent();
  for (std::size_t i = 0; i < node.cases.size(); ++i) {
    switch_case(node.cases[i], i + 1 == node.cases.size());
  }
  out.outdent();
  out.line("}", tree.where());
}

void Printer::statements(const std::vector<Statement>& trees) {
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (i + 1 < trees.size()) {
      detail::fetch(trees[i + 1]);
    }
    if (const Label* label = get_if<Label>(trees[i])) {
      // C requires a statement after a label, and a declaration is not one.
      const bool has_statement = i + 1 < trees.size() && !is<Declaration>(trees[i + 1]) &&
                                 !is<StructuredBinding>(trees[i + 1]) &&
                                 !is<Comment>(trees[i + 1]) && !is<BlankLine>(trees[i + 1]);
      out.outdent();
      out.line(label->name + (has_statement ? ":" : ":;"), trees[i].where());
      out.indent();
    } else {
      statement(trees[i]);
    }
  }
}

void Printer::statement(const Statement& tree) {
  const auto simple = [&](std::string_view text) {
    begin(tree);
    out.append(text);
    out.end_line();
  };
  match(
      tree,
      [&](const ExpressionStatement& s) {
        begin(tree);
        expr(s.expression, Level::comma);
        out.append(';');
        out.end_line();
      },
      [&](const Declaration& s) {
        begin(tree);
        declaration_inline(s);
        out.append(';');
        out.end_line();
      },
      [&](const Block& s) {
        simple("{");
        out.indent();
        statements(s.statements);
        out.outdent();
        out.line("}", tree.where());
      },
      [&](const Group& s) { statements(s.statements); }, [&](const If& s) { if_chain(tree, s); },
      [&](const For& s) { for_loop(tree, s); }, [&](const RangeFor& s) { range_for(tree, s); },
      [&](const Try& s) { try_(tree, s); },
      [&](const StructuredBinding& s) {
        begin(tree);
        binding_inline(s);
        out.append(';');
        out.end_line();
      },
      [&](const While& s) {
        begin(tree);
        out.append("while (");
        expr(s.condition, Level::comma);
        out.append(")");
        bodied(s.body);
      },
      [&](const DoWhile& s) {
        begin(tree);
        out.append("do");
        bodied(s.body, "} while (");
        expr(s.condition, Level::comma);
        out.append(");");
        out.end_line();
      },
      [&](const Switch& s) { switch_(tree, s); },
      [&](const Return& s) {
        begin(tree);
        out.append(s.value ? "return " : "return");
        if (s.value) {
          expr(*s.value, Level::comma);
        }
        out.append(';');
        out.end_line();
      },
      [&](const Break&) { simple("break;"); }, [&](const Continue&) { simple("continue;"); },
      [&](const Goto& s) { simple("goto " + s.label + ";"); },
      [&](const Label&) { statements({tree}); }, [&](const EmptyStatement&) { simple(";"); },
      [&](const InlineAsm& s) { inline_asm(tree, s); },
      [&](const Barrier&) { require_internal(false, "barriers to be lowered"); },
      [&](const MemoryFence&) { require_internal(false, "memory fences to be lowered"); },
      [&](const Comment& s) { comment(tree, s); }, [&](const BlankLine&) { out.blank_line(); },
      [&](const StaticAssert& s) {
        begin(tree);
        out.append(words_.static_assert_);
        out.append('(');
        ++brackets_;
        expr(s.condition, Level::assignment);
        out.append(", ");
        break_here(Level::comma);
        out.append(string_literal(s.message) + ");");
        --brackets_;
        out.end_line();
      },
      [&](const RawStatement& s) { raw(tree, s); },
      [&](const Pragma& s) { directive(tree, "#pragma " + s.text); },
      [&](const Include& s) {
        directive(tree, s.is_system ? "#include <" + s.file + ">" : "#include \"" + s.file + "\"");
      },
      [&](const Define& s) { define(tree, s); },
      [&](const Undef& s) { directive(tree, "#undef " + s.name); },
      [&](const PreprocessorIf& s) { preprocessor_if(tree, s); },
      [&](const LineDirective& s) {
        directive(tree, "#line " + std::to_string(s.line) +
                            (s.file.empty() ? "" : " " + string_literal(s.file)));
      },
      [&](const ErrorDirective& s) { directive(tree, "#error " + string_literal(s.message)); },
      [&](const Function& s) { function(tree, s); }, [&](const Template& s) { template_(tree, s); },
      [&](const ExplicitInstantiation& s) { explicit_instantiation(tree, s); },
      [&](const AccessSpecifier& s) {
        static constexpr std::string_view words[] = {"public:", "protected:", "private:"};
        out.outdent();
        simple(words[static_cast<int>(s.access)]);
        out.indent();
      },
      [&](const RecordDefinition& s) { record(tree, s); },
      [&](const EnumDefinition& s) { enumeration(tree, s); },
      [&](const Typedef& s) {
        begin(tree);
        out.append("typedef ");
        declarator(s.type, s.name);
        out.append(';');
        out.end_line();
      },
      [&](const UsingAlias& s) {
        begin(tree);
        out.append("using " + s.name + " = ");
        declarator(s.type, "");
        out.append(';');
        out.end_line();
      },
      [&](const NamespaceAlias& s) { simple("namespace " + s.name + " = " + s.target + ";"); },
      [&](const UsingDirective& s) { simple("using namespace " + s.name + ";"); },
      [&](const UsingDeclaration& s) { simple("using " + s.qualified_name + ";"); },
      [&](const Namespace& s) {
        simple((s.is_inline ? "inline namespace" : "namespace") +
               (s.name.empty() ? "" : " " + s.name) + " {");
        file_items(s.items);
        out.line("}" + (s.name.empty() ? "" : "  // namespace " + s.name), tree.where());
      },
      [&](const ExternC& s) {
        if (!words_.has_extern_c) {
          file_items(s.items);
          return;
        }
        simple("extern \"C\" {");
        file_items(s.items);
        out.line("}", tree.where());
      });
}

}  // namespace rtcg::cgen
