#include "rtcg/loopy/transform/arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"
#include "rtcg/loopy/transform/map_kernel.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

using Types = std::vector<std::pair<std::string, std::string>>;

std::string unknown_argument_text(const Kernel& kernel, std::string_view name) {
  std::vector<std::string> names;
  for (const Argument& argument : kernel.arguments) {
    names.push_back(argument.name);
  }
  return fmt::format("kernel '{}' has no argument '{}': its arguments are {}", kernel.name, name,
                     list_text(names));
}

void add_names(const std::vector<Expr>& exprs, NameSet& names) {
  for (const Expr& each : exprs) {
    names.merge(free_names(each));
  }
}

/// All that the kernel mentions but for the argument's own declaration.
NameSet mentioned_names(const Kernel& kernel) {
  NameSet names = parameters(kernel);
  static_cast<void>(map_expressions(kernel, [&](const Expr& expr) {
    names.merge(free_names(expr));
    names.merge(accessed_arrays(expr));
    return expr;
  }));
  for (const Instruction& instruction : kernel.instructions) {
    names.merge(read_variables(kernel, instruction));
    names.merge(written_variables(instruction));
  }
  for (const Temporary& temporary : kernel.temporaries) {
    add_names(temporary.shape, names);
    add_names(temporary.strides_elements, names);
  }
  for (const auto& [axis, blocks] : kernel.walking_blocks) {
    add_names({blocks}, names);
  }
  return names;
}

std::optional<Refusal> find_rename_refusal(const Kernel& kernel, std::string_view argument,
                                           std::string_view new_name) {
  if (find_argument(kernel, argument) == nullptr) {
    return Refusal{"loopy.rename_argument.unknown_argument",
                   unknown_argument_text(kernel, argument)};
  }
  if (const auto why_not = why_not_new_name(kernel, new_name); why_not || new_name.empty()) {
    return Refusal{"loopy.rename_argument.name_taken",
                   why_not.value_or("an argument needs a name")};
  }
  for (const Instruction& instruction : kernel.instructions) {
    const RawCode* raw = get_if<RawCode>(instruction);
    if (raw != nullptr && (raw->reads.count(argument) != 0 || raw->writes.count(argument) != 0)) {
      return Refusal{
          "loopy.rename_argument.raw_code",
          fmt::format("the text of statement '{}' mentions '{}'", instruction.id, argument)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_order_refusal(const Kernel& kernel,
                                          const std::vector<std::string>& arguments) {
  for (const std::string& each : arguments) {
    if (find_argument(kernel, each) == nullptr) {
      return Refusal{"loopy.set_argument_order.unknown_argument",
                     unknown_argument_text(kernel, each)};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_types_refusal(const Kernel& kernel, const Types& types) {
  for (const auto& [name, type] : types) {
    if (find_argument(kernel, name) == nullptr && find_temporary(kernel, name) == nullptr) {
      return Refusal{
          "loopy.add_dtypes.unknown_variable",
          fmt::format("kernel '{}' has no argument or temporary '{}'", kernel.name, name)};
    }
    if (!parse_scalar_type(type)) {
      return Refusal{"loopy.add_dtypes.unknown_type",
                     fmt::format("'{}' is not a type: write f32, f64, i32, ...", type)};
    }
  }
  return std::nullopt;
}

}  // namespace

Kernel remove_unused_arguments(Kernel kernel) {
  NameSet used = mentioned_names(kernel);
  for (const Argument& argument : kernel.arguments) {
    if (used.count(argument.name) != 0) {
      add_names(argument.shape, used);
      add_names(argument.strides_elements, used);
      add_names({argument.offset_elements}, used);
    }
  }
  std::erase_if(kernel.arguments,
                [&](const Argument& argument) { return used.count(argument.name) == 0; });
  for (Argument& argument : kernel.arguments) {
    std::erase_if(argument.may_be, [&](const std::string& each) { return used.count(each) == 0; });
  }
  record(kernel, "remove_unused_arguments", {});
  return kernel;
}

Kernel rename_argument(Kernel kernel, std::string_view argument, std::string_view new_name) {
  throw_if_refused(find_rename_refusal(kernel, argument, new_name));
  const std::string old(argument);
  const std::string fresh(new_name);
  const auto rename = [&](const Expr& expr) { return rename_all(expr, {{old, fresh}}); };
  const auto rename_each = [&](std::vector<Expr>& exprs) {
    for (Expr& each : exprs) {
      each = rename(each);
    }
  };
  const auto rename_in = [&](const ConstraintSet& set) {
    return set.rename([&](const std::string& each) { return each == old ? fresh : each; });
  };
  kernel = map_expressions_unless_shadowed(std::move(kernel), old, rename);
  kernel = map_constraints(std::move(kernel), rename_in);
  kernel.assumptions = rename_in(kernel.assumptions);
  for (Argument& each : kernel.arguments) {
    each.name = each.name == old ? fresh : each.name;
    rename_each(each.shape);
    rename_each(each.strides_elements);
    each.offset_elements = rename(each.offset_elements);
    std::replace(each.may_be.begin(), each.may_be.end(), old, fresh);
  }
  for (Temporary& each : kernel.temporaries) {
    rename_each(each.shape);
    rename_each(each.strides_elements);
  }
  for (auto& [axis, blocks] : kernel.walking_blocks) {
    blocks = rename(blocks);
  }
  record(kernel, "rename_argument", {old, fresh});
  return kernel;
}

Kernel set_argument_order(Kernel kernel, const std::vector<std::string>& arguments) {
  throw_if_refused(find_order_refusal(kernel, arguments));
  const auto place = [&](const Argument& argument) {
    return std::find(arguments.begin(), arguments.end(), argument.name) - arguments.begin();
  };
  std::stable_sort(kernel.arguments.begin(), kernel.arguments.end(),
                   [&](const Argument& l, const Argument& r) { return place(l) < place(r); });
  record(kernel, "set_argument_order", {list_text(arguments)});
  return kernel;
}

Kernel add_dtypes(Kernel kernel, const std::vector<std::pair<std::string, std::string>>& types) {
  throw_if_refused(find_types_refusal(kernel, types));
  std::vector<std::string> arguments;
  for (const auto& [name, type] : types) {
    for (Argument& argument : kernel.arguments) {
      if (argument.name == name) {
        argument.type = parse_scalar_type(type);
      }
    }
    for (Temporary& temporary : kernel.temporaries) {
      if (temporary.name == name) {
        temporary.type = parse_scalar_type(type);
      }
    }
    arguments.push_back(fmt::format("{}:{}", name, type));
  }
  record(kernel, "add_dtypes", std::move(arguments));
  return kernel;
}

}  // namespace rtcg::loopy
