#include "tools/draw/draw_dependencies.h"

#include <sstream>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rtcg/cgen/support/graph.h"
#include "rtcg/loopy/kernel/print_kernel.h"
#include "rtcg/loopy/schedule/loop_tree.h"
#include "tools/command.h"

namespace rtcg::tools {
namespace {

using loopy::Instruction;
using loopy::Kernel;

/// A string of the dot language. boost::escape_dot_string leaves words such as `node` bare, which
/// Graphviz refuses.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return result + "\"";
}

/// The variables that both statements use and one of them changes.
loopy::NameSet shared_variables(const Kernel& kernel, const Instruction& one,
                                const Instruction& other) {
  loopy::NameSet shared;
  const auto add = [&](const Instruction& writer, const Instruction& user) {
    const loopy::NameSet written = written_variables(user);
    const loopy::NameSet read = read_variables(kernel, user);
    for (const std::string& each : written_variables(writer)) {
      if (written.count(each) + read.count(each) != 0) {
        shared.insert(each);
      }
    }
  };
  add(one, other);
  add(other, one);
  return shared;
}

std::string edge_attributes(const Kernel& kernel, const Instruction& earlier,
                            const Instruction& later) {
  const loopy::NameSet shared = shared_variables(kernel, earlier, later);
  return !shared.empty()
             ? fmt::format("label={}", quoted(fmt::format("{}", fmt::join(shared, ", "))))
         : later.depends_on.count(earlier.id) != 0 ? "style=dashed"
                                                   : "style=dotted";
}

struct DrawnEdge {
  std::string attributes{};
};

}  // namespace

void draw_dependencies(const Kernel& kernel, const std::string& path) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS,
                                      boost::no_property, DrawnEdge>;
  const std::vector<Instruction>& statements = kernel.instructions;
  const Edges before = transitive_reduction(statement_order(kernel));
  Graph graph(statements.size());
  for (std::size_t later = 0; later < before.size(); ++later) {
    for (const std::size_t earlier : before[later]) {
      boost::add_edge(earlier, later,
                      DrawnEdge{edge_attributes(kernel, statements[earlier], statements[later])},
                      graph);
    }
  }
  std::ostringstream text;
  boost::write_graphviz(
      text, graph,
      [&](std::ostream& out, std::size_t statement) {
        const Instruction& each = statements[statement];
        out << fmt::format(" [label={}]", quoted(each.id + ": " + to_string(each)));
      },
      [&](std::ostream& out, const Graph::edge_descriptor& edge) {
        out << " [" << graph[edge].attributes << "]";
      },
      [](std::ostream& out) { out << "node [shape=box, fontname=monospace];\n"; });
  write_results(path, text.str(), "tools.explain.unwritable_file");
}

}  // namespace rtcg::tools
