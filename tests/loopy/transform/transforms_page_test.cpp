// The pages of docs/transforms show what transformations really do: UPDATE_DOCS=1 writes what they
// should show.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/recipe/apply_recipe.h"
#include "rtcg/loopy/recipe/parse_kernel_file.h"

namespace rtcg::loopy {
namespace {

namespace fs = std::filesystem;

const fs::path& folder() {
  static const fs::path path = fs::path(RTCG_SOURCE_DIR) / "docs/transforms";
  return path;
}

std::string read_page(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// All pages, the index among them, by name.
std::vector<fs::path> page_paths() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder())) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A kernel file, and below it what it becomes.
struct Example {
  std::string file;
  std::string kind;  ///< `kernel`, `arguments`, `cuda`, `opencl` or `c`
  std::string shown;
  std::size_t begin = 0;  ///< of what is shown, in the page
};

std::vector<Example> examples_of(const std::string& page) {
  std::vector<Example> examples;
  const std::string fence = "```";
  const std::string start = "\n```loopy\n";
  for (std::size_t at = page.find(start); at != std::string::npos; at = page.find(start, at + 1)) {
    const std::size_t file_begin = at + start.size();
    const std::size_t file_end = page.find("\n" + fence, file_begin) + 1;
    const std::size_t kind_begin = page.find("\n" + fence, file_end + 3) + 4;
    const std::size_t kind_end = page.find('\n', kind_begin);
    const std::size_t end = page.find("\n" + fence, kind_end);
    examples.push_back({page.substr(file_begin, file_end - file_begin),
                        page.substr(kind_begin, kind_end - kind_begin),
                        page.substr(kind_end + 1, end + 1 - std::min(end + 1, kind_end + 1)),
                        kind_end + 1});
  }
  return examples;
}

/// What is printed of a kernel, without its name and its recipe.
std::string shown(const Example& example) {
  const KernelFile file = parse_kernel_file(example.file, "docs/transforms");
  const Kernel kernel = transformed_kernel(file, described_kernel(file));
  if (example.kind != "kernel" && example.kind != "arguments") {
    const Target target = example.kind == "cuda"     ? Target::cuda
                          : example.kind == "opencl" ? Target::opencl
                                                     : Target::host;
    return generate_text(kernel, target, {.recipe_comment = false});
  }
  Kernel rest = kernel;
  rest.recipe.clear();
  const std::string text = to_string(rest);
  const std::size_t domains = text.find("domains:\n");
  if (example.kind == "kernel") {
    return text.substr(domains);
  }
  const std::size_t arguments = text.find("arguments:\n");
  return text.substr(arguments, domains - arguments);
}

/// The places that a page links to.
std::vector<std::string> links_of(const std::string& page) {
  std::vector<std::string> links;
  for (std::size_t at = page.find("]("); at != std::string::npos; at = page.find("](", at + 1)) {
    links.push_back(page.substr(at + 2, page.find(')', at) - at - 2));
  }
  return links;
}

TEST(TransformsPages, ShowWhatTransformationsDo) {
  std::size_t count = 0;
  for (const fs::path& path : page_paths()) {
    std::string page = read_page(path);
    std::vector<Example> examples = examples_of(page);
    count += examples.size();
    if (std::getenv("UPDATE_DOCS") != nullptr) {
      for (std::size_t i = examples.size(); i-- > 0;) {
        page.replace(examples[i].begin, examples[i].shown.size(), shown(examples[i]));
      }
      std::ofstream(path) << page;
      examples = examples_of(page);
    }
    for (const Example& example : examples) {
      EXPECT_EQ(example.shown, shown(example)) << path << "\n" << example.file;
    }
  }
  EXPECT_GE(count, transformation_names().size());
}

TEST(TransformsPages, HaveAnExampleOfEachTransformation) {
  for (const std::string& name : transformation_names()) {
    const std::string page = read_page(folder() / (name + ".md"));
    EXPECT_EQ(page.rfind("# " + name + "\n", 0), 0U) << "docs/transforms/" << name << ".md";
    const std::vector<Example> examples = examples_of(page);
    EXPECT_TRUE(std::any_of(examples.begin(), examples.end(),
                            [&](const Example& each) {
                              return each.file.find("  " + name + "(") != std::string::npos;
                            }))
        << "docs/transforms/" << name << ".md shows no use of it";
  }
}

TEST(TransformsPages, SayWhatEachOptionIs) {
  std::string pages;
  for (const fs::path& path : page_paths()) {
    pages += read_page(path);
  }
  const std::string source = read_page(fs::path(RTCG_SOURCE_DIR) / "loopy/recipe/apply_recipe.cpp");
  const std::regex option("option\\(\"([a-z_]+)\"");
  std::set<std::string> names;
  for (std::sregex_iterator found(source.begin(), source.end(), option), end; found != end;
       ++found) {
    names.insert((*found)[1]);
  }
  EXPECT_GT(names.size(), 30U);
  for (const std::string& name : names) {
    const bool is_said = pages.find("`" + name + "`") != std::string::npos ||
                         pages.find("`" + name + "=") != std::string::npos;
    EXPECT_TRUE(is_said) << "no page says what the option '" << name << "' is";
  }
}

TEST(TransformsPages, AreListedInTheIndexAndLinkToWhatThereIs) {
  std::set<std::string> listed;
  for (const fs::path& path : page_paths()) {
    for (const std::string& link : links_of(read_page(path))) {
      EXPECT_TRUE(fs::exists(folder() / link)) << path << " links to '" << link << "'";
      if (path.filename() == "README.md") {
        listed.insert(link);
      }
    }
  }
  for (const fs::path& path : page_paths()) {
    EXPECT_TRUE(path.filename() == "README.md" || listed.count(path.filename().string()) != 0)
        << path << " is not in the index";
  }
}

}  // namespace
}  // namespace rtcg::loopy
