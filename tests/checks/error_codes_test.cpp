// Every error code stands in docs/errors.md and is provoked by a test.
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "tests/checks/repository.h"

namespace rtcg::checks {
namespace {

// Three or more lower-case words with dots between, as a string literal.
const std::regex code_literal(R"re("([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){2,})")re");

std::set<std::string> codes_in(const std::vector<std::string>& files) {
  std::set<std::string> codes;
  for (const std::string& file : files) {
    const std::string text = read(root() / file);
    for (std::sregex_iterator it(text.begin(), text.end(), code_literal), end; it != end; ++it) {
      const std::string code = (*it)[1];
      // a code starts with the name of a layer
      for (const char* layer :
           {"cgen.", "loopy.", "runtime.", "arrays.", "distributed.", "dg.", "tools."}) {
        if (code.rfind(layer, 0) == 0) {
          codes.insert(code);
        }
      }
    }
  }
  return codes;
}

std::set<std::string> thrown_codes() {
  std::set<std::string> codes = codes_in(library_sources());
  codes.merge(codes_in(sources_below("tools")));
  return codes;
}

std::set<std::string> documented_codes() {
  std::set<std::string> codes;
  const std::regex row(R"(^\| `([a-z0-9_.]+)` \|)");
  for (const std::string& line : lines_of(root() / "docs/errors.md")) {
    std::smatch found;
    if (std::regex_search(line, found, row)) {
      EXPECT_TRUE(codes.insert(found[1]).second) << found[1] << " stands twice in docs/errors.md";
    }
  }
  return codes;
}

TEST(ErrorCodes, StandInTheDocumentation) {
  const auto documented = documented_codes();
  for (const std::string& code : thrown_codes()) {
    EXPECT_TRUE(documented.count(code)) << code << " is missing in docs/errors.md";
  }
}

TEST(ErrorCodes, InTheDocumentationExist) {
  const auto thrown = thrown_codes();
  for (const std::string& code : documented_codes()) {
    EXPECT_TRUE(code == "internal" || thrown.count(code)) << code << " is thrown nowhere";
  }
}

TEST(ErrorCodes, AreProvokedByATest) {
  std::set<std::string> tested = codes_in(sources_below("tests"));
  const std::regex tools_code(R"(tools\.[a-z_]+\.[a-z_]+)");
  for (const char* script : {"command_line_test.cmake", "reduce_test.cmake"}) {
    const std::string text = read(root() / "tests/tools" / script);
    for (std::sregex_iterator it(text.begin(), text.end(), tools_code), end; it != end; ++it) {
      tested.insert(it->str());
    }
  }
  for (const std::string& code : thrown_codes()) {
    EXPECT_TRUE(tested.count(code)) << "no test provokes " << code;
  }
}

}  // namespace
}  // namespace rtcg::checks
