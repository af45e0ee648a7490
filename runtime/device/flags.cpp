#include "rtcg/runtime/device/flags.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime {
namespace {

FlagBackend* flags_of(Device device) {
  return dynamic_cast<FlagBackend*>(&device.backend());
}

FlagBackend& checked_flags(Device device) {
  FlagBackend* const found = flags_of(device);
  if (found == nullptr || !found->has_flags()) {
    throw Unsupported("runtime.flags.unsupported",
                      fmt::format("streams of '{}' cannot wait for words of memory: those of the "
                                  "host and of CUDA can",
                                  device.info().name));
  }
  return *found;
}

}  // namespace

bool has_flags(Device device) {
  FlagBackend* const found = flags_of(device);
  return found != nullptr && found->has_flags();
}

bool has_flags_in_graphs(Device device) {
  FlagBackend* const found = flags_of(device);
  return found != nullptr && found->has_flags_in_graphs();
}

Flags::Flags(Device device, std::size_t count)
    : words_((checked_flags(device), device), count, MemoryKind::pinned) {
  for (std::size_t i = 0; i < count; ++i) {
    store(i, 0);
  }
}

void Flags::set(StreamRef stream, std::size_t flag, std::uint32_t value) const {
  checked_flags(stream.device())
      .set_flag(stream.native_handle(), words_.subrange(flag, 1).address(), value);
}

void Flags::wait(StreamRef stream, std::size_t flag, std::uint32_t bits) const {
  checked_flags(stream.device())
      .wait_for_flag(stream.native_handle(), words_.subrange(flag, 1).address(), bits);
}

std::uint32_t Flags::load(std::size_t flag) const noexcept {
  return std::atomic_ref<std::uint32_t>(words_.host_span()[flag]).load(std::memory_order_acquire);
}

void Flags::store(std::size_t flag, std::uint32_t value) const noexcept {
  std::atomic_ref<std::uint32_t>(words_.host_span()[flag]).store(value, std::memory_order_release);
}

}  // namespace rtcg::runtime
