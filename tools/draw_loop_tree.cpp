#include "tools/draw_loop_tree.h"

#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/schedule/launches.h"
#include "rtcg/runtime/compile/child_process.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;

constexpr std::size_t most_columns = 90;
constexpr const char* launch_color = "#dbe7f7";
constexpr const char* loop_color = "#ffffff";
constexpr const char* host_color = "#eeeeee";
constexpr const char* barrier_color = "#ffc878";

// At the end of each line: fonts may be wider than Graphviz takes them to be.
constexpr const char* end_of_line = "&#160;&#160;<br align=\"left\"/>";

// Lines of at most so many columns, as Graphviz reads them.
std::string text_of(const std::string& label) {
  std::string text;
  std::string rest = label;
  while (rest.size() > most_columns) {
    const std::size_t space = rest.rfind(' ', most_columns);
    if (space == std::string::npos || space < most_columns / 2) {
      break;
    }
    text += rest.substr(0, space) + "\n";
    rest = "\t" + rest.substr(space + 1);
  }
  text += rest;
  std::string escaped;
  for (const char c : text) {
    escaped += c == '<'    ? "&lt;"
               : c == '>'  ? "&gt;"
               : c == '&'  ? "&amp;"
               : c == '"'  ? "&quot;"
               : c == '\t' ? "&#160;&#160;&#160;&#160;"
               : c == '\n' ? end_of_line
                           : std::string(1, c);
  }
  return escaped + end_of_line;
}

std::string row_of(const std::string& label, const char* color = "") {
  const std::string background =
      *color == '\0' ? std::string() : fmt::format(" bgcolor=\"{}\"", color);
  return fmt::format("<tr><td align=\"left\" balign=\"left\"{}>{}</td></tr>\n", background,
                     text_of(label));
}

// Rows within a frame that is a row itself.
std::string frame_of(const std::string& title, const std::string& rows, const char* color) {
  return fmt::format(
      "<tr><td><table border=\"1\" cellborder=\"0\" cellspacing=\"3\" cellpadding=\"4\" "
      "bgcolor=\"{}\">\n{}{}</table></td></tr>\n",
      color, row_of(title), rows);
}

// The tree as nested frames, in the order in which it runs.
class LoopTreeDrawing {
 public:
  LoopTreeDrawing(const Kernel& kernel, const std::vector<std::string>& launch_titles)
      : kernel_(kernel), launch_titles_(launch_titles) {}

  std::string rows_on_host(const loopy::LoopTree& tree) {
    std::string rows;
    loopy::LoopTree launch;
    const auto end_launch = [&] {
      if (!loopy::statements_in(launch).empty()) {
        rows += frame_of(launch_titles_.at(next_launch_++), rows_of(launch), launch_color);
      }
      launch.clear();
    };
    for (const loopy::LoopTreeNode& node : tree) {
      if (!loopy::contains_launch_boundary(node)) {
        launch.push_back(node);
        continue;
      }
      end_launch();
      if (const loopy::LoopNode* loop = get_if<loopy::LoopNode>(node)) {
        rows += frame_of(fmt::format("for {}, on the host", loop->iname), rows_on_host(loop->body),
                         host_color);
      }
    }
    end_launch();
    return rows;
  }

 private:
  std::string rows_of(const loopy::LoopTree& tree) {
    std::string rows;
    for (const loopy::LoopTreeNode& node : tree) {
      rows += match(
          node,
          [&](const loopy::LoopNode& loop) {
            const std::string tag = to_string(loopy::tag_of(kernel_, loop.iname));
            return frame_of("for " + loop.iname + (tag == "for" ? "" : ": " + tag),
                            rows_of(loop.body), loop_color);
          },
          [&](const loopy::StatementNode& statement) {
            return row_of(loopy::to_string(kernel_.instructions[statement.index]));
          },
          [&](const loopy::BarrierNode& barrier) {
            return row_of("barrier for " + barrier.reason, barrier_color);
          },
          [](const loopy::LaunchBoundaryNode&) { return std::string(); });
    }
    return rows;
  }

  const Kernel& kernel_;
  const std::vector<std::string>& launch_titles_;
  std::size_t next_launch_ = 0;
};

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

void draw_loop_tree(const Kernel& kernel, const loopy::LoopTree& tree,
                    const std::vector<std::string>& launch_titles, const std::string& path) {
  const std::string text = fmt::format(
      "digraph kernel {{\n  node [fontname=\"monospace\", shape=plain];\n  tree [label=<\n"
      "<table border=\"0\" cellborder=\"0\" cellspacing=\"3\">\n{}{}</table>>];\n}}\n",
      row_of("kernel " + kernel.name), LoopTreeDrawing(kernel, launch_titles).rows_on_host(tree));
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
