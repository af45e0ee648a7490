#include "rtcg/loopy/symbolic/print_expr.h"

#include <cmath>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/in_order.h"
#include "rtcg/loopy/symbolic/scan.h"

namespace rtcg::loopy {
namespace {

/// How tightly an expression holds together, loosest first.
enum class Level {
  conditional,
  logical_or,
  logical_and,
  logical_not,
  comparison,
  bit_or,
  bit_xor,
  bit_and,
  shift,
  sum,
  product,
  unary,
  power,
  primary,
};

Level tighter(Level level) {
  return static_cast<Level>(static_cast<int>(level) + 1);
}

std::string print(const Expr& expr, Level outer);

std::string join(const std::vector<Expr>& exprs, Level level, std::string_view separator) {
  std::string text;
  for (const Expr& each : exprs) {
    text += fmt::format("{}{}", text.empty() ? "" : separator, print(each, level));
  }
  return text;
}

std::string print_real(const Real& real) {
  std::string text;
  if (std::isnan(real.value)) {
    text = "nan";
  } else if (std::isinf(real.value)) {
    text = "inf";
  } else {
    const double magnitude = std::fabs(real.value);
    text = real.stated_kind == cgen::ScalarKind::f32
               ? fmt::format("{}", static_cast<float>(magnitude))
               : fmt::format("{}", magnitude);
    if (text.find_first_of(".e") == std::string::npos) {
      text += ".0";
    }
  }
  if (std::signbit(real.value)) {
    text.insert(0, "-");
  }
  if (!real.stated_kind) {
    return text;
  }
  // only these two have suffixes, and only finite numbers take them
  const bool is_finite = std::isfinite(real.value);
  if (*real.stated_kind == cgen::ScalarKind::f32 && is_finite) {
    return text + "f";
  }
  if (*real.stated_kind == cgen::ScalarKind::f64 && is_finite) {
    return text + "d";
  }
  return fmt::format("cast({}, {})", scalar_type_name(cgen::Scalar{*real.stated_kind}), text);
}

std::string print_sum(const Sum& sum) {
  std::string text = print(sum.terms.front(), Level::sum);
  for (std::size_t i = 1; i < sum.terms.size(); ++i) {
    const auto positive = subtracted_term(sum.terms[i]);
    text += positive ? " - " + print(*positive, Level::product)
                     : " + " + print(sum.terms[i], Level::product);
  }
  return text;
}

std::string print_product(const Product& product) {
  if (as_integer(product.factors.front()) == -1) {
    // the minus belongs to the first factor; `--x` and `-2` would be read as something else
    const std::string first = print(product.factors[1], Level::power);
    const std::vector<Expr> others(product.factors.begin() + 2, product.factors.end());
    const bool is_number = is<Integer>(product.factors[1]) || is<Real>(product.factors[1]);
    return (is_number ? "-(" + first + ")" : "-" + first) + (others.empty() ? "" : "*") +
           join(others, Level::unary, "*");
  }
  const bool follows_division = is<Quotient>(product.factors.front()) ||
                                is<FloorDiv>(product.factors.front()) ||
                                is<Modulo>(product.factors.front());
  const std::vector<Expr> others(product.factors.begin() + 1, product.factors.end());
  return fmt::format("{}{}{}", print(product.factors.front(), Level::product),
                     follows_division ? " * " : "*", join(others, Level::unary, "*"));
}

/// `i` or `(i, j)`.
std::string list_of(const std::vector<std::string>& inames) {
  return inames.size() == 1 ? inames.front() : fmt::format("({})", fmt::join(inames, ", "));
}

std::pair<std::string, Level> print_with_level(const Expr& expr) {
  using Result = std::pair<std::string, Level>;
  const auto division = [](const auto& e, std::string_view op) -> Result {
    return {fmt::format("{} {} {}", print(e.numerator, Level::product), op,
                        print(e.denominator, Level::unary)),
            Level::product};
  };
  return match(
      expr,
      [](const Integer& e) -> Result {
        return {fmt::format("{}", e.value), e.value < 0 ? Level::unary : Level::primary};
      },
      [](const Real& e) -> Result {
        const std::string text = print_real(e);
        return {text, text.starts_with("-") ? Level::unary : Level::primary};
      },
      [](const Name& e) -> Result {
        return {e.name, Level::primary};
      },
      [](const Sum& e) -> Result {
        return {print_sum(e), Level::sum};
      },
      [](const Product& e) -> Result {
        const bool is_negation = as_integer(e.factors.front()) == -1 && e.factors.size() == 2;
        return {print_product(e), is_negation ? Level::unary : Level::product};
      },
      [&](const Quotient& e) -> Result { return division(e, "/"); },
      [&](const FloorDiv& e) -> Result { return division(e, "//"); },
      [&](const Modulo& e) -> Result { return division(e, "%"); },
      [](const Power& e) -> Result {
        return {print(e.base, Level::primary) + "**" + print(e.exponent, Level::unary),
                Level::power};
      },
      [](const Comparison& e) -> Result {
        return {fmt::format("{} {} {}", print(e.left, tighter(Level::comparison)), spelling(e.op),
                            print(e.right, tighter(Level::comparison))),
                Level::comparison};
      },
      [](const Logical& e) -> Result {
        const Level level = e.op == LogicalOp::and_ ? Level::logical_and : Level::logical_or;
        return {join(e.operands, tighter(level), e.op == LogicalOp::and_ ? " and " : " or "),
                level};
      },
      [](const Not& e) -> Result {
        return {"not " + print(e.operand, Level::logical_not), Level::logical_not};
      },
      [](const Bitwise& e) -> Result {
        constexpr Level levels[] = {Level::bit_and, Level::bit_or, Level::bit_xor, Level::shift,
                                    Level::shift};
        const Level level = levels[static_cast<int>(e.op)];
        return {fmt::format("{} {} {}", print(e.left, level), spelling(e.op),
                            print(e.right, tighter(level))),
                level};
      },
      [](const Conditional& e) -> Result {
        return {fmt::format("if({}, {}, {})", print(e.condition, Level::conditional),
                            print(e.then_value, Level::conditional),
                            print(e.else_value, Level::conditional)),
                Level::primary};
      },
      [](const Access& e) -> Result {
        return {fmt::format("{}[{}]", e.array, join(e.indices, Level::conditional, ", ")),
                Level::primary};
      },
      [](const LinearAccess& e) -> Result {
        return {fmt::format("{}[[{}]]", e.array, print(e.index, Level::conditional)),
                Level::primary};
      },
      [&](const Call& e) -> Result {
        if (const Reduction* scanned = as_scan(expr)) {
          const std::vector<Expr> totals = totals_of_scan(expr);
          return {fmt::format("{}({}, {}, {}{})", looks_back(expr) ? "scan_by_look_back" : "scan",
                              scanned->operation, list_of(scanned->inames),
                              join(scanned->operands, Level::conditional, ", "),
                              totals.empty() ? ""
                                             : fmt::format(", totals=[{}]",
                                                           join(totals, Level::conditional, ", "))),
                  Level::primary};
        }
        return {fmt::format("{}({})", e.function, join(e.arguments, Level::conditional, ", ")),
                Level::primary};
      },
      [](const Cast& e) -> Result {
        return {fmt::format("cast({}, {})", scalar_type_name(e.type),
                            print(e.operand, Level::conditional)),
                Level::primary};
      },
      [](const Reduction& e) -> Result {
        const std::string inames = list_of(e.inames);
        const std::string order = e.order.empty()
                                      ? ""
                                      : fmt::format(", {}({})", in_order_function,
                                                    join(e.order, Level::conditional, ", "));
        return {fmt::format("{}{}, {}{})",
                            is_written_as_call(e.operation) ? e.operation + "("
                                                            : "reduce(" + e.operation + ", ",
                            inames, join(e.operands, Level::conditional, ", "), order),
                Level::primary};
      });
}

std::string print(const Expr& expr, Level outer) {
  auto [text, level] = print_with_level(expr);
  return level < outer ? "(" + text + ")" : text;
}

}  // namespace

std::string to_string(const Expr& expr) {
  return print(expr, Level::conditional);
}

std::string to_string(const Affine& affine) {
  return to_string(to_expr(affine));
}

std::string scalar_type_name(const cgen::Type& type) {
  if (const auto kind = cgen::scalar_kind(type)) {
    static constexpr std::string_view names[] = {"",    "bool", "",     "i8",  "i16",
                                                 "i32", "i64",  "u8",   "u16", "u32",
                                                 "u64", "f16",  "bf16", "f32", "f64"};
    const auto index = static_cast<std::size_t>(*kind);
    return index < std::size(names) ? std::string(names[index]) : std::string();
  }
  if (const auto* complex = get_if<cgen::Complex>(type)) {
    return cgen::scalar_kind(complex->element) == cgen::ScalarKind::f32 ? "c64" : "c128";
  }
  if (const auto* vector = get_if<cgen::Vector>(type)) {
    return fmt::format("{}x{}", scalar_type_name(vector->element), vector->lanes);
  }
  return {};
}

}  // namespace rtcg::loopy
