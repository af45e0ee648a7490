// The context, streams and events.
#include "rtcg/runtime/opencl/opencl_backend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_device_info.h"

namespace rtcg::runtime::opencl {

struct OpenClBackend::RecordedEvent {
  bool with_timing = true;
  cl_event latest = nullptr;
  cl_command_queue queue = nullptr;
  std::uint64_t submission = 0;  // of the queue, when it was recorded
};

// The latest record of an event, held.
struct OpenClBackend::Recorded {
  HeldEvent event;
  cl_command_queue queue;
  std::uint64_t submission;
};

OpenClBackend::OpenClBackend(const Api& api, cl_device_id device, const DeviceName& name)
    : api_(api),
      device_(device),
      info_(read_device_info(api, device, name)),
      svm_(read_svm_capabilities(api, device)),
      compiler_(*this),
      buffers_(api) {}

cl_context OpenClBackend::context() const {
  std::call_once(context_made_, [&] {
    cl_int status = CL_SUCCESS;
    cl_context made = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) {
      throw_status(status, api_.clCreateContext.name(), "make a context");
    }
    context_ = made;
  });
  return context_;
}

cl_command_queue OpenClBackend::new_queue(cl_command_queue_properties order) const {
  const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE | order,
                                            0};
  cl_int status = CL_SUCCESS;
  cl_command_queue made =
      api_.clCreateCommandQueueWithProperties(context(), device_, properties, &status);
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateCommandQueueWithProperties.name(), "make a stream");
  }
  return made;
}

cl_command_queue OpenClBackend::queue(Stream stream) {
  if (stream != nullptr) {
    return static_cast<cl_command_queue>(stream);
  }
  std::call_once(default_queue_made_, [&] {
    default_queue_ = new_queue(0);
    const std::lock_guard lock(mutex_);
    progress_[default_queue_].is_foreign = false;
  });
  return default_queue_;
}

std::vector<OpenClBackend::HeldQueue> OpenClBackend::queues() const {
  const std::lock_guard lock(mutex_);
  std::vector<HeldQueue> held;
  held.reserve(progress_.size());
  for (const auto& [queue, progress] : progress_) {
    if (!progress.is_foreign) {
      api_.clRetainCommandQueue(queue);
      held.emplace_back(queue, ReleaseQueue{&api_});
    }
  }
  return held;
}

void OpenClBackend::submit(cl_command_queue queue) {
  api_.clFlush.must("start work", queue);
  const std::lock_guard lock(mutex_);
  progress_[queue].submitted = ++submissions_;
}

std::uint64_t OpenClBackend::latest_submission(cl_command_queue queue) const {
  const std::lock_guard lock(mutex_);
  const auto known = progress_.find(queue);
  return known == progress_.end() ? 0 : known->second.submitted;
}

void OpenClBackend::note_done(cl_command_queue queue, std::uint64_t submission) {
  const std::lock_guard lock(mutex_);
  const auto known = progress_.find(queue);
  if (known != progress_.end()) {
    known->second.done = std::max(known->second.done, submission);
  }
}

void OpenClBackend::finish(cl_command_queue queue) {
  const std::uint64_t submission = latest_submission(queue);
  api_.clFinish.must("wait for a stream", queue);
  note_done(queue, submission);
}

cl_event OpenClBackend::new_marker(cl_command_queue queue) const {
  cl_event marker = nullptr;
  api_.clEnqueueMarkerWithWaitList.must("mark a place in a stream", queue, 0, nullptr, &marker);
  HeldEvent held(marker, {&api_});
  // another stream that waits for the marker does not start this one
  api_.clFlush.must("start work", queue);
  return held.release();
}

Backend::Stream OpenClBackend::create_stream(const StreamOptions& options) {
  // Without priorities: they are an extension, and the core has one level.
  cl_command_queue_properties offered = 0;
  api_.clGetDeviceInfo(device_, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, sizeof(offered), &offered,
                       nullptr);
  const bool in_order = options.in_order || (offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
  cl_command_queue made = new_queue(in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const std::lock_guard lock(mutex_);
  progress_[made].is_foreign = false;
  if (!in_order) {
    progress_[made].order = std::make_shared<CommandOrder>(api_, made);
    has_orders_ = true;
  }
  return made;
}

std::shared_ptr<CommandOrder> OpenClBackend::order_of(cl_command_queue queue) const {
  if (!has_orders_) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto known = progress_.find(queue);
  return known == progress_.end() ? nullptr : known->second.order;
}

void OpenClBackend::destroy_stream(Stream stream) noexcept {
  auto* const ended = static_cast<cl_command_queue>(stream);
  // so that nothing runs any more that free() would not know of
  api_.clFinish(ended);
  {
    const std::lock_guard lock(mutex_);
    const auto known = progress_.find(ended);
    if (known != progress_.end()) {
      const HeldEvent marker(known->second.marker, {&api_});
      progress_.erase(known);
    }
  }
  api_.clReleaseCommandQueue(ended);
}

void OpenClBackend::synchronize(Stream stream) {
  finish(queue(stream));
}

bool OpenClBackend::is_complete(cl_event event) const {
  cl_int state = CL_COMPLETE;
  api_.clGetEventInfo.must("ask how far work is", event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                           sizeof(state), &state, nullptr);
  if (state < 0) {
    throw_status(state, api_.clGetEventInfo.name(), "finish work on the device");
  }
  return state == CL_COMPLETE;
}

// A marker stays until it is passed: a new one at each call might never be found done.
bool OpenClBackend::is_done(Stream stream) {
  const cl_command_queue asked = queue(stream);
  const std::lock_guard lock(mutex_);
  Progress& progress = progress_[asked];
  if (!progress.is_foreign && progress.done >= progress.submitted) {
    return true;
  }
  HeldEvent marker(std::exchange(progress.marker, nullptr), {&api_});
  if (marker == nullptr || progress.marked != progress.submitted) {
    marker.reset(new_marker(asked));
    progress.marked = progress.submitted;
  }
  if (!is_complete(marker.get())) {
    progress.marker = marker.release();
    return false;
  }
  progress.done = std::max(progress.done, progress.marked);
  return true;
}

namespace {

/// A function of the user, and the event that later work waits for.
struct HostCall {
  const Api& api;
  Backend::HostFunction function;
  void* data;
  cl_event ended;
};

// also after work that failed: what the function releases is used no more
void CL_CALLBACK run_host_call(cl_event /*reached*/, cl_int /*status*/, void* data) {
  const std::unique_ptr<HostCall> call(static_cast<HostCall*>(data));
  call->function(call->data);
  call->api.clSetUserEventStatus(call->ended, CL_COMPLETE);
  call->api.clReleaseEvent(call->ended);
}

}  // namespace

void OpenClBackend::call_host(Stream stream, HostFunction function, void* data) {
  cl_command_queue const on = queue(stream);
  const HeldEvent reached(new_marker(on), {&api_});
  const HeldEvent ended(static_cast<cl_event>(create_user_event()), {&api_});
  cl_event const awaited = ended.get();
  api_.clEnqueueBarrierWithWaitList.must("let a stream wait for a function", on, 1, &awaited,
                                         nullptr);
  api_.clRetainEvent.must("use an event", awaited);
  auto call = std::make_unique<HostCall>(HostCall{api_, function, data, awaited});
  api_.clSetEventCallback.must("let a stream call a function", reached.get(), CL_COMPLETE,
                               run_host_call, call.get());
  static_cast<void>(call.release());
  submit(on);
}

void OpenClBackend::synchronize_device() {
  for (const HeldQueue& each : queues()) {
    finish(each.get());
  }
}

Backend::Event OpenClBackend::create_event(const EventOptions& options) {
  auto made = std::make_unique<RecordedEvent>();
  made->with_timing = options.with_timing;
  const std::lock_guard lock(mutex_);
  events_.insert(made.get());
  return made.release();
}

OpenClBackend::RecordedEvent* OpenClBackend::own_event(Event event) const {
  return events_.count(event) != 0 ? static_cast<RecordedEvent*>(event) : nullptr;
}

void OpenClBackend::destroy_event(Event event) noexcept {
  const std::lock_guard lock(mutex_);
  const std::unique_ptr<RecordedEvent> own(own_event(event));
  if (own != nullptr && own->latest != nullptr) {
    api_.clReleaseEvent(own->latest);
  }
  events_.erase(event);
}

Backend::Event OpenClBackend::create_user_event() {
  cl_int status = CL_SUCCESS;
  cl_event made = api_.clCreateUserEvent(context(), &status);
  if (status != CL_SUCCESS) {
    throw_status(status, api_.clCreateUserEvent.name(), "make an event that the host sets");
  }
  return made;
}

void OpenClBackend::set_user_event(Event event) {
  api_.clSetUserEventStatus.must("set an event", static_cast<cl_event>(event), CL_COMPLETE);
}

void OpenClBackend::destroy_user_event(Event event) noexcept {
  api_.clReleaseEvent(static_cast<cl_event>(event));
}

void OpenClBackend::record(Event event, Stream stream) {
  cl_command_queue const on = queue(stream);
  const std::uint64_t submission = latest_submission(on);
  HeldEvent marker(new_marker(on), {&api_});
  const std::lock_guard lock(mutex_);
  RecordedEvent* const own = own_event(event);
  if (own == nullptr) {
    throw InvalidInput(
        "runtime.opencl.foreign_event",
        "a cl_event made elsewhere can be waited for, not recorded: record an Event");
  }
  const HeldEvent before(std::exchange(own->latest, marker.release()), {&api_});
  own->queue = on;
  own->submission = submission;
}

OpenClBackend::Recorded OpenClBackend::recorded(Event event) const {
  const std::lock_guard lock(mutex_);
  const RecordedEvent* const own = own_event(event);
  cl_event const latest = own != nullptr ? own->latest : static_cast<cl_event>(event);
  if (latest != nullptr) {
    api_.clRetainEvent.must("use an event", latest);
  }
  return {HeldEvent(latest, {&api_}), own != nullptr ? own->queue : nullptr,
          own != nullptr ? own->submission : 0};
}

void OpenClBackend::wait_event(Stream stream, Event event) {
  const Recorded latest = recorded(event);
  if (latest.event == nullptr) {
    return;
  }
  cl_command_queue const waiting = queue(stream);
  cl_event const awaited = latest.event.get();
  api_.clEnqueueBarrierWithWaitList.must("let a stream wait for an event", waiting, 1, &awaited,
                                         nullptr);
  submit(waiting);
}

void OpenClBackend::synchronize_event(Event event) {
  const Recorded latest = recorded(event);
  if (latest.event != nullptr) {
    cl_event const awaited = latest.event.get();
    api_.clWaitForEvents.must("wait for an event", 1, &awaited);
    note_done(latest.queue, latest.submission);
  }
}

bool OpenClBackend::is_event_done(Event event) {
  const Recorded latest = recorded(event);
  if (latest.event != nullptr && !is_complete(latest.event.get())) {
    return false;
  }
  note_done(latest.queue, latest.submission);
  return true;
}

double OpenClBackend::end_ms(Event event) {
  const Recorded latest = recorded(event);
  if (latest.event == nullptr) {
    throw InvalidInput("runtime.event.not_recorded",
                       "the time between two events asks for both to be recorded");
  }
  cl_event const awaited = latest.event.get();
  api_.clWaitForEvents.must("wait for an event", 1, &awaited);
  cl_ulong end_ns = 0;
  api_.clGetEventProfilingInfo.must("read an event's time", awaited, CL_PROFILING_COMMAND_END,
                                    sizeof(end_ns), &end_ns, nullptr);
  return static_cast<double>(end_ns) * 1e-6;
}

double OpenClBackend::elapsed_ms(Event begin, Event end) {
  for (const Event event : {begin, end}) {
    const std::lock_guard lock(mutex_);
    const RecordedEvent* const own = own_event(event);
    if (own != nullptr && !own->with_timing) {
      throw InvalidInput("runtime.event.no_timing",
                         "no time was taken: the event was created without timing");
    }
  }
  const double begin_ms = end_ms(begin);
  return end_ms(end) - begin_ms;
}

}  // namespace rtcg::runtime::opencl
