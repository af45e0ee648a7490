#include "rtcg/loopy/transform/map_domain.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/kernel/call_loops.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/iname_use.h"
#include "rtcg/loopy/transform/iteration_order.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Names = std::vector<std::string>;
using Matrix = std::vector<std::vector<std::int64_t>>;

constexpr std::size_t most_inames = 6;
constexpr std::int64_t largest_coefficient = 1 << 10;  // determinants stay within 64 bits
constexpr std::int64_t most_steps = 1 << 10;

bool holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// New inames in terms of old ones, or why this is not possible.
struct Mapping {
  Names old_inames{};
  Names new_inames{};
  std::vector<Affine> values{};  ///< of the new inames
  std::optional<Refusal> refusal{};
};

Mapping read_mapping(const Kernel& kernel, const InameMap& map) {
  Mapping mapping;
  const NameSet sizes = parameters(kernel);
  for (const auto& [iname, text] : map) {
    const std::optional<Affine> value = to_affine(parse_expr(text));
    if (!value) {
      mapping.refusal = Refusal{"loopy.map_domain.not_affine",
                                fmt::format("'{}' is not a sum of multiples of inames", text)};
      return mapping;
    }
    for (const Affine::Term& term : value->terms()) {
      if (find_temporary(kernel, term.name) != nullptr) {
        mapping.refusal =
            Refusal{"loopy.map_domain.not_affine",
                    fmt::format("'{}' in '{}' is a temporary: name inames and parameters",
                                term.name, text)};
        return mapping;
      }
      if (!is_iname(kernel, term.name) && sizes.count(term.name) == 0 &&
          find_argument(kernel, term.name) == nullptr) {
        mapping.refusal =
            Refusal{"loopy.map_domain.not_affine",
                    fmt::format("'{}' in '{}' is neither an iname nor a parameter of kernel '{}'",
                                term.name, text, kernel.name)};
        return mapping;
      }
      if (is_iname(kernel, term.name) && !holds(mapping.old_inames, term.name)) {
        mapping.old_inames.push_back(term.name);
      }
    }
    mapping.new_inames.push_back(iname);
    mapping.values.push_back(*value);
  }
  return mapping;
}

Matrix coefficients_of(const Mapping& mapping) {
  Matrix matrix;
  for (const Affine& value : mapping.values) {
    std::vector<std::int64_t>& row = matrix.emplace_back();
    for (const std::string& old : mapping.old_inames) {
      row.push_back(value.coefficient(old));
    }
  }
  return matrix;
}

Matrix without(const Matrix& matrix, std::size_t row, std::size_t column) {
  Matrix result = matrix;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(row));
  for (std::vector<std::int64_t>& each : result) {
    each.erase(each.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return result;
}

std::int64_t determinant(const Matrix& matrix) {
  if (matrix.empty()) {
    return 1;
  }
  std::int64_t sum = 0;
  for (std::size_t column = 0; column < matrix.size(); ++column) {
    const std::int64_t sign = column % 2 == 0 ? 1 : -1;
    if (matrix[0][column] != 0) {
      sum += sign * matrix[0][column] * determinant(without(matrix, 0, column));
    }
  }
  return sum;
}

/// The old inames in terms of the new ones: `values` are `divisor` times them.
struct Inverse {
  std::map<std::string, Affine> values{};
  std::int64_t divisor = 1;
};

Inverse inverse_of(const Mapping& mapping) {
  const Matrix matrix = coefficients_of(mapping);
  const std::int64_t found = determinant(matrix);
  const std::int64_t sign = found > 0 ? 1 : -1;
  Inverse inverse{{}, std::abs(found)};
  // a divisor of all cofactors is one of the determinant, too
  std::int64_t common = inverse.divisor;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      common = std::gcd(common, determinant(without(matrix, j, i)));
    }
  }
  inverse.divisor /= common;
  for (std::size_t i = 0; i < mapping.old_inames.size(); ++i) {
    Affine value;
    for (std::size_t j = 0; j < mapping.new_inames.size(); ++j) {
      Affine shift = mapping.values[j];
      for (const std::string& old : mapping.old_inames) {
        shift = shift.substitute(old, 0);
      }
      const std::int64_t cofactor =
          ((i + j) % 2 == 0 ? sign : -sign) * determinant(without(matrix, j, i)) / common;
      value = value + (Affine(mapping.new_inames[j]) - shift) * cofactor;
    }
    inverse.values.emplace(mapping.old_inames[i], value);
  }
  return inverse;
}

std::optional<Refusal> find_matrix_refusal(const Mapping& mapping) {
  const auto refuse = [&](const std::string& why) {
    return Refusal{"loopy.map_domain.no_bijection",
                   fmt::format("{} cannot become {}: {}", fmt::join(mapping.old_inames, ", "),
                               fmt::join(mapping.new_inames, ", "), why)};
  };
  if (mapping.old_inames.size() != mapping.new_inames.size() || mapping.new_inames.empty() ||
      mapping.new_inames.size() > most_inames) {
    return refuse(fmt::format("one to {} new inames are needed, as many as old ones", most_inames));
  }
  const Matrix matrix = coefficients_of(mapping);
  for (const std::vector<std::int64_t>& row : matrix) {
    for (const std::int64_t each : row) {
      if (each > largest_coefficient || each < -largest_coefficient) {
        return refuse(fmt::format("the coefficient {} is too large", each));
      }
    }
  }
  if (const std::int64_t found = determinant(matrix); found == 0 || std::abs(found) > most_steps) {
    return refuse(
        fmt::format("the determinant of the coefficients is {}, and must be from 1 to {} "
                    "or from -1 to -{} for each point to be visited once",
                    found, most_steps, most_steps));
  }
  return std::nullopt;
}

std::optional<Refusal> find_name_refusal(const Kernel& kernel, const Mapping& mapping) {
  Names given;
  for (const std::string& name : mapping.new_inames) {
    std::optional<std::string> why_not;
    if (holds(given, name)) {
      why_not = fmt::format("two inames cannot both be called '{}'", name);
    } else if (!holds(mapping.old_inames, name)) {
      why_not = name.empty() ? "an iname needs a name" : why_not_new_name(kernel, name);
    }
    if (why_not) {
      return Refusal{"loopy.map_domain.name_taken", std::move(*why_not)};
    }
    given.push_back(name);
  }
  return std::nullopt;
}

bool has_any(const Domain& domain, const Names& inames) {
  return std::any_of(domain.inames.begin(), domain.inames.end(),
                     [&](const std::string& iname) { return holds(inames, iname); });
}

/// Several domains that hold old inames become one: another iname of theirs must be used with the
/// old ones alone, or it would depend on bounds that it had nothing to do with.
std::optional<std::string> find_stray_iname(const Kernel& kernel, const Names& old_inames) {
  Names others;
  int united = 0;
  for (const Domain& domain : kernel.domains) {
    if (has_any(domain, old_inames)) {
      ++united;
      std::copy_if(domain.inames.begin(), domain.inames.end(), std::back_inserter(others),
                   [&](const std::string& iname) { return !holds(old_inames, iname); });
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    const NameSet used = used_inames(instruction);
    for (const std::string& iname : others) {
      if (united > 1 && used.count(iname) != 0 && used.count(old_inames.front()) == 0) {
        return fmt::format("statement '{}' uses '{}' of a domain of theirs without them",
                           instruction.id, iname);
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& kernel, const Mapping& mapping) {
  if (mapping.refusal) {
    return mapping.refusal;
  }
  if (std::optional<Refusal> refusal = find_matrix_refusal(mapping)) {
    return refusal;
  }
  if (std::optional<Refusal> refusal = find_name_refusal(kernel, mapping)) {
    return refusal;
  }
  for (const std::string& iname : mapping.old_inames) {
    if (const InameTag tag = tag_of(kernel, iname); tag.kind != AxisKind::sequential) {
      return Refusal{
          "loopy.map_domain.tagged_already",
          fmt::format("'{}' is tagged {}: map first, then tag the result", iname, to_string(tag))};
    }
  }
  std::optional<std::string> apart = find_use_apart(kernel, mapping.old_inames);
  if (apart) {
    apart = fmt::format("{} uses some of them, but not all in one place", *apart);
  } else {
    apart = find_stray_iname(kernel, mapping.old_inames);
  }
  if (apart) {
    return Refusal{
        "loopy.map_domain.not_together",
        fmt::format("{} cannot be mapped: {}", fmt::join(mapping.old_inames, ", "), *apart)};
  }
  return std::nullopt;
}

/// `names` with the new inames where the first of the old ones stood.
Names with_new_inames(const Names& names, const Mapping& mapping) {
  Names result;
  bool is_done = false;
  for (const std::string& each : names) {
    if (!holds(mapping.old_inames, each)) {
      result.push_back(each);
    } else if (!is_done) {
      result.insert(result.end(), mapping.new_inames.begin(), mapping.new_inames.end());
      is_done = true;
    }
  }
  return result;
}

/// All old inames replaced at once: new ones may have their names.
Expr replaced(const Expr& expr, const Mapping& mapping, const Substitution& values) {
  if (const Name* name = get_if<Name>(expr)) {
    const auto found = values.find(name->name);
    return found == values.end() ? expr : found->second;
  }
  const Expr mapped =
      map_children(expr, [&](const Expr& child) { return replaced(child, mapping, values); });
  if (const Reduction* reduction = get_if<Reduction>(mapped)) {
    return Reduction{reduction->operation, with_new_inames(reduction->inames, mapping),
                     reduction->operands, reduction->order};
  }
  if (&mapped.node() == &expr.node()) {
    return mapped;
  }
  if (const Access* element = get_if<Access>(mapped)) {
    std::vector<Expr> indices;
    for (const Expr& index : element->indices) {
      indices.push_back(simplify_index(index));
    }
    return access(element->array, std::move(indices));
  }
  if (const LinearAccess* element = get_if<LinearAccess>(mapped)) {
    return LinearAccess{element->array, simplify_index(element->index)};
  }
  return mapped;
}

/// `expr` in terms of the new inames, times the divisor.
Affine mapped(const Affine& expr, const Inverse& inverse) {
  Affine result(expr.constant() * inverse.divisor);
  for (const Affine::Term& term : expr.terms()) {
    const auto found = inverse.values.find(term.name);
    result = result +
             (found == inverse.values.end() ? Affine(term.name) * inverse.divisor : found->second) *
                 term.coefficient;
  }
  return result;
}

ConstraintSet mapped(const ConstraintSet& set, const Inverse& inverse) {
  ConstraintSet result;
  for (const Constraint& each : set.constraints()) {
    result.add(Constraint{mapped(each.expr, inverse), each.is_equality});
  }
  for (const Congruence& each : set.congruences()) {
    result.add(Congruence{mapped(each.expr, inverse), each.modulus * inverse.divisor});
  }
  return result;
}

/// Which of the new points are old ones: the divisor divides all values.
ConstraintSet whole_points(const Inverse& inverse) {
  ConstraintSet result;
  if (inverse.divisor == 1) {
    return result;
  }
  for (const auto& [old, value] : inverse.values) {
    Affine rest;  // multiples of the divisor do not count
    const auto reduced = [&](std::int64_t factor) {
      return factor - divide_rounding_down(factor, inverse.divisor) * inverse.divisor;
    };
    for (const Affine::Term& term : value.terms()) {
      rest = rest + Affine(term.name) * reduced(term.coefficient);
    }
    const Congruence condition{rest + reduced(value.constant()), inverse.divisor};
    if (!result.implies(condition)) {
      result.add(condition);
    }
  }
  return result;
}

/// The domains of the old inames as one, and all constraints in terms of the new ones.
Kernel with_mapped_domains(Kernel kernel, const Mapping& mapping, const Inverse& inverse) {
  std::vector<Domain> domains;
  std::optional<std::size_t> united;
  for (Domain& domain : kernel.domains) {
    const bool mentions_any =
        std::any_of(mapping.old_inames.begin(), mapping.old_inames.end(),
                    [&](const std::string& old) { return domain.constraints.mentions(old); });
    ConstraintSet constraints =
        mentions_any ? mapped(domain.constraints, inverse) : domain.constraints;
    if (!has_any(domain, mapping.old_inames)) {
      domains.push_back({std::move(domain.inames), std::move(constraints)});
      continue;
    }
    if (!united) {
      united = domains.size();
      domains.push_back({with_new_inames(domain.inames, mapping), std::move(constraints)});
      continue;
    }
    for (const std::string& iname : domain.inames) {
      if (!holds(mapping.old_inames, iname)) {
        domains[*united].inames.push_back(iname);
      }
    }
    domains[*united].constraints.add(constraints);
  }
  domains[*united].constraints.add(whole_points(inverse));
  kernel.domains = std::move(domains);
  return kernel;
}

}  // namespace

Kernel map_domain(Kernel kernel, const InameMap& map) {
  const Mapping mapping = read_mapping(kernel, map);
  throw_if_refused(find_refusal(kernel, mapping));
  const Inverse inverse = inverse_of(mapping);
  const Kernel old = kernel;
  kernel = with_mapped_domains(std::move(kernel), mapping, inverse);
  Substitution values;
  for (const auto& [name, value] : inverse.values) {
    values.emplace(name, inverse.divisor == 1 ? to_expr(value)
                                              : floor_div(to_expr(value), Expr(inverse.divisor)));
  }
  for (Instruction& instruction : kernel.instructions) {
    instruction = map_expressions(
        std::move(instruction), [&](const Expr& expr) { return replaced(expr, mapping, values); });
    NameSet& within = instruction.within_inames;
    if (within.count(mapping.old_inames.front()) != 0) {
      for (const std::string& iname : mapping.old_inames) {
        within.erase(iname);
      }
      within.insert(mapping.new_inames.begin(), mapping.new_inames.end());
    }
  }
  for (const std::string& iname : mapping.old_inames) {
    replace_call_loop(kernel, iname, mapping.new_inames);
  }
  for (SubstitutionRule& rule : kernel.rules) {
    Substitution visible = values;
    for (const std::string& parameter : rule.parameters) {
      visible.erase(parameter);
    }
    rule.body = replaced(rule.body, mapping, visible);
  }
  for (Names& priority : kernel.loop_priorities) {
    priority = with_new_inames(priority, mapping);
  }
  if (const auto orders = iteration_orders(old, kernel)) {
    std::map<std::string, Affine> new_values;
    for (std::size_t i = 0; i < mapping.new_inames.size(); ++i) {
      new_values.emplace(mapping.new_inames[i], mapping.values[i]);
    }
    // where only some points are old ones, the old inames tell more
    const auto why =
        inverse.divisor == 1
            ? find_reversed_dependence(kernel, substitute(orders->before, inverse.values),
                                       orders->after)
            : find_reversed_dependence(old, orders->before, substitute(orders->after, new_values));
    if (why) {
      throw_if_refused(
          Refusal{"loopy.map_domain.carried_value",
                  fmt::format("loops cannot become {}: {}", list_text(mapping.new_inames), *why)});
    }
  }
  std::vector<std::string> arguments;
  for (const auto& [iname, text] : map) {
    arguments.push_back(fmt::format("{}:{}", iname, to_string(parse_expr(text))));
  }
  record(kernel, "map_domain", std::move(arguments));
  return kernel;
}

}  // namespace rtcg::loopy
