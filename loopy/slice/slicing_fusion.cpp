#include "rtcg/loopy/slice/slicing_fusion.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/loopy/analyze/access.h"
#include "rtcg/loopy/slice/view_axes.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::detail {
namespace {

bool is_divided(const std::vector<Expr>& indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [](const Expr& each) { return !to_affine(each); });
}

std::string bracketed_list(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace

std::string fused_name(const std::vector<FusedIname>& parts) {
  const bool are_letters = std::all_of(
      parts.begin(), parts.end(), [](const FusedIname& each) { return each.iname.size() == 1; });
  std::string name;
  for (const FusedIname& each : parts) {
    name += (are_letters || name.empty() ? "" : "_") + each.iname;
  }
  return name;
}

std::vector<RecipeStep> fusion_steps(const std::vector<InameFusion>& fusions) {
  std::vector<RecipeStep> steps;
  for (const InameFusion& fusion : fusions) {
    std::vector<std::string> joined;
    std::vector<std::string> within;
    for (const FusedIname& part : fusion.parts) {
      if (part.tile == 1) {
        joined.push_back(part.iname);
        continue;
      }
      joined.push_back(part.iname + "_0");
      within.push_back(part.iname + "_1");
      steps.push_back({"split_iname",
                       {part.iname, std::to_string(part.tile)},
                       {{"outer_name", joined.back()}, {"inner_name", within.back()}}});
    }
    joined.insert(joined.end(), within.begin(), within.end());
    steps.push_back({"join_inames", {bracketed_list(joined)}, {{"name", fusion.name}}});
  }
  return steps;
}

const SubstitutionRule* find_view(const Kernel& kernel, std::string_view array) {
  const SubstitutionRule* found = nullptr;
  for (const SubstitutionRule& rule : kernel.rules) {
    if (accessed_arrays(rule.body).count(array) == 0) {
      continue;
    }
    const Access* element = get_if<Access>(rule.body);
    const bool is_view = element != nullptr && element->array == array &&
                         !rule.parameters.empty() && is_divided(element->indices);
    if (!is_view || found != nullptr) {
      return nullptr;
    }
    found = &rule;
  }
  const auto reads_array = [&](const Instruction& each) {
    return read_variables(kernel, each).count(array) != 0;
  };
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(), reads_array) ? nullptr
                                                                                          : found;
}

std::vector<RecipeStep> view_steps(const Kernel& kernel, std::string_view array) {
  std::optional<ArrayAccess> read;
  for (const ArrayAccess& access : accesses_of(kernel)) {
    if (access.array != array || access.is_write || access.is_linear) {
      continue;
    }
    if (read && read->indices != access.indices) {
      return {};
    }
    read = access;
  }
  if (!read || !is_divided(read->indices)) {
    return {};
  }
  NameGenerator names = make_name_generator(kernel);
  const std::string form = to_string(Expr(Access{read->array, read->indices}));
  return {{"extract_subst",
           {names.make(fmt::format("{}_view", array)), form,
            bracketed_list(view_axes(kernel, *read).inames)},
           {}}};
}

}  // namespace rtcg::loopy::detail
