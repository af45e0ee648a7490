#pragma once
// Internal header: it is not installed.

namespace rtcg::distributed::detail {

/// A processor's hint that a loop waits.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace rtcg::distributed::detail
