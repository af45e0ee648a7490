#include "rtcg/loopy/create/parse_statements.h"

#include <gtest/gtest.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/symbolic/invalid_line.h"
#include "rtcg/loopy/symbolic/print_expr.h"
#include "tests/support/expect_error.h"

namespace rtcg::loopy {
namespace {

/// One line a statement, with its predicates.
std::string listing(std::string_view text) {
  std::string lines;
  for (const ParsedStatement& statement : parse_statements(text).statements) {
    lines += to_string(statement.instruction);
    for (const Expr& predicate : statement.instruction.predicates) {
      lines += " | " + to_string(predicate);
    }
    lines += "\n";
  }
  return lines;
}

ParsedStatement only(std::string_view text) {
  const ParsedStatements parsed = parse_statements(text);
  EXPECT_EQ(parsed.statements.size(), 1U);
  return parsed.statements.at(0);
}

TEST(ParseStatements, SaysInWhichLineAMistakeIs) {
  try {
    static_cast<void>(parse_statements("out[i] = 2*a[i]\n\nb[i] = (i {id=x}"));
    FAIL() << "expected an error";
  } catch (const InvalidLine& error) {
    EXPECT_EQ(error.line(), 3U);
    EXPECT_EQ(error.message(), "line 3: " + error.problem());
  }
}

TEST(ParseStatements, ReadsAssignmentsByLineAndSemicolon) {
  EXPECT_EQ(listing("# a comment\n"
                    "out[i] = 2*a[i]; b[i, j] = f(i,\n"
                    "   j)  # goes on within the parenthesis\n"
                    "\n"
                    "x[[i]] = 1 + \\\n"
                    "  2*i\n"),
            "out[i] = 2*a[i]\n"
            "b[i, j] = f(i, j)\n"
            "x[[i]] = 1 + 2*i\n");
}

TEST(ParseStatements, WritesUpdatesOut) {
  EXPECT_EQ(listing("a[i] += b[i]; a[i] -= b[i]*c; a[i] *= 2; a[i] /= 2"),
            "a[i] = a[i] + b[i]\n"
            "a[i] = a[i] - b[i]*c\n"
            "a[i] = a[i]*2\n"
            "a[i] = a[i] / 2\n");
}

TEST(ParseStatements, DeclaresTemporaries) {
  const ParsedStatement inferred = only("<> t = a[i]");
  ASSERT_EQ(inferred.declared.size(), 1U);
  EXPECT_EQ(inferred.declared[0].name, "t");
  EXPECT_FALSE(inferred.declared[0].type.has_value());
  const ParsedStatement typed = only("<float32> v, <i32> p = argmax(i, a[i], i)");
  ASSERT_EQ(typed.declared.size(), 2U);
  EXPECT_TRUE(*typed.declared[0].type == cgen::f32);
  EXPECT_TRUE(*typed.declared[1].type == cgen::i32);
  EXPECT_EQ(to_string(typed.instruction), "v, p = argmax(i, a[i], i)");
}

TEST(ParseStatements, ReadsRules) {
  const ParsedStatements parsed = parse_statements("f(x, y) := x*y\nhalf := 1 / 2");
  ASSERT_EQ(parsed.rules.size(), 2U);
  EXPECT_EQ(parsed.rules[0].parameters, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(to_string(parsed.rules[0].body), "x*y");
  EXPECT_EQ(parsed.rules[1].name, "half");
  EXPECT_TRUE(parsed.statements.empty());
}

TEST(ParseStatements, ReadsOptions) {
  const ParsedStatement statement =
      only("a[i] = 1 {id=first, dep=x:y*, inames=i:j, if=max(i, j) > 2, tags=t:u, atomic}");
  EXPECT_EQ(statement.instruction.id, "first");
  EXPECT_EQ(statement.dependency_patterns, (std::vector<std::string>{"x", "y*"}));
  EXPECT_EQ(*statement.stated_inames, (NameSet{"i", "j"}));
  EXPECT_EQ(to_string(statement.instruction.predicates.at(0)), "max(i, j) > 2");
  EXPECT_EQ(statement.instruction.tags, (NameSet{"t", "u"}));
  EXPECT_TRUE(get_if<Assignment>(statement.instruction)->is_atomic);
  EXPECT_EQ(only("a[i] = 1 {dep_query=tag:x and not id:y*}").dependency_queries,
            std::vector<std::string>{"tag:x and not id:y*"});
  EXPECT_EQ(only("a[i] = 1 {inames=+j}").additional_inames, NameSet{"j"});
  EXPECT_EQ(only("a[i] = 1 {id_prefix=set}").id_prefix, "set");
}

TEST(ParseStatements, SharesOptionsAndLoopsOfScopes) {
  const ParsedStatements parsed = parse_statements(
      "with {tags=t, id_prefix=p}\n"
      "  for i, j\n"
      "    a[0] = 1\n"
      "  end\n"
      "  b[0] = 2 {tags=u}\n"
      "end\n"
      "c[0] = 3");
  ASSERT_EQ(parsed.statements.size(), 3U);
  EXPECT_EQ(parsed.statements[0].for_inames, (NameSet{"i", "j"}));
  EXPECT_EQ(parsed.statements[0].id_prefix, "p");
  EXPECT_EQ(parsed.statements[1].for_inames, NameSet{});
  EXPECT_EQ(parsed.statements[1].instruction.tags, (NameSet{"t", "u"}));
  EXPECT_EQ(parsed.statements[2].instruction.tags, NameSet{});
  EXPECT_EQ(parsed.statements[2].line, 7U);
}

TEST(ParseStatements, TurnsBranchesIntoPredicates) {
  EXPECT_EQ(listing("if i < n\n"
                    "  a[i] = 1\n"
                    "  if j > 2\n"
                    "    b[i] = 2\n"
                    "  end\n"
                    "elif i == n\n"
                    "  a[i] = 3\n"
                    "else\n"
                    "  a[i] = 4\n"
                    "end\n"
                    "a[0] = 5"),
            "a[i] = 1 | i < n\n"
            "b[i] = 2 | i < n | j > 2\n"
            "a[i] = 3 | not i < n | i == n\n"
            "a[i] = 4 | not i < n | not i == n\n"
            "a[0] = 5\n");
}

TEST(ParseStatements, KeepsConditionsThatTheBodyChanges) {
  EXPECT_EQ(listing("if a[i] < 0\n"
                    "  a[i] = -a[i]\n"
                    "  b[i] = 1\n"
                    "elif a[i] < condition\n"
                    "  b[i] = 2\n"
                    "else\n"
                    "  b[i] = 3\n"
                    "end"),
            "condition_1 = a[i] < 0\n"
            "condition_2 = a[i] < condition | not condition_1\n"
            "a[i] = -a[i] | condition_1\n"
            "b[i] = 1 | condition_1\n"
            "b[i] = 2 | not condition_1 | condition_2\n"
            "b[i] = 3 | not condition_1 | not condition_2\n");
}

TEST(ParseStatements, ReadsBarriers) {
  EXPECT_EQ(listing("... lbarrier\n... gbarrier {id=g}\n... nop"),
            "... lbarrier\n... gbarrier\n... nop\n");
}

TEST(ParseStatements, RefusesWhatIsNoStatement) {
  for (const char* text : {"a[i]",
                           "a[i] =",
                           "2 = a[i]",
                           "a[i] + 1 = 2",
                           "= 2",
                           "a[i] = 2 3",
                           "end",
                           "else",
                           "elif i",
                           "for i\na[i] = 1",
                           "for 2\nend",
                           "if i\nelse\nelse\nend",
                           "if i\nelse j\nend",
                           "with i\nend",
                           "a[i] = 1 {colour=red}",
                           "a[i] = 1}",
                           "... barrier",
                           "<word> t = 1",
                           "<> = 1",
                           "f(2) := 1",
                           "a, b = 1",
                           "a, b = sum(i, x[i])",
                           "... nop {atomic}",
                           "a[i] = (1"}) {
    SCOPED_TRACE(text);
    try {
      static_cast<void>(parse_statements(text));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidInput& error) {
      EXPECT_TRUE(error.code() == "loopy.parse_statements.syntax") << error.what();
      EXPECT_TRUE(error.message().starts_with("line ")) << error.what();
    }
  }
  EXPECT_ERROR("loopy.parse_expr.syntax", parse_statements("a[i] = 1 {if=i >}"));
}

TEST(ParseStatements, NamesTheLine) {
  try {
    static_cast<void>(parse_statements("a[i] = 1\n\nb[i] = 2*"));
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.message(),
              "line 3: expected a value, found the end at column 10\n"
              "  b[i] = 2*\n"
              "           ^");
  }
}

TEST(ParseStatements, RefusesTablesThatAreNone) {
  EXPECT_ERROR("loopy.parse_statements.syntax", parse_statements("<f32> w[3] = table(1, 2)"));
  EXPECT_ERROR("loopy.parse_statements.syntax", parse_statements("<f32> w[n] = table(1, 2)"));
  EXPECT_ERROR("loopy.parse_statements.syntax", parse_statements("... nop {asynchronous}"));
  EXPECT_ERROR("loopy.parse_statements.syntax",
               parse_statements("... wait for copies, but for x groups"));
}

}  // namespace
}  // namespace rtcg::loopy
