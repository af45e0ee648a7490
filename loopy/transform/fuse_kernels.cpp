#include "rtcg/loopy/transform/fuse_kernels.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/analyze/add_function.h"
#include "rtcg/loopy/kernel/kernel_file.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"
#include "rtcg/loopy/transform/with_own_names.h"

namespace rtcg::loopy {
namespace {

/// An argument of both kernels; nothing where they do not agree about it.
std::optional<Argument> united(const Argument& first, const Argument& second) {
  const bool is_same_type = !first.type || !second.type || *first.type == *second.type;
  const bool is_same_place = first.strides_elements == second.strides_elements &&
                             first.offset_elements == second.offset_elements &&
                             first.address_space == second.address_space;
  if (first.is_array != second.is_array || !is_same_type || !is_same_place) {
    return std::nullopt;
  }
  Argument result = first;
  if (first.shape != second.shape) {
    // what one kernel inferred from its own accesses gives way to what the other one states
    if (first.is_shape_stated == second.is_shape_stated ||
        first.shape.size() != second.shape.size()) {
      return std::nullopt;
    }
    result.shape = first.is_shape_stated ? first.shape : second.shape;
    result.is_shape_stated = true;
  }
  result.type = first.type ? first.type : second.type;
  return result;
}

std::optional<Refusal> find_refusal(const Kernel& first, const Kernel& second) {
  for (const Argument& argument : second.arguments) {
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

template <class Item>
void append(std::vector<Item>& all, const std::vector<Item>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Kernel fuse_kernels(Kernel first, const Kernel& second, const FuseOptions& options) {
  throw_if_refused(find_refusal(first, second));
  NameGenerator names = make_name_generator(first);
  for (const Argument& argument : second.arguments) {
    names.reserve(argument.name);  // first: no iname may take the name
  }
  const Kernel added = with_own_names(second, names, options.suffix);
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
  record(first, "fuse_kernels", {to_string(to_kernel_file(second))},
         {{"suffix", options.suffix == FuseOptions{}.suffix ? "" : options.suffix}});
  return first;
}

}  // namespace rtcg::loopy
