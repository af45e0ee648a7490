#include "rtcg/runtime/opencl/command_order.h"

#include <algorithm>
#include <cstddef>

namespace rtcg::runtime::opencl {
namespace {

constexpr std::size_t many_reads = 16;

}  // namespace

std::vector<cl_event> CommandOrder::before(std::span<const MemoryUse> uses) const {
  std::vector<cl_event> events;
  for (const MemoryUse& use : uses) {
    const auto known = used_.find(use.memory);
    if (known == used_.end()) {
      continue;
    }
    if (known->second.write != nullptr) {
      events.push_back(known->second.write.get());
    }
    if (use.is_written) {
      for (const auto& read : known->second.reads) {
        events.push_back(read.get());
      }
    }
  }
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  return events;
}

void CommandOrder::drop_done(Uses& uses) const {
  const auto is_done = [&](const auto& event) {
    cl_int state = CL_QUEUED;
    return api_.clGetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state),
                               &state, nullptr) == CL_SUCCESS &&
           state == CL_COMPLETE;
  };
  uses.reads.erase(std::remove_if(uses.reads.begin(), uses.reads.end(), is_done), uses.reads.end());
}

void CommandOrder::add(std::span<const MemoryUse> uses, HeldEvent done) {
  const ReleaseEvent release = done.get_deleter();
  const std::shared_ptr<std::remove_pointer_t<cl_event>> event(done.release(), release);
  for (const MemoryUse& use : uses) {
    if (use.is_written) {
      used_[use.memory] = {event, {}};
    }
  }
  for (const MemoryUse& use : uses) {
    Uses& known = used_[use.memory];
    if (use.is_written || known.write == event) {
      continue;  // also where the command reads what it writes by another argument
    }
    if (known.reads.size() >= many_reads) {
      drop_done(known);
    }
    known.reads.push_back(event);
  }
}

void CommandOrder::forget(std::uint64_t memory) noexcept {
  const std::lock_guard lock(mutex_);
  used_.erase(memory);
}

CommandOrder::Fence::Fence(CommandOrder* order) : order_(order) {
  if (order_ != nullptr) {
    lock_ = std::unique_lock(order_->mutex_);
    again();
  }
}

CommandOrder::Fence::~Fence() {
  if (order_ != nullptr) {
    order_->api_.clEnqueueBarrierWithWaitList(order_->queue_, 0, nullptr, nullptr);
    order_->used_.clear();  // what comes later waits for the barrier
  }
}

void CommandOrder::Fence::again() const {
  if (order_ != nullptr) {
    order_->api_.clEnqueueBarrierWithWaitList.must("separate work of a stream", order_->queue_, 0,
                                                   nullptr, nullptr);
  }
}

}  // namespace rtcg::runtime::opencl
