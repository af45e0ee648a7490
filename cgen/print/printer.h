#pragma once
// Internal header: it is not installed.

#include <string>
#include <string_view>
#include <vector>

#include "rtcg/cgen/ast/statement.h"
#include "rtcg/cgen/print/precedence.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/print/spelling.h"
#include "rtcg/cgen/support/text_buffer.h"

namespace rtcg::cgen {

/// Writes lowered trees into a TextBuffer. Private to print/; one object for each text.
///
/// The methods are in the file of what they print: print_expr.cpp, print_declarator.cpp,
/// print_statement.cpp, print_text.cpp (comments, raw text, preprocessor), print_function.cpp
/// (functions, records and the like).
class Printer {
 public:
  Printer(Dialect dialect, const PrintOptions& options)
      : out(options.max_columns), dialect_(dialect), words_(spelling(dialect)), options_(options) {}

  // print_expr.cpp: appends to the line under construction.
  void expr(const Expr& tree, Level least_level);

  // print_declarator.cpp
  void declarator(const Type& type, std::string_view name);

  // print_statement.cpp: complete lines.
  void statement(const Statement& tree);
  /// A sequence in a function body or, with blank lines around definitions, at file scope.
  void statements(const std::vector<Statement>& trees);
  void file_items(const std::vector<Statement>& trees);

  TextBuffer out;

 private:
  // expressions
  void binary(const Expr& tree);
  void operand_list(const std::vector<Expr>& operands);
  void template_arguments(const std::vector<TemplateArgument>& arguments);
  void template_argument(const TemplateArgument& argument);
  void initializer_list(const InitializerList& list);
  void unary(const Unary& node);
  void cast(const Cast& node);
  void kernel_launch(const KernelLaunch& node);
  void lambda(const Lambda& node);
  void new_(const New& node);
  void fold(const Fold& node);
  void constraint(const Expr& tree);
  void literal(const IntLiteral& node, Level least_level);
  void literal(const FloatLiteral& node, Level least_level);
  void assignment(const AssignExpr& node);
  void conditional(const Conditional& node);
  void call(const Call& node);
  void subscript(const Subscript& node);
  void member(const Member& node);
  void compound_literal(const CompoundLiteral& node);
  void size_of(const SizeOf& node);
  template <class Print>
  void grouped(Level own_level, Level least_level, const Print& print);
  void break_before_value(const Expr& value);
  void break_here(Level level) { out.allow_break(brackets_ * 20 + static_cast<unsigned>(level)); }

  // declarators
  [[nodiscard]] std::string base_type(const Type& type) const;
  [[nodiscard]] std::string declarator_text(const Type& type, std::string inner) const;
  [[nodiscard]] std::string extent_text(const Array& array) const;

  // statements
  void begin(const Statement& tree) { begin(tree.where()); }
  void begin(SourceOrigin origin);
  void directive(const Statement& tree, std::string_view text);
  void bodied(const Statement& body, std::string_view closing = "}");
  void if_chain(const Statement& tree, const If& node);
  void for_loop(const Statement& tree, const For& node);
  void switch_(const Statement& tree, const Switch& node);
  void switch_case(const SwitchCase& node, bool is_last);
  void declaration_inline(const Declaration& node);
  void initializer_of(const Declaration& node);
  void binding_inline(const StructuredBinding& node);
  void range_for(const Statement& tree, const RangeFor& node);
  void try_(const Statement& tree, const Try& node);
  void comment(const Statement& tree, const Comment& node);
  void inline_asm(const Statement& tree, const InlineAsm& node);
  void raw(const Statement& tree, const RawStatement& node);
  void preprocessor_if(const Statement& tree, const PreprocessorIf& node);
  void define(const Statement& tree, const Define& node);

  // functions and types
  void function(const Statement& tree, const Function& node);
  void function_specifiers(const FunctionSpecifiers& specifiers);
  void parameters(const std::vector<Parameter>& list, bool is_variadic);
  void attributes(const std::vector<Attribute>& list, AttributeStyle style);
  void template_(const Statement& tree, const Template& node);
  void explicit_instantiation(const Statement& tree, const ExplicitInstantiation& node);
  void record(const Statement& tree, const RecordDefinition& node);
  void enumeration(const Statement& tree, const EnumDefinition& node);

  Dialect dialect_;
  const Spelling& words_;
  PrintOptions options_;
  unsigned brackets_ = 0;              // how many are open in the line under construction
  bool is_constant_value_ = false;     // of a static variable: no function may be called
  std::vector<const Binary*> spines_;  // of the operators around the place that is being printed
  const char* line_file_ = nullptr;    // where the compiler believes to be, with line directives
  std::size_t line_offset_ = 0;
};

}  // namespace rtcg::cgen
