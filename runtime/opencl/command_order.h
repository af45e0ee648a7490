#pragma once
// Internal header: it is not installed.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "rtcg/runtime/opencl/opencl_api.h"

namespace rtcg::runtime::opencl {

struct ReleaseEvent {
  const Api* api;
  void operator()(cl_event event) const noexcept { api->clReleaseEvent(event); }
};
using HeldEvent = std::unique_ptr<std::remove_pointer_t<cl_event>, ReleaseEvent>;

/// Memory that a command uses, as a whole: the address where an allocation begins, or an image.
struct MemoryUse {
  /// For all memory that is not an allocation of the device: the host's, whose parts may overlap.
  static constexpr std::uint64_t of_host = 0;

  std::uint64_t memory = of_host;
  bool is_written = true;
};

/// The order between the commands of an out-of-order queue: a command waits for the earlier ones
/// that write what it uses, or use what it writes. Any thread may enqueue.
class CommandOrder {
 public:
  CommandOrder(const Api& api, cl_command_queue queue) : api_(api), queue_(queue) {}
  CommandOrder(const CommandOrder&) = delete;
  CommandOrder& operator=(const CommandOrder&) = delete;

  /// Enqueues one command. @param command  called with the number of events to wait for, these
  ///                       events, and the place for the event of its end; returns a status
  template <class Command>
  cl_int enqueue(std::span<const MemoryUse> uses, const Command& command) {
    const std::lock_guard lock(mutex_);
    const std::vector<cl_event> events = before(uses);
    cl_event done = nullptr;
    const cl_int status = command(static_cast<cl_uint>(events.size()),
                                  events.empty() ? nullptr : events.data(), &done);
    if (status == CL_SUCCESS) {
      add(uses, HeldEvent(done, {&api_}));
    }
    return status;
  }

  /// The allocation ended.
  void forget(std::uint64_t memory) noexcept;

  /// Lets the commands that are enqueued while it lives, by its thread alone, come after all before
  /// them and before all after them.
  class Fence {
   public:
    /// @param order  null for a queue that is in order
    explicit Fence(CommandOrder* order);
    ~Fence();
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;
    /// Separates what is enqueued next from what was before.
    void again() const;

   private:
    CommandOrder* order_;
    std::unique_lock<std::mutex> lock_;
  };

 private:
  using SharedEvent = std::shared_ptr<std::remove_pointer_t<cl_event>>;
  struct Uses {
    SharedEvent write;
    std::vector<SharedEvent> reads;  // after the write
  };

  [[nodiscard]] std::vector<cl_event> before(std::span<const MemoryUse> uses) const;
  void add(std::span<const MemoryUse> uses, HeldEvent done);
  /// Forgets the reads that are done.
  void drop_done(Uses& uses) const;

  const Api& api_;
  cl_command_queue queue_;
  std::mutex mutex_;  // of everything below, and held while a command is enqueued
  std::map<std::uint64_t, Uses> used_;
};

}  // namespace rtcg::runtime::opencl
