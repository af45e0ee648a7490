// Memory of the three kinds, copies and fills.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/opencl/opencl_backend.h"

namespace rtcg::runtime::opencl {
namespace {

void* pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

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
  const bool is_fine = (capabilities & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) != 0;
  if (kind == MemoryKind::device && (capabilities & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0 &&
      !is_fine) {
    throw Unsupported("runtime.opencl.no_shared_virtual_memory",
                      fmt::format("OpenCL device '{}' has no shared virtual memory, by which alone "
                                  "rtcg addresses memory: take another device",
                                  device_name));
  }
  if (kind == MemoryKind::managed && !is_fine) {
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

DeviceAddress OpenClBackend::allocate(std::size_t size_bytes, MemoryKind kind) {
  if (size_bytes == 0) {
    return 0;
  }
  const bool is_svm = kind != MemoryKind::pinned || is_coherent();
  const bool fits = size_bytes <= info_.max_allocation_bytes;
  void* memory = nullptr;
  if (is_svm) {
    const cl_svm_mem_flags flags = svm_flags(svm_, kind, info_.name);
    memory = fits ? api_.clSVMAlloc(context(), flags, size_bytes, 0) : nullptr;
  } else if (!fits || ::posix_memalign(&memory, alignment_bytes, size_bytes) != 0) {
    memory = nullptr;
  }
  const auto address = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(memory));
  if (memory == nullptr) {
    throw DeviceError(
        "runtime.memory.out_of_memory",
        fmt::format("cannot allocate {} bytes: '{}' gives at most {} at once, of {}", size_bytes,
                    info_.name, info_.max_allocation_bytes, info_.total_memory_bytes),
        is_svm ? api_.clSVMAlloc.name() : "posix_memalign", "CL_MEM_OBJECT_ALLOCATION_FAILURE");
  }
  const std::lock_guard lock(mutex_);
  allocations_.emplace(address, size_bytes);
  allocated_bytes_ += size_bytes;
  return address;
}

void OpenClBackend::free(DeviceAddress address, MemoryKind kind) noexcept {
  if (address == 0) {
    return;
  }
  for (const HeldQueue& each : queues()) {
    api_.clFinish(each.get());
  }
  {
    const std::lock_guard lock(mutex_);
    const auto known = allocations_.find(address);
    if (known != allocations_.end()) {
      allocated_bytes_ -= known->second;
      allocations_.erase(known);
    }
  }
  if (kind == MemoryKind::pinned && !is_coherent()) {
    std::free(pointer(address));
  } else {
    api_.clSVMFree(context_, pointer(address));
  }
}

DeviceAddress OpenClBackend::allocate_on(Stream /*stream*/, std::size_t /*size_bytes*/) {
  throw Unsupported("runtime.memory.not_stream_ordered",
                    "OpenCL has no stream-ordered allocation: use a MemoryPool");
}

void OpenClBackend::free_on(Stream /*stream*/, DeviceAddress address) noexcept {
  free(address, MemoryKind::device);
}

// OpenCL does not tell what is free: what this process has not taken.
MemoryInfo OpenClBackend::memory_info() const {
  const std::lock_guard lock(mutex_);
  MemoryInfo memory;
  memory.total_bytes = info_.total_memory_bytes;
  memory.free_bytes = memory.total_bytes - std::min(memory.total_bytes, allocated_bytes_);
  return memory;
}

// Host memory is copied from as it is; there is nothing to do that would make that faster.
void OpenClBackend::register_host_memory(void* /*pointer*/, std::size_t /*size_bytes*/) {}

void OpenClBackend::unregister_host_memory(void* /*pointer*/) noexcept {}

DeviceAddress OpenClBackend::device_address_of_host(void* host_pointer) {
  const auto address = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(host_pointer));
  if ((svm_ & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0) {
    return address;
  }
  const std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(address);
  if (is_coherent() && after != allocations_.begin()) {
    const auto& [begin, size_bytes] = *std::prev(after);
    if (address - begin < size_bytes) {
      return address;
    }
  }
  throw Unsupported("runtime.opencl.no_zero_copy",
                    fmt::format("kernels on OpenCL device '{}' reach no host memory but pinned "
                                "memory, and that only with fine-grained shared virtual memory: "
                                "copy to the device",
                                info_.name));
}

void OpenClBackend::copy_bytes(cl_command_queue queue, DeviceAddress target, DeviceAddress source,
                               std::size_t size_bytes, bool blocking) {
  api_.clEnqueueSVMMemcpy.must("copy memory", queue, blocking ? CL_TRUE : CL_FALSE, pointer(target),
                               pointer(source), size_bytes, 0, nullptr, nullptr);
}

void OpenClBackend::copy(Stream stream, const CopyRegion& region) {
  if (region.row_bytes == 0 || region.rows == 0 || region.planes == 0) {
    return;
  }
  cl_command_queue const on = queue(stream);
  if (!has_gaps(region, region.source) && !has_gaps(region, region.target)) {
    copy_bytes(on, region.target.address, region.source.address,
               region.row_bytes * region.rows * region.planes, false);
    return submit(on);
  }
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
  if (address % pattern.size() == 0) {
    api_.clEnqueueSVMMemFill.must("fill memory", on, pointer(address), pattern.data(),
                                  pattern.size(), count * pattern.size(), 0, nullptr, nullptr);
    return submit(on);
  }
  // clEnqueueSVMMemFill refuses such an address: one pattern, then copies of twice the length each
  const auto first = static_cast<DeviceAddress>(reinterpret_cast<std::uintptr_t>(pattern.data()));
  copy_bytes(on, address, first, pattern.size(), true);
  for (std::size_t done = 1; done < count;) {
    const std::size_t next = std::min(done, count - done);
    copy_bytes(on, address + done * pattern.size(), address, next * pattern.size(), false);
    done += next;
  }
  submit(on);
}

}  // namespace rtcg::runtime::opencl
