#include "rtcg/loopy/create/describe.h"

#include <map>

#include <fmt/format.h>

#include "rtcg/cgen/support/name_generator.h"
#include "rtcg/loopy/create/declaration.h"
#include "rtcg/loopy/create/kernel_parts.h"
#include "rtcg/loopy/create/raw_code.h"
#include "rtcg/loopy/create/statement_scopes.h"
#include "rtcg/loopy/kernel/parse_domain.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy::describe {
namespace {

bool same_meaning(const Declaration& left, const Declaration& right) {
  const auto same_type = [](const std::optional<Type>& l, const std::optional<Type>& r) {
    return l.has_value() == r.has_value() && (!l || l->hash() == r->hash());
  };
  const Argument& a = left.argument;
  const Argument& b = right.argument;
  const Temporary& s = left.temporary;
  const Temporary& t = right.temporary;
  return left.kind == right.kind && same_type(a.type, b.type) && a.shape == b.shape &&
         a.strides_elements == b.strides_elements && a.offset_elements == b.offset_elements &&
         a.address_space == b.address_space && a.image_reads == b.image_reads &&
         a.field_of == b.field_of && same_type(s.type, t.type) && s.shape == t.shape &&
         s.address_space == t.address_space && s.initial_values == t.initial_values &&
         left.rule.parameters == right.rule.parameters && left.rule.body == right.rule.body &&
         left.rule.neutral == right.rule.neutral;
}

std::string_view spelling_of(DeclarationKind kind) {
  constexpr std::string_view words[] = {"an iname", "a parameter", "an array", "a temporary",
                                        "a rule"};
  return words[static_cast<int>(kind)];
}

/// Whether the user said more of an argument than its name.
bool is_stated(const Declaration& declaration) {
  const Argument& argument = declaration.argument;
  return argument.type || !argument.shape.empty() || argument.address_space != AddressSpace::global;
}

void refuse_division_by_zero(const Expr& expr, const SourceOrigin& where) {
  const auto check = [&](const Expr& part, const Expr& denominator) {
    if (as_integer(denominator) == 0) {
      fail("loopy.describe.division_by_zero", where,
           fmt::format("division by zero in '{}'", to_string(part)));
    }
  };
  walk(expr, [&](const Expr& part) {
    if (const Quotient* quotient = get_if<Quotient>(part)) {
      check(part, quotient->denominator);
    } else if (const FloorDiv* division = get_if<FloorDiv>(part)) {
      check(part, division->denominator);
    } else if (const Modulo* remainder = get_if<Modulo>(part)) {
      check(part, remainder->denominator);
    }
    return true;
  });
}

/// The meanings of names, in the order of their first use.
class Names {
 public:
  void add(const Mentions& mentions, const SourceOrigin& where) {
    if (mentions != nullptr) {
      for (const DeclarationPointer& each : *mentions) {
        add(each, where);
      }
    }
  }
  void add(const DeclarationPointer& declaration, const SourceOrigin& where) {
    const auto [known, is_new] = by_name_.emplace(declaration->name, declaration);
    if (is_new) {
      all_.push_back(declaration);
      add(declaration->mentions, where);
    } else if (known->second != declaration && !same_meaning(*known->second, *declaration)) {
      const SourceOrigin& first = known->second->where;
      fail("loopy.describe.two_meanings", where,
           fmt::format("'{}' is {} here and {} {}: give one of them another name, or describe it "
                       "once",
                       declaration->name, spelling_of(declaration->kind),
                       spelling_of(known->second->kind),
                       first.file == nullptr ? "elsewhere" : "at " + place_of(first)));
    }
  }
  [[nodiscard]] const Declaration* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
  }
  [[nodiscard]] const std::vector<DeclarationPointer>& all() const { return all_; }

 private:
  std::map<std::string, DeclarationPointer, std::less<>> by_name_;
  std::vector<DeclarationPointer> all_;
};

}  // namespace

struct Description::Parts {
  struct Added {
    std::optional<Statement> statement{};
    SourceOrigin where{};
  };
  struct Bound {
    Mentions mentions{};
    SourceOrigin where{};
  };
  SourceOrigin where{};
  KernelParts kernel{};  // all but statements and arguments
  std::vector<Bound> bounds{};
  std::vector<Listed> listed{};
  std::vector<DeclarationPointer> rules{};
  std::vector<Added> statements{};
  std::vector<Kernel> callees{};

  [[nodiscard]] bool has_iname(const std::string& name) const {
    return std::any_of(kernel.domains.begin(), kernel.domains.end(), [&](const Domain& domain) {
      return std::find(domain.inames.begin(), domain.inames.end(), name) != domain.inames.end();
    });
  }
  void add_domain(std::vector<std::string> inames, const Value& condition, SourceOrigin origin) {
    refuse_division_by_zero(condition.expr(), origin);
    kernel.domains.push_back(
        located(origin, [&] { return to_domain(std::move(inames), condition.expr()); }));
    bounds.push_back({condition.mentions(), origin});
  }
};

namespace {

/// From what was described to what make_kernel takes.
class PartsMaker {
 public:
  PartsMaker(Names& names, const std::function<bool(const std::string&)>& has_iname)
      : names_(names), has_iname_(has_iname) {}

  void add(const Statement& statement, const SourceOrigin& where) { put(statement.tree(), where); }

  /// Statements, temporaries and rules, those of `rules` first.
  ParsedStatements take(const std::vector<DeclarationPointer>& rules) {
    ParsedStatements parsed;
    parsed.statements = scopes_.take();
    for (const DeclarationPointer& each : rules) {
      parsed.rules.push_back(each->rule);
    }
    for (const DeclarationPointer& each : names_.all()) {
      const Temporary& temporary = each->temporary;
      if (each->kind == DeclarationKind::rule &&
          std::find(rules.begin(), rules.end(), each) == rules.end()) {
        parsed.rules.push_back(each->rule);
      } else if (each->kind == DeclarationKind::temporary && !temporary.shape.empty()) {
        parsed.temporaries.push_back(temporary);
      } else if (each->kind == DeclarationKind::temporary && declared_.count(each->name) == 0) {
        fail("loopy.describe.unassigned", each->where,
             fmt::format("temporary '{}' is used, but no statement assigns to it", each->name));
      }
    }
    return parsed;
  }

 private:
  void put(const StatementTree& tree, const SourceOrigin& outer) {
    const SourceOrigin where = tree.where.file == nullptr ? outer : tree.where;
    names_.add(tree.mentions, where);
    refuse_unbound_inames(tree.mentions, where);
    if (tree.kind == StatementTree::Kind::single) {
      put_single(tree, where);
      return;
    }
    scopes_.open({.keyword = "with", .options = [&tree](ParsedStatement& statement) {
                    for (const auto& option : tree.options) {
                      option(statement);
                    }
                  }});
    if (tree.kind == StatementTree::Kind::loop) {
      scopes_.open({.keyword = "for", .inames = tree.inames});
    } else if (tree.kind == StatementTree::Kind::branches) {
      scopes_.open({.keyword = "if", .origin = where, .conditions = {*tree.branches[0].condition}});
    }
    for (std::size_t i = 0; i < tree.branches.size(); ++i) {
      if (i > 0) {
        scopes_.next_branch(tree.branches[i].condition);
      }
      for (const Statement& each : tree.branches[i].statements) {
        put(each.tree(), where);
      }
    }
    if (tree.kind != StatementTree::Kind::block) {
      scopes_.close();
    }
    scopes_.close();
  }

  void put_single(const StatementTree& tree, const SourceOrigin& where) {
    ParsedStatement statement = tree.statement;
    statement.origin = where;
    statement.line = ++count_;
    statement = scopes_.within_scopes(std::move(statement));
    for (const auto& option : tree.options) {
      option(statement);
    }
    if (const RawCode* raw = get_if<RawCode>(statement.instruction)) {
      statement.instruction.kind = with_known_places(*raw);
    }
    for_each_expression(statement.instruction, [&](const Expr& expr) {
      refuse_division_by_zero(expr, where);
      refuse_another_rank(expr, where);
    });
    NameSet written = written_variables(statement.instruction);
    if (!statement.callee.empty() && tree.mentions != nullptr) {
      for (const DeclarationPointer& each : *tree.mentions) {
        written.insert(each->name);
      }
    }
    declare(written, statement);
    scopes_.add(std::move(statement));
  }

  /// The first statement that assigns to a temporary without a stated shape declares it.
  void declare(const NameSet& written, ParsedStatement& statement) {
    const auto add = [&](const std::string& name) {
      const Declaration* declaration = names_.find(name);
      if (declaration != nullptr && declaration->kind == DeclarationKind::temporary &&
          declaration->temporary.shape.empty() && declared_.insert(name).second) {
        statement.declared.push_back(declaration->temporary);
      }
    };
    for (const Expr& target : targets_of(statement.instruction)) {
      add(target_name(target));
    }
    for (const std::string& name : written) {
      add(name);
    }
  }

  /// All accesses give an array as many indices as the first one.
  void refuse_another_rank(const Expr& expr, const SourceOrigin& where) {
    walk(expr, [&](const Expr& part) {
      if (const Access* access = get_if<Access>(part)) {
        const std::string array = access->array.substr(0, access->array.find('$'));
        const auto first = ranks_.emplace(array, access->indices.size()).first;
        if (first->second != access->indices.size()) {
          fail("loopy.describe.index_count", where,
               fmt::format("'{}' has {} here and {} in an earlier access", to_string(part),
                           access->indices.size() == 1
                               ? "1 index"
                               : fmt::format("{} indices", access->indices.size()),
                           first->second));
        }
      }
      return true;
    });
  }

  void refuse_unbound_inames(const Mentions& mentions, const SourceOrigin& where) const {
    if (mentions == nullptr) {
      return;
    }
    for (const DeclarationPointer& each : *mentions) {
      if (each->kind == DeclarationKind::iname && !has_iname_(each->name)) {
        fail("loopy.describe.unbound_iname", where,
             fmt::format("no domain bounds iname '{}': add .domain(0 <= {} && ...)", each->name,
                         each->name));
      }
      refuse_unbound_inames(each->mentions, where);
    }
  }

  Names& names_;
  const std::function<bool(const std::string&)>& has_iname_;
  StatementScopes scopes_{[this](NameGenerator& names) {
    for (const DeclarationPointer& each : names_.all()) {
      names.reserve(each->name);
    }
  }};
  NameSet declared_;
  std::map<std::string, std::size_t> ranks_;
  std::size_t count_ = 0;
};

}  // namespace

Description::Description(std::string name, SourceOrigin where) : parts_(new Parts) {
  parts_->where = where;
  parts_->kernel.name = std::move(name);
}
Description::~Description() = default;
Description::Description(const Description& other) : parts_(new Parts(*other.parts_)) {}

Description& Description::domain(const Value& condition, SourceOrigin where) {
  std::vector<std::string> inames;
  if (condition.mentions() != nullptr) {
    for (const DeclarationPointer& each : *condition.mentions()) {
      if (each->kind == DeclarationKind::iname && !parts_->has_iname(each->name)) {
        inames.push_back(each->name);
      }
    }
  }
  if (inames.empty()) {
    fail("loopy.describe.no_iname", where,
         fmt::format("'{}' bounds no iname that an earlier domain has not: facts about parameters "
                     "are for assume()",
                     to_string(condition.expr())));
  }
  parts_->add_domain(std::move(inames), condition, where);
  return *this;
}

Description& Description::domain(const Over& inames, const Value& condition, SourceOrigin where) {
  std::vector<std::string> names;
  for (const Iname& each : inames.inames()) {
    const std::string name(std::string_view{each});
    if (parts_->has_iname(name) || std::find(names.begin(), names.end(), name) != names.end()) {
      fail("loopy.parse_domain.duplicate_iname", where,
           fmt::format("iname '{}' belongs to two domains: give one of them another name", name));
    }
    names.push_back(name);
  }
  parts_->add_domain(std::move(names), condition, where);
  return *this;
}

Description& Description::arguments(const std::vector<Listed>& arguments) {
  parts_->listed.insert(parts_->listed.end(), arguments.begin(), arguments.end());
  return *this;
}

Description& Description::type(const Type& type) {
  parts_->kernel.default_type = type;
  return *this;
}

Description& Description::assume(const Value& condition, SourceOrigin where) {
  refuse_division_by_zero(condition.expr(), where);
  parts_->kernel.assumptions.add(located(where, [&] { return to_constraints(condition.expr()); }));
  parts_->bounds.push_back({condition.mentions(), where});
  return *this;
}

Description& Description::fix(const Param& parameter, std::int64_t value) {
  parts_->kernel.fixed_parameters[std::string(std::string_view(parameter))] = value;
  return *this;
}

Description& Description::sequential() {
  parts_->kernel.sequential_dependencies = true;
  return *this;
}

Description& Description::function(TypedFunction function) {
  parts_->kernel.functions.functions.push_back(std::move(function));
  return *this;
}

Description& Description::preamble(Preamble preamble) {
  parts_->kernel.functions.preambles.push_back(std::move(preamble));
  return *this;
}

Description& Description::callee(Kernel kernel) {
  parts_->callees.push_back(std::move(kernel));
  return *this;
}

Description& Description::add(const Statement& statement, SourceOrigin where) {
  parts_->statements.push_back({statement, where});
  return *this;
}

Description& Description::add(const Rule& rule) {
  parts_->rules.push_back(rule.declaration_);
  return *this;
}

Kernel Description::make() const {
  Names names;
  for (const Parts::Bound& each : parts_->bounds) {
    names.add(each.mentions, each.where);
  }
  KernelParts kernel = parts_->kernel;
  for (const Listed& each : parts_->listed) {
    names.add(each.declaration(), parts_->where);
    kernel.arguments.push_back(each.declaration()->argument);
  }
  for (const DeclarationPointer& each : parts_->rules) {
    names.add(each, parts_->where);
  }
  const std::function<bool(const std::string&)> has_iname = [this](const std::string& name) {
    return parts_->has_iname(name);
  };
  PartsMaker maker(names, has_iname);
  for (const Parts::Added& each : parts_->statements) {
    maker.add(*each.statement, each.where);
  }
  kernel.statements = maker.take(parts_->rules);
  for (const DeclarationPointer& each : names.all()) {
    const bool is_listed =
        std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                    [&](const Argument& argument) { return argument.name == each->name; });
    const bool is_argument =
        each->kind == DeclarationKind::array || each->kind == DeclarationKind::parameter;
    if (is_argument && !is_listed && is_stated(*each)) {
      kernel.arguments.push_back(each->argument);
    }
  }
  try {
    return make_kernel_of_parts(std::move(kernel), parts_->callees);
  } catch (const InvalidLine&) {
    throw;  // has the place of the statement
  } catch (const InvalidInput& error) {
    throw InvalidInput(error.code(), message_at(parts_->where, error.message()));
  } catch (const Unsupported& error) {
    throw Unsupported(error.code(), message_at(parts_->where, error.message()));
  }
}

}  // namespace rtcg::loopy::describe
