#include "rtcg/loopy/transform/iname_parts.h"

#include <fmt/format.h>

namespace rtcg::loopy {

std::optional<Refusal> find_parts_refusal(const Kernel& kernel, std::string_view iname,
                                          const SplitOptions& options, const SplitCodes& codes) {
  if (const InameTag tag = tag_of(kernel, iname); tag.kind != AxisKind::sequential) {
    return Refusal{codes.tagged_already,
                   fmt::format("'{}' is tagged {}: split it first, then tag its parts", iname,
                               to_string(tag))};
  }
  for (const std::string& name : {options.outer_name, options.inner_name}) {
    if (std::optional<std::string> why_not = why_not_new_name(kernel, name)) {
      return Refusal{codes.name_taken, std::move(*why_not)};
    }
  }
  if (!options.outer_name.empty() && options.outer_name == options.inner_name) {
    return Refusal{codes.name_taken, fmt::format("both parts of '{}' cannot be called '{}'", iname,
                                                 options.outer_name)};
  }
  for (const std::string& tag : {options.outer_tag, options.inner_tag}) {
    if (std::optional<Refusal> refusal = find_tag_refusal(tag)) {
      return refusal;
    }
  }
  const InameTag outer = parse_iname_tag(options.outer_tag);
  const InameTag inner = parse_iname_tag(options.inner_tag);
  if (outer.is_parallel() && outer == inner) {
    return Refusal{codes.axis_used_twice,
                   fmt::format("both parts of '{}' cannot be on {}", iname, to_string(outer))};
  }
  for (const InameTag& tag : {outer, inner}) {
    // the statements within the parts are those within the iname
    if (std::optional<std::string> why_not = why_not_on_axis(kernel, iname, tag)) {
      return Refusal{codes.axis_used_twice, std::move(*why_not)};
    }
  }
  return std::nullopt;
}

std::pair<std::string, std::string> names_of_parts(const Kernel& kernel, const std::string& iname,
                                                   const SplitOptions& options) {
  if (!options.outer_name.empty() && !options.inner_name.empty()) {
    return {options.outer_name, options.inner_name};
  }
  NameGenerator names = make_name_generator(kernel);
  names.reserve(options.outer_name);
  names.reserve(options.inner_name);
  const auto name_of = [&](const std::string& stated, const char* suffix) {
    return stated.empty() ? names.make(iname + suffix) : stated;
  };
  std::string outer = name_of(options.outer_name, "_outer");
  return {std::move(outer), name_of(options.inner_name, "_inner")};
}

Kernel with_tagged_parts(Kernel kernel, const std::pair<std::string, std::string>& parts,
                         const SplitOptions& options) {
  for (const auto& [part, text] :
       {std::pair(parts.first, options.outer_tag), std::pair(parts.second, options.inner_tag)}) {
    if (const InameTag tag = parse_iname_tag(text); tag.kind != AxisKind::sequential) {
      kernel.iname_tags[part] = tag;
    }
  }
  return kernel;
}

std::map<std::string, std::string> recorded_options(const SplitOptions& options) {
  return {{"outer_name", options.outer_name},
          {"inner_name", options.inner_name},
          {"outer_tag", options.outer_tag},
          {"inner_tag", options.inner_tag}};
}

}  // namespace rtcg::loopy
