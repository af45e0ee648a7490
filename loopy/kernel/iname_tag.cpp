#include "rtcg/loopy/kernel/iname_tag.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

std::optional<int> number_after(std::string_view text, std::string_view prefix, int largest) {
  if (!text.starts_with(prefix)) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && number >= 0 && number <= largest ? std::optional(number) : std::nullopt;
}

}  // namespace

InameTag parse_iname_tag(std::string_view text) {
  if (text == "for" || text.empty()) {
    return {AxisKind::sequential};
  }
  if (text == "unr") {
    return {AxisKind::unroll};
  }
  if (text == "unr_hint") {
    return {AxisKind::unroll_hint};
  }
  if (text == "ilp" || text == "ilp.unr") {
    return {AxisKind::ilp};
  }
  if (text == "ilp.seq") {
    return {AxisKind::ilp_loop};
  }
  if (text == "vec") {
    return {AxisKind::vec};
  }
  if (text == "mma") {
    return {AxisKind::tensor};
  }
  if (text == "l.auto") {
    return {AxisKind::block_auto};
  }
  if (const auto axis = number_after(text, "g.", 2)) {
    return {AxisKind::grid, *axis};
  }
  if (const auto axis = number_after(text, "l.", 2)) {
    return {AxisKind::block, *axis};
  }
  if (const auto factor = number_after(text, "unr_hint.", 1024)) {
    return {AxisKind::unroll_hint, *factor};
  }
  throw InvalidInput(
      "loopy.iname_tag.unknown",
      fmt::format("'{}' is not a tag: write for, unr, unr_hint, unr_hint.N, ilp, ilp.seq, "
                  "vec, mma, g.0 to g.2, l.0 to l.2 or l.auto",
                  text));
}

std::string to_string(const InameTag& tag) {
  switch (tag.kind) {
    case AxisKind::sequential:
      return "for";
    case AxisKind::unroll:
      return "unr";
    case AxisKind::unroll_hint:
      return tag.number == 0 ? "unr_hint" : fmt::format("unr_hint.{}", tag.number);
    case AxisKind::ilp:
      return "ilp";
    case AxisKind::ilp_loop:
      return "ilp.seq";
    case AxisKind::vec:
      return "vec";
    case AxisKind::grid:
      return fmt::format("g.{}", tag.number);
    case AxisKind::block:
      return fmt::format("l.{}", tag.number);
    case AxisKind::block_auto:
      return "l.auto";
    case AxisKind::tensor:
      return "mma";
  }
  return {};
}

}  // namespace rtcg::loopy
