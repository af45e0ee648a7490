#pragma once
// Internal header: it is not installed.

#include <map>
#include <mutex>

namespace rtcg::arrays::detail {

/// Values by key, each made once and kept where it is. Any thread may use it. Tables of a process
/// are never destroyed, `static auto& known = *new MadeOnce<DType, LoopCall>;`, because drivers may
/// be unloaded before.
template <class Key, class Value>
class MadeOnce {
 public:
  /// @param make  gives the value of a key that is new, or what it is constructed from
  template <class Make>
  const Value& of(const Key& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    auto found = known_.find(key);
    if (found == known_.end()) {
      found = known_.try_emplace(key, make()).first;
    }
    return found->second;
  }

 private:
  std::mutex mutex_{};
  std::map<Key, Value> known_{};
};

}  // namespace rtcg::arrays::detail
