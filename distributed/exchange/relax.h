#pragma once
// Internal header: it is not installed.

#include <thread>

namespace rtcg::distributed::detail {

/// A processor's hint that a loop waits.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// The processors of the machine. The C library reads files of the system each time it is asked,
/// which takes longer than a message: it is asked once.
inline unsigned processors() noexcept {
  static const unsigned count = std::thread::hardware_concurrency();
  return count;
}

}  // namespace rtcg::distributed::detail
