#include "rtcg/runtime/device/external.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

ExternalBackend& imports_of(Device device) {
  auto* const found = dynamic_cast<ExternalBackend*>(&device.backend());
  if (found == nullptr) {
    throw Unsupported("runtime.external.unsupported",
                      fmt::format("'{}' imports no memory or semaphores of other libraries: "
                                  "devices of CUDA do",
                                  device.info().name));
  }
  return *found;
}

}  // namespace

struct ExternalMemory::State {
  Device device;
  std::size_t size_bytes;
  ExternalBackend& backend;
  ExternalBackend::Memory memory;
  std::mutex mutex;
  DeviceAddress address = 0;  // once it is asked for

  State(Device of, int file_descriptor, const ExternalMemoryOptions& options)
      : device(of),
        size_bytes(options.size_bytes),
        backend(imports_of(of)),
        memory(backend.import_external(file_descriptor, options)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (address != 0) {
      backend.unmap_external(address);
    }
    backend.destroy_external(memory);
  }
};

ExternalMemory::ExternalMemory(Device device, int file_descriptor,
                               const ExternalMemoryOptions& options) {
  if (options.size_bytes == 0) {
    throw InvalidInput("runtime.external.no_size",
                       "memory of another library is to be imported with 0 bytes: give the size "
                       "with which it was allocated, as VkMemoryRequirements has it");
  }
  state_ = std::make_shared<State>(device, file_descriptor, options);
}

Device ExternalMemory::device() const noexcept {
  return state_->device;
}

std::size_t ExternalMemory::size_bytes() const noexcept {
  return state_->size_bytes;
}

BufferRef<std::byte> ExternalMemory::ref() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->address == 0) {
    state_->address = state_->backend.map_external(state_->memory, state_->size_bytes);
  }
  return {state_->device, state_->address, state_->size_bytes};
}

ImageArray ExternalMemory::image(const ImageShape& shape, const ImageOptions& options) const {
  // The mipmap owns its images, and the memory outlives both.
  struct Owner {
    std::shared_ptr<State> memory;
    ExternalBackend::Mipmap mipmap;
    Owner(std::shared_ptr<State> of, ExternalBackend::Mipmap given)
        : memory(std::move(of)), mipmap(given) {}
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() { memory->backend.destroy_external_image(mipmap); }
  };
  check_image_shape(shape);
  ExternalBackend& backend = state_->backend;
  auto owner = std::make_shared<const Owner>(
      state_,
      backend.external_image(state_->memory, options.offset_bytes, shape, options.is_drawn_to));
  ImageBackend::Image image = backend.texels_of(owner->mipmap, shape);
  return {state_->device, shape, image, std::move(owner)};
}

struct ExternalSemaphore::State {
  Device device;
  ExternalSemaphoreKind kind;
  ExternalBackend& backend;
  ExternalBackend::Semaphore semaphore;

  State(Device of, int file_descriptor, ExternalSemaphoreKind given)
      : device(of),
        kind(given),
        backend(imports_of(of)),
        semaphore(backend.import_semaphore(file_descriptor, given)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { backend.destroy_semaphore(semaphore); }
};

ExternalSemaphore::ExternalSemaphore(Device device, int file_descriptor, ExternalSemaphoreKind kind)
    : state_(std::make_shared<const State>(device, file_descriptor, kind)) {}

Device ExternalSemaphore::device() const noexcept {
  return state_->device;
}

void ExternalSemaphore::check(StreamRef stream, std::uint64_t value) const {
  if (stream.device() != state_->device) {
    throw InvalidInput(
        "runtime.external.other_stream",
        fmt::format("a semaphore that '{}' imported is used on a stream of '{}': "
                    "import it there, too",
                    to_string(state_->device.info().id), to_string(stream.device().info().id)));
  }
  const bool is_timeline = state_->kind == ExternalSemaphoreKind::timeline;
  if (is_timeline == (value == 0)) {
    throw InvalidInput(
        "runtime.external.bad_value",
        is_timeline ? std::string("a timeline semaphore is given the value 0, with which it "
                                  "begins: give the one to be reached, 1 at least")
                    : fmt::format("a binary semaphore is given the value {}: it has none; leave "
                                  "the value out, or import a timeline semaphore",
                                  value));
  }
}

void ExternalSemaphore::signal(StreamRef stream, std::uint64_t value) const {
  check(stream, value);
  state_->backend.signal(stream.native_handle(), state_->semaphore, value);
}

void ExternalSemaphore::wait(StreamRef stream, std::uint64_t value) const {
  check(stream, value);
  state_->backend.wait(stream.native_handle(), state_->semaphore, value);
}

}  // namespace rtcg::runtime
