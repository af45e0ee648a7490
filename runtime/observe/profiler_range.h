#pragma once

#include <string>

namespace rtcg::runtime {

/// Whether a profiler listens to ranges in this process.
[[nodiscard]] bool is_profiler_attached() noexcept;

/// A named stretch of this thread's time, as NVIDIA's profilers show it (NVTX).
///
///     ProfilerRange range("assemble");
///
/// It ends with the scope; ranges nest, and must end on the thread that began them. Without a
/// profiler it does nothing. The profiler is looked for at the first range: the library that
/// NVTX_INJECTION64_PATH names, as Nsight sets it, else libnvToolsExt of CUDA 12 and before.
///
/// @cost  about one call through a pointer without a profiler
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name) noexcept : ProfilerRange(name.c_str()) {}
  explicit ProfilerRange(const char* name) noexcept;
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

/// Marks a moment of this thread's time.
void mark_for_profiler(const char* name) noexcept;

}  // namespace rtcg::runtime
