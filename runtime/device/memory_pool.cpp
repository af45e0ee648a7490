#include "rtcg/runtime/device/memory_pool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/device/driver_message.h"
#include "rtcg/runtime/device/event.h"
#include "rtcg/runtime/device/graph.h"
#include "rtcg/runtime/device/live_blocks.h"
#include "rtcg/runtime/device/size_class.h"

namespace rtcg::runtime {
namespace {

// An unused block, free from a place in a stream on.
struct FreeBlock {
  DeviceAddress address = 0;
  Backend::Stream stream = nullptr;    // whose order frees it, unless there is a guard
  std::shared_ptr<const Event> guard;  // recorded where it was freed
};

std::shared_ptr<const Event> record_guard(StreamRef stream) {
  auto guard = std::make_shared<Event>(stream.device(), EventOptions{.with_timing = false});
  stream.record(*guard);
  return guard;
}

}  // namespace

namespace detail {

class PoolState : public MemorySource, public std::enable_shared_from_this<PoolState> {
 public:
  PoolState(Device device, const PoolOptions& options)
      : device_(device),
        kind_(options.kind),
        uses_driver_pool_(options.use_driver_pool && options.kind == MemoryKind::device &&
                          device.info().has_stream_ordered_allocation),
        free_blocks_(SizeClass::count),
        live_(LiveBlocks::are_wanted() ? std::make_unique<LiveBlocks>() : nullptr) {}
  ~PoolState() override { give_back(0); }

  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }
  [[nodiscard]] Memory allocate(StreamRef stream, std::size_t size_bytes);
  void take_back(DeviceAddress address, std::size_t size_bytes, StreamRef stream) noexcept override;
  // Puts a guard on what was freed in the order of that stream.
  void guard_blocks_of(StreamRef stream);
  // Gives held blocks to the driver until at most that many bytes are held; how many bytes went.
  std::size_t give_back(std::size_t max_held_bytes) noexcept;
  void stop_holding() noexcept;
  void count_trim();
  [[nodiscard]] PoolStatistics statistics() const;
  [[nodiscard]] const LiveBlocks* live() const noexcept { return live_.get(); }

 private:
  struct Surplus {
    std::vector<FreeBlock> blocks;
    std::size_t bytes = 0;
  };

  [[nodiscard]] DeviceAddress reuse(SizeClass size_class, StreamRef stream, std::size_t size_bytes);
  [[nodiscard]] std::vector<FreeBlock>::iterator find_done(std::vector<FreeBlock>& blocks) const;
  [[nodiscard]] bool is_done(const FreeBlock& block) const noexcept;
  [[nodiscard]] DeviceAddress take_from_driver(StreamRef stream, std::size_t block_bytes);
  [[nodiscard]] DeviceAddress take_or_make_room(StreamRef stream, std::size_t block_bytes);
  /// Whether the stream is being captured: the graph's launches use the block until it ends.
  [[nodiscard]] bool keep_for_graph(DeviceAddress address, std::size_t size_bytes,
                                    StreamRef stream) noexcept;
  void hold(FreeBlock block, SizeClass size_class);
  void free_when_done(const FreeBlock& block) const noexcept;
  [[nodiscard]] Surplus take_surplus(std::size_t max_held_bytes) noexcept;
  [[nodiscard]] std::size_t block_bytes(std::size_t size_bytes) const {
    return uses_driver_pool_ ? size_bytes : SizeClass::of(size_bytes).block_bytes();
  }

  const Device device_;
  const MemoryKind kind_;
  const bool uses_driver_pool_;
  mutable std::mutex mutex_;                         // of all below
  std::vector<std::vector<FreeBlock>> free_blocks_;  // by size class; the latest freed last
  bool holds_ = true;
  PoolStatistics statistics_;
  const std::unique_ptr<LiveBlocks> live_;  // has its own lock; null: not wanted
};

}  // namespace detail

namespace {

using detail::PoolState;

// All pools of the process. Never destroyed, as streams with static storage may end later.
struct PoolList {
  std::mutex mutex;
  std::vector<std::weak_ptr<PoolState>> pools;

  static PoolList& instance() {
    static auto* list = new PoolList;
    return *list;
  }

  void add(const std::shared_ptr<PoolState>& pool) {
    const std::lock_guard lock(mutex);
    pools.erase(std::remove_if(pools.begin(), pools.end(),
                               [](const auto& other) { return other.expired(); }),
                pools.end());
    pools.push_back(pool);
  }

  [[nodiscard]] std::vector<std::shared_ptr<PoolState>> of(Device device) {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<PoolState>> found;
    for (const auto& weak : pools) {
      if (auto pool = weak.lock(); pool != nullptr && pool->device() == device) {
        found.push_back(std::move(pool));
      }
    }
    return found;
  }
};

}  // namespace

namespace detail {

Memory PoolState::allocate(StreamRef stream, std::size_t size_bytes) {
  if (stream.device() != device_) {
    throw InvalidInput(
        "runtime.pool.wrong_device",
        fmt::format("a pool of '{}' cannot allocate on a stream of '{}'",
                    to_string(device_.info().id), to_string(stream.device().info().id)));
  }
  if (size_bytes > std::size_t{1} << 62) {
    throw InvalidInput("runtime.buffer.too_long",
                       fmt::format("{} bytes are more than any device has", size_bytes));
  }
  DeviceAddress address = 0;
  if (size_bytes != 0) {
    if (!uses_driver_pool_) {
      address = reuse(SizeClass::of(size_bytes), stream, size_bytes);
    }
    if (address == 0) {
      address = take_or_make_room(stream, block_bytes(size_bytes));
      const std::lock_guard lock(mutex_);
      ++statistics_.allocations;
      ++statistics_.active_blocks;
      statistics_.active_bytes += size_bytes;
      statistics_.managed_bytes += block_bytes(size_bytes);
      statistics_.peak_managed_bytes =
          std::max(statistics_.peak_managed_bytes, statistics_.managed_bytes);
    }
  }
  Memory memory(shared_from_this(), stream, address, size_bytes, kind_);
  if (live_ != nullptr && address != 0) {
    live_->add(address, size_bytes);
  }
  return memory;
}

DeviceAddress PoolState::reuse(SizeClass size_class, StreamRef stream, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  std::vector<FreeBlock>& blocks = free_blocks_[size_class.index()];
  if (blocks.empty()) {
    return 0;
  }
  // from the back: what was freed last is most likely of this stream, and in the caches
  auto found = std::find_if(blocks.rbegin(), blocks.rend(), [&](const FreeBlock& block) {
    return block.guard == nullptr && block.stream == stream.native_handle() && !stream.is_foreign();
  });
  const auto chosen = found == blocks.rend() ? find_done(blocks) : std::prev(found.base());
  if (chosen == blocks.end()) {
    return 0;
  }
  const DeviceAddress address = chosen->address;
  blocks.erase(chosen);
  ++statistics_.allocations;
  ++statistics_.reuses;
  ++statistics_.active_blocks;
  statistics_.active_bytes += size_bytes;
  --statistics_.held_blocks;
  statistics_.held_bytes -= size_class.block_bytes();
  return address;
}

std::vector<FreeBlock>::iterator PoolState::find_done(std::vector<FreeBlock>& blocks) const {
  std::vector<Backend::Stream> busy;  // so each stream is queried once
  return std::find_if(blocks.begin(), blocks.end(), [&](const FreeBlock& block) {
    if (block.guard != nullptr) {
      return is_done(block);
    }
    if (std::find(busy.begin(), busy.end(), block.stream) != busy.end()) {
      return false;
    }
    if (!is_done(block)) {
      busy.push_back(block.stream);
      return false;
    }
    return true;
  });
}

bool PoolState::is_done(const FreeBlock& block) const noexcept {
  try {
    return block.guard != nullptr ? block.guard->is_done()
                                  : device_.backend().is_done(block.stream);
  } catch (const Error&) {
    return false;  // the fault is reported by the next wait for the stream
  }
}

DeviceAddress PoolState::take_from_driver(StreamRef stream, std::size_t block_bytes) {
  return uses_driver_pool_ ? device_.backend().allocate_on(stream.native_handle(), block_bytes)
                           : device_.backend().allocate(block_bytes, kind_);
}

DeviceAddress PoolState::take_or_make_room(StreamRef stream, std::size_t block_bytes) {
  try {
    return take_from_driver(stream, block_bytes);
  } catch (const DeviceError& error) {
    if (error.code() != "runtime.memory.out_of_memory") {
      throw;
    }
  }
  for (const auto& pool : PoolList::instance().of(device_)) {
    if (pool->kind() == kind_) {
      pool->count_trim();
      pool->give_back(0);
    }
  }
  try {
    return take_from_driver(stream, block_bytes);
  } catch (const DeviceError& error) {
    const PoolStatistics now = statistics();
    throw DeviceError(error.code(),
                      fmt::format("{}; the pool has {} blocks of {} bytes in use and holds none",
                                  driver_message(error), now.active_blocks, now.active_bytes),
                      error.api(), error.status());
  }
}

void PoolState::take_back(DeviceAddress address, std::size_t size_bytes,
                          StreamRef stream) noexcept {
  if (is_any_captured() && keep_for_graph(address, size_bytes, stream)) {
    return;
  }
  FreeBlock block{address, stream.native_handle(), nullptr};
  if (live_ != nullptr) {
    live_->remove(address);
  }
  try {
    // a foreign stream may end at any time: an event keeps its order
    if (stream.is_foreign() && !uses_driver_pool_) {
      block.guard = record_guard(stream);
    }
    const std::lock_guard lock(mutex_);
    --statistics_.active_blocks;
    statistics_.active_bytes -= size_bytes;
    if (holds_ && !uses_driver_pool_) {
      hold(block, SizeClass::of(size_bytes));
      return;
    }
    statistics_.managed_bytes -= block_bytes(size_bytes);
  } catch (...) {
    // no event or no memory for the list: the driver takes the block, which waits for the device
    device_.backend().free(address, kind_);
    return;
  }
  if (uses_driver_pool_) {
    device_.backend().free_on(stream.native_handle(), address);
  } else {
    free_when_done(block);
  }
}

bool PoolState::keep_for_graph(DeviceAddress address, std::size_t size_bytes,
                               StreamRef stream) noexcept {
  if (!is_captured(stream)) {
    return false;
  }
  try {
    const auto give_back = [self = shared_from_this(), address, size_bytes, stream](const void*) {
      self->take_back(address, size_bytes, stream);
    };
    return keep_in_graph(
        stream, std::shared_ptr<const void>(reinterpret_cast<const void*>(address), give_back));
  } catch (const std::bad_alloc&) {
    return true;  // lost, but not given to others while the graph uses it
  }
}

void PoolState::hold(FreeBlock block, SizeClass size_class) {
  free_blocks_[size_class.index()].push_back(std::move(block));
  ++statistics_.held_blocks;
  statistics_.held_bytes += size_class.block_bytes();
}

void PoolState::free_when_done(const FreeBlock& block) const noexcept {
  try {
    // an event, since synchronising a stream would swallow a fault meant for the user
    if (block.guard != nullptr) {
      block.guard->synchronize();
    } else if (!is_done(block)) {
      Event event(device_, EventOptions{.with_timing = false});
      device_.backend().record(event.native_handle(), block.stream);
      event.synchronize();
    }
  } catch (const Error&) {
    // the stream is broken: nothing runs on it any more
  }
  device_.backend().free(block.address, kind_);
}

PoolState::Surplus PoolState::take_surplus(std::size_t max_held_bytes) noexcept {
  Surplus surplus;
  const std::lock_guard lock(mutex_);
  // from the largest down, so that few calls make much room
  for (unsigned index = SizeClass::count; index-- > 0;) {
    std::vector<FreeBlock>& blocks = free_blocks_[index];
    while (!blocks.empty() && statistics_.held_bytes > max_held_bytes) {
      const std::size_t bytes = SizeClass::at(index).block_bytes();
      surplus.blocks.push_back(std::move(blocks.back()));
      surplus.bytes += bytes;
      blocks.pop_back();
      --statistics_.held_blocks;
      statistics_.held_bytes -= bytes;
      statistics_.managed_bytes -= bytes;
    }
  }
  return surplus;
}

std::size_t PoolState::give_back(std::size_t max_held_bytes) noexcept {
  // the driver is called without the lock: freeing may take long
  const Surplus surplus = take_surplus(max_held_bytes);
  for (const FreeBlock& block : surplus.blocks) {
    free_when_done(block);
  }
  return surplus.bytes;
}

void PoolState::guard_blocks_of(StreamRef stream) {
  std::shared_ptr<const Event> guard;
  const std::lock_guard lock(mutex_);
  if (statistics_.held_blocks == 0) {
    return;
  }
  for (std::vector<FreeBlock>& blocks : free_blocks_) {
    for (FreeBlock& block : blocks) {
      if (block.guard == nullptr && block.stream == stream.native_handle()) {
        guard = guard != nullptr ? guard : record_guard(stream);
        block.guard = guard;
      }
    }
  }
}

void PoolState::stop_holding() noexcept {
  {
    const std::lock_guard lock(mutex_);
    holds_ = false;
  }
  give_back(0);
}

void PoolState::count_trim() {
  const std::lock_guard lock(mutex_);
  statistics_.trims += statistics_.held_blocks != 0 ? 1 : 0;
}

PoolStatistics PoolState::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void forget_stream(StreamRef stream) noexcept {
  try {
    for (const auto& pool : PoolList::instance().of(stream.device())) {
      pool->guard_blocks_of(stream);
    }
  } catch (...) {
    // without an event for a guard: nothing freed on the stream may outlive it
    for (const auto& pool : PoolList::instance().of(stream.device())) {
      pool->give_back(0);
    }
  }
}

}  // namespace detail

MemoryPool::MemoryPool(Device device, const PoolOptions& options)
    : state_(std::make_shared<detail::PoolState>(device, options)) {
  PoolList::instance().add(state_);
}

MemoryPool::~MemoryPool() {
  state_->stop_holding();
}

MemoryPool& MemoryPool::standard(Device device, MemoryKind kind) {
  using Key = std::pair<Backend*, MemoryKind>;
  static std::mutex mutex;
  // never destroyed: the driver may be gone before
  static auto* pools = new std::map<Key, MemoryPool*>;
  const std::lock_guard lock(mutex);
  MemoryPool*& pool = (*pools)[{&device.backend(), kind}];
  if (pool == nullptr) {
    pool = new MemoryPool(device, {.kind = kind});
  }
  return *pool;
}

Memory MemoryPool::allocate_bytes(StreamRef stream, std::size_t size_bytes) {
  return state_->allocate(stream, size_bytes);
}

PoolStatistics MemoryPool::statistics() const {
  return state_->statistics();
}

std::size_t MemoryPool::trim(std::size_t max_held_bytes) {
  return state_->give_back(max_held_bytes);
}

void MemoryPool::stop_holding() {
  state_->stop_holding();
}

std::string describe_live_blocks(Device device) {
  std::map<detail::LiveBlocks::Stack, detail::LiveBlocks::Total> totals;
  for (const auto& pool : PoolList::instance().of(device)) {
    if (pool->live() != nullptr) {
      pool->live()->sum_up(totals);
    }
  }
  return detail::to_text(totals);
}

}  // namespace rtcg::runtime
