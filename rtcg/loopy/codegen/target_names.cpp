#include "rtcg/loopy/codegen/target_names.h"

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

using NewNames = std::map<std::string, std::string, std::less<>>;

std::string new_name(const NewNames& names, const std::string& old) {
  const auto found = names.find(old);
  return found == names.end() ? old : found->second;
}

/// What C text mentions outside of its parts stays as it is.
void check_raw_code(const Kernel& kernel, const std::string& name, cgen::Dialect dialect) {
  for (const Instruction& instruction : kernel.instructions) {
    const RawCode* raw = get_if<RawCode>(instruction);
    if (raw != nullptr && (raw->reads.count(name) != 0 || raw->writes.count(name) != 0)) {
      throw InvalidInput(
          "loopy.generate.reserved_name",
          fmt::format("the C text of statement '{}' mentions '{}', which is a reserved word of {} "
                      "and is called otherwise there: write ${{{}}}, with its indices, in the text",
                      instruction.id, name, cgen::name(dialect), name));
    }
  }
}

NameSet declared_names(const Kernel& kernel) {
  NameSet names = parameters(kernel);
  for (const std::string& iname : all_inames(kernel)) {
    names.insert(iname);
  }
  for (const Argument& argument : kernel.arguments) {
    names.insert(argument.name);
  }
  for (const Temporary& temporary : kernel.temporaries) {
    names.insert(temporary.name);
  }
  return names;
}

void rename_each(const NewNames& names, std::vector<Expr>& exprs) {
  for (Expr& each : exprs) {
    each = rename_all(each, names);
  }
}

void rename_inames(const NewNames& names, Kernel& kernel) {
  const auto rename = [&](const std::string& name) { return new_name(names, name); };
  kernel.assumptions = kernel.assumptions.rename(rename);
  for (Domain& domain : kernel.domains) {
    for (std::string& iname : domain.inames) {
      iname = rename(iname);
    }
    domain.constraints = domain.constraints.rename(rename);
  }
  std::map<std::string, InameTag, std::less<>> tags;
  for (const auto& [iname, tag] : kernel.iname_tags) {
    tags.emplace(rename(iname), tag);
  }
  kernel.iname_tags = std::move(tags);
  for (std::vector<std::string>& priority : kernel.loop_priorities) {
    for (std::string& iname : priority) {
      iname = rename(iname);
    }
  }
}

Kernel renamed(Kernel kernel, const NewNames& names) {
  rename_inames(names, kernel);
  kernel =
      map_expressions(std::move(kernel), [&](const Expr& expr) { return rename_all(expr, names); });
  for (Instruction& instruction : kernel.instructions) {
    NameSet within;
    for (const std::string& iname : instruction.within_inames) {
      within.insert(new_name(names, iname));
    }
    instruction.within_inames = std::move(within);
  }
  for (Argument& argument : kernel.arguments) {
    argument.name = new_name(names, argument.name);
    rename_each(names, argument.shape);
    rename_each(names, argument.strides_elements);
    argument.offset_elements = rename_all(argument.offset_elements, names);
  }
  for (Temporary& temporary : kernel.temporaries) {
    temporary.name = new_name(names, temporary.name);
    rename_each(names, temporary.shape);
    rename_each(names, temporary.strides_elements);
  }
  return kernel;
}

}  // namespace

TargetNames with_target_names(Kernel kernel, cgen::Dialect dialect) {
  TargetNames result{std::move(kernel)};
  NameGenerator free = make_name_generator(result.kernel);
  for (const std::string_view word : cgen::reserved_words(dialect)) {
    free.reserve(word);
  }
  if (cgen::is_reserved(dialect, result.kernel.name)) {
    result.kernel.name = free.make(result.kernel.name);
  }
  NewNames names;
  for (const std::string& name : declared_names(result.kernel)) {
    if (cgen::is_reserved(dialect, name)) {
      check_raw_code(result.kernel, name, dialect);
      names[name] = free.make(name);
      result.user_names[names[name]] = name;
    }
  }
  if (!names.empty()) {
    result.kernel = renamed(std::move(result.kernel), names);
  }
  return result;
}

void restore_user_names(const TargetNames& names, GeneratedProgram& program) {
  for (KernelParameter& parameter : program.parameters) {
    parameter.name = new_name(names.user_names, parameter.name);
    if (parameter.temporary_count) {
      parameter.temporary_count = rename_all(*parameter.temporary_count, names.user_names);
    }
  }
  for (LaunchPlan& launch : program.launches) {
    for (Expr& blocks : launch.grid) {
      blocks = rename_all(blocks, names.user_names);
    }
  }
}

}  // namespace rtcg::loopy
