#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/dg/flux/parse_flux.h"

namespace rtcg::dg {
namespace {

constexpr int most_fields = 1000;

[[noreturn]] void refuse(std::string_view item) {
  throw InvalidInput("dg.parse_field_groups.syntax",
                     fmt::format("'{}' declares no fields: write a name, a colon, and how many "
                                 "there are or their axes, such as 'e:3' or 'h:xy'",
                                 item));
}

FieldGroup parse_group(std::string_view item) {
  const std::size_t colon = item.find(':');
  FieldGroup group;
  group.name = trimmed(item.substr(0, colon));
  if (!is_identifier(group.name)) {
    refuse(item);
  }
  if (colon == std::string_view::npos) {
    group.is_scalar = true;
    return group;
  }
  const std::string_view shape = trimmed(item.substr(colon + 1));
  if (!shape.empty() && shape.find_first_not_of("xyz") == std::string_view::npos) {
    const bool ascending =
        std::adjacent_find(shape.begin(), shape.end(), std::greater_equal<>()) == shape.end();
    if (!ascending) {
      refuse(item);
    }
    group.axes = shape;
    group.count = static_cast<int>(shape.size());
    return group;
  }
  const auto [end, error] = std::from_chars(shape.data(), shape.data() + shape.size(), group.count);
  if (error != std::errc() || end != shape.data() + shape.size() || group.count < 1 ||
      group.count > most_fields) {
    refuse(item);
  }
  return group;
}

}  // namespace

std::vector<FieldGroup> parse_field_groups(std::string_view text) {
  std::vector<FieldGroup> groups;
  std::set<std::string> names;
  while (true) {
    const std::size_t comma = text.find(',');
    groups.push_back(parse_group(trimmed(text.substr(0, comma))));
    if (!names.insert(groups.back().name).second) {
      throw InvalidInput("dg.parse_field_groups.duplicate",
                         fmt::format("the fields '{}' are declared twice", groups.back().name));
    }
    if (comma == std::string_view::npos) {
      return groups;
    }
    text.remove_prefix(comma + 1);
  }
}

FluxVector fields_of(const FieldGroup& group, int first) {
  if (group.is_scalar) {
    return FluxVector({field(first, group.name)});
  }
  const FluxVector vector = fields(group.count, group.name, first);
  return group.axes.empty() ? vector : vector.on_axes(group.axes);
}

}  // namespace rtcg::dg
