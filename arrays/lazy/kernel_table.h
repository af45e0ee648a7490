#pragma once
// Internal header: it is not installed.

#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "rtcg/runtime/device/kernel.h"

namespace rtcg::arrays::detail {

/// Compiled kernels of one family by device and key, each made once. An entry has a lock of its
/// own, so a kernel that is being compiled holds up only those who need it. Any thread may use it.
template <class Key, class Hash = std::hash<Key>>
class KernelTable {
 public:
  /// @param make  gives the kernel of a key that is new
  template <class Make>
  const runtime::Kernel& get(runtime::Device device, const Key& key, const Make& make) {
    Entry& entry = find(device, key);
    const std::lock_guard lock(entry.mutex);
    if (!entry.kernel) {
      entry.kernel = make();
    }
    return *entry.kernel;
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::optional<runtime::Kernel> kernel;
  };
  Entry& find(runtime::Device device, const Key& key) {
    const std::lock_guard lock(mutex_);
    auto& table = tables_[&device.backend()];
    const auto found = table.find(key);  // before emplace, which would copy the key
    return found != table.end() ? found->second : table[key];  // nodes stay in place
  }

  std::mutex mutex_;
  std::unordered_map<const runtime::Backend*, std::unordered_map<Key, Entry, Hash>> tables_;
};

}  // namespace rtcg::arrays::detail
