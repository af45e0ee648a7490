#include "rtcg/loopy/analyze/add_function.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/ast/describe.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/analyze/functions.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void refuse_function(const char* code, const TypedFunction& function,
                                  const std::string& what) {
  throw InvalidInput(code, fmt::format("the function '{}' {}", function.name, what));
}

bool is_reserved_anywhere(std::string_view name) {
  return cgen::is_reserved(cgen::Dialect::c, name) ||
         cgen::is_reserved(cgen::Dialect::opencl, name) ||
         cgen::is_reserved(cgen::Dialect::cuda, name) || name.starts_with("__") ||
         name.starts_with("rtcg_");
}

void check_names(const Kernel& kernel, const TypedFunction& function) {
  constexpr const char* code = "loopy.add_function.bad_name";
  const auto check = [&](const std::string& name, const std::string& what) {
    if (!is_identifier(name) || is_reserved_anywhere(name)) {
      refuse_function(code, function,
                      fmt::format("has {} '{}', which is {}: choose another one", what, name,
                                  is_identifier(name) ? "reserved by a target's language"
                                                      : "not spelt like a name"));
    }
  };
  check(function.name, "the name");
  NameSet names;
  for (const TypedFunction::Parameter& parameter : function.parameters) {
    check(parameter.name, "a parameter");
    if (!names.insert(parameter.name).second) {
      refuse_function(code, function, fmt::format("has two parameters '{}'", parameter.name));
    }
  }
  const bool is_variable = is_iname(kernel, function.name) ||
                           find_argument(kernel, function.name) != nullptr ||
                           find_temporary(kernel, function.name) != nullptr ||
                           parameters(kernel).count(function.name) != 0;
  const char* taken = find_function(function.name) || function.name == scan_function ||
                              function.name == segmented_scan_function
                          ? "is a function of rtcg's: choose another name"
                      : find_rule(kernel, function.name) != nullptr ? "has the name of a rule"
                      : find_typed_function(kernel, function.name) != nullptr ? "is there already"
                      : is_variable ? "has the name of a variable"
                                    : nullptr;
  if (taken != nullptr) {
    refuse_function(code, function, taken);
  }
}

void check_typed(const TypedFunction& function, const cgen::Type& type) {
  if (scalar_type_name(type).empty()) {
    refuse_function("loopy.add_function.bad_type", function,
                    fmt::format("takes or gives '{}': parameters and results are numbers, complex "
                                "numbers or vectors",
                                cgen::describe(type)));
  }
}

void check_meaning(const TypedFunction& function) {
  NameSet names = function.meaning ? free_names(*function.meaning) : NameSet{};
  for (const TypedFunction::Parameter& parameter : function.parameters) {
    names.erase(parameter.name);
  }
  if (!names.empty() || (function.meaning && !accessed_arrays(*function.meaning).empty())) {
    refuse_function("loopy.add_function.meaning", function,
                    fmt::format("is described by '{}', which reads more than its parameters",
                                to_string(*function.meaning)));
  }
}

void check_bodies(const TypedFunction& function) {
  constexpr const char* code = "loopy.add_function.no_body";
  if (function.bodies.empty()) {
    refuse_function(code, function, "has no code for any target: a rule needs none");
  }
  for (std::size_t i = 0; i < function.bodies.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (function.bodies[i].target == function.bodies[j].target) {
        refuse_function(code, function, "has two bodies for one target");
      }
    }
  }
}

}  // namespace

Kernel add_function(Kernel kernel, TypedFunction function) {
  check_names(kernel, function);
  check_typed(function, function.result);
  for (const TypedFunction::Parameter& parameter : function.parameters) {
    check_typed(function, parameter.type);
  }
  check_bodies(function);
  check_meaning(function);
  kernel.functions.push_back(std::move(function));
  return kernel;
}

Kernel add_preamble(Kernel kernel, Preamble preamble) {
  kernel.preambles.push_back(std::move(preamble));
  return kernel;
}

void append_functions(Kernel& kernel, const Kernel& other) {
  for (const TypedFunction& function : other.functions) {
    const TypedFunction* own = find_typed_function(kernel, function.name);
    if (own == nullptr) {
      kernel.functions.push_back(function);
    } else if (to_string(*own) != to_string(function)) {
      throw InvalidInput("loopy.add_function.two_meanings",
                         fmt::format("kernels '{}' and '{}' have different functions '{}': rename "
                                     "one of them",
                                     kernel.name, other.name, function.name));
    }
  }
  for (const Preamble& preamble : other.preambles) {
    const bool is_there =
        std::any_of(kernel.preambles.begin(), kernel.preambles.end(), [&](const Preamble& each) {
          return each.target == preamble.target && each.text == preamble.text;
        });
    if (!is_there) {
      kernel.preambles.push_back(preamble);
    }
  }
}

}  // namespace rtcg::loopy
