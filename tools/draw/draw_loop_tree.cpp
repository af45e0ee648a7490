#include "tools/draw/draw_loop_tree.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/schedule/launches.h"
#include "tools/command.h"

namespace rtcg::tools {
namespace {

using loopy::Kernel;

constexpr std::size_t most_columns = 90;
constexpr const char* launch_color = "#dbe7f7";
constexpr const char* loop_color = "#ffffff";
constexpr const char* host_color = "#eeeeee";
constexpr const char* barrier_color = "#ffc878";

/// A line of text, or a frame around others with its title above them.
struct Box {
  std::vector<std::string> lines{};
  const char* color = "";  ///< empty: none
  bool is_frame = false;
  std::vector<Box> inner{};
};

/// Lines of limited length; continuation lines are indented.
std::vector<std::string> lines_of(const std::string& label) {
  std::vector<std::string> lines;
  std::string rest = label;
  while (rest.size() > most_columns) {
    const std::size_t space = rest.rfind(' ', most_columns);
    if (space == std::string::npos || space < most_columns / 2) {
      break;
    }
    lines.push_back(rest.substr(0, space));
    rest = "    " + rest.substr(space + 1);
  }
  lines.push_back(rest);
  return lines;
}

std::string escaped(const std::string& text, const char* blank) {
  std::string result;
  for (const char c : printable(text)) {
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
              : c == ' ' ? std::string(blank)
                         : std::string(1, c);
  }
  return result;
}

Box row_of(const std::string& label, const char* color = "") {
  return {lines_of(label), color};
}

Box frame_of(const std::string& title, std::vector<Box> inner, const char* color) {
  return {lines_of(title), color, true, std::move(inner)};
}

// ---- for Graphviz ------------------------------------------------------------------------------

// At the end of each line: fonts may be wider than Graphviz takes them to be.
constexpr const char* end_of_line = "&#160;&#160;<br align=\"left\"/>";

std::string dot_row(const std::vector<std::string>& lines, const char* color) {
  const std::string background =
      *color == '\0' ? std::string() : fmt::format(" bgcolor=\"{}\"", color);
  std::string text;
  for (const std::string& line : lines) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    text +=
        escaped(line.substr(0, indent), "&#160;") + escaped(line.substr(indent), " ") + end_of_line;
  }
  return fmt::format("<tr><td align=\"left\" balign=\"left\"{}>{}</td></tr>\n", background, text);
}

std::string dot_of(const Box& box) {
  if (!box.is_frame) {
    return dot_row(box.lines, box.color);
  }
  std::string rows;
  for (const Box& each : box.inner) {
    rows += dot_of(each);
  }
  return fmt::format(
      "<tr><td><table border=\"1\" cellborder=\"0\" cellspacing=\"3\" cellpadding=\"4\" "
      "bgcolor=\"{}\">\n{}{}</table></td></tr>\n",
      box.color, dot_row(box.lines, ""), rows);
}

// ---- as SVG ------------------------------------------------------------------------------------

// In pixels. Monospace fonts are 0.6 of their size wide; some are a little wider.
constexpr int font_size = 13;
constexpr double column_width = 8.2;
constexpr int line_height = 18;
constexpr int margin = 8;

int height_of(const Box& box) {
  int height = static_cast<int>(box.lines.size()) * line_height + margin;
  for (const Box& each : box.inner) {
    height += height_of(each) + margin;
  }
  return height;
}

int width_of(const Box& box) {
  std::size_t columns = 0;
  for (const std::string& line : box.lines) {
    columns = std::max(columns, printable(line).size());
  }
  int width = static_cast<int>(column_width * static_cast<double>(columns)) + 2 * margin;
  for (const Box& each : box.inner) {
    width = std::max(width, width_of(each) + 2 * margin);
  }
  return width;
}

/// At a place and as wide as what is around it leaves.
std::string svg_of(const Box& box, int x, int y, int width) {
  std::string text;
  if (*box.color != '\0') {
    text += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\"/>\n", x, y,
        width, height_of(box), box.color, box.is_frame ? "#444444" : "none");
  }
  int below = y;
  for (const std::string& line : box.lines) {
    below += line_height;
    text += fmt::format("<text x=\"{}\" y=\"{}\" xml:space=\"preserve\">{}</text>\n", x + margin,
                        below - 2, escaped(line, " "));
  }
  below += margin;
  for (const Box& each : box.inner) {
    text += svg_of(each, x + margin, below, width - 2 * margin);
    below += height_of(each) + margin;
  }
  return text;
}

// The tree as nested frames, in the order in which it runs.
class LoopTreeDrawing {
 public:
  LoopTreeDrawing(const Kernel& kernel, const std::vector<std::string>& launch_titles)
      : kernel_(kernel), launch_titles_(launch_titles) {}

  std::vector<Box> rows_on_host(const loopy::LoopTree& tree) {
    std::vector<Box> rows;
    loopy::LoopTree launch;
    const auto end_launch = [&] {
      if (!loopy::statements_in(launch).empty()) {
        rows.push_back(frame_of(launch_titles_.at(next_launch_++), rows_of(launch), launch_color));
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
        rows.push_back(frame_of(fmt::format("for {}, on the host", loop->iname),
                                rows_on_host(loop->body), host_color));
      }
    }
    end_launch();
    return rows;
  }

 private:
  std::vector<Box> rows_of(const loopy::LoopTree& tree) {
    std::vector<Box> rows;
    for (const loopy::LoopTreeNode& node : tree) {
      match(
          node,
          [&](const loopy::LoopNode& loop) {
            const std::string tag = to_string(loopy::tag_of(kernel_, loop.iname));
            rows.push_back(frame_of("for " + loop.iname + (tag == "for" ? "" : ": " + tag),
                                    rows_of(loop.body), loop_color));
          },
          [&](const loopy::StatementNode& statement) {
            rows.push_back(row_of(loopy::to_string(kernel_.instructions[statement.index])));
          },
          [&](const loopy::BarrierNode& barrier) {
            rows.push_back(row_of("barrier for " + barrier.reason, barrier_color));
          },
          [](const loopy::LaunchBoundaryNode&) {});
    }
    return rows;
  }

  const Kernel& kernel_;
  const std::vector<std::string>& launch_titles_;
  std::size_t next_launch_ = 0;
};

}  // namespace

void draw_loop_tree(const Kernel& kernel, const loopy::LoopTree& tree,
                    const std::vector<std::string>& launch_titles, const std::string& path) {
  const Box whole = {lines_of("kernel " + kernel.name), "", false,
                     LoopTreeDrawing(kernel, launch_titles).rows_on_host(tree)};
  std::string text;
  if (path.ends_with(".svg")) {
    const int width = width_of(whole);
    const int height = height_of(whole);
    text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"{2}\">\n{3}</svg>\n",
        width, height, font_size, svg_of(whole, 0, 0, width));
  } else {
    std::string rows = dot_row(whole.lines, "");
    for (const Box& each : whole.inner) {
      rows += dot_of(each);
    }
    text = fmt::format(
        "digraph kernel {{\n  node [fontname=\"monospace\", shape=plain];\n  tree [label=<\n"
        "<table border=\"0\" cellborder=\"0\" cellspacing=\"3\">\n{}</table>>];\n}}\n",
        rows);
  }
  write_results(path, text, "tools.explain.unwritable_file");
}

}  // namespace rtcg::tools
