#include "rtcg/cgen/support/text_buffer.h"

#include <gtest/gtest.h>

namespace rtcg {
namespace {

TEST(TextBuffer, IndentsAndRecordsOrigins) {
  TextBuffer buffer;
  buffer.line("{", {"a.cpp", 1});
  buffer.indent();
  buffer.line("x;  ", {"a.cpp", 2});
  buffer.blank_line();
  buffer.outdent();
  EXPECT_EQ(buffer.next_line_number(), 4U);
  buffer.line("}", {"a.cpp", 3});
  const SourceText text = buffer.take();
  EXPECT_EQ(text.text, "{\n  x;\n\n}\n");
  ASSERT_EQ(text.origins.size(), 4U);
  EXPECT_EQ(text.origins[1].line, 2U);
  EXPECT_EQ(text.origins[2].line, 0U);
}

TEST(TextBuffer, AppendsNumbersAndGrowsAsNeeded) {
  TextBuffer buffer;
  std::string expected;
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1234}, ~std::uint64_t{0}}) {
    buffer.begin_line_at(number == 1234 ? 5000 : 3, {});
    buffer.append(number);
    buffer.append(std::string(5000, 'x'));
    buffer.end_line();
    expected += std::string(number == 1234 ? 5000 : 3, ' ') + std::to_string(number) +
                std::string(5000, 'x') + "\n";
  }
  EXPECT_EQ(buffer.column(), 0U);
  EXPECT_EQ(buffer.take().text, expected);
  EXPECT_EQ(buffer.take().text, "") << "nothing is left";
}

std::string wrapped(std::size_t columns, std::string_view continuation = {}) {
  TextBuffer buffer(columns);
  buffer.indent();
  buffer.begin_line();
  buffer.append("f(");
  for (const char* argument : {"aaaa", "g(bbbb, cccc)", "dddd"}) {
    for (const char* c = argument; *c != '\0'; ++c) {
      buffer.append(*c);
      if (*c == ' ') {
        buffer.allow_break(2);
      }
    }
    if (argument[0] != 'd') {
      buffer.append(", ");
      buffer.allow_break(1);
    }
  }
  buffer.append(");");
  buffer.end_line(continuation);
  return buffer.take().text;
}

TEST(TextBuffer, BreaksAtTheLeastDepthThatFits) {
  EXPECT_EQ(wrapped(100), "  f(aaaa, g(bbbb, cccc), dddd);\n");
  EXPECT_EQ(wrapped(31), "  f(aaaa, g(bbbb, cccc), dddd);\n");
  EXPECT_EQ(wrapped(30), "  f(aaaa, g(bbbb, cccc),\n      dddd);\n");
  EXPECT_EQ(wrapped(23), "  f(aaaa,\n      g(bbbb, cccc),\n      dddd);\n");
  EXPECT_EQ(wrapped(16), "  f(aaaa,\n      g(bbbb,\n      cccc),\n      dddd);\n");
}

TEST(TextBuffer, NeverCutsAStretchWithoutBreaks) {
  TextBuffer buffer(10);
  buffer.begin_line();
  buffer.append("a_very_long_name + ");
  buffer.allow_break(0);
  buffer.append("another_long_name");
  buffer.end_line();
  EXPECT_EQ(buffer.take().text, "a_very_long_name +\n    another_long_name\n");
}

TEST(TextBuffer, EndsBrokenMacroLinesWithABackslash) {
  EXPECT_EQ(wrapped(30, "\\"), "  f(aaaa, g(bbbb, cccc), \\\n      dddd);\n");
}

TEST(TextBuffer, KeepsVerbatimLines) {
  TextBuffer buffer;
  buffer.indent();
  buffer.verbatim("a\n  b\n\nc");
  EXPECT_EQ(buffer.take().text, "a\n  b\n\nc\n");
}

}  // namespace
}  // namespace rtcg
