#include "rtcg/runtime/device/graph_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

using Node = GraphNodeBackend::Node;

/// Each of them once, as drivers want it.
std::vector<Node> distinct(std::vector<Node> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

GraphNodes::GraphNodes(StreamRef stream) : stream_(stream) {
  if (detail::is_captured(stream)) {
    branches_ = dynamic_cast<GraphNodeBackend*>(&stream.device().backend());
  }
  if (branches_ != nullptr) {
    begin_ = branches_->capture_ends(stream.native_handle());
  }
}

GraphNode GraphNodes::add(const std::function<void()>& work, const After& after) {
  std::vector<Node> before = after.empty() ? begin_ : std::vector<Node>();
  for (const GraphNode each : after) {
    if (each.number >= ends_.size()) {
      throw InvalidInput("runtime.graph.unknown_node",
                         fmt::format("there is no node {} that another one could come after: {} "
                                     "were added here",
                                     each.number, ends_.size()));
    }
    before.insert(before.end(), ends_[each.number].begin(), ends_[each.number].end());
  }
  if (branches_ != nullptr) {
    branches_->set_capture_ends(stream_.native_handle(), distinct(std::move(before)));
  }
  work();
  for (const GraphNode each : after) {
    has_successor_[each.number] = true;
  }
  ends_.push_back(branches_ != nullptr ? branches_->capture_ends(stream_.native_handle())
                                       : std::vector<Node>());
  has_successor_.push_back(false);
  return {ends_.size() - 1};
}

void GraphNodes::end() {
  if (branches_ == nullptr || ends_.empty()) {
    return;
  }
  std::vector<Node> last;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (!has_successor_[i]) {
      last.insert(last.end(), ends_[i].begin(), ends_[i].end());
    }
  }
  branches_->set_capture_ends(stream_.native_handle(), distinct(std::move(last)));
}

void add_nodes(StreamRef stream, const std::function<void(GraphNodes&)>& build) {
  GraphNodes nodes(stream);
  build(nodes);
  nodes.end();
}

}  // namespace rtcg::runtime
