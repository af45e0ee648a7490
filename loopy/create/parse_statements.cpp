#include "rtcg/loopy/create/parse_statements.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/cgen/support/trimmed.h"
#include "rtcg/loopy/create/parse_special.h"
#include "rtcg/loopy/create/raw_code.h"
#include "rtcg/loopy/create/split_statements.h"
#include "rtcg/loopy/create/statement_scopes.h"
#include "rtcg/loopy/symbolic/parse_expr.h"
#include "rtcg/loopy/symbolic/scan.h"
#include "rtcg/loopy/symbolic/split_outside_brackets.h"
#include "rtcg/loopy/symbolic/traverse.h"

namespace rtcg::loopy {
namespace {

constexpr const char* syntax = "loopy.parse_statements.syntax";

/// The options of `with` and of the braces after a statement.
struct Options {
  std::vector<std::pair<std::string, std::string>> entries{};
};

/// Whether the text may hold `[k]: a[i, k]` or `a[i, _0]`.
bool has_parts(std::string_view text) {
  if (text.find("_0") != std::string_view::npos) {
    return true;
  }
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    const std::size_t before =
        at == 0 ? std::string_view::npos : text.find_last_not_of(' ', at - 1);
    if (before != std::string_view::npos && text[before] == ']') {
      return true;
    }
  }
  return false;
}

/// Whether the text may hold `p[i].x`.
bool has_fields(std::string_view text) {
  for (std::size_t at = text.find('.'); at != std::string_view::npos; at = text.find('.', at + 1)) {
    const std::size_t after = text.find_first_not_of(' ', at + 1);
    if (after != std::string_view::npos &&
        (std::isalpha(static_cast<unsigned char>(text[after])) != 0 || text[after] == '_')) {
      return true;
    }
  }
  return false;
}

class StatementParser {
 public:
  ParsedStatements run(std::string_view text) {
    const std::vector<StatementLine> lines = split_statements(text);
    lines_ = &lines;
    for (const StatementLine& line : lines) {
      line_ = line.number;
      try {
        parse_line(line.text);
      } catch (const InvalidLine&) {
        throw;
      } catch (const InvalidInput& error) {
        throw InvalidLine(error.code(), line.number, error.message());
      }
    }
    if (const StatementScopes::Scope* open = scopes_.innermost()) {
      fail(fmt::format("'{}' of line {} has no 'end'", open->keyword, open->line));
    }
    result_.statements = scopes_.take();
    result_.may_have_tags = text.find('$') != std::string_view::npos;
    result_.may_have_parts = has_parts(text);
    result_.may_have_fields = has_fields(text);
    return std::move(result_);
  }

 private:
  /// Every word of the text.
  void reserve_words(NameGenerator& names) const {
    const auto is_letter = [](char c) { return is_identifier(std::string{'_', c}); };
    for (const StatementLine& line : *lines_) {
      for (auto begin = line.text.begin(); begin != line.text.end();) {
        begin = std::find_if(begin, line.text.end(), is_letter);
        const auto end = std::find_if_not(begin, line.text.end(), is_letter);
        names.reserve(std::string(begin, end));
        begin = end;
      }
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw InvalidLine(syntax, line_, problem);
  }

  void parse_line(std::string_view text) {
    const std::size_t word_end = std::min(text.find_first_of(" \t({"), text.size());
    const std::string_view word = text.substr(0, word_end);
    const std::string_view rest = trimmed(text.substr(word_end));
    if (word == "for") {
      StatementScopes::Scope scope{.keyword = "for", .line = line_};
      for (const std::string& iname : split_outside_brackets(rest, ',')) {
        if (!is_identifier(iname)) {
          fail(fmt::format("'for' takes inames, found '{}'", iname));
        }
        scope.inames.insert(iname);
      }
      scopes_.open(std::move(scope));
    } else if (word == "with") {
      scopes_.open({.keyword = "with",
                    .line = line_,
                    .options = [this, options = parse_options(rest)](ParsedStatement& statement) {
                      apply(options, statement);
                    }});
    } else if (word == "if" && !rest.empty()) {
      scopes_.open({.keyword = "if", .line = line_, .conditions = {parse_expr(rest)}});
    } else if (word == "elif" || word == "else") {
      if (word == "else" && !rest.empty()) {
        fail("'else' has no condition; with one it is 'elif'");
      }
      next_branch(word == "elif" ? std::optional(parse_expr(rest)) : std::nullopt);
    } else if (text == "end") {
      if (scopes_.innermost() == nullptr) {
        fail("'end' without for, if or with");
      }
      scopes_.close();
    } else {
      parse_statement(text);
    }
  }

  void next_branch(const std::optional<Expr>& condition) {
    const StatementScopes::Scope* scope = scopes_.innermost();
    if (scope == nullptr || scope->keyword != "if") {
      fail("'else' without 'if'");
    }
    if (scope->has_else) {
      fail(fmt::format("the 'if' of line {} has its 'else' already", scope->line));
    }
    scopes_.next_branch(condition);
  }

  Options parse_options(std::string_view text) const {
    if (!text.starts_with("{") || !text.ends_with("}")) {
      fail("options are written in braces: {id=name}");
    }
    Options options{};
    for (const std::string& entry : split_outside_brackets(text.substr(1, text.size() - 2), ',')) {
      if (entry.empty()) {
        continue;
      }
      const std::size_t equals = entry.find('=');
      if (equals == std::string::npos) {
        options.entries.emplace_back(entry, "");
      } else {
        options.entries.emplace_back(trimmed(std::string_view(entry).substr(0, equals)),
                                     trimmed(std::string_view(entry).substr(equals + 1)));
      }
    }
    return options;
  }

  void parse_statement(std::string_view text) {
    ParsedStatement statement;
    statement.line = line_;
    Options own;
    if (text.ends_with("}")) {
      const std::size_t brace = text.rfind('{');
      if (brace == std::string_view::npos) {
        fail("'}' without '{'");
      }
      own = parse_options(text.substr(brace));
      text = trimmed(text.substr(0, brace));
    }
    if (text.starts_with("...") && trimmed(text.substr(3)).starts_with("c ")) {
      statement.instruction.kind = parse_raw_code(trimmed(trimmed(text.substr(3)).substr(1)));
    } else if (text.starts_with("...") && trimmed(text.substr(3)).starts_with("call ")) {
      ParsedCall call = parse_call(trimmed(trimmed(text.substr(3)).substr(4)));
      statement.callee = std::move(call.callee);
      statement.bindings = std::move(call.bindings);
      statement.instruction.kind = NoOperation{};
    } else if (text.starts_with("...")) {
      parse_special(trimmed(text.substr(3)), statement);
    } else if (text.find(":=") != std::string_view::npos) {
      parse_rule(text, own);
      return;
    } else if (!parse_assignment(text, statement)) {
      return;
    }
    statement = scopes_.within_scopes(std::move(statement));
    apply(own, statement);
    apply_nosync(statement);
    if (const RawCode* raw = get_if<RawCode>(statement.instruction)) {
      statement.instruction.kind = with_known_places(*raw);
    }
    scopes_.add(std::move(statement));
  }

  void parse_special(std::string_view word, ParsedStatement& statement) const {
    if (word == "lbarrier") {
      statement.instruction.kind = BarrierInstruction{BarrierScope::local};
    } else if (word == "gbarrier") {
      statement.instruction.kind = BarrierInstruction{BarrierScope::global};
    } else if (word == "last_block") {
      statement.instruction.kind = BarrierInstruction{BarrierScope::global, true};
    } else if (word == "nop") {
      statement.instruction.kind = NoOperation{};
    } else if (const auto fence = parse_copy_fence(word)) {
      statement.instruction.kind = *fence;
    } else {
      fail(
          fmt::format("'... {}' is not a statement: there are lbarrier, gbarrier, last_block, nop, "
                      "call and c",
                      word));
    }
  }

  /// `reads=a:b` and `writes=c` of C text.
  void add_raw_names(Instruction& instruction, const std::string& key,
                     const std::string& names) const {
    const RawCode* old = get_if<RawCode>(instruction);
    if (old == nullptr) {
      fail(fmt::format("'{}' is for C text: what other statements touch is seen", key));
    }
    RawCode raw = *old;
    for (const std::string& each : split_outside_brackets(names, ':')) {
      (key == "reads" ? raw.reads : raw.writes).insert(each);
    }
    instruction.kind = std::move(raw);
  }

  void parse_rule(std::string_view text, const Options& options) {
    TokenReader reader(text, syntax);
    SubstitutionRule rule;
    rule.name = reader.expect_tagged_name("the name of a rule");
    if (reader.accept("(")) {
      if (!reader.accept(")")) {
        do {
          rule.parameters.push_back(reader.expect_name("a parameter"));
        } while (reader.accept(","));
        reader.expect(")");
      }
    }
    reader.expect(":=");
    rule.body = read_expr(reader);
    expect_end(reader);
    for (const auto& [key, value] : options.entries) {
      if (key != "neutral") {
        fail(fmt::format("'{}' is not an option of a rule: there is neutral", key));
      }
      for (const std::string& each : split_outside_brackets(value, ':')) {
        rule.neutral.push_back(parse_expr(each));
      }
    }
    result_.rules.push_back(std::move(rule));
  }

  static void expect_end(const TokenReader& reader) {
    if (!reader.is_at_end()) {
      reader.fail(fmt::format("'{}' does not belong to the statement", reader.peek().text));
    }
  }

  /// Nothing to do at run time where it is but a declaration.
  bool parse_assignment(std::string_view text, ParsedStatement& statement) {
    TokenReader reader(text, syntax);
    Assignment assignment;
    do {
      read_declaration(reader, statement);
      const std::size_t column = reader.peek().column;
      Expr target = read_target(reader);
      if (!is<Name>(target) && !is<Access>(target) && !is<LinearAccess>(target)) {
        reader.fail_at(column, "assigned to is a name or an element such as a[i]");
      }
      assignment.targets.push_back(std::move(target));
    } while (reader.accept(","));
    const Expr first = assignment.targets.front();
    if (const Access* shape = get_if<Access>(first); shape != nullptr && reader.is_at_end() &&
                                                     statement.declared.size() == 1 &&
                                                     assignment.targets.size() == 1) {
      statement.declared.front().shape = shape->indices;
      result_.temporaries.push_back(statement.declared.front());
      return false;
    }
    if (statement.declared.size() == 1 && assignment.targets.size() == 1 && is<Access>(first) &&
        reader.accept("=")) {
      assignment.value = read_expr(reader);
      expect_end(reader);
      if (auto table = parse_table(statement.declared.front(), first, assignment.value)) {
        result_.temporaries.push_back(std::move(*table));
        return false;
      }
    } else if (assignment.targets.size() > 1) {
      reader.expect("=");
      assignment.value = read_expr(reader);
      if (!gives_several(assignment.value, assignment.targets.size())) {
        fail(
            fmt::format("{} targets take a reduction that gives as many values, such as "
                        "argmax(i, a[i], i), or a call",
                        assignment.targets.size()));
      }
    } else if (reader.accept("+=")) {
      assignment.value = first + read_expr(reader);
    } else if (reader.accept("-=")) {
      assignment.value = first - read_expr(reader);
    } else if (reader.accept("*=")) {
      assignment.value = first * read_expr(reader);
    } else if (reader.accept("/=")) {
      assignment.value = first / read_expr(reader);
    } else {
      reader.expect("=");
      assignment.value = read_expr(reader);
    }
    expect_end(reader);
    statement.instruction.kind = std::move(assignment);
    return true;
  }

  /// Whether the value may be as many values; what a call gives is known once all is read.
  static bool gives_several(const Expr& value, std::size_t count) {
    const Reduction* scanned = as_scan(value);
    const Reduction* reduction = scanned != nullptr ? scanned : get_if<Reduction>(value);
    return reduction != nullptr ? reduction->operands.size() == count : is<Call>(value);
  }

  /// `<>` or `<f32>` before a target.
  static void read_declaration(TokenReader& reader, ParsedStatement& statement) {
    std::optional<cgen::Type> type;
    if (reader.accept("<")) {
      const std::size_t column = reader.peek().column;
      const std::string type_name = reader.expect_name("a type");
      type = parse_scalar_type(type_name);
      if (!type) {
        reader.fail_at(column,
                       fmt::format("'{}' is not a type: write f32, f64, i32, ...", type_name));
      }
      reader.expect(">");
    } else if (!reader.accept("<>")) {
      return;
    }
    if (reader.peek().kind != TokenKind::name) {
      reader.fail("the name of a new temporary is missing");
    }
    statement.declared.push_back({.name = reader.peek().text, .type = std::move(type)});
  }

  static Expr read_target(TokenReader& reader) {
    const Token& first = reader.peek();
    if (first.kind != TokenKind::name && first.text != "[") {
      reader.fail("a statement begins with what it assigns to");
    }
    if (first.text.find('$') != std::string::npos) {
      reader.fail("targets of assignments take no tag: tags are for values that are read");
    }
    return read_expr(reader);
  }

  void apply(const Options& options, ParsedStatement& statement) const {
    for (const auto& [key, value] : options.entries) {
      Instruction& instruction = statement.instruction;
      if (key == "id") {
        instruction.id = value;
      } else if (key == "id_prefix") {
        statement.id_prefix = value;
      } else if (key == "dep") {
        const std::vector<std::string> patterns = split_outside_brackets(value, ':');
        statement.dependency_patterns.insert(statement.dependency_patterns.end(), patterns.begin(),
                                             patterns.end());
      } else if (key == "dep_query") {
        statement.dependency_queries.push_back(value);
      } else if (key == "inames") {
        const bool adds = value.starts_with("+");
        NameSet& inames = adds                      ? statement.additional_inames
                          : statement.stated_inames ? *statement.stated_inames
                                                    : statement.stated_inames.emplace();
        for (const std::string& iname : split_outside_brackets(value.substr(adds ? 1 : 0), ':')) {
          if (!iname.empty()) {  // `inames=` alone: within none
            inames.insert(iname);
          }
        }
      } else if (key == "if") {
        instruction.predicates.push_back(parse_expr(value));
      } else if (key == "tags") {
        for (const std::string& tag : split_outside_brackets(value, ':')) {
          instruction.tags.insert(tag);
        }
      } else if (key == "reads" || key == "writes") {
        add_raw_names(instruction, key, value);
      } else if (key == "atomic" || key == "asynchronous") {
        instruction = with_manner(std::move(instruction), key, value);
      } else if (key == "dup") {
        statement.duplicated = parse_duplicates(value);
      } else if (key == "as_function") {
        statement.is_function = true;
      } else if (key == "disjoint") {
        std::vector<Expr>& at = instruction.disjoint_at.emplace();
        for (const std::string& each : split_outside_brackets(value, ':')) {
          if (!each.empty()) {
            at.push_back(parse_expr(each));
          }
        }
      } else if (key == "nosync") {
        statement.without_barrier = split_outside_brackets(value, ':');
      } else if (const auto hint = scheduling_hint(key)) {
        fail(fmt::format("'{}' of Loo.py is not an option: {}", key, *hint));
      } else if (key == "fill") {
        instruction.is_fill = true;
      } else if (key == "exchange_items") {
        instruction.exchanges_items = true;
      } else if (key == "call") {
        instruction.call_site = parse_call_site(value);
      } else {
        fail(fmt::format(
            "'{}' is not an option: there are id, id_prefix, dep, dep_query, inames, dup, "
            "if, tags, reads, writes, atomic, disjoint, asynchronous and as_function",
            key));
      }
    }
  }

  /// What replaces an option of Loo.py that steers its schedule.
  static std::optional<std::string_view> scheduling_hint(std::string_view key) {
    if (key == "priority") {
      return "dep= says which statements come before others, prioritize_loops which loops are "
             "outside";
    }
    if (key == "groups" || key == "conflicts") {
      return "'... gbarrier' or '... lbarrier' keeps statements apart, dep= orders them, "
             "prioritize_loops keeps loops apart";
    }
    if (key == "nosync_query" || key == "mem_kind") {
      return "barriers follow from the elements that threads share; {disjoint} says that the "
             "instances of a statement share none";
    }
    return std::nullopt;
  }

  /// `nosync=a` of statement `a` says that its instances touch different elements.
  void apply_nosync(ParsedStatement& statement) const {
    for (const std::string& each : statement.without_barrier) {
      const std::string id = each.substr(0, each.find('@'));
      if (id != statement.instruction.id) {
        fail(
            fmt::format("'nosync={}' of Loo.py is read only for the statement itself: barriers "
                        "follow from the elements that threads share; {{disjoint}} says that the "
                        "instances of a statement share none",
                        each));
      }
      if (!statement.instruction.disjoint_at) {
        statement.instruction.disjoint_at.emplace();
      }
    }
  }

  ParsedStatements result_;
  const std::vector<StatementLine>* lines_ = nullptr;
  StatementScopes scopes_{[this](NameGenerator& names) { reserve_words(names); }};
  std::size_t line_ = 1;
};

}  // namespace

std::string place_of(const SourceOrigin& origin) {
  const std::string_view file = origin.file;
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), origin.line);
}

std::string place_of(const ParsedStatement& statement) {
  return statement.origin.file == nullptr ? fmt::format("line {}", statement.line)
                                          : place_of(statement.origin);
}

InvalidLine invalid_at(const ParsedStatement& statement, std::string code, std::string problem) {
  return {std::move(code), place_of(statement),
          statement.origin.file == nullptr ? statement.line
                                           : static_cast<std::size_t>(statement.origin.line),
          std::move(problem)};
}

ParsedStatements parse_statements(std::string_view text) {
  return StatementParser().run(text);
}

}  // namespace rtcg::loopy
