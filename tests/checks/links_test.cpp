// Every link between pages leads to a file, and to a place in it.
#include <cctype>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "tests/checks/repository.h"

namespace rtcg::checks {
namespace {

std::vector<std::filesystem::path> linking_pages() {
  std::vector<std::filesystem::path> pages;
  for (const char* folder : {".", "docs", "docs/performance", "docs/transforms"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root() / folder)) {
      if (entry.path().extension() == ".md") {
        pages.push_back(entry.path());
      }
    }
  }
  std::sort(pages.begin(), pages.end());
  return pages;
}

/// The lines of a page that are not code.
std::vector<std::string> prose_of(const std::filesystem::path& page) {
  std::vector<std::string> prose;
  bool is_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.rfind("```", 0) == 0) {
      is_code = !is_code;
    } else if (!is_code) {
      prose.push_back(line);
    }
  }
  return prose;
}

/// What a heading is called in a link: `## No C compiler` is `no-c-compiler`.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find(' ') + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const std::filesystem::path& page) {
  std::set<std::string> anchors;
  const std::regex stated("<a id=\"([^\"]+)\">");
  for (const std::string& line : prose_of(page)) {
    if (line.rfind('#', 0) == 0) {
      anchors.insert(anchor_of(line));
    }
    for (std::sregex_iterator it(line.begin(), line.end(), stated), end; it != end; ++it) {
      anchors.insert((*it)[1]);
    }
  }
  return anchors;
}

TEST(Links, OfPagesLeadToAPlace) {
  const std::regex link(R"(\]\(([^)#\s]*)(?:#([^)\s]*))?\))");
  std::size_t count = 0;
  for (const std::filesystem::path& page : linking_pages()) {
    for (const std::string& line : prose_of(page)) {
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
        const std::string path = (*it)[1];
        const std::string anchor = (*it)[2];
        if (path.rfind("http", 0) == 0) {
          continue;
        }
        ++count;
        const std::filesystem::path target = path.empty() ? page : page.parent_path() / path;
        ASSERT_TRUE(std::filesystem::exists(target)) << page << " links to '" << path << "'";
        EXPECT_TRUE(anchor.empty() || anchors_of(target).count(anchor) != 0)
            << page << " links to '" << path << "#" << anchor << "'";
      }
    }
  }
  EXPECT_GT(count, 100U);
}

}  // namespace
}  // namespace rtcg::checks
