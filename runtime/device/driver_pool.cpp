#include "rtcg/runtime/device/driver_pool.h"

#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

DriverPoolBackend& pools_of(Device device) {
  auto* const found = dynamic_cast<DriverPoolBackend*>(&device.backend());
  if (found == nullptr) {
    throw Unsupported("runtime.driver_pool.unsupported",
                      fmt::format("'{}' has no pools that a program places or shares: devices of "
                                  "CUDA have; a MemoryPool is there for all",
                                  device.info().name));
  }
  return *found;
}

}  // namespace

/// The driver's pool, which its memory keeps.
class DriverPool::State : public MemorySource {
 public:
  State(Device device, DriverPoolBackend::Pool pool, MemoryKind kind)
      : device_(device), pool_(pool), kind_(kind) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() override { pools_of(device_).destroy_pool(pool_); }

  void take_back(DeviceAddress address, std::size_t /*size_bytes*/,
                 StreamRef stream) noexcept override {
    device_.backend().free_on(stream.native_handle(), address);
  }

  void check(StreamRef stream) const {
    if (stream.device() != device_) {
      throw InvalidInput(
          "runtime.pool.wrong_device",
          fmt::format("a pool of '{}' has no memory for a stream of '{}'",
                      to_string(device_.info().id), to_string(stream.device().info().id)));
    }
  }

  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] DriverPoolBackend::Pool pool() const noexcept { return pool_; }
  [[nodiscard]] MemoryKind kind() const noexcept { return kind_; }

 private:
  Device device_;
  DriverPoolBackend::Pool pool_;
  MemoryKind kind_;
};

DriverPool::DriverPool(Device device, const DriverPoolOptions& options) {
  DriverPoolBackend& backend = pools_of(device);
  if (options.is_exportable && options.numa_node) {
    throw InvalidInput("runtime.driver_pool.bad_options",
                       "a pool in the host's memory is not exported: leave one of the options out");
  }
  // at a node: one address for both sides
  state_ = std::make_shared<State>(device, backend.create_pool(options),
                                   options.numa_node ? MemoryKind::managed : MemoryKind::device);
}

DriverPool::DriverPool(Device device, int file_descriptor)
    : state_(std::make_shared<State>(device, pools_of(device).import_pool(file_descriptor),
                                     MemoryKind::device)) {}

DriverPool::~DriverPool() = default;
DriverPool::DriverPool(DriverPool&& other) noexcept = default;
DriverPool& DriverPool::operator=(DriverPool&& other) noexcept = default;

Device DriverPool::device() const noexcept {
  return state_->device();
}

Memory DriverPool::allocate_bytes(StreamRef stream, std::size_t size_bytes) {
  state_->check(stream);
  const DeviceAddress address =
      size_bytes == 0
          ? DeviceAddress{0}
          : pools_of(device()).allocate_from(state_->pool(), stream.native_handle(), size_bytes);
  return Memory(state_, stream, address, size_bytes, state_->kind());
}

int DriverPool::export_file() const {
  return pools_of(device()).export_pool(state_->pool());
}

InterprocessHandle DriverPool::export_block(BufferRef<const std::byte> block) const {
  return pools_of(device()).export_block(block.address());
}

Memory DriverPool::import_block(StreamRef stream, const InterprocessHandle& block,
                                std::size_t size_bytes) const {
  state_->check(stream);
  return Memory(state_, stream, pools_of(device()).import_block(state_->pool(), block), size_bytes,
                state_->kind());
}

std::optional<int> nearest_numa_node(Device device) {
  auto* const found = dynamic_cast<DriverPoolBackend*>(&device.backend());
  return found == nullptr ? std::nullopt : found->nearest_numa_node();
}

}  // namespace rtcg::runtime
