// The dependency table of docs/architecture.md, held against the #include lines.
#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/checks/repository.h"

namespace rtcg::checks {
namespace {

struct Rule {
  std::vector<std::string> folders;
  std::vector<std::string> third_party;
};

bool starts_with_any(const std::string& text, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return text.rfind(prefix, 0) == 0; });
}

std::map<std::string, Rule> read_rules() {
  std::map<std::string, Rule> rules;
  for (const std::string& line : lines_of(root() / "tests/checks/layers.txt")) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::size_t semicolon = line.find(';', equals);
    std::string folder;
    std::istringstream(line.substr(0, equals)) >> folder;
    Rule& rule = rules[folder];
    rule.folders.push_back(folder + "/");
    std::istringstream folders(line.substr(equals + 1, semicolon - equals - 1));
    for (std::string name; folders >> name;) {
      rule.folders.push_back(name + "/");
    }
    std::istringstream headers(line.substr(semicolon + 1));
    for (std::string name; headers >> name;) {
      rule.third_party.push_back(name);
    }
  }
  return rules;
}

const Rule* find_rule(const std::map<std::string, Rule>& rules, const std::string& file) {
  const Rule* best = nullptr;
  std::size_t best_length = 0;
  for (const auto& [folder, rule] : rules) {
    if (file.rfind(folder + "/", 0) == 0 && folder.size() >= best_length) {
      best = &rule;
      best_length = folder.size();
    }
  }
  return best;
}

const std::vector<std::string> third_party_headers = {
    "fmt/",      "boost/",   "isl/",   "cuda",   "nvrtc",  "CL/",        "CLI/",
    "nlohmann/", "openssl/", "Eigen/", "gtest/", "gmock/", "benchmark/", "kainjow/"};

TEST(Layers, FollowTheDependencyTable) {
  const auto rules = read_rules();
  const std::regex include(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::size_t checked = 0;
  for (const std::string& file : sources_below("rtcg")) {
    const Rule* rule = find_rule(rules, file);
    const bool is_umbrella = std::count(file.begin(), file.end(), '/') == 1;
    if (is_umbrella) {
      continue;
    }
    ASSERT_NE(rule, nullptr) << file << " lies in no folder that layers.txt knows";
    for (const std::string& line : lines_of(root() / file)) {
      std::smatch found;
      if (!std::regex_search(line, found, include)) {
        continue;
      }
      ++checked;
      const std::string header = found[1];
      if (header.rfind("rtcg/", 0) == 0) {
        EXPECT_TRUE(starts_with_any(header, rule->folders)) << file << " includes " << header;
      } else if (starts_with_any(header, third_party_headers)) {
        EXPECT_TRUE(starts_with_any(header, rule->third_party)) << file << " includes " << header;
        if (file.ends_with(".h") && header.rfind("fmt/", 0) == 0) {
          ADD_FAILURE() << file << " is a header and includes " << header;
        }
      } else {
        EXPECT_EQ(line.find('"'), std::string::npos)
            << file << " includes " << header << " by a path that does not start with rtcg/";
      }
    }
  }
  EXPECT_GT(checked, 20U) << "the scan found hardly any include: is the source folder right?";
}

// Who includes one header of a layer can catch what its functions throw.
TEST(Defect22, TheHeaderOfEachLayerDeclaresTheExceptions) {
  for (const char* header : {"cgen.h", "loopy.h", "runtime.h", "arrays.h", "dg.h"}) {
    EXPECT_NE(read(root() / "rtcg" / header).find("#include \"rtcg/cgen/support/error.h\""),
              std::string::npos)
        << header;
  }
}

TEST(Layers, HeadersHaveNoUsingDirective) {
  for (const std::string& file : sources_below("rtcg")) {
    if (file.ends_with(".h")) {
      EXPECT_EQ(read(root() / file).find("using namespace"), std::string::npos) << file;
    }
  }
}

}  // namespace
}  // namespace rtcg::checks
