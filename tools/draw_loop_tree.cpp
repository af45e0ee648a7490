#include "tools/draw_loop_tree.h"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/runtime/compile/child_process.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;

// The loop tree in Graphviz's language: loops as folders, statements and barriers as leaves.
void add_nodes(const Kernel& kernel, const loopy::LoopTree& tree, int parent, int& count,
               std::string& text) {
  for (const loopy::LoopTreeNode& node : tree) {
    const int own = ++count;
    const auto add = [&](const std::string& label, const char* look) {
      std::string escaped;
      for (const char c : label) {
        escaped += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
      }
      text += fmt::format("  n{} [label=\"{}\", {}];\n  n{} -> n{};\n", own, escaped, look, parent,
                          own);
    };
    match(
        node,
        [&](const loopy::LoopNode& loop) {
          add("for " + loop.iname, "shape=box, style=rounded");
          add_nodes(kernel, loop.body, own, count, text);
        },
        [&](const loopy::StatementNode& statement) {
          add(loopy::to_string(kernel.instructions[statement.index]), "shape=plaintext");
        },
        [&](const loopy::BarrierNode& barrier) {
          add("barrier: " + barrier.reason, "shape=box, style=filled, fillcolor=orange");
        },
        [&](const loopy::LaunchBoundaryNode&) {
          add("next launch", "shape=box, style=filled, fillcolor=gray");
        });
  }
}

void draw_svg(const std::string& dot_path, const std::string& svg_path) {
  const std::string program = runtime::find_program("dot");
  if (program.empty()) {
    throw Unsupported("tools.explain.no_graphviz",
                      fmt::format("Graphviz's program 'dot' draws SVG, and there is none: install "
                                  "graphviz, or draw '{}' elsewhere",
                                  dot_path));
  }
  const auto result = runtime::run_process({program, "-Tsvg", dot_path, "-o", svg_path});
  if (result.exit_code != 0) {
    throw InvalidInput("tools.explain.unwritable_file",
                       fmt::format("'dot' cannot draw '{}': {}", svg_path, result.output));
  }
  std::remove(dot_path.c_str());
}

}  // namespace

void draw_loop_tree(const Kernel& kernel, const loopy::LoopTree& tree, const std::string& path) {
  std::string text = "digraph kernel {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n";
  text += fmt::format("  n0 [label=\"{}\", shape=box];\n", kernel.name);
  int count = 0;
  add_nodes(kernel, tree, 0, count, text);
  text += "}\n";
  const bool is_svg = path.ends_with(".svg");
  const std::string dot_path = is_svg ? path + ".dot" : path;
  if (!(std::ofstream(dot_path) << text)) {
    throw InvalidInput("tools.explain.unwritable_file", fmt::format("cannot write '{}'", dot_path));
  }
  if (is_svg) {
    draw_svg(dot_path, path);
  }
}

}  // namespace rtcg::tools
