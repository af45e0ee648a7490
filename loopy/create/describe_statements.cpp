// Statements of describe.h.
#include <fmt/format.h>

#include "rtcg/loopy/create/declaration.h"
#include "rtcg/loopy/create/parse_special.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::describe {
namespace {

Statement single(InstructionKinds::Variant kind, Mentions mentions, SourceOrigin where) {
  StatementTree tree;
  tree.statement.instruction.kind = std::move(kind);
  tree.mentions = std::move(mentions);
  tree.where = where;
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Statement assignment(const Value& target, const Value& value, SourceOrigin where) {
  return single(Assignment{{target.expr()}, value.expr()},
                joined(target.mentions(), value.mentions()), where);
}

/// The target is not a copy of itself: `t += 1` reads the element, not an Element.
Value read(const Value& target) {
  return {target.expr(), target.mentions()};
}

Statement with_option(const StatementTree& tree, std::function<void(ParsedStatement&)> option,
                      const Mentions& mentions = nullptr) {
  StatementTree copy = tree;
  copy.options.push_back(std::move(option));
  copy.mentions = joined(copy.mentions, mentions);
  return Statement(std::make_shared<const StatementTree>(std::move(copy)));
}

void set_manner(ParsedStatement& statement, const char* manner, const char* how) {
  try {
    statement.instruction = with_manner(std::move(statement.instruction), manner, how);
  } catch (const InvalidInput& error) {
    fail("loopy.describe.option", statement.origin, error.message());
  }
}

StatementTree group(StatementTree::Kind kind, const std::vector<Statement>& statements,
                    const SourceOrigin& where) {
  StatementTree tree;
  tree.kind = kind;
  tree.where = where;
  tree.branches.push_back({std::nullopt, statements});
  return tree;
}

}  // namespace

Statement Temp::operator=(const Value& value) const {
  return assignment(*this, value, {});
}
Statement Temp::operator=(const Temp& value) const {
  return assignment(*this, value, {});
}
Statement Temp::operator+=(const Value& value) const {
  return *this = read(*this) + value;
}
Statement Temp::operator-=(const Value& value) const {
  return *this = read(*this) - value;
}
Statement Temp::operator*=(const Value& value) const {
  return *this = read(*this) * value;
}
Statement Temp::operator/=(const Value& value) const {
  return *this = read(*this) / value;
}

Statement Element::operator=(const Value& value) const {
  return assignment(*this, value, where_);
}
Statement Element::operator=(const Element& value) const {
  return assignment(*this, value, where_);
}
Statement Element::operator+=(const Value& value) const {
  return *this = read(*this) + value;
}
Statement Element::operator-=(const Value& value) const {
  return *this = read(*this) - value;
}
Statement Element::operator*=(const Value& value) const {
  return *this = read(*this) * value;
}
Statement Element::operator/=(const Value& value) const {
  return *this = read(*this) / value;
}

Statement Statement::id(const std::string& name) const {
  return with_option(*tree_,
                     [name](ParsedStatement& statement) { statement.instruction.id = name; });
}
Statement Statement::id_prefix(const std::string& name) const {
  return with_option(*tree_, [name](ParsedStatement& statement) { statement.id_prefix = name; });
}
Statement Statement::depends_on_matches(const std::string& query) const {
  return with_option(*tree_, [query](ParsedStatement& statement) {
    statement.dependency_queries.push_back(query);
  });
}
Statement Statement::duplicate(const Iname& iname, const std::string& copy) const {
  return with_option(
      *tree_, [name = std::string(std::string_view(iname)), copy](ParsedStatement& statement) {
        statement.duplicated.emplace_back(name, copy);
      });
}
Statement Statement::when(const Value& condition) const {
  return with_option(
      *tree_,
      [expr = condition.expr()](ParsedStatement& statement) {
        statement.instruction.predicates.push_back(expr);
      },
      condition.mentions());
}
Statement Statement::atomic() const {
  return with_option(*tree_,
                     [](ParsedStatement& statement) { set_manner(statement, "atomic", ""); });
}
Statement Statement::disjoint() const {
  return with_names(Option::disjoint, {});
}
Statement Statement::atomic_init() const {
  return with_option(*tree_,
                     [](ParsedStatement& statement) { set_manner(statement, "atomic", "init"); });
}
Statement Statement::asynchronous() const {
  return with_option(*tree_,
                     [](ParsedStatement& statement) { set_manner(statement, "asynchronous", ""); });
}
Statement Statement::as_function() const {
  return with_option(*tree_, [](ParsedStatement& statement) { statement.is_function = true; });
}

Statement Statement::with_names(Option option, std::vector<std::string> names) const {
  return with_option(*tree_, [option, names = std::move(names)](ParsedStatement& statement) {
    const auto add_to = [&](NameSet& set) { set.insert(names.begin(), names.end()); };
    switch (option) {
      case Option::depends:
        statement.dependency_patterns.insert(statement.dependency_patterns.end(), names.begin(),
                                             names.end());
        break;
      case Option::within:
        add_to(statement.stated_inames ? *statement.stated_inames
                                       : statement.stated_inames.emplace());
        break;
      case Option::also_within:
        add_to(statement.additional_inames);
        break;
      case Option::tags:
        add_to(statement.instruction.tags);
        break;
      case Option::disjoint: {
        std::vector<Expr>& at = statement.instruction.disjoint_at.emplace();
        for (const std::string& each : names) {
          at.emplace_back(Name{each});
        }
        break;
      }
      case Option::reads:
      case Option::writes: {
        const RawCode* raw = get_if<RawCode>(statement.instruction);
        if (raw == nullptr) {
          fail("loopy.describe.option", statement.origin,
               "reads() and writes() are for C text: what other statements touch is seen");
        }
        RawCode copy = *raw;
        add_to(option == Option::reads ? copy.reads : copy.writes);
        statement.instruction.kind = std::move(copy);
        break;
      }
    }
  });
}

Statement assign(const std::vector<Value>& targets, const Value& value, SourceOrigin where) {
  const Reduction* scanned = as_scan(value.expr());
  const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(value.expr());
  const bool gives_several =
      reduction != nullptr ? reduction->operands.size() == targets.size() : is<Call>(value.expr());
  if (targets.empty() || (targets.size() > 1 && !gives_several)) {
    fail("loopy.describe.targets", where,
         fmt::format("{} targets take a reduction that gives as many values, such as "
                     "argmax(i, a(i), i), or a call",
                     targets.size()));
  }
  for (const Value& each : targets) {
    if (!is<Name>(each.expr()) && !is<Access>(each.expr()) && !is<LinearAccess>(each.expr())) {
      fail("loopy.describe.targets", where,
           fmt::format("'{}' is not what a statement can assign to: a temporary or an element",
                       to_string(each.expr())));
    }
  }
  return single(Assignment{exprs_of(targets), value.expr()},
                joined(mentions_of(targets), value.mentions()), where);
}

Statement block(const std::vector<Statement>& statements, SourceOrigin where) {
  return Statement(
      std::make_shared<const StatementTree>(group(StatementTree::Kind::block, statements, where)));
}

Statement loop(const Over& inames, const std::vector<Statement>& statements, SourceOrigin where) {
  StatementTree tree = group(StatementTree::Kind::loop, statements, where);
  for (const Iname& each : inames.inames()) {
    tree.inames.emplace(std::string_view(each));
    tree.mentions = joined(tree.mentions, each.mentions());
  }
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Branches when(const Value& condition, const std::vector<Statement>& statements,
              SourceOrigin where) {
  StatementTree tree = group(StatementTree::Kind::branches, statements, where);
  tree.branches.front().condition = condition.expr();
  tree.mentions = condition.mentions();
  return Branches(std::make_shared<const StatementTree>(std::move(tree)));
}

Branches Branches::otherwise_if(const Value& condition,
                                const std::vector<Statement>& statements) const {
  StatementTree copy = tree();
  copy.branches.push_back({condition.expr(), statements});
  copy.mentions = joined(copy.mentions, condition.mentions());
  return Branches(std::make_shared<const StatementTree>(std::move(copy)));
}

Branches Branches::otherwise(const std::vector<Statement>& statements, SourceOrigin where) const {
  StatementTree copy = tree();
  if (!copy.branches.back().condition) {
    fail("loopy.describe.branches", where, "these branches have their 'otherwise' already");
  }
  copy.branches.push_back({std::nullopt, statements});
  return Branches(std::make_shared<const StatementTree>(std::move(copy)));
}

Statement local_barrier(SourceOrigin where) {
  return single(BarrierInstruction{BarrierScope::local}, nullptr, where);
}
Statement global_barrier(SourceOrigin where) {
  return single(BarrierInstruction{BarrierScope::global}, nullptr, where);
}
Statement no_operation(SourceOrigin where) {
  return single(NoOperation{}, nullptr, where);
}

Statement commit_copies(SourceOrigin where) {
  return single(CopyFence{CopyFenceKind::commit, 0}, nullptr, where);
}
Statement wait_for_copies(int open_groups, SourceOrigin where) {
  return single(CopyFence{CopyFenceKind::wait, open_groups}, nullptr, where);
}

Statement c_text(const std::string& text, const std::vector<Value>& parts, SourceOrigin where) {
  RawCode raw{.text = text};
  for (const Value& part : parts) {
    if (!reduction_inames(part.expr()).empty()) {
      fail("loopy.describe.c_text", where,
           "C text cannot have a reduction in it: assign it to a temporary first");
    }
    raw.parts.push_back({part.expr()});
  }
  for (std::size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 1)) {
    const std::size_t end = text.find('}', at);
    const std::string number = text.substr(at + 2, end == std::string::npos ? end : end - at - 2);
    const bool is_number = !number.empty() && number.size() < 6 &&
                           number.find_first_not_of("0123456789") == std::string::npos;
    if (end == std::string::npos || !is_number || std::stoul(number) >= parts.size()) {
      fail("loopy.describe.c_text", where,
           fmt::format("'${{{}' in C text is not a part: there are {}, '${{0}}' is the first",
                       number, parts.size()));
    }
  }
  return single(std::move(raw), mentions_of(parts), where);
}

Statement inline_call(const std::string& callee,
                      const std::vector<std::pair<std::string, Value>>& bindings,
                      SourceOrigin where) {
  StatementTree tree;
  tree.statement.instruction.kind = NoOperation{};
  tree.statement.callee = callee;
  tree.where = where;
  for (const auto& [name, value] : bindings) {
    tree.statement.bindings.emplace_back(name, to_string(value.expr()));
    tree.mentions = joined(tree.mentions, value.mentions());
  }
  return Statement(std::make_shared<const StatementTree>(std::move(tree)));
}

Value axis(int axis) {
  return Expr(Name{fmt::format("_{}", axis)});
}

}  // namespace rtcg::loopy::describe
