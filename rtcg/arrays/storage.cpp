#include "rtcg/arrays/storage.h"

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/memory/memory_pool.h"

namespace rtcg::arrays {
namespace {

StreamScope*& innermost_scope() {
  thread_local StreamScope* scope = nullptr;
  return scope;
}

}  // namespace

Storage::Storage(runtime::StreamRef stream, std::size_t size_bytes)
    : Storage(stream, runtime::MemoryPool::standard(stream.device())
                          .allocate_bytes(stream, size_bytes)) {}

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
      last_use_(stream) {}

Storage::~Storage() {
  try {
    use_on(stream_);
  } catch (const Error&) {
    // the stream is gone or broken; the memory still has to go back
    static_cast<void>(address_);
  }
}

void Storage::use_on(runtime::StreamRef stream) {
  const std::lock_guard lock(mutex_);
  if (!(stream == last_use_)) {
    const runtime::Event event = last_use_.record({.with_timing = false});
    stream.wait(event);
    last_use_ = stream;
  }
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
