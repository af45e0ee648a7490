#include "rtcg/loopy/schedule/look_back.h"

#include "rtcg/cgen/support/error.h"

namespace rtcg::loopy {
namespace {

enum class PartUse { read, both };

/// Calls `visit(part, use)` on all parts, always in the same order.
template <class Self, class Visit>
void for_each_part(Self& self, const Visit& visit) {
  visit(self.thread, PartUse::read);
  visit(self.tile, PartUse::read);
  visit(self.drawn, PartUse::read);
  visit(self.published, PartUse::both);
  const auto all = [&](auto& parts, PartUse use) {
    for (auto& part : parts) {
      visit(part, use);
    }
  };
  all(self.total, PartUse::read);
  all(self.neutral, PartUse::read);
  all(self.before, PartUse::both);
  all(self.found, PartUse::both);
  all(self.next, PartUse::both);
  all(self.combined, PartUse::both);
  all(self.found_and_next, PartUse::read);
  all(self.found_and_before, PartUse::read);
  all(self.before_and_total, PartUse::read);
}

constexpr std::size_t single_parts = 4;
constexpr std::size_t parts_of_value = 9;

}  // namespace

RawCode as_statement(const LookBack& look_back) {
  RawCode statement;
  statement.text = "look back;";
  for_each_part(look_back, [&](const Expr& part, PartUse use) {
    statement.parts.push_back({part, true, use != PartUse::read});
  });
  return statement;
}

LookBack look_back_of(const RawCode& statement) {
  const std::size_t values = (statement.parts.size() - single_parts) / parts_of_value;
  require_internal(statement.parts.size() == single_parts + values * parts_of_value,
                   "the parts of a look-back");
  LookBack result;
  for (std::vector<Expr>* each : {&result.total, &result.neutral, &result.before, &result.found,
                                  &result.next, &result.combined, &result.found_and_next,
                                  &result.found_and_before, &result.before_and_total}) {
    each->resize(values, Expr(0));
  }
  std::size_t next = 0;
  for_each_part(result, [&](Expr& part, PartUse) { part = statement.parts[next++].expr; });
  return result;
}

}  // namespace rtcg::loopy
