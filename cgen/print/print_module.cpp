#include "rtcg/cgen/print/print_module.h"

#include "rtcg/cgen/lower/lower.h"
#include "rtcg/cgen/print/printer.h"

namespace rtcg::cgen {

SourceText print_module(const Module& module, Dialect dialect, const PrintOptions& options) {
  const Module lowered = lower(module, dialect);
  Printer printer(dialect, options);
  printer.file_items(lowered.items);
  return printer.out.take();
}

std::string print_statement(const Statement& statement, Dialect dialect,
                            const PrintOptions& options) {
  Printer printer(dialect, options);
  printer.file_items({statement});
  return printer.out.take().text;
}

std::string print_expr(const Expr& expr, Dialect dialect) {
  Printer printer(dialect, {});
  printer.expr(expr, Level::comma);
  return printer.out.take().text;
}

std::string print_declarator(const Type& type, std::string_view name, Dialect dialect) {
  Printer printer(dialect, {});
  printer.declarator(type, name);
  return printer.out.take().text;
}

}  // namespace rtcg::cgen
