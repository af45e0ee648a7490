#include "rtcg/runtime/device/graph.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

using Owners = std::vector<std::shared_ptr<const void>>;

/// The captures that are under way.
struct Captures {
  struct Capture {
    StreamRef stream;
    Owners owners;
  };
  std::mutex mutex;
  std::vector<Capture> all;
  std::atomic<int> count = 0;

  static Captures& instance() {
    static Captures& made = *new Captures;  // arrays with static storage may end late
    return made;
  }

  auto find(StreamRef stream) {
    return std::find_if(all.begin(), all.end(),
                        [&](const Capture& each) { return each.stream == stream; });
  }

  /// @return  false: it is being captured already
  bool begin(StreamRef stream) {
    const std::lock_guard lock(mutex);
    if (find(stream) != all.end()) {
      return false;
    }
    all.push_back({stream, {}});
    ++count;
    return true;
  }

  Owners end(StreamRef stream) {
    const std::lock_guard lock(mutex);
    const auto found = find(stream);
    Owners owners = std::move(found->owners);
    all.erase(found);
    --count;
    return owners;
  }
};

/// What one capture gives.
struct Captured {
  Backend::Graph handle = nullptr;
  Owners owners;
};

Captured captured(StreamRef stream, const std::function<void()>& work) {
  const Device device = stream.device();
  if (device.info().id.kind == BackendKind::cuda && stream.native_handle() == nullptr) {
    throw InvalidInput("runtime.graph.default_stream",
                       fmt::format("the default stream of '{}' cannot be captured: make a Stream, "
                                   "and let the work go to it",
                                   to_string(device.info().id)));
  }
  Captures& captures = Captures::instance();
  if (!captures.begin(stream)) {
    throw InvalidInput("runtime.graph.cannot_capture",
                       "the stream is being captured already: a capture within a capture is none");
  }
  Captured result;
  try {
    device.backend().begin_capture(stream.native_handle());
    try {
      work();
    } catch (...) {
      device.backend().drop_capture(stream.native_handle());
      throw;
    }
    result.handle = device.backend().end_capture(stream.native_handle());
  } catch (...) {
    captures.end(stream);
    throw;
  }
  result.owners = captures.end(stream);
  return result;
}

}  // namespace

struct Graph::State {
  StreamRef stream;  // it is captured from
  Captured now;
  mutable std::optional<Event> launched{};  // after the latest launch

  void wait() const noexcept {
    try {
      if (launched) {
        launched->synchronize();
      }
    } catch (const Error&) {
      // the stream is broken: nothing runs on it any more
      launched.reset();
    }
  }
  ~State() {
    wait();
    stream.device().backend().destroy_graph(now.handle);
  }
};

Graph::Graph(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;

Device Graph::device() const noexcept {
  return state_->stream.device();
}

void* Graph::native_handle() const noexcept {
  return device().backend().native_graph(state_->now.handle);
}

void Graph::launch(StreamRef stream) const {
  if (stream.device() != device()) {
    throw InvalidInput(
        "runtime.launch.wrong_device",
        fmt::format("the graph is of '{}' and the stream of '{}'", to_string(device().info().id),
                    to_string(stream.device().info().id)));
  }
  if (detail::is_captured(stream)) {  // its events would be of no use
    device().backend().add_graph(stream.native_handle(), state_->now.handle);
    return;
  }
  if (state_->launched) {
    stream.wait(*state_->launched);
  } else {
    state_->launched.emplace(device(), EventOptions{.with_timing = false});
  }
  device().backend().launch_graph(stream.native_handle(), state_->now.handle);
  stream.record(*state_->launched);
}

bool Graph::update(const std::function<void()>& work) {
  Captured fresh = captured(state_->stream, work);
  state_->wait();  // for what the launches use
  Backend& backend = device().backend();
  const bool is_same = backend.update_graph(state_->now.handle, fresh.handle);
  if (is_same) {
    std::swap(state_->now.owners, fresh.owners);
  } else {
    std::swap(state_->now, fresh);
  }
  backend.destroy_graph(fresh.handle);
  return is_same;
}

std::size_t Graph::node_count() const {
  return device().backend().graph_nodes(state_->now.handle);
}

std::string Graph::dot() const {
  return device().backend().graph_dot(state_->now.handle);
}

Graph capture(StreamRef stream, const std::function<void()>& work) {
  return Graph(std::unique_ptr<Graph::State>(new Graph::State{stream, captured(stream, work)}));
}

namespace detail {

bool is_any_captured() noexcept {
  return Captures::instance().count.load(std::memory_order_relaxed) != 0;
}

bool is_captured(StreamRef stream) noexcept {
  if (!is_any_captured()) {
    return false;
  }
  Captures& captures = Captures::instance();
  const std::lock_guard lock(captures.mutex);
  return captures.find(stream) != captures.all.end();
}

bool keep_in_graph(StreamRef stream, std::shared_ptr<const void> owner) {
  if (!is_any_captured()) {
    return false;
  }
  Captures& captures = Captures::instance();
  const std::lock_guard lock(captures.mutex);
  const auto found = captures.find(stream);
  if (found == captures.all.end()) {
    return false;
  }
  const bool is_known = std::any_of(found->owners.begin(), found->owners.end(),
                                    [&](const auto& each) { return each == owner; });
  if (!is_known) {
    found->owners.push_back(std::move(owner));
  }
  return true;
}

}  // namespace detail

}  // namespace rtcg::runtime
