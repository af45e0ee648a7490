// Memory of the host that several processes use.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rtcg/cgen/support/error.h"
#include "rtcg/runtime/host/host_backend.h"

namespace rtcg::runtime {
namespace {

/// How another process finds the file of a block: by the number that the file has in the process
/// that made it. The rest says that it is that file.
struct HostHandle {
  std::int64_t process = 0;
  std::int64_t file = -1;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size_bytes = 0;
};
static_assert(sizeof(HostHandle) <= sizeof(InterprocessHandle));

[[noreturn]] void throw_no_memory(std::size_t size_bytes, const char* function) {
  throw DeviceError(
      "runtime.memory.out_of_memory",
      fmt::format("the host cannot allocate {} bytes that processes share", size_bytes), function,
      std::strerror(errno));
}

[[noreturn]] void throw_no_events() {
  throw Unsupported("runtime.interprocess.unsupported",
                    "the host has no events for other processes: devices of CUDA have");
}

/// @param file  -1: of none
DeviceAddress mapped(int file, std::size_t size_bytes) {
  void* const memory = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<DeviceAddress>(memory);
}

}  // namespace

DeviceAddress HostBackend::allocate_shareable(std::size_t size_bytes) {
  if (size_bytes == 0) {
    return 0;
  }
  const int file = ::memfd_create("rtcg", MFD_CLOEXEC);
  if (file < 0) {
    throw_no_memory(size_bytes, "memfd_create");
  }
  const bool fits = size_bytes <= info_.max_allocation_bytes &&
                    ::ftruncate(file, static_cast<off_t>(size_bytes)) == 0;
  const DeviceAddress address = fits ? mapped(file, size_bytes) : 0;
  if (address == 0) {
    ::close(file);
    throw_no_memory(size_bytes, fits ? "mmap" : "ftruncate");
  }
  const std::lock_guard lock(mutex_);
  shared_blocks_[address] = {size_bytes, file};
  return address;
}

void HostBackend::free_shareable(DeviceAddress address) noexcept {
  for (const auto& queue : queues()) {
    queue->wait();
  }
  const std::lock_guard lock(mutex_);
  const auto found = shared_blocks_.find(address);
  if (found == shared_blocks_.end()) {
    return;
  }
  ::munmap(reinterpret_cast<void*>(address), found->second.size_bytes);
  if (found->second.file >= 0) {
    ::close(found->second.file);
  }
  shared_blocks_.erase(found);
}

HostBackend::SharedBlocks::const_iterator HostBackend::shared_block_at(
    DeviceAddress address) const {
  auto found = shared_blocks_.upper_bound(address);
  if (found == shared_blocks_.begin()) {
    return shared_blocks_.end();
  }
  --found;
  const auto& [begin, block] = *found;
  return address - begin < block.size_bytes && block.file >= 0 ? found : shared_blocks_.end();
}

bool HostBackend::is_shareable(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  return shared_block_at(address) != shared_blocks_.end();
}

MemoryHandle HostBackend::export_memory(DeviceAddress address, std::size_t size_bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = shared_block_at(address);
  if (found == shared_blocks_.end()) {
    throw Unsupported("runtime.interprocess.unsupported",
                      "other processes use memory of the host only if shareable_memory made it");
  }
  const auto& [begin, block] = *found;
  struct stat state = {};
  ::fstat(block.file, &state);
  const HostHandle handle{::getpid(), block.file, state.st_dev, state.st_ino, block.size_bytes};
  MemoryHandle result{{}, address - begin, size_bytes};
  std::memcpy(result.block.data(), &handle, sizeof handle);
  return result;
}

DeviceAddress HostBackend::import_memory(const InterprocessHandle& block) {
  HostHandle handle;
  std::memcpy(&handle, block.data(), sizeof handle);
  const std::string name = fmt::format("/proc/{}/fd/{}", handle.process, handle.file);
  const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  struct stat state = {};
  const bool is_there = file >= 0 && ::fstat(file, &state) == 0 && state.st_dev == handle.device &&
                        state.st_ino == handle.inode &&
                        static_cast<std::uint64_t>(state.st_size) == handle.size_bytes;
  const DeviceAddress address = is_there ? mapped(file, handle.size_bytes) : 0;
  const int error = errno;
  if (file >= 0) {
    ::close(file);  // the memory stays
  }
  if (address == 0) {
    throw DeviceError("runtime.interprocess.not_found",
                      fmt::format("process {} has no memory of that handle on this machine, or "
                                  "not for this user",
                                  handle.process),
                      "open", file >= 0 && !is_there ? "another file" : std::strerror(error));
  }
  const std::lock_guard lock(mutex_);
  shared_blocks_[address] = {handle.size_bytes, -1};
  return address;
}

Backend::Event HostBackend::create_interprocess_event() {
  throw_no_events();
}
InterprocessHandle HostBackend::export_event(Event /*event*/) {
  throw_no_events();
}
Backend::Event HostBackend::import_event(const InterprocessHandle& /*event*/) {
  throw_no_events();
}

}  // namespace rtcg::runtime
