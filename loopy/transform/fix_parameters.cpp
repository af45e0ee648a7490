#include "rtcg/loopy/transform/fix_parameters.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/parse_domain.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/replace_iname.h"

namespace rtcg::loopy {
namespace {

using Values = std::map<std::string, std::int64_t>;

ConstraintSet fixed(ConstraintSet set, const Values& values) {
  for (const auto& [name, value] : values) {
    set = set.substitute(name, value);
  }
  return set;
}

bool is_parameter(const Kernel& kernel, const std::string& name) {
  const Argument* argument = find_argument(kernel, name);
  if (argument != nullptr) {
    return !argument->is_array;
  }
  const auto is_length = [&](const Argument& array) {
    return std::any_of(array.shape.begin(), array.shape.end(),
                       [&](const Expr& each) { return free_names(each).count(name) != 0; });
  };
  return find_temporary(kernel, name) == nullptr &&
         (parameters(kernel).count(name) != 0 ||
          std::any_of(kernel.arguments.begin(), kernel.arguments.end(), is_length));
}

std::optional<Refusal> find_fix_refusal(const Kernel& kernel, const Values& values) {
  for (const auto& [name, value] : values) {
    if (!is_parameter(kernel, name)) {
      return Refusal{"loopy.fix_parameters.unknown_parameter",
                     fmt::format("kernel '{}' has no parameter '{}': its parameters are {}",
                                 kernel.name, name, list_text(parameters(kernel)))};
    }
  }
  if (fixed(kernel.assumptions, values).is_empty()) {
    return Refusal{"loopy.fix_parameters.contradiction",
                   "the values contradict the assumptions of the kernel"};
  }
  return std::nullopt;
}

std::optional<Refusal> find_assume_refusal(const Kernel& kernel, std::string_view facts) {
  ConstraintSet set;
  try {
    set = parse_assumptions(facts);
  } catch (const InvalidInput& error) {
    return Refusal{error.code(), error.message()};
  }
  for (const std::string& name : set.names()) {
    if (is_iname(kernel, name)) {
      return Refusal{"loopy.assume.about_inames",
                     fmt::format("'{}' is an iname: state what holds of it in its domain", name)};
    }
  }
  set.add(kernel.assumptions);
  if (set.is_empty()) {
    return Refusal{"loopy.assume.contradiction",
                   fmt::format("'{}' contradicts what is assumed already", facts)};
  }
  return std::nullopt;
}

/// The value in the type of the parameter where that is a real one: it may decide in which type the
/// kernel computes.
Expr number_of(const Kernel& kernel, const std::string& name, std::int64_t value) {
  const Argument* argument = find_argument(kernel, name);
  if (argument != nullptr && argument->type) {
    const auto kind = cgen::scalar_kind(*argument->type);
    if (kind && cgen::is_floating(*kind)) {
      return Real{static_cast<double>(value), *kind};
    }
  }
  return value;
}

}  // namespace

Kernel fix_parameters(Kernel kernel, const std::map<std::string, std::int64_t>& values) {
  throw_if_refused(find_fix_refusal(kernel, values));
  std::vector<std::string> arguments;
  for (const auto& [name, value] : values) {
    const Expr number = number_of(kernel, name, value);
    const auto replace = [&, &old = name](const Expr& expr) {
      return replace_iname(expr, old, number, {});
    };
    kernel = map_expressions_unless_shadowed(std::move(kernel), name, replace);
    const auto replace_all = [&](std::vector<Expr>& exprs) {
      for (Expr& each : exprs) {
        each = simplify_index(replace(each));
      }
    };
    for (Argument& argument : kernel.arguments) {
      replace_all(argument.shape);
      replace_all(argument.strides_elements);
      argument.offset_elements = simplify_index(replace(argument.offset_elements));
    }
    for (Temporary& temporary : kernel.temporaries) {
      replace_all(temporary.shape);
      replace_all(temporary.strides_elements);
    }
    for (auto& [axis, blocks] : kernel.walking_blocks) {
      blocks = simplify_index(replace(blocks));
    }
    std::erase_if(kernel.arguments,
                  [&, &old = name](const Argument& argument) { return argument.name == old; });
    arguments.push_back(fmt::format("{}:{}", name, value));
  }
  kernel = map_constraints(std::move(kernel),
                           [&](const ConstraintSet& set) { return fixed(set, values); });
  kernel.assumptions = fixed(std::move(kernel.assumptions), values);
  record(kernel, "fix_parameters", std::move(arguments));
  return kernel;
}

Kernel assume(Kernel kernel, std::string_view facts) {
  throw_if_refused(find_assume_refusal(kernel, facts));
  kernel.assumptions.add(parse_assumptions(facts));
  record(kernel, "assume", {std::string(facts)});
  return kernel;
}

}  // namespace rtcg::loopy
