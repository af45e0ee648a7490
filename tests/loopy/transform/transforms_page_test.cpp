// docs/transforms.md shows what transformations really do: UPDATE_DOCS=1 writes what it should
// show.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rtcg/loopy/codegen/generate.h"
#include "rtcg/loopy/create/parse_kernel_file.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/transform/recipe.h"

namespace rtcg::loopy {
namespace {

std::string page_path() {
  const char* other = std::getenv("RTCG_TRANSFORMS_PAGE");
  return other != nullptr ? other : RTCG_SOURCE_DIR "/docs/transforms.md";
}

std::string read_page() {
  std::ifstream stream(page_path());
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// A kernel file, and below it what it becomes.
struct Example {
  std::string file;
  std::string kind;  ///< `kernel`, `cuda`, `opencl` or `c`
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

/// What is printed of a kernel, without its name, its arguments and its recipe.
std::string shown(const Example& example) {
  const KernelFile file = parse_kernel_file(example.file, "docs/transforms.md");
  const Kernel kernel = transformed_kernel(file, described_kernel(file));
  if (example.kind != "kernel") {
    const Target target = example.kind == "cuda"     ? Target::cuda
                          : example.kind == "opencl" ? Target::opencl
                                                     : Target::host;
    return generate_text(kernel, target, {.recipe_comment = false});
  }
  Kernel rest = kernel;
  rest.recipe.clear();
  const std::string text = to_string(rest);
  return text.substr(text.find("domains:\n"));
}

TEST(TransformsPage, ShowsWhatTransformationsDo) {
  std::string page = read_page();
  std::vector<Example> examples = examples_of(page);
  EXPECT_GE(examples.size(), 20U);
  if (std::getenv("UPDATE_DOCS") != nullptr) {
    for (std::size_t i = examples.size(); i-- > 0;) {
      page.replace(examples[i].begin, examples[i].shown.size(), shown(examples[i]));
    }
    std::ofstream(page_path()) << page;
    examples = examples_of(page);
  }
  for (const Example& example : examples) {
    EXPECT_EQ(example.shown, shown(example)) << example.file;
  }
}

TEST(TransformsPage, HasASectionForEachTransformation) {
  const std::string page = read_page();
  for (const std::string& name : transformation_names()) {
    EXPECT_NE(page.find("\n### " + name + "\n"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace rtcg::loopy
