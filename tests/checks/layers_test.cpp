// The dependency table of docs/architecture.md, held against the #include lines.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
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
    rule.folders.push_back(folder);
    std::istringstream folders(line.substr(equals + 1, semicolon - equals - 1));
    for (std::string name; folders >> name;) {
      rule.folders.push_back(name);
    }
    std::istringstream headers(line.substr(semicolon + 1));
    for (std::string name; headers >> name;) {
      rule.third_party.push_back(name);
    }
  }
  return rules;
}

/// The longest folder of the table that `file` is in; empty if there is none.
std::string folder_of(const std::map<std::string, Rule>& rules, const std::string& file) {
  std::string best;
  for (const auto& [folder, rule] : rules) {
    if (file.starts_with(folder + "/") && folder.size() > best.size()) {
      best = folder;
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
  std::set<std::pair<std::string, std::string>> used;
  for (const std::string& file : library_sources()) {
    const std::string folder = folder_of(rules, file);
    ASSERT_NE(folder, "") << file << " is in no folder that layers.txt knows";
    const Rule& rule = rules.at(folder);
    const std::string layer = file.substr(0, file.find('/'));
    if (file == layer + "/" + layer + ".h") {
      continue;  // the header for programs, of the whole layer
    }
    for (const std::string& line : lines_of(root() / file)) {
      std::smatch found;
      if (!std::regex_search(line, found, include)) {
        continue;
      }
      ++checked;
      const std::string header = found[1];
      if (header.starts_with("rtcg/")) {
        const std::string other = folder_of(rules, header.substr(5));
        used.emplace(folder, other);
        EXPECT_TRUE(std::find(rule.folders.begin(), rule.folders.end(), other) !=
                    rule.folders.end())
            << file << " includes " << header << ": " << folder << " may not include " << other;
      } else if (starts_with_any(header, third_party_headers)) {
        EXPECT_TRUE(starts_with_any(header, rule.third_party)) << file << " includes " << header;
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
  for (const auto& [folder, rule] : rules) {
    for (const std::string& other : rule.folders) {
      EXPECT_TRUE(other == folder || used.contains({folder, other}))
          << "layers.txt allows " << folder << " to include " << other << ", which no file does";
    }
  }
}

/// An `#include` line: the file that has it, and the header that it names.
using Include = std::pair<std::string, std::string>;
/// For each folder the folders that its files include, with one line for each.
using FolderGraph = std::map<std::string, std::map<std::string, Include>>;

FolderGraph folder_graph() {
  const auto folder = [](const std::string& file) { return file.substr(0, file.rfind('/')); };
  const std::regex include("^#include \"rtcg/([^\"]+/[^\"]+)\"");
  FolderGraph graph;
  for (const std::string& file : library_sources()) {
    const std::string layer = file.substr(0, file.find('/'));
    if (file == layer + "/" + layer + ".h") {
      continue;  // the header for programs, of the whole layer
    }
    for (const std::string& line : lines_of(root() / file)) {
      std::smatch found;
      if (std::regex_search(line, found, include) && folder(found[1]) != folder(file)) {
        graph[folder(file)].emplace(folder(found[1]), Include(file, found[1]));
      }
    }
  }
  return graph;
}

/// The includes that lead from `path.back()` to a folder of the path again; empty if none do.
std::vector<Include> find_circle(const FolderGraph& graph, std::vector<std::string>& path,
                                 std::set<std::string>& done) {
  const std::string folder = path.back();
  const auto edges = graph.find(folder);
  if (edges == graph.end() || done.contains(folder)) {
    return {};
  }
  for (const auto& [next, include] : edges->second) {
    const auto again = std::find(path.begin(), path.end(), next);
    if (again != path.end()) {
      std::vector<Include> circle;
      for (auto each = again; std::next(each) != path.end(); ++each) {
        circle.push_back(graph.at(*each).at(*std::next(each)));
      }
      circle.push_back(include);
      return circle;
    }
    path.push_back(next);
    std::vector<Include> circle = find_circle(graph, path, done);
    path.pop_back();
    if (!circle.empty()) {
      return circle;
    }
  }
  done.insert(folder);
  return {};
}

// Folders can be read, and built, in an order in which each uses those before it only.
TEST(Layers, FoldersDoNotIncludeEachOtherInCircles) {
  const FolderGraph graph = folder_graph();
  EXPECT_GT(graph.size(), 30U) << "the scan found few folders";
  std::set<std::string> done;
  for (const auto& [folder, edges] : graph) {
    std::vector<std::string> path = {folder};
    std::string lines;
    for (const auto& [file, header] : find_circle(graph, path, done)) {
      lines += "  " + file + " includes " + header + "\n";
    }
    ASSERT_EQ(lines, "") << "a circle of folders";
  }
}

// Who includes one header of a layer can catch what its functions throw.
TEST(Defect22, TheHeaderOfEachLayerDeclaresTheExceptions) {
  for (const std::string header :
       {"cgen.h", "loopy.h", "runtime.h", "arrays.h", "distributed.h", "dg.h"}) {
    EXPECT_NE(read(root() / header.substr(0, header.size() - 2) / header)
                  .find("#include \"rtcg/cgen/support/error.h\""),
              std::string::npos)
        << header;
  }
}

// An installed header that includes one that is not installed does not compile.
TEST(Layers, InstalledHeadersIncludeInstalledOnes) {
  const auto is_internal = [](const std::string& header) {
    return read(root() / header).find("\n// Internal header") != std::string::npos;
  };
  const std::regex include("#include \"rtcg/([^\"]+/[^\"]+)\"");
  std::size_t internal_headers = 0;
  for (const std::string& file : library_sources()) {
    if (!file.ends_with(".h")) {
      continue;
    }
    if (is_internal(file)) {
      ++internal_headers;
      continue;
    }
    const std::string text = read(root() / file);
    for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i) {
      EXPECT_FALSE(is_internal((*i)[1])) << file << " is installed and includes " << (*i)[1];
    }
  }
  EXPECT_GT(internal_headers, 50U);
}

TEST(Layers, HeadersHaveNoUsingDirective) {
  for (const std::string& file : library_sources()) {
    if (file.ends_with(".h")) {
      EXPECT_EQ(read(root() / file).find("using namespace"), std::string::npos) << file;
    }
  }
}

}  // namespace
}  // namespace rtcg::checks
