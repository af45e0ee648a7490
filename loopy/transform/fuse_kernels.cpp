#include "rtcg/loopy/transform/fuse_kernels.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/kernel/expand_rules.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/with_own_names.h"

namespace rtcg::loopy {
namespace {

/// Whether two lists are equal: `n + 2` is `2 + n`.
bool are_equal(const std::vector<Expr>& first, const std::vector<Expr>& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Expr& left, const Expr& right) {
                      return left == right || as_integer(simplify_index(left - right)) == 0;
                    });
}

/// An argument of both kernels; nothing where they do not agree about it.
std::optional<Argument> united(const Argument& first, const Argument& second) {
  const bool is_same_type = !first.type || !second.type || *first.type == *second.type;
  const bool is_same_place = are_equal(first.strides_elements, second.strides_elements) &&
                             are_equal({first.offset_elements}, {second.offset_elements}) &&
                             first.address_space == second.address_space &&
                             first.image_reads == second.image_reads &&
                             first.field_of == second.field_of;
  if (first.is_array != second.is_array || !is_same_type || !is_same_place) {
    return std::nullopt;
  }
  Argument result = first;
  if (!are_equal(first.shape, second.shape)) {
    // what one kernel inferred from its own accesses gives way to what the other one states
    if (first.is_shape_stated == second.is_shape_stated ||
        first.shape.size() != second.shape.size()) {
      return std::nullopt;
    }
    result.shape = first.is_shape_stated ? first.shape : second.shape;
    result.is_shape_stated = true;
  }
  result.type = first.type ? first.type : second.type;
  for (const std::string& each : second.may_be) {
    if (std::find(first.may_be.begin(), first.may_be.end(), each) == first.may_be.end()) {
      result.may_be.push_back(each);
    }
  }
  return result;
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool writes(const Kernel& kernel, const std::string& variable) {
  return std::any_of(
      kernel.instructions.begin(), kernel.instructions.end(),
      [&](const Instruction& each) { return written_variables(each).count(variable) != 0; });
}

bool reads(const Kernel& kernel, const Instruction& instruction, const std::string& variable) {
  const Instruction expanded =
      map_expressions(instruction, [&](const Expr& expr) { return expand_rules(kernel, expr); });
  return read_variables(kernel, expanded).count(variable) != 0;
}

/// A variable as an argument.
std::optional<Argument> find_variable(const Kernel& kernel, const std::string& name) {
  if (const Argument* argument = find_argument(kernel, name)) {
    return *argument;
  }
  const Temporary* temporary = find_temporary(kernel, name);
  if (temporary == nullptr || !temporary->initial_values.empty()) {
    return std::nullopt;
  }
  Argument result;
  result.name = name;
  result.type = temporary->type;
  result.is_array = !temporary->shape.empty();
  result.shape = temporary->shape;
  result.strides_elements = temporary->strides_elements;
  result.is_shape_stated = true;
  return result;
}

/// Why a variable cannot be handed from the first kernel to the second one.
std::optional<Refusal> find_flow_refusal(const Kernel& first, const Kernel& second,
                                         const std::string& name) {
  const auto refuse_flow = [&](const std::string& why) {
    return Refusal{
        "loopy.fuse_kernels.no_data_flow",
        fmt::format("'{}' cannot go from '{}' to '{}': {}", name, first.name, second.name, why)};
  };
  const std::optional<Argument> given = find_variable(first, name);
  const std::optional<Argument> taken = find_variable(second, name);
  if (!given || !taken) {
    return refuse_flow(fmt::format("it is no variable of '{}'", given ? second.name : first.name));
  }
  if (!writes(first, name)) {
    return refuse_flow("no statement of the first one writes it");
  }
  const bool is_read =
      std::any_of(second.instructions.begin(), second.instructions.end(),
                  [&](const Instruction& each) { return reads(second, each, name); });
  if (!is_read) {
    return refuse_flow("no statement of the second one reads it");
  }
  Argument as_given = *taken;
  as_given.address_space = given->address_space;
  as_given.image_reads = given->image_reads;
  if (!united(*given, as_given)) {
    return refuse_flow("they do not agree about its type, shape or layout");
  }
  if (find_argument(first, name) != nullptr && find_argument(second, name) == nullptr) {
    return refuse_flow("it is an argument of the first one and a temporary of the second one");
  }
  return std::nullopt;
}

std::optional<Refusal> find_refusal(const Kernel& first, const Kernel& second,
                                    const std::vector<std::string>& data_flow) {
  for (const std::string& name : data_flow) {
    if (std::optional<Refusal> refusal = find_flow_refusal(first, second, name)) {
      return refusal;
    }
  }
  for (const Argument& argument : second.arguments) {
    if (is_in(data_flow, argument.name)) {
      continue;
    }
    if (const Argument* other = find_argument(first, argument.name)) {
      if (!united(*other, argument)) {
        return Refusal{"loopy.fuse_kernels.different_arguments",
                       fmt::format("'{}' has another type, shape or layout in '{}' than in '{}': "
                                   "state it, or rename the argument of one of them",
                                   argument.name, second.name, first.name)};
      }
      continue;
    }
    const bool is_other = is_iname(first, argument.name) ||
                          find_temporary(first, argument.name) != nullptr ||
                          find_rule(first, argument.name) != nullptr;
    if (is_other) {
      return Refusal{
          "loopy.fuse_kernels.name_clash",
          fmt::format("'{}' is an argument of '{}' and a different object in '{}': rename "
                      "one of them",
                      argument.name, second.name, first.name)};
    }
  }
  return std::nullopt;
}

/// The second kernel without the variable, which is a temporary of the first one.
Kernel without_variable(Kernel second, const std::string& name) {
  std::erase_if(second.arguments, [&](const Argument& each) { return each.name == name; });
  std::erase_if(second.temporaries, [&](const Temporary& each) { return each.name == name; });
  return second;
}

/// Statements that read what the first kernel writes depend on the writers.
Kernel with_dependencies(Kernel second, const Kernel& first,
                         const std::vector<std::string>& data_flow) {
  for (const std::string& name : data_flow) {
    for (Instruction& reader : second.instructions) {
      if (!reads(second, reader, name)) {
        continue;
      }
      for (const Instruction& writer : first.instructions) {
        if (written_variables(writer).count(name) != 0) {
          reader.depends_on.insert(writer.id);
        }
      }
    }
  }
  return second;
}

template <class Item>
void append(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Kernel fuse_kernels(Kernel first, const Kernel& second, const FuseOptions& options) {
  throw_if_refused(find_refusal(first, second, options.data_flow));
  NameGenerator names = make_name_generator(first);
  for (const Argument& argument : second.arguments) {
    names.reserve(argument.name);  // first: no iname may take the name
  }
  Kernel own_part = second;
  for (const std::string& name : options.data_flow) {
    if (find_temporary(first, name) != nullptr) {
      own_part = without_variable(std::move(own_part), name);
    }
  }
  const Kernel added =
      with_dependencies(with_own_names(own_part, names, options.suffix), first, options.data_flow);
  for (const Argument& argument : added.arguments) {
    const auto own = std::find_if(first.arguments.begin(), first.arguments.end(),
                                  [&](const Argument& each) { return each.name == argument.name; });
    if (own == first.arguments.end()) {
      first.arguments.push_back(argument);
    } else {
      *own = *united(*own, argument);
    }
  }
  append(first.domains, added.domains);
  append(first.instructions, added.instructions);
  append(first.temporaries, added.temporaries);
  append(first.rules, added.rules);
  append_functions(first, added);
  append(first.loop_priorities, added.loop_priorities);
  first.assumptions.add(added.assumptions);
  first.iname_tags.insert(added.iname_tags.begin(), added.iname_tags.end());
  first.walking_blocks.insert(added.walking_blocks.begin(), added.walking_blocks.end());
  first.joins_launches = first.joins_launches || added.joins_launches;
  record(first, "fuse_kernels", {to_string(to_kernel_file(second))},
         {{"data_flow", fmt::format("{}", fmt::join(options.data_flow, ":"))},
          {"suffix", options.suffix == FuseOptions{}.suffix ? "" : options.suffix}});
  return first;
}

}  // namespace rtcg::loopy
