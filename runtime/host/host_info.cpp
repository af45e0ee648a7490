#include "rtcg/runtime/host/host_info.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace rtcg::runtime {
namespace {

// The first value of a key in a file of lines `key : value`.
std::string value_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) == 0) {
      const std::size_t colon = line.find(':');
      const std::size_t begin =
          colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? std::string() : line.substr(begin);
    }
  }
  return {};
}

std::size_t kibibytes(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text) * 1024;
}

std::size_t system_value(int name) {
  return static_cast<std::size_t>(std::max(0L, ::sysconf(name)));
}

}  // namespace

DeviceInfo host_info() {
  DeviceInfo info;
  info.id = {BackendKind::host, 0};
  struct utsname system = {};
  ::uname(&system);
  info.name = value_of("/proc/cpuinfo", "model name");
  if (info.name.empty()) {
    info.name = system.machine;
  }
  info.vendor = value_of("/proc/cpuinfo", "vendor_id");
  info.driver_version = std::string(system.sysname) + " " + system.release;
  info.target = "host";

  info.multiprocessors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  // threads of a block are iterations of a loop: the limits are those of the launch's types
  info.max_threads_per_block = 1 << 20;
  info.max_block.fill(1U << 20);
  info.max_grid.fill(std::numeric_limits<std::int64_t>::max());

  info.total_memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
  info.max_allocation_bytes = info.total_memory_bytes;
  info.shared_bytes_per_block = 1 << 20;
  info.shared_bytes_per_block_opt_in = info.shared_bytes_per_block;
  info.constant_bytes = info.total_memory_bytes;
#ifdef _SC_LEVEL2_CACHE_SIZE
  info.l2_cache_bytes = system_value(_SC_LEVEL2_CACHE_SIZE);
#endif
  info.memory_alignment_bytes = 64;  // a cache line, and the widest vector register

  info.has_f64 = true;
  info.has_managed_memory = true;
  info.is_cpu = true;
  return info;
}

MemoryInfo host_memory_info() {
  MemoryInfo memory;
  memory.total_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE);
  memory.free_bytes = kibibytes(value_of("/proc/meminfo", "MemAvailable"));
  if (memory.free_bytes == 0) {
    memory.free_bytes = system_value(_SC_AVPHYS_PAGES) * system_value(_SC_PAGESIZE);
  }
  return memory;
}

}  // namespace rtcg::runtime
