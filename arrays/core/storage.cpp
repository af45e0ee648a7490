#include "rtcg/arrays/core/storage.h"

#include <algorithm>
#include <unordered_set>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/launch_capture.h"
#include "rtcg/runtime/device/memory_pool.h"

namespace rtcg::arrays {
namespace {

StreamScope*& innermost_scope() {
  thread_local StreamScope* scope = nullptr;
  return scope;
}

/// The storages that were last used by another stream than their own. When that stream ends, their
/// own has to wait for its work.
struct MovedStorages {
  std::mutex mutex;  // taken before that of a storage
  std::unordered_set<Storage*> all;

  static MovedStorages& instance() {
    static MovedStorages& made = *new MovedStorages;  // arrays with static storage may end late
    return made;
  }
};

}  // namespace

void bring_home_from(runtime::StreamRef stream) noexcept {
  MovedStorages& moved = MovedStorages::instance();
  const std::lock_guard all(moved.mutex);
  for (auto next = moved.all.begin(); next != moved.all.end();) {
    next = (*next)->come_home_from(stream) ? moved.all.erase(next) : std::next(next);
  }
}

// Arrays without elements have an address, too: some OpenCL drivers launch no kernel with null.
Storage::Storage(runtime::StreamRef stream, std::size_t size_bytes)
    : Storage(stream, runtime::MemoryPool::standard(stream.device())
                          .allocate_bytes(stream, std::max<std::size_t>(size_bytes, 1))) {}

Storage::Storage(runtime::StreamRef stream, runtime::Memory memory)
    : stream_(stream),
      memory_(std::make_unique<runtime::Memory>(std::move(memory))),
      address_(memory_->address()),
      size_bytes_(memory_->size_bytes()),
      last_use_(stream) {}

Storage::Storage(runtime::StreamRef stream, runtime::DeviceAddress address, std::size_t size_bytes,
                 std::shared_ptr<const void> owner)
    : stream_(stream),
      owner_(std::move(owner)),
      address_(address),
      size_bytes_(size_bytes),
      last_use_(stream) {
  runtime::detail::note_memory(device(), address_, size_bytes_);
}

Storage::~Storage() {
  if (memory_ == nullptr) {
    runtime::detail::forget_memory(device(), address_, size_bytes_);
  }
  try {
    use_on(stream_);
    // devices allocate in the order of streams; the owner of host memory releases it at once
    if (owner_ && stream_.device().info().id.kind == runtime::BackendKind::host) {
      stream_.synchronize();
    }
  } catch (const Error&) {
    // the stream is gone or broken; the memory still has to go back
    const std::lock_guard all(MovedStorages::instance().mutex);
    MovedStorages::instance().all.erase(this);
  }
}

void Storage::use_on(runtime::StreamRef stream) {
  if (runtime::detail::is_any_captured()) {
    if (const std::shared_ptr<Storage> self = weak_from_this().lock()) {
      runtime::detail::keep_in_graph(stream, self);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (stream == last_use_) {
      return;
    }
  }
  [[maybe_unused]] static const bool is_listening = [] {
    runtime::detail::on_stream_end(bring_home_from);
    return true;
  }();
  MovedStorages& moved = MovedStorages::instance();
  const std::lock_guard all(moved.mutex);
  const std::lock_guard lock(mutex_);
  if (stream == last_use_) {
    return;
  }
  const runtime::Event event = last_use_.record({.with_timing = false});
  stream.wait(event);
  last_use_ = stream;
  if (stream == stream_) {
    moved.all.erase(this);
  } else {
    moved.all.insert(this);
  }
}

bool Storage::come_home_from(runtime::StreamRef stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (!(last_use_ == stream)) {
    return false;
  }
  try {
    const runtime::Event event = stream.record({.with_timing = false});
    stream_.wait(event);
  } catch (const Error&) {
    // a broken stream does no more work to be waited for
    static_cast<void>(stream);
  }
  last_use_ = stream_;
  return true;
}

StreamScope::StreamScope(runtime::StreamRef stream) : stream_(stream), outer_(innermost_scope()) {
  innermost_scope() = this;
}

StreamScope::~StreamScope() {
  innermost_scope() = outer_;
}

runtime::StreamRef current_stream() {
  const StreamScope* scope = innermost_scope();
  return scope != nullptr ? scope->stream_ : runtime::Device::best().default_stream();
}

runtime::StreamRef current_stream(runtime::StreamRef otherwise) {
  const StreamScope* scope = innermost_scope();
  return scope != nullptr && scope->stream_.device() == otherwise.device() ? scope->stream_
                                                                           : otherwise;
}

}  // namespace rtcg::arrays
