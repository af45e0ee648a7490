// Memory of the three kinds, copies and fills.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime::opencl {
namespace {

// The alignment of a cache line, and of OpenCL's widest type, double16.
constexpr std::size_t alignment_bytes = 128;

bool has_gaps(const CopyRegion& region, const CopyRegion::End& end) {
  return (region.rows > 1 && end.row_pitch_bytes != region.row_bytes) ||
         (region.planes > 1 && end.plane_pitch_bytes != region.row_bytes * region.rows);
}

DeviceAddress row_address(const CopyRegion::End& end, std::size_t plane, std::size_t row) {
  return end.address + plane * end.plane_pitch_bytes + row * end.row_pitch_bytes;
}

}  // namespace

cl_svm_mem_flags svm_flags(cl_device_svm_capabilities capabilities, MemoryKind kind,
                           const std::string& device_name) {
  if (kind == MemoryKind::managed && (capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) {
    throw Unsupported("runtime.opencl.no_managed_memory",
                      fmt::format("OpenCL device '{}' has no fine-grained shared virtual memory: "
                                  "take device memory and copy",
                                  device_name));
  }
  return CL_MEM_READ_WRITE |
         (kind == MemoryKind::device ? cl_svm_mem_flags{0} : CL_MEM_SVM_FINE_GRAIN_BUFFER);
}

bool OpenClBackend::is_coherent() const noexcept {
  return (svm_ & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
}

bool OpenClBackend::has_svm() const noexcept {
  return (svm_ & (CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER)) != 0;
}

bool OpenClBackend::is_host_memory(MemoryKind kind) const noexcept {
  return kind == MemoryKind::pinned && !is_coherent();
}

MemoryUse OpenClBackend::memory_use(DeviceAddress address, bool is_written) const {
  const std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) {
    return {MemoryUse::of_host, is_written};
  }
  const auto& [begin, allocation] = *std::prev(after);
  return {address - begin < allocation.size_bytes ? begin : MemoryUse::of_host, is_written};
}

std::optional<OpenClBackend::Allocation> OpenClBackend::find_allocation(
    DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) {
    return std::nullopt;
  }
  const auto& [begin, allocation] = *std::prev(after);
  return address - begin < allocation.size_bytes ? std::optional(allocation) : std::nullopt;
}

bool OpenClBackend::is_in_host_memory(DeviceAddress address) const {
  const std::optional<Allocation> allocation = find_allocation(address);
  return allocation && allocation->is_on_host;
}

void* OpenClBackend::allocate_svm(cl_svm_mem_flags flags, std::size_t size_bytes) {
  const cl_context own_context = context();
  {
    // NVIDIA's driver refuses now and then while another thread allocates or frees.
    const std::lock_guard lock(svm_mutex_);
    if (void* memory = api_.clSVMAlloc(own_context, flags, size_bytes, 0)) {
      return memory;
    }
  }
  for (const HeldQueue& each : queues()) {
    api_.clFinish(each.get());
  }
  const std::lock_guard lock(svm_mutex_);
  return api_.clSVMAlloc(own_context, flags, size_bytes, 0);
}

DeviceAddress OpenClBackend::try_allocate(std::size_t size_bytes, MemoryKind kind) {
  const cl_svm_mem_flags flags = svm_flags(svm_, kind, info_.name);
  if (size_bytes > info_.max_allocation_bytes) {
    return 0;
  }
  void* memory = nullptr;
  if (is_host_memory(kind)) {
    if (::posix_memalign(&memory, alignment_bytes, size_bytes) != 0) {
      return 0;
    }
  } else if (has_svm()) {
    memory = allocate_svm(flags, size_bytes);
  } else {
    return buffers_.allocate(context(), size_bytes);
  }
  return static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(memory));
}

DeviceAddress OpenClBackend::allocate(std::size_t size_bytes, MemoryKind kind) {
  if (size_bytes == 0) {
    return 0;
  }
  const DeviceAddress address = try_allocate(size_bytes, kind);
  if (address == 0) {
    throw DeviceError(
        "runtime.memory.out_of_memory",
        fmt::format("cannot allocate {} bytes: '{}' gives at most {} at once, of {}", size_bytes,
                    info_.name, info_.max_allocation_bytes, info_.total_memory_bytes),
        is_host_memory(kind) ? "posix_memalign"
                             : (has_svm() ? api_.clSVMAlloc.name() : api_.clCreateBuffer.name()),
        "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  }
  const std::lock_guard lock(mutex_);
  allocations_.emplace(address, Allocation{size_bytes, is_host_memory(kind)});
  allocated_bytes_ += size_bytes;
  return address;
}

void OpenClBackend::free(DeviceAddress address, MemoryKind kind) noexcept {
  if (address != 0) {
    finish_all();
    release(address, kind);
  }
}

void OpenClBackend::free_on(Stream stream, DeviceAddress address) noexcept {
  if (address != 0) {
    api_.clFinish(queue(stream));
    release(address, MemoryKind::device);
  }
}

void OpenClBackend::release(DeviceAddress address, MemoryKind kind) noexcept {
  std::vector<std::shared_ptr<CommandOrder>> orders;
  {
    const std::lock_guard lock(mutex_);
    const auto known = allocations_.find(address);
    if (known != allocations_.end()) {
      allocated_bytes_ -= known->second.size_bytes;
      allocations_.erase(known);
    }
    for (const auto& [queue, progress] : progress_) {
      if (progress.order != nullptr) {
        orders.push_back(progress.order);
      }
    }
  }
  for (const auto& each : orders) {
    each->forget(address);
  }
  if (is_host_memory(kind)) {
    std::free(pointer(address));
  } else if (!has_svm()) {
    buffers_.free(address);
  } else {
    const std::lock_guard lock(svm_mutex_);
    api_.clSVMFree(context_, pointer(address));
  }
}

// OpenCL does not report free memory: this is what this process has not allocated.
MemoryInfo OpenClBackend::memory_info() const {
  const std::lock_guard lock(mutex_);
  MemoryInfo memory;
  memory.total_bytes = info_.total_memory_bytes;
  memory.free_bytes = memory.total_bytes - std::min(memory.total_bytes, allocated_bytes_);
  return memory;
}

DeviceAddress OpenClBackend::device_address_of_host(void* host_pointer) {
  const auto address = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(host_pointer));
  if ((svm_ & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0) {
    return address;
  }
  if (is_coherent() && find_allocation(address)) {
    return address;
  }
  throw Unsupported("runtime.opencl.no_zero_copy",
                    fmt::format("kernels on OpenCL device '{}' reach no host memory but pinned "
                                "memory, and that only with fine-grained shared virtual memory: "
                                "copy to the device",
                                info_.name));
}

void OpenClBackend::copy_bytes(cl_command_queue queue, DeviceAddress target, DeviceAddress source,
                               std::size_t size_bytes, bool blocking) {
  if (!has_svm()) {
    return buffers_.copy(queue, target, source, size_bytes, blocking);
  }
  api_.clEnqueueSVMMemcpy.must("copy memory", queue, blocking ? CL_TRUE : CL_FALSE, pointer(target),
                               pointer(source), size_bytes, 0, nullptr, nullptr);
}

void OpenClBackend::copy(Stream stream, const CopyRegion& region) {
  if (region.row_bytes == 0 || region.rows == 0 || region.planes == 0) {
    return;
  }
  cl_command_queue const on = queue(stream);
  if (region.source.side == CopyRegion::Side::host && !info_.is_cpu) {
    // NVIDIA's driver reads host memory when the copy is enqueued, not when its turn comes
    api_.clFinish.must("wait for a stream", on);
  }
  const std::shared_ptr<CommandOrder> order = order_of(on);
  if (!has_gaps(region, region.source) && !has_gaps(region, region.target)) {
    const std::size_t size_bytes = region.row_bytes * region.rows * region.planes;
    if (order != nullptr && has_svm()) {
      const MemoryUse uses[] = {memory_use(region.target.address, true),
                                memory_use(region.source.address, false)};
      const cl_int status =
          order->enqueue(uses, [&](cl_uint count, const cl_event* before, cl_event* done) {
            return api_.clEnqueueSVMMemcpy(on, CL_FALSE, pointer(region.target.address),
                                           pointer(region.source.address), size_bytes, count,
                                           before, done);
          });
      if (status != CL_SUCCESS) {
        throw_status(status, api_.clEnqueueSVMMemcpy.name(), "copy memory");
      }
      return submit(on);
    }
    const CommandOrder::Fence fence(order.get());
    copy_bytes(on, region.target.address, region.source.address, size_bytes, false);
    return submit(on);
  }
  const CommandOrder::Fence fence(order.get());
  for (std::size_t plane = 0; plane < region.planes; ++plane) {
    for (std::size_t row = 0; row < region.rows; ++row) {
      copy_bytes(on, row_address(region.target, plane, row), row_address(region.source, plane, row),
                 region.row_bytes, false);
    }
  }
  submit(on);
}

void OpenClBackend::fill(Stream stream, DeviceAddress address, std::span<const std::byte> pattern,
                         std::size_t count) {
  if (count == 0) {
    return;
  }
  cl_command_queue const on = queue(stream);
  const std::size_t size_bytes = count * pattern.size();
  const std::shared_ptr<CommandOrder> order = order_of(on);
  if (address % pattern.size() == 0 && !is_in_host_memory(address)) {
    if (has_svm()) {
      const auto enqueue = [&](cl_uint before_count, const cl_event* before, cl_event* done) {
        return api_.clEnqueueSVMMemFill(on, pointer(address), pattern.data(), pattern.size(),
                                        size_bytes, before_count, before, done);
      };
      const MemoryUse use = memory_use(address, true);
      const cl_int status =
          order == nullptr ? enqueue(0, nullptr, nullptr) : order->enqueue({&use, 1}, enqueue);
      if (status != CL_SUCCESS) {
        throw_status(status, api_.clEnqueueSVMMemFill.name(), "fill memory");
      }
    } else {
      const CommandOrder::Fence fence(order.get());
      buffers_.fill(on, address, pattern, size_bytes);
    }
    return submit(on);
  }
  const CommandOrder::Fence fence(order.get());
  // OpenCL's fills refuse such an address: one pattern, then copies of twice the length each
  const auto first = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(pattern.data()));
  copy_bytes(on, address, first, pattern.size(), true);
  for (std::size_t done = 1; done < count;) {
    const std::size_t next = std::min(done, count - done);
    fence.again();
    copy_bytes(on, address + done * pattern.size(), address, next * pattern.size(), false);
    done += next;
  }
  submit(on);
}

}  // namespace rtcg::runtime::opencl
