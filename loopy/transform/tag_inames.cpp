#include "rtcg/loopy/transform/tag_inames.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/match_instructions.h"
#include "rtcg/loopy/transform/record.h"
#include "rtcg/loopy/transform/refusal.h"

namespace rtcg::loopy {
namespace {

bool may_replace(const InameTag& old, const InameTag& tag) {
  return old == tag || old.kind == AxisKind::sequential || tag.kind == AxisKind::sequential ||
         old.kind == AxisKind::block_auto;
}

void set_tag(Kernel& kernel, const std::string& iname, const InameTag& tag) {
  if (tag.kind == AxisKind::sequential) {
    kernel.iname_tags.erase(iname);
  } else {
    kernel.iname_tags[iname] = tag;
  }
}

bool is_pattern(std::string_view text) {
  return text.find_first_of("*?") != std::string_view::npos;
}

/// Each pattern replaced by the inames that fit; one that fits none stays, and is no iname.
InameTags without_patterns(const Kernel& kernel, const InameTags& tags) {
  InameTags result;
  for (const auto& [name, tag] : tags) {
    const std::size_t before = result.size();
    if (is_pattern(name)) {
      for (const std::string& iname : all_inames(kernel)) {
        if (fits_pattern(iname, name)) {
          result.emplace_back(iname, tag);
        }
      }
    }
    if (result.size() == before) {
      result.emplace_back(name, tag);
    }
  }
  return result;
}

std::optional<Refusal> find_refusal(Kernel kernel, const InameTags& tags) {
  for (const auto& [iname, text] : tags) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.tag_inames.unknown_iname", unknown_iname_text(kernel, iname)};
    }
    if (std::optional<Refusal> refusal = find_tag_refusal(text)) {
      return refusal;
    }
    const InameTag tag = parse_iname_tag(text);
    if (const InameTag old = tag_of(kernel, iname); !may_replace(old, tag)) {
      return Refusal{"loopy.tag_inames.tagged_already",
                     fmt::format("'{}' is tagged {} and cannot become {}: untag it first", iname,
                                 to_string(old), to_string(tag))};
    }
    if (std::optional<std::string> why_not = why_not_on_axis(kernel, iname, tag)) {
      return Refusal{"loopy.tag_inames.axis_used_twice", std::move(*why_not)};
    }
    set_tag(kernel, iname, tag);
  }
  return std::nullopt;
}

std::optional<Refusal> find_untag_refusal(const Kernel& kernel,
                                          const std::vector<std::string>& inames) {
  for (const std::string& iname : inames) {
    if (!is_iname(kernel, iname)) {
      return Refusal{"loopy.untag_inames.unknown_iname", unknown_iname_text(kernel, iname)};
    }
  }
  return std::nullopt;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) {
    return {};
  }
  return std::string(text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1));
}

}  // namespace

Kernel tag_inames(Kernel kernel, const InameTags& patterns) {
  const InameTags tags = without_patterns(kernel, patterns);
  throw_if_refused(find_refusal(kernel, tags));
  std::vector<std::string> arguments;
  for (const auto& [iname, text] : tags) {
    const InameTag tag = parse_iname_tag(text);
    set_tag(kernel, iname, tag);
    arguments.push_back(fmt::format("{}:{}", iname, to_string(tag)));
  }
  record(kernel, "tag_inames", std::move(arguments));
  return kernel;
}

Kernel tag_inames(Kernel kernel, std::string_view tags) {
  return tag_inames(std::move(kernel), parse_iname_tags(tags));
}

InameTags parse_iname_tags(std::string_view text) {
  InameTags tags;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t colon = item.find(':');
    const std::string iname = trimmed(item.substr(0, colon));
    std::string letters = iname;
    std::replace_if(
        letters.begin(), letters.end(), [](char c) { return c == '*' || c == '?'; }, '_');
    if (colon == std::string_view::npos || !is_identifier(letters)) {
      throw InvalidInput("loopy.tag_inames.syntax",
                         fmt::format("expected tags like 'i:g.0, j:l.0', found '{}'", item));
    }
    tags.emplace_back(iname, trimmed(item.substr(colon + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tags;
}

Kernel untag_inames(Kernel kernel, const std::vector<std::string>& inames) {
  throw_if_refused(find_untag_refusal(kernel, inames));
  for (const std::string& iname : inames) {
    kernel.iname_tags.erase(iname);
  }
  record(kernel, "untag_inames", inames);
  return kernel;
}

}  // namespace rtcg::loopy
