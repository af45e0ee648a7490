#include "rtcg/loopy/kernel/kernel_file.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/parse_recipe.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/print_expr.h"

namespace rtcg::loopy {
namespace {

[[noreturn]] void refuse(const Kernel& kernel, const std::string& what) {
  throw Unsupported("loopy.to_kernel_file.not_sayable",
                    fmt::format("kernel '{}' cannot be written to a file: {}", kernel.name, what));
}

std::vector<std::string> texts(const std::vector<Expr>& exprs) {
  std::vector<std::string> result;
  for (const Expr& each : exprs) {
    result.push_back(to_string(each));
  }
  return result;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string argument_text(const Argument& argument) {
  std::string text = argument.name;
  if (argument.type || argument.is_array) {
    text += ": ";
  }
  if (argument.type) {
    text += scalar_type_name(*argument.type);
  }
  if (!argument.is_array) {
    return text;
  }
  text += fmt::format("[{}]", join(texts(argument.shape), ", "));
  std::vector<std::string> options;
  if (!argument.strides_elements.empty()) {
    options.push_back("strides=" + join(texts(argument.strides_elements), ":"));
  }
  if (argument.offset_elements != Expr(0)) {
    options.push_back("offset=" + to_string(argument.offset_elements));
  }
  if (argument.address_space == AddressSpace::constant) {
    options.emplace_back("space=constant");
  } else if (argument.address_space == AddressSpace::image) {
    options.emplace_back("space=image");
  }
  for (std::string& each : image_options(argument)) {
    options.push_back(std::move(each));
  }
  if (!argument.may_be.empty()) {
    options.push_back("may_be=" + join(argument.may_be, ":"));
  }
  if (argument.field_of) {
    options.push_back(fmt::format("field={}:{}:{}", argument.field_of->array,
                                  argument.field_of->struct_bytes, argument.field_of->inner_axes));
  }
  return options.empty() ? text : fmt::format("{} {{{}}}", text, join(options, ", "));
}

std::string arguments_text(const Kernel& kernel) {
  std::vector<std::string> lines;
  for (const Argument& argument : kernel.arguments) {
    lines.push_back(argument_text(argument));
  }
  return join(lines, ";\n");
}

std::string domains_text(const Kernel& kernel) {
  std::vector<std::string> lines;
  for (const Domain& domain : kernel.domains) {
    const std::string conditions = to_string(domain.constraints);
    lines.push_back(fmt::format("{{[{}]{}{}}}", fmt::join(domain.inames, ", "),
                                conditions.empty() ? "" : ": ", conditions));
  }
  return join(lines, "\n");
}

std::string declaration(const Temporary& temporary) {
  return fmt::format("<{}> ", temporary.type ? scalar_type_name(*temporary.type) : "");
}

std::string options_text(const Instruction& instruction) {
  std::vector<std::string> options = {
      "id=" + instruction.id, fmt::format("inames={}", fmt::join(instruction.within_inames, ":"))};
  if (!instruction.depends_on.empty()) {
    options.push_back(fmt::format("dep={}", fmt::join(instruction.depends_on, ":")));
  }
  for (const Expr& predicate : instruction.predicates) {
    options.push_back("if=" + to_string(predicate));
  }
  if (instruction.is_fill) {
    options.emplace_back("fill");
  }
  for (std::string& each : manner_options(instruction)) {
    options.push_back(std::move(each));
  }
  return fmt::format("{{{}}}", join(options, ", "));
}

/// The statement; scalars in `undeclared` are declared where they are assigned to first.
std::string statement_text(const Kernel& kernel, const Instruction& instruction,
                           NameSet& undeclared) {
  if (is<LookBack>(instruction) || is<WarpProduct>(instruction) ||
      instruction.is_same_in_all_threads) {
    refuse(kernel, fmt::format("preprocessing made statement '{}'", instruction.id));
  }
  const Assignment* assignment = get_if<Assignment>(instruction);
  if (assignment == nullptr) {
    return fmt::format("{}  {}", to_string(instruction), options_text(instruction));
  }
  std::vector<std::string> targets;
  for (const Expr& target : assignment->targets) {
    const std::string& name = target_name(target);
    const bool is_new = undeclared.erase(name) != 0;
    targets.push_back((is_new ? declaration(*find_temporary(kernel, name)) : "") +
                      to_string(target));
  }
  return fmt::format("{} = {}  {}", join(targets, ", "), to_string(assignment->value),
                     options_text(instruction));
}

std::string statements_text(const Kernel& kernel) {
  std::vector<std::string> lines;
  for (const SubstitutionRule& rule : kernel.rules) {
    lines.push_back(to_string(rule));
  }
  NameSet undeclared;
  for (const Temporary& temporary : kernel.temporaries) {
    if (temporary.shape.empty()) {
      undeclared.insert(temporary.name);
    } else {
      const std::string values = join(texts(temporary.initial_values), ", ");
      lines.push_back(fmt::format("{}{}[{}]{}", declaration(temporary), temporary.name,
                                  join(texts(temporary.shape), ", "),
                                  values.empty() ? "" : fmt::format(" = table({})", values)));
    }
  }
  for (const Instruction& instruction : kernel.instructions) {
    lines.push_back(statement_text(kernel, instruction, undeclared));
  }
  return join(lines, "\n");
}

std::string functions_text(const Kernel& kernel) {
  std::vector<std::string> entries;
  for (const Preamble& preamble : kernel.preambles) {
    entries.push_back(to_string(preamble));
  }
  for (const TypedFunction& function : kernel.functions) {
    if (has_tree(function)) {
      refuse(kernel, fmt::format("the code of function '{}' is a tree", function.name));
    }
    entries.push_back(to_string(function));
  }
  return join(entries, "\n");
}

std::string stride_list(const Kernel& kernel, const Temporary& temporary) {
  std::vector<std::string> strides;
  for (const Expr& stride : temporary.strides_elements) {
    if (!as_integer(stride)) {
      refuse(kernel, fmt::format("'{}' has strides that are not constants", temporary.name));
    }
    strides.push_back("stride:" + to_string(stride));
  }
  return join(strides, ",");
}

/// What statements cannot state.
std::string recipe_text(const Kernel& kernel) {
  std::vector<RecipeStep> steps;
  RecipeStep tags{"tag_inames", {}, {}};
  for (const std::string& iname : all_inames(kernel)) {
    if (tag_of(kernel, iname) != InameTag{}) {
      tags.arguments.push_back(fmt::format("{}:{}", iname, to_string(tag_of(kernel, iname))));
    }
  }
  if (!tags.arguments.empty()) {
    steps.push_back(tags);
  }
  for (const std::vector<std::string>& order : kernel.loop_priorities) {
    steps.push_back({"prioritize_loops", order, {}});
  }
  if (kernel.swizzle_blocks != 0) {
    steps.push_back({"swizzle", {std::to_string(kernel.swizzle_blocks)}, {}});
  }
  for (const auto& [axis, blocks] : kernel.walking_blocks) {
    steps.push_back({"walk_grid", {std::to_string(axis), to_string(blocks)}, {}});
  }
  if (kernel.joins_launches) {
    steps.push_back({"join_launches", {}, {}});
  }
  for (const Temporary& temporary : kernel.temporaries) {
    const std::string list = "[" + temporary.name + "]";
    const AddressSpace space = temporary.address_space;
    if (space != AddressSpace::automatic && space != AddressSpace::constant) {
      steps.push_back({"set_temporary_address_space",
                       {list, space == AddressSpace::private_ ? "private"
                              : space == AddressSpace::local  ? "local"
                                                              : "global"},
                       {}});
    }
    if (!temporary.strides_elements.empty()) {
      steps.push_back({"tag_array_axes", {list, stride_list(kernel, temporary)}, {}});
    }
    if (const ColumnSwizzle& swizzle = temporary.swizzle; swizzle.patterns > 1) {
      steps.push_back({"swizzle_bank_conflicts",
                       {temporary.name},
                       {{"group", std::to_string(swizzle.group)},
                        {"patterns", std::to_string(swizzle.patterns)},
                        {"rows", std::to_string(swizzle.rows)}}});
    }
  }
  std::vector<std::string> lines;
  for (const RecipeStep& step : steps) {
    lines.push_back(to_string(step));
  }
  return join(lines, "\n");
}

void write_section(std::string& text, std::string_view name, const std::string& content) {
  if (content.empty()) {
    return;
  }
  text += std::string(name) + "\n";
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    text += line.empty() ? "\n" : "  " + line + "\n";
  }
}

std::string text_of(const std::map<std::string, std::int64_t>& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("{}={}\n", name, value);
  }
  return text;
}

std::string text_of(const KernelFile& file, std::string_view heading) {
  std::string text = std::string(heading) + " " + file.options.name + "\n";
  write_section(text, "domains", file.domains);
  write_section(text, "structs", file.options.structs);
  write_section(text, "arguments", file.options.arguments);
  if (file.options.default_type) {
    text += "type " + scalar_type_name(*file.options.default_type) + "\n";
  }
  write_section(text, "assume", file.options.assumptions);
  write_section(text, "functions", file.options.functions);
  write_section(text, "fix", text_of(file.options.fixed_parameters));
  write_section(text, "sizes", text_of(file.sizes));
  write_section(text, "small", text_of(file.small_sizes));
  if (file.options.sequential_dependencies) {
    text += "order sequential\n";
  }
  write_section(text, "statements", file.statements);
  write_section(text, "transform", file.recipe);
  for (const KernelFile& callee : file.callees) {
    text += text_of(callee, "callee");
  }
  return text;
}

}  // namespace

KernelFile to_kernel_file(const Kernel& kernel) {
  KernelFile file;
  file.options.name = kernel.name;
  file.options.arguments = arguments_text(kernel);
  file.options.assumptions = to_string(kernel.assumptions);
  file.options.functions = functions_text(kernel);
  file.domains = domains_text(kernel);
  file.statements = statements_text(kernel);
  file.recipe = recipe_text(kernel);
  return file;
}

std::string to_string(const KernelFile& file) {
  return text_of(file, "kernel");
}

}  // namespace rtcg::loopy
