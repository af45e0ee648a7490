#include "rtcg/loopy/transform/refusal.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/taken_names.h"
#include "rtcg/loopy/transform/iname_use.h"

namespace rtcg::loopy {

void throw_if_refused(const std::optional<Refusal>& refusal) {
  if (refusal) {
    throw InvalidInput(refusal->code, refusal->reason);
  }
}

void refuse(const char* code, std::string reason) {
  throw InvalidInput(code, std::move(reason));
}

std::optional<std::string> reason_of(std::optional<Refusal> refusal) {
  return refusal ? std::optional(std::move(refusal->reason)) : std::nullopt;
}

std::string unknown_iname_text(const Kernel& kernel, std::string_view iname) {
  return fmt::format("kernel '{}' has no iname '{}': its inames are {}", kernel.name, iname,
                     fmt::join(all_inames(kernel), ", "));
}

std::optional<std::string> why_not_new_name(const Kernel& kernel, std::string_view name) {
  if (name.empty()) {
    return std::nullopt;
  }
  if (!is_identifier(name)) {
    return fmt::format("'{}' is not a name: use letters, digits and underscores", name);
  }
  if (is_name_taken(kernel, name)) {
    return fmt::format("the name '{}' is taken in kernel '{}'", name, kernel.name);
  }
  return std::nullopt;
}

std::optional<std::string> why_not_on_axis(const Kernel& kernel, std::string_view iname,
                                           const InameTag& tag) {
  const bool is_other_there =
      std::any_of(kernel.iname_tags.begin(), kernel.iname_tags.end(),
                  [&](const auto& each) { return each.first != iname && each.second == tag; });
  if (!tag.is_parallel() || !is_other_there) {
    return std::nullopt;
  }
  for (const Instruction& instruction : kernel.instructions) {
    const NameSet inames = used_inames(instruction);
    if (inames.count(iname) == 0) {
      continue;
    }
    for (const std::string& other : inames) {
      if (other != iname && tag_of(kernel, other) == tag) {
        return fmt::format(
            "'{}' cannot be on {}: '{}' is there, and statement '{}' is within "
            "both",
            iname, to_string(tag), other, instruction.id);
      }
    }
  }
  return std::nullopt;
}

std::optional<Refusal> find_tag_refusal(std::string_view tag) {
  try {
    static_cast<void>(parse_iname_tag(tag));
    return std::nullopt;
  } catch (const InvalidInput& error) {
    return Refusal{error.code(), error.message()};
  }
}

}  // namespace rtcg::loopy
