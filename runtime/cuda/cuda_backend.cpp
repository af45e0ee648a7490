#if RTCG_HAS_CUDA_HEADERS
#include "rtcg/runtime/cuda/cuda_backend.h"

#include <algorithm>

#include <fmt/format.h>

namespace rtcg::runtime::cuda {

CurrentContext::CurrentContext(const CudaBackend& backend) : driver_(backend.driver()) {
  const CUcontext wanted = backend.context();
  CUcontext current = nullptr;
  driver_.cuCtxGetCurrent.must("ask for the current context", &current);
  if (current == wanted) {
    return;
  }
  if (current == nullptr) {
    driver_.cuCtxSetCurrent.must("make the device's primary context current", wanted);
    return;
  }
  driver_.cuCtxPushCurrent.must("make the device's primary context current", wanted);
  was_pushed_ = true;
}

CurrentContext::~CurrentContext() {
  if (was_pushed_) {
    CUcontext popped = nullptr;
    driver_.cuCtxPopCurrent.quietly(&popped);
  }
}

CudaBackend::CudaBackend(const DriverApi& driver, int index) : driver_(driver) {
  driver_.cuDeviceGet.must("get a device", &device_, index);
  info_ = read_device_info(driver_, device_, index);
}

CUcontext CudaBackend::context() const {
  CUcontext context = context_.load(std::memory_order_acquire);
  if (context != nullptr) {
    return context;
  }
  const std::lock_guard lock(mutex_);
  context = context_.load(std::memory_order_relaxed);
  if (context == nullptr) {
    driver_.cuDevicePrimaryCtxRetain.must("retain the device's primary context", &context, device_);
    context_.store(context, std::memory_order_release);
  }
  return context;
}

int CudaBackend::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  driver_.cuDeviceGetAttribute.must("read an attribute of a device", &value, attribute, device_);
  return value;
}

std::optional<PciAddress> CudaBackend::pci_address() const {
  std::array<char, 32> text = {};
  driver_.cuDeviceGetPCIBusId.must("ask for a device's PCI address", text.data(),
                                   static_cast<int>(text.size()), device_);
  return parse_pci_address(text.data());
}

Backend::Stream CudaBackend::create_stream(const StreamOptions& options) {
  const detail::DeviceCall waits;
  const CurrentContext current(*this);
  int least = 0;
  int greatest = 0;
  driver_.cuCtxGetStreamPriorityRange.must("ask for the priorities of streams", &least, &greatest);
  CUstream stream = nullptr;
  driver_.cuStreamCreateWithPriority.must(
      "create a stream", &stream, options.non_blocking ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT,
      std::clamp(options.priority, greatest, least));
  return stream;
}

void CudaBackend::destroy_stream(Stream stream) noexcept {
  if (stream != nullptr) {
    const detail::DeviceCall waits;
    ignoring_errors(*this, [&] { driver_.cuStreamDestroy.quietly(static_cast<CUstream>(stream)); });
  }
}

void CudaBackend::synchronize(Stream stream) {
  const CurrentContext current(*this);
  driver_.cuStreamSynchronize.must("synchronise a stream", static_cast<CUstream>(stream));
}

bool CudaBackend::is_done(Stream stream) {
  const CurrentContext current(*this);
  const CUresult status = driver_.cuStreamQuery(static_cast<CUstream>(stream));
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY) {
    throw_status(status, driver_.cuStreamQuery.name(), "ask whether a stream is done");
  }
  return status == CUDA_SUCCESS;
}

void CudaBackend::wait_event(Stream stream, Event event) {
  const CurrentContext current(*this);
  driver_.cuStreamWaitEvent.must("let a stream wait for an event", static_cast<CUstream>(stream),
                                 static_cast<CUevent>(event), CU_EVENT_WAIT_DEFAULT);
}

void CudaBackend::call_host(Stream stream, HostFunction function, void* data) {
  const CurrentContext current(*this);
  driver_.cuLaunchHostFunc.must("let a stream call a function", static_cast<CUstream>(stream),
                                function, data);
}

void CudaBackend::synchronize_device() {
  const CurrentContext current(*this);
  captures_.without_captures([&] { driver_.cuCtxSynchronize.must("synchronise the device"); });
}

Backend::Event CudaBackend::create_event(const EventOptions& options) {
  const CurrentContext current(*this);
  CUevent event = nullptr;
  driver_.cuEventCreate.must("create an event", &event,
                             options.with_timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  if (!options.with_timing) {
    const std::lock_guard lock(mutex_);
    events_without_timing_.insert(event);
  }
  return event;
}

void CudaBackend::destroy_event(Event event) noexcept {
  if (event == nullptr) {
    return;
  }
  ignoring_errors(*this, [&] {
    {
      const std::lock_guard lock(mutex_);
      events_without_timing_.erase(static_cast<CUevent>(event));
    }
    driver_.cuEventDestroy.quietly(static_cast<CUevent>(event));
  });
}

void CudaBackend::record(Event event, Stream stream) {
  const CurrentContext current(*this);
  driver_.cuEventRecord.must("record an event", static_cast<CUevent>(event),
                             static_cast<CUstream>(stream));
}

void CudaBackend::synchronize_event(Event event) {
  const CurrentContext current(*this);
  driver_.cuEventSynchronize.must("wait for an event", static_cast<CUevent>(event));
}

bool CudaBackend::is_event_done(Event event) {
  const CurrentContext current(*this);
  const CUresult status = driver_.cuEventQuery(static_cast<CUevent>(event));
  if (status != CUDA_SUCCESS && status != CUDA_ERROR_NOT_READY) {
    throw_status(status, driver_.cuEventQuery.name(), "ask whether an event is done");
  }
  return status == CUDA_SUCCESS;
}

double CudaBackend::elapsed_ms(Event begin, Event end) {
  const CurrentContext current(*this);
  float time_ms = 0;
  const CUresult status =
      driver_.cuEventElapsedTime(&time_ms, static_cast<CUevent>(begin), static_cast<CUevent>(end));
  if (status == CUDA_ERROR_INVALID_HANDLE) {
    const std::lock_guard lock(mutex_);
    if (events_without_timing_.count(static_cast<CUevent>(begin)) != 0 ||
        events_without_timing_.count(static_cast<CUevent>(end)) != 0) {
      throw InvalidInput("runtime.event.no_timing",
                         "cannot measure between these events: one was made without timing");
    }
    throw InvalidInput("runtime.event.not_recorded",
                       "cannot measure between these events: one was never recorded");
  }
  if (status != CUDA_SUCCESS) {
    throw_status(status, driver_.cuEventElapsedTime.name(), "measure the time between two events");
  }
  return static_cast<double>(time_ms);
}

}  // namespace rtcg::runtime::cuda
#endif
