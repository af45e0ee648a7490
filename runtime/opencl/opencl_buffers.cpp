#include "rtcg/runtime/opencl/opencl_buffers.h"

#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"

namespace rtcg::runtime::opencl {
namespace {

// At least this number of bytes between two allocations is unused: an address slightly outside of
// one is not taken for its neighbour's.
constexpr DeviceAddress granularity = DeviceAddress{1} << 20;

HeldBuffer part_of(const Api& api, cl_mem buffer, std::size_t offset_bytes,
                   std::size_t size_bytes) {
  const cl_buffer_region region = {offset_bytes, size_bytes};
  cl_int status = CL_SUCCESS;
  HeldBuffer part(api.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &status),
                  {&api});
  if (status == CL_MISALIGNED_SUB_BUFFER_OFFSET) {
    throw Unsupported(
        "runtime.opencl.unaligned_pointer",
        fmt::format("an argument points {} bytes into its memory; this device has no shared "
                    "virtual memory and takes multiples of info().memory_alignment_bytes: pass an "
                    "index in addition to the pointer",
                    offset_bytes));
  }
  if (status != CL_SUCCESS) {
    throw_status(status, api.clCreateSubBuffer.name(), "pass part of a buffer");
  }
  return part;
}

}  // namespace

DeviceAddress BufferMemory::allocate(cl_context context, std::size_t size_bytes) {
  cl_int status = CL_SUCCESS;
  HeldBuffer buffer(api_.clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, nullptr, &status),
                    {&api_});
  if (status != CL_SUCCESS) {
    return 0;
  }
  const std::lock_guard lock(mutex_);
  const DeviceAddress address = next_;
  allocations_[address] = {buffer.get(), size_bytes};
  static_cast<void>(buffer.release());
  next_ += (size_bytes / granularity + 2) * granularity;
  return address;
}

void BufferMemory::free(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = allocations_.find(address);
  if (known != allocations_.end()) {
    api_.clReleaseMemObject(known->second.buffer);
    allocations_.erase(known);
  }
}

std::optional<BufferMemory::Place> BufferMemory::find(DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) {
    return std::nullopt;
  }
  const auto& [begin, allocation] = *std::prev(after);
  const std::size_t offset_bytes = address - begin;
  if (offset_bytes >= allocation.size_bytes) {
    return std::nullopt;
  }
  return Place{allocation.buffer, offset_bytes, allocation.size_bytes - offset_bytes};
}

BufferMemory::Place BufferMemory::must_find(DeviceAddress address, std::string_view what) const {
  if (const std::optional<Place> place = find(address)) {
    return *place;
  }
  throw Unsupported("runtime.opencl.no_zero_copy",
                    fmt::format("{} is not memory of the device, which reaches no other without "
                                "shared virtual memory: copy it there",
                                what));
}

void BufferMemory::copy(cl_command_queue queue, DeviceAddress target, DeviceAddress source,
                        std::size_t size_bytes, bool blocking) const {
  const cl_bool waits = blocking ? CL_TRUE : CL_FALSE;
  const std::optional<Place> to = find(target);
  const std::optional<Place> from = find(source);
  if (to && from) {
    api_.clEnqueueCopyBuffer.must("copy memory", queue, from->buffer, to->buffer,
                                  from->offset_bytes, to->offset_bytes, size_bytes, 0, nullptr,
                                  nullptr);
  } else if (to) {
    api_.clEnqueueWriteBuffer.must("copy to the device", queue, to->buffer, waits, to->offset_bytes,
                                   size_bytes, pointer(source), 0, nullptr, nullptr);
  } else if (from) {
    api_.clEnqueueReadBuffer.must("copy to the host", queue, from->buffer, waits,
                                  from->offset_bytes, size_bytes, pointer(target), 0, nullptr,
                                  nullptr);
  } else {
    // no command copies on the host alone
    api_.clFinish.must("wait for a stream", queue);
    std::memmove(pointer(target), pointer(source), size_bytes);
  }
}

void BufferMemory::fill(cl_command_queue queue, DeviceAddress address,
                        std::span<const std::byte> pattern, std::size_t size_bytes) const {
  const Place place = must_find(address, "a fill");
  api_.clEnqueueFillBuffer.must("fill memory", queue, place.buffer, pattern.data(), pattern.size(),
                                place.offset_bytes, size_bytes, 0, nullptr, nullptr);
}

HeldBuffer BufferMemory::set_argument(cl_kernel kernel, cl_uint index,
                                      DeviceAddress address) const {
  HeldBuffer part(nullptr, {&api_});
  cl_mem buffer = nullptr;
  if (address != 0) {
    const Place place = must_find(address, fmt::format("argument {}", index + 1));
    buffer = place.buffer;
    if (place.offset_bytes != 0) {
      part = part_of(api_, place.buffer, place.offset_bytes, place.rest_bytes);
      buffer = part.get();
    }
  }
  api_.clSetKernelArg.must("set a pointer", kernel, index, sizeof(buffer), &buffer);
  return part;
}

}  // namespace rtcg::runtime::opencl
